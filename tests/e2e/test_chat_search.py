"""test_chat_search.py - Ctrl+R in the chat with a screen."""
# SPDX-License-Identifier: MIT
import json

import pytest

from test_live_chat import HELLO, live, prompts  # noqa: F401

# pylint: disable=redefined-outer-name

PROMPT = "\u276f "


@pytest.fixture
def begin(live, home):
    """A chat with prompts of earlier sessions."""
    state = home / ".deepagents" / ".state"
    state.mkdir(parents=True, exist_ok=True)
    (state / "history.jsonl").write_text("".join(
        json.dumps(p) + "\n" for p in (
            "fix the parser", "first line\nsecond line of it", "run tests",
            "fix the lexer")))
    return live(HELLO)


def test_what_is_found_is_shown_while_typing(begin):
    s, server = begin
    s.keys("C-r")
    s.until(lambda t: "History:" in t and PROMPT not in t)
    s.type("fix")
    s.until(lambda t: "History: fix" in t and "fix the lexer" in t)
    s.keys("C-r")
    s.until("fix the parser")
    s.keys("C-s")
    s.until("fix the lexer")
    s.keys("C-r", "Enter")
    s.until(PROMPT + "fix the parser")
    assert not server.requests  # it is taken, not sent
    s.keys("Enter")
    s.until("Hello there.")
    assert prompts(server) == ["fix the parser"]


@pytest.mark.parametrize("key", ["Escape", "C-g", "C-c"])
def test_giving_up_brings_the_draft_back(begin, key):
    s, server = begin
    s.type("a draft")
    s.keys("C-r")
    s.type("lexer")
    s.until(lambda t: "fix the lexer" in t and "a draft" not in t)
    s.keys(key)
    s.until(PROMPT + "a draft")
    s.type("!")
    s.keys("Enter")
    s.until("Hello there.")
    assert prompts(server) == ["a draft!"]


def test_a_prompt_of_several_lines_is_found_and_edited(begin):
    s, server = begin
    s.keys("C-r")
    s.type("SECOND")
    s.until("No such prompt: SECOND")
    for _ in "SECOND":
        s.keys("BSpace")
    s.type("second")
    s.until("second line of it")
    s.keys("Up", "Home")  # is the editor's
    s.type("my ")
    s.until(PROMPT + "my first line")
    s.keys("Enter")
    s.until("Hello there.")
    assert prompts(server) == ["my first line\nsecond line of it"]
