"""test_workspace.py - the user's git tree goes into the sandbox."""
# SPDX-License-Identifier: MIT
import hashlib
import json
import os
import subprocess

import pytest

from clouds import EXECUTE, UPLOAD
from clouds import results as result_list
from terminal import Terminal

DONE = {"text": "done."}


def execute(command):
    return {"tool_calls": [{"name": "execute", "args": {"command": command}}]}


# e2b has no standard input: the tree travels through its file API; the image
# of docker is a busybox without git.
def prepare_box(request, env, config):
    if request.param == "docker":
        rig = request.getfixturevalue("rig")
        request.addfinalizer(rig.remove_all)  # what a test has kept
        env["DOCKER_HOST"] = rig.docker_host
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\n')
    elif request.param != "local":
        request.getfixturevalue("vendor")(request.param)
    return request.param


@pytest.fixture(params=["local", "docker", "e2b"])
def box(request, env, config):
    return prepare_box(request, env, config)


local = pytest.mark.parametrize("box", ["local"], indirect=True)


def git(work, *args):
    names = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER")
             for what in ("NAME", "EMAIL")}
    return subprocess.run(
        ["git", "-C", work, *args], check=True, capture_output=True,
        text=True, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent",
                        "GIT_CONFIG_NOSYSTEM": "1", **names}).stdout


@pytest.fixture
def work(home):
    """A repository with a bit of everything; dcode starts in it."""
    top = home.parent / "work"
    git(top, "init", "-q", "-b", "topic/x")
    (top / ".gitignore").write_text("*.o\n")
    (top / "src").mkdir()
    (top / "src" / "main.c").write_text("int main;\n")
    (top / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (top / "run.sh").chmod(0o755)
    (top / "gone").write_text("x")
    (top / "dos").write_bytes(b"a\r\nb\r\n")
    (top / "link").symlink_to("../away")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    (top / "gone").unlink()
    (top / "src" / "main.c").write_text("int main2;\n")
    (top / "new\nname \\ \"é").write_text("new")
    (top / os.fsdecode(b"\xff\xfe")).write_bytes(bytes(range(256)))
    (top / "x.o").write_text("ignored")
    (top / ".env").write_text("SECRET=verysecretvalue\n")
    return top


@pytest.fixture
def task(model, start, box):
    def begin(script, *args, **how):
        begin.server = model(script)
        return start("-n", "go", "-M", "anthropic:m", "--sandbox", box, *args,
                     **how)
    return begin


def results(server):
    return "\n".join(map(str, result_list(server)))


def test_the_tree_is_there_before_setup(task, work, box):
    (work / "setup.sh").write_text("cat src/main.c >seen-by-setup\n")
    r = task([execute("cat seen-by-setup; ./run.sh; sha256sum dos;"
                      " readlink link; ls -A; [ ! -d .git ] ||"
                      " { git status --short; git log --format=%s%d;"
                      " git stash list; }"), DONE],
             "--workspace", "repo", "--sandbox-setup", "setup.sh").wait()
    assert r.status == 0, r.err
    said = results(task.server)
    for there in ("int main2;", "ran", "../away", "seen-by-setup",
                  "setup.sh"):
        assert there in said
    for absent in ("gone", "x.o", ".env", "int main;", ".dcode-"):
        assert absent not in said
    assert hashlib.sha256(b"a\r\nb\r\n").hexdigest() in said
    if box != "docker":
        assert "topic/x" in said
        assert "?? seen-by-setup" in said and "M " not in said
    assert "✓ Sent work: " in r.err
    assert ".env (a file of secrets)" in r.err


@local
def test_a_run_that_resumes_sends_what_changed_since(task, start, work, box):
    r = task([execute("echo agent >made"), DONE, DONE], "--workspace",
             "repo", "--keep").wait()
    assert r.status == 0, r.err
    (work / "src" / "main.c").write_text("later\n")
    r = start("-r", "-n", "go on", cwd=work).wait()
    assert r.status == 0 and "starts empty" not in r.err, r.err
    assert "✓ Sent your changes: 1 file" in r.err
    assert "made" in start("diff", "--name-only", cwd=work).wait().out


@local
def test_a_sandbox_that_was_kept_does_not_start_empty(task, start, work):
    r = task([execute("echo agent >made"), DONE, execute("cat made"), DONE],
             "--keep").wait()
    assert r.status == 0 and "The sandbox starts empty" in r.err, r.err
    r = start("-r", "-n", "go on", "--on-exit", "delete", cwd=work).wait()
    assert r.status == 0 and "starts empty" not in r.err, r.err
    assert "work is not in the sandbox. To copy it: --workspace repo" in r.err


@local
def test_what_is_left_out_goes_when_it_is_included(task, work):
    r = task([execute("ls -A"), DONE], "--workspace", "repo",
             "--include", ".env", "--include", "*.o").wait()
    assert r.status == 0, r.err
    said = results(task.server)
    assert ".env" in said and "x.o" in said
    assert "not sent" not in r.err


@local
def test_what_was_included_goes_again_without_the_flag_and_is_named(
        task, run, start, work):
    why = "sent because of --include: .env"
    r = task([execute("true"), DONE, DONE], "--workspace", "repo", "--keep",
             "--include", ".env").wait()
    assert r.status == 0, r.err
    assert ".env (a file of secrets)" in r.err and "included: " in r.err
    assert run("sync").err == "No local changes to send.\n"
    (work / ".env").write_text("changed\n")
    (work / ".env.local").write_text("never asked for\n")
    r = run("sync", "--json")
    data = json.loads(r.out)["data"]
    assert data["sent"] == [".env"] == data["included"], r.err
    (work / ".env").write_text("again\n")
    (work / "dos").write_text("plain\n")
    r = run("sync")
    assert r.status == 0 and why in r.err and "2 files sent" in r.err, r.err
    assert "sent because of --include: dos" not in r.err
    (work / ".env").write_text("third\n")
    r = start("-r", "-n", "go on", cwd=work).wait()
    assert r.status == 0 and why in r.err, r.err
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    look = run("sandbox", "exec", name, "--", "cat .env; ls -A").out
    assert look.startswith("third\n") and ".env.local" not in look
    assert run("sandbox", "rm", name).status == 0



@local
def test_without_the_flag_it_says_in_one_line_that_it_starts_empty(
        task, work, config):
    line = "The sandbox starts empty. --workspace repo copies work into it.\n"
    r = task([execute("ls -A"), DONE]).wait()
    assert r.status == 0 and r.err.count(line) == 1
    assert "main.c" not in results(task.server)
    assert line not in task([DONE], "-q").wait().err
    assert line not in task([DONE], "--workspace", "none").wait().err
    config('[workspace]\nmode = "repo"\n')
    r = task([execute("ls -A src"), DONE]).wait()
    assert line not in r.err and "main.c" in results(task.server)
    subprocess.run(["rm", "-r", work / ".git"], check=True)
    config("")
    assert line not in task([DONE]).wait().err


@local
def test_a_home_directory_is_refused_and_dcodes_own_files_stay(
        model, start, home, box):
    args = ("-n", "go", "-M", "anthropic:m", "--sandbox", box,
            "--workspace", "repo")
    (home / "mine").write_text("x")
    server = model([execute("find . -type f"), DONE])
    r = start(*args, cwd=home).wait()
    assert r.status != 0 and "refusing to send" in r.err
    assert not server.requests
    r = start(*args, cwd=home.parent).wait()
    assert r.status == 0, r.err
    said = results(server)
    assert "home/mine" in said and ".deepagents" not in said


@local
def test_the_whole_tree_goes_when_started_in_a_directory_of_it(
        model, start, work, box):
    server = model([execute("ls; ls src"), DONE])
    r = start("-n", "go", "-M", "anthropic:m", "--sandbox", box,
              "--workspace", "repo", cwd=work / "src").wait()
    assert r.status == 0, r.err
    assert "run.sh" in results(server) and "main.c" in results(server)


@local
def test_bind_is_the_providers_own_setting(task, work):
    r = task([execute("echo here >made"), DONE], "--workspace", "bind",
             "-y").wait()
    assert r.status == 0, r.err
    assert (work / "made").read_text() == "here\n"


BOUND = "the sandbox uses this directory itself"


@pytest.mark.parametrize("box", ["docker"], indirect=True)
def test_bind_gives_docker_the_tree_itself(task, start, work, box):
    below = work / "src"
    r = task([execute("pwd; ls; echo here >made; chmod 600 made"), DONE, DONE],
             "--workspace", "bind", "-y", "--keep", cwd=below).wait()
    assert r.status == 0, r.err
    said = results(task.server)
    assert "/workspace" in said and "run.sh" in said, said
    assert f"/workspace = {work} on this machine" in r.err
    assert (work / "made").read_text() == "here\n"
    assert (work / "made").stat().st_uid == os.geteuid()
    assert not list(work.glob(".dcode-*"))
    for command in ("diff", "sync", "apply"):
        r = start(command, cwd=below).wait()
        assert r.status and BOUND in r.err, (command, r.err)
    r = start("-r", "-n", "more", cwd=below).wait()
    assert r.status == 0 and "Sent" not in r.err, r.err


@pytest.mark.parametrize("box", ["docker"], indirect=True)
def test_bind_gives_docker_what_a_commit_of_a_worktree_writes(
        task, work, box):
    """The image has no git: by what can be written."""
    tree = work.parent / "tree"
    git(work, "worktree", "add", "-q", "-b", "side", tree)
    common = work / ".git"
    own = common / "worktrees" / "tree"
    r = task([execute(
        f"pwd; cat {own}/HEAD; for f in {common}/objects/new "
        f"{common}/refs/heads/new {common}/logs/refs/heads/new "
        f"{own}/index.lock; do echo x >$f && echo WRITTEN; rm $f; done"),
        execute(f"for f in {common}/config {common}/hooks/new "
                f"{common}/info/new {common}/commondir {own}/commondir "
                f"{own}/gitdir {own}/config.worktree {common}/refs/new "
                f"{common}/objects/info/alternates; do echo x >$f && echo "
                "DONE; rm $f && echo DONE; done; echo end"), DONE],
        "--workspace", "bind", "-y", cwd=tree).wait()
    assert r.status == 0, r.err
    works, attacks = result_list(task.server)
    assert f"{tree}\n" in works and works.count("WRITTEN") == 4, works
    assert "ref: refs/heads/side" in works
    assert "DONE" not in attacks and "end" in attacks, attacks
    assert "git does not work" not in r.err
    assert git(tree, "status", "--short") == ""


@pytest.mark.parametrize("box", ["docker"], indirect=True)
def test_in_a_tree_bound_to_docker_nothing_changes_unasked(task, work, box):
    calls = [execute("touch made"), {"tool_calls": [
        {"name": "write_file", "args": {"file_path": path, "content": "x"}}
        for path in (".git/config", ".envrc", "free")]}, DONE]
    r = task(calls, "--workspace", "bind", "-S", "touch").wait()
    assert r.status == 0, r.err
    assert (work / "made").exists() and (work / "free").exists()
    assert not (work / ".envrc").exists()
    assert "[core]" in (work / ".git" / "config").read_text()
    r = task(calls, "--workspace", "bind").wait()
    assert "not permitted" in results(task.server)


@pytest.mark.parametrize("box", ["docker"], indirect=True)
def test_an_engine_elsewhere_cannot_bind(task, env, work, box):
    env["DOCKER_HOST"] = "tcp://127.0.0.1:9"
    r = task([DONE], "--workspace", "bind").wait()
    assert r.status == 1 and "is on another machine" in r.err, r.err
    assert "--workspace repo" in r.err


@pytest.mark.parametrize("box", ["docker"], indirect=True)
def test_a_home_directory_is_not_bound(task, home, box):
    r = task([DONE], "--workspace", "bind", cwd=home).wait()
    assert r.status == 1 and "your home directory" in r.err, r.err


@local
@pytest.mark.parametrize("flag", [("--apply",), ("--branch", "x"),
                                  ("--include", "q"), ("--history", "3")])
def test_what_needs_a_tree_is_refused_before_there_is_a_sandbox(
        task, work, home, flag):
    (home / ".gitconfig").write_text("[user]\nname=B\nemail=b@example.org\n")
    for options in (), ("--workspace", "none"), ("--workspace", "bind"):
        r = task([DONE], *options, *flag).wait()
        assert r.status == 2, r.err
        assert f"{flag[0]} requires --workspace repo" in r.err
        assert "Starting" not in r.err and not task.server.requests
    r = task([DONE], "--workspace", "repo", *flag).wait()
    assert f"{flag[0]} requires" not in r.err and "Starting" in r.err


@local
def test_what_local_binds_has_nothing_to_bring_back(task, run, work, box):
    r = task([execute("echo here >made"), DONE], "--workspace", "bind",
             "-y").wait()
    assert r.status == 0 and "Lost" not in r.err, r.err
    r = run("diff")
    assert r.status and BOUND in r.err, r.err


@local
@pytest.mark.parametrize("args, text", [
    (["--workspace", "all"], "invalid choice: 'all'"),
    (["--workspace", "repo", "--sandbox", "none"],
     "--workspace requires a --sandbox provider"),
])
def test_bad_flags_are_refused(run, work, box, args, text):
    if "--sandbox" not in args:
        args = args + ["--sandbox", box]
    r = run("-n", "go", "-M", "anthropic:m", *args)
    assert r.status == 2 and text in r.err


@local
def test_a_git_in_a_command_does_not_ask_for_a_password(task, work):
    r = task([execute("echo prompt=$GIT_TERMINAL_PROMPT"), DONE],
             "--workspace", "none").wait()
    assert r.status == 0 and "prompt=0" in results(task.server)


@local
def test_the_chat_asks_once_for_a_tree_and_a_provider(
        model, env, work, box, dcode):
    server = model([execute("ls -A src"), DONE] * 2)
    command = [str(dcode), "-M", "anthropic:m", "--sandbox", box,
               "-y", "--on-exit", "delete", "-m", "look"]
    for text in ("into the sandbox? [y/N]", "Sent work"):
        t = Terminal(command, env, work)
        t.until(text)
        if "y/N" in text:
            t.type("y\r")
        t.until("done.")
        assert ("[y/N]" in t.seen) == ("[y/N]" in text)
        t.type("/quit\r")
        t.until("terminated", 30)
        t.close()
        assert "main.c" in results(server)


@pytest.mark.usefixtures("sandbox_at_start")
@local
def test_a_chat_says_that_a_tree_is_not_sent_since_the_answer_was_no(
        model, env, work, box, dcode):
    model([DONE])
    command = [str(dcode), "-M", "anthropic:m", "--sandbox", box, "-y"]
    for text in ("into the sandbox? [y/N]", "empty, because you declined"):
        t = Terminal(command, env, work)
        t.until(text)
        if "y/N" in text:
            t.type("n\r")
        t.until("tools in")
        assert "Sent work" not in t.seen
        t.type("/quit\r")
        t.until("terminated", 30)
        t.close()


POINTER = ("version https://git-lfs.github.com/spec/v1\n"
           f"oid sha256:{'0' * 64}\nsize 12345\n")


@local
def test_pointers_of_lfs_go_as_they_are_and_are_named(task, work):
    (work / "big.bin").write_text(POINTER)
    (work / "no-pointer").write_text("x" + POINTER)
    r = task([execute("sha256sum <big.bin"), DONE], "--workspace",
             "repo").wait()
    assert "1 file is only a Git LFS pointer" in r.err
    assert hashlib.sha256(POINTER.encode()).hexdigest() in results(task.server)


@local
def test_a_submodule_goes_as_plain_files_or_is_named(task, work):
    lib = work.parent / "lib"
    git(lib.parent, "init", "-q", lib)
    (lib / "l").write_text("of lib\n")
    git(lib, "add", ".")
    git(lib, "commit", "-qm", "l")
    for name in ("one", "two"):
        git(work, "-c", "protocol.file.allow=always", "submodule", "-q",
            "add", lib, name)
    git(work, "submodule", "-q", "deinit", "-f", "two")
    r = task([execute("cat one/l; ls two"), DONE], "--workspace",
             "repo").wait()
    assert "files of 1 submodule are sent as plain files" in r.err
    assert "two (is a submodule that is not checked out)" in r.err
    assert "of lib" in results(task.server)


@local
def test_a_sparse_checkout_and_a_shallow_clone_go_as_they_are(task, work):
    old = work.parent / "old"
    work.rename(old)
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{old}",
                    work], check=True)
    git(work, "sparse-checkout", "set", "--cone", "nothing")
    r = task([execute("ls src; cat dos"), DONE], "--workspace", "repo",
             "--keep").wait()
    assert "1 left out by the sparse checkout" in r.err
    assert "No such file" in results(task.server)


@local
@pytest.mark.parametrize("plant,said", [
    ("mv .git ../real; ln -s ../real .git", "a .git that is a link"),
    ("mv .git ../real; echo gitdir: ../real >.git", "does not point back"),
    ("mkdir ../fake; mv .git ../real; echo $PWD/.git >../fake/gitdir;"
     " echo $PWD/../real >../fake/commondir; cp ../real/HEAD ../fake;"
     " echo gitdir: ../fake >.git", "without this worktree")])
def test_a_git_that_does_not_count_is_named(task, work, plant, said):
    subprocess.run(plant, shell=True, cwd=work, check=True)
    r = task([execute("cat src/main.c"), DONE], "--workspace", "repo").wait()
    assert r.status == 0 and said in r.err, r.err
    assert "sent without a repository" in r.err
    assert "main2" in results(task.server)


@pytest.mark.parametrize("name", sorted(EXECUTE))
def test_ten_changed_files_are_three_round_trips_for_each_vendor(
        vendor, model, run, work, name):
    cloud = vendor(name)
    for n in range(10):
        (work / f"file{n}").write_text("a")
    model([DONE])
    r = run("-n", "go", "-M", "anthropic:m", "--sandbox", name,
            "--workspace", "repo", "--keep", cwd=work)
    assert r.status == 0 and "✓ Sent work" in r.err, r.err
    for n in range(10):
        (work / f"file{n}").write_bytes(os.urandom(1000))
    cloud.forget()
    r = run("sync", "--json", cwd=work)
    assert r.status == 0, r.err
    assert len(json.loads(r.out)["data"]["sent"]) == 10
    trips = cloud.count(EXECUTE[name]) + cloud.count(UPLOAD[name])
    assert 1 <= trips <= 3, [q["line"] for q in cloud.requests]
    cloud.forget()
    assert run("sync", cwd=work).status == 0
    assert cloud.count(EXECUTE[name]) + cloud.count(UPLOAD[name]) == 0


@local
@pytest.mark.parametrize("name", [".gitignore", "src/.gitignore",
                                  ".gitattributes", "src/.dcodeignore"])
def test_a_pipe_that_git_would_wait_for_is_named(box, task, work, name):
    (work / name).unlink(missing_ok=True)
    os.mkfifo(work / name)
    r = task([DONE], "--workspace", "repo").wait(20)
    assert r.status == 1
    assert f"{name} is a pipe or a device" in r.err
    os.unlink(work / name)
    (work / name).write_text("*.o\n")
    r = task([DONE], "--workspace", "repo").wait()  # the control
    assert r.status == 0, r.err
