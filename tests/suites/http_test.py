# SPDX-License-Identifier: Apache-2.0
"""HTTP as a protocol: who gets in, what is refused, and what odd or hostile clients bring about. The model is the tiny
one, whose text is nonsense."""

import contextlib
import json
import os
import select
import socket
import stat

import pytest

from conftest import PROGRAMS
from exposure_test import internet_sockets
from http_machine import START, Served, read_all, status_of
from machine import DONE, Machine

LOOPBACK = {"0100007F", "00000000000000000000000001000000"}


@pytest.fixture(scope="module")
def served(tiny_model):
    """One daemon for all tests that neither stop it nor start it in another way."""
    machine = Machine(PROGRAMS)
    machine.use_model(tiny_model)
    yield Served(machine)
    machine.tear_down()


def requests_running(served):
    return served.machine.status()["running"]


# ---- who gets in ------------------------------------------------------------------------------------------------


def test_only_the_loopback_listens_and_only_when_asked(tiny):
    assert tiny.kvboost("daemon", "start").code == DONE
    assert internet_sockets(tiny.only_daemon()) == []
    status = tiny.status()
    assert status["http"] == "" and not (tiny.state / "http.token").exists()
    assert tiny.kvboost("daemon", "stop").code == DONE
    served = Served(tiny)
    rows = [row.split() for row in internet_sockets(tiny.only_daemon())]
    assert rows and all(row[3] == "0A" for row in rows), rows
    assert {row[1].split(":")[0] for row in rows} <= LOOPBACK, rows
    assert {int(row[1].split(":")[1], 16) for row in rows} == {served.port}


def test_the_token_is_the_users_alone_and_is_kept(tiny):
    served = Served(tiny)
    file = served.machine.state / "http.token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and len(served.token) == 64
    assert served.machine.kvboost("daemon", "restart").code == DONE
    assert file.read_text().strip() == served.token
    shown = served.machine.kvboost("status").out
    assert "http://127.0.0.1:" in shown and str(file) in shown and served.token not in shown, shown
    assert "http" in served.machine.kvboost("doctor").out
    assert served.token not in served.machine.log_text()


def test_a_token_can_be_given_and_must_be_private(tiny):
    given = tiny.home / "my token"
    given.write_text("a-word-of-some-length\n")
    given.chmod(0o644)
    refused = tiny.kvboost("daemon", "start", env=START | {"KVBOOST_HTTP_TOKEN_FILE": str(given)})
    assert refused.code != DONE and "can be read by others" in refused.err and "chmod 600" in refused.err, refused
    given.chmod(0o600)
    served = Served(tiny, http_token_file=given)
    assert served.token == "a-word-of-some-length"
    assert served.get("/v1/models")["object"] == "list"


def test_a_short_token_is_refused(tiny):
    given = tiny.home / "token"
    for text in ("", "two words of some length"):
        given.write_text(text)
        given.chmod(0o600)
        refused = tiny.kvboost("daemon", "start", env=START | {"KVBOOST_HTTP_TOKEN_FILE": str(given)})
        assert refused.code != DONE and "does not hold a token" in refused.err, refused


def test_a_port_that_is_taken_is_named(tiny):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        refused = tiny.kvboost("daemon", "start", env=START | {"KVBOOST_HTTP_PORT": str(port)})
    assert refused.code != DONE and f"port {port}" in refused.err and "http_port" in refused.err, refused


def test_no_token_no_service(served):
    for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {served.token}"},
                  {"Authorization": served.token}, {"Authorization": f"Bearer {served.token}x"},
                  {"Authorization": f"Bearer {served.token[:-1]}"}, {"Authorization": "Bearer "}):
        for verb, path in (("GET", "/v1/models"), ("GET", "/metrics"), ("GET", "/nowhere"), ("POST", "/infill")):
            status, headers, text = served.request(verb, path, headers=given)
            assert status == 401 and headers["WWW-Authenticate"] == "Bearer", (given, path, status)
            assert json.loads(text)["error"]["type"] == "authentication_error"
    assert served.request("GET", "/v1/models", headers={"Authorization": f"bearer   {served.token}"})[0] == 200
    status, _, text = served.request("GET", "/health", headers={})
    assert status in (200, 503) and "error" in text or json.loads(text) == {"status": "ok"}


def test_a_foreign_host_is_refused(served):
    for host in ("example.org", f"example.org:{served.port}", "127.0.0.1.example.org", "localhost.example.org", "",
                 "[::1", "0.0.0.0", "127.0.0.1:80:80", "localhost@example.org"):
        answer = served.exchange(served.head("GET", "/health", host=host or "\t", lines=["Connection: close"]) + b"\r\n")
        assert status_of(answer) in (400, 403), (host, answer)
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1", f"127.0.0.1:{served.port}", "[::1]", f"[::1]:{served.port}"):
        answer = served.exchange(served.head("GET", "/v1/models", host=host, lines=["Connection: close"]) + b"\r\n")
        assert status_of(answer) == 200, (host, answer)
    two = served.exchange(served.head("GET", "/health", lines=["Host: example.org", "Connection: close"]) + b"\r\n")
    assert status_of(two) == 400, two
    none = served.exchange(served.head("GET", "/health", host=None, lines=["Connection: close"]) + b"\r\n")
    assert status_of(none) == 400, none
    absolute = served.exchange(served.head("GET", "http://example.org/health", lines=["Connection: close"]) + b"\r\n")
    assert status_of(absolute) == 400, absolute


def test_no_page_of_another_origin_is_let_in(served):
    origin = {"Origin": "http://example.org", "Access-Control-Request-Method": "POST"}
    for headers in (origin, served.headers(**origin)):
        for verb in ("OPTIONS", "GET"):
            _, answered, _ = served.request(verb, "/v1/models", headers=headers)
            assert not [name for name in answered if name.lower().startswith("access-control")], answered


# ---- requests ---------------------------------------------------------------------------------------------------


def test_what_is_not_there_is_said_in_each_apis_shape(served):
    assert served.error("/nowhere", {})[0] == 404
    status, error = served.error("/v1/nowhere", {})
    assert status == 404 and error["type"] == "not_found_error" and error["code"] is None and "param" in error
    assert served.error("/v1/embeddings", {})[0] == 501
    status, headers, text = served.request("GET", "/completion")
    assert status == 405 and headers["Allow"] == "POST" and json.loads(text)["error"]["code"] == 405
    status, headers, text = served.request("HEAD", "/health")
    assert status == 405 and text == ""


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\"text\"", b"{\"prompt\": \"\xff\"}", b"{\"prompt\": \"\\ud800\"}",
                                  b"{\"prompt\":" + b"[" * 100 + b"]" * 100 + b"}", b"\x00", b"\xef\xbb\xbf\xff"])
def test_bodies_that_are_no_object_are_refused(served, body):
    status, error = served.error("/completion", body)
    assert status == 400 and error["type"] == "invalid_request_error", error
    assert served.get("/v1/models")["object"] == "list"


def test_fields_are_checked_by_name(served):
    for field, value in {"n_predict": "many", "temperature": [], "stop": 3, "stream": "yes", "seed": 1.5,
                         "prompt": [1, "mixed"], "n_probs": 3, "grammar": "root ::= x", "logit_bias": [[1, False]]}.items():
        status, error = served.error("/completion", {"prompt": "a", "n_predict": 1, field: value})
        assert status == 400 and field in error["message"], (field, error)
    status, error = served.error("/completion", {"n_predict": 1})
    assert status == 400 and "prompt" in error["message"]
    status, error = served.error("/completion", {"prompt": [10**9]})
    assert status == 400 and "no token" in error["message"]
    assert served.post("/completion", {"prompt": "a", "n_predict": 1, "unheard_of": {"of": 1}, "mirostat": 0,
                                       "stop": None, "samplers": ["top_k"]})["stop"] is True


def test_a_prompt_that_does_not_fit_is_refused_before_the_stream(served):
    for stream in (False, True):
        status, error = served.error("/completion", {"prompt": "word " * 20000, "stream": stream})
        assert status == 400 and "context" in error["message"], error


def test_a_body_that_is_too_large_is_refused(served):
    with served.socket() as connected:
        connected.sendall(served.head(lines=["Content-Length: 9000000"]) + b"\r\n")
        answer = connected.recv(4096)
    assert status_of(answer) == 413 and b"Connection: close" in answer
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with served.socket() as connected:
        with contextlib.suppress(OSError):
            connected.sendall(served.head(lines=["Transfer-Encoding: chunked"]) + b"\r\n" + chunk * 9)
        answer = read_all(connected)
    assert status_of(answer) == 413, answer[:200]


def test_a_header_that_is_too_large_is_refused(served):
    answer = served.exchange(served.head(lines=["X-Filler: " + "x" * 20000]) + b"\r\n")
    assert status_of(answer) == 431, answer
    answer = served.exchange(served.head(lines=[f"X-Filler-{n}: x" for n in range(2000)]) + b"\r\n")
    assert status_of(answer) == 431, answer


@pytest.mark.parametrize("data", [b"\r\n\r\n\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n",
                                  b"GET /health HTTP/9.9\r\n\r\n", b"nonsense " * 10 + b"\r\n\r\n",
                                  b"GET /health HTTP/1.1\r\nHost localhost\r\n\r\n",
                                  b"POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                                  b"POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na"])
def test_what_is_no_http_is_refused(served, data):
    assert status_of(served.exchange(data)) == 400


def test_a_length_and_chunks_together_are_refused_or_end_the_connection(served):
    """So that no proxy and the daemon can see two requests where there is one."""
    smuggled = served.head("GET", "/v1/models") + b"\r\n"
    body = b"0\r\n\r\n" + smuggled
    data = served.head(lines=[f"Content-Length: {len(body)}", "Transfer-Encoding: chunked"]) + b"\r\n" + body
    answer = served.exchange(data)
    assert status_of(answer) == 400 and answer.count(b"\r\n\r\n") == 1, answer


def test_chunked_bodies_and_expectations(served):
    body = json.dumps({"prompt": "int", "n_predict": 2}).encode()
    half = len(body) // 2
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:half], body[half:])) + b"0\r\n\r\n"
    answer = served.exchange(served.head(lines=["Transfer-Encoding: chunked", "Connection: close"]) + b"\r\n" + chunks)
    assert status_of(answer) == 200, answer
    with served.socket() as connected:
        connected.sendall(served.head(lines=[f"Content-Length: {len(body)}", "Expect: 100-continue",
                                             "Connection: close"]) + b"\r\n")
        assert connected.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connected.sendall(body)
        assert status_of(read_all(connected)) == 200


def test_http_1_0(served):
    body = {"prompt": "int", "n_predict": 3}
    plain = served.exchange(served.posted(body, version="1.0"))
    assert status_of(plain) == 200 and b"Connection: close" in plain and b"chunked" not in plain
    stream = served.exchange(served.posted({**body, "stream": True}, version="1.0"))
    head, events = stream.split(b"\r\n\r\n", 1)
    assert b"chunked" not in head and events.startswith(b"data: ") and events.endswith(b"\n\n")
    without_host = served.exchange(served.head("GET", "/v1/models", "1.0", host=None) + b"\r\n")
    assert status_of(without_host) == 200


def test_pipelined_requests_are_answered_in_turn(served):
    one = served.posted({"prompt": "int", "n_predict": 2})
    two = served.head("GET", "/v1/models") + b"\r\n"
    three = served.posted(b"{", "Connection: close")
    answer = served.exchange(one + two + three)
    statuses = [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [200, 200, 400], answer
    assert answer.index(b"\"content\"") < answer.index(b"\"object\":\"list\"")


def test_a_connection_is_kept(served):
    with contextlib.closing(served.connection()) as connection:
        for n in range(3):
            for path, body in (("/completion", {"prompt": "int", "n_predict": 1 + n}),
                               ("/completion", {"prompt": "int", "n_predict": 2, "stream": True}), ("/completion", b"{")):
                assert served.request("POST", path, body, connection=connection)[0] in (200, 400)
                local = connection.sock.getsockname()
        assert connection.sock.getsockname() == local


# ---- clients that go, stay away, or are many --------------------------------------------------------------------


def test_slow_and_silent_clients_do_not_stand_in_the_way(served):
    with contextlib.ExitStack() as stack:
        for n in range(40):
            slow = stack.enter_context(served.socket())
            slow.sendall([b"", b"POST", served.head(), served.posted(b"{}")[:-1]][n % 4])
        assert served.post("/completion", {"prompt": "int", "n_predict": 1})["stop"] is True


def test_too_many_clients_are_told_so_and_harm_nobody(served):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(served.socket()) for _ in range(100)]  # 64 are served
        answers = set()
        while 503 not in answers and len(clients) > 0:
            readable, _, _ = select.select(clients, [], [])
            answers |= {status_of(client.recv(100)) for client in readable}
            clients = [client for client in clients if client not in readable]
        assert 503 in answers
    served.machine.wait_for("room", lambda: served.request("GET", "/v1/models")[0] == 200)


def test_a_kept_connection_does_not_hold_the_daemon_up(tiny):
    served = Served(tiny)
    with served.socket():
        pid = served.machine.only_daemon()
        assert served.machine.kvboost("daemon", "stop").code == DONE
        served.machine.wait_until_gone(pid)


def test_file_descriptors_and_connections_are_given_back(served):
    def descriptors():
        return len(os.listdir(f"/proc/{served.machine.only_daemon()}/fd"))

    served.post("/completion", {"prompt": "int", "n_predict": 1})
    before = descriptors()
    for n in range(30):
        with served.socket() as connected:
            connected.sendall([served.posted({"prompt": "int", "stream": True}), b"GET /", served.posted(b"{")][n % 3])
    served.machine.wait_for("their end", lambda: requests_running(served) == 0 and descriptors() <= before + 1)
