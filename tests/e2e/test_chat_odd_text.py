"""test_chat_odd_text.py - text that screens stumble over, at odd sizes."""
# SPDX-License-Identifier: MIT
import json
import re
import time

import pytest

from test_live_chat import execute, live  # noqa: F401

# pylint: disable=redefined-outer-name

ODD = [
    "a `code with **stars` inside** and [a](http://x.example/(y)) b",
    "| a | b |\n|---|---|\n| 中文字 | **x** |\n| long " + "w" * 90 + " | y |",
    "| not a table |\n| at all",
    "> quote\n> > deeper\n> - item\n>   1. one\n\n- [ ] open\n- [x] done",
    "```c\nint main(void) { return 0; } // " + "long " * 40 + "\n```",
    "````\n```\ninner\n```\n````",
    "<b>raw</b> <script>alert(1)</script> &amp; &nbsp; &#x1F600;",
    "#### heading #\n\nsetext\n======\n\n---\n***\n",
    "W" * 500,
    "漢字" * 120,
    "\U0001F468\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466" * 30,
    "\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7" * 20 + "\u2764\ufe0f" * 20,
    "e\u0301" * 100 + "Z" + "\u0301" * 60,
    "שלום עולם مرحبا بالعالم \u202egnp.exe\u202c \u2066x\u2069",
    "\tone\ttwo\t\tthree\n\n    \tindented\tcode",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \x1b[2J\x1b[H bell\x07",
    "nul\x00 del\x7f bs\x08\x08\x08 vt\x0b ff\x0c\r\nnext\rover",
    "\u200b\u200c\u200d\ufeff\u00ad zero width \u2028 line \u2029 par",
    "* " * 40 + "nested\n" + "".join("  " * i + f"- {i}\n" for i in range(12)),
    "[x]: http://e.example\n\n[x] ![img](http://i.example/a.png \"t\") "
    "<http://auto.example>",
]


def mark(i):
    return f"mark{i}mark"


def answer():
    return "\n\n".join(f"{mark(i)}\n\n{text}" for i, text in enumerate(ODD)
                       ) + "\n\nlast words"


PRINTS = (r"for i in 1 2 3; do printf 'part %s\r' $i; done; "
          r"printf '\033[2J\033[H\033]0;x\007\033[31mred\033[0m\n'; "
          r"printf '\303\251\314\201 \360\237\221\250\342\200\215\360\237"
          r"\221\251 \344\270\255\n'; printf '\tx\ty\n\377\376 end\n'; "
          r"head -c 3000 /dev/zero | tr '\0' W; echo")


def ends(text):
    """The status line is the last row, and stands once."""
    rows = [r for r in text.splitlines() if r.strip()]
    return rows and rows[-1].startswith("yolo")


@pytest.mark.parametrize("columns, lines", [
    (20, 24), (40, 24), (80, 24), (200, 50), (80, 5), (20, 5)])
def test_odd_text_breaks_no_row_at_any_size(live, columns, lines):
    turns = [{"text": answer(), "chunk_bytes": 997, "chunk_delay_ms": 2},
             execute(PRINTS), {"text": "done."}]
    s, _ = live([{**turns[1], "text": turns[0]["text"],
                  "chunk_bytes": 997, "chunk_delay_ms": 2}, turns[2]],
                args=["-y"], columns=columns, lines=lines, ready="yolo")
    s.type("go")
    s.keys("Enter")
    s.until(lambda t: "done." in t and ends(t), True, seconds=60)
    seen = s.text(True)
    rows = seen.splitlines()
    assert len([r for r in rows if r.startswith("yolo")]) == 1, seen
    joined = "".join(rows)
    for i in range(len(ODD)):
        assert joined.count(mark(i)) == 1, (i, seen)
    assert joined.count("last words") == 1
    assert "PWNED" not in s.tmux("display-message", "-p", "#{pane_title}")
    assert s.tmux("display-message", "-p", "#{pane_title}").strip() not in (
        "x", "title")
    assert not re.search("part [12]", seen)


def test_a_stream_that_is_resized_is_whole(live):
    """Each row of it stands once; the live part stands once."""
    text = "\n\n".join(f"{mark(i)} 中 e\u0301 \U0001F600 of the long answer."
                       for i in range(150))
    s, _ = live([{"text": text, "chunk_bytes": 600, "chunk_delay_ms": 25}],
                args=["-y"], ready="yolo")
    s.type("go")
    s.keys("Enter")
    s.until(mark(3))
    for size in ((40, 24), (100, 10), (60, 5), (120, 40), (30, 8), (80, 24)):
        s.resize(*size)
        s.until(lambda t: "yolo" in t)
    s.until(lambda t: mark(149) in t and ends(t), seconds=60)
    seen = s.text(True)
    for i in range(150):
        assert seen.count(mark(i)) == 1, (i, seen)
    assert len([r for r in seen.splitlines() if r.startswith("yolo")]) == 1


def test_a_progress_bar_is_one_line_that_changes(live, env):
    env["PAGER"] = "cat"
    bar = r"for i in 1 2 3 4; do printf 'step %s of 4\r' $i; sleep 0.4; done"
    s, server = live([execute(bar), {"text": "done."}], args=["-y"],
                     ready="yolo")
    s.type("go")
    s.keys("Enter")
    for i in (2, 3):
        seen = s.until(f"step {i} of 4")
        assert len(re.findall(r"step \d of 4", seen)) == 1, seen
    s.until("done.")
    told = json.dumps(server.requests[-1]["body"]["messages"][-1]["content"])
    assert "step 4 of 4" in told and "step 3 of 4" not in told
    s.keys("C-o")
    s.until("Enter chooses")
    s.keys("Enter")
    s.until("(ok)")
    # in the row of the call, printed here, and in the list
    s.until(lambda t: t.count("step 4 of 4") == 3)
    assert "step 1 of 4" not in s.text(True)


def test_rows_that_are_drawn_again_change_where_they_are(live):
    """Two bars, as those of a pull: the cursor goes up and rows are erased."""
    bars = (r"for i in 1 2 3 4; do [ $i = 1 ] || printf '\033[2A'; printf "
            r"'\r\033[2Kone %s of 4\n\r\033[2Ktwo %s of 4\n' $i $i; sleep 0.4; "
            "done")
    s, server = live([execute(bars), {"text": "done."}], args=["-y"],
                     ready="yolo")
    s.type("go")
    s.keys("Enter")
    for i in (2, 3):
        seen = s.until(f"two {i} of 4")
        assert re.findall(r"(?:one|two) \d of 4", seen) == [
            f"one {i} of 4", f"two {i} of 4"], seen
    s.until("done.")
    told = json.dumps(server.requests[-1]["body"]["messages"][-1]["content"])
    assert r"one 4 of 4\ntwo 4 of 4\n[Command" in told


@pytest.mark.parametrize("columns, lines", [(20, 5), (80, 5), (40, 3)])
def test_what_is_typed_stays_on_a_small_screen(live, columns, lines):
    """Completion, a search, a long draft and a queue, with little room."""
    s, _ = live([{"text": "late", "delay_ms": 60000}], args=["-y"],
                columns=columns, lines=lines, ready="\u276f")
    for keys in (["/"], ["BSpace", "C-r"], ["Escape"]):
        s.keys(*keys)
        s.until(lambda t, k=keys: ("\u276f /" in t) == (k == ["/"]))
    s.type("first")
    s.keys("Enter")
    time.sleep(0.5)
    for i in range(3):
        s.type(f"queued {i}")
        s.keys("Enter")
        time.sleep(0.3)  # a person's pace: several lines at once are a paste
    s.type("one two three four five six seven eight nine ten ")
    s.until("ten")  # much that arrives with line ends would be a paste
    for i in range(6):
        s.keys("C-j")
    s.type("the caret is here")
    s.until("is here")
    assert s.text(True).count("is here") == 1
    s.keys("C-c")
    s.until(lambda t: "late" not in t)
    s.keys("C-c", "C-c")
    s.keys("C-c", "C-c")
    assert s.status() == 130
    seen = s.text(True)
    assert seen.count("is here") == 0  # no live part is left behind
