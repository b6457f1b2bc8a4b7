"""test_queue_keys.py - Up, Ctrl+C, Ctrl+D and /quit with queued messages."""
# SPDX-License-Identifier: MIT
import pytest

from test_live_chat import DONE, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name

SIZES = [(80, 24), (40, 12), (200, 50)]
NEVER = {"text": "late", "delay_ms": 60000}


def warns(seen):
    """In a narrow window the hint is shorter."""
    return "Queued messages" in seen or "Not sent yet" in seen


def queue(s, *messages):
    """Sends a prompt that is never answered, then the messages."""
    s.type("go")
    s.keys("Enter")
    s.until("waiting for")
    for message in messages:
        s.type(message)
        s.until(f"\u276f {message}")
        s.keys("Enter")
        s.until(f"+ {message}")


@pytest.mark.parametrize("columns, lines", SIZES)
def test_up_takes_the_newest_queued_message_back(live, columns, lines):
    s, server = live([NEVER], columns=columns, lines=lines,
                     ready="this machine")
    queue(s, "one", "two")
    s.keys("Up")
    s.until(lambda t: "\u276f two" in t and "+ two" not in t and
            "+ one" in t)
    s.type("!")
    s.keys("Enter")
    s.until("+ two!")
    s.keys("Up", "Up")
    s.until(lambda t: "\u276f one" in t and "two!" in t and "+ " not in t)
    s.keys("C-c")
    s.until("Interrupted")
    assert len(server.requests) == 1


@pytest.mark.parametrize("columns, lines", SIZES)
def test_the_progress_row_says_what_escape_does(live, columns, lines):
    s, _ = live([NEVER], columns=columns, lines=lines, ready="this machine")
    queue(s)
    wide = columns > 40  # else there is room for neither
    s.until(lambda t: not wide or "Esc stops it" in t)
    queued = ", Esc takes back the queued message"
    newest = ", Esc takes back the newest queued message"
    for text, wanted in (("one", queued), ("two", newest)):
        s.type(text)
        s.keys("Enter")
        s.until(lambda t, w=wanted, m=text: f"+ {m}" in t and
                (w in t or not wide) and "Esc stops it" not in t)
    s.keys("Escape", "Escape")
    s.until(lambda t: "\u276f one" in t and "Esc takes back" not in t and
            (not wide or "Esc stops it" in t))
    s.keys("Escape")
    s.until("Interrupted")


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_a_queued_message_shows_that_it_has_more_than_its_first_line(
        live, columns, lines):
    s, _ = live([NEVER], columns=columns, lines=lines, ready="this machine")
    queue(s, "one")
    s.type("two")
    s.keys("C-j")
    s.type("three")
    s.keys("Enter")
    s.until("+ two \u2026  (2 lines)")
    s.keys("Escape")
    s.until("\u276f two")
    s.keys("Escape")  # both are one draft now
    s.until(lambda t: "\u276f one" in t and "+ " not in t)
    s.keys("Enter")
    seen = s.until("+ one \u2026  (3 lines)")
    assert "+ one" in seen
    s.type("!ls " + columns * "x")
    s.keys("Enter")
    row = [r for r in s.until("+ !ls").splitlines() if "+ !ls" in r][0]
    assert len(row) <= columns and "x \u2026" in row


@pytest.mark.parametrize("columns, lines", SIZES)
def test_the_text_of_a_queued_message_comes_before_its_time(
        live, columns, lines):
    call = execute("sleep 60")
    s, _ = live([call], args=["-y"], columns=columns, lines=lines,
                ready="this machine")
    s.type("go")
    s.keys("Enter")
    s.until("running execute")
    for n in range(1, 4):
        s.type(f"queued message {n} is this one")
        s.keys("Enter")
        seen = s.until(f"+ queued message {n} is this one")
    assert ("(at the next step)" in seen) == (columns > 40)
    s.type("short")
    s.keys("Enter")
    s.until("+ short  (at the next step)")  # room for both


def test_up_without_a_queue_goes_through_the_history(live):
    s, _ = live([DONE])
    s.type("go")
    s.keys("Enter")
    s.until("done.")
    s.keys("Up")
    s.until("\u276f go\n")


def test_up_says_that_no_older_message_has_the_draft(live):
    s, _ = live([{"text": "one."}])
    s.type("first")
    s.keys("Enter")
    s.until("one.")
    s.type("fir")
    s.keys("Up")
    s.until("\u276f first\n")
    s.keys("C-u")
    s.type("xyz")
    s.keys("Up")
    s.until("No older message contains this text")
    assert "\u276f xyz" in s.text()


@pytest.mark.parametrize("columns, lines", SIZES)
def test_ctrl_d_with_a_queue_leaves_only_once_more(live, columns, lines):
    s, server = live([NEVER], columns=columns, lines=lines,
                     ready="this machine")
    queue(s, "one", "two")
    s.keys("C-d")
    s.until(warns)
    s.type("x")  # another key: stays
    s.until(lambda t: "\u276f x" in t and not warns(t))
    s.keys("BSpace", "C-d")
    s.until(warns)
    s.keys("C-d")
    assert s.status() == 0
    said = " ".join(s.text(True).split())
    assert "Not sent" in said and "chat): one two" in said
    assert len(server.requests) == 1


@pytest.mark.parametrize("columns, lines", SIZES)
def test_the_press_that_interrupts_does_not_count_towards_leaving(
        live, columns, lines):
    s, server = live([NEVER], columns=columns, lines=lines,
                     ready="this machine")
    queue(s)
    s.keys("C-c")
    seen = s.until("Interrupted")
    assert "again leaves" not in seen
    s.keys("C-c")
    s.until("Ctrl-C again leaves")
    s.keys("C-c")
    assert s.status() == 130
    assert len(server.requests) == 1


@pytest.mark.parametrize("columns, lines", SIZES)
def test_ctrl_c_with_a_queue_asks_before_it_leaves(live, columns, lines):
    s, server = live([NEVER], columns=columns, lines=lines,
                     ready="this machine")
    queue(s, "one")
    s.keys("C-d")
    s.until(warns)
    s.keys("C-c")  # interrupts, and takes the question back
    s.until(lambda t: "Interrupted" in t and not warns(t))
    s.keys("C-c")
    s.until(warns)
    s.type("x")  # another key: stays
    s.until(lambda t: "\u276f x" in t and not warns(t))
    s.keys("C-c")  # clears the draft
    seen = s.until(lambda t: "\u276f x" not in t)
    assert "again leaves" not in seen and not warns(seen)
    s.keys("C-c")
    s.until(warns)
    s.keys("C-c")
    assert s.status() == 130
    assert "Not sent" in s.text(True) and len(server.requests) == 1


def test_ctrl_c_with_a_draft_promises_nothing_that_it_does_not_do(live):
    s, _ = live([NEVER])
    queue(s)
    s.type("xyz")
    s.until("\u276f xyz")
    s.keys("C-c")
    seen = s.until("Interrupted")
    assert "\u276f xyz" in seen and "again leaves" not in seen
    s.keys("C-c")
    s.until(lambda t: "\u276f xyz" not in t and "Ctrl-C again leaves" in t)
    s.keys("C-c")
    assert s.status() == 130


def test_quit_with_a_queue_leaves_only_once_more(live):
    s, server = live([NEVER])
    queue(s, "one")
    s.type("/quit")
    s.keys("Enter")
    s.until(warns)
    assert "\u276f /quit" in s.text() and "+ one" in s.text()
    s.keys("Enter")
    assert s.status() == 0
    assert "Not sent" in s.text(True) and len(server.requests) == 1


def test_quit_after_an_interrupt_does_not_send_the_queue(live):
    s, server = live([NEVER, DONE])
    queue(s, "one")
    s.keys("C-c")
    s.until("Interrupted")
    s.type("/quit")
    s.keys("Enter")
    s.until(warns)
    s.keys("Enter")
    assert s.status() == 0
    assert "Not sent" in s.text(True) and len(server.requests) == 1


def test_without_a_queue_leaving_says_nothing_of_one(live):
    s, _ = live([NEVER])
    queue(s)
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0
    assert "Not sent" not in s.text(True)


def test_an_unsent_message_is_in_the_history_of_the_next_chat(live):
    s, _ = live([NEVER])
    queue(s, "keep me")
    s.keys("C-d")
    s.until(warns)
    s.keys("C-d")
    assert s.status() == 0
    s, _ = live([DONE])
    s.keys("Up")
    s.until("\u276f keep me")
