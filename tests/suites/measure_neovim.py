#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure_neovim.py PROGRAMS MODEL: how soon after a key a hint is on Neovim's screen, and what Neovim and the daemon
take while nobody types. No test: the figures are for a quiet machine. Types into a file of this repository."""

import os
import pathlib
import statistics
import subprocess
import sys
import time

from machine import Machine
from neovim import Neovim

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = "        for name, value in sorted(os.environ.items()):  # all of them\n" * 4
KEYS = {" ": "<Space>", "\n": "<CR>", "<": "<lt>"}
BETWEEN_KEYS, PATIENCE, IDLE = 0.2, 0.6, 10  # seconds; the first is 60 words a minute


def state(editor):
    return editor.lua("local last = require('kvboost.suggest').last or {} return {last.ms or 0, last.origin or ''}")


def time_of_hint(editor, key):
    """Seconds from the key to a hint behind it on the screen, None if there is none soon; and whether the model was asked."""
    cursor, before, began = editor.screen.cursor, state(editor), time.perf_counter()
    editor.type(KEYS.get(key, key))
    took = None
    while took is None and time.perf_counter() - began < PATIENCE:
        if editor.screen.cursor != cursor and editor.hint():
            took = time.perf_counter() - began
        else:
            with editor.changed:
                editor.changed.wait(0.002)
    now = state(editor)
    time.sleep(max(0, BETWEEN_KEYS - (time.perf_counter() - began)))
    return took, now != before and now[1] == "model"


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tell_hints(editor):
    times = [time_of_hint(editor, key) for key in TEXT]
    for name, wanted in (("the model was asked", True), ("a hint was typed on, or remembered", False)):
        found = sorted(1000 * took for took, asked in times if took is not None and asked == wanted)
        print(f"{name}: {len(found)} of {len(TEXT)} keys, p50 {statistics.median(found):.0f} ms, "
              f"p95 {found[int(0.95 * len(found))]:.0f} ms")


def tell_idle(editor, daemon, what):
    processes = {"nvim": editor.process.pid, "kvboostd": daemon}
    before = {name: processor_seconds(pid) for name, pid in processes.items()}
    time.sleep(IDLE)
    used = ", ".join(f"{name} {100 * (processor_seconds(pid) - before[name]) / IDLE:.2f} %" for name, pid in processes.items())
    print(f"idle, {what}: {used}")


def main(programs, model):
    machine = Machine(programs)
    machine.use_model(model)
    daemon = subprocess.Popen([machine.programs / "kvboostd", "--foreground"], env=machine.env, stderr=subprocess.DEVNULL)
    try:
        machine.wait_for("the daemon", machine.socket.exists)
        repository = machine.folder / "repository"
        subprocess.run(["git", "clone", "-q", ROOT, repository], check=True)
        editor = Neovim("nvim", repository, machine.env, ROOT / "editors/nvim", arguments=["tests/suites/machine.py"])
        editor.type("70GA")
        editor.wait("the first answer", lambda: state(editor)[0] > 0, patience=600)
        editor.type("<Esc>o<C-u>")
        tell_hints(editor)
        editor.type("<Esc>")
        time.sleep(3)
        tell_idle(editor, daemon.pid, "no hint")
        editor.type("o<C-u>for name in o")
        editor.wait_for_hint()
        time.sleep(3)
        tell_idle(editor, daemon.pid, "a hint is shown")
        editor.close()
    finally:
        machine.tear_down()
        daemon.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
