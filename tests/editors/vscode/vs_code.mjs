// SPDX-License-Identifier: Apache-2.0
// A real VS Code on a machine of machine.mjs: its server with the extension installed, and windows of it in a browser.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { until } from './machine.mjs';
import { Window } from './window.mjs';

/** What would only be in the way of what is tested. */
const settings = {
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.suggestOnTriggerCharacters': false,
  'editor.accessibilitySupport': 'off',
  'security.workspace.trust.enabled': false,
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'extensions.ignoreRecommendations': true,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'files.autoSave': 'off',
  'git.enabled': false,
  'remote.autoForwardPorts': false,
  'typescript.disableAutomaticTypeAcquisition': true,
  'files.simpleDialog.enable': true,
};

export class VsCode {
  /** `place` has the server (out/server-main.js); `screenshots` is where pictures go. */
  constructor(machine, { place, extension, browser, screenshots }) {
    this.machine = machine;
    this.place = place;
    this.browser = browser;
    this.screenshots = screenshots;
    this.windows = [];
    this.data = machine.makeFolder('code');
    const folders = ['--server-data-dir', join(this.data, 'server'), '--user-data-dir', join(this.data, 'user'),
      '--extensions-dir', join(this.data, 'extensions')];
    this.words = ['--no-warnings', join(place, 'out/server-main.js'), '--accept-server-license-terms', ...folders];
    for (const folder of ['user/User', 'server/data/Machine', 'user/Machine']) {
      mkdirSync(join(this.data, folder), { recursive: true });
    }
    this.set({});
    const installed = spawnSync(process.execPath, [...this.words, '--install-extension', extension],
      { env: machine.env, encoding: 'utf8' });
    if (!installed.stdout.includes('successfully installed')) {
      throw new Error(`the extension was not installed: ${installed.stdout}${installed.stderr}`);
    }
  }

  /** Settings beside those that all tests have; the ones of an earlier call are taken back. */
  set(more) {
    const text = JSON.stringify({ ...settings, ...more });
    writeFileSync(join(this.data, 'user/User/settings.json'), text);
    writeFileSync(join(this.data, 'user/Machine/settings.json'), text);
    writeFileSync(join(this.data, 'server/data/Machine/settings.json'), text);
  }

  async start() {
    this.port = await freePort();
    this.server = spawn(process.execPath,
      [...this.words, '--host', '127.0.0.1', '--port', String(this.port), '--without-connection-token', '--telemetry-level', 'off'],
      { env: this.machine.env, stdio: ['ignore', 'pipe', 'pipe'], cwd: this.machine.home });
    this.said = '';
    for (const stream of [this.server.stdout, this.server.stderr]) stream.on('data', (text) => (this.said += text));
    await until('VS Code', async () => {
      if (this.server.exitCode !== null) throw new Error(`VS Code has ended:\n${this.said}`);
      return fetch(`http://127.0.0.1:${this.port}/version`).then((answer) => answer.ok, () => false);
    });
  }

  /** A window of `folder` (or of a .code-workspace file, or of nothing) that shows `file`. */
  async open(folder, file) {
    const query = new URLSearchParams();
    if (folder !== undefined) query.set(folder.endsWith('.code-workspace') ? 'workspace' : 'folder', folder);
    if (file !== undefined) {
      query.set('payload', JSON.stringify([['openFile', `vscode-remote://127.0.0.1:${this.port}${file}`]]));
    }
    const context = await this.browser.newContext({ viewport: { width: 1200, height: 760 }, permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await context.newPage();
    page.setDefaultTimeout(240_000);
    const window = new Window(page, this.screenshots);
    this.windows.push(window);
    await page.goto(`http://127.0.0.1:${this.port}/?${query}`);
    await window.isThere();
    return window;
  }

  async stop() {
    for (const window of this.windows) await window.close();
    if (this.server === undefined || this.server.exitCode !== null) return;
    const ended = new Promise((resolve) => this.server.once('exit', resolve));
    this.server.kill('SIGTERM');
    await ended;
    await until('the end of the extension hosts', () => this.machine.processes('node').length === 0);
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
