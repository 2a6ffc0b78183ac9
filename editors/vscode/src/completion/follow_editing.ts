// SPDX-License-Identifier: Apache-2.0
// Notes where the user edits and looks, for the requests to tell.
import * as vscode from 'vscode';
import { isExcluded } from '../settings';
import type { RecentPlaces } from './recent_places';

export function followEditing(places: RecentPlaces): vscode.Disposable {
  const touch = (document: vscode.TextDocument, line: number): void => {
    if (document.uri.scheme === 'file' && !isExcluded(document)) places.touch(document.uri.fsPath, line + 1);
  };
  return vscode.Disposable.from(
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      const last = contentChanges[0];
      if (last !== undefined) touch(document, last.range.start.line);
    }),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor, selections }) => {
      const first = selections[0];
      if (first !== undefined) touch(textEditor.document, first.active.line);
    }),
  );
}
