"""test_trust_hostile_repository.py - nothing of a repository that means harm
runs, is asked, is told or is chosen before the user allowed it."""
# SPDX-License-Identifier: MIT
import json
import re
import subprocess

import pytest

import hostile_repository as hostile
from chat_pty import Pty
from clouds import call
from mcp_rig import wait_for

# pylint: disable=redefined-outer-name

TRIES = [
    ("stdio_run", {}), ("http_run", {}), ("shell_run", {}),
    ("execute", {"command": "echo $CANARY_TOKEN"}),
    ("web_search", {"query": "x"}),
    ("read_file", {"file_path": "../home/.ssh/id_canary"}),
    ("read_file", {"file_path": ".deepagents/skills/linked/id_canary"}),
    ("task", {"description": "x", "subagent_type": "evil"}),
]


@pytest.fixture
def canary():
    c = hostile.Canary()
    yield c
    c.close()


@pytest.fixture
def repo(home, env, canary):
    r = hostile.HostileRepository(home.parent / "work", home, canary)
    env["CANARY_TOKEN"] = hostile.SECRET
    env["PATH"] += ":"  # an empty name is the working directory
    return r


@pytest.fixture
def serve(model, env):
    """serve(script): a model, and a key of its vendor alone."""
    def begin(turns):
        server = model(turns)
        for name in [n for n in env if n.endswith("_API_KEY")]:
            if not name.startswith("ANTHROPIC"):
                del env[name]
        return server
    return begin


def script(repo):
    tries = TRIES + [("fetch_url", {"url": repo.canary.url})]
    return [{"tool_calls": [call(name, **args) for name, args in tries]},
            {"text": "done."}]


def check_nothing(repo, server):
    """Of the model's requests too: no secret is in what it was sent."""
    assert not repo.ran() and not repo.canary.heard
    assert server.requests
    for r in server.requests:
        text = json.dumps(r["body"])
        assert hostile.SECRET not in text and hostile.FILE_SECRET not in text
        assert r["body"]["model"] == "claude-opus-5-5"


def check_clean(text):
    assert not set(text) & set("\x1b\x07\x9b\u202e"), repr(text)


def test_a_task_runs_asks_and_chooses_nothing_of_it(repo, run, serve):
    server = serve(script(repo))
    r = run("-n", "hi")
    assert r.status == 4, r.err  # its one command was refused
    check_clean(r.out + r.err)
    check_nothing(repo, server)
    offered = {t["name"] for t in server.requests[0]["body"]["tools"]}
    assert not offered & {"execute", "web_search", "fetch_url", "write_file"}
    assert not any("stdio" in name or "http_" in name for name in offered)
    assert run("sandbox", "list").out.count("\n") <= 1
    # The text of it is in the prompt, and says so who it is from.
    system = json.dumps(server.requests[0]["body"]["system"])
    assert "id_canary" in system


@pytest.mark.parametrize("args", [
    ("mcp", "list"), ("mcp", "test"), ("skills", "list"),
    ("skills", "info", "evil"), ("agents", "list"), ("config",),
    ("config", "path"), ("doctor",), ("auth", "list"), ("trust", "list"),
    ("provider", "list"), ("threads", "list")], ids=" ".join)
def test_commands_that_look_run_and_ask_nothing_of_it(repo, run, args):
    r = run(*args)
    check_clean(r.out + r.err)
    assert not repo.ran() and not repo.canary.heard
    assert hostile.SECRET not in r.out + r.err
    assert hostile.FILE_SECRET not in r.out + r.err


def test_its_skill_is_text_and_runs_nothing(repo, run, serve):
    server = serve([{"text": "done."}])
    r = run("-n", "hi", "-s", "evil")
    assert r.status == 0, r.err
    check_nothing(repo, server)
    assert "id_canary" in json.dumps(server.requests[0]["body"]["messages"])


def test_its_default_sandbox_and_agent_are_not_taken(repo, run, serve):
    server = serve([{"text": "done."}])
    r = run("-n", "hi", "--sandbox")
    assert r.status == 2 and "[sandboxes].default" in r.err
    assert not server.requests
    r = run("-n", "hi", "--json")
    assert r.status == 0 and '"agent":"evil"' not in r.out
    check_nothing(repo, server)


def test_links_out_of_it_are_not_followed(repo, run, serve):
    repo.link_out()
    server = serve([{"tool_calls": [
        call("read_file", file_path="AGENTS.md"),
        call("grep", pattern="canary", path="."),
        call("read_file", file_path=".deepagents/skills/linked/id_canary")]},
        {"text": "done."}])
    r = run("-n", "hi")
    assert r.status == 0, r.err
    assert hostile.FILE_SECRET not in r.out + r.err
    check_nothing(repo, server)


@pytest.mark.parametrize("trap", [hostile.fifo, hostile.huge, hostile.zeros,
                                  hostile.loop, hostile.folder],
                         ids=lambda f: f.__name__)
def test_files_that_never_end_hold_nothing_up(repo, run, serve, trap):
    repo.trap_files(trap)
    server = serve([{"text": "done."}])
    r = run("-n", "hi", timeout=30)
    assert (r.status, r.out) == (0, "done.\n"), r.err
    check_nothing(repo, server)


@pytest.fixture
def chat(repo, dcode, env, serve):
    """chat(script, *flags) -> (Pty, server), with its questions unanswered."""
    open_ones = []

    def begin(turns, *flags):
        server = serve(turns)
        env["TERM"] = "xterm-256color"
        p = Pty([dcode, *flags], env, repo.work, columns=120, lines=50)
        open_ones.append(p)
        return p, server
    yield begin
    for p in open_ones:
        p.close()


def shown(p):
    """All that was printed, without sequences."""
    p.read(0.05)
    return re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", bytes(p.seen))


def answer_all(p):
    """No to each question at the start, until the chat is there."""
    for n in range(40):
        assert wait_for(
            lambda: shown(p).rstrip(b"\r\n\a ").endswith(b"[y/N]") or
            "manual · claude".encode() in shown(p))
        if "manual · claude".encode() in shown(p):
            return
        p.quiet()
        p.send(b"n")
        wait_for(lambda: shown(p).count(b"[y/N] no") > n)
    raise AssertionError(bytes(p.seen[-2000:]))


def test_a_chat_runs_asks_and_chooses_nothing_of_it(repo, chat):
    p, server = chat([{"text": "done-with-it."}])
    p.until(b"[y/N]")
    assert not repo.ran() and not repo.canary.heard
    answer_all(p)
    p.send(b"hi\r")
    p.until(b"done-with-it.")
    check_nothing(repo, server)
    assert b"\x1b]0;owned" not in p.seen
    assert "\u202e".encode() not in p.seen
    assert hostile.SECRET.encode() not in p.seen


def test_once_it_is_allowed_it_runs_and_is_asked(repo, run, serve):
    """The traps of the tests above are live ones."""
    server = serve(script(repo))
    r = run("-n", "hi", "--trust-project")
    assert r.status == 4, r.err
    ran = repo.ran()
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop",
                  "SessionEnd"):
        assert f"hook-{event}" in ran and f"argv-{event}" in ran
    assert {"mcp-stdio", "mcp-sh"} <= set(ran)
    heard = b"".join(repo.canary.heard)
    assert f"X-Key: {hostile.SECRET}".encode() in heard
    assert f"/mcp/{hostile.SECRET}".encode() in heard
    assert server.requests[0]["body"]["model"] == "claude-opus-5-5"
    check_clean(r.out + r.err)


def test_the_same_from_the_user_counts(repo, run, serve, home, config, env):
    """Settings and .env that do nothing in the repository do it at home."""
    (home / ".deepagents").mkdir()
    (home / ".deepagents" / ".env").write_text(
        f"DEEPAGENTS_CODE_OPENAI_BASE_URL={repo.canary.url}\n")
    config(repo.settings().replace("[approvals]", "[retries]\n"
                                   "max_retries = 0\n[approvals]"))
    server = serve(script(repo))
    env["OPENAI_API_KEY"] = "own-key"
    r = run("-n", "hi", "--sandbox", "none")
    assert r.status != 0 and repo.canary.heard and not server.requests
    assert b"evil" in b"".join(repo.canary.heard)
    server = serve(script(repo))
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "none")
    assert len(repo.canary.heard) > 1
    subprocess.run(["git", "status"], cwd=repo.work, check=False,
                   capture_output=True)
    assert "fsmonitor" in repo.ran()
    subprocess.run("PATH=.; gcloud", shell=True, cwd=repo.work, check=False)
    assert "path-gcloud" in repo.ran()
