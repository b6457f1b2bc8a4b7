"""test_subagents.py - the tool task: who works, and what comes back."""
# SPDX-License-Identifier: MIT
import json
import re
import signal
import subprocess
import time

import pytest

from lifecycle import folders
from test_live_chat import live  # noqa: F401

# pylint: disable=redefined-outer-name

HOW = ("-M", "anthropic:claude-opus-5")
DONE = {"text": "all done"}


def task(order, kind="general-purpose", **more):
    return {"name": "task", "args": {"description": order,
                                     "subagent_type": kind, **more}}


def call(name, **args):
    return {"name": name, "args": args}


def script(orders, talks, **last):
    """One answer that hands out all orders, then the end."""
    return {"turns": [{"tool_calls": orders}, {**DONE, **last}],
            "talks": talks}


@pytest.fixture
def agent(home):
    """agent(name, head, body="", project=False): an AGENTS.md."""
    def write(name, head, body="", project=False):
        top = home.parent / "work" / ".deepagents" if project else \
            home / ".deepagents" / "agent"
        path = top / "agents" / name / "AGENTS.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\n{head}\n---\n{body}")
        return path
    return write


def results(server):
    """What the parent was told of each call, by its order."""
    last = server.requests[-1]["body"]["messages"][-1]["content"]
    return [p["content"] for p in last if p["type"] == "tool_result"]


def talk(server, pattern):
    """The requests of the conversation that begins so."""
    return [r["body"] for r in server.requests
            if re.search(pattern, json.dumps(r["body"]["messages"][0]))]


def await_requests(server, n):
    end = time.monotonic() + 60
    while len(server.requests) < n and time.monotonic() < end:
        time.sleep(0.02)
    assert len(server.requests) >= n


def events(r, kind="subagent"):
    lines = [json.loads(line) for line in r.out.splitlines()]
    return [e for e in lines if e["type"] == kind]


def test_a_subagent_knows_its_order_alone_and_its_last_words_come_back(
        model, run):
    server = model(script([task("job one: look")], {"job one": [
        {"text": "I look.", "tool_calls": [call("ls", path=".")]},
        {"text": "found: nothing \n\n"}]}))
    r = run("-n", "the user's words", *HOW)
    assert r.status == 0 and r.out == "all done\n", r.err
    assert results(server) == ["found: nothing"]
    body = talk(server, "job one")[0]
    assert "the user's words" not in json.dumps(body)
    assert {t["name"] for t in body["tools"]} == {
        "ls", "read_file", "glob", "grep"}
    assert "subagent" in json.dumps(body["system"])


def test_several_work_at_once(model, run):
    n = 12
    server = model(script(
        [task(f"job {i:02}") for i in range(n)],
        {f"job {i:02}": [{"text": f"did {i:02}", "delay_ms": 700}]
         for i in range(n)}))
    r = run("-n", "x", *HOW)
    assert r.status == 0, r.err
    assert results(server) == [f"did {i:02}" for i in range(n)]
    began = [r["received"] for r in server.requests
             if "job" in json.dumps(r["body"]["messages"][0])]
    ended = [r["answered"] for r in server.requests
             if "job" in json.dumps(r["body"]["messages"][0])]
    assert max(began) < min(ended)


def test_one_that_fails_does_not_fail_the_others(model, run):
    server = model(script(
        [task("job good"), task("job bad"), task("job x", "nobody")],
        {"job good": [{"text": "good"}],
         "job bad": [{"text": "no", "fault": {"status": 400, "times": 9}}]}))
    r = run("-n", "x", *HOW, "--json")
    assert r.status == 0, r.err
    good, bad, unknown = results(server)
    assert good == "good"
    assert "did not finish: anthropic: HTTP 400" in bad
    assert unknown.startswith("We cannot invoke subagent nobody because it "
                              "does not exist, the only allowed types are `")
    ends = {e["id"]: e["status"] for e in events(r) if e["state"] == "ended"}
    assert list(ends.values()).count("success") == 1
    assert list(ends.values()).count("error") == 1


def test_a_subagent_begins_no_subagents(model, run):
    server = model(script([task("job deep")], {"job deep": [
        {"tool_calls": [task("deeper")]},
        {"text": "ok", "expect": ["a subagent cannot call task"]}]}))
    r = run("-n", "x", *HOW)
    assert r.status == 0 and results(server) == ["ok"], r.err
    assert "task" not in {t["name"] for t in
                          talk(server, "job deep")[0]["tools"]}


def test_a_file_says_who_it_is_and_which_tools_it_has(model, run, agent):
    agent("reader", "description: Reads things\ntools: read_file, ls",
          "You read SLOWLY.")
    server = model(script([task("job r", "reader")], {"job r": [
        {"tool_calls": [call("glob", pattern="*")]},
        {"text": "read", "expect": ["glob is not available to this"]}]}))
    r = run("-n", "x", *HOW)
    assert r.status == 0 and results(server) == ["read"], r.err
    body = talk(server, "job r")[0]
    assert "You read SLOWLY." in json.dumps(body["system"])
    assert {t["name"] for t in body["tools"]} == {"ls", "read_file"}
    parent = server.requests[0]["body"]
    assert "- reader: Reads things" in [
        t for t in parent["tools"] if t["name"] == "task"][0]["description"]


@pytest.mark.parametrize("tools, has", [
    ("[]", False), ("''", False), ("[Raed]", False), ("", True),
    ("'*'", True)])
def test_a_list_without_a_tool_gives_none(model, run, agent, tools, has):
    agent("thinker", f"description: D\ntools: {tools}")
    server = model(script([task("job t", "thinker")],
                          {"job t": [{"text": "thought"}]}))
    r = run("-n", "x", *HOW)
    assert r.status == 0 and results(server) == ["thought"], r.err
    assert bool(talk(server, "job t")[0].get("tools")) == has


def test_a_tool_that_is_not_there_is_named_once_and_the_rest_works(
        model, run, agent):
    agent("reader", "description: D\ntools: raed_file, LS, Task, mcp__no__x\n"
          "disallowedTools: [Wriet]")
    server = model(script([task("job a", "reader"), task("job b", "reader")], {
        "job a": [{"text": "a"}], "job b": [{"text": "b"}]}))
    r = run("-n", "x", *HOW)
    assert r.status == 0 and results(server) == ["a", "b"], r.err
    said = [w for w in r.err.splitlines() if "unknown tool" in w]
    assert len(said) == 1 and "raed_file, mcp__no__x, Wriet in " in said[0]
    assert [t["name"] for t in talk(server, "job a")[0]["tools"]] == ["ls"]


def test_what_is_wrong_in_a_file_is_a_line(model, run, agent):
    agent("broken", "name: broken")
    model([DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0
    assert "broken/AGENTS.md is left out: it has no description" in r.err


MODEL = "description: D\nmodel: anthropic:claude-haiku-4-5"


@pytest.mark.parametrize("flags,named", [
    ((), "claude-opus-5"), (("--trust-project",), "claude-haiku-4-5")],
    ids=["refused", "allowed"])
def test_a_projects_file_names_a_model_only_once_trusted(
        model, run, agent, flags, named):
    agent("cheap", MODEL, project=True)
    server = model(script([task("job a", "cheap"), task("job b", "cheap")], {
        "job a": [{"text": "a"}], "job b": [{"text": "b"}]}))
    r = run("-n", "x", *HOW, *flags)
    assert r.status == 0 and results(server) == ["a", "b"], r.err
    assert {b["model"] for b in talk(server, "job")} == {named}
    said = r.err.count("uses its caller's model and sandbox")
    assert said == (0 if flags else 1)


def test_the_users_own_file_names_a_model(model, run, agent):
    agent("cheap", MODEL)
    server = model(script([task("job a", "cheap")],
                          {"job a": [{"text": "a"}]}))
    r = run("-n", "x", *HOW, "--json")
    assert r.status == 0, r.err
    assert talk(server, "job a")[0]["model"] == "claude-haiku-4-5"
    assert events(r, "result")[0]["usage"]["input_tokens"] == 30


def test_limits_of_a_file_end_its_subagent_alone(model, run, agent):
    agent("short", "description: D\nmax_turns: 2")
    agent("poor", "description: D\nmax_usd: 0.0001")
    look = {"tool_calls": [call("ls", path=".")]}
    server = model(script(
        [task("job s", "short"), task("job p", "poor")],
        {"job s": [{"text": "one", **look}, {"text": "two", **look}, DONE],
         "job p": [DONE]}))
    r = run("-n", "x", *HOW)
    assert r.status == 0, r.err
    short, poor = results(server)
    assert "its 2 turns" in short and short.endswith("two")
    assert len(talk(server, "job s")) == 2
    assert "spent $0.00 of its" in poor and not talk(server, "job p")


def test_max_turns_counts_those_of_subagents(model, run):
    look = {"tool_calls": [call("ls", path=".")]}
    server = model(script([task("job s")], {"job s": [look] * 9 + [DONE]}))
    r = run("-n", "x", *HOW, "--max-turns", "4", "--json")
    assert r.status == 124, r.err
    assert len(server.requests) == 4
    assert events(r, "result")[0]["turns"] == 4
    ends = [e for e in events(r, "tool_result") if "did not finish" in str(e)]
    assert ends and not [e for e in ends if ".." in str(e)]


def test_the_cap_of_money_holds_for_all_together(model, run):
    big = {"tool_calls": [call("ls", path=".")],
           "usage": {"input": 1000, "output": 900}}
    server = model(script(
        [task(f"job {i}") for i in range(6)],
        {f"job {i}": [big] * 40 + [DONE] for i in range(6)}))
    r = run("-n", "x", *HOW, "--max-usd", "1", "--json")
    end = events(r, "result")[0]
    assert r.status == 124 and end["status"] == "max_usd", r.err
    assert end["cost_usd"] <= 1
    assert len(server.requests) > 8


def test_a_signal_ends_all_at_once(model, start):
    server = model(script(
        [task(f"job {i}") for i in range(4)],
        {f"job {i}": [{"text": "late", "delay_ms": 60000}]
         for i in range(4)}))
    r = start("-n", "x", *HOW, "--json")
    await_requests(server, 5)
    began = time.monotonic()
    r.signal(signal.SIGTERM)
    r.wait()
    assert r.status == 143 and time.monotonic() - began < 10, r.err
    assert events(r, "result")[0]["status"] == "cancelled"


def test_hooks_hear_of_begin_and_end_and_tell_the_caller(model, run, home):
    log = home / "log"
    note = f"cat >> {log}; echo >> {log}"
    path = home / ".deepagents" / "hooks.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": {
        **{event: [{"matcher": matcher, "hooks": [
            {"type": "command", "command": note}]}]
           for event, matcher in (("SubagentStart", "general-purpose"),
                                  ("PreToolUse", "LS"),
                                  ("PostToolUse", "LS"))},
        "SubagentStop": [{"hooks": [{"type": "command", "command":
                                     f"{note}; "
                                     "echo check it twice >&2; exit 2"}]}]}}))
    look = {"tool_calls": [call("ls", path=".")]}
    server = model({"turns": [{"tool_calls": [task("job h")]}, look, DONE],
                    "talks": {"job h": [look, {"text": "did it"}]}})
    r = run("-n", "x", *HOW)
    assert r.status == 0, r.err
    heard = [json.loads(line) for line in log.read_text().splitlines()
             if line]
    assert [h["hook_event_name"] for h in heard] == [
        "SubagentStart", "PreToolUse", "PostToolUse", "SubagentStop",
        "PreToolUse", "PostToolUse"]
    whose = [(h.get("agent_id"), h.get("agent_type")) for h in heard]
    assert whose[0][0] and whose[0][1] == "general-purpose"
    assert whose == [whose[0]] * 4 + [(None, None)] * 2
    assert heard[3]["last_assistant_message"] == "did it"
    said = [p["content"] for q in server.requests
            for p in q["body"]["messages"][-1]["content"]
            if p["type"] == "tool_result"]
    assert any(s.startswith("did it\n") and "check it twice" in s
               for s in said), said


def test_a_long_conversation_of_one_is_compacted_by_itself(model, run, home):
    (home.parent / "work" / "big").write_text("word " * 9000)
    read = {"tool_calls": [call("read_file", file_path="big")]}
    server = model({**script([task("job long")], {
        "job long": [read, read, read, read, {"text": "got there"}]}),
        "window": {"tokens": 30000, "bytes": [2, 6], "summary": "SO FAR"}})
    r = run("-n", "x", "-M", "anthropic:m", "--json", "--model-params",
            '{"max_tokens": 1000}')
    assert r.status == 0, r.err + r.out[-2000:]
    steps = [e["event"] for e in events(r) if "event" in e]
    assert [s for s in steps if s["type"] == "compaction" and s["over"]], \
        r.out[-3000:]
    assert results(server) == ["got there"]


def test_a_crash_during_a_task_leaves_a_repaired_call(model, start, run):
    server = model({"turns": [{"tool_calls": [task("job c")]},
                              {"text": "went on", "expect": ["unknown"]}],
                    "talks": {"job c": [{"text": "x", "delay_ms": 60000}]}})
    r = start("-n", "x", *HOW)
    await_requests(server, 2)
    r.kill()
    r.p.communicate()
    again = run("-n", "go on", "-r", *HOW)
    assert again.status == 0 and again.out == "went on\n", again.err


@pytest.fixture
def tree(home):
    """A repository of two files, where dcode starts."""
    work = home.parent / "work"
    (work / "a.txt").write_text("one\n")
    (work / "b.txt").write_text("two\n")
    for args in (("init", "-q"), ("add", "-A"), (
            "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm",
            "first")):
        subprocess.run(["git", *args], cwd=work, check=True)
    return work


BOX = (*HOW, "--sandbox", "local", "--workspace", "repo")


def shell(command):
    return {"tool_calls": [call("execute", command=command)]}


def gone(run, home):
    """Nothing is left of any sandbox."""
    listed = run("sandbox", "list", "--json")
    return json.loads(listed.out)["data"] == [] and folders(home) == []


def test_in_a_sandbox_of_its_own_it_has_a_copy_that_is_merged_back(
        model, run, home, tree):
    server = model({"turns": [
        shell("echo mine > p.txt; echo more >> a.txt"),
        {"tool_calls": [task("job apart", own_sandbox=True)]},
        {**shell("cat a.txt b.txt new; readlink link; test -x b.txt && "
                 "test ! -e p.txt && echo all"),
         "expect": ["Merged into your files:\nM b.txt\nA link\nA new\n"
                    "D p.txt"]},
        {**DONE, "expect": ["one\nmore\ntwo\nadded\nnew\nb.txt\nall"]}],
        "talks": {"job apart": [
            shell("cat p.txt a.txt; rm p.txt; echo added >> b.txt; echo new "
                  "> new; ln -s b.txt link; chmod +x b.txt"),
            {"text": "did it", "expect": ["mine\none\nmore"]}]}})
    r = run("-n", "x", *BOX, "--json")
    assert r.status == 0, r.err + r.out
    assert not server.model.violations, server.model.violations
    assert gone(run, home)
    assert events(r, "result")[0]["changes"]["files"] == 4


def test_what_two_changed_alike_is_told_and_not_merged(
        model, run, home, tree):
    server = model(script(
        [task("job one", own_sandbox=True), task("job two", own_sandbox=True)],
        {"job one": [shell("echo ONE >> a.txt; echo 1 > one"),
                     {"text": "one"}],
         "job two": [shell("echo TWO >> a.txt; echo 2 > two"),
                     {"text": "two"}]}))
    r = run("-n", "x", *BOX)
    assert r.status == 0, r.err
    told = results(server)
    late = [t for t in told if "Not merged" in t]
    assert len(late) == 1 and "  a.txt (contents)" in late[0]
    assert re.search(r"\+(ONE|TWO)", late[0])
    saved = re.search(r"The user can find all of its changes in (.*)\n",
                      late[0])
    assert re.search(r"\+(ONE|TWO)", open(saved.group(1)).read())
    assert all("\nA one\n" in t or "\nA two\n" in t for t in told)
    assert gone(run, home)


def test_one_that_fails_in_its_own_sandbox_leaves_none(
        model, run, home, tree):
    server = model(script(
        [task("job bad", own_sandbox=True)],
        {"job bad": [shell("echo kept > kept"), {
            "text": "no", "fault": {"status": 400, "times": 9}}]}))
    r = run("-n", "x", *BOX)
    assert r.status == 0, r.err
    said = results(server)[0]
    assert "did not finish" in said and "A kept" in said
    assert gone(run, home)


def test_a_signal_deletes_the_sandboxes_of_all(model, start, run, home, tree):
    server = model(script(
        [task(f"job {i}", own_sandbox=True) for i in range(3)],
        {f"job {i}": [{"text": "late", "delay_ms": 60000}]
         for i in range(3)}))
    r = start("-n", "x", *BOX)
    await_requests(server, 4)
    assert len(folders(home)) == 4
    r.signal(signal.SIGTERM)
    r.wait()
    assert r.status == 143, r.err
    assert gone(run, home)


def test_in_a_sandbox_of_its_own_no_directory_of_the_user_is_mounted(
        model, run, home, tree):
    """--workspace bind came after the caller's sandbox, which has a copy."""
    model([DONE])
    assert run("-n", "x", *BOX, "--keep").status == 0
    server = model({"turns": [DONE, {"tool_calls": [
        task("job apart", own_sandbox=True)]}, DONE],
        "talks": {"job apart": [shell("echo here > here"), DONE]}})
    r = run("-n", "x", *HOW, "--sandbox", "local", "--workspace", "bind",
            "-r", "latest")
    assert r.status == 0, r.err
    assert "a new sandbox would not be isolated" in results(server)[0]
    assert not (tree / "here").exists()
    kept = [n for n in folders(home) if n.startswith("dcode-")]
    assert len(kept) == 1, kept


def test_without_a_tree_a_call_is_told_and_a_file_shares(
        model, run, agent):
    agent("lone", "description: D\nsandbox: own")
    server = model(script(
        [task("job c", own_sandbox=True), task("job f", "lone")],
        {"job c": [{"text": "c"}], "job f": [{"text": "f"}]}))
    r = run("-n", "x", *HOW)
    assert r.status == 0, r.err
    asked, filed = results(server)
    assert "a subagent's own sandbox needs" in asked
    assert filed == "f"
    assert r.err.count("lone works in its caller's sandbox") == 1


@pytest.mark.parametrize("flags", [(), ("--trust-project",)],
                         ids=["refused", "allowed"])
def test_a_projects_file_gets_a_sandbox_only_once_trusted(
        model, run, agent, tree, flags):
    agent("lone", "description: D\nsandbox: own", project=True)
    server = model(script([task("job l", "lone")], {
        "job l": [shell("echo 1 > made"), {"text": "l"}]}))
    r = run("-n", "x", *BOX, *flags)
    assert r.status == 0, r.err
    told = results(server)[0]
    assert told == ("l\n\nMerged into your files:\nA made\n" if flags else "l")
    said = r.err.count("uses its caller's model and sandbox")
    assert said == (0 if flags else 1)


def test_who_shares_a_sandbox_is_promised_no_notice_of_its_jobs(model, run):
    server = model({**script([task("job b")], {"job b": [
        {"tool_calls": [call("execute", command="true", background=True)]},
        {"tool_calls": [call("job_output", job=1, wait=60)]},
        {"text": "b"}]})})
    assert run("-n", "x", *HOW, "-y", "--sandbox", "local").status == 0
    said = json.dumps(talk(server, "job b")[-1]["messages"])
    assert "Your caller is notified when the job ends" in said
    assert "You are told" not in said and "ended with exit code 0" in said


def test_a_question_says_which_subagent_asks(live, home):
    s, server = live(script([task("job q"), task("job r")], {
        "job q": [shell("echo x > made"), {"text": "q"}],
        "job r": [{"text": "r"}]}))
    s.type("go")
    s.keys("Enter")
    s.until(lambda t: re.search(
        r"general-purpose [12]: execute wants to run on this machine", t))
    s.until("y yes")
    assert not (home.parent / "work" / "made").exists()
    s.type("y")
    s.until("all done")
    assert (home.parent / "work" / "made").exists()
    assert results(server) == ["q", "r"]


def test_escape_ends_all_and_the_chat_goes_on(live):
    s, server = live({"turns": [
        {"tool_calls": [task("job a"), task("job b")]}, {"text": "went on"}],
        "talks": {f"job {x}": [{"text": "late", "delay_ms": 60000}]
                  for x in "ab"}})
    s.type("go")
    s.keys("Enter")
    await_requests(server, 3)
    s.type("/agents")
    s.keys("Enter")
    s.until(lambda t: t.count("waiting for the model") +
            t.count("starting") >= 2 and "Available:" in t)
    s.keys("Escape")
    s.until("Interrupted")
    s.type("again")
    s.keys("Enter")
    s.until("went on")


def test_what_a_subagent_has_said_outlives_its_cancel(model, start, run):
    half = {"text": "found " * 400, "fault": {"stall_after_bytes": 4000}}
    server = model(script([task("job one")], {"job one": [half]}))
    r = start("-n", "x", *HOW, "--json")
    await_requests(server, 1)
    end = time.monotonic() + 60
    while server.model.received < 2 and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(2)  # no event tells that the half has arrived
    r.signal(signal.SIGINT)
    r.wait()
    told, = events(r, "tool_result")
    assert "the user ended it" in told["content"]
    assert "Its last words:\n\nfound found" in told["content"]
    # The next turn of the thread has it too.
    server.model.script.turns[1]["text"] = "all done"
    assert run("-r", "-n", "go on", *HOW).status == 0
    assert "found found" in json.dumps(server.requests[-1]["body"])
