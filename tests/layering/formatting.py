#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C++ file that git tracks is as clang-format 14 leaves it.

`formatting.py ROOT CLANG_FORMAT...` takes the first of the given programs that is version 14: other versions format
differently. Exits 77 (skipped, for ctest) where there is none; `./bootstrap test` installs one.
"""

import shutil
import subprocess
import sys

SKIPPED = 77


def is_version_14(program):
    if not shutil.which(program):
        return False
    return " version 14." in subprocess.run([program, "--version"], capture_output=True, text=True).stdout


def main(root, candidates):
    program = next(filter(is_version_14, candidates), None)
    if program is None:
        print("no clang-format 14 here: pip install -r tests/requirements.txt, into build/venv")
        return SKIPPED
    listed = subprocess.run(["git", "ls-files", "-z", "*.h", "*.cpp"], cwd=root, check=True, capture_output=True)
    files = [name for name in listed.stdout.decode().split("\0") if name]
    done = subprocess.run([program, "--dry-run", "-Werror", *files], cwd=root)
    print(f"{len(files)} files; to mend: {program} -i FILES")
    return done.returncode if files else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
