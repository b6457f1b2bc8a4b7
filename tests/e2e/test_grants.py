"""test_grants.py - calls that were allowed for the session, in a sandbox."""
# SPDX-License-Identifier: MIT
import re

from test_approvals import call, config, go
from test_live_chat import DONE, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name


def test_always_in_a_sandbox_is_for_that_one_and_outlasts_a_switch(
        live, env):
    config(env, "[approvals]\nsandbox = \"ask\"\n")
    one = execute("echo a >> log")
    s, _ = live([one, DONE, one, DONE, one, DONE],
                ("--sandbox", "local", "--keep"))
    seen = go(s)
    box = re.search(r"sandbox \(local ([^ )]+)\)", seen).group(1)
    s.keys("a")
    s.until("a again")
    s.keys("a")
    s.until("done.")
    s.type("/sandbox switch local")
    s.keys("Enter")
    s.until("now run in a sandbox of local")
    seen = go(s)  # another one: asked about again
    assert box not in seen.split("wants to")[-1]
    s.keys("y")
    s.until(lambda t: t.count("done.") == 2, True)
    s.type(f"/sandbox switch local {box}")
    s.keys("Enter")
    s.until(lambda t: t.count("now run in a sandbox of local") == 2, True)
    s.type("go")
    s.keys("Enter")
    s.until(lambda t: t.count("done.") == 3, True)  # without a question


def test_a_file_that_is_written_unasked_is_shown_as_its_change(live):
    s, _ = live([call("write_file", file_path="f", content="one\ntwo\n"),
                 call("write_file", file_path="f", content="one\n2\n"), DONE],
                ("--sandbox", "local"))
    s.type("go")
    s.keys("Enter")
    seen = s.until("done.")
    assert "2 + two" in seen  # of the new file
    assert "2 - two" in seen and "2 + 2" in seen
