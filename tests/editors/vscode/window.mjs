// SPDX-License-Identifier: Apache-2.0
// One window of VS Code in the browser: what a person sees in it, and does with keyboard and mouse.
import { join } from 'node:path';
import { until } from './machine.mjs';

export class Window {
  constructor(page, screenshots) {
    this.page = page;
    this.screenshots = screenshots;
  }

  async isThere() {
    await this.page.locator('.monaco-workbench').waitFor();
    await this.statusEntry().waitFor(); // the extension is active from here on
  }

  close() {
    return this.page.context().close();
  }

  picture(name) {
    return this.page.screenshot({ path: join(this.screenshots, `${name}.png`) });
  }

  // ---- keys ----------------------------------------------------------------------------------------------

  press(...keys) {
    return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
  }

  type(text) {
    return this.page.keyboard.type(text, { delay: 20 });
  }

  /** Types into the quick input that is open, and takes what is then chosen: an entry that has `name` in it. */
  async choose(text, name = text) {
    await this.quickInput().fill(text);
    await this.rows().and(this.page.locator('.focused')).filter({ hasText: name }).waitFor();
    await this.press('Enter');
  }

  /** Runs a command by its name in the palette. */
  async command(name) {
    await this.press('F1');
    await this.choose(`>${name}`, name);
  }

  focusEditor() {
    return this.command('View: Focus Active Editor Group');
  }

  /** Shows a file of the workspace, with the cursor at its end. */
  async show(name) {
    await this.press('Control+p');
    await this.choose(name);
    await this.page.locator(`.monaco-editor.focused[data-uri$="/${name}"]`).waitFor();
    await this.press('Control+End');
  }

  // ---- the editor ----------------------------------------------------------------------------------------

  /** All grey text, its lines joined. */
  async ghost() {
    const parts = await this.page.locator('.view-lines [class*="ghost-text"], .suggest-preview-text').allTextContents();
    return parts.join('').replaceAll('\u00a0', ' ');
  }

  async ghostComes() {
    return until('a hint', () => this.ghost());
  }

  async noGhost() {
    await until('the end of the hint', async () => (await this.ghost()) === '');
  }

  /** The text of the lines that are in view, without grey text. */
  async lines() {
    const all = await this.page.evaluate(() => [...document.querySelectorAll('.editor-instance .view-line')]
      .map((line) => {
        const copy = line.cloneNode(true);
        copy.querySelectorAll('[class*="ghost-text"]').forEach((ghost) => ghost.remove());
        return [parseFloat(line.style.top), copy.textContent.replaceAll('\u00a0', ' ')];
      })
      .sort((one, other) => one[0] - other[0]));
    return all.map(([, text]) => text);
  }

  async tabs() {
    return this.page.locator('.tab .label-name').allTextContents();
  }

  /** "Ln 12, Col 3" of the status bar. */
  cursor() {
    return this.page.locator('#status\\.editor\\.selection').textContent();
  }

  // ---- kvboost -------------------------------------------------------------------------------------------

  statusEntry() {
    return this.page.locator('.statusbar-item[id$="kvboost.status"]');
  }

  async statusText() {
    return ((await this.statusEntry().textContent()) ?? '').trim();
  }

  async hasIcon(name) {
    return (await this.statusEntry().locator(`.codicon-${name}`).count()) > 0;
  }

  /** The page of the Ask view. */
  askPage() {
    return this.page.frameLocator('iframe.webview').frameLocator('#active-frame');
  }

  quickInput() {
    return this.page.locator('.quick-input-widget input:visible').first();
  }

  /** The rows of a list of the quick input. */
  rows() {
    return this.page.locator('.quick-input-list .monaco-list-row');
  }

  notifications() {
    return this.page.locator('.notification-toast').allTextContents();
  }
}
