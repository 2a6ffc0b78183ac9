#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The include rule and the house rules, checked over the files that git tracks.

`layering.py ROOT` prints every breach as file:line: reason, and exits 1 if there is one. The two tables below are
the rule itself: who may include which of our folders, and which folder is a library's only home.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys

# Folder -> what of ours it may include. The longest matching folder decides; a path below an allowed folder is
# allowed too, and "engine/*.h" means the headers of engine/ itself, not those of its subfolders.
OURS = {
    "base": ["base", "build_id_*.h"],  # this header is generated
    "cache": ["base", "cache"],
    "engine": ["base", "engine"],
    "engine/*.h": ["base", "engine/*.h"],
    "daemon/protocol": ["base", "daemon/protocol"],
    "daemon/http": ["base", "daemon/protocol", "daemon/http"],
    "daemon": ["base", "cache", "engine/*.h", "daemon"],
    "cli": ["base", "daemon/protocol", "cli"],
    "integrations": ["base", "daemon/protocol", "integrations"],
    "bench": ["base", "cache", "engine", "daemon", "cli", "bench"],
    "tests": ["base", "cache", "engine", "daemon", "cli", "bench", "integrations", "tests"],
}

# How a library's headers are named -> where they may be included. tests/ and bench/ may include anything.
LIBRARIES = {
    "torch/* ATen/* c10/* caffe2/*": ["engine/*.cpp", "engine/*/*"],
    "hwy/* omp.h immintrin.h cblas.h": ["engine/*.cpp", "engine/*/*"],
    "pcre2.h utf8proc.h": ["engine/tokenizer/*.cpp"],
    "lmdb.h": ["cache/store/*.cpp"],
    "git2.h git2/*": ["cache/track/*.cpp"],
    "tree_sitter/*": ["cache/chunk/*.cpp"],
    "boost/locale/utf.hpp": ["engine/tokenizer/utf8.cpp"],
    "boost/* asio.hpp asio/*": ["daemon/net/*", "daemon/http/*", "cli/client.cpp"],
    "toml++/* toml.hpp": ["base/*.cpp"],
    "nlohmann/json_fwd.hpp": ["daemon/protocol/*", "daemon/net/*", "daemon/http/*", "cli/*", "integrations/*"],
    "nlohmann/*": ["daemon/protocol/*", "daemon/net/*.cpp", "daemon/http/*.cpp", "daemon/models/*.cpp", "cli/*.cpp", "integrations/*.cpp",
                   "daemon/pipeline/conversation_file.cpp"],
    "CLI/*": ["cli/*", "daemon/main.cpp"],
    "openssl/*": ["base/*.cpp"],
    "spdlog/*": ["base/log.*"],
    "xxhash.h": ["base/*.cpp", "cache/*/*.cpp"],
}

CXX = {".h", ".cpp"}
CODE = CXX | {".py", ".sh", ".cmake", ".lua", ".ts", ".js", ".mjs"}
CODE_NAMES = {"CMakeLists.txt", "bootstrap", ".ci/run"}
MAX_LINES = 400
SPDX = "SPDX-License-Identifier: Apache-2.0"
# Spelt so that this file does not break its own rule.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
REGISTRY_HOST = re.compile(
    r"(registry\.npmjs|py" r"pi)\.org|python" r"hosted|crates\.i" r"o/|debian\.or" r"g/debian"
    r"|repo1?\.maven\.|proxy\.gol" r"ang", re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def matches(path, patterns):
    """Whether `path` is named by one of the globs; a star does not cross a folder, unless it ends the glob."""
    parts = path.split("/")
    for pattern in patterns:
        glob = pattern.split("/")
        if glob[-1] == "*" and len(parts) > len(glob):
            glob += ["*"] * (len(parts) - len(glob))
        if len(parts) == len(glob) and all(map(fnmatch.fnmatchcase, parts, glob)):
            return True
    return False


def may_include(path, header):
    """None if `path` may include our own `header`, else why not."""
    below = lambda folder, name: matches(name, [folder] if "*" in folder else [folder + "/*"])
    rules = [folder for folder in OURS if below(folder, path)]
    if not rules:
        return f"no rule says what {path.split('/')[0]}/ may include: add one to tests/layering/layering.py"
    rule = max(rules, key=len)
    if any(below(folder, header) for folder in OURS[rule]):
        return None
    return f"{rule} may include only {', '.join(OURS[rule])}, not \"{header}\""


def library_breach(path, header):
    if path.startswith(("tests/", "bench/")):
        return None
    for names, homes in LIBRARIES.items():
        if matches(header, names.split()):
            return None if matches(path, homes) else f"<{header}> belongs only into {', '.join(homes)}"
    return None


def breaches(path, text):
    """(line, reason) of every breach in one file."""
    suffix = pathlib.PurePosixPath(path).suffix
    is_code = suffix in CODE or path in CODE_NAMES or path.endswith("/CMakeLists.txt")
    lines = text.splitlines()
    if is_code and not any(SPDX in line for line in lines[:2]):
        yield 1, f"the first line must say {SPDX}"
    if suffix in CODE and len(lines) > MAX_LINES:
        yield MAX_LINES, f"{len(lines)} lines, {MAX_LINES} is the most: is a box missing?"
    for number, line in enumerate(lines, 1):
        if is_code and UNFINISHED.search(line):
            yield number, "unfinished work is marked here: finish it"
        if REGISTRY_HOST.search(line):
            yield number, "a package registry is named by host: name the package"
        include = INCLUDE.match(line) if suffix in CXX else None
        if include:
            ours, library = include.groups()
            reason = may_include(path, ours) if ours else library_breach(path, library)
            if reason:
                yield number, reason


def unbuilt(texts):
    """The .cpp files among `texts` (path -> text) that neither the CMakeLists.txt above them names, by its own folder,
    nor any .cmake file, by the project's."""
    words = {path: re.split(r"[\s()\"]+", text) for path, text in texts.items()
             if path.endswith(("CMakeLists.txt", ".cmake"))}
    scripts = [word for path in words if path.endswith(".cmake") for word in words[path]]
    names = lambda given, source: any(word == source or word.endswith("}/" + source) for word in given)
    for path in filter(lambda path: path.endswith(".cpp"), texts):
        folders = list(map(str, pathlib.PurePosixPath(path).parents))
        build = next((folder for folder in folders if folder + "/CMakeLists.txt" in words), None)
        if build and not names(words[build + "/CMakeLists.txt"], path[len(build) + 1:]) and not names(scripts, path):
            yield path, "no CMakeLists.txt names it: build it, or remove it"


def main(root):
    names = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True).stdout
    files = [name for name in names.decode().split("\0") if name and (pathlib.Path(root) / name).is_file()]
    texts = {}
    for name in files:
        try:
            texts[name] = (pathlib.Path(root) / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture or a test's raw bytes
    found = [(name, line, reason) for name, text in texts.items() for line, reason in breaches(name, text)]
    found += [(name, 1, reason) for name, reason in unbuilt(texts)]
    for name, line, reason in found:
        print(f"{name}:{line}: {reason}")
    print(f"{len(files)} files, {len(found)} breaches")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
