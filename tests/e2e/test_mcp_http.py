"""test_mcp_http.py - MCP servers over streamable HTTP."""
# SPDX-License-Identifier: MIT
import contextlib

import pytest

from mcp_http import SESSION, McpHttp
from mcp_rig import Mcp, calls, offered, results, wait_for


@pytest.fixture
def mcp(home, tmp_path):
    return Mcp(home, tmp_path / "work")


@pytest.fixture
def serve():
    with contextlib.ExitStack() as stack:
        yield lambda mode="": stack.enter_context(McpHttp(mode))


def task(run, *flags, **how):
    return run("-n", "hi", "-M", "anthropic:m", *flags, **how)


def entry(server, **more):
    return {"type": "http", "url": server.url, **more}


def looks(*names):
    return [{"tool_calls": [{"name": f"{n}_look", "args": {}}
                            for n in names]}, {"text": "done"}]


def test_session_version_and_headers_go_with_each_request(
        mcp, serve, model, run, env):
    env["TOKEN"] = "secret-token-1234"
    s = serve()
    mcp.own(srv=entry(s, headers={"Authorization": "Bearer ${TOKEN}"}))
    m = model(looks("srv"))
    r = task(run)
    assert r.status == 0 and results(m) == ["looked"], r.err
    assert s.methods() == ["initialize", "notifications/initialized",
                           "tools/list", "tools/call", "DELETE"]
    for i, (_, headers, _) in enumerate(s.requests):
        assert headers["Authorization"] == "Bearer secret-token-1234"
        assert headers.get("Mcp-Session-Id") == (SESSION if i else None)
        assert headers.get("MCP-Protocol-Version") == \
            ("2025-06-18" if i else None)
        if i < 4:
            assert headers["Accept"] == \
                "application/json, text/event-stream"
    assert "secret-token" not in r.err + r.out
    assert "secret-token" not in run("mcp", "list").out


# "echoes" answers what needs no answer with one more request, each time;
# "asks" makes a hundred requests and takes no answer to them.
GOOD = ["", "stream", "batch", "no_session", "echoes"]
BAD = {"wrong_id": "has no result", "html": "has no result",
       "error": "HTTP 500", "empty": "has no result",
       "cut": "has no result", "silent": "no answer within 5 s",
       "asks": "no answer within 5 s", "never": "no answer within 5 s",
       "endless": "larger than", "huge": "larger than"}


def test_answers_are_right_or_a_clear_error(mcp, serve, model, run, config):
    config("[mcp]\ncall_timeout = 5\n")
    servers = {f"s{i}": serve(mode) for i, mode in enumerate([*GOOD, *BAD])}
    mcp.own(**{name: entry(s) for name, s in servers.items()})
    m = model(looks(*servers))
    r = task(run, timeout=120)
    assert r.status == 0, r.err
    texts = results(m)
    assert texts[:len(GOOD)] == ["looked"] * len(GOOD)
    for (mode, words), text in zip(BAD.items(), texts[len(GOOD):]):
        assert words in text and "\x1b" not in text, (mode, text)
    silent = servers[f"s{len(GOOD) + list(BAD).index('silent')}"]
    assert "notifications/cancelled" in silent.methods()
    never = servers[f"s{len(GOOD) + list(BAD).index('never')}"]
    assert 2 < len(never.requests) < 80
    echoes = servers[f"s{GOOD.index('echoes')}"]
    assert echoes.methods().count("answer") == 1


def test_a_forgotten_session_is_begun_anew_within_the_call(
        mcp, serve, model, run):
    s = serve("forgets")
    mcp.own(srv=entry(s))
    m = model([*looks("srv")[:1], *looks("srv")])
    r = task(run)
    assert r.status == 0 and results(m) == ["looked", "looked"], r.err
    assert s.methods().count("initialize") == 2
    assert s.methods().count("tools/call") == 3


def test_calls_side_by_side_go_on_in_one_new_session(mcp, serve, model, run):
    s = serve("forgets_both")
    mcp.own(srv=entry(s))
    m = model(looks("srv", "srv", "srv"))
    r = task(run)
    assert r.status == 0 and results(m) == ["looked"] * 3, r.err
    assert s.methods().count("initialize") == 2


@pytest.mark.parametrize("mode, sent", [("forgets_all", 2), ("midway", 1)])
def test_a_call_is_repeated_once_and_never_after_it_was_taken(
        mcp, serve, model, run, mode, sent):
    s = serve(mode)
    mcp.own(srv=entry(s))
    m = model(looks("srv"))
    task(run)
    assert "HTTP 404" in results(m)[0]
    assert s.methods().count("tools/call") == sent


def test_a_name_with_a_blank_is_quoted_in_a_command_to_copy(mcp, serve, model,
                                                            run):
    mcp.own(**{"my issues": entry(serve("login"))})
    model(looks("srv"))
    assert 'dcode mcp login "my issues"' in task(run).err


def test_starts_that_fail_are_told(mcp, serve, model, run):
    mcp.own(login=entry(serve("login")), redirect=entry(serve("redirect")),
            header=entry(serve("long_header")),
            gone={"url": "http://127.0.0.1:1/mcp"},
            plain={"url": "http://example.org/mcp",
                   "headers": {"X-Key": "k"}})
    m = model([{"text": "done"}])
    r = task(run)
    assert r.status == 0 and not [n for n in offered(m) if "look" in n]
    for name, words in (("login", "HTTP 401"), ("redirect", "307"),
                        ("header", "a header of the answer is too long"),
                        ("gone", "127.0.0.1"), ("plain", "use https")):
        line = next(w for w in r.err.splitlines()
                    if f"MCP server {name} is left out" in w)
        assert words in line, line


def test_an_address_of_the_project_is_not_asked_before_it_is_trusted(
        mcp, serve, model, run):
    s = serve()
    mcp.project(srv=entry(s))
    m = model(looks("srv"))
    r = task(run, "-y")
    assert r.status == 0 and not s.requests
    assert "--trust-project-mcp" in r.err
    m = model(looks("srv"))
    assert task(run, "-y", "--trust-project-mcp").status == 0
    assert results(m) == ["looked"] and wait_for(lambda: s.requests)


def test_servers_that_do_not_let_go_are_left_side_by_side(
        mcp, serve, model, run):
    s = serve("clings")
    mcp.own(**{f"s{i}": entry(s) for i in range(25)})
    model([{"text": "done"}])
    # One after the other they would take three seconds each.
    assert task(run, timeout=60).status == 0
    assert s.methods().count("DELETE") == 25


OLD_BAD = {"sse_silent": "did not list its tools within 5 s",
           "sse_elsewhere": "requests to another server, 127.0.0.1",
           "sse_file": "http://", "sse_closes": "has closed its stream",
           "sse_html": "is not an event stream", "sse_flood": "larger than"}


def test_the_older_transport_and_its_hostile_servers(
        mcp, serve, model, run, config):
    config("[mcp]\nstartup_timeout = 5\n")
    servers = {mode: serve(mode) for mode in ["sse", *OLD_BAD]}
    mcp.own(**{name: {"type": "sse", "url": s.url, "headers": {"X": "key"}}
               for name, s in servers.items()})
    m = model(looks("sse", "sse"))
    r = task(run, timeout=120)
    assert r.status == 0 and results(m) == ["looked"] * 2, r.err
    good = servers["sse"]
    assert wait_for(lambda: good.answered(7))
    assert [how for how, _, _ in good.requests].count("GET") == 1
    for mode, words in OLD_BAD.items():
        line = next(w for w in r.err.splitlines()
                    if f"MCP server {mode} is left out" in w)
        assert words in line, line


def test_what_a_server_says_by_itself_is_heard(mcp, serve, model, run):
    s = serve("says")
    mcp.own(srv=entry(s))
    m = model([{**turn, "delay_ms": 500} for turn in looks("srv")])
    assert task(run).status == 0 and results(m) == ["looked"]
    # The list that it calls changed was asked for once more; a ping has a
    # result, a question to the user is refused.
    assert s.methods().count("tools/list") == 2
    said = [b for _, _, b in s.requests if b and "method" not in b]
    assert {"jsonrpc": "2.0", "id": "p1", "result": {}} in said
    assert [b["error"]["code"] for b in said if b["id"] == 2] == [-32601]


def test_a_stream_that_ends_at_once_or_floods_costs_little(
        mcp, serve, model, run):
    names = "drops", "floods", "chatters"
    servers = [serve(name) for name in names]
    drops = servers[0]
    mcp.own(**{name: entry(s) for name, s in zip(names, servers)})
    m = model([{**turn, "delay_ms": 2500} for turn in looks(*names)])
    assert task(run).status == 0 and results(m) == ["looked"] * 3
    assert 0 < servers[2].chatted < 80 << 20  # 64 MiB a minute, no more
    assert 1 <= [how for how, _, _ in drops.requests].count("GET") <= 5


def test_a_server_that_could_not_start_is_tried_again_by_a_later_call(
        mcp, serve, model, run, start):
    s = serve()
    mcp.own(srv=entry(s))
    m = model(looks("srv"))
    assert task(run).status == 0 and results(m) == ["looked"]
    # Its tools are known, but it is away; then it is back.
    s.mode = "login"
    look = looks("srv")[:1]
    m = model([*look, *[{**turn, "delay_ms": 1500} for turn in look],
               {"text": "done"}])
    r = start("-n", "hi", "-M", "anthropic:m")
    assert wait_for(lambda: len(m.requests) == 2)
    s.mode = ""
    assert r.wait().status == 0, r.err
    assert "HTTP 401" in results(m)[0] and results(m)[1] == "looked"
    assert "MCP server srv" in r.err and "dcode mcp login srv" in r.err
