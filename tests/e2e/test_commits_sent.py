"""test_commits_sent.py - the last commits of a tree go into the sandbox."""
# SPDX-License-Identifier: MIT
import os
import subprocess
import time

import pytest

from test_workspace import (DONE, execute, git, prepare_box,  # noqa: F401
                            results, task)

KEY = ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNza2V5\n"
       "-----END OPENSSH PRIVATE KEY-----\n")
OBJECTS = "git cat-file --batch-all-objects --batch"


@pytest.fixture(params=["local"])
def box(request, env, config):
    return prepare_box(request, env, config)


@pytest.fixture
def work(home):
    top = home.parent / "work"
    git(top, "init", "-q", "-b", "topic")
    commit(top, "first", {"kept": "old text of kept\n", "a/b": "b\n"})
    return top


def commit(top, message, files=(), gone=()):
    for name, text in dict(files).items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    for name in gone:
        (top / name).unlink()
    git(top, "add", "-A", "-f", ".")
    git(top, "commit", "-q", "--allow-empty", "-m", message)


def send(task, n, command, *args):
    r = task([execute(command), DONE], "--workspace", "repo",
             "--history", str(n), *args).wait()
    assert r.status == 0, r.err
    return r, results(task.server)


def found(task, text, n=50, *args):
    """How many lines of all objects in the sandbox's .git have text."""
    r, said = send(task, n, f"echo =$({OBJECTS} | grep -ac '{text}')=", *args)
    return int(said.split("=")[1])


def leak(work):
    commit(work, "secrets", {".env": "TOKEN=verysecretvalue\n", "k.txt": KEY,
                             "deep/.aws/config": "awsvalue\n", "o": "open\n"})
    commit(work, "without", {"kept": "new\n"},
           [".env", "k.txt", "deep/.aws/config"])


@pytest.mark.parametrize("text", ["verysecretvalue", "b3BlbnNza2V5",
                                  "awsvalue", "deep"])
def test_no_object_holds_a_secret_that_was_committed_once(task, work, text):
    leak(work)
    assert git(work, "log", "-p", "--stat").count(text) >= 1
    assert found(task, text) == 0


@pytest.mark.parametrize("text", ["old text of kept", "open"])
def test_objects_hold_what_was_committed_once(task, work, text):
    leak(work)
    assert found(task, text) > 0


@pytest.mark.parametrize("text,pattern", [("verysecretvalue", ".env"),
                                          ("b3BlbnNza2V5", "k.txt"),
                                          ("awsvalue",
                                           "deep/.aws/config")])
def test_include_sends_one_of_them_through_history_too(
        task, work, text, pattern):
    leak(work)
    assert found(task, text, 50, "--include", pattern) > 0


def test_changes_that_are_not_committed_lie_on_top(task, work):
    leak(work)
    commit(work, "more", {"gone": "g\n", "dir/gone too\nx": "g\n"})
    (work / "kept").write_text("dirty\n")
    (work / "gone").unlink()
    (work / "new").write_text("n\n")
    r, said = send(task, 50, "git status --short; git log --format=%s; git"
                   " branch; git stash -q && cat kept; git stash pop -q &&"
                   " cat kept; git fsck --strict 2>&1; echo =$?")
    assert "history: 4 commits, 1 of them rewritten" in r.err
    for line in (" D gone\n", " M kept\n", "?? new\n", "* topic\n",
                 "more\nwithout\nsecrets\nfirst\n", "new\ndirty\n", "=0"):
        assert line in said
    assert "skip" not in said and "dir/" not in said


def embed(work):
    """A bare repository among the tracked files, in two commits."""
    commit(work, "half", {"emb/HEAD": "ref: refs/heads/main\n",
                          "emb/objects/x": "embedded objects\n",
                          "refs/x": "no repository\n"})
    commit(work, "whole", {"emb/refs/heads/main": "embedded ref\n"})


@pytest.mark.parametrize("pattern,there", [
    ("none", False), ("emb", True), ("emb/objects/*", True)])
def test_a_bare_repository_that_is_tracked_is_left_out_of_the_history(
        task, work, pattern, there):
    embed(work)
    assert (found(task, "embedded objects", 50, "--include",
                  pattern) > 0) == there
    assert (found(task, "embedded ref", 50, "--include",
                  pattern) > 0) == (pattern == "emb")
    assert found(task, "no repository") > 0


def test_the_patch_does_not_depend_on_the_history(task, start, work):
    leak(work)
    r = task([execute("git commit -qam x; echo agent >kept; rm -rf .git"),
              DONE], "--workspace", "repo", "--history", "9",
             "--keep").wait()
    assert r.status == 0, r.err
    assert start("diff", "--name-only", cwd=work).wait().out == "kept\n"
    (work / "later").write_text("l\n")
    r = start("-r", "-n", "go", "--history", "9", cwd=work).wait()
    assert "history:" not in r.err  # it is not sent again
    assert "✓ Sent your changes: 1 file" in r.err


@pytest.mark.parametrize("n,commits", [(1, 1), (2, 2), (3, 3), (99, 5)])
def test_the_last_commits_of_a_history_with_merges(task, work, n, commits):
    git(work, "checkout", "-q", "-b", "side")
    commit(work, "on side", {"s": "s\n"})
    git(work, "checkout", "-q", "topic")
    commit(work, "on topic", {"t": "t\n"})
    git(work, "merge", "-q", "--no-ff", "-m", "merged", "side")
    commit(work, "last", {"l": "l\n"})
    r, said = send(task, n, "git status --short; echo =$(git rev-list --count"
                   " HEAD)=$(git rev-parse HEAD^{tree})=$(git rev-list"
                   " --merges --count HEAD); git fsck 2>&1")
    tree = git(work, "rev-parse", "HEAD^{tree}").strip()
    assert f"={commits}={tree}={1 if n > 4 else 0}" in said
    assert f"history: {commits} commit{'s' * (commits > 1)}, 0 of" in r.err
    assert "M " not in said and "D " not in said and "missing" not in said
    if n == 99:  # nothing was left out: they are the same commits
        assert git(work, "rev-parse", "HEAD").strip() in send(
            task, n, "git rev-parse HEAD")[1]


def test_a_history_of_none_is_one_commit(task, work):
    leak(work)
    r, said = send(task, 0, "git log --format=%s")
    assert "history" not in r.err and "as it was when dcode" in said


def test_the_setting_counts_without_the_flag(task, work, config):
    config("[workspace]\nhistory = 1\n")
    leak(work)
    r = task([DONE], "--workspace", "repo").wait()
    assert "history: 1 commit, 0 of them" in r.err
    r = task([DONE], "--workspace", "repo", "--history", "0").wait()
    assert r.status == 0 and "history" not in r.err


def test_a_shallow_clone_ends_where_it_ends(task, work):
    leak(work)
    commit(work, "last", {"l": "l\n"})
    old = work.parent / "old"
    work.rename(old)
    subprocess.run(["git", "clone", "-q", "--depth", "2", f"file://{old}",
                    work], check=True)
    r, said = send(task, 50, "git log --format=%s; git status --short")
    assert "history: 2 commits of a shallow clone, 0" in r.err
    assert "last\nwithout\n" in said and "first" not in said


def test_a_partial_clone_is_not_fetched(task, work):
    commit(work, "second", {"kept": "second\n"})
    git(work, "config", "uploadpack.allowFilter", "true")
    old = work.parent / "old"
    work.rename(old)
    subprocess.run(["git", "clone", "-q", "--filter=blob:none",
                    f"file://{old}", work], check=True)
    r, said = send(task, 50, "git status --short; git log --oneline --stat;"
                   " git fsck 2>&1; echo =$?")
    assert "history: 2 commits, 1 of them rewritten" in r.err
    assert "1 earlier file versions are not sent: this partial" in r.err
    assert "=0" in said and " D " not in said


def test_repositories_without_commits_and_directories_send_none(task, home):
    work = home.parent / "work"
    (work / "a").write_text("a")
    r, said = send(task, 5, "ls -A")
    assert "no history: work has no commits" in r.err
    git(work, "init", "-q")
    r, said = send(task, 5, "git log --format=%s")
    assert "no history: work has no commits" in r.err
    assert "as it was when dcode sent it" in said


@pytest.mark.parametrize("box", ["docker"], indirect=True)
def test_a_sandbox_without_git_says_so(task, work, box):
    r, said = send(task, 5, "ls -A; cat kept")
    assert "no history: the sandbox has no git" in r.err
    assert "old text of kept" in said and ".dcode-" not in said


@pytest.mark.parametrize("box", ["e2b"], indirect=True)
def test_it_goes_through_a_file_api(task, work, box):
    commit(work, "large", {"large": "x" * 100})
    (work / "large").write_bytes(os.urandom(20 << 20))
    commit(work, "larger")
    r, said = send(task, 5, "git log --format=%s; git status --short;"
                   " git fsck 2>&1; ls -A; echo =$?")
    assert "history: 3 commits, 0 of them" in r.err
    assert "larger\nlarge\nfirst\n" in said and "=0" in said
    assert "large\n.dcode" not in said and "M large" not in said


@pytest.mark.parametrize("value", ["-1", "x", "1.5", "", "100001",
                                   "99999999999999999999"])
def test_bad_numbers_are_refused(task, work, value):
    r = task([DONE], "--workspace", "repo", f"--history={value}").wait()
    assert r.status == 2 and "argument --history" in r.err
    r = task([DONE], "--workspace", "none", "--history", "1").wait()
    assert r.status == 2 and "--history requires --workspace repo" in r.err


def raw_commit(work, header, message=b"raw\n"):
    tree = git(work, "rev-parse", "HEAD^{tree}").strip()
    parent = git(work, "rev-parse", "HEAD").strip()
    text = f"tree {tree}\nparent {parent}\n".encode() + header + b"\n" + message
    oid = subprocess.run(
        ["git", "-C", work, "hash-object", "-t", "commit", "-w", "--stdin",
         "--literally"], input=text, check=True, capture_output=True).stdout
    git(work, "update-ref", "HEAD", oid.decode().strip())


DATE = b"1700000000 +0100\n"
ODD = [b"author A <a@b> " + DATE + b"committer A <a@b> " + DATE
       + b"encoding ISO-8859-1\ngpgsig -----BEGIN PGP SIGNATURE-----\n"
         b" \n x\n -----END PGP SIGNATURE-----\n",
       b"author <a@b> " + DATE + b"committer  <> 0 +0000\n",
       b"author A B <a@b <c> 1 +0000\ncommitter A<a@b> nonsense\n",
       b"author A <a> 99999999999999999999 +99999\ncommitter\n",
       b"author \xe9\xff <\xe9@x> " + DATE + b"committer A <a@b> -5 -0000\n"]


@pytest.mark.parametrize("header", ODD)
def test_odd_authors_encodings_and_signatures(task, work, header):
    raw_commit(work, header, b"caf\xe9 raw\n")
    r, said = send(task, 5, "git log --format=%s; git log --format=raw;"
                   " git fsck 2>&1 | grep -v -i zeropadded; git status"
                   " --short")
    assert "history: 2 commits" in r.err and "raw" in said
    assert "SIGNATURE" not in said and "error" not in said


def test_words_of_commits_hold_no_secrets(task, work, env):
    env["GROQ_API_KEY"] = "sk-known-secret-of-mine"
    commit(work, "uses sk-known-secret-of-mine here")
    commit(work, "a key\n\n" + KEY)
    commit(work, "plain words")
    assert found(task, "sk-known-secret-of-mine") == 0
    assert found(task, "b3BlbnNza2V5") == 0
    assert found(task, "uses .* here") == 1
    assert found(task, "plain words") == 1


def test_files_directories_and_modules_that_change_places(task, work):
    commit(work, "dir", {"x/y": "1\n", "z": "1\n"})
    commit(work, "swap", {"p": "2\n"}, ["x/y", "z"])
    (work / "x").rmdir()
    commit(work, "swapped", {"x": "file\n", "z/in": "dir\n"})
    commit(work, "key there", {"z/in": KEY})
    git(work, "update-index", "--add", "--cacheinfo",
        "160000," + git(work, "rev-parse", "HEAD").strip() + ",mod")
    git(work, "commit", "-qm", "module")
    r, said = send(task, 50, "git fsck 2>&1; git status --short; git log"
                   " --format=%s; git ls-tree -r HEAD --name-only; echo =$?")
    assert "history: 6 commits, 2 of them rewritten" in r.err
    assert "a/b\nkept\np\nx\n" in said and "=0" in said
    assert "missing" not in said and " D " not in said


def test_what_a_sparse_checkout_leaves_out_is_no_deletion(task, work):
    commit(work, "two", {"in/a": "a\n", "out/b": "b\n"})
    git(work, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
    (work / "in" / "a").unlink()
    r, said = send(task, 5, "git status --short; git show HEAD:out/b")
    assert " D in/a" in said and "D out" not in said and "D a/b" not in said


def test_replacements_and_grafts_of_the_user_do_not_count(task, work):
    commit(work, "real", {"kept": "real\n"})
    head = git(work, "rev-parse", "HEAD").strip()
    commit(work, "other", {"kept": "replaced\n"})
    git(work, "replace", head, git(work, "rev-parse", "HEAD").strip())
    git(work, "reset", "-q", "--hard", head)
    r, said = send(task, 5, "git log --format=%s; git show HEAD:kept")
    assert "real\nfirst\n" in said and "replaced" not in said.split("kept")[0]


@pytest.mark.parametrize("plant", [
    "mkfifo .git/objects/info/alternates",
    "mkfifo .git/objects/pack/pack-1.idx", "mkdir -p .git/objects/aa;"
    " mkfifo .git/objects/aa/00000000000000000000000000000000000000",
    "mkfifo .git/objects/info/commit-graph", "mkfifo .git/shallow",
    "rm -rf .git/objects; ln -s /dev/zero .git/objects",
    "rm -rf .git/objects/??"])
def test_a_history_that_cannot_be_read_stays_and_the_tree_goes(
        task, work, plant):
    subprocess.run(plant, shell=True, cwd=work, check=True)
    began = time.monotonic()
    r, said = send(task, 5, "cat kept; git log --format=%s")
    assert "the history of work is not sent: " in r.err
    assert "old text of kept" in said and "as it was when dcode" in said
    assert time.monotonic() - began < 60


def test_nothing_planted_runs_for_a_history(task, work):
    ran = work.parent / "ran"
    trap = work.parent / "trap"
    trap.write_text(f"#!/bin/sh\necho $0 >>{ran}\ncat\n")
    trap.chmod(0o755)
    (work / ".gitattributes").write_text("* filter=f diff=d\n")
    commit(work, "attributes")
    for key in ("core.fsmonitor", "filter.f.clean", "filter.f.smudge",
                "diff.d.textconv", "diff.external", "core.sshCommand",
                "core.alternateRefsCommand", "uploadpack.packObjectsHook"):
        git(work, "config", key, str(trap))
    git(work, "config", "extensions.partialClone", "origin")
    git(work, "config", "remote.origin.url", f"ext::{trap}")
    for hook in ("pre-commit", "reference-transaction", "post-index-change"):
        (work / ".git" / "hooks" / hook).symlink_to(trap)
    r, said = send(task, 5, "git log --format=%s")
    assert "history: 2 commits, 0 of them" in r.err
    assert not ran.exists()
    git(work, "status")  # the control
    assert ran.exists()


def test_a_tree_of_endless_trees_ends(task, work):
    blob = git(work, "rev-parse", "HEAD:a/b").strip()
    kind = f"100644 blob {blob}"
    for _ in range(9):  # 10 ** 9 files
        tree = subprocess.run(
            ["git", "-C", work, "mktree"], text=True, check=True,
            input="".join(f"{kind}\t{i}\n" for i in range(10)),
            capture_output=True).stdout.strip()
        kind = f"040000 tree {tree}"
    bomb = git(work, "commit-tree", tree, "-p", "HEAD", "-m", "x").strip()
    after = git(work, "commit-tree", "HEAD^{tree}", "-p", bomb, "-m",
                "y").strip()
    git(work, "update-ref", "HEAD", after)
    r, said = send(task, 5, "cat kept")
    assert "the history of work is not sent: git diff-tree" in r.err
    assert "old text of kept" in said
    r, said = send(task, 1, "git log --format=%s")  # the control
    assert "history: 1 commit, 0 of" in r.err
