#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a cancelled read of a long prompt keeps the engine: from `$/cancelRequest` written to a status that says
that nothing runs.

Each run reads another text, so that nothing of it is in memory, and is cancelled at another moment. The daemon
is one of its own, in a folder of its own. Exits 1 where --most-ms is missed.
"""

import argparse
import json
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", default=ROOT / "build/release/bin", type=pathlib.Path)
    parser.add_argument("--model", default=os.environ.get("KVBOOST_MODEL"), help="GGUF file")
    parser.add_argument("--tokens", type=int, default=6000, help="least length of the prompt")
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--most-ms", type=float)
    return parser.parse_args()


class Daemon:
    """A connection to a daemon of its own below `folder`."""

    def __init__(self, options, folder):
        runtime = folder / "run"
        runtime.mkdir(mode=0o700)
        self.program = options.programs / "kvboost"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_RUNTIME_DIR": str(runtime)}
        if options.model:
            self.env["KVBOOST_MODEL"] = str(pathlib.Path(options.model).resolve())
        self.run("daemon", "start")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(runtime / "kvboost/kvboostd.sock"))
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.last_id = 0

    def run(self, *words):
        subprocess.run([self.program, *words], env=self.env, check=True, stderr=subprocess.DEVNULL)

    def send(self, method, params):
        self.last_id += 1
        self.write({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def write(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self):
        return json.loads(self.lines.readline())

    def answer(self, request):
        while (message := self.receive()).get("id") != request:
            pass
        return message


def sample(run, characters):
    """Real source, another one for each run from the first line on."""
    text = f"// Run {run}\n"
    files = sorted(ROOT.glob("daemon/**/*.cpp"))
    for file in files[run % len(files):] + files:
        if len(text) > characters:
            break
        text += file.read_text()
    return text[:characters]


def measure(daemon, folder, run, options):
    (folder / "sample.txt").write_text(sample(run, 4 * options.tokens))
    request = daemon.send("ask", {"directory": str(folder), "question": "What is this?", "paths": ["sample.txt"],
                                  "max_tokens": 8})
    while (message := daemon.receive()).get("params", {}).get("stage") != "prefill":
        if "id" in message:
            sys.exit(f"the request ended before its prompt was read: {message}")
    if message["params"]["total"] < options.tokens:
        sys.exit(f"a prompt of {message['params']['total']} tokens is too short")
    left = message["params"]["total"] - message["params"]["done"]
    time.sleep(random.random() * left / 3000)  # well before even a fast machine is done
    begin = time.perf_counter()
    daemon.write({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request}})
    message = daemon.answer(request)
    while daemon.answer(daemon.send("status", {}))["result"]["running"] > 0:
        pass
    took = 1000 * (time.perf_counter() - begin)
    if message.get("error", {}).get("data", {}).get("code") != "cancelled":
        sys.exit(f"the request was not cancelled: {message}")
    return took


def main():
    options = arguments()
    random.seed(1)
    with tempfile.TemporaryDirectory(prefix="kvb-", dir="/tmp") as name:
        folder = pathlib.Path(name)
        (folder / "source").mkdir()
        daemon = Daemon(options, folder)
        try:
            took = [measure(daemon, folder / "source", run, options) for run in range(options.runs)]
        finally:
            daemon.run("daemon", "stop", "--now")
    print(f"{len(took)} cancelled reads of at least {options.tokens} tokens: engine free after median "
          f"{statistics.median(took):.1f} ms, largest {max(took):.1f} ms")
    return 1 if options.most_ms is not None and max(took) > options.most_ms else 0


if __name__ == "__main__":
    sys.exit(main())
