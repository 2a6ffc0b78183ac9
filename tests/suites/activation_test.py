# SPDX-License-Identifier: Apache-2.0
"""A daemon that is handed its socket, as systemd does it: this suite listens in its place."""

import os
import socket
import subprocess
import sys

import pytest

from machine import DONE
from wire import Wire


HAND_OVER = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=sys.argv[2])
os.execv(sys.argv[3], [sys.argv[3], "--foreground"])
"""


class Activator:
    """Listens where clients look, and starts daemons with that socket as descriptor 3."""

    def __init__(self, machine, place=None, listens=True):
        self.machine = machine
        place = place or machine.socket
        place.parent.mkdir(mode=0o700, exist_ok=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(str(place))
        if listens:
            self.socket.listen()

    def start(self, count=1):
        return subprocess.Popen(
            [sys.executable, "-c", HAND_OVER, str(self.socket.fileno()), str(count),
             str(self.machine.programs / "kvboostd")],
            env=self.machine.env, pass_fds=[self.socket.fileno()], stderr=subprocess.PIPE, text=True)


@pytest.fixture
def activator(tiny):
    activator = Activator(tiny)
    yield activator
    activator.socket.close()


def test_it_serves_on_the_socket_that_it_is_handed(tiny, activator):
    root = tiny.repository({"a.py": "a = 1\n"})
    with Wire(tiny.socket) as early:  # before there is a daemon: the one that comes answers
        request = early.send("initialize", {"protocol_version": 1, "client": "suite", "build": ""})
        daemon = activator.start()
        assert early.answer(request)["result"]["pid"] == daemon.pid
    answer = tiny.kvboost("ask", "--max-tokens", "2", "What is a?", cwd=root)
    assert answer.code == DONE, answer
    assert tiny.daemons() == [daemon.pid]
    inode = tiny.socket.stat().st_ino
    assert tiny.kvboost("daemon", "stop").code == DONE
    assert daemon.wait(60) == 0
    assert tiny.socket.stat().st_ino == inode  # not the daemon's to remove
    with Wire(tiny.socket) as waiting:
        request = waiting.send("status", {})
        again = activator.start()
        assert "id" in waiting.answer(request)
    assert tiny.kvboost("daemon", "stop").code == DONE
    assert again.wait(60) == 0
    tiny.socket.unlink()  # else the end of the machine would wait for a daemon


def test_what_it_cannot_serve_on_is_refused(tiny, activator):
    several = activator.start(count=2)
    assert "2 sockets were handed over" in several.communicate(timeout=60)[1] and several.returncode != 0
    elsewhere = Activator(tiny, tiny.home / "other.sock")
    wrong = elsewhere.start()
    err = wrong.communicate(timeout=60)[1]
    assert "other.sock" in err and str(tiny.socket) in err and wrong.returncode != 0
    deaf = Activator(tiny, tiny.home / "deaf.sock", listens=False)
    silent = deaf.start()
    assert "no Unix socket that listens" in silent.communicate(timeout=60)[1] and silent.returncode != 0
    for one in (elsewhere, deaf):
        one.socket.close()
    os.unlink(tiny.socket)


def test_a_second_daemon_says_that_one_serves(tiny, activator):
    first = activator.start()
    assert tiny.kvboost("daemon", "start").code == DONE
    second = activator.start()
    assert "another daemon serves" in second.communicate(timeout=60)[1] and second.returncode != 0
    assert tiny.kvboost("daemon", "stop").code == DONE
    assert first.wait(60) == 0
    os.unlink(tiny.socket)
