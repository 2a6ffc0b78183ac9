# SPDX-License-Identifier: Apache-2.0
"""Sets kvboost's logits beside llama.cpp's, over the same weights and the same tokens of real source.

Run it with a Python that has llama_cpp (bench/README.md). Prints the mean of KL(peer || kvboost) over all positions,
its 99th percentile, and how often both have the same likeliest token. Exits 1 where --most-kl or --least-top1 is missed.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

try:
    import llama_cpp
except ImportError:
    sys.exit(f"{sys.executable} has no llama_cpp: see bench/README.md")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", default="build/release/bin/kvboost-bench", help="the kvboost-bench binary")
    parser.add_argument("--model", required=True)
    parser.add_argument("--peer-model", help="what the peer reads, if not the same file: see bench/plain_copy.py")
    parser.add_argument("--text", help="text to read: a file, or a folder of C++ sources")
    parser.add_argument("--tokens", type=int, default=1500)
    parser.add_argument("--compute", default="auto", choices=["auto", "bf16", "f32"])
    parser.add_argument("--one-by-one", action="store_true", help="kvboost reads each token alone, as it decodes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--most-kl", type=float)
    parser.add_argument("--least-top1", type=float)
    return parser.parse_args()


def own_logits(options):
    """(ids, logits) of kvboost."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "logits"
        command = [options.bench, "logits", "--model", options.model, "--compute", options.compute, "--threads",
                   str(options.threads), "--tokens", str(options.tokens), "--out", str(out)]
        command += ["--text", options.text] if options.text else []
        command += ["--one-by-one"] if options.one_by_one else []
        subprocess.run(command, check=True)
        numbers = np.fromfile(out, dtype=np.int32)
    n, vocabulary = numbers[:2]
    return numbers[2:2 + n], numbers[2 + n:].view(np.float32).reshape(n, vocabulary)


def peer_logits(options, ids):
    llama = llama_cpp.Llama(
        options.peer_model or options.model, n_ctx=len(ids), n_batch=512, n_ubatch=512, n_threads=options.threads,
        n_threads_batch=options.threads, logits_all=True, flash_attn=False, verbose=False)
    llama.eval(ids.tolist())
    return llama.scores[:len(ids)]


def log_softmax(logits):
    shifted = logits.astype(np.float64) - logits.max()
    return shifted - np.log(np.exp(shifted).sum())


def main():
    options = arguments()
    ids, ours = own_logits(options)
    theirs = peer_logits(options, ids)
    divergence = np.empty(len(ids))
    for i in range(len(ids)):
        own, peer = log_softmax(ours[i]), log_softmax(theirs[i])
        divergence[i] = (np.exp(peer) * (peer - own)).sum()
    top1 = (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean()
    way = "one by one" if options.one_by_one else "in blocks"
    print(f"{len(ids)} positions, {options.compute}, {way}: mean KL {divergence.mean():.5f}, 99th percentile "
          f"{np.percentile(divergence, 99):.5f}, largest {divergence.max():.5f}, top-1 equal {100 * top1:.2f} %")
    missed = (options.most_kl is not None and divergence.mean() > options.most_kl) or (
        options.least_top1 is not None and top1 < options.least_top1)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
