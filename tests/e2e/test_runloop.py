"""test_runloop.py - Runloop devboxes through dcode: requests, cuts, nothing left."""
# SPDX-License-Identifier: MIT
import json

import pytest

from runloop import Runloop
from lifecycle import call, execute

DEMO = "tests/data/demo.json"


@pytest.fixture
def runloop(env):
    """runloop(**options): an emulated Runloop that env points to."""
    clouds = []

    def begin(**options):
        clouds.append(Runloop(**options).__enter__())
        env.update(clouds[-1].env)
        return clouds[-1]
    yield begin
    for cloud in clouds:
        assert cloud.violations == []
        cloud.__exit__()


@pytest.fixture
def task(run):
    """task(*options): a run of dcode in a devbox."""
    def go(*options, **how):
        return run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "runloop",
                   *options, **how)
    return go


def test_demo(runloop, model, task, top):
    cloud = runloop()
    server = model(json.loads((top / DEMO).read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert not server.violations
    assert cloud.left() == []
    print("\n".join(cloud.lines()))
    assert cloud.count("POST /v1/devboxes$") == 1
    assert cloud.count("POST /v1/devboxes/[^/]*/shutdown") == 1
    assert cloud.count("POST /v1/devboxes/[^/]*/execute") <= 10
