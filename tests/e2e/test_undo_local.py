"""test_undo_local.py - /undo without a sandbox: what file tools wrote."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import signal
import subprocess

import pytest

from slash_chat import talk  # noqa: F401 (a fixture)

HERE = ("--sandbox", "none", "-y", "-M", "anthropic:m")


def call(name, **args):
    return {"tool_calls": [{"name": name, "args": args}]}


def write(path, content):
    return call("write_file", file_path=str(path), content=content)


def edit(path, old, new):
    return call("edit_file", file_path=str(path), old_string=old,
                new_string=new)


def turns(*steps):
    """A script: each prompt makes the calls of one list."""
    script = []
    for n, calls in enumerate(steps, 1):
        script += [*calls, {"text": f"done {n}."}]
    return {"turns": script, "by": "count"}


@pytest.fixture
def tree(tmp_path):
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    (work / "a.c").write_text("one\n")
    (work / "a.c").chmod(0o755)
    (work / "b.c").write_text("one\n")
    (work / "b.c").chmod(0o600)
    for line in ("init -q", "add -A", "-c user.name=a -c user.email=a@b"
                 " commit -qm x"):
        subprocess.run(["git", *line.split()], cwd=work, check=True)
    return work


def look(tree):
    return {str(p.relative_to(tree)): (oct(p.lstat().st_mode)[-3:],
                                       p.read_text())
            for p in tree.rglob("*")
            if ".git" not in p.parts and p.is_file()}


def begin(talk, *steps):
    return talk(turns(*steps), *HERE, columns=100, lines=50)


def go(c, n, text="go"):
    c.say(f"{text} {n}", f"done {n}.")


def flat(text):
    return " ".join(text.split())


def last_prompt(c):
    return c.server.requests[-1]["body"]["messages"][-1]["content"][-1]["text"]


def test_a_turn_is_undone_and_the_model_is_told(talk, tree):
    before = look(tree)
    c = begin(talk, [edit("a.c", "one", "two"), write("d/new", "x\n"),
                     call("delete", file_path="b.c"),
                     edit("a.c", "two", "three"),
                     call("execute", command="echo 1 >ran")], [])
    go(c, 1)
    c.until("/undo takes back what a turn has changed in the files with")
    after = look(tree)
    assert after["a.c"] == ("755", "three\n") and "b.c" not in after
    c.say("/undo", "Undid turn 1: 3 files.")
    assert "have changed: echo 1 >ran" in flat(c.text(True))
    assert look(tree) == {**before, "ran": after["ran"]}
    go(c, 2)
    said = last_prompt(c)
    assert re.match(r"\[With `dcode undo` .* last 1 turn that changed files: "
                    r"a\.c, b\.c, d/new\. Read .*other changes that commands "
                    r"made.*\]\n\ngo 2$", said), said


def test_undo_of_two_turns_and_redo(talk, tree):
    before = look(tree)
    c = begin(talk, [edit("a.c", "one", "two")],
              [edit("a.c", "two", "three"), write("n", "n\n")],
              [edit("b.c", "one", "four")])
    go(c, 1)
    first = look(tree)
    go(c, 2)
    second = look(tree)
    c.say("/undo", "Undid turn 2: 2 files.")
    assert look(tree) == first
    c.say("/undo", "Undid turn 1: 1 file.")
    assert look(tree) == before
    c.say("/undo --redo", "Restored turn 1: 1 file.")
    assert look(tree) == first
    c.say("/undo --redo", "Restored turn 2: 2 files.")
    assert look(tree) == second
    go(c, 3)
    c.say("/undo --turn 1", "Undid turn 1 and the turns after it")
    assert look(tree) == before


def test_what_the_user_changed_since_stays(talk, tree):
    c = begin(talk, [edit("a.c", "one", "two"), edit("b.c", "one", "two")],
              [edit("b.c", "mine", "three")])
    go(c, 1)
    (tree / "b.c").write_text("mine\n")
    go(c, 2)
    c.say("/undo --turn 1", "1 file, 1 left alone")
    assert "b.c stays as it is" in flat(c.text(True))
    assert (tree / "a.c").read_text() == "one\n"
    assert (tree / "b.c").read_text() == "three\n"


def test_what_was_changed_after_the_turn_stays(talk, tree):
    c = begin(talk, [edit("a.c", "one", "two"), edit("b.c", "one", "two")])
    go(c, 1)
    (tree / "b.c").write_text("mine\n")
    c.say("/undo", "1 file, 1 left alone")
    assert (tree / "a.c").read_text() == "one\n"
    assert (tree / "b.c").read_text() == "mine\n"


@pytest.mark.parametrize("link", [True, False])
def test_a_link_leads_an_undo_nowhere(talk, tree, tmp_path, link):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("two\n")
    (tree / "d").mkdir()
    (tree / "d" / "f").write_text("one\n")
    swap = f"mv d e; ln -s {outside} d" if link else "true"
    c = begin(talk, [edit("d/f", "one", "two"), call("execute", command=swap)])
    go(c, 1)
    c.say("/undo", "0 files, 1 left alone" if link else "1 file.")
    assert (outside / "f").read_text() == "two\n"
    assert (tree / "d" / "f").read_text() == ("two\n" if link else "one\n")


def test_a_rewind_takes_the_files_along(talk, tree):
    before = look(tree)
    c = begin(talk, [edit("a.c", "one", "two")], [edit("a.c", "two", "3")],
              [edit("a.c", "two", "four")])
    go(c, 1)
    first = look(tree)
    go(c, 2)
    c.say("/rewind", "go 2")
    if c.screen:
        c.keys("Enter")
    else:
        c.say("1")
    c.until("Conversation and files that file tools wrote")
    if c.screen:
        c.keys("Enter")
    else:
        c.say("1")
    c.until("Went back to before this prompt")
    assert look(tree) == first
    if c.screen:
        c.keys("C-u")
    go(c, 3)
    assert (tree / "a.c").read_text() == "four\n"
    c.say("/undo", "Undid turn 2: 1 file.", times=2)
    assert look(tree) == first
    c.say("/undo", "Undid turn 1: 1 file.")
    assert look(tree) == before


def test_a_run_and_a_killed_chat_are_undone_from_the_shell(
        talk, tree, run, start, model):
    before = look(tree)
    c = begin(talk, [edit("a.c", "one", "two"), call(
        "execute", command="touch now; exec sleep 100")])
    c.say("go")
    c.until(lambda _: (tree / "now").exists())
    os.kill(c.pid(), signal.SIGKILL)
    r = run("undo", "--json", cwd=tree)
    data = json.loads(r.out)["data"]
    assert (data["turn"], data["changed"]) == (1, [{"path": "a.c"}]), r.err
    (tree / "now").unlink()
    assert look(tree) == before
    model(turns([edit("a.c", "one", "two")]))
    r = start("-n", "go", *HERE, cwd=tree).wait()
    assert r.status == 0, r.err
    assert (tree / "a.c").read_text() == "two\n"
    r = run("undo", cwd=tree)
    assert r.status == 0 and "Undid turn 1 of thread" in flat(r.err), r.err
    assert look(tree) == before


def test_what_is_not_covered_is_named(talk, tree, tmp_path):
    (tree / "d").mkdir()
    (tree / "d" / "x").write_text("x\n")
    c = begin(talk, [write(tmp_path / "other", "x\n"),
                     call("delete", file_path="d")])
    go(c, 1)
    c.until("/undo does not cover")
    c.say("/undo", "nothing to undo: no")
    assert (tmp_path / "other").exists()


def test_what_is_stored_is_private(talk, tree, home):
    c = begin(talk, [edit("b.c", "one", "two")])
    go(c, 1)
    (store,) = (home / ".deepagents" / ".state" / "workspaces").iterdir()
    assert store.stat().st_mode & 0o77 == 0
    for path in store.glob("here-*"):
        assert path.stat().st_mode & 0o77 == 0, path


def test_a_killed_undo_touches_no_other_file(talk, tree, run, start, model,
                                             dcode, env):
    """A temporary file of one path was taken for that of another."""
    (tree / "b.c").write_text("uno\n")
    before = look(tree)
    model(turns([edit("a.c", "one", "two"), edit("b.c", "uno", "dos")]))
    r = start("-n", "go", *HERE, cwd=tree).wait()
    assert r.status == 0, r.err
    subprocess.run(["strace", "-f", "-o", "/dev/null", "-e",
                    "trace=renameat2", "-e",
                    "inject=renameat2:signal=KILL:when=2", dcode, "undo"],
                   cwd=tree, env=env, capture_output=True, timeout=60)
    r = run("undo", cwd=tree)
    assert r.status == 0, r.err
    assert look(tree) == before
    assert not list(tree.glob(".dcode-*"))


@pytest.mark.parametrize("name", [".dcode-undo.swap", ".dcode-undo.new"])
def test_a_file_of_the_repository_is_not_put_in_anothers_place(
        talk, tree, name):
    (tree / name).symlink_to("/etc/passwd")
    c = begin(talk, [edit("a.c", "one", "two")])
    go(c, 1)
    c.say("/undo", "Undid turn")
    assert not (tree / "a.c").is_symlink()
    assert (tree / "a.c").read_text() == "one\n"
    assert os.readlink(tree / name) == "/etc/passwd"


def test_private_files_come_back_private(talk, tree):
    old = os.umask(0o077)
    try:
        c = begin(talk, [write("secret", "x\n"), write("d/secret", "x\n")])
    finally:
        os.umask(old)
    go(c, 1)
    c.say("/undo", "Undid turn")
    if (tree / "d").exists():
        (tree / "d").rmdir()
    c.say("/undo --redo", "Restored turn")
    for name in ("secret", "d", "d/secret"):
        assert (tree / name).stat().st_mode & 0o077 == 0, name
    assert (tree / "d" / "secret").read_text() == "x\n"


def test_a_formatter_as_a_hook_belongs_to_the_write(talk, tree, home):
    (home / ".deepagents").mkdir(exist_ok=True)
    (home / ".deepagents" / "hooks.json").write_text(json.dumps(
        {"hooks": {"PostToolUse": [{"matcher": "Write|Edit", "hooks": [
            {"type": "command", "command": f"echo fmt >>{tree}/a.c"}]}]}}))
    c = begin(talk, [edit("a.c", "one", "two")])
    go(c, 1)
    assert (tree / "a.c").read_text() == "two\nfmt\n"
    c.say("/undo", "Undid turn")
    assert (tree / "a.c").read_text() == "one\n"
