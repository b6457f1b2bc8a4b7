"""test_lifecycle_overlap.py - killed, or told to end, while the sandbox is made
and the model answers: gc leaves nothing.

Samples the moments; DCODE_TEST_LONG=1 takes 200 of each."""
# SPDX-License-Identifier: MIT
import os
import random
import signal
import time

import pytest

from clouds import DONE
from lifecycle import execute, wait_for
from test_lifecycle_kill import (  # noqa: F401  pylint: disable=unused-import
    KILLED, Killer, kill_at, orphans)

POINTS = 200 if os.environ.get("DCODE_TEST_LONG") else 5
# The answer takes about as long as the sandbox.
ANSWERS = [{"text": "looking " * 20, **execute("echo x"), "chunk_bytes": 200,
            "chunk_delay_ms": 10}, DONE]
TASK = ("--sandbox", "e2b")


@pytest.fixture
def killer(kill_at, dcode_release, env, tmp_path, home, orphans,  # noqa: F811
           model):
    assert home
    model(ANSWERS)
    return Killer(kill_at, dcode_release, env, tmp_path, orphans)


def nothing_left(killer, cloud):
    """What was asked for is done, though nobody waits for the answer."""
    wait_for(lambda: all("seconds" in q for q in cloud.requests))
    killer.gc()
    assert cloud.left() == [] and killer.rows() == []


def test_killed_while_both_are_under_way(killer, vendor):
    cloud = vendor("e2b", delay=0.1)
    status, total, err = killer.task(0, *TASK)
    assert status == 0 and total > 20, err
    chosen = random.Random(os.environ.get("DCODE_TEST_SEED"))
    points = min(POINTS, total)
    for i in range(points):
        at = 1 + int((i + chosen.random()) * total / points)
        status, _, err = killer.task(at, *TASK)
        assert status in (0, KILLED), (at, err)
        nothing_left(killer, cloud)


def test_told_to_end_while_both_are_under_way(killer, vendor, start,
                                              dcode_release):
    cloud = vendor("e2b", delay=0.1)
    words = ("-n", "hi", "-M", "anthropic:m", *TASK)
    r = start(*words, program=dcode_release).wait()
    assert r.status == 0, r.err
    whole, chosen = r.seconds, random.Random(os.environ.get("DCODE_TEST_SEED"))
    for i in range(POINTS):
        r = start(*words, program=dcode_release)
        time.sleep(whole * (i + chosen.random()) / POINTS)
        r.signal(signal.SIGTERM)
        r.wait()
        assert r.status in (0, 143, -signal.SIGTERM), r.err
        nothing_left(killer, cloud)
