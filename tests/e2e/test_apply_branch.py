"""test_apply_branch.py - dcode -n --branch: branches that cannot be made."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import subprocess

import pytest
from apply_room import THREAD, git
from test_apply import plant, ran, room, send, writes  # noqa: F401


@pytest.mark.parametrize("name, why", [
    ("", "not a valid branch name"), ("a..b", "not a valid branch name"),
    ("main", "is checked out"), ("there", "already exists")])
def test_a_run_whose_branch_cannot_be_made_asks_no_model(
        run, model, room, home, name, why):
    (home / ".gitconfig").write_text("[user]\nname=B\nemail=b@example.org\n")
    git(room.root, "branch", "there")
    server = model(writes("made", "by the agent\n"))
    done = run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", "--branch", name)
    assert done.status == 2 and why in done.err, done.err
    assert not server.requests
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []
    assert "Sent" not in done.err and "Removed" not in done.err


def test_a_branch_that_became_impossible_says_what_to_type(
        run, model, room, home, tmp_path):
    (home / ".gitconfig").write_text("[user]\nname=B\nemail=b@example.org\n")
    state = model(writes("made", "x\n")).model
    index = state.index

    def take_it(*args):
        git(room.root, "branch", "-f", "work")
        return index(*args)
    state.index = take_it
    done = run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", "--branch", "work")
    assert done.status == 1 and "already exists" in done.err, done.err
    advice, = re.findall(r"dcode (apply \S+ --branch) OTHER", done.err)
    done = run(*advice.split(), "other")
    assert done.status == 0, done.err
    assert git(room.root, "show", "other:made") == "x\n"


def test_work_that_stands_on_a_branch_is_not_saved_again(
        run, model, room, home):
    (home / ".gitconfig").write_text("[user]\nname=B\nemail=b@example.org\n")
    model(writes("made", "x\n"))
    done = run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", "--branch", "one")
    assert done.status == 0 and "Saved" not in done.err, done.err
    assert "dcode apply" not in done.err
    assert git(room.root, "show", "one:made") == "x\n"
    assert not list((home / ".deepagents/.state").glob("patches/*.patch"))


def test_work_after_a_branch_is_saved(run, model, room, home):
    (home / ".gitconfig").write_text("[user]\nname=B\nemail=b@example.org\n")
    model(writes("made", "x\n"))
    assert run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", "--branch", "one", "--keep").status == 0
    box = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    assert run("sandbox", "exec", box, "--", "echo 2 >more").status == 0
    done = run("sandbox", "rm", "--force", box)
    assert done.status == 0 and "Saved 2 changed files" in done.err, done.err


def author(room, branch):
    return git(room.root, "log", "-1", "--format=%an <%ae> %cn <%ce>", branch)


@pytest.mark.parametrize("own, wanted", [
    ("[user]\nname = Own\nemail = own@example.org\n", "Own <own@example.org>"),
    ("[user]\nemail = own@example.org\n", "Ben <own@example.org>"),
    ("[user]\nname = \" <Own>\\n, \"\n", "Own <ben@example.org>"),
    ("[user]\nname =\n", "Ben <ben@example.org>"),
    ("", "Ben <ben@example.org>")])
def test_branch_commits_as_the_repository_says_and_heeds_no_other_setting(
        run, room, tmp_path, own, wanted):
    (room.home / ".gitconfig").write_text(
        "[user]\nname = Ben\nemail = ben@example.org\n")
    send(room, tmp_path)
    out = tmp_path / "out"
    plant(room, out)
    (tmp_path / "included").write_text("[user]\nname = Inc\nemail = i@x\n")
    with open(room.root / ".git/config", "a") as f:
        f.write(own + "[commit]\ngpgSign = true\n[gpg]\nprogram = "
                f"{out}/hooks/post-commit\n[author]\nname = No\n"
                f"[include]\npath = {tmp_path}/included\n")
    done = run("apply", "--branch", "fix")
    assert done.status == 0, done.err
    assert author(room, "fix") == f"{wanted} {wanted}\n"
    assert ran(out) == []
    assert "gpgsig" not in git(room.root, "cat-file", "commit", "fix")
    git(room.root, "fsck", "--strict")


def test_the_environment_goes_before_the_repositorys_author(
        run, room, tmp_path, env):
    send(room, tmp_path)
    git(room.root, "config", "user.name", "Own")
    git(room.root, "config", "user.email", "own@example.org")
    env["GIT_AUTHOR_NAME"] = "Env"
    assert run("apply", "--branch", "fix").status == 0
    assert author(room, "fix").startswith("Env <own@example.org>")


def test_a_linked_worktree_commits_as_its_repository_says(
        run, model, room, tmp_path):
    git(room.root, "config", "user.name", "Own")
    git(room.root, "config", "user.email", "own@example.org")
    git(room.root, "worktree", "add", "-q", str(tmp_path / "tree"))
    model(writes("made", "x\n"))
    done = run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", "--branch", "fix",
               cwd=tmp_path / "tree")
    assert done.status == 0, done.err
    assert author(room, "fix").startswith("Own <own@example.org>")


def test_the_author_of_one_worktree_is_in_its_own_config(
        run, model, room, tmp_path):
    """extensions.worktreeConfig; the control is a config.worktree without."""
    for key, value in (("name", "Own"), ("email", "own@example.org")):
        git(room.root, "config", f"user.{key}", value)
    git(room.root, "worktree", "add", "-q", str(tmp_path / "tree"))
    for place, name in ((room.root / ".git", "Main"),
                        (room.root / ".git/worktrees/tree", "Tree")):
        (place / "config.worktree").write_text(
            f"[user]\nname = {name}\n[core]\nfsmonitor = {tmp_path}/evil\n"
            f"[include]\npath = {tmp_path}/included\n")
    (tmp_path / "included").write_text("[user]\nname = Inc\n")
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    evil.chmod(0o755)
    for branch, cwd, extension, wanted in (
            ("off", tmp_path / "tree", "false", "Own"),
            ("linked", tmp_path / "tree", "true", "Tree"),
            ("first", room.root, "true", "Main")):
        git(room.root, "-c", "core.fsmonitor=", "config",
            "extensions.worktreeConfig", extension)
        model(writes(branch, "x\n"))
        done = run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
                   "--workspace", "repo", "--branch", branch, cwd=cwd)
        assert done.status == 0, done.err
        said = git(room.root, "-c", "core.fsmonitor=", "log", "-1",
                   "--format=%an <%ae>", branch)
        assert said == f"{wanted} <own@example.org>\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("condition, holds", [
    ("gitdir:{above}/", True), ("gitdir:{root}/.git", True),
    ("gitdir/i:{ABOVE}/**", True), ("gitdir:{name}/", True),
    ("gitdir:**/{name}/.git", True), ("gitdir:./{name}/", True),
    ("gitdir:~/{from_home}/", True), ("onbranch:ma*", True),
    ("gitdir:{ABOVE}/", False), ("gitdir:{root}", False),
    ("gitdir:{root}/.git/", False), ("gitdir:~/elsewhere/", False),
    ("gitdir:./{from_home}/", False),
    ("onbranch:ma", False), ("gitdir:{linked}/", True)])
def test_conditions_of_the_users_own_config_are_about_the_repository(
        run, room, tmp_path, env, condition, holds):
    """The same answer as git's; a later value replaces an included one."""
    work = room.home / "work"
    work.symlink_to(room.root.parent)
    env["PWD"] = str(work / room.root.name)
    condition = condition.format(
        above=room.root.parent, ABOVE=str(room.root.parent).upper(),
        root=room.root, name=room.root.name, linked=work,
        from_home=f"work/{room.root.name}")
    (room.home / ".gitconfig").symlink_to(room.root.parent / "mine")
    (room.root.parent / "mine").write_text(
        "[user]\nname = Ben\nemail = first@example.org\n"
        f"[includeIf \"{condition}\"]\npath = ~/more/job\n"
        "[user]\nemail = ben@example.org\n")
    (room.home / "more").mkdir()
    (room.home / "more/job").write_text("[include]\npath = name\n")
    (room.home / "more/name").write_text(
        "[user]\nname = Job\nemail = job@example.org\n")
    send(room, tmp_path)
    done = run("apply", "--branch", "fix")
    assert done.status == 0, done.err
    wanted = f"{'Job' if holds else 'Ben'} <ben@example.org>"
    asked = subprocess.run(
        ["git", "var", "GIT_AUTHOR_IDENT"], cwd=room.root, text=True,
        check=True, capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(room.home),
             "GIT_CONFIG_NOSYSTEM": "1", "PWD": env["PWD"]}).stdout
    assert asked.startswith(wanted), asked
    assert author(room, "fix") == f"{wanted} {wanted}\n"


@pytest.mark.parametrize("task, subject", [
    ("Fix the parser's off-by-one", "Fix the parser's off-by-one"),
    ("\n  Add a flag\nand then more\n", "Add a flag"),
    ("Rename " + "things " * 20, ("Rename " + "things " * 9).strip()),
    ("Grün \x1b[31mund\u202e rot", "Grün und rot")])
def test_the_subject_of_a_commit_comes_from_the_task(
        run, model, room, task, subject):
    git(room.root, "config", "user.name", "Own")
    git(room.root, "config", "user.email", "own@example.org")
    model(writes("made", "x\n"))
    done = run("-n", task, "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", "--branch", "fix")
    assert done.status == 0, done.err
    assert git(room.root, "log", "-1", "--format=%s", "fix") == subject + "\n"
    body = git(room.root, "log", "-1", "--format=%b", "fix")
    assert re.match(r"Thread: \S+\n", body)


def test_a_later_commit_of_a_thread_has_its_title(
        run, room, tmp_path):
    git(room.root, "config", "user.name", "Own")
    git(room.root, "config", "user.email", "own@example.org")
    send(room, tmp_path)
    assert run("threads", "rename", THREAD, "Mend the lock").status == 0
    assert run("apply", "--branch", "fix").status == 0
    assert git(room.root, "log", "-1", "--format=%s", "fix") == (
        "Mend the lock\n")


def test_a_submodule_whose_place_is_in_its_own_config_is_found(
        run, model, room, tmp_path):
    """git sparse-checkout moves core.worktree to config.worktree."""
    git(room.root, "-c", "protocol.file.allow=always", "submodule", "add",
        "-q", str(room.root), "mod")
    mod = room.root / "mod"
    for key, value in (("name", "Own"), ("email", "own@example.org")):
        git(mod, "config", f"user.{key}", value)
    git(mod, "sparse-checkout", "init", "--no-cone")
    git(mod, "sparse-checkout", "set", "/*")
    moved = room.root / ".git/modules/mod/config.worktree"
    assert "worktree = " in moved.read_text()
    model(writes("made", "x\n"))
    done = run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", "--branch", "fix", cwd=mod)
    assert done.status == 0, done.err
    assert git(
        mod, "log", "-1", "--format=%an", "fix") == "Own\n"
