# SPDX-License-Identifier: Apache-2.0
"""What the daemon shows to others: no port, no proxy, no text of the user's in files or logs."""

import os
import pathlib

from machine import DONE

LISTEN = "0A"
TABLES = ("tcp", "tcp6", "udp", "udp6")


def sockets_of(pid):
    """Inodes of the sockets that a process holds."""
    found = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(descriptor)
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def internet_sockets(pid):
    mine = sockets_of(pid)
    assert mine, "a daemon without any socket: the test looks at the wrong process"
    rows = []
    for table in TABLES:
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            if line.split()[9] in mine:
                rows.append(line)
    return rows


def test_no_port_is_opened(tiny):
    root = tiny.repository({"a.py": "a = 1\n"})
    assert tiny.kvboost("ask", "--max-tokens", "4", "What is a?", cwd=root).code == DONE
    assert internet_sockets(tiny.only_daemon()) == []


def test_proxies_do_not_matter(tiny):
    root = tiny.repository({"a.py": "a = 1\n"})
    proxies = {name: "http://127.0.0.1:9" for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY")}
    finished = tiny.kvboost("ask", "--max-tokens", "4", "What is a?", cwd=root, env=proxies)
    assert finished.code == DONE, finished


def test_no_text_of_the_user_s_is_left_behind(tiny):
    root = tiny.repository({"a.py": "zebracrossing = 'walrusmoustache'\n"})
    env = {"KVBOOST_LOG_LEVEL": "trace"}
    assert tiny.kvboost("ask", "--max-tokens", "4", "Where is the quokkaparade?", cwd=root, env=env).code == DONE
    assert tiny.kvboost("daemon", "stop").code == DONE
    places = [tiny.home, tiny.runtime]
    for file in (file for place in places for file in place.rglob("*") if file.is_file()):
        for word in (b"zebracrossing", b"walrusmoustache", b"quokkaparade"):
            assert word not in file.read_bytes(), f"{word} stands in {file}"


def test_the_client_does_not_load_the_engine(tiny):
    with open(tiny.programs / "kvboost", "rb") as program:
        needed = program.read()
    for library in (b"libtorch", b"libc10", b"libopenblas"):
        assert library not in needed, f"kvboost asks for {library.decode()}"
