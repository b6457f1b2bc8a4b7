"""test_chat_rows.py - menus and drafts that are higher than their place."""
# SPDX-License-Identifier: MIT
import re

import pytest

from test_ask_user import ask
from test_live_chat import HELLO, live  # noqa: F401

# pylint: disable=redefined-outer-name

SIZES = [{"columns": 80, "lines": 24}, {"columns": 40, "lines": 12},
         {"columns": 200, "lines": 50}]


@pytest.mark.parametrize("size", SIZES)
def test_a_completion_says_how_many_there_are(live, size):
    s, _ = live(HELLO, ready="\u276f", **size)
    s.type("/")
    seen = s.until(lambda t: re.search(r"^  1-\d+ of \d+$", t, re.M))
    shown = len(re.findall(r"^  /", seen, re.M))
    last, all_ = map(int, re.search(r"^  1-(\d+) of (\d+)$", seen,
                                    re.M).groups())
    assert last == shown and all_ > 40
    for _ in range(all_ - 1):
        s.keys("Down")
    end = s.until(lambda t: re.search(rf"^  \d+-{all_} of {all_}$", t, re.M))
    assert "\n  /help" not in end
    assert len(re.findall(r"^  /", end, re.M)) >= shown
    s.type("hel")
    s.until(lambda t: "/help" in t and f"of {all_}" not in t)


@pytest.mark.parametrize("size", SIZES)
def test_a_high_draft_shows_that_rows_are_hidden(live, size):
    s, _ = live(HELLO, ready="\u276f", **size)
    n = size["lines"] + 5
    for i in range(n):
        s.type(f"row {i}")
        s.until(f"row {i}")
        s.keys("C-j")
    s.type("end")
    seen = s.until("  end\n")
    assert re.search(r"^\u2191 row \d+$", seen, re.M), seen
    s.keys("C-Home")
    seen = s.until("\u276f row 0\n")
    assert re.search(r"^\u2193 row \d+$", seen, re.M), seen
    assert "\u2191" not in seen


@pytest.mark.parametrize("size", SIZES)
def test_a_wrapped_row_begins_where_the_first_one_does(live, size):
    s, _ = live(HELLO, ready="\u276f", **size)
    s.type("a" * (size["columns"] - 3) + " next")
    assert re.search(r"a\n  next$", s.until("next"), re.M)


def test_a_wrapped_question_begins_where_its_first_row_does(live):
    s, _ = live([ask({"question": "why " * 20, "type": "multiple_choice",
                      "choices": [{"value": "choice " * 10},
                                  {"value": "other"}]})], ready="\u276f",
                columns=60)
    s.type("go")
    s.keys("Enter")
    seen = s.until("Enter or a number")
    assert re.search(r"^  why .*\n  why ", seen, re.M), seen
    assert re.search(r"^> 1 choice .*\n    choice ", seen, re.M), seen
