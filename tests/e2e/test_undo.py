"""test_undo.py - files of a sandbox go back to before a turn."""
# SPDX-License-Identifier: MIT
import json
import os
import random
import re
import shlex
import signal
import subprocess
import time

import pytest

from clouds import vendor_fixture  # noqa: F401 (a fixture)
from lifecycle import wait_for
from slash_chat import talk  # noqa: F401 (a fixture)
from test_workspace import box  # noqa: F401 (a fixture)

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


def test_undo_is_named_once_after_the_first_turn_that_writes_a_file(
        talk, tree, run):
    def write(path):
        return {"tool_calls": [{"name": "write_file", "args": {
            "file_path": path, "content": "x\n"}}]}
    script = [{"text": "first."}, write("b.c"), {"text": "second."},
              write("c.c"), {"text": "third."}]
    c = talk({"turns": script, "by": "count"}, *SENT, columns=100, lines=50)
    hint = "/undo takes back what a turn has changed in the files."
    assert hint not in c.say("go", "first.")
    c.say("go", "second.")
    c.until(hint)
    c.say("go", "third.")
    c.say("/undo", "Undid turn 3: 1 file.")
    assert c.text(True).count(hint) == 1
    (row,) = json.loads(run("threads", "list", "--json").out)["data"]
    c.say("/quit")
    c.status()
    r = run("undo", cwd=tree)
    assert f"Undid turn 2 of thread {row['thread_id']}: 1 file." in \
        " ".join(r.err.split()), r.err


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
    c.until("To get the changes back: `/undo --redo`")
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
    shown = run("threads", "show", "latest", cwd=tree).out
    assert re.search(r"done 1\.\n\n-- turn 1 changed a\.c \(dcode diff \S+ "
                     r"--turn 1\)\n\n> go 2\n", shown), shown
    assert "\n-- turn 2 changed a.c, run.sh (dcode diff" in shown
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


def test_what_was_synced_between_turns_is_not_undone(talk, tree, run):
    c = begin(talk, "echo 1 >1", "echo 2 >2")
    go(c, 1)
    (tree / "a.c").write_text("mine\n")
    c.say("/sync", "1 file sent")
    go(c, 2)
    c.say("/undo", "Undid turn 2: 1 file.")
    c.say("/undo", "Undid turn 1: 1 file.")
    assert look(run) == ["a.c 644 mine", *BEFORE[1:]]


# Random turns with kills.

NAMES = ["a.c", "run.sh", "link", "new", "d/x", "d/e/y", "d", "link2",
         "sp ace", "nl\nx", "-dash", "uml\u00e4ut"]


def edits(rng, n):
    """A shell script of random changes, as bytes of a command."""
    out = []
    for _ in range(rng.randint(1, 4)):
        name = shlex.quote("./" + rng.choice(NAMES))
        out.append(rng.choice([
            f"mkdir -p $(dirname -- {name}); rm -rf {name};"
            f" echo {n} >{name}",
            f"[ -d {name} ] || echo {n} >>{name}",
            f"rm -rf {name}", f"chmod -R a+x {name}",
            f"[ -d {name} ] || chmod a-x {name}",
            f"rm -rf {name}; ln -s a.c {name}",
            f"rm -rf {name}; ln -s d/x {name}",
            f"rm -rf {name}; mkdir -p {name}; echo {n} >{name}/in",
            f"head -c {rng.randint(0, 90000)} /dev/zero | tr '\\0' x >big"]))
    return "exec 2>&-; " + "; ".join(out) + "; true"


TREE = r"""find . -name .git -prune -o -type f -exec sh -c 'for f; do
 m=-; [ ! -x "$f" ] || m=x; h=$(sha256sum <"$f"); printf "%s\0%s %s\0" \
 "$f" $m "${h%% *}"; done' sh {} + -o -type l -exec sh -c 'for f; do
 printf "%s\0-> %s\0" "$f" "$(readlink "$f")"; done' sh {} +"""


class History:
    """A thread of -n runs in one kept sandbox, and its states."""

    def __init__(self, start, run, tree, model, box):
        self.start, self.run, self.tree, self.model = start, run, tree, model
        self.box, self.turns = box, 0
        self.stack = []  # (turn, state before it) of the turns in effect
        self.now = None

    def state(self):
        r = self.run("sandbox", "exec", name_of(self.run), "--", TREE)
        assert r.status == 0, r.err
        fields = r.out.split("\0")[:-1]
        return dict(zip(fields[::2], fields[1::2]))

    def stored(self):
        (one,) = json.loads(self.run("threads", "list", "--json").out)["data"]
        return one["turns"]

    def dcode(self, *args, kill=None):
        p = self.start(*args, cwd=self.tree)
        if kill is not None:
            time.sleep(kill)  # any moment is good
            p.kill()
        r = p.wait()
        assert kill is not None or r.status == 0, (args, r.out, r.err)
        return r

    def turn(self, command, kill=None):
        self.model({"turns": [execute(command), {"text": "done."}],
                    "by": "count"})
        begin = ["-r"] if self.turns else ["--workspace", "repo"]
        self.dcode(*begin, "--sandbox", self.box, "--on-exit", "keep", "-y",
                   "-M", "anthropic:m", "-n", "go", kill=kill)
        before, self.now = self.now, self.state()
        while kill is not None and self.now != self.state():
            self.now = self.state()  # the command is still running there
        was, self.turns = self.turns, self.stored()
        if self.turns > was:  # else it was killed before its prompt was
            self.stack.append((self.turns, before))
        else:
            assert before == self.now

    def undo(self, turn, kill=None):
        """Undoes a turn and all after it, twice if the first is killed."""
        popped = [b for n, b in self.stack if n >= turn]
        self.stack = [(n, b) for n, b in self.stack if n < turn]
        changed = any(b != self.now for b in popped)
        if kill is not None:
            self.dcode("undo", "--turn", str(turn), kill=kill)
        for _ in range(2 if kill is not None else 1):
            r = self.start("undo", "--turn", str(turn), cwd=self.tree).wait()
            assert r.status == 0 or (
                "nothing to undo" in r.err and
                (kill is not None or not changed)), r.err
        was, self.now = self.now, self.state()
        assert self.now == (popped[0] if popped else was)

    def redo(self):
        was = self.now
        r = self.start("undo", "--redo", cwd=self.tree).wait()
        assert r.status == 0, r.err
        self.now = self.state()
        return was


def history(h, turns, seed):
    rng = random.Random(seed)
    h.turn("true")
    for n in range(turns):
        h.turn(edits(rng, n), rng.choice([None, None, rng.random() * 1.5]))
        if rng.random() < 0.2:
            h.undo(rng.randint(max(2, h.turns - 6), h.turns),
                   rng.choice([None, rng.random() * 0.7]))
    last = h.now
    known = range(max(2, h.turns - 60), h.turns + 1)
    for turn in rng.sample(known, min(6, len(known))):
        stack = list(h.stack)
        h.undo(turn)
        if h.now != last:
            h.redo()
        assert h.now == last, turn
        h.stack = stack


@pytest.mark.slow
@pytest.mark.parametrize("box, turns", [
    ("local", 30), ("docker", 8), ("e2b", 8)], indirect=["box"])
def test_random_turns_with_kills_come_back(start, run, tree, model, box,
                                           turns):
    history(History(start, run, tree, model, box), turns, 1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 5))
@pytest.mark.parametrize("box", ["local", "docker", "e2b"], indirect=True)
def test_many_random_turns_with_kills_come_back(start, run, tree, model, box,
                                                seed):
    history(History(start, run, tree, model, box), 200, seed)


READ = {"tool_calls": [{"name": "read_file", "args": {"file_path": "a.c"}}]}


@pytest.mark.parametrize("step, more", [
    (execute("echo 2 >>a.c"), 1), (READ, 0)], ids=["writes", "reads"])
def test_a_checkpoint_is_one_request(vendor, start, model, tree, config, run,
                                     step, more):
    counts = []
    for checkpoints in (0, 100):
        config(f"[workspace]\ncheckpoints = {checkpoints}\n")
        with_cloud = vendor("e2b")
        model({"turns": [step, {"text": "done."}], "by": "count"})
        r = start("-n", "go", "-y", "-M", "anthropic:m", "--sandbox", "e2b",
                  "--workspace", "repo", "--on-exit", "keep", cwd=tree).wait()
        assert r.status == 0, r.err
        counts.append(len(with_cloud.requests))
    assert counts[1] - counts[0] == more, counts


def test_without_a_copy_of_the_tree_it_says_why(talk, tree):
    c = talk(turns("echo 2 >2"), "-y", "-M", "anthropic:m", columns=100)
    go(c, 1)
    c.say("/undo", "nothing to undo: no file tool has written a file")
    assert (tree / "2").exists()
    c.say("/undo --turn x", "not the number of a turn: 'x'")
    c.say("/undo --turn 1 --redo", "--turn cannot be combined with --redo")


def test_a_run_that_resumes_is_told_of_an_undo_in_the_shell(
        start, run, tree, model):
    server = model(turns("echo 2 >2", "true"))
    r = start("-n", "go", *SENT, cwd=tree).wait()
    assert r.status == 0, r.err
    said = json.loads(run("undo", "--json", cwd=tree).out)["data"]
    assert (said["turn"], said["changed"], said["kept"]) == (
        1, [{"path": "2"}], [])
    r = start("-r", "-n", "again", *SENT, cwd=tree).wait()
    assert r.status == 0, r.err
    text = server.requests[2]["body"]["messages"][-1]["content"][-1]["text"]
    assert re.match(r"\[With `dcode undo` the user has undone .*: 2\. Read.*"
                    r"\]\n\nagain$", text), text
    assert look(run) == BEFORE


def test_a_later_turn_of_a_killed_chat_can_be_undone(talk, tree, run, start,
                                                     model):
    c = begin(talk, "echo 2 >>a.c", "echo 3 >>a.c; exec sleep 100")
    go(c, 1)
    after = look(run)
    c.say("go 2")
    wait_for(lambda: "3" in look(run))
    os.kill(c.pid(), signal.SIGKILL)
    model(turns("true"))
    r = start("-r", "-n", "again", *SENT, cwd=tree).wait()
    assert r.status == 0, r.err
    r = start("undo", "--turn", "2", cwd=tree).wait()
    assert r.status == 0, r.err
    assert look(run) == after
