// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { DaemonLink, type LinkOptions, type LinkState } from '../src/daemon_link';
import { findProgram } from '../src/program';
import { Backoff } from '../src/wire/backoff';
import { CancelledError, NoDaemonError, RequestError } from '../src/wire/errors';
import { FakeDaemon, until } from './fake_daemon';

describe('findProgram', () => {
  it('looks on the PATH, at a path, and nowhere else that is no program', async () => {
    const daemon = await FakeDaemon.start();
    const file = path.join(daemon.folder, 'some-program');
    fs.writeFileSync(file, '#!/bin/sh\n');
    assert.equal(findProgram('some-program', `:/nowhere:${daemon.folder}`), undefined, 'it may not be executed');
    fs.chmodSync(file, 0o700);
    assert.equal(findProgram('some-program', `:/nowhere:${daemon.folder}`), file);
    assert.equal(findProgram(file, ''), file);
    assert.equal(findProgram(daemon.folder), undefined, 'a folder is none');
    assert.equal(findProgram('no-such-program'), undefined);
    await daemon.end();
  });
});

describe('DaemonLink', () => {
  let daemon: FakeDaemon;
  let options: LinkOptions;
  let states: LinkState[];
  let link: DaemonLink;
  let now: number;

  const quietly = (): Promise<object> => link.requestQuietly('complete', {}, {});
  const kinds = (): string => states.map((state) => state.kind).join(' ');

  beforeEach(async () => {
    daemon = await FakeDaemon.start();
    options = { program: '/nowhere/kvboost', socket: daemon.socket, startDaemon: true };
    states = [];
    now = 0;
    link = new DaemonLink(() => options, (state) => states.push(state), new Backoff(() => now));
  });
  afterEach(async () => {
    link.dispose();
    await daemon.end();
  });

  /** A kvboost that notes what it is asked to do, and does `script`. */
  function installProgram(script: string): string {
    options.program = path.join(daemon.folder, 'kvboost');
    const log = path.join(daemon.folder, 'log');
    fs.writeFileSync(options.program, `#!/bin/sh\necho "$*" >> '${log}'\n${script}\n`, { mode: 0o700 });
    return log;
  }

  it('does nothing before it is asked, and then keeps one connection', async () => {
    assert.equal(kinds(), '');
    await Promise.all([quietly(), quietly(), link.request('status')]);
    await link.request('status');
    assert.equal(daemon.methods().filter((method) => method === 'initialize').length, 1);
    assert.equal(link.state.kind, 'ready');
  });

  it('asks kvboost for the socket, and reaches a daemon where it is not installed', async () => {
    options.socket = '';
    const log = installProgram(`echo '{"value":"${daemon.socket}"}'`);
    await quietly();
    assert.equal(link.socket, daemon.socket);
    assert.equal(fs.readFileSync(log, 'utf8'), 'config socket --json\n');
    options = { ...options, program: '/nowhere/kvboost', socket: daemon.socket };
    link.reset();
    await quietly();
  });

  it('starts the daemon when nobody answers', async () => {
    await daemon.leave();
    const log = installProgram(`echo "$KVBOOST_SOCKET" >> ${daemon.folder}/log; while ! test -S ${daemon.socket}; do sleep 0.01; done`);
    const answer = quietly();
    await until('the start', () => fs.existsSync(log) && fs.readFileSync(log, 'utf8').endsWith('s\n'));
    await daemon.listen();
    await answer;
    assert.equal(fs.readFileSync(log, 'utf8'), `daemon start\n${daemon.socket}\n`);
    assert.match(kinds(), /^starting ready/);
  });

  it('does not start one where that is switched off, and names the socket', async () => {
    await daemon.leave();
    const log = installProgram('exit 0');
    options.startDaemon = false;
    await assert.rejects(quietly(), new RegExp(`at ${daemon.socket} `));
    assert.ok(!fs.existsSync(log));
    assert.equal(link.state.kind, 'down');
  });

  it('says once that kvboost is absent, and is quiet then, unless somebody insists', async () => {
    await daemon.leave();
    await assert.rejects(quietly(), NoDaemonError);
    await assert.rejects(quietly(), /waiting/);
    await assert.rejects(quietly(), /waiting/);
    assert.equal(kinds(), 'absent');
    await assert.rejects(link.request('ask'), /'\/nowhere\/kvboost' is not found/);
    assert.equal(kinds(), 'absent absent');
    now += 1999;
    await assert.rejects(quietly(), /waiting/);
    now += 1;
    await assert.rejects(quietly(), /not found/);
    await daemon.listen();
    await link.request('ask');
    await quietly();
    assert.equal(link.state.kind, 'ready');
  });

  it('passes on why the daemon does not start', async () => {
    await daemon.leave();
    installProgram('echo "kvboost: the model /m.gguf does not exist" >&2; exit 4');
    await assert.rejects(quietly(), /^Error: the model \/m.gguf does not exist$/);
    assert.equal(link.state.kind, 'down');
  });

  it('notices that the daemon has gone, also in mid-request, and connects anew', async () => {
    await quietly();
    daemon.answers((_asked, { hangUp }) => hangUp());
    await assert.rejects(quietly(), NoDaemonError);
    assert.equal(link.state.kind, 'unused');
    await assert.rejects(quietly(), /waiting/);
    daemon.answers((_asked, { reply }) => reply({}));
    await link.request('status');
    assert.equal(link.state.kind, 'ready');
  });

  it('backs off from errors that the next request would get too, and only from these', async () => {
    const refuse = (code: string) => daemon.answers((asked, { say }) => say({ id: asked.id, error: { message: 'no', data: { code } } }));
    for (const code of ['invalid_argument', 'busy', 'cancelled']) {
      refuse(code);
      await assert.rejects(quietly(), code === 'cancelled' ? CancelledError : RequestError);
      assert.equal(link.state.kind, 'ready');
    }
    refuse('model');
    await assert.rejects(quietly(), RequestError);
    assert.equal(link.state.kind, 'down');
    await assert.rejects(quietly(), /waiting/);
  });

  it('does not send what was taken back while the daemon started', async () => {
    const stop = new AbortController();
    const answer = link.requestQuietly('complete', {}, { signal: stop.signal });
    stop.abort();
    await assert.rejects(answer, CancelledError);
    assert.deepEqual(daemon.methods(), ['initialize']);
  });
});
