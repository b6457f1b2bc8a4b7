"""test_earlier.py - a thread with several sandboxes loses no work."""
# SPDX-License-Identifier: MIT
import json
import sqlite3
import subprocess

import pytest

from lifecycle import execute
from terminal import Terminal
from test_diff import kept, patches  # noqa: F401
from test_workspace import DONE, box, local, task, work  # noqa: F401

pytestmark = local


@pytest.fixture
def first(kept, run):
    """The row of the sandbox that is kept, with changes."""
    row, = json.loads(run("sandbox", "list", "--json").out)["data"]
    return row


def go_on(run, model, first, command, *options):
    first["turns"] = first.get("turns", 0) + 2
    model([DONE] * first["turns"] + [execute(command), DONE])
    end = run("-r", first["thread"], "-n", "go on", "-y", *options)
    assert end.status == 0, end.err
    return end


def test_work_is_found_by_its_thread_after_a_run_without_a_sandbox(
        first, run, model, work):
    go_on(run, model, first, "true", "--sandbox", "none")
    end = run("diff", first["thread"])
    assert end.status == 0 and "+int changed;" in end.out, end.err
    assert "This thread also has" not in end.err
    (work / "local").write_text("here\n")
    end = run("sync", first["thread"])
    assert end.status == 0 and "1 file sent" in end.err, end.err
    end = run("apply", first["thread"], "--partial")
    assert end.status == 0, end.err
    assert (work / "src/main.c").read_text() == "int changed;\n"


def test_of_two_sandboxes_the_newer_work_comes_and_the_older_is_named(
        first, run, model, work, vendor, home):
    vendor("e2b")
    command = "echo newer >newer"
    end = go_on(run, model, first, command, "--sandbox", "e2b",
                "--workspace", "repo")
    assert "belongs to another provider" in end.err
    assert "+newer" in patches(home)[0].read_text()
    end = run("diff")
    assert "+newer" in end.out and "int changed" not in end.out, end.err
    older = f"an older local sandbox: `dcode diff {first['name']}`\n"
    assert older in end.err
    end = run("sync")  # only the older one is there
    assert end.status == 0, end.err
    end = run("diff", first["name"])
    assert "+int changed;" in end.out and "newer" not in end.out
    assert "This thread also has" not in end.err
    assert run("apply").status == 0
    assert (work / "newer").exists()
    end = run("apply", first["id"], "--partial")
    assert end.status == 0, end.err
    assert (work / "src/main.c").read_text() == "int changed;\n"
    assert (work / "newer").exists()
    show = run("threads", "show", first["thread"]).out
    assert f"earlier   local stopped {first['name']}\n" in show
    data = json.loads(run("threads", "show", first["thread"],
                          "--json").out)["data"]
    assert [(s["provider"], s["state"]) for s in data["sandboxes"]] == \
        [("e2b", "gone"), ("local", "stopped")]


def test_diff_in_the_chat_names_older_work_with_its_own_command(
        first, model, vendor, dcode, env, work):
    vendor("e2b")
    model([DONE] * 4)
    t = Terminal([str(dcode), "-r", first["thread"], "--sandbox", "e2b",
                  "--workspace", "repo", "--plain"], env, work)
    try:
        t.until("/quit.")
        t.type("/diff\n")
        said = " ".join(t.until("changed in the sandbox.").split())
    finally:
        t.close()
    assert f"an older local sandbox: `/diff {first['name']}`" in said


def test_a_thread_that_went_on_elsewhere_keeps_its_tree(
        first, run, start, model, work, tmp_path):
    (tmp_path / "other").mkdir()
    model([DONE] * 4)
    end = start("-r", first["thread"], "-n", "go on", "-y",
                cwd=tmp_path / "other").wait()
    assert end.status == 0, end.err
    end = run("diff", first["thread"])
    assert end.status == 0 and "+int changed;" in end.out, end.err
    end = start("apply", first["thread"], cwd=tmp_path / "other").wait()
    assert end.status == 1, end.err
    assert "was filled from another directory" in end.err
    assert "Run this in the directory that the files were sent from." in end.err
    end = start("diff", first["thread"], cwd=tmp_path / "other").wait()
    assert end.status == 0 and "+int changed;" in end.out, end.err
    end = run("sandbox", "rm", first["name"])
    assert f"`dcode apply {first['name']}` applies them here." in end.err
    end = run("apply", first["thread"], "--partial")
    assert end.status == 0, end.err
    assert (work / "src/main.c").read_text() == "int changed;\n"


def test_work_comes_into_a_tree_that_was_moved_meanwhile(
        first, dcode, env, work, tmp_path):
    moved = work.rename(tmp_path / "moved")

    def here(*args):
        return subprocess.run([dcode, *args], cwd=moved, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True)
    end = here("apply", first["thread"])
    assert end.returncode == 1
    assert f"dcode diff {first['thread']} >FILE" in end.stderr.decode()
    end = here("diff", first["thread"])
    assert end.returncode == 0 and f"a copy of {work}" in end.stderr.decode()
    (tmp_path / "x.patch").write_bytes(end.stdout)
    end = here("apply", "--patch", tmp_path / "x.patch")
    assert end.returncode == 0, end.stderr
    assert (moved / "src/main.c").read_text() == "int changed;\n"


def test_a_thread_comes_back_to_its_sandbox_of_the_provider_asked_for(
        first, run, model):
    go_on(run, model, first, "true", "--sandbox", "none")
    end = go_on(run, model, first, "echo again >again", "--sandbox", "local")
    assert "again..." in end.err or "Connecting to" in end.err
    row, = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert row["label"] == first["label"]
    end = run("diff")
    assert "+again" in end.out and "+int changed;" in end.out


def test_a_copy_starts_with_its_own_sandbox_and_says_so(
        first, run, model, work):
    take = f"`--sandbox local --sandbox-id {first['id']}` continues in it."
    end = go_on(run, model, first, "cat src/main.c; echo copy >mine",
                "--fork", "--sandbox", "local", "--workspace", "repo")
    assert f"Thread {first['thread']} keeps its own sandbox (local " \
        f"{first['name']}, stopped)" in end.err, end.err
    assert "dcode creates a new sandbox without those files" in end.err
    assert take in end.err and "✓ Sent" in end.err
    row, = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert (row["label"], row["state"]) == (first["label"], "stopped")
    end = go_on(run, model, first, "true", "--fork", "--sandbox", "local",
                "--sandbox-id", first["id"])
    assert "keeps its own sandbox" not in end.err, end.err
    end = go_on(run, model, first, "true", "--sandbox", "local")
    assert "This thread's sandbox" not in end.err, end.err


def test_a_thread_without_its_own_sandbox_says_where_that_is(
        first, run, model):
    stays = f"This thread's sandbox (local {first['name']}, stopped) "
    end = go_on(run, model, first, "true", "--sandbox", "none")
    assert stays + "is not used: the tools of this run act on this " \
        "machine." in end.err, end.err
    assert f"`dcode -r {first['thread']} --sandbox local` continues in it." \
        in end.err
    end = go_on(run, model, first, "true", "--sandbox", "none", "-q")
    assert "This thread's sandbox" not in end.err


def test_work_outlives_its_thread_and_its_sandbox(first, run, work, home):
    end = run("threads", "delete", first["thread"])
    assert end.status == 0
    assert f"dcode sandbox rm {first['name']} deletes it" in end.err
    end = run("sandbox", "rm", first["name"])
    saved, = patches(home)
    assert str(saved) in end.err
    end = run("apply", first["name"], "--partial")
    assert end.status == 0, end.err
    assert (work / "src/main.c").read_text() == "int changed;\n"
    assert run("apply", "nosuchname").status == 1


def test_a_saved_patch_is_named_when_its_thread_goes(first, run, home):
    assert run("sandbox", "rm", first["name"]).status == 0
    saved, = patches(home)
    end = run("threads", "prune", "--keep", "0", "--dry-run")
    assert "1 of them leave a saved patch" in end.err
    end = run("threads", "delete", first["thread"])
    assert f"its saved patch is not deleted: {saved}\n" in end.err
    assert saved.exists() and run("threads", "delete", "x").status == 1


def test_prune_counts_every_sandbox_that_a_thread_leaves(first, run, model):
    go_on(run, model, first, "true", "--sandbox", "none")
    end = run("threads", "prune", "--keep", "0")
    assert "1 sandbox of these threads still exists" in end.err
    row, = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert row["label"] == first["label"]


def test_a_thread_of_many_sandboxes_is_looked_through_for_some_older_work(
        first, run, home):
    with sqlite3.connect(home / ".deepagents/.state/dcode.db") as db:
        add = ("INSERT INTO thread_label(thread, label, provider, cwd, branch)"
               " SELECT thread, ?, provider, cwd, branch FROM thread_label"
               " WHERE label = ?")
        for i in range(60):
            db.execute(add, (f"dcode-gone{i:04}", first["label"]))
        db.execute("UPDATE thread_label SET no = 1000 WHERE label = ?",
                   (first["label"],))
    end = run("diff")
    assert "+int changed;" in end.out and "lists all" in end.err
    with sqlite3.connect(home / ".deepagents/.state/dcode.db") as db:
        db.execute("UPDATE thread_label SET no = 0 WHERE label = ?",
                   (first["label"],))
    end = run("diff")  # the only one with work is found, wherever it is
    assert "+int changed;" in end.out and "lists all" not in end.err
    show = run("threads", "show", first["thread"]).out
    assert show.count(" gone gone") == 50


def test_a_sandbox_that_has_lost_its_listing_is_synced_all_the_same(
        first, run, model, work, home):
    boxes = home / ".deepagents" / "sandboxes"
    base, = boxes.glob("*/home/.dcode/workspace/**/base")
    base.unlink()
    for name in ("one", "two", "three"):
        (work / name).write_text("local\n" * 200_000)
    end = go_on(run, model, first, "cat three | wc -l")
    assert "Sent your changes: 3 files" in end.err
    there, = boxes.glob("*/workspace/three")
    assert there.read_text() == "local\n" * 200_000
