# SPDX-License-Identifier: Apache-2.0
"""status, daemon, model, config, doctor, --version: their exit codes, their JSON, and what they say when amiss."""

import json
import os
import re
import shutil

from machine import DONE, FAILED, MODEL, NO_DAEMON, USAGE


def test_version_and_help(machine):
    version = machine.kvboost("--version")
    assert version.code == DONE and version.out.startswith("kvboost 0."), version
    for words in (["--help"], ["ask", "--help"], ["daemon", "--help"], ["help", "model"]):
        shown = machine.kvboost(*words)
        assert shown.code == DONE and "Usage:" in shown.out and shown.err == "", shown
    assert machine.daemons() == []


def test_wrong_use_names_what_was_meant(machine):
    for words, hint in ((["statsu"], "status"), (["ask", "--max-tokns", "3", "x"], "--max-tokens"), (["daemon"], ""),
                        ([], "")):
        finished = machine.kvboost(*words)
        assert finished.code == USAGE and hint in finished.err and finished.out == "", finished
    assert machine.daemons() == []


def test_help_is_plain_everywhere(machine):
    """None of what the parser of the command line adds by itself."""
    def visit(*words):
        shown = machine.kvboost(*words, "--help")
        assert shown.code == DONE and shown.err == "" and f"Usage: kvboost {' '.join(words)}".strip() in shown.out, shown
        for noise in (" in [", "Excludes:", "{false}", ":FILE", ":DIR", "REQUIRED", "(Env:", "INT", "ENUM", "[[", "TEXT ...", "[OPTIONS]"):
            assert noise not in shown.out, (words, noise, shown.out)
        below = re.search(r"^Commands:\n(.*?)\n\n", shown.out, re.S | re.M)
        for line in below.group(1).splitlines() if below else ():
            if name := re.match(r"  (\w\S*)", line):
                visit(*words, name.group(1))
                visited.append(name.group(1))
    visited = []
    visit()
    visit("bench")
    assert {"ask", "restart", "bugs", "engine"} <= set(visited)


def test_wrong_use_of_a_benchmark(machine):
    for words, expected in ((("nosuch",), "there is no command nosuch in `kvboost bench`"), ((), "wants one of"),
                            (("bugs",), "--set"), (("engine", "--nosuch"), "there is no option --nosuch")):
        finished = machine.kvboost("bench", *words)
        assert finished.code == USAGE and expected in finished.err and finished.out == "", finished


def test_status_without_and_with_a_daemon(tiny):
    none = tiny.kvboost("status", "--if-running")
    assert none.code == NO_DAEMON and "no daemon" in none.err and tiny.daemons() == [], none
    tiny.kvboost("daemon", "start")
    shown = tiny.kvboost("status")
    assert shown.code == DONE and str(tiny.only_daemon()) in shown.out and str(tiny.socket) in shown.out
    status = tiny.status()
    assert status["log_file"] == str(tiny.log) and status["socket"] == str(tiny.socket)
    assert status["requests"] == 0 and status["connections"] >= 1


def test_status_counts_what_was_asked(tiny):
    root = tiny.repository({"a.py": "a = 1\n"})
    answer = tiny.kvboost("ask", "--json", "--max-tokens", "4", "What is a?", cwd=root).json()
    status = tiny.status()
    assert status["requests"] == 1 and status["prompt_tokens"] == answer["prompt_tokens"]
    assert status["state"] == "ready" and status["live_sequences"] == 1
    assert status["weight_bytes"] > 0 and status["live_kv_bytes"] > 0 and status["threads"] > 0


def test_daemon_logs(tiny):
    assert tiny.kvboost("daemon", "logs").code == FAILED
    tiny.kvboost("daemon", "start")
    shown = tiny.kvboost("daemon", "logs", "-n", "5")
    assert shown.code == DONE and 0 < len(shown.out.splitlines()) <= 5


def test_the_log_has_a_line_a_request_and_never_its_text(tiny):
    root = tiny.repository({"a.py": "secretword = 1\n"})
    assert tiny.kvboost("ask", "--max-tokens", "2", "What is secretword?", cwd=root).code == DONE
    assert tiny.kvboost("ask", "secretword?", "secretpath", cwd=root).code == FAILED
    tiny.status()
    log = tiny.kvboost("daemon", "logs").out
    assert re.search(r"ask: done in \d+ ms; \d+ tokens read, 0 of them reused, 2 answered", log), log
    assert len(re.findall("ask: not_found in", log)) == 1 and log.count(" ask: ") == 2, log
    for unwanted in ("secret", "client ", "initialize", "status"):
        assert unwanted not in log, log


def test_models_are_found_chosen_and_described(machine, tiny_model):
    models = machine.data / "models"
    models.mkdir(parents=True, mode=0o700)
    shutil.copy2(tiny_model, models / "first.gguf")
    shutil.copy2(tiny_model, machine.folder / "second.gguf")
    listed = machine.kvboost("model", "list", "--json").json()["models"]
    assert [model["path"] for model in listed] == [str(models / "first.gguf")]
    added = machine.kvboost("model", "add", "second.gguf", cwd=machine.folder)
    assert added.code == DONE, added
    used = machine.kvboost("model", "use", machine.folder / "second.gguf")
    assert used.code == DONE, used
    listed = machine.kvboost("model", "list", "--json").json()["models"]
    assert {model["path"]: model["in_use"] for model in listed} == {
        str(models / "first.gguf"): False, str(machine.folder / "second.gguf"): True}
    info = machine.kvboost("model", "info", "--json").json()
    assert info["entry"]["path"] == str(machine.folder / "second.gguf")
    assert info["entry"]["architecture"] == "llama"
    unknown = machine.kvboost("model", "use", "nothing-like-this")
    assert unknown.code in (FAILED, MODEL) and "nothing-like-this" in unknown.err


def test_the_choice_of_a_model_survives_a_restart(machine, tiny_model):
    shutil.copy2(tiny_model, machine.folder / "kept.gguf")
    assert machine.kvboost("model", "use", "kept.gguf", cwd=machine.folder).code == DONE
    machine.kvboost("daemon", "restart")
    info = machine.kvboost("model", "info", "--json").json()
    assert info["entry"]["path"] == str(machine.folder / "kept.gguf")


def test_config_shows_where_each_value_came_from(machine):
    config = machine.home / ".config/kvboost"
    config.mkdir(parents=True, mode=0o700)
    (config / "kvboost.toml").write_text('max_tokens = 100\ntemperature = 0.5\n')
    root = machine.repository({".kvboost.toml": "max_tokens = 50\nsocket = '/tmp/evil.sock'\n"})
    finished = machine.kvboost("config", "--json", cwd=root, env={"KVBOOST_SEED": "3"})
    assert finished.code == DONE, finished
    text = finished.out
    rows = json.loads(text)
    rows = rows.get("options", rows) if isinstance(rows, dict) else rows
    values = {row["name"]: row for row in rows} if isinstance(rows, list) else rows
    assert str(values["max_tokens"]["value"]) == "50" and str(values["temperature"]["value"]) == "0.5"
    assert str(values["seed"]["value"]) == "3"
    origins = {name: values[name]["origin"] for name in ("max_tokens", "temperature", "seed", "top_k")}
    assert len(set(origins.values())) == 4, origins
    assert "evil" not in json.dumps(values["socket"])


def test_config_refuses_what_it_does_not_know(machine):
    config = machine.home / ".config/kvboost"
    config.mkdir(parents=True, mode=0o700)
    (config / "kvboost.toml").write_text("max_tokns = 100\n")
    finished = machine.kvboost("config")
    assert finished.code == USAGE and "max_tokns" in finished.err and "kvboost.toml" in finished.err, finished
    (config / "kvboost.toml").write_text("max_tokens = [\n")
    assert machine.kvboost("status").code == USAGE
    bad = machine.kvboost("status", env={"KVBOOST_THREADS": "many"})
    assert bad.code == USAGE


def test_config_set_and_unset(machine):
    assert machine.kvboost("config", "set", "max_tokens", "77").code == DONE
    assert "77" in machine.kvboost("config", "max_tokens").out
    for value in ("lots", "0", "99999999999999999999"):
        refused = machine.kvboost("config", "set", "max_tokens", value)
        assert refused.code == USAGE and "a whole number from 1 to 1000000" in refused.err, refused
    assert "77" in machine.kvboost("config", "max_tokens").out
    assert machine.kvboost("config", "set", "model", "--", "--odd.gguf").code == DONE
    assert machine.kvboost("config", "model", "--json").json()["value"] == "--odd.gguf"
    assert machine.kvboost("config", "unset", "max_tokens").code == DONE
    assert "512" in machine.kvboost("config", "max_tokens").out


def test_doctor_finds_a_sound_machine_sound(tiny):
    finished = tiny.kvboost("doctor", "--json")
    checks = finished.json()["checks"]
    assert finished.code == DONE, checks
    assert finished.json()["verdict"] in ("ok", "warning")
    assert len(checks) >= 6 and all(check["verdict"] in ("ok", "warning") for check in checks)
    assert tiny.kvboost("doctor").code == DONE


def test_doctor_finds_what_is_broken(machine):
    (machine.folder / "broken.gguf").write_bytes(b"GGUF")
    machine.use_model(machine.folder / "broken.gguf")
    finished = machine.kvboost("doctor", "--json")
    failed = [check for check in finished.json()["checks"] if check["verdict"] == "failed"]
    assert finished.code == FAILED and finished.json()["verdict"] == "failed"
    assert any("model" in check["name"] and check["remedy"] for check in failed), failed


def test_a_terminal_gets_colours_and_a_pipe_does_not(tiny):
    tiny.kvboost("daemon", "start")
    assert "\x1b" not in tiny.kvboost("status").out
    assert "\x1b" in tiny.kvboost("status", "--color", "always").out
    primary, secondary = os.openpty()
    process = tiny.start("status", stdout=secondary, env={"TERM": "xterm"})
    process.communicate(timeout=60)
    os.close(secondary)
    shown = os.read(primary, 65536)
    os.close(primary)
    assert process.returncode == DONE and b"\x1b" in shown
