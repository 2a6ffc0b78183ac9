// SPDX-License-Identifier: Apache-2.0
// Puts the parts together, once a window.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { AskView } from './ask/ask_view';
import { followEditing } from './completion/follow_editing';
import { HintProvider } from './completion/hint_provider';
import { RecentPlaces } from './completion/recent_places';
import { DaemonLink } from './daemon_link';
import { Locate } from './locate/locate';
import { LocateTree } from './locate/locate_tree';
import { openAt } from './open_at';
import { linkOptions, section, toggleHints, toggleLanguage } from './settings';
import { StatusBar } from './status_bar';
import { showStatus } from './status_details';
import { warm } from './warm';
import { DocumentPlaces } from './work_tree';

export function activate(context: vscode.ExtensionContext): void {
  const link: DaemonLink = new DaemonLink(linkOptions, (state) => bar.setState(state));
  const bar = new StatusBar(() => link.socket);
  const recent = new RecentPlaces();
  const places = new DocumentPlaces(path.join(context.globalStorageUri.fsPath, 'empty'));
  const hints = new HintProvider(link, places, recent, (figures) => bar.addFigures(figures));
  const ask = new AskView(link, vscode.Uri.joinPath(context.extensionUri, 'dist'));
  const tree = new LocateTree();
  const locate = new Locate(link, tree);
  const commands: Record<string, (...words: never[]) => unknown> = {
    complete: trigger,
    completeFresh: () => {
      hints.beFresh();
      return trigger();
    },
    ask: (question?: string) => ask.open(question),
    locate: () => locate.fromInput(),
    locateSelection: () => locate.fromSelection(),
    locateClipboard: () => locate.fromClipboard(),
    cancelLocate: () => locate.cancel(),
    warm: () => warm(link, {}),
    warmChanged: () => warm(link, { changed: true }),
    warmResource: (first: vscode.Uri, all?: vscode.Uri[]) =>
      warm(link, { paths: (all ?? [first]).map((uri) => uri.fsPath) }),
    status: () => showStatus(link),
    toggle: toggleHints,
    toggleLanguage: () => toggleLanguage(vscode.window.activeTextEditor?.document.languageId ?? '*'),
    openAt,
  };
  context.subscriptions.push(
    bar,
    link,
    tree,
    followEditing(recent),
    ...Object.entries(commands).map(([name, act]) => vscode.commands.registerCommand(`${section}.${name}`, act)),
    vscode.languages.registerInlineCompletionItemProvider({ pattern: '**' }, hints),
    vscode.window.registerWebviewViewProvider(AskView.id, ask, { webviewOptions: { retainContextWhenHidden: true } }),
    vscode.window.onDidChangeActiveTextEditor(() => bar.show()),
    vscode.workspace.onDidOpenTextDocument(() => bar.show()), // that is also how a change of language is told
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (!event.affectsConfiguration(section)) return;
      if (['path', 'socket', 'startDaemon'].some((name) => event.affectsConfiguration(`${section}.${name}`))) link.reset();
      bar.show();
    }),
  );
}

function trigger(): Thenable<unknown> {
  return vscode.commands.executeCommand('editor.action.inlineSuggest.trigger');
}
