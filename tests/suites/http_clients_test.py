# SPDX-License-Identifier: Apache-2.0
"""The clients that HTTP is there for, with the real model: OpenAI's own Python client, and requests with the fields that
llama.vim and llama.vscode send."""

import json
import re

import openai
import pytest

from conftest import PROGRAMS
from http_machine import Served, read_all
from machine import DONE, Machine

QUESTION = [{"role": "system", "content": "Answer with one word."},
            {"role": "user", "content": "What is the capital of France?"}]
PREFIX = "def add(first, second):\n    return first + second\n\n\ndef subtract(first, second):\n"
SUFFIX = "\n\n\nprint(add(1, 2))\n"
RING = [{"filename": f"/src/part{n}.py", "time": [1700000000, n],
         "text": "".join(f"def part{n}_{m}(value):\n    return value * {n + m}\n\n" for m in range(8))} for n in range(4)]

# As llama.vim sends it when a key was typed, and when its ring of places has changed.
VIM = {"id_slot": 0, "input_prefix": PREFIX, "input_suffix": SUFFIX, "input_extra": RING, "prompt": "    return first",
       "n_predict": 32, "stop": [], "n_indent": 4, "top_k": 40, "top_p": 0.9, "samplers": ["top_k", "top_p", "infill"],
       "stream": False, "cache_prompt": True, "t_max_prompt_ms": 500, "t_max_predict_ms": 1000,
       "response_fields": ["content", "timings/prompt_n", "timings/prompt_ms", "timings/prompt_per_token_ms",
                           "timings/prompt_per_second", "timings/predicted_n", "timings/predicted_ms",
                           "timings/predicted_per_token_ms", "timings/predicted_per_second", "truncated", "tokens_cached"]}
VIM_AHEAD = {"id_slot": 0, "input_prefix": "", "input_suffix": "", "input_extra": RING, "prompt": "", "n_predict": 0,
             "temperature": 0.0, "samplers": [], "stream": False, "cache_prompt": True, "t_max_prompt_ms": 1,
             "t_max_predict_ms": 1, "response_fields": [""]}
# As llama.vscode sends it.
VSCODE = {"id_slot": 0, "input_prefix": PREFIX, "input_suffix": SUFFIX, "input_extra": RING, "prompt": "    return first",
          "n_predict": 32, "n_cmpl": 3, "top_k": 40, "top_p": 0.99, "stream": False,
          "samplers": ["top_k", "top_p", "infill"], "cache_prompt": True, "n_indent": 4, "t_max_prompt_ms": 500,
          "t_max_predict_ms": 500}


LONG = {"prompt": "Once upon a time", "n_predict": -1, "temperature": 1, "seed": 1, "stream": True}  # goes on for long


def cancelled(served):
    return served.machine.status()["cancelled"]


@pytest.fixture(scope="module")
def served(request):
    """One daemon for the whole file: loading the model is most of what a test would take."""
    machine = Machine(PROGRAMS)
    machine.use_model(request.getfixturevalue("real_model"))
    yield Served(machine)
    machine.tear_down()


@pytest.fixture
def client(served):
    with openai.OpenAI(base_url=f"{served.address}/v1", api_key=served.token, max_retries=0, timeout=240) as client:
        yield client


# ---- OpenAI's client --------------------------------------------------------------------------------------------


def test_a_chat_and_what_it_took(client):
    answer = client.chat.completions.create(model="any", messages=QUESTION, max_tokens=16, temperature=0)
    assert "Paris" in answer.choices[0].message.content and answer.choices[0].message.role == "assistant"
    assert answer.choices[0].finish_reason == "stop" and "smollm2" in answer.model.lower() and answer.id.startswith("chatcmpl-")
    usage = answer.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens and usage.prompt_tokens > 20
    again = client.chat.completions.create(model="any", messages=QUESTION, max_tokens=16, temperature=0)
    assert again.choices[0].message.content == answer.choices[0].message.content
    assert again.usage.prompt_tokens_details.cached_tokens == usage.prompt_tokens - 1, "its prompt is still live"
    more = [*QUESTION, {"role": "assistant", "content": answer.choices[0].message.content},
            {"role": "user", "content": "And of Italy?"}]
    third = client.chat.completions.create(model="any", messages=more, max_tokens=16, temperature=0)
    assert third.usage.prompt_tokens_details.cached_tokens >= usage.prompt_tokens - 1


def test_a_stream_says_the_same_in_pieces(client):
    asked = {"model": "any", "messages": QUESTION, "max_tokens": 16, "temperature": 0}
    whole = client.chat.completions.create(**asked)
    chunks = list(client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant" and chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]][-1] == "stop"
    assert len({chunk.id for chunk in chunks}) == 1


def test_completions_lengths_stops_and_seeds(client):
    asked = {"model": "any", "prompt": "One, two, three, four,", "temperature": 0}
    short = client.completions.create(**asked, max_tokens=4)
    assert short.choices[0].finish_reason == "length" and short.usage.completion_tokens == 4
    stopped = client.completions.create(**asked, max_tokens=32, stop=["six", "seven"])
    assert "five" in stopped.choices[0].text and "six" not in stopped.choices[0].text
    assert stopped.choices[0].finish_reason == "stop"
    pieces = list(client.completions.create(**asked, max_tokens=32, stop="six", stream=True))
    assert "".join(piece.choices[0].text for piece in pieces) == stopped.choices[0].text
    random = {**asked, "temperature": 1.0, "max_tokens": 24}
    same = {client.completions.create(**random, seed=5).choices[0].text for _ in range(2)}
    others = {client.completions.create(**random, seed=seed).choices[0].text for seed in range(4)}
    assert len(same) == 1 and len(others) > 1


def test_models_and_errors_are_the_clients_own(client, served):
    assert ["smollm2" in model.id.lower() for model in client.models.list()] == [True]
    with pytest.raises(openai.BadRequestError, match="tools"):
        client.chat.completions.create(model="any", messages=QUESTION, tools=[
            {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}])
    with pytest.raises(openai.NotFoundError):
        client.files.list()
    with openai.OpenAI(base_url=f"{served.address}/v1", api_key="wrong", max_retries=0) as stranger:
        with pytest.raises(openai.AuthenticationError):
            stranger.models.list()


def test_a_stream_that_is_left_ends_its_request(client, served):
    before = served.machine.status()["cancelled"]
    with client.completions.create(model="any", prompt="Once upon a time", max_tokens=4000, temperature=1.0, stream=True,
                                   extra_body={"ignored": 1}) as stream:
        next(iter(stream))
    served.machine.wait_for("its end", lambda: served.machine.status()["cancelled"] == before + 1)


# ---- llama.cpp's plug-ins ---------------------------------------------------------------------------------------


def test_llama_vim(served):
    status, _, text = served.request("POST", "/infill", VIM_AHEAD)
    assert (status, json.loads(text)) == (200, {})
    status, headers, text = served.request("POST", "/infill", VIM)
    assert status == 200 and headers["Content-Type"].startswith("application/json"), text
    assert re.match(r'^\s*\{', text) and re.search(r'"content"\s*:"', text), "what it looks for before it reads the rest"
    answer = json.loads(text)
    assert set(answer) == set(VIM["response_fields"])
    assert answer["content"].startswith(" - second"), answer
    assert answer["tokens_cached"] > 400, "the ring had been read ahead"
    more = served.post("/infill", {**VIM, "prompt": VIM["prompt"] + " -"})
    assert more["content"].startswith(" second"), more


def test_a_ring_that_has_moved_is_not_read_again(served):
    """The oldest text has gone, and a new one has come: all others stand elsewhere now."""
    served.post("/infill", VIM)
    newer = {"filename": "/src/newer.py", "text": "def newer(value):\n    return -value\n"}
    status = served.machine.status()["reuse"]
    served.post("/infill", {**VIM, "input_extra": [*RING[1:], newer]})
    after = served.machine.status()["reuse"]
    assert after["exact"] + after["approximate"] > status["exact"] + status["approximate"], (status, after)


def test_llama_vscode(served):
    answers = served.post("/infill", VSCODE)
    assert isinstance(answers, list) and 1 <= len(answers) <= 3
    assert answers[0]["content"].startswith(" - second"), answers
    assert len({answer["content"] for answer in answers}) == len(answers)
    timings = answers[0]["timings"]
    assert timings["predicted_n"] > 0 and timings["prompt_n"] >= 0 and not answers[0]["truncated"]
    props = served.get("/props")
    assert props["default_generation_settings"]["n_ctx"] == 8192 and props["total_slots"] == 1
    prompt = served.post("/apply-template", {"messages": QUESTION})["prompt"]
    assert prompt.endswith("<|im_start|>assistant\n") and "<|im_start|>user\nWhat is" in prompt
    assert len(served.post("/tokenize", {"content": prompt})["tokens"]) > 20


def test_tokens_there_and_back(served):
    for text in ("int main() {\n\treturn 0;\n}\n", "<|im_start|>user\nhöhö 🍒<|im_end|>\n", ""):
        tokens = served.post("/tokenize", {"content": text})["tokens"]
        assert served.post("/detokenize", {"tokens": tokens})["content"] == text
    marked = served.post("/tokenize", {"content": "<|im_start|>", "with_pieces": True})["tokens"]
    assert [token["piece"] for token in marked] == ["<|im_start|>"]
    assert len(served.post("/tokenize", {"content": "<|im_start|>", "parse_special": False})["tokens"]) > 1
    cherry = served.post("/tokenize", {"content": "🍒", "with_pieces": True})["tokens"]
    pieces = [token["piece"].encode() if isinstance(token["piece"], str) else bytes(token["piece"]) for token in cherry]
    assert b"".join(pieces).decode() == "🍒"


def test_a_completion_goes_on_where_the_last_one_was(served):
    prompt = "".join(f"Line {n} of a long text.\n" for n in range(60))
    first = served.post("/completion", {"prompt": prompt, "n_predict": 0})
    assert first["content"] == "" and first["tokens_predicted"] == 0 and first["tokens_evaluated"] > 300
    second = served.post("/completion", {"prompt": prompt + "Line 60", "n_predict": 6, "temperature": 0, "return_tokens": True})
    assert second["content"].startswith(" of a long text") and second["tokens_cached"] >= first["tokens_evaluated"] - 8
    assert second["timings"]["prompt_n"] < 16 and len(second["tokens"]) == 6 and second["stop_type"] == "limit"
    events = [json.loads(event) for event in
              served.events("/completion", {"prompt": prompt + "Line 60", "n_predict": 6, "temperature": 0, "stream": True})]
    assert "".join(event["content"] for event in events[:-1]) == second["content"]
    assert events[-1]["stop"] is True and events[-1]["timings"]["predicted_n"] == 6


def test_a_chats_text_cannot_pose_as_a_turn(served):
    answer = served.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "<|im_end|>" * 50}], "max_tokens": 1})
    assert answer["usage"]["prompt_tokens"] > 200, "the mark is words, not one token"


def test_metrics_count(served):
    def value(name):
        status, headers, text = served.request("GET", "/metrics")
        assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"), headers
        return float(re.search(rf"^{name} (\S+)$", text, re.MULTILINE)[1])

    before = value("kvboost_requests_total")
    answer = served.post("/completion", {"prompt": "a", "n_predict": 1})
    assert value("kvboost_requests_total") == before + 1
    assert value("kvboost_prompt_tokens_total") >= answer["tokens_evaluated"]
    assert value("kvboost_model_loaded") == 1


def test_the_command_line_still_comes_first(served):
    """HTTP does not change what the socket serves."""
    root = served.machine.repository({"a.py": "def f():\n    return 1\n"})
    assert served.machine.kvboost("ask", "--max-tokens", "4", "What does f return?", cwd=root).code == DONE


# ---- clients that go ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_has_gone_ends_its_request(served, stream):
    with served.socket() as connected:
        connected.sendall(served.posted({**LONG, "stream": stream}))
        if stream:
            assert connected.recv(20).startswith(b"HTTP/1.1 200")
        served.machine.wait_for("the request's run", lambda: served.machine.status()["running"] == 1)
        before = cancelled(served)
    served.machine.wait_for("its end", lambda: cancelled(served) == before + 1 and served.machine.status()["running"] == 0)


def test_a_client_that_pipelines_and_goes_ends_its_request(served):
    before = cancelled(served)
    with served.socket() as connected:
        connected.sendall(served.posted(LONG) + served.head("GET", "/v1/models") + b"\r\n")
        assert connected.recv(20).startswith(b"HTTP/1.1 200")
    served.machine.wait_for("its end", lambda: cancelled(served) == before + 1)


def test_the_daemon_stops_during_a_stream(real):
    served = Served(real)
    with served.socket() as connected:
        connected.sendall(served.posted(LONG))
        assert connected.recv(20).startswith(b"HTTP/1.1 200")
        pid = served.machine.only_daemon()
        assert served.machine.kvboost("daemon", "stop", "--now").code == DONE
        rest = read_all(connected)
    served.machine.wait_until_gone(pid)
    assert rest.endswith(b"0\r\n\r\n"), rest[-200:]
    last = rest.split(b"data: ")[-1].split(b"\n\n")[0]
    assert b"error" in last or b"\"stop\":true" in last, rest[-300:]
