# SPDX-License-Identifier: Apache-2.0
"""HTTP with a machine's daemon: by http.client for what is well-formed, by bare sockets for what is not."""

import contextlib
import http.client
import json
import socket
import urllib.parse

from machine import DONE

START = {"KVBOOST_HTTP": "yes", "KVBOOST_HTTP_PORT": "0"}  # a free port: others may run this suite, too


class Served:
    """A machine whose daemon serves HTTP."""

    def __init__(self, machine, **options):
        self.machine = machine
        machine.env.update(START | {f"KVBOOST_{name.upper()}": str(value) for name, value in options.items()})
        started = machine.kvboost("daemon", "start")
        assert started.code == DONE, started
        status = machine.status()
        self.address = status["http"]
        self.port = urllib.parse.urlsplit(self.address).port
        with open(status["http_token_file"]) as file:
            self.token = file.read().strip()

    def headers(self, **more):
        return {"Authorization": f"Bearer {self.token}", **more}

    def request(self, verb, path, body=None, headers=None, connection=None):
        """(status, headers, text) of one request; a body that is no text is sent as JSON."""
        with contextlib.ExitStack() as stack:
            if connection is None:
                connection = stack.enter_context(contextlib.closing(self.connection()))
            if body is not None and not isinstance(body, (str, bytes)):
                body = json.dumps(body)
            connection.request(verb, path, body, self.headers() if headers is None else headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def get(self, path):
        status, _, text = self.request("GET", path)
        assert status == 200, (status, text)
        return json.loads(text)

    def post(self, path, body):
        status, _, text = self.request("POST", path, body)
        assert status == 200, (status, text)
        return json.loads(text)

    def error(self, path, body, verb="POST"):
        """(status, error) of a request that is refused."""
        status, _, text = self.request(verb, path, body)
        assert status >= 400, text
        return status, json.loads(text)["error"]

    def events(self, path, body):
        """The events of a stream, as they were sent."""
        status, headers, text = self.request("POST", path, body)
        assert status == 200 and headers["Content-Type"] == "text/event-stream", (status, headers, text)
        assert text.endswith("\n\n")
        events = text[:-2].split("\n\n")
        assert all(event.startswith("data: ") for event in events), text
        return [event[6:] for event in events]

    # ---- bare sockets ---------------------------------------------------------------------------------------

    def socket(self):
        connected = socket.create_connection(("127.0.0.1", self.port), timeout=120)
        return contextlib.closing(connected)

    def head(self, verb="POST", path="/completion", version="1.1", host="localhost", lines=()):
        """The bytes of a request's head, without the empty line behind it."""
        given = [f"{verb} {path} HTTP/{version}", *([f"Host: {host}"] if host else []),
                 f"Authorization: Bearer {self.token}", *lines]
        return "\r\n".join(given).encode() + b"\r\n"

    def posted(self, body, *lines, version="1.1", path="/completion"):
        """The bytes of a whole request."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.head(path=path, version=version, lines=[f"Content-Length: {len(data)}", *lines]) + b"\r\n" + data

    def exchange(self, data):
        """Sends bytes and reads until the daemon closes."""
        with self.socket() as connected:
            connected.sendall(data)
            return read_all(connected)


def read_all(connected):
    received = b""
    while True:
        try:
            data = connected.recv(65536)
        except ConnectionResetError:
            return received
        if not data:
            return received
        received += data


def status_of(response):
    """Of the first answer in these bytes; 0 for none."""
    return int(response.split(b" ", 2)[1]) if response.startswith(b"HTTP/1.1 ") else 0
