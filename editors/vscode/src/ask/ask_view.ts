// SPDX-License-Identifier: Apache-2.0
// The view in which questions about the repository are asked. Its page (page.ts) shows; this side asks the daemon, and
// opens the files that an answer was made from.
import { randomBytes } from 'node:crypto';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { LatestOnly } from '../latest_only';
import type { DaemonLink } from '../daemon_link';
import { openAt } from '../open_at';
import { percent } from '../percent';
import { setting } from '../settings';
import { CancelledError, sentence } from '../wire/errors';
import { pathText, type AskResult, type Progress } from '../wire/messages';
import { directoryInFront } from '../work_tree';
import type { FromView, ToView, UsedFile } from './ask_messages';

export class AskView implements vscode.WebviewViewProvider {
  static readonly id = 'kvboost.ask';
  private view: vscode.WebviewView | undefined;
  private isReady = false;
  /** What the page is to be told once it is there. */
  private waiting: ToView[] = [];
  private readonly requests = new LatestOnly();

  constructor(
    private readonly link: DaemonLink,
    private readonly resources: vscode.Uri,
  ) {}

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.isReady = false;
    view.webview.options = { enableScripts: true, localResourceRoots: [this.resources] };
    view.webview.onDidReceiveMessage((message: FromView) => this.take(message));
    view.onDidDispose(() => {
      this.view = undefined;
      this.isReady = false;
      this.requests.cancel();
    });
    view.webview.html = this.html(view.webview);
  }

  /** Opens the view; with a question, asks it. */
  async open(question?: string): Promise<void> {
    this.tell(question === undefined ? { kind: 'focus' } : { kind: 'ask', question });
    await vscode.commands.executeCommand(`${AskView.id}.focus`);
  }

  private tell(message: ToView): void {
    if (this.isReady) void this.view?.webview.postMessage(message);
    else this.waiting.push(message);
  }

  private take(message: FromView): void {
    switch (message.kind) {
      case 'ready': {
        this.isReady = true;
        const waiting = this.waiting;
        this.waiting = [];
        waiting.forEach((one) => this.tell(one));
        return;
      }
      case 'ask':
        void this.ask(message.question, message.goOn, message.thisFile);
        return;
      case 'cancel':
        this.requests.cancel();
        return;
      case 'open':
        void openAt(message.path, message.line);
    }
  }

  private async ask(question: string, goOn: boolean, thisFile: boolean): Promise<void> {
    const request = this.requests.begin();
    const tell = (message: ToView): void => {
      if (!request.signal.aborted) this.tell(message);
    };
    const directory = directoryInFront();
    if (directory === undefined) return tell(failure('Open a folder or a file first.'));
    const document = vscode.window.activeTextEditor?.document;
    const paths = thisFile && document?.uri.scheme === 'file' ? [document.uri.fsPath] : [];
    const unsaved = vscode.workspace.textDocuments.filter((one) => one.isDirty && one.uri.scheme === 'file').length;
    try {
      const result = await this.link.request<AskResult>(
        'ask',
        {
          directory,
          question,
          paths,
          continue_conversation: goOn,
          prompt_tokens: setting('ask.promptTokens'),
          max_tokens: setting('ask.maxTokens'),
        },
        { signal: request.signal, onNotification: (method, params) => tell(told(method, params)) },
      );
      tell(answered(result, unsaved));
    } catch (error) {
      const cancelled = error instanceof CancelledError;
      this.tell({ kind: 'failed', message: cancelled ? 'Cancelled.' : sentence(error), cancelled });
    }
  }

  private html(webview: vscode.Webview): string {
    const nonce = randomBytes(16).toString('hex');
    const uri = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(this.resources, name)).toString();
    const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
    return `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" href="${uri('ask.css')}">
</head>
<body>
  <div id="turns" aria-live="polite"></div>
  <form id="form">
    <textarea id="question" rows="3" disabled aria-label="Question" placeholder="Ask about this repository (Enter asks, Shift+Enter starts a line)"></textarea>
    <div class="choices">
      <label><input type="checkbox" id="this-file"> this file only</label>
      <label><input type="checkbox" id="go-on" disabled> continue</label>
      <button type="submit" id="send">Ask</button>
      <button type="button" id="cancel" hidden>Cancel</button>
    </div>
  </form>
  <script nonce="${nonce}" src="${uri('ask.js')}"></script>
</body>
</html>`;
  }
}

function failure(message: string): ToView {
  return { kind: 'failed', message, cancelled: false };
}

function told(method: string, params: unknown): ToView {
  if (method === 'ask/token') return { kind: 'token', text: (params as { text: string }).text };
  const { stage, done, total } = params as Progress;
  return { kind: 'stage', text: total > 0 ? `${stage}, ${done} of ${total}` : stage };
}

function answered(result: AskResult, unsaved: number): ToView {
  const files = result.files.map((file): UsedFile => {
    const name = pathText(file.path);
    const label = file.whole_file ? name : `${name}:${file.first_line}-${file.last_line}`;
    return { label, path: path.join(result.root, name), line: file.first_line };
  });
  const once = files.filter((file, at) => files.findIndex((other) => other.label === file.label) === at);
  const footer = [figures(result)];
  if (result.finish_reason === 'length') footer.push('Cut at the most tokens that an answer may have (kvboost.ask.maxTokens).');
  if (result.finish_reason === 'repetition') footer.push('The model went round in circles and was stopped.');
  if (result.finish_reason === 'context') footer.push('The context of the model is full.');
  if (result.left_out.length > 0) footer.push(`Not read, or not whole: ${result.left_out.map((one) => pathText(one.path)).join(', ')}`);
  if (unsaved > 0) footer.push(`Read as they are saved: ${unsaved} ${unsaved === 1 ? 'file has' : 'files have'} unsaved changes.`);
  if (result.note !== '') footer.push(result.note);
  return { kind: 'done', text: result.text, continues: result.continues, files: once, footer };
}

function figures(result: AskResult): string {
  const share = percent(result.reused_tokens, result.prompt_tokens);
  const seconds = (result.timings.first_token_ms / 1000).toFixed(1);
  return `First word after ${seconds} s; ${share} % of ${result.prompt_tokens} tokens needed no reading.`;
}
