// SPDX-License-Identifier: Apache-2.0
// A daemon that says what a test has it say, on a socket in a folder of its own.
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';

export interface Asked {
  id?: number;
  method: string;
  params: Record<string, unknown>;
}

/** What goes back: lines of any kind. `reply` answers the request. */
export interface Answering {
  reply: (result: object) => void;
  say: (message: object) => void;
  write: (bytes: Buffer | string) => void;
  hangUp: () => void;
}

export class FakeDaemon {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'kvb-'));
  readonly socket = path.join(this.folder, 's');
  readonly asked: Asked[] = [];
  private readonly server = net.createServer((peer) => this.serve(peer));
  private readonly peers = new Set<net.Socket>();
  private answer: (asked: Asked, with_: Answering) => void = (_asked, { reply }) => reply({});

  static async start(): Promise<FakeDaemon> {
    const daemon = new FakeDaemon();
    await daemon.listen();
    return daemon;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.server.listen(this.socket, resolve));
  }

  /** How requests other than `initialize` are answered from now on; at first with an empty result. */
  answers(answer: (asked: Asked, with_: Answering) => void): void {
    this.answer = answer;
  }

  methods(): string[] {
    return this.asked.map((one) => one.method);
  }

  /** Ends all connections, and takes no new ones. */
  async leave(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const peer of this.peers) peer.destroy();
    await closed;
  }

  async end(): Promise<void> {
    if (this.server.listening) await this.leave();
    fs.rmSync(this.folder, { recursive: true });
  }

  private serve(peer: net.Socket): void {
    this.peers.add(peer);
    let text = '';
    peer.on('error', () => peer.destroy());
    peer.on('data', (bytes) => {
      text += bytes.toString();
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        this.take(JSON.parse(text.slice(0, end)) as Asked, peer);
        text = text.slice(end + 1);
      }
    });
  }

  private take(asked: Asked, peer: net.Socket): void {
    this.asked.push(asked);
    const write = (bytes: Buffer | string): boolean => peer.write(bytes);
    const say = (message: object): boolean => write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const reply = (result: object): boolean => say({ id: asked.id, result });
    if (asked.method === 'initialize') reply({});
    else if (asked.id !== undefined) this.answer(asked, { write, say, reply, hangUp: () => peer.destroy() });
  }
}

/** Waits for what comes about by itself. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const end = Date.now() + 60_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`${what} did not come about`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
