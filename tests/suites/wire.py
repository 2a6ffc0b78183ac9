# SPDX-License-Identifier: Apache-2.0
"""A client of the socket that says what it is told to: for what `kvboost` itself never sends."""

import json
import socket


class Wire:
    def __init__(self, path, patience=60):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(patience)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("r", encoding="utf-8", newline="\n")
        self.last_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lines.close()
        self.socket.close()

    def send_bytes(self, data):
        self.socket.sendall(data)

    def send(self, method, params, **members):
        """Sends a request and returns its id."""
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params, **members}
        self.send_bytes(json.dumps(message).encode() + b"\n")
        return self.last_id

    def notify(self, method, params):
        self.send_bytes(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def receive(self):
        """The next message, or None when the daemon has closed the connection."""
        line = self.lines.readline()
        return json.loads(line) if line else None

    def answer(self, request):
        """The response to `request`; notifications before it are passed over."""
        while (message := self.receive()) is not None:
            if message.get("id") == request:
                return message
        raise AssertionError(f"the connection was closed before the answer to {request}")

    def call(self, method, params=None):
        return self.answer(self.send(method, params if params is not None else {}))

    def initialize(self, build):
        return self.call("initialize", {"protocol_version": 1, "client": "suite", "build": build})
