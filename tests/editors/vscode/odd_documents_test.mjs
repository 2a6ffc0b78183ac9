// SPDX-License-Identifier: Apache-2.0
// What is no ordinary file of the only folder: several folders, and a file of megabytes. The socket in between gives the hints.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newMachine, newVsCode } from './harness.mjs';
import { RecordingSocket } from './recording_socket.mjs';

describe('odd documents', () => {
  let machine;
  let code;
  let window;
  let wire;
  let one;
  let other;

  before(async () => {
    machine = newMachine();
    one = machine.repository('one', { 'one.py': 'a = 1\n', 'huge.txt': `${'grüße '.repeat(10)}🍒\n`.repeat(60_000) });
    other = machine.repository('other', { 'other.py': 'b = 2\n' });
    assert.equal(machine.kvboost('daemon', 'start').code, 0);
    wire = new RecordingSocket(join(machine.runtime, 's'), machine.socket);
    await wire.listen();
    code = newVsCode(machine);
    code.set({ 'kvboost.socket': wire.path });
    await code.start();
    const workspace = join(machine.home, 'both.code-workspace');
    writeFileSync(workspace, JSON.stringify({ folders: [{ path: one }, { path: other }] }));
    window = await code.open(workspace, join(one, 'one.py'));
  });
  after(async () => {
    await code?.stop();
    wire?.close();
    await machine?.tearDown();
  });
  beforeEach(() => {
    wire.hints = () => ['a hint'];
    wire.messages = [];
  });

  async function lastRequest() {
    assert.equal(await window.ghostComes(), 'a hint');
    return wire.requests('complete').at(-1).params;
  }

  it('takes each file for one of its own folder', async () => {
    for (const [folder, name] of [[one, 'one.py'], [other, 'other.py']]) {
      await window.show(name);
      await window.type('x = ');
      const { directory, path } = await lastRequest();
      assert.deepEqual([directory, path], [folder, join(folder, name)]);
    }
  });

  it('sends of a file of megabytes what is around the cursor', async () => {
    await window.show('huge.txt');
    await window.type('the end ');
    const { text, offset } = await lastRequest();
    assert.ok(text.length < 1_200_000, `${text.length}`);
    assert.equal(offset, Buffer.byteLength(text));
    assert.ok(text.endsWith('🍒\nthe end '));
  });
});
