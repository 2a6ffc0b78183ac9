// SPDX-License-Identifier: Apache-2.0
// What the view of questions and the extension tell each other.

export interface UsedFile {
  label: string;
  /** Absolute. */
  path: string;
  line: number;
}

export type ToView =
  | { kind: 'ask'; question: string } // asked by a command: as if it had been typed
  | { kind: 'focus' }
  | { kind: 'stage'; text: string }
  | { kind: 'token'; text: string }
  | { kind: 'done'; text: string; continues: string; files: UsedFile[]; footer: string[] }
  | { kind: 'failed'; message: string; cancelled: boolean };

export type FromView =
  | { kind: 'ready' }
  | { kind: 'ask'; question: string; goOn: boolean; thisFile: boolean }
  | { kind: 'cancel' }
  | { kind: 'open'; path: string; line: number };
