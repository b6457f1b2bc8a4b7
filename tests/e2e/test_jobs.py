"""test_jobs.py - commands in the background: output, ends, kills, leaving."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib

import pytest

from clouds import call
from slash_chat import begin, talk  # noqa: F401 (a fixture)

A = ("-y", "-M", "anthropic:m")
LINES = "i=0; while [ $i -lt 10000 ]; do i=$((i+1)); echo line $i; done"
ALL = "".join(f"line {i}\n" for i in range(1, 10001))


def start(command, **more):
    return {"tool_calls": [call("execute", command=command, background=True,
                                **more)]}


def output(job=1, **more):
    return {"tool_calls": [call("job_output", job=job, **more)]}


def results(server):
    """What the model was told of its calls."""
    return [p["content"] for m in server.requests[-1]["body"]["messages"]
            for p in m["content"] if isinstance(p, dict)
            and p["type"] == "tool_result"]


def alive(mark):
    found = []
    for p in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if p.read_bytes().split(b"\0")[:2] == [b"sleep", mark.encode()]:
                found.append(p.parent.name)
        except OSError:
            pass
    return found


@pytest.mark.parametrize("where", ["local", "none", "e2b", "runloop"])
def test_a_job_runs_while_others_do_and_is_read(where, run, model, vendor):
    if where in ("e2b", "runloop"):
        vendor(where)
    server = model([
        start("echo one; until [ -e go ]; do sleep 0.05; done; "
              "echo two >&2; exit 7"),
        {"tool_calls": [call("execute", command="echo between; touch go")]},
        output(wait=60), output(offset=0), {"text": "done"}])
    r = run("-n", "go", *A, "--sandbox", where)
    assert r.status == 0, r.err
    first, between, end, again = results(server)
    assert "Started as job 1." in first
    assert between.startswith("between")
    assert "two" in end and "ended with exit code 7" in end
    assert again.startswith("one\ntwo\n[job 1 ended")


def test_ten_thousand_lines_arrive_whole(run, model):
    server = model([start(LINES), output(wait=60)] +
                   [output()] + [{"text": "done"}])
    assert run("-n", "go", *A, "--sandbox", "local").status == 0
    texts = [t.split("\n[job 1 ")[0] for t in results(server)[1:]]
    assert "\n".join(texts) + "\n" == ALL


def test_the_model_is_told_of_an_end_once(run, model):
    server = model([
        start("until [ -e go ]; do sleep 0.05; done"),
        {"tool_calls": [call("execute", command="touch go; sleep 1")]},
        {"tool_calls": [call("execute", command="sleep 1")]},
        {"tool_calls": [call("execute", command="echo more")]},
        {"text": "done"}])
    r = run("-n", "go", *A, "--sandbox", "local", "--json")
    assert r.status == 0, r.err
    said = "[job 1 ended with exit code 0 after"
    assert sum(said in t for t in results(server)) == 1
    events = [json.loads(line) for line in r.out.splitlines()]
    assert sum(e["type"] == "job" for e in events) == 1


@pytest.mark.parametrize("where", ["local", "none"])
def test_a_killed_job_leaves_no_process(where, run, model):
    mark = "86.40531"
    server = model([
        start(f"sleep {mark} & sleep {mark}; echo never"),
        {"tool_calls": [call("job_kill", job=1)]},
        {"tool_calls": [call("job_kill", job=1)]},
        {"tool_calls": [call("job_kill", job=5)]}, {"text": "done"}])
    r = run("-n", "go", *A, "--sandbox", where)
    assert r.status == 0, r.err
    killed, again, none = results(server)[1:]
    assert killed.startswith("Job 1 was killed after")
    assert again.startswith("Job 1 was killed after")
    assert "unknown job 5" in none
    assert not alive(mark)


def test_what_still_runs_ends_with_the_run_and_is_named(run, model):
    mark = "86.40532"
    model([start(f"sleep {mark}"), {"text": "done"}])
    r = run("-n", "go", *A, "--sandbox", "local")
    assert r.status == 0
    assert f"ending job 1, which is still running: sleep {mark}" in r.err
    assert not alive(mark)


def test_a_timeout_ends_a_job(run, model):
    server = model([start("echo a; sleep 60", timeout=1), output(wait=60),
                    {"text": "done"}])
    assert run("-n", "go", *A, "--sandbox", "local").status == 0
    assert "was killed after its timeout" in results(server)[1]


def test_without_commands_no_jobs_are_offered(run, model):
    server = model([{"text": "done"}] * 2)
    assert run("-n", "x", "-M", "anthropic:m").status == 0
    names = {t["name"] for t in server.requests[0]["body"]["tools"]}
    assert "ls" in names and "execute" not in names
    assert not {n for n in names if n.startswith("job_")}
    assert run("-n", "x", *A).status == 0
    names = {t["name"] for t in server.requests[1]["body"]["tools"]}
    assert {"execute", "job_output", "job_kill"} <= names


def test_the_chat_lists_and_kills_them(talk):  # noqa: F811
    mark = f"86.4{os.getpid()}"  # both chats may be tried side by side
    chat = begin(talk, {"turns": [start(f"sleep {mark}"),
                                  {"text": "It runs."},
                                  {"text": "I see."}]}, "-y",
                 "--sandbox", "local")
    seen = chat.say("go", "It runs.")
    assert f"sleep {mark} (in the background)" in seen
    chat.say("/jobs", "running for")
    chat.say("/jobs kill 1", "was killed after")
    assert not alive(mark)
    chat.say("how is it?", "I see.")
    assert "[job 1 was killed after" in json.dumps(
        chat.server.requests[-1]["body"]["messages"][-1])
