"""test_shared_tmp.py - names of dcode's in directories that others write to."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import re
import shutil
import stat
import time

import pytest

from clouds import DONE, results
from lifecycle import execute, wait_for
from sshd_rig import Rig

MALLORY = 54321
FIXED = pathlib.Path("/tmp/dcode-skills")
RESULTS = pathlib.Path("/tmp/dcode_large_tool_results")
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0,
                               reason="gives files to another user")


@pytest.fixture(scope="module")
def sshd():
    rig = Rig()
    yield rig
    rig.close()


@pytest.fixture
def ssh(sshd, config):
    config('[sandboxes.providers.ssh.params]\nhost = "box"\n'
           f'config = "{sshd.config}"\n')
    return "ssh"


@pytest.fixture
def skill(home):
    """The user's skill greet, whose program says who it is."""
    folder = home / ".deepagents" / "agent" / "skills" / "greet"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: greet\ndescription: Greets.\n---\nRun say.sh.\n")
    (folder / "say.sh").write_text("#!/bin/sh\necho our own\n")
    (folder / "say.sh").chmod(0o755)


@pytest.fixture
def fixed_is_free():
    """Nothing is at the fixed name, before and after."""
    shutil.rmtree(FIXED, ignore_errors=True)
    yield
    shutil.rmtree(FIXED, ignore_errors=True)


def mallorys():
    """Another user's directory of that name, with a program of his."""
    (FIXED / "greet").mkdir(parents=True)
    (FIXED / "greet" / "say.sh").write_text("#!/bin/sh\necho mallory\n")
    (FIXED / "greet" / "say.sh").chmod(0o755)
    for path in (FIXED, FIXED / "greet", FIXED / "greet" / "say.sh"):
        os.chown(path, MALLORY, MALLORY)


def task(run, provider, *args):
    return run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", provider,
               *args)


def told_root(server):
    """Where the system text of the first request has the skills."""
    text = json.dumps(server.requests[0]["body"]["system"])
    return pathlib.Path(
        re.search(r"`(/tmp/[^`]*)/greet/SKILL\.md`", text).group(1))


@pytest.fixture
def use_skill(start, model):
    """use_skill(provider): the output of its program, called where the system
    text says, the mode of that directory then, and the directory."""
    def go(provider):
        second = execute("placeholder")
        server = model([execute("sleep 2"), second, DONE])
        r = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox",
                  provider)
        wait_for(lambda: server.requests)
        root = told_root(server)
        second["tool_calls"][0]["args"]["command"] = (
            f"{root}/greet/say.sh; stat -c 'mode %a' {root}")
        r.wait()
        assert r.status == 0, r.err
        return results(server)[1], root
    return go


@ROOT_ONLY
def test_a_skill_runs_from_a_directory_that_nobody_can_take_before(
        use_skill, ssh, skill, fixed_is_free):
    mallorys()
    said, root = use_skill(ssh)
    assert "our own" in said and "mode 700" in said
    assert root != FIXED and not root.exists()
    assert use_skill(ssh)[1] != root
    assert (FIXED / "greet" / "say.sh").exists()  # not ours to remove


def test_the_same_in_a_job_of_slurm(use_skill, slurm, skill):
    said, root = use_skill("slurm")
    assert "our own" in said and "mode 700" in said
    assert root != FIXED
    slurm.nothing_left()
    assert not root.exists()


def test_a_model_that_names_the_fixed_directory_gets_it_there(
        run, model, ssh, skill, fixed_is_free):
    server = model([execute(f"stat -c 'mode %a' {FIXED}; "
                            f"{FIXED}/greet/say.sh"), DONE])
    r = task(run, ssh)
    assert r.status == 0, r.err
    assert "mode 700" in results(server)[0]
    assert "our own" in results(server)[0]
    assert not FIXED.exists()


@ROOT_ONLY
def test_no_program_of_another_users_directory_runs(
        run, model, ssh, skill, fixed_is_free):
    mallorys()
    server = model([execute(f"{FIXED}/greet/say.sh"),
                    execute(f"cat {FIXED}.abc/greet/SKILL.md"), DONE])
    r = task(run, ssh)
    assert r.status == 0, r.err
    named, other = results(server)
    assert "mallory" not in named
    assert f"Not run: the skill could not be sent to the sandbox: {FIXED} " \
        "belongs to another user" in named
    assert f"The skills are in {told_root(server)}." in named
    assert "Not run: the skills of another run are named" in other


def test_skills_of_a_killed_run_go_with_its_sandbox(
        run, start, model, ssh, skill):
    second = execute("placeholder")
    server = model([execute("sleep 2"), second, DONE])
    r = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", ssh)
    wait_for(lambda: server.requests)
    root = told_root(server)
    second["tool_calls"][0]["args"]["command"] = \
        f"ls {root}; sleep 60"
    wait_for(root.exists)
    r.kill()
    r.wait()
    rows = json.loads(run("sandbox", "list", "--all", "--json").out)["data"]
    assert run("sandbox", "rm", rows[0]["label"]).status == 0
    assert not root.exists()


def test_what_was_sent_of_the_tree_is_private_and_goes_with_its_sandbox(
        run, model, ssh, sshd, home):
    (home.parent / "work" / "file").write_text("x\n")
    server = model([execute("stat -c '%a %n' ~/.dcode/workspace*"), DONE])
    r = task(run, ssh, "--workspace", "repo")
    assert r.status == 0, r.err
    assert re.match(r"700 \S*/workspace\.dcode-\w+\n", results(server)[0])
    assert not (sshd.home / ".dcode").exists()


def test_nobody_reaches_the_tmp_of_an_isolated_sandbox(
        start, model, ssh, sshd, config):
    """In it all may write, for containers have users of their own."""
    (sshd.home / "dcode").mkdir(mode=0o755)
    config('[sandboxes.providers.ssh.params]\nhost = "box"\n'
           f'config = "{sshd.config}"\nisolate = "bwrap"\n')
    model([execute("echo x >/tmp/made; sleep 2"), DONE])
    r = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", ssh)
    wait_for(lambda: list(sshd.home.glob("dcode/.tmp.*/**/made")))
    top, = sshd.home.glob("dcode/.tmp.*")
    assert stat.S_IMODE(top.stat().st_mode) == 0o700
    r.wait()
    assert r.status == 0, r.err
    assert not top.exists()


@pytest.fixture
def own_results():
    """The results of earlier runs on this machine, put aside."""
    aside = RESULTS.with_name(f"aside-{os.getpid()}")
    if RESULTS.exists():
        RESULTS.rename(aside)
    yield RESULTS
    shutil.rmtree(RESULTS, ignore_errors=True)
    if aside.exists():
        aside.rename(RESULTS)


def test_nothing_of_a_run_stays_on_a_host_that_is_attached_to(
        run, model, ssh, skill, fixed_is_free, own_results):
    server = model([execute("seq 300000"), execute(f"ls {FIXED}"),
                    execute(f"ls {RESULTS}"), DONE])
    r = task(run, ssh, "--sandbox-id", "box")
    assert r.status == 0, r.err
    assert "greet" in results(server)[1]
    assert "-1" in results(server)[2]  # the control
    assert not FIXED.exists() and not RESULTS.exists()


def large(run, model, n=1):
    """n large results, one after the other, on this machine."""
    server = model([execute("seq 300000")] * n + [DONE])
    r = run("-n", "hi", "-y", "-M", "anthropic:m")
    assert r.status == 0, r.err
    return server


def test_large_results_are_swept_after_a_day(run, model, own_results):
    large(run, model)
    first = next(own_results.iterdir())
    assert stat.S_IMODE(own_results.stat().st_mode) == 0o700
    large(run, model)
    assert first.exists()
    os.utime(first, (time.time() - 2 * 86400,) * 2)
    large(run, model)
    assert not first.exists()
    assert len(list(own_results.iterdir())) == 2


def test_large_results_are_bounded(run, model, own_results):
    own_results.mkdir(mode=0o700)
    for i in range(20):
        path = own_results / f"01a21823-cff1-73a5-8cc2-f70d73198f25-{i}"
        path.write_bytes(b"x" * (8 << 20))
        os.utime(path, (time.time() - 3600 + i,) * 2)
    large(run, model)
    sizes = {p.name: p.stat().st_size for p in own_results.iterdir()}
    assert sum(sizes.values()) < 40 << 20
    assert path.name in sizes  # the newest of them


@ROOT_ONLY
def test_large_results_stay_out_of_another_users_directory(
        run, model, own_results):
    own_results.mkdir(mode=0o777)
    os.chown(own_results, MALLORY, MALLORY)
    server = large(run, model)
    where = re.search(r"at this path: (\S+)", results(server)[0]).group(1)
    assert list(own_results.iterdir()) == []
    assert os.stat(os.path.dirname(where)).st_uid == os.geteuid()
    shutil.rmtree(os.path.dirname(where))


def test_what_dcode_keeps_is_private_whatever_the_umask(run, model, home):
    work = home.parent / "work"
    (work / "file").write_text("x\n")
    model([execute("echo y >file; echo z >new"), DONE])
    before = os.umask(0)
    try:
        r = task(run, "local", "--workspace", "repo", "--apply")
    finally:
        os.umask(before)
    assert r.status == 0, r.err
    assert (work / "new").exists()
    loose = [str(p) for p in (home / ".deepagents").rglob("*")
             if not p.is_symlink() and p.lstat().st_mode & 0o077]
    assert loose == []
    assert any((home / ".deepagents/.state/workspaces").glob("*/git/HEAD"))
