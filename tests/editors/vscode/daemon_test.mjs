// SPDX-License-Identifier: Apache-2.0
// kvboost that is not there, comes, is killed, and serves two windows with a repository each.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { newMachine, newVsCode } from './harness.mjs';
import { until } from './machine.mjs';

const values = (names) => names.map((name) => `${name} = read_value("${name}")\n`).join('');

describe('the daemon', () => {
  let machine;
  let code;
  let first;

  before(async () => {
    machine = newMachine();
    machine.uninstall();
    code = newVsCode(machine);
    await code.start();
    const root = machine.repository('first', { 'one.py': values(['height', 'width', 'depth']) });
    first = await code.open(root, join(root, 'one.py'));
  });
  after(async () => {
    await code?.stop();
    await machine?.tearDown();
  });

  /** Types into a new line, and a key again until there is a hint: right behind a failure the daemon is not asked. */
  async function hintIn(window, name) {
    await window.focusEditor();
    await window.press('Escape', 'Control+End', 'Home', 'Shift+End', 'Delete');
    await window.type(`${name} = read_`);
    return until('a hint', async () => {
      const hint = await until('an answer', () => window.ghost(), 10_000).catch(() => '');
      if (hint === '') await window.press('Backspace', '_');
      return hint;
    });
  }

  it('is missed quietly', async () => {
    await first.press('Control+End');
    await first.type('length = read_');
    await until('the sign', () => first.hasIcon('circle-slash'));
    assert.deepEqual(await first.notifications(), []);
    await first.picture('absent');
    await first.statusEntry().click();
    await first.rows().filter({ hasText: machine.socket }).first().waitFor(); // the socket that was tried
    await first.press('Escape');
  });

  it('is started once it is installed', async () => {
    machine.install();
    await hintIn(first, 'length');
    assert.equal(machine.processes('kvboostd').length, 1);
    assert.ok(await first.hasIcon('zap'));
  });

  it('serves two windows with a repository each', async () => {
    const root = machine.repository('second', { 'two.py': values(['red', 'green', 'blue']) });
    const second = await code.open(root, join(root, 'two.py'));
    for (const name of ['volume', 'weight']) {
      assert.match(await hintIn(first, name), /^value\(/);
      assert.match(await hintIn(second, name), /^value\(/);
    }
    const { repositories, failed } = machine.status();
    assert.equal(repositories.length, 2);
    assert.equal(failed, 0);
    await second.close();
  });

  it('comes back after it was killed', async () => {
    const [old] = await machine.killDaemon();
    await hintIn(first, 'colour');
    const [now] = machine.processes('kvboostd');
    assert.notEqual(now, old);
    assert.deepEqual(await first.notifications(), []);
  });
});
