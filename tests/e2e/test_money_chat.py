"""test_money_chat.py - the cap and the cost in both kinds of chat."""
# SPDX-License-Identifier: MIT
import json

import pytest

import slash_chat
from slash_chat import HELLO, OTHER, talk  # noqa: F401

pytestmark = pytest.mark.usefixtures("sandbox_at_start")

PRICED = ("-M", "anthropic:claude-opus-5")
DEAR = {"turns": [{"text": "Hello there.",
                   "usage": {"input": 1000, "output": 15000}}],
        "repeat": True, "by": "count"}


def test_a_chat_asks_at_the_cap_and_goes_on(talk):  # noqa: F811
    chat = talk(DEAR, *PRICED, "--max-usd", "0.4")
    chat.say("one", "Hello there.")
    assert len(chat.server.requests) == 1
    chat.say("two")
    chat.until(lambda t: "of $0.40" in t and "raise the cap to $0.80" in t)
    assert len(chat.server.requests) == 1
    if chat.screen:
        chat.keys("Down", "Up", "Up", "Up")  # held: never the row that costs
        chat.until("\n> stop here")
        chat.keys("Down", "Enter")
    else:
        chat.say("2")
    chat.until(lambda _: len(chat.server.requests) == 2)
    chat.until(lambda t: t.count("Hello there.") == 2)
    chat.say("/cost", "of $0.80")


def test_a_user_who_stops_at_the_cap_keeps_his_chat(talk):  # noqa: F811
    chat = talk(DEAR, *PRICED, "--max-usd", "0.4")
    chat.say("one", "Hello there.")
    chat.say("two")
    chat.until(lambda t: "raise the cap to $0.80" in t)
    chat.keys("Escape") if chat.screen else chat.keys("Enter")
    chat.until(lambda t: "(--max-usd)" in t)
    assert len(chat.server.requests) == 1
    chat.say("/cost", "Cost: $0.38 of $0.40")


# -- a sandbox that costs while nobody types -----------------------------------
# It uses up $2.00 in 57 s, and 45 of them are kept for saving and deleting: so
# the question comes at once, and is open for 12 s.

COSTS = OTHER + """
[sandboxes.providers.local]
usd_per_hour = 126.3
"""
IDLE = (*PRICED, "--max-usd", "2", "--sandbox", "local", "--workspace", "none")


def begin_idle(talk, monkeypatch, script=HELLO):
    monkeypatch.setattr(slash_chat, "OTHER", COSTS)
    chat = talk(script, *IDLE)
    chat.until(lambda t: "The running sandbox uses up --max-usd: " in t and
               "raise the cap to $4.00" in t and "leave the chat" in t)
    return chat


def test_an_idle_chat_asks_before_its_sandbox_passes_the_cap(
        talk, monkeypatch):  # noqa: F811
    chat = begin_idle(talk, monkeypatch)
    chat.keys("Down" if chat.screen else "2", "Enter")
    chat.until(lambda t: "raise the cap to $4.00" not in t if chat.screen else
               t.rstrip().endswith(">"))
    chat.say("hi", "Hello there.")
    chat.say("/cost", "of $4.00")


def test_a_user_who_leaves_at_the_cap_leaves_no_sandbox(
        talk, monkeypatch, run):  # noqa: F811
    chat = begin_idle(talk, monkeypatch)
    chat.keys(*([] if chat.screen else ["1"]), "Enter")
    assert chat.status() == 124
    seen = " ".join(chat.text(scrollback=True).split())
    assert "chat ended: --max-usd" in seen
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


def test_a_question_that_nobody_answers_ends_the_chat(
        talk, monkeypatch, run):  # noqa: F811
    chat = begin_idle(talk, monkeypatch)
    chat.type("half a message")
    assert chat.status() == 124
    seen = " ".join(chat.text(scrollback=True).split())
    assert "chat ended: --max-usd" in seen and "Cost: $" in seen
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []
