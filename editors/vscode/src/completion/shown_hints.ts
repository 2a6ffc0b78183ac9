// SPDX-License-Identifier: Apache-2.0
// The hints that were given last, and what is left of them when some of that has been typed or accepted. While
// something is left the daemon is not asked.

interface Given {
  document: string;
  before: string;
  behind: string;
  hints: string[];
  /** How many hints had been asked for. */
  wanted: number;
}

/** Brackets and quotes that an editor puts behind the cursor by itself. */
const closers = ')]}>"\'`';

export class ShownHints {
  private given: Given | undefined;

  remember(document: string, text: string, cursor: number, hints: string[], wanted: number): void {
    this.given = { document, before: text.slice(0, cursor), behind: text.slice(cursor), hints, wanted };
  }

  forget(): void {
    this.given = undefined;
  }

  /** What to show now without asking; undefined where the daemon has to be asked. */
  rest(document: string, text: string, cursor: number, wanted: number): string[] | undefined {
    const { given } = this;
    if (given === undefined || given.document !== document || given.wanted < wanted) return undefined;
    if (given.before.length > cursor || !text.startsWith(given.before)) return undefined;
    const typed = text.slice(given.before.length, cursor);
    const closed = closedBehind(given.behind, text.slice(cursor));
    if (closed === undefined || (typed === '' && closed !== '')) return undefined;
    const rests = given.hints
      .filter((hint) => hint.length > typed.length && hint.startsWith(typed))
      .map((hint) => withoutCloser(hint.slice(typed.length), closed))
      .filter((rest) => rest !== '');
    return rests.length > 0 || typed === '' ? rests : undefined;
  }
}

/** The closer that now stands in front of what was behind the cursor; empty if nothing has changed there. */
function closedBehind(old: string, now: string): string | undefined {
  if (now === old) return '';
  const closer = now.charAt(0);
  return closer !== '' && closers.includes(closer) && now.slice(1) === old ? closer : undefined;
}

/** A hint that ends with the closer would double it; one that does not, does not fit here any more. */
function withoutCloser(rest: string, closer: string): string {
  if (closer === '') return rest;
  return rest.endsWith(closer) ? rest.slice(0, -1) : '';
}
