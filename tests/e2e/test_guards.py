"""test_guards.py - whichever way a run is started, every guard holds.

A table: the ways of starting, and what may stop a prompt, a call or a run."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import subprocess
import tempfile
import time

import pytest

from lifecycle import execute
from screens import Screen
from test_trust_c10_policy import under_policy

DONE = {"text": "all done"}
CALL = execute("echo $((6*7)) >> ran; cat ran")
MODEL = ("-M", "anthropic:claude-opus-5")
E2B, LOCAL = ("--sandbox", "e2b"), ("--sandbox", "local")
AFTER = "[sandboxes]\noverlap = false\n"


class Way:
    """How a run is started; words: after the model."""

    def __init__(self, *words, config="", prompt="-n", resumes=False,
                 subagent=False, attaches=False):
        self.words, self.config, self.prompt = words, config, prompt
        self.resumes, self.subagent = resumes, subagent
        self.attaches = attaches
        self.chats = prompt == "-m"


WAYS = {
    "-n": Way("-y"),
    "-n in a sandbox": Way(*E2B),
    "-n in a sandbox, one after the other": Way(*E2B, config=AFTER),
    "-n in a local sandbox": Way(*LOCAL),
    "-n that waits for the sandbox": Way(*E2B, "--startup-cmd", "true"),
    "-n -r": Way("-y", resumes=True),
    "-n -r in a sandbox": Way(*E2B, resumes=True),
    "-n --sandbox-id": Way(*E2B, attaches=True),
    "a pipe": Way("-y", prompt="|"),
    "a pipe in a sandbox": Way(*E2B, prompt="|"),
    "a subagent": Way("-y", subagent=True),
    "a subagent in a sandbox": Way(*E2B, subagent=True),
    "the chat": Way("-y", prompt="-m"),
    "the chat in a sandbox": Way(*E2B, prompt="-m"),
    "the chat in a sandbox, one after the other":
        Way(*E2B, prompt="-m", config=AFTER),
    "the chat -r in a sandbox": Way(*E2B, prompt="-m", resumes=True),
    "the chat --sandbox-id": Way(*E2B, prompt="-m", attaches=True),
    "--plain": Way("-y", "--plain", prompt="-m"),
    "--plain in a sandbox": Way(*E2B, "--plain", prompt="-m"),
}
UNATTENDED = [name for name, way in WAYS.items() if not way.chats]
SANDBOXED = [name for name, way in WAYS.items()
             if "--sandbox" in way.words]


class Guarded:
    """What came of a run: the requests, what was printed, what hooks saw."""

    def __init__(self, server, status, text, log):
        self.server, self.status, self.text = server, status, text
        self.hooks = log.read_text().split() if log.exists() else []

    def sent(self):
        return json.dumps([r["body"]["messages"]
                           for r in self.server.requests])

    def has_run(self):
        """The call has, as its result shows."""
        return "42" in self.sent()


@pytest.fixture
def guarded(dcode, env, home, tmp_path, vendor, model, start):
    """guarded(way, hooks={event: command}, config=, policy=, words=,
    answers=None) -> Guarded, of a run that has ended."""
    screens = []

    def chat(command, keys):
        s = Screen(pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-")),
                   command, env, tmp_path / "work", columns=120)
        screens.append(s)
        until, typed = keys
        seen = s.until(lambda t: until in t or s.status_file.exists(),
                       scrollback=True)
        if not s.status_file.exists():
            for key in typed:
                time.sleep(0.5)  # a question takes no answer at once
                s.keys(*key)
            s.type("/quit")
            s.keys("Enter")
        return s.status(), seen + s.text(scrollback=True)

    def run(name, hooks=(), config="", words=(), policy=None,
            keys=("all done", ()), answers=None):
        way, log = WAYS[name], home / "log"
        if "e2b" in way.words:
            vendor("e2b", delay=0.05)
        if way.resumes:
            model([{"text": "before"}])
            r = start("-n", "earlier", *MODEL).wait()
            assert r.status == 0, r.err
        top = home / ".deepagents"
        top.mkdir(exist_ok=True)
        (top / "config.toml").write_text(way.config + config)
        if hooks:
            (top / "hooks.json").write_text(json.dumps({"hooks": {
                event: [{"hooks": [{"type": "command", "command":
                                    f"echo {event} >> {log}; {command}"}]}]
                for event, command in dict(hooks).items()}}))
        turns = answers or [CALL, DONE]
        server = model({"turns": [{"tool_calls": [{
            "name": "task", "args": {"description": "work on it",
                                     "subagent_type": "general-purpose"}}]},
            DONE], "talks": {"work on it": turns}}
            if way.subagent else {"turns": turns, "by": "count"})
        line = [*MODEL, *way.words, *words]
        line += ["-r", "latest"] * way.resumes
        if way.attaches:
            line += ["--sandbox-id",
                     start("sandbox", "create", *E2B).wait().out.strip()]
        elif way.chats and "--sandbox" in way.words:
            line += ["--on-exit", "delete"]  # it asks otherwise
        line += [way.prompt, "go"] * (way.prompt != "|")
        program = dcode
        if policy:
            (tmp_path / "etc").mkdir()
            (tmp_path / "policy").write_text(policy)
            program, *line = under_policy(tmp_path, [dcode, *line])
        if way.chats:
            return Guarded(server, *chat([program, *line], keys), log)
        r = start(*line, program=program,
                  stdin="go" if way.prompt == "|" else None).wait()
        return Guarded(server, r.status, r.out + r.err, log)
    yield run
    for s in screens:
        s.close()


@pytest.mark.parametrize("way", WAYS)
def test_without_a_guard_the_call_runs(guarded, way):
    """The control of all below."""
    r = guarded(way)
    assert r.status == 0, r.text
    assert r.has_run() and "all done" in r.text


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize("way", WAYS)
def test_a_hook_that_refuses_the_call_is_obeyed(guarded, way, event):
    r = guarded(way, {event: "echo not-here >&2; exit 2"})
    assert not r.has_run() and event in r.hooks
    assert "One of the user's hooks refused this call: not-here" in r.sent()


@pytest.mark.parametrize("way", WAYS)
def test_hooks_are_told_of_the_call_and_of_the_end(guarded, way):
    r = guarded(way, {
        "PostToolUse": "echo seen-it >&2; exit 2", "Stop": "true",
        "SessionEnd": "true"})
    assert r.status == 0 and r.has_run(), r.text
    assert "seen-it" in r.sent()
    assert r.hooks.count("Stop") == r.hooks.count("SessionEnd") == 1
    assert r.hooks[-2:] == ["Stop", "SessionEnd"]


@pytest.mark.parametrize("way", WAYS)
def test_a_hook_that_refuses_the_prompt_sends_nothing(guarded, way):
    r = guarded(way, {"UserPromptSubmit": "echo not-that >&2; exit 2"},
                keys=("not-that", ()))
    assert r.server.requests == [] and "not-that" in r.text
    assert r.hooks == ["UserPromptSubmit"]


@pytest.mark.parametrize("way", WAYS)
def test_what_hooks_say_at_the_start_goes_with_the_prompt(guarded, way):
    r = guarded(way, {"SessionStart": "echo it-began",
                      "UserPromptSubmit": "echo it-was-asked"})
    assert r.status == 0 and r.has_run(), r.text
    assert "it-began" in r.sent() and "it-was-asked" in r.sent()
    assert r.hooks == ["SessionStart", "UserPromptSubmit"]


@pytest.mark.parametrize("way", UNATTENDED)
def test_the_cap_on_turns_holds(guarded, way):
    r = guarded(way, words=("--max-turns", "1"))
    assert r.status == 124, r.text
    assert len(r.server.requests) == 1


@pytest.mark.parametrize("way", WAYS)
def test_the_cap_on_money_holds(guarded, way):
    """It pays for no request: none is sent."""
    r = guarded(way, config="[limits]\nmax_usd = 0.0001\n",
                keys=("of $0.0001",
                      [("Enter",) if "--plain" in WAYS[way].words
                       else ("Up", "Enter")]))
    assert r.server.requests == [], r.text
    assert "--max-usd" in r.text or "$0.0001" in r.text, r.text


@pytest.mark.parametrize("way", ["-n", "-n -r", "a pipe", "a subagent"])
def test_calls_on_this_machine_need_approval(guarded, monkeypatch, way):
    words = tuple(w for w in WAYS[way].words if w != "-y")
    monkeypatch.setattr(WAYS[way], "words", words)
    r = guarded(way)
    assert not r.has_run() and len(r.server.requests) > 1, r.text


@pytest.mark.parametrize("way", [
    name for name in SANDBOXED if WAYS[name].chats])
def test_a_chat_asks_about_calls_in_its_sandbox_when_told_to(guarded, way):
    r = guarded(way, config="[approvals]\nsandbox = \"ask\"\n",
                keys=("echo $((6*7))", [("n",), ("Enter",)]))
    assert not r.has_run(), r.text


own_policy = pytest.mark.skipif(subprocess.run(
    ["unshare", "-m" if os.geteuid() == 0 else "-rm", "true"],
    check=False, capture_output=True).returncode != 0,
    reason="no name space of one's own")


@own_policy
@pytest.mark.parametrize("way", WAYS)
def test_the_cap_of_the_policy_goes_over_the_flag(guarded, way):
    r = guarded(way, policy="[limits]\nmax_usd = 0.0001\n",
                words=("--max-usd", "50"), keys=("allows at most $0.0001", ()))
    assert r.server.requests == [], r.text
    assert WAYS[way].chats or r.status != 0, r.text


@own_policy
@pytest.mark.parametrize("way", WAYS)
def test_the_turns_of_the_policy_are_counted(guarded, way):
    r = guarded(way, policy="[runtime]\nrecursion_limit = 25\n",
                answers=[execute(f"echo {n}") for n in range(20)],
                keys=("Exceeded 12 agentic turns", ()))
    assert len(r.server.requests) == 12, r.text
    words = " ".join(r.text.split())
    assert "policy (runtime.recursion_limit)" in words, r.text
    assert "--max-turns" not in words, r.text
    assert r.status == (0 if WAYS[way].chats else 124), r.text
