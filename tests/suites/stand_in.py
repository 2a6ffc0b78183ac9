# SPDX-License-Identifier: Apache-2.0
"""Stands where the daemon would: answers `complete` with the hints that a test wants, when it wants, and remembers what
an editor has sent."""

import json
import socket
import threading


class StandIn:
    def __init__(self, path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.hints = lambda params: []
        self.holding = False  # answers are kept back until let_go()
        self.changed = threading.Condition()
        self.completions = []  # parameters of each, in their order
        self.open, self.most_open = {}, 0  # id -> (file, parameters) of those not answered yet
        self.cancelled = []
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.server.bind(str(path))
        self.server.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            with connection, connection.makefile("rw", encoding="utf-8", newline="\n") as file:
                for line in file:
                    with self.changed:
                        self.take(file, json.loads(line))
                        self.changed.notify_all()
        except OSError:
            pass  # the editor is gone

    def take(self, file, message):
        method, params, request = message["method"], message.get("params", {}), message.get("id")
        if method == "initialize":
            self.send(file, request, result={"protocol_version": 1, "server": "stand-in", "build": "0", "pid": 1,
                                             "leaving": False, "options": {}})
        elif method == "$/cancelRequest":
            self.cancelled.append(params["id"])
            if params["id"] in self.open and not self.holding:
                self.open.pop(params["id"])
                self.send(file, params["id"], error={"code": -32005, "message": "cancelled", "data": {"code": "cancelled"}})
        elif method == "complete":
            self.completions.append(params)
            self.open[request] = (file, params)
            self.most_open = max(self.most_open, sum(n not in self.cancelled for n in self.open))
            if not self.holding:
                self.answer(request)
        else:
            self.send(file, request, error={"code": -32601, "message": "no", "data": {"code": "protocol"}})

    def answer(self, request):
        file, params = self.open.pop(request)
        hints = [{"text": text, "finish_reason": "line"} for text in self.hints(params)]
        self.send(file, request, result={"hints": hints, "offset": params["offset"], "origin": "model", "prompt_tokens": 9,
                                         "computed_tokens": 1})

    def send(self, file, request, **members):
        file.write(json.dumps({"jsonrpc": "2.0", "id": request, **members}) + "\n")
        file.flush()

    def let_go(self):
        with self.changed:
            self.holding = False
            for request in list(self.open):
                self.answer(request)

    def wait_for(self, count, patience=60):
        """Until so many completions were asked for; returns the parameters of the last one."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.completions) >= count, patience), self.completions
            return self.completions[-1]

    def close(self):
        self.server.close()
