# SPDX-License-Identifier: Apache-2.0
"""One daemon a user: started by whoever comes first, found by all, gone when told."""

import os
import signal
import subprocess

from machine import CANCELLED, DONE, NO_DAEMON


def test_twenty_at_once_start_one_daemon(tiny):
    root = tiny.repository({"a.py": "a = 1\n"})
    running = [tiny.start("ask", "--max-tokens", "2", "What is a?", cwd=root) for _ in range(20)]
    for process in running:
        _, err = process.communicate(timeout=240)
        assert process.returncode == DONE, err
    tiny.only_daemon()
    assert tiny.status()["requests"] >= 20


def test_start_twice_keeps_the_daemon(tiny):
    assert tiny.kvboost("daemon", "start").code == DONE
    pid = tiny.only_daemon()
    assert tiny.kvboost("daemon", "start").code == DONE
    assert tiny.only_daemon() == pid == tiny.status()["pid"]


def test_stop_and_stop_again(tiny):
    tiny.kvboost("daemon", "start")
    stopped = tiny.kvboost("daemon", "stop")
    assert stopped.code == DONE and tiny.no_daemon_is_left()
    again = tiny.kvboost("daemon", "stop")
    assert again.code == DONE and "no daemon" in again.err
    assert tiny.kvboost("status").code == NO_DAEMON


def test_restart_gives_another_process(tiny):
    tiny.kvboost("daemon", "start")
    pid = tiny.only_daemon()
    assert tiny.kvboost("daemon", "restart").code == DONE
    assert tiny.only_daemon() != pid


def test_killed_hard_and_started_again(tiny):
    root = tiny.repository({"a.py": "a = 1\n"})
    for _ in range(3):
        assert tiny.kvboost("ask", "--max-tokens", "2", "What is a?", cwd=root).code == DONE
        os.kill(tiny.only_daemon(), signal.SIGKILL)
        tiny.wait_for("the end of the daemon", lambda: tiny.daemons() == [])
        assert tiny.socket.exists(), "a daemon that is killed cannot remove its socket: that is what is tried here"
    assert tiny.kvboost("ask", "--max-tokens", "2", "What is a?", cwd=root).code == DONE


def test_sigterm_leaves_nothing(tiny):
    tiny.kvboost("daemon", "start")
    pid = tiny.only_daemon()
    os.kill(pid, signal.SIGTERM)
    tiny.wait_until_gone(pid)
    assert not tiny.socket.exists()


def test_sigterm_during_prefill_ends_the_request_and_the_daemon(real):
    root = real.repository({"long.txt": "\n".join(f"Line {i} tells of a thing called {i * 7919}." for i in range(1500))})
    process = real.start("ask", "--max-tokens", "500", "Tell all.", cwd=root)
    real.wait_for("a running request", lambda: real.daemons() and real.socket.exists() and real.status()["running"] == 1)
    pid = real.only_daemon()
    os.kill(pid, signal.SIGTERM)
    real.wait_until_gone(pid)
    code = process.wait(60)
    err = process.stderr.read()
    assert code == DONE or err.startswith("kvboost: "), (code, err)
    assert code in (DONE, CANCELLED, NO_DAEMON) or code == 1


def test_the_daemon_holds_no_folder_and_no_terminal(tiny):
    root = tiny.repository({"a.py": "a = 1\n"})
    tiny.kvboost("ask", "--max-tokens", "2", "What is a?", cwd=root)
    pid = tiny.only_daemon()
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    for stream in (0, 1, 2):
        target = os.readlink(f"/proc/{pid}/fd/{stream}")
        assert not target.startswith(("pipe:", "/dev/pts")), f"descriptor {stream} is {target}"
    assert os.getsid(pid) != os.getsid(0)


def test_a_client_with_closed_streams_starts_a_daemon_as_well(tiny):
    done = subprocess.run(["sh", "-c", f"exec '{tiny.programs}/kvboost' daemon start <&- >&- 2>&-"], env=tiny.env,
                          timeout=120)
    assert done.returncode == DONE
    tiny.only_daemon()
    assert tiny.status()["state"] in ("idle", "loading", "ready")


def test_the_runtime_folder_is_removed_under_the_daemon(tiny):
    tiny.kvboost("daemon", "start")
    first = tiny.only_daemon()
    for file in tiny.socket.parent.iterdir():
        file.unlink()
    tiny.socket.parent.rmdir()
    assert tiny.kvboost("daemon", "start").code == DONE
    assert tiny.status()["pid"] in tiny.daemons()
    for pid in tiny.daemons():
        if pid != tiny.status()["pid"]:
            os.kill(pid, signal.SIGTERM)  # the first one cannot be found by anybody any more
            assert pid == first
            tiny.wait_until_gone(pid)
