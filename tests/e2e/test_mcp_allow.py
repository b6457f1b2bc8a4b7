"""test_mcp_allow.py - what a pattern of [mcp] allow stands for, and names."""
# SPDX-License-Identifier: MIT
import json

import pytest

from mcp_rig import calls, offered, results
from test_live_chat import live  # noqa: F401
from test_mcp import mcp, task  # noqa: F401

# pylint: disable=redefined-outer-name


def allow(config, *patterns):
    config(f"[mcp]\nallow = {json.dumps(patterns)}\n")


def adds(m):
    """Which tools named add were offered without a question."""
    return [n for n in offered(m) if "_add" in n]


@pytest.mark.parametrize("pattern, names", [
    ("git/add", ["git_add"]), ("git/*", ["git_add"]),
    ("git*/add", ["git_add", "git_evil_add"]),
    ("*/add", ["git_add", "git_evil_add"]), ("*/*",
                                             ["git_add", "git_evil_add"]),
    ("git_evil/add", ["git_evil_add"]),
    # One that is no pair counts for the one server that it can mean.
    ("git_a*", ["git_add"]), ("git_*", ["git_add"]),
    ("git_evil_*", []), ("git_evil_add", []), ("*", []), ("*_add", []),
    ("g*_add", []), ("git", []), ("add", []), ("other_add", []),
    ("git/look", []), ("evil/add", []), ("/add", []), ("git/", [])])
def test_server_and_tool_are_matched_apart(mcp, model, run, config, pattern,
                                           names):
    mcp.own(git=mcp.entry(), git_evil=mcp.entry())
    allow(config, pattern)
    m = model(calls("ls"))
    r = task(run)
    assert adds(m) == names, (pattern, r.err)
    quiet = "/" in pattern or bool(names)
    assert ("does not match any of your servers" in r.err) != quiet, r.err


@pytest.mark.parametrize("pattern, counts", [
    ("git/add", True), ("git/*", True), ("*/add", False), ("g*/add", False),
    ("git_add", False), ("git_*", False), ("*", False), ("[g]it/add", False)])
def test_a_projects_server_counts_only_where_it_is_named(
        mcp, model, run, config, pattern, counts):
    mcp.project(git=mcp.entry())
    allow(config, pattern)
    m = model(calls("ls"))
    task(run, "--trust-project-mcp")
    assert adds(m) == (["git_add"] if counts else [])


def test_a_projects_server_with_the_name_of_ones_own_does_not_count(
        mcp, model, run, config):
    mcp.own(git=mcp.entry())
    mcp.project(git=mcp.entry())
    allow(config, "git/*", "git_*")
    m = model(calls("ls"))
    task(run, "--trust-project-mcp")
    assert adds(m) == []
    m = model(calls("ls"))  # the control: one's own, which is left then
    task(run)
    assert adds(m) == ["git_add"]


@pytest.mark.parametrize("name", ["my server", "a.b", "My Files v2.0"])
def test_a_name_may_hold_blanks_and_dots(mcp, model, run, config, name):
    mcp.own(**{name: mcp.entry()})
    allow(config, f"{name}/add")
    m = model(calls("ls"))
    r = task(run)
    assert r.status == 0 and len(adds(m)) == 1, r.err
    m = model(calls(adds(m)[0], a=1, b=2))
    assert task(run).status == 0 and results(m) == ["sum: 3"]
    assert run("mcp", "test", name).status == 0
    assert name in run("mcp", "list").out
    config(f"[mcp]\ndisabled_servers = {json.dumps([name])}\n")
    m = model(calls("ls"))
    task(run)
    assert not adds(m)


@pytest.mark.parametrize("name", [" a", "a ", ".", "..", " ", "a/b", "a\tb",
                                  "a\x1bb", "ä", "x" * 65, ""])
def test_other_names_are_refused(mcp, model, run, name):
    mcp.own(**{name: mcp.entry(), "good": mcp.entry()})
    m = model(calls("ls"))
    r = task(run, "-y")
    assert "its name may have at most" in r.err
    assert adds(m) == ["good_add"]


def test_hooks_name_such_a_server_with_underscores(mcp, model, run):
    mcp.own(**{"my server": mcp.entry()})
    hooks = mcp.home / ".deepagents/hooks.json"
    hooks.write_text(json.dumps({"hooks": {"PreToolUse": [
        {"matcher": "mcp__my_server__add",
         "hooks": [{"type": "command", "command": "exit 2"}]}]}}))
    m = model(calls("ls"))
    task(run, "-y")
    m = model(calls(adds(m)[0], a=1, b=2))
    task(run, "-y")
    assert "sum" not in results(m)[0]


@pytest.mark.parametrize("words", ["my server", '"my server"'])
def test_the_chat_takes_such_a_name(mcp, live, words):
    mcp.own(**{"my server": mcp.entry()})
    s, _ = live([{"text": "done."}], args=["--plain"], ready="/quit")
    s.type(f"/mcp reconnect {words}")
    s.keys("Enter")
    s.until(lambda t: mcp.starts() == 2)
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0
