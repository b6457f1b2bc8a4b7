"""test_jobs_removed.py - what background commands leave in a sandbox that is
not ours, and on a machine that outlives it."""
# SPDX-License-Identifier: MIT
import os
import pathlib
import re

import pytest

from clouds import DONE, NAMES, results
from lifecycle import call, execute, wait_for
from test_ssh import ssh, sshd  # noqa: F401
from test_trust_b11_nothing_outlives import acme, task  # noqa: F401
from test_trust_b13_output_files import (commands, other,  # noqa: F401
                                         roots)

# pylint: disable=redefined-outer-name

BEFORE = pytest.mark.usefixtures("sandbox_first")
WHERE = pathlib.Path("/tmp/.dcode-jobs")  # of machines that are this one
MARK = f"86.40561{os.getpid()}"  # several tests run at once
FIND = execute(f"grep -rls {MARK} {WHERE}/")
SHORT = execute("echo one", background=True)
READ = {"tool_calls": [call("job_output", job=1, wait=60)]}


def tree(root):
    """All paths below root, but for those of the kernel."""
    return {os.path.join(d, name) for d, dirs, files in os.walk(root)
            if not d.startswith((f"{root}/proc", f"{root}/sys"))
            for name in dirs + files}


def stored():
    """Files of the jobs above on this machine."""
    return [f for f in WHERE.glob("*/*")
            if f.is_file() and MARK in f.read_text(errors="replace")]


@BEFORE
@pytest.mark.parametrize("name", NAMES)
def test_an_attached_sandbox_keeps_nothing_of_a_job_that_was_read(
        other, roots, model, run, name):
    cloud, row = other(name)
    cloud.forget()
    root, = roots
    before = tree(root)
    server = model([SHORT, READ, execute("seq 40000"),
                    execute("echo x >/tmp/made; ls -a /tmp"), DONE])
    r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name,
            "--sandbox-id", row["id"], timeout=90)
    assert r.status == 0, r.err
    assert results(server)[1].startswith("one\n[job 1 ended")
    assert ".dcode-jobs" in results(server)[3]  # the control
    assert {p for p in tree(root) - before
            if "dcode" in p.removeprefix(str(root))} == set()
    assert f"{root}/tmp/made" in tree(root)


@BEFORE
def test_a_job_that_runs_or_was_not_read_stays_in_an_attached_sandbox(
        other, roots, model, run):
    cloud, row = other("e2b")
    cloud.forget()
    root, = roots
    args = ("-y", "-M", "anthropic:m", "--sandbox", "e2b", "--sandbox-id",
            row["id"])
    model([execute("sleep 2; echo one", background=True),
           execute("exec sleep 86.40562", background=True), DONE])
    r = run("-n", "hi", *args, timeout=90)
    assert r.status == 0, r.err
    assert "job 2 keeps running in the sandbox" in r.err
    server = model([READ, {"tool_calls": [call("job_kill", job=2)]}, DONE])
    r = run("-n", "and?", *args, timeout=90)
    assert r.status == 0, r.err
    assert results(server)[0].startswith("one\n[job 1 ended")
    assert not (root / "tmp" / ".dcode-jobs").exists()


def test_a_job_on_a_machine_without_isolation_ends_with_its_sandbox(
        run, model, acme):
    acme("[]")
    server = model([execute(f"exec sleep {MARK}", background=True),
                    execute(f"echo {MARK}", background=True),
                    {"tool_calls": [call("job_output", job=2, wait=60)]},
                    FIND, DONE])
    r = run(*task("-y"))
    assert r.status == 0, r.err
    assert "ending job 1, which is still running" in r.err
    assert results(server)[3].count(f"{WHERE}/") > 1  # the control
    assert [c for c in commands() if MARK in c] == [] == stored()


def test_a_host_as_it_is_keeps_nothing_of_a_job_that_was_read(
        run, ssh, sshd, model):
    ssh(None)
    server = model([execute(f"echo {MARK}", background=True), READ, FIND, DONE])
    r = run("-n", "go", "-y", "-M", "anthropic:m", "--sandbox", "ssh",
            "--sandbox-id", "box")
    assert r.status == 0, r.err
    assert results(server)[2].count(f"{WHERE}/")  # the control
    assert stored() == []
