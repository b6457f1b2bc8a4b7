"""test_start_timeout.py - how long a sandbox may take until it is ready."""
# SPDX-License-Identifier: MIT
import time

import pytest

import boxes
from clouds import DONE

PLAIN = ("-n", "hi", "-M", "anthropic:m", "--sandbox")
VENDORS = ("daytona", "e2b", "langsmith", "modal", "runloop", "vercel")


def late(r, seconds):
    words = " ".join(r.err.split())
    assert r.status == 1, r.err
    assert f"not ready within {seconds} s (start_timeout)" in words, r.err


@pytest.mark.parametrize("name", VENDORS)
def test_a_vendor_that_is_too_slow(vendor, config, model, run, name):
    """Ended in time, nothing stays; the control has time enough."""
    cloud = vendor(name, delay=2.5)
    model([DONE])
    config(f"[sandboxes.providers.{name}]\nstart_timeout = 1\n")
    began = time.monotonic()
    r = run(*PLAIN, name)
    late(r, 1)
    assert time.monotonic() - began < 15
    if cloud.left():
        assert run("sandbox", "gc").status == 0
    assert cloud.left() == []
    config("[sandboxes]\nstart_timeout = 60\n")
    assert run(*PLAIN, name).status == 0


def test_the_tables_own_limit_goes_over_the_common_one(vendor, config, model,
                                                       run, env):
    vendor("daytona", delay=1.5)
    model([DONE])
    config("[sandboxes]\nstart_timeout = 1\n")
    late(run(*PLAIN, "daytona"), 1)
    config("[sandboxes]\nstart_timeout = 1\n"
           "[sandboxes.providers.daytona]\nstart_timeout = 60\n")
    assert run(*PLAIN, "daytona").status == 0
    config("")
    env["DEEPAGENTS_CODE_SANDBOX_START_TIMEOUT"] = "1"
    late(run(*PLAIN, "daytona"), 1)


def test_a_described_service_and_a_program(config, env, model, run, home):
    model([DONE])
    env["BOX_TOKEN"] = boxes.KEY
    with boxes.Boxes(boots=30) as cloud:
        config(boxes.config(cloud.url).replace(
            "working_dir", "start_timeout = 1\nworking_dir", 1))
        late(run(*PLAIN, "homemade"), 1)
        assert cloud.left() == []
    slow = home / ".deepagents/providers/dcode-sandbox-slow"
    slow.parent.mkdir(parents=True)
    slow.write_text("#!/bin/sh\nsleep 30\n")
    slow.chmod(0o755)
    config("[sandboxes]\nstart_timeout = 1\n")
    began = time.monotonic()
    r = run(*PLAIN, "slow")
    assert r.status == 1 and time.monotonic() - began < 15, r.err


@pytest.mark.parametrize("value", ['"soon"', "0", "-1", "86401", "1.5"])
def test_a_limit_that_is_none(config, model, run, value):
    """Said with its place; the run does not go on without it."""
    server = model([DONE])
    config(f"[sandboxes]\nstart_timeout = {value}\n")
    r = run(*PLAIN, "local")
    if value != "0":
        assert r.status != 0 and "start_timeout" in r.err, r.err
        assert server.requests == []
    config("[sandboxes]\nstart_timeout = 30\n")
    assert run(*PLAIN, "local").status == 0
