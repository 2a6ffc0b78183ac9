# SPDX-License-Identifier: Apache-2.0
"""What the Neovim plugin asks for, and what it leaves alone: one request at a time, none where hints are off, the buffer
as it is, offsets in bytes. A stand-in for the daemon remembers what came."""

import pytest

from stand_in import StandIn

HINT = "sum(1, 2);"


@pytest.fixture
def daemon(machine):
    daemon = StandIn(machine.socket)
    daemon.hints = lambda params: [HINT]
    yield daemon
    daemon.close()


@pytest.fixture
def start(machine, daemon, open_neovim):
    """start(files, names, setup) opens a Neovim on some of the files; `setup` is Lua."""
    def start(files, *names, setup="", options="", **more):
        folder = machine.repository(files)
        return open_neovim(folder, f"require('kvboost').setup({{start = false, {options}}})\n{setup}", arguments=names, **more)
    return start


# ---- one at a time ----------------------------------------------------------------------------------------------

def test_at_most_one_request_runs(start, daemon):
    daemon.holding = True
    editor = start({"main.c": "\n"}, "main.c")
    editor.type("i")
    daemon.wait_for(1)
    for count, letter in enumerate("int total = ad", 2):
        editor.type(letter.replace(" ", "<Space>"))
        daemon.wait_for(count)
    assert daemon.most_open == 1, "each was cancelled before the next one came"
    assert len(daemon.cancelled) == len(daemon.completions) - 1
    daemon.let_go()
    assert editor.wait_for_hint() == HINT, "only the last one is shown"


def test_an_answer_that_comes_too_late_is_dropped(start, daemon):
    editor = start({"main.c": "int a = \nint b = \n"}, "main.c")
    for leave in ("<Up>", "<Esc>", "<C-c>", "<C-o>:split<CR>", "<Left>"):
        editor.type("<Esc>2GA")
        editor.wait_for_hint()
        count = len(daemon.completions)
        daemon.holding = True
        editor.type("x")
        daemon.wait_for(count + 1)
        editor.type(leave)
        editor.wait("its end", lambda: len(daemon.cancelled) and max(daemon.open) in daemon.cancelled)
        daemon.let_go()
        assert editor.lua("return require('kvboost').hint()") is None, leave
        assert editor.hint() == "", leave
        editor.type("<Esc>:only<CR>u")


def test_insert_mode_left_and_entered_again_and_again(start, daemon):
    editor = start({"main.c": "int a = \n"}, "main.c")
    editor.type("A<Esc>" * 30 + "A")
    assert editor.wait_for_hint() == HINT
    editor.type("<Esc>")
    editor.wait("no hint", lambda: not editor.hint())
    assert editor.buffer() == ["int a = "] and daemon.most_open <= 1


def test_a_pasted_text_is_asked_about_once(start, daemon):
    editor = start({"main.c": "\n"}, "main.c")
    editor.type("i")
    daemon.wait_for(1)
    editor.call("nvim_paste", "int a;\n" * 300 + "int b = ", True, -1)
    editor.wait_for_hint()
    assert len(daemon.completions) <= 3


# ---- where hints are off ----------------------------------------------------------------------------------------

OFF = {
    "a commit message": ("COMMIT_EDITMSG", "vim.bo.filetype = 'gitcommit'"),
    "an environment": (".env", ""),
    "an environment of a stage": (".env.production", ""),
    "a help page": ("main.c", "vim.cmd('help'); vim.bo.readonly = false; vim.bo.modifiable = true"),
    "a prompt": ("main.c", "vim.cmd('new'); vim.bo.buftype = 'prompt'"),
    "a scratch buffer": ("main.c", "vim.cmd('new'); vim.bo.buftype = 'nofile'"),
    "a glob": ("vendor/main.c", ""),
    "a filetype": ("notes.txt", "vim.bo.filetype = 'text'"),
    "this buffer": ("main.c", "vim.cmd('Kvboost disable buffer')"),
    "all": ("main.c", "vim.cmd('Kvboost disable')"),
    "too large": ("large.c", ""),
    "a very long line": ("long.min", ""),
    "binary": ("main.c", "vim.bo.binary = true"),
    "elsewhere": ("main.c", "vim.cmd('new'); vim.api.nvim_buf_set_name(0, 'scp://host/main.c')"),
}


@pytest.mark.parametrize("case", OFF)
def test_where_hints_are_off(start, daemon, case):
    name, make = OFF[case]
    text = {"large.c": "int a;\n" * 40_000, "long.min": "int a;" * 3_000}.get(name, "int a;\n")
    editor = start({name: text, "other.c": "int b;\n"}, name,
                   options="max_bytes = 100000, globs = {'vendor/*'}, filetypes = {text = false}")
    editor.lua(make)
    editor.type("ix")
    editor.wait("the text", lambda: any("x" in line for line in editor.buffer()))
    editor.type("<Esc>:enew!<CR>")
    editor.command("Kvboost enable")
    editor.command("edit! other.c")
    editor.type("A")  # here they are on: nothing came before this
    editor.wait_for_hint()
    assert [params["path"].rsplit("/", 1)[-1] for params in daemon.completions] == ["other.c"]


def test_a_terminal_has_no_hints(start, daemon):
    editor = start({"main.c": "int a;\n"}, "main.c")
    editor.command("terminal cat")
    editor.type("iabc<CR>")
    editor.wait_for_text("abc")
    assert editor.mode() == "t" and daemon.completions == []


def test_globs_allow_again(start, daemon):
    editor = start({".env.example": "A=\n"}, ".env.example")
    editor.type("A")
    editor.wait_for_hint()
    assert daemon.completions[-1]["path"].endswith("/.env.example")


def test_options_are_checked(start):
    editor = start({"main.c": "\n"}, "main.c")
    for options, words in (("{colour = 1}", "has no option colour"), ("{keys = {eat = 'x'}}", "has no option keys.eat"),
                           ("{delay_ms = 'soon'}", "delay_ms wants a number, not a string"), ("{keys = {accept = 1}}", "a string")):
        good, problem = editor.lua(f"return {{pcall(require('kvboost').setup, {options})}}")
        assert not good and words in problem, problem


def test_by_hand_only(start, daemon):
    editor = start({"main.c": "int a = \n"}, "main.c", options="auto = false")
    editor.type("A1")
    editor.wait("the text", lambda: editor.buffer() == ["int a = 1"])
    assert daemon.completions == []
    editor.type("<M-/>")
    editor.wait_for_hint()
    assert len(daemon.completions) == 1 and daemon.completions[0].get("reuse") is None
    editor.lua("require('kvboost').trigger({reuse = false})")
    assert daemon.wait_for(2)["reuse"] is False


# ---- the buffer as it is ----------------------------------------------------------------------------------------

def test_offsets_are_bytes(start, daemon):
    text = "s = \"🍒é\u0301\u2028日本\";\n"
    editor = start({"main.py": "# é\n" + text}, "main.py")
    columns = [len(text[:n].encode()) for n in range(len(text) - 1)]
    for column in columns:
        count = len(daemon.completions)
        editor.type("<Esc>")
        editor.lua("vim.fn.cursor(2, ...)", column + 1)
        editor.type("i")
        params = daemon.wait_for(count + 1)
        assert params["text"] == "# é\n" + text
        # An accent cannot be stood on: Neovim's cursor is in front of the letter that it belongs to.
        assert params["offset"] - len("# é\n".encode()) in (column, column - len("é".encode())), column
        params["text"].encode()[:params["offset"]].decode()
    editor.type("<Esc>A")
    assert daemon.wait_for(len(columns) + 1)["offset"] == len(("# é\n" + text).encode()) - 1


def test_unsaved_text_counts(start, daemon):
    editor = start({"main.c": "int a;\n"}, "main.c")
    editor.type("Oint unsaved;<CR>x")
    editor.wait("it", lambda: daemon.completions and daemon.completions[-1]["text"] == "int unsaved;\nx\nint a;\n")
    assert daemon.completions[-1]["offset"] == len("int unsaved;\nx")


def test_line_ends_of_dos(start, daemon):
    daemon.hints = lambda params: ["{\r\n  return;\r\n}"]
    editor = start({"main.c": b"int a;\r\nvoid f() \r\n"}, "main.c")
    editor.type("GA")
    editor.wait_for_hint()
    assert daemon.completions[-1]["text"] == "int a;\r\nvoid f() \r\n"
    assert daemon.completions[-1]["offset"] == len("int a;\r\nvoid f() ")
    editor.type("<Tab><Esc>:w<CR>")
    file = editor.lua("return vim.fn.expand('%:p')")
    editor.wait("the file", lambda: open(file, "rb").read() == b"int a;\r\nvoid f() {\r\n  return;\r\n}\r\n")


def test_other_encodings(start, daemon):
    editor = start({"main.c": "char* a = \"\xe9\"; \n".encode("latin-1")}, "main.c")
    editor.type("A")
    editor.wait_for_hint()
    assert editor.lua("return vim.bo.fileencoding") == "latin1"
    assert daemon.completions[-1]["text"] == "char* a = \"é\"; \n"
    assert daemon.completions[-1]["offset"] == len("char* a = \"é\"; ".encode())


def test_bytes_that_are_no_text(start, daemon):
    content = b"a\xff\xc3b\x00\xe2\x82\xf0\x9f\x8d\x92 \xed\xa0\x80\xc0\xaf\xf4\x90\x80\x80\n"
    editor = start({"main.c": content}, setup="vim.cmd('edit ++enc=utf-8 ++bad=keep main.c')")
    editor.type("A")
    editor.wait_for_hint()
    assert daemon.completions[-1]["text"] == "a??b\0??🍒 ?????????\n"
    assert daemon.completions[-1]["offset"] == len(content) - 1


def test_names_that_are_no_text(start, daemon):
    editor = start({"plain.c": "int a = \n"}, setup="vim.cmd('edit caf\\xe9.c')")
    editor.type("i")
    assert daemon.wait_for(1)["path"].keys() == {"base64"}
    import base64
    assert base64.b64decode(daemon.completions[0]["path"]["base64"]).endswith(b"/caf\xe9.c")


def test_a_buffer_without_a_name_and_one_in_a_folder_to_come(start, daemon):
    editor = start({"plain.c": "\n"})
    editor.type("iint a = ")
    editor.wait_for_hint()
    root = editor.lua("return vim.fn.getcwd()")
    assert daemon.completions[-1]["directory"] == root
    editor.type("<Esc>:edit! new/folder/main.c<CR>i")
    editor.wait("it", lambda: daemon.completions[-1]["path"] == f"{root}/new/folder/main.c")
    assert daemon.completions[-1]["directory"] == root, "the folder that is there"


def test_places_of_other_files_are_sent(start, daemon):
    editor = start({"main.c": "int a = \n", "a.c": "\n" * 50, "b.c": "\n" * 50, ".env": "\n"}, "a.c")
    for keys in ("30Gix<Esc>", ":edit! b.c<CR>", "10Gix<Esc>", ":edit! .env<CR>", ":edit! main.c<CR>", "A"):
        editor.type(keys)
    editor.wait_for_hint()
    root = editor.lua("return vim.fn.getcwd()")
    assert daemon.completions[-1]["ring"] == [{"path": f"{root}/b.c", "line": 10}, {"path": f"{root}/a.c", "line": 30}]


def test_two_windows_on_one_buffer(start, daemon):
    editor = start({"main.c": "int a = \nint b;\n"}, "main.c")
    editor.type(":split<CR>A")
    editor.wait_for_hint()
    editor.type("<Tab>")
    editor.wait("it in both", lambda: sum("int a = " + HINT in line for line in editor.lines()) == 2)
    assert editor.buffer()[0] == "int a = " + HINT
