"""test_diff.py - what a sandbox changed is shown, and saved before it goes."""
# SPDX-License-Identifier: MIT
import base64
import json
import os
import signal
import sqlite3
import subprocess

import pytest

from lifecycle import call, execute, wait_for
from terminal import Terminal
from test_workspace import DONE, box, git, task, work  # noqa: F401

CHANGES = r"""
set -e
printf 'int changed;\n' >src/main.c
rm dos
printf 'fresh\0\377' >bin.dat
mkdir -p .github/workflows; echo 'on: push' >.github/workflows/ci.yml
echo object >y.o
mkfifo pipe
ln -s /etc/passwd out
mkdir -p .GIT; echo x >.GIT/config
chmod 4755 run.sh || true # local forbids it
"""


def patches(home):
    return sorted((home / ".deepagents" / ".state" / "patches").glob("*"))


def copy_of(work, home):
    """The tree as it was sent, to apply a patch to."""
    subprocess.run(["cp", "-a", work, home / "copy"], check=True)
    return home / "copy"


def test_a_deleted_sandbox_leaves_an_exact_patch(task, work, home):
    end = task([execute(CHANGES), DONE], "--workspace", "repo", "-y",
               "--json").wait()
    assert end.status == 0, end.err
    changes = json.loads(end.out.splitlines()[-1])["changes"]
    saved, = patches(home)
    assert str(saved) == changes["patch"] and str(saved) in end.err
    assert changes["files"] == 4 and changes["error"] is None
    assert changes["refused"] in (2, 3) and changes["left"] == 1
    assert saved.stat().st_mode & 0o777 == 0o600
    tree = copy_of(work, home)
    git(tree, "apply", saved)
    assert (tree / "src/main.c").read_text() == "int changed;\n"
    assert not (tree / "dos").exists() and not (tree / "y.o").exists()
    assert (tree / "bin.dat").read_bytes() == b"fresh\0\xff"
    for name in ("out", ".GIT/config"):
        assert f"Refused: {name} " in end.err
    assert "old mode" not in saved.read_text(errors="replace")
    assert "Lost with the sandbox: pipe is a pipe" in end.err


def test_nothing_is_saved_when_nothing_changed(task, work, home):
    end = task([execute("cat src/main.c"), DONE], "--workspace", "repo",
               "-y", "--json").wait()
    assert end.status == 0, end.err
    assert patches(home) == []
    changes = json.loads(end.out.splitlines()[-1])["changes"]
    assert changes == {"files": 0, "refused": 0, "left": 0, "patch": None,
                       "error": None}


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_saving_can_be_turned_off(task, work, home, config):
    config("[workspace]\nsave = false\n")
    end = task([execute("echo 2 >src/main.c"), DONE], "--workspace", "repo",
               "-y").wait()
    assert end.status == 0, end.err
    assert patches(home) == [] and "Saved" not in end.err


@pytest.mark.parametrize("box", ["local"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM,
                                    signal.SIGHUP])
def test_a_signal_loses_nothing(task, work, home, number):
    going = task([execute("echo 2 >src/main.c; sleep 60"), DONE],
                 "--workspace", "repo", "-y")
    boxes = home / ".deepagents" / "sandboxes"

    def changed():
        return any(p.read_text() == "2\n"
                   for p in boxes.glob("*/workspace/src/main.c"))
    wait_for(changed)
    going.signal(number)
    end = going.wait()
    assert end.status == 128 + number, end.err
    saved, = patches(home)
    assert "+2" in saved.read_text()


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_a_setup_script_that_fails_loses_nothing(
        task, work, home, tmp_path):
    script = tmp_path / "setup.sh"
    script.write_text("exit 3\n")
    options = ("--workspace", "repo", "-y", "--sandbox-setup", script)
    end = task([DONE], *options).wait()
    assert end.status == 1 and "exit 3" in end.err
    assert patches(home) == [] and "Saved" not in end.err
    script.write_text("echo 2 >src/main.c; exit 3\n")
    end = task([DONE], *options, "--json").wait()
    assert end.status == 1, end.err
    saved, = patches(home)
    assert "+2" in saved.read_text() and str(saved) in end.err
    assert json.loads(end.out.splitlines()[-1])["changes"]["files"] == 1


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_work_without_a_tree_is_named_before_it_goes(task, work, home):
    wrote = {"tool_calls": [call("write_file", file_path="a", content="x")]}
    end = task([wrote, DONE], "-y").wait()
    assert "Lost with the sandbox: a\n" in end.err
    for flag in "--keep", "--download PATH", "--workspace repo":
        assert flag in end.err
    end = task([execute("echo x >b"), wrote, wrote, DONE], "-y").wait()
    assert ("Lost with the sandbox: a, and files written by commands\n"
            in end.err)
    for options in ("-q",), ("--keep",):
        end = task([wrote, DONE], "-y", *options).wait()
        assert end.status == 0 and "Lost" not in end.err, end.err
    reads = {"tool_calls": [call("ls", path="/")]}
    end = task([reads, DONE], "-y").wait()
    assert end.status == 0 and "Lost" not in end.err, end.err
    assert patches(home) == []


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_what_is_not_saved_is_named_before_it_goes(task, work, home, config):
    config("[workspace]\nsave = false\n")
    tree = "--workspace", "repo", "-y"
    wrote = {"tool_calls": [call("write_file", file_path="a", content="x")]}
    end = task([wrote, execute("echo 2 >src/main.c"), DONE], *tree).wait()
    assert end.status == 0 and "Saved" not in end.err
    assert "a, and files written by commands\n" in end.err
    assert "[workspace] save = false" in end.err
    for options in ("--apply",), ("--keep",):
        end = task([wrote, DONE], *tree, *options).wait()
        assert end.status == 0 and "Lost" not in end.err, end.err
    assert patches(home) == []


@pytest.fixture
def kept(task, work):
    """A sandbox that stays, with changes."""
    end = task([execute(CHANGES + "printf '\\033[31mred\\n' >esc\n"), DONE],
               "--workspace", "repo", "-y", "--keep").wait()
    assert end.status == 0, end.err


def test_diff_prints_the_exact_patch(kept, run, work, home):
    end = run("diff")
    assert end.status == 0, end.err
    assert "diff --git a/src/main.c b/src/main.c" in end.out
    assert "deleted file mode 100644" in end.out
    assert "GIT binary patch" in end.out and "\033[31mred" in end.out
    assert "Check .github/workflows/ci.yml: it runs in CI" in end.err
    assert "Refused: out is a link that leads out of the working " \
        "tree" in end.err
    assert "y.o" not in end.out
    assert patches(home) == []  # it lives
    assert "y.o" in run("diff", "--include", "*.o").out
    run("sandbox", "gc")


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_diff_has_short_forms(kept, run):
    names = run("diff", "--name-only").out.split("\n")
    assert "src/main.c" in names and "dos" in names
    assert "src/main.c" in run("diff", "--stat").out
    assert run("diff", "--exit-code").status == 1
    data = json.loads(run("diff", "--json").out)["data"]
    files = {f["path"]: f for f in data["files"]}
    assert files["dos"]["status"] == "D" and data["live"]
    assert files[".github/workflows/ci.yml"]["look"] == "runs in CI"
    assert {r["path"] for r in data["refused"]} == {"out", ".GIT/config"}
    assert run("diff", "ffffffff").status == 1
    both = run("diff", "--stat", "--name-only")
    assert both.status == 2 and "--stat cannot be combined" in both.err


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_a_subdirectory_is_of_its_tree(kept, run, work, tmp_path):
    there = run("diff", cwd=work / "src")
    assert there.status == 0 and there.out == run("diff").out, there.err
    r = run("diff", cwd=tmp_path)
    assert r.status == 1 and "no thread of this directory" in r.err
    assert run("apply", "--partial", cwd=work / "src").status == 0
    assert (work / "src/main.c").read_text() == "int changed;\n"
    assert not (work / "dos").exists()


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_removing_a_kept_sandbox_saves_first(kept, run, home):
    listed = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert "saved patch" not in run("threads", "list").out
    end = run("sandbox", "rm", listed[0]["name"])
    assert end.status == 0, end.err
    saved, = patches(home)
    assert str(saved) in end.err
    assert f"saved patch: ~/.deepagents/.state/patches/{saved.name}\n" in \
        run("threads", "list").out
    thread, = json.loads(run("threads", "list", "--json").out)["data"]
    assert thread["patch"] == str(saved)
    assert str(saved) in run("threads", "show", "latest").out
    end = run("diff")  # what was last seen there
    assert end.status == 0 and "+int changed;" in end.out
    assert "this is its last known state" in end.err


@pytest.mark.parametrize("box", ["local"], indirect=True)
@pytest.mark.parametrize("lost", ["thread", "tree"])
def test_work_is_saved_when_thread_or_tree_is_gone(
        kept, run, work, home, lost):
    row = json.loads(run("sandbox", "list", "--json").out)["data"][0]
    tree = copy_of(work, home)
    if lost == "thread":
        assert run("threads", "delete", row["thread"]).status == 0
    else:
        path = home / ".deepagents" / ".state" / "dcode.db"
        with sqlite3.connect(path) as db:
            db.execute("UPDATE thread SET cwd = '/removed'")
    end = run("sandbox", "rm", row["name"], cwd=home)
    assert end.status == 0, end.err
    saved, = patches(home)
    assert str(saved) in end.err and "`git apply`" in end.err
    assert "dcode apply" not in end.err
    git(tree, "apply", saved)
    assert (tree / "src/main.c").read_text() == "int changed;\n"


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_a_terminal_shows_controls_and_no_secrets(kept, dcode, env, home):
    env["NO_COLOR"] = "1"
    term = Terminal([dcode, "diff"], env, home.parent / "work")
    assert term.end() == 0
    assert "1 + ^[[31mred" in term.seen and "\033" not in term.seen


@pytest.mark.parametrize("box", ["local"], indirect=True)
@pytest.mark.parametrize("term, name, sign, text, lit", [
    ("xterm-256color", "dark", "38;5;120;48;5;22", "38;5;255;48;5;22",
     "38;5;255;48;5;28"),
    ("xterm-kitty", "light", "38;2;14;90;38;48;2;218;251;225",
     "38;2;31;35;40;48;2;218;251;225", "38;2;31;35;40;48;2;160;230;176"),
    ("xterm", "dark", "32", "32", "7;32")])
def test_a_terminal_shows_a_diff_in_the_colours_that_it_has(
        kept, dcode, env, home, config, term, name, sign, text, lit):
    config(f'[ui]\ntheme = "{name}"\n')
    env.update(TERM=term, COLORTERM="")
    screen = Terminal([dcode, "diff"], env, home.parent / "work")
    assert screen.end() == 0
    assert "\033[0;1msrc/main.c\033[0m\r\n" in screen.seen
    assert "diff --git" not in screen.seen
    assert f"\033[0;{sign}m1 + " in screen.seen
    assert f"\033[0;{lit}mchanged\033[0m\033[0;{text}m;" in screen.seen


def test_the_rest_is_applied_only_when_the_user_says_so(kept, run, work):
    end = run("apply")
    assert end.status == 1 and "Refused: out is a link" in end.err
    assert "--partial` applies the rest" in end.err
    assert (work / "src/main.c").read_text() == "int main2;\n"
    end = run("apply", "--partial")
    assert end.status == 0, end.err
    assert (work / "src/main.c").read_text() == "int changed;\n"
    assert not (work / "out").is_symlink()
    assert not (work / ".GIT").exists()
    assert run("diff", "--exit-code").status == 0  # both sides share it now
    run("sandbox", "gc")


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_what_was_refused_is_known_when_the_sandbox_is_gone(kept, run, work):
    row, = json.loads(run("sandbox", "list", "--json").out)["data"]
    live = run("apply")
    assert live.status == 1 and "Refused: out is a link" in live.err
    assert run("sandbox", "rm", row["name"]).status == 0
    end = run("apply")
    assert end.status == 1 and "its last known state" in end.err

    def refused(text):
        return sorted(line for line in text.splitlines()
                      if line.startswith("Refused: "))
    assert refused(end.err) == refused(live.err)
    assert end.err.splitlines()[-2:] == live.err.splitlines()[-2:]
    assert (work / "src/main.c").read_text() == "int main2;\n"
    assert "Lost with the sandbox: pipe is a pipe" in run("diff").err
    end = run("apply", "--partial")
    assert end.status == 0, end.err
    assert (work / "src/main.c").read_text() == "int changed;\n"


LARGE = ("echo 2 >src/main.c; for i in 1 2 3; do "
         "head -c 700000 /dev/urandom >big$i; done")


def test_what_is_too_large_to_be_saved_is_named_and_the_rest_is_saved(
        task, work, home, config, run, box):
    path = home / ".deepagents" / "config.toml"
    config("[workspace]\nfetch_mb = 2\n" +
           (path.read_text() if path.exists() else ""))
    end = task([execute(LARGE), DONE], "--workspace", "repo", "-y",
               "--json").wait()
    assert end.status == 0, end.err
    saved, = patches(home)
    changes = json.loads(end.out.splitlines()[-1])["changes"]
    assert (changes["patch"], changes["files"]) == (str(saved), 3)
    assert changes["left"] == 1
    missing = ("big3 (0.7 MB) does not fit into [workspace] fetch_mb")
    assert f"Lost with the sandbox: {missing}" in end.err
    show = run("threads", "show", "latest")
    assert f"          Left: {missing}\n" in show.out
    data = json.loads(run("threads", "show", "latest", "--json").out)["data"]
    assert data["patch_missing"] == [f"Left: {missing}"]
    tree = copy_of(work, home)
    git(tree, "apply", saved)
    assert (tree / "src/main.c").read_text() == "2\n"
    assert (tree / "big2").stat().st_size == 700000
    assert not (tree / "big3").exists()
    assert run("apply").status == 0
    assert (work / "big1").read_bytes() == (tree / "big1").read_bytes()



@pytest.mark.parametrize("box", ["local"], indirect=True)
@pytest.mark.parametrize("by", ["flag", "setting"])
def test_apply_brings_what_git_ignores_only_when_it_is_named(
        task, run, work, config, home, box, by):
    path = home / ".deepagents" / "config.toml"
    end = task([execute("echo object >named.o; echo object >other.o"), DONE],
               "--workspace", "repo", "-y", "--keep").wait()
    assert end.status == 0, end.err
    first = run("apply")
    assert first.status == 0, first.err
    assert "2 new files that git ignores: named.o, other.o (" in first.err
    assert not (work / "named.o").exists()
    if by == "setting":
        config('[workspace]\ninclude = ["named.o"]\n' +
               (path.read_text() if path.exists() else ""))
    end = run("apply", *(["--include", "named.o"] if by == "flag" else []))
    assert end.status == 0, end.err
    assert (work / "named.o").read_text() == "object\n"
    assert not (work / "other.o").exists()
    run("sandbox", "gc")


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_a_run_with_apply_brings_and_saves_the_ignored_files_that_are_named(
        task, work, home):
    end = task([execute("echo object >named.o; echo object >other.o"), DONE],
               "--workspace", "repo", "-y", "--apply", "--include",
               "named.o").wait()
    assert end.status == 0, end.err
    assert (work / "named.o").read_text() == "object\n"
    assert not (work / "other.o").exists()
    assert ("Lost with the sandbox: 1 new file that git ignores: other.o"
            in end.err)
    end = task([execute("echo more >saved.o"), DONE], "--workspace", "repo",
               "-y", "--include", "*.o").wait()
    assert "+more" in patches(home)[0].read_text()
    assert "Saved 1 changed file: " in end.err
    assert "` applies it here." in end.err


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_the_end_of_a_run_counts_ignored_files_where_nothing_else_changed(
        task, run, work, home):
    end = task([execute("echo object >other.o"), DONE], "--workspace",
               "repo", "-y").wait()
    assert end.status == 0, end.err
    assert ("Lost with the sandbox: 1 new file that git ignores: other.o"
            in end.err)
    assert "Left in the sandbox" not in end.err
    assert patches(home) == []
    later = run("diff").err
    assert ("Lost with the sandbox: 1 new file that git ignores: other.o"
            in later)
    assert "Left in the sandbox" not in later


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_ignored_files_are_named_with_directories_as_one(
        task, run, work, box):
    end = task([execute("mkdir -p 'n m/a' 'n m/b' src; touch 'n m/a/1.o' "
                        "'n m/b/2.o' 'n m/b/$.o' src/x.o plain.o "
                        "\"$(printf 'e\\033[2Jc.o')\""), DONE],
               "--workspace", "repo", "-y", "--keep").wait()
    assert end.status == 0, end.err
    for args in ["diff"], ["diff", "--include", "never"]:
        seen = run(*args)
        assert ("Left in the sandbox: 6 new files that git ignores: "
                in seen.err), seen.err
        line = next(x for x in seen.err.splitlines() if "6 new" in x)
        assert "n m/ (3 files)" in line and "src/x.o" in line
        assert "plain.o" in line and "\x1b" not in seen.err
        assert "n m/a" not in line and "more (" not in line
    data = json.loads(run("diff", "--json").out)["data"]
    assert data["ignored"] == 6
    assert {"path": "n m/", "files": 3} in data["ignored_names"]
    assert {"path": "plain.o", "files": 1} in data["ignored_names"]
    run("sandbox", "gc")


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_json_tells_names_that_are_no_utf8_apart(task, run, work):
    def names(items, key):
        assert [x[key] for x in items].count("\ufffd") == 2
        return [base64.b64decode(x[key + "_base64"]) for x in items
                if x[key] == "\ufffd"]
    r = task([execute(r"for x in '\300' '\301'; do"
                      r" echo x >$(printf $x); done; echo x >plain"),
              DONE], "--workspace", "repo", "--keep").wait()
    assert r.status == 0, r.err
    files = json.loads(run("diff", "--json").out)["data"]["files"]
    assert names(files, "path") == [b"\xc0", b"\xc1"]
    assert "path_base64" not in next(x for x in files if x["path"] == "plain")
    files = json.loads(run("apply", "--json").out)["data"]["files"]
    assert names(files, "path") == [b"\xc0", b"\xc1"]
    for name in (b"\xc0", b"plain"):
        (work / os.fsdecode(name)).write_text("here")
    data = json.loads(run("sync", "--json").out)["data"]
    assert data["sent"] == ["plain", "\ufffd"]
    assert data["sent_base64"] == [None, "wA=="]
    assert "kept_base64" not in data
    run("sandbox", "gc")


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_json_gives_the_bytes_of_paths_below_a_home_that_is_no_utf8(
        task, run, work, tmp_path, env):
    def path(data, key):
        assert "\ufffd" in data[key]
        return os.fsdecode(base64.b64decode(data[key + "_base64"]))
    home = tmp_path / os.fsdecode(b"home-\xc0")
    home.mkdir()
    env["HOME"] = str(home)
    agent = home / ".deepagents" / "m"
    agent.mkdir(parents=True)
    (agent / "AGENTS.md").write_text("x")
    r = task([execute("echo 2 >src/main.c"), DONE], "--workspace", "repo",
             "-y", "--json").wait()
    assert r.status == 0, r.err
    last = json.loads(r.out.splitlines()[-1])
    saved = path(last["changes"], "patch")
    assert os.path.isfile(saved) and saved.startswith(str(home))
    listed = json.loads(run("agents", "list", "--json").out)["data"]
    assert str(agent) in [path(x, "path") for x in listed]
    out = tmp_path / os.fsdecode(b"\xc1.json")
    thread = json.loads(run("threads", "list", "--json").out)["data"][0]
    said = run("threads", "export", thread["thread_id"], str(out),
               "--with-patch", "--json")
    data = json.loads(said.out)["data"]
    assert path(data, "file") == str(out) and out.exists()
    assert path(data, "patch") == saved


def test_a_directory_that_became_a_link_to_one_like_it_comes_back(
        task, run, work):
    for name in "one", "two":
        (work / name).mkdir()
        (work / name / "in").write_text(name)
    r = task([execute("rm -r one; ln -s two one"), DONE], "--workspace",
             "repo", "--keep").wait()
    assert r.status == 0, r.err
    r = run("diff", "--name-only")
    assert r.out == "one\none/in\n" and "could not be read" not in r.err
    assert run("apply").status == 0
    assert os.readlink(work / "one") == "two"
    assert (work / "two" / "in").read_text() == "two"
    run("sandbox", "gc")
