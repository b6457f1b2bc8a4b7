"""test_provider_test.py - dcode provider test: all keep their word."""
# SPDX-License-Identifier: MIT
import importlib
import json
import signal
import time

import pytest

from e2b import KEY

CLOUDS = {"agentcore": "AgentCore", "daytona": "Daytona", "deno": "Deno",
          "e2b": "E2B", "langsmith": "LangSmith", "modal": "Modal",
          "runloop": "Runloop"}
OPTIONS = {"langsmith": {"ready": ["deepagents-code"]}}


@pytest.fixture
def cloud(env):
    """cloud(name): an emulated vendor that env points to."""
    clouds = []

    def begin(name):
        made = getattr(importlib.import_module(name), CLOUDS[name])
        clouds.append(made(**OPTIONS.get(name, {})).__enter__())
        env.update(clouds[-1].env)
        return clouds[-1]
    yield begin
    for one in clouds:
        one.__exit__()
        assert one.violations == []


def contract(run, name, *options):
    """The checks by name; all of them passed, nothing is in the ledger."""
    r = run("provider", "test", name, "--json", *options, timeout=120)
    data = json.loads(r.out)["data"]
    checks = {c["name"]: c for c in data["checks"]}
    assert [c for c in data["checks"] if c["status"] == "fail"] == []
    assert r.status == 0 and data["failed"] == 0
    assert data["provider"] == name
    listed = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert listed == []
    return data, checks


def test_local(run):
    data, checks = contract(run, "local", "--snapshot", "kept")
    assert [c["name"] for c in checks.values() if c["status"] == "n/a"] in (
        [], ["extend"], ["info"], ["info", "extend"])
    assert data["create_ms"] is not None and data["command_ms"] is not None
    assert data["passed"] + data["not_applicable"] == len(checks)


def test_none(run, tmp_path):
    _, checks = contract(run, "none", "--quick")
    assert checks["timeout"]["status"] == "n/a"
    assert checks["timeout"]["reason"] == "left out by --quick"
    assert checks["remove"]["status"] == "n/a"
    assert list((tmp_path / "work").iterdir()) == []


def test_docker(run, rig, env, config):
    env["DOCKER_HOST"] = rig.docker_host
    config("[sandboxes.providers.docker.params]\n"
           f'image = "{rig.image}"\nnetwork = "none"\n')
    _, checks = contract(run, "docker")
    assert checks["attach by id"]["status"] == "ok"
    assert checks["timeout"]["status"] == "ok"
    assert rig.containers() == []


@pytest.mark.parametrize("name", CLOUDS)
def test_cloud(run, cloud, name):
    vendor = cloud(name)
    _, checks = contract(run, name)
    assert vendor.left() == []
    for check in ("create", "timeout", "cancel", "remove", "nothing left"):
        assert checks[check]["status"] == "ok"


def test_words(run):
    r = run("provider", "test", "local", "--quick")
    assert r.status == 0, r.out
    lines = r.out.splitlines()
    assert lines[0].split()[:2] == ["ok", "create"]
    assert lines[0].split()[-1] == "ms"
    assert "local can:" in lines and "latencies:" in lines
    assert lines[-1].endswith("n/a") and " 0 failed" in lines[-1]


def test_not_ready(run, env):
    """No credential: nothing is made, and it says what is missing."""
    r = run("provider", "test", "e2b")
    assert r.status == 1 and "E2B_API_KEY" in r.err and r.out == ""


@pytest.mark.parametrize("words", [
    ("test",), ("test", "nosuch"), ("test", "local", "more"),
    ("list", "--quick"), ("list", "--snapshot", "x"), ("test", "--keep")])
def test_wrong_use(run, words):
    assert run("provider", *words).status == 2


def test_broken_create(run, env, cloud):
    """A create that fails is a check that failed, not a crash."""
    cloud("e2b")
    env["E2B_API_KEY"] = KEY[:-1] + "f"  # not the emulator's
    r = run("provider", "test", "e2b", "--json")
    data = json.loads(r.out)["data"]
    assert r.status == 1 and data["failed"] == 1
    assert data["checks"][0]["status"] == "fail"
    assert {c["status"] for c in data["checks"][1:]} == {"n/a"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal(start, run, cloud, number):
    vendor = cloud("e2b")
    r = start("provider", "test", "e2b")
    while "live output" not in (line := r.p.stdout.readline()):
        assert line, r.p.stderr.read()
    time.sleep(0.5)  # within the check of a timeout
    r.signal(number)
    r.wait(15)
    assert r.status == 128 + number
    assert vendor.left() == []
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []
