# SPDX-License-Identifier: Apache-2.0
"""`kvboost locate` from end to end, with the real model."""

import json
import signal

from machine import CANCELLED, DONE, USAGE

RETRY = ("int retries = 0;\n\n/* How often a broken connection is tried again. */\nint count_retries(int limit) {\n"
         "  while (retries <= limit) retries++;\n  return retries;\n}\n")
POOL = ("struct pool { int free; };\n\nint take_connection(struct pool* p) {\n  return p->free > 0 ? --p->free : -1;\n}\n\n"
        "int give_back(struct pool* p) {\n  return ++p->free;\n}\n")
FILES = {"net/retry.c": RETRY, "net/pool.c": POOL, "tests/retry_test.c": RETRY, "README.md": "# Retries\n\ncount_retries\n",
         "ui/window.c": "int open_window(int width) {\n  return width > 0;\n}\n"}
REPORT = "count_retries goes one over the limit\n\nA broken connection is tried four times where the limit is three."


def locate(machine, root, *arguments, **options):
    finished = machine.kvboost("locate", "--json", *arguments, cwd=root, **options)
    assert finished.code == DONE, finished
    return finished.json()


def paths(result):
    return [file["path"] for file in result["files"]]


def test_names_file_function_and_line(real):
    root = real.repository(FILES)
    result = locate(real, root, REPORT)
    first = result["files"][0]
    assert first["path"] == "net/retry.c" and first["functions"][0]["name"] == "count_retries", result
    assert first["line"] == 4 and first["text"].startswith("int count_retries"), first
    assert result["model"] and result["model_files"] == len(result["files"]) and result["incomplete"] == ""
    assert {score["ranker"] for score in first["scores"]} == {"words", "model"}
    assert "tests/retry_test.c" not in paths(result) and "README.md" not in paths(result)
    assert "tests/retry_test.c" in paths(locate(real, root, "--all", REPORT))
    assert paths(locate(real, root, "--paths", "tests", REPORT)) == ["tests/retry_test.c"]


def test_second_locate_computes_nothing(real):
    root = real.repository(FILES)
    assert locate(real, root, REPORT)["computed_tokens"] > 0
    again = locate(real, root, REPORT)
    assert again["computed_tokens"] == 0 and again["placed_tokens"] > 0
    other = locate(real, root, "take_connection gives -1 although a connection is free")
    assert paths(other)[0] == "net/pool.c"


def test_what_warm_stored_is_placed(real):
    root = real.repository(FILES)
    assert real.kvboost("warm", cwd=root).code == DONE
    assert locate(real, root, REPORT)["computed_tokens"] == 0


def test_an_edit_is_followed(real):
    root = real.repository(FILES)
    locate(real, root, "--no-model", REPORT)
    (root / "ui/window.c").write_text("int frobnicate_zoom(int z) {\n  return z;\n}\n")
    assert paths(locate(real, root, "--no-model", "frobnicate_zoom crashes")) == ["ui/window.c"]


def test_without_model_there_is_a_ranking_by_words(machine):
    root = machine.repository(FILES)
    result = locate(machine, root, REPORT)
    assert paths(result)[0] == "net/retry.c" and result["model"] == ""
    assert result["incomplete"].startswith("by words alone: ")
    assert locate(machine, root, "--no-model", REPORT)["incomplete"] == ""


def test_budget_is_told(real):
    root = real.repository(FILES)
    result = locate(real, root, "--budget", "1ms", REPORT)
    assert paths(result)[0] == "net/retry.c" and result["model_files"] == 0
    assert "budget" in result["incomplete"]


def test_quickfix_from_a_subfolder(real):
    root = real.repository(FILES)
    found = real.kvboost("locate", "--no-model", "--format", "quickfix", "--top", "1", "-", cwd=root / "net", text=REPORT)
    assert found.code == DONE and found.out == "retry.c:4: int count_retries(int limit) {\n", found


def test_stack_trace_names_the_line(real):
    root = real.repository(FILES)
    result = locate(real, root, "--no-model", "Crash\n#0 0x55 in give_back (p=0x0) at /build/net/pool.c:8\n")
    assert result["files"][0]["path"] == "net/pool.c" and result["files"][0]["line"] == 8
    assert result["files"][0]["functions"][0]["name"] == "give_back"


def test_odd_reports(real):
    root = real.repository(FILES)
    long = ("The retry limit of count_retries is wrong. " * 2400)[:100_000]
    result = locate(real, root, "-", text=long)
    assert paths(result)[0] == "net/retry.c" and result["report_read"] < result["report_tokens"]
    other = locate(real, root, "保存すると消える。接続が切れる。")
    assert other["files"] == [] or other["model_files"] == len(other["files"])
    nothing = real.kvboost("locate", "zzzz qqqq", cwd=root)
    assert nothing.code == DONE and nothing.out == "" and "no source file" in nothing.err
    for text in ("", " \n\t"):
        assert real.kvboost("locate", text, cwd=root).code == USAGE
    (root / "junk").write_bytes(bytes(range(256)) * 400)
    junk = real.kvboost("locate", "--file", "junk", cwd=root)
    assert junk.code == USAGE and "UTF-8" in junk.err, junk


def test_the_model_is_asked_which(real):
    root = real.repository(FILES)
    finished = real.kvboost("locate", "--ask", REPORT, cwd=root)
    table, answer = finished.out.split("\n\n", 1)
    assert finished.code == DONE and "net/retry.c" in table and answer.strip(), finished
    assert real.status()["requests"] == 2, "locate and ask"
    for other in ("--json", "--no-model"):
        assert real.kvboost("locate", "--ask", other, REPORT, cwd=root).code == USAGE


def test_odd_names(real):
    names = ["a b.c", 'q".c', "n\nl.c", "\u00fc.c", "u\u0308.c", "-lead.c", "x" * 253 + ".c"]
    root = real.repository({name: RETRY for name in names})
    (root / "b\udcff.c").write_text(RETRY)
    result = locate(real, root, "--top", "20", REPORT)
    expected = names + [{"base64": "Yv8uYw=="}]
    assert sorted(map(json.dumps, paths(result))) == sorted(map(json.dumps, expected))
    lines = real.kvboost("locate", "--no-model", "--format", "quickfix", "--top", "20", REPORT, cwd=root).out
    assert lines.count("\n") == len(expected)


def test_cancel(real):
    root = real.repository({f"src/f{i}.c": RETRY * 40 for i in range(20)})
    locate(real, root, "--no-model", REPORT)  # a daemon that is asked for its status must be there
    process = real.start("locate", REPORT, cwd=root)
    real.wait_for("a locate", lambda: real.status()["running"] == 1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) in (CANCELLED, DONE)
    real.wait_for("its end", lambda: real.status()["running"] == 0)
    assert locate(real, root, "--no-model", REPORT)["files"]
