// SPDX-License-Identifier: Apache-2.0
// The grey text at the cursor. The editor asks after each key; what is left of the last hint is answered here, and
// otherwise the daemon is asked, by one request at a time.
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { DaemonLink } from '../daemon_link';
import { hintsAreOn, isExcluded, setting } from '../settings';
import { CancelledError } from '../wire/errors';
import type { CompleteParams, CompleteResult } from '../wire/messages';
import type { DocumentPlaces } from '../work_tree';
import { bufferText } from './buffer_text';
import { LatestOnly } from '../latest_only';
import { RecentPlaces } from './recent_places';
import { ShownHints } from './shown_hints';

/** How the last hint came about, for the status bar. */
export interface HintFigures {
  milliseconds: number;
  reusedTokens: number;
  promptTokens: number;
  note: string;
}

export class HintProvider implements vscode.InlineCompletionItemProvider {
  private readonly client = `vscode ${randomUUID()}`;
  private readonly requests = new LatestOnly();
  private readonly shown = new ShownHints();
  /** The next request reads everything anew. */
  private fresh = false;

  constructor(
    private readonly link: DaemonLink,
    private readonly places: DocumentPlaces,
    private readonly recent: RecentPlaces,
    private readonly onFigures: (figures: HintFigures) => void,
  ) {}

  /** The next hint is computed without anything that was read before. */
  beFresh(): void {
    this.fresh = true;
    this.shown.forget();
  }

  async provideInlineCompletionItems(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    token: vscode.CancellationToken,
  ): Promise<vscode.InlineCompletionItem[]> {
    const asked = context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke;
    const reuse = !this.fresh;
    this.fresh = false;
    this.requests.cancel();
    if (isExcluded(document) || (!asked && !hintsAreOn(document))) return [];
    const at = writtenAt(document, position, context.selectedCompletionInfo);
    const wanted = asked ? setting<number>('completion.alternatives', document) : 1;
    const hints =
      this.shown.rest(document.uri.toString(), at.text, at.cursor, wanted) ??
      (await this.ask(document, at, { wanted, reuse }, token));
    if (token.isCancellationRequested) return [];
    return hints.map((hint) => new vscode.InlineCompletionItem(at.chosen + hint, at.range));
  }

  private async ask(
    document: vscode.TextDocument,
    at: WrittenAt,
    how: How,
    token: vscode.CancellationToken,
  ): Promise<string[]> {
    const request = this.requests.begin();
    const onCancel = token.onCancellationRequested(() => request.abort());
    const began = performance.now();
    try {
      const params = this.params(document, at, how);
      const result = await this.link.requestQuietly<CompleteResult>('complete', params, { signal: request.signal });
      const hints = result.hints.map((hint) => hint.text);
      this.shown.remember(document.uri.toString(), at.text, at.cursor, hints, how.wanted);
      if (result.origin === 'model') this.onFigures(figures(result, performance.now() - began));
      return hints;
    } catch (error) {
      // Whoever types is not to be told of failures at each key: the status bar shows that there is one.
      if (!(error instanceof CancelledError)) this.shown.forget();
      return [];
    } finally {
      onCancel.dispose();
    }
  }

  private params(document: vscode.TextDocument, at: WrittenAt, { wanted, reuse }: How): CompleteParams {
    const place = this.places.of(document);
    const { text, offset } = bufferText(at.text, at.cursor);
    return {
      ...place,
      text,
      offset,
      client: this.client,
      shape: setting('completion.shape', document),
      ring: this.recent.outside(place.path),
      alternatives: wanted,
      max_tokens: setting('completion.maxTokens', document),
      budget_ms: setting('completion.budget', document),
      ahead: true,
      reuse,
    };
  }
}

interface How {
  /** So many hints to choose from. */
  wanted: number;
  /** Whether what was read before may be used. */
  reuse: boolean;
}

interface WrittenAt {
  /** The document as it would be, were the entry taken that is chosen in the list of suggestions. */
  text: string;
  cursor: number;
  /** What the hint replaces, and begins with: nothing, unless there is such an entry. */
  range: vscode.Range;
  chosen: string;
}

function writtenAt(
  document: vscode.TextDocument,
  position: vscode.Position,
  entry: vscode.SelectedCompletionInfo | undefined,
): WrittenAt {
  const range = entry?.range ?? new vscode.Range(position, position);
  const chosen = entry?.text ?? '';
  const earlier = earlierCells(document);
  const own = document.getText();
  const before = earlier + own.slice(0, document.offsetAt(range.start)) + chosen;
  const text = before + own.slice(document.offsetAt(range.end));
  return { text, cursor: before.length, range, chosen };
}

/** A cell of a notebook goes on from the ones above it. */
function earlierCells(document: vscode.TextDocument): string {
  if (document.uri.scheme !== 'vscode-notebook-cell') return '';
  const cells = vscode.workspace.notebookDocuments.map((notebook) => notebook.getCells()).flat();
  const own = cells.find((cell) => cell.document === document);
  return cells
    .filter((cell) => cell.notebook === own?.notebook && cell.index < own.index)
    .filter((cell) => cell.document.languageId === document.languageId)
    .map((cell) => `${cell.document.getText()}\n\n`)
    .join('');
}

function figures(result: CompleteResult, milliseconds: number): HintFigures {
  return {
    milliseconds,
    reusedTokens: result.prompt_tokens - result.computed_tokens,
    promptTokens: result.prompt_tokens,
    note: [result.note, result.incomplete].filter((text) => text !== '').join('; '),
  };
}
