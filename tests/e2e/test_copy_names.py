"""test_copy_names.py - no way out of a sandbox brings a .git unasked."""
# SPDX-License-Identifier: MIT
import os
import subprocess

import pytest
from apply_room import git

from test_copy import box, name, there  # noqa: F401
from test_transfer import DONE, chat, execute, task, work  # noqa: F401

pytestmark = [pytest.mark.usefixtures("sandbox_first"),
              pytest.mark.parametrize("box", ["local"], indirect=True)]

# What git refuses to check out as .git, and HFS+ or NTFS take for it.
SPELLINGS = [".git", ".GIT", ".gIt", "git~1", "GIT~1", ".git.", ".git ",
             ".git::$INDEX_ALLOCATION", ".g\u200cit", "\ufeff.git",
             ".git\u206f"]
HARMLESS = ["a", ".gitignore", ".github", "git", "git~x", "x.git"]
EVIL = "[core]\n\tfsmonitor = touch RAN\n"


def fill(top):
    """Shell lines that make a tree full of them, below top."""
    lines = [f"mkdir -p {top} && cd {top}"]
    for n in SPELLINGS:
        lines += [f"mkdir -p 'dir/{n}/hooks' '{n}/hooks'",
                  f"printf '{EVIL}' >'{n}/config'",
                  f"printf '{EVIL}' >'dir/{n}/config'"]
    lines += [f"mkdir -p 'f{i}' && echo 'gitdir: ../x' >'f{i}/{n}'"
              for i, n in enumerate(SPELLINGS)]
    lines += [f"echo harmless >'{n}'" for n in HARMLESS]
    lines += ["mkdir -p bare/objects bare/refs/heads",
              f"printf '{EVIL}' >bare/config",
              "echo x >bare/objects/o; echo x >bare/refs/heads/x",
              "echo 'ref: refs/heads/x' >bare/HEAD",
              "ln -s .git/config link; ln -s a good",
              "ln .git/config hard || true"]
    return "; ".join(lines)


def is_repository(top):
    return subprocess.run(
        ["git", "rev-parse", "--git-dir"], cwd=top, capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent",
             "GIT_CEILING_DIRECTORIES": str(top.parent)},
        check=False).returncode == 0


def check_tree(top):
    found = [os.path.join(where, n) for where, dirs, files in os.walk(top)
             for n in dirs + files]
    assert not [f for f in found if os.path.basename(f) in SPELLINGS]
    for n in HARMLESS:
        assert (top / n).read_text() == "harmless\n"
    assert os.readlink(top / "good") == "a"
    assert not (top / "link").is_symlink() and not (top / "hard").exists()
    assert not is_repository(top) and not is_repository(top / "bare")
    assert not is_repository(top / "f0")


def test_a_copy_leaves_out_every_spelling_of_git_at_any_depth(
        run, there, name, tmp_path):
    there(fill("t"))
    done = run("sandbox", "cp", f"{name}:t", str(tmp_path / "out"))
    assert done.status == 0, done.err
    check_tree(tmp_path / "out")
    assert "not copied: .git: git could run" in done.err, done.err
    assert "not copied: dir/.GIT:" in done.err and "--bring" in done.err
    assert ".git/config:" not in done.err  # said once for all in it


def test_a_copy_brings_the_names_that_are_asked_for_alone(
        run, there, name, tmp_path):
    there(fill("t"))
    done = run("sandbox", "cp", "--bring", ".git", "--bring", "bare",
               f"{name}:t", str(tmp_path / "out"))
    assert done.status == 0, done.err
    for asked in (".git/config", "dir/.git/config", "bare/config"):
        assert (tmp_path / "out" / asked).read_text() == EVIL
    assert (tmp_path / "out/f0/.git").is_file()
    assert (tmp_path / "out/bare/HEAD").exists()
    for other in (".GIT", "git~1", ".g\u200cit", "dir/.GIT"):
        assert not (tmp_path / "out" / other).exists()


def test_force_replaces_nothing_of_a_repository_that_is_there(
        task, work, env):
    git(work, "init", "-q")
    git(work, "commit", "-q", "--allow-empty", "-m", "x")
    (work / "tree").mkdir()
    git(work / "tree", "init", "-q")
    before = (work / "tree/.git/config").read_bytes()
    end = task([execute(fill("tree")), DONE],
               "-y", "--force", "--download", "tree").wait()
    assert end.status == 0, end.err
    assert (work / "tree/.git/config").read_bytes() == before
    assert (work / "tree/a").read_text() == "harmless\n"
    git(work / "tree", "status")
    assert not (work / "tree/RAN").exists()
    assert "not copied: .git:" in end.err


@pytest.mark.parametrize("to", [".git/config", "sub/.GIT/config", "lnk/x",
                                ".git"])
def test_no_single_file_goes_into_a_repository_either(
        run, there, name, tmp_path, to):
    work = tmp_path / "work"
    git(work, "init", "-q")
    (work / "sub/.GIT").mkdir(parents=True)
    (work / "lnk").symlink_to(".git/hooks")
    there(f"printf '{EVIL}' >config")
    before = (work / ".git/config").read_bytes()
    done = run("sandbox", "cp", f"{name}:config", to)
    assert done.status != 0 and "is not written" in done.err, done.err
    assert (work / ".git/config").read_bytes() == before
    assert not (work / "lnk/x").exists()
    assert run("sandbox", "cp", f"{name}:config", "config").status == 0
    assert run("sandbox", "cp", "--bring", ".git", f"{name}:config",
               ".git/config").status == 0
    assert (work / ".git/config").read_text() == EVIL


def test_a_file_that_would_complete_a_repository_does_not_come(
        run, there, name, tmp_path):
    (tmp_path / "work/objects").mkdir()
    (tmp_path / "work/refs").mkdir()
    there("echo 'ref: refs/heads/x' >HEAD; echo x >other")
    done = run("sandbox", "cp", f"{name}:HEAD", ".")
    assert done.status != 0 and "repository" in done.err
    assert not (tmp_path / "work/HEAD").exists()
    assert run("sandbox", "cp", f"{name}:other", ".").status == 0


@pytest.mark.parametrize("to", ["bare/hooks/post-commit", "bare/hooks/",
                                "bare/hooks", "in/post-commit"])
def test_nothing_goes_below_a_repository_that_has_no_git_directory(
        run, there, name, tmp_path, to):
    work = tmp_path / "work"
    git(work, "init", "-q", "--bare", "bare")
    (work / "in").symlink_to("bare/hooks")
    before = sorted((work / "bare/hooks").iterdir())
    there("printf '#!/bin/sh\n' >post-commit; mkdir d; echo x >d/x")
    for source in ("post-commit", "d"):
        done = run("sandbox", "cp", f"{name}:{source}", to)
        assert done.status != 0 and "repository" in done.err, done.err
    assert sorted((work / "bare/hooks").iterdir()) == before
    assert run("sandbox", "cp", "--bring", "bare", f"{name}:post-commit",
               "bare/hooks/post-commit").status == 0


def test_a_worktree_within_its_bare_repository_takes_files(
        run, there, name, tmp_path):
    work = tmp_path / "work"
    git(work, "init", "-q", "from")
    git(work / "from", "commit", "-q", "--allow-empty", "-m", "x")
    git(work, "clone", "-q", "--bare", "from", "bare")
    git(work / "bare", "worktree", "add", "-q", "main")
    there("echo x >x")
    assert run("sandbox", "cp", f"{name}:x", "bare/main/sub").status == 0
    assert (work / "bare/main/sub").read_text() == "x\n"


def test_a_repository_that_is_named_as_the_source_needs_the_flag(
        run, there, name, tmp_path):
    there(fill("t"))
    work = tmp_path / "work"
    assert run("sandbox", "cp", f"{name}:t/.git", ".").status != 0
    assert not (work / ".git").exists()
    done = run("sandbox", "cp", "--bring", ".git", f"{name}:t/.git", ".")
    assert done.status == 0, done.err
    assert (work / ".git/config").read_text() == EVIL


def test_a_run_downloads_a_repository_only_when_it_is_named(task, work, run):
    end = task([execute(fill("t")), DONE], "-y", "--bring", ".git",
               "--download", "t:out").wait()
    assert end.status == 0, end.err
    assert (work / "out/.git/config").read_text() == EVIL
    assert not (work / "out/.GIT").exists()
    for value in ("t/.git", "t/a:.GIT", "t/a:out/.git/x"):
        end = run("-n", "x", "-M", "anthropic:m", "--sandbox", "local",
                  "--download", value)
        assert end.status == 2 and "is not written" in end.err, end.err
        assert "Starting" not in end.err  # said before there is a sandbox
    end = run("-n", "x", "--sandbox", "local", "--bring", ".git")
    assert end.status == 2 and "--bring requires --download" in end.err


def test_a_chat_downloads_a_repository_only_when_it_is_named(chat, work, box):
    t, _ = chat([execute(fill("t")), DONE], "--sandbox", box, "-y",
                "--workspace", "none")
    t.type("go\n")
    t.until("done.")
    t.type("/download t one\n")
    t.until("Downloaded")
    t.type("/download --bring .git t two\n")
    t.until("Downloaded")
    check_tree(work / "one")
    assert (work / "two/.git/config").read_text() == EVIL
