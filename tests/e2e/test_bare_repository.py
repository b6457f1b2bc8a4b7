"""test_bare_repository.py - directories that git takes for a repository."""
# SPDX-License-Identifier: MIT
import subprocess

import pytest
from apply_room import Room, git as plain_git

from lifecycle import execute
from test_workspace import DONE, box, git, task, work  # noqa: F401

REASON = "is inside a directory that git treats as a repository"
EMBED = r"""
set -e
mkdir -p emb/refs/heads emb/objects/x
echo 'ref: refs/heads/main' >emb/HEAD
printf '[core]\n\tbare=false\n\trepositoryformatversion=0\n' >emb/config
printf '\tworktree=.\n\tfsmonitor=touch ../EVIL;false\n' >>emb/config
echo x >emb/refs/heads/.keep; echo x >emb/objects/x/.keep
"""


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_a_repository_that_the_sandbox_made_does_not_come_back(
        task, work, home):
    end = task([execute(EMBED + "echo fine >fine\n"), DONE], "--workspace",
               "repo", "-y", "--apply").wait()
    assert end.status != 0
    for name in "HEAD", "config", "objects/x/.keep", "refs/heads/.keep":
        assert f"Refused: emb/{name} {REASON}" in end.err
    assert not (work / "emb").exists()
    saved, = (home / ".deepagents/.state/patches").glob("*")
    text = saved.read_text()
    assert "b/fine" in text and "b/emb" not in text
    assert f"Refused: emb/config {REASON}" in text


@pytest.fixture
def room(run, home, tmp_path):
    assert run("threads", "list").status == 0  # makes the database
    made = Room(tmp_path / "work", home)
    made.write(a="a\n")
    made.commit()
    (home / ".gitconfig").write_text(
        "[user]\nname = Ben\nemail = ben@example.org\n")
    return made


def embed(there):
    subprocess.run(["sh", "-c", EMBED], cwd=there, check=True)


@pytest.mark.parametrize("args", [[], ["--branch", "b"]])
def test_apply_itself_brings_no_repository(run, room, tmp_path, args):
    room.send(tmp_path, embed)  # as kept by an earlier dcode
    done = run("apply", *args)
    assert done.status != 0 and REASON in done.err
    assert "Refused: emb/HEAD " in done.err
    assert not (room.root / "emb").exists()
    shown = run("diff")
    assert "Refused: emb/HEAD " in shown.err and "emb" not in shown.out
    assert plain_git(room.root, "branch", "--list", "b") == ""


@pytest.mark.parametrize("args", [[], ["--branch", "b"]])
def test_apply_brings_such_names_where_they_make_no_repository(
        run, room, tmp_path, args):
    room.send(tmp_path, lambda there: (
        embed(there), (there / "emb/HEAD").unlink()))
    done = run("apply", *args)
    assert done.status == 0, done.err
    assert (room.root / "emb/config").exists() == (not args)


def test_a_patch_does_not_complete_a_repository(run, room, tmp_path):
    embed(room.root)
    room.send(tmp_path, lambda there: None)
    (room.root / "emb/HEAD").unlink()
    patch = tmp_path / "x.patch"
    patch.write_text("diff --git a/emb/HEAD b/emb/HEAD\n"
                     "new file mode 100644\n--- /dev/null\n+++ b/emb/HEAD\n"
                     "@@ -0,0 +1 @@\n+ref: refs/heads/main\n")
    done = run("apply", "--patch", patch)
    assert done.status != 0 and REASON in done.err
    assert not (room.root / "emb/HEAD").exists()
    (room.root / "emb/refs/heads/.keep").unlink()  # the control
    (room.root / "emb/refs/heads").rmdir()
    (room.root / "emb/refs").rmdir()
    done = run("apply", "--patch", patch)
    assert done.status == 0, done.err
    assert (room.root / "emb/HEAD").exists()
