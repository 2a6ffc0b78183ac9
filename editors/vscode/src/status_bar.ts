// SPDX-License-Identifier: Apache-2.0
// One entry in the status bar: how the daemon is, how much of the last prompts needed no reading, and how long the last
// hint took. A click opens the details.
import * as vscode from 'vscode';
import type { HintFigures } from './completion/hint_provider';
import type { LinkState } from './daemon_link';
import { percent } from './percent';
import { hintsAreOn, isExcluded } from './settings';

/** So many of the latest hints the share is about. */
const window = 20;

export class StatusBar {
  private readonly item = vscode.window.createStatusBarItem('kvboost.status', vscode.StatusBarAlignment.Right, 90);
  private readonly latest: HintFigures[] = [];
  private state: LinkState = { kind: 'unused' };

  constructor(private readonly socket: () => string) {
    this.item.name = 'kvboost';
    this.item.command = 'kvboost.status';
    this.show();
    this.item.show();
  }

  setState(state: LinkState): void {
    this.state = state;
    this.show();
  }

  addFigures(figures: HintFigures): void {
    this.latest.push(figures);
    if (this.latest.length > window) this.latest.shift();
    this.show();
  }

  /** Also when another document is in front, or a setting has changed. */
  show(): void {
    const document = vscode.window.activeTextEditor?.document;
    const isOn = document === undefined || (!isExcluded(document) && hintsAreOn(document));
    const [icon, words] = this.face(isOn);
    this.item.text = `$(${icon}) kvboost${words}`;
    this.item.tooltip = this.tooltip(isOn);
    this.item.accessibilityInformation = { label: `kvboost${words}, ${this.state.kind}` };
  }

  dispose(): void {
    this.item.dispose();
  }

  private face(isOn: boolean): [icon: string, words: string] {
    if (this.state.kind === 'absent') return ['circle-slash', ''];
    if (this.state.kind === 'down') return ['debug-disconnect', ''];
    if (this.state.kind === 'starting') return ['loading~spin', ' starting'];
    return [isOn ? 'zap' : 'circle-outline', this.words()];
  }

  private words(): string {
    const last = this.latest.at(-1);
    return last === undefined ? '' : ` ${this.share()} % · ${Math.round(last.milliseconds)} ms`;
  }

  private share(): number {
    const sum = (of: (figures: HintFigures) => number): number => this.latest.reduce((total, one) => total + of(one), 0);
    return percent(sum((one) => one.reusedTokens), sum((one) => one.promptTokens));
  }

  private tooltip(isOn: boolean): string {
    const lines: string[] = [];
    const { state } = this;
    if (state.kind === 'absent') lines.push('kvboost is not installed here.', state.why);
    if (state.kind === 'down') lines.push('kvboost cannot answer; it is tried again while you type.', state.why);
    if (state.kind === 'unused') lines.push('kvboost starts with the first request.');
    const last = this.latest.at(-1);
    if (state.kind === 'ready' && last !== undefined) {
      lines.push(`${this.share()} % of the last prompts were there already; the last hint took ${Math.round(last.milliseconds)} ms.`);
      if (last.note !== '') lines.push(`Hints: ${last.note}`);
    }
    if (!isOn) lines.push('No hints by themselves in this document.');
    if (this.socket() !== '') lines.push(`Socket: ${this.socket()}`);
    return [...lines, 'Click for details.'].join('\n');
  }
}
