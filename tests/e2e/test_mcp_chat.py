"""test_mcp_chat.py - MCP servers in the chat: states, anew, login, cancel."""
# SPDX-License-Identifier: MIT
import pytest

from mcp_http import McpHttp
from mcp_rig import Mcp, results, wait_for
from oauth_http import OAuthHttp
from slash_chat import begin, on_screen, talk  # noqa: F401
from test_mcp_login import BROWSER


@pytest.fixture
def mcp(home, tmp_path):
    return Mcp(home, tmp_path / "work")


def test_a_server_that_failed_is_started_anew(mcp, talk):  # noqa: F811
    with McpHttp("login") as s:
        mcp.own(bad={"url": s.url}, good=mcp.entry(), none={"command": "no"})
        c = begin(talk)
        seen = c.say("/mcp", "good: ready after")
        assert "bad: failed after" in seen and "none: failed" in seen
        assert "HTTP 401" in seen and "10 tools" in seen
        s.mode = ""
        c.say("/mcp reconnect bad", "bad: ready after")
        c.say("/mcp reconnect good")
        assert wait_for(lambda: mcp.starts() == 2)
        c.say("/mcp reconnect other", "Unknown MCP server")
        c.say("/mcp reconnect", "none: failed after")
        c.ask("hello")
        tools = [t["name"] for t in
                 c.server.requests[-1]["body"]["tools"]]
        assert "bad_look" in tools and "good_add" in tools
        c.until("MCP server bad changed its tools")


@pytest.mark.parametrize("words", ["srv", "srv --scope all"])
def test_a_login_in_the_chat_is_used_at_once(
        mcp, talk, env, words):  # noqa: F811
    env["BROWSER"] = str(BROWSER)
    with OAuthHttp() as s:
        mcp.own(srv={"url": s.url})
        c = begin(talk)
        c.until("dcode mcp login srv")
        seen = c.say(f"/mcp login {words}", "srv: ready after")
        assert "Logged in to srv." in seen
        c.ask("hello")


@on_screen
def test_escape_cancels_a_call_in_its_server(mcp, talk):  # noqa: F811
    mcp.own(srv=mcp.entry())
    script = {"turns": [
        {"tool_calls": [{"name": "srv_slow", "args": {}}]},
        {"text": "Gone on."}], "by": "count"}
    c = begin(talk, script, "-y")
    c.say("go")
    assert wait_for(lambda: mcp.received("tools/call"))
    c.keys("Escape")
    assert wait_for(lambda: mcp.received("notifications/cancelled"))
    call = mcp.received("tools/call")[0]
    cancelled = mcp.received("notifications/cancelled")[0]
    assert cancelled["params"]["requestId"] == call["id"]
    c.say("more", "Gone on.")
    assert results(c.server) and mcp.starts() == 1
