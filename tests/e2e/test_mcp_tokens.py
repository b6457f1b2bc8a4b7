"""test_mcp_tokens.py - the tokens of logins to MCP servers, later on."""
# SPDX-License-Identifier: MIT
import urllib.parse

import pytest

from mcp_rig import Mcp, calls, results, wait_for
from test_mcp_login import (  # noqa: F401 (two are fixtures)
    login, secured, serve, task)

REVOKES = {"revocation_endpoint": "BASE/revoke"}


@pytest.fixture
def mcp(home, tmp_path):
    return Mcp(home, tmp_path / "work")


@pytest.fixture
def logged_in(mcp, serve, run, env):  # noqa: F811
    """A server that the user has logged in to."""
    def begin(*flags, **what):
        s = serve(**what)
        mcp.own(srv={"url": s.url})
        r = login(run, env, "srv", *flags)
        assert r.status == 0, r.err
        return s
    yield begin


def forms(server, path):
    return [dict(urllib.parse.parse_qsl(body.decode()))
            for at, body in server.bodies if at == path]


def test_a_renewal_that_is_interrupted_keeps_the_login(logged_in, start, run):
    s = logged_in(rotates=1)
    r = start("mcp", "test")
    assert wait_for(lambda: s.renewed == 2)  # the old token is of no use now
    r.signal()
    r.wait()
    assert s.renewed == 2
    s.what["rotates"] = 0
    assert run("mcp", "test").status == 0
    assert s.renewed > 2 and s.refused == 0


def test_a_renewed_login_that_is_not_stored_is_used_all_the_same(
        logged_in, run, home):
    s = logged_in(rotates=0)
    found = list((home / ".deepagents").rglob("credentials.lock"))
    assert len(found) == 1
    found[0].unlink()
    found[0].mkdir()
    r = run("mcp", "test")
    assert r.status == 0 and "cannot store the renewed login" in r.err, r.out
    assert s.renewed > 3 and s.refused == 0


def test_a_logout_gives_the_tokens_back(mcp, secured, run, env):  # noqa: F811
    s = secured()
    mcp.own(sec={"url": s.resource})
    assert login(run, env, "sec").status == 0
    r = run("mcp", "logout", "sec")
    assert r.status == 0 and "Warning" not in r.err, r.err
    assert s.count("taken back") == 1


def test_a_logout_names_who_gave_them(logged_in, run):
    s = logged_in(rotates=0, issuer=REVOKES)
    assert run("mcp", "logout", "srv").status == 0
    assert forms(s, "/revoke") == [{
        "token": "refresh-1", "token_type_hint": "refresh_token",
        "client_id": "a-client"}]


@pytest.mark.parametrize("what, words", [
    ({"revoke": (503, {"error": "x\x1b[2J"})}, "HTTP 503"),
    ({"hang": {"/revoke"}}, "no answer within"),
    ({"redirect": {"/revoke": "/token"}}, "redirects are not followed"),
    ({"issuer": {"revocation_endpoint": "https://169.254.169.254/r"}},
     "link-local, metadata"),
], ids=["refused", "hangs", "redirect", "elsewhere"])
def test_a_logout_that_the_server_does_not_hear_of_is_one_all_the_same(
        logged_in, run, config, what, words):
    config("[mcp]\nstartup_timeout = 1\n")
    logged_in(**{"issuer": REVOKES, **what})
    r = run("mcp", "logout", "srv")
    assert r.status == 0 and "Deleted the login" in r.out
    assert "did not revoke them" in r.err and words in r.err, r.err
    assert "\x1b" not in r.err and "an-access-token" not in r.err
    assert run("mcp", "login").out == "srv: not logged in\n"


@pytest.mark.parametrize("needs, told", [
    ("admin tools:write", '--scope "basic admin tools:write"'),
    ("$(touch${IFS}x)", "--scope SCOPE"),
    ("x'; `id`", "--scope SCOPE"),
])
def test_a_call_that_a_login_does_not_reach_says_what_to_ask_for(
        logged_in, model, run, needs, told):
    logged_in("--scope", "basic", needs=needs)
    m = model(calls("srv_far"))
    assert task(run).status == 0
    said, = results(m)
    assert "HTTP 403" in said and f"dcode mcp login srv {told}" in said, said
    assert "$" not in said and "`" not in said
