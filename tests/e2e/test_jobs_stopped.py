"""test_jobs_stopped.py - a job whose container is stopped and started again."""
# SPDX-License-Identifier: MIT
import json
import signal

import pytest

from clouds import DONE, results
from docker_rig import request
from lifecycle import execute, wait_for
from test_jobs_survive import A, job, output, thread

JOB = "echo one; sleep 86.40545"


@pytest.fixture(name="engine")
def engine_fixture(rig, env, config):
    env["DOCKER_HOST"] = rig.docker_host
    config("[sandboxes.providers.docker.params]\n"
           f'image = "{rig.image}"\nnetwork = "none"\n')
    yield rig


def act(engine, run, *verbs):
    box, = json.loads(run("sandbox", "list", "--json").out)["data"]
    for verb in verbs:
        status, said = request(engine.docker_host, "POST",
                               f"/containers/{box['id']}/{verb}")
        assert status == 204, said


def test_a_job_ended_with_its_container_and_says_so(
        engine, model, start, run, home):
    server = model([job(JOB), {**output(), "delay_ms": 60000}, DONE])
    first = start("-n", "go", *A, "--sandbox", "docker")
    wait_for(lambda: len(server.requests) > 1, 60)
    first.signal(signal.SIGKILL)
    first.wait()
    del server.model.script.turns[1]["delay_ms"]
    act(engine, run, "stop?t=0", "start")
    r = run("-n", "go on", *A, "-r", thread(home))
    assert r.status == 0, r.err
    said = results(server)[-1]
    assert "for example because the sandbox stopped" in said, said
    assert "one" in said


def test_a_container_that_is_stopped_meanwhile_ends_its_job(
        engine, model, start, run):
    server = model([job(JOB), execute("echo x"),
                    {"tool_calls": output()["tool_calls"], "delay_ms": 1500},
                    output(wait=20), DONE])
    first = start("-n", "go", *A, "--sandbox", "docker")
    wait_for(lambda: len(server.requests) > 2, 60)
    act(engine, run, "stop?t=0", "start")
    first.wait()
    said = results(server)
    assert "for example because the sandbox stopped" in said[-1], said
