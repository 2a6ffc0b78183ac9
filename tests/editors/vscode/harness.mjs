// SPDX-License-Identifier: Apache-2.0
// What the test files share: one browser, the places of things, and a picture of every window when a test has failed.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { Machine } from './machine.mjs';
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
