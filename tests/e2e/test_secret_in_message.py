"""test_secret_in_message.py - a known secret in the user's own words is sent
and stored masked, whichever way it came."""
# SPDX-License-Identifier: MIT
import json
import subprocess

import pytest

from test_approvals import hide
from test_live_chat import HELLO, live  # noqa: F401
from test_approvals import work  # noqa: F401

# pylint: disable=redefined-outer-name

SECRET = "hunter2-of-the-vault"
SAID = "known secret"
M = ("-M", "anthropic:m")


def sent(server):
    return json.dumps([r["body"] for r in server.requests])


def check(server, seen, home):
    assert SECRET not in sent(server)
    assert "[masked:SOME_API_KEY]" in sent(server)
    assert SAID in " ".join(seen.split())
    state = home / ".deepagents" / ".state"
    for path in state.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("way", ["n", "pipe"])
def test_in_a_run_it_is_masked_and_said(
        dcode, env, model, work, home, way):
    hide(env, SECRET)
    server = model(HELLO)
    text = f"my key is {SECRET}, fix it"
    piped = None
    if way == "n":
        args = ["-n", text]
    else:
        args, piped = ["-n", "what is this?"], text
    r = subprocess.run([dcode, *M, *args], env=env, cwd=work, text=True,
                       capture_output=True, timeout=60, check=False,
                       input=piped if piped else "")
    assert r.returncode == 0, r.stderr
    check(server, r.stderr, home)


@pytest.mark.parametrize("plain", [False, True], ids=["screen", "lines"])
@pytest.mark.parametrize("way", ["typed", "pasted", "file", "editor",
                                 "initial", "command", "hidden"])
def test_in_a_chat_it_is_masked_and_said(
        live, env, work, home, tmp_path, plain, way):
    hide(env, SECRET)
    program = tmp_path / "editor"
    program.write_text(f"#!/bin/sh\necho 'key {SECRET}' > \"$1\"\n")
    program.chmod(0o755)
    env["EDITOR"] = str(program)
    (work / "notes.txt").write_text(f"key {SECRET}\n")
    args = ["--plain"] if plain else []
    if way == "initial":
        args += ["-m", f"key {SECRET}"]
    s, server = live(HELLO, args=args)
    if way == "editor":
        s.type("/editor")
        s.keys("Enter")
        if not plain:
            s.until(SECRET)  # the user's own draft
            s.keys("Enter")
    elif way in ("command", "hidden"):
        s.type(f"!echo {SECRET} | wc -c")
        s.keys("Enter")
        s.until(str(len(SECRET) + 1))
        s.type("and?")
        s.keys("Enter")
    elif way == "pasted":
        s.paste(f"key {SECRET}")
        s.keys("Enter")
    elif way != "initial":
        s.type("see @notes.txt " if way == "file" else f"key {SECRET}")
        s.keys("Enter")
    s.until("Hello there.")
    check(server, s.text(True), home)
    if way == "pasted" and not plain:
        assert SECRET not in s.text()  # nor in the scrollback


def test_a_message_without_a_secret_is_sent_as_it_is(live, env, work):
    hide(env, SECRET)
    s, server = live(HELLO)
    s.type("key hunter2")
    s.keys("Enter")
    s.until("Hello there.")
    assert "key hunter2" in sent(server) and SAID not in s.text(True)


def test_what_matters_to_a_summary_is_masked(live, env, work):
    hide(env, SECRET)
    long = {"turns": [{"text": "word " * 3000}], "repeat": True,
            "by": "count"}
    s, server = live(long)
    for _ in range(3):
        n = len(server.requests)
        s.type("go")
        s.keys("Enter")
        s.until(lambda t: len(server.requests) > n)  # pylint: disable=W0640
    s.type(f"/compact keep {SECRET}")
    s.keys("Enter")
    s.until(lambda t: "masked:SOME_API_KEY" in sent(server))
    assert SECRET not in sent(server)


WORDS = f"Use {SECRET} to log in."
PAGE = "---\nname: {0}\ndescription: {1}\n---\nBody. {1}\n"
FILES = {
    "own": ("home/.deepagents/agent/AGENTS.md", WORDS),
    "project": ("work/AGENTS.md", WORDS),
    "skill": ("home/.deepagents/agent/skills/deploy/SKILL.md",
              PAGE.format("deploy", WORDS)),
    "agent": ("home/.deepagents/agent/agents/clerk/AGENTS.md",
              PAGE.format("clerk", WORDS)),
}


@pytest.mark.parametrize("what", FILES)
def test_the_files_of_a_prompt_are_masked(run, env, model, home, what):
    path, text = FILES[what]
    (home.parent / path).parent.mkdir(parents=True, exist_ok=True)
    (home.parent / path).write_text(text)
    (home.parent / "work/.git").mkdir()
    task = {"name": "task", "args": {
        "description": "job one",
        "subagent_type": "clerk" if what == "agent" else "general-purpose"}}
    script = {"turns": [{"tool_calls": [task]}, {"text": "done"}],
              "talks": {"job one": [{"text": "found"}]}}
    server = model(script)
    r = run("-n", "go", *M)
    assert r.status == 0 and "Use hunter2" in sent(server)  # the control
    hide(env, SECRET)
    server = model(script)
    r = run("-n", "go", *M)
    assert r.status == 0 and len(server.requests) == 3
    assert SECRET not in sent(server)
    assert "Use [masked:SOME_API_KEY] to log in." in sent(server)
    if what != "agent":
        assert SAID in r.err and SECRET not in r.err
    if what in ("own", "project"):
        assert f"AGENTS.md contains a {SAID}" in r.err
