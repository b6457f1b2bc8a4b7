"""test_stopped_again.py - who only asks a stopped sandbox leaves it stopped."""
# SPDX-License-Identifier: MIT
import json
import sqlite3

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
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    assert run("sandbox", "start", name).status == 0
    r = run("diff", "--stat")
    assert r.status == 0 and "Stopping" not in r.err
    assert states(cloud, run) == (["running"], "live")


def test_one_that_cannot_be_stopped_again_is_named(cloud, run):
    cloud.fault("POST .*/pause", times=None, status=403,
                body='{"code": 403, "message": "no"}')
    r = run("diff", "--stat")
    assert r.status == 0 and "main.c" in r.out
    assert "may run on: " in r.err and "dcode sandbox stop dcode-" in r.err
