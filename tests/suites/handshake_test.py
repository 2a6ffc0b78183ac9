# SPDX-License-Identifier: Apache-2.0
"""Old build, new build: the handshake of the wire, and a binary that is replaced while its daemon runs."""

import shutil
import subprocess

from machine import DONE, Machine
from wire import Wire


def build_of(machine):
    """The build that `--version` names in its last word, without the bracket."""
    version = machine.kvboost("--version")
    assert version.code == DONE, version
    return machine.status()["build"]


def test_the_same_build_stays(tiny):
    tiny.kvboost("daemon", "start")
    with Wire(tiny.socket) as wire:
        answer = wire.initialize(build_of(tiny))
    assert answer["result"]["pid"] == tiny.only_daemon() and not answer["result"]["leaving"]


def test_another_build_makes_the_daemon_leave(tiny):
    tiny.kvboost("daemon", "start")
    pid = tiny.only_daemon()
    with Wire(tiny.socket) as wire:
        answer = wire.initialize("0123456789abcdef")
        assert answer["result"]["leaving"]
    tiny.wait_until_gone(pid)


def test_a_leaving_daemon_finishes_what_it_has(real):
    root = real.repository({"a.py": "def add(a, b):\n    return a + b\n"})
    real.kvboost("daemon", "start")
    old = real.only_daemon()
    with Wire(real.socket, patience=240) as asking, Wire(real.socket) as other:
        request = asking.send("ask", {"directory": str(root), "question": "Explain this.", "max_tokens": 24})
        assert asking.receive()["method"] == "ask/progress"  # it has begun
        assert other.initialize("0123456789abcdef")["result"]["leaving"]
        assert asking.answer(request)["result"]["answer_tokens"] > 0
    real.wait_until_gone(old)


def test_a_replaced_binary_gets_its_own_daemon(tiny):
    """As an update does: other programs in the same place, the old daemon still running."""
    installed = tiny.make_folder("bin")
    for name in ("kvboost", "kvboostd"):
        shutil.copy2(tiny.programs / name, installed / name)
    tiny.programs = installed
    tiny.kvboost("daemon", "start")
    old, build = tiny.only_daemon(), tiny.status()["build"]
    other = bytes(reversed(build.encode()))
    assert other != build.encode()
    for name in ("kvboost", "kvboostd"):
        data = (installed / name).read_bytes()
        assert build.encode() in data, f"{name} does not carry its build id"
        (installed / (name + ".new")).write_bytes(data.replace(build.encode(), other))
        (installed / (name + ".new")).chmod(0o755)
        (installed / (name + ".new")).rename(installed / name)
    root = tiny.repository({"a.py": "a = 1\n"})
    asked = tiny.kvboost("ask", "--max-tokens", "2", "What is a?", cwd=root)
    assert asked.code == DONE, asked
    tiny.wait_until_gone(old)
    assert tiny.status()["pid"] == tiny.only_daemon() != old
    assert tiny.status()["build"] == other.decode()


def test_nonsense_on_the_socket_hurts_nobody(tiny):
    tiny.kvboost("daemon", "start")
    pid = tiny.only_daemon()
    for line in (b"\n", b"GET / HTTP/1.1\n", b"[]\n", b"{}\n", b"[" * 5000 + b"\n", b"\xff\xfe\x00\n", b"null\n",
                 b'{"jsonrpc":"2.0","id":1,"method":"ask","params":[]}\n',
                 b'{"jsonrpc":"2.0","id":1,"method":"no/such","params":{}}\n'):
        with Wire(tiny.socket) as wire:
            wire.send_bytes(line)
            if line.strip():
                message = wire.receive()
                assert message is None or "error" in message, (line, message)
    with Wire(tiny.socket) as wire:
        wire.send_bytes(b'{"jsonrpc":"2.0","id":1,"meth')  # and leaves in mid-sentence
    assert tiny.only_daemon() == pid == tiny.status()["pid"]


def test_a_method_before_initialize_is_answered(tiny):
    """As PROTOCOL.md says: a program that knows what it wants need not shake hands."""
    tiny.kvboost("daemon", "start")
    with Wire(tiny.socket) as wire:
        answer = wire.call("status")
    assert answer["result"]["pid"] == tiny.only_daemon()
