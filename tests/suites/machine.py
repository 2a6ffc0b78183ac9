# SPDX-License-Identifier: Apache-2.0
"""A machine as one user has it: the real programs, with a home and XDG directories of their own.

Everything lies below one short folder in /tmp, since the path of a Unix socket may have 107 bytes only.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

DONE, FAILED, USAGE, NO_DAEMON, MODEL, CANCELLED = 0, 1, 2, 3, 4, 130


@dataclasses.dataclass
class Finished:
    code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)


class Machine:
    def __init__(self, programs):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kvb-", dir="/tmp"))
        self.programs = pathlib.Path(programs)
        self.home = self.make_folder("home")
        self.runtime = self.make_folder("run")
        self.state = self.home / ".local/state/kvboost"
        self.data = self.home / ".local/share/kvboost"
        self.log = self.state / "kvboostd.log"
        self.socket = self.runtime / "kvboost/kvboostd.sock"
        self.env = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.runtime),
            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
            "KVBOOST_WATCH_FILES": "no"}  # else what a test counts may be computed already
        for name in ("KVBOOST_THREADS", "OMP_WAIT_POLICY"):  # of those who share the cores with others
            if name in os.environ:
                self.env[name] = os.environ[name]

    def make_folder(self, name):
        path = self.folder / name
        path.mkdir(mode=0o700, parents=True)
        return path

    def use_model(self, file):
        self.env["KVBOOST_MODEL"] = str(file)

    def repository(self, files, name="repository"):
        """A git repository with these files (path -> text or bytes), all in one commit."""
        root = self.make_folder(name)
        for path, content in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "All"]):
            subprocess.run(["git", *arguments], cwd=root, env=self.env, check=True)
        return root

    # ---- programs -------------------------------------------------------------------------------------------

    def start(self, *arguments, cwd=None, env=None, **options):
        """`kvboost ARGUMENTS` running: a Popen with pipes for what it writes, and nothing to read."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([self.programs / "kvboost", *map(str, arguments)], cwd=cwd or self.home,
                                env={**self.env, **(env or {})}, text=True, **{**streams, **options})

    def kvboost(self, *arguments, cwd=None, env=None, text="", patience=240):
        """Runs `kvboost ARGUMENTS` to its end, with `text` on its standard input."""
        process = self.start(*arguments, cwd=cwd, env=env, stdin=subprocess.PIPE)
        try:
            out, err = process.communicate(text, timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"kvboost {' '.join(map(str, arguments))} hangs; the daemon's log:\n{self.log_text()}")
        return Finished(process.returncode, out, err)

    def status(self):
        finished = self.kvboost("status", "--if-running", "--json")
        assert finished.code == DONE, finished
        return finished.json()

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else "(no log)"

    # ---- daemons --------------------------------------------------------------------------------------------

    def processes(self):
        """Process ids of all that runs on this machine, with their names: told by the runtime directory in their
        environment."""
        mine = f"XDG_RUNTIME_DIR={self.runtime}".encode()
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                is_alive = "Z" not in (process / "stat").read_text().rsplit(")", 1)[1].split()[0]
                if is_alive and mine in (process / "environ").read_bytes().split(b"\0"):
                    found[int(process.name)] = (process / "comm").read_text().strip()
            except OSError:
                continue  # it ended meanwhile
        return found

    def daemons(self):
        return sorted(pid for pid, name in self.processes().items() if name == "kvboostd")

    def only_daemon(self):
        daemons = self.daemons()
        assert len(daemons) == 1, f"{len(daemons)} daemons: {daemons}\n{self.log_text()}"
        return daemons[0]

    def resident_bytes(self):
        """The daemon's memory, swapped-out pages too, by its page tables: what statm tells, and so status, may be off by
        some pages for each CPU."""
        rollup = pathlib.Path(f"/proc/{self.only_daemon()}/smaps_rollup").read_text()
        lines = (line.split() for line in rollup.splitlines()[1:])
        return 1024 * sum(int(words[1]) for words in lines if words[0] in ("Rss:", "Swap:"))

    def wait_for(self, what, condition, patience=120):
        end = time.monotonic() + patience
        while not (value := condition()):
            assert time.monotonic() < end, f"{what} did not come about\n{self.log_text()}"
            time.sleep(0.02)
        return value

    def wait_until_gone(self, pid):
        self.wait_for(f"the end of daemon {pid}", lambda: pid not in self.daemons())

    def no_daemon_is_left(self, patience=10):
        """A daemon lets go of its lock, and so `stop` returns, a moment before its process is gone."""
        end = time.monotonic() + patience
        while (left := self.daemons()) and time.monotonic() < end:
            time.sleep(0.02)
        return left == []

    def tear_down(self):
        """Stops the daemon as a user would, and makes sure that nothing is left: processes or files."""
        self.kvboost("daemon", "stop", "--now", patience=60)
        clean, left = self.no_daemon_is_left(), self.daemons()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        log = self.log_text()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert clean, f"`kvboost daemon stop` left {left} running\n{log}"
