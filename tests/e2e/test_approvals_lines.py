"""test_approvals_lines.py - the question before a call, in a chat of lines."""
# SPDX-License-Identifier: MIT
import json
import time

from test_approvals import THREE, work  # noqa: F401
from test_live_chat import DONE, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name

ASKS = "Allow it? [y/N]"


def plain(live, turns, **more):
    s, server = live(turns, args=["--plain"], ready="/quit", **more)
    s.type("go")
    s.keys("Enter")
    s.until(ASKS)
    return s, server


def reply(s, text):
    s.type(text)
    s.keys("Enter")


def test_the_end_of_input_is_a_no_without_another_request(live, work):
    s, server = plain(live, [execute("touch made"), DONE])
    s.keys("C-d")
    assert s.status() == 0
    assert not (work / "made").exists()
    assert len(server.requests) == 1


def test_a_no_in_lines_is_told_and_may_have_a_reason(live, work):
    s, server = plain(live, [execute("touch made"), execute("touch made"),
                             DONE])
    reply(s, "n")
    s.until(lambda t: t.count(ASKS) == 2)
    reply(s, "n use make instead")
    s.until("done.")
    assert not (work / "made").exists()
    assert len(server.requests) == 3
    assert "reason: use make instead" in json.dumps(
        server.requests[-1]["body"])


def test_in_lines_a_call_is_allowed_always_and_changed(live, work, env):
    env["EDITOR"] = "sed -i s/a/b/"
    one = execute("echo a >> log")
    s, _ = plain(live, [one, one, DONE])
    reply(s, "e")
    s.until("as you changed it")
    s.until(lambda t: t.rstrip().endswith(ASKS))
    reply(s, "y")
    s.until(lambda t: t.count("execute wants") == 3 and
            t.rstrip().endswith(ASKS))
    reply(s, "a")
    s.until("done.")
    assert (work / "log").read_text() == "b\na\n"


def test_in_lines_the_calls_of_an_answer_are_allowed_together(live, work):
    s, server = plain(live, [THREE, DONE])
    reply(s, "all")
    seen = s.until(lambda t: t.count(ASKS) == 2)
    assert "(2 of 3)" in seen and "(3 of 3)" in seen
    assert not (work / "log").exists()
    reply(s, "y")
    s.until("done.")
    assert (work / "log").read_text() == "a\nb\nc\n"
    assert len(server.requests) == 2


def test_what_no_answer_is_changes_nothing(live, work):
    s, _ = plain(live, [execute("touch made"), DONE])
    for word in ("x", "one", "all", "yy"):
        reply(s, word)
        time.sleep(0.2)
    assert not (work / "made").exists()
    reply(s, "Y")
    s.until("done.")
    assert (work / "made").exists()
