# SPDX-License-Identifier: Apache-2.0
"""A daemon that cannot start, and places that are not ours: each is said at once, with the cause and the log's path.

Root may read and write everything, so these run the programs as the user `nobody` where rights are the point.
"""

import os
import shutil
import subprocess

import pytest

from machine import DONE, FAILED, MODEL, NO_DAEMON
from wire import Wire

# The promise is two seconds; that is for a machine at rest. Here it only must not hang.
PATIENCE = 120
NOBODY = 65534


def as_nobody(machine):
    """Hands the machine to `nobody`, whose rights count."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", machine.folder], check=True)

    def run(*arguments, cwd=None, **environment):
        return subprocess.run([machine.programs / "kvboost", *arguments], env={**machine.env, **environment},
                              cwd=cwd or machine.home, user=NOBODY, group=NOBODY, extra_groups=[], text=True,
                              capture_output=True, timeout=PATIENCE)
    return run


@pytest.fixture
def readable(machine, tiny_model):
    """A tiny machine whose programs and model `nobody` can read, wherever the build folder is."""
    programs = machine.make_folder("bin")
    for name in ("kvboost", "kvboostd"):
        shutil.copy2(machine.programs / name, programs / name)
    machine.programs = programs
    model = shutil.copy2(tiny_model, machine.folder / "tiny.gguf")
    machine.use_model(model)
    machine.folder.chmod(0o755)
    return machine


def failed_start(finished, *words):
    assert finished.returncode == NO_DAEMON, finished
    for word in words:
        assert word in finished.stderr, finished
    assert finished.stdout == "" and "\\x0a" not in finished.stderr, finished


def test_it_works_as_another_user(readable):
    run = as_nobody(readable)
    assert run("daemon", "start").returncode == DONE
    assert run("daemon", "stop").returncode == DONE


def test_runtime_directory_without_rights(readable):
    run = as_nobody(readable)
    readable.runtime.chmod(0o000)
    failed_start(run("daemon", "start"), str(readable.runtime))
    failed_start(run("ask", "What?"), str(readable.runtime))
    readable.runtime.chmod(0o700)


def test_state_directory_without_rights(readable):
    run = as_nobody(readable)
    state = readable.home / ".local/state"
    state.mkdir(parents=True)
    state.chmod(0o500)
    failed_start(run("daemon", "start"), str(state))


def test_disk_full(readable):
    """The log cannot be written."""
    run = as_nobody(readable)
    readable.state.mkdir(parents=True, mode=0o700)
    tmpfs = readable.state
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=4k,mode=700,uid={NOBODY},gid={NOBODY}", "none", tmpfs],
                             capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no right to mount a small file system")
    try:
        (tmpfs / "filler").write_bytes(b"x" * 4096)
        finished = run("daemon", "start")
        failed_start(finished, "No space left on device", f"\n  log: {readable.log}\n")
    finally:
        subprocess.run(["umount", "-l", tmpfs], check=True)


def test_home_is_missing(readable):
    run = as_nobody(readable)
    finished = run("daemon", "start", HOME="/nonexistent", XDG_STATE_HOME="", XDG_DATA_HOME="", XDG_CONFIG_HOME="")
    failed_start(finished, "/nonexistent")


def test_no_model_at_all(machine):
    root = machine.repository({"a.py": "a = 1\n"})
    asked = machine.kvboost("ask", "What?", cwd=root)
    assert asked.code == MODEL and "kvboost model" in asked.err, asked
    assert machine.kvboost("status").code == DONE, "the daemon itself is well"


def test_the_model_is_missing(machine):
    machine.use_model(machine.folder / "gone.gguf")
    root = machine.repository({"a.py": "a = 1\n"})
    asked = machine.kvboost("ask", "What?", cwd=root)
    assert asked.code == MODEL and "gone.gguf" in asked.err, asked
    # It is said before any file is read: not even a folder that is gone is looked at.
    with Wire(machine.socket) as wire:
        answer = wire.call("ask", {"directory": str(machine.folder / "nowhere"), "question": "What?"})
    assert answer["error"]["data"]["code"] == "model" and "gone.gguf" in answer["error"]["message"], answer


def test_no_daemon_beside_the_client(machine):
    programs = machine.make_folder("bin")
    shutil.copy2(machine.programs / "kvboost", programs / "kvboost")
    machine.programs = programs
    finished = machine.kvboost("daemon", "start", patience=PATIENCE)
    assert finished.code == NO_DAEMON and "kvboostd" in finished.err, finished


def test_a_daemon_that_dies_at_once(machine):
    """Whatever it is: its own last words and the path of its log reach the user."""
    programs = machine.make_folder("bin")
    shutil.copy2(machine.programs / "kvboost", programs / "kvboost")
    (programs / "kvboostd").write_text("#!/bin/sh\necho 'kvboostd: the moon is in the way' >&2\nexit 1\n")
    (programs / "kvboostd").chmod(0o755)
    machine.programs = programs
    finished = machine.kvboost("daemon", "start", patience=PATIENCE)
    assert finished.code == NO_DAEMON and "the moon is in the way" in finished.err, finished
    assert "kvboostd.log" in finished.err or not machine.log.exists(), finished


def test_a_runtime_directory_of_somebody_else(readable):
    """Another user made our place in /tmp first."""
    run = as_nobody(readable)
    place = readable.runtime / "kvboost"
    place.mkdir(mode=0o755)  # root's
    failed_start(run("daemon", "start"), str(place))


def test_a_link_in_the_place_of_our_runtime_directory(readable):
    run = as_nobody(readable)
    elsewhere = readable.make_folder("elsewhere")
    os.chown(elsewhere, NOBODY, NOBODY)
    (readable.runtime / "kvboost").symlink_to(elsewhere)
    failed_start(run("daemon", "start"), str(readable.runtime / "kvboost"))
    assert list(elsewhere.iterdir()) == []


def test_a_link_in_the_place_of_the_log(readable):
    run = as_nobody(readable)
    readable.state.mkdir(parents=True, mode=0o700)
    victim = readable.folder / "victim"
    victim.write_text("precious\n")
    victim.chmod(0o666)
    readable.log.symlink_to(victim)
    subprocess.run(["chown", "-hR", f"{NOBODY}:{NOBODY}", readable.home], check=True)
    started = run("daemon", "start")
    run("daemon", "stop", "--now")
    assert victim.read_text() == "precious\n"
    assert started.returncode == NO_DAEMON and "kvboostd.log" in started.stderr, started


def test_a_socket_that_somebody_else_serves(readable):
    """A foreign process listens under our name: it gets no question of ours."""
    run = as_nobody(readable)
    place = readable.runtime / "kvboost"
    place.mkdir(mode=0o700)
    os.chown(place, NOBODY, NOBODY)
    listener = subprocess.Popen(["python3", "-c", f"""
import socket
s = socket.socket(socket.AF_UNIX); s.bind({str(place / 'kvboostd.sock')!r}); s.listen()
import os; os.chmod({str(place / 'kvboostd.sock')!r}, 0o777)
print('ready', flush=True)
c, _ = s.accept(); c.settimeout(15); print(c.recv(100), flush=True)
"""], stdout=subprocess.PIPE, text=True)
    try:
        assert listener.stdout.readline() == "ready\n"
        finished = run("ask", "my secret question", cwd=readable.home)
        assert finished.returncode in (DONE, NO_DAEMON, FAILED)
        listener.kill()
        assert "secret" not in listener.stdout.read()
        if finished.returncode != DONE:
            assert "user" in finished.stderr, finished
    finally:
        listener.kill()
        run("daemon", "stop", "--now")


def test_umask_does_not_open_anything(tiny):
    previous = os.umask(0)
    try:
        assert tiny.kvboost("daemon", "start").code == DONE
    finally:
        os.umask(previous)
    for path in (tiny.socket.parent, tiny.socket, tiny.state, tiny.log):
        assert path.lstat().st_mode & 0o077 == 0, f"{path} is open to others: {oct(path.lstat().st_mode)}"


def test_a_long_socket_path(tiny):
    deep = tiny.runtime / ("d" * 90)
    deep.mkdir(mode=0o700)
    tiny.env["XDG_RUNTIME_DIR"] = str(deep)
    tiny.runtime = deep
    started = tiny.kvboost("daemon", "start")
    assert started.code == DONE or "long" in started.err, started
    if started.code == DONE:
        assert tiny.status()["pid"] == tiny.only_daemon()
