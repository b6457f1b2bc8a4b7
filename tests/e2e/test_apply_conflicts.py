"""test_apply_conflicts.py - apply --conflicts loses nothing of either side."""
# SPDX-License-Identifier: MIT
import json
import os
import random

import pytest
from apply_room import LABEL, THREAD, Room, git, tree

from lifecycle import execute
from test_workspace import DONE, box, local, task, work  # noqa: F401

LINES = [f"line {i}" for i in range(12)]


@pytest.fixture
def room(run, home, tmp_path):
    assert run("threads", "list").status == 0  # makes the database
    return Room(tmp_path / "work", home)


def files_of(room, commit):
    """path -> (mode, bytes) of a commit of dcode's own repository."""
    env = {"GIT_DIR": str(room.store / "git")}
    found = {}
    for line in git(room.root, "ls-tree", "-r", "-z", commit,
                    env=env).split("\0"):
        if line:
            info, path = line.split("\t", 1)
            mode, _, oid = info.split()
            found[path] = (mode, git(room.root, "cat-file", "blob", oid,
                                     env=env))
    return found


def files_here(room):
    found = {}
    for path, (mode, data, _) in tree(room.root).items():
        full = room.root / os.fsdecode(path)
        if full.is_symlink() or full.is_file():
            kind = ("120000" if full.is_symlink() else
                    "100755" if mode & 0o100 else "100644")
            found[os.fsdecode(path)] = (
                kind, os.fsdecode(data) if isinstance(data, bytes) else data)
    return found


def is_text(data):
    return "\0" not in data


def holds(here, path, new, base):
    """Whether the user's tree has what the sandbox made of a path: these
    bytes there, or all lines that it added in one file, merged or marked."""
    if here.get(path) == new:
        return True
    if new is None:
        return path not in here
    mode, data = new
    if any(data == d for _, d in base.values()):
        return True  # renamed: the bytes are not the sandbox's
    if mode == "120000":
        return new in here.values()
    if not is_text(data):  # the user's may be the mode
        return any(m != "120000" and data == d for m, d in here.values())
    added = set(data.splitlines()) - {
        line for _, text in base.values() for line in text.splitlines()}
    return any(m != "120000" and added <= {
        line for line in text.splitlines()} for m, text in here.values())


def check_base(room):
    """Where the base has moved, the user's tree holds what is new."""
    before, theirs = files_of(room, room.base), files_of(room, room.theirs)
    after, here = files_of(room, room.ref("base")), files_here(room)
    moved = 0
    for path in {*before, *theirs, *after}:
        was, new = before.get(path), theirs.get(path)
        assert after.get(path) in (was, new), path
        if was == new or after.get(path) == was:
            continue
        moved += 1
        assert holds(here, path, new, before), (path, was, new, here)
    pending = [p for p in {*theirs, *after} if theirs.get(p) != after.get(p)]
    return moved, sorted(pending)


def change(rng, top, who):
    """Some edits of one side, each with a line or bytes that no other has."""
    names = sorted(p for p in top.rglob("*")
                   if ".git" not in p.parts and
                   (p.is_symlink() or p.is_file()))
    for n in range(rng.randint(3, 6)):
        path = rng.choice(names)
        if not path.is_symlink() and not path.is_file():
            continue
        mine = f"{who} {n} {rng.random()}"
        deed = rng.choice(("edit", "edit", "edit", "delete", "rename", "link",
                           "bytes", "mode", "new"))
        if deed == "new":
            path = path.with_name(f"new{rng.randint(0, 2)}")
            if path.is_symlink():
                continue
            path.write_text("\n".join([mine, *LINES]) + "\n")
        elif deed == "delete" or (deed == "edit" and path.is_symlink()):
            path.unlink()
        elif deed == "rename":
            path.rename(path.with_name(f"moved{rng.randint(0, 2)}"))
        elif deed == "link":
            path.unlink()
            path.symlink_to(f"to-{who}-{n}")
        elif path.is_symlink():
            continue
        elif deed == "mode":
            path.chmod(0o755)
        elif deed == "bytes" or b"\0" in path.read_bytes():
            path.write_bytes(mine.encode() + b"\0" * 50)
        else:
            lines = path.read_text().splitlines()
            lines[rng.randrange(min(len(lines), 3))] = mine
            path.write_text("\n".join(lines) + "\n")


def random_merge(run, home, tmp_path, seed):
    rng = random.Random(seed)
    work = tmp_path / "work"
    room = Room(work, home)
    for name in "abcd":
        room.write(**{name: "\n".join([name, *LINES]) + "\n",
                      f"dir__{name}": "\n".join([name * 2, *LINES]) + "\n"})
    for name in ("e", "dir/e", "f"):
        (work / name).write_bytes(name.encode() * 40 + b"\0" * 50)
    (work / "link").symlink_to("a")
    room.commit()
    room.send(tmp_path, lambda there: change(rng, there, "agent"))
    change(rng, work, "user")
    mine = tree(work)
    done = run("apply", "--conflicts", "--json")
    data = json.loads(done.out)["data"]
    if data["status"] not in ("applied", "conflicts_written", "nothing"):
        # a file and a directory of one name
        assert room.ref("base") == room.base and tree(work) == mine
        return 0, 0
    moved, pending = check_base(room)
    assert sorted(run("diff", "--name-only").out.splitlines()) == sorted(
        git(work, "diff", "-M", "--name-only", room.ref("base"), room.theirs,
            env={"GIT_DIR": str(room.store / "git")}).splitlines())
    assert sorted(p["path"] for p in data["kept"]) == pending
    if data["status"] != "nothing":
        undone = run("apply", "--undo")
        if undone.status != 0:  # all of it was here
            assert not data["files"] and not data["conflicts"]
        else:
            assert tree(work) == mine and room.ref("base") == room.base
    return moved, len(pending)


@pytest.mark.parametrize("first, n", [
    (0, 12), pytest.param(1000, 400, marks=pytest.mark.long)])
def test_the_base_of_a_path_moves_only_when_the_tree_holds_its_new_content(
        run, home, tmp_path, first, n):
    assert run("threads", "list").status == 0
    moved = pending = 0
    for seed in range(first, first + n):
        top = tmp_path / str(seed)
        (top / "work").mkdir(parents=True)

        def here(*args):
            return run(*args, cwd=top / "work")
        more = random_merge(here, home, top, seed)
        moved, pending = moved + more[0], pending + more[1]
        run("threads", "delete", THREAD)
    assert moved > n and pending >= n / 3


def binary(path, text):
    path.unlink()
    path.write_bytes(text.encode() + b"\0" * 30)


def link(path, text):
    path.unlink()
    path.symlink_to(text)


def gone(path, text):
    path.unlink()


def words(path, text):
    path.write_text(text + "\n")


@pytest.mark.parametrize("theirs, mine", [
    (binary, binary), (link, link), (gone, words), (words, link),
    (gone, binary)])
def test_a_conflict_without_markers_stays_a_change_of_the_sandbox(
        run, room, tmp_path, theirs, mine):
    start = binary if mine is binary or theirs is binary else words
    room.write(f="", plain="plain\n")
    start(room.root / "f", "first")
    room.commit()

    def work_there(there):
        theirs(there / "f", "agent")
        words(there / "plain", "agent's")
    room.send(tmp_path, work_there)
    mine(room.root / "f", "user")
    before = tree(room.root)
    done = run("apply", "--conflicts")
    assert done.status == 1, done.err
    assert "is only in the sandbox" in done.err
    assert (room.root / "plain").read_text() == "agent's\n"
    assert check_base(room) == (1, ["f"])
    assert run("diff", "--name-only").out == "f\n"
    assert run("apply").status == 1  # it is still there to come
    assert run("apply", "--undo").status == 0
    assert tree(room.root) == before and room.ref("base") == room.base


def test_a_conflict_with_markers_is_shared_since_both_sides_are_in_the_file(
        run, room, tmp_path):
    room.write(f="first\n")
    room.commit()
    room.send(tmp_path, lambda there: words(there / "f", "agent"))
    words(room.root / "f", "user")
    done = run("apply", "--conflicts")
    assert done.status == 1 and "remains" not in done.err
    assert "<<<<<<< local\nuser\n" in (room.root / "f").read_text()
    assert room.ref("base") == room.theirs
    assert run("diff", "--name-only").out == ""


def test_a_file_that_the_user_renamed_keeps_what_the_sandbox_made_of_it(
        run, room, tmp_path):
    many = "\n".join(f"line {i}" for i in range(200))
    room.write(a=many)
    binary(room.root / "a", many)
    room.commit()
    room.send(tmp_path, lambda there: binary(there / "a", many + "agent"))
    git(room.root, "mv", "a", "b")
    binary(room.root / "b", many + "user")
    assert run("apply", "--conflicts").status == 1
    assert check_base(room) == (0, ["a"])
    assert run("diff", "--name-only").out == "a\n"


def test_a_kind_that_changed_on_both_sides_is_written_beside_and_kept(
        run, room, tmp_path):
    room.write(f="first\n")
    room.commit()
    room.send(tmp_path, lambda there: words(there / "f", "agent"))
    link(room.root / "f", "user")
    assert run("apply", "--conflicts").status == 1
    assert os.readlink(room.root / "f") == "user"
    assert check_base(room) == (0, ["f"])


def test_a_binary_conflict_is_counted_once(run, room, tmp_path):
    room.write(f="", g="g\n")
    binary(room.root / "f", "first")
    room.commit()

    def work_there(there):
        binary(there / "f", "agent")
        words(there / "g", "agent")
    room.send(tmp_path, work_there)
    binary(room.root / "f", "user")
    words(room.root / "g", "user")
    data = json.loads(run("apply", "--json").out)["data"]
    assert data["conflicts"] == [{"path": "f", "kind": "binary"},
                                 {"path": "g", "kind": "contents"}]
    assert "2 conflicts:\n" in run("apply").err


@local
def test_the_agents_version_is_in_the_sandbox_and_saved_before_it_goes(
        task, run, start, work, home):
    (work / "bin.dat").write_bytes(b"first" + b"\0" * 30)
    r = task([execute("printf 'agent\\0' >bin.dat"), DONE, DONE],
             "--workspace", "repo", "--keep").wait()
    assert r.status == 0, r.err
    (work / "bin.dat").write_bytes(b"user" + b"\0" * 30)
    assert run("apply", "--conflicts").status == 1
    assert run("diff", "--name-only").out == "bin.dat\n"
    r = start("-r", "-n", "go on", cwd=work).wait()
    assert r.status == 0, r.err
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    assert run("sandbox", "exec", name, "--", "cat bin.dat").out == "agent\0"
    assert (work / "bin.dat").read_bytes() == b"user" + b"\0" * 30
    r = run("sandbox", "rm", name)
    assert r.status == 0 and "Saved 1 changed file" in r.err, r.err
    saved, = (home / ".deepagents/.state/patches").glob("*.patch")
    assert "bin.dat" in saved.read_text(errors="replace")
