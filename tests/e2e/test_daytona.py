"""test_daytona.py - Daytona sandboxes through dcode: requests, cuts, no rest."""
# SPDX-License-Identifier: MIT
import json
import os
import signal

import pytest

from daytona import JWT, ORGANIZATION, Daytona
from lifecycle import call, execute, wait_for

DEMO = "tests/data/demo.json"
EXECUTE = "POST /toolbox/[^/]+/process/execute"
DONE = {"text": "done"}


@pytest.fixture
def daytona(env):
    """daytona(**options): an emulated Daytona that env points to."""
    clouds = []

    def begin(**options):
        clouds.append(Daytona(**options).__enter__())
        env.update(clouds[-1].env)
        return clouds[-1]
    yield begin
    for cloud in clouds:
        cloud.__exit__()
        assert cloud.violations == []


@pytest.fixture
def task(run):
    """task(*options): a run of dcode in a Daytona sandbox."""
    def go(*options, **how):
        return run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox",
                   "daytona", *options, **how)
    return go


def results(server):
    """The tools' results that the model was given, in order."""
    found = []
    for message in server.requests[-1]["body"]["messages"]:
        if isinstance(message["content"], list):
            found += [p["content"] if isinstance(p["content"], str) else
                      "".join(t["text"] for t in p["content"])
                      for p in message["content"]
                      if p["type"] == "tool_result"]
    return found


def test_demo(daytona, model, task, top):
    cloud = daytona(delay=0.15, moves="pulling_snapshot")
    server = model(json.loads((top / DEMO).read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert not server.violations
    assert cloud.left() == []
    # ls, two writes, test, grep and read, edit (2), test; the start's own
    assert cloud.count(EXECUTE) <= 10
    assert cloud.count("POST /api/sandbox$") == 1
    assert cloud.count("DELETE /api/sandbox/") == 1
