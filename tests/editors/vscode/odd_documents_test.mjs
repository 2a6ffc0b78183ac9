// SPDX-License-Identifier: Apache-2.0
// What is no ordinary file of the only folder: several folders, and a file of megabytes. The socket in between gives the hints.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RecordedCode } from './harness.mjs';

describe('odd documents', () => {
  let recorded;
  let window;
  let wire;
  let one;
  let other;

  before(async () => {
    recorded = new RecordedCode();
    const { machine } = recorded;
    one = machine.repository('one', { 'one.py': 'a = 1\n', 'huge.txt': `${'grüße '.repeat(10)}🍒\n`.repeat(60_000) });
    other = machine.repository('other', { 'other.py': 'b = 2\n' });
    await recorded.start();
    ({ wire } = recorded);
    const workspace = join(machine.home, 'both.code-workspace');
    writeFileSync(workspace, JSON.stringify({ folders: [{ path: one }, { path: other }] }));
    window = await recorded.code.open(workspace, join(one, 'one.py'));
  });
  after(() => recorded?.stop());
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
