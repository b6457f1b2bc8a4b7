"""test_push.py - dcode apply --push: the user's git pushes the branch."""
# SPDX-License-Identifier: MIT
import json
import os
import subprocess

import pytest
from apply_room import git
from git_servers import PASSWORD
from push_world import bare, branches, room, site, work  # noqa: F401
from slash_chat import HELLO, Chat, begin, talk  # noqa: F401
from sshd_rig import Rig
from test_apply import writes
from test_trust_c10_policy import managed  # noqa: F401


def at_server(bare, *args):
    return git(bare, *args)


def test_push_makes_a_branch_and_pushes_it_with_the_users_credentials(
        run, room, bare, work, home):
    work()
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 0, done.err
    assert branches(bare) == ["fix", "main"]
    assert at_server(bare, "show", "fix:made") == "by the agent\n"
    assert at_server(bare, "log", "--format=%an %s", "main..fix") == (
        "Ann Fix the Parser: now\n")
    assert "get" in (home / "helped").read_text()
    assert "Push to origin (https://localhost:" in done.err
    assert "to a new branch fix: 1 commit" in done.err
    assert "Fix the Parser: now  (Ann <ann@example.org>)" in done.err
    assert "made | 1 +" in done.err and "Pushed to branch fix" in done.err
    assert PASSWORD not in done.err
    again = run("apply", "--push", "--branch", "fix")
    assert again.status == 0 and "already on origin" in again.err, again.err
    assert "Made commit" in done.err and "Made commit" not in again.err
    left = [p.name for p in room.store.iterdir() if "push." in p.name]
    assert left == []


def test_push_without_a_name_takes_one_from_the_title(run, bare, work):
    work()
    done = run("apply", "--push", "--json")
    assert done.status == 0, done.err
    data = json.loads(done.out)["data"]
    assert data["branch"] == "dcode/fix-the-parser-now"
    assert data["push"]["pushed"] is True
    assert data["push"]["remote"] == "origin" and data["push"]["commits"] == 1
    assert "dcode/fix-the-parser-now" in branches(bare)


def test_later_changes_are_a_second_commit_on_the_pushed_branch(
        run, room, bare, model):
    def go(name, *args):
        model(writes(name, f"{name}\n"))
        done = run("-n", "go", "-M", "anthropic:m", "-y", *args)
        assert done.status == 0, done.err
    go("first", "--sandbox", "local", "--workspace", "repo", "--keep")
    assert run("apply", "--push", "--branch", "fix").status == 0
    box, = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert run("sandbox", "exec", box["name"], "--",
               "echo 2 >second").status == 0
    done = run("apply", "--push")
    assert done.status == 0, done.err
    assert "to its branch fix: 1 commit" in done.err
    assert len(at_server(bare, "rev-list", "main..fix").split()) == 2
    assert at_server(bare, "show", "fix:first") == "first\n"
    assert at_server(bare, "show", "fix:second") == "2\n"
    assert run("sandbox", "rm", "--force", box["name"]).status == 0


def test_commits_of_the_user_that_would_go_along_are_shown(
        run, room, bare, work):
    room.write(mine="not pushed\n")
    git(room.root, "add", "-A")
    git(room.root, "commit", "-q", "-m", "a commit of my own")
    work()
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 0, done.err
    assert "2 commits" in done.err and "a commit of my own" in done.err
    assert "mine | 1 +" in done.err


def test_files_that_run_programs_are_named_apart(run, bare, work):
    work(**{".github__workflows__ci.yml": "on: push\n",
            "package-lock.json": "{}\n", "plain": "x\n"})
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 0, done.err
    shown = done.err.partition("Push to origin")[2]
    assert "Check .github/workflows/ci.yml: it runs in CI" in shown
    assert "Check package-lock.json: it decides which" in shown
    assert "Check plain" not in shown
    assert done.err.count("Check .github/workflows/ci.yml") == 1


@pytest.mark.every
@pytest.mark.parametrize("name, why", [
    ("main", "dcode never pushes"), ("master", "dcode never pushes"),
    ("Master", "dcode never pushes"), ("trunk", "default branch"),
    ("release/2", "push.protect lists it"), ("stable", "push.protect")])
def test_some_branches_are_never_pushed_to(
        run, room, bare, work, config, name, why):
    config('[push]\nprotect = ["release/*", "stable"]\n')
    at_server(bare, "branch", "trunk")
    at_server(bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
    git(room.root, "checkout", "-q", "-b", "other")
    work()
    before = at_server(bare, "show-ref")
    done = run("apply", "--push", "--branch", name)
    assert done.status == 2 and why in done.err, done.err
    assert at_server(bare, "show-ref") == before
    assert git(room.root, "branch", "--list", name).strip() in (
        "", "main")  # nothing was committed
    assert run("apply", "--push", "--branch", "ok").status == 0
    assert "ok" in branches(bare)


@pytest.mark.every
@pytest.mark.parametrize("key, value", [
    ("include.path", "/tmp/other"), ("includeIf.gitdir:~/.path", "/tmp/x"),
    ("core.sshCommand", "touch /tmp/x"), ("core.gitProxy", "evil"),
    ("core.askPass", "evil"), ("credential.helper", "!evil"),
    ("credential.https://localhost.username", "x"),
    ("http.proxy", "http://evil"), ("http.sslVerify", "false"),
    ("url.https://evil/.insteadOf", "https://localhost"),
    ("url.https://evil/.pushInsteadOf", "https://localhost"),
    ("remote.origin.pushurl", "https://evil/r.git"),
    ("remote.origin.proxy", "http://evil"),
    ("remote.origin.receivepack", "evil"), ("remote.origin.vcs", "evil"),
    ("remote.origin.mirror", "true")])
def test_a_setting_of_the_repository_that_a_push_needs_is_named(
        run, room, site, bare, work, key, value):
    work()
    git(room.root, "config", key, value)
    sent = len(site.requests)
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 2, done.err
    shown = key.lower() if key.count(".") == 1 else key.rsplit(".", 1)[0]
    assert f"this repository sets {shown[:14]}".lower() in done.err.lower()
    assert branches(bare) == ["main"] and len(site.requests) == sent
    git(room.root, "config", "--unset-all", key)
    assert run("apply", "--push", "--branch", "fix").status == 0


def test_settings_that_a_push_does_not_need_are_no_reason_and_do_not_run(
        run, room, bare, work, tmp_path):
    work()
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    evil.chmod(0o755)
    hooks = room.root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-push", "reference-transaction"):
        (hooks / name).write_bytes(evil.read_bytes())
        (hooks / name).chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "gpg.program",
                "core.alternateRefsCommand"):
        git(room.root, "config", "-f", ".git/config", key, str(evil))
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 0 and "fix" in branches(bare), done.err
    assert not (tmp_path / "ran").exists()
    git(room.root, "push", "-q", str(bare), "fix:control", check=False)
    assert (tmp_path / "ran").exists()  # git itself runs them


@pytest.mark.every
@pytest.mark.parametrize("url", [
    "/other/path", "file:///other/path", "ext::sh -c evil", "git://host/r",
    "foo::bar", "ssh://-oProxyCommand=evil/r", "-oProxyCommand=x:r"])
def test_a_remote_that_is_no_server_is_refused(
        run, room, bare, work, tmp_path, url):
    """The URL was the same when the tree was sent."""
    git(room.root, "config", "remote.origin.url", url)
    work()
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 2, done.err
    assert ("pushes only over https and ssh" in done.err
            or "no usable remote" in done.err
            or "no remote that dcode can push to" in done.err), done.err
    assert branches(bare) == ["main"]


def test_a_remote_that_changed_since_the_start_is_refused(
        run, room, site, bare, work):
    site.repository("evil.git", room.root)
    work()
    git(room.root, "remote", "set-url", "origin", site.url("evil.git"))
    git(room.root, "remote", "add", "new", site.url("evil.git"))
    for more in ((), ("--remote", "new")):
        done = run("apply", "--push", "--branch", "fix", *more)
        assert done.status == 2, done.err
        assert "when the tree was sent to the sandbox" in done.err
    assert branches(site.root / "evil.git") == ["main"]
    git(room.root, "remote", "set-url", "origin", site.url("r.git"))
    assert run("apply", "--push", "--branch", "fix").status == 0


def test_the_users_own_insteadof_applies_and_a_change_of_it_is_refused(
        run, room, site, bare, work, home):
    site.repository("evil.git", room.root)
    git(room.root, "remote", "set-url", "origin", "https://short/r.git")
    own = (home / ".gitconfig").read_text()
    line = '[url "{}"]\ninsteadOf = https://short/\n'
    (home / ".gitconfig").write_text(own + line.format(site.url("")))
    work()
    (home / ".gitconfig").write_text(own + line.format(site.url("") + "e"))
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 2 and "when the tree was sent" in done.err
    (home / ".gitconfig").write_text(own + line.format(site.url("")))
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 0 and "fix" in branches(bare), done.err
    assert "by your insteadOf for https://short/r.git" in done.err


def test_a_push_is_never_forced(run, room, bare, work):
    work()
    assert run("apply", "--push", "--branch", "fix").status == 0
    git(room.root, "branch", "-D", "fix")
    other = git(bare, "commit-tree", "main^{tree}", "-p", "main", "-m",
                "other").strip()
    git(bare, "update-ref", "refs/heads/fix", other)
    for more in ((), ("--force",)):
        done = run("apply", "--push", "--branch", "fix", *more)
        assert done.status == 1 and "never forces a push" in done.err, done.err
    assert at_server(bare, "rev-parse", "fix").strip() == other


def test_tags_stay_and_no_other_branch_goes_along(run, room, bare, work, home):
    with open(home / ".gitconfig", "a") as f:
        f.write("[push]\nfollowTags = true\ndefault = matching\n")
    git(room.root, "tag", "-a", "-m", "x", "v1")
    git(room.root, "branch", "aside")
    work()
    assert run("apply", "--push", "--branch", "fix").status == 0
    assert branches(bare) == ["fix", "main"]
    assert at_server(bare, "tag") == ""


def test_the_users_settings_can_forbid_to_push(run, bare, work, config):
    work()
    config("[push]\nallow = false\n")
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 2 and "forbid to push" in done.err, done.err
    assert branches(bare) == ["main"]
    config("[push]\nallow = true\n")
    assert run("apply", "--push", "--branch", "fix").status == 0


def test_the_machines_policy_forbids_to_push_whatever_the_user_says(
        managed, room, bare, work, config):
    work()
    config("[push]\nallow = true\n")
    push = ("apply", "--push", "--branch", "fix")
    done = managed("[push]\nallow = false\n", *push)
    assert done.returncode == 78, done.stderr
    assert "this machine's policy forbids to push" in done.stderr
    assert branches(bare) == ["main"]
    assert git(room.root, "branch", "--list", "fix") == ""
    done = managed("[push]\nallow = true\n", *push)  # the control
    assert done.returncode == 0, done.stderr
    assert branches(bare) == ["fix", "main"]


def test_a_server_that_refuses_the_user_is_said_with_what_to_check(
        run, room, bare, work, home, site):
    work()
    text = (home / ".gitconfig").read_text()
    (home / ".gitconfig").write_text(text.replace("helper =", "other ="))
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 1 and "cannot read https://localhost" in done.err
    assert "Check that `git push origin` works here" in done.err
    assert git(room.root, "branch", "--list", "fix") == ""


def test_a_silent_server_can_be_cancelled(start, room, bare, work, site):
    work()
    site.hold.clear()
    sent = len(site.requests)
    going = start("apply", "--push", "--branch", "fix")
    while len(site.requests) == sent:
        assert going.p.poll() is None
    going.signal()
    going.wait(20)
    assert going.status == 130, going.err


@pytest.mark.parametrize("answer, pushed", [("n", False), ("y", True)])
def test_at_a_terminal_the_user_is_asked(
        terminal, room, bare, work, answer, pushed):
    work()
    t = terminal("apply", "--push", "--branch", "fix")
    shown = t.until("Push? [y/N] ")
    assert "made | 1 +" in shown and "Push to origin (https://" in shown
    assert branches(bare) == ["main"]
    t.type(f"{answer}\n")
    t.until("Pushed to branch" if pushed else "not pushed")
    t.end()
    assert ("fix" in branches(bare)) == pushed
    assert ("fix" in branches(room.root)) == pushed


@pytest.fixture
def sshd(room):
    with_git = Rig()
    git(room.root, "clone", "-q", "--bare", ".",
        str(with_git.home / "r.git"))
    yield with_git
    with_git.close()


def test_push_over_ssh_uses_the_users_ssh(run, room, sshd, work, home):
    (home / ".gitconfig").write_text(
        "[user]\nname = Ann\nemail = ann@example.org\n"
        f'[includeIf "gitdir:{room.root}/"]\npath = {home}/work.config\n')
    (home / "work.config").write_text(
        f"[core]\nsshCommand = ssh -F {sshd.config}\n")
    git(room.root, "remote", "add", "origin", "box:r.git")
    work()
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 0, done.err + sshd.logged()
    assert branches(sshd.home / "r.git") == ["fix", "main"]


def test_an_unknown_host_key_ends_the_push_without_a_question(
        run, room, sshd, work, home):
    (home / ".gitconfig").write_text(
        "[user]\nname = Ann\nemail = ann@example.org\n"
        f"[core]\nsshCommand = ssh -F {sshd.config}\n")
    git(room.root, "remote", "add", "origin", "box:r.git")
    work()
    sshd.know("other")
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 1 and "ost key verification failed" in done.err
    sshd.know("host")
    assert run("apply", "--push", "--branch", "fix").status == 0


def test_programs_of_the_tree_are_not_on_path(
        run, room, bare, work, env, tmp_path):
    """As with direnv, PATH has a directory of the repository."""
    work()
    bin_ = room.root / "node_modules/.bin"
    bin_.mkdir(parents=True)
    for name in ("git", "git-remote-https", "ssh", "sh"):
        (bin_ / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (bin_ / name).chmod(0o755)
    env["PATH"] = f"{bin_}:{env['PATH']}"
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 0 and "fix" in branches(bare), done.err
    assert not (tmp_path / "ran").exists()
    subprocess.run(["git"], env=env, check=False)
    assert (tmp_path / "ran").exists()


def test_push_of_a_shallow_clone(run, model, room, bare, work, home, tmp_path,
                                 site):
    for number in range(3):
        room.write(a=f"{number}\n")
        room.commit()
    git(room.root, "push", "-q", str(bare), "main")
    os.rename(room.root, tmp_path / "before")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{bare}", "work")
    git(room.root, "remote", "set-url", "origin", site.url("r.git"))
    work()
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 0, done.err
    assert "1 commit" in done.err
    assert at_server(bare, "show", "fix:made") == "by the agent\n"


@pytest.mark.parametrize("more", ["--index", "--conflicts", "--undo"])
def test_push_with_options_for_the_tree_is_refused(run, room, more):
    done = run("apply", "--push", more)
    assert done.status == 2 and "--push cannot be combined" in done.err


def go(run, model, *args, name="made"):
    server = model(writes(name, "by the agent\n"))
    return server, run("-n", "go", "-M", "anthropic:m", "-y", "--sandbox",
                       "local", "--workspace", "repo", *args)


def test_a_run_pushes_because_of_the_flag_and_not_because_of_y(
        run, model, room, bare):
    done = go(run, model, "--branch", "fix")[1]
    assert done.status == 0 and branches(bare) == ["main"], done.err
    done = go(run, model, "--branch", "two", "--push", "--json")[1]
    assert done.status == 0, done.err
    assert at_server(bare, "show", "two:made") == "by the agent\n"
    last = json.loads(done.out.splitlines()[-1])
    assert last["apply"]["push"]["pushed"] is True
    assert last["apply"]["push"]["branch"] == "two"


def test_a_failed_push_names_the_commit_that_was_made(
        run, model, room, bare):
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho closed today >&2\nexit 1\n")
    hook.chmod(0o755)
    done = go(run, model, "--branch", "fix", "--push", "--json")[1]
    assert done.status == 1 and branches(bare) == ["main"], done.err
    assert "closed today" in done.err
    apply = json.loads(done.out.splitlines()[-1])["apply"]
    assert apply["push"]["pushed"] is False and apply["branch"] == "fix"
    assert git(room.root, "rev-parse", "fix").strip() == apply["commit"]
    assert git(room.root, "show", "fix:made") == "by the agent\n"


def test_a_run_that_could_not_push_asks_no_model(run, model, room, bare, site):
    for name, more, why in (
            ("main", (), "never pushes"),
            ("fix", ("--remote", "other"), "no usable remote other")):
        server, done = go(run, model, "--branch", name, "--push", *more)
        assert done.status == 2 and why in done.err, done.err
        assert not server.requests
    site.hold.set()
    git(bare, "config", "http.receivepack", "true")
    assert run("-n", "x", "--push").err.count("--push needs --branch") == 1
    server, done = go(run, model, "--branch", "fix", "--push")
    assert done.status == 0 and server.requests, done.err


def test_push_in_the_chat_shows_the_branch_and_asks(talk, room, bare):
    c = begin(talk, [*writes("made", "by the agent\n"), {"text": "ok"}],
              "--sandbox", "local", "--workspace", "repo", "-y",
              "--on-exit", "delete")
    c.say("add a file", "done.")
    c.say("/push fix", "Push? [y/N]")
    shown = c.until("Push? [y/N]")
    assert "made | 1 +" in shown and "Push to origin" in shown
    assert branches(bare) == ["main"]
    c.say("n", "not pushed")
    assert branches(bare) == ["main"]
    c.say("/push fix")
    c.until(lambda t: t.count("Push? [y/N]") >= 2)
    c.say("y", "Pushed to branch fix")
    assert at_server(bare, "show", "fix:made") == "by the agent\n"


POINTER = ("version https://git-lfs.github.com/spec/v1\n"
           f"oid sha256:{'0' * 64}\nsize 12345\n")
ATTRIBUTES = "*.bin filter=lfs diff=lfs merge=lfs -text\n"


@pytest.mark.parametrize("files, named", [
    ({"dir__big.dat": POINTER}, "dir/big.dat"),
    ({".gitattributes": ATTRIBUTES, "dir__a.bin": "content\n"}, "dir/a.bin"),
])
def test_a_push_that_needs_lfs_is_refused_by_the_files_name(
        run, bare, work, files, named):
    work(plain="x\n", **files)
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 2, done.err
    assert f"{named} belongs into Git LFS" in done.err
    assert "Push the branch with git" in done.err
    assert branches(bare) == ["main"]


def test_a_repository_with_lfs_is_pushed_if_its_files_do_not_change(
        run, room, bare, work):
    room.write(_gitattributes=ATTRIBUTES)
    (room.root / "_gitattributes").rename(room.root / ".gitattributes")
    (room.root / "old.bin").write_text(POINTER)
    room.commit()
    git(room.root, "push", "-q", bare, "HEAD:main")
    work()
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 0, done.err
    assert branches(bare) == ["fix", "main"]


@pytest.mark.parametrize("how", [("--sandbox", "none"), (
    "--sandbox", "local", "--workspace", "bind")])
def test_a_push_of_tools_that_work_here_is_refused_with_what_to_type(
        run, model, bare, room, how):
    server = model([{"text": "done"}])
    start = ("-n", "go", "-M", "anthropic:m", "-y", *how)
    done = run(*start, "--branch", "fix", "--push")
    assert done.status == 2 and not server.requests
    assert "push them with your own git" in done.err
    assert run(*start).status == 0
    done = run("apply", "--push", "--branch", "fix")
    assert done.status == 1
    assert "push them with your own git" in done.err
    assert branches(bare) == ["main"]


def test_push_without_a_sandbox_says_to_use_git(talk, room, bare):
    c = begin(talk, HELLO, "--sandbox", "none")
    c.say("/push", "Push with your own git")
    assert branches(bare) == ["main"]


PUSH = {"tool_calls": [{"name": "execute", "args": {"command":
        "echo 'by the agent' >made && git checkout -q -b {0} && git add made"
        " && git commit -qm mine && cd dir && git push origin {0}"}}]}


def pushing(branch):
    return json.loads(json.dumps(PUSH).replace("{0}", branch))


def of_repository(root):
    """All files of .git, with their contents."""
    return {str(p.relative_to(root)): p.read_bytes()
            for p in (root / ".git").rglob("*") if p.is_file()}


def results(server):
    return json.dumps([r["body"] for r in server.requests])


@pytest.mark.parametrize("answer, pushed", [("y", True), ("n", False)])
def test_git_push_in_the_sandbox_asks_before_it_does_anything_else(
        talk, room, bare, site, answer, pushed):
    """Until the yes nothing is sent to the server, and nothing is written to
    the repository; after a no, too."""
    c = begin(talk, [pushing("fix"), {"text": "finished."}], "--sandbox",
              "local", "--workspace", "repo", "-y", "--on-exit", "delete")
    before = of_repository(room.root)
    asked = len(site.requests)
    c.say("push it", "Push? [y/N]")
    shown = c.until("Push? [y/N]")
    assert "The agent asks to push branch fix." in shown
    assert "made | 1 +" in shown and "Push to origin (https://" in shown
    assert len(site.requests) == asked
    assert of_repository(room.root) == before
    c.say(answer, "finished.")
    assert branches(bare) == (["fix", "main"] if pushed else ["main"])
    assert (len(site.requests) > asked) == pushed
    assert (of_repository(room.root) == before) != pushed
    assert bool(list(room.store.glob("*.pushed"))) == pushed
    said = results(c.server)
    assert "dcode: this sandbox has no credentials" in said
    assert ("has pushed the changes" if pushed
            else "git push of fix: not pushed") in said


@pytest.fixture
def unseen(dcode, env, model, tmp_path):
    """unseen(script, *args): a chat whose standard error is a file."""
    open_ones = []

    def go(script, *args):
        c = Chat(model(script), False, tmp_path,
                 ["/bin/sh", "-c", 'exec "$@" 2>"$0"', tmp_path / "err", dcode,
                  "--plain", "-M", "anthropic:m", *args], env,
                 tmp_path / "work")
        open_ones.append(c)
        return c
    yield go
    for c in open_ones:
        c.close()


@pytest.mark.parametrize("asked_by", ["the agent", "the user"])
def test_git_push_in_the_sandbox_is_refused_where_no_question_is_seen(
        unseen, bare, tmp_path, asked_by):
    c = unseen([pushing("fix"), {"text": "finished."}], "--sandbox", "local",
               "--workspace", "repo", "-y", "--on-exit", "delete")
    c.say("push it", "finished.")
    assert branches(bare) == ["main"]
    assert "cannot ask" in (tmp_path / "err").read_text()
    assert "git push of fix: not pushed" in results(c.server)
    if asked_by == "the user":  # whose own words are the consent
        c.say("/push fix")
        c.until(lambda _: branches(bare) == ["fix", "main"])


def test_git_push_to_main_in_the_sandbox_is_refused_without_a_question(
        talk, room, bare):
    c = begin(talk, [{"tool_calls": [{"name": "execute", "args": {
        "command": "echo x >made; git add -A; git commit -qm x; git push "
                   "origin main"}}]}, {"text": "finished."}], "--sandbox",
              "local", "--workspace", "repo", "-y", "--on-exit", "delete")
    shown = c.say("push it", "finished.")
    assert "refusing to push to branch main" in shown
    assert "Push? [y/N]" not in shown and branches(bare) == ["main"]
    assert "choose another branch name" in results(c.server)


def test_a_branch_that_is_called_as_that_of_a_remote_is_not_made(
        talk, room, bare):
    """Else `git merge origin/main` would take the sandbox's commit."""
    c = begin(talk, [pushing("origin/main"), {"tool_calls": [
        {"name": "execute", "args": {"command": "git push origin HEAD:fix"}}]},
        {"text": "finished."}], "--sandbox", "local", "--workspace", "repo",
        "-y", "--on-exit", "delete")
    c.say("push it", "Push? [y/N]")
    c.until("refusing to push to branch origin/main", scrollback=True)
    assert git(room.root, "for-each-ref", "refs/heads/origin") == ""
    c.say("n", "finished.")
    assert branches(bare) == ["main"]


@pytest.mark.parametrize("name", [
    "origin", "heads/main", "tags/v1", "refs/tags/v1", "remotes/origin/main",
    "FETCH_HEAD", "x/HEAD", "0123456789" * 4])
def test_a_branch_that_git_would_take_for_another_ref_is_not_pushed(
        run, room, bare, work, name):
    work()
    done = run("apply", "--push", "--branch", name)
    assert done.status == 2, done.err
    assert "git would take it for something else" in done.err
    assert branches(room.root) == branches(bare) == ["main"]
    assert run("apply", "--push", "--branch", "fine/" + name[:3]).status == 0


@pytest.mark.parametrize("where", ["the user's", "the server's"])
def test_a_branch_that_is_called_as_a_tag_is_not_pushed(
        run, room, bare, work, where):
    git(room.root if where == "the user's" else bare, "tag", "v1")
    work()
    done = run("apply", "--push", "--branch", "v1")
    assert done.status == 2 and " tag " in done.err, done.err
    assert branches(room.root) == branches(bare) == ["main"]
    assert run("apply", "--push", "--branch", "v1-fixes").status == 0


def test_after_a_no_the_sandbox_cannot_ask_again_until_the_next_message(
        talk, room, bare):
    again = {"tool_calls": [{"name": "execute", "args": {
        "command": "git push origin HEAD:other"}}]}
    c = begin(talk, [pushing("fix"), again, again, {"text": "finished."},
                     again, {"text": "ended."}], "--sandbox", "local",
              "--workspace", "repo", "-y", "--on-exit", "delete")
    c.say("push it", "Push? [y/N]")
    c.say("n", "finished.")
    assert results(c.server).count("asked again only after his next") == 3
    c.say("do push it")
    c.until(lambda t: "push branch other" in t and
            "Push? [y/N]" in t.split("push branch other")[-1])
    c.say("y", "ended.")
    assert branches(bare) == ["main", "other"]


def test_commits_that_only_the_server_lacks_are_asked_about(
        talk, room, bare):
    """git here remembers a main that the server does not have any more: the
    user's own commit would go along unseen."""
    old = git(room.root, "rev-parse", "HEAD").strip()
    room.write(mine="secret\n")
    room.commit()
    git(room.root, "update-ref", "refs/remotes/origin/main", "HEAD")
    c = begin(talk, [*writes("made", "by the agent\n"), {"text": "ok"}],
              "--sandbox", "local", "--workspace", "repo", "-y",
              "--on-exit", "delete")
    c.say("add a file", "done.")
    c.say("/push fix", "Push? [y/N]")
    shown = c.until("Push? [y/N]")
    assert "branch fix: 1 commit" in shown
    c.say("y")
    shown = c.until(lambda t: "fix: 2 commits" in t and
                    "Push? [y/N]" in t.split("fix: 2 commits")[-1])
    assert "the server has other commits" in shown
    c.say("n", "not pushed")
    assert branches(bare) == branches(room.root) == ["main"]
    assert at_server(bare, "rev-parse", "main").strip() == old


def test_a_run_without_a_chat_does_not_push_what_the_sandbox_pushes(
        run, model, room, bare):
    server = model([pushing("fix"), {"text": "finished."}])
    done = run("-n", "push it", "-M", "anthropic:m", "-y", "--sandbox",
               "local", "--workspace", "repo")
    assert done.status == 0 and branches(bare) == ["main"], done.err
    assert "dcode: this sandbox has no credentials" in results(server)


@pytest.mark.parametrize("ask", [
    "--force", "-x", "a b", "fix\\nmore", "$(id)", "a:b", "+fix"])
def test_a_forged_note_asks_at_most_the_same_question(talk, room, bare, ask):
    """Anything in the sandbox can write the note of git push."""
    c = begin(talk, [{"tool_calls": [{"name": "execute", "args": {"command":
        f"echo x >made; printf '{ask}\\n' >.git/dcode-push/request"}}]},
        {"text": "finished."}], "--sandbox", "local", "--workspace", "repo",
        "-y", "--on-exit", "delete")
    c.say("go")
    shown = c.until(lambda t: "finished." in t or "Push? [y/N]" in t)
    if "Push? [y/N]" in shown:
        assert "to a new branch fix: 1 commit" in shown
        c.say("n", "finished.")
    assert branches(bare) == ["main"]
