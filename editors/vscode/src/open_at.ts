// SPDX-License-Identifier: Apache-2.0
import * as vscode from 'vscode';

/** Shows a file with the cursor at a line (from 1 on). */
export async function openAt(path: string, line: number, keepFocus = false): Promise<void> {
  const at = new vscode.Position(Math.max(0, line - 1), 0);
  const options = { selection: new vscode.Range(at, at), preserveFocus: keepFocus, preview: keepFocus };
  try {
    await vscode.window.showTextDocument(vscode.Uri.file(path), options);
  } catch (error) {
    void vscode.window.showErrorMessage(`kvboost: ${error instanceof Error ? error.message : String(error)}`);
  }
}
