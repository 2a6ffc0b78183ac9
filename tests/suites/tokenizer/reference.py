# SPDX-License-Identifier: Apache-2.0
"""The reference tokenizers: PyPI `tokenizers`, built from a GGUF's own vocabulary and merges with the pipeline that
the published tokenizer.json of each family has, and the GGUFs to compare them on."""

import functools
import json
import pathlib
import re
import unicodedata

import gguf
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

NORMAL, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 3, 4, 5, 6


def _split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def _byte_level(use_regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def _words(digits):
    return (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + digits +
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


DIGITS_ALONE = [pre_tokenizers.Digits(individual_digits=True), _byte_level(True)]
PIPELINES = {
    "smollm": DIGITS_ALONE,
    "starcoder": DIGITS_ALONE,
    "gpt-2": [_byte_level(True)],
    "qwen2": [_split(_words(r"\p{N}")), _byte_level(False)],
    "llama-bpe": [_split(_words(r"\p{N}{1,3}")), _byte_level(False)],
    "deepseek-coder": [_split("[\r\n]"), _split(r"\s?\p{L}+"), _split(r"\s?\p{P}+"), _split("[一-龥ࠀ-一가-퟿]+"),
                       pre_tokenizers.Digits(individual_digits=True), _byte_level(False)],
}
WHOLE_WORDS_FIRST = {"llama-bpe"}
NFC = {"qwen2"}


@functools.cache
def _young_marks():
    """Combining marks that are younger than the reference's normalizer (Unicode 9): it leaves them where they stand."""
    compose = normalizers.NFC().normalize_str
    probes = ((mark, f"a\u0345{mark}\u0301\u0316") for mark in map(chr, range(0x300, 0x1F000))
              if unicodedata.combining(mark))
    return {ord(mark): None for mark, text in probes if compose(text) != unicodedata.normalize("NFC", text)}


def comparable(pre, texts):
    return [text.translate(_young_marks()) for text in texts] if pre in NFC else texts


class Vocabulary:
    """What of a tokenizer goes into a GGUF."""

    def __init__(self, tokens, types, merges=None, scores=None, settings=None):
        self.tokens, self.types, self.merges, self.scores = tokens, types, merges, scores
        self.settings = settings or {}

    @classmethod
    def of_gguf(cls, path):
        fields = gguf.GGUFReader(path).fields
        read = lambda name: fields["tokenizer.ggml." + name].contents()
        return cls(read("tokens"), read("token_type"), read("merges"))

    def write(self, path, pre):
        """A GGUF without tensors: `pre` is its pre-tokenizer, None for SentencePiece."""
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_tokenizer_model("gpt2" if pre else "llama")
        if pre:
            writer.add_tokenizer_pre(pre)
            writer.add_token_merges(self.merges)
        else:
            writer.add_token_scores(self.scores)
        writer.add_token_list(self.tokens)
        writer.add_token_types(self.types)
        for name, value in self.settings.items():
            add = writer.add_bool if isinstance(value, bool) else writer.add_uint32
            add("tokenizer.ggml." + name, value)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return pathlib.Path(path)

    def reference(self, pre):
        """Without special tokens: these must never come out of text."""
        merges = [tuple(merge.split(" ")) for merge in self.merges]
        ids = {token: i for i, token in enumerate(self.tokens) if self.types[i] == NORMAL}
        tokenizer = Tokenizer(models.BPE(ids, merges, ignore_merges=pre in WHOLE_WORDS_FIRST))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(PIPELINES[pre])
        if pre in NFC:
            tokenizer.normalizer = normalizers.NFC()
        return tokenizer


def _looks_like_markup(text):
    return text.startswith(("<|", "<｜")) and text.endswith(("|>", "｜>")) or text in ("<start_of_turn>", "<end_of_turn>")


def published(path):
    """The vocabulary of a published tokenizer.json, and the tokenizer itself, which takes special tokens for text."""
    content = json.loads(pathlib.Path(path).read_text())
    model = content["model"]
    sentence_piece = bool(model.get("byte_fallback"))
    texts, types = {}, {}
    for text, i in model["vocab"].items():
        is_byte = sentence_piece and re.fullmatch("<0x[0-9A-F]{2}>", text)
        texts[i], types[i] = text, BYTE if is_byte else NORMAL
    for added in content["added_tokens"]:
        added["special"] = added["special"] or _looks_like_markup(added["content"])
        texts[added["id"]] = added["content"]
        types[added["id"]] = CONTROL if added["special"] else USER_DEFINED
    size = max(texts) + 1
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    vocabulary = Vocabulary([texts.get(i, f"[unused {i}]") for i in range(size)],
                            [types.get(i, UNUSED) for i in range(size)], merges)
    if sentence_piece:
        # The merges were listed in the order of the scores of what they make.
        first = {}
        for rank, merge in enumerate(merges):
            first.setdefault(merge.replace(" ", ""), rank)
        vocabulary.scores = [-float(first.get(text, 1e6)) for text in vocabulary.tokens]
        vocabulary.settings["add_space_prefix"] = "Prepend" in json.dumps(content["normalizer"])
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.encode_special_tokens = True
    return vocabulary, tokenizer
