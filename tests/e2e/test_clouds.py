"""test_clouds.py - what holds for all cloud vendors alike."""
# SPDX-License-Identifier: MIT
import json
import os
import signal
import socket
import time

import pytest

from clouds import DONE, NAMES, UPLOAD, elsewhere, vendor  # noqa: F401
from lifecycle import execute, wait_for

every = pytest.mark.parametrize("name", UPLOAD)
# Nothing is sent there, but it is looked up.
NOWHERE = "https://no-such-host.invalid"


@pytest.fixture
def closed():
    """An address of this machine where nobody listens."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{s.getsockname()[1]}"


@pytest.fixture
def box(model, start, run):
    """box(name): the short name of a sandbox that goes on running."""
    def begin(name):
        server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
        p = start("-n", "hi", "-M", "anthropic:m", "--sandbox", name)
        wait_for(lambda: server.model.received)
        p.signal(signal.SIGKILL)
        p.p.wait()
        return json.loads(run("sandbox", "list", "--json").out)["data"][0][
            "name"]
    return begin


@every
@pytest.mark.parametrize("where, args", [
    ("refused", ("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox")),
    ("unknown", ("sandbox", "list", "--sandbox"))])
def test_nobody_there(vendor, model, run, env, closed, name,  # noqa: F811
                      args, where):
    """A clear error at once, said by one name, and nothing to clean up."""
    cloud = vendor(name)
    model([DONE])
    elsewhere(env, closed if where == "refused" else NOWHERE)
    began = time.monotonic()
    r = run(*args, name)
    assert r.status != 0 and time.monotonic() - began < 30
    assert f"{name}: " in r.err and NAMES[name] + ": " not in r.err, r.err
    assert "onnect" in r.err or "resolve" in r.err, r.err
    assert "Cleanup failed" not in r.err
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []
    assert cloud.requests == []


@every
def test_nobody_there_to_attach_to(vendor, run, env, closed,  # noqa: F811
                                   name):
    vendor(name)
    elsewhere(env, closed)
    ids = {"runloop": "dbx_abc", "e2b": "iabc"}
    r = run("sandbox", "exec", "--sandbox", name, ids.get(name, "abc"), "true",
            timeout=30)
    assert r.status != 0 and "onnect" in r.err, r.err


@every
def test_a_reset_is_survived(vendor, model, run, name):  # noqa: F811
    """Unlike a refusal: somebody is there."""
    cloud = vendor(name)
    model([execute("echo here"), DONE])
    cloud.fault("GET|POST|PUT", reset=True)
    r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name)
    assert r.status == 0, r.err
    assert cloud.left() == []


@every
def test_an_upload_that_is_cut(vendor, box, run, tmp_path, name):  # noqa: F811
    """It is sent again, though the server wrote what it had got; the old
    file stays until then."""
    cloud = vendor(name)
    there = box(name)
    data = os.urandom(3_000_000)
    (tmp_path / "up").write_bytes(data)
    cloud.fault(UPLOAD[name], cut_body=1_200_000)
    r = run("sandbox", "cp", tmp_path / "up", f"{there}:/tmp/a/f")
    assert r.status == 0, r.err
    assert cloud.count(UPLOAD[name]) == 2
    cloud.fault(UPLOAD[name], times=None, cut_body=700_000)
    (tmp_path / "other").write_bytes(data[:2_000_000])
    r = run("sandbox", "cp", tmp_path / "other", f"{there}:/tmp/a/f")
    assert r.status != 0 and "writing" in r.err
    cloud.faults.clear()
    r = run("sandbox", "cp", f"{there}:/tmp/a/f", tmp_path / "down")
    assert r.status == 0, r.err
    assert (tmp_path / "down").read_bytes() == data
    r = run("sandbox", "exec", there, "--", "ls", "-A", "/tmp/a")
    assert r.out.split() == ["f"]


# What prolongs a sandbox's life, of those whose lifetimes are in seconds.
KEEP = {"e2b": "POST .*/timeout", "runloop": "POST .*/keep_alive",
        "vercel": "POST .*/extend-timeout"}


@pytest.mark.parametrize("name", KEEP)
def test_kept_while_the_model_thinks(vendor, model, start, config,  # noqa
                                     name):
    """Longer than its lifetime; and no word after the end."""
    cloud = vendor(name)
    config(f"[sandboxes.providers.{name}.params]\nlifetime = 3\n")
    server = model([execute("true"), {**DONE, "fault": {
        "stall_after_bytes": 40}}])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name)
    wait_for(lambda: len(server.requests) == 2)
    before = cloud.count(KEEP[name])
    wait_for(lambda: cloud.count(KEEP[name]) >= before + 4, 60)
    assert len(cloud.left()) == 1
    p.signal()
    p.wait()
    assert cloud.left() == []
    assert "DELETE" in cloud.requests[-1]["line"] or \
        "shutdown" in cloud.requests[-1]["line"]
