// SPDX-License-Identifier: Apache-2.0
// What a click on the status bar shows: how the daemon is, and what can be done about it.
import * as vscode from 'vscode';
import type { DaemonLink } from './daemon_link';
import { percent } from './percent';
import { section, setting, toggleHints, toggleLanguage } from './settings';
import { sentence } from './wire/errors';
import type { StatusResult } from './wire/messages';

interface Entry extends vscode.QuickPickItem {
  act?: () => unknown;
}

export async function showStatus(link: DaemonLink): Promise<void> {
  const picker = vscode.window.createQuickPick<Entry>();
  picker.title = 'kvboost';
  picker.placeholder = 'Details, and what to do';
  picker.items = actions(link);
  picker.busy = true;
  picker.onDidAccept(() => {
    const [chosen] = picker.selectedItems;
    if (chosen?.act === undefined) return;
    picker.hide();
    void chosen.act();
  });
  picker.onDidHide(() => picker.dispose());
  picker.show();
  picker.items = [...(await facts(link)), ...actions(link)];
  picker.busy = false;
}

function separator(label: string): Entry {
  return { label, kind: vscode.QuickPickItemKind.Separator };
}

async function facts(link: DaemonLink): Promise<Entry[]> {
  try {
    return [separator('daemon'), ...told(await link.request<StatusResult>('status'))];
  } catch (error) {
    const socket = link.socket === '' ? [] : [{ label: '$(plug) Socket', description: link.socket }];
    return [separator('daemon'), { label: '$(debug-disconnect) No daemon', detail: sentence(error) }, ...socket];
  }
}

function told(status: StatusResult): Entry[] {
  const share = percent(status.reused_tokens, status.prompt_tokens);
  const entries: Entry[] = [
    { label: `$(zap) ${status.state}`, description: `kvboostd ${status.version}, process ${status.pid}` },
    { label: '$(chip) Model', description: `${status.model_name || 'none is loaded'}, ${status.compute}` },
    { label: '$(history) Read before', description: `${share} % of the tokens of ${status.requests} requests` },
    { label: '$(database) Memory', description: `${Math.round(status.resident_bytes / 1e6)} MB` },
    { label: '$(tools) Reuse', description: `${status.repair}: ${status.repair_reason}` },
    { label: '$(plug) Socket', description: status.socket },
  ];
  if (status.model_error !== '') entries.push({ label: '$(warning) The model', detail: status.model_error });
  if (status.warming.root !== '') {
    const { root, files_done, files } = status.warming;
    entries.push({ label: '$(flame) Warming', description: `${root}: ${files_done} of ${files} files` });
  }
  const log: Entry = {
    label: '$(output) Log',
    description: status.log_file,
    act: () => vscode.window.showTextDocument(vscode.Uri.file(status.log_file)),
  };
  return [...entries, log];
}

function actions(link: DaemonLink): Entry[] {
  const language = vscode.window.activeTextEditor?.document.languageId;
  const isOn = setting<boolean>('enabled');
  const entries: Entry[] = [
    separator('what to do'),
    { label: isOn ? '$(circle-slash) Turn hints off' : '$(check) Turn hints on', act: toggleHints },
  ];
  if (language !== undefined) {
    entries.push({ label: `$(symbol-namespace) Hints in ${language}: on or off`, act: () => toggleLanguage(language) });
  }
  return [
    ...entries,
    { label: '$(debug-restart) Connect again', act: () => reconnect(link) },
    { label: '$(gear) Settings', act: () => vscode.commands.executeCommand('workbench.action.openSettings', `${section}.`) },
  ];
}

async function reconnect(link: DaemonLink): Promise<void> {
  link.reset();
  await showStatus(link);
}
