// SPDX-License-Identifier: Apache-2.0
// The editor's text as the daemon takes it: UTF-8 with offsets in bytes, where the editor counts UTF-16 units.

/** What is sent of a larger buffer, in UTF-16 units: so much before the cursor, and so much behind it. */
export const mostBefore = 512 * 1024;
export const mostBehind = 128 * 1024;

export interface BufferText {
  /** All of it, or the part around the cursor of a very large buffer. */
  text: string;
  /** The cursor in `text`, in UTF-16 units. */
  cursor: number;
  /** The same in bytes of its UTF-8 form. */
  offset: number;
}

/** Half of a surrogate pair is no character: JSON with one in it is refused. Its replacement has the same length. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

/** A cut never parts a surrogate pair. */
function boundary(text: string, at: number): number {
  const unit = at > 0 && at < text.length ? text.charCodeAt(at) : 0;
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at;
}

/** The beginning of what is sent, which stays the same while one types: else nothing would be found again. */
function firstSent(text: string, cursor: number): number {
  const steps = Math.floor((cursor - mostBefore) / mostBefore);
  if (steps < 0) return 0;
  const from = steps * mostBefore;
  const line = text.indexOf('\n', from);
  return line >= 0 && line < cursor ? line + 1 : boundary(text, from);
}

export function bufferText(whole: string, cursorInWhole: number): BufferText {
  const at = boundary(whole, Math.max(0, Math.min(cursorInWhole, whole.length)));
  const begin = firstSent(whole, at);
  const end = boundary(whole, Math.min(whole.length, at + mostBehind));
  const before = wellFormed(whole.slice(begin, at));
  return {
    text: before + wellFormed(whole.slice(at, end)),
    cursor: before.length,
    offset: Buffer.byteLength(before, 'utf8'),
  };
}
