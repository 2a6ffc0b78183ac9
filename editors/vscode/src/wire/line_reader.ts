// SPDX-License-Identifier: Apache-2.0
// Bytes of a stream to whole lines. A line is decoded when all of it is there, so that no character is cut in two.

/** The protocol's own limit, with room for the line's end. */
export const longestLine = 16 * 1024 * 1024 + 2;

const lineFeed = 0x0a;

export class LineReader {
  private pieces: Buffer[] = [];
  private size = 0;

  /** The lines that `bytes` completes, without their ends; blank ones are left out. Throws on one that is too long. */
  push(bytes: Buffer): string[] {
    const lines: string[] = [];
    let begin = 0;
    for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, begin)) {
      this.keep(bytes.subarray(begin, end));
      const line = Buffer.concat(this.pieces).toString('utf8').trimEnd();
      if (line !== '') lines.push(line);
      this.pieces = [];
      this.size = 0;
      begin = end + 1;
    }
    this.keep(bytes.subarray(begin));
    return lines;
  }

  private keep(piece: Buffer): void {
    this.size += piece.length;
    if (this.size > longestLine) throw new Error('the daemon sent a line of more than 16 MiB');
    if (piece.length > 0) this.pieces.push(piece);
  }
}
