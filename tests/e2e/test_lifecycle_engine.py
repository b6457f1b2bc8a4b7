"""test_lifecycle_engine.py - an engine that hangs, cuts or refuses; requests
counted. DCODE_TEST_LONG=1 tries more."""
# SPDX-License-Identifier: MIT
import json
import os
import signal
import time

import pytest

from engine_proxy import EngineProxy
from lifecycle import call, execute, wait_for
from terminal import Terminal

LONG = bool(os.environ.get("DCODE_TEST_LONG"))
CLEANUP_S = 10
HUNG = [{"text": "abc", "fault": {"stall_after_bytes": 40}}]
TASK = ("-n", "hi", "-M", "anthropic:m", "--sandbox", "docker")


@pytest.fixture
def engine(rig, env, config, tmp_path):
    """A proxy before the engine; nothing may be left in it."""
    with EngineProxy(rig.docker_host, tmp_path / "p.sock") as proxy:
        env["DOCKER_HOST"] = proxy.docker_host
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\nnetwork = "none"\n')
        yield proxy
        rig.podman("rm", "-a", "-f", "-t", "0")


@pytest.fixture
def collected(run, rig, engine):
    """collected(): after gc, nothing is in the engine or the ledger."""
    def look():
        engine.faults.clear()
        r = run("sandbox", "gc", "--json")
        assert r.status == 0, r.out + r.err
        assert rig.containers() == []
        r = run("sandbox", "list", "--json")
        assert json.loads(r.out)["data"] == []
    return look


def test_hung_create(start, model, engine, collected):
    model(HUNG)
    fault = engine.fault("POST .*/containers/create", "hang", times=None)
    r = start(*TASK)
    assert fault.struck.wait(20)
    began = time.monotonic()
    r.signal()
    r.wait(CLEANUP_S + 3)
    assert r.status == 130, r.err
    assert time.monotonic() - began < CLEANUP_S + 6
    collected()


def test_another_place_than_the_model_was_told_of_is_told_anew(
        run, model, engine, collected):
    """An engine whose policy moves containers: the answer that does not know
    of it is dropped, and the conversation has the prompt once."""
    engine.replace = b"/workspace", b"/elsewhere"
    server = model([execute("pwd"), {"text": "done"}])
    r = run(*TASK)
    assert r.status == 0 and r.out == "done\n", (r.out, r.err)
    early, first, last = (q["body"] for q in server.requests)
    assert "is /workspace;" in json.dumps(early["system"])
    assert "is /elsewhere;" in json.dumps(first["system"])
    assert early["messages"] == first["messages"]
    assert "/elsewhere" in json.dumps(last["messages"][-1])
    collected()


@pytest.mark.parametrize("where", [
    "POST .*/containers/create", "POST .*/start", "GET .*/json"])
@pytest.mark.parametrize("action", ["hang_answer", "cut_answer", "cut",
                                    "500", "garbage"])
def test_open_breaks(start, model, engine, collected, rig, where, action):
    """At each request of the start, once: it works in the end or it is said;
    never two containers."""
    model([{"text": "done"}])
    fault = engine.fault(where, action, bytes=30)
    r = start(*TASK)
    if action == "hang_answer":
        assert fault.struck.wait(20)
        time.sleep(0.3)
        r.signal()
    r.wait(40)
    assert r.status in (0, 1, 130), r.err
    assert len(rig.containers()) <= 1
    collected()


@pytest.mark.usefixtures("sandbox_first")
def test_all_hangs_from_then_on(start, model, engine, collected):
    """The engine stops to answer while a session is open: out within the
    cleanup's time, and said."""
    server = model(HUNG)
    r = start(*TASK)
    wait_for(lambda: server.model.received)
    engine.fault(".*", "hang", times=None)
    began = time.monotonic()
    r.signal()
    r.wait(CLEANUP_S + 5)
    assert r.status == 130, r.err
    assert time.monotonic() - began < CLEANUP_S + 6
    assert "dcode sandbox gc" in r.err
    collected()


def test_created_when_nobody_listens(start, model, engine, collected, rig):
    model(HUNG)
    engine.fault("POST .*/containers/create", "cut_late", seconds=0.5)
    r = start(*TASK)
    time.sleep(3)
    names = rig.containers()
    assert len(names) == 1, names
    r.signal()
    r.wait(15)
    assert rig.containers() == []
    collected()


@pytest.mark.usefixtures("sandbox_first")
def test_name_in_use_before_it_can_be_inspected(start, model, engine, rig,
                                                collected):
    """As Podman does while another request is still making it."""
    server = model(HUNG)
    engine.fault("POST .*/containers/create", "cut_late")
    # Else the second request may take the name before the first.
    engine.fault("POST .*/containers/create", "delay", seconds=1)
    unseen = engine.fault("GET .*/containers/dcode-.*/json", "404", times=2)
    r = start(*TASK)
    wait_for(lambda: server.model.received)
    assert unseen.struck.is_set()
    assert len(rig.containers()) == 1
    r.signal()
    r.wait(15)
    assert r.status == 130 and rig.containers() == []
    collected()


def test_created_after_cancel(start, model, engine, collected):
    """The engine makes it only after dcode has gone."""
    model(HUNG)
    fault = engine.fault("POST .*/containers/create", "cut_late", seconds=4)
    r = start(*TASK)
    assert fault.struck.wait(20)
    r.signal()
    r.wait(15)
    assert r.status == 130
    time.sleep(4.5)
    collected()


@pytest.mark.parametrize("late", [0.3, 1])
def test_gc_while_the_engine_is_at_it(start, model, engine, collected, rig,
                                      late):
    """kill -9 during create, gc at once: what comes late is found too."""
    model(HUNG)
    fault = engine.fault("POST .*/containers/create", "delay", seconds=late)
    r = start(*TASK)
    assert fault.struck.wait(20)
    r.signal(signal.SIGKILL)
    r.p.wait()
    collected()
    time.sleep(late + 1)
    assert rig.containers() == []


def test_hung_exec(start, model, engine, collected, rig):
    model([execute("echo begun; sleep 100")])
    r = start(*TASK)
    wait_for(lambda: engine.lines("POST .*/exec/.*/start"))
    engine.fault("POST .*/exec", "hang", times=None)
    time.sleep(0.5)
    began = time.monotonic()
    r.signal()
    r.wait(15)
    assert r.status == 130 and time.monotonic() - began < CLEANUP_S + 6
    collected()


@pytest.mark.parametrize("where, action", [
    ("POST .*/containers/.*/exec", "hang"), ("POST .*/exec/.*/start", "hang"),
    ("POST .*/exec/.*/start", "hang_answer"), ("GET .*/exec/", "hang")])
def test_hung_exec_requests(start, model, engine, collected, where, action):
    model([execute("echo begun"), {"text": "done"}])
    fault = engine.fault(where, action, bytes=60)
    r = start(*TASK)
    assert fault.struck.wait(20)
    time.sleep(0.3)
    began = time.monotonic()
    r.signal()
    r.wait(15)
    assert r.status == 130 and time.monotonic() - began < CLEANUP_S + 6
    collected()


@pytest.mark.parametrize("hung", ["command", "create", "start", "model"])
@pytest.mark.usefixtures("sandbox_first")
def test_prompt_is_back(dcode_release, env, tmp_path, model, engine, rig,
                        collected, hung):
    """Ctrl-C: the prompt within 100 ms, and nothing runs on."""
    server = model(HUNG if hung == "model" else
                   [execute("echo be''gun; sleep 777"), {"text": "done"}])
    t = Terminal([dcode_release, "-M", "anthropic:m", "--sandbox", "docker"],
                 env, tmp_path / "work")
    t.until("> ")
    fault = None
    if hung in ("create", "start"):
        fault = engine.fault("POST .*/exec" + (
            "/.*/start" if hung == "start" else "$"), "hang")
    t.type("go\n")
    if fault:
        assert fault.struck.wait(20)
    elif hung == "model":
        wait_for(lambda: server.model.received)
    else:
        t.until("begun\r\n")
    time.sleep(0.3)
    began = time.monotonic()
    t.type("\x03")
    t.until("Interrupted")
    t.until("> ")
    took = time.monotonic() - began
    print(f"prompt back after {took * 1000:.1f} ms")
    assert took < 1
    (name,) = rig.containers()

    def is_quiet():
        out = rig.podman("exec", name, "ps", "-o", "args").stdout
        return b"777" not in out
    wait_for(is_quiet, 5)
    assert t.leave() == 0
    assert rig.containers() == []
    collected()


@pytest.mark.usefixtures("sandbox_first")
def test_cancel_while_an_image_is_pulled(start, run, model, engine, config,
                                         collected):
    server = model(HUNG)
    config("[sandboxes.providers.docker.params]\n"
           'image = "localhost:1/nowhere:latest"\n')
    fault = engine.fault("POST .*/images/create", "hang", times=None)
    r = start(*TASK)
    assert fault.struck.wait(20)
    began = time.monotonic()
    r.signal()
    r.wait(15)
    assert r.status == 130, r.err
    assert time.monotonic() - began < 8
    assert "dcode sandbox gc" not in r.err
    rows = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert not server.requests and rows == []
    collected()


def test_an_image_that_is_not_to_be_had(run, model, engine, config,
                                        collected):
    config("[sandboxes.providers.docker.params]\n"
           'image = "localhost:1/nowhere:latest"\n')
    model(HUNG)
    r = run(*TASK)
    assert r.status == 1 and "nowhere" in r.err
    collected()


@pytest.mark.parametrize("action", ["hang", "cut_answer", "500", "garbage"] +
                         ["hang_answer"] * LONG)
def test_deletion_breaks(run, model, engine, collected, action):
    """What cannot be deleted is said, and gc deletes it later."""
    model([{"text": "done"}])
    engine.fault("DELETE ", action, times=None)
    r = run(*TASK)
    assert (r.status, r.out) == (0, "done\n"), r.err
    assert r.seconds < CLEANUP_S + 6
    assert "dcode sandbox gc" in r.err
    collected()


def test_deletion_fails_once(run, model, engine, collected, rig):
    model([{"text": "done"}])
    engine.fault("DELETE ", "cut")
    r = run(*TASK)
    assert (r.status, r.out) == (0, "done\n"), r.err
    assert rig.containers() == []
    assert "dcode sandbox gc" not in r.err
    collected()


def test_no_engine(run, model, env, config, rig, tmp_path):
    model(HUNG)
    env["DOCKER_HOST"] = f"unix://{tmp_path}/none.sock"
    r = run(*TASK)
    assert r.status == 1 and "none.sock" in r.err and r.seconds < 30
    env["DOCKER_HOST"] = rig.docker_host
    assert run("sandbox", "gc").status in (0, 1)


@pytest.mark.parametrize("where, action, length", [
    ("POST .*/containers/.*/exec", "500", 0),
    ("POST .*/containers/.*/exec", "garbage", 0),
    ("POST .*/exec/.*/start", "cut", 0),
    ("POST .*/exec/.*/start", "cut_answer", 40),
    ("POST .*/exec/.*/start", "cut_answer", 300),
    ("POST .*/exec/.*/start", "500", 0),
    ("POST .*/exec/.*/start", "garbage", 0),
    ("GET .*/exec/.*/json", "cut", 0),
    ("GET .*/exec/.*/json", "500", 0)])
def test_exec_breaks_once(run, model, engine, collected, where, action,
                          length):
    """The model is told, nothing runs on, and the next command works."""
    look = ("for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done "
            "2>/dev/null | grep -c 'slee[p] 779'")
    ends = where.startswith("GET")
    server = model([execute("echo begun; seq 100; " +
                            ("true" if ends else "sleep 779")),
                    execute(look), {"text": "done"}])
    engine.fault(where, action, bytes=length)
    r = run(*TASK, "--json")
    results = [json.loads(line) for line in r.out.splitlines()]
    results = [e for e in results if e["type"] == "tool_result"]
    assert r.status == 0, r.err + r.out
    assert len(results) == 2, r.out
    assert results[0]["is_error"] or ends, results
    assert results[1]["content"].split()[0] == "0", results
    assert len(server.requests) == 3
    collected()


EIGHT = [
    ("write_file", dict(file_path="a/b.txt", content="one\ntwo\n")),
    ("read_file", dict(file_path="a/b.txt")),
    ("ls", dict(path=".")),
    ("glob", dict(pattern="**/*.txt")),
    ("grep", dict(pattern="two")),
    ("edit_file", dict(file_path="a/b.txt", old_string="two",
                       new_string="2")),
    ("execute", dict(command="cat a/b.txt")),
    ("delete", dict(file_path="a/b.txt")),
]


def test_three_requests_per_call(run, model, engine):
    """And one connection that the exec stream uses up, none besides."""
    turns = []
    for i in range(24):
        name, args = EIGHT[i % 8]
        turns.append({"tool_calls": [call(name, **args)]})
    server = model(turns + [{"text": "done"}])
    r = run(*TASK, "--json")
    assert r.status == 0, r.err
    results = [json.loads(line) for line in r.out.splitlines()]
    results = [e for e in results if e["type"] == "tool_result"]
    assert len(results) == 24
    assert not any(e["is_error"] for e in results), results
    assert len(server.requests) == 25
    lines = engine.requests
    execs = [at for at, (_, line) in enumerate(lines)
             if line.split("?")[0].endswith("/exec")]
    assert len(execs) == 24
    for at in execs:
        kinds = [line.rpartition("/")[2] for _, line in lines[at:at + 3]]
        assert kinds == ["exec", "start", "json"], lines
    before = [line for _, line in lines[:execs[0]]]
    after = [line for _, line in lines[execs[-1] + 3:]]
    print("start:", before, "end:", after)
    assert len(before) + len(after) + 72 == len(lines)
    assert len(before) == 4 and len(after) == 1  # with the info of its memory
    streams = {n for n, line in lines if line.endswith("/start")
               and "/exec/" in line}
    others = {n for n, line in lines} - streams
    assert len(streams) == 24 and len(others) == 1
    assert engine.connections == 25
