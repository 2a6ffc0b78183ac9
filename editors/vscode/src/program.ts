// SPDX-License-Identifier: Apache-2.0
// The program kvboost: where it is, and running it.
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

/** An editor that was started from a desktop often does not have these on its PATH. */
const otherFolders = [path.join(os.homedir(), '.local/bin'), '/usr/local/bin', '/usr/bin'];

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The file that `name` means, a path or a name to look for; undefined if there is none. */
export function findProgram(name: string, searchPath = process.env.PATH ?? ''): string | undefined {
  const wanted = name.replace(/^~(?=\/)/, os.homedir());
  if (wanted.includes('/')) return isProgram(wanted) ? wanted : undefined;
  const folders = [...searchPath.split(path.delimiter).filter((folder) => folder !== ''), ...otherFolders];
  return folders.map((folder) => path.join(folder, wanted)).find(isProgram);
}

/** What it wrote to standard output; throws what it wrote to standard error. */
export function run(program: string, words: string[], environment: NodeJS.ProcessEnv, patienceMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...environment }, timeout: patienceMs, cwd: os.homedir() };
    execFile(program, words, options, (error, out, err) => {
      if (error === null) return resolve(out);
      const said = err.trim().replace(/^kvboost: /, '');
      reject(new Error(said !== '' ? said : error.message));
    });
  });
}
