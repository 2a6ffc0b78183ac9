// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import { bufferText, mostBefore, mostBehind } from '../src/completion/buffer_text';
import { LatestOnly } from '../src/latest_only';
import { RecentPlaces } from '../src/completion/recent_places';
import { ShownHints } from '../src/completion/shown_hints';

describe('bufferText', () => {
  it('counts bytes where the editor counts UTF-16 units', () => {
    const text = 'a = "🍒e\u0301\u2028ü";\r\n';
    for (let cursor = -2; cursor <= text.length + 2; ++cursor) {
      const sent = bufferText(text, cursor);
      assert.equal(sent.text, text);
      assert.equal(sent.offset, Buffer.from(text.slice(0, sent.cursor)).length);
      assert.ok(sent.cursor >= 0 && sent.cursor <= text.length);
    }
    assert.equal(bufferText(text, 6).cursor, 5, 'never within a pair');
    assert.equal(bufferText(text, 7).offset, 9);
  });

  it('sends no half of a pair, and keeps the offset right behind it', () => {
    const sent = bufferText('x\ud83cy\udf52z', 4);
    assert.equal(sent.text, 'x\ufffdy\ufffdz');
    assert.equal(sent.offset, Buffer.byteLength('x\ufffdy\ufffd'));
    assert.equal(JSON.parse(JSON.stringify(sent.text)), sent.text);
  });

  it('sends of a huge buffer what is around the cursor, from the same line on while one types', () => {
    const line = `${'🍒'.repeat(20)};\n`;
    const text = line.repeat(100_000);
    const cursor = line.length * 60_000;
    const sent = bufferText(text, cursor);
    assert.ok(sent.text.length <= 2 * mostBefore + mostBehind);
    assert.ok(sent.cursor >= mostBefore - line.length);
    assert.ok(sent.text.startsWith('🍒') && !/\ufffd/.test(sent.text));
    const typed = bufferText(`${text.slice(0, cursor)}abc${text.slice(cursor)}`, cursor + 3);
    assert.equal(typed.text.slice(0, sent.cursor), sent.text.slice(0, sent.cursor));
    assert.equal(typed.offset, sent.offset + 3);
    const oneLine = bufferText('🍒'.repeat(2_000_000), 3_000_001);
    assert.equal(oneLine.offset, Buffer.byteLength(oneLine.text.slice(0, oneLine.cursor)));
    assert.ok(!/\ufffd/.test(oneLine.text));
  });
});

describe('ShownHints', () => {
  const before = 'total = ';
  const behind = '\nend\n';
  let shown: ShownHints;

  const given = (...hints: string[]): void => shown.remember('file:///a', before + behind, before.length, hints, 2);
  const rest = (typed: string, behindNow = behind, wanted = 1): string[] | undefined =>
    shown.rest('file:///a', before + typed + behindNow, before.length + typed.length, wanted);

  beforeEach(() => (shown = new ShownHints()));

  it('answers as long as one types what was shown', () => {
    given('count(a)', 'counter');
    assert.deepEqual(rest(''), ['count(a)', 'counter']);
    assert.deepEqual(rest('count'), ['(a)', 'er']);
    assert.deepEqual(rest('counte'), ['r']);
    assert.equal(rest('counter'), undefined, 'all of it is there: what follows has to be asked for');
    assert.equal(rest('x'), undefined);
  });

  it('answers nothing for another place, text or document, or where more are wanted', () => {
    given('count');
    assert.equal(rest('', '\nend!\n'), undefined);
    assert.equal(shown.rest('file:///b', before + behind, before.length, 1), undefined);
    assert.equal(shown.rest('file:///a', before + behind, before.length - 1, 1), undefined);
    assert.equal(rest('', behind, 3), undefined);
    shown.forget();
    assert.equal(rest(''), undefined);
  });

  it('knows that there was nothing to show', () => {
    given();
    assert.deepEqual(rest(''), []);
    assert.equal(rest('a'), undefined);
  });

  it('minds the bracket that the editor closes by itself', () => {
    given('count(a, b)', 'count(c) + 1');
    assert.deepEqual(rest('count(', `)${behind}`), ['a, b']);
    assert.equal(rest('count(', `x${behind}`), undefined);
    assert.equal(rest('', `)${behind}`), undefined);
    given('f()');
    assert.equal(rest('f(', `)${behind}`), undefined, 'nothing is left of it');
  });

  it('goes by the line ends that the document has', () => {
    shown.remember('file:///a', 'if (x) {\r\n', 8, ['\r\n  y();\r\n}'], 1);
    assert.deepEqual(shown.rest('file:///a', 'if (x) {\r\n  \r\n', 12, 1), ['y();\r\n}']);
  });
});

describe('RecentPlaces', () => {
  it('has each place once, the latest first, and only so many', () => {
    const places = new RecentPlaces();
    places.touch('/a', 10);
    places.touch('/b', 1);
    places.touch('/a', 12);
    places.touch('/a', 500);
    assert.deepEqual(places.outside('/c').map(({ path, line }) => `${path}:${line}`), ['/a:500', '/a:12', '/b:1']);
    assert.deepEqual(places.outside('/a'), [{ path: '/b', line: 1 }]);
    for (let n = 0; n < 50; ++n) places.touch(`/f${n}`, 1);
    assert.equal(places.outside('').length, 16);
    assert.equal(places.outside('')[0]?.path, '/f49');
  });
});

describe('LatestOnly', () => {
  it('ends what went before', () => {
    const requests = new LatestOnly();
    const first = requests.begin();
    const second = requests.begin();
    assert.ok(first.signal.aborted && !second.signal.aborted);
    requests.cancel();
    assert.ok(second.signal.aborted);
  });
});
