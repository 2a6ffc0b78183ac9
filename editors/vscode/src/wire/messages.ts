// SPDX-License-Identifier: Apache-2.0
// The parts of PROTOCOL.md's messages that the extension uses.

/** A file name as the daemon tells it: text, or bytes that are no text. */
export type WirePath = string | { base64: string };

export function pathText(path: WirePath): string {
  return typeof path === 'string' ? path : Buffer.from(path.base64, 'base64').toString('latin1');
}

export interface Place {
  path: string;
  line: number;
}

export interface CompleteParams {
  directory: string;
  path: string;
  text: string;
  offset: number;
  client: string;
  shape: string;
  ring: Place[];
  alternatives: number;
  max_tokens: number;
  budget_ms: number;
  ahead: boolean;
  reuse: boolean;
}

export interface CompleteResult {
  hints: { text: string; finish_reason: string }[];
  origin: 'model' | 'recent';
  note: string;
  incomplete: string;
  prompt_tokens: number;
  computed_tokens: number;
}

export interface Progress {
  stage: string;
  done: number;
  total: number;
}

export interface AskResult {
  text: string;
  finish_reason: string;
  root: string;
  note: string;
  continues: string;
  prompt_tokens: number;
  reused_tokens: number;
  files: { path: WirePath; first_line: number; last_line: number; whole_file: boolean }[];
  left_out: { path: WirePath; reason: string }[];
  timings: { first_token_ms: number };
}

export interface LocatedFile {
  path: WirePath;
  line: number;
  text: string;
  score: number;
  functions: { name: string; first_line: number; last_line: number }[];
}

export interface LocateResult {
  root: string;
  note: string;
  incomplete: string;
  files: LocatedFile[];
}

export interface WarmProgress {
  stage: string;
  path: WirePath;
  files_done: number;
  files: number;
  tokens_done: number;
  tokens: number;
  percent: number;
}

export interface WarmResult {
  files: number;
  computed_chunks: number;
  chunks: number;
  seconds: number;
  refusal: string;
}

export interface StatusResult {
  version: string;
  pid: number;
  state: string;
  model_name: string;
  model_error: string;
  compute: string;
  resident_bytes: number;
  requests: number;
  prompt_tokens: number;
  reused_tokens: number;
  repair: string;
  repair_reason: string;
  warming: { root: string; files_done: number; files: number };
  socket: string;
  log_file: string;
}
