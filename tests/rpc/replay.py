#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays JSON-RPC transcripts against a daemon, and says where it answered something else.

    replay.py --daemon "PROGRAM --flag=..." TRANSCRIPT...    starts a daemon of its own, and ends it
    replay.py --socket PATH TRANSCRIPT...                    talks to one that runs

A transcript is a file of lines, each on a connection of its own (a transcript, that is):

    # a comment
    > {"jsonrpc":"2.0","id":1,"method":"status"}     sent, with a newline
    >> "half a line\\r\\n\\u00ff"                       sent as these bytes (a JSON string, each character one byte)
    < {"jsonrpc":"2.0","id":1,"result":"$any"}       the next message must be equal; "$any", "$string", "$number" and
                                                     "$boolean" stand for any value of that kind, and a key "$more" for
                                                     any further keys
    <* {"method":"ask/token", "$more": 0}            none or more messages like this, then
    |                                                the stream must have ended
"""

import argparse
import json
import os
import pathlib
import shlex
import socket
import subprocess
import sys
import tempfile

PATIENCE = 120
KINDS = {"$string": str, "$number": (int, float), "$boolean": bool}


def matches(expected, got):
    if expected == "$any":
        return True
    if isinstance(expected, str) and expected in KINDS:
        return isinstance(got, KINDS[expected]) and (expected != "$number" or not isinstance(got, bool))
    if isinstance(expected, dict) and isinstance(got, dict):
        keys = set(expected) - {"$more"}
        known = keys <= set(got) if "$more" in expected else keys == set(got)
        return known and all(matches(expected[key], got[key]) for key in keys)
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(matches, expected, got))
    return type(expected) is type(got) and expected == got


class Difference(Exception):
    pass


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")
        self.waiting = None  # a message that was read and not taken

    def peek(self):
        if self.waiting is None:
            line = self.lines.readline()
            self.waiting = json.loads(line) if line else "the end of the stream"
        return self.waiting

    def take(self):
        message = self.peek()
        self.waiting = None
        return message


def replay(path, transcript):
    """Raises Difference; gives the number of messages that were expected and came."""
    connection = Connection(path)
    compared = 0
    for number, line in enumerate(transcript.read_text().splitlines(), 1):
        mark, _, rest = line.partition(" ")
        where = f"{transcript}:{number}"
        if not line.strip() or mark.startswith("#"):
            continue
        if mark == ">":
            connection.socket.sendall(rest.encode() + b"\n")
        elif mark == ">>":
            connection.socket.sendall(json.loads(rest).encode("latin-1"))
        elif mark == "<*":
            while matches(json.loads(rest), connection.peek()):
                connection.take()
        elif mark == "<":
            got = connection.take()
            if not matches(json.loads(rest), got):
                raise Difference(f"{where}: expected {rest}\n{' ' * len(where)}       got {json.dumps(got)}")
            compared += 1
        elif mark == "|":
            got = connection.take()
            if got != "the end of the stream":
                raise Difference(f"{where}: expected the end of the stream, got {json.dumps(got)}")
            compared += 1
        else:
            raise Difference(f"{where}: '{mark}' is no mark of a transcript")
    return compared


def shut_down(path):
    connection = Connection(path)
    connection.socket.sendall(b'{"jsonrpc":"2.0","id":"end","method":"shutdown","params":{"cancel":true}}\n')
    while connection.take() != "the end of the stream":
        pass


def replay_all(path, transcripts):
    failed = 0
    for transcript in transcripts:
        try:
            print(f"{transcript}: {replay(path, transcript)} as expected")
        except (Difference, OSError, ValueError) as error:
            failed += 1
            print(error if isinstance(error, Difference) else f"{transcript}: {error!r}", file=sys.stderr)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--daemon")
    parser.add_argument("--socket")
    parser.add_argument("transcripts", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.socket:
        return 1 if replay_all(arguments.socket, arguments.transcripts) else 0
    with tempfile.TemporaryDirectory(prefix="kvboost-rpc-") as folder:
        path = os.path.join(folder, "d.sock")
        homes = {f"XDG_{name}_HOME": os.path.join(folder, name.lower()) for name in ("CONFIG", "CACHE", "DATA", "STATE")}
        subprocess.run([*shlex.split(arguments.daemon), f"--socket={path}"], env={**os.environ, **homes}, check=True,
                       timeout=PATIENCE)
        try:
            return 1 if replay_all(path, arguments.transcripts) else 0
        finally:
            shut_down(path)


if __name__ == "__main__":
    sys.exit(main())
