"""test_money_chat.py - the cap and the cost in both kinds of chat."""
# SPDX-License-Identifier: MIT
from slash_chat import talk  # noqa: F401

PRICED = ("-M", "anthropic:claude-opus-5")
DEAR = {"turns": [{"text": "Hello there.",
                   "usage": {"input": 1000, "output": 15000}}],
        "repeat": True, "by": "count"}


def test_a_chat_asks_at_the_cap_and_goes_on(talk):  # noqa: F811
    chat = talk(DEAR, *PRICED, "--max-usd", "0.4")
    chat.say("one", "Hello there.")
    assert len(chat.server.requests) == 1
    chat.say("two")
    chat.until(lambda t: "of $0.40" in t and "go on to $0.80" in t)
    assert len(chat.server.requests) == 1
    if chat.screen:
        chat.keys("Enter")
    else:
        chat.say("1")
    chat.until(lambda _: len(chat.server.requests) == 2)
    chat.until(lambda t: t.count("Hello there.") == 2)
    chat.say("/cost", "of $0.80")


def test_a_user_who_stops_at_the_cap_keeps_his_chat(talk):  # noqa: F811
    chat = talk(DEAR, *PRICED, "--max-usd", "0.4")
    chat.say("one", "Hello there.")
    chat.say("two")
    chat.until(lambda t: "go on to $0.80" in t)
    chat.keys("Escape") if chat.screen else chat.keys("Enter")
    chat.until(lambda t: "(--max-usd)" in t)
    assert len(chat.server.requests) == 1
    chat.say("/cost", "Cost: $0.38 of $0.40")
