"""test_unknown_tool.py - what a call of a tool that is not there is told."""
# SPDX-License-Identifier: MIT
from mcp_rig import offered, results

CALL = {"tool_calls": [{"name": "bash", "args": {"command": "ls"}}]}
HOW = ("-M", "anthropic:claude-sonnet-4-5")


def listed(server):
    text = results(server)[-1]
    inner = text[text.index("[") + 1:text.index("]")]
    return [name.strip() for name in inner.split(",")]


def test_only_tools_that_are_offered_are_listed(run, model):
    for flags in (("-y",), (), ("-S", "ls")):
        server = model([CALL, {"text": "done"}])
        r = run("-n", "go", *HOW, *flags)
        assert r.status == 0, r.err
        assert sorted(listed(server)) == sorted(offered(server))
    assert "ask_user" not in listed(server)


def test_a_subagents_own_tools_are_listed(run, model):
    task = {"tool_calls": [{"name": "task", "args": {
        "description": "x", "subagent_type": "general-purpose"}}]}
    server = model({"turns": [task, CALL, {"text": "a"}, {"text": "b"}],
                    "by": "count"})
    r = run("-n", "go", "-y", *HOW)
    assert r.status == 0, r.err
    body = server.requests[2]["body"]
    text = next(b["content"] for m in body["messages"]
                for b in m["content"] if b["type"] == "tool_result")
    inner = text[text.index("[") + 1:text.index("]")]
    names = sorted(n.strip() for n in inner.split(","))
    assert names == sorted(t["name"] for t in body["tools"])
    assert "task" not in names
