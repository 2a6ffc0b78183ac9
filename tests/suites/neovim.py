# SPDX-License-Identifier: Apache-2.0
"""A real Neovim with a screen: `nvim --embed` with a UI attached, whose grid is kept from its redraw events. What tests
assert is what a person would see."""

import os
import subprocess
import threading
import time

import msgpack


HINT_COLOUR = "#123456"  # nothing else has it


class Screen:
    """The grid of an attached UI: cells of (text, highlight id), and the highlights' attributes."""

    def __init__(self, columns, rows):
        self.resize(columns, rows)
        self.highlights, self.cursor = {}, (0, 0)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[(" ", 0)] * columns for _ in range(rows)]

    def lines(self):
        return ["".join(text for text, _ in row).rstrip() for row in self.cells]

    def take(self, name, arguments):
        if name == "grid_resize":
            self.resize(arguments[1], arguments[2])
        elif name == "grid_clear":
            self.resize(self.columns, self.rows)
        elif name == "grid_line":
            self.put(*arguments[1:4])
        elif name == "grid_cursor_goto":
            self.cursor = tuple(arguments[1:3])
        elif name == "grid_scroll":
            self.scroll(*arguments[1:6])
        elif name == "hl_attr_define":
            self.highlights[arguments[0]] = arguments[1]

    def put(self, row, column, cells):
        highlight = 0
        for cell in cells:
            highlight = cell[1] if len(cell) > 1 else highlight
            for _ in range(cell[2] if len(cell) > 2 else 1):
                self.cells[row][column] = (cell[0], highlight)
                column += 1

    def scroll(self, top, bottom, left, right, rows):
        moved = range(top, bottom - rows) if rows > 0 else range(bottom - 1, top - rows - 1, -1)
        for row in moved:
            self.cells[row][left:right] = self.cells[row + rows][left:right]


class Neovim:
    def __init__(self, program, folder, env, plugin, setup="", arguments=(), columns=80, rows=24):
        init = folder / "init.lua"
        init.write_text(f"vim.opt.runtimepath:prepend('{plugin}')\nvim.opt.hidden = true\nvim.opt.laststatus = 0\n"
                        f"vim.api.nvim_set_hl(0, 'KvboostHint', {{fg = '{HINT_COLOUR}'}})\n{setup}\n")
        self.screen, self.changed = Screen(columns, rows), threading.Condition()
        self.last_id, self.answers = 0, {}
        self.process = subprocess.Popen([program, "--embed", "-u", init, "-i", "NONE", "-n", *map(str, arguments)],
                                        cwd=folder, env={**env, "TERM": "xterm-256color"},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.call("nvim_ui_attach", columns, rows, {"rgb": True, "ext_linegrid": True})
        self.wait("its start", lambda: self.lua("return vim.v.vim_did_enter") == 1)

    # ---- the wire -------------------------------------------------------------------------------------------

    def read(self):
        unpacker = msgpack.Unpacker(raw=False, unicode_errors="surrogateescape", strict_map_key=False)
        while data := os.read(self.process.stdout.fileno(), 65536):
            unpacker.feed(data)
            with self.changed:
                for message in unpacker:
                    if message[0] == 1:
                        self.answers[message[1]] = message[2:]
                    elif message[0] == 2 and message[1] == "redraw":
                        for name, *calls in message[2]:
                            for arguments in calls:
                                self.screen.take(name, arguments)
                self.changed.notify_all()
        with self.changed:
            self.answers[None] = None  # it has ended
            self.changed.notify_all()

    def call(self, method, *arguments, patience=60):
        self.last_id += 1
        request = self.last_id
        self.process.stdin.write(msgpack.packb([0, request, method, arguments], unicode_errors="surrogateescape"))
        self.process.stdin.flush()
        with self.changed:
            came = self.changed.wait_for(lambda: request in self.answers or None in self.answers, patience)
            assert came and request in self.answers, f"no answer to {method}{arguments}\n{self.picture()}"
            problem, result = self.answers.pop(request)
        assert problem is None, f"{method}{arguments}: {problem}"
        return result

    def lua(self, code, *arguments):
        return self.call("nvim_exec_lua", code, arguments)

    def command(self, text):
        self.call("nvim_command", text)

    # ---- what a person does and sees ------------------------------------------------------------------------

    def type(self, keys):
        """Keys as on a keyboard, one after the other; `<Tab>` and the like are names, `<lt>` is a <."""
        self.call("nvim_input", keys)

    def lines(self):
        with self.changed:
            return self.screen.lines()

    def picture(self):
        return "\n".join(f"|{line}" for line in self.screen.lines())

    def wait(self, what, condition, patience=60):
        """The value of `condition` as soon as it is true; looks again whenever the screen has changed."""
        end = time.monotonic() + patience
        while not (value := condition()):
            assert time.monotonic() < end, f"{what} did not come about. The screen:\n{self.picture()}"
            with self.changed:
                self.changed.wait(0.05)
        return value

    def wait_for_text(self, text, patience=60):
        return self.wait(f"{text!r} on the screen", lambda: any(text in line for line in self.lines()), patience)

    def attributes(self, row, column):
        """How the cell looks: {'foreground': …, 'bold': …}."""
        with self.changed:
            return self.screen.highlights.get(self.screen.cells[row][column][1], {})

    def hint(self):
        """The grey text that is seen, its lines without blanks at their ends; empty if there is none."""
        colour = int(HINT_COLOUR[1:], 16)
        with self.changed:
            rows = ["".join(text for text, highlight in row
                            if self.screen.highlights.get(highlight, {}).get("foreground") == colour)
                    for row in self.screen.cells]
        return "\n".join(row.rstrip() for row in rows if row.strip())

    def wait_for_hint(self, patience=60):
        return self.wait("a hint", self.hint, patience)

    def buffer(self):
        return self.call("nvim_buf_get_lines", 0, 0, -1, True)

    def mode(self):
        return self.call("nvim_get_mode")["mode"]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()
