"""test_provider_test.py - dcode provider test: all keep their word.

DCODE_TEST_LONG=1 adds 100 MB of output and a file of 1 GiB."""
# SPDX-License-Identifier: MIT
import base64
import contextlib
import json
import os
import signal
import subprocess
import time

import pytest

from cloud_box import Box
from clouds import NAMES, emulator
from conftest import SANITIZER
from docker_rig import ENGINES
from e2b import KEY
from lifecycle import wait_for
from test_isolation import VENDORS

LONG = bool(os.environ.get("DCODE_TEST_LONG"))
NETWORK = "network none and full"
SECRETS = "secrets stay outside"
HOST = {NETWORK, "id", "attach by id", "list by label", "info", "lifetime",
        "extend", "snapshot", "stop and start", "remove", "remove again",
        "nothing left"}
# An engine has an exit status for a missing cwd, and closes the pipe of what is
# in the background.
DOCKER = {"extend", "missing cwd", "background process"}
NO_INPUT = {"dialog", "source of input"}
# What it is run with, and every check that does not apply.
ROWS = {
    "none": ({}, (), HOST),
    "local": ({}, ("--snapshot", "kept"), set()),
    **{f"docker on {engine}": ({}, ("--snapshot", "dcode-kept"), DOCKER)
       for engine in ENGINES},
    **{f"docker on {engine} with gVisor":
       ({}, ("--snapshot", "dcode-gvisor"), DOCKER)
       for engine in ENGINES if engine == "docker"},
    "agentcore": ({}, (), NO_INPUT | {NETWORK, "snapshot", "extend",
                                      "stop and start"}),
    "daytona": ({}, ("--snapshot", "kept"), NO_INPUT),
    "deno": ({}, (), NO_INPUT | {"snapshot", "lifetime", "stop and start"}),
    "e2b": ({}, ("--snapshot", "kept"), NO_INPUT),
    "langsmith": ({}, ("--snapshot", "kept"), NO_INPUT | {"lifetime"}),
    "modal": ({}, ("--snapshot", "kept"),
              NO_INPUT | {"extend", "lifetime", "stop and start"}),
    "runloop": ({}, (), NO_INPUT | {"snapshot", "lifetime"}),
    "slurm": ({}, (), NO_INPUT | {NETWORK, "extend", "snapshot",
                                  "stop and start"}),
    "vercel": ({}, (), NO_INPUT | {"snapshot"}),
    "vercel v1": ({"VERCEL_API": "v1"}, (),
                  NO_INPUT | {"snapshot", "list by label", "stop and start"}),
}


class Contract:
    """One row, run to its end."""

    def __init__(self, row, dcode, home, rig):
        self.env = {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
                    "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb",
                    "ASAN_OPTIONS": "exitcode=99",
                    "UBSAN_OPTIONS": "exitcode=99"}
        self.dcode, self.home, self.left = dcode, home, None
        self.provider = row.split()[0]
        (home / "work").mkdir()
        env, options, _ = ROWS[row]
        if self.provider == "docker":
            self.env["DOCKER_HOST"] = rig.docker_host
            # An engine without a bridge: full is the network of the host.
            self.params(f'image = "{rig.image}"\nnetwork = "host"\n' +
                        ('runtime = "runsc"\n' if "gVisor" in row else ""))
        elif self.provider == "slurm":
            self.env.update(rig.env)
            self.params(f'root = "{home}/jobs"\n')
        with contextlib.ExitStack() as stack:
            vendor = None
            if self.provider in NAMES:
                vendor = stack.enter_context(emulator(self.provider))
                self.env.update(vendor.env)
            self.env.update(env)
            self.run(options)
            if vendor:
                self.left, self.violations = vendor.left(), vendor.violations
            elif self.provider == "docker":
                self.left, self.violations = rig.containers(), []
            elif self.provider == "slurm":
                self.left = [*rig.jobs(), *home.glob("jobs/*")]
                self.violations = []

    def params(self, text):
        (self.home / ".deepagents").mkdir()
        (self.home / ".deepagents" / "config.toml").write_text(
            f"[sandboxes.providers.{self.provider}.params]\n{text}")

    def call(self, *args, timeout):
        return subprocess.run(
            [self.dcode, *args, "--json"], env=self.env, text=True,
            cwd=self.home / "work", stdin=subprocess.DEVNULL,
            capture_output=True, timeout=timeout, check=False)

    def run(self, options):
        r = self.call("provider", "test", self.provider, *options,
                      *(["--large"] if LONG else []),
                      timeout=3600 if LONG else 240)
        assert not SANITIZER.search(r.stderr), r.stderr[-6000:]
        self.status = r.returncode
        assert r.stdout, r.stderr
        self.data = json.loads(r.stdout)["data"]
        listed = self.call("sandbox", "list", timeout=60)
        self.ledger = json.loads(listed.stdout)["data"]


# With wires like those of e2b and "vercel v1": CI leaves them to make soak.
# Slurm's own tests run a part of it.
SOAK = ("langsmith", "runloop", "slurm", "vercel")


@pytest.mark.parametrize("row", [
    pytest.param(row, marks=pytest.mark.long) if row in SOAK else row
    for row in ROWS])
def test_contract(request, dcode, tmp_path, row):
    rig = request.getfixturevalue(
        "rig" if "podman" in row else
        "docker_rig" if "docker" in row else
        "slurm_rig" if row == "slurm" else "tmp_path")
    made = Contract(row, dcode, tmp_path, rig)
    checks = {c["name"]: c for c in made.data["checks"]}
    assert [c for c in checks.values() if c["status"] == "fail"] == []
    assert made.status == 0 and made.data["failed"] == 0
    assert {n for n, c in checks.items() if c["status"] == "n/a"} == \
        ROWS[row][2] | {SECRETS}
    assert len(checks) == (60 if LONG else 58)
    assert made.data["isolation"] == (
        "gVisor" if "gVisor" in row else VENDORS[made.provider])
    assert made.data["provider"] == made.provider and made.ledger == []
    assert made.data["create_ms"] is not None
    assert made.data["command_ms"] is not None
    if made.left is not None:
        assert made.left == [] and made.violations == []


@pytest.mark.parametrize("name", NAMES if LONG else ["e2b"])
def test_several_at_once(start, run, vendor, name):
    """Each has its own sandbox; together they leave none."""
    cloud = vendor(name)
    runs = [start("provider", "test", name, "--only", "in parallel")
            for _ in range(8 if LONG else 3)]
    for r in runs:
        r.wait(300)
        assert r.status == 0, r.out + r.err
    assert cloud.left() == []
    wait_for(lambda: len(cloud.past) == len(runs))
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


def test_a_vendor_that_does_not_deny_the_network_is_found_out(
        run, vendor, monkeypatch):
    def checked():
        r = run("provider", "test", "e2b", "--only", NETWORK, "--json")
        checks = json.loads(r.out)["data"]["checks"]
        return next(c for c in checks if c["name"] == NETWORK)
    cloud = vendor("e2b")
    check = checked()
    assert check["status"] == "ok"
    assert check["reason"].startswith("with full it reaches http://127.0.0.1:")
    monkeypatch.setattr(Box, "leaks", True)
    check = checked()
    assert check["status"] == "fail"
    assert check["reason"].startswith(
        "with network none it reaches http://127.0.0.1:")
    assert cloud.left() == []


def test_a_value_that_reaches_the_sandbox_is_found_out(run, config, env):
    env["THE_VALUE"] = "ghp_Real0123456789abcdefghijklmnopqrstuv"
    secret = ('[network]\nallow = ["api.example"]\n[secrets.T]\n'
              'env = "TOKEN"\nhosts = ["api.example"]\n'
              'value_env = "THE_VALUE"\n')

    def checked(more=""):
        config(secret + more)
        r = run("provider", "test", "local", "--only", SECRETS, "--json")
        check, = [c for c in json.loads(r.out)["data"]["checks"]
                  if c["name"] == SECRETS]
        return check["status"], check["reason"]
    assert checked() == ("ok", "")
    for form in (env["THE_VALUE"], base64.b64encode(
            env["THE_VALUE"].encode()).decode()):
        status, reason = checked("[sandboxes.providers.local.params]\n"
                                 f'env = ["OTHER=x{form}"]\n')
        assert status == "fail"
        assert "secrets.T: a program in the sandbox can read" in reason


def test_quick(run, tmp_path):
    r = run("provider", "test", "none", "--quick", "--json")
    checks = {c["name"]: c for c in json.loads(r.out)["data"]["checks"]}
    assert checks["timeout"]["status"] == "n/a"
    assert checks["timeout"]["reason"] == "skipped by --quick"
    assert list((tmp_path / "work").iterdir()) == []


def test_only(run):
    r = run("provider", "test", "none", "--only", "exit status", "--json")
    names = [c["name"] for c in json.loads(r.out)["data"]["checks"]]
    assert r.status == 0
    assert names[0] == "create" and names[-1] == "nothing left"
    assert names[1:-3] == [f"exit status {n}" for n in (0, 1, 3, 126, 127)]
    assert run("provider", "test", "none", "--only", "nosuch").status == 2


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
    ("list", "--quick"), ("list", "--snapshot", "x"), ("list", "--large"),
    ("list", "--only", "x"), ("test", "--keep")])
def test_wrong_use(run, words):
    assert run("provider", *words).status == 2


def test_broken_create(run, env, vendor):
    """A create that fails is a check that failed, not a crash."""
    vendor("e2b")
    env["E2B_API_KEY"] = KEY[:-1] + "f"  # not the emulator's
    r = run("provider", "test", "e2b", "--json")
    data = json.loads(r.out)["data"]
    assert r.status == 1 and data["failed"] == 1
    assert data["checks"][0]["status"] == "fail"
    assert {c["status"] for c in data["checks"][1:]} == {"n/a"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal(start, run, vendor, number):
    cloud = vendor("e2b")
    r = start("provider", "test", "e2b", "--only", "timeout")
    while "create" not in (line := r.p.stdout.readline()):
        assert line, r.p.stderr.read()
    time.sleep(0.5)  # within the check of a timeout
    r.signal(number)
    r.wait(15)
    assert r.status == 128 + number
    assert cloud.left() == []
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


def test_a_vendor_that_does_not_keep_to_a_list_of_hosts_is_found_out(
        run, vendor, monkeypatch):
    def checked(name):
        r = run("provider", "test", name, "--only", NETWORK, "--json")
        checks = json.loads(r.out)["data"]["checks"]
        return next(c for c in checks if c["name"] == NETWORK)
    for name in ("e2b", "langsmith"):
        cloud = vendor(name)
        assert checked(name)["status"] == "ok"
        monkeypatch.setattr(Box, "forgets", True)
        check = checked(name)
        assert check["status"] == "fail"
        assert "which its list of hosts does not contain" in check["reason"]
        monkeypatch.setattr(Box, "forgets", False)
        assert cloud.left() == []
