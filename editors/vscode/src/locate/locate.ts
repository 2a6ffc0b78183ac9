// SPDX-License-Identifier: Apache-2.0
// Finding the place of a bug: a report from the selection, the clipboard or an input; a list at once, by words, which the
// model then puts in order. The tree keeps the result.
import * as vscode from 'vscode';
import { LatestOnly } from '../latest_only';
import type { DaemonLink } from '../daemon_link';
import { openAt } from '../open_at';
import { setting } from '../settings';
import { CancelledError, sentence } from '../wire/errors';
import type { LocatedFile, LocateResult, Progress } from '../wire/messages';
import { chooseDirectory } from '../work_tree';
import type { LocateTree } from './locate_tree';
import { ranked, type RankedPlace } from './ranking';

interface Entry extends vscode.QuickPickItem {
  place: RankedPlace;
}

export class Locate {
  private readonly requests = new LatestOnly();

  constructor(
    private readonly link: DaemonLink,
    private readonly tree: LocateTree,
  ) {}

  async fromInput(): Promise<void> {
    const prompt = 'What is wrong? A sentence, an error message, a stack trace';
    await this.locate((await vscode.window.showInputBox({ title: 'kvboost: locate', prompt, ignoreFocusOut: true })) ?? '');
  }

  async fromSelection(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const text = editor?.document.getText(editor.selection) ?? '';
    if (text.trim() === '') return this.fromInput();
    await this.locate(text);
  }

  async fromClipboard(): Promise<void> {
    const text = await vscode.env.clipboard.readText();
    if (text.trim() !== '') return this.locate(text);
    void vscode.window.showInformationMessage('kvboost: there is no text in the clipboard.');
  }

  cancel(): void {
    this.requests.cancel();
  }

  private async locate(report: string): Promise<void> {
    if (report.trim() === '') return;
    const directory = await chooseDirectory();
    if (directory === undefined) return;
    const { signal } = this.requests.begin();
    const list = new ResultList(report);
    const title = list.title;
    const show = (root: string, files: LocatedFile[], message: string, stage: string): void => {
      if (signal.aborted) return;
      const places = ranked(root, files);
      list.show(places, stage);
      this.tree.show(places, message);
    };
    const onNotification = (method: string, params: unknown): void => {
      if (method === 'locate/progress') return list.stage(params as Progress);
      show(directory, (params as LocateResult).files, title, 'by words; the model is reading');
    };
    await vscode.commands.executeCommand('setContext', 'kvboost.locating', true);
    try {
      const params = { directory, report, top: setting('locate.top'), model: setting('locate.useModel') };
      const result = await this.link.request<LocateResult>('locate', params, { signal, onNotification });
      const notes = [title, result.incomplete, result.note, result.files.length === 0 ? 'Nothing fits.' : ''];
      show(result.root, result.files, notes.filter((note) => note !== '').join('\n'), '');
      list.finished();
    } catch (error) {
      list.finished();
      if (error instanceof CancelledError) return;
      list.hide();
      void vscode.window.showErrorMessage(`kvboost: ${sentence(error)}`);
    } finally {
      await vscode.commands.executeCommand('setContext', 'kvboost.locating', false);
    }
  }
}

/** The list in front, for as long as the user looks at it. */
class ResultList {
  private readonly picker = vscode.window.createQuickPick<Entry>();
  readonly title: string;
  private isOpen = true;

  constructor(report: string) {
    const [first = ''] = report.trim().split('\n', 1);
    this.title = first.length > 80 ? `${first.slice(0, 79)}…` : first;
    this.picker.title = `kvboost: ${this.title}`;
    this.picker.placeholder = 'reading the repository';
    this.picker.busy = true;
    this.picker.matchOnDescription = true;
    this.picker.ignoreFocusOut = true;
    this.picker.onDidAccept(() => {
      const [chosen] = this.picker.activeItems;
      this.picker.hide();
      if (chosen !== undefined) void openAt(chosen.place.file, chosen.place.line);
    });
    this.picker.onDidHide(() => {
      this.isOpen = false;
      this.picker.dispose();
    });
    this.picker.show();
  }

  stage({ stage, done, total }: Progress): void {
    if (this.isOpen) this.picker.placeholder = total > 0 ? `${stage}, ${done} of ${total}` : stage;
  }

  show(places: RankedPlace[], stage: string): void {
    if (!this.isOpen) return;
    const active = this.picker.activeItems[0]?.place.file;
    const items = places.map((place) => entry(place));
    this.picker.items = items;
    // Whoever has gone down the list stays at the file that they are at.
    const same = items.find((item) => item.place.file === active);
    if (same !== undefined && this.picker.value !== '') this.picker.activeItems = [same];
    this.picker.placeholder = stage === '' ? 'Enter opens' : stage;
  }

  finished(): void {
    if (this.isOpen) this.picker.busy = false;
  }

  hide(): void {
    if (this.isOpen) this.picker.hide();
  }
}

function entry(place: RankedPlace): Entry {
  const functions = place.functions.map((function_) => function_.name).join(', ');
  return { label: `${place.name}:${place.line}`, description: functions, detail: place.text, place };
}
