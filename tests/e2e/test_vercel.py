"""test_vercel.py - Vercel sandboxes through dcode: requests, cuts, an end."""
# SPDX-License-Identifier: MIT
import json

import pytest

from vercel import Vercel

DEMO = "tests/data/demo.json"
COMMAND = "POST /v2/sandboxes/sessions/[^/]+/cmd"


@pytest.fixture
def vercel(env):
    """vercel(**options): an emulated Vercel that env points to."""
    clouds = []

    def begin(**options):
        clouds.append(Vercel(**options).__enter__())
        env.update(clouds[-1].env)
        return clouds[-1]
    yield begin
    for cloud in clouds:
        assert cloud.violations == []
        cloud.__exit__()


@pytest.fixture
def task(run):
    """task(*options): a run of dcode in a Vercel sandbox."""
    def go(*options, **how):
        return run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox",
                   "vercel", *options, **how)
    return go


def test_demo(vercel, model, task, top):
    cloud = vercel(delay=0.3)
    server = model(json.loads((top / DEMO).read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert not server.violations
    assert cloud.left() == []
    # ls, two writes, test, grep and read, edit (2), test; the start's own
    assert cloud.count(COMMAND) <= 10
    assert cloud.count("POST /v2/sandboxes[?]") == 1
    assert cloud.count("DELETE /v2/sandboxes/") >= 1


def test_demo_v1(vercel, model, task, top, env):
    env["VERCEL_API"] = "v1"
    cloud = vercel(delay=0.3)
    model(json.loads((top / DEMO).read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert cloud.left() == []
    assert not cloud.count(".*/v[23]/")
