"""test_words.py - at a narrow terminal, rows end between words."""
# SPDX-License-Identifier: MIT
import re

import pytest

from test_live_chat import execute, live  # noqa: F401
from test_progress import REFUSED, at_screen  # noqa: F401

# pylint: disable=redefined-outer-name

NUMBERS = ("one two three four five six seven eight nine ten eleven twelve "
           "thirteen fourteen fifteen")
TABLE = """
| name | status of the thing | owner of it |
|---|---|---|
| alphabetical | unfinished | nobody |
"""


def words(seen):
    return re.findall(r"[a-z]+", seen)


@pytest.mark.parametrize("columns", [30, 40, 47])
def test_the_chat_splits_no_word(live, columns):
    s, _ = live([execute(f"echo {NUMBERS}"), {"text": TABLE}], args=["-y"],
                ready="yolo", columns=columns, lines=40)
    s.type("go")
    s.keys("Enter")
    seen = s.until("Done in")
    for word in (NUMBERS + " alphabetical unfinished nobody").split():
        assert word in words(seen), seen


@pytest.mark.parametrize("how", [("-n", "go"), ("--plain", "-m", "go")])
def test_lines_of_dcode_split_no_word_without_a_screen(at_screen, how):
    refused = {"fault": {**REFUSED["fault"], "body": {
        "type": "error", "error": {"type": "invalid_request_error",
                                   "message": NUMBERS}}}}
    s = at_screen([refused], how=how, columns=40)
    seen = s.until("fifteen", scrollback=True)
    for word in NUMBERS.split():
        assert word in words(seen), seen


def test_an_address_stays_in_one_piece(at_screen):
    address = "https://example.org/" + "long/" * 20 + "end"
    refused = {"fault": {**REFUSED["fault"], "body": {
        "type": "error", "error": {"type": "invalid_request_error",
                                   "message": "see " + address}}}}
    s = at_screen([refused], columns=40)
    s.until("end")
    assert address in s.tmux("capture-pane", "-p", "-J")
