"""test_chat_notify.py - who calls the user, when, and with which bytes."""
# SPDX-License-Identifier: MIT
import pytest

from terminal import Terminal
from test_live_chat import DONE, execute

QUICK = "[ui]\nnotify_after = 0\n"
FOCUS_IN, FOCUS_OUT = "\x1b[I", "\x1b[O"
ENDED = "the turn has ended"


class Chat(Terminal):
    """A chat with a screen, and every byte that it sends."""

    def ask(self, text, seconds=0.5):
        """Sends a message; all that comes up to its answer, and after."""
        self.type(text)
        self.wait(0.05)
        self.type("\r")
        return self.until("done.") + self.wait(seconds)


@pytest.fixture
def chat(dcode, env, home, tmp_path, model):
    """chat(turns, config) -> a Chat at its prompt."""
    open_ones = []
    env["TERM"] = "xterm-256color"

    def begin(turns, config=QUICK, ready="this machine"):
        (home / ".deepagents").mkdir(exist_ok=True)
        (home / ".deepagents" / "config.toml").write_text(config)
        model(turns)
        (tmp_path / "work").mkdir(exist_ok=True)
        t = Chat([str(dcode), "-M", "anthropic:m"], env, tmp_path / "work")
        open_ones.append(t)
        t.until(ready)
        return t
    yield begin
    for t in open_ones:
        t.close()


def bells(text):
    """Of their own, not the end of an OSC of ours: those end in ST."""
    return text.count("\a")


def test_a_bell_rings_when_a_turn_ends(chat):
    t = chat([DONE])
    assert bells(t.ask("go")) == 1


@pytest.mark.parametrize("config", [
    "", "[ui]\nnotify_after = 20\n", '[ui]\nnotify = "off"\n'
    "notify_after = 0\n"])
def test_no_bell_rings_after_a_short_turn_or_when_it_is_off(chat, config):
    t = chat([DONE], config)
    assert bells(t.ask("go")) == 0


def test_a_long_turn_is_one_without_a_key_for_so_long(chat):
    slow = {**DONE, "delay_ms": 1600}
    t = chat([slow, slow], "[ui]\nnotify_after = 1\n")
    assert bells(t.ask("go")) == 1
    t.type("again\r")
    for _ in range(12):
        t.type("x")
        seen = t.wait(0.15)
        assert not bells(seen)
        if "done." in seen:
            break
    else:
        assert not bells(t.until("done."))


def test_a_window_that_has_the_focus_stays_silent(chat):
    t = chat([DONE, DONE])
    t.type(FOCUS_IN)
    assert bells(t.ask("go")) == 0
    t.type(FOCUS_OUT)
    assert bells(t.ask("go")) == 1


def test_a_question_that_waits_rings_once(chat):
    t = chat([execute("true"), DONE], "[ui]\nnotify_after = 1\n")
    t.type("go\r")
    assert bells(t.until("y yes") + t.wait(1.5)) == 1
    t.type("y")
    assert bells(t.until("done.") + t.wait(0.3)) == 0


def test_a_list_that_waits_for_a_choice_rings_once(chat):
    t = chat([DONE], "[ui]\nnotify_after = 1\n")
    t.type("/sandbox switch")
    t.wait(0.2)
    t.type("\r")
    t.until("Where tools run")
    assert bells(t.wait(2.5)) == 1


@pytest.mark.parametrize("term, sent", [
    ("xterm-256color", f"\x1b]9;dcode: {ENDED}\x1b\\"),
    ("rxvt-unicode-256color", f"\x1b]777;notify;dcode;{ENDED}\x1b\\")])
def test_a_desktop_notification_has_words_of_its_own(chat, env, term, sent):
    env["TERM"] = term
    t = chat([DONE], QUICK + 'notify = "desktop"\n')
    seen = t.ask("words of mine")
    assert seen.count(sent) == 1
    assert bells(seen) == 0


def test_in_tmux_a_notification_is_passed_through(chat, env):
    env["TMUX"] = "/nowhere,1,0"
    t = chat([DONE], QUICK + 'notify = "desktop"\n')
    assert (f"\a\x1bPtmux;\x1b\x1b]9;dcode: {ENDED}\a\x1b\\"
            in t.ask("go"))


def test_a_wrong_value_is_named(chat):
    chat([DONE], '[ui]\nnotify = "loud"\n',
         ready='[ui] notify = "loud": use bell, desktop or off')


def test_reports_of_the_focus_are_off_outside_the_chat(chat):
    t = chat([DONE])
    assert "\x1b[?1004h" in t.seen
    t.type("/quit\r")
    seen = t.wait(10)
    assert "\x1b[?1004l" in seen
    assert "\x1b[?1004h" not in seen.split("\x1b[?1004l")[-1]
