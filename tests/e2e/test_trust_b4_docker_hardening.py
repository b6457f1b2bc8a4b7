"""test_trust_b4_docker_hardening.py - a container gets few rights by default,
and more only where the user's config says so."""
# SPDX-License-Identifier: MIT
import json

import pytest

from docker_rig import request
from engine_proxy import EngineProxy
from lifecycle import execute

DEFAULT = 0x404fb  # capabilities by their bits (capability.h)
SYS_ADMIN = 1 << 21
LOOK = "grep -E '^(CapBnd|NoNewPrivs)' /proc/self/status"
TASK = ("-n", "go", "-M", "anthropic:m", "--sandbox", "docker")


@pytest.fixture
def engine(each_rig, env, config, tmp_path):
    """engine(more params): a proxy before each engine."""
    with EngineProxy(each_rig.docker_host, tmp_path / "p.sock") as proxy:
        env["DOCKER_HOST"] = proxy.docker_host

        def params(text):
            config("[sandboxes.providers.docker.params]\n"
                   f'image = "{each_rig.image}"\nnetwork = "none"\n{text}\n')
            return proxy
        proxy.info = request(each_rig.docker_host, "GET", "/info")[1]
        proxy.params = params
        yield proxy


def made(proxy):
    """The bodies of the requests that create a container."""
    return [json.loads(body) for line, body in proxy.bodies
            if "/containers/create" in line]


def test_a_container_has_few_rights_unless_the_user_gives_more(run, model,
                                                               engine):
    model([execute(LOOK), {
        "expect": [r"NoNewPrivs:\s*1", rf"CapBnd:\s*0*{DEFAULT:x}\b"],
        "text": "done"}])
    engine.params("")
    r = run(*TASK)
    assert r.status == 0, r.err
    (body,) = made(engine)
    host = body["HostConfig"]
    assert host["CapDrop"] == ["ALL"] and host["PidsLimit"] == 4096
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Memory"] == engine.info["MemTotal"] // 4 * 3
    assert "Runtime" not in host and "no memory or process limits" not in r.err
    assert len(engine.lines("GET .*/info")) == 1
    # The control: what is asked for is there.
    model([execute(LOOK), {
        "expect": [r"NoNewPrivs:\s*0",
                   rf"CapBnd:\s*0*{DEFAULT | SYS_ADMIN:x}\b"],
        "text": "done"}])
    engine.params('cap_add = ["SYS_ADMIN"]\nno_new_privileges = false\n'
                  'memory = "512m"')
    r = run(*TASK)
    assert r.status == 0, r.err
    host = made(engine)[1]["HostConfig"]
    assert host["Memory"] == 512 << 20
    assert host["SecurityOpt"] == []


def test_a_runtime_is_used_or_the_run_ends(run, model, engine, each_rig):
    """Podman ignores it in silence: no container without gVisor where the
    user asked for it."""
    model([{"text": "done"}])
    engine.params('runtime = "runc"')
    r = run(*TASK)
    assert made(engine)[0]["HostConfig"]["Runtime"] == "runc"
    if "docker" in each_rig.docker_host:
        assert r.status == 0, r.err
    else:
        assert r.status != 0 and "ignored runtime" in r.err, r.err
    assert each_rig.containers() == []


@pytest.mark.parametrize("each_rig", ["podman"], indirect=True)
@pytest.mark.parametrize("where", ["create", "start"])
def test_an_engine_that_cannot_limit_makes_a_container_without(
        run, model, engine, where):
    model([{"text": "done"}])
    engine.params("")
    engine.fault("POST .*/containers/.*" + where, "500")
    r = run(*TASK)
    assert r.status == 0 and "no memory or process limits" in r.err
    limited, free = [body["HostConfig"] for body in made(engine)]
    assert limited["PidsLimit"] and limited["Memory"]
    assert "PidsLimit" not in free and "Memory" not in free
    assert free["CapDrop"] == ["ALL"]  # nothing else is given up


@pytest.mark.parametrize("each_rig", ["podman"], indirect=True)
@pytest.mark.usefixtures("sandbox_first")
def test_a_word_that_is_no_capability_is_refused(run, model, engine):
    model([])
    engine.params('cap_add = ["net raw"]')
    r = run(*TASK)
    assert r.status == 1 and "not a capability" in r.err, r.err
