"""test_trust_b13_output_files.py - what commands printed does not stay in a
sandbox that is not ours."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import shutil
import signal

import pytest

import cloud_box
from clouds import DONE, NAMES, per_tool, results
from lifecycle import (adopt_orphans, call, command_of, execute, processes,
                       wait_for)

pytestmark = pytest.mark.usefixtures("sandbox_first")

TMP = pathlib.Path("/tmp")
SECRET = "printed-S3cret-0123456789"
WHO = "echo name=$DCODE_EXEC"
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


def commands():
    """Command lines of all processes here."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            found.append(command_of(path.name))
        except OSError:
            continue
    return found


def jobs(roots):
    return [d for root in roots for place in
            ([root / ".dcode-exec"] if root == TMP else
             root.glob("**/.dcode-exec")) for d in place.glob("*")
            if d.is_dir()]


def nothing_is_left(told, roots):
    """No directory and no process of ours, at once: all jobs of a run begin
    as that of the command that told its own."""
    job = told.partition("name=")[2][:8]
    assert len(job) == 8
    assert [d for d in jobs(roots) if d.name.startswith(job)] == []
    assert [c for c in commands() if job in c] == []


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
    server = model([execute(f"{PRINT}; {WHO}"),
                    execute(f"{PRINT}; sleep 60", timeout=1),
                    {"tool_calls": [call("read_file", file_path="/etc/hosts")]},
                    execute(f"{PRINT} >/tmp/f; cat /tmp/f"), DONE])
    r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name,
            "--sandbox-id", row["id"], timeout=90)
    assert r.status == 0, r.err
    told = results(server)
    assert SECRET in told[0] and SECRET in told[1] and SECRET in told[3]
    assert "timed out" in told[1]
    assert kept(roots) == []
    nothing_is_left(told[0], roots)
    if name == "daytona":  # nothing was asked for that between the tools
        tools = per_tool(cloud, server)[1]
        assert [tools[0], *tools[2:]] == [1, 1, 1]


def test_nothing_of_sandbox_exec_is_left(other, roots, run, env, tmp_path):
    """In one that this user's dcode has not made."""
    _, row = other("daytona")
    env["HOME"] = str(tmp_path)
    r = run("sandbox", "exec", "--sandbox", "daytona", row["id"], "--", "sh",
            "-c", f"{PRINT}; {WHO}")
    assert r.status == 0 and SECRET in r.out
    assert kept(roots) == []
    nothing_is_left(r.out, roots)


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


def test_nothing_is_left_of_a_program_whose_sandboxes_share_the_machine(
        top, home, run, model, config):
    """Deleting one of its directories deletes nothing in /tmp."""
    place = home / ".deepagents/providers/dcode-sandbox-directories"
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(top / "providers/examples/plain_directories.py", place)
    place.chmod(0o755)
    config("[sandboxes.providers.directories]\n"
           f'params.root = "{home / "boxes"}"\n')
    server = model([execute(f"{PRINT}; {WHO}"), execute("echo a"), DONE])
    r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox",
            "directories")
    assert r.status == 0, r.err
    nothing_is_left(results(server)[0], [TMP])


def test_no_sleep_of_ours_is_left_of_a_command_with_a_time_limit(
        top, home, run, model, config):
    """The keeper's children have no name to be found by: they are this test's
    descendants once their parents are gone."""
    place = home / ".deepagents/providers/dcode-sandbox-directories"
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(top / "providers/examples/plain_directories.py", place)
    place.chmod(0o755)
    config("[sandboxes.providers.directories]\n"
           f'params.root = "{home / "boxes"}"\n')
    adopt_orphans()
    server = model([execute("sleep 1.2; echo a", timeout=600),
                    execute("sleep 987 >/dev/null 2>&1 & echo b"), DONE])
    r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox",
            "directories")
    assert r.status == 0, r.err
    assert "b\n" in results(server)[1]
    left = processes()
    for pid, command in left.items():
        if "sleep 987" in command:
            os.kill(pid, signal.SIGKILL)
    assert [c for c in left.values() if "sleep" in c and "987" not in c] == []
