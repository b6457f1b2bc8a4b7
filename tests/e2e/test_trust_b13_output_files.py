"""test_trust_b13_output_files.py - what commands printed does not stay in a
sandbox that is not ours."""
# SPDX-License-Identifier: MIT
import json
import signal

import pytest

import cloud_box
from clouds import DONE, NAMES, per_tool, results
from lifecycle import call, execute, wait_for

pytestmark = pytest.mark.usefixtures("sandbox_first")

SECRET = "printed-S3cret-0123456789"
PRINT = "echo printed-S3cret-0123''456789; seq 3000"


@pytest.fixture
def roots(monkeypatch):
    """The root directories of all emulated sandboxes, on this machine."""
    found = []
    boot = cloud_box.Box.boot

    def booted(self):
        found.append(self.root)
        return boot(self)
    monkeypatch.setattr(cloud_box.Box, "boot", booted)
    return found


def jobs(roots):
    return [d for root in roots for d in root.glob("**/.dcode-exec/*")
            if d.is_dir()]


def kept(roots):
    """Files of jobs that hold what a command printed."""
    return [str(f) for d in jobs(roots) for f in d.iterdir()
            if f.is_file() and SECRET.encode() in f.read_bytes()]


@pytest.fixture
def other(vendor, model, start, run):
    """other(name): (emulator, row) of a sandbox that belongs to another
    dcode, which lives on."""
    living = []

    def begin(name, **options):
        cloud = vendor(name, **options)
        server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
        living.append(start("-n", "hi", "-M", "anthropic:m", "--sandbox",
                            name))
        wait_for(lambda: server.model.received)
        (row,) = json.loads(run("sandbox", "list", "--json").out)["data"]
        return cloud, row
    yield begin
    for one in living:
        one.signal()
        one.wait(20)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_it_is_left_in_an_attached_sandbox(other, roots, model,
                                                      run, name):
    cloud, row = other(name)
    cloud.forget()
    server = model([execute(PRINT),
                    execute(f"{PRINT}; sleep 60", timeout=1),
                    {"tool_calls": [call("read_file", file_path="/etc/hosts")]},
                    execute(f"{PRINT} >/tmp/f; cat /tmp/f"), DONE])
    r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name,
            "--sandbox-id", row["id"], timeout=90)
    assert r.status == 0, r.err
    told = results(server)
    assert SECRET in told[0] and SECRET in told[1] and SECRET in told[3]
    assert "timed out" in told[1]
    assert len(jobs(roots)) >= 4  # they were kept in files there
    assert kept(roots) == []
    if name == "daytona":  # nothing was asked for that between the tools
        tools = per_tool(cloud, server)[1]
        assert [tools[0], *tools[2:]] == [1, 1, 1]


def test_nothing_of_sandbox_exec_is_left(other, roots, run):
    _, row = other("daytona")
    r = run("sandbox", "exec", row["name"], "--", "sh", "-c", PRINT)
    assert r.status == 0 and SECRET in r.out
    assert jobs(roots) and kept(roots) == []


def test_nothing_is_left_of_a_cancelled_run(other, roots, model, start):
    _, row = other("daytona")
    server = model([execute(PRINT), execute(f"{PRINT}; sleep 60"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "daytona",
              "--sandbox-id", row["id"])
    wait_for(lambda: server.model.received > 1 and kept(roots))
    p.signal()
    p.wait(20)
    wait_for(lambda: not kept(roots))  # not the 90 s of the sandbox's own


def test_the_sandbox_removes_it_when_dcode_was_killed(other, roots, model,
                                                      start):
    """After 90 s, which are over at once by the job's own clock."""
    _, row = other("daytona")
    server = model([execute(PRINT), {
        "text": "abc", "fault": {"stall_after_bytes": 40}}])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "daytona",
              "--sandbox-id", row["id"])
    wait_for(lambda: server.model.received > 1)
    p.signal(signal.SIGKILL)
    p.p.wait()
    assert kept(roots)  # control: here it is
    for done in (d / "done" for d in jobs(roots)):
        words = done.read_text().split()
        words[3] = str(int(words[3]) - 90)
        done.write_text(" ".join(words) + "\n")
    wait_for(lambda: not kept(roots), 30)
