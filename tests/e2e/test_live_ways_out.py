"""test_live_ways_out.py - a chat with a screen that is hindered or ended."""
# SPDX-License-Identifier: MIT
import os
import re
import signal
import time

import pytest

from test_live_chat import DONE, HELLO, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_chat_and_the_editor_that_it_waits_for(
        live, env, number):
    env["EDITOR"] = "echo is open; exec sleep 300;:"
    s, _ = live(HELLO)
    s.keys("C-x")
    s.until("is open")
    os.kill(s.pid(), number)
    assert s.status() == 128 + number


def test_what_is_printed_while_an_editor_is_open_is_shown_later(live, env):
    env["EDITOR"] = "echo is open; sleep 1; cat;:"
    s, _ = live([{"text": "x", "delay_ms": 300,
                  "fault": {"status": 400, "body": "no such luck"}}, DONE])
    s.type("go")
    s.keys("Enter")
    s.until("Esc stops it")
    s.keys("C-x")
    s.until("is open")
    time.sleep(0.8)
    assert "no such luck" not in s.text()
    s.keys("Enter", "C-d")
    s.until("no such luck")


def test_a_refused_key_names_what_to_type_in_the_chat(live):
    s, _ = live([{"text": "x", "fault": {"status": 401, "body": {
        "type": "error", "error": {"type": "authentication_error",
                                   "message": "invalid key"}}}}],
                columns=60)
    s.type("go")
    s.keys("Enter")
    seen = " ".join(s.until("another model").split())
    assert ("Set ANTHROPIC_API_KEY to a valid key, store one with "
            "`/auth set anthropic`, or choose another model (/model)."
            ) in seen and "-M" not in seen


def test_diff_without_a_repository_says_so_in_whole_words(live, tmp_path):
    s, _ = live([DONE], ready="this machine")
    s.type("/diff")
    s.keys("Enter")
    s.until(f"\nError: not a git repository:\n{tmp_path}/work\n")


def test_no_yes_counts_for_a_call_that_no_screen_has_shown(
        live, env, tmp_path):
    env["PAGER"] = "cat"
    s, _ = live([execute("touch made"), DONE], columns=20, lines=3,
                ready="this machine")
    s.type("go")
    s.keys("Enter")
    s.until("v view, n no")
    s.keys("y")
    time.sleep(0.3)
    assert not (tmp_path / "work" / "made").exists()
    s.keys("v")
    s.until("made\n", True)
    s.keys("y")
    s.until("done.", True)
    assert (tmp_path / "work" / "made").exists()


def test_a_question_fits_a_small_terminal(live, tmp_path):
    s, _ = live([execute("touch made"), DONE], columns=20, lines=6,
                ready="this machine")
    s.type("go")
    s.keys("Enter")
    seen = s.until("y yes")
    assert "execute wants to ru\u2026" in seen and "touch" in seen
    s.keys("y")
    s.until("done.", True)
    assert (tmp_path / "work" / "made").exists()


def test_a_question_that_is_cut_keeps_its_title_and_its_answers(live):
    line = "echo a long line of a command that fills more than a row\n"
    long = {"command": 9 * line, "one": 9 * line, "timeout": 9}
    s, _ = live([{"tool_calls": [{"name": "execute", "args": long}]}, DONE],
                columns=40, lines=9, ready="this machine")
    s.type("go")
    s.keys("Enter")
    seen = s.until("v view, n no")
    assert "execute wants to run" in seen and "... more rows ..." in seen


def test_view_is_offered_only_while_rows_are_hidden(live):
    s, _ = live([execute("touch made"), execute(99 * "true\n"), DONE])
    s.type("go")
    s.keys("Enter")
    seen = s.until("y yes")
    assert "v shows" not in seen
    assert seen.count("touch made") == 1  # in the question alone
    s.keys("y")
    seen = s.until(lambda t: "rows ..." in t and "y yes" in t)
    assert "v shows the rest" in seen


def test_a_yes_to_a_call_does_not_allow_everything(live):
    s, _ = live([{**execute("touch one"), "delay_ms": 700},
                 execute("touch two"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("Esc stops it")
    s.keys("BTab", "BTab", "BTab")
    s.until("yolo: every call")
    s.until("touch one")
    seen = s.until("y yes")
    assert "yolo: every call" not in seen
    s.keys("y")
    s.until(lambda t: "touch two" in t and "y yes" in t)


@pytest.mark.parametrize("before", ["man", ""])
def test_what_is_typed_as_a_question_comes_up_is_no_answer(
        live, tmp_path, before):
    for _ in range(5):  # a slow machine may type too late
        s, _ = live([{**execute("touch made"), "delay_ms": 300}, DONE])
        s.type("go")
        s.keys("Enter")
        s.until("Esc stops it")
        s.type(before)
        seen = s.until("execute wants to run")
        if "y yes" in seen:
            continue
        s.type("y")
        seen = s.until(lambda t: f"\u276f {before}y" in t or "done." in t)
        if "done." not in seen:
            break
        (tmp_path / "work" / "made").unlink()
    assert f"\u276f {before}y" in seen
    assert not (tmp_path / "work" / "made").exists()
    s.keys("C-u")
    s.until("y yes")
    s.type("y")
    s.until("done.")
    assert (tmp_path / "work" / "made").exists()


def test_a_paste_at_a_question_goes_into_the_draft(live, tmp_path):
    s, _ = live([execute("touch made"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.paste("y\nyes please")
    s.until("yes please")
    time.sleep(0.2)
    assert "touch made" in s.text() and "y yes" not in s.text()
    assert not (tmp_path / "work" / "made").exists()
    s.keys("Down", "Left", "Enter")  # no is selected first
    s.until("done.")
    assert (tmp_path / "work" / "made").exists()
    assert "yes please" in s.text()


def test_a_diff_in_the_chat_is_of_its_own_sandbox(live):
    s, _ = live(HELLO, args=["--sandbox", "local", "--workspace", "none"])
    s.type("/diff")
    s.keys("Enter")
    s.until("of this chat")


def test_keys_behind_a_command_do_not_end_in_its_completion(live):
    s, _ = live(HELLO)
    s.type("/quit")
    s.until("Leave (also")
    s.keys("Enter", "Enter", "Enter", "k", "Enter")
    assert s.status() == 0
    assert "Leave (also" not in s.text(True)


def test_the_time_that_a_question_waits_is_not_that_of_the_call(live):
    s, _ = live([execute("true"), execute("sleep 1.2"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    time.sleep(2)
    assert "exit 0" not in s.text()  # nothing runs yet
    s.keys("y")
    s.until("sleep 1.2")
    assert re.search(r"exit 0, [01]\.\d s", s.text())
    s.until("y yes")
    s.keys("y")
    s.until("done.")
    assert re.search(r"exit 0, [1-9]\.\d s", s.text())  # the control
