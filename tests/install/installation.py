#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""installation.py BUILD CMAKE NINJA: what the install rules of the build tree want is made by the one target that
`./bootstrap run` builds, and what they install runs."""

import pathlib
import re
import subprocess
import sys
import tempfile

TARGET = "kvboost_installation"


def wanted(build):
    """Files of the build tree that the install rules name."""
    named = set()
    for rules in build.rglob("cmake_install.cmake"):
        named.update(re.findall(rf'"{re.escape(str(build))}/([^"$]+)"', rules.read_text()))
    return {name for name in named if not name.endswith("cmake_install.cmake") and "install_manifest" not in name}


def main(build, cmake, ninja):
    graph = subprocess.run([ninja, "-C", build, "-t", "graph", TARGET], check=True, capture_output=True, text=True)
    made = {name.removeprefix(f"{build}/") for name in re.findall(r'label="([^"]+)"', graph.stdout)}
    files = wanted(build)
    missing = files - made
    assert {"bin/kvboost", "bin/kvboostd", "cli/docs/kvboost.1"} <= files, f"the install rules were misread: {files}"
    assert not missing, f"{TARGET} does not make what `cmake --install` wants: {sorted(missing)}"
    bootstrap = pathlib.Path(__file__).resolve().parents[2] / "bootstrap"
    assert f"targets=({TARGET})" in bootstrap.read_text(), f"./bootstrap run does not build {TARGET}"
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        for program in ("kvboost", "kvboostd"):
            subprocess.run([f"{prefix}/bin/{program}", "--version"], check=True)
        assert list(pathlib.Path(prefix).rglob("kvboost.1*")), "the manual page is not installed"


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), *sys.argv[2:])
