"""test_apply_git_files.py - links and pipes among the files of .git."""
# SPDX-License-Identifier: MIT
import os

import pytest
from apply_room import Room, git

SECONDS = 30  # a reader that waits for a pipe takes two minutes, or for ever


@pytest.fixture
def room(run, home, tmp_path):
    assert run("threads", "list").status == 0  # makes the database
    made = Room(tmp_path / "work", home)
    made.write(a="a\n")
    made.commit()
    made.send(tmp_path, lambda there: (there / "a").write_text("b\n"))
    (home / ".gitconfig").write_text(
        "[user]\nname = Ben\nemail = ben@example.org\n")
    return made


def apply(run, *args):
    return run("apply", *args, timeout=SECONDS)


@pytest.mark.parametrize("name, args, text", [
    ("index", [], "work/.git/index: it is a link, "),
    ("info/exclude", [], "work/.git/info/exclude: it is a link, "),
    ("config", ["--index"], "work/.git/config: it is a link, "),
    ("HEAD", [], "but HEAD is not on a branch"),
    ("refs/heads/main", ["--branch", "x"], "no commit yet"),
    ("packed-refs", ["--branch", "x"], "work/.git/packed-refs: it is a link, "),
    ("logs/refs/heads/x", ["--branch", "x"],
     "work/.git/logs/refs/heads/x: it is a link, "),
])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_links_and_pipes_in_git_are_not_read_and_block_nothing(
        run, room, tmp_path, kind, name, args, text):
    path = room.root / ".git" / name
    aside = tmp_path / "aside"
    if path.exists():
        path.rename(aside)
    else:
        aside.touch()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(aside)
    done = apply(run, *args)
    assert done.status != 0 and text in done.err
    assert (room.root / "a").read_text() == "a\n"


def test_patterns_of_what_git_ignores_are_not_read_through_a_directory(
        run, room, tmp_path):
    info = room.root / ".git/info"
    info.rename(tmp_path / "info")
    info.symlink_to(tmp_path / "info")
    done = apply(run)
    assert done.status == 2, done.err
    assert "info/exclude: it is a link, is reached" in done.err
    info.unlink()
    (tmp_path / "info").rename(info)
    assert apply(run).status == 0


@pytest.mark.parametrize("args", [[], ["--index"], ["--branch", "x"]])
def test_the_same_without_links_and_pipes_comes_back(run, room, args):
    done = apply(run, *args)
    assert done.status == 0, done.err


@pytest.mark.parametrize("link", ["logs/refs/heads", "logs/refs"])
def test_branch_writes_no_log_through_a_link(run, room, tmp_path, link):
    outside = tmp_path / "outside"
    path = room.root / ".git" / link
    path.rename(outside)
    path.symlink_to(outside)
    before = sorted(outside.rglob("*"))
    done = apply(run, "--branch", "x")
    assert done.status == 2 and f"{link}: it is a link" in done.err
    assert sorted(outside.rglob("*")) == before
    assert git(room.root, "branch", "--list", "x") == ""
    path.unlink()
    outside.rename(path)
    assert apply(run, "--branch", "x").status == 0
    assert (room.root / ".git/logs/refs/heads/x").exists()
