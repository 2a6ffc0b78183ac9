# SPDX-License-Identifier: Apache-2.0
"""The Neovim plugin with the real daemon and the real model, as a person sees it: hints, questions, the place of a bug, and
what happens when the daemon is not there."""

import os
import pathlib
import signal
import socket
import threading

import pytest

POOL = ("struct pool { int free; };\n\n/* One connection less. */\nint take_connection(struct pool* p) {\n"
        "  return p->free > 0 ? --p->free : -1;\n}\n\nint give_back(struct pool* p) {\n  return ++p->free;\n}\n")
MAIN = "#include \"net/pool.h\"\n\nint main(void) {\n  struct pool p = {3};\n  int first = take_connection(&p);\n  \n  return 0;\n}\n"
FILES = {"net/pool.h": POOL, "main.c": MAIN, "README.md": "# Pools\n\nA pool keeps connections.\n"}


# What differs between versions of Neovim is tried with the stand-in; here one of each kind is enough.
ONE = pytest.mark.parametrize("open_neovim", ["system"], indirect=True)


@pytest.fixture
def start(real, open_neovim):
    """start(name, options, folder) opens a Neovim on a file of a repository; `options` are those of setup()."""
    root = real.repository(FILES)

    def start(name="main.c", options="", folder=root, **more):
        program = f"program = '{real.programs}/kvboost'"
        return open_neovim(folder, f"require('kvboost').setup({{{program}, {options}}})", arguments=[name], **more)
    return start


def type_a_call(editor):
    """Types what has one likely end only, `take_connection(&p)`."""
    editor.type("<Esc>6GA")
    editor.type("int second = take_conn")
    editor.wait("the end of the name", lambda: editor.hint().startswith("ection("))


def test_a_hint_is_shown_typed_into_and_accepted(real, start):
    editor = start()
    assert real.daemons() == [], "Neovim's start alone starts nothing"
    type_a_call(editor)
    assert len(real.daemons()) == 1, "the first key did"
    editor.type("ec")
    editor.wait("the rest", lambda: editor.hint().startswith("tion("))
    hint = editor.lua("return require('kvboost').hint()")
    editor.type("<Tab>")
    editor.wait("it in the buffer", lambda: editor.buffer()[5] == "  int second = take_connec" + hint)
    editor.type("<Esc>u")
    editor.wait("one step back", lambda: editor.buffer()[5] == "  int second = take_connec")
    editor.type("u")
    editor.wait("another", lambda: editor.buffer() == MAIN.splitlines())


@ONE
def test_unsaved_text_is_known(start):
    editor = start()
    editor.type("3GOint count_all_elephants(void) { return 7; }<CR><Esc>")
    editor.type("7GA<CR>int n = count_all_el")
    editor.wait("the name from the unsaved line", lambda: editor.hint().startswith("ephants("))


@ONE
def test_ask_and_open_what_was_read(start):
    editor = start()
    editor.type(":Kvboost ask @net/pool.h What does take_connection return?<CR>")
    editor.wait_for_text("# What does take_connection return?")
    editor.wait_for_text("- net/pool.h:1-10")
    panel = editor.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('kvboost://ask'), 0, -1, true)")
    answer = panel[2:panel.index("- net/pool.h:1-10")]
    assert "".join(answer).strip(), "there is an answer between question and files"
    editor.type("?net/pool<CR>:noh<CR><CR>")
    editor.wait("the file", lambda: editor.lua("return vim.fn.expand('%:t')") == "pool.h")
    editor.type("<C-w>bq")
    editor.wait("its window closed", lambda: editor.lua("return vim.fn.winnr('$')") == 1)


@ONE
def test_ask_about_a_selection_and_stop(start):
    editor = start()
    editor.type("4GVj:Kvboost ask Explain this at length, with an example for each line.<CR>")
    editor.wait("the answer's beginning", lambda: len(editor.lua(
        "return table.concat(vim.api.nvim_buf_get_lines(0, 2, -1, true), '')")) > 20)
    editor.command("Kvboost stop")
    editor.wait_for_text("(stopped)")


@ONE
def test_locate_fills_the_quickfix_list(start):
    editor = start()
    editor.type(":Kvboost locate take_connection gives -1 although connections are free<CR>")
    editor.wait("the model's ranking", lambda: editor.lua(
        "local l = vim.fn.getqflist({title = 0, items = 0}) "
        "return #l.items > 0 and l.title == 'kvboost: take_connection gives -1 although connections are free'"))
    editor.wait_for_text("take_connection(struct pool* p)")
    editor.type(":cfirst<CR>")
    editor.wait("the place", lambda: editor.lua("return vim.fn.expand('%:t') .. vim.fn.line('.')") in
                ("pool.h4", "pool.h5", "pool.h3"))


@ONE
def test_locate_a_selection_and_what_is_typed_when_asked(start):
    editor = start("README.md")
    editor.type("GV:Kvboost locate<CR>")
    editor.wait("a list", lambda: editor.lua("return vim.fn.getqflist({title = 0}).title") == "kvboost: A pool keeps connections.")
    editor.type(":cclose<CR>:Kvboost locate<CR>")
    editor.wait_for_text("Bug report:")
    editor.type("give_back loses connections<CR>")
    editor.wait("another", lambda: editor.lua("return vim.fn.getqflist({title = 0}).title") == "kvboost: give_back loses connections")


@ONE
def test_warm_status_and_health(real, start):
    editor = start()
    editor.type(":Kvboost warm<CR>")
    editor.wait_for_text("files read ahead")
    assert real.kvboost("cache", "stats", "--json").json()["roots"], "it is stored"
    editor.type(":Kvboost status<CR>")
    editor.wait_for_text("daemon    ready")
    editor.wait_for_text("hints     while you type")
    editor.type("<CR>")
    editor.command("checkhealth kvboost")
    report = "\n".join(editor.buffer())
    assert str(real.socket) in report and "model: " in report and "ERROR" not in report, report


@ONE
def test_words_of_the_command_are_completed(start):
    editor = start()
    assert editor.lua("return vim.fn.getcompletion('Kvboost ', 'cmdline')") == [
        "ask", "disable", "enable", "locate", "status", "stop", "toggle", "warm"]
    assert editor.lua("return vim.fn.getcompletion('Kvboost ask @net/', 'cmdline')") == ["@net/pool.h"]
    assert editor.lua("return vim.fn.getcompletion('Kvboost toggle b', 'cmdline')") == ["buffer"]
    editor.type(":Kvboost toggle<CR>")
    editor.wait_for_text("hints are off")
    editor.type(":Kvboost nonsense<CR>")
    editor.wait_for_text("there is no :Kvboost nonsense")


# ---- a daemon that is not there ---------------------------------------------------------------------------------

def messages(editor):
    return editor.lua("return vim.api.nvim_exec('messages', true)")


@ONE
def test_the_daemon_is_killed_and_comes_back(real, start):
    editor = start()
    type_a_call(editor)
    os.kill(real.only_daemon(), signal.SIGKILL)
    real.wait_for("its end", lambda: real.daemons() == [])

    def hint_by_typing():
        if not editor.lua("return require('kvboost.suggest').is_waiting()") and not editor.hint():
            editor.type("e<BS>")  # it lived for a short time only, so it is started again after a moment
        return editor.hint()
    editor.type("<C-]>")
    editor.wait("a hint from another one", hint_by_typing, patience=180)
    assert len(real.daemons()) == 1 and "Error" not in messages(editor) and "kvboost" not in messages(editor)


@ONE
def test_killed_while_it_answers(real, start):
    editor = start()

    def answer():
        lines = editor.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('kvboost://ask'), 0, -1, true)")
        return "".join(lines).rsplit("?", 1)[-1]
    editor.type(":Kvboost ask Can you tell a long story about pools?<CR>")
    editor.wait("the answer's beginning", answer)
    os.kill(real.only_daemon(), signal.SIGKILL)
    editor.wait_for_text("(the daemon closed the connection)")
    editor.type(":Kvboost ask What is a pool?<CR>")  # a command does not wait
    editor.wait("another answer", answer)


@ONE
def test_no_model_is_told_once(real, start):
    real.env["KVBOOST_MODEL"] = str(real.folder / "gone.gguf")
    editor = start()
    editor.type("A")
    for _ in range(5):
        editor.type("x")
        editor.wait("the end of an attempt", lambda: not editor.lua("return require('kvboost.suggest').is_waiting()"))
    editor.type("<Esc>")
    editor.wait_for_text("no hints")
    editor.type("A<Esc>A<Esc>")
    assert messages(editor).count("kvboost") == 1, messages(editor)
    editor.type(":Kvboost status<CR>")
    editor.wait_for_text("gone.gguf")


@ONE
def test_no_program_and_no_daemon(real, start):
    editor = start(options=f"program = 'no-such-program', socket = '{real.runtime}/nobody.sock'")
    editor.type("Ax")
    editor.wait("the end of the attempt", lambda: not editor.lua("return require('kvboost.suggest').is_waiting()"))
    editor.type("<Esc>")
    editor.wait_for_text("no hints, :Kvboost status tells why")
    editor.type(":Kvboost status<CR>")
    editor.wait("the socket that was tried", lambda: f"{real.runtime}/nobody.sock" in "".join(editor.lines()))
    editor.type("<CR>:Kvboost ask Why?<CR>")
    editor.wait("the cause", lambda: "no program no-such-program to start it" in " ".join(editor.lines()))


@ONE
def test_the_socket_is_where_the_configuration_says(real, start):
    place = real.make_folder("elsewhere") / "k.sock"
    assert real.kvboost("config", "set", "socket", place).code == 0
    real.socket = place
    type_a_call(start())
    assert place.exists()


def forward(path, target):
    """A socket whose connections go on to another one, as ssh -L makes it."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    server.listen()

    def pump(source, sink):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)

    def serve():
        while True:
            near, _ = server.accept()
            far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            far.connect(str(target))
            for ends in ((near, far), (far, near)):
                threading.Thread(target=pump, args=ends, daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()


@ONE
def test_a_forwarded_socket(real, start):
    assert real.kvboost("daemon", "start").code == 0
    forwarded = pathlib.Path(real.folder / "forwarded.sock")
    forward(forwarded, real.socket)
    editor = start(options=f"start = false, socket = '{forwarded}'")
    type_a_call(editor)
    editor.type("<Esc>:Kvboost status<CR>")
    editor.wait_for_text(str(forwarded))
