#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches the trees of a bug set: released packages, by the ordinary clients of their ecosystems.

    bug_trees.py trees.json FOLDER      FOLDER/KEY is each package's tree

`trees.json` maps a key to ecosystem, package, version, archive and its SHA-256. What is there already is left alone.
An archive with another sum is refused. For Debian's packages, apt must know deb-src lists (--apt-option hands options on
to apt-get, such as lists of one's own)."""

import argparse
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile


def run(*command, cwd):
    finished = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    if finished.returncode != 0:
        sys.exit(f"bug_trees: {' '.join(map(str, command))} failed:\n{finished.stderr.strip()}")
    return finished.stdout


def check(archive, tree):
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != tree["sha256"]:
        sys.exit(f"bug_trees: {archive.name} has the SHA-256 {digest}, expected {tree['sha256']}")


def unpack(archive, folder):
    """Into `folder`, without the one folder that holds all where there is such."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(place)
        else:
            with tarfile.open(archive) as packed:
                packed.extractall(place, filter="data") if hasattr(tarfile, "data_filter") else packed.extractall(place)
        inner = list(pathlib.Path(place).iterdir())
        whole = inner[0] if len(inner) == 1 and not archive.name.endswith(".whl") else pathlib.Path(place)
        shutil.copytree(whole, folder, symlinks=True)


def fetch(tree, scratch, apt_options):
    """The archive, from the ecosystem's client; for Go and Rust the folder that the client has unpacked."""
    name, version = tree["package"], tree["version"]
    if tree["ecosystem"] == "npm":
        run("npm", "pack", f"{name}@{version}", cwd=scratch)
    elif tree["ecosystem"] == "pypi":
        run(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--python-version", "3.11",
            f"{name}=={version}", cwd=scratch)
    elif tree["ecosystem"] == "debian":
        run("apt-get", *apt_options, "source", "--download-only", name, cwd=scratch)
    elif tree["ecosystem"] == "go":
        told = json.loads(run("go", "mod", "download", "-json", f"{name}@{version}", cwd=scratch))
        check(pathlib.Path(told["Zip"]), tree)
        return pathlib.Path(told["Dir"])
    elif tree["ecosystem"] == "crates":
        (scratch / "src").mkdir()
        (scratch / "src/lib.rs").touch()
        (scratch / "Cargo.toml").write_text(f'[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n'
                                            f'[dependencies]\n{name} = "={version}"\n')
        run("cargo", "vendor", "vendor", cwd=scratch)
        sums = json.loads((scratch / "vendor" / name / ".cargo-checksum.json").read_text())
        if sums["package"] != tree["sha256"]:
            sys.exit(f"bug_trees: {name} has the SHA-256 {sums['package']}, expected {tree['sha256']}")
        return scratch / "vendor" / name
    else:
        sys.exit(f"bug_trees: do not know how to get packages of {tree['ecosystem']}")
    archive = scratch / tree["archive"]
    if not archive.exists():
        sys.exit(f"bug_trees: {tree['archive']} did not come; there is {[f.name for f in scratch.iterdir()]}")
    check(archive, tree)
    return archive


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("trees", type=pathlib.Path)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--apt-option", action="append", default=[], help="an option for apt-get")
    given = arguments.parse_args()
    for key, tree in json.loads(given.trees.read_text()).items():
        folder = given.folder / key
        if folder.exists():
            continue
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            got = fetch(tree, pathlib.Path(scratch), given.apt_option)
            if got.is_dir():
                shutil.copytree(got, folder, symlinks=True)
                run("chmod", "-R", "u+w", folder, cwd=folder)
            else:
                unpack(got, folder)
        print(key)


if __name__ == "__main__":
    main()
