// SPDX-License-Identifier: Apache-2.0
// One connection to the daemon: requests out, responses and notifications in (daemon/protocol/PROTOCOL.md). Knows
// nothing of the editor, so that it is tested without one.
import * as net from 'node:net';
import { CancelledError, NoDaemonError, RequestError } from './errors';
import { LineReader } from './line_reader';

export type Notified = (method: string, params: unknown) => void;

export interface RequestOptions {
  signal?: AbortSignal;
  onNotification?: Notified;
}

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
  onNotification: Notified | undefined;
}

interface Message {
  id?: number | null;
  method?: string;
  params?: { id?: number };
  result?: unknown;
  error?: { message?: string; data?: { code?: string; remedy?: string } };
}

export class Connection {
  private readonly lines = new LineReader();
  private readonly pending = new Map<number, Pending>();
  private lastId = 0;
  private closed = false;

  /** `onClose` is called once, when either side has ended the connection. */
  private constructor(
    private readonly socket: net.Socket,
    private readonly onClose: () => void,
  ) {
    socket.on('data', (bytes) => this.read(bytes));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.close());
  }

  static open(path: string, patienceMs: number, onClose: () => void): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = net.createConnection({ path });
      const timer = setTimeout(() => socket.destroy(new Error('no answer')), patienceMs);
      const failed = (error: NodeJS.ErrnoException): void => {
        clearTimeout(timer);
        reject(new NoDaemonError(`no daemon answers at ${path} (${error.code ?? error.message})`));
      };
      socket.once('error', failed);
      socket.once('connect', () => {
        clearTimeout(timer);
        socket.off('error', failed);
        resolve(new Connection(socket, onClose));
      });
    });
  }

  get isOpen(): boolean {
    return !this.closed;
  }

  /** Rejects as soon as `signal` says so; the daemon is told, and its late answer ignored. */
  request<Result>(method: string, params: object = {}, options: RequestOptions = {}): Promise<Result> {
    const { signal, onNotification } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(new CancelledError());
      if (this.closed) return reject(new NoDaemonError('the daemon has hung up'));
      const id = ++this.lastId;
      const cancel = (): void => {
        this.pending.delete(id);
        this.send({ method: '$/cancelRequest', params: { id } });
        reject(new CancelledError());
      };
      signal?.addEventListener('abort', cancel, { once: true });
      const settled = (): void => signal?.removeEventListener('abort', cancel);
      this.pending.set(id, {
        resolve: (result) => {
          settled();
          resolve(result as Result);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
        onNotification,
      });
      this.send({ id, method, params });
    });
  }

  dispose(): void {
    this.socket.destroy();
    this.close();
  }

  private send(message: object): void {
    if (!this.closed) this.socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  private read(bytes: Buffer): void {
    try {
      for (const line of this.lines.push(bytes)) this.take(JSON.parse(line) as Message);
    } catch {
      this.socket.destroy(); // whatever listens there, it is no kvboostd
    }
  }

  private take(message: Message): void {
    if (message.method !== undefined) {
      const to = this.pending.get(message.params?.id ?? 0);
      to?.onNotification?.(message.method, message.params);
      return;
    }
    const waiting = this.pending.get(message.id ?? 0);
    if (waiting === undefined) return;
    this.pending.delete(message.id ?? 0);
    const { error } = message;
    if (error === undefined) return waiting.resolve(message.result);
    if (error.data?.code === 'cancelled') return waiting.reject(new CancelledError());
    waiting.reject(new RequestError(error.data?.code ?? 'protocol', error.message ?? 'no reason given', error.data?.remedy));
  }

  private close(): void {
    if (this.closed) return;
    this.closed = true;
    const left = [...this.pending.values()];
    this.pending.clear();
    for (const waiting of left) waiting.reject(new NoDaemonError('the daemon ended before it had answered'));
    this.onClose();
  }
}
