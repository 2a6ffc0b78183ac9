// SPDX-License-Identifier: Apache-2.0
// Which directory a request is about, where a workspace may have several folders or none.
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';

function fileFolders(): readonly vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === 'file');
}

/** The folder that the editor in front belongs to, else the first one. */
function folderInFront(): vscode.WorkspaceFolder | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  return (uri === undefined ? undefined : vscode.workspace.getWorkspaceFolder(uri)) ?? fileFolders()[0];
}

/** Where a question is asked; a file without a workspace stands for its own folder. */
export function directoryInFront(): string | undefined {
  const folder = folderInFront();
  if (folder !== undefined) return folder.uri.fsPath;
  const uri = vscode.window.activeTextEditor?.document.uri;
  return uri?.scheme === 'file' ? path.dirname(uri.fsPath) : undefined;
}

/** The same; with several folders and no editor in front, the user chooses. */
export async function chooseDirectory(): Promise<string | undefined> {
  if (fileFolders().length > 1 && vscode.window.activeTextEditor === undefined) {
    return (await vscode.window.showWorkspaceFolderPick())?.uri.fsPath;
  }
  const directory = directoryInFront();
  if (directory === undefined) void vscode.window.showInformationMessage('kvboost: open a folder or a file first.');
  return directory;
}

/** The directory and name that a document has for the daemon, which a buffer that was never saved has to be given. */
export class DocumentPlaces {
  /** `empty` is a directory of the extension's own, where no work tree is to be looked for. */
  constructor(private readonly empty: string) {}

  of(document: vscode.TextDocument): { directory: string; path: string } {
    const { uri } = document;
    if (uri.scheme === 'untitled') {
      const name = path.basename(uri.path) + extensionOf(document.languageId);
      return { directory: fileFolders()[0]?.uri.fsPath ?? this.emptyDirectory(), path: name };
    }
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    const directory = folder?.uri.fsPath ?? path.dirname(uri.fsPath);
    const isCell = uri.scheme === 'vscode-notebook-cell';
    return { directory, path: isCell ? uri.fsPath + extensionOf(document.languageId) : uri.fsPath };
  }

  private emptyDirectory(): string {
    fs.mkdirSync(this.empty, { recursive: true });
    return this.empty;
  }
}

/** The file extension by which the daemon knows a language: the first one that the editor has for it. */
function extensionOf(language: string): string {
  interface Contribution {
    contributes?: { languages?: { id: string; extensions?: string[] }[] };
  }
  for (const extension of vscode.extensions.all) {
    const { contributes } = extension.packageJSON as Contribution;
    const found = contributes?.languages?.find((one) => one.id === language && one.extensions !== undefined);
    if (found?.extensions?.[0] !== undefined) return found.extensions[0];
  }
  return '';
}
