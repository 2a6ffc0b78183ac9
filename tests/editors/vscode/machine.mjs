// SPDX-License-Identifier: Apache-2.0
// A machine as one user has it: home and XDG directories of its own, the real programs, and git repositories. All of it
// lies below one short folder in /tmp, since the path of a Unix socket may have 107 bytes only.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Waits until `condition` holds, and gives what it gave. Generous: the machines that run tests may be slow. */
export async function until(what, condition, patience = 240_000) {
  const end = Date.now() + patience;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what} did not come about`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class Machine {
  constructor({ programs, model }) {
    this.folder = mkdtempSync('/tmp/kvbv-');
    this.programs = programs;
    this.home = this.makeFolder('home');
    this.runtime = this.makeFolder('run');
    this.bin = this.makeFolder('home/.local/bin'); // the editor's server takes the PATH from a login shell
    this.socket = join(this.runtime, 'kvboost/kvboostd.sock');
    this.env = {
      PATH: process.env.PATH,
      LANG: 'C.UTF-8',
      HOME: this.home,
      TMPDIR: this.makeFolder('tmp'),
      XDG_RUNTIME_DIR: this.runtime,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
      KVBOOST_MODEL: model,
      KVBOOST_WATCH_FILES: 'no',
    };
    for (const name of ['KVBOOST_THREADS', 'OMP_WAIT_POLICY']) {
      if (process.env[name] !== undefined) this.env[name] = process.env[name];
    }
    this.install();
  }

  makeFolder(name) {
    const path = join(this.folder, name);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /** Puts kvboost where `cmake --install --prefix ~/.local` does; `uninstall` takes it away again. */
  install() {
    symlinkSync(join(this.programs, 'kvboost'), join(this.bin, 'kvboost'));
  }

  uninstall() {
    rmSync(join(this.bin, 'kvboost'));
  }

  /** A git repository with these files (path → text), all in one commit. */
  repository(name, files) {
    const root = this.makeFolder(name);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    const git = (...words) => execFileSync('git', words, { cwd: root, env: this.env });
    git('init', '-q', '-b', 'main');
    git('add', '-A');
    git('-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', 'All');
    return root;
  }

  kvboost(...words) {
    const done = spawnSync(join(this.programs, 'kvboost'), words, { env: this.env, cwd: this.home, encoding: 'utf8' });
    return { code: done.status, out: done.stdout, err: done.stderr };
  }

  /** The daemon's own counters; undefined when none runs. */
  status() {
    const { code, out } = this.kvboost('status', '--if-running', '--json');
    return code === 0 ? JSON.parse(out) : undefined;
  }

  /** Process ids of all that runs on this machine, told by the runtime directory in their environment. */
  processes(name) {
    const mine = `XDG_RUNTIME_DIR=${this.runtime}`;
    return readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .filter((pid) => {
        try {
          const isAlive = !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
          const named = name === undefined || readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === name;
          return isAlive && named && readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mine);
        } catch {
          return false; // it ended meanwhile
        }
      })
      .map(Number);
  }

  /** Ends the daemons the hard way; with a signal that they cannot handle nothing is tidied up. */
  async killDaemon() {
    const daemons = this.processes('kvboostd');
    daemons.forEach((pid) => process.kill(pid, 'SIGKILL'));
    await until('the end of the daemon', () => this.processes('kvboostd').length === 0);
    return daemons;
  }

  logText() {
    const log = join(this.home, '.local/state/kvboost/kvboostd.log');
    return existsSync(log) ? readFileSync(log, 'utf8') : '(no log)';
  }

  async tearDown() {
    this.kvboost('daemon', 'stop', '--now');
    await this.killDaemon();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
