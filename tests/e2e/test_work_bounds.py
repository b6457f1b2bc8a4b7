"""test_work_bounds.py - what saving, applying and coming back may cost."""
# SPDX-License-Identifier: MIT
import json
import os
import time

import pytest

from bench.tree_in import Relay, fill
from clouds import EXECUTE, elsewhere
from lifecycle import execute, folders, wait_for
from test_apply import room  # noqa: F401 (a fixture)
from test_diff import patches
from test_workspace import DONE, box, local, task, work  # noqa: F401

SECRET = "sk-a-known-secret-of-the-user"
CHANGE = execute("echo 2 >src/main.c")
TREE = ("--workspace", "repo", "-y", "--json")


def test_apply_names_the_files_that_hold_a_known_secret(
        run, room, env, tmp_path):  # noqa: F811
    env["OPENAI_API_KEY"] = SECRET

    def change(there):
        (there / "conf").write_text(f"key = {SECRET}\n")
        (there / "plain").write_text("key = none\n")
    room.send(tmp_path, change)
    done = run("apply")
    assert done.status == 0, done.err
    assert "conf contains a known secret" in done.err
    assert "plain holds" not in done.err and SECRET not in done.err
    assert SECRET in (room.root / "conf").read_text()


@local
def test_a_sandbox_goes_though_its_work_cannot_be_saved(task, work, home):
    state = home / ".deepagents/.state"
    state.mkdir(mode=0o700, parents=True)
    (state / "patches").write_text("no directory")
    end = task([CHANGE, DONE], *TREE).wait()
    assert end.status == 1, end.err
    changes = json.loads(end.out.splitlines()[-1])["changes"]
    assert changes["patch"] is None and "patches" in changes["error"]
    assert "Error: cannot save a patch of the sandbox's changes" in end.err
    assert "cannot save the sandbox's" in end.err and folders(home) == []


@pytest.mark.long
def test_a_sandbox_that_is_silent_is_deleted_after_half_a_minute(
        vendor, model, start, work, home):
    cloud = vendor("e2b")
    server = model([CHANGE, {**DONE, "delay_ms": 3000}])
    going = start("-n", "go", "-M", "anthropic:m", "--sandbox", "e2b", *TREE)
    wait_for(lambda: len(server.requests) == 2)
    cloud.fault(EXECUTE["e2b"], times=None, delay=300)
    began = time.monotonic()
    end = going.wait(120)
    assert 20 < time.monotonic() - began < 90
    changes = json.loads(end.out.splitlines()[-1])["changes"]
    assert changes["patch"] is None and changes["error"]
    assert "cannot save the sandbox's changes: " in end.err
    assert patches(home) == [] and not cloud.boxes


class Counter(Relay):
    """Counts both ways."""

    def copy(self, source, target, limited):
        super().copy(source, target, True)


@pytest.mark.slow
def test_ten_changed_files_cost_little_more_than_their_bytes(
        vendor, model, env, run, tmp_path):
    cloud = vendor("e2b")
    relay = Counter(cloud.port, 1e9)
    elsewhere(env, relay.url)
    top = tmp_path / "work"
    fill(top, 1500, 3 << 20)  # their listing has 130 KB
    model([DONE, DONE])
    go = ("-n", "hi", "-M", "anthropic:m", "--sandbox", "e2b", "--keep")
    assert run(*go, "--workspace", "repo").status == 0
    assert relay.passed > 400_000  # the control
    for args in (("sync",), ("-r", *go)):
        for path in sorted(top.glob("d*/*"))[::150]:
            path.write_bytes(os.urandom(1000))
        before = relay.passed
        done = run(*args)
        assert done.status == 0 and "10 files" in done.err, done.err
        assert relay.passed - before < 10_000 + (64 << 10), args


@local
def test_names_of_more_than_a_megabyte_are_compared(task, run, work):
    """sort(1) reads its input in pieces of 256 KiB."""
    for n in range(5000):
        (work / f"{n:04}{'x' * 240}").write_text("a\n")
    r = task([execute("for f in 0*7x* 4*3x*; do echo b >>$f; done;"
                      " rm 2*9x*; echo new >new"), DONE],
             "--workspace", "repo", "--keep").wait()
    assert r.status == 0, r.err
    seen = json.loads(run("diff", "--json").out)["data"]
    assert seen["left"] == [] and seen["refused"] == []
    assert sorted(f["status"] for f in seen["files"]) == (
        ["A"] + ["D"] * 100 + ["M"] * 200)
    run("sandbox", "gc")
