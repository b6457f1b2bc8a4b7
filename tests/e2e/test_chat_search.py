"""test_chat_search.py - Ctrl+R in the chat with a screen."""
# SPDX-License-Identifier: MIT
import json
import time

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
    s.until(lambda t: "History: fix" in t and "> fix the lexer" in t)
    s.keys("C-r")
    s.until("> fix the parser")
    s.keys("C-s")
    s.until("> fix the lexer")
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
    s.keys("Home", "Up")  # Home is the editor's
    s.type("my ")
    s.until(PROMPT + "my first line")
    s.keys("Enter")
    s.until("Hello there.")
    assert prompts(server) == ["my first line\nsecond line of it"]


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_several_matches_are_listed_while_typing(live, home, columns, lines):
    state = home / ".deepagents" / ".state"
    state.mkdir(parents=True)
    (state / "history.jsonl").write_text("".join(
        json.dumps(f"prompt {n} of many") + "\n" for n in range(4999)) +
        json.dumps("another one") + "\n")
    s, server = live(HELLO, columns=columns, lines=lines)
    s.keys("C-r")
    s.until("> another one")
    s.type("of many")
    seen = s.until("1 of 4999")
    assert "> prompt 4998 of many" in seen
    assert "  prompt 4997 of many" in seen and "  prompt 4996 of" in seen
    for _ in "of many":
        s.keys("BSpace")
    s.type("prompt 0 ")  # the oldest of 5,000
    s.until("> prompt 0 of many")
    s.keys("Enter")
    s.until(PROMPT + "prompt 0 of many")
    s.keys("Enter")
    s.until("Hello there.")
    assert prompts(server) == ["prompt 0 of many"]


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_a_match_shows_its_age(live, home, columns, lines):
    state = home / ".deepagents" / ".state"
    state.mkdir(parents=True)
    (state / "history.jsonl").write_text(json.dumps(
        {"prompt": "fix the parser", "project": "/srv/elsewhere",
         "time": int(time.time()) - 2 * 86400 - 60}) + "\n")
    s, _ = live(HELLO, columns=columns, lines=lines, ready="this machine")
    s.type("fix it")
    s.keys("Enter")
    s.until("Hello there.")
    s.keys("C-r")
    s.type("fix")
    rows = s.until("1 of 2").splitlines()
    assert [row.split()[-1] for row in rows if "> fix it" in row] == ["now"]
    assert [row.split()[-2:] for row in rows if "fix the parser" in row] == \
        [["2", "d"]]


def test_a_chat_in_this_project_finds_its_prompts_first(
        live, home, tmp_path):
    state = home / ".deepagents" / ".state"
    state.mkdir(parents=True)
    (state / "history.jsonl").write_text("".join(
        json.dumps({"prompt": prompt, "project": str(project)}) + "\n"
        for prompt, project in (("fix mine", tmp_path / "work"),
                                ("fix theirs", "/srv/elsewhere"))))
    s, _ = live(HELLO)
    s.keys("Up")
    s.until(PROMPT + "fix mine")
    s.keys("C-u", "C-r")
    s.type("fix")
    seen = s.until("1 of 2")
    assert "> fix mine" in seen
    assert seen.index("fix mine") < seen.index("fix theirs  elsewhere")
    s.keys("C-r", "Enter")
    s.until(PROMPT + "fix theirs")
