"""test_base_commit.py - the commit of a large tree keeps nobody waiting."""
# SPDX-License-Identifier: MIT
import json
import os
import time

import pytest

from lifecycle import execute
from slash_chat import HELLO, begin, talk  # noqa: F401 (a fixture)
from test_workspace import (  # noqa: F401
    DONE, box, git, local, results, task, work)

FILES = 1200
LOOK = ("git status --short | grep -v main.c; git log --format='%an %s';"
        " git stash -q && git stash pop -q && git diff --stat")


@pytest.fixture
def large(work):  # noqa: F811
    """So many files that their commit is left for later."""
    for i in range(FILES):
        (work / f"f{i}").write_text(f"{i}\n" * 100)
    return work


def workspaces(home):
    return home / ".deepagents/.state/workspaces"


@pytest.mark.parametrize("box", ["local", "e2b"], indirect=True)
def test_the_first_command_finds_the_commit_of_a_large_tree(
        task, large, box, home):  # noqa: F811
    r = task([execute(LOOK), DONE], "--workspace", "repo").wait()
    assert r.status == 0, r.err
    said = results(task.server)
    assert "as it was when dcode sent it" in said and "fatal" not in said
    assert "??" not in said
    assert not list(workspaces(home).glob("*/*.uncommitted"))


@local
def test_files_that_the_model_changes_first_are_changes_to_the_commit(
        task, large):  # noqa: F811
    write = {"tool_calls": [{"name": "write_file", "args": {
        "file_path": "new", "content": "new\n"}}, {
            "name": "edit_file", "args": {
                "file_path": "src/main.c", "old_string": "main2",
                "new_string": "edited"}}]}
    r = task([write, execute("git status --short; git diff"), DONE],
             "--workspace", "repo", "-y").wait()
    assert r.status == 0, r.err
    said = results(task.server)
    assert "?? new" in said and " M src/main.c" in said
    assert "-int main2;" in said and "+int edited;" in said


@local
def test_a_setup_script_finds_the_commit_of_a_large_tree(
        task, large, tmp_path):  # noqa: F811
    script = tmp_path / "setup.sh"
    script.write_text("git log --format=%s >/tmp/seen; git status -s\n")
    r = task([execute("cat /tmp/seen"), DONE], "--workspace", "repo",
             "--sandbox-setup", str(script)).wait()
    assert r.status == 0, r.err
    assert "as it was when dcode sent it" in results(task.server)


@local
def test_the_history_of_a_large_tree_is_there_for_the_first_command(
        task, large):  # noqa: F811
    git(large, "add", ".")
    git(large, "commit", "-qm", "second")
    (large / "f1").write_text("later\n")
    (large / "big").write_bytes(os.urandom(9 << 20))
    r = task([execute("git log --format=%s; git status --short"), DONE],
             "--workspace", "repo", "--history", "5").wait()
    assert r.status == 0 and "history: 2 commits" in r.err, r.err
    said = results(task.server)
    assert "second" in said and "first" in said
    assert " M f1" in said and "?? big" in said and "f2" not in said
    assert "rejected the history" not in r.err


def wait_for_request(server):
    end = time.monotonic() + 60
    while not server.requests and time.monotonic() < end:
        time.sleep(0.02)
    assert server.requests


@local
def test_a_commit_that_was_cut_by_a_kill_is_made_when_the_thread_goes_on(
        task, large, start, run, model, home):  # noqa: F811
    (large / "big").write_bytes(os.urandom(64 << 20))
    busy = task({"turns": [{"text": "slow", "delay_ms": 30000}]},
                "--workspace", "repo")
    wait_for_request(task.server)
    end = time.monotonic() + 20  # the thread is stored while the model thinks
    while not any(t["sandbox"]["label"] for t in json.loads(
            run("threads", "list", "--json").out)["data"]):
        assert time.monotonic() < end, "the thread has no sandbox"
    busy.kill()
    busy.wait()
    server = model([execute(LOOK), DONE])
    r = start("-r", "-n", "go on", cwd=large).wait()
    assert r.status == 0, r.err
    said = results(server)
    assert "as it was when dcode sent it" in said and "fatal" not in said
    assert "??" not in said
    assert not list(workspaces(home).glob("*/*.uncommitted")), r.err


@local
def test_what_is_kept_at_once_has_its_commit(task, large, run,
                                             model):  # noqa: F811
    (large / "big").write_bytes(os.urandom(32 << 20))
    r = task([DONE], "--workspace", "repo", "--keep").wait()
    assert r.status == 0, r.err
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    r = run("sandbox", "exec", name, "--", "git log --format=%s; git status -s")
    assert r.status == 0 and "as it was when dcode sent it" in r.out, r.err
    assert "??" not in r.out
    assert run("sandbox", "rm", name).status == 0


# A build that was cut leaves its number in the sandbox, and the note here.
CUT = ("cd ~/.dcode/workspace && printf 1-1 >uncommitted && mkdir git.1-1;"
       " cd - >/dev/null; rm -rf .git; ")
OWN = ("git init -q; git config user.name a; git config user.email a@b;"
       " git add main.txt; git commit -qm agents-own; ")

STATE = ("git log --format=%s; git status --short; cat .git/config;"
         " ls -A . ~/.dcode/workspace")


@pytest.fixture
def cut(task, large, run, start, home):  # noqa: F811
    """Runs a command after a cut build, then resumes; the results."""
    def begin(command):
        (large / "main.txt").write_text("main\n")
        r = task([execute(CUT + command), DONE, execute(STATE), DONE],
                 "--workspace", "repo", "--keep").wait()
        assert r.status == 0, r.err
        listing, = workspaces(home).glob("*/*.listing")
        note = listing.with_suffix(".uncommitted")
        note.write_bytes(b"topic/x\0made late\0\0")
        r = start("-r", "-n", "go on", cwd=large).wait()
        assert r.status == 0 and not note.exists(), r.err
        assert run("sandbox", "rm", listing.stem).status == 0
        return results(task.server)
    return begin


@local
def test_a_command_of_the_shell_waits_for_the_commit(
        task, large, run, home):  # noqa: F811
    r = task([execute(CUT + ":"), DONE], "--workspace", "repo",
             "--keep").wait()
    assert r.status == 0, r.err
    listing, = workspaces(home).glob("*/*.listing")
    note = listing.with_suffix(".uncommitted")
    look = ("sandbox", "exec", listing.stem, "--", "git log --format=%s")
    assert "made late" not in run(*look).out
    note.write_bytes(b"topic/x\0made late\0\0")
    r = run(*look)
    assert r.status == 0 and r.out == "made late\n", r.err
    assert not note.exists()


@local
def test_a_build_that_was_cut_leaves_a_repository_of_the_agent_alone(cut):
    said = cut(OWN)
    assert "agents-own" in said and "made late" not in said
    assert "?? f1" in said and "git.1-1" not in said


@local
def test_a_build_that_was_cut_is_made_anew_where_no_repository_is(cut):
    said = cut(":")
    assert "made late" in said and "??" not in said and " M " not in said
    assert "git.1-1" not in said and ".dcode-git" not in said
    assert "bare = false" in said and "worktree" not in said


def words(text):
    """The text without its line ends: messages wrap at words."""
    return " ".join(text.split())


@local
def test_a_chat_says_at_a_later_turn_that_the_commit_failed(
        task, large, home, talk):  # noqa: F811
    broken = "printf '[broken' >~/.gitconfig"
    r = task([execute(CUT + broken), DONE], "--workspace", "repo",
             "--keep").wait()
    assert r.status == 0, r.err
    listing, = workspaces(home).glob("*/*.listing")
    listing.with_suffix(".uncommitted").write_bytes(b"topic/x\0late\0\0")
    c = begin(talk, HELLO, "-r", "--sandbox", "local")
    c.say("!echo now-$((1+1))", "now-2")  # waits for the commit
    c.say("hi")
    c.until(lambda t: "did not become a git repository" in words(t))
    c.until("Hello there.")
    assert "gitfailedinthesandbox" in words(c.text()).replace(" ", "")
    c.say("hi again", "Hello there.", 2)
    assert words(c.text()).count("did not become a git repository") == 1
    c.say("/quit", "dcode -r ")
    assert c.status() == 0
