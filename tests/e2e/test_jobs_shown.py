"""test_jobs_shown.py - ends of background commands, seen at the prompt."""
# SPDX-License-Identifier: MIT
import json
import sqlite3
import time

import pytest

from clouds import DONE
from lifecycle import execute, wait_for
from test_live_chat import live  # noqa: F401 (a fixture)

# pylint: disable=redefined-outer-name

WAITS = "touch waits; until [ -e go ]; do sleep 0.05; done; exit 3"
ENDED = "job 1 ended with exit code 3 after"
A = ("-y", "--sandbox")


def job(command=WAITS):
    return execute(command, background=True)


def end_job(*tops):
    """Below one of these directories it waits."""
    found = []
    wait_for(lambda: found.extend(p for t in tops for p in t.rglob("waits"))
             or found)
    found[0].with_name("go").touch()


def say(s, text, wanted):
    s.type(text)
    s.keys("Enter")
    return s.until(wanted, scrollback=True)


def last(server):
    return server.requests[-1]["body"]["messages"][-1]["content"]


@pytest.mark.parametrize("where", ["local", "none", "e2b"])
def test_an_end_is_shown_above_what_is_being_typed(
        where, live, home, vendor):  # noqa: F811
    cloud = vendor(where) if where == "e2b" else None
    s, server = live([job(), {"text": "It runs."}, {"text": "I see."}],
                     (*A, where), ready="tools in")
    say(s, "go", "It runs.")
    s.type("a draft")
    s.until("a draft")
    end_job(home.parent, *(b.box.root for b in cloud.boxes.values())
            if cloud else ())
    began = time.monotonic()
    seen = s.until(ENDED)
    assert time.monotonic() - began < 10
    assert seen.index("It runs.") < seen.index(ENDED) < seen.index("a draft")
    assert len(server.requests) == 2
    s.keys("Enter")
    seen = s.until("I see.", scrollback=True)
    assert seen.count(ENDED) == 1, seen
    assert last(server)[0]["text"].startswith(f"a draft\n\n[{ENDED}")


def test_an_end_while_the_model_answers_is_shown_after_the_answer(
        live, home):  # noqa: F811
    s, server = live([job(), {"text": "It runs.", "delay_ms": 1500},
                      {"text": "I see."}], (*A, "none"), ready="tools in")
    s.type("go")
    s.keys("Enter")
    wait_for(lambda: len(server.requests) == 2)
    end_job(home.parent)
    seen = s.until(ENDED)
    assert seen.index("It runs.") < seen.index(ENDED)
    seen = say(s, "and?", "I see.")
    assert seen.count(ENDED) == 1, seen
    assert ENDED in json.dumps(last(server))


def test_who_kills_a_command_is_not_told_again(live):  # noqa: F811
    s, server = live([job("sleep 86.5"), {"text": "It runs."},
                      {"text": "I see."}], (*A, "local"), ready="tools in")
    say(s, "go", "It runs.")
    say(s, "/jobs kill 1", "was killed after")
    seen = say(s, "and?", "I see.")
    assert seen.count("was killed after") == 1, seen
    assert "[job 1 was killed after" in json.dumps(last(server))


def test_an_end_while_dcode_was_away_is_shown_when_the_chat_begins(
        live, run, model, home):  # noqa: F811
    model([job("sleep 86.5"), DONE])
    r = run("-n", "go", "-M", "anthropic:m", *A, "none")
    assert r.status == 0, r.err
    with sqlite3.connect(home / ".deepagents/.state/dcode.db") as db:
        thread, = db.execute("SELECT id FROM thread").fetchone()
    s, server = live({"turns": [{"text": "I see."}], "repeat": True,
                      "by": "count"}, (*A, "none", "-r", thread),
                     ready="job 1 stopped when dcode exited: sleep 86.5")
    assert not server.requests
    seen = say(s, "and?", "I see.")
    assert seen.count("job 1 stopped when dcode exited") == 1, seen
    assert "[job 1 stopped when dcode exited" in json.dumps(last(server))
