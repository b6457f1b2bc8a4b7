"""test_screen.py - the screen in tmux, and what it leaves behind."""
# SPDX-License-Identifier: MIT
import os
import pty
import random
import signal
import subprocess
import termios
import time

import pytest

import terminals

SIZES = [(40, 20), (80, 24), (200, 50)]


@pytest.fixture(scope="session")
def screen_play(tmp_path_factory):
    return terminals.build(tmp_path_factory.mktemp("screen"))


@pytest.fixture
def tmux(screen_play, tmp_path):
    opened = []

    def start(size):
        opened.append(terminals.Tmux(screen_play, tmp_path / "tmux", size))
        return opened[0]
    yield start
    for t in opened:
        t.close()


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_live_part_stands_once_below_the_transcript(tmux, size):
    t = tmux(size)
    t.set_live(["> typed", "status"], (0, 7))
    t.flush()
    t.check()
    for i in range(100):
        t.print(f"row {i} " + "x" * i)
    t.flush()
    t.check()
    t.set_live(["grows", "to", "> typed 漢字", "status"], (2, 12))
    t.flush()
    t.check()
    t.set_live([])
    t.flush()
    t.check()


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_row_that_the_terminal_wraps_is_copied_in_one_piece(tmux, size):
    """Of any length, above a live part that was higher than the row is."""
    t = tmux(size)
    t.set_live(["L" * 30] * 8 + ["> typed"], (8, 7))
    t.flush()
    for n in (1, size[0] - 1, size[0], size[0] + 1, 3 * size[0],
              5 * size[0] + 7):
        t.print_soft("s" * n)
        t.flush()
        t.check()
    t.print("after")
    t.set_live(["status"])
    t.flush()
    t.check()
    t.resize(size[0] - 7, size[1])
    t.flush()
    t.check()
    assert "s" * (5 * size[0] + 7) in t.out("capture-pane", "-p", "-J", "-S",
                                            "-").split("\n")


def test_emptied_live_part_at_the_top_is_not_kept_in_the_history(tmux):
    t = tmux((80, 24))
    t.set_live(["one", "two"])
    t.flush()
    t.check()
    t.set_live([])
    t.flush()
    t.check()


@pytest.mark.parametrize("seed", range(3))
def test_resizes_lose_no_row_and_double_none(tmux, seed):
    terminals.play(tmux(SIZES[seed]), random.Random(seed), 15, wide=False)


def test_resizes_to_few_lines_lose_no_row_and_double_none(tmux):
    terminals.play(tmux((80, 24)), random.Random(7), 15, wide=False, low=True)


class Terminal:
    """The program at a bare pty: bytes, modes, status."""

    def __init__(self, program, folder):
        self.fifos = [folder / "commands", folder / "replies"]
        for f in self.fifos:
            os.mkfifo(f)
        self.master, slave = pty.openpty()
        self.slave = slave
        self.cooked = termios.tcgetattr(slave)
        env = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8",
               "ASAN_OPTIONS": "detect_leaks=0"}
        self.process = subprocess.Popen(
            [program, *self.fifos], stdin=slave, stdout=slave, env=env,
            stderr=subprocess.DEVNULL, start_new_session=True)
        self.commands = open(self.fifos[0], "w", encoding="ascii")
        self.replies = open(self.fifos[1], encoding="ascii")
        os.set_blocking(self.master, False)

    def do(self, line, answered=True):
        self.commands.write(line + "\n")
        self.commands.flush()
        if answered:
            return [int(n) for n in self.replies.readline().split()]
        return None

    def read(self):
        """What was written until nothing comes for a moment."""
        data, quiet = b"", 0
        while quiet < 5:
            try:
                data += os.read(self.master, 65536)
                quiet = 0
            except BlockingIOError:
                quiet += 1
                time.sleep(0.02)
        return data

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & termios.ICANON


@pytest.fixture
def terminal(screen_play, tmp_path):
    t = Terminal(screen_play, tmp_path)
    yield t
    t.process.kill()
    t.process.wait()
    os.close(t.master)
    os.close(t.slave)


def begin(t):
    t.do("live 2 0 3\n> a\nstatus")
    t.do("once")
    assert t.is_raw()
    return t.read()


def assert_restored(t):
    assert termios.tcgetattr(t.slave) == t.cooked
    sent = t.read()
    assert sent.rfind(b"\x1b[?25h") > sent.rfind(b"\x1b[?25l")
    for mode in (b"\x1b[?2004l", b"\x1b[<u", b"\x1b[?7h", b"\x1b[?2026l"):
        assert mode in sent


@pytest.mark.parametrize("way", ["close", "exit", "abort", "segv", "SIGTERM",
                                 "SIGHUP", "SIGINT", "SIGSEGV"])
def test_terminal_is_cooked_again_whatever_ends_the_program(terminal, way):
    t = terminal
    assert b"\x1b[?2004h" in begin(t)
    if way.startswith("SIG"):
        t.process.send_signal(getattr(signal, way))
        assert t.process.wait(20) == -getattr(signal, way) or \
            way == "SIGSEGV"
    else:
        t.do(way, answered=way == "close")
        if way != "close":
            t.process.wait(20)
    assert_restored(t)


def test_stop_and_continue_give_the_terminal_back_and_take_it_again(terminal):
    t = terminal
    begin(t)
    t.process.send_signal(signal.SIGSTOP)
    termios.tcsetattr(t.slave, termios.TCSANOW, t.cooked)  # as a shell does
    t.process.send_signal(signal.SIGCONT)
    t.do("once")
    assert t.is_raw()
    assert b"> a" in t.read()
    t.do("suspend")
    assert_restored(t)
    t.do("resume")
    t.do("once")
    assert t.is_raw()
    assert b"> a" in t.read()


def test_frame_is_one_synchronized_update_of_what_differs(terminal):
    t = terminal
    begin(t)
    t.do("live 3 1 2\nfirst\n> ab\nstatus")
    t.do("once")
    frame = t.read()
    assert frame.startswith(b"\x1b[?2026h") and frame.endswith(b"\x1b[?2026l")
    assert frame.count(b"\x1b[?2026h") == 1
    t.do("live 3 1 3\nfirst\n> abc\nstatus")
    t.do("once")
    frame = t.read()
    assert b"abc" in frame
    assert b"first" not in frame and b"status" not in frame
    t.do("once")
    assert t.read() == b""


def test_no_frame_clears_the_screen(terminal):
    t = terminal
    seen = begin(t)
    for i in range(300):
        t.do(f"print row {i}")
        t.do("once")
        seen += t.read() if i % 50 == 0 else b""
    seen += t.read()
    assert b"row 299" in seen
    for clear in (b"\x1b[2J", b"\x1b[3J", b"\x1bc", b"\x1b[?1049h"):
        assert clear not in seen


def test_terminal_that_reads_nothing_never_blocks_a_frame(terminal):
    t = terminal
    begin(t)
    slowest = 0
    for i in range(400):
        t.do(f"print row {i} " + "x" * 1000)
        began = time.monotonic()
        rc = t.do("once")[0]
        slowest = max(slowest, time.monotonic() - began)
    assert rc == 1, "the terminal took all of it"
    assert slowest < 2
    seen = t.read()
    while t.do("once")[0] == 1:
        seen += t.read()
    seen += t.read()
    for i in range(400):  # frames are dropped, printed rows are not
        assert seen.count(b"row %d " % i) == 1
