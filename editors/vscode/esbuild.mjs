// SPDX-License-Identifier: Apache-2.0
// Bundles the extension, the page of its web view, and, with --tests, its unit tests.
import { copyFileSync, readdirSync } from 'node:fs';
import { build } from 'esbuild';

const host = { bundle: true, platform: 'node', target: 'node18', format: 'cjs', logLevel: 'warning' };
await build({ ...host, entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js', external: ['vscode'], minify: true });
await build({ entryPoints: ['src/ask/page.ts'], outfile: 'dist/ask.js', bundle: true, format: 'iife', minify: true, logLevel: 'warning' });
copyFileSync('media/ask.css', 'dist/ask.css');
if (process.argv.includes('--tests')) {
  const tests = readdirSync('tests').filter((name) => name.endsWith('_test.ts'));
  await build({ ...host, entryPoints: tests.map((name) => `tests/${name}`), outdir: 'build/tests', sourcemap: 'inline' });
}
