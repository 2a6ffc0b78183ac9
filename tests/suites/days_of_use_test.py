# SPDX-License-Identifier: Apache-2.0
"""Days of use in short: many completions of random length on several connections, and memory that does not grow by them."""

import concurrent.futures
import pathlib
import random

from wire import Wire

CONNECTIONS, EACH, SETTLED = 8, 250, 60
LINES = [f"int value_{n} = count({n}, \"{n * 7919}\");\n" for n in range(400)]


def type_on(machine, root, number, count):
    """Completions in a buffer that changes, at any place, as one editor would ask for them."""
    chance = random.Random(number * 1000 + count)
    with Wire(machine.socket) as wire:
        for _ in range(count):
            first = chance.randrange(len(LINES))
            text = "".join(LINES[first:first + chance.randrange(1, 60)])
            answer = wire.call("complete", {
                "directory": str(root), "path": f"f{number}.c", "text": text, "offset": chance.randrange(len(text)),
                "client": f"editor {number}", "max_tokens": chance.randrange(1, 24), "ahead": chance.random() < 0.5})
            assert "result" in answer, answer


def type_on_all(machine, root, count):
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as editors:
        for typed in [editors.submit(type_on, machine, root, number, count) for number in range(CONNECTIONS)]:
            typed.result()
    machine.wait_for("what was computed ahead", lambda: machine.status()["running"] == 0)


def own_memory(machine):
    """Bytes of the daemon's memory that are not pages of a file, as those of the store are."""
    rollup = pathlib.Path(f"/proc/{machine.only_daemon()}/smaps_rollup").read_text()
    lines = (line.split() for line in rollup.splitlines()[1:])
    return 1024 * sum(int(words[1]) for words in lines if words[0] in ("Anonymous:", "Swap:"))


def test_memory_settles(tiny):
    root = tiny.repository({f"f{n}.c": "".join(LINES[n * 40:n * 40 + 40]) for n in range(CONNECTIONS)})
    tiny.env.update(KVBOOST_COMPLETE_TOKENS="600", KVBOOST_MAX_MEMORY="16M")
    assert tiny.kvboost("daemon", "start").code == 0
    type_on_all(tiny, root, SETTLED)
    settled = own_memory(tiny)
    type_on_all(tiny, root, EACH)
    grown = own_memory(tiny) - settled
    assert grown < 24 << 20, f"{CONNECTIONS * EACH} completions took {grown} bytes"
