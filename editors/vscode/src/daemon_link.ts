// SPDX-License-Identifier: Apache-2.0
// The way to the daemon: finds its socket, starts it when nobody answers, and keeps one connection for as long as it
// lasts. Nothing is done before somebody asks, and nothing by timer: an idle editor costs nothing. After a failure
// nobody is bothered until the back-off is over, unless a person insists.
import { version } from '../package.json';
import { findProgram, run } from './program';
import { Backoff } from './wire/backoff';
import { Connection, type RequestOptions } from './wire/connection';
import { CancelledError, NoDaemonError, RequestError, sentence } from './wire/errors';
import { defaultSocket, ownerOf } from './wire/socket_path';

export type LinkState =
  | { kind: 'unused' } // nobody has asked for anything yet, or not since the daemon has ended
  | { kind: 'starting' }
  | { kind: 'ready' }
  | { kind: 'absent'; why: string } // kvboost is not installed here
  | { kind: 'down'; why: string }; // it is, and yet there is no daemon, or it has no model

export interface LinkOptions {
  program: string;
  socket: string;
  startDaemon: boolean;
}

const connectPatience = 15_000;
const startPatience = 60_000;
/** Errors that the next request would get as well. */
const lasting = new Set(['model', 'not_found', 'io', 'internal', 'corrupt']);

export class DaemonLink {
  private connection: Connection | undefined;
  private opening: Promise<Connection> | undefined;
  private current: LinkState = { kind: 'unused' };
  private ended = false;
  /** The socket that was tried last. */
  socket = '';

  constructor(
    private readonly options: () => LinkOptions,
    private readonly onState: (state: LinkState) => void,
    private readonly backoff = new Backoff(),
  ) {}

  get state(): LinkState {
    return this.current;
  }

  /** For what happens by itself while one types: throws at once while the back-off lasts. A lasting failure counts. */
  async requestQuietly<Result>(method: string, params: object, options: RequestOptions): Promise<Result> {
    if (!this.backoff.mayTry) throw new NoDaemonError('waiting before the next try');
    try {
      return await this.request<Result>(method, params, options);
    } catch (error) {
      if (error instanceof RequestError && lasting.has(error.code)) this.fail({ kind: 'down', why: sentence(error) });
      throw error;
    }
  }

  /** For what a person has asked for. A daemon that has just left is started once more. */
  async request<Result>(method: string, params: object = {}, options: RequestOptions = {}): Promise<Result> {
    const connection = await this.connected();
    if (options.signal?.aborted === true) throw new CancelledError();
    const result = await connection.request<Result>(method, params, options);
    this.backoff.succeeded();
    this.enter({ kind: 'ready' });
    return result;
  }

  /** Settings have changed, or somebody says that things are better now. */
  reset(): void {
    this.connection?.dispose();
    this.backoff.succeeded();
    this.enter({ kind: 'unused' });
  }

  dispose(): void {
    this.ended = true;
    this.connection?.dispose();
  }

  private async connected(): Promise<Connection> {
    if (this.connection?.isOpen === true) return this.connection;
    this.opening ??= this.open().finally(() => (this.opening = undefined));
    return this.opening;
  }

  private async open(): Promise<Connection> {
    const options = this.options();
    const program = findProgram(options.program);
    try {
      this.socket = await this.findSocket(options, program);
      let connection: Connection;
      try {
        connection = await this.handshake(options);
      } catch (error) {
        if (!options.startDaemon || ownerOf(this.socket) === 'other') throw error;
        connection = await this.start(options, program);
      }
      this.connection = connection;
      this.enter({ kind: 'ready' });
      return connection;
    } catch (error) {
      const missing = program === undefined && options.startDaemon;
      const why = missing ? `${sentence(error)}, and the program '${options.program}' is not found` : sentence(error);
      this.fail({ kind: missing ? 'absent' : 'down', why });
      throw new NoDaemonError(why);
    }
  }

  private async findSocket(options: LinkOptions, program: string | undefined): Promise<string> {
    if (options.socket !== '') return options.socket;
    if (program !== undefined) {
      const said = await run(program, ['config', 'socket', '--json'], {}, connectPatience).catch(() => '{}');
      const { value } = JSON.parse(said) as { value?: string };
      if (value !== undefined && value !== '') return value;
    }
    const named = process.env.KVBOOST_SOCKET ?? '';
    return named !== '' ? named : defaultSocket(process.env, process.getuid?.() ?? 0);
  }

  /** A socket that the settings name is the user's choice; any other has to be this user's own. */
  private async handshake(options: LinkOptions): Promise<Connection> {
    if (options.socket === '' && ownerOf(this.socket) === 'other') {
      throw new NoDaemonError(`the socket ${this.socket} is another user's`);
    }
    const connection = await Connection.open(this.socket, connectPatience, () => this.lost(connection));
    try {
      const params = { protocol_version: 1, client: `vscode-kvboost ${version}` };
      await connection.request('initialize', params, { signal: AbortSignal.timeout(connectPatience) });
      return connection;
    } catch (error) {
      connection.dispose();
      if (error instanceof CancelledError) throw new NoDaemonError(`what listens at ${this.socket} does not answer`);
      throw error;
    }
  }

  private async start(options: LinkOptions, program: string | undefined): Promise<Connection> {
    if (program === undefined) throw new NoDaemonError(`no daemon answers at ${this.socket}`);
    this.enter({ kind: 'starting' });
    await run(program, ['daemon', 'start'], options.socket === '' ? {} : { KVBOOST_SOCKET: this.socket }, startPatience);
    return this.handshake(options);
  }

  private lost(connection: Connection): void {
    if (this.connection !== connection) return;
    this.connection = undefined;
    if (!this.ended && this.current.kind === 'ready') this.fail({ kind: 'unused' });
  }

  private fail(state: LinkState): void {
    this.backoff.failed();
    this.enter(state);
  }

  private enter(state: LinkState): void {
    this.current = state;
    this.onState(state);
  }
}
