# SPDX-License-Identifier: Apache-2.0
"""`kvboost ask` from end to end, with the real model."""

import json
import os
import re
import signal
import subprocess

from machine import CANCELLED, DONE, FAILED, USAGE

FILES = {
    "parser.py": "def parse_price(text):\n    '''Price in cents from a text like 3.50 EUR.'''\n"
                 "    amount, currency = text.split()\n    return round(float(amount) * 100), currency\n",
    "shop.py": "from parser import parse_price\n\n\ndef total(lines):\n"
               "    return sum(parse_price(line)[0] for line in lines)\n",
    "README.md": "# A shop\n\nAdds up prices.\n",
}


def ask_json(machine, root, *arguments):
    finished = machine.kvboost("ask", "--json", "--max-tokens", "24", *arguments, cwd=root)
    assert finished.code == DONE, finished
    return finished.json()


def test_answer_is_streamed_and_explained(real):
    root = real.repository(FILES)
    finished = real.kvboost("ask", "--explain", "--max-tokens", "24", "What does parse_price return?", cwd=root)
    assert finished.code == DONE, finished
    assert len(finished.out.split()) >= 5 and finished.out.endswith("\n")
    assert "parser.py" in finished.err and "prefill" in finished.err and "tokens/s" in finished.err
    assert "\x1b" not in finished.out + finished.err, "colours or a progress line without a terminal"


def test_tokens_come_while_the_model_writes(real):
    root = real.repository(FILES)
    process = real.start("ask", "--max-tokens", "400", "Explain every file in detail.", cwd=root)
    first = os.read(process.stdout.fileno(), 4096)
    status = real.status()
    assert first and process.poll() is None and status["running"] == 1
    process.send_signal(signal.SIGINT)
    process.wait(60)


def test_json_names_files_and_counts(real):
    answer = ask_json(real, real.repository(FILES), "What does parse_price return?")
    assert answer["text"] and answer["finish_reason"] in ("end", "length")
    assert 0 < answer["answer_tokens"] <= 24
    assert {"parser.py", "shop.py"} <= {file["path"] for file in answer["files"]}
    assert answer["prompt_tokens"] > sum(file["tokens"] for file in answer["files"]) > 0
    assert answer["reused_tokens"] == 0 and answer["left_out"] == []
    assert answer["timings"]["first_token_ms"] > 0


def test_second_ask_reuses_the_exact_prefix(real):
    root = real.repository(FILES)
    cold = ask_json(real, root, "What does parse_price return?")
    same = ask_json(real, root, "What does parse_price return?")
    other = ask_json(real, root, "Who calls parse_price?", "parser.py", "shop.py", "README.md")
    assert same["text"] == cold["text"]
    # All but the last token, which is read anew for its logits.
    assert same["reused_tokens"] >= cold["prompt_tokens"] - 1
    assert other["reused_tokens"] < other["prompt_tokens"]
    assert real.status()["reused_tokens"] == same["reused_tokens"] + other["reused_tokens"]


def test_an_edit_ends_the_reuse_where_it_stands(real):
    root = real.repository(FILES)
    cold = ask_json(real, root, "What is here?", "parser.py", "shop.py")
    (root / "parser.py").write_text(FILES["parser.py"].replace("100", "1000"))
    edited = ask_json(real, root, "What is here?", "parser.py", "shop.py")
    assert 0 < edited["reused_tokens"] < cold["prompt_tokens"] - 1


def test_continue_goes_on_with_the_conversation(real):
    root = real.repository(FILES)
    first = ask_json(real, root, "What does parse_price return?")
    second = ask_json(real, root, "--continue", "And of which type?")
    assert second["prompt_tokens"] > first["prompt_tokens"]
    assert first["continues"] == "" and second["continues"] == "What does parse_price return?"
    # The first prompt is live, and all of its answer but what ends the turn.
    assert second["reused_tokens"] >= first["prompt_tokens"]


def test_continue_after_a_cancelled_ask_says_what_it_goes_on_from(real):
    root = real.repository(FILES)
    assert real.kvboost("ask", "--max-tokens", "4", "What does parse_price return?", cwd=root).code == DONE
    process = real.start("ask", "--max-tokens", "2000", "Explain every line of every file, at length.", cwd=root)
    os.read(process.stdout.fileno(), 1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) in (CANCELLED, DONE)
    asked_last = "What does parse_price" if process.returncode == CANCELLED else "Explain every line"
    finished = real.kvboost("ask", "--continue", "--max-tokens", "4", "And of which type?", cwd=root)
    assert finished.code == DONE and f"this goes on from: {asked_last}" in finished.err, finished


def test_continue_without_a_conversation_says_so(tiny):
    finished = tiny.kvboost("ask", "--continue", "And?", cwd=tiny.repository({"a.py": "a = 1\n"}))
    assert finished.code != DONE and "conversation" in finished.err


def test_ctrl_c_cancels_in_the_daemon_too(real):
    root = real.repository({"long.txt": "\n".join(f"Line {i} tells of a thing called {i * 7919}." for i in range(1500))})
    process = real.start("ask", "--max-tokens", "2000", "Tell all.", cwd=root)
    real.wait_for("a running request", lambda: real.daemons() and real.socket.exists() and real.status()["running"] == 1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == CANCELLED
    status = real.wait_for("the end of the request", lambda: (s := real.status())["running"] == 0 and s)
    assert status["cancelled"] == 1


def test_a_reader_that_leaves_cancels(real):
    root = real.repository(FILES)
    process = real.start("ask", "--max-tokens", "2000", "Explain every line of every file, at length.", cwd=root)
    os.read(process.stdout.fileno(), 1)
    process.stdout.close()
    assert process.wait(120) == DONE
    assert process.stderr.read() == ""
    real.wait_for("the end of the request", lambda: real.status()["running"] == 0)
    assert real.status()["cancelled"] == 1


def test_a_client_that_is_killed_cancels(real):
    root = real.repository(FILES)
    process = real.start("ask", "--max-tokens", "2000", "Explain every line of every file, at length.", cwd=root)
    os.read(process.stdout.fileno(), 1)
    process.kill()
    process.wait()
    status = real.wait_for("the end of the request", lambda: (s := real.status())["running"] == 0 and s)
    assert status["cancelled"] == 1


def test_question_from_standard_input_and_from_a_file(real):
    root = real.repository(FILES)
    (root / "question.txt").write_text("What does parse_price return?\n")
    typed = ask_json(real, root, "What does parse_price return?", "parser.py")
    piped = real.kvboost("ask", "--json", "--max-tokens", "24", "-", "parser.py", cwd=root,
                         text="What does parse_price return?\n")
    filed = real.kvboost("ask", "--json", "--max-tokens", "24", "--file", "question.txt", "parser.py", cwd=root)
    assert piped.code == filed.code == DONE, (piped, filed)
    assert piped.json()["text"] == filed.json()["text"] == typed["text"]


def test_an_empty_question_is_refused(tiny):
    root = tiny.repository({"a.py": "a = 1\n"})
    for text in ("", "   ", "\n"):
        finished = tiny.kvboost("ask", text, cwd=root)
        assert finished.code == USAGE and "question" in finished.err, finished


def test_the_same_seed_gives_the_same_answer(real):
    root = real.repository(FILES)
    options = ("--temperature", "1.2", "Invent a test.", "parser.py")
    one = ask_json(real, root, "--seed", "7", *options)
    # Anew, so that the same tokens are read in the same blocks: what is reused differs in the last bits of a
    # number, and a draw can turn on these.
    assert real.kvboost("daemon", "restart").code == DONE
    same = ask_json(real, root, "--seed", "7", *options)
    other = ask_json(real, root, "--seed", "8", *options)
    assert one["text"] == same["text"] != other["text"]


def test_what_does_not_fit_is_named(tiny):
    # The tiny model has a context of 2,048 tokens, about one a byte.
    root = tiny.repository({"small.py": "value = 1\n", "large.py": "value = 2  # " + "value " * 2000 + "\n"})
    finished = tiny.kvboost("ask", "--json", "--max-tokens", "8", "value?", "small.py", "large.py", cwd=root)
    answer = finished.json()
    assert [file["path"] for file in answer["files"] if file["whole_file"]] == ["small.py"]
    large = [file for file in answer["files"] if file["path"] == "large.py"]
    assert large or "large.py" in [item["path"] for item in answer["left_out"]], answer
    assert "large.py" in finished.err


def test_a_question_that_never_fits_fails(tiny):
    root = tiny.repository({"a.py": "a = 1\n"})
    finished = tiny.kvboost("ask", "why " * 2000, cwd=root)
    assert finished.code != DONE and finished.out == ""
    assert "context" in finished.err and "token" in finished.err, finished


def test_of_a_large_file_that_is_named_the_fitting_part_is_read(tiny):
    text = "".join(f"def step_{i}():\n    return {i}\n\n\n" for i in range(200))
    root = tiny.repository({"large.py": text + "def needle():\n    return 'found'\n"})
    finished = tiny.kvboost("ask", "--json", "--max-tokens", "8", "What does needle return?", "large.py", cwd=root)
    assert finished.code == DONE, finished
    file = finished.json()["files"][-1]
    assert file["last_line"] == text.count("\n") + 2 and not file["whole_file"]
    assert f" {file['first_line']} to {file['last_line']}, which fit the question best" in finished.err, finished


def test_of_a_folder_that_is_named_the_fitting_files_are_read(tiny):
    files = {f"many/step{i}.py": f"def step_{i}():\n    return {i}\n" for i in range(30)}
    root = tiny.repository({**files, "many/needle.py": "needle = 1\n", "other/needle.py": "needle = 2\n"})
    answer = ask_json(tiny, root, "What is the needle?", "many")
    assert [file["path"] for file in answer["files"]] == ["many/needle.py"]


def test_prompt_tokens_bound_the_files_of_this_ask_and_not_its_question(tiny):
    root = tiny.repository({f"f{i}.py": "word = 1\n" * 15 for i in range(10)})
    little = ask_json(tiny, root, "--prompt-tokens", "300", "word?")
    assert 0 < sum(file["tokens"] for file in little["files"]) <= 300
    more = ask_json(tiny, root, "--prompt-tokens", "900", "word?")
    assert sum(file["tokens"] for file in more["files"]) > 300
    long_question = ask_json(tiny, root, "--prompt-tokens", "300", "word? " * 100)
    assert long_question["prompt_tokens"] > 600 and long_question["files"]


def test_an_answer_from_nothing_says_so(tiny):
    root = tiny.repository({"empty.py": ""})
    named = tiny.kvboost("ask", "--max-tokens", "4", "What is here?", "empty.py", cwd=root)
    assert named.code == DONE and "nothing was read" in named.err, named
    bare = tiny.kvboost("ask", "--max-tokens", "4", "What is here?", cwd=tiny.make_folder("bare"))
    assert bare.code == DONE and "no file was read" in bare.err, bare


def test_a_question_beside_a_file_of_one_is_taken_for_a_path(tiny):
    root = tiny.repository({"question.txt": "What is here?\n"})
    finished = tiny.kvboost("ask", "--file", "question.txt", "What is here?", cwd=root)
    assert finished.code == FAILED and "the question comes from question.txt" in finished.err, finished


def test_a_plain_directory_works_with_a_note(tiny):
    folder = tiny.make_folder("plain")
    (folder / "a.py").write_text("a = 1\n")
    finished = tiny.kvboost("ask", "--json", "--max-tokens", "4", "What is a?", cwd=folder)
    assert finished.code == DONE, finished
    assert [file["path"] for file in finished.json()["files"]] == ["a.py"]
    assert "repository" in finished.json()["note"] and "repository" in finished.err
    again = tiny.kvboost("ask", "--json", "--max-tokens", "4", "What is a?", cwd=folder)
    assert again.json()["note"] == "" and "repository" not in again.err, "it was told already"


def test_a_directory_as_large_as_a_machine_is_bounded(tiny):
    folder = tiny.make_folder("large")
    for i in range(101):
        (folder / f"{i:03}").mkdir()
        for j in range(100):
            (folder / f"{i:03}/{j}.txt").touch()
    (folder / "z.py").write_text("a = 1\n")
    finished = tiny.kvboost("ask", "--json", "--max-tokens", "4", "What is a?", cwd=folder)
    assert finished.code == DONE, finished
    assert "more than 10000 files" in finished.err and "go to the directory that you mean" in finished.err, finished


def test_behind_two_dashes_there_are_no_options(tiny):
    root = tiny.repository({"-x": "a = 1\n", "--json": "b = 2\n", "c.py": "c = 3\n"})
    finished = tiny.kvboost("ask", "--json", "--max-tokens", "4", "What?", "--", "-x", "--json", cwd=root)
    assert finished.code == DONE, finished
    assert [file["path"] for file in finished.json()["files"]] == ["-x", "--json"]


def test_no_reuse_leaves_nothing(tiny):
    root = tiny.repository({"a.py": "a = 1\n"})
    finished = tiny.kvboost("ask", "--no-reuse", "--max-tokens", "4", "What is a?", "a.py", cwd=root)
    assert finished.code == DONE, finished
    status = tiny.status()
    assert status["live_sequences"] == status["live_kv_bytes"] == 0
    assert [tier["records"] for tier in status["tiers"]] == [0, 0]


def test_fractions_in_json_are_short(tiny):
    finished = tiny.kvboost("ask", "--json", "--max-tokens", "4", "What is a?", cwd=tiny.repository({"a.py": "a = 1\n"}))
    assert not re.search(r"\.\d{4}", finished.out), finished.out


def test_a_path_that_is_not_there_is_named(tiny):
    root = tiny.repository({"a.py": "a = 1\n"})
    finished = tiny.kvboost("ask", "What?", "missing.py", cwd=root)
    assert finished.code != DONE and "missing.py" in finished.err


def test_a_current_directory_that_is_gone_is_said(tiny):
    folder = tiny.make_folder("gone")
    done = subprocess.run(["sh", "-c", f"rmdir '{folder}' && exec '{tiny.programs}/kvboost' ask What?"], cwd=folder,
                          env=tiny.env, capture_output=True, text=True, timeout=120)
    assert done.returncode == FAILED and "current directory" in done.stderr, done
    assert tiny.daemons() == []


def test_a_daemon_that_is_killed_in_mid_answer_is_said_and_replaced(real):
    root = real.repository(FILES)
    process = real.start("ask", "--max-tokens", "2000", "Explain every line of every file, at length.", cwd=root)
    os.read(process.stdout.fileno(), 1)
    os.kill(real.only_daemon(), signal.SIGKILL)
    assert process.wait(60) == FAILED
    err = process.stderr.read()
    assert "closed the connection" in err and "daemon logs" in err, err
    assert real.kvboost("ask", "--max-tokens", "2", "What is here?", cwd=root).code == DONE


def test_twenty_at_once_are_all_answered(real):
    root = real.repository(FILES)
    running = [real.start("ask", "--json", "--max-tokens", "8", f"What does parse_price return for {i} cents?", cwd=root)
               for i in range(20)]
    for process in running:
        out, err = process.communicate(timeout=600)
        assert process.returncode == DONE, err
        assert json.loads(out)["answer_tokens"] > 0
    real.only_daemon()
    status = real.status()
    assert (status["requests"], status["cancelled"], status["failed"], status["running"]) == (20, 0, 0, 0)


def test_two_repositories_at_once(tiny):
    roots = [tiny.repository({f"{name}.py": f"{name} = 1\n"}, name) for name in ("alpha", "beta")]
    running = [tiny.start("ask", "--json", "--max-tokens", "8", "What is here?", cwd=root)
               for root in roots for _ in range(3)]
    answers = []
    for process in running:
        out, err = process.communicate(timeout=240)
        assert process.returncode == DONE, err
        answers.append(json.loads(out))
    assert [answer["files"][0]["path"] for answer in answers] == ["alpha.py"] * 3 + ["beta.py"] * 3
    tiny.only_daemon()
    assert tiny.status()["requests"] >= 6
