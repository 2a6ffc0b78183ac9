#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our token ids against those of the reference tokenizer, text by text.

`tokenizer_reference.py TOKENIZE MODEL [--texts N] [--pre NAME]`: TOKENIZE is the kvboost-tokenize of this build,
MODEL a GGUF with a byte-level BPE. Its vocabulary is compared under each pre-tokenizer. Exits 77 (skipped, for ctest)
without the model or the Python packages of tests/requirements.txt.
"""

import argparse
import os
import subprocess
import sys
import tempfile

SKIPPED = 77


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


try:
    from corpus import corpus
    from reference import PIPELINES, Vocabulary, comparable
except ImportError as error:
    skip(f"{error}; pip install -r tests/requirements.txt")


def encode(command, texts):
    """The ids of each text, by a program that reads length and bytes and writes a line of ids."""
    data = b"".join(b"%d\n%b" % (len(text), text) for text in map(str.encode, texts))
    done = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True)
    return [[int(number) for number in line.split()] for line in done.stdout.decode().splitlines()]


def compare(name, texts, command, reference):
    """Prints the first few texts that differ; returns how many do."""
    ours = encode(command, texts)
    theirs = [encoding.ids for encoding in reference.encode_batch_fast(texts, add_special_tokens=False)]
    assert len(ours) == len(theirs) == len(texts), f"{name}: {len(ours)} of {len(texts)} texts came back"
    wrong = [i for i in range(len(texts)) if ours[i] != theirs[i]]
    for i in wrong[:5]:
        print(f"  {texts[i][:120]!r}\n    ours   {ours[i][:24]}\n    theirs {theirs[i][:24]}")
    print(f"{name}: {len(texts)} texts, {sum(map(len, theirs))} tokens, {len(wrong)} texts differ", flush=True)
    return len(wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tokenize")
    parser.add_argument("model", nargs="?", default=os.environ.get("KVBOOST_TEST_MODEL", ""))
    parser.add_argument("--texts", type=int, default=12000)
    parser.add_argument("--pre", choices=PIPELINES, action="append")
    arguments = parser.parse_intermixed_args()
    if not arguments.model:
        skip("KVBOOST_TEST_MODEL names no model file")
    texts = corpus(arguments.texts)
    vocabulary = Vocabulary.of_gguf(arguments.model)
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for pre in arguments.pre or PIPELINES:
            model = vocabulary.write(os.path.join(folder, pre + ".gguf"), pre)
            differing += compare(pre, comparable(pre, texts), [arguments.tokenize, model], vocabulary.reference(pre))
        differing += compare("the model itself", texts, [arguments.tokenize, arguments.model],
                             vocabulary.reference("smollm"))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
