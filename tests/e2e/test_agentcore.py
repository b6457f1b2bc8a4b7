"""test_agentcore.py - AgentCore sessions through dcode: one request a tool."""
# SPDX-License-Identifier: MIT
import json
import os
import signal

import pytest

from agentcore import AgentCore
from clouds import (DONE, EACH_TOOL, LONG, emulated, per_tool, results,
                    task_of)
from lifecycle import execute, wait_for

DEMO = "tests/data/demo.json"
INVOKE = "POST /code-interpreters/[^/]+/tools/invoke"
START = "PUT /code-interpreters/[^/]+/sessions/start"
STOP = "PUT /code-interpreters/[^/]+/sessions/stop"
GET = "GET /code-interpreters/[^/]+/sessions/get"


@pytest.fixture
def aws(env):
    yield from emulated(AgentCore, env)


@pytest.fixture
def task(run):
    return task_of(run, "agentcore")


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


@pytest.mark.usefixtures("sandbox_first")
def test_requests_per_tool(aws, model, task):
    """One each; an edit reads and writes."""
    cloud = aws()
    server = model(EACH_TOOL)
    r = task()
    assert r.status == 0, r.err
    before, each = per_tool(cloud, server)
    assert before <= 2 and each[:6] == [1] * 6 and each[6] <= 2
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
    {"duplicate": True}, {"drop": True}, {"status": 503},
    {"cut_after": 0.05}, {"reset_at": 250}, {"truncate": 60},
    {"exception": "throttlingException"}, {"flip": 3},
    {"odd": True, "flip": -20}, {"garbage": b"{"}])
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


@pytest.mark.parametrize("how", [
    {"drop": True}, {"late": 0.5, "truncate": 10}, {"status": 503},
    {"status": 429, "retry_after": 1}, {"reset_at": 30},
    {"duplicate": True}])
def test_create_makes_one(aws, model, task, how):
    cloud = aws()
    cloud.fault(START, **how)
    model([execute("true"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert cloud.left() == [] and len(cloud.ended) == 1


def test_a_second_session_is_stopped(aws, model, task):
    """Should the vendor ever make one for the same token."""
    cloud = aws(forgets=True)
    cloud.fault(START, late=0.1, truncate=10)
    server = model([execute("echo fine"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "fine" in results(server)[0]
    assert cloud.left() == [] and len(cloud.ended) == 2
    assert cloud.count(STOP) == 2


def test_params(aws, model, task, config):
    cloud = aws()
    name = "arn:aws:bedrock-agentcore:us-west-2:1:code-interpreter/x"
    config('[sandboxes.providers.agentcore.params]\nlifetime = 1234\n'
           f'code_interpreter = "{name}"\nworkdir = "/var/tmp/a b"\n')
    server = model([execute("pwd"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert results(server)[0].startswith("/var/tmp/a b")
    body = json.loads(cloud.requests[0]["body"])
    assert body["sessionTimeoutSeconds"] == 1234
    assert body["name"].startswith("dcode-") and len(body) == 3
    assert "arn%3Aaws" in cloud.requests[0]["path"]
    assert cloud.left() == []


@pytest.mark.parametrize("line, wanted", [
    ('code_interpreter = "ghost"', "ghost not found"),
    ('code_interpreter = "../x"', "id of a code interpreter"),
    ('workdir = "here"', "absolute path"), ('region = "x/y"', "AWS region")])
def test_refused(aws, model, task, config, env, line, wanted):
    cloud = aws()
    del env["AWS_REGION"]
    model([DONE])
    config(f"[sandboxes.providers.agentcore.params]\n{line}\n")
    r = task()
    assert r.status != 0 and wanted in r.err
    assert cloud.left() == [] and not cloud.ended


def test_what_it_has_not(aws, model, task):
    cloud = aws()
    model([DONE])
    for flag, value in (("--sandbox-network", "none"),
                        ("--sandbox-snapshot-name", "x")):
        r = task(flag, value)
        assert r.status != 0 and "agentcore" in r.err
    assert cloud.requests == []


def started(cloud, **body):
    """A session of somebody else with the same key."""
    class Request:
        query = {}

        @staticmethod
        def json():
            return body
    made = cloud.start(Request, ci="aws.codeinterpreter.v1")[1]
    return cloud.boxes[made["sessionId"]]


def test_attach(aws, model, task):
    """What the reference cannot: while it lives."""
    cloud = aws()
    kept = started(cloud, name="mine")
    kept.box.shell("echo kept >/tmp/there")
    server = model([execute("cat there"), DONE])
    r = task("--sandbox-id", kept.id)
    assert r.status == 0, r.err
    assert "kept" in results(server)[0]
    assert cloud.left() == [kept.id]
    cloud.fault(GET, replace={"sessionId": "other"})
    r = task("--sandbox-id", kept.id)
    assert r.status != 0 and "other" in r.err
    cloud.expire(kept.id)
    r = task("--sandbox-id", kept.id)
    assert r.status != 0 and "has ended" in r.err
    r = task("--sandbox-id", "ghost")
    assert r.status != 0 and "does not exist" in r.err


def test_gone_under_us(aws, model, start):
    cloud = aws()
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "agentcore")
    wait_for(lambda: cloud.count(INVOKE) > 0)
    cloud.expire(cloud.left()[0])
    r = p.wait(60)
    assert r.status != 0 and "has ended" in r.err


def test_a_404_of_a_proxy(aws, model, task):
    """Only what the API says of the session counts."""
    cloud = aws()
    cloud.fault(INVOKE, status=404)
    server = model([execute("echo fine"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "fine" in results(server)[0] and cloud.count(GET) == 1


@pytest.mark.parametrize("no_tasks", [False, True] if LONG else [False])
def test_long_commands(aws, model, task, no_tasks):
    """One that is silent is waited for by the task calls, where these are."""
    cloud = aws(no_tasks=no_tasks)
    server = model([execute("echo x >>ran; sleep 7; cat ran; exit 4"), DONE])
    r = task(timeout=60)
    assert r.status == 0, r.err
    assert "exit code 4" in results(server)[0]
    assert results(server)[0].split()[0] == "x"
    assert cloud.tools.count("startCommandExecution") == 1
    # The first answer may come with what the sandbox tells of itself.
    assert cloud.tools.count("executeCommand") <= 2
    assert ("getTask" in cloud.tools) != no_tasks
    assert cloud.left() == []


@pytest.mark.parametrize("cwd", ["/tmp", "/var/tmp"])
def test_files(aws, model, start, run, tmp_path, cwd):
    """The same wherever the interpreter's own directory is."""
    cloud = aws(cwd=cwd)
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "agentcore")
    wait_for(lambda: cloud.count(INVOKE) > 0)
    box = json.loads(run("sandbox", "list", "--sandbox", "agentcore",
                         "--json").out)["data"][0]["name"]
    cases = {"text": b"h\xc3\xa9\r\nx", "nul": b"a\0b", "empty": b"",
             "a b%20": bytes(range(256)) * 99, "fffd": b"\xef\xbf\xbd"}
    (tmp_path / "up").mkdir()
    for name, data in cases.items():
        (tmp_path / "up" / name).write_bytes(data)
    for pair in (("up", f"{box}:/tmp/new d"), (f"{box}:/tmp/new d", "down")):
        r = run("sandbox", "cp", *pair, cwd=tmp_path)
        assert r.status == 0, r.err
    for name, data in cases.items():
        assert (tmp_path / "down" / name).read_bytes() == data
    assert ("writeFiles" in cloud.tools) == (cwd == "/tmp")
    assert ("readFiles" in cloud.tools) == (cwd == "/tmp")
    p.signal()
    p.wait()
    assert cloud.left() == []


def test_killed_and_all_pages_collected(aws, model, start, run):
    cloud = aws(page=2)
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "agentcore")
    wait_for(lambda: cloud.count(INVOKE) > 0)
    p.signal(signal.SIGKILL)
    p.p.wait()
    owner = cloud.boxes[cloud.left()[0]].name[15:]
    for i in range(3):
        started(cloud, name=f"dcode-aaaaaaa{i + 2}-{owner}")
    others = [started(cloud, name="mine").id,
              started(cloud, name="dcode-bbbbbbbb-another").id]
    r = run("sandbox", "gc")
    assert r.status == 0, r.err
    assert sorted(cloud.left()) == sorted(others)
