# SPDX-License-Identifier: Apache-2.0
"""`kvboost complete` and the method behind it, from end to end."""

import json

import pytest

from machine import DONE, FAILED, USAGE
from wire import Wire

POOL = ("struct pool { int free; };\n\nint take_connection(struct pool* p) {\n  return p->free > 0 ? --p->free : -1;\n}\n\n"
        "int give_back(struct pool* p) {\n  return ++p->free;\n}\n")
MAIN = "#include \"net/pool.h\"\n\nint main(void) {\n  struct pool p = {3};\n  int first = take_connection(&p);\n  \n  return 0;\n}\n"
FILES = {"net/pool.h": POOL, "main.c": MAIN, ".env": "KEY=1\n", "README.md": "# Pools\n"}
CURSOR = MAIN.index("\n  \n") + 3


def complete(machine, root, *arguments, text=MAIN, offset=CURSOR, file="main.c"):
    finished = machine.kvboost("complete", "--json", "--file", file, "--offset", offset, *arguments, cwd=root, text=text)
    assert finished.code == DONE, finished
    return finished.json()


def params(root, text=MAIN, offset=CURSOR, **more):
    return {"directory": str(root), "path": "main.c", "text": text, "offset": offset, **more}


def result(answer):
    assert "result" in answer, answer
    return answer["result"]


def test_a_hint_with_the_real_model(real):
    root = real.repository(FILES)
    text = MAIN[:CURSOR] + "int second = take_conn" + MAIN[CURSOR:]
    found = complete(real, root, text=text, offset=CURSOR + len("int second = take_conn"))
    assert found["hints"][0]["text"].startswith("ection("), found
    assert found["shape"] == "line" and found["origin"] == "model" and "\n" not in found["hints"][0]["text"]
    assert found["method"] == "prefix" and "no marks" in found["note"], "SmolLM2 cannot fill in the middle: that is said"
    shown = real.kvboost("complete", "--file", "main.c", "--offset", CURSOR, "-x", cwd=root, text=MAIN)
    assert shown.code == DONE and "net/pool.h" in shown.err and "first token" in shown.err, shown


def test_typing_costs_a_few_tokens(real):
    root = real.repository(FILES)
    complete(real, root)
    with Wire(real.socket) as wire:
        first = result(wire.call("complete", params(root, client="me")))
        typed, offset = "int second = ", CURSOR
        for n in range(1, len(typed) + 1):
            text = MAIN[:CURSOR] + typed[:n] + MAIN[CURSOR:]
            got = result(wire.call("complete", params(root, text, offset + n, client="me")))
            assert got["origin"] == "recent" or got["computed_tokens"] <= 4, got
    assert first["origin"] == "recent", "the same as the command had"


def test_what_is_typed_of_a_hint_needs_no_model(real):
    root = real.repository(FILES)
    complete(real, root)
    with Wire(real.socket) as wire:
        text, offset = MAIN[:CURSOR] + "int second = take_conn" + MAIN[CURSOR:], CURSOR + len("int second = take_conn")
        hint = result(wire.call("complete", params(root, text, offset)))["hints"][0]["text"]
        typed = text[:offset] + hint[:3] + text[offset:]
        rest = result(wire.call("complete", params(root, typed, offset + 3)))
        assert rest["origin"] == "recent" and rest["hints"][0]["text"] == hint[3:], rest
        other = result(wire.call("complete", params(root, text[:offset] + "X" + text[offset:], offset + 1)))
        assert other["origin"] == "model"


def test_the_next_hint_is_computed_ahead(real):
    root = real.repository(FILES)
    complete(real, root)
    with Wire(real.socket) as wire:
        text, offset = MAIN[:CURSOR] + "int second = take_conn" + MAIN[CURSOR:], CURSOR + len("int second = take_conn")
        hint = result(wire.call("complete", params(root, text, offset, ahead=True)))["hints"][0]["text"]
        accepted, behind = text[:offset] + hint + text[offset:], offset + len(hint)
        real.wait_for("the hint behind it", lambda: real.status()["running"] == 0)
        # Another client's request queues behind what is computed ahead, and ends nothing of it.
        result(wire.call("complete", params(root, client="other", text="x", offset=1)))
        found = real.wait_for("it", lambda: result(
            wire.call("complete", params(root, accepted, behind, client="third")))["origin"] == "recent")
        assert found


def test_a_newer_request_ends_the_older_one(real):
    root = real.repository({**FILES, **{f"src/f{i}.c": POOL * 20 for i in range(8)}})
    complete(real, root)
    with Wire(real.socket) as wire:
        old = wire.send("complete", params(root, POOL * 40, 3000, client="me", shape="block", reuse=False))
        new = wire.send("complete", params(root, client="me"))
        answers = {}
        while len(answers) < 2:
            message = wire.receive()
            if message.get("id") in (old, new) and ("result" in message or "error" in message):
                answers[message["id"]] = message
        assert answers[old]["error"]["data"]["code"] == "cancelled", answers[old]
        assert "result" in answers[new]
        assert real.status()["running"] == 0


def test_the_unsaved_text_counts_and_is_not_stored(tiny):
    root = tiny.repository(FILES)
    secret_word = "unsaved_zebra_crossing"
    text = f"int {secret_word};\n" * 200 + MAIN
    found = complete(tiny, root, "-x", text=text, offset=len(text))
    assert found["offset"] == len(text)
    assert tiny.kvboost("daemon", "stop").code == DONE
    for file in [*tiny.home.rglob("*"), *tiny.runtime.rglob("*")]:
        if file.is_file():
            assert secret_word.encode() not in file.read_bytes(), file


def test_offsets_are_clamped(tiny):
    root = tiny.repository(FILES)
    text = "a = \"\U0001F352\u0301\u2028\";\n"
    size = len(text.encode())
    boundaries = {len(text[:n].encode()) for n in range(len(text) + 1)}
    assert complete(tiny, root, text=text, offset=2**40)["offset"] == size
    with Wire(tiny.socket) as wire:
        for offset in [-5, *range(size + 1), 2**40]:
            got = result(wire.call("complete", params(root, text, offset)))["offset"]
            assert got in boundaries and got <= max(0, min(offset, size)), (offset, got)


def test_line_ends_stay_as_they_are(tiny):
    root = tiny.repository(FILES)
    assert tiny.kvboost("daemon", "start").code == DONE
    with Wire(tiny.socket) as wire:
        text = MAIN.replace("\n", "\r\n")
        got = result(wire.call("complete", params(root, text, 40, shape="block", alternatives=3)))
        for hint in got["hints"]:
            assert hint["text"].count("\n") == hint["text"].count("\r\n")


def test_alternatives_differ(real):
    root = real.repository(FILES)
    found = complete(real, root, "--alternatives", 3)
    texts = [hint["text"] for hint in found["hints"]]
    assert 2 <= len(texts) <= 3 and len(set(texts)) == len(texts) and all(text.strip() for text in texts)


def test_a_time_limit_is_kept_and_work_is_not_lost(real):
    root = real.repository({**FILES, **{f"src/f{i}.c": POOL * 20 for i in range(8)}})
    complete(real, root)  # the daemon is there, and its model
    text, live = POOL * 12, []
    with Wire(real.socket) as wire:
        while not live or got["incomplete"]:
            got = result(wire.call("complete", params(root, text, len(text), client="me", budget_ms=300)))
            live.append(got["live_tokens"])
    assert len(live) > 1 and live == sorted(live) and live[-1] > 500, "each goes on from where the last one was stopped"


@pytest.mark.parametrize("family", ["qwen2.5-coder", "starcoder2", "codellama", "deepseek-coder", "codestral"])
def test_each_family_fills_in_the_middle(machine, filling_models, family):
    machine.use_model(filling_models[family])
    root = machine.repository(FILES)
    found = complete(machine, root, "-x")
    assert found["method"] == "fill-in-the-middle" and found["family"] == family and found["note"] == "", found
    with Wire(machine.socket) as wire:
        for n in range(1, 4):
            text = MAIN[:CURSOR] + "qzx"[:n] + MAIN[CURSOR:]
            typed = result(wire.call("complete", params(root, text, CURSOR + n, client="me")))
        assert typed["origin"] == "recent" or typed["computed_tokens"] <= 6, typed


def test_what_is_refused(tiny):
    root = tiny.repository(FILES)
    secret = tiny.kvboost("complete", "--file", ".env", cwd=root, text="KEY=")
    assert secret.code == FAILED and "secret" in secret.err, secret
    assert tiny.kvboost("complete", cwd=root, text="x").code == USAGE, "no file"
    assert tiny.kvboost("complete", "--file", "gone.c", "--saved", cwd=root).code == USAGE
    assert tiny.kvboost("complete", "--file", "a.c", "--alternatives", 0, cwd=root, text="x").code == USAGE
    process = tiny.kvboost("complete", "--file", "a.c", "--budget", "soon", cwd=root, text="x")
    assert process.code == USAGE, process
    assert complete(tiny, root, file="not/there/yet.c", text="int x", offset=5)["root"] == str(root)


def test_two_editors_on_two_repositories(real):
    roots = [real.repository({"main.c": MAIN, "net/pool.h": POOL, "n.txt": name}, name) for name in ("one", "two")]
    complete(real, roots[0])
    typed = "int second ="
    with Wire(real.socket) as one, Wire(real.socket) as two:
        for n in range(1, len(typed) + 1):
            for wire, root in ((one, roots[0]), (two, roots[1])):
                text = MAIN[:CURSOR] + typed[:n] + MAIN[CURSOR:]
                got = result(wire.call("complete", params(root, text, CURSOR + n)))
                assert n == 1 or got["origin"] == "recent" or got["computed_tokens"] <= 4, (n, root, got)


def test_a_completion_overtakes_ask_and_warm(real):
    root = real.repository({**FILES, **{f"src/f{i}.c": POOL * 20 for i in range(8)}})
    complete(real, root)
    with Wire(real.socket) as asking, Wire(real.socket) as warming, Wire(real.socket) as wire:
        asked = asking.send("ask", {"directory": str(root), "question": "What does take_connection do?", "paths": ["src"],
                                    "max_tokens": 2000})
        while asking.receive()["params"].get("stage") != "prefill":
            pass  # it has the engine now
        warmed = warming.send("warm", {"directory": str(root)})
        got = result(wire.call("complete", params(root, client="me")))
        assert got["hints"] is not None
        running = real.status()["running"]
        assert running == 2, "both still run"
        for other, request in ((asking, asked), (warming, warmed)):
            other.notify("$/cancelRequest", {"id": request})
            other.answer(request)


def test_a_plain_directory_and_an_empty_buffer(tiny):
    folder = tiny.make_folder("plain")
    (folder / "a.py").write_text("def f():\n    pass\n")
    found = complete(tiny, folder, text="", offset=0, file="a.py")
    assert found["offset"] == 0 and found["root"] == str(folder)
    odd = "\x00\t" * 50
    assert complete(tiny, folder, text=odd, offset=3, file="odd.bin")["offset"] == 3
