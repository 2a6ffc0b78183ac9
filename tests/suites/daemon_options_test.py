# SPDX-License-Identifier: Apache-2.0
"""Options that a daemon reads when it starts, given to one that runs already, and models that it cannot use."""

import shutil

import pytest

from bad_models_test import unknown_pre_tokenizer
from machine import DONE, MODEL, NO_DAEMON, USAGE


@pytest.fixture
def asked(tiny):
    """Asks with some flags; the daemon runs."""
    root = tiny.repository({"a.py": "a = 1\n"})
    assert tiny.kvboost("daemon", "start").code == DONE
    return lambda *flags, **options: tiny.kvboost("ask", "--max-tokens", "2", *flags, "What is a?", cwd=root, **options)


def test_a_flag_that_comes_too_late_is_refused_with_the_command_that_helps(tiny, asked):
    late = asked("--context", "1000")
    assert late.code == USAGE and late.out == "", late
    assert "context=0, not 1000" in late.err and "`kvboost daemon restart --context 1000`" in late.err, late
    assert tiny.kvboost("daemon", "start", "--context", "1000").code == USAGE
    assert tiny.kvboost("daemon", "restart", "--context", "1000").code == DONE
    assert asked("--context", "1000").code == DONE
    assert tiny.kvboost("status", "--max-memory", "2000M", "--json").code == DONE, "that is 2G, the default"


def test_a_variable_that_comes_too_late_is_noted(asked):
    late = asked(env={"KVBOOST_CONTEXT": "1000"})
    assert late.code == DONE, late
    assert "not 1000 as KVBOOST_CONTEXT says" in late.err and "`kvboost daemon restart`" in late.err, late


def test_another_model_is_refused_with_the_commands_that_help(tiny, tiny_model, asked):
    other = tiny.folder / "other.gguf"
    shutil.copy2(tiny_model, other)
    late = asked("--model", other)
    assert late.code == USAGE and late.out == "", late
    for words in ("not " + str(other), f"`kvboost model use {other}`", f"`kvboost daemon restart --model {other}`"):
        assert words in late.err, late
    assert asked("--model", tiny_model).code == DONE, "the one in use may be named"
    noted = asked(env={"KVBOOST_MODEL": str(other)})
    assert noted.code == DONE and "as KVBOOST_MODEL says" in noted.err, noted
    assert tiny.kvboost("model", "use", other).code == DONE
    assert asked("--model", other).code == DONE


def test_a_model_that_cannot_be_used_is_refused_with_a_daemon_and_without(tiny, asked):
    pid = tiny.only_daemon()
    for model in ("nosuch", "/etc/passwd"):
        for refused in (asked("--model", model), tiny.kvboost("daemon", "restart", "--model", model)):
            assert refused.code == MODEL and model in refused.err and refused.out == "", refused
    assert tiny.only_daemon() == pid
    assert tiny.kvboost("daemon", "stop").code == DONE
    for model in ("nosuch", "/etc/passwd"):
        for refused in (asked("--model", model), tiny.kvboost("daemon", "start", "--model", model)):
            assert refused.code == MODEL and model in refused.err and refused.out == "", refused
    assert tiny.no_daemon_is_left()
    assert tiny.kvboost("status", "--if-running").code == NO_DAEMON


def test_who_chose_a_model_that_fails_is_said(machine, tiny_model):
    model = machine.folder / "model.gguf"  # its header is good, so that the daemon starts
    model.write_bytes(unknown_pre_tokenizer(tiny_model.read_bytes()))
    started = machine.kvboost("daemon", "start", "--model", model)
    assert started.code == DONE, started
    root = machine.repository({"a.py": "a = 1\n"})
    plain = machine.kvboost("ask", "What is a?", cwd=root)
    assert plain.code == MODEL, plain
    assert f"the daemon was started with --model {model}" in plain.err and "`kvboost daemon restart`" in plain.err, plain
