// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import { Backoff } from '../src/wire/backoff';
import { Connection } from '../src/wire/connection';
import { CancelledError, NoDaemonError, RequestError, sentence } from '../src/wire/errors';
import { LineReader, longestLine } from '../src/wire/line_reader';
import { pathText } from '../src/wire/messages';
import { defaultSocket } from '../src/wire/socket_path';
import { FakeDaemon, until } from './fake_daemon';

describe('LineReader', () => {
  it('puts lines together wherever they are cut, within characters too', () => {
    const sent = Buffer.from('{"a":"🍒é"}\r\n\n{"b":1}\n{"c"', 'utf8');
    for (let cut = 0; cut <= sent.length; ++cut) {
      const reader = new LineReader();
      const lines = [...reader.push(sent.subarray(0, cut)), ...reader.push(sent.subarray(cut))];
      assert.deepEqual(lines, ['{"a":"🍒é"}', '{"b":1}']);
      assert.deepEqual(reader.push(Buffer.from(':2}\n')), ['{"c":2}']);
    }
  });

  it('refuses a line without end', () => {
    const reader = new LineReader();
    reader.push(Buffer.alloc(longestLine, 'a'));
    assert.throws(() => reader.push(Buffer.from('a')), /16 MiB/);
  });
});

describe('Backoff', () => {
  it('waits twice as long each time, up to a minute, and not after a success', () => {
    let now = 0;
    const backoff = new Backoff(() => now);
    const waits: number[] = [];
    for (let n = 0; n < 9; ++n) {
      assert.ok(backoff.mayTry);
      backoff.failed();
      const began = now;
      while (!backoff.mayTry) now += 500;
      waits.push((now - began) / 1000);
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    backoff.failed();
    backoff.succeeded();
    assert.ok(backoff.mayTry);
  });
});

describe('defaultSocket', () => {
  it('is in the runtime directory, if that is absolute and the user\'s own', () => {
    const here = process.getuid?.() ?? 0;
    assert.equal(defaultSocket({ XDG_RUNTIME_DIR: '/nowhere/1' }, 7), '/nowhere/1/kvboost/kvboostd.sock');
    assert.equal(defaultSocket({ XDG_RUNTIME_DIR: 'run' }, 7), '/tmp/kvboost-7/kvboostd.sock');
    assert.equal(defaultSocket({}, 7), '/tmp/kvboost-7/kvboostd.sock');
    if (here !== 0) assert.equal(defaultSocket({ XDG_RUNTIME_DIR: '/' }, 7), '/tmp/kvboost-7/kvboostd.sock');
  });
});

describe('pathText', () => {
  it('keeps a name that is no UTF-8 apart from others', () => {
    assert.equal(pathText('net/ü.c'), 'net/ü.c');
    assert.equal(pathText({ base64: 'Y2Fm6S50eHQ=' }), 'caf\u00e9.txt');
  });
});

describe('Connection', () => {
  let daemon: FakeDaemon;
  let connection: Connection;
  let closed = 0;

  beforeEach(async () => {
    closed = 0;
    daemon = await FakeDaemon.start();
    connection = await Connection.open(daemon.socket, 60_000, () => ++closed);
  });
  afterEach(async () => {
    connection.dispose();
    await daemon.end();
  });

  it('gives each request its own answer and notifications, in any order', async () => {
    daemon.answers((asked, { say, reply }) => {
      if (asked.method === 'first') return;
      say({ method: 'ask/token', params: { id: 1, text: 'a' } });
      say({ method: 'ask/token', params: { id: 99, text: 'nobody' } });
      reply({ second: true });
      say({ id: 1, result: { first: true } });
    });
    const told: unknown[] = [];
    const first = connection.request('first', {}, { onNotification: (method, params) => told.push(method, params) });
    assert.deepEqual(await connection.request('second'), { second: true });
    assert.deepEqual(await first, { first: true });
    assert.deepEqual(told, ['ask/token', { id: 1, text: 'a' }]);
  });

  it('takes a cancelled request back at once, and tells the daemon', async () => {
    let answer = (): void => undefined;
    daemon.answers((asked, { reply }) => (asked.method === 'slow' ? (answer = () => reply({})) : reply({})));
    const stop = new AbortController();
    const slow = connection.request('slow', {}, { signal: stop.signal });
    await until('the request', () => daemon.asked.length === 1);
    stop.abort();
    await assert.rejects(slow, CancelledError);
    await until('the message', () => daemon.asked.length === 2);
    assert.deepEqual(daemon.asked[1]?.method, '$/cancelRequest');
    assert.deepEqual(daemon.asked[1]?.params, { id: 1 });
    answer();
    await connection.request('still there');
    await assert.rejects(connection.request('late', {}, { signal: stop.signal }), CancelledError);
    assert.ok(!daemon.methods().includes('late'));
  });

  it('tells errors by their code', async () => {
    daemon.answers((asked, { say }) => say({ id: asked.id, error: { code: -32006, message: 'no model', data: { code: 'model', remedy: 'add one' } } }));
    await assert.rejects(connection.request('ask'), (error: RequestError) => {
      assert.equal(error.code, 'model');
      assert.equal(sentence(error), 'no model (add one)');
      return true;
    });
  });

  it('fails what is running when the daemon is gone', async () => {
    daemon.answers((_asked, { hangUp }) => hangUp());
    await assert.rejects(connection.request('ask'), NoDaemonError);
    assert.equal(closed, 1);
    assert.ok(!connection.isOpen);
    await assert.rejects(connection.request('ask'), NoDaemonError);
  });

  it('hangs up on what is no kvboostd', async () => {
    daemon.answers((_asked, { write }) => write('HTTP/1.1 400 Bad Request\n'));
    await assert.rejects(connection.request('ask'), NoDaemonError);
  });

  it('names the socket where nobody answers', async () => {
    const nowhere = `${daemon.folder}/nowhere`;
    await assert.rejects(Connection.open(nowhere, 60_000, () => undefined), new RegExp(`at ${nowhere} .ENOENT`));
  });
});
