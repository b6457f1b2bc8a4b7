"""test_lifecycle_exec.py - commands that hide, flood or hang; lifetimes;
attaching and snapshots."""
# SPDX-License-Identifier: MIT
import json
import os
import subprocess
import time

import pytest

from lifecycle import execute, wait_for

pytestmark = pytest.mark.usefixtures("sandbox_first")

TASK = ("-n", "hi", "-M", "anthropic:m", "--json", "--sandbox")


@pytest.fixture(params=["local", "docker"])
def kind(request):
    return request.param


@pytest.fixture
def settle(kind, request, env, config):
    """settle(text): the provider configured, with more parameters."""
    def write(text=""):
        if kind == "docker":
            rig = request.getfixturevalue("rig")
            env["DOCKER_HOST"] = rig.docker_host
            text += f'image = "{rig.image}"\nnetwork = "none"\n'
        config(f"[sandboxes.providers.{kind}.params]\n{text}")
    write()
    return write


def events(out):
    return [json.loads(line) for line in out.splitlines()]


def results(out):
    return [e["content"] for e in events(out) if e["type"] == "tool_result"]


HIDERS = {
    "plain": "sleep 555",
    "background": "sleep 555 & wait",
    "setsid": "setsid sleep 555 & sleep 555",
    "setsid -w": "setsid sh -c 'trap \"\" TERM INT HUP; sleep 555' & wait",
    "double fork": "(setsid sh -c '(sleep 555 &) ; sleep 555' &) ; sleep 555",
    "no streams": "(setsid sleep 555 </dev/null >/dev/null 2>&1 &); "
                  "sleep 555",
    "no variables": "env -i setsid /bin/sleep 555 & sleep 555",
    "forks on": "f() { sh -c 'sleep 555 & sleep 555' & }; f; f; f; sleep 555",
    "ignores": "trap '' TERM INT HUP QUIT; while :; do sleep 555; done",
}


@pytest.mark.parametrize("how", list(HIDERS))
def test_timeout_kills_the_tree(kind, settle, model, run, how):
    model([execute(f"echo printed; {HIDERS[how]}", timeout=1),
           execute("for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; "
                   "echo; done 2>/dev/null | grep -c 'slee[p] 555'"),
           {"text": "done"}])
    r = run(*TASK, kind)
    assert r.status == 0, r.err
    first, second = results(r.out)
    assert "printed" in first and "timed out" in first.lower(), first
    assert set(second.split("\n\n")[0].split()[:1]) == {"0"}, second


def test_output_is_live(kind, settle, model, start):
    model([execute("for i in 1 2 3 4; do echo line$i; sleep 0.3; done"),
           {"text": "done"}])
    r = start(*TASK, kind)
    seen = {}
    for line in r.p.stdout:
        e = json.loads(line)
        if e["type"] == "tool_output":
            for word in e["delta"].split():
                seen[word] = time.monotonic()
        if e["type"] == "tool_result":
            seen["end"] = time.monotonic()
    r.wait()
    times = [seen[f"line{i}"] for i in range(1, 5)] + [seen["end"]]
    gaps = [b - a for a, b in zip(times, times[1:])]
    assert all(0.15 < gap < 0.8 for gap in gaps), gaps


def test_a_hundred_megabytes(kind, settle, model, run):
    size = 100_000_000
    server = model([
        execute("echo first; head -c %d /dev/zero | tr '\\0' 'x'; "
                "echo; echo last" % size),
        execute("echo still there"), {"text": "done"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", kind, "-q",
            timeout=120)
    assert (r.status, r.out) == (0, "done\n"), r.err
    print(f"{kind}: 100 MB in {r.seconds:.1f} s")
    sent = json.dumps(server.requests[-1]["body"])
    assert "first" in sent and "still there" in sent
    assert len(sent) < 1_000_000
    assert r.seconds < 60


def test_lifetime_ends_it(kind, settle, model, start, run, request):
    settle("lifetime = 3\n")
    server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
    r = start(*TASK, kind)
    wait_for(lambda: server.model.received)
    (row,) = json.loads(run("sandbox", "list", "--json").out)["data"]

    def state():
        info = run("sandbox", "info", row["name"], "--json")
        return json.loads(info.out)["data"]["state"]
    assert state() == "running"
    r.kill()  # nobody is left to end it
    r.p.communicate()
    wait_for(lambda: state() != "running", 10)
    assert run("sandbox", "gc").status == 0
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


def test_ended_under_a_session(kind, settle, model, run):
    """The lifetime passes between two calls: said, not hung."""
    settle("lifetime = 2\n")
    model([execute("sleep 1"), execute("echo a; sleep 30"),
           execute("echo b"), {"text": "done"}])
    r = run(*TASK, kind, timeout=40)
    assert r.status in (0, 1), r.err
    assert r.seconds < 40
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


@pytest.fixture
def left(kind, settle, model, start, run):
    """The row of a sandbox whose dcode was killed."""
    server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
    r = start(*TASK, kind)
    wait_for(lambda: server.model.received)
    r.kill()
    r.p.communicate()
    (row,) = json.loads(run("sandbox", "list", "--json").out)["data"]
    yield row
    run("sandbox", "gc")


def test_attach_to_a_stopped_one(left, kind, model, run, request):
    assert run("sandbox", "exec", left["name"], "--", "echo kept >f").status \
        == 0
    if kind == "docker":
        rig = request.getfixturevalue("rig")
        rig.podman("stop", "-t", "1", left["label"])
    model([execute("cat f"), {"text": "done"}])
    r = run(*TASK, kind, "--sandbox-id", left["id"])
    assert r.status == 0, r.err
    assert results(r.out)[0].startswith("kept")
    assert run("sandbox", "info", left["name"]).status == 0
    if kind == "docker":
        rig.podman("pause", left["label"])
        r = run("sandbox", "exec", left["name"], "--", "cat f")
        assert r.out == "kept\n", r.err


def test_snapshots(left, kind, model, run, request):
    name = f"snap-{kind}-{os.getpid()}"
    # Beside and inside the working directory; hidden files too.
    run("sandbox", "exec", left["name"], "--",
        "echo one >f; mkdir -p d; echo two >d/.g; chmod 640 f")
    r = run("sandbox", "snapshot", left["name"], name)
    assert r.status == 0, r.err
    run("sandbox", "exec", left["name"], "--", "echo changed >f")
    model([execute("cat f d/.g; stat -c %a f"), {"text": "done"}])
    r = run(*TASK, kind, "--sandbox-snapshot-name", name)
    assert r.status == 0, r.err
    assert results(r.out)[0].startswith("one\ntwo\n640")
    if kind == "docker":
        request.getfixturevalue("rig").podman(
            "rmi", "-f", f"dcode-snapshot:{name}")
    for absent in ("no-such-snapshot", "../x", "a b", ""):
        r = run(*TASK, kind, "--sandbox-snapshot-name", absent)
        assert r.status in (1, 2), (absent, r.err)
        assert "snapshot" in r.err
    rows = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert [row["label"] for row in rows] == [left["label"]]
