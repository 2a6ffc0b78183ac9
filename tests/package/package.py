#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""package.py BUILD CPACK: the Debian package has all that is installed, names the libraries that the programs load, and
its units start the programs where they will lie."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
FILES = ["usr/bin/kvboost", "usr/bin/kvboostd", "usr/share/man/man1/kvboost.1", "usr/share/doc/kvboost/copyright",
         "usr/share/bash-completion/completions/kvboost", "usr/share/systemd/user/kvboostd.socket",
         *(f"usr/share/nvim/site/pack/kvboost/opt/kvboost/{file}"
           for file in ("plugin/kvboost.lua", "lua/kvboost/init.lua", "doc/kvboost.txt", "doc/tags"))]


def main(build, cpack):
    if not shutil.which("dpkg-shlibdeps"):
        print("dpkg-dev is not installed: no package")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([cpack, "--config", build / "CPackConfig.cmake", "-B", folder], check=True)
        package = next(folder.glob("kvboost_*.deb"))
        depends = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True, capture_output=True, text=True).stdout
        for library in ("libtorch", "libgit2", "libopenblas0"):
            assert library in depends, depends
        subprocess.run(["dpkg-deb", "-x", package, folder / "x"], check=True)
        for file in FILES:
            assert (folder / "x" / file).is_file(), f"{file} is not in the package"
        service = (folder / "x/usr/share/systemd/user/kvboostd.service").read_text()
        assert "ExecStart=/usr/bin/kvboostd --foreground\n" in service, service
        subprocess.run([folder / "x/usr/bin/kvboost", "--version"], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]))
