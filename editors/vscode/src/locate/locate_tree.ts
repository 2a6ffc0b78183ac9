// SPDX-License-Identifier: Apache-2.0
// The places of the last report, as a tree beside the questions: files, best first, and the functions in them.
import * as vscode from 'vscode';
import type { RankedPlace } from './ranking';

interface Node {
  place: RankedPlace;
  /** A function of it; none: the file itself. */
  part?: { name: string; line: number };
}

export class LocateTree implements vscode.TreeDataProvider<Node> {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private places: RankedPlace[] = [];
  private readonly view = vscode.window.createTreeView('kvboost.locate', { treeDataProvider: this });

  show(places: RankedPlace[], message: string): void {
    this.places = places;
    this.view.message = message;
    this.view.badge = places.length > 0 ? { value: places.length, tooltip: `${places.length} places` } : undefined;
    this.changed.fire();
  }

  getChildren(node?: Node): Node[] {
    if (node === undefined) return this.places.map((place) => ({ place }));
    return node.part === undefined ? node.place.functions.map((part) => ({ place: node.place, part })) : [];
  }

  getTreeItem({ place, part }: Node): vscode.TreeItem {
    const hasParts = part === undefined && place.functions.length > 0;
    const state = hasParts ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None;
    const item = new vscode.TreeItem(part?.name ?? place.name, state);
    const line = part?.line ?? place.line;
    item.description = part === undefined ? `${line}: ${place.text}` : `${line}`;
    item.tooltip = `${place.file}:${line}`;
    item.command = { command: 'kvboost.openAt', title: 'Open', arguments: [place.file, line] };
    if (part !== undefined) {
      item.iconPath = new vscode.ThemeIcon('symbol-function');
    } else {
      item.resourceUri = vscode.Uri.file(place.file);
      item.iconPath = vscode.ThemeIcon.File;
    }
    return item;
  }

  dispose(): void {
    this.view.dispose();
    this.changed.dispose();
  }
}
