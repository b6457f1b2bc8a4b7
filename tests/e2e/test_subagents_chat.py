"""test_subagents_chat.py - several subagents and one user; what each of their
own sandboxes is asked about, and gives back."""
# SPDX-License-Identifier: MIT
import re
import time

from test_live_chat import live  # noqa: F401
from test_subagents import (  # noqa: F401
    BOX, DONE, MODEL, agent, await_requests, call, results, script, shell,
    talk, task, tree)

# pylint: disable=redefined-outer-name


def test_questions_about_a_file_and_about_a_call_take_turns(
        live, home, agent):
    agent("cheap", MODEL, project=True)
    s, server = live(script([task("job q"), task("job t", "cheap")], {
        "job q": [shell("echo x > made"), {"text": "q"}],
        "job t": [{"text": "t"}]}))
    s.type("go")
    s.keys("Enter")
    s.until("Allow it, now and from now on?")
    await_requests(server, 2)
    time.sleep(0.5)  # the other question comes meanwhile, and must not show
    s.type("y")
    s.keys("Enter")
    s.until(lambda t: re.search(
        r"general-purpose \d: execute wants to run", t))
    s.until("y yes")
    assert not (home.parent / "work" / "made").exists()
    s.type("y")
    s.until("all done")
    assert results(server) == ["q", "t"]
    assert (home.parent / "work" / "made").exists()
    assert talk(server, "job t")[0]["model"] == "claude-haiku-4-5"


def test_a_call_in_a_sandbox_of_its_own_is_judged_by_its_files(
        live, home, tree, agent):
    agent("lone", "description: D\nsandbox: own")
    (home / ".deepagents").mkdir(exist_ok=True)
    (home / ".deepagents" / "config.toml").write_text(
        "[approvals]\nsandbox = \"ask\"\n")
    s, server = live(script([task("job own", "lone")], {"job own": [
        shell("printf 'its two\\n' > a.txt"),
        {"tool_calls": [call("edit_file", file_path="a.txt",
                             old_string="two", new_string="three")]},
        {"text": "did it"}]}), args=BOX[2:])
    s.type("go")
    s.keys("Enter")
    s.until("lone 1: execute wants to run")
    s.until("y yes")
    s.type("y")
    s.until("lone 1: edit_file wants to run")
    s.until("| +its three")
    s.type("y")
    s.until("all done")
    assert "Merged into your files:\nM a.txt" in results(server)[0]
