# SPDX-License-Identifier: Apache-2.0
"""One daemon a user: started by whoever comes first, found by all, gone when told."""

import json
import os
import signal
import subprocess

from machine import DONE, NO_DAEMON
from wire import Wire


def test_twenty_at_once_start_one_daemon(tiny):
    root = tiny.repository({"a.py": "a = 1\n"})
    running = [tiny.start("ask", "--max-tokens", "2", "What is a?", cwd=root) for _ in range(20)]
    for process in running:
        _, err = process.communicate(timeout=240)
        assert process.returncode == DONE, err
    tiny.only_daemon()
    assert tiny.status()["requests"] >= 20


def test_twenty_that_only_look_start_one_daemon(tiny):
    running = [tiny.start("status", "--json") for _ in range(20)]
    seen = set()
    for process in running:
        out, err = process.communicate(timeout=240)
        assert process.returncode == DONE, err
        seen.add(json.loads(out)["pid"])
    assert seen == {tiny.only_daemon()}


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
    assert tiny.kvboost("status", "--if-running").code == NO_DAEMON


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


def lines(count):
    return {"long.txt": "\n".join(f"Line {i} tells of a thing called {i * 7919}." for i in range(count))}


def reading(machine, wire, root):
    """The id of a request whose prompt is being read."""
    request = wire.send("ask", {"directory": str(root), "question": "Tell all.", "paths": ["long.txt"], "max_tokens": 8})
    while (message := wire.receive()).get("params", {}).get("stage") != "prefill":
        assert "id" not in message, message
    return request


def test_sigterm_lets_a_request_finish(real):
    root = real.repository(lines(60))  # about 1,000 tokens
    real.kvboost("daemon", "start")
    with Wire(real.socket, patience=240) as wire:
        request = reading(real, wire, root)
        pid = real.only_daemon()
        os.kill(pid, signal.SIGTERM)
        answer = wire.answer(request)
    if "error" in answer:  # a machine that needs more than ten seconds for it
        assert answer["error"]["data"]["code"] == "busy", answer
    else:
        assert answer["result"]["answer_tokens"] > 0, answer
    real.wait_until_gone(pid)


def test_a_second_sigterm_cancels_the_request(real):
    root = real.repository(lines(350))
    real.kvboost("daemon", "start")
    with Wire(real.socket, patience=240) as wire:
        request = reading(real, wire, root)
        pid = real.only_daemon()
        os.kill(pid, signal.SIGTERM)
        real.wait_for("its notice", lambda: "got signal 15" in real.log_text())
        os.kill(pid, signal.SIGTERM)
        answer = wire.answer(request)
    assert answer["error"]["data"]["code"] == "busy" and "left" in answer["error"]["message"], answer
    real.wait_until_gone(pid)
    assert not real.socket.exists()


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
