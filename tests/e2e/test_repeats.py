"""test_repeats.py - calls that fail again and again in the same way."""
# SPDX-License-Identifier: MIT
import json

import pytest

from mcp_rig import results
from slash_chat import talk  # noqa: F401

NOPE = {"name": "read_file", "args": {"file_path": "nope.txt"}}
BAD = {"name": "execute", "raw_args": '{"bad'}
FALSE = {"name": "execute", "args": {"command": "exit 7"}}
UNKNOWN = {"name": "bash", "args": {"command": "ls"}}
MISSING = {"name": "read_file", "args": {"path": 5}}


def call(*calls):
    return {"tool_calls": list(calls)}


@pytest.fixture
def ask(run, model):
    def to_end(turns, *flags):
        server = model({"turns": turns, "by": "count"})
        return run("-n", "go", "-y", "-M", "anthropic:claude-sonnet-4-5",
                   *flags), server
    return to_end


@pytest.mark.parametrize("what", [NOPE, BAD, FALSE, UNKNOWN, MISSING],
                         ids=["fails", "malformed", "exit", "unknown",
                              "wrong"])
def test_six_failures_of_one_call_end_a_task_with_status_5(ask, what):
    r, server = ask([call(what)] * 20, "--json")
    end = json.loads(r.out.splitlines()[-1])
    assert r.status == 5 and len(server.requests) == 6, r.err
    assert end["status"] == "repeated_calls" and end["exit_status"] == 5
    assert what["name"] in end["reason"] and "6 times" in end["reason"]
    assert what["name"] in r.err
    told = results(server)  # of five calls: the sixth was not sent
    assert ["3 times" in t for t in told] == [False] * 2 + [True] + [False] * 2
    assert ["4 times" in t for t in told][3] and "5 times" in told[4]
    r, _ = ask([call(what)] * 20, "-q")
    assert r.status == 5 and "6 times" in r.err


def test_white_space_and_other_ids_do_not_make_another_call(ask):
    turns = [call({"name": "read_file", "id": f"toolu_{i}",
                   "raw_args": '{"file_path":' + " " * i + '"nope.txt"}'})
             for i in range(20)]
    r, server = ask(turns)
    assert r.status == 5 and len(server.requests) == 6


def test_malformed_calls_of_one_tool_are_the_same_call(ask):
    r, server = ask([call({"name": "execute", "raw_args": '{"n%d' % i})
                     for i in range(20)])
    assert r.status == 5 and len(server.requests) == 6


def test_six_failures_within_one_answer_count(ask):
    r, server = ask([call(*[NOPE] * 6), {"text": "done"}])
    assert r.status == 5 and len(server.requests) == 1


def test_reading_between_them_changes_nothing(ask):
    look = {"name": "ls", "args": {"path": "/"}}
    r, server = ask([call(NOPE), call(look)] * 20)
    assert r.status == 5 and len(server.requests) == 11


def test_other_failing_calls_and_ones_that_do_something_go_on(ask):
    others = [call({"name": "read_file", "args": {"file_path": f"n{i}"}})
              for i in range(10)]
    r, server = ask([*others, {"text": "done"}])
    assert (r.status, r.out) == (0, "done\n"), r.err
    assert not any("times" in t for t in results(server))
    edits = [t for i in range(8) for t in (call(FALSE), call(
        {"name": "write_file", "args": {"file_path": f"f{i}",
                                        "content": "x"}}))]
    r, server = ask([*edits, {"text": "done"}])
    assert (r.status, r.out) == (0, "done\n"), r.err
    assert not any("times" in t for t in results(server))


def test_a_subagent_that_repeats_ends_and_its_caller_is_told(ask):
    task = {"name": "task", "args": {"description": "read",
                                     "subagent_type": "general-purpose"}}
    r, server = ask([call(task), *[call(NOPE)] * 6, {"text": "told"}])
    assert (r.status, r.out) == (0, "told\n"), r.err
    assert len(server.requests) == 8
    assert "did not finish" in results(server)[-1]
    assert "6 times" in results(server)[-1]


def test_a_chat_asks_and_goes_on_or_stops(talk):  # noqa: F811
    chat = talk({"turns": [call(NOPE)] * 6 + [{"text": "Went on."}] +
                 [call(NOPE)] * 6 + [{"text": "Next one."}], "by": "count"})
    chat.say("one")
    chat.until(lambda t: "6 times" in t and "continue anyway" in t)
    assert len(chat.server.requests) == 6
    if chat.screen:
        chat.keys("Down")
        chat.keys("Enter")
    else:
        chat.say("2")
    chat.until(lambda t: "Went on." in t)
    chat.say("two")
    chat.until(lambda t: len(chat.server.requests) == 13 and
               "continue anyway" in "".join(t.rstrip().splitlines()[-7:]))
    chat.keys("Enter") if chat.screen else chat.say("1")  # stop here
    chat.until(lambda t: "Tell it what to do instead" in t)
    chat.say("three", "Next one.")
    assert len(chat.server.requests) == 14
