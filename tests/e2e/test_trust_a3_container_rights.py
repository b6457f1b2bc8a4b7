"""test_trust_a3_container_rights.py - nothing of a container ever runs with
more rights than the container has, and what a kill leaves is ended."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest

from docker_rig import ENGINES, request
from engine_proxy import EngineProxy
from lifecycle import execute, wait_for

# A shell of the container that does first what an attacker wants.
REPLACED = """cat >/bin/new <<'EOF'
#!/bin/busybox sh
%s
exec /bin/busybox sh "$@"
EOF
chmod 755 /bin/new && mv /bin/new /bin/sh"""
# As a killer it hangs, so that nobody is killed.
USELESS = REPLACED % 'case "$*" in *kill*) exec /bin/busybox sleep 4100;; esac'
COUNT = "ps -o args | grep -c '^[^ ]*sleep 40'; true"
STUBBORN = ("trap '' TERM HUP; setsid env -i /bin/busybox sleep 4001 & "
            "(setsid /bin/busybox sleep 4002 &); /bin/busybox sleep 4003")


@pytest.fixture
def engine(each_rig, env, config, tmp_path):
    """engine(params) -> the proxy before each engine; its .rig."""
    config("[sandboxes.providers.docker.params]\n"
           f'image = "{each_rig.image}"\nnetwork = "none"\n')
    with EngineProxy(each_rig.docker_host, tmp_path / "p.sock") as proxy:
        env["DOCKER_HOST"] = proxy.docker_host
        proxy.rig = each_rig
        yield proxy
    for name in each_rig.containers():
        request(each_rig.docker_host, "DELETE",
                f"/containers/{name}?force=true")


podman_only = pytest.mark.parametrize("each_rig", ["podman"], indirect=True)


def inspect(proxy, name):
    return request(proxy.rig.docker_host, "GET",
                   f"/containers/{name}/json")[1]


def container(proxy, **more):
    """One that the user made: its id."""
    host = proxy.rig.docker_host
    made = request(host, "POST", "/containers/create", {
        "Image": proxy.rig.image, "WorkingDir": "/workspace",
        "Cmd": ["/bin/busybox", "sleep", "600"],
        "HostConfig": {"NetworkMode": "none"}, **more})[1]["Id"]
    assert request(host, "POST", f"/containers/{made}/start")[0] == 204
    return made


def results(server):
    """The texts of all tool results, in order."""
    text = json.dumps(server.requests[-1]["body"]["messages"])
    return [m["content"] if isinstance(m["content"], str)
            else m["content"][0]["text"]
            for message in json.loads(text) if message["role"] == "user"
            for m in message["content"] if isinstance(m, dict) and
            m["type"] == "tool_result"]


def task(*more):
    return ("-n", "go", "-M", "anthropic:m", "--sandbox", "docker", *more)


def no_rights(proxy):
    """No request asked for more rights, or for another user."""
    for line, body in proxy.bodies:
        assert b"rivileged" not in body.replace(
            b"no-new-privileges", b""), line
        if re.match("POST .*/exec$", line):
            assert "User" not in json.loads(body), body
    assert any("/exec" in line for line, _ in proxy.bodies)


def test_a_replaced_sh_gets_no_capabilities_at_a_timeout(run, model, engine):
    server = model([
        execute(REPLACED % "grep CapEff /proc/self/status >>/workspace/caps"),
        execute("echo begun; sleep 4000", timeout=1),
        execute(COUNT + "; sort -u /workspace/caps; wc -l </workspace/caps"),
        {"text": "done"}])
    r = run(*task())
    assert r.status == 0, r.err
    _, late, last = results(server)
    assert "begun" in late and "timed out after 1 s" in late
    lines = last.split("\n")
    assert lines[0] == "0", last  # the sleep: killed
    caps = [line for line in lines if line.startswith("CapEff")]
    assert len(caps) == 1, last  # of the killer's sh and of all commands
    assert int(lines[2]) >= 3, last  # and the attack's code did run
    no_rights(engine)
    assert not engine.lines("POST .*/restart")


def test_what_outlives_a_kill_is_ended_by_a_restart(run, model, engine):
    server = model([
        execute("echo kept >here; sleep 4000 >/dev/null 2>&1 & " + USELESS),
        execute(STUBBORN, timeout=1),
        execute(COUNT + "; cat here; echo '#' later >>here"),
        {"text": "done"}])
    r = run(*task())
    assert r.status == 0, r.err
    _, late, last = results(server)
    assert re.search(r"timed out after 1 s.*The container was restarted.*"
                     r"sleep 400[123].*Files are kept.*"
                     r"background processes ended with it: \d+ "
                     r"[^,]*sleep 4000\.", late, re.S), late
    assert last.startswith("0\nkept\n"), last
    assert "The container was restarted" in r.err  # the user is told, too
    assert len(engine.lines("POST .*/restart")) == 1
    no_rights(engine)


def test_an_honest_container_is_killed_in_without_a_restart(run, model,
                                                            engine):
    server = model([
        execute("sleep 4000 >/dev/null 2>&1 &"),
        execute(STUBBORN, timeout=1), execute(COUNT), {"text": "done"}])
    assert run(*task()).status == 0
    assert "restarted" not in results(server)[1]
    assert results(server)[2].startswith("1\n")  # the earlier one lives on
    assert not engine.lines("POST .*/restart")


def test_an_attached_container_is_never_restarted(run, start, model, engine):
    name = container(engine)
    first = inspect(engine, name)["State"]["Pid"]
    server = model([execute(USELESS), execute(STUBBORN, timeout=1),
                    {"text": "done"}])
    r = run(*task("--sandbox-id", name))
    assert r.status == 0, r.err
    late = results(server)[1]
    told = (r"left processes running.*does not restart a container that it "
            r"did not create.*sleep 400[123]")
    assert re.search(told, late) and re.search(told, r.err), late + r.err
    # After a cancel there is no result: the user is told at the end.
    r = start("sandbox", "exec", "--sandbox", "docker", name,
              "echo begun; /bin/busybox sleep 4004")
    wait_for(lambda: b"4004" in json.dumps(request(
        engine.rig.docker_host, "GET", f"/containers/{name}/top?ps_args=" +
        ("hpid,pid,ppid,args" if "podman" in engine.rig.docker_host
         else "-o%20pid,args"))[1]).encode())
    r.signal()
    r.wait()
    assert r.status == 130, r.err
    assert re.search("left processes running.*sleep 4004", r.err), r.err
    assert inspect(engine, name)["State"]["Pid"] == first
    assert not engine.lines("POST .*/restart")
    no_rights(engine)


def test_the_user_of_an_image_owns_the_workdir_and_can_be_killed(
        run, model, engine, config):
    config("[sandboxes.providers.docker.params]\nnetwork = 'none'\n"
           f"image = '{engine.rig.image}'\nuser = 'user'\n")
    server = model([
        execute("id -u; echo mine >here && cat here"),
        execute("setsid sleep 4000 & sleep 4000", timeout=1),
        execute(COUNT), {"text": "done"}])
    assert run(*task()).status == 0
    own, _, left = results(server)
    assert own.startswith("1000\nmine\n") and left.startswith("0\n")
    no_rights(engine)


@podman_only
def test_a_killer_that_cannot_start_is_followed_by_a_restart(run, model,
                                                             engine):
    """As after a fork bomb, when no process can be made any more."""
    engine.fault("POST .*/containers/[^/]*/exec$", "500", nth=2)
    server = model([execute("echo kept >here; sleep 4000", timeout=1),
                    execute(COUNT + "; cat here"), {"text": "done"}])
    assert run(*task()).status == 0
    assert "The container was restarted" in results(server)[0]
    assert results(server)[1].startswith("0\nkept\n")


@podman_only
def test_a_command_of_another_dcode_is_told_of_the_restart(run, start, model,
                                                           engine):
    server = model([
        execute(USELESS),
        execute("while [ ! -e go ]; do sleep 0.1; done"),
        execute("/bin/busybox sleep 4000", timeout=1), {"text": "done"}])
    before = set(engine.rig.containers())
    r = start(*task())
    wait_for(lambda: len(engine.lines("POST .*/exec/.*/start")) >= 2)
    (name,) = set(engine.rig.containers()) - before
    other = start("sandbox", "exec", name, "touch go; sleep 50; echo no")
    other.wait()
    assert other.status == 137 and "was restarted" in other.err, other.err
    assert r.wait().status == 0
    assert "The container was restarted" in results(server)[2]


@podman_only
def test_a_container_that_does_not_start_again_is_said_to_be_so(run, model,
                                                                engine):
    server = model([
        execute(REPLACED % ('case "$*" in *trap*exit*) exit 1;; *kill*) '
                            'exec /bin/busybox sleep 4100;; esac')),
        execute("/bin/busybox sleep 4000", timeout=1),
        execute("echo unreachable")])
    r = run(*task())
    assert r.status == 1 and "the container has ended" in r.err, r.err
    assert re.search("could not restart the container.*/bin/sh, ended at once",
                     results(server)[1])


def test_both_engines_are_tested_where_tests_run_as_root():
    assert ENGINES[0] == "podman"
