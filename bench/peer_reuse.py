# SPDX-License-Identifier: Apache-2.0
"""Reuse as llama.cpp's server does it, by the Python package llama-cpp-python: the peer of `kvboost bench reuse`.

One slot. A new prompt keeps the longest beginning that it shares with what the slot holds (`cache_prompt`), then looks
through the rest of the slot, in order, for runs of at least `--cache-reuse` tokens that stand next in the prompt, and
shifts each of them into place (`--cache-reuse` of the server); what is left is read. Nothing that was shifted is
repaired. The slot holds the base and its answer before each prompt, and nothing after a restart.

Stdin: a JSON object with `letters` (four token ids), `greedy` (tokens to compare) and `sets`, each an object from a
scenario's name to {"tokens": [...], "closing": tokens behind the files, "answer": the right letter's index or null}.
Stdout: a JSON object a line, with the fields of print_outcome_json in bench/reuse_figures.cpp. Every divergence is
from a read by an empty slot of the same kind.

Each scenario is run with flash attention, and the quick ones without it too; the better time counts.
"""

import argparse
import ctypes
import json
import sys
import time

try:
    import llama_cpp
    import numpy
except ImportError:
    llama_cpp = None

DOUBT = 0.05
QUICK = ("same", "question", "deleted", "dropped")  # little is read, so flash attention may cost time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--cache-reuse", type=int, default=256)
    return parser.parse_args()


def log_softmax(logits):
    logits = logits.astype(numpy.float64) - logits.max()
    return logits - numpy.log(numpy.exp(logits).sum())


def shared(left, right):
    """How many tokens two lists begin with alike."""
    count = 0
    for a, b in zip(left, right):
        if a != b:
            break
        count += 1
    return count


def find_reuse(held, prompt, least):
    """(tokens kept at the beginning, [(where in the slot, where in the prompt, tokens)])."""
    kept = shared(held, prompt)
    runs = []
    at, wanted = kept, kept
    while least > 0 and at < len(held) and wanted < len(prompt):
        length = shared(held[at:at + len(prompt) - wanted], prompt[wanted:]) if held[at] == prompt[wanted] else 0
        if length >= least:
            runs.append((at, wanted, length))
            at += length
            wanted += length
        else:
            at += 1
    return kept, runs


class Slot:
    """One llama.cpp context, and the tokens that it holds."""

    def __init__(self, options, context, flash):
        self.llama = llama_cpp.Llama(
            options.model, n_ctx=context, n_batch=2048, n_ubatch=512, n_threads=options.threads,
            n_threads_batch=options.threads, flash_attn=flash, verbose=False)
        self.least = options.cache_reuse
        self.memory = self.llama._ctx.memory
        self.context = self.llama._ctx.ctx
        self.held = []

    def empty(self):
        llama_cpp.llama_memory_clear(self.memory, True)
        self.held = []

    def saved(self):
        size = llama_cpp.llama_state_seq_get_size(self.context, 0)
        state = (ctypes.c_uint8 * size)()
        if llama_cpp.llama_state_seq_get_data(self.context, state, size, 0) != size:
            sys.exit("the slot's state could not be saved")
        return state, list(self.held)

    def restore(self, saved):
        state, held = saved
        self.empty()
        if llama_cpp.llama_state_seq_set_data(self.context, state, len(state), 0) == 0:
            sys.exit("the slot's state could not be restored")
        self.held = list(held)

    def logits(self):
        pointer = llama_cpp.llama_get_logits_ith(self.context, -1)
        return numpy.ctypeslib.as_array(pointer, shape=(self.llama.n_vocab(),))

    def eval(self, tokens):
        self.llama.n_tokens = len(self.held)  # the next eval drops the cells behind
        self.llama.eval(tokens)
        self.held += tokens

    def read(self, prompt):
        """Reads a prompt with all reuse there is: (ms until the first token is known, tokens reused, logits)."""
        kept, runs = find_reuse(self.held, prompt, self.least)
        start = time.perf_counter()
        for at, wanted, length in runs:
            llama_cpp.llama_memory_seq_rm(self.memory, 0, wanted, at)
            llama_cpp.llama_memory_seq_add(self.memory, 0, at, at + length, wanted - at)
            kept = wanted + length
        kept = min(kept, len(prompt) - 1)  # one token at least is read, to have logits
        self.held = prompt[:kept]
        self.eval(prompt[kept:])
        logits = self.logits()
        int(logits.argmax())
        return 1e3 * (time.perf_counter() - start), kept, logits.copy()

    def answer(self, logits, count):
        """The likeliest tokens behind the prompt; an end token ends it."""
        tokens = []
        for _ in range(count):
            token = int(logits.argmax())
            if llama_cpp.llama_vocab_is_eog(llama_cpp.llama_model_get_vocab(self.llama._model.model), token):
                break
            tokens.append(token)
            self.eval([token])
            logits = self.logits()
        return tokens


class Way:
    """Every set by one kind of slot. `outcomes`: (set, scenario) to a line of output."""

    def __init__(self, options, request, flash):
        self.request = request
        longest = max(len(prompt["tokens"]) for of in request["sets"] for prompt in of.values())
        self.slot = Slot(options, longest + request["greedy"] + 8, flash)
        self.slot.eval(request["sets"][0]["base"]["tokens"][:64])  # pages of the model's file come in
        self.remark = f"flash attention {'on' if flash else 'off'}"
        self.outcomes = {}

    def cold(self, prompt):
        self.slot.empty()
        ms, _, logits = self.slot.read(prompt["tokens"])
        return ms, logits, self.slot.answer(logits, self.request["greedy"])

    def note(self, index, scenario, prompt, ms, reused, logits, tokens, full):
        full_ms, full_logits, full_tokens = full
        expected, given = log_softmax(full_logits), log_softmax(logits)
        letters = self.request["letters"]
        highest = numpy.sort(numpy.exp(expected))[-2:]
        count = len(prompt["tokens"])
        outcome = {
            "prompt": index, "scenario": scenario, "tokens": count, "tokens_reused": reused,
            "tokens_repaired": max(0, count - prompt["closing"] - reused), "ttft_ms": ms, "full_ttft_ms": full_ms,
            "kl": float((numpy.exp(expected) * (expected - given)).sum()),
            "top1": bool(expected.argmax() == given.argmax()), "doubtful": bool(highest[1] - highest[0] < DOUBT)}
        if prompt["answer"] is not None:
            choice = int(given[letters].argmax())
            outcome["choice"] = choice == int(expected[letters].argmax())
            outcome["right"] = choice == prompt["answer"]
        if self.request["greedy"] > 0:
            outcome["greedy_equal"] = tokens == full_tokens
        self.outcomes[index, scenario] = outcome
        print(f"peer: prompt {index + 1}, {scenario}, {self.remark}: {ms:.0f} ms, {reused} tokens reused",
              file=sys.stderr)

    def run(self, scenarios, exactness):
        for index, of in enumerate(self.request["sets"]):
            full = self.cold(of["base"])
            base = self.slot.saved()
            self.note(index, "cold", of["base"], full[0], 0, full[1], full[2], full)
            if exactness:  # after a restart the slot is as empty as at the beginning
                self.note(index, "restart", of["base"], full[0], 0, full[1], full[2], full)
            for scenario in scenarios:
                prompt = of["base" if scenario == "same" else scenario]
                self.slot.restore(base)
                ms, reused, logits = self.slot.read(prompt["tokens"])
                tokens = self.slot.answer(logits, self.request["greedy"])
                own = full
                if exactness and scenario != "same":
                    own = self.cold(prompt)
                self.note(index, scenario, prompt, ms, reused, logits, tokens, own)


def main():
    options = arguments()
    if llama_cpp is None:
        sys.exit(f"{sys.executable} has no llama_cpp: see bench/README.md")
    request = json.load(sys.stdin)
    scenarios = request["scenarios"]
    way = Way(options, request, True)
    way.run(scenarios, True)
    outcomes = way.outcomes
    del way
    quick = [scenario for scenario in scenarios if scenario in QUICK]
    if quick:
        other = Way(options, request, False)
        other.run(quick, False)
        for scenario in quick:
            sums = [sum(o["ttft_ms"] for (_, s), o in of.items() if s == scenario)
                    for of in (outcomes, other.outcomes)]
            if sums[1] < sums[0]:
                for index in range(len(request["sets"])):
                    outcomes[index, scenario]["ttft_ms"] = other.outcomes[index, scenario]["ttft_ms"]
    for outcome in outcomes.values():
        print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main()
