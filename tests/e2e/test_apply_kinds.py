"""test_apply_kinds.py - where a file, a link and a directory meet."""
# SPDX-License-Identifier: MIT
import json
import os

import pytest
from apply_room import Room, tree


@pytest.fixture
def room(run, home, tmp_path):
    assert run("threads", "list").status == 0  # makes the database
    made = Room(tmp_path / "work", home)
    made.write(a="a\n", b="b\n")
    made.commit()
    return made


def test_a_file_takes_the_place_of_all_that_its_directory_held(
        run, room, tmp_path):
    room.write(top__only__deep="x\n")
    room.commit()

    def replace(there):
        (there / "top/only/deep").unlink()
        (there / "top/only").rmdir()
        (there / "top/only").write_text("a file\n")
    room.send(tmp_path, replace)
    before = tree(room.root)
    done = run("apply")
    assert done.status == 0, done.err
    assert (room.root / "top/only").read_text() == "a file\n"
    assert run("apply", "--undo").status == 0
    assert tree(room.root) == before


def test_a_link_of_the_users_in_place_of_a_directory_is_a_conflict(
        run, room, tmp_path):
    room.write(d__f="f\n")
    room.commit()

    def change(there):
        (there / "d/f").write_text("the sandbox's\n")
        (there / "E").write_text("E\n")
    room.send(tmp_path, change)
    outside = tmp_path / "outside"
    (room.root / "d").rename(outside)
    (room.root / "d").symlink_to(outside)
    for args in [], ["--conflicts"]:
        done = run("apply", *args)
        assert done.status == 1, done.err
        assert "leads out of the working tree" not in done.err
        assert "  d  (file/directory)\n" in done.err, done.err
        assert "Move one away" in done.err and "--partial" in done.err
        assert "~local" not in done.err
        assert (outside / "f").read_text() == "f\n"
        assert (room.root / "d").is_symlink()
        assert not (room.root / "E").exists()
    (room.root / "d").unlink()
    outside.rename(room.root / "d")
    assert run("apply").status == 0
    assert (room.root / "d/f").read_text() == "the sandbox's\n"


def change_three(there):
    (there / "d/f").write_text("the sandbox's\n")
    (there / "d/new").write_text("new\n")
    (there / "E").write_text("E\n")
    (there / "a").write_text("the sandbox's\n")


def test_partial_takes_the_rest_beside_a_link_of_the_users(
        run, room, tmp_path):
    room.write(d__f="f\n")
    room.commit()
    room.send(tmp_path, change_three)
    outside = tmp_path / "outside"
    (room.root / "d").rename(outside)
    (room.root / "d").symlink_to(outside)
    before = tree(room.root)
    done = run("apply", "--partial", "--json")
    assert done.status == 0, done.err
    data = json.loads(done.out)["data"]
    assert [f["path"] for f in data["left_out"]] == ["d/f", "d/new"]
    assert [f["path"] for f in data["files"]] == ["E", "a"]
    assert (room.root / "E").read_text() == "E\n"
    assert (room.root / "d").is_symlink()
    assert (outside / "f").read_text() == "f\n"
    assert not (outside / "new").exists()
    assert run("apply", "--undo").status == 0
    assert tree(room.root) == before
    done = run("apply", "--partial")
    assert "Left out" in done.err and "  d/f\n  d/new\n" in done.err
    left = run("diff", "--name-only").out.split()
    assert left == ["d/f", "d/new"]
    (room.root / "d").unlink()
    outside.rename(room.root / "d")
    assert run("apply").status == 0
    assert (room.root / "d/f").read_text() == "the sandbox's\n"


def test_partial_leaves_out_a_file_where_the_user_made_a_directory(
        run, room, tmp_path):
    def change(there):
        (there / "x").write_text("a file\n")
        (there / "a").write_text("the sandbox's\n")
    room.send(tmp_path, change)
    room.write(x__mine="mine\n")
    done = run("apply")
    assert done.status == 1 and "  x  (file/directory)\n" in done.err
    assert "~sandbox" not in done.err
    done = run("apply", "--partial")
    assert done.status == 0 and "  x\n" in done.err, done.err
    assert (room.root / "x/mine").read_text() == "mine\n"
    assert (room.root / "a").read_text() == "the sandbox's\n"


def test_a_name_that_ends_as_gits_own_do_is_listed_when_it_is_real(
        run, room, tmp_path):
    room.write(**{"f~local": "1\n", "d__f": "f\n"})
    room.commit()

    def change(there):
        (there / "f~local").write_text("2\n")
        (there / "d/f").write_text("the sandbox's\n")
    room.send(tmp_path, change)
    room.write(**{"f~local": "3\n"})
    (room.root / "d/f").unlink()
    (room.root / "d").rmdir()
    (room.root / "d").write_text("a file\n")
    done = run("apply")
    assert done.status == 1
    assert "  f~local  (contents)\n" in done.err, done.err
    assert "  d  (file/directory)\n" in done.err
    assert "d~local" not in done.err


def test_undo_takes_back_conflicts_that_changed_no_file(run, room, tmp_path):
    room.send(tmp_path, lambda there: (there / "a").unlink())
    room.write(a="mine\n")
    done = run("apply", "--conflicts")
    assert done.status == 1 and "a  (modify/delete)" in done.err, done.err
    assert (room.root / "a").read_text() == "mine\n"
    assert room.ref("base") == room.base  # the deletion has not come
    undone = run("apply", "--undo")
    assert undone.status == 0 and "wrote no file" in undone.err, undone.err
    assert room.ref("base") == room.base


def in_place_of_a_directory(there):
    (there / "d/f").unlink()
    (there / "d").rmdir()
    (there / "d").write_text("a file now\n")


def in_a_new_directory(there):
    (there / "log").mkdir()
    (there / "log/new").write_text("new\n")


def where_a_pipe_is(there):
    (there / "pipe.log").write_text("new\n")


@pytest.mark.parametrize("change, place, left, way", [
    (in_place_of_a_directory, "d/x.log", ["d", "d/f"], "d/x.log"),
    (in_a_new_directory, "log", ["log/new"], "log"),
    (where_a_pipe_is, "pipe.log", ["pipe.log"], "pipe.log")])
@pytest.mark.parametrize("patch", [False, True])
def test_partial_leaves_out_what_files_that_git_ignores_are_in_the_way_of(
        run, room, tmp_path, change, place, left, way, patch):
    room.write(d__f="f\n", **{"d-e": "e\n",
                              ".gitignore": "*.log\nlog\n"})
    room.commit()

    def both(there):
        change(there)
        (there / "E").write_text("E\n")
        (there / "d-e").write_text("e too\n")
    room.send(tmp_path, both)
    args = ["apply"]
    if patch:
        (tmp_path / "p").write_text(run("diff").out)
        args = ["apply", "--patch", str(tmp_path / "p")]
    if change is where_a_pipe_is:
        os.mkfifo(room.root / place)
    else:
        (room.root / place).write_text("mine, unknown to git\n")
    before = tree_names(room.root)
    done = run(*args)
    assert done.status == 1 and f"  {way}\n" in done.err, done.err
    assert "--partial applies the rest" in done.err
    assert tree_names(room.root) == before
    done = run(*args, "--partial", "--json")
    assert done.status == 0, done.out + done.err
    data = json.loads(done.out)["data"]
    assert [p["path"] for p in data["left_out"]] == left
    assert data["in_the_way"] == []
    assert (room.root / "E").read_text() == "E\n"
    assert (room.root / "d-e").read_text() == "e too\n"
    assert tree_names(room.root) == before | {"E"}
    if patch:
        return
    assert sorted(run("diff", "--name-only").out.split()) == sorted(left)
    (room.root / place).unlink()  # out of the way
    assert run("apply").status == 0
    assert run("diff", "--name-only").out == ""


def tree_names(top):
    return {str(p.relative_to(top)) for p in top.rglob("*")
            if ".git" not in p.relative_to(top).parts}
