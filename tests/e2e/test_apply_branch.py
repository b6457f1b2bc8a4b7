"""test_apply_branch.py - dcode -n --branch: branches that cannot be made."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest
from apply_room import git
from test_apply import room, writes  # noqa: F401 (a fixture)


@pytest.mark.parametrize("name, why", [
    ("", "no name for a branch"), ("a..b", "no name for a branch"),
    ("main", "is checked out"), ("there", "exists already")])
def test_a_run_whose_branch_cannot_be_made_asks_no_model(
        run, model, room, home, name, why):
    (home / ".gitconfig").write_text("[user]\nname=B\nemail=b@example.org\n")
    git(room.root, "branch", "there")
    server = model(writes("made", "by the agent\n"))
    done = run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", "--branch", name)
    assert done.status == 2 and why in done.err, done.err
    assert not server.requests
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []
    assert "Sent" not in done.err and "Removed" not in done.err


def test_a_branch_that_became_impossible_says_what_to_type(
        run, model, room, home, tmp_path):
    (home / ".gitconfig").write_text("[user]\nname=B\nemail=b@example.org\n")
    state = model(writes("made", "x\n")).model
    index = state.index

    def take_it(*args):
        git(room.root, "branch", "-f", "work")
        return index(*args)
    state.index = take_it
    done = run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", "--branch", "work")
    assert done.status == 1 and "exists already" in done.err, done.err
    advice, = re.findall(r"dcode (apply \S+ --branch) OTHER", done.err)
    done = run(*advice.split(), "other")
    assert done.status == 0, done.err
    assert git(room.root, "show", "other:made") == "x\n"


def test_work_that_stands_on_a_branch_is_not_saved_again(
        run, model, room, home):
    (home / ".gitconfig").write_text("[user]\nname=B\nemail=b@example.org\n")
    model(writes("made", "x\n"))
    done = run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", "--branch", "one")
    assert done.status == 0 and "Saved" not in done.err, done.err
    assert "dcode apply" not in done.err
    assert git(room.root, "show", "one:made") == "x\n"
    assert not list((home / ".deepagents/.state").glob("patches/*.patch"))


def test_work_after_a_branch_is_saved(run, model, room, home):
    (home / ".gitconfig").write_text("[user]\nname=B\nemail=b@example.org\n")
    model(writes("made", "x\n"))
    assert run("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
               "--workspace", "repo", "--branch", "one", "--keep").status == 0
    box = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    assert run("sandbox", "exec", box, "--", "echo 2 >more").status == 0
    done = run("sandbox", "rm", "--force", box)
    assert done.status == 0 and "Saved 2 changed files" in done.err, done.err
