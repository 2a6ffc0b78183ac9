// SPDX-License-Identifier: Apache-2.0
// What the test files share: one browser, the places of things, and a picture of every window when a test has failed.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { Machine } from './machine.mjs';
import { RecordingSocket } from './recording_socket.mjs';
import { VsCode } from './vs_code.mjs';

const { KVBOOST_PROGRAMS: programs, KVBOOST_TEST_MODEL: model, KVBOOST_CHROMIUM: chromiumPath = '/usr/bin/chromium' } = process.env;
if (programs === undefined || model === undefined) throw new Error('KVBOOST_PROGRAMS and KVBOOST_TEST_MODEL are to be set');
const screenshots = resolve('screenshots');
const windows = [];
let browser;

export function newMachine() {
  return new Machine({ programs, model });
}

export function newVsCode(machine) {
  const code = new VsCode(machine, {
    place: resolve('node_modules/code-server/lib/vscode'),
    extension: resolve('../extension/kvboost.vsix'),
    browser,
    screenshots,
  });
  windows.push(code.windows);
  return code;
}

/** A VS Code whose requests pass a socket that records them, on a machine where the daemon runs. */
export class RecordedCode {
  machine = newMachine();

  async start(settings = {}) {
    const started = this.machine.kvboost('daemon', 'start');
    assert.equal(started.code, 0, started.err);
    this.wire = new RecordingSocket(join(this.machine.runtime, 's'), this.machine.socket);
    await this.wire.listen();
    this.code = newVsCode(this.machine);
    this.code.set({ 'kvboost.socket': this.wire.path, ...settings });
    await this.code.start();
  }

  async stop() {
    await this.code?.stop();
    this.wire?.close();
    await this.machine.tearDown();
  }
}

export const mochaHooks = {
  async beforeAll() {
    mkdirSync(screenshots, { recursive: true });
    browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
  },
  async afterAll() {
    await browser?.close();
  },
  async afterEach() {
    if (this.currentTest?.state !== 'failed') return;
    const name = this.currentTest.title.replace(/\W+/g, '_');
    for (const [at, window] of windows.flat().entries()) {
      await window.picture(`failed_${name}_${at}`).catch(() => undefined);
    }
  },
};
