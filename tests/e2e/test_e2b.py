"""test_e2b.py - E2B sandboxes through dcode: requests, cuts, nothing left."""
# SPDX-License-Identifier: MIT
import json

import pytest

from e2b import E2B
from lifecycle import call, execute

DEMO = "tests/data/demo.json"


@pytest.fixture
def e2b(env):
    """e2b(**options): an emulated E2B that env points to."""
    clouds = []

    def begin(**options):
        clouds.append(E2B(**options).__enter__())
        env.update(clouds[-1].env)
        return clouds[-1]
    yield begin
    for cloud in clouds:
        assert cloud.violations == []
        cloud.__exit__()


@pytest.fixture
def task(run):
    """task(*options): a run of dcode in an E2B sandbox."""
    def go(*options, **how):
        return run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "e2b",
                   *options, **how)
    return go


def test_demo(e2b, model, task, top):
    cloud = e2b()
    server = model(json.loads((top / DEMO).read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert not server.violations
    assert cloud.left() == []
    print("\n".join(cloud.lines()))
    starts = cloud.count("POST /process.Process/Start")
    # ls, two writes, test, grep and read, edit (2), test; the start's own
    assert starts <= 10
    assert cloud.count("POST /v2/sandboxes$") == 1
    assert cloud.count("DELETE /sandboxes/") == 1
