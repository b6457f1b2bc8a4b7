"""test_slurm_faults.py - each piece of the cluster's answers, spoiled once, and
SIGKILL before any system call; gc finds the rest.

A piece is what sbatch, squeue or scancel print, or a read of srun's stream, in
either direction. CI tries some of each; DCODE_TORTURE_STEP=1 tries all pieces,
DCODE_TEST_LONG=1 200 moments of a kill."""
# SPDX-License-Identifier: MIT
import os

import pytest

import lifecycle
from clouds import DONE, results
from lifecycle import call, execute
from test_lifecycle_kill import KILLED, Killer, kill_at, moments, orphans

__all__ = ["kill_at", "orphans"]
STEP = int(os.environ.get("DCODE_TORTURE_STEP", "20"))
LONG = bool(os.environ.get("DCODE_TEST_LONG"))
KILLS = 200 if LONG else 2
WAYS = ["cut", "lost", "damaged"]
SCRIPT = [execute("echo x >>ran; cat ran"),
          {"tool_calls": [call("write_file", file_path="b",
                               content="one\n")]},
          {"tool_calls": [call("read_file", file_path="b")]},
          execute("echo y >>ran; cat ran b"), DONE]
TASK = ("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "slurm")


@pytest.mark.parametrize("way", [
    # A stream that lies is given up only after a minute; a lost answer of
    # sbatch is in test_slurm.py.
    w if w == "cut" else pytest.param(w, marks=pytest.mark.long)
    for w in WAYS])
def test_torture(slurm, model, run, way):
    """Every run ends, in success or an error that names the provider; no
    command runs twice, no job or directory is left."""
    slurm.wrap()
    server = model({"turns": SCRIPT, "repeat": True})
    n = 1 + WAYS.index(way) * STEP // len(WAYS)
    tried = failed = 0
    while True:
        slurm.spoil(n, way)
        r = run(*TASK, timeout=150)
        tried += 1
        slurm.nothing_left()
        if r.status == 0:
            assert results(server)[3].startswith("x\ny\none"), n
            assert results(server)[0].startswith("x\n"), n
        else:
            failed += 1
            assert "slurm: " in r.err, (n, r.err)
        if not slurm.spoiled:
            break
        n += STEP
    print(f"{way}: {slurm.pieces} pieces, {tried} runs, {failed} failed")
    assert r.status == 0 and slurm.pieces > 12


@pytest.mark.slow
def test_killed_anywhere(kill_at, dcode_release, env, slurm, model, home,
                         tmp_path, orphans):
    model({"turns": [execute("echo x >f; sleep 0.05; cat f"), DONE],
           "repeat": True})
    killer = Killer(kill_at, dcode_release, env, tmp_path, orphans)
    # What the cluster runs for a job is no child of dcode's.
    killer.strangers = lambda: {
        pid: c for pid, c in lifecycle.processes(
            but={d.pid for d in slurm.rig.daemons.values()}).items()
        if pid not in orphans and "slurmstepd" not in c}
    options = ("--sandbox", "slurm", "-y")
    status, total, err = killer.task(0, *options)
    assert status == 0 and total > 20, err
    slurm.nothing_left()
    killer.nothing_left(home, slurm.left)
    width = total / KILLS
    points = [max(1, int((i + 0.5) * width)) for i in range(KILLS)] if LONG \
        else list(moments(total, KILLS))
    # How many calls wait for the job differs: on, until one strikes there.
    points += range(total // 3, total, max(1, total // 30))
    found = 0
    for i, n in enumerate(points):
        if i >= KILLS and found:
            break
        status, _, err = killer.task(n, *options)
        assert status in (0, KILLED), (n, err)
        items = killer.gc()
        found += any(x["outcome"] == "removed" for x in items)
        try:
            slurm.nothing_left()
            killer.nothing_left(home, slurm.left)
        except AssertionError as problem:
            raise AssertionError(
                f"killed before call {n} of about {total}: {items}\n{err}"
                ) from problem
    print(f"{i} kills in {total} calls, {found} found by gc")
    assert found, "no kill struck while there was a sandbox"
