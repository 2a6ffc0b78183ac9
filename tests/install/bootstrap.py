#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bootstrap.py: a second ./bootstrap in the same tree is refused, and leaves the first one's log alone."""

import fcntl
import pathlib
import shutil
import subprocess
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bootstrap"


def main():
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        shutil.copy2(SCRIPT, tree / "bootstrap")
        (tree / "build").mkdir()
        (tree / "build/bootstrap.log").write_text("of the first one\n")
        with (tree / "build/bootstrap.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            second = subprocess.run([tree / "bootstrap", "--no-packages", "run"], capture_output=True, text=True)
        assert second.returncode == 1 and "another ./bootstrap is at work" in second.stderr, second
        assert (tree / "build/bootstrap.log").read_text() == "of the first one\n"
        wrong = subprocess.run([tree / "bootstrap", "walk"], capture_output=True, text=True)
        assert wrong.returncode == 2 and "unknown argument 'walk'" in wrong.stderr, wrong


if __name__ == "__main__":
    main()
