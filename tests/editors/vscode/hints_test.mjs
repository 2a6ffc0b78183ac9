// SPDX-License-Identifier: Apache-2.0
// Grey text at the cursor, with the real daemon and model; where a certain hint is wanted, the socket in between gives it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RecordedCode } from './harness.mjs';
import { until } from './machine.mjs';

const values = ['height', 'width', 'depth', 'weight'].map((name) => `${name} = read_value("${name}")\n`).join('');
const files = {
  'main.py': `from values import read_value\n\n${values}\n`,
  'values.py': 'def read_value(name):\n    with open(name) as file:\n        return int(file.read())\n',
  'notes.md': '# Notes\n\n',
  'windows.py': 'first = 1\r\nsecond = 2\r\n',
  'cherry.py': 'a = "🍒e\u0301 ü"\n\n',
  '.env': 'KEY=1\n',
};

describe('hints', () => {
  let recorded;
  let machine;
  let window;
  let wire;
  let root;

  before(async () => {
    recorded = new RecordedCode();
    ({ machine } = recorded);
    root = machine.repository('app', files);
    await recorded.start({ 'editor.formatOnType': false });
    ({ wire } = recorded);
    window = await recorded.code.open(root, join(root, 'main.py'));
  });
  after(() => recorded?.stop());
  beforeEach(() => {
    wire.hints = () => undefined;
    wire.messages = [];
  });

  /** An empty line at the end of the file that is shown, with nothing grey. */
  async function newLine() {
    await window.press('Escape', 'Control+End', 'Home', 'Shift+End', 'Delete');
  }

  function lineIs(text) {
    return until(`the line "${text}"`, async () => (await window.lines()).includes(text));
  }

  it('shows what the model has to say, and Tab takes it', async () => {
    await window.press('Control+End');
    await window.type('length = read_');
    const hint = await window.ghostComes();
    await window.picture('hint');
    assert.match(hint, /^value\("length"\)/);
    await window.press('Tab');
    await lineIs(`length = read_${hint}`);
    await window.press('Control+z');
    await lineIs('length = read_'); // one step back
    assert.match(await window.statusText(), /^kvboost \d+ % · \d+ ms$/);
  });

  it('sends the buffer as it is, saved or not, and where else the user has been', async () => {
    await newLine();
    await window.type('unsaved_zebra = read_');
    await window.ghostComes();
    const [last] = wire.requests('complete').slice(-1);
    assert.equal(last.params.directory, root);
    assert.equal(last.params.path, join(root, 'main.py'));
    assert.ok(last.params.text.includes('unsaved_zebra'));
    assert.ok(!readFileSync(join(root, 'main.py'), 'utf8').includes('unsaved_zebra'));
    assert.deepEqual(last.params.ring, []);
    await window.show('values.py');
    await window.show('main.py');
    await newLine();
    await window.type('x = read_');
    await window.ghostComes();
    const [next] = wire.requests('complete').slice(-1);
    assert.deepEqual(next.params.ring.map(({ path }) => path), [join(root, 'values.py')]);
  });

  it('asks at most once at a time, however fast one types', async () => {
    await newLine();
    await window.page.keyboard.type('volume = height * width * depth * read_', { delay: 60 });
    await window.ghostComes();
    assert.equal(wire.mostAtOnce('complete'), 1);
    assert.equal(machine.status().failed, 0);
  });

  it('asks nothing while one types what is shown', async () => {
    wire.hints = ({ text }) => (text.includes('typed = ') ? ['count(a) + 1'] : []);
    await newLine();
    await window.type('typed = ');
    assert.equal(await window.ghostComes(), 'count(a) + 1');
    const asked = wire.requests('complete').length;
    await window.type('count');
    await until('the rest', async () => (await window.ghost()) === '(a) + 1');
    await window.press('Tab');
    await lineIs('typed = count(a) + 1');
    assert.ok(wire.requests('complete').slice(asked).every(({ params }) => params.text.includes('count(a) + 1')));
  });

  it('takes a word or a line of it', async () => {
    wire.hints = ({ text }) => (text.trimEnd().endsWith('def area():') ? ['return height * width\n    # done'] : []);
    await newLine();
    await window.type('def area():\n');
    await window.ghostComes();
    await window.press('Control+ArrowRight');
    await lineIs('    return');
    await window.press('Control+Alt+ArrowRight');
    await lineIs('    return height * width');
    assert.match(await window.ghost(), /# done/);
    await window.press('Escape');
  });

  it('has others to choose from', async () => {
    wire.hints = ({ text, alternatives }) => (text.includes('choice = ') ? ['one', 'two', 'three'].slice(0, alternatives) : []);
    await newLine();
    await window.type('choice = ');
    assert.equal(await window.ghostComes(), 'one');
    await window.press('Alt+]');
    await until('the next', async () => (await window.ghost()) === 'two');
    await window.press('Alt+]');
    await until('the third', async () => (await window.ghost()) === 'three');
    await window.press('Alt+[');
    await until('the one before', async () => (await window.ghost()) === 'two');
    await window.press('Tab');
    await lineIs('choice = two');
  });

  it('does not double the bracket that the editor has put there', async () => {
    wire.hints = ({ text }) => (text.includes('closed = f') ? ['(a, b)'] : []);
    await newLine();
    await window.type('closed = f');
    assert.equal(await window.ghostComes(), '(a, b)');
    await window.type('(');
    await until('the rest', async () => (await window.ghost()).startsWith('a, b'));
    await window.press('Tab');
    await lineIs('closed = f(a, b)');
  });

  it('drops a hint that comes when the cursor has gone elsewhere', async () => {
    let late = 0;
    wire.hints = ({ text }) => {
      if (text.includes('stale = ') && late++ === 0) return undefined; // the model's, which takes its time
      return [];
    };
    await newLine();
    await window.page.keyboard.insertText('stale = ');
    await until('the request', () => late > 0);
    await window.press('Control+Home');
    await until('all answers', () => wire.mostAtOnce('complete') > 0 && machine.status().running === 0);
    await window.noGhost();
  });

  it('counts bytes where the editor counts otherwise', async () => {
    wire.hints = ({ offset, text }) => (Buffer.from(text).subarray(0, offset).toString().endsWith('ü"  # 🍒') ? [' ü'] : []);
    await window.show('cherry.py');
    await window.press('Control+Home', 'End');
    await window.page.keyboard.insertText('  # 🍒');
    assert.equal(await window.ghostComes(), ' ü');
    await window.press('Tab');
    await lineIs('a = "🍒e\u0301 ü"  # 🍒 ü');
  });

  it('keeps the line ends of a file from Windows', async () => {
    wire.hints = ({ text }) => (text.endsWith('def third():\r\n    ') ? ['x = 3\r\n    return x'] : []);
    await window.show('windows.py');
    await window.type('def third():\n');
    await window.ghostComes();
    await window.press('Tab', 'Control+s');
    const saved = () => readFileSync(join(root, 'windows.py'), 'utf8');
    await until('the file', () => saved().endsWith('def third():\r\n    x = 3\r\n    return x'));
  });

  it('is silent in files of secrets, also when asked, and off in commit messages', async () => {
    wire.hints = () => ['never'];
    await window.show('.env');
    await window.type('PASSWORD=hunter2');
    await window.command('kvboost: Show a Hint at the Cursor');
    await window.show('notes.md');
    await window.type('Markdown is ');
    assert.equal(await window.ghostComes(), 'never');
    await window.command('Change Language Mode');
    await window.choose('Git Commit Message');
    await until('the language', () => window.hasIcon('circle-outline'));
    const asked = wire.requests('complete').length;
    await window.press('Control+End');
    await window.type(' off here');
    await window.noGhost();
    assert.equal(wire.requests('complete').length, asked);
    await window.command('kvboost: Show a Hint at the Cursor');
    assert.equal(await window.ghostComes(), 'never', 'when asked it does');
    assert.ok(!JSON.stringify(wire.messages).includes('hunter2'));
  });

  it('reads everything anew when told so', async () => {
    await window.show('main.py');
    await newLine();
    await window.type('fresh = read_');
    await window.ghostComes();
    await window.command('kvboost: Show a Hint Without the Cache');
    await until('the request', () => wire.requests('complete').some(({ params }) => params.reuse === false));
    await window.ghostComes();
    const reused = wire.requests('complete').map(({ params }) => params.reuse);
    assert.equal(reused.filter((reuse) => !reuse).length, 1);
  });
});
