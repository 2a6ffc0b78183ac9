// SPDX-License-Identifier: Apache-2.0
// Reading ahead, with its progress shown and a button to stop it.
import * as vscode from 'vscode';
import type { DaemonLink } from './daemon_link';
import { CancelledError, sentence } from './wire/errors';
import { pathText, type WarmProgress, type WarmResult } from './wire/messages';
import { signalOf } from './signal';
import { chooseDirectory } from './work_tree';

export interface WarmWhat {
  paths?: string[];
  changed?: boolean;
}

export async function warm(link: DaemonLink, what: WarmWhat): Promise<void> {
  const directory = await chooseDirectory();
  if (directory === undefined) return;
  const options = { location: vscode.ProgressLocation.Notification, title: 'kvboost reads ahead', cancellable: true };
  await vscode.window.withProgress(options, async (progress, token) => {
    let shown = 0;
    const onNotification = (_method: string, params: unknown): void => {
      const told = params as WarmProgress;
      const percent = told.tokens > 0 ? (100 * told.tokens_done) / told.tokens : 0;
      progress.report({ message: words(told), increment: Math.max(0, percent - shown) });
      shown = Math.max(shown, percent);
    };
    try {
      const result = await link.request<WarmResult>('warm', { directory, ...what }, { signal: signalOf(token), onNotification });
      vscode.window.setStatusBarMessage(`$(flame) kvboost: ${outcome(result)}`, 10_000);
    } catch (error) {
      if (!(error instanceof CancelledError)) void vscode.window.showErrorMessage(`kvboost: ${sentence(error)}`);
    }
  });
}

function words(told: WarmProgress): string {
  if (told.stage === 'trying') return `tries what reuse does to the model, ${told.percent} %`;
  if (told.stage === 'waiting') return 'waits for other requests';
  return told.files > 0 ? `${told.files_done} of ${told.files} files, ${pathText(told.path)}` : told.stage;
}

function outcome(result: WarmResult): string {
  if (result.refusal !== '') return `not all could be kept: ${result.refusal}`;
  return `${result.files} files are read ahead, ${result.computed_chunks} of ${result.chunks} chunks were new`;
}
