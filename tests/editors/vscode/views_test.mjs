// SPDX-License-Identifier: Apache-2.0
// Questions, places of bugs, reading ahead and the details, with the real daemon and model.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { RecordedCode } from './harness.mjs';
import { until } from './machine.mjs';

const files = {
  'README.md': '# Shop\n\nA shop that counts its stock.\n',
  'stock.py': 'class Stock:\n    def __init__(self):\n        self.items = {}\n\n    def remove_item(self, name):\n        self.items[name] -= 2\n',
  'till.py': 'def total(prices):\n    return sum(prices)\n',
};

describe('views', () => {
  let recorded;
  let machine;
  let window;
  let wire;
  let root;

  before(async () => {
    recorded = new RecordedCode();
    ({ machine } = recorded);
    root = machine.repository('shop', files);
    await recorded.start({ 'kvboost.ask.maxTokens': 40, 'kvboost.enabled': false });
    ({ wire } = recorded);
    window = await recorded.code.open(root, join(root, 'README.md'));
  });
  after(() => recorded?.stop());
  beforeEach(() => (wire.messages = []));

  const page = () => window.askPage();
  const turn = () => page().locator('.turn').last();

  async function ask(question) {
    await window.command('kvboost: Ask About This Repository');
    await page().locator('#question').fill(question);
    await page().locator('#question').press('Enter');
  }

  it('answers a question as the words come, and opens the files that it read', async () => {
    await ask('What does remove_item do?');
    await turn().locator('.files').waitFor();
    const told = wire.messages.filter((message) => message.method === 'ask/token').map(({ params }) => params.text);
    assert.ok(told.length > 0, 'piece by piece');
    assert.ok((await turn().locator('.answer').textContent()).length > 0);
    assert.match(await turn().locator('.note').first().textContent(), /First word after [\d.]+ s; \d+ % of \d+ tokens/);
    await window.picture('ask');
    await turn().locator('.file', { hasText: 'stock.py' }).click();
    await window.page.locator('.tab.active', { hasText: 'stock.py' }).waitFor();
  });

  it('goes on with the conversation, and reads one file only when told so', async () => {
    await page().locator('#go-on').check();
    await page().locator('#this-file').check();
    await ask('And how many are removed?');
    await turn().locator('.note', { hasText: 'Continues: What does remove_item do?' }).waitFor();
    const [{ params }] = wire.requests('ask');
    assert.equal(params.continue_conversation, true);
    assert.deepEqual(params.paths, [join(root, 'stock.py')]);
    await page().locator('#go-on').uncheck();
    await page().locator('#this-file').uncheck();
  });

  it('can be stopped', async () => {
    const turns = await page().locator('.turn').count();
    await ask('Tell a very long story about this shop.');
    await until('the turn', async () => (await page().locator('.turn').count()) > turns);
    await page().locator('#cancel').click();
    await turn().locator('.note', { hasText: /Cancelled\.|First word/ }).first().waitFor(); // or it was done by then
    await until('the end', () => machine.status().running === 0);
    await page().locator('#send').waitFor();
  });

  it('lists the places of a bug, and opens the one that is chosen', async () => {
    await window.command('kvboost: Locate a Bug');
    await window.quickInput().fill('remove_item takes two items away instead of one');
    await window.press('Enter');
    const first = window.rows().first();
    await first.filter({ hasText: 'stock.py:' }).waitFor();
    await until('the end of it', () => wire.messages.some(({ result }) => result?.files !== undefined));
    await window.picture('locate');
    await window.press('Enter');
    await window.page.locator('.tab.active', { hasText: 'stock.py' }).waitFor();
    await until('the line', async () => /Ln [56],/.test(await window.cursor()));
  });

  it('keeps them in a tree, with the functions', async () => {
    const tree = window.page.locator('.pane', { hasText: 'Locate' }).locator('.monaco-list-row');
    await tree.filter({ hasText: 'remove_item' }).last().waitFor();
    await window.show('README.md');
    await tree.filter({ hasText: 'remove_item' }).last().click();
    await window.page.locator('.tab.active', { hasText: 'stock.py' }).waitFor();
    await until('the line', async () => (await window.cursor()).startsWith('Ln 5,'));
    await window.picture('tree');
  });

  it('takes the report from the selection, or the clipboard', async () => {
    await window.show('README.md');
    await window.press('Control+a');
    await window.command('kvboost: Locate the Bug That the Selection Describes');
    await until('the request', () => wire.requests('locate').length === 1);
    assert.equal(wire.requests('locate')[0].params.report, files['README.md']);
    await window.press('Escape');
    await window.page.evaluate(() => navigator.clipboard.writeText('total is wrong'));
    await window.command('kvboost: Locate the Bug in the Clipboard');
    await until('the request', () => wire.requests('locate').length === 2);
    assert.equal(wire.requests('locate')[1].params.report, 'total is wrong');
    await window.rows().first().filter({ hasText: 'till.py' }).waitFor();
    await window.press('Escape');
  });

  it('reads the repository ahead, and shows how far it is', async () => {
    await window.command('kvboost: Read the Repository Ahead');
    await until('its end', () => wire.messages.some(({ result }) => result?.stored_bytes !== undefined));
    await window.page.locator('.statusbar-item', { hasText: '3 files are read ahead' }).waitFor();
    assert.deepEqual(wire.requests('warm').map(({ params }) => params.directory), [root]);
  });

  it('tells all about the daemon with one click', async () => {
    await window.statusEntry().click();
    await window.rows().filter({ hasText: 'SmolLM2' }).waitFor();
    await window.rows().filter({ hasText: machine.socket }).waitFor();
    await window.picture('status');
    await window.press('Escape');
  });
});
