"""terminals.py - screen_play in tmux, and in @xterm/headless at a pty."""
# SPDX-License-Identifier: MIT
import base64
import fcntl
import json
import os
import pathlib
import pty
import select
import shlex
import struct
import subprocess
import termios
import time
import unicodedata

TOP = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ["tests/e2e/screen_play.c",
           *(f"src/term/{n}.c" for n in ("rows", "theme", "tty", "screen")),
           *(f"src/base/{n}.c" for n in ("buf", "str", "mem", "error", "stop",
                                         "io", "sanitize"))]


def build(where):
    program = where / "screen_play"
    subprocess.run(["gcc", "-std=c11", "-g", "-O1", "-D_GNU_SOURCE", "-Isrc",
                    "-fsanitize=address,undefined", "-o", program, *SOURCES,
                    "-lutf8proc", "-pthread"], cwd=TOP, check=True)
    return program


def cells(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


def cut(text, columns):
    """What of a text one row of the screen has room for."""
    while cells(text) > columns:
        text = text[:-1]
    return text


def wrapped(text, columns):
    rows = []
    while cells(text) > columns:
        rows.append(cut(text, columns))
        text = text[len(rows[-1]):]
    return [*rows, text]


class Play:
    """The program, its commands, and what must be on the screen."""

    def __init__(self, program, folder, size):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.fifos = [self.folder / "commands", self.folder / "replies"]
        for f in self.fifos:
            os.mkfifo(f)
        self.size = size
        self.transcript, self.live, self.caret = [], [], (-1, 0)
        self.start([str(program), *map(str, self.fifos)])
        self.commands = open(self.fifos[0], "w", encoding="utf-8")
        fd = os.open(self.fifos[1], os.O_RDONLY | os.O_NONBLOCK)
        self.replies, self.rest = fd, b""

    def send(self, line):
        self.commands.write(line + "\n")
        self.commands.flush()

    def reply(self, timeout=40):
        """The numbers of the next reply; the terminal is served meanwhile."""
        end = time.monotonic() + timeout
        while b"\n" not in self.rest:
            assert time.monotonic() < end, "no reply"
            self.serve(0.02)
            try:
                self.rest += os.read(self.replies, 4096)
            except BlockingIOError:
                pass
        line, self.rest = self.rest.split(b"\n", 1)
        return [int(n) for n in line.split()]

    def do(self, line):
        self.send(line)
        return self.reply()

    def print(self, text):
        self.transcript += wrapped(text, self.size[0])
        self.do("print " + text)

    def print_soft(self, text):
        """A row that the terminal wraps, so that it can be copied whole."""
        self.transcript.append(text)
        self.do("soft " + text)

    def set_live(self, rows, caret=(-1, 0)):
        self.live, self.caret = rows, caret
        self.do("\n".join([f"live {len(rows)} {caret[0]} {caret[1]}", *rows]))

    def flush(self):
        assert self.do("flush")[0] == 0

    def resize(self, columns, lines):
        self.size = (columns, lines)
        self.resize_terminal(columns, lines)
        reply = self.do(f"size {columns} {lines}")
        assert reply[:3] == [0, columns, lines]

    def expected(self):
        """All rows that the terminal has to hold, as they were printed."""
        live = [cut(r, self.size[0]) for r in self.live]
        return [r.rstrip() for r in self.transcript + live]

    def differs(self):
        want, held = self.expected(), self.held()
        while len(held) > len(want) and not held[-1]:
            held.pop()
        while len(held) < len(want) and not want[len(held)]:
            held.append("")
        if held != want:
            return held, want
        if self.caret[0] < 0:
            return None
        column = min(self.caret[1], self.size[0] - 1)
        caret = column, len(self.live) - 1 - self.caret[0]
        return None if self.cursor() == caret else (self.cursor(), caret)

    def check(self):
        """The terminal may need a moment to read what was written."""
        end = time.monotonic() + 10
        while (found := self.differs()) and time.monotonic() < end:
            time.sleep(0.05)
        assert not found, f"is {found[0]}, should be {found[1]}"


class Tmux(Play):
    def start(self, argv):
        conf = self.folder / "conf"
        conf.write_text("set -g history-limit 100000\nset -g status off\n"
                        "set -g remain-on-exit on\n")
        self.tmux = ["tmux", "-S", str(self.folder / "socket"),
                     "-f", str(conf)]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder),
               "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        subprocess.run([*self.tmux, "new-session", "-d",
                        "-x", str(self.size[0]), "-y", str(self.size[1]),
                        shlex.join(argv)], check=True, env=env)

    def serve(self, seconds):
        time.sleep(min(seconds, 0.005))

    def out(self, *argv):
        return subprocess.run([*self.tmux, *argv], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def settle(self):
        """tmux has read all that the program wrote when the cursor stands."""
        last = None
        for _ in range(200):
            now = self.out("capture-pane", "-p", "-S", "-"), self.position()
            if now == last:
                return
            last = now
            time.sleep(0.03)

    def position(self):
        return self.out("display-message", "-p", "#{cursor_x} #{cursor_y}")

    def resize_terminal(self, columns, lines):
        self.settle()
        self.out("resize-window", "-x", str(columns), "-y", str(lines))

    def held(self):
        self.settle()
        text = self.out("capture-pane", "-p", "-J", "-S", "-")
        return [r.rstrip() for r in text.split("\n")[:-1]]

    def cursor(self):
        x, y = map(int, self.position().split())
        rows = self.out("capture-pane", "-p").split("\n")[:-1]
        last = max([i for i, r in enumerate(rows) if r.strip()], default=0)
        return x, last - y

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], check=False,
                       stderr=subprocess.DEVNULL)


class Xterm(Play):
    """options: of the emulator; env: of the program."""

    def __init__(self, program, folder, size, node, options=None, env=None):
        self.node, self.options, self.more = node, options or {}, env or {}
        self.frames, self.writes = b"", []
        super().__init__(program, folder, size)

    def start(self, argv):
        self.emulator = subprocess.Popen(
            [self.node, TOP / "tests/sdk/xterm.mjs", *map(str, self.size),
             json.dumps(self.options)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.clear()
            os.environ.update({"TERM": "xterm-256color", "PATH": "/usr/bin",
                               "LC_ALL": "C.UTF-8", **self.more})
            os.execv(argv[0], argv)
        self.set_size(*self.size)

    def ask(self, *command):
        self.emulator.stdin.write(json.dumps(command) + "\n")
        self.emulator.stdin.flush()
        return json.loads(self.emulator.stdout.readline())

    def set_size(self, columns, lines):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))

    def serve(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 1 << 20)
        except OSError:
            return False
        self.frames += data
        self.ask("write", base64.b64encode(data).decode())
        return bool(data)

    def settle(self):
        while self.serve(0.03):
            pass

    def resize_terminal(self, columns, lines):
        self.settle()
        self.ask("resize", columns, lines)
        self.set_size(columns, lines)

    def dump(self):
        self.settle()
        return self.ask("dump")

    def held(self):
        rows = []
        for text, is_wrapped in self.dump()["lines"]:
            if is_wrapped and rows:
                rows[-1] += text
            else:
                rows.append(text)
        return [r.rstrip() for r in rows]

    def cursor(self):
        state = self.dump()
        rows = [t for t, _ in state["lines"]]
        last = max([i for i, r in enumerate(rows) if r.strip()], default=0)
        x, y = state["cursor"]
        return x, last - state["base"] - y

    def close(self):
        self.emulator.kill()
        os.close(self.fd)


def some_text(r, most, wide):
    pieces = ["a", "b", "word ", " ", "x", "-", *(["漢", "字"] if wide else [])]
    return "".join(r.choice(pieces)
                   for _ in range(r.randrange(1, most + 1))).strip() or "."


def some_live(r, columns, low):
    """Few rows: of more than the screen has, once they are wrapped, a terminal
    keeps the first in its history."""
    rows = [some_text(r, 12 if low else 40, True)
            for _ in range(r.randrange(3 if low else 5))]
    if not rows or r.random() < 0.2:
        return rows, (-1, 0)
    row = r.randrange(len(rows))
    return rows, (row, r.randrange(cells(cut(rows[row], columns)) + 1))


def play(t, r, steps, wide=True, low=False):
    """Prints, changes of the live part and resizes, checked one by one. wide:
    the transcript has such characters; rows of them that tmux 3.3a has wrapped
    it does not always join again. low: sizes of few lines are among them."""
    for i in range(t.size[1] + 5):
        t.print(f"row {i}")
    for _ in range(steps):
        what = r.choice("ppslrr")
        if what == "s":
            for _ in range(r.choice([1, 3])):
                t.print_soft(some_text(r, 400, False))
        elif what == "p":
            for _ in range(r.choice([1, 3, 30])):
                t.print(some_text(r, 120, wide))
        elif what == "l":
            t.set_live(*some_live(r, t.size[0], low))
        else:
            t.resize(r.choice([79, 80, 120, 200] if low else
                              [30, 40, 41, 79, 80, 120, 200]),
                     r.randrange(3, 31) if low else
                     r.choice([20, 24, 30, 50]))
        t.flush()
        t.check()
