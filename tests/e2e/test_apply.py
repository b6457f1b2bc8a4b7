"""test_apply.py - dcode apply: what a sandbox changed, onto the user's tree."""
# SPDX-License-Identifier: MIT
import json
import os
import stat

import pytest
from apply_room import LABEL, THREAD, Room, git, tree

TEN = "".join(f"line {i}\n" for i in range(10))


@pytest.fixture
def room(run, home, tmp_path):
    assert run("threads", "list").status == 0  # makes the database
    made = Room(tmp_path / "work", home)
    made.write(a=TEN, b=TEN, dir__c="c\n", gone="gone\n")
    made.commit()
    return made


def edit_a(there):
    (there / "a").write_text(TEN.replace("line 8", "the sandbox's 8"))


def edit_much(there):
    edit_a(there)
    (there / "dir/new").write_text("new\n")
    (there / "gone").unlink()
    (there / "b").chmod(0o755)
    (there / "link").symlink_to("a")
    (there / os.fsdecode(b"\xff")).write_bytes(b"\0\r\n\xff")


def send(room, tmp_path, change=edit_a):
    room.send(tmp_path, change)


def test_local_edits_are_kept_and_what_the_sandbox_did_comes(
        run, room, tmp_path):
    send(room, tmp_path, edit_much)
    room.write(a=TEN.replace("line 1", "my own 1"), mine="mine\n")
    index = room.index()
    done = run("apply")
    assert done.status == 0, done.err
    assert (room.root / "a").read_text() == TEN.replace(
        "line 1", "my own 1").replace("line 8", "the sandbox's 8")
    assert (room.root / "mine").read_text() == "mine\n"
    assert (room.root / "dir/new").read_text() == "new\n"
    assert not (room.root / "gone").exists()
    assert (room.root / "b").stat().st_mode & stat.S_IXUSR
    assert os.readlink(room.root / "link") == "a"
    assert (room.root / os.fsdecode(b"\xff")).read_bytes() == b"\0\r\n\xff"
    assert room.index() == index
    assert "D gone" in done.err and "apply --undo" in done.err


def test_the_thread_of_a_subdirectory_is_found_in_all_of_its_tree(
        run, room, tmp_path):
    (room.root / "other").mkdir()
    git(room.root, "init", "-q", "nested")
    room.started_in = room.root / "dir"
    send(room, tmp_path)
    assert run("diff", cwd=room.root / "nested").status == 1
    assert "sandbox's 8" in run("diff").out
    done = run("apply", cwd=room.root / "other")
    assert done.status == 0, done.err
    assert "sandbox's 8" in (room.root / "a").read_text()


def test_the_base_moves_so_that_a_second_apply_has_nothing_to_do(
        run, room, tmp_path):
    send(room, tmp_path, edit_much)
    assert run("apply", THREAD[:13]).status == 0
    assert room.ref("base") == room.theirs
    listing = (room.store / f"{LABEL}.listing").read_text(
        errors="surrogateescape")
    assert " dir/new\n" in listing and " gone\n" not in listing
    again = run("apply")
    assert again.status == 0 and "Nothing to apply" in again.err


def test_undo_brings_back_bytes_modes_times_and_the_index(
        run, room, tmp_path):
    send(room, tmp_path, edit_much)
    room.write(a=TEN.replace("line 1", "my own 1"))
    (room.root / "b").chmod(0o640)
    before, index = tree(room.root), room.index()
    assert run("apply", "--index").status == 0
    assert tree(room.root) != before and room.index() != index
    undone = run("apply", "--undo")
    assert undone.status == 0, undone.err
    assert tree(room.root) == before
    assert room.index() == index
    assert room.ref("base") == room.base
    assert "no apply to undo" in run("apply", "--undo").err


def test_undo_passes_over_an_apply_that_found_all_of_it_here(
        run, room, tmp_path):
    send(room, tmp_path, lambda there: (there / "a").write_text("same\n"))
    room.write(a="same\n")
    index = room.index()
    assert "Nothing to apply" in run("apply", "--index").err
    assert room.ref("base") == room.theirs and room.index() == index
    assert "no apply to undo" in run("apply", "--undo").err


def test_undo_leaves_and_names_what_was_changed_since(run, room, tmp_path):
    send(room, tmp_path, edit_much)
    assert run("apply").status == 0
    applied = (room.root / "a").read_text()
    room.write(a="mine now\n")
    undone = run("apply", "--undo")
    assert undone.status == 1
    assert "  a\n" in undone.err and "--undo --force" in undone.err
    assert (room.root / "a").read_text() == "mine now\n"
    assert (room.root / "gone").exists()
    room.write(a=applied.replace("line 1", "mine now"))
    again = run("apply")  # what was taken back is not shared any more
    assert again.status == 0, again.err
    assert not (room.root / "gone").exists()
    assert (room.root / "dir/new").read_text() == "new\n"
    assert "mine now\n" in (room.root / "a").read_text()
    assert run("apply", "--undo").status == 0
    assert (room.root / "gone").exists()
    assert run("apply", "--undo", "--force").status == 0
    assert (room.root / "a").read_text() == TEN


def test_conflicts_are_listed_and_nothing_is_written(run, room, tmp_path):
    send(room, tmp_path, edit_much)
    room.write(a=TEN.replace("line 8", "my own 8"))
    before = tree(room.root)
    done = run("apply", "--json")
    assert done.status == 1
    data = json.loads(done.out)["data"]
    assert data["status"] == "conflicts"
    assert data["conflicts"] == [{"path": "a", "kind": "contents"}]
    assert tree(room.root) == before
    written = run("apply", "--conflicts")
    assert written.status == 1
    assert "<<<<<<< local\nmy own 8\n=======\nthe sandbox's 8\n" \
        ">>>>>>> sandbox\n" in (room.root / "a").read_text()
    assert (room.root / "dir/new").exists()


def test_an_ignored_local_file_in_the_way_is_not_overwritten(
        run, room, tmp_path):
    def change(there):
        (there / "build").write_text("the sandbox's\n")
    room.write(**{".gitignore": "build\n"})
    room.commit()
    send(room, tmp_path, change)
    (room.root / "build").mkdir()
    (room.root / "build/mine").write_text("mine\n")
    done = run("apply")
    assert done.status == 1, done.err
    assert (room.root / "build/mine").read_text() == "mine\n"


def test_another_branch_than_the_tree_came_from_needs_force(
        run, room, tmp_path):
    send(room, tmp_path)
    git(room.root, "checkout", "-q", "-b", "other")
    before = tree(room.root)
    done = run("apply")
    assert done.status == 2
    assert "branch main, but other is checked out" in done.err
    assert "--force" in done.err and tree(room.root) == before
    assert run("apply", "--force").status == 0


@pytest.mark.parametrize("name, target", [
    ("x", "/etc/passwd"), ("x", "../outside"), ("x", ".git/hooks"),
])
def test_links_that_lead_out_are_refused(run, room, tmp_path, name, target):
    send(room, tmp_path, lambda there: (there / name).symlink_to(target))
    before = tree(room.root)
    done = run("apply")
    assert done.status == 1 and "nothing was written" in done.err
    assert tree(room.root) == before


def test_a_directory_that_became_a_link_leads_nowhere(run, room, tmp_path):
    def change(there):
        (there / "dir/c").write_text("the sandbox's\n")
    send(room, tmp_path, change)
    outside = tmp_path / "outside"
    (room.root / "dir").rename(outside)
    (room.root / "dir").symlink_to(outside)
    done = run("apply")
    assert done.status == 1, done.err
    assert (outside / "c").read_text() == "c\n"


PLANTED = """
[core]
	fsmonitor = {out}/fsmonitor
	hooksPath = {out}/hooks
[filter "x"]
	clean = touch {out}/clean; cat
	smudge = touch {out}/smudge; cat
[merge "x"]
	driver = touch {out}/driver
"""


def plant(room, out):
    """Programs that the repository's own git would run."""
    (out / "hooks").mkdir(parents=True)
    for name in ("fsmonitor", "hooks/post-index-change",
                 "hooks/reference-transaction", "hooks/post-commit"):
        (out / name).write_text(
            f"#!/bin/sh\ntouch {out}/ran-{name.split('/')[-1]}\n")
        (out / name).chmod(0o755)
    with open(room.root / ".git/config", "a") as f:
        f.write(PLANTED.format(out=out))


def ran(out):
    return sorted(p.name for p in out.iterdir()
                  if p.name.startswith("ran-") or p.name in (
                      "clean", "smudge", "driver"))


def test_index_stages_and_runs_nothing_that_the_repository_planted(
        run, room, tmp_path):
    room.write(**{".gitattributes": "*.x filter=x\nb merge=x\n", "f.x": "1\n"})
    room.commit()

    def change(there):
        edit_much(there)
        (there / "f.x").write_text("2\n")
    send(room, tmp_path, change)
    out = tmp_path / "out"
    plant(room, out)
    done = run("apply", "--index")
    assert done.status == 0, done.err
    assert "f.x  (not staged)" in done.err
    assert ran(out) == []
    staged = git(room.root, "-c", "core.fsmonitor=false", "diff",
                 "--cached", "--name-status", "-z").split("\0")
    assert staged[:4] == ["M", "a", "M", "b"]
    assert "D" in staged and "f.x" not in staged
    git(room.root, "add", "f.x")  # the control: it was really planted
    assert "clean" in ran(out) and "ran-fsmonitor" in ran(out)


@pytest.mark.slow
def test_branch_makes_a_commit_and_nothing_else(run, room, tmp_path, env):
    send(room, tmp_path, edit_much)
    room.write(a=TEN.replace("line 1", "my own 1"))
    before, index = tree(room.root), room.index()
    out = tmp_path / "out"
    plant(room, out)
    nobody = run("apply", "--branch", "from/dcode")
    assert nobody.status == 1 and "user.name" in nobody.err
    (room.home / ".gitconfig").write_text(
        "[user]\nname = Ben\nemail = ben@example.org\n")
    done = run("apply", "--branch", "from/dcode")
    assert done.status == 0, done.err
    assert ran(out) == []
    assert tree(room.root) == before and room.index() == index
    log = git(room.root, "log", "--format=%an %ae %s", "from/dcode",
              "main..from/dcode")
    assert log == "Ben ben@example.org Changes made in dcode's sandbox\n"
    assert git(room.root, "show", "from/dcode:a") == TEN.replace(
        "line 8", "the sandbox's 8")
    assert git(room.root, "fsck", "--strict") is not None
    assert git(room.root, "rev-parse", "from/dcode^") == git(
        room.root, "rev-parse", "main")
    again = run("apply", "--branch", "from/dcode")
    assert again.status == 2 and "already exists" in again.err
    assert run("apply", "--branch", "from/dcode", "--force").status == 0
    current = run("apply", "--branch", "main", "--force")
    assert current.status == 2 and "checked out" in current.err
    assert run("apply", "--branch", "-x..y").status == 2
    assert "ran-reference-transaction" not in ran(out)
    git(room.root, "branch", "control")  # it was really planted
    assert "ran-reference-transaction" in ran(out)


def add_submodule(room, tmp_path):
    lib = tmp_path / "lib"
    lib.mkdir()
    git(lib, "init", "-q")
    (lib / "x").write_text("x\n")
    (lib / "y").write_text("y\n")
    git(lib, "add", "-A")
    git(lib, "commit", "-q", "-m", "lib")
    git(room.root, "-c", "protocol.file.allow=always", "submodule",
        "--quiet", "add", str(lib), "sub/lib")
    git(room.root, "commit", "-q", "-m", "with a submodule")
    return git(room.root, "ls-tree", "main", "sub/lib")


def edit_submodule(there):
    (there / "sub/lib/x").write_text("the sandbox's\n")
    (there / "sub/lib/y").unlink()
    (there / "sub/lib/new").write_text("new\n")


def test_index_stages_no_file_of_a_submodule_and_keeps_it(
        run, room, tmp_path):
    add_submodule(room, tmp_path)

    def change(there):
        edit_a(there)
        edit_submodule(there)
    send(room, tmp_path, change)
    links = git(room.root, "ls-files", "-s", "sub")
    assert links.startswith("160000 ")
    done = run("apply", "--index")
    assert done.status == 0, done.err
    assert git(room.root, "ls-files", "-s", "sub") == links
    for name in ("x", "y", "new"):
        assert f"sub/lib/{name}  (not staged)\n" in done.err
    assert (room.root / "sub/lib/x").read_text() == "the sandbox's\n"
    assert not (room.root / "sub/lib/y").exists()
    assert git(room.root, "diff", "--cached", "--name-only") == "a\n"


@pytest.mark.parametrize("staged_only", [False, True])
def test_branch_keeps_a_submodule_and_names_what_it_leaves_out(
        run, room, tmp_path, staged_only):
    link = add_submodule(room, tmp_path)
    if staged_only:
        git(room.root, "reset", "-q", "--soft", "HEAD^")
        link = ""

    def change(there):
        edit_a(there)
        edit_submodule(there)
    send(room, tmp_path, change)
    (room.home / ".gitconfig").write_text(
        "[user]\nname = Ben\nemail = ben@example.org\n")
    done = run("apply", "--branch", "made")
    assert done.status == 0, done.err
    assert "in submodules" in done.err and "  sub/lib/new\n" in done.err
    assert git(room.root, "ls-tree", "made", "sub/lib") == link
    assert git(room.root, "diff", "--name-only", "main", "made") == "a\n"
    again = run("apply", "--branch", "more", "--json")
    assert [f["path"] for f in json.loads(again.out)["data"]["left_out"]] == [
        "sub/lib/new", "sub/lib/x", "sub/lib/y"]


def test_branch_of_changes_in_submodules_alone_is_refused(
        run, room, tmp_path):
    add_submodule(room, tmp_path)
    send(room, tmp_path, edit_submodule)
    done = run("apply", "--branch", "made")
    assert done.status == 2 and "all changes are in submodules" in done.err
    assert git(room.root, "branch", "--list", "made") == ""
    assert run("apply").status == 0
    assert (room.root / "sub/lib/new").exists()


def make_patch(room, change):
    """What change() does to the tree, as a patch; then it is as before."""
    change(room.root)
    git(room.root, "add", "-A")
    text = git(room.root, "diff", "--cached", "--binary", "--full-index")
    git(room.root, "reset", "-q", "--hard")
    path = room.root.parent / "saved.patch"
    path.write_text(text, errors="surrogateescape")
    return path


def test_a_patch_file_goes_through_the_same_merge(run, room, tmp_path):
    patch = make_patch(room, edit_much)
    room.write(a=TEN.replace("line 1", "my own 1"))
    before = tree(room.root)
    done = run("apply", "--patch", patch)
    assert done.status == 0, done.err
    assert (room.root / "a").read_text() == TEN.replace(
        "line 1", "my own 1").replace("line 8", "the sandbox's 8")
    assert not (room.root / "gone").exists()
    assert run("apply", "--undo").status == 0
    assert tree(room.root) == before


def test_a_patch_that_does_not_fit_or_leaves_the_tree_is_refused(
        run, room, tmp_path):
    patch = make_patch(room, edit_a)
    room.write(a="something else\n", b="nor this\n")
    before = tree(room.root)
    done = run("apply", "--patch", patch)
    assert done.status == 1 and "does not apply" in done.err
    for name in ("../x", ".git/hooks/x", ".GIT/x"):
        patch.write_text(f"diff --git a/{name} b/{name}\nnew file mode "
                         f"100644\n--- /dev/null\n+++ b/{name}\n"
                         "@@ -0,0 +1 @@\n+x\n")
        assert run("apply", "--patch", patch).status == 1
    assert run("apply", "--patch", tmp_path / "none").status == 1
    patch.write_text("no patch\n")
    none = run("apply", "--patch", patch)
    assert none.status == 2 and "the input contains no patch" in none.err
    assert "--allow-empty" not in none.err
    assert tree(room.root) == before


def test_a_run_that_cannot_bring_anything_back_asks_no_model(
        run, model, room):
    server = model([])
    done = run("-n", "hi", "-M", "anthropic:m", "--apply", timeout=60)
    assert done.status == 2 and "--workspace repo" in done.err
    assert not server.requests
    nobody = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "local",
                 "--workspace", "repo", "--branch", "x")
    assert nobody.status == 1 and "user.name" in nobody.err
    assert not server.requests
    both = run("-n", "hi", "--apply", "--branch", "x")
    assert both.status == 2 and "cannot be combined" in both.err


def writes(path, text):
    return [{"tool_calls": [{"name": "write_file", "args": {
        "file_path": path, "content": text}}]}, {"text": "done."}]


def run_task(run, model, room, *args, name="made"):
    model(writes(name, "by the agent\n"))
    return run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", *args)


def test_a_run_with_apply_brings_its_work_back(run, model, room):
    index = room.index()
    done = run_task(run, model, room, "--apply", "--json")
    assert done.status == 0, done.err
    last = json.loads(done.out.splitlines()[-1])
    assert last["apply"]["status"] == "applied"
    assert last["apply"]["files"] == [{"path": "made", "change": "A"}]
    assert (room.root / "made").read_text() == "by the agent\n"
    assert room.index() == index and "Saved" not in done.err
    assert run("apply", "--undo").status == 0
    assert not (room.root / "made").exists()
    again = run("apply")  # the sandbox is gone, what was seen there is not
    assert again.status == 0, again.err
    assert (room.root / "made").read_text() == "by the agent\n"


def test_a_run_with_branch_leaves_a_commit(run, model, room, home):
    (home / ".gitconfig").write_text(
        "[user]\nname = Ben\nemail = ben@example.org\n")
    before = tree(room.root)
    done = run_task(run, model, room, "--branch", "fix")
    assert done.status == 0, done.err
    assert tree(room.root) == before
    assert git(room.root, "show", "fix:made") == "by the agent\n"


def test_a_run_whose_work_meets_conflicts_says_so_and_loses_nothing(
        run, model, room):
    room.write(**{".env": "mine, and never sent\n"})
    done = run_task(run, model, room, "--apply", name=".env")
    assert done.status == 1, done.err
    assert "  .env  (contents)" in done.err
    assert "--apply: not all" in done.err and "Saved 1" in done.err
    assert (room.root / ".env").read_text() == "mine, and never sent\n"
