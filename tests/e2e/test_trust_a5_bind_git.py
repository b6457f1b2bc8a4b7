"""test_trust_a5_bind_git.py - what a model leaves in a bound directory does
not make git, an editor or a shell of the user run anything."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import shutil
import subprocess

import pytest

BIND = '[sandboxes.providers.local.params]\nworkspace = "bind"\n'
RUN = ("-n", "x", "-M", "anthropic:m", "--sandbox", "local", "-y")
PLAIN = [".envrc", ".husky", ".vscode", ".idea", ".mcp.json", ".deepagents",
         ".agents", ".claude"]


def git(*args, cwd, **env):
    return subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *args], cwd=cwd,
        check=True, capture_output=True, text=True,
        env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(cwd),
             "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e",
             "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "e",
             **env}).stdout


@pytest.fixture
def repo(tmp_path, config):
    """A repository with a submodule, a worktree elsewhere and no hooks."""
    config(BIND)
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    git("init", "-q", "lib", cwd=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "l", cwd=tmp_path / "lib")
    git("init", "-q", ".", cwd=work)
    git("config", "user.name", "n", cwd=work)
    git("config", "user.email", "e", cwd=work)
    git("submodule", "--quiet", "add", str(tmp_path / "lib"), "sub/lib",
        cwd=work)
    (work / "f").write_text("a\n")
    git("add", "f", cwd=work)
    git("commit", "-q", "-m", "first", cwd=work)
    git("worktree", "add", "-q", str(tmp_path / "wt"), cwd=work)
    shutil.rmtree(work / ".git" / "hooks")
    return work


@pytest.fixture
def box(run, model):
    """box(*commands) -> their results, and the run."""
    def go(*commands, **how):
        model([{"tool_calls": [{"name": "execute", "args": {"command": c}}]}
               for c in commands] + [{"text": "done"}])
        r = run(*RUN, "--json", **how)
        assert r.status == 0, r.err + r.out
        events = [json.loads(line) for line in r.out.splitlines()]
        r.notices = [e["message"] for e in events if e["type"] == "error"]
        return [e["content"] for e in events if e["type"] == "tool_result"], r
    return go


def tree(top, only="."):
    """Names with their contents, but of what git writes when it is used."""
    found = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if re.search(only, name) and not re.search(
                r"\.git/(.*/)?(index|logs|objects|refs|HEAD)", name):
            found[name] = path.is_file() and path.read_bytes()
    return found


OBEYED = (r"^\.git/((modules/sub/lib|worktrees/wt)/)?"
          r"(config|hooks|info|commondir|gitdir)|lib/\.git$")


ATTACKS = r"""
evil() { echo '[core] fsmonitor = "touch /tmp/PWNED"'; }
G=.git; M=$G/modules/sub/lib; W=$G/worktrees/wt
mv $G g2
for g in $G $M; do
  evil >>$g/config; evil >$g/config.worktree; echo x >$g/commondir
  evil >c && mv -f c $g/config
  mkdir -p $g/hooks && echo x >$g/hooks/pre-commit
  mkdir -p $g/info && echo x >$g/info/attributes
  rm -rf $g/commondir $g/hooks $g/info $g/config.worktree $g/config
  mv $g/hooks h; mv $g/info i; mv $g/config c; ln -sf /tmp $g/commondir
  mv $g/commondir z; echo .. >$g/commondir
done
mv $G/modules m2; mv $M m3; mv $G/modules/sub m4; mv $W w2
mv $G/worktrees w3
for f in config.worktree commondir gitdir; do
  echo x >$W/$f; rm -f $W/$f; echo x >y; mv -f y $W/$f
done
echo 'gitdir: /workspace/e' >sub/lib/.git; rm -f sub/lib/.git
rm -f c y z h i; git config core.pager x; umount $G/config; echo end
"""


def test_nothing_that_git_obeys_can_be_changed(repo, box):
    before = tree(repo, OBEYED)
    out, _ = box(ATTACKS)
    assert "end" in out[0] and "Read-only" in out[0]
    after = tree(repo, OBEYED)
    assert len(before) > 8
    assert after == before, {n for n in before | after
                             if before.get(n) != after.get(n)}
    assert not (repo / ".git" / "hooks").exists()


def test_git_works_inside_beside_the_placeholders(repo, box):
    out, r = box(
        "set -e; cat .git/commondir; echo; git status --short; echo b >>f;"
        "git commit -qam second; echo c >>f; git stash -q; git stash pop -q;"
        "git diff --stat; git checkout -qb topic; git add f;"
        "git commit -qm third; git checkout -q master; git merge -q topic;"
        "git worktree add -q side; git -C side status --short;"
        "git -C sub/lib status --short;"
        "git -C side commit -q --allow-empty -m s; git fsck; git log --oneline"
        "; git rev-parse --is-inside-work-tree; echo end")
    lines = out[0].splitlines()
    assert lines[0] == "." and "end" in lines, out[0]
    assert len([x for x in lines if re.match("[0-9a-f]{7} ", x)]) == 3
    assert git("log", "--format=%s", cwd=repo).split() == [
        "third", "second", "first"]
    assert git("status", "--short", cwd=repo) == "?? side/\n"
    assert "side/.git" in r.notices[0]


def test_the_users_git_works_while_it_runs(repo, start, model):
    server = model([{"text": "x", "fault": {"stall_after_bytes": 0}}])
    r = start(*RUN)
    while not server.model.received:
        assert r.p.poll() is None
    assert (repo / ".git" / "commondir").read_text() == "."
    assert git("status", "--short", cwd=repo) == ""
    git("commit", "-q", "--allow-empty", "-m", "mine", cwd=repo)
    assert git("worktree", "list", cwd=repo).count("\n") == 2
    r.kill()


def test_protected_names_are_read_only_and_missing_ones_stay_so(repo, box):
    for name in (".vscode", "deep/er/.vscode"):
        (repo / name).mkdir(parents=True)
        (repo / name / "tasks.json").write_text("{}")
    (repo / ".env").write_text("A=1\n")
    (repo / "deep" / ".envrc").write_text("")
    before = tree(repo)
    missing = [n for n in PLAIN if n != ".vscode"]
    out, r = box(
        f"for n in {' '.join(PLAIN)}; do echo x >$n; mkdir $n; rm -rf $n;"
        " mv $n moved; ln -s f $n; echo x >$n/f; rm -rf moved; done;"
        "for f in .env deep/.envrc deep/er/.vscode/tasks.json; do echo x >$f;"
        " rm -f $f; mv $f moved; rm moved; done; rm -rf deep/er/.vscode",
        "echo ok >allowed; cat allowed; ls -A")
    assert out[1].startswith("ok\n") and set(missing) <= set(out[1].split())
    (repo / "allowed").unlink()
    assert tree(repo) == before and not r.notices
    assert not [n for n in missing if os.path.lexists(repo / n)]


def test_the_setting_says_which_names(repo, box, config):
    config(BIND + 'protect = ["Makefile"]\n')
    out, _ = box("echo x >Makefile || mkdir .vscode && echo made")
    assert "made" in out[0] and (repo / ".vscode").is_dir()
    assert not (repo / "Makefile").exists()


def test_new_names_are_told_at_once_and_at_the_end(repo, box):
    (repo / "pkg" / ".claude").mkdir(parents=True)
    (repo / "old").mkdir()
    out, r = box(
        "mkdir -p a/b/.vscode; echo x >.env.local",
        "echo nothing new", "mv pkg gkp && mkdir -p pkg/.claude",
        "git init -q a/n; mkdir -p .git/modules/evil; rm .env.local;"
        "mkdir -p bare/objects bare/refs; touch bare/HEAD; echo >>old/.ENVRC")
    assert len(r.notices) == 3, r.notices
    assert ".env.local" in r.notices[0] and "a/b/.vscode" in r.notices[0]
    assert "pkg/.claude" in r.notices[1] and "gkp/.claude" in r.notices[1]
    for name in ("a/n/.git", ".git/modules/evil", "bare", "old/.ENVRC"):
        assert name in r.notices[2]
    last = [x for x in r.err.splitlines() if "while the sandbox ran" in x]
    assert len(last) == 1 and str(repo) in last[0]
    for name in ("a/b/.vscode", "pkg/.claude", "a/n/.git"):
        assert name in last[0]
    assert ".env.local" not in last[0]  # gone again


def test_what_git_writes_through_is_told(repo, box):
    """Links in .git, `exec` lines, a repository whose parts lie apart."""
    out, r = box(
        "git branch topic/x; git reflog | cat; git gc -q; echo end",
        "ln -sf /home/u/.bashrc .git/COMMIT_EDITMSG; rm -f .git/logs/HEAD;"
        "ln -s /home/u/.bashrc .git/logs/HEAD; mkdir .git/rebase-merge q w;"
        "mkdir .git/rebase-apply .git/sequencer;"
        "touch q/HEAD q/commondir; mkdir -p .git/worktrees/wt/modules/m")
    assert "end" in out[0] and len(r.notices) == 1, r.notices
    for name in ("COMMIT_EDITMSG", "logs/HEAD", "rebase-merge",
                 "rebase-apply", "sequencer", "worktrees/wt/modules"):
        assert f".git/{name}" in r.notices[0]
    assert " q," in r.notices[0]


def test_an_unfinished_rebase_is_read_only(repo, box):
    todo = repo / ".git" / "rebase-merge" / "git-rebase-todo"
    todo.parent.mkdir()
    todo.write_text("noop\n")
    out, r = box(
        "d=.git/rebase-merge; echo 'exec x' >>$d/git-rebase-todo;"
        "rm -rf $d; mv $d .git/gone; echo x >$d/evil; echo y >new;"
        "git add new && git -c user.name=a -c user.email=b commit -qm made;"
        "git log --format=%s -1")
    assert "\nmade\n" in out[0] and not r.notices, out[0]
    assert os.listdir(todo.parent) == [todo.name]
    assert todo.read_text() == "noop\n"


def test_files_that_the_config_names_are_read_only(repo, box):
    """The user pointed git into the tree; missing files are occupied."""
    (repo / "tools").mkdir()
    (repo / "tools" / "watch").write_text("#!/bin/sh\n")
    (repo / "shared.cfg").write_text("[include]\n\tpath = more.cfg\n")
    with open(repo / ".git" / "config", "a") as f:
        f.write('[include] path = "../shared.cfg" ; ours\n[core]\n'
                "\tHooksPath = ./githooks\n\tfsmonitor = tools/watch 2\n")
    before = tree(repo)
    out, _ = box("for f in shared.cfg more.cfg githooks/pre-commit tools/watch"
                 "; do echo x >$f; rm -rf ${f%/*}; mv $f y; done; ls -A",
                 "echo ok >tools/other && cat tools/other")
    assert "githooks" in out[0] and out[1].startswith("ok\n")
    (repo / "tools" / "other").unlink()
    assert tree(repo) == before


def test_a_bare_repository_with_worktrees_is_kept(tmp_path, config, box):
    config(BIND)
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    git("init", "-q", "--bare", ".bare", cwd=work)
    (work / ".git").write_text("gitdir: ./.bare\n")
    empty = git("hash-object", "-t", "tree", "-w", "/dev/null", cwd=work)
    first = git("commit-tree", "-m", "x", empty.strip(), cwd=work)
    git("update-ref", "refs/heads/topic", first.strip(), cwd=work)
    git("worktree", "add", "-q", "main", "topic", cwd=work)
    entry = ".bare/worktrees/main"
    out, _ = box("exec 2>&1; for f in commondir gitdir config.worktree; do"
                 f" echo ../../../w >{entry}/$f; rm -f {entry}/$f; done;"
                 f"cat {entry}/commondir; echo x >>.bare/config")
    assert "\n../..\n" in out[0] and out[0].count("Read-only") == 4, out[0]
    assert git("status", "--short", cwd=work / "main") == ""


@pytest.fixture
def held(start, model):
    """A run that waits for its model, with its placeholders in place."""
    def begin():
        server = model([{"text": "x", "fault": {"stall_after_bytes": 0}}])
        r = start(*RUN)
        while not server.model.received:
            assert r.p.poll() is None, r.p.communicate()
        return r
    return begin


def placeholders(repo):
    names = PLAIN + [".git/hooks", ".git/commondir", ".git/config.worktree"]
    return [n for n in names if os.path.lexists(repo / n)]


def test_the_next_dcode_removes_what_a_killed_one_left(repo, held, run):
    r = held()
    assert len(placeholders(repo)) == 11
    r.kill()
    r.p.wait()
    assert len(placeholders(repo)) == 11  # the control
    (repo / ".vscode" / "mine").write_text("of the user")
    (repo / ".husky").rmdir()
    (repo / ".husky").write_text("of the user")
    (repo / ".git" / "commondir").write_text("..")
    assert run("config").status == 0
    assert placeholders(repo) == [".husky", ".vscode", ".git/commondir"]


def test_a_placeholder_stays_while_another_dcode_needs_it(repo, held, run):
    first, second = held(), held()
    first.signal()
    first.wait()
    assert len(placeholders(repo)) == 11
    second.signal()
    second.wait()
    assert placeholders(repo) == []


def test_links_are_followed_to_what_they_name_inside(repo, box, tmp_path):
    (tmp_path / "outside").mkdir()
    (repo / "settings").mkdir()
    (repo / "settings" / "s.json").write_text("{}")
    (repo / ".vscode").symlink_to("settings")
    (repo / ".idea").symlink_to(tmp_path / "outside")
    (repo / ".git").rename(repo / "elsewhere")
    (repo / ".git").symlink_to("elsewhere")
    out, r = box("echo x >settings/s.json; echo x >>elsewhere/config;"
                 "mkdir elsewhere/hooks/x; echo x >.git/hooks/y; ls .idea/;"
                 "cat .git/commondir", "rm .git; mkdir .git")
    assert (repo / "settings" / "s.json").read_text() == "{}"
    assert "x" not in (repo / "elsewhere" / "config").read_text().split()
    assert not (repo / "elsewhere" / "hooks").exists()
    assert not list((tmp_path / "outside").iterdir())
    assert out[0].count("Read-only") == 4 and ".git" in r.notices[0], out[0]
