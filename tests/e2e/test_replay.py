"""test_replay.py - a resumed thread is shown as it was on the screen."""
# SPDX-License-Identifier: MIT
import re

import pytest

from credentials import checked
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
    without the time of the turn, which is not stored, and the hint."""
    seen = seen[seen.rindex("❯ " + prompt):]
    seen = re.sub(r"/undo takes back[^.]*\.\n", "", seen)
    return [line.rstrip() for line in
            seen.split("Resumed thread")[0].split("Started new")[0]
            .splitlines() if line.strip() and not line.startswith("Done in")]


def without_times(lines):
    """Times of calls are not stored."""
    return [line.split(", 0.")[0] for line in lines]


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
    assert without_times(before[:at]) == after
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
        {"text": "Never."}], "by": "count"})
    c.say("do it", "y yes")
    c.type("n")
    c.until("Stopped after")
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


@on_screen
@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_an_edit_has_its_line_numbers_and_the_lines_around_it(
        talk, tmp_path, columns, lines):
    (tmp_path / "work" / "a.txt").write_text(
        "".join(f"line {n}\n" for n in range(1, 121)))
    c = begin(talk, {"turns": [{"tool_calls": [
        {"name": "edit_file", "args": {
            "file_path": str(tmp_path / "work" / "a.txt"),
            "old_string": f"line {n}\n", "new_string": new}}
        for n, new in ((8, "eight\n"), (110, ""))]},
        {"text": "Edited."}], "by": "count"}, "-y",
        columns=columns, lines=lines)
    c.say("edit", "Done in ")
    before = between(c.text(True), "edit")
    shown = between(resume(c), "edit")
    assert shown == before[:len(shown)] and "Edited." in shown
    for line in ("… 4 lines", "  8 - line 8", "  8 + eight", "110 - line 110",
                 "… 7 lines", "⏺ edit_file a.txt +1 -1"):
        assert line in shown, shown
    c.keys("C-o")
    c.until("Tool calls")
    c.keys("Enter")
    full = "⏺ edit_file a.txt +0 -1 (ok)\n… 106 lines\n"
    c.until(lambda t: "110 - line 110" in t.split(full)[-1] and full in t,
            True)


def test_secrets_in_a_stored_edit_are_masked(talk, env, tmp_path):
    token = "ghp_" + checked()
    (tmp_path / "work" / "a.txt").write_text(
        f"key = {token}\nhunter2-of-the-vault\nold\n")
    c = begin(talk, {"turns": [{"tool_calls": [
        {"name": "edit_file", "args": {
            "file_path": "a.txt", "old_string": "old", "new_string": "new"}}]},
        {"text": "Edited."}], "by": "count"}, "-y")
    c.say("edit", "Edited.")
    c.say("/quit")
    c.status()
    c.close()
    stored = (tmp_path / "home" / ".deepagents" / ".state" /
              "dcode.db").read_bytes()
    assert b'"change":' in stored and b"+new" in stored
    assert token.encode() not in stored
    env["SOME_API_KEY"] = "hunter2-of-the-vault"
    c = talk({"turns": []}, "-r")
    seen = c.until("Resumed thread")
    assert "edit_file" in seen and "hunter2" not in seen


STEPS = [{"text": f"step {n}", "tool_calls": [
    {"name": "execute", "args": {"command": f"seq {n} 20"}}]}
    for n in range(14)]


@on_screen
@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_a_long_turn_begins_with_its_prompt(talk, columns, lines):
    c = begin(talk, {"turns": [*STEPS, {"text": "Finished."}], "by": "count"},
              "-y", columns=columns, lines=lines)
    c.say("the long task", "Done in ")
    seen = resume(c)
    first = seen[seen.index("/resume latest"):].splitlines()[2:]
    assert first[0].strip() == "❯ the long task", seen
    if lines < 50:
        assert "earlier steps of this turn are left out" in \
            " ".join(seen.split()), seen
        assert "step 13" in seen and "step 0\n" not in seen
    else:
        assert "left out" not in seen and "step 0\n" in seen


@on_screen
def test_a_turn_without_an_answer_says_how_it_ended(talk):
    run = {"name": "execute", "args": {"command": "sleep 60"}}
    c = begin(talk, {"turns": [{"tool_calls": [run]}, {"tool_calls": [run]},
                               {"text": "Hello."}], "by": "count"},
              lines=40)
    c.say("first", "y yes")
    c.type("y")
    c.until(lambda t: re.search(r"⎿ .*1\.\d s$", t, re.M))
    c.keys("Escape")
    c.until("Interrupted after")
    c.say("second", "y yes")
    c.type("n")
    c.until("Stopped after")
    c.say("third", "Hello.")
    seen = resume(c)
    words = ["❯ first", "• Interrupted", "❯ second", "• Stopped", "❯ third",
             "Hello."]
    places = [seen.index(word) for word in words]
    assert places == sorted(places), seen
    assert seen.count("•") == 2, seen


@on_screen
def test_a_command_of_the_users_is_shown_as_that(talk):
    c = begin(talk, lines=40)
    c.say("!echo my-command; false", "exit 1")
    c.say("/hidden", None)
    c.say("what was that", "Hello there.")
    seen = resume(c)
    assert "<command>" not in seen and "user_shell_command" not in seen, seen
    words = ["❯ !echo my-command; false", "execute echo my-command; false",
             "    my-command", "exit 1", "❯ what was that", "Hello there."]
    places = [seen.index(word) for word in words]
    assert places == sorted(places), seen
    c.say("/threads list", "what was that", 2)


@on_screen
@pytest.mark.parametrize("edits", [False, True])
def test_an_accepted_plan_is_shown_as_that(talk, env, tmp_path, edits):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf '1. other step\\n' > \"$1\"\n")
    editor.chmod(0o755)
    env["VISUAL"] = str(editor)
    c = begin(talk, {"turns": [{"text": "Plan:\n\n1. my step"},
                               {"text": "Carried out."}], "by": "count"},
              lines=40)
    c.keys("BTab", "BTab")
    c.until("\nplan ")
    c.say("make a plan", "y yes")
    if edits:
        c.type("e")
        c.until("The plan is now:")
        c.until("y yes")
    c.type("y")
    c.until("Carried out.")
    c.until("Done in")
    seen = resume(c)
    assert ("Plan accepted, as you changed it:" if edits else
            "• Plan accepted.\n") in seen, seen
    assert ("❯ 1. other step" in seen) == edits
    assert "The user has" not in seen
