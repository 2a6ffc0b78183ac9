// SPDX-License-Identifier: Apache-2.0
// A socket in front of the daemon's that notes what passes, so that a test can say what the editor asked for, and that can
// answer requests itself where a test wants a certain hint.
import { createConnection, createServer } from 'node:net';

export class RecordingSocket {
  /** What was sent to the daemon, and what came back, in order. */
  messages = [];
  /** From parameters of `complete` to the text of the hints that the editor is given; undefined: the daemon answers. */
  hints = () => undefined;

  constructor(path, daemon) {
    this.server = createServer((editor) => this.pass(editor, createConnection(daemon)));
    this.path = path;
  }

  listen() {
    return new Promise((resolve) => this.server.listen(this.path, resolve));
  }

  close() {
    this.server.close();
  }

  requests(method) {
    return this.messages.filter((message) => message.method === method && message.id !== undefined);
  }

  /** The most requests of a kind that ran at once: sent, and neither answered nor taken back. */
  mostAtOnce(method) {
    const running = new Set();
    let most = 0;
    for (const { id, method: called, params, fromDaemon } of this.messages) {
      if (called === method && !fromDaemon) running.add(id);
      if (called === '$/cancelRequest') running.delete(params.id);
      if (fromDaemon && called === undefined) running.delete(id);
      most = Math.max(most, running.size);
    }
    return most;
  }

  pass(editor, daemon) {
    const toEditor = (message) => {
      this.messages.push({ ...message, fromDaemon: true });
      editor.write(`${JSON.stringify(message)}\n`);
    };
    eachLine(editor, (message) => {
      this.messages.push(message);
      const hints = message.method === 'complete' ? this.hints(message.params) : undefined;
      if (hints === undefined) daemon.write(`${JSON.stringify(message)}\n`);
      else toEditor({ jsonrpc: '2.0', id: message.id, result: scripted(hints) });
    });
    eachLine(daemon, toEditor);
    for (const [one, other] of [[editor, daemon], [daemon, editor]]) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  }
}

function scripted(texts) {
  const hints = texts.map((text) => ({ text, finish_reason: 'line' }));
  return { hints, origin: 'model', note: '', incomplete: '', prompt_tokens: 100, computed_tokens: 1 };
}

function eachLine(stream, take) {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (piece) => {
    const lines = (text + piece).split('\n');
    text = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  });
}
