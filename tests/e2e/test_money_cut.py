"""test_money_cut.py - what an interrupted answer holds back of the cap."""
# SPDX-License-Identifier: MIT
import json

from slash_chat import talk  # noqa: F401

PRICED = "anthropic:claude-opus-5"


def result(r):
    return json.loads(r.out.splitlines()[-1])


def test_a_cut_answer_leaves_the_cap_for_the_next_try(run, model):
    """Its full output limit would be most of the cap."""
    m = model([{"text": "Hello there, friend.", "fault": {
        "cut_after_bytes": 300}}])
    r = run("-n", "x", "-M", PRICED, "--max-usd", "1.1", "--json")
    end = result(r)
    assert (r.status, len(m.requests)) == (0, 2), r.err
    assert 0 < end["unclear_usd"] < 0.1
    assert "reserved for 1 interrupted answer" not in r.out
    r = run("-n", "x", "-M", PRICED, "--max-usd", "1.1")
    assert r.status == 0 and "reserved" not in r.err  # none was cut


def test_the_message_names_what_is_held_back_and_why(run, model):
    m = model([{"text": "Hello there, friend.", "fault": {
        "cut_after_bytes": 300, "times": 50}}])
    r = run("-n", "x", "-M", PRICED, "--max-usd", "0.3", "--max-retries",
            "9")
    assert r.status in (1, 124) and len(m.requests) > 2
    r = run("-n", "x", "-M", PRICED, "--max-usd", "0.1", "--max-retries",
            "9")
    assert r.status == 124, r.err
    assert "is reserved for" in r.err
    assert "interrupted answer" in r.err and "of unknown cost" in r.err
    assert "Cost: " in r.err and "reserved" in r.err.split("Cost: ")[1]


def test_esc_does_not_eat_the_cap(talk):  # noqa: F811
    slow = {"text": "word " * 4000, "chunk_bytes": 200, "chunk_delay_ms": 50}
    chat = talk({"turns": [slow, {"text": "Hello there."}], "by": "count"},
                "-M", PRICED, "--max-usd", "1.1")
    if not chat.screen:
        return  # Ctrl-C there: the same road
    chat.say("one")
    chat.until("word word")
    chat.keys("Escape")
    chat.until("Interrupted")
    chat.say("two", "Hello there.")
    assert len(chat.server.requests) == 2
    chat.say("/cost", "reserved for 1 interrupted answer")
