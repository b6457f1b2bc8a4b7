"""test_stopped_again.py - who only asks a stopped sandbox leaves it stopped."""
# SPDX-License-Identifier: MIT
import json
import sqlite3
import time

import pytest

from lifecycle import execute
from test_workspace import DONE, work  # noqa: F401 (a fixture)


@pytest.fixture
def cloud(vendor, model, run, work):  # noqa: F811
    """One sandbox with work, stopped at the end of its run."""
    cloud = vendor("e2b")
    model([execute("echo 2 >src/main.c"), DONE])
    r = run("-n", "go", "-M", "anthropic:m", "--sandbox", "e2b",
            "--workspace", "repo", "-y", "--on-exit", "stop")
    assert r.status == 0, r.err
    return cloud


def states(cloud, run):
    row, = json.loads(run("sandbox", "list", "--json").out)["data"]
    return [kept.state for kept in cloud.boxes.values()], row["state"]


def newest(run):
    return json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]


def test_exec_and_cp_stop_it_again(cloud, run, tmp_path):
    name = newest(run)
    r = run("sandbox", "exec", name, "--", "cat src/main.c; exit 3")
    assert r.status == 3 and r.out == "2\n", r.err
    assert "Stopping the sandbox again" in r.err
    assert states(cloud, run) == (["paused"], "stopped")
    r = run("sandbox", "cp", f"{name}:src/main.c", str(tmp_path / "copy"))
    assert r.status == 0 and "Stopping the sandbox again" in r.err, r.err
    assert (tmp_path / "copy").read_text() == "2\n"
    assert states(cloud, run) == (["paused"], "stopped")
    assert run("sandbox", "start", name).status == 0
    r = run("sandbox", "exec", name, "--", "true")
    assert r.status == 0 and "Stopping" not in r.err
    assert states(cloud, run) == (["running"], "live")


def test_the_first_of_two_leaves_it_to_the_second(cloud, run, start):
    name = newest(run)
    until = "until [ -e {} ]; do sleep 0.1; done"
    first = start("sandbox", "exec", name, "--", until.format("second"))
    end = time.monotonic() + 60
    while states(cloud, run) != (["running"], "live"):
        assert time.monotonic() < end
        time.sleep(0.1)
    second = start("sandbox", "exec", name, "--", "touch second; "
                   + until.format("third") + "; echo over")
    r = first.wait()
    assert r.status == 0 and "keeps running: another dcode uses it" in r.err
    assert run("sandbox", "exec", name, "--", "touch third").status == 0
    assert second.wait().out == "over\n"
    assert states(cloud, run) == (["running"], "live")


@pytest.mark.parametrize("args", [
    ("diff", "--stat"), ("apply",), ("sync",),
    ("threads", "export", "latest", "-", "--with-patch")])
def test_who_asks_a_stopped_sandbox_stops_it_again(cloud, run, home, args):
    assert states(cloud, run) == (["paused"], "stopped")
    database = home / ".deepagents/.state/dcode.db"
    with sqlite3.connect(database) as db:
        (before,), = db.execute("SELECT ends FROM ledger")
    r = run(*args)
    assert r.status == 0 and "Stopping the sandbox again" in r.err, r.err
    assert states(cloud, run) == (["paused"], "stopped")
    with sqlite3.connect(database) as db:
        (after,), = db.execute("SELECT ends FROM ledger")
    assert abs(after - before) <= 5


def test_one_that_ran_runs_on(cloud, run):
    assert run("sandbox", "start", newest(run)).status == 0
    r = run("diff", "--stat")
    assert r.status == 0 and "Stopping" not in r.err
    assert states(cloud, run) == (["running"], "live")


def test_one_that_cannot_be_stopped_again_is_named(cloud, run):
    cloud.fault("POST .*/pause", times=None, status=403,
                body='{"code": 403, "message": "no"}')
    r = run("diff", "--stat")
    assert r.status == 0 and "main.c" in r.out
    assert "may still be running: " in r.err
    assert "dcode sandbox stop dcode-" in r.err
