"""test_lifecycle_ssh.py - SIGKILL before any system call, and a cut after any
piece of what goes over the wire to a real sshd.

CI samples both; DCODE_TEST_LONG=1: 200 kills, and every piece."""
# SPDX-License-Identifier: MIT
import json

import pytest

from lifecycle import call, execute
from test_lifecycle_kill import (KILLED, LONG, Killer, kill_at,  # noqa: F401
                                 orphans)
from test_ssh import left, ssh, sshd  # noqa: F401
from sshd_rig import Wire

KILLS = 200 if LONG else 3
STEP = 1 if LONG else 13


@pytest.fixture
def killer(kill_at, dcode_release, env, tmp_path, orphans):  # noqa: F811
    return Killer(kill_at, dcode_release, env, tmp_path, orphans)


def labels(run):
    rows = json.loads(run("sandbox", "list", "--all", "--json").out)["data"]
    return [row["label"] for row in rows]


def test_killed_anywhere(killer, ssh, sshd, model, run):  # noqa: F811
    """gc finds the rest: no process, no directory, no row."""
    model({"turns": [execute("sleep 300 & setsid sleep 301 & echo x"),
                     {"text": "done"}], "repeat": True})
    options = ("-y", "--sandbox", "ssh")
    status, total, err = killer.task(0, *options)
    assert status == 0 and total > 20, err
    found = 0
    for i in range(KILLS):
        n = max(1, total * (2 * i + 1) // (2 * KILLS))
        status, _, err = killer.task(n, *options)
        assert status in (0, KILLED), (n, err)
        items = killer.gc()
        found += any(i["outcome"] == "removed" for i in items)
        assert killer.rows() == [], n
        assert left(sshd, labels(run)) == [], (n, items)
    print(f"{KILLS} kills, {found} times something was there")
    assert found


@pytest.fixture
def project(sshd):  # noqa: F811
    place = sshd.home / "project"
    place.mkdir()
    yield place
    for path in place.iterdir():
        path.unlink()
    place.rmdir()


@pytest.mark.slow
def test_a_cut_after_any_piece(run, ssh, sshd, model, project):  # noqa: F811
    """Every run ends, in success or an error that names ssh; no command
    runs twice."""
    wire = Wire(sshd.port)
    sshd.host("torn", wire.port)
    ssh("torn", f'workdir = "{project}"\n')
    model({"turns": [execute("echo x >>ran; cat ran"),
                     {"tool_calls": [call("write_file", file_path="b",
                                          content="one\n")]},
                     {"tool_calls": [call("read_file", file_path="b")]},
                     execute("echo y >>ran; cat ran b"), {"text": "done"}],
           "repeat": True})
    n, failed = 1, 0
    while True:
        wire.passed, wire.cuts, wire.cut_after = 0, 0, n
        r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "ssh",
                timeout=120)
        ran = project / "ran"
        told = ran.read_text() if ran.exists() else ""
        assert told in ("", "x\n", "x\ny\n"), (n, told)
        if r.status == 0:
            assert told == "x\ny\n", (n, r.err)
        else:
            failed += 1
            assert "ssh: " in r.err, (n, r.err)
        if not wire.cuts:
            break
        for path in project.iterdir():
            path.unlink()
        run("sandbox", "gc")
        n += STEP
    wire.close()
    print(f"{n} pieces, {failed} runs failed")
    assert r.status == 0 and n > 20
