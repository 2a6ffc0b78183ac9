// SPDX-License-Identifier: Apache-2.0
// Where a bug report points to, as the list and the tree show it.
import * as path from 'node:path';
import { pathText, type LocatedFile } from '../wire/messages';

export interface RankedPlace {
  name: string;
  /** Absolute. */
  file: string;
  line: number;
  /** The line's own text. */
  text: string;
  functions: { name: string; line: number }[];
}

export function ranked(root: string, files: LocatedFile[]): RankedPlace[] {
  return files.map((file) => {
    const name = pathText(file.path);
    return {
      name,
      file: path.join(root, name),
      line: file.line,
      text: file.text.trim(),
      functions: file.functions.map(({ name: function_, first_line }) => ({ name: function_, line: first_line })),
    };
  });
}
