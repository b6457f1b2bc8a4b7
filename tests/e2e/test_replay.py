"""test_replay.py - a resumed thread is shown as it was on the screen."""
# SPDX-License-Identifier: MIT
import re

import pytest

from slash_chat import (  # noqa: F401 (a fixture)
    begin, on_screen, talk)

EDIT = {"name": "write_file", "args": {"file_path": "a.txt",
                                       "content": "one\ntwo\n"}}
TURNS = {"turns": [
    {"text": "First a **look**.", "thinking": "Where is it?",
     "tool_calls": [{"name": "execute", "args": {"command": "echo x; false"}},
                    EDIT]},
    {"text": "## Done\n\n- one\n- two\n"}], "by": "count", "repeat": True}


def between(seen, prompt):
    """What is on the screen from a prompt to the line about the thread,
    without the time of the turn, which is not stored."""
    seen = seen[seen.rindex("❯ " + prompt):]
    return [line.rstrip() for line in
            seen.split("Resumed thread")[0].split("Started new")[0]
            .splitlines() if line.strip() and not line.startswith("Done in")]


def without_numbers(lines):
    """Times of calls and line numbers of edits are not stored."""
    return [re.sub(r"^\d+ ([+-])", r"\1", line.split(", 0.")[0])
            for line in lines]


def resume(c):
    """Leaves the thread and resumes it. Returns what that shows."""
    c.say("/clear", "Previous thread")
    c.tmux("clear-history")
    c.say("/resume latest", "Resumed thread")
    seen = c.text(True)
    return seen[seen.rindex("/resume latest"):]


@pytest.mark.parametrize("columns, lines", [(80, 30), (40, 30), (200, 50)])
@on_screen
def test_prompt_calls_edits_and_answer_look_as_they_did(
        talk, columns, lines):
    c = begin(talk, TURNS, "-y", columns=columns, lines=lines)
    c.say("do it", "Done in ")
    before = between(c.text(), "do it")
    c.say("/clear", "Previous thread")
    c.keys("C-l")
    seen = c.say("/resume latest", "Resumed thread")
    after = between(seen, "do it")
    at = [i for i, line in enumerate(before) if line.startswith("❯")][1]
    assert without_numbers(before[:at]) == after
    assert any("exit 1" in line for line in after)


@on_screen
def test_only_the_last_screenful_of_a_long_thread_is_shown(talk):
    c = begin(talk, {"turns": [{"text": "- line\n" * 12 + f"\nThe end {n}."}
                               for n in range(5)], "by": "count"})
    for n in range(5):
        c.say(f"question {n}", f"The end {n}.")
        c.until(lambda t: "Esc stops" not in t)
    seen = resume(c)
    assert "question 4" in seen and "question 1" not in seen


@pytest.mark.parametrize("talk", ["lines"], indirect=True)
def test_in_lines_the_order_is_that_of_the_turn(talk):
    c = begin(talk, TURNS, "-y", lines=40)
    c.say("do it", "- two\n")
    c.say("/clear", "Previous thread")
    seen = c.say("/resume latest", "Resumed thread")
    seen = seen[seen.index("/resume latest"):]
    places = [seen.index(word) for word in (
        "> do it", "First a **look**.", "execute: echo x; false",
        "exit code 1", "write_file: a.txt", "## Done", "Resumed thread")]
    assert places == sorted(places)


@on_screen
def test_what_was_compacted_is_still_shown(talk):
    c = begin(talk, {"turns": [{"text": "word " * 9000 + "Hello."},
                               {"text": "Hello again."},
                               {"text": "A summary."}], "by": "count"})
    c.say("about apples", "Hello.")
    c.say("about pears", "Hello again.")
    c.say("/compact", "Context: about ")
    seen = resume(c)
    assert "Hello." in seen and "❯ about pears" in seen
    assert "A summary." not in seen


@on_screen
def test_an_interrupted_answer_says_so(talk):
    c = begin(talk, {"turns": [{"text": "word " * 400, "chunk_bytes": 200,
                                "chunk_delay_ms": 200}], "by": "count"})
    c.say("go on", "word word")
    c.keys("Escape")
    c.until("Interrupted")
    seen = resume(c)
    assert "word word" in seen and "Interrupted" in seen


@on_screen
def test_a_declined_call_says_so_without_the_words_for_the_model(talk):
    c = begin(talk, {"turns": [
        {"tool_calls": [{"name": "execute", "args": {"command": "make x"}}]},
        {"text": "Not run."}], "by": "count"})
    c.say("do it", "y yes")
    c.type("n")
    c.until("Not run.")
    seen = resume(c)
    assert "execute make x" in seen and "Declined." in seen, seen
    assert "User rejected" not in seen and "with id" not in seen


@on_screen
@pytest.mark.parametrize("command, shown", [
    ("sleep 60", "interrupted"), ("echo half''way; sleep 60", "halfway")])
def test_an_interrupted_call_says_so_without_its_id(talk, command, shown):
    c = begin(talk, {"turns": [{"tool_calls": [
        {"name": "execute", "args": {"command": command}}]}], "by": "count"},
        "-y")
    c.say("do it", "execute " + command[:6])
    c.until("Esc stops it")
    if shown == "halfway":
        c.until("    halfway")
    else:
        c.until(lambda t: re.search(r"1\.\d s$", t, re.M))
    c.keys("Escape")
    c.until("Interrupted after")
    seen = resume(c)
    assert shown in seen and "interrupted" in seen, seen
    assert "with id" not in seen and "cancelled" not in seen, seen


def test_a_call_with_bad_arguments_says_so_without_its_id(talk):
    c = begin(talk, {"turns": [
        {"tool_calls": [{"name": "execute", "raw_args": "{\"command\": 1"}]},
        {"text": "Sorry."}], "by": "count"}, "-y")
    c.say("do it", "Sorry.")
    seen = c.text(True)
    assert "could not be executed" in seen and "with id" not in seen, seen


def test_a_known_secret_in_a_stored_answer_is_masked(talk, env):
    c = begin(talk, {"turns": [{"text": "It is hunter2-of-the-vault."}],
                     "repeat": True, "by": "count"})
    c.say("what is it", "hunter2-of-the-vault")
    c.say("/quit")
    c.status()
    c.close()
    env["SOME_API_KEY"] = "hunter2-of-the-vault"
    c = talk({"turns": []}, "-r")
    seen = c.until("Resumed thread")
    assert "It is" in seen and "hunter2" not in seen
