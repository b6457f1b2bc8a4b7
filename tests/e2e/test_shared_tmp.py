"""test_shared_tmp.py - names of dcode's in directories that others write to."""
# SPDX-License-Identifier: MIT
import fcntl
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
    """Nothing is at the fixed name, before and after; one test at a time."""
    with open(__file__, encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
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
    assert "Not run: the call names the skills of another run" in other


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


def results_of(run):
    """The large results of its thread on this machine."""
    thread = re.search(r"thread ([0-9a-f-]{36})", run.err).group(1)
    return sorted(RESULTS.glob(f"{thread}-*"))


def test_nothing_of_a_run_stays_on_a_host_that_is_attached_to(
        run, model, ssh, skill, fixed_is_free):
    server = model([execute("seq 300000"), execute(f"ls {FIXED}"),
                    execute(f"ls {RESULTS}"), DONE])
    r = task(run, ssh, "--sandbox-id", "box")
    assert r.status == 0, r.err
    thread = re.search(r"thread ([0-9a-f-]{36})", r.err).group(1)
    assert "greet" in results(server)[1]
    assert f"{thread}-1" in results(server)[2]  # the control
    assert not FIXED.exists() and results_of(r) == []


def large(run, model, **how):
    """A run with one large result on this machine."""
    server = model([execute("seq 300000"), DONE])
    r = run("-n", "hi", "-y", "-M", "anthropic:m", **how)
    assert r.status == 0, r.err
    return server, r


@pytest.mark.slow
def test_large_results_are_swept_after_a_day(run, model):
    first, = results_of(large(run, model)[1])
    assert stat.S_IMODE(RESULTS.stat().st_mode) == 0o700
    second, = results_of(large(run, model)[1])
    os.utime(first, (time.time() - 2 * 86400,) * 2)
    third, = results_of(large(run, model)[1])
    assert not first.exists() and second.exists()
    for path in (second, third):
        path.unlink()


@pytest.mark.slow
def test_large_results_are_bounded(run, model):
    own, = results_of(large(run, model)[1])
    many = [own.with_name(f"{own.name}{i:02}") for i in range(20)]
    for i, path in enumerate(many):
        path.write_bytes(b"x" * (8 << 20))
        os.utime(path, (time.time() - 3600 + i,) * 2)
    newest, = results_of(large(run, model)[1])
    assert newest.exists()
    assert sum(p.stat().st_size for p in many if p.exists()) <= 32 << 20
    for path in [own, newest, *many]:
        path.unlink(missing_ok=True)


@ROOT_ONLY
def test_large_results_stay_out_of_another_users_directory(
        run, model, dcode, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o777)
    os.chown(theirs, MALLORY, MALLORY)
    RESULTS.mkdir(mode=0o700, exist_ok=True)
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(
        "#!/bin/sh\nexec unshare -m sh -c 'mount --bind "
        f"{theirs} {RESULTS} && exec {dcode} \"$@\"' sh \"$@\"\n")
    wrapper.chmod(0o755)
    server, _ = large(run, model, program=wrapper)
    where = re.search(r"at this path: (\S+)", results(server)[0]).group(1)
    assert list(theirs.iterdir()) == []
    assert os.stat(where).st_uid == os.geteuid()
    os.unlink(where)


@pytest.mark.slow
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
