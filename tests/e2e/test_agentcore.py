"""test_agentcore.py - AgentCore sessions through dcode: one request a tool."""
# SPDX-License-Identifier: MIT
import json
import os
import signal

import pytest

from agentcore import ID, SECRET, AgentCore
from lifecycle import call, execute, wait_for

DEMO = "tests/data/demo.json"
INVOKE = "POST /code-interpreters/[^/]+/tools/invoke"
START = "PUT /code-interpreters/[^/]+/sessions/start"
STOP = "PUT /code-interpreters/[^/]+/sessions/stop"
DONE = {"text": "done"}


@pytest.fixture
def aws(env):
    """aws(**options): an emulated AgentCore that env points to."""
    clouds = []

    def begin(**options):
        clouds.append(AgentCore(**options).__enter__())
        env.update(clouds[-1].env)
        return clouds[-1]
    yield begin
    for cloud in clouds:
        cloud.__exit__()
        assert cloud.violations == []


@pytest.fixture
def task(run):
    """task(*options): a run of dcode in a session."""
    def go(*options, **how):
        return run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox",
                   "agentcore", *options, **how)
    return go


def results(server):
    """The tools' results that the model was given, in order."""
    found = []
    for message in server.requests[-1]["body"]["messages"]:
        if isinstance(message["content"], list):
            found += [p["content"] if isinstance(p["content"], str) else
                      "".join(t["text"] for t in p["content"])
                      for p in message["content"]
                      if p["type"] == "tool_result"]
    return found


def test_demo(aws, model, task, top):
    cloud = aws()
    server = model(json.loads((top / DEMO).read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert not server.violations
    assert cloud.left() == [] and len(cloud.ended) == 1
    # ls, two writes, test, grep and read, edit (2), test; the start's own
    assert cloud.count(INVOKE) <= 10
    assert cloud.count(START) == 1 and cloud.count(STOP) == 1


def test_requests_per_tool(aws, model, task):
    """One each; an edit reads and writes."""
    cloud = aws()
    server = model([
        execute("echo hi >a; exit 3"),
        {"tool_calls": [call("write_file", file_path="b", content="one\n")]},
        {"tool_calls": [call("read_file", file_path="b")]},
        {"tool_calls": [call("ls", path=".")]},
        {"tool_calls": [call("glob", pattern="*.none")]},
        {"tool_calls": [call("grep", pattern="one", path="b")]},
        {"tool_calls": [call("edit_file", file_path="b", old_string="one",
                             new_string="two")]}, DONE])
    r = task()
    assert r.status == 0, r.err
    began = [q["received"] for q in server.requests]
    times = [q["began"] for q in cloud.requests]
    marks = [sum(a < t < b for t in times)
             for a, b in zip(began, began[1:])]
    assert marks[:6] == [1] * 6 and marks[6] <= 2
    assert sum(t < began[0] for t in times) <= 2
    assert "exit code 3" in results(server)[0]
    assert len({q["connection"] for q in cloud.requests}) <= 2


@pytest.mark.parametrize("command, wanted", [
    ("exit 3", "exit code 3"), ("kill -9 $$", "exit code 137"),
    ("nonsense-command", "exit code 127"),
    ("echo out; echo err >&2", "err"), ("cat; read x; echo end $x", "end")])
def test_commands_end(aws, model, task, command, wanted):
    aws()
    server = model([execute(command), DONE])
    r = task(timeout=30)
    assert r.status == 0, r.err
    assert wanted in results(server)[0]


def test_timeout_keeps_output(aws, model, task):
    cloud = aws()
    server = model([execute("echo before; sleep 300 & sleep 300", timeout=1),
                    execute("ps ax | grep -c '[s]leep 300'"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "before" in results(server)[0]
    assert results(server)[1].strip().startswith("0")
    assert cloud.left() == []


@pytest.mark.parametrize("how", [
    {"duplicate": True}, {"drop": True}, {"reset": True}, {"status": 500},
    {"status": 429, "retry_after": 1}, {"cut_after": 0.05},
    {"reset_at": 250}, {"truncate": 60},
    {"exception": "throttlingException"},
    {"exception": "internalServerException"}, {"flip": 3}, {"flip": -20},
    {"odd": True}, {"garbage": b"{"}])
def test_a_command_runs_once(aws, model, task, how):
    cloud = aws()
    cloud.fault(INVOKE, times=2, **how)
    server = model([execute("echo x >>ran; sleep 0.3; cat ran"),
                    execute("wc -l <ran"), DONE])
    r = task(timeout=60)
    assert r.status == 0, r.err
    assert results(server)[0].split()[0] == "x"
    assert results(server)[1].split()[0] == "1"
    assert cloud.left() == [] and len(cloud.ended) == 1


@pytest.mark.parametrize("how, wanted", [
    ({"error": "Bad"}, "Bad: by a fault"),
    ({"exception": "validationException"}, "validationException: by a fault"),
    ({"exception": "accessDeniedException"}, "accessDeniedException")])
def test_what_the_stream_says(aws, model, task, how, wanted):
    cloud = aws()
    cloud.fault(INVOKE, times=None, **how)
    server = model([execute("true"), DONE])
    r = task(timeout=60)
    assert wanted in r.err + "".join(results(server))
    assert cloud.left() == []


def test_output_in_many_events(aws, model, task):
    aws(parts=7)
    server = model([execute("seq 1 3000 | tail -n 1; echo end"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert results(server)[0].split()[:2] == ["3000", "end"]


def test_killed_and_collected(aws, model, start, run):
    cloud = aws(page=2)
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "agentcore")
    wait_for(lambda: cloud.count(INVOKE) > 0)
    p.signal(signal.SIGKILL)
    p.p.wait()
    assert len(cloud.left()) == 1
    r = run("sandbox", "gc")
    assert r.status == 0, r.err
    assert cloud.left() == []
