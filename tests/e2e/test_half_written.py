"""test_half_written.py - a half-written message never answers a question."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import time

import pytest

from slash_chat import HELLO, begin, talk  # noqa: F401 (a fixture)
from test_approvals import call
from test_ask_user import CITY, ask
from test_live_chat import DONE, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name

LATER = {**execute("touch made"), "delay_ms": 1200}
ASKS = "execute wants to run"
HINT = "Up/Down"
ALONE = 2.2  # s after the last key of a draft
MANUAL = "[startup]\nmode = \"manual\"\n"  # a policy


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    return tmp_path / "work"


def draft_at_question(s, draft="please ", asks=ASKS):
    """Half a message, a pause to think in which the question comes up."""
    s.type("go")
    s.keys("Enter")
    s.until("waiting for")
    s.type(draft)
    s.until(asks)
    s.until("Up")


SIZES = [(80, 24), (40, 12), (200, 50)]


@pytest.mark.parametrize("columns, lines", SIZES)
def test_the_rest_of_a_message_approves_no_command(
        live, work, columns, lines):
    s, _ = live([LATER, DONE], columns=columns, lines=lines,
                ready="this machine")
    draft_at_question(s)
    s.type("also yes always")
    s.until("please also yes always")
    time.sleep(0.3)
    assert not (work / "made").exists()
    s.keys("C-u")
    s.until("y yes")  # the control
    s.type("y")
    s.until("done.")
    assert (work / "made").exists()


def test_lines_that_are_pasted_without_marks_answer_nothing(live, work):
    s, _ = live([LATER, DONE])
    s.type("go")
    s.keys("Enter")
    s.until(ASKS)
    s.until("y yes")
    s.tmux("set-buffer", "y\na\n")
    s.tmux("paste-buffer")  # without -p: no bracketed paste
    s.until("\u276f y")
    assert ASKS in s.text() and not (work / "made").exists()
    s.keys("C-u", "BSpace", "C-u", "BSpace")
    s.until("y yes")  # the control
    s.type("y")
    s.until("done.")
    assert (work / "made").exists()


def test_enter_queues_the_message_and_the_question_stays(live, work):
    s, server = live([LATER, DONE, DONE])
    draft_at_question(s)
    s.type("yes")
    s.keys("Enter")
    seen = s.until("+ please yes")
    assert ASKS in seen and not (work / "made").exists()
    s.type("a")  # at once: the next message may begin
    s.until("Too soon for an answer")
    time.sleep(0.3)
    assert not (work / "made").exists()
    s.keys("BSpace")
    s.until("y yes")
    s.type("y")
    s.until("done.")
    assert (work / "made").exists() and len(server.requests) == 2
    assert "please yes" in json.dumps(server.requests[-1]["body"])


def test_keys_of_the_draft_edit_it_while_a_question_waits(live, work):
    s, _ = live([LATER, DONE])
    draft_at_question(s, "abc")
    s.keys("Left", "BSpace")
    s.until("\u276f ac")
    s.keys("Tab")
    s.until("+ ac")
    assert "No, because" not in s.text()
    s.type("xy")
    s.keys("BTab")
    s.until("auto-edit")
    assert ASKS in s.text() and not (work / "made").exists()
    s.keys("Escape")
    s.until("\u276f ac")
    s.keys("Escape")
    s.until("Interrupted")
    assert "\u276f ac" in s.text() and not (work / "made").exists()


@pytest.mark.parametrize("key", ["Up", "Down"])
def test_an_arrow_moves_the_focus_and_no_is_selected(live, work, key):
    s, _ = live([LATER, DONE])
    draft_at_question(s)
    s.keys(key)
    s.until("> no ")
    s.keys("Enter")
    s.until("Stopped after")
    assert not (work / "made").exists()
    assert "please" in s.text()  # still the draft


def test_yes_is_chosen_by_arrow_keys_and_text_goes_to_the_draft(live, work):
    s, _ = live([LATER, DONE])
    draft_at_question(s)
    s.keys("Down")
    s.until("> no ")
    s.type("y")
    s.until(lambda t: "please y" in t and HINT in t)
    assert not (work / "made").exists()
    s.keys("Down", "Left")
    s.until("> yes ")
    s.keys("Enter")
    s.until("done.")
    assert (work / "made").exists() and "please y" in s.text()


def test_a_single_key_answers_only_two_seconds_after_the_draft(live, work):
    s, _ = live([LATER, DONE])
    draft_at_question(s, "p")
    s.keys("BSpace")
    s.until("Keys answer in 1 s")  # not yet, and it says when
    s.type("y")
    s.until("Too soon for an answer")
    s.until("press it again")
    assert not (work / "made").exists()
    s.type("y")
    s.until("done.")
    assert (work / "made").exists()


@pytest.mark.parametrize("columns, lines", SIZES)
def test_the_hint_beside_a_draft_promises_no_answer_keys(
        live, work, columns, lines):
    s, _ = live([LATER, DONE], columns=columns, lines=lines,
                ready="this machine")
    draft_at_question(s)
    seen = s.until("Up/Down: to the question")
    assert "y yes" not in seen
    s.keys("C-u")  # the control: after it, answer keys do count
    s.until("Keys answer in 2 s")
    s.until("y yes")
    assert not (work / "made").exists()


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12)])
def test_an_answer_right_after_a_message_is_not_sent_to_the_model(
        live, work, columns, lines):
    s, server = live([execute("touch made"), DONE], columns=columns,
                     lines=lines, ready="this machine")
    s.type("go")
    s.keys("Enter")
    s.until("Keys answer in 1 s")
    s.type("y")
    s.until("Too soon for an answer")
    s.keys("Enter")
    s.until(lambda t: "press it again" in t and "+ y" not in t)
    assert not (work / "made").exists()
    s.type("y")  # the control
    s.until("done.")
    assert (work / "made").exists() and len(server.requests) == 2


def test_a_message_that_begins_right_after_another_loses_no_letter(live):
    s, _ = live([execute("touch made"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("Keys answer in 1 s")
    s.type("n")
    s.until("Too soon for an answer")
    s.type("ext step")
    s.until("\u276f next step")


@pytest.mark.parametrize("text", ["y", "No", "a"])
def test_a_draft_that_is_an_answer_is_not_sent_at_a_question(live, text):
    s, _ = live([LATER, DONE])
    draft_at_question(s, text)
    s.keys("Enter")
    seen = s.until("Not sent: it looks like an answer")
    assert f"\u276f {text}" in seen and "+ " not in seen
    s.type(" question")
    s.keys("Enter")
    s.until(f"+ {text} question")


@pytest.mark.parametrize("asks, turn, chosen", [
    (ASKS, LATER, "> no "),
    (CITY["question"], {**ask(CITY), "delay_ms": 1200}, "> ")])
@pytest.mark.parametrize("key, left", [("BSpace", "pleas"), ("C-u", "")])
def test_keys_that_delete_reach_the_draft_from_the_answers(
        live, work, asks, turn, chosen, key, left):
    s, _ = live([turn, DONE])
    draft_at_question(s, "please", asks)
    s.keys("Up")
    s.until(chosen)
    s.keys(key)
    s.type("new")
    s.until(f"\u276f {left}new")
    assert asks in s.text() and not (work / "made").exists()


def type_slowly(s, text):
    """As a user types: each key for itself, none within a burst."""
    for c in text:
        s.type(c)
        time.sleep(0.05)


@pytest.mark.parametrize("message", [
    "and also", "please", "yes but", "no, use", "Always", "why", "edit it"])
def test_a_message_that_begins_with_an_answer_letter_answers_nothing(
        live, work, message):
    s, server = live([execute("touch made"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    type_slowly(s, message)
    s.until(f"\u276f {message}")
    time.sleep(0.5)  # longer than a letter is held
    assert ASKS in s.text() and "No, because" not in s.text()
    assert not (work / "made").exists() and len(server.requests) == 1
    s.keys("C-u")
    s.until("y yes")
    s.type("y")  # the control
    s.until("done.")
    assert (work / "made").exists()


@pytest.mark.parametrize("columns, lines", SIZES)
def test_always_wants_its_letter_twice(live, work, columns, lines):
    keys = "y yes"
    s, _ = live([execute("echo x >> made"), execute("echo x >> made"), DONE],
                columns=columns, lines=lines, ready="this machine")
    s.type("go")
    s.keys("Enter")
    s.until(keys)
    s.type("a")
    s.until("a again")
    s.keys("Escape")
    s.until(keys)
    s.type("a")
    s.until("a again")
    s.type("l")
    s.until("\u276f al")
    assert not (work / "made").exists()
    s.keys("C-u")
    s.until(keys)
    s.type("a")
    s.until("a again")
    s.type("a")
    s.until("done.")
    assert (work / "made").read_text() == "x\nx\n"


@pytest.mark.parametrize("columns, lines", SIZES)
def test_the_answer_rows_end_and_always_wants_enter_twice(
        live, work, columns, lines, home):
    config = home / ".deepagents/config.toml"
    config.parent.mkdir(exist_ok=True)
    config.touch()
    s, _ = live([execute("touch made"), DONE], columns=columns, lines=lines,
                ready="this machine")
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.keys(*["Up"] * 9)  # held: it stays at no
    s.until("> no ")
    s.keys(*["Left"] * 4)
    s.until("> yes")
    s.keys(*["Right"] * 9)
    s.until("> edit")
    s.keys("Left")
    s.until("> always, in config")
    s.keys("Enter")
    s.until("Enter again: always, in config.toml")
    s.keys("Left")
    s.until("> always ")
    s.keys("Right")
    s.until("> always, in config")
    s.keys("Enter")
    s.until("Enter again")
    s.type("no")  # a message, without a letter of the row
    s.until("\u276f no")
    assert not config.read_text()
    assert not (work / "made").exists()
    s.keys("C-u", "Down")
    s.until("> no ")
    s.keys("Right", "Right", "Right")
    s.until("> always, in config")
    s.keys("Enter")
    s.until("Enter again")
    s.keys("Enter")  # the control
    s.until("done.")
    assert (work / "made").exists()
    assert "touch made" in config.read_text()


def test_the_answers_for_the_arrows_are_in_the_order_of_the_letters(live):
    s, _ = live([execute("true"), DONE])
    s.type("go")
    s.keys("Enter")
    keys = s.until("y yes").splitlines()
    s.keys("Down")
    seen = s.until("> no ").splitlines()
    letters = next(r for r in keys if r.startswith("y yes"))
    words = next(r for r in seen if "> no " in r)
    letters = re.findall(r"(?:^|  )(\w) ", letters)
    words = [w.strip("> ") for w in re.split("  +", words.strip())]
    assert letters[:4] == ["y", "n", "w", "a"]
    assert words[:4] == ["yes", "no", "no, because...", "always"]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_shift_tab_answers_right_after_a_draft_was_deleted(
        live, work, columns):
    s, _ = live([{**WRITE, "delay_ms": 1200}, DONE], columns=columns,
                ready="this machine")
    draft_at_question(s, "p", "write_file wants to run")
    s.keys("BSpace")
    s.until("Shift+Tab")
    assert not (work / "new.txt").exists()
    s.keys("BTab")
    s.until("done.")
    assert (work / "new.txt").exists()


@pytest.mark.parametrize("columns, lines", SIZES)
def test_yolo_is_confirmed_a_quarter_of_a_second_after_its_key(
        live, columns, lines):
    s, _ = live([DONE], columns=columns, lines=lines, ready="this machine")
    s.type("x")
    s.until("\u276f x")
    s.keys("BSpace", "BTab", "BTab", "BTab")
    s.until("yolo: every call")
    time.sleep(0.25)
    s.type("y")
    s.until(lambda t: "\nyolo \u00b7" in t)


def test_yolo_is_not_asked_about_beside_a_message(live):
    s, _ = live([DONE])
    s.keys("BTab", "BTab")
    s.until("\nplan")
    s.type("also")
    s.until("\u276f also")
    s.keys("BTab")
    s.until("yolo asks first: choose it at an empty prompt \u00b7 manual")
    s.type("y")
    s.until("\u276f alsoy")
    s.until("\nmanual")


def test_yolo_is_not_confirmed_by_a_message_that_begins_with_y(live, work):
    s, _ = live([execute("touch made"), DONE])
    s.keys("BTab", "BTab", "BTab")
    s.until("y allows it")
    type_slowly(s, "yes please")
    s.until("\u276f yes please")
    assert "\nyolo \u00b7" not in s.text()
    s.keys("C-u", "BTab", "BTab", "BTab")
    s.until("y allows it")
    time.sleep(ALONE)
    s.type("y")
    s.until(lambda t: "\nyolo \u00b7" in t)


def test_a_slash_command_is_typed_at_a_question(live):
    s, _ = live([execute("touch made"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.type("/agents")
    s.until("\u276f /agents")
    s.keys("Enter")
    seen = s.until("No subagents have run yet.")
    assert "touch made" in seen and "wants to run" in seen
    s.until("y yes")
    s.type("y")
    s.until("done.")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_declined_call_takes_one_row(live, columns):
    s, _ = live([execute("echo " + "word " * 50), DONE],
                columns=columns)
    s.type("go")
    s.keys("Enter")
    s.until(lambda t: "y yes" in t or "y/n/" in t)
    s.type("n")
    s.until("Stopped after")
    rows = [r for r in s.text(True).splitlines()
            if "word" in r or "Declined" in r]
    assert len(rows) == 1 and len(rows[0]) == columns
    assert re.fullmatch(r"\u23fa execute echo word .*\u2026 Declined\.",
                        rows[0])


def test_an_answered_question_leaves_one_line(live):
    s, _ = live([execute("true one"), execute("true two"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.type("y")
    s.until(lambda t: "true two" in t and "y yes" in t)
    s.type("w")
    s.until("No, because:")
    s.type("not that")
    s.keys("Enter")
    seen = s.until("done.")
    assert re.findall(".*true one.*", seen) == ["\u23fa execute true one"]
    assert re.findall(".*true two.*", seen) == \
        ["\u23fa execute true two Declined: not that"]
    assert "wants to run" not in seen and "User rejected" not in seen
    assert "with id" not in seen


WRITE = call("write_file", file_path="new.txt", content="x\n")
OUTSIDE = call("write_file", file_path="/tmp/dcode-not-there/x", content="x")


def test_shift_tab_accepts_edits_and_no_command(live, work):
    s, _ = live([WRITE, execute("touch made"),
                 call("write_file", file_path="two.txt", content="x\n"),
                 OUTSIDE, DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    assert "Shift+Tab all edits" in s.text()
    s.keys("BTab")
    s.until(ASKS)
    assert (work / "new.txt").exists()
    s.until("y yes")
    assert "Shift+Tab" not in s.text()
    s.keys("BTab")
    s.until("Shift+Tab allows edits")
    assert not (work / "made").exists()
    s.type("y")
    s.until("dcode-not-there")  # two.txt needed no question
    assert (work / "two.txt").exists() and (work / "made").exists()
    s.until("y yes")
    s.keys("BTab")
    s.until("Shift+Tab allows edits")
    s.keys("Escape")
    s.until("Stopped after")


def test_tab_opens_a_no_with_a_reason(live, work):
    s, server = live([execute("touch made"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.keys("Tab")
    s.until("No, because:")
    s.type("yes")
    s.keys("Enter")
    s.until("done.")
    assert not (work / "made").exists()
    assert "reason: yes" in json.dumps(server.requests[-1]["body"])


def test_a_half_written_message_answers_no_question_of_the_model(live):
    s, server = live([{**ask(CITY), "delay_ms": 1200}, {"text": "Thanks."}])
    draft_at_question(s, "at ", "Which city?")
    s.type("2 o'clock")
    s.keys("Enter")
    s.until("+ at 2 o'clock")
    assert len(server.requests) == 1
    s.type("1")
    s.keys("Down")
    s.until("> 1 Rome")
    assert len(server.requests) == 1
    s.keys("Down")
    s.until("> 2 Oslo")
    s.keys("Enter")
    s.until("Thanks.")
    told = json.dumps(server.requests[1]["body"]["messages"][-1])
    assert "A: Oslo" in told


def test_the_first_arrow_at_a_new_question_marks_its_first_choice(live):
    """Also while a single key does not answer yet."""
    s, server = live([{**ask(CITY), "delay_ms": 1200}, {"text": "Thanks."}])
    draft_at_question(s, "x", "Which city?")
    s.keys("BSpace")
    s.until("Keys answer in")
    s.keys("Down")
    s.until("> 1 Rome")
    s.keys("Enter")
    s.until("Thanks.")
    assert "A: Rome" in json.dumps(server.requests[1]["body"])


@pytest.mark.parametrize("columns, lines", SIZES)
def test_a_message_stays_visible_while_the_model_s_choices_have_the_keys(
        live, columns, lines):
    s, server = live([{**ask(CITY), "delay_ms": 1200}, {"text": "Thanks."}],
                     columns=columns, lines=lines, ready="this machine")
    draft_at_question(s, "mine", "Which city?")
    seen = s.until("\u276f mine")
    assert not re.search("^> ", seen, re.M)  # no choice has the keys
    s.keys("Up")
    seen = s.until("> in your own words")  # the row next to the message
    assert "\u276f mine" in seen and "Esc back to your message" in seen
    s.keys("Up")
    assert "\u276f mine" in s.until("> 2 Oslo")
    s.type("1")
    seen = s.until("\u276f mine1")
    assert not re.search("^> ", seen, re.M) and len(server.requests) == 1
    s.keys("Up", "Up")
    s.until("> 2 Oslo")
    s.keys("Escape")
    s.until("Up/Down: to the question")
    s.keys("Up", "Up", "Enter")
    s.until("Thanks.")
    assert "A: Oslo" in json.dumps(server.requests[1]["body"])
    assert "\u276f mine1" in s.text()


def test_the_mode_is_shown_beside_a_question_of_the_model(live):
    s, _ = live([{**ask(CITY), "delay_ms": 1200}, {"text": "Thanks."}])
    draft_at_question(s, "mine", "Which city?")
    s.keys("BTab")
    assert "Which city?" in s.until("\nauto-edit")


def test_the_program_s_own_question_waits_for_the_message(
        talk, dcode, home):
    """/yolo asks; what is typed meanwhile is a message."""
    c = begin(talk, {"turns": [{"text": "Hi."}], "repeat": True},
              "-M", "anthropic:m")
    if not c.screen:
        c.say("/yolo", "Allow it? [y/N]")
        c.say("please", "Please answer y or n.")
        c.say("y", "The mode is yolo.")
        return
    c.type("/yolo")
    c.keys("Enter")
    c.type("yes please")
    c.until("Allow it?")
    c.until(HINT)
    c.keys("Enter")
    c.until("+ yes please")
    time.sleep(0.3)
    assert "[y/N]" not in c.text()
    c.type("n")  # a new message
    c.keys("Up", "Enter")  # no
    c.until("Allow it? [y/N] no")
    c.until("Hi.")
    c.keys("C-u")
    c.say("/yolo", "Allow it? [y/N]", 2)
    c.type("y")
    c.until("The mode is yolo.")


@pytest.mark.parametrize("key, said", [
    ("y", "yes"), ("n", "no"), ("Enter", "no"), ("Escape", "no")])
def test_a_question_of_dcode_takes_one_key(live, key, said):
    s, _ = live([DONE])
    s.type("/yolo")
    s.keys("Enter")
    s.until("Allow it? [y/N]")
    s.keys(key)
    s.until(f"Allow it? [y/N] {said}")


def test_a_question_that_the_user_s_command_opens_is_answered_at_once(
        talk, dcode, home):
    c = begin(talk, HELLO, "-M", "anthropic:m")
    if not c.screen:
        return
    c.say("/yolo", "Allow it? [y/N]")
    time.sleep(0.35)  # as a quick reader
    c.type("y")
    c.keys("Enter")
    c.until("Allow it? [y/N] y")
    c.until("The mode is yolo.")
    assert not c.server.requests


def test_text_behind_an_arrow_key_begins_a_message(live, work):
    s, _ = live([LATER, DONE], ready="this machine")
    s.type("go")
    s.keys("Enter")
    s.until("waiting for")
    s.type("x")
    s.keys("BSpace")
    s.until(ASKS)
    time.sleep(0.35)
    s.tmux("send-keys", "Up")
    s.tmux("send-keys", "-l", "yes")
    s.until("yes")
    time.sleep(0.3)
    assert not (work / "made").exists()
    s.keys("Up", "Left", "Enter")  # the control: "yes" of the row
    s.until("done.")
    assert (work / "made").exists()


def test_in_lines_a_line_that_was_begun_before_is_a_message(live, work):
    s, server = live([LATER, DONE, DONE], args=["--plain"], ready="/quit")
    s.type("go")
    s.keys("Enter")
    time.sleep(0.6)
    s.type("y")
    s.until(ASKS)
    s.until("continue your message")
    s.keys("Enter")
    s.until("Allow it? [y/N]")
    assert not (work / "made").exists()
    s.type("y")
    s.keys("Enter")
    s.until("Sent into the running turn: y")
    s.until("done.")
    assert (work / "made").exists()
    said = [m for m in server.requests[-1]["body"]["messages"]
            if m["role"] == "user"][-1]
    assert said["content"][-1]["text"] == "y"


def test_in_lines_what_is_pasted_behind_a_begun_line_answers_nothing(
        live, work):
    s, server = live([LATER, DONE, DONE, DONE], args=["--plain"],
                     ready="/quit")
    s.type("go")
    s.keys("Enter")
    time.sleep(0.6)
    s.type("please")
    s.until("continue your message")
    s.tmux("send-keys", "-l", " look\ry\r")
    s.until("Allow it? [y/N]")
    time.sleep(0.5)
    assert not (work / "made").exists() and len(server.requests) == 1
    s.type("y")
    s.keys("Enter")
    s.until("done.")
    assert (work / "made").exists()
    sent = json.dumps(server.requests[-1]["body"])
    assert "please look" in sent and '"text": "y"' in sent


def test_in_lines_no_answer_counts_at_once(live, work):
    s, server = live([LATER, DONE, DONE], args=["--plain"], ready="/quit")
    s.type("go")
    s.keys("Enter")
    s.until(ASKS)
    s.tmux("send-keys", "y", "Enter")  # well within a quarter of a second
    s.until("Allow it? [y/N]")
    time.sleep(0.3)
    assert not (work / "made").exists() and len(server.requests) == 1
    s.type("y")
    s.keys("Enter")
    s.until("Sent into the running turn: y")
    s.until("done.")
    assert (work / "made").exists()


@pytest.mark.parametrize("policy", ["", MANUAL])
def test_shift_tab_answers_nothing_under_a_policy_of_manual(
        live, work, policy):
    s, _ = live([WRITE, DONE], policy=policy)
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.keys("BTab")
    s.until("requires dcode to ask about every edit" if policy else "done.")
    assert (work / "new.txt").exists() == (not policy)


def test_under_a_policy_of_manual_no_key_or_command_reaches_auto_edit(
        live, work):
    s, server = live([WRITE, DONE], policy=MANUAL)
    s.type("/auto-edit")
    s.keys("Enter")
    s.until("auto-edit is not allowed on this machine")
    s.until("The mode is manual.")
    s.keys("BTab")
    s.until(lambda t: "\nplan" in t and "\nauto-edit" not in t)
    s.keys("BTab")
    s.until(lambda t: "\nmanual" in t)
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    assert not (work / "new.txt").exists() and len(server.requests) == 1


def test_shift_tab_does_not_answer_for_a_hook_that_asks(live, work, home):
    ask = json.dumps({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "ask"}})
    (home / ".deepagents").mkdir(exist_ok=True)
    (home / ".deepagents" / "hooks.json").write_text(json.dumps(
        {"hooks": {"PreToolUse": [{"hooks": [
            {"type": "command", "command": f"echo '{ask}'"}]}]}}))
    s, _ = live([WRITE, DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.keys("BTab")
    s.until("A hook requires your answer")
    assert not (work / "new.txt").exists()
    s.type("y")
    s.until("done.")
    assert (work / "new.txt").exists()


def test_leaving_waits_for_a_whole_answer(live, work):
    """The question at the end of a chat whose sandbox has work."""
    (work / "a").write_text("1\n")
    s, _ = live([execute("echo 2 > a"), DONE], args=[
        "--sandbox", "local", "--workspace", "none"])
    s.type("go")
    s.keys("Enter")
    s.until("done.")
    s.type("/quit")
    s.keys("Enter")
    s.type("d")  # begun at once: a message
    s.until("keep it?")
    s.until(HINT)
    s.keys("Enter")
    s.until("Not sent: it looks like an answer")
    assert "terminated" not in s.text()
    s.type("k")
    s.until("\u276f dk")
    s.keys("Down")
    s.until("> back")
    s.keys("Left")
    s.until("> keep")
    s.keys("Enter")
    s.until("[D/s/k/Esc] keep")
    assert s.status() == 0


def test_what_a_project_brings_waits_for_the_message(live, work):
    """A hook of the repository is asked about while the chat opens."""
    os.mkdir(work / ".git")
    (work / ".deepagents").mkdir()
    (work / ".deepagents" / "hooks.json").write_text(json.dumps(
        {"hooks": {"SessionStart": [
            {"hooks": [{"type": "command", "command": "touch ran"}]}]}}))
    s, _ = live([DONE], ready="now on?")
    s.until("[y/N]")
    s.type("ye")
    s.keys("BSpace", "BSpace")
    s.until("Keys answer in")
    s.until("now on? [y/N]")
    assert not (work / "ran").exists()
    s.type("y")
    s.until("tools in")
    assert (work / "ran").exists()


def test_the_change_in_a_question_is_coloured(live, work):
    (work / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    s, _ = live([call("edit_file", file_path="calc.py", old_string="a - b",
                      new_string="a + b"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    rows = s.tmux("capture-pane", "-p", "-e").split("\n")
    changed = [row for row in rows if "2" in row and "return" in row]
    assert len(changed) == 2 and all("48;5;" in row or "48;2;" in row or
                                     "\x1b[4" in row for row in changed), rows
