"""test_langsmith.py - LangSmith sandboxes through dcode: requests, cuts."""
# SPDX-License-Identifier: MIT
import json

import pytest

from langsmith import LangSmith
from lifecycle import call, execute

DEMO = "tests/data/demo.json"
READY = ["deepagents-code"]


@pytest.fixture
def langsmith(env):
    """langsmith(**options): an emulated LangSmith that env points to."""
    clouds = []

    def begin(**options):
        clouds.append(LangSmith(**{"ready": READY, **options}).__enter__())
        env.update(clouds[-1].env)
        return clouds[-1]
    yield begin
    for cloud in clouds:
        assert cloud.violations == []
        cloud.__exit__()


@pytest.fixture
def task(run):
    """task(*options): a run of dcode in a LangSmith sandbox."""
    def go(*options, **how):
        return run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox",
                   "langsmith", *options, **how)
    return go


@pytest.mark.parametrize("websocket", [True, False])
def test_demo(langsmith, model, task, top, websocket):
    cloud = langsmith(websocket=websocket)
    server = model(json.loads((top / DEMO).read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert not server.violations
    assert cloud.left() == []
    print("\n".join(cloud.lines()))
    # ls, two writes, test, grep and read, edit (2), test; the start's own
    assert cloud.count("(POST|GET) /sb-[^/]*/execute") <= 10 + (
        not websocket)
    assert cloud.count("GET /v2/sandboxes/snapshots") == 1
    assert cloud.count("POST /v2/sandboxes/boxes$") == 1
    assert cloud.count("DELETE /v2/sandboxes/boxes/dcode-") == 1
