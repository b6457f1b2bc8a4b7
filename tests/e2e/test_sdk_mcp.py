"""test_sdk_mcp.py - the official MCP servers, over both transports."""
# SPDX-License-Identifier: MIT
import contextlib
import json
import re
import socket
import subprocess

import pytest

from mcp_rig import Mcp, offered, results, wait_for
from sdk import node_of


@pytest.fixture
def mcp(home, tmp_path):
    return Mcp(home, tmp_path / "work")


def script_of(top, name):
    return str(top / "tests" / "sdk" / "node_modules" /
               "@modelcontextprotocol" / name / "dist" / "index.js")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(params=["stdio", "http", "sse"])
def everything(request, top, tmp_path):
    """The entry of server-everything, and what it has printed over HTTP."""
    node, script = str(node_of(top)), script_of(top, "server-everything")
    if request.param == "stdio":
        yield {"command": node, "args": [script, "stdio"]}, lambda: None
        return
    port, log = free_port(), tmp_path / "everything.log"
    with open(log, "w", encoding="utf-8") as out:
        p = subprocess.Popen(
            [node, script, "sse" if request.param == "sse" else
             "streamableHttp"], stdout=out, stderr=out,
            env={"PORT": str(port)})
    path = "sse" if request.param == "sse" else "mcp"
    try:
        assert wait_for(lambda: str(port) in log.read_text())
        yield ({"type": request.param,
                "url": f"http://127.0.0.1:{port}/{path}"},
               log.read_text if path == "mcp" else lambda: None)
    finally:
        p.terminate()
        p.wait()


CALLS = [
    ("echo", {"message": "h\u00e9llo"}, "h\u00e9llo"),
    ("get-sum", {"a": 20, "b": 22}, "42"),
    ("get-tiny-image", {}, "[image: shown after this result]"),
    ("get-structured-content", {"location": "New York"}, "temperature"),
    ("get-resource-links", {"count": 2}, "[resource "),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 1},
     "[resource "),
    ("trigger-long-running-operation", {"duration": 1, "steps": 3},
     "completed"),
    ("get-sum", {"a": "x"}, "Input validation error"),
]


def test_server_everything(mcp, everything, model, run):
    entry, log = everything
    mcp.own(every=entry)
    m = model([{"tool_calls": [{"name": f"every_{name}", "args": args}
                               for name, args, _ in CALLS]}, {"text": "done"}])
    r = run("-n", "hi", "-M", "anthropic:m", "-y")
    assert r.status == 0, r.err
    assert "every_echo" in offered(m) and not m.violations
    for (name, _, words), text in zip(CALLS, results(m)):
        assert words in text, (name, text)
    assert '"image/png"' in json.dumps(m.requests[-1]["body"])
    if log():
        assert len(re.findall("Session initialized", log())) == 1
        assert wait_for(lambda: "termination request" in log())


@pytest.fixture
def bridge(top, tmp_path):
    """bridge(*command) -> the entry of tests/sdk/mcp_bridge.mjs, its log."""
    with contextlib.ExitStack() as stack:
        def begin(*command):
            log = tmp_path / "bridge.log"
            with open(log, "w", encoding="utf-8") as out:
                p = subprocess.Popen(
                    [node_of(top), top / "tests" / "sdk" / "mcp_bridge.mjs",
                     *command], stdout=out, stderr=out, env={})
            stack.callback(p.wait)
            stack.callback(p.terminate)
            assert wait_for(lambda: "\n" in log.read_text())
            return {"url": log.read_text().split()[0]}, log
        yield begin


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_server_filesystem(mcp, top, model, run, bridge, way):
    (mcp.work / "a.txt").write_text("the text\n")
    line = [str(node_of(top)), script_of(top, "server-filesystem"),
            str(mcp.work)]
    mcp.own(fs={"command": line[0], "args": line[1:]} if way == "stdio"
            else bridge(*line)[0])
    args = [("write_file", {"path": str(mcp.work / "b.txt"),
                            "content": "new"}),
            ("read_text_file", {"path": str(mcp.work / "a.txt")}),
            ("read_text_file", {"path": "/etc/passwd"})]
    m = model([{"tool_calls": [{"name": f"fs_{n}", "args": a}
                               for n, a in args]}, {"text": "done"}])
    r = run("-n", "hi", "-M", "anthropic:m", "-y")
    assert r.status == 0, r.err
    written, read, denied = results(m)
    assert (mcp.work / "b.txt").read_text() == "new" and "wrote" in written
    assert "the text" in read and "Access denied" in denied


def test_streams_of_the_official_sdk(mcp, model, run, bridge):
    entry, log = bridge()
    mcp.own(srv=entry)
    names = ["cut", "grow", "cut", "steps", "grown"]
    m = model([*({"tool_calls": [{"name": f"srv_{n}", "args": {}}],
                  "delay_ms": 600} for n in names), {"text": "done"}])
    r = run("-n", "hi", "-M", "anthropic:m")
    assert r.status == 0, r.err
    texts = results(m)
    assert texts[0] == "after the cut" and "listens again" in log.read_text()
    assert "MCP server srv changed its tools" in r.err
    assert texts[3:] == ["all steps", "grown"]
    assert "2 of 3: step" in r.err and "\x1b" not in r.err
