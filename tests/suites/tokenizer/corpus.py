# SPDX-License-Identifier: Apache-2.0
"""Texts to compare tokenizers on: code and prose from this machine, hand-written edge cases, made-up words in many
scripts, random characters. The made-up part is the same everywhere; the files are those of the machine."""

import itertools
import pathlib
import random
import sysconfig

EDGE_CASES = [
    "", " ", "  ", "\n", "\r\n", "\t", "a", "ab", " a", "a ", "  a  ", "\n\n\n", "\r\r\n\n", " \n \n ", "\t\t\tx",
    "I'm you're it's we'll I'd they've don't", "I'M YOU'RE IT'S WE'LL I'D", "'s't're", "x'ſ K's 'ſ", "''s '' '",
    "1", "12", "123", "1234", "1234567890", " 1 22 333 ", "3.14159e-10", "0xDEADBEEF", "١٢٣ १२३ ⅔ ½ Ⅷ ①", "1²³",
    "x  1", "x   12", "1  x", "1  1", "\n1", "1\n", "1\n\n2", "  1\n  2\n", "a1b2c3", "v1.2.3-rc4",
    "if (x) {\r\n\treturn y;\r\n}\r\n", "#include <a/b.h>\n\n\n#define X(a,b) a##b\n", "/* é */ // ü\n",
    "foo(bar, baz)->qux[0]::operator<<=(~!x && y || z)", "a+b-c*d/e%f^g&h|i", "\\n\\t\\\\", "$x @y #z %w &v *u",
    "<|im_end|><|im_start|>system", "<s></s><unk><pad>[INST][/INST]", "<|endoftext|>", "<0x0A>", "▁▁a▁b", "ĠtheĠĊ",
    "é e\u0301 n\u0303 \u1E9B\u0323 \uFB01 \u212B \uAC00 \u1100\u1161\u11A8", "\u0301", "a\u0301\u0302\u0303", " \u0301",
    "👩‍👩‍👧‍👦 👍🏽 🇩🇪🇫🇷 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ☺️ ☺︎ 1️⃣", "\u200b\u200c\u200d\u2060\ufeff", "\u00a0x\u2003y\u3000z\u180ew\u2028v\u2029u\x85t",
    "a\u00a0 b", "a \u00a0b", "\u2028\n", "\x0b\x0c\x1c\x1d\x1e\x1f", "\x00\x01\x02\x7f", "a\x00b", "\u0378\uffff\U0010ffff",
    "日本語のテキスト、漢字と仮名。ｶﾀｶﾅ", "中文，没有空格！", "한국어 문장입니다.", "ภาษาไทยไม่มีช่องว่าง", "العَرَبِيَّةُ ١٢٣", "עִבְרִית",
    "हिन्दी में पाठ", "தமிழ்", "ქართული", "Ελληνικά ΣΊΣΥΦΟΣ", "Русский текст", "Tiếng Việt", "İstanbul ı i̇", "ẞß ŉ ǅ",
    "\U00031350\U000323af \U0002ebf0", "\U00013460x", "\ua7cb \u1c89", "\U00010d40\U00010d4a", "\U00011f50\U0001e4f0",
    " \U0001e4f0 \U00011de0  \U00010d40a\U00011f50 1\U0001e4d0", "x \U00011b00 \u1b7f",
    "camelCaseWord HTTPServer snake_case_word SCREAMING_CASE kebab-case", "....!!!???,,,;;;:::---___===",
    "http://a.b/c?d=e&f=%20#g", "user@example.org", "C:\\dir\\file.txt", "~/.config/x", "a/b\nc/d/\n//\n/\n", "---\n+++\n@@ -1,2 +3,4 @@\n",
]

SCRIPTS = [
    (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x17F), (0x250, 0x2AF), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F),
    (0x531, 0x587), (0x5B0, 0x5F4), (0x600, 0x6FF), (0x700, 0x74F), (0x780, 0x7B1), (0x7C0, 0x7FA), (0x900, 0x97F),
    (0x980, 0x9FE), (0xA01, 0xA76), (0xA81, 0xAFF), (0xB01, 0xB77), (0xB82, 0xBFA), (0xC00, 0xC7F), (0xC80, 0xCF3),
    (0xD00, 0xD7F), (0xD81, 0xDF4), (0xE01, 0xE5B), (0xE81, 0xEDF), (0xF00, 0xFDA), (0x1000, 0x109F), (0x10A0, 0x10FF),
    (0x1100, 0x11FF), (0x1200, 0x137C), (0x13A0, 0x13FD), (0x1400, 0x167F), (0x1680, 0x169C), (0x16A0, 0x16F8),
    (0x1780, 0x17F9), (0x1800, 0x18AA), (0x1E00, 0x1EFF), (0x1F00, 0x1FFE), (0x2000, 0x206F), (0x20A0, 0x20C0),
    (0x2100, 0x218B), (0x2190, 0x23FF), (0x2460, 0x27BF), (0x2C80, 0x2CFF), (0x2D30, 0x2D7F), (0x3000, 0x303F),
    (0x3041, 0x30FF), (0x3105, 0x318E), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA000, 0xA48C), (0xAC00, 0xD7A3),
    (0xE000, 0xF8FF), (0xF900, 0xFAFF), (0xFB00, 0xFDFF), (0xFE00, 0xFE0F), (0xFE70, 0xFEFC), (0xFF01, 0xFFEE),
    (0x10000, 0x100FA), (0x10330, 0x1034A), (0x12000, 0x12399), (0x13000, 0x1342E), (0x1D400, 0x1D7FF),
    (0x1F1E6, 0x1F1FF), (0x1F300, 0x1F64F), (0x1F680, 0x1F6FC), (0x1F900, 0x1F9FF), (0x20000, 0x2A6DF),
]
SEPARATORS = ["", " ", "  ", "    ", "\t", "\n", "\r\n", "\n\n", " \n", "\u00a0", "\u3000", "'", "'s ", "_", "-", ".", ", ", "::",
              "(", ");", "=", "1", "42", "2024", "\u0301", "\u200d", "\ufe0f"]


def made_up(count, seed=20240229):
    """Sentences of made-up words: each of one or two scripts, with every kind of separator between the words."""
    rng = random.Random(seed)
    for _ in range(count):
        scripts = rng.choices(SCRIPTS, k=rng.choice((1, 1, 2)))
        words = ("".join(chr(rng.randint(*rng.choice(scripts))) for _ in range(rng.randint(1, 8)))
                 for _ in range(rng.randint(1, 12)))
        yield "".join(word + rng.choice(SEPARATORS) for word in words)


def random_characters(count, seed=4711):
    """Any characters at all, surrogates apart: a third ASCII, the rest from the whole of Unicode."""
    rng = random.Random(seed)
    planes = [(0x20, 0x7E), (0x00, 0xFF), (0x00, 0xFFFF), (0x10000, 0x323FF), (0x00, 0x10FFFF)]
    for _ in range(count):
        text = (chr(rng.randint(*rng.choice(planes))) for _ in range(rng.randint(1, 40)))
        yield "".join(c for c in text if not 0xD800 <= ord(c) <= 0xDFFF)


def long_lines(length=20000):
    for unit in ("a", " ", "ab", "1", "'", "é", "漢", "\n ", "x ", "=-", "\u0301", "0x1F, "):
        yield unit * (length // len(unit))


def files():
    stdlib = pathlib.Path(sysconfig.get_path("stdlib"))
    for root, pattern in ((pathlib.Path("/usr/include"), "**/*.h"), (stdlib, "**/*.py"),
                          (pathlib.Path("/usr/share/doc"), "*/copyright"), (pathlib.Path("/usr/share/i18n"), "**/*"),
                          (pathlib.Path("/usr/share/perl"), "**/*.p[lm]"), (pathlib.Path("/usr/share/info"), "*")):
        found = sorted(path for path in root.glob(pattern) if path.is_file()) if root.is_dir() else []
        yield [found[i] for i in range(0, len(found), max(1, len(found) // 60))]


def machine_texts(count):
    """Lines with their ends, and every so often a piece of many lines, from files spread over the machine."""
    def pieces(paths):
        for path in paths:
            try:
                text = path.read_bytes().decode()
            except (OSError, UnicodeDecodeError):
                continue
            lines = text.splitlines(keepends=True)
            for start in range(0, len(lines), max(1, len(lines) // 40)):
                yield "".join(lines[start:start + (30 if start % 7 == 0 else 1)])
    sources = list(files())
    per_source = -(-count // len(sources))
    return itertools.islice(
        itertools.chain.from_iterable(itertools.islice(pieces(paths), per_source * 2) for paths in sources), count)


def corpus(count=12000):
    made = list(itertools.chain(EDGE_CASES, long_lines(), made_up(count // 4), random_characters(count // 6)))
    return made + list(machine_texts(max(0, count - len(made))))
