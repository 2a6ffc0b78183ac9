// SPDX-License-Identifier: Apache-2.0
// What the user has set (package.json describes each), and which documents hints may be written in.
import * as vscode from 'vscode';
import type { LinkOptions } from './daemon_link';

export const section = 'kvboost';

/** Kinds of documents that a person writes in; not output, terminals, comments of a review, or the sides of a diff. */
const schemes = new Set(['file', 'untitled', 'vscode-notebook-cell']);

function settings(scope?: vscode.ConfigurationScope): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration(section, scope);
}

export function setting<Value>(name: string, scope?: vscode.ConfigurationScope): Value {
  return settings(scope).get(name) as Value;
}

export function linkOptions(): LinkOptions {
  return {
    program: setting<string>('path').trim() || 'kvboost',
    socket: setting<string>('socket').trim(),
    startDaemon: setting<boolean>('startDaemon'),
  };
}

/** Never, not even when asked to: what such a document holds does not leave the editor. */
export function isExcluded(document: vscode.TextDocument): boolean {
  if (!schemes.has(document.uri.scheme)) return true;
  return setting<string[]>('exclude', document).some((glob) => vscode.languages.match({ pattern: glob }, document) > 0);
}

/** Whether hints come by themselves while one types. */
export function hintsAreOn(document: vscode.TextDocument): boolean {
  const languages = setting<Record<string, boolean>>('languages', document);
  return setting<boolean>('enabled', document) && (languages[document.languageId] ?? languages['*'] ?? true);
}

export async function toggleHints(): Promise<void> {
  await settings().update('enabled', !setting<boolean>('enabled'), vscode.ConfigurationTarget.Global);
}

export async function toggleLanguage(language: string): Promise<void> {
  const own = settings().inspect<Record<string, boolean>>('languages')?.globalValue ?? {};
  const all = setting<Record<string, boolean>>('languages');
  const isOn = all[language] ?? all['*'] ?? true;
  await settings().update('languages', { ...own, [language]: !isOn }, vscode.ConfigurationTarget.Global);
}
