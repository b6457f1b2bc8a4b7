"""test_overlap.py - the model is asked while the sandbox is being made."""
# SPDX-License-Identifier: MIT
import json
import os
import pty
import signal
import sqlite3
import subprocess
import threading

import pytest

from clouds import CREATE, DONE, EXECUTE, results
from lifecycle import execute, wait_for
from terminal import Terminal

VENDORS = ["daytona", "e2b", "langsmith", "runloop", "vercel"]
OFF = "[sandboxes]\noverlap = false\n"
CALLS = [execute("echo $((6*7))"), DONE]


@pytest.fixture(name="task")
def task_fixture(start):
    """task(vendor, *options): a run that has begun."""
    def go(name, *options, **how):
        return start("-n", "hi", "-M", "anthropic:m", "--sandbox", name,
                     *options, **how)
    return go


def held(cloud, name):
    """Creating waits for the event."""
    event = threading.Event()
    cloud.fault(CREATE[name], hold=event)
    return event


def body(server):
    return json.dumps(server.requests[0]["body"])


@pytest.mark.parametrize("name", VENDORS)
def test_the_answer_comes_while_the_sandbox_is_made(vendor, model, task, name):
    cloud = vendor(name)
    made = held(cloud, name)
    server = model(CALLS)
    r = task(name)
    wait_for(lambda: server.requests and cloud.count(CREATE[name]))
    made.set()
    r.wait()
    assert r.status == 0, r.err
    assert "42" in results(server)[0]
    assert cloud.left() == []


def test_nothing_is_created_while_the_ledger_cannot_be_written(
        vendor, model, task, run, home):
    cloud = vendor("e2b")
    model(CALLS)
    assert run("threads", "list").status == 0  # makes the database
    other = sqlite3.connect(home / ".deepagents" / ".state" / "dcode.db",
                            isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    r = task("e2b").wait()
    assert r.status == 1, r.err
    assert "Another dcode has locked it" in r.err
    assert cloud.count(CREATE["e2b"]) == 0
    other.execute("ROLLBACK")
    r = task("e2b").wait()  # the control
    assert r.status == 0, r.err
    assert cloud.count(CREATE["e2b"]) == 1


WHERE = """
[sandboxes.providers.{}.params]
workdir = "/tmp/elsewhere"
"""


@pytest.mark.parametrize("where", ["", WHERE], ids=["default", "workdir"])
@pytest.mark.parametrize("name", [*VENDORS, "agentcore", "modal", "local"])
def test_the_request_is_the_same_as_without(vendor, model, task, config, name,
                                            where):
    if name == "local":
        where = where and "[sandboxes.providers.local.params]\nenv = []\n"
    else:
        vendor(name)
    config(where.format(name))
    server = model(CALLS)
    r = task(name).wait()
    assert r.status == 0, r.err
    config(OFF + where.format(name))
    again = model(CALLS)
    r = task(name).wait()
    assert r.status == 0, r.err
    assert body(server) == body(again)
    assert not where or name == "local" or "/tmp/elsewhere" in body(server)


def until_answered(server):
    wait_for(lambda: server.requests and "answered" in server.requests[0])


LOOKING = [{"text": "looking\n", **execute("echo hi")}, DONE]


def errors(r):
    return [line for line in r.err.splitlines()
            if line.startswith(("Error:", "Setup", "✗"))]


def end_of(vendor, model, task, name, options):
    """Of a run whose sandbox cannot be had, with the answer there."""
    cloud = vendor(name)
    fails = threading.Event()
    if "--sandbox-setup" not in options:
        cloud.fault(CREATE[name], times=None, hold=fails, status=402,
                    body={"message": "no credit"})
    server = model(LOOKING)
    r = task(name, *options)
    return cloud, server, fails, r


@pytest.mark.parametrize("name", VENDORS)
def test_a_refused_creation_ends_as_without(vendor, model, task, config, run,
                                            name):
    cloud, server, fails, r = end_of(vendor, model, task, name, ())
    until_answered(server)
    fails.set()
    r.wait()
    assert r.out == ""  # in a pipe the answer waits for its sandbox
    config(OFF)
    plain_cloud, unasked, now, plain = end_of(vendor, model, task, name, ())
    now.set()
    plain.wait()
    assert len(server.requests) == 1 and not unasked.requests
    assert (r.status, errors(r)) == (plain.status, errors(plain))
    assert r.status == 1 and errors(r)
    assert cloud.left() == plain_cloud.left() == []
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


def test_the_thread_goes_on_after_a_creation_that_failed(vendor, model, task,
                                                         run, tmp_path):
    cloud = vendor("e2b")
    begins = threading.Event()
    cloud.fault(EXECUTE["e2b"], hold=begins)
    script = tmp_path / "setup.sh"
    script.write_text("exit 3\n")
    server = model(LOOKING)
    r = task("e2b", "--sandbox-setup", script)
    until_answered(server)
    begins.set()
    r.wait()
    assert r.status == 1 and "Setup failed - aborting" in r.err
    server = model([DONE, {"text": "well"}])
    r = run("-r", "latest", "-n", "again", "--sandbox", "none")
    assert r.status == 0, r.err
    prompt, answer, result = server.requests[-1]["body"]["messages"]
    assert "hi" in json.dumps(prompt) and "looking" in json.dumps(answer)
    assert "This call has not run: there is no sandbox. Setup failed" in \
        json.dumps(result) and "again" in json.dumps(result)


@pytest.mark.parametrize("number, status", [
    (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_both(vendor, model, task, run, number, status):
    cloud = vendor("e2b")
    made = held(cloud, "e2b")
    server = model([{"text": "x", "fault": {"stall_after_bytes": 0}}])
    r = task("e2b")
    wait_for(lambda: server.requests and cloud.count(CREATE["e2b"]))
    r.signal(number)
    made.set()
    r.wait()
    assert r.status == status, r.err
    assert cloud.left() == []
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


def test_a_time_limit_ends_both(vendor, model, task):
    cloud = vendor("e2b")
    made = held(cloud, "e2b")
    server = model([{"text": "x", "fault": {"stall_after_bytes": 0}}])
    r = task("e2b", "--timeout", "2")
    wait_for(lambda: server.requests and cloud.count(CREATE["e2b"]))
    threading.Timer(4, made.set).start()
    r.wait()
    assert r.status == 124 and "timed out after 2s" in r.err, r.err
    assert cloud.left() == []


def test_a_model_that_refuses_ends_the_creation(vendor, model, task, config,
                                                tmp_path):
    cloud = vendor("e2b")
    script = tmp_path / "setup.sh"
    script.write_text("echo x >>ran; sleep 600\n")
    refuses = [{"text": "x", "fault": {"status": 400, "times": 9}}]
    model(refuses)
    r = task("e2b", "--sandbox-setup", script).wait()
    assert cloud.left() == []
    config(OFF)
    model(refuses)
    plain = task("e2b").wait()
    assert (r.status, errors(r)) == (plain.status, errors(plain))
    assert r.status == 1 and errors(r)


def hooks(home, **events):
    path = home / ".deepagents/hooks.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": {
        event: [{"hooks": [{"type": "command", "command": command}]}]
        for event, command in events.items()}}))


def test_hooks_answer_the_prompt_while_the_sandbox_is_made(
        vendor, model, task, home, config):
    """Once, and the request is the same as without."""
    cloud = vendor("e2b")
    log = home / "ran"
    hooks(home, SessionStart=f"echo began; echo s >>{log}",
          UserPromptSubmit=f"sleep 0.2; echo asked; echo p >>{log}")
    made = held(cloud, "e2b")
    server = model(CALLS)
    r = task("e2b")
    wait_for(lambda: server.requests and cloud.count(CREATE["e2b"]))
    made.set()
    r.wait()
    assert r.status == 0, r.err
    assert "42" in results(server)[0] and log.read_text() == "s\np\n"
    assert "began" in body(server) and "asked" in body(server)
    config(OFF)
    again = model(CALLS)
    assert task("e2b").wait().status == 0
    assert body(server) == body(again)


@pytest.mark.parametrize("hook, status", [
    ("echo no >&2; exit 2", 1),
    ("""echo '{"continue": false, "stopReason": "no"}'""", 0)])
def test_a_hook_that_ends_the_run_sends_nothing(vendor, model, task, home,
                                                config, hook, status):
    cloud = vendor("e2b", delay=0.3)
    hooks(home, UserPromptSubmit=hook)
    server = model(CALLS)
    r = task("e2b").wait()
    config(OFF)
    plain = task("e2b").wait()
    assert server.requests == [] and cloud.left() == []
    assert r.status == plain.status == status, r.err
    assert "no" in r.err + r.out and errors(r) == errors(plain)


@pytest.mark.parametrize("what", ["setting", "startup", "file"])
def test_it_waits_for_what_needs_the_sandbox(vendor, model, start, config,
                                             what):
    cloud = vendor("e2b", delay=0.3)
    if what == "setting":
        config(OFF)
    server = model(CALLS)
    r = start("-n", "see @a.png" if what == "file" else "hi",
              "-M", "anthropic:m", "--sandbox", "e2b",
              *(["--startup-cmd", "true"] if what == "startup" else [])).wait()
    assert r.status == 0, r.err
    made = next(q for q in cloud.requests if q["path"] == "/v2/sandboxes")
    assert server.requests[0]["received"] >= made["began"] + made["seconds"]


def test_json_begins_with_the_sandbox(vendor, model, task):
    cloud = vendor("e2b")
    made = held(cloud, "e2b")
    server = model(LOOKING)
    r = task("e2b", "--json")
    wait_for(lambda: server.requests and "answered" in server.requests[0])
    made.set()
    r.wait()
    lines = [json.loads(line) for line in r.out.splitlines()]
    assert [q["type"] for q in lines][:2] == ["start", "text"]
    assert lines[0]["sandbox"]["id"]
    assert r.status == 0 and lines[-1]["status"] == "success"


def test_the_cap_counts_the_request_and_the_sandbox_together(
        vendor, model, start, config):
    cloud = vendor("e2b")
    words = ("-n", "hi", "-M", "anthropic:claude-opus-5", "--sandbox", "e2b",
             "--max-usd", "50")
    server = model(CALLS)
    r = start(*words).wait()  # the control: it pays for the request alone
    assert r.status == 0 and len(server.requests) == 2, r.err
    config("[sandboxes.providers.e2b]\nusd_per_hour = 3600\n")
    server = model(CALLS)
    r = start(*words).wait()
    assert r.status == 124 and "$50.00 (--max-usd)" in r.err, r.err
    assert not server.requests and cloud.left() == []


def fail(vendor, model, answers=None):
    """A cloud whose creation fails once the event is set, and a model."""
    cloud, fails = vendor("e2b"), threading.Event()
    cloud.fault(CREATE["e2b"], times=None, hold=fails, status=402,
                body={"message": "no credit"})
    return fails, model(answers or LOOKING)


def test_json_names_thread_model_and_turns_of_a_run_without_sandbox(
        vendor, model, task, run):
    fails, server = fail(vendor, model)
    r = task("e2b", "--json")
    until_answered(server)
    fails.set()
    r.wait()
    lines = [json.loads(line) for line in r.out.splitlines()]
    thread, = json.loads(run("threads", "list", "--json").out)["data"]
    start, end = lines[0], lines[-1]
    assert start["type"] == "start" and end["type"] == "result"
    assert start["thread_id"] == thread["thread_id"]
    assert start["model"] == "anthropic:m" and start["sandbox"] == {
        "provider": "e2b", "id": None}
    assert r.status == end["exit_status"] == 1 and end["status"] == "error"
    assert end["turns"] == 1 and end["usage"]["output_tokens"] > 0
    assert "text" not in [line["type"] for line in lines]
    assert "looking" in run("threads", "show", "latest").out
    # the control: with its sandbox the run has its answer
    vendor("e2b")
    model(LOOKING)
    r = task("e2b", "--json").wait()
    assert r.status == 0 and '"type":"text"' in r.out, r.err


def test_a_terminal_sees_the_answer_as_it_comes(vendor, model, dcode, env,
                                                home):
    fails, _ = fail(vendor, model)
    here, there = pty.openpty()
    with subprocess.Popen(
            [dcode, "-n", "hi", "-M", "anthropic:m", "--sandbox", "e2b"],
            env=env, cwd=home.parent / "work", stdin=subprocess.DEVNULL,
            stdout=there, stderr=subprocess.DEVNULL) as p:
        os.close(there)
        seen = b""
        while b"looking" not in seen:
            seen += os.read(here, 4096)
        assert p.poll() is None
        fails.set()
        assert p.wait() == 1
    os.close(here)


def test_in_a_pipe_it_streams_from_when_the_sandbox_is_there(vendor, model,
                                                             task):
    cloud = vendor("e2b")
    made = held(cloud, "e2b")
    server = model([{"text": "one two " * 50, "chunk_bytes": 300,
                     "chunk_delay_ms": 100}])
    r = task("e2b")
    wait_for(lambda: server.requests)
    made.set()
    first = os.read(r.p.stdout.fileno(), 4096)
    assert first.startswith(b"one ") and len(first) < 200
    r.wait()
    assert r.status == 0, r.err


@pytest.mark.parametrize("how", ["-n", "chat"])
def test_a_kill_while_the_sandbox_is_made_loses_nothing(
        vendor, model, start, run, dcode, env, home, how):
    """Prompt, answer and what it cost; the thread goes on."""
    cloud = vendor("e2b")
    made = held(cloud, "e2b")
    server = model(LOOKING)
    words = ["-M", "anthropic:claude-opus-5", "--sandbox", "e2b"]
    if how == "-n":
        r = start("-n", "hi", *words)
    else:
        r = Terminal([str(dcode), "-m", "hi", "--plain", *words], env,
                     home.parent / "work")
    until_answered(server)
    wait_for(lambda: cloud.count(CREATE["e2b"]))
    db = home / ".deepagents/.state/dcode.db"

    def stored():
        return sqlite3.connect(db).execute(
            "SELECT count(*) FROM spend WHERE calls AND NOT sandbox"
        ).fetchone()[0]
    wait_for(stored)
    os.kill(r.pid, signal.SIGKILL)
    made.set()
    (r.wait if how == "-n" else r.close)()
    shown = json.loads(run("threads", "show", "latest", "--json").out)["data"]
    assert [m["role"] for m in shown["messages"]] == ["user", "assistant"]
    assert "looking" in json.dumps(shown)
    server = model({"turns": [{"text": "well"}], "by": "count"})
    r = run("-r", "latest", "-n", "again", "--sandbox", "none")
    assert r.status == 0 and not server.violations, r.err
    assert "looking" in json.dumps(server.requests[-1]["body"])
    assert run("sandbox", "gc").status == 0
    assert cloud.left() == []
