"""test_apply_kill.py - SIGKILL at any point of an apply loses nothing."""
# SPDX-License-Identifier: MIT
import os
import pathlib
import random
import subprocess

import pytest
from apply_room import Room, git, tree

KILLS = int(os.environ.get("DCODE_APPLY_KILLS") or
            (30 if os.environ.get("DCODE_TEST_LONG") else 16))
TEN = "".join(f"line {i}\n" for i in range(10))


@pytest.fixture(scope="session")
def kill_at(tmp_path_factory):
    program = tmp_path_factory.mktemp("kill_at") / "kill_at"
    source = pathlib.Path(__file__).with_name("kill_at.c")
    subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
    return program


@pytest.fixture
def room(run, home, tmp_path):
    assert run("threads", "list").status == 0
    made = Room(tmp_path / "work", home)
    made.write(a=TEN, b=TEN, dir__c="c\n", gone="gone\n", old__x="x\n",
               file="file\n", **{".gitattributes": "b merge=union\n"})
    made.commit()
    return made


def make_patch(room):
    room.write(a=TEN.replace("8", "eight"), dir__new="new\n")
    (room.root / "gone").unlink()
    (room.root / "b").chmod(0o755)
    (room.root / "link").symlink_to("a")
    (room.root / "old/x").unlink()
    (room.root / "old").rmdir()
    (room.root / "old").write_text("a file now\n")
    (room.root / "file").unlink()
    room.write(file__inner="a directory now\n")
    git(room.root, "add", "-A")
    path = room.root.parent / "p"
    path.write_text(git(room.root, "diff", "--cached", "--binary",
                        "--full-index"))
    git(room.root, "reset", "-q", "--hard")
    git(room.root, "clean", "-fdq")
    return path


def leftovers(room):
    found = [p for p in room.root.rglob(".dcode-*")]
    return found + [p for p in (room.root / ".git").iterdir()
                    if "lock" in p.name or "dcode" in p.name]


@pytest.mark.parametrize("how", [("--index",), ()], ids=["index", "plain"])
def test_a_killed_apply_is_taken_back_whole(
        kill_at, dcode_release, env, room, tmp_path, how):
    patch = make_patch(room)
    room.write(a=TEN.replace("1", "one"), mine="mine\n")
    before, index = tree(room.root), room.index()
    count = tmp_path / "count"

    def apply(n):
        return subprocess.run(
            [kill_at, str(n), count, dcode_release, "apply", *how, "--patch",
             patch], env=env, cwd=room.root, capture_output=True, timeout=120)

    def undo():
        return subprocess.run([dcode_release, "apply", "--undo"], env=env,
                              cwd=room.root, capture_output=True, timeout=120)
    done = apply(0)
    assert done.returncode == 0, done.stderr
    calls, after = int(count.read_text()), tree(room.root)
    assert undo().returncode == 0
    assert tree(room.root) == before and room.index() == index
    pick = random.Random(7)
    taken_back = 0
    for i in range(2 * KILLS):
        if i >= KILLS // 2 and taken_back:
            break
        # The tree is written near the end; before that git is asked.
        n = pick.randint(1 if i < KILLS // 4 else calls * 6 // 10, calls)
        if apply(n).returncode == 0:  # How many calls wait differs.
            calls = int(count.read_text())
        for name, (mode, what, _) in tree(room.root).items():
            if b".dcode-" in name or mode & 0o40000:
                continue
            sides = [t[name][:2] for t in (before, after) if name in t]
            assert (mode, what) in sides, f"{name} is half written at {n}"
        said = undo()
        taken_back += b"undid an interrupted apply" in said.stderr
        assert tree(room.root) == before, f"killed at {n}: {said.stderr}"
        assert room.index() == index and leftovers(room) == [], n
    assert taken_back, calls
