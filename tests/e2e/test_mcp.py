"""test_mcp.py - MCP servers over stdio: offered, asked about, called, ended."""
# SPDX-License-Identifier: MIT
import json
import signal

import pytest

from mcp_rig import Mcp, calls, offered, results, wait_for


@pytest.fixture
def mcp(home, tmp_path):
    return Mcp(home, tmp_path / "work")


def task(run, *flags, **how):
    return run("-n", "hi", "-M", "anthropic:m", *flags, **how)


def test_a_tool_is_offered_called_and_its_result_goes_to_the_model(
        mcp, model, run):
    mcp.own(srv=mcp.entry())
    m = model(calls("srv_add", a=1, b=2))
    r = task(run, "-y")
    assert (r.status, r.out) == (0, "done\n"), r.err
    assert "srv_add" in offered(m)
    assert results(m) == ["sum: 3"]
    assert "user's machine" in json.dumps(m.requests[0]["body"]["tools"])
    assert mcp.wait_none_left()[0]


def test_without_yes_only_what_reads_or_is_allowed_is_offered(
        mcp, model, run, config):
    mcp.own(srv=mcp.entry())
    m = model(calls("srv_look"))
    r = task(run)
    assert r.status == 0 and results(m) == ["looked"]
    names = offered(m)
    assert "srv_look" in names
    assert "srv_add" not in names and "srv_liar" not in names
    for pattern in ("srv_a*", "srv/a*", "s*/add"):
        config(f'[mcp]\nallow = ["{pattern}"]\n')
        m = model(calls("srv_add", a=2, b=2))
        r = task(run)
        assert r.status == 0
        assert "does not match any of your servers" not in r.err
        assert results(m) == ["sum: 4"], pattern
    m = model(calls("srv_liar"))
    assert task(run).status == 4  # its only call was refused
    assert "not permitted" in results(m)[0]


def test_a_sandbox_does_not_allow_what_acts_on_the_users_machine(
        mcp, model, run):
    mcp.own(srv=mcp.entry())
    m = model(calls("srv_add", a=1, b=2))
    r = task(run, "--sandbox", "local")
    assert "srv_add" not in offered(m)
    assert "not permitted" in results(m)[0], r.err


def test_every_kind_of_content_is_text_or_an_image(mcp, model, run):
    mcp.own(srv=mcp.entry())
    m = model(calls("srv_mixed"))
    assert task(run, "-y").status == 0
    text = results(m)[0]
    assert "one red" in text and "\x1b" not in text
    assert "[audio audio/wav, 3 bytes: not shown]" in text
    assert "[resource b <file:///a/b>: a file]" in text
    assert "inside" in text and "unknown type new" in text
    assert '"image/png"' in json.dumps(m.requests[-1]["body"])


def test_a_large_result_goes_to_a_file(mcp, model, run):
    mcp.own(srv=mcp.entry())
    m = model(calls("srv_big"))
    assert task(run, "-y").status == 0
    assert len(results(m)[0]) < 200000
    assert "read_file" in results(m)[0]


def test_a_failed_call_is_a_failed_result(mcp, model, run):
    mcp.own(srv=mcp.entry())
    m = model(calls("srv_fails"))
    assert task(run, "-y").status == 0
    assert results(m) == ["it went wrong"]
    assert '"is_error": true' in json.dumps(m.requests[-1]["body"])


def test_places_and_their_precedence(mcp, model, run, tmp_path):
    mcp.own(a=mcp.entry(WHO="own"), b=mcp.entry(WHO="own"))
    mcp.project(b=mcp.entry(WHO="root"), c=mcp.entry(WHO="root"))
    mcp.project(".deepagents/.mcp.json", c=mcp.entry(WHO="dir"),
                d=mcp.entry(WHO="dir"))
    more = mcp.write(tmp_path / "more.json", {"d": mcp.entry(WHO="flag")})
    want = {"a": "own", "b": "root", "c": "root", "d": "flag"}
    m = model([{"tool_calls": [{"name": f"{n}_env", "args": {}}
                               for n in want]}, {"text": "done"}])
    r = task(run, "-y", "--trust-project-mcp", "--mcp-config", str(more))
    assert r.status == 0, r.err
    for text, who in zip(results(m), want.values()):
        assert f"WHO={who}\n" in text


def test_a_file_that_is_not_there_and_one_that_is_broken(mcp, model, run):
    model(calls("ls"))
    r = task(run, "--mcp-config", "/nowhere.json")
    assert r.status == 2 and "MCP config file not found" in r.err
    r = task(run, "--mcp-config", "/nowhere.json", "--no-mcp")
    assert r.status == 2 and "mutually exclusive" in r.err
    path = mcp.own()
    path.write_text("{")
    r = task(run)
    assert r.status == 0 and f"{path} is not a JSON object" in r.err
    assert task(run, "--mcp-config", str(path)).status != 0


def test_a_server_of_the_project_is_refused_until_it_is_trusted(
        mcp, model, run):
    mcp.project(srv=mcp.entry())
    m = model(calls("ls"))
    r = task(run, "-y")
    assert r.status == 0 and not mcp.starts()
    assert "--trust-project-mcp" in r.err and "srv_add" not in offered(m)
    m = model(calls("srv_add", a=1, b=2))
    assert task(run, "-y", "--trust-project-mcp").status == 0
    assert results(m) == ["sum: 3"]


def test_a_refused_server_of_the_project_leaves_ones_own_of_this_name(
        mcp, model, run):
    mcp.own(srv=mcp.entry(WHO="own"))
    mcp.project(srv=mcp.entry(WHO="project"))
    mcp.project(".deepagents/mcp.json", srv=mcp.entry(WHO="other"))
    for flags, who in (([], "own"), (["--trust-project-mcp"], "project")):
        m = model(calls("srv_env"))
        assert task(run, "-y", *flags).status == 0
        assert f"WHO={who}\n" in results(m)[0]


def test_a_key_in_an_entry_is_masked_where_it_comes_back(mcp, model, run):
    mcp.own(srv=mcp.entry(MY_TOKEN="tok-abcdefgh", PLAIN="visible-value"))
    m = model(calls("srv_env"))
    assert task(run, "-y").status == 0
    text = results(m)[0]
    assert "[masked:MY_TOKEN]" in text and "tok-abcdefgh" not in text
    assert "PLAIN=visible-value" in text
    mcp.own(srv=mcp.entry("tells", MY_TOKEN="tok-abcdefgh"))
    for flags in ([], ["--json"]):
        r = run("mcp", "test", *flags)
        assert r.status == 1 and "no access with" in r.out
        assert "[masked:MY_TOKEN]" in r.out and "tok-abc" not in r.out + r.err


def test_the_environment_of_ones_own_server_and_of_a_projects(
        mcp, model, run, env):
    env.update(EXPORTED="yes", TOKEN="tok-1234567", LC_ALL="C.UTF-8")
    (mcp.work / ".env").write_text("FROM_DOTENV=1\n")
    mcp.own(own=mcp.entry(A="${TOKEN}", B="${NOT_SET:-fallback}"))
    mcp.project(proj=mcp.entry(A="${EXPORTED}"))
    m = model([{"tool_calls": [{"name": "own_env", "args": {}},
                               {"name": "proj_env", "args": {}}]},
               {"text": "done"}])
    assert task(run, "-y", "--trust-project-mcp").status == 0
    own, proj = results(m)
    assert "EXPORTED=yes" in own and "B=fallback" in own
    assert "cwd=/" in own.splitlines()
    names = {line.split("=")[0] for line in proj.splitlines()} - \
        {"A", "LOG", "cwd", "ASAN_OPTIONS"}
    assert names <= {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER",
                     "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR"}
    assert "A=yes" in proj and f"cwd={mcp.work}" in proj
    assert "FROM_DOTENV" not in own + proj


def test_a_variable_that_is_not_set_is_named(mcp, model, run):
    mcp.own(srv=mcp.entry(A="${MISSING_ONE}"))
    model(calls("ls"))
    assert "needs the variable MISSING_ONE" in task(run, "-y").err


def test_with_a_kept_list_the_first_request_does_not_wait_but_a_call_does(
        mcp, model, run, tmp_path):
    delay = tmp_path / "delay"
    mcp.own(srv=mcp.entry(DELAY_FILE=str(delay)))
    model([{"text": "hi"}])
    assert task(run, "-y").status == 0
    kept = list((mcp.home / ".deepagents" / ".state" / "mcp-tools").iterdir())
    assert len(kept) == 1 and kept[0].stat().st_mode & 0o777 == 0o600
    delay.write_text("300")
    m = model([{"text": "quick"}])
    r = task(run, "-y")
    assert r.status == 0 and "left out" not in r.err
    assert "srv_add" in offered(m)
    delay.write_text("1")
    m = model(calls("srv_add", a=1, b=2))
    assert task(run, "-y").status == 0
    assert results(m) == ["sum: 3"]
    assert mcp.wait_none_left()[0]


def test_a_changed_list_is_announced_and_offered(mcp, model, run):
    mcp.own(srv=mcp.entry())
    call = [{"name": "srv_grow", "args": {}}]
    look = [{"name": "srv_look", "args": {}}]
    m = model([{"tool_calls": call}] + [
        {"tool_calls": look, "delay_ms": 300}] * 4 + [{"text": "done"}])
    r = task(run, "-y")
    assert r.status == 0 and "MCP server srv changed its tools" in r.err
    assert "srv_more" not in offered(m, 0)
    assert "srv_more" in offered(m, -1)


def test_a_server_that_died_is_started_again_for_the_next_call(
        mcp, model, run):
    mcp.own(srv=mcp.entry())
    m = model([{"tool_calls": [{"name": "srv_die", "args": {}}]},
               {"tool_calls": [{"name": "srv_add",
                                "args": {"a": 1, "b": 1}}]},
               {"text": "done"}])
    assert task(run, "-y").status == 0
    died, added = results(m)
    assert "exited with status 3" in died and "dying now" in died
    assert added == "sum: 2" and mcp.starts() == 2


@pytest.mark.parametrize("how", ["plain", "stubborn", "killed", "interrupted"])
def test_nothing_is_left_running(mcp, model, start, how):
    modes = ["children"] + (["stubborn"] if how == "stubborn" else [])
    mcp.own(srv=mcp.entry(*modes))
    model(calls("srv_slow" if how in ("killed", "interrupted") else
                "srv_look"))
    r = start("-n", "hi", "-M", "anthropic:m", "-y")
    if how in ("killed", "interrupted"):
        assert wait_for(lambda: mcp.received("tools/call"))
        r.signal(signal.SIGKILL if how == "killed" else signal.SIGINT)
    r.wait()
    assert len(mcp.pids()) == 3
    assert mcp.wait_none_left() == (True, [])
    if how == "stubborn":
        assert "term" in mcp.lines()
    if how == "interrupted":
        assert mcp.received("notifications/cancelled")


def test_a_call_has_a_deadline_and_is_cancelled(mcp, model, run, config):
    config("[mcp]\ncall_timeout = 1\n")
    mcp.own(srv=mcp.entry())
    m = model(calls("srv_slow"))
    assert task(run, "-y").status == 0
    assert "gave no answer within 1 s" in results(m)[0]
    cancelled = mcp.received("notifications/cancelled")[0]
    called = mcp.received("tools/call")[0]
    assert cancelled["params"]["requestId"] == called["id"]


def test_filters_and_disabled_servers(mcp, model, run, config):
    config('[mcp]\ndisabled_servers = ["c"]\n')
    mcp.own(a={**mcp.entry(), "allowedTools": ["add", "l*"]},
            b={**mcp.entry(), "disabledTools": ["*"]},
            c=mcp.entry(), d={**mcp.entry(), "disabled": True},
            e={"command": "x", "allowedTools": [], "disabledTools": []},
            f={"type": "ws", "url": "http://127.0.0.1:1/"},
            g={"command": "no-such-program"})
    m = model(calls("ls"))
    r = task(run, "-y")
    assert [n for n in offered(m) if n[1:2] == "_"] == \
        ["a_add", "a_look", "a_liar"]
    assert mcp.starts() == 2
    assert "MCP server e is left out" in r.err
    assert "is not \"stdio\"" in r.err
    assert "no-such-program is not on PATH" in r.err


def test_names_are_what_vendors_take_and_each_is_one(mcp, model, run):
    mcp.own(srv=mcp.entry("bad_tools"), read=mcp.entry("file_tool"),
            **{"s" * 64: mcp.entry()})
    m = model(calls("ls"))
    assert task(run, "-y").status == 0
    names = offered(m)
    assert len(set(names)) == len(names)
    for name in names:
        assert 0 < len(name) <= 64
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
                                "STUVWXYZ0123456789_-")
    assert any(n.startswith("srv_dots_and_slashes_") for n in names)
    assert sum(n.startswith("srv_lll") for n in names) == 2
    assert sum(n == "srv_add" for n in names) == 1
    assert "\\u001b" not in json.dumps(m.requests[0]["body"]["tools"])
    assert not m.violations


def test_without_a_file_nothing_is_started_and_no_thread(
        mcp, model, run, tmp_path, dcode_release, env):
    model([{"text": "hi"}])
    counts = []
    for flags in ([], ["--no-mcp"]):
        out = tmp_path / f"trace{len(counts)}"
        run("-f", "-qq", "-e", "trace=clone,clone3,vfork,fork", "-o", out,
            dcode_release, "-n", "hi", "-M", "anthropic:m", *flags,
            program="/usr/bin/strace")
        counts.append(out.read_text().count("clone"))
    assert counts[0] == counts[1]


def test_list_test_and_config(mcp, run):
    mcp.own(good=mcp.entry(), bad=mcp.entry("dies_early"))
    r = run("mcp", "list")
    assert r.status == 0 and "good: not started" in r.out
    assert not mcp.starts()
    r = run("mcp", "test")
    assert r.status == 1
    assert "good: ready after" in r.out and "    add\n" in r.out
    assert "bad: failed" in r.out and "no luck" in r.out
    assert "\x1b" not in r.out
    r = run("mcp", "test", "good", "--json")
    assert r.status == 0
    data = json.loads(r.out)["data"]
    assert [s["name"] for s in data] == ["good"]
    assert {"name": "look", "read_only": True} in data[0]["tools"]
    assert run("mcp", "test", "nobody").status == 1
    assert "[found]" in run("mcp", "config").out
    assert mcp.wait_none_left()[0]


STARTS = {
    "mute": "did not list its tools within 5 s",
    "mute_list": "did not list its tools within 5 s",
    "dies_early": "no luck",
    "refuses": "not today",
    "unknown_version": "uses protocol version",
    "no_list": "no list of tools",
}


def test_hostile_starts_are_told_and_the_others_go_on(
        mcp, model, run, config):
    mcp.own(**{name: mcp.entry(name) for name in STARTS}, ok=mcp.entry())
    config("[mcp]\nstartup_timeout = 5\n")
    m = model(calls("ok_look"))
    r = task(run, "-y")
    assert r.status == 0 and results(m) == ["looked"]
    for name, words in STARTS.items():
        line = next(w for w in r.err.splitlines()
                    if f"MCP server {name} is left out" in w)
        assert words in line and "\x1b" not in line
    assert mcp.wait_none_left()[0]


GOOD = ["wrong_ids", "twice", "asks", "noise", "cut_json", "old", "pages",
        "stderr_flood", "batch", "plain"]
BAD = {
    "no_newline": "no answer within",
    "endless_line": "wrote a line of more than",
    "endless_lines": "answers no request",
    "endless_notices": "answers no request",
    "no_result": "sent an invalid answer",
    "result_text": "sent an invalid answer",
    "deep": "no answer within",
    "bad_utf8": "no answer within",
    "bad_content": "5",
}


@pytest.mark.slow
def test_hostile_answers_are_right_or_a_clear_error(mcp, model, run, config):
    config("[mcp]\ncall_timeout = 8\nstartup_timeout = 30\n")
    mcp.own(**{name: mcp.entry(name) for name in [*GOOD, *BAD]})
    m = model([{"tool_calls": [{"name": f"{name}_look", "args": {}}
                               for name in [*GOOD, *BAD]]}, {"text": "done"}])
    r = task(run, "-y", timeout=120)
    assert r.status == 0, r.err
    texts = dict(zip([*GOOD, *BAD], results(m)))
    for name in GOOD:
        assert texts[name] == "looked", name
    for name, words in BAD.items():
        assert words in texts[name] and "\x1b" not in texts[name], name
    refused = [json.loads(line[2:]) for line in mcp.lines()
               if line.startswith("< ") and '"error"' in line]
    assert sorted(str(m["id"]) for m in refused) == ["7", "7", "s1"]
    assert mcp.wait_none_left()[0]


def test_a_huge_list_is_cut(mcp, run):
    mcp.own(srv=mcp.entry("huge_list"), end=mcp.entry("endless_pages"),
            none=mcp.entry("no_tools"))
    data = json.loads(run("mcp", "test", "--json").out)["data"]
    assert [len(s["tools"]) for s in data] == [256, 0, 0]
    assert data[0]["left_out"] == 5000 - 256
