// SPDX-License-Identifier: Apache-2.0
// Where the daemon's socket is, by the rule of PROTOCOL.md.
import * as fs from 'node:fs';
import * as path from 'node:path';

export function defaultSocket(environment: NodeJS.ProcessEnv, user: number): string {
  const runtime = environment.XDG_RUNTIME_DIR ?? '';
  const folder =
    path.isAbsolute(runtime) && ownerOf(runtime) !== 'other' ? `${runtime}/kvboost` : `/tmp/kvboost-${user}`;
  return path.join(folder, 'kvboostd.sock');
}

/** Whether a file is this user's: a socket that somebody else has bound first is not to be talked to. */
export function ownerOf(file: string): 'me' | 'other' | 'nobody' {
  try {
    return fs.statSync(file).uid === process.getuid?.() ? 'me' : 'other';
  } catch {
    return 'nobody';
  }
}
