"""test_apply_words.py - what apply says, refuses and leaves to the user."""
# SPDX-License-Identifier: MIT
import os
import re

import pytest
from apply_room import Room, git

from test_apply import send
from test_apply_pick import type_answers


@pytest.fixture
def room(run, home, tmp_path):
    assert run("threads", "list").status == 0  # makes the database
    made = Room(tmp_path / "work", home)
    made.write(a="a\n", b="b\n")
    made.commit()
    return made


def edit(there):
    (there / "a").write_text("the sandbox's\n")


def test_branch_prints_no_hint_of_conflicts_that_it_did_not_meet(
        run, room, tmp_path):
    room.send(tmp_path, edit)
    (room.home / ".gitconfig").write_text(
        "[user]\nname = Ben\nemail = ben@example.org\n")
    done = run("apply", "--branch", "made")
    assert done.status == 0, done.err
    assert "Made commit" in done.err and "No commit was made" not in done.err
    room.write(a="mine\n")
    room.commit()
    done = run("apply", "--branch", "other")
    assert done.status == 1 and "No commit was made" in done.err


def test_no_branch_is_called_head(run, room, tmp_path):
    room.send(tmp_path, edit)
    (room.home / ".gitconfig").write_text(
        "[user]\nname = Ben\nemail = ben@example.org\n")
    done = run("apply", "--branch", "HEAD")
    assert done.status == 2 and "not a valid branch name" in done.err
    assert git(room.root, "for-each-ref", "refs/heads/HEAD") == ""
    assert run("apply", "--branch", "HEADS").status == 0


def test_undo_names_an_index_that_changed_since(run, room, tmp_path):
    room.send(tmp_path, edit)
    assert run("apply", "--index").status == 0
    room.write(other="mine\n")
    git(room.root, "add", "other")
    index = room.index()
    undone = run("apply", "--undo")
    assert undone.status == 1, undone.err
    assert "The index was not undone, because it has changed" in undone.err
    assert room.index() == index
    assert (room.root / "a").read_text() == "a\n"


def staged(room):
    return git(room.root, "diff", "--cached", "--name-status").splitlines()


def change_some(there):
    edit(there)
    (there / "b").unlink()
    (there / "new").write_text("new\n")
    (there / "again").write_text("once\n")


def test_undo_takes_the_index_back_that_git_only_refreshed(
        run, room, tmp_path):
    room.send(tmp_path, change_some)
    index = room.index()
    assert run("apply", "--index").status == 0
    applied = room.index()
    os.utime(room.root / "a", (1, 1))
    git(room.root, "status")
    assert room.index() != applied
    undone = run("apply", "--undo")
    assert undone.status == 0, undone.err
    assert room.index() == index


def test_a_forced_undo_unstages_only_what_apply_staged(run, room, tmp_path):
    room.send(tmp_path, change_some)
    assert run("apply", "--index").status == 0
    assert staged(room) == ["M\ta", "A\tagain", "D\tb", "A\tnew"]
    room.write(mine="mine\n", again="twice\n")
    git(room.root, "add", "mine", "again")
    undone = run("apply", "--undo", "--force")
    assert undone.status == 0, undone.err
    assert staged(room) == ["A\tagain", "A\tmine"]
    assert git(room.root, "show", ":again") == "twice\n"
    assert (room.root / "mine").read_text() == "mine\n"
    assert (room.root / "b").read_text() == "b\n"


def test_a_forced_undo_unstages_what_an_undo_before_it_left(
        run, room, tmp_path):
    room.send(tmp_path, change_some)
    assert run("apply", "--index").status == 0
    room.write(mine="mine\n")
    git(room.root, "add", "mine")
    assert run("apply", "--undo").status == 1
    left = run("apply", "--undo")
    assert left.status == 1 and "--undo --force" in left.err
    assert "Undone" not in left.err
    assert staged(room) == ["M\ta", "A\tagain", "D\tb", "A\tmine", "A\tnew"]
    undone = run("apply", "--undo", "--force")
    assert undone.status == 0, undone.err
    assert "Unstaged the applied changes" in undone.err
    assert git(room.root, "status", "--porcelain") == "A  mine\n"
    assert "no apply to undo" in run("apply", "--undo", "--force").err


def test_an_index_that_an_undo_took_back_is_left_by_the_next_one(
        run, room, tmp_path):
    room.send(tmp_path, change_some)
    assert run("apply", "--index").status == 0
    room.write(a="mine\n")
    assert run("apply", "--undo").status == 1
    assert staged(room) == []
    room.write(mine="mine\n", a="the sandbox's\n")
    git(room.root, "add", "mine")
    undone = run("apply", "--undo")
    assert undone.status == 0, undone.err
    assert (room.root / "a").read_text() == "a\n"
    assert staged(room) == ["A\tmine"]


def test_index_leaves_what_the_user_is_merging(run, room, tmp_path):
    ten = "".join(f"line {i}\n" for i in range(10))
    room.write(b=ten)
    room.commit()

    def change(there):
        edit(there)
        (there / "b").write_text(ten.replace("line 8", "the sandbox's"))
    room.send(tmp_path, change)
    git(room.root, "checkout", "-q", "-b", "side")
    room.write(b=ten.replace("line 1", "side"))
    room.commit()
    git(room.root, "checkout", "-q", "main")
    room.write(b=ten.replace("line 1", "main"))
    room.commit()
    git(room.root, "merge", "side", check=False)
    stages = git(room.root, "ls-files", "-u")
    assert len(stages.splitlines()) == 3
    done = run("apply", "--index")
    assert done.status == 0, done.err
    assert "b  (not staged)\n" in done.err
    assert "the sandbox's" in (room.root / "b").read_text()
    assert git(room.root, "ls-files", "-u") == stages
    assert "a\n" in git(room.root, "diff", "--cached", "--name-only")


def test_a_patch_that_is_applied_twice_shows_the_error_and_may_be_piped(
        run, room, tmp_path):
    room.write(n="n\n", a="changed\n")
    git(room.root, "add", "-A")
    text = git(room.root, "diff", "--cached", "--binary", "--full-index")
    git(room.root, "reset", "-q", "--hard")
    done = run("apply", "--patch", "-", stdin=text)
    assert done.status == 0, done.err
    assert (room.root / "a").read_text() == "changed\n"
    git_has_not = re.sub("index .*", "index " + "1" * 40 + ".." + "2" * 40 +
                         " 100644", text, count=1)
    again = run("apply", "--patch", "-", stdin=git_has_not)
    assert again.status == 1, again.err
    assert "error: a: patch does not apply" in again.err
    assert "cleanly" not in again.err


def test_apply_names_files_that_make_programs_run(run, room, tmp_path):
    def change(there):
        edit(there)
        (there / ".github/workflows").mkdir(parents=True)
        (there / ".github/workflows/ci.yml").write_text("on: push\n")
    room.send(tmp_path, change)
    done = run("apply")
    assert done.status == 0, done.err
    assert "Check .github/workflows/ci.yml: it " in done.err
    assert "Check a" not in done.err


def test_what_is_picked_from_hides_nothing(
        dcode, env, run, room, tmp_path):
    room.write(a="one\n")
    room.commit()

    def change(there):
        (there / "a").write_text("one\nif \u202ekcehc\r\n")
        (there / "ab\u202ec").write_text("plain\n")
    send(room, tmp_path, change)
    status, seen = type_answers(
        [dcode, "apply", "--interactive"], env, room.root, ["y", "y"])
    assert status == 0, seen
    assert "+if <U+202E>kcehc^M\r\n" in seen and "+plain\r\n" in seen
    assert "  A ab<U+202E>c\r\n" in seen
    assert (room.root / "a").read_bytes().decode() == (
        "one\nif \u202ekcehc\r\n")
