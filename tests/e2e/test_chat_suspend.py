"""test_chat_suspend.py - Ctrl+Z and back, and a terminal that goes away."""
# SPDX-License-Identifier: MIT
import json
import os
import signal
import subprocess
import termios
import time

import pytest

from test_chat_notify import Chat
from test_live_chat import DONE, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name

SIGN = "\u276f "
MODES = ("\x1b[?2004", "\x1b[?1004")  # bracketed paste, reports of focus
KITTY_ON, KITTY_OFF = "\x1b[>1u", "\x1b[<u"


class Shell(Chat):
    """A shell with job control that runs the chat."""

    def flags(self):
        """Cooked mode, as other programs of the terminal see it."""
        modes = termios.tcgetattr(self.fd)[3]
        return bool(modes & termios.ICANON), bool(modes & termios.ECHO)

    def dcode(self):
        found = subprocess.run(["pgrep", "-P", str(self.pid)], check=True,
                               capture_output=True).stdout.split()
        return int(found[0])

    def back(self):
        """fg: what is drawn, once."""
        self.wait(0.2)
        self.type("fg\n")
        seen = self.until(SIGN) + self.wait(0.5)
        assert seen.count(SIGN) == 1, seen
        assert all(seen.count(m + "h") == 1 for m in MODES), seen
        assert seen.count(KITTY_ON) == 1 and KITTY_OFF not in seen, seen
        assert self.flags() == (False, False)


def is_put_back(seen):
    return (all(m + "l" in seen for m in MODES) and KITTY_OFF in seen and
            "\x1b[?25h" in seen and
            not any(m + "h" in seen for m in MODES))


@pytest.fixture
def shell(dcode, env, tmp_path, model):
    """shell(turns) -> (a Shell whose chat is at its prompt, the server)."""
    open_ones = []
    env.update(TERM="xterm-256color", PS1="$ ", HISTFILE="")

    def begin(turns, args=""):
        server = model(turns)
        (tmp_path / "work").mkdir(exist_ok=True)
        s = Shell(["/bin/bash", "--norc", "--noediting", "-i"], env,
                  tmp_path / "work")
        open_ones.append(s)
        s.until("$ ")
        s.type(f"{dcode} -M anthropic:m {args}\n")
        s.until("this machine")
        s.wait(0.3)
        return s, server
    yield begin
    for s in open_ones:
        s.close()


def leave(s):
    s.type("\x04")
    s.wait(1)
    s.type("echo status $?\n")
    s.until("status 0")


@pytest.mark.parametrize("how", ["key", "tstp", "stop"])
def test_a_chat_that_was_stopped_comes_back_once(shell, how):
    s, server = shell([DONE])
    s.type("a draft")
    s.wait(0.2)
    if how == "key":
        s.type("\x1a")
    else:
        os.kill(s.dcode(), signal.SIGTSTP if how == "tstp"
                else signal.SIGSTOP)
    seen = s.until("Stopped") + s.wait(0.2)
    assert s.flags() == (True, True)
    if how != "stop":  # nobody can do anything about that one
        assert is_put_back(seen), seen
    s.type("echo cooked; jobs\n")
    s.until("cooked\r\n")
    s.back()
    s.type("!\r")
    s.until("done.")
    assert server.requests[0]["body"]["messages"][-1]["content"][0][
        "text"] == "a draft!"
    leave(s)


def test_a_chat_that_works_can_be_stopped(shell):
    s, server = shell([{**DONE, "delay_ms": 1500}])
    s.type("go\r")
    s.until("Esc stops it")
    s.type("\x1a")
    assert is_put_back(s.until("Stopped"))
    s.back()
    s.until("done.")
    assert len(server.requests) == 1
    leave(s)


def test_it_stops_a_second_time_as_well(shell):
    s, _ = shell([DONE])
    for _ in range(3):
        s.type("\x1a")
        assert is_put_back(s.until("Stopped"))
        s.back()
    leave(s)


def test_a_chat_that_is_continued_in_the_background_waits(shell):
    s, _ = shell([DONE])
    s.type("\x1a")
    s.until("Stopped")
    s.type("bg\n")
    s.wait(1)
    assert s.flags() == (True, True)
    s.type("echo still $((40 + 2))\n")
    s.until("still 42")
    s.back()
    leave(s)


def is_gone(pid):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if not os.path.exists(f"/proc/{pid}"):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.usefixtures("sandbox_at_start")
@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("how", ["kill-server", "kill-session", "close"])
def test_a_terminal_that_goes_ends_the_run_cleanly(live, run, how, busy):
    turns = [{"text": "The first answer."}]
    turns += [execute("sleep 300"), DONE] if busy else []
    s, _ = live(turns, args=["--sandbox", "local", "--workspace", "none"])
    s.type("words to keep")
    s.keys("Enter")
    s.until("The first answer.")
    if busy:
        s.type("more")
        s.keys("Enter")
        s.until("sleep 300")
        s.until("Esc stops it")
    pid = s.pid()
    rows = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert rows  # the control
    if how == "close":
        s.tmux("kill-pane")
    else:
        s.tmux(how)
    assert is_gone(pid)
    rows = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert not rows
    shown = run("threads", "show", "latest").out
    assert "words to keep" in shown and "The first answer." in shown
