# SPDX-License-Identifier: Apache-2.0
"""CPUs of other years, by qemu's user emulation: it works, or one sentence names what is missing.

A program that qemu runs starts its children on the real CPU, so the daemon is started under qemu by its own.
"""

import shutil
import subprocess

import pytest

from machine import DONE

CPUS = ["Nehalem", "Haswell"]
QEMU = shutil.which("qemu-x86_64")

pytestmark = pytest.mark.skipif(QEMU is None, reason="qemu-user is not installed")


def emulated(machine, cpu, *words, **options):
    return subprocess.run([QEMU, "-cpu", cpu, *words], env=machine.env, cwd=machine.home, text=True, capture_output=True,
                          timeout=600, **options)


@pytest.mark.parametrize("cpu", CPUS)
def test_version_help_and_config(machine, cpu):
    for words in (["--version"], ["--help"], ["config"]):
        finished = emulated(machine, cpu, machine.programs / "kvboost", *words)
        assert finished.returncode == DONE and finished.stdout, finished


@pytest.fixture
def emulated_daemon(tiny, request):
    cpu = request.param
    process = subprocess.Popen([QEMU, "-cpu", cpu, tiny.programs / "kvboostd", "--foreground"], env=tiny.env, text=True,
                               cwd=tiny.home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    tiny.wait_for("the emulated daemon's socket", lambda: process.poll() is not None or tiny.socket.exists(), 300)
    yield tiny, process
    process.terminate()
    process.wait(120)


@pytest.mark.parametrize("emulated_daemon", CPUS, indirect=True)
def test_a_daemon_answers_or_says_why_not(emulated_daemon):
    machine, process = emulated_daemon
    if process.poll() is not None:
        words = process.stderr.read()
        assert process.returncode > 0 and "CPU" in words and len(words.splitlines()) <= 2, words
        return
    root = machine.repository({"a.py": "a = 1\n"})
    asked = machine.kvboost("ask", "--json", "--max-tokens", "3", "What is a?", cwd=root, patience=600)
    assert asked.code == DONE, (asked, machine.log_text())
    assert asked.json()["answer_tokens"] > 0 or asked.json()["finish_reason"] == "end"
    status = machine.status()
    assert status["compute"] == "f32" and status["compute_reason"]


@pytest.mark.parametrize("cpu", CPUS)
def test_doctor_runs(tiny, cpu):
    finished = emulated(tiny, cpu, tiny.programs / "kvboost", "doctor")
    assert finished.returncode in (0, 1) and "CPU" in finished.stdout, finished
