# SPDX-License-Identifier: Apache-2.0
"""Measures llama.cpp, by the Python package llama-cpp-python: the peer of `kvboost bench engine`.

The flags and the lines that it prints are those of bench/peer.h. Each test is run once with flash attention and once
without; the better way is then run until it has `--runs` figures, and its median counts.
"""

import argparse
import json
import statistics
import sys
import time

try:
    import llama_cpp
except ImportError:
    sys.exit(f"{sys.executable} has no llama_cpp: see bench/README.md")

WAYS = {True: "flash attention on", False: "flash attention off"}


def numbers(text):
    return [int(word) for word in text.split(",") if word]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--token-ids", required=True)
    parser.add_argument("--prefill", type=numbers, default=[])
    parser.add_argument("--depths", type=numbers, default=[])
    parser.add_argument("--decode-tokens", type=int, default=64)
    return parser.parse_args()


class Peer:
    """One llama.cpp context, with or without flash attention; only one is alive at a time."""

    def __init__(self, options, context, flash):
        self.llama = llama_cpp.Llama(
            options.model, n_ctx=context, n_batch=2048, n_ubatch=512, n_threads=options.threads,
            n_threads_batch=options.threads, flash_attn=flash, verbose=False)

    def prefill(self, ids):
        self.llama.reset()
        start = time.perf_counter()
        self.llama.eval(ids)
        return len(ids) / (time.perf_counter() - start)

    def decode(self, context, following):
        """Tokens of the text itself, one by one: choosing them costs the peer nothing."""
        if self.llama.n_tokens < len(context):
            self.llama.reset()
            self.llama.eval(context)
        self.llama.n_tokens = len(context)  # the next eval drops the cells behind
        start = time.perf_counter()
        for token in following:
            self.llama.eval([token])
        return len(following) / (time.perf_counter() - start)


def tests(options, ids):
    """(name, tokens, depth, function from a Peer to tokens a second)."""
    for count in options.prefill:
        yield "prefill", count, 0, lambda peer, n=count: peer.prefill(ids[:n])
    following = ids[:options.decode_tokens]
    for depth in options.depths:
        # As kvboost's side has it: an empty context has one token.
        yield "decode", options.decode_tokens, depth, lambda peer, n=max(depth, 1): peer.decode(ids[:n], following)


def main():
    options = arguments()
    with open(options.token_ids) as file:
        ids = json.load(file)
    plan = list(tests(options, ids))
    context = max([*options.prefill, *options.depths]) + options.decode_tokens + 8
    figures = {(test, flash): [] for test in range(len(plan)) for flash in WAYS}

    def run(flash, chosen, times):
        peer = Peer(options, context, flash)
        peer.prefill(ids[:64])  # pages of the model's file come in
        for test in chosen:
            for _ in range(times):
                name, tokens, depth, measure = plan[test]
                figures[test, flash].append(measure(peer))
                print(f"peer: {name} {tokens} at depth {depth}, {WAYS[flash]}: "
                      f"{figures[test, flash][-1]:.0f} tokens/s", file=sys.stderr)

    for flash in WAYS:
        run(flash, range(len(plan)), 1)
    better = [max(WAYS, key=lambda flash: figures[test, flash][0]) for test in range(len(plan))]
    for flash in WAYS:
        chosen = [test for test in range(len(plan)) if better[test] == flash]
        if chosen and options.runs > 1:
            run(flash, chosen, options.runs - 1)

    for test, (name, tokens, depth, _) in enumerate(plan):
        print(json.dumps({
            "engine": "peer", "test": name, "tokens": tokens, "depth": depth,
            "tokens_per_s": statistics.median(figures[test, better[test]]), "dtype": "",
            "remark": f"llama-cpp-python {llama_cpp.__version__}, {WAYS[better[test]]}"}), flush=True)


if __name__ == "__main__":
    main()
