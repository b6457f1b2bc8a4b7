"""test_mcp_forms.py - .mcp.json as people have it, and texts as servers cut
them."""
# SPDX-License-Identifier: MIT
import json

import pytest

from mcp_rig import calls, offered, results
from test_mcp import mcp, task  # noqa: F401 (a fixture)

NOBODY = "http://127.0.0.1:1/mcp"  # refuses each connection


def states(run):
    data = json.loads(run("mcp", "test", "--json").out)["data"]
    return {s["name"]: (s["state"], s.get("error") or "") for s in data}


def test_remote_servers_are_named_as_other_programs_name_them(
        mcp, run):  # noqa: F811
    entries = {
        "camel": {"type": "streamableHttp", "url": NOBODY},
        "upper": {"type": "SSE", "url": NOBODY},
        "windsurf": {"serverUrl": NOBODY},
        "gemini": {"httpUrl": NOBODY, "headers": None},
    }
    mcp.own(**entries, none={"address": NOBODY})
    seen = states(run)
    for name in entries:
        assert "connect" in seen[name][1], (name, seen[name])
    assert "neither" in seen["none"][1]


def test_a_local_server_is_off_or_has_members_of_others(
        mcp, run):  # noqa: F811
    entry = mcp.entry()
    mcp.own(off={**entry, "disabled": True}, no={**entry, "enabled": False},
            on={**entry, "disabled": False, "enabled": True, "timeout": 60,
                "alwaysAllow": ["add"], "description": "d"},
            null={"command": entry["command"], "args": entry["args"],
                  "env": None, "url": None})
    seen = states(run)
    assert {n: s[0] for n, s in seen.items()} == {
        "off": "off", "no": "off", "on": "ready", "null": "ready"}
    assert mcp.starts() == 1  # the one of "null" has no log


def test_a_server_starts_where_its_entry_says_and_is_allowed_by_nothing_in_it(
        mcp, model, run):  # noqa: F811
    for top in (mcp.home, mcp.work):
        (top / "sub").mkdir()
    mcp.own(mine={**mcp.entry(), "cwd": "~/sub", "alwaysAllow": ["add"],
                  "disabledTools": []}, gone={**mcp.entry(), "cwd": "~/none"})
    mcp.project(theirs={**mcp.entry(), "cwd": "sub", "trust": True},
                out={**mcp.entry(), "cwd": "/", "autoApprove": ["*"]})
    m = model(calls("mine_look"))
    r = task(run, "--trust-project-mcp")
    assert r.status == 0 and results(m) == ["looked"], r.err
    assert offered(m) == [n for n in offered(m) if not n.endswith("_add")]
    assert sorted(line.split()[2] for line in mcp.lines()
                  if line.startswith("start ")) == sorted(
        map(str, [mcp.home / "sub", mcp.work, mcp.work / "sub"]))
    assert f"its \"cwd\" is not a directory: {mcp.home}/none" in r.err
    for words in ('mine: "alwaysAllow" in', 'theirs: "trust" in',
                  'out: "autoApprove", "cwd" in'):
        assert words in r.err, r.err


@pytest.mark.parametrize("change, words", [
    (lambda t: "\ufeff" + t, None),
    (lambda t: t.replace("\n", "\r\n"), None),
    (lambda t: t.replace('"args"', '// the rest\n"args"'), "line 5 is not"),
    (lambda t: t.replace("}\n }", "},\n }"), "line 12 is not"),
    (lambda t: t.replace("LOG", "L\udcff"), "it is not UTF-8"),
])
def test_a_file_of_an_editor_is_read_or_the_line_of_its_fault_told(
        mcp, run, change, words):  # noqa: F811
    path = mcp.own(srv=mcp.entry())
    text = change(json.dumps({"mcpServers": {"srv": mcp.entry()}}, indent=1))
    path.write_bytes(text.encode(errors="surrogateescape"))
    r = run("mcp", "list")
    assert ("srv: " in r.out) == (words is None), (text, r.out, r.err)
    assert not words or words in r.err, (text, r.err)


def test_half_an_emoji_and_nul_do_not_cost_the_answer(
        mcp, model, run):  # noqa: F811
    mcp.own(srv=mcp.entry("cut_pair"))
    m = model(calls("srv_look"))
    assert task(run).status == 0
    assert results(m) == ["looked \ufffd, \U0001f600, \ufffd, \\ud83d"]
