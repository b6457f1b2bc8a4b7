"""test_saving.py - no way out of a run, a chat or a sandbox loses its work."""
# SPDX-License-Identifier: MIT
import json
import signal
import sqlite3
import subprocess

import pytest

from lifecycle import execute, folders, wait_for
from slash_chat import begin, talk  # noqa: F401 (a fixture)
from terminal import Terminal
from test_diff import patches
from test_live_chat import live  # noqa: F401 (a fixture)
from test_workspace import DONE, box, local, task, work  # noqa: F401

pytestmark = local
CHANGE = execute("echo 2 >src/main.c")
TREE = ("--workspace", "repo", "-y")


def is_saved(home, err):
    saved, = patches(home)
    assert "+2" in saved.read_text() and str(saved) in err
    assert folders(home) == []
    return True


@pytest.mark.parametrize("last, options, status", [
    ({"fault": {"status": 400, "body": "no"}}, (), 1),
    ({"fault": {"status": 401, "body": {"error": "bad key"}}}, (), 1),
    ({"fault": {"status": 500, "body": "no"}}, ("--max-retries", "0"), 1),
    (execute("true"), ("--max-turns", "2"), 124),
    (execute("sleep 60"), ("--timeout", "3"), 124),
], ids=["400", "401", "500", "turns", "timeout"])
def test_a_run_that_fails_saves_what_changed(task, work, home, last, options,
                                             status):
    end = task([CHANGE, last, last], *TREE, *options).wait()
    assert end.status == status, end.err
    assert is_saved(home, end.err)


@pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGINT),
                                     (signal.SIGHUP, signal.SIGTERM)])
def test_two_signals_save_as_one_does(task, work, home, numbers):
    going = task([execute("echo 2 >src/main.c; sleep 60"), DONE], *TREE)
    boxes = home / ".deepagents" / "sandboxes"
    wait_for(lambda: any(p.read_text() == "2\n"
                         for p in boxes.glob("*/workspace/src/main.c")))
    for number in numbers:
        going.signal(number)
    end = going.wait()
    assert end.status in [128 + n for n in numbers], end.err
    assert is_saved(home, end.err)


def test_a_reader_that_goes_away_loses_nothing(
        dcode, env, model, work, home, box):
    model([CHANGE, {"text": "x" * 100_000, "chunk_bytes": 500,
                    "chunk_delay_ms": 1}])
    p = subprocess.Popen(
        [dcode, "-n", "go", "-M", "anthropic:m", "--sandbox", "local", *TREE],
        env=env, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL)
    p.stdout.read(10)
    p.stdout.close()
    err = p.stderr.read().decode()
    assert p.wait(30) == 141, err
    assert is_saved(home, err)


@pytest.fixture
def chat(dcode_release, env, model, work, box):
    """A chat whose sandbox has changed a file, at its prompt."""
    model([CHANGE, DONE])
    t = Terminal([dcode_release, "-M", "anthropic:m", "--sandbox", "local",
                  "--workspace", "repo"], env, work)
    t.until("> ")
    t.type("go\n")
    t.until("done")
    t.until("> ")
    return t


def rows(run):
    return json.loads(run("sandbox", "list", "--json").out)["data"]


@pytest.mark.parametrize("keys, state", [
    ("d\n", None), ("\n", None), ("\x04", None),
    ("s\n", "stopped"), ("k\n", "stopped")],
    ids=["delete", "default", "end of input", "stop", "keep"])
def test_the_question_at_the_end_of_a_chat_loses_nothing(
        chat, run, home, keys, state):
    chat.type("/quit\n")
    chat.until("delete, stop or keep it? [a/D/s/k/b] ")
    chat.type(keys)
    chat.end()
    assert [row["state"] for row in rows(run)] == ([state] if state else [])
    if state:
        assert patches(home) == []
        assert "+2" in run("diff").out
    else:
        assert is_saved(home, chat.text)


@pytest.mark.parametrize("keys", ["b\n", "\x03"], ids=["b", "Ctrl-C"])
def test_a_user_returns_to_the_chat_instead_of_leaving(
        chat, run, home, keys):
    for _ in range(2):
        chat.type("/quit\n")
        chat.until("b goes back to the chat.")
        chat.until("[a/D/s/k/b] ")
        chat.type(keys)
        chat.until("\n> ")
    assert len(rows(run)) == 1 and patches(home) == []
    chat.type("/diff\n")
    chat.until("1 + 2")
    chat.until("> ")
    chat.type("/quit\n")
    chat.until("[a/D/s/k/b] ")
    chat.type("d\n")
    assert chat.end() == 0
    assert rows(run) == [] and is_saved(home, chat.text)


@pytest.mark.parametrize("keys", [["Escape"], ["C-c"], ["Down", "Enter"]],
                         ids=["Esc", "Ctrl-C", "selected"])
def test_a_user_returns_to_the_chat_with_a_screen(
        live, run, work, home, box, keys):  # noqa: F811
    s, server = live([CHANGE, DONE, {"text": "Still here."}],
                     ("--sandbox", "local", "--workspace", "repo"),
                     ready="tools in")
    ask = "[a/D/s/k/Esc]"
    for text, wanted in (("go", "done"), ("/quit", ask)):
        s.type(text)
        s.keys("Enter")
        s.until(wanted)
    s.type("x")
    s.until("press one of these letters, or Esc")
    s.keys(*keys)
    s.until(lambda t: "leaving" not in t and "stopping" not in t
            and "or Esc" not in t)
    assert len(rows(run)) == 1 and patches(home) == []
    s.type("and now")
    s.keys("Enter")
    s.until("Still here.")
    s.keys("C-d")
    s.until(lambda t: t.rstrip().rfind(ask) > t.rfind("Still here."))
    s.type("k")
    assert s.status() == 0
    kept, = rows(run)
    assert kept["kept"]


def test_apply_at_the_end_of_a_chat_brings_the_work_and_deletes_the_sandbox(
        chat, run, work, home):
    chat.type("/quit\n")
    chat.until("Apply its changes and delete it? Or delete, stop or "
               "keep it? [a/D/s/k/b] ")
    chat.type("a\n")
    assert chat.end() == 0, chat.text
    assert "Applied 1 file" in chat.text
    assert (work / "src/main.c").read_text() == "2\n"
    assert rows(run) == [] and patches(home) == []


def test_apply_is_an_answer_at_the_end_of_a_chat_with_a_screen_too(
        live, run, work, home, box):  # noqa: F811
    s, _ = live([CHANGE, DONE], ("--sandbox", "local", "--workspace", "repo"),
                ready="tools in")
    for text, wanted in (("go", "done"), ("/quit", "[a/D/s/k/Esc]")):
        s.type(text)
        s.keys("Enter")
        s.until(wanted)
    s.type("a")
    s.until("[a/D/s/k/Esc] a")
    s.keys("Enter")
    s.until("Applied 1 file", scrollback=True)
    assert s.status() == 0
    assert (work / "src/main.c").read_text() == "2\n"
    assert rows(run) == [] and patches(home) == []


def test_what_cannot_be_applied_at_the_end_of_a_chat_is_asked_about_again(
        chat, run, work, home):
    (work / "src/main.c").write_text("3\n")
    chat.type("/quit\n")
    chat.until("[a/D/s/k/b] ")
    chat.type("a\n")
    chat.until("[a/D/s/k/b] ")
    assert len(rows(run)) == 1
    chat.type("d\n")
    chat.end()
    assert (work / "src/main.c").read_text() == "3\n"
    assert rows(run) == [] and is_saved(home, chat.text)


@pytest.mark.parametrize("tree, has", [
    ("repo", "has 1 changed file that is not in your working tree."),
    ("none", "has changes that are not saved anywhere else.")])
def test_the_question_names_the_sandbox_and_repeats_for_other_letters(
        talk, work, run, box, tree, has):
    c = begin(talk, {"turns": [execute("mkdir -p src; echo 2 >src/main.c"),
                               DONE], "by": "count"},
              "--sandbox", "local", "--workspace", tree)
    c.say("go", "done")
    made, = rows(run)
    c.say("/quit", "D/s/k")
    gives = ("d or Enter saves them as a patch and deletes it; "
             if tree == "repo" else "d or Enter deletes it with its changes; ")
    assert "".join(gives.split()) in "".join(c.text().split())
    for n, other in enumerate(("n", "q", "j", "dx"), 2):
        if c.screen:
            c.type(other)
            c.until("Not an answer")
            c.keys("Left")
            c.until(lambda t: "Not an answer" not in t)
            continue
        seen = c.say(other, "keep it?", n)
        assert f"D/s/k/b] {other}" in seen
        assert f"'{other}' is not an answer. " in seen
    assert f"local dcode-{made['name']} {has}" in c.text(True)
    assert [row["name"] for row in rows(run)] == [made["name"]]
    c.type("K")
    if not c.screen:
        c.keys("Enter")
    c.until("dcode -r ")
    assert c.status() == 0
    kept, = rows(run)
    assert kept["name"] == made["name"] and kept["kept"]


def test_a_chat_shows_what_changed_and_does_not_ask_once_it_is_applied(
        chat, run, work, home):
    chat.type("/diff\n")
    chat.until("1 + 2")
    chat.until("> ")
    chat.type("/diff --name-only\n")
    chat.until("src/main.c")
    chat.until("> ")
    chat.type("/apply\n")
    chat.until("> ")
    chat.type("/diff\n")
    chat.until("Nothing has changed in the sandbox.")
    chat.until("> ")
    assert chat.leave() == 0
    assert (work / "src/main.c").read_text() == "2\n"
    assert patches(home) == [] and rows(run) == []
    assert "keep it?" not in chat.text


def test_gc_saves_what_is_in_a_sandbox_whose_time_is_over(
        task, work, run, home):
    assert task([CHANGE, DONE], *TREE, "--keep").wait().status == 0
    assert run("sandbox", "gc").status == 0
    assert patches(home) == [] and len(rows(run)) == 1  # its time is not over
    with sqlite3.connect(home / ".deepagents/.state/dcode.db") as db:
        db.execute("UPDATE ledger SET ends = 5")
    end = run("sandbox", "gc")
    assert end.status == 0, end.err
    assert is_saved(home, end.err)


BAD = ["file_mb = -3", "file_mb = 0", 'file_mb = "100"', "fetch_mb = -1",
       "fetch_mb = 4611686018427387904", "patches_days = -1",
       "patches_mb = -1", 'patches_mb = "x"']


def set_workspace(home, line):
    path = home / ".deepagents" / "config.toml"
    rest = path.read_text() if path.exists() else ""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(f"[workspace]\n{line}\n{rest}")


@pytest.mark.parametrize("line", BAD)
def test_limits_of_no_use_are_refused_before_there_is_a_sandbox(
        task, work, home, line):
    set_workspace(home, line)
    name = line.split()[0]
    end = task([CHANGE, DONE], *TREE).wait()
    wrong_type = '"' in line  # ends the run as a file that does not parse
    assert end.status == (2 if wrong_type else 1), end.err
    assert name in end.err
    assert wrong_type or f"Set [workspace] {name} = " in end.err
    assert not task.server.requests
    assert folders(home) == [] and patches(home) == []


@pytest.mark.parametrize("line", ["file_mb = 1", "fetch_mb = 1",
                                  "patches_days = 0", "patches_mb = 0"])
def test_the_least_limits_run_and_save(task, work, home, line):
    set_workspace(home, line)
    end = task([CHANGE, DONE], *TREE).wait()
    assert end.status == 0, end.err
    assert is_saved(home, end.err)


@pytest.mark.parametrize("line", BAD[:5])
def test_limits_of_no_use_do_not_keep_sandbox_rm_from_saving(
        task, work, run, home, line):
    assert task([CHANGE, DONE], *TREE, "--keep").wait().status == 0
    row, = rows(run)
    set_workspace(home, line)
    end = run("sandbox", "rm", row["label"])
    assert end.status == 0, end.err
    assert "Warning: " in end.err and line.split()[0] in end.err
    assert "; using" in end.err
    assert is_saved(home, end.err)


def block_patches(home):
    """Nothing can be made below a file."""
    path = home / ".deepagents/.state/patches"
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    path.write_text("in the way")
    return path


@pytest.mark.parametrize("blocked", [True, False])
def test_a_run_whose_patch_could_not_be_saved_does_not_end_with_0(
        task, work, home, blocked):
    if blocked:
        block_patches(home)
    end = task([CHANGE, DONE], *TREE, "--json").wait()
    assert end.status == (1 if blocked else 0), end.err
    last = json.loads(end.out.splitlines()[-1])
    assert last["status"] == ("error" if blocked else "success")
    assert last["exit_status"] == end.status
    assert bool(last["changes"]["error"]) == blocked
    assert last["text"] == "done."
    assert ("cannot save a patch of" in end.err) == blocked
    assert folders(home) == []


def test_a_run_without_changes_needs_no_patch(task, work, home):
    block_patches(home)
    end = task([execute("true"), DONE], *TREE).wait()
    assert end.status == 0, end.err


@pytest.mark.parametrize("way", [("rm",), ("gc",)])
@pytest.mark.parametrize("blocked", [True, False])
def test_removing_a_sandbox_tells_by_its_status_that_no_patch_was_saved(
        task, work, run, home, way, blocked):
    assert task([CHANGE, DONE], *TREE, "--keep").wait().status == 0
    row, = rows(run)
    if blocked:
        block_patches(home)
    args = [*way]
    if way == ("rm",):
        args.append(row["label"])
    else:
        with sqlite3.connect(home / ".deepagents/.state/dcode.db") as db:
            db.execute("UPDATE ledger SET ends = 5")
    end = run("sandbox", *args)
    assert end.status == (1 if blocked else 0), end.err
    assert ("cannot save the sandbox's changes" in end.err) == blocked
    assert rows(run) == [] and folders(home) == []


def test_a_chat_whose_patch_could_not_be_saved_ends_with_1(chat, home):
    block_patches(home)
    chat.type("/quit\n")
    chat.until("delete, stop or keep it? [a/D/s/k/b] ")
    chat.type("d\n")
    assert chat.end() == 1
