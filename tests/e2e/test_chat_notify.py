"""test_chat_notify.py - who calls the user, when, and with which bytes."""
# SPDX-License-Identifier: MIT
import pytest

from terminal import Terminal
from test_live_chat import DONE, execute

QUICK = "[ui]\nnotify_after = 0\n"
FOCUS_IN, FOCUS_OUT = "\x1b[I", "\x1b[O"
ENDED = "work: the turn has ended"


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

    def begin(turns, config=QUICK, ready="this machine", where="work"):
        (home / ".deepagents").mkdir(exist_ok=True)
        (home / ".deepagents" / "config.toml").write_text(config)
        model(turns)
        (tmp_path / where).mkdir(exist_ok=True)
        t = Chat([str(dcode), "-M", "anthropic:m"], env, tmp_path / where)
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
    ("xterm-256color", f"\x1b]9;dcode {ENDED}\x1b\\"),
    ("rxvt-unicode-256color", f"\x1b]777;notify;dcode;{ENDED}\x1b\\")])
def test_a_desktop_notification_has_words_of_its_own(chat, env, term, sent):
    env["TERM"] = term
    t = chat([DONE], QUICK + 'notify = "desktop"\n')
    seen = t.ask("words of mine")
    assert seen.count(sent) == 1
    assert bells(seen) == 0


def test_it_names_the_directory_and_what_waits_and_is_filtered(chat):
    t = chat([execute("true"), DONE],
             '[ui]\nnotify = "desktop"\nnotify_after = 1\n',
             where="a\a\x1b]9;4b")
    t.type("go\r")
    seen = t.until("y yes") + t.wait(1.5)
    sent = seen.split("\x1b]9;dcode ")[1].split("\x1b")[0]
    assert sent == "a: question about execute"


def test_in_tmux_a_notification_is_passed_through(chat, env):
    env["TMUX"] = "/nowhere,1,0"
    t = chat([DONE], QUICK + 'notify = "desktop"\n')
    assert (f"\a\x1bPtmux;\x1b\x1b]9;dcode {ENDED}\a\x1b\\"
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


PUSH, POP = "\x1b[22;2t", "\x1b]2;\x1b\\\x1b[23;2t"
BUSY, WAITS, NONE = (f"\x1b]9;4;{n}\x1b\\" for n in (3, 4, 0))


def title(text):
    return f"\x1b]2;{text}\x1b\\"


def test_the_title_says_what_waits_and_is_restored_at_the_end(chat):
    t = chat([execute("true"), DONE])
    t.type("go\r")
    seen = t.seen + t.until("y yes") + t.wait(0.3)
    assert PUSH in seen and title("work") in seen
    assert title("\u25cf work: working") in seen
    assert title("\u2733 work: question") in seen
    t.type("y")
    seen = t.until("done.") + t.wait(0.3)
    assert seen.rindex(title("work")) > seen.rfind("working")
    t.type("/quit\r")
    assert t.end() == 0
    assert t.seen.rindex(POP) > t.seen.rindex(title("work"))
    assert t.seen.count(PUSH) == t.seen.count("\x1b[23;2t")


def test_a_directory_cannot_write_sequences_into_the_title(
        chat, tmp_path, dcode, env):
    bad = tmp_path / "a\x1b]0;b\x07c"
    bad.mkdir()
    chat([DONE]).close()
    t = Chat([str(dcode), "-M", "anthropic:m"], env, bad)
    t.until("this machine")
    t.close()
    assert "\x1b]2;" in t.seen and "\x1b]0;" not in t.seen


def test_no_title_where_it_is_off(chat):
    t = chat([DONE], QUICK + "title = false\n")
    seen = t.ask("go") + t.seen
    assert "\x1b]2;" not in seen and PUSH not in seen


@pytest.mark.parametrize("variable, value", [
    ("WT_SESSION", "1"), ("TERM_PROGRAM", "ghostty")])
def test_a_tab_that_knows_it_shows_the_progress(chat, env, variable, value):
    env[variable] = value
    t = chat([execute("true"), DONE])
    t.type("go\r")
    assert BUSY in t.until("y yes") + t.wait(0.3)
    assert WAITS in t.seen
    t.type("y")
    assert (t.until("done.") + t.wait(0.3)).rindex(NONE) > 0


def test_other_terminals_get_no_progress(chat, env):
    assert "\x1b]9;4" not in chat([DONE]).ask("go")
    env.update(WT_SESSION="1", TMUX="/nowhere,1,0")
    assert "\x1b]9;4" not in chat([DONE]).ask("go")
