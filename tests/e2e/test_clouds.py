"""test_clouds.py - what holds for all cloud vendors alike."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import signal
import socket
import time

import pytest

from clouds import (CREATE, DONE, EXECUTE, NAMES, UPLOAD, commands_end,
                    elsewhere, results, task_of)
from lifecycle import call, execute, wait_for

every = pytest.mark.parametrize("name", UPLOAD)
# Nothing is sent there, but it is looked up.
NOWHERE = "https://no-such-host.invalid"


# What the demo's machines are slowed down by.
SLOW = {"daytona": {"delay": 0.15, "moves": "pulling_snapshot"},
        "vercel": {"delay": 0.3}}
# Requests before the model's first that only look whether it runs.
POLLS = {"daytona": "GET /api/sandbox/", "runloop": ".*wait_for_status",
         "langsmith": "GET /api/v2/sandboxes/snapshots"}
PLAIN = ("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox")


@pytest.fixture
def closed():
    """An address of this machine where nobody listens."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{s.getsockname()[1]}"


@pytest.fixture
def box(sandbox_first, model, start, run):
    """box(name): the short name of a sandbox that goes on running."""
    def begin(name):
        server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
        p = start("-n", "hi", "-M", "anthropic:m", "--sandbox", name)
        wait_for(lambda: server.model.received)
        p.signal(signal.SIGKILL)
        p.p.wait()
        return json.loads(run("sandbox", "list", "--json").out)["data"][0][
            "name"]
    return begin


def test_a_setup_script_is_seen_while_it_runs(vendor, model, start,
                                              tmp_path):
    vendor("e2b")
    model([DONE])
    script = tmp_path / "setup.sh"
    script.write_text("echo be''gun\nsleep 3\n")
    p = start(*PLAIN, "e2b", "--sandbox-setup", script)
    at = {}
    while line := p.p.stderr.readline():
        at[line.strip()] = time.monotonic()
    assert p.wait().status == 0
    assert at["\u2713 Setup complete"] - at["begun"] > 1


@every
def test_demo(vendor, model, run, top, name):
    cloud = vendor(name, **SLOW.get(name, {"delay": 0.1}))
    server = model(json.loads((top / "tests/data/demo.json").read_text()))
    r = run(*PLAIN, name)
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert not server.violations
    assert cloud.left() == []
    # ls, two writes, test, grep and read, edit (2), test; the start's own
    assert cloud.count(EXECUTE[name]) <= 10
    assert cloud.count(CREATE[name]) == 1
    assert cloud.count("DELETE|POST .*/shutdown") >= 1
    if name == "runloop":
        assert cloud.count("GET ") == 0


@every
@pytest.mark.usefixtures("sandbox_first")
def test_requests_per_tool(vendor, model, run, name):
    """One each; an edit reads and writes. All over one connection, and one
    more where the keep-alive has its own."""
    cloud = vendor(name)
    server = model([
        execute("echo hi >a; exit 3"),
        {"tool_calls": [call("write_file", file_path="b", content="one\n")]},
        {"tool_calls": [call("read_file", file_path="b")]},
        {"tool_calls": [call("ls", path=".")]},
        {"tool_calls": [call("glob", pattern="*")]},
        {"tool_calls": [call("grep", pattern="one")]},
        {"tool_calls": [call("edit_file", file_path="b", old_string="one",
                             new_string="two")]}, DONE])
    r = run(*PLAIN, name)
    assert r.status == 0, r.err
    began = [q["received"] for q in server.requests]
    times = [q["began"] for q in cloud.requests]
    marks = [sum(a < t < b for t in times)
             for a, b in zip(began, began[1:])]
    assert marks[:6] == [1] * 6 and marks[6] <= 2
    before = [q["line"] for q in cloud.requests if q["began"] < began[0]]
    polls = sum(bool(re.match(POLLS.get(name, "-"), line)) for line in before)
    assert len(before) - polls <= 3
    assert "exit code 3" in results(server)[0]
    assert len({q["connection"] for q in cloud.requests}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_relative_working_directory_is_refused(vendor, model, run, config,
                                                 name):
    vendor(name)
    server = model([DONE])
    for path, status in (("some/where", 1), ("/tmp/some where", 0)):
        config(f'[sandboxes.providers.{name}.params]\nworkdir = "{path}"\n')
        r = task_of(run, name)()
        assert r.status == status, r.err
        refused = "workdir must be an absolute path" in r.err
        assert refused == (status == 1)
    assert len(server.requests) == 1


@every
def test_commands_end(vendor, model, run, config, name):
    vendor(name)
    config(f'[sandboxes.providers.{name}.params]\nenv = ["FROM_PARAMS=yes"]\n')
    commands_end(model, lambda **how: run(*PLAIN, name, **how))
    server = model([execute("echo $FROM_PARAMS"), DONE])
    assert run(*PLAIN, name).status == 0
    assert "yes" in results(server)[0]


@every
def test_timeout_keeps_output(vendor, model, run, name):
    cloud = vendor(name)
    server = model([execute("echo before; sleep 300 & sleep 300", timeout=1),
                    execute("ps ax | grep -c '[s]leep 300'"), DONE])
    r = run(*PLAIN, name)
    assert r.status == 0, r.err
    assert "before" in results(server)[0]
    assert results(server)[1].strip().startswith("0")
    assert cloud.left() == []


@pytest.mark.parametrize("name", ["daytona", "runloop"])
def test_a_large_file_written(vendor, model, run, name):
    """More than fits in one argument of a command."""
    vendor(name)
    text = "0123456789abcde\n" * 16384
    server = model([
        {"tool_calls": [call("write_file", file_path="big", content=text)]},
        execute("wc -c <big"), DONE])
    r = run(*PLAIN, name)
    assert r.status == 0, r.err
    assert str(len(text)) in results(server)[1]


@every
def test_killed_and_collected(vendor, model, start, run, name):
    cloud = vendor(name)
    model([execute("sleep 300"), DONE])
    p = start(*PLAIN, name)
    wait_for(lambda: cloud.count(EXECUTE[name]) > 0)
    p.signal(signal.SIGKILL)
    p.p.wait()
    assert len(cloud.left()) == 1
    r = run("sandbox", "gc")
    assert r.status == 0, r.err
    assert cloud.left() == []


@every
@pytest.mark.parametrize("where, args", [
    ("refused", PLAIN),
    ("unknown", ("sandbox", "list", "--sandbox"))])
def test_nobody_there(vendor, model, run, env, closed, name,
                      args, where):
    """A clear error at once, said by one name, and nothing to clean up."""
    cloud = vendor(name)
    model([DONE])
    elsewhere(env, closed if where == "refused" else NOWHERE)
    began = time.monotonic()
    r = run(*args, name)
    assert r.status != 0 and time.monotonic() - began < 30
    assert f"{name}: " in r.err and NAMES[name] + ": " not in r.err, r.err
    assert "onnect" in r.err or "resolve" in r.err, r.err
    assert "Cleanup failed" not in r.err
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []
    assert cloud.requests == []


@every
def test_nobody_there_to_attach_to(vendor, run, env, closed,
                                   name):
    vendor(name)
    elsewhere(env, closed)
    ids = {"runloop": "dbx_abc", "e2b": "iabc"}
    r = run("sandbox", "exec", "--sandbox", name, ids.get(name, "abc"), "true",
            timeout=30)
    assert r.status != 0 and "onnect" in r.err, r.err


@every
def test_a_reset_is_survived(vendor, model, run, name):
    """Unlike a refusal: somebody is there."""
    cloud = vendor(name)
    model([execute("echo here"), DONE])
    cloud.fault("GET|POST|PUT", reset=True)
    r = run(*PLAIN, name)
    assert r.status == 0, r.err
    assert cloud.left() == []


@every
def test_an_upload_that_is_cut(vendor, box, run, tmp_path, name):
    """It is sent again, though the server wrote what it had got; the old
    file stays until then."""
    cloud = vendor(name)
    there = box(name)
    data = os.urandom(3_000_000)
    (tmp_path / "up").write_bytes(data)
    cloud.fault(UPLOAD[name], cut_body=1_200_000)
    r = run("sandbox", "cp", tmp_path / "up", f"{there}:/tmp/a/f")
    assert r.status == 0, r.err
    assert cloud.count(UPLOAD[name]) == 2
    if name not in ("daytona", "vercel"):  # who write in place as it comes
        return
    cloud.fault(UPLOAD[name], times=None, cut_body=700_000)
    (tmp_path / "other").write_bytes(data[:2_000_000])
    r = run("sandbox", "cp", tmp_path / "other", f"{there}:/tmp/a/f")
    assert r.status != 0 and "writing" in r.err
    cloud.faults.clear()
    r = run("sandbox", "cp", f"{there}:/tmp/a/f", tmp_path / "down")
    assert r.status == 0, r.err
    assert (tmp_path / "down").read_bytes() == data
    r = run("sandbox", "exec", there, "--", "ls", "-A", "/tmp/a")
    assert r.out.split() == ["f"]


# What prolongs a sandbox's life, of those whose lifetimes are in seconds.
KEEP = {"e2b": "POST .*/timeout", "runloop": "POST .*/keep_alive",
        "vercel": "POST .*/extend-timeout"}


@pytest.mark.parametrize("name", KEEP)
def test_kept_while_the_model_thinks(vendor, model, start, config,
                                     name):
    """Longer than its lifetime; and no word after the end."""
    cloud = vendor(name)
    config(f"[sandboxes.providers.{name}.params]\nlifetime = 3\n")
    server = model([execute("true"), {**DONE, "fault": {
        "stall_after_bytes": 40}}])
    p = start(*PLAIN, name)
    wait_for(lambda: len(server.requests) == 2)
    before = cloud.count(KEEP[name])
    wait_for(lambda: cloud.count(KEEP[name]) >= before + 4, 60)
    assert len(cloud.left()) == 1
    p.signal()
    p.wait()
    assert cloud.left() == []
    assert "DELETE" in cloud.requests[-1]["line"] or \
        "shutdown" in cloud.requests[-1]["line"]
