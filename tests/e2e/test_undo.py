"""test_undo.py - files of a sandbox go back to before a turn."""
# SPDX-License-Identifier: MIT
import json
import subprocess

import pytest

from slash_chat import Chat, on_screen, talk  # noqa: F401 (a fixture)

SENT = ("--sandbox", "local", "--workspace", "repo", "--on-exit", "keep",
        "-y", "-M", "anthropic:m")


def execute(command):
    return {"tool_calls": [{"name": "execute", "args": {"command": command}}]}


def turns(*commands):
    """A script: each prompt runs one command."""
    calls = [step for n, c in enumerate(commands, 1)
             for step in (execute(c), {"text": f"done {n}."})]
    return {"turns": calls, "by": "count"}


@pytest.fixture
def tree(tmp_path):
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    (work / "a.c").write_text("one\n")
    (work / "run.sh").write_text("run\n")
    (work / "run.sh").chmod(0o755)
    (work / "link").symlink_to("a.c")
    for line in ("init -q", "add -A", "-c user.name=a -c user.email=a@b"
                 " commit -qm x"):
        subprocess.run(["git", *line.split()], cwd=work, check=True)
    return work


def name_of(run):
    """The sandbox of the only thread."""
    (one,) = json.loads(run("sandbox", "list", "--json").out)["data"]
    return one["name"]


def begin(talk, *commands, **how):
    return talk(turns(*commands), *SENT, columns=100, lines=50, **how)


def go(c, n, text="go"):
    c.say(f"{text} {n}", f"done {n}.")


def prompt(c, end):
    """The text of the user's message with this end, as it was sent."""
    return next(part["text"] for r in c.server.requests
                for m in r["body"]["messages"] if m["role"] == "user"
                for part in m["content"]
                if part.get("text", "").endswith(end))


LOOK = r"""find . -path ./.git -prune -o -type f -printf '%P %m ' \
 -exec cat {} \; -o -type l -printf '%P -> %l\n' | sort"""
BEFORE = ["a.c 644 one", "link -> a.c", "run.sh 755 run"]


def look(run):
    """What is in the tree of the sandbox."""
    r = run("sandbox", "exec", name_of(run), "--", LOOK)
    assert r.status == 0, r.err
    return r.out.splitlines()


def test_the_last_turn_is_undone_and_the_model_is_told(talk, tree, run):
    c = begin(talk, "echo two >>a.c; rm link; chmod -x run.sh",
              "mkdir d; echo x >d/new; ln -sf a.c link", "true", "true")
    go(c, 1)
    after = look(run)
    assert after == ["a.c 644 one", "run.sh 644 run", "two"]
    go(c, 2)
    assert "d/new 644 x" in look(run)
    c.say("/undo", "Undid turn 2: 2 files.")
    assert look(run) == after
    go(c, 3, "and now")
    said = prompt(c, "and now 3")
    assert said.startswith("[With `dcode undo` the user has undone the "
                           "changes of the last 1 turn that changed files: "
                           "d/new, link.")
    assert said.endswith("]\n\nand now 3")
    go(c, 4, "last")
    assert prompt(c, "last 4") == "last 4"  # told only once
    c.say("/undo", "Undid turn 1: 3 files.")
    assert look(run) == BEFORE
    c.say("/undo", "nothing to undo: no turn has changed files")


def test_an_undo_can_be_undone(talk, tree, run):
    c = begin(talk, "echo 1 >1", "echo 2 >2; rm a.c", "echo 3 >3")
    states = [(go(c, n), look(run))[1]
              for n in (1, 2)]
    c.say("/undo", "Undid turn 2: 2 files.")
    c.say("/undo", "Undid turn 1: 1 file.")
    assert look(run) == BEFORE
    c.say("/undo --redo", "Restored turn 1: 1 file.")
    assert look(run) == states[0]
    c.say("/undo --redo", "Restored turn 2: 2 files.")
    assert look(run) == states[1]
    c.say("/undo --redo", "nothing to redo")
    c.say("/undo --turn 1", "Undid turn 1 and the turns after it: 3 files.")
    assert look(run) == BEFORE
    go(c, 3)
    c.say("/undo --redo", "nothing to redo", times=2)
    assert look(run) == ["3 644 3", *BEFORE]


def test_what_changed_since_stays_and_is_named(talk, tree, run):
    c = begin(talk, "echo 1 >1; echo 2 >2; rm link", "true")
    go(c, 1)
    c.say("!echo mine >1; echo new >3", "changed: 1, 3")
    c.say("/undo", "1 stays as it is: it was changed since")
    c.until("Undid turn 1: 2 files, 1 left alone.")
    assert look(run) == ["1 644 mine", "3 644 new", *BEFORE]
    go(c, 2)
    assert "Not touched, because they have changed since: 1." in prompt(
        c, "go 2")


def test_a_turn_without_changes_has_no_checkpoint(talk, tree, run):
    c = begin(talk, "true", "echo 2 >2", "touch a.c", "ls")
    for n in (1, 2, 3, 4):
        go(c, n)
    c.say("/undo --turn 3", "no turn from 3 on has changed files")
    c.say("/undo", "Undid turn 2: 1 file.")
    assert look(run) == BEFORE


def test_diff_shows_one_turn(talk, tree, run):
    c = begin(talk, "echo two >>a.c", "echo three >>a.c; chmod -x run.sh")
    go(c, 1)
    go(c, 2)
    c.say("/diff --turn 1", "+ two")
    c.say("/diff --turn 2 --stat", "2 files changed")
    c.say("/diff --turn 3", "no changes of turn 3 are stored")
    c.say("/quit")
    said = run("diff", "--turn", "2", cwd=tree).out
    assert "+three\n" in said and "+two" not in said
    assert "old mode 100755\nnew mode 100644\n" in said


def rewind(c, n, kind, times=1):
    c.say("/rewind", "Go back to before a prompt", times)
    c.say(f"go {n}", "Files; the conversation stays", times)
    c.say(kind)


def test_a_rewind_brings_the_files_along(talk, tree, run):
    c = begin(talk, "echo 1 >1", "echo 2 >2", "echo 3 >3", "echo 4 >4")
    for n in (1, 2, 3):
        go(c, n)
    rewind(c, 2, "Conversation and files")
    c.until("Undid turn 2 and the turns after it: 2 files.")
    c.until("in a new thread")
    assert look(run) == ["1 644 1", *BEFORE]
    if c.screen:
        c.until("\u276f go 2\n")
        c.keys("C-u")
    go(c, 4, "again")
    assert prompt(c, "again 4") == "again 4"
    c.say("/undo --turn 1", "Undid turn 1 and the turns after it: 2 files.")
    assert look(run) == BEFORE


def test_a_rewind_can_leave_the_files_or_the_conversation(talk, tree, run):
    c = begin(talk, "echo 1 >1", "echo 2 >2", "echo 3 >3")
    go(c, 1)
    go(c, 2)
    rewind(c, 2, "Conversation; files stay")
    c.until("Files stay as they are now.")
    assert look(run) == ["1 644 1", "2 644 2", *BEFORE]
    if c.screen:
        c.until("\u276f go 2\n")
        c.keys("C-u")
    go(c, 3)
    rewind(c, 3, "Files; the", 1 if c.screen else 2)
    c.until("Undid turn 2: 1 file.")
    assert look(run) == ["1 644 1", "2 644 2", *BEFORE]
