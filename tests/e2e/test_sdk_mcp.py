"""test_sdk_mcp.py - the official MCP servers, over both transports."""
# SPDX-License-Identifier: MIT
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


@pytest.fixture(params=["stdio", "http"])
def everything(request, top, tmp_path):
    """The entry of server-everything, and what it has printed over HTTP."""
    node, script = str(node_of(top)), script_of(top, "server-everything")
    if request.param == "stdio":
        yield {"command": node, "args": [script, "stdio"]}, lambda: None
        return
    port, log = free_port(), tmp_path / "everything.log"
    with open(log, "w", encoding="utf-8") as out:
        p = subprocess.Popen([node, script, "streamableHttp"], stdout=out,
                             stderr=out, env={"PORT": str(port)})
    try:
        assert wait_for(lambda: "listening" in log.read_text())
        yield ({"type": "http", "url": f"http://127.0.0.1:{port}/mcp"},
               log.read_text)
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


def test_server_filesystem(mcp, top, model, run):
    (mcp.work / "a.txt").write_text("the text\n")
    mcp.own(fs={"command": str(node_of(top)),
                "args": [script_of(top, "server-filesystem"), str(mcp.work)]})
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
