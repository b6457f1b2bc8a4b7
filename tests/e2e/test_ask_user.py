"""test_ask_user.py - the model asks, in both chats and without a user."""
# SPDX-License-Identifier: MIT
import json

import pytest

from slash_chat import begin, on_screen, talk  # noqa: F401 (a fixture)


def ask(*questions):
    return {"tool_calls": [{"name": "ask_user",
                            "args": {"questions": list(questions)}}]}


NAME = {"question": "Which \x1b[7mname?", "type": "text"}
CITY = {"question": "Which city?", "type": "multiple_choice",
        "choices": [{"value": "Rome"}, {"value": "Oslo"}]}
SOME = {**CITY, "type": "multi_select"}
A = ("-M", "anthropic:m")


def turns(*questions):
    return {"turns": [ask(*questions), {"text": "Thanks."}], "repeat": True}


def told(server, n=-1):
    result = server.requests[n]["body"]["messages"][-1]["content"][0]
    return result["content"], result.get("is_error", False)


def until_asked(c, n):
    """The question is there, and keys answer it."""
    c.until(f"The model asks (1 of {n})")
    c.until("Esc declines" if c.screen else "(Enter declines):")


def server_told(c):
    return len(c.server.requests) > 1


def offered(server):
    return "ask_user" in json.dumps(server.requests[0]["body"]["tools"])


def test_without_a_user_it_is_not_offered_and_refused(run, model):
    server = model(turns(NAME))
    r = run("-n", "go", "--json", *A)
    assert r.status == 0 and not offered(server)
    assert "nobody can answer" in told(server)[0] and told(server)[1]
    assert "nobody can answer" in r.err + r.out


@pytest.mark.parametrize("question, keys, wanted", [
    (NAME, "Bob", "A: Bob"), (CITY, "Paris", "A: Paris"),
    (SOME, None, 'A: ["Rome", "Oslo"]')], ids=["text", "own", "several"])
def test_an_answer_reaches_the_model(talk, question, keys, wanted):
    c = begin(talk, turns(question))
    c.say("go")
    until_asked(c, 1)
    if keys is None:
        keys = "12" if c.screen else "2, 1"
    elif c.screen and question is CITY:
        c.keys(*["Down"] * 9)  # it ends at the own words
    c.say(keys, "Thanks.")
    assert wanted in told(c.server)[0] and not told(c.server)[1]
    assert c.text().count(wanted) == (1 if c.screen else 0)


def test_a_user_declines_and_the_turn_goes_on(talk):
    c = begin(talk, turns(NAME, CITY))
    c.say("go")
    until_asked(c, 2)
    c.keys("Escape" if c.screen else "Enter")
    c.until("Thanks.")
    assert told(c.server)[0].count("A: (cancelled)") == 2
    assert "The user declined to answer." in told(c.server)[0]
    assert "Do not ask the same" not in c.text()  # that is for the model
    assert not c.screen or "You did not answer." in c.text()
    c.say("again")
    c.until(lambda t: t.count("The model asks (1 of 2)") == 1 + (
        not c.screen))


@on_screen
@pytest.mark.parametrize("first", [NAME, CITY], ids=["typed", "chosen"])
def test_escape_loses_no_answer_without_a_word(talk, first):
    c = begin(talk, turns(first, SOME))
    c.say("go")
    until_asked(c, 2)
    c.type("Bob" if first is NAME else "1")
    c.until("> Bob" if first is NAME else "(2 of 2)")
    c.keys("Escape")
    c.until("Esc again declines, without your answers.")
    assert not server_told(c)
    c.keys("Tab", "Escape")  # another key between them
    c.until("Esc again declines, without your answers.")
    c.keys("Escape")
    c.until("Thanks.")
    assert told(c.server)[0].count("A: (cancelled)") == 2


@on_screen
def test_the_row_of_a_question_s_call_comes_with_its_answer(talk):
    c = begin(talk, turns(CITY))
    c.say("go")
    until_asked(c, 1)
    assert "ask_user" not in c.text()
    c.keys("2")
    c.until("Thanks.")
    assert "ask_user" in c.text()


def test_ctrl_c_stops_the_question_and_the_turn(talk):
    c = begin(talk, turns(CITY))
    c.say("go")
    c.until("The model asks (1 of 1)")
    c.keys("C-c")
    c.until("Interrupted")
    c.say("go on", "Thanks.")
    assert "cancelled" in json.dumps(c.server.requests[1]["body"]["messages"])


@on_screen
def test_what_is_being_typed_answers_no_question(talk):
    slow = turns(CITY)
    slow["turns"][0]["delay_ms"] = 500
    c = begin(talk, slow)
    c.say("go")
    c.type("a message")  # before the question comes
    c.until("The model asks (1 of 1)")
    c.keys("2")
    c.until("a message2")  # the draft
    assert not server_told(c)
    c.keys("C-u")
    until_asked(c, 1)  # once that was left alone
    c.keys("2")
    c.until("Thanks.")
    assert "A: Oslo" in told(c.server)[0]


def test_in_lines_what_was_typed_ahead_answers_no_question(talk):
    slow = turns(CITY)
    slow["turns"][0]["delay_ms"] = 700
    c = begin(talk, slow)
    if c.screen:
        return  # the test above
    c.say("go")
    c.say("1")  # typed ahead: the next message
    until_asked(c, 1)
    c.say("2")
    c.until(lambda _: len(c.server.requests) > 1)
    assert "A: Oslo" in told(c.server, 1)[0]
