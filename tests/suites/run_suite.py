#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_suite.py VENV FILE: runs one suite with the first interpreter that has pytest, that of VENV before this one.

Exits 77 (skipped, for ctest) where none has it; `./bootstrap test` makes one.
"""

import os
import subprocess
import sys

SKIPPED = 77


def main(venv, suite):
    for python in (os.path.join(venv, "bin/python"), sys.executable):
        if os.path.exists(python) and subprocess.run([python, "-c", "import pytest"], capture_output=True).returncode == 0:
            os.execv(python, [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-rs", suite])
    print("no pytest here: pip install -r tests/requirements.txt, into build/venv")
    return SKIPPED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
