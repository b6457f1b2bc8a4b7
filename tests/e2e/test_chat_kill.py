"""test_chat_kill.py - SIGKILL at any point of a chat loses nothing local."""
# SPDX-License-Identifier: MIT
import json
import os
import random
import signal
import sqlite3
import time

import pytest

from lifecycle import execute
from terminal import Terminal
from test_workspace import git

# make soak: 200. The seed of a failure is in its message.
KILLS = int(os.environ.get("DCODE_CHAT_KILLS") or
            (200 if os.environ.get("DCODE_TEST_LONG") else 6))
SEED = int(os.environ.get("DCODE_CHAT_KILL_SEED") or
           random.randrange(1 << 30))
LINES = 3000
# The files are whole in the sandbox, too: a half one here is dcode's.
COUNT = (f"n=$(($(cat n) + 1)); for f in a b c d e/f; do yes $n | "
         f"head -n {LINES} >t && mv t $f; done; echo $n >t && mv t n")
TALK = {"turns": [{"text": "t", "thinking": "h", "chunk_bytes": 200,
                   "chunk_delay_ms": 1, **execute(COUNT)},
                  {"text": "done", "chunk_bytes": 100, "chunk_delay_ms": 1}],
        "repeat": True}


@pytest.fixture
def tree(tmp_path):
    top = tmp_path / "work"
    git(top, "init", "-q", "-b", "main")
    (top / "e").mkdir()
    for name in ("a", "b", "c", "d", "e/f"):
        (top / name).write_text("0\n" * LINES)
    (top / "n").write_text("0\n")
    (top / ".gitignore").write_text("t\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    (top / "mine").write_text("not committed\n")
    return top


def check_tree(top):
    for name in ("a", "b", "c", "d", "e/f"):
        lines = (top / name).read_text().split("\n")
        assert len(lines) == LINES + 1 and lines[-1] == "", name
        assert len(set(lines[:-1])) == 1, name
    assert (top / "mine").read_text() == "not committed\n"
    assert git(top, "status", "--porcelain", "--", "mine") == "?? mine\n"


def drain(term, until):
    """Reads what comes, as a terminal does; true at the end of the chat."""
    while came := term.read(until):
        pass
    return came is False


def chat(dcode, env, tree, options, seconds):
    """A chat that works and applies, killed after so long."""
    end = time.monotonic() + seconds
    term = Terminal([dcode, "--sandbox", "local", "--workspace", "repo",
                     "--keep", *options], env, tree)
    term.type("go\n/apply\ngo on\n/apply\n/quit\n")
    ended = drain(term, end)
    os.kill(term.pid, signal.SIGKILL)
    drain(term, time.monotonic() + 5)
    term.close()
    return ended


@pytest.mark.parametrize("spec", ["anthropic:m", "openai:m"])
def test_a_killed_chat_loses_no_file_and_its_thread_resumes(
        dcode_release, env, model, run, tree, home, spec):
    rng = random.Random(SEED)
    server = model(TALK)
    began = time.monotonic()
    assert chat(dcode_release, env, tree, ("-M", spec), 60), "no end"
    whole = time.monotonic() - began
    assert (tree / "n").read_text() == "2\n"  # so it does work and apply
    check_tree(tree)
    killed = 0
    for i in range(KILLS // 2):
        options = ("-M", spec, *(("-r",) if i % 4 else ()))
        killed += not chat(dcode_release, env, tree, options,
                           rng.uniform(0, whole))
        assert run("diff").status in (0, 1), SEED  # it recovers an apply
        check_tree(tree)
    assert killed > KILLS // 8, SEED
    r = run("threads", "list", "--json", "-n", "1000")
    for thread in json.loads(r.out)["data"]:
        r = run("-r", thread["thread_id"], "-n", "and now", "-M", spec,
                "-y", "--on-exit", "delete")
        assert r.status == 0, (SEED, thread["thread_id"], r.err)
    assert not server.violations, (SEED, server.violations)
    check_tree(tree)
    with sqlite3.connect(home / ".deepagents/.state/dcode.db") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
