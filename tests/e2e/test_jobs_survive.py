"""test_jobs_survive.py - background commands that outlive their dcode."""
# SPDX-License-Identifier: MIT
import json
import re
import signal
import sqlite3

import pytest

from clouds import DONE, call, results
from lifecycle import execute, wait_for
from slash_chat import begin, talk  # noqa: F401 (a fixture)

A = ("-y", "-M", "anthropic:m")
JOB = ("echo ran >>~/ran; echo one; until [ -e ~/go ]; do sleep 0.05; done; "
       "echo two; exit 7")


def job(command=JOB, **more):
    return execute(command, background=True, **more)


def output(job=1, **more):
    return {"tool_calls": [call("job_output", job=job, **more)]}


def kill_at(run, server, requests):
    """Ends dcode, at once, when the model was asked so often."""
    wait_for(lambda: len(server.requests) >= requests, 40)
    run.signal(signal.SIGKILL)
    run.wait()


def thread(home):
    path = home / ".deepagents" / ".state" / "dcode.db"
    with sqlite3.connect(path) as db:
        return db.execute("SELECT id FROM thread").fetchone()[0]


def prompt(server):
    return json.dumps(server.requests[-1]["body"]["messages"][-1])


@pytest.fixture(name="cloud")
def cloud_fixture(vendor):
    return vendor("e2b")


def files(cloud, name):
    """Of the jobs in the one sandbox of the vendor."""
    box, = cloud.boxes.values()
    return list(box.box.root.rglob(f".dcode-jobs/*/{name}"))


def test_a_job_survives_the_death_of_its_dcode(
        cloud, model, start, run, home):
    server = model([job(), {**output(), "delay_ms": 60000},
                    execute("touch ~/go"), output(wait=60),
                    execute("cat ~/ran"), DONE])
    kill_at(start("-n", "go", *A, "--sandbox", "e2b"), server, 2)
    del server.model.script.turns[1]["delay_ms"]
    r = run("-n", "go on", *A, "-r", thread(home))
    assert r.status == 0, r.err
    assert "job 1 is running for" in r.err
    first, _, second, ran = results(server)[1:]
    assert first.startswith("one\n[job 1 is running"), first
    assert second.startswith("two\n[job 1 ended with exit code 7"), second
    assert ran.startswith("ran\n["), ran
    assert cloud.left() == []


def test_an_end_while_dcode_was_away_is_told_with_the_next_prompt(
        cloud, model, run, home):
    server = model([job("sleep 0.5; echo late; exit 3"), DONE, output(), DONE])
    r = run("-n", "go", *A, "--sandbox", "e2b", "--keep")
    assert r.status == 0, r.err
    assert "job 1 keeps running in the sandbox: sleep 0.5" in r.err
    wait_for(lambda: files(cloud, "done"))
    r = run("-n", "and?", *A, "-r", thread(home))
    assert r.status == 0, r.err
    first = json.dumps(server.requests[2]["body"]["messages"][-1])
    assert "[job 1 ended with exit code 3 after" in first
    assert results(server)[-1].startswith("late\n[job 1 ended")


def test_whoever_attaches_to_the_sandbox_finds_its_jobs(
        cloud, model, run, home):
    model([job(), DONE])
    assert run("-n", "go", *A, "--sandbox", "e2b", "--keep").status == 0
    id, = cloud.left()
    server = model([output(), execute("touch ~/go"), output(wait=60),
                    job("echo other"), DONE])
    r = run("-n", "go", *A, "--sandbox", "e2b", "--sandbox-id", id)
    assert r.status == 0, r.err
    assert "job 1 is running for" in r.err
    first, _, second, other = results(server)
    assert first.startswith("one\n[job 1 is running"), first
    assert second.startswith("two\n[job 1 ended with exit code 7"), second
    assert other.startswith("Started as job 2."), other


def test_who_starts_a_job_owns_it_as_long_as_it_lives(
        cloud, model, start, run, home):
    server = model([job("sleep 86.40544"), {"text": "x", "delay_ms": 60000}])
    first = start("-n", "go", *A, "--sandbox", "e2b", "--keep")
    wait_for(lambda: len(server.requests) > 1, 40)
    path = home / ".deepagents" / ".state" / "dcode.db"
    with sqlite3.connect(path) as db:  # one more, whose start is on the way
        name = db.execute("SELECT job FROM job").fetchone()[0][::-1]
        db.execute("INSERT INTO job(thread, provider, sandbox, job, command, "
                   "begun, number) SELECT thread, provider, sandbox, ?, 'x', "
                   "begun, 2 FROM job", (name,))
    for alive in (True, False):
        server = model([DONE])
        r = run("-n", "hi", *A, "--sandbox", "e2b", "--sandbox-id",
                cloud.left()[0])
        assert r.status == 0, r.err
        assert ("job 2 is running" in r.err) == alive
        assert any(name in str(f) for f in files(cloud, "never")) != alive
        if alive:
            first.signal(signal.SIGKILL)
            first.wait()


def test_with_its_sandbox_a_job_ends_and_is_named(cloud, model, run):
    model([job("sleep 86.40541"), DONE])
    r = run("-n", "go", *A, "--sandbox", "e2b")
    assert r.status == 0, r.err
    assert "ending job 1, which is still running: sleep 86.40541" in r.err
    assert cloud.left() == []


def test_on_this_machine_it_ends_with_dcode_which_the_model_is_told(
        model, run, home):
    server = model([job("sleep 86.40542"), DONE, DONE])
    assert run("-n", "go", *A, "--sandbox", "none").status == 0
    assert "It ends with this session." in results(server)[0]
    r = run("-n", "and?", *A, "-r", thread(home), "--sandbox", "none")
    assert r.status == 0, r.err
    told = json.dumps(server.requests[-1]["body"]["messages"][-1])
    assert "[job 1 stopped when dcode exited: sleep" in told


@pytest.mark.parametrize("talk", ["screen"], indirect=True)
def test_jobs_are_listed_and_killed_while_a_turn_runs(
        cloud, talk):  # noqa: F811
    chat = begin(talk, {"turns": [job("sleep 86.40543"),
                                  execute("until [ -e ~/go ]; do sleep 0.1; "
                                          "done"),
                                  {"text": "It is over."}]}, "-y",
                 "--sandbox", "e2b")
    chat.say("go", "until [")
    chat.say("/jobs", "running for")
    chat.say("/jobs kill 1", "was killed after")
    box, = cloud.boxes.values()
    (box.box.root / box.box.home.lstrip("/") / "go").touch()
    chat.until(lambda t: "It is over." in t)
