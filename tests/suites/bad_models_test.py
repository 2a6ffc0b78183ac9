# SPDX-License-Identifier: Apache-2.0
"""Model files that are broken or not for us: refused with the reason, and the daemon goes on."""

import pathlib
import struct

import pytest

from machine import DONE, MODEL

KINDS = {}


def kind(*words):
    """Registers a way to break a good model; the user's message must have these words."""
    def register(function):
        KINDS[function.__name__] = (function, words)
        return function
    return register


def replaced(data, key, new):
    assert key in data and len(new) == len(key), key
    return data.replace(key, new)


@kind("empty")
def empty(data):
    return b""


@kind("GGUF")
def wrong_magic(data):
    return b"GGML" + data[4:]


@kind("version")
def unknown_version(data):
    return data[:4] + struct.pack("<I", 99) + data[8:]


@kind()
def only_the_magic(data):
    return data[:4]


@kind()
def cut_in_the_header(data):
    return data[:200]


@kind()
def cut_in_the_tensors(data):
    return data[:len(data) * 2 // 3]


@kind()
def huge_counts(data):
    return data[:8] + struct.pack("<QQ", 2**63 - 1, 2**63 - 1) + data[24:]


@kind("blk.0.attn_q.weight")
def missing_tensor(data):
    return replaced(data, b"blk.0.attn_q.weight", b"blk.9.attn_q.weight")


@kind("token_embd.weight")
def missing_embedding(data):
    return replaced(data, b"token_embd.weight", b"token_xmbd.weight")


@kind("smollx")
def unknown_pre_tokenizer(data):
    return replaced(data, b"smollm", b"smollx")


@kind("tokenizer.ggml.pre")
def absent_pre_tokenizer(data):
    return replaced(data, b"tokenizer.ggml.pre", b"tokenizer.ggml.xyz")


@kind("lxama")
def unknown_architecture(data):
    return replaced(data, b"llama", b"lxama")


@kind()
def noise(data):
    return bytes((i * 7919 + 13) % 251 for i in range(5000))


def ask(machine):
    root = machine.folder / "repository"
    if not root.exists():
        machine.repository({"a.py": "a = 1\n"})
    return machine.kvboost("ask", "--max-tokens", "4", "What is a?", cwd=root)


@pytest.mark.parametrize("name", KINDS)
def test_a_broken_model_is_refused(machine, tiny_model, name):
    break_it, words = KINDS[name]
    model = machine.folder / f"{name}.gguf"
    model.write_bytes(break_it(tiny_model.read_bytes()))
    machine.use_model(model)
    asked = ask(machine)
    assert asked.code == MODEL or asked.code == 1, asked
    assert asked.out == "" and asked.err.startswith("kvboost: "), asked
    for word in (f"{name}.gguf", *words):
        assert word in asked.err, asked
    status = machine.status()
    assert status["model_error"] and status["pid"] == machine.only_daemon()
    # The same daemon answers as soon as the file is good.
    model.write_bytes(tiny_model.read_bytes())
    assert ask(machine).code == DONE
    assert machine.status()["pid"] == status["pid"]


def test_a_directory_is_no_model(machine):
    machine.use_model(machine.make_folder("model.gguf"))
    asked = ask(machine)
    assert asked.code == MODEL and "model.gguf" in asked.err, asked


def test_a_model_without_rights_or_a_device(machine):
    machine.use_model(pathlib.Path("/dev/zero"))
    asked = ask(machine)
    assert asked.code in (1, MODEL) and "/dev/zero" in asked.err, asked


def test_an_unknown_pre_tokenizer_can_be_forced(machine, tiny_model):
    model = machine.folder / "forced.gguf"
    model.write_bytes(unknown_pre_tokenizer(tiny_model.read_bytes()))
    machine.use_model(model)
    machine.env["KVBOOST_FORCE_TOKENIZER"] = "yes"
    assert ask(machine).code == DONE


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3", "gemma3"])
def test_each_architecture_answers(machine, tmp_path, architecture):
    import subprocess
    file = tmp_path / f"{architecture}.gguf"
    subprocess.run([machine.programs / "write-tiny-model", file, architecture], check=True)
    machine.use_model(file)
    assert ask(machine).code == DONE
    assert machine.kvboost("model", "info", "--json").json()["entry"]["architecture"] == architecture
