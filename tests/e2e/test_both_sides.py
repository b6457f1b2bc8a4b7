"""test_both_sides.py - both sides edit, apply and sync in turns, at random."""
# SPDX-License-Identifier: MIT
import json
import os
import random
import shutil

import pytest

from lifecycle import execute
from test_workspace import DONE, box, git, local, task  # noqa: F401

pytestmark = [local, pytest.mark.long]
SEEDS = int(os.environ.get("DCODE_SIDES") or 20)
NAMES = [f"f{i}" for i in range(8)] + [
    f"d{i}/g{k}" for i in range(3) for k in range(4)]
LINES = 30


def snap(top):
    found = {}
    for path in top.rglob("*"):
        name = str(path.relative_to(top))
        if name.split("/")[0] == ".git":
            continue
        if path.is_symlink():
            found[name] = "link", os.readlink(path)
        elif path.is_file():
            found[name] = (bool(path.stat().st_mode & 0o100),
                           path.read_bytes())
    return found


def write_line(path, n, text):
    lines = path.read_text().split("\n")
    if len(lines) > n:
        lines[n] = text
        path.write_text("\n".join(lines))


def edit_file(path, dice, who, op):
    if op == "line":  # each side in its own half
        write_line(path, dice.randrange(10) + 20 * (who == "there"),
                   f"{who} {dice.random()}")
    elif op == "same":
        write_line(path, 15, "the same on both sides")
    elif op == "delete":
        path.unlink()
    elif op == "mode":
        path.chmod(path.stat().st_mode ^ 0o111)
    elif op == "link":
        path.unlink()
        path.symlink_to("f0")
    elif op == "directory":
        path.unlink()
        path.mkdir()
        (path / "in").write_text(who)
    elif op == "rename":
        path.rename(f"{path}.{who}")


def edit_directory(path, who):
    """A file takes its place, or gives the place back."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
        path.write_text(who)
    else:
        path.unlink(missing_ok=True)
        path.mkdir()
        (path / "g0").write_text(who)


def edit(top, dice, who):
    if dice.random() < 0.3:
        edit_directory(top / dice.choice(["d0", "d1", "d2"]), who)
    for name in dice.sample(NAMES, dice.randint(1, 5)):
        path = top / name
        op = dice.choice(["line", "line", "line", "delete", "mode", "link",
                          "new", "same", "rename", "directory"])
        if path.is_file() and not path.is_symlink():
            edit_file(path, dice, who, op)
        elif op == "new" and not os.path.lexists(path) \
                and path.parent.is_dir():
            path.write_text("".join(f"n{i}\n" for i in range(LINES)))


class Sides:
    def __init__(self, run, here, there):
        self.run, self.here, self.there = run, here, there

    def ask(self, *args):
        r = self.run(*args, "--json")
        assert r.status in (0, 1), r.err
        return r.status, json.loads(r.out)["data"]

    def apply(self, *args):
        """What it writes is taken back and written again, the same."""
        before = snap(self.here)
        status, said = self.ask("apply", *args)
        after = snap(self.here)
        if said["status"] not in ("applied", "conflicts_written"):
            assert after == before
            return
        undone = self.run("apply", "--undo")
        assert undone.status == 0, undone.err
        assert snap(self.here) == before
        assert self.ask("apply", *args)[0] == status
        assert snap(self.here) == after
        if said["status"] == "applied":
            assert self.ask("diff")[1]["files"] == []

    def sync(self, *args):
        """What is sent is as it is here, all else as it was there."""
        here, there = snap(self.here), snap(self.there)
        said = self.ask("sync", *args)[1]
        after = snap(self.there)
        assert snap(self.here) == here
        for name in {*here, *there, *after}:
            moved = said["sent"] + said["deleted"]
            side = here if name in moved else there
            assert after.get(name) == side.get(name), name
        return said["kept"]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_two_sides_that_apply_and_sync_in_turns_become_the_same(
        task, run, home, seed):
    dice = random.Random(seed)
    here = home.parent / "work"
    git(here, "init", "-q")
    for name in NAMES:
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text("".join(
            f"{name} {i}\n" for i in range(LINES)))
    r = task([execute("true"), DONE], "--workspace", "repo", "--keep").wait()
    assert r.status == 0, r.err
    there, = (home / ".deepagents/sandboxes").glob("*/workspace")
    sides = Sides(run, here, there)
    for _ in range(6):
        edit(there, dice, "there")
        edit(here, dice, "here")
        dice.choice([sides.apply, sides.sync,
                     lambda: sides.apply("--conflicts")])()
    left = sides.ask("apply", "--conflicts", "--partial")[1]["left_out"]
    left = [item["path"] for item in left]
    left += sides.sync("--force")  # a file never replaces a directory
    one, two = snap(here), snap(there)
    for name in {*one, *two}:
        if not any(name == k or name.startswith(f"{k}/") or
                   k.startswith(f"{name}/") for k in left):
            assert one.get(name) == two.get(name), name
