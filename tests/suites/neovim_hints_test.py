# SPDX-License-Identifier: Apache-2.0
"""The Neovim plugin's hints, in real Neovims of several versions. A stand-in for the daemon gives the hints, so that each
case can be put on the screen: what is seen must be what accepting makes of it."""

import pytest

from stand_in import StandIn


@pytest.fixture
def daemon(machine):
    daemon = StandIn(machine.socket)
    yield daemon
    daemon.close()


@pytest.fixture
def edit(machine, daemon, open_neovim):
    """edit(text, …) opens a Neovim on a file with this text; `setup` is Lua behind the plugin's own."""
    def edit(text, name="main.c", setup="", **options):
        folder = machine.repository({name: text})
        return open_neovim(folder, f"require('kvboost').setup({{start = false}})\n{setup}", arguments=[name], **options)
    return edit


def at(editor, line, column):
    """Insert mode at a place (line and byte from 1 on): what is in front of the cursor has just been typed."""
    editor.lua("vim.fn.cursor(...)", line, column)
    editor.type("i" if column <= editor.lua("return #vim.fn.getline('.')") else "A")


def text_rows(editor):
    return editor.lines()[:-1]  # the last one tells the mode


# ---- what is seen -----------------------------------------------------------------------------------------------

SEEN = {
    "end of line": ("int a = \nint b;\n", 1, 9, "sum(1, 2);"),
    "inside brackets": ("call();\n", 1, 6, "first, second"),
    "in front of code": ("if (x) return 1; // why\n", 1, 8, "return 2; else "),
    "tabs on the left": ("\t\tx = \n", 1, 7, "y;"),
    "tabs on the right": ("a\tb\tc\n", 1, 2, "bcd"),
    "tabs in the hint": ("a()\tb\n", 1, 3, "x\ty"),
    "wide on the left": ("s = \"日本\" + ;\n", 1, 16, "\"x\""),
    "wide in the hint": ("s = ;\n", 1, 5, "\"日本語\""),
    "wide on the right": ("s =  + \"日本\";\n", 1, 5, "\"x\""),
    "combining marks": ("s = \"e\u0301a\u0308\" + ;\n", 1, 15, "\"o\u0302\""),
    "an emoji": ("s = \"🍒\n", 1, 10, "\";"),
    "several lines": ("int f() {\nint b;\n", 1, 10, "\n  return 1;\n}"),
    "several lines on a blank line": ("int f() {\n  \n}\n", 2, 3, "int a = 1;\n  return a;"),
    "several lines in front of text": ("call();\nint b;\n", 1, 6, "[] {\n  return 1;\n}"),
    "lines with tabs in front of tabs": ("call(\tx);\nint b;\n", 1, 6, "[] {\n\treturn 1;\n\t"),
    "an empty line among several": ("void f() {\nint b;\n", 1, 11, "\n  a();\n\n  b();\n}"),
}


@pytest.mark.parametrize("case", SEEN)
def test_what_is_seen_is_what_accepting_makes(edit, daemon, case):
    text, line, column, hint = SEEN[case]
    daemon.hints = lambda params: [hint] if len(daemon.completions) == 1 else []
    editor = edit(text, setup="vim.opt.tabstop = 4")
    before = text_rows(editor)
    at(editor, line, column)
    shown = editor.wait_for_hint()
    seen = text_rows(editor)
    assert editor.buffer() == text.splitlines(), "a hint is not in the buffer"
    assert "".join(shown.split()) == "".join(hint.split()), "the hint, and nothing else, is grey"
    editor.type("<Tab>")
    editor.wait("the hint in the buffer", lambda: not editor.hint() and "\n".join(editor.buffer()).count(hint) == 1)
    assert text_rows(editor) == seen
    lines = text.encode().split(b"\n")
    lines[line - 1] = lines[line - 1][:column - 1] + hint.encode() + lines[line - 1][column - 1:]
    assert "\n".join(editor.buffer()) + "\n" == b"\n".join(lines).decode()
    editor.type("<Esc>u")
    editor.wait("one step back", lambda: editor.buffer() == text.splitlines())
    editor.wait("the screen as before", lambda: text_rows(editor) == before)


def test_the_rest_of_the_line_keeps_its_colours(edit, daemon):
    daemon.hints = lambda params: ["return 2; else "]
    editor = edit("if (x) return 1; // why\n", setup="vim.cmd('syntax on')")
    column = editor.wait("the text", lambda: editor.lines()[0].find("// why") + 1) - 1
    comment = editor.attributes(0, column)
    at(editor, 1, 8)
    editor.wait_for_hint()
    assert editor.attributes(0, editor.lines()[0].find("// why")) == comment


def test_a_hint_that_does_not_fit_into_its_line(edit, daemon):
    daemon.hints = lambda params: ["x" * 30]
    editor = edit("call(" + "y" * 60 + ");\nint b;\n")
    at(editor, 1, 6)
    assert editor.wait_for_hint().replace("\n", "") == "x" * 30
    rows = "".join(editor.lines()[:4])
    assert "y" * 60 + ");" in rows.replace("x", "").replace(" ", ""), "the rest is still to be read"


def test_lines_below_the_window_are_counted(edit, daemon):
    daemon.hints = lambda params: ["\n  a();\n  b();\n}"]
    editor = edit("void f() {\n", rows=2)
    at(editor, 1, 11)
    editor.wait_for_text("+2 lines")


# ---- what is accepted -------------------------------------------------------------------------------------------

HINT = "sum(1, 2); // both"


def test_words_and_lines_of_it(edit, daemon):
    daemon.hints = lambda params: ["first(1);\n  second(2);"] if len(daemon.completions) == 1 else []
    editor = edit("int f() {\n  \n}\n")
    at(editor, 2, 3)
    editor.wait_for_hint()
    for line in ("  first", "  first(", "  first(1"):
        editor.type("<M-w>")
        editor.wait(line, lambda: editor.buffer()[1] == line)
        editor.wait("the rest", lambda: editor.lua("return require('kvboost').hint()"))
    editor.type("<M-l>")
    editor.wait("the line", lambda: editor.buffer()[1] == "  first(1);")
    editor.type("<M-l>")
    editor.wait("the next one", lambda: editor.buffer()[1:3] == ["  first(1);", "  second(2);"])
    editor.wait("its end", lambda: not editor.hint())
    assert len(daemon.completions) <= 2, "what was shown already was not asked for again"


def test_each_accepting_is_a_step_of_its_own(edit, daemon):
    daemon.hints = lambda params: [HINT] if params["text"].startswith("int a = \n") else []
    editor = edit("\n")
    editor.type("iint a = ")
    editor.wait_for_hint()
    editor.type("<Tab>")
    editor.wait("the hint", lambda: editor.buffer() == ["int a = " + HINT])
    editor.type("!<Esc>")
    states = []
    for _ in range(3):
        editor.type("u")
        editor.wait("normal mode", lambda: editor.mode() == "n")
        states.append(editor.buffer())
    assert states == [["int a = " + HINT], ["int a = "], [""]]
    editor.type("<C-r><C-r>")
    editor.wait("the hint again", lambda: editor.buffer() == ["int a = " + HINT])


def test_what_is_typed_of_a_hint_needs_no_request(edit, daemon):
    daemon.hints = lambda params: [HINT]
    editor = edit("int a = \n")
    at(editor, 1, 9)
    editor.wait_for_hint()
    for n in range(1, 8):
        editor.type(HINT[n - 1].replace(" ", "<Space>"))
        editor.wait("the rest", lambda: editor.hint().strip() == HINT[n:].strip())
    assert len(daemon.completions) == 1
    editor.type("<Tab>")
    editor.wait("all of it", lambda: editor.buffer() == ["int a = " + HINT])


def test_a_key_that_is_not_of_it(edit, daemon):
    daemon.hints = lambda params: [HINT] if len(daemon.completions) == 1 else []
    editor = edit("int a = \n")
    at(editor, 1, 9)
    editor.wait_for_hint()
    editor.type("q")
    editor.wait("no hint", lambda: not editor.hint())
    assert daemon.wait_for(2)["text"].startswith("int a = q")
    assert editor.buffer() == ["int a = q"]


def test_other_hints(edit, daemon):
    daemon.hints = lambda params: ["one", "two", "three"][:params.get("alternatives", 1)]
    editor = edit("int a = \n")
    at(editor, 1, 9)
    editor.wait("the first", lambda: editor.hint() == "one")
    for key, hint in (("<M-n>", "two"), ("<M-n>", "three"), ("<M-n>", "one"), ("<M-p>", "three")):
        editor.type(key)
        editor.wait(hint, lambda: editor.hint() == hint)
    editor.wait_for_text("three 3/3")
    assert len(daemon.completions) == 2, "others are asked for once"
    editor.type("t")
    editor.wait("what fits", lambda: editor.hint() == "hree")
    editor.type("<Tab>")
    editor.wait("it", lambda: editor.buffer() == ["int a = three"])


def test_dismissed(edit, daemon):
    daemon.hints = lambda params: [HINT]
    editor = edit("int a = \n")
    at(editor, 1, 9)
    editor.wait_for_hint()
    editor.type("<C-]>")
    editor.wait("no hint", lambda: not editor.hint())
    assert editor.mode() == "i" and editor.buffer() == ["int a = "]


# ---- keys of others ---------------------------------------------------------------------------------------------

MAPPED = {
    "nothing": ("", "int a = \t"),
    "keys": ("vim.cmd([[inoremap <Tab> global]])", "int a = global"),
    "an expression": ("vim.cmd([[inoremap <expr> <Tab> 'exp' .. 'ression']])", "int a = expression"),
    "a function": ("vim.keymap.set('i', '<Tab>', function() vim.api.nvim_put({'function'}, 'c', false, true) end)",
                   "int a = function"),
    "the buffer's keys": ("vim.cmd([[autocmd BufEnter * inoremap <buffer> <Tab> local]])", "int a = local"),
    "the buffer's expression": ("vim.api.nvim_create_autocmd('BufEnter', {callback = function() vim.keymap.set('i', '<Tab>', "
                                "function() return 'returned<lt>' end, {buffer = true, expr = true}) end})",
                                "int a = returned<"),
}


@pytest.mark.parametrize("case", MAPPED)
def test_without_a_hint_a_key_does_what_it_did(edit, daemon, case):
    mapping, expected = MAPPED[case]
    daemon.hints = lambda params: [HINT] if params["text"].startswith("int a = \n") else []
    editor = edit("int a = \n", setup=mapping)
    at(editor, 1, 9)
    editor.wait_for_hint()
    editor.type("<C-]>")
    editor.wait("no hint", lambda: not editor.hint())
    editor.type("<Tab>")
    editor.wait("what was mapped", lambda: editor.buffer() == [expected])
    editor.type("<Esc>u")
    editor.wait("the text as it was", lambda: editor.buffer() == ["int a = "])
    editor.type("A")
    editor.wait_for_hint()
    editor.type("<Tab>")
    editor.wait("the hint", lambda: editor.buffer() == ["int a = " + HINT])


def test_keys_in_one_rush(edit, daemon):
    """Neovim tells of text only when it has no more keys to handle: those behind it must not accept what is gone."""
    daemon.hints = lambda params: [HINT] if len(daemon.completions) == 1 else []
    editor = edit("int a = \n", setup="vim.cmd([[inoremap <Tab> mapped]])")
    at(editor, 1, 9)
    editor.wait_for_hint()
    editor.type("q<Tab>")
    editor.wait("what was mapped", lambda: editor.buffer() == ["int a = qmapped"])


def test_the_menu_of_completions_has_its_keys(edit, daemon):
    daemon.hints = lambda params: [HINT]
    editor = edit("number nothing\n\n", setup="vim.cmd([[inoremap <expr> <Tab> pumvisible() ? '<C-y>' : '<Tab>']])")
    at(editor, 2, 1)
    editor.type("n")
    editor.wait_for_hint()
    editor.type("<C-n>")
    editor.wait("the menu", lambda: editor.lua("return vim.fn.pumvisible()") == 1)
    editor.wait("no hint", lambda: not editor.hint())
    editor.type("<C-n><Tab>")
    editor.wait("what was chosen", lambda: editor.buffer()[1] in ("number", "nothing"))


def test_macros_are_replayed_as_recorded(edit, daemon):
    daemon.hints = lambda params: [HINT]
    editor = edit("\n\n")
    editor.type("qqia<Tab>b<Esc>q")
    editor.wait("the end of it", lambda: editor.lua("return vim.fn.reg_recording()") == "" and editor.mode() == "n")
    editor.type("j@q")
    editor.wait("the same twice", lambda: editor.buffer() == ["a\tb", "a\tb"])
