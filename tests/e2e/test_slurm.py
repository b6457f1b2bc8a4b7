"""test_slurm.py - jobs of a real Slurm cluster as sandboxes."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import shutil
import signal
import statistics
import time

import pytest

from clouds import DONE, results
from lifecycle import call, execute, wait_for
from slurm_world import secrets_in

TASK = ("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "slurm")


def until_written(world, name):
    """Until a command in the sandbox has made a file of this name."""
    wait_for(lambda: list(world.root.glob(f"*/{name}")), 30)


def test_a_task_runs_in_a_job_and_leaves_nothing(slurm, model, run):
    server = model([execute("echo $SLURM_JOB_ID; pwd; echo x >f"),
                    {"tool_calls": [call("read_file", file_path="f")]}, DONE])
    r = run(*TASK)
    assert r.status == 0, r.err
    first, second = results(server)
    job = slurm.rig.jobs(every=True)[-1]
    assert first.splitlines()[0] == str(job["job_id"])
    assert first.splitlines()[1].startswith(f"{slurm.root}/dcode-")
    assert "x" in second
    assert job["comment"].startswith("dcode label=dcode-")
    slurm.nothing_left()


@pytest.mark.long  # a timing
def test_a_quick_command_costs_little_more_than_srun(slurm, run):
    job = slurm.rig.call("sbatch", "--parsable", "-o", "/dev/null", "--wrap",
                         "sleep 300").stdout.strip()
    slurm.job("RUNNING")
    wait_for(lambda: slurm.rig.call("srun", f"--jobid={job}", "--overlap",
                                    "true", check=False).returncode == 0)
    took = []
    for _ in range(9):
        began = time.monotonic()
        slurm.rig.call("srun", f"--jobid={job}", "--overlap", "true")
        took.append((time.monotonic() - began) * 1000)
    r = run("provider", "test", "slurm", "--only", "exit status", "--json")
    ours = json.loads(r.out)["data"]["command_ms"]
    print(f"srun {statistics.median(took):.0f} ms, ours {ours} ms")
    slurm.rig.call("scancel", job)
    assert ours <= 1.5 * statistics.median(took)


def test_what_a_command_left_ends_with_the_job(slurm, model, start):
    """A setsid child outlives scancel where processes are not tracked: that is
    the control."""
    job = slurm.rig.call("sbatch", "--parsable", "-o", "/dev/null", "--wrap",
                         "(setsid sleep 777 &); sleep 300").stdout.strip()
    wait_for(lambda: any("sleep 777" in c
                         for c in slurm.rig.processes().values()))
    slurm.rig.call("scancel", job)
    wait_for(lambda: not slurm.rig.jobs())
    alone = [pid for pid, c in slurm.rig.processes().items()
             if "sleep 777" in c]
    assert alone
    for pid in alone:
        os.kill(pid, signal.SIGKILL)
    model([execute("(setsid sleep 888 >/dev/null 2>&1 &); "
                   "env -i setsid sleep 889 >/dev/null 2>&1 & touch f; "
                   "sleep 100"), DONE])
    r = start(*TASK)
    until_written(slurm, "f")
    slurm.rig.call("scancel", str(slurm.job("RUNNING")["job_id"]))
    r.wait()
    slurm.nothing_left()


@pytest.mark.parametrize("how, state", [
    (lambda s, j: s.rig.call("scancel", j), "CANCELLED"),
    (lambda s, j: s.rig.call("scontrol", "requeue", j), "REQUEUED"),
    (lambda s, j: s.rig.set_node("n1", "down"), "NODE_FAIL"),
    (lambda s, j: s.rig.call("sbatch", "-p", "high", "-o", "/dev/null",
                             "--exclusive", "--wrap", "sleep 20"),
     "PREEMPTED")], ids=["cancelled", "requeued", "node-fail", "preempted"])
def test_the_end_of_a_job_is_told_as_what_it_is(slurm, model, start, how,
                                                state):
    slurm.params('partition = "low"\n' + (
        "requeue = true\n" if state == "REQUEUED" else ""))
    model([execute("touch f; sleep 100"), DONE])
    r = start(*TASK)
    until_written(slurm, "f")
    job = str(slurm.job("RUNNING")["job_id"])
    try:
        how(slurm, job)
        r.wait()
        assert r.status != 0
        assert f"the sandbox is lost: job {job} is {state}" in r.err
        assert (state == "NODE_FAIL") == ("stays on the failed node" in r.err)
    finally:
        if state == "NODE_FAIL":
            slurm.rig.set_node("n1", "resume")
        slurm.rig.remove_all()
    slurm.nothing_left()


def test_a_pending_job_says_why_and_can_be_cancelled(slurm, model, start):
    blocker = slurm.rig.call("sbatch", "--parsable", "-p", "low", "-t", "30",
                             "--exclusive", "-o", "/dev/null", "--wrap",
                             "sleep 300").stdout.strip()
    slurm.job("RUNNING")
    slurm.params('partition = "low"\n')
    model([DONE])
    r = start(*TASK)
    line = ""
    while "estimated start" not in line:
        line = r.p.stderr.readline()
        assert line
    assert re.search(r"job \d+ is PENDING: (Resources|Priority); estimated "
                     r"start (\d\d:\d\d|\d{4}-)", line)
    r.signal()
    r.wait()
    assert r.status == 130
    assert [str(j["job_id"]) for j in slurm.rig.jobs()] == [blocker]
    slurm.rig.call("scancel", blocker)


def test_the_model_is_asked_while_the_job_waits(slurm, model, start):
    slurm.params('options = ["--hold"]\n')
    server = model([execute("echo $((6*7))"), DONE])
    r = start(*TASK)
    wait_for(lambda: server.requests or r.p.poll() is not None)
    slurm.rig.call("scontrol", "release",
                   str(slurm.job("PENDING")["job_id"]))
    r.wait()
    assert r.status == 0, r.err
    assert "42" in results(server)[0]


def test_the_wait_for_a_job_has_the_users_deadline(slurm, model, run):
    slurm.params('constraint = "fast"\nwait = 1\noptions = ["--hold"]\n')
    model([DONE])
    r = run(*TASK)
    assert r.status != 0
    assert "JobHeldUser) for more than 1 s" in r.err
    assert "wait = 4" in r.err
    assert not slurm.rig.jobs()


def test_params_become_what_the_job_asks_for(slurm, model, run):
    slurm.params('partition = "short"\naccount = "lab"\ncpus = 2\n'
                 'memory = "100M"\ngpus = "1"\ntime = "0:01:30"\n')
    model([execute("echo $SLURM_CPUS_ON_NODE"), DONE])
    r = run(*TASK)
    assert r.status == 0, r.err
    job = slurm.rig.jobs(every=True)[-1]
    assert (job["partition"], job["account"], job["time_limit"],
            job["cpus"], job["nodes"]) == ("short", "lab", 2, 2, "n3")
    assert job["requeue"] is False


@pytest.mark.parametrize("text, message", [
    ('via = "-oProxyCommand=touch x"', "begins with a"),
    ('root = "here"', "not an absolute path"),
    ('options = ["x"]', "not an option of sbatch"),
    ('options = ["--clusters=x"]', "the job to another cluster"),
    ('options = ["-M", "-H"]', "the job to another cluster"),
    ('partition = "nosuch"', "nvalid partition"),
    ('gpus = "9"', "cannot start: "),
    ("wait = -1", "below zero")])
def test_what_is_wrong_is_said(slurm, model, run, text, message):
    slurm.params(text + "\n", root="root" not in text)
    model([DONE])
    r = run(*TASK)
    assert r.status != 0 and message in r.err
    assert not slurm.rig.jobs()


# Before sbatch and scancel: jobs of the cluster "far", which squeue is not
# asked about, where that is named; it answers as Slurm's own does.
FAR = """#!/bin/sh
case "$SLURM_CLUSTERS$SBATCH_CLUSTERS $*" in
*far*) far=1 ;;
esac
[ -z "$far$(cat {0}/always 2>/dev/null)" ] || case ${{0##*/}} in
sbatch) cat >/dev/null; echo 4711 >{0}/jobs; echo "4711;far"; exit ;;
scancel) case "$*" in *4711) rm {0}/jobs; exit ;; esac ;;
esac
exec {1} "$@"
"""


@pytest.fixture(name="far")
def far_fixture(slurm, tmp_path):
    """The directory of another cluster, whose jobs are in "jobs"."""
    where = tmp_path / "far"
    where.mkdir()
    for name in ("sbatch", "scancel"):
        path = where / name
        path.write_text(FAR.format(where, shutil.which(name)))
        path.chmod(0o755)
    slurm.env["PATH"] = f"{where}:" + slurm.env["PATH"]
    return where


@pytest.mark.parametrize("name", ["SBATCH_CLUSTERS", "SLURM_CLUSTERS"])
def test_jobs_are_made_where_they_are_looked_for(slurm, far, model, run, name):
    slurm.env[name] = "far"
    model([DONE])
    r = run(*TASK)
    assert r.status == 0, r.err
    assert not (far / "jobs").exists()
    slurm.nothing_left()


def test_a_job_that_went_to_another_cluster_is_cancelled_there(
        slurm, far, model, run):
    (far / "always").write_text("1")
    model([DONE])
    r = run(*TASK)
    assert r.status == 1
    assert "job 4711 was submitted to cluster far" in r.err
    assert "has been cancelled" in r.err and "SLURM_CONF" in r.err
    assert not (far / "jobs").exists()
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


def test_a_repository_chooses_nothing(slurm, model, run, tmp_path):
    """Neither partition, account nor cluster: the attack is a .env file."""
    (tmp_path / "work" / ".env").write_text(
        "SBATCH_PARTITION=nosuch\nSBATCH_ACCOUNT=evil\nSLURM_CONF=/nosuch\n"
        "DEEPAGENTS_CODE_SLURM_PARTITION=nosuch\n")
    (tmp_path / "work" / ".deepagents").mkdir()
    (tmp_path / "work" / ".deepagents" / "config.toml").write_text(
        '[sandboxes.providers.slurm.params]\npartition = "nosuch"\n'
        'via = "evil@example.org"\n')
    model([DONE])
    r = run(*TASK)
    assert r.status == 0, r.err
    job = slurm.rig.jobs(every=True)[-1]
    assert job["partition"] == "main" and job["account"] == ""
    slurm.env["SBATCH_PARTITION"] = "short"  # the user's own: the control
    r = run(*TASK)
    assert "cannot start: PartitionTimeLimit" in r.err and "time = " in r.err
    slurm.params('time = "1"\n')
    assert run(*TASK).status == 0
    assert slurm.rig.jobs(every=True)[-1]["partition"] == "short"


def test_nothing_secret_reaches_the_cluster(slurm, model, start):
    """Script, comment, environment and the controller's own files."""
    words = ["s3cr3t-of-the-user", "s3cr3t-of-the-model"]
    slurm.env["MY_TOKEN"] = words[0]
    model([execute("env; touch f; sleep 3"), DONE])
    slurm.env["ANTHROPIC_API_KEY"] = words[1]
    r = start(*TASK)
    until_written(slurm, "f")
    environs = "".join(slurm.rig.environs())
    assert "DCODE_EXEC=" in environs  # the control
    files = secrets_in(slurm.rig.root, [*words, "b_label="])
    r.wait()
    assert r.status == 0, r.err
    assert files == {"b_label="}
    assert not any(w in environs for w in words)


def test_attach_by_job_id(slurm, model, run):
    model({"turns": [execute("echo x >f"), DONE, execute("cat f"), DONE]})
    r = run(*TASK, "--on-exit", "keep")
    assert r.status == 0, r.err
    job = str(slurm.job("RUNNING")["job_id"])
    server = model([execute("cat f"), DONE])
    r = run(*TASK, "--sandbox-id", job)
    assert r.status == 0, r.err
    assert results(server)[0].startswith("x\n")
    other = slurm.rig.call("sbatch", "--parsable", "-o", "/dev/null",
                           "--wrap", "sleep 300").stdout.strip()
    assert f"unknown job {other}" in run(
        *TASK, "--sandbox-id", other).err
    assert run("sandbox", "rm", job).status == 0
    assert [str(j["job_id"]) for j in slurm.rig.jobs()] == [other]
    slurm.rig.call("scancel", other)


@pytest.mark.parametrize("way", ["lost", "damaged"])
def test_a_job_is_submitted_once_when_the_answer_was_lost(slurm, model, run,
                                                          way):
    slurm.wrap()
    slurm.spoil(1, way)
    before = len(slurm.rig.jobs(every=True))
    model([execute("true"), DONE])
    r = run(*TASK)
    assert slurm.spoiled == f"sbatch {way}\n"
    assert r.status == 0, r.err
    assert len(slurm.rig.jobs(every=True)) == before + 1


@pytest.mark.slow
def test_a_tool_call_is_one_round_trip(slurm, model, run):
    """A command is one piece of the stream there, and one back."""
    slurm.wrap()
    counts = []
    for n in (1, 5):
        slurm.spoil(0, "none")
        model([*[execute("echo x")] * n, DONE])
        r = run(*TASK)
        assert r.status == 0, r.err
        log = slurm.folder / "pieces"
        counts.append(sum(1 for line in log.read_text().splitlines()
                          if line == "srun out"))
        log.unlink()
    assert counts[1] - counts[0] == 4, counts


def test_scancel_is_repeated_until_it_was_heard(slurm, model, run):
    slurm.wrap()
    slurm.spoil("scancel", "cut")
    model([execute("true"), DONE])
    r = run(*TASK)
    assert r.status == 0 and slurm.spoiled == "scancel cut\n"
    slurm.nothing_left()


def test_what_a_background_command_has_goes_with_the_job(slurm, model, run):
    """Its keeper, too, which the job that it is in does not track."""
    server = model([execute("setsid sleep 779", background=True),
                    execute("ls -d /tmp/.dcode-jobs.${DCODE_EXEC#*.}"), DONE])
    r = run(*TASK)
    assert r.status == 0, r.err
    assert results(server)[1].startswith("/tmp/.dcode-jobs.dcode-")
    slurm.nothing_left()


def test_what_a_failed_node_left_goes_with_the_next_sandbox_there(
        slurm, model, run):
    """All processes of the job die at once, as when the power fails."""
    slurm.params('partition = "low"\n')
    model([execute("setsid sleep 780 >/dev/null & echo x >f"), DONE])
    r = run(*TASK, "--on-exit", "keep")
    assert r.status == 0, r.err
    job = str(slurm.job("RUNNING")["job_id"])
    pids = list(slurm.rig.processes())
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, number)
    wait_for(lambda: job not in [str(j["job_id"]) for j in slurm.rig.jobs()])
    left = [p.name for p in slurm.root.glob("*")]
    assert len(left) == 1 and slurm.controls()  # the control
    server = model([execute(f"while [ -e ../{left[0]} ] || "
                            f"[ -e /tmp/.{left[0]} ]; do sleep 0.1; done; "
                            "echo gone", timeout=20), DONE])
    r = run(*TASK)
    assert r.status == 0, r.err
    assert results(server)[0].startswith("gone")
    assert run("sandbox", "gc").status == 0


def test_the_job_is_named_as_one(slurm, model, run):
    server = model([{"tool_calls": [call("write_file", file_path="a",
                                         content="b")]}, DONE])
    r = run(*(a for a in TASK if a != "-y"))
    job = slurm.rig.jobs(every=True)[-1]["job_id"]
    assert f"a user's rights on job {job})" in r.err
    assert f"mode on job {job}, which is not" in results(server)[0]
