"""test_chat_low.py - the chat in a window of few lines."""
# SPDX-License-Identifier: MIT
import pytest

from test_live_chat import execute, live  # noqa: F401

# pylint: disable=redefined-outer-name


def send(s, text):
    """Several lines that arrive at once would be a paste."""
    s.type(text)
    s.until("\u276f " + text)
    s.keys("Enter")


@pytest.mark.parametrize("lines", [3, 4, 5, 8])
def test_the_wait_and_what_is_typed_stay_before_the_queue(live, lines):
    s, _ = live([{"text": "late", "delay_ms": 60000}], args=["-y"],
                ready="yolo")
    s.type("first")
    s.keys("Enter")
    s.until("Esc stops it")
    for i in range(4):
        s.type(f"queued {i}")
        s.keys("Enter")
        s.until(f"+ queued {i}")
    s.type("one")
    s.keys("C-j")
    s.type("the caret is here")
    s.until("is here")
    s.resize(80, lines)
    s.until(lambda t: len(t.splitlines()) == lines and
            all(("waiting for the model" in t, "is here" in t,
                 ("yolo" in t) == (lines > 3))))
    s.keys("C-c")
    s.until(lambda t: "waiting for the model" not in t)


@pytest.mark.parametrize("lines", [3, 5, 8])
def test_rows_drawn_in_a_low_window_leave_nothing_in_the_scrollback(
        live, lines):
    text = "\n\n".join(f"mark{i}mark" for i in range(80))
    s, _ = live([{**execute("seq 1 50; sleep 1; seq 51 99"), "text": text,
                  "chunk_bytes": 60, "chunk_delay_ms": 25}, {"text": "done."}],
                args=["-y"], lines=lines, ready="\u276f")
    send(s, "go")
    for i in range(4):
        send(s, f"queued {i}")
    s.until("mark79mark", scrollback=True)
    s.keys("C-c")
    s.until("4 queued")
    seen = s.until("Interrupted", scrollback=True)
    for i in range(80):
        assert seen.count(f"mark{i}mark") == 1, (i, seen)
    assert "Esc stops it" not in seen, seen
    assert seen.count("\u276f") <= 2, seen


@pytest.mark.slow
def test_a_window_made_low_leaves_only_what_the_terminal_scrolled_out(live):
    """Once, of the moment when it shrank; no frame after it adds to that."""
    text = "\n\n".join(f"mark{i}mark" for i in range(100))
    s, _ = live([{"text": text, "chunk_bytes": 60, "chunk_delay_ms": 40}],
                args=["-y"], ready="yolo")
    send(s, "go")
    for i in range(4):
        send(s, f"queued {i}")
    s.until(lambda t: "+ queued 3" in t and "mark9mark" in t)
    s.resize(80, 5)
    s.until("mark60mark", scrollback=True)
    s.keys("C-c")
    seen = s.until("Interrupted", scrollback=True)
    assert seen.count("Esc takes back") == 1, seen
    assert seen.count("+ queued 3") <= 1, seen
    counts = [seen.count(f"mark{i}mark") for i in range(60)]
    assert min(counts) == 1 and sum(counts) <= 61, seen
