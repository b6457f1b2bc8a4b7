"""test_isolation.py - what keeps a sandbox from its host is told, and true."""
# SPDX-License-Identifier: MIT
import json

import pytest

from docker_rig import ENGINES, request

VENDORS = {"agentcore": "microVM", "daytona": "container", "deno": "microVM",
           "docker": "container", "e2b": "microVM", "langsmith": "microVM",
           "local": "namespaces", "modal": "gVisor", "none": "none",
           "runloop": "VM", "slurm": "none", "ssh": "none",
           "vercel": "microVM"}
SPEAKER = """#!/usr/bin/python3
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        result = {"protocol": 1, "capabilities": ["attach", "info"],
                  "isolation": "%s"}
    else:
        result = {"id": "b1", "label": "dcode-aaaaaaaa", "state": "running"}
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}),
              flush=True)
"""


def listed(run):
    rows = json.loads(run("provider", "list", "--json").out)["data"]
    return {row["name"]: row["isolation"] for row in rows
            if "alias_of" not in row}


def test_the_list_says_what_each_vendor_documents(run):
    assert listed(run) == VENDORS
    text = run("provider", "list", "-v").out
    assert text.count("isolation: microVM") == 5
    assert text.count("isolation: gVisor") == 1
    assert "isolation: microVM (e2b.dev, 2026-" in text
    rows = json.loads(run("provider", "list", "--json").out)["data"]
    assert {r["name"] for r in rows if r["isolation_source"]} == set(
        VENDORS) - {"docker", "local", "none", "slurm", "ssh"}


@pytest.mark.parametrize("runtime, isolation", [
    ("runsc-kvm", "gVisor"), ("io.containerd.kata.v2", "microVM"),
    ("runc", "container"), ("homemade", None)])
def test_docker_is_as_its_runtime(run, env, config, runtime, isolation):
    env["DOCKER_HOST"] = "tcp://127.0.0.1:9"
    config(f'[sandboxes.providers.docker]\nparams.runtime = "{runtime}"\n')
    assert listed(run)["docker"] == isolation


@pytest.mark.parametrize("name, params, isolation", [
    ("ssh", 'host = "h"', "none"),
    ("ssh", 'host = "h"\nisolate = "bwrap"', "namespaces"),
    ("ssh", 'host = "h"\nisolate = "podman"', "container"),
    ("slurm", 'container = "/srv/bundle"', "container")],
    ids=["ssh", "bwrap", "podman", "slurm"])
def test_hosts_are_as_their_params(run, config, name, params, isolation):
    config(f"[sandboxes.providers.{name}.params]\n{params}\n")
    assert listed(run)[name] == isolation


@pytest.fixture
def speaker(home):
    def write(isolation):
        place = home / ".deepagents/providers/dcode-sandbox-mine"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(SPEAKER % isolation)
        place.chmod(0o755)
    return write


def shown(run):
    return run("sandbox", "info", "b1", "--sandbox", "mine", "--json")


def test_a_program_says_its_own(run, speaker):
    speaker("microVM")
    assert json.loads(shown(run).out)["data"]["isolation"] == "microVM"
    assert listed(run)["mine"] is None  # it is not started for that
    r = run("provider", "list")
    assert "isolation: not documented" in r.out
    speaker("magic")
    r = shown(run)
    assert r.status == 1 and "its isolation is not one of none, names" in r.err


def test_config_has_the_last_word_on_it(run, speaker, config, home):
    speaker("microVM")
    program = home / ".deepagents/providers/dcode-sandbox-mine"

    def entry(isolation):
        config("[sandboxes.providers.mine]\n"
               f'command = ["{program}"]\nisolation = "{isolation}"\n')
    entry("container")
    assert listed(run)["mine"] == "container"
    assert json.loads(shown(run).out)["data"]["isolation"] == "container"
    entry("steel")
    r = run("provider", "list")
    assert "isolation must be one of none, namespaces, container" in r.err
    config('[sandboxes.providers.e2b]\nisolation = "none"\n')
    assert "is fixed for a built-in provider" in run("provider", "list").err
    assert listed(run)["e2b"] == "microVM"


class Docker:
    """A daemon whose runtimes are runc and gVisor's runsc."""

    def __init__(self, run, config, rig):
        self.run, self.config, self.rig = run, config, rig

    def params(self, runtime):
        self.config("[sandboxes.providers.docker.params]\n"
                    f'image = "{self.rig.image}"\nnetwork = "none"\n' +
                    (f'runtime = "{runtime}"\n' if runtime else ""))

    def create(self, runtime):
        self.params(runtime)
        r = self.run("sandbox", "create", "--sandbox", "docker")
        assert r.status == 0, r.err
        return r.out.strip()

    def kernel(self, id):
        r = self.run("sandbox", "exec", id, "--", "sh", "-c",
                     "cat /proc/version; dmesg 2>&1 | head -n 3")
        assert r.status == 0, r.err
        return r.out

    def info(self, id):
        return json.loads(
            self.run("sandbox", "info", id, "--json").out)["data"]


if "docker" in ENGINES:  # a daemon has to be started by root
    @pytest.fixture
    def docker(run, env, config, docker_rig):
        env["DOCKER_HOST"] = docker_rig.docker_host
        yield Docker(run, config, docker_rig)
        for name in docker_rig.containers():
            request(docker_rig.docker_host, "DELETE",
                    f"/containers/{name}?force=true")

    def test_a_container_with_runsc_has_the_kernel_of_gvisor(docker):
        with open("/proc/version", encoding="utf-8") as f:
            host = f.read()
        inside, control = docker.create("runsc"), docker.create("runc")
        docker.params(None)  # what counts is what the engine made
        kernel = docker.kernel(inside)
        assert "Starting gVisor" in kernel and host not in kernel
        kernel = docker.kernel(control)
        assert "Starting gVisor" not in kernel and host in kernel
        assert docker.info(inside)["isolation"] == "gVisor"
        assert docker.info(control)["isolation"] == "container"
        r = docker.run("sandbox", "info", inside)
        assert "\nisolation gVisor\n" in r.out

    @pytest.mark.parametrize("runtime, advice", [
        ("runsc-kvm", "sudo runsc install"), ("odd", '"runtimes" in the')])
    def test_a_runtime_that_is_not_there_is_named(docker, runtime, advice):
        docker.params(runtime)
        r = docker.run("sandbox", "create", "--sandbox", "docker")
        assert r.status == 1 and advice in r.err
        assert f'the engine has no runtime "{runtime}" (it has ' in r.err
        assert "runc, runsc)" in r.err and "or process limits" not in r.err
        assert docker.rig.containers() == []
        assert "No sandboxes" in docker.run("sandbox", "list").out
