// SPDX-License-Identifier: Apache-2.0
import type * as vscode from 'vscode';

/** The editor's way to say stop, as Node.js has it. */
export function signalOf(token: vscode.CancellationToken): AbortSignal {
  const controller = new AbortController();
  token.onCancellationRequested(() => controller.abort());
  return controller.signal;
}
