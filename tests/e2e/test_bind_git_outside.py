"""test_bind_git_outside.py - git in a bound directory whose repository lies
elsewhere: a linked worktree, a submodule, a directory of a repository."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import subprocess

import pytest

RUN = ("-n", "x", "-M", "anthropic:m", "--sandbox", "local", "--workspace",
       "bind", "-y")
KINDS = ("worktree", "submodule", "directory")


def git(*args, cwd):
    return subprocess.run(
        ["git", "-c", "protocol.file.allow=always", "-c", "user.name=n", "-c",
         "user.email=e", *args], cwd=cwd, check=True, capture_output=True,
        text=True, env={"PATH": os.environ["PATH"], "HOME": str(cwd),
                        "GIT_CONFIG_NOSYSTEM": "1"}).stdout


@pytest.fixture(params=KINDS)
def bound(request, tmp_path):
    """(kind, the directory to bind, its git directory, what is shared)"""
    main = tmp_path / "main"
    (main / "dir").mkdir(parents=True)
    git("init", "-q", "-b", "master", ".", cwd=main)
    for key, value in (("name", "n"), ("email", "e")):
        git("config", f"user.{key}", value, cwd=main)
    (main / "dir" / "f").write_text("x\n")
    (main / "top").write_text("x\n")
    git("add", "-A", cwd=main)
    git("commit", "-q", "-m", "one", cwd=main)
    git("branch", "other", cwd=main)
    git("worktree", "add", "-q", "-b", "topic", str(tmp_path / "wt"),
        cwd=main)
    git("submodule", "--quiet", "add", str(main), "mod", cwd=main)
    git("commit", "-q", "-m", "two", cwd=main)
    git("config", "user.name", "n", cwd=main / "mod")
    git("config", "user.email", "e", cwd=main / "mod")
    git("branch", "other", cwd=main / "mod")
    place = {"worktree": (tmp_path / "wt", ".git/worktrees/wt", ".git"),
             "submodule": (main / "mod", ".git/modules/mod",
                           ".git/modules/mod"),
             "directory": (main / "dir", ".git", ".git")}[request.param]
    return (request.param, place[0], main / place[1], main / place[2])


@pytest.fixture
def box(run, model):
    """box(cwd, *commands) -> their results, and the run."""
    def go(cwd, *commands):
        model([{"tool_calls": [{"name": "execute", "args": {"command": c}}]}
               for c in commands] + [{"text": "done"}])
        r = run(*RUN, "--json", cwd=cwd)
        assert r.status == 0, r.err + r.out
        events = [json.loads(line) for line in r.out.splitlines()]
        r.notices = [e["message"] for e in events if e["type"] == "error"]
        return [e["content"] for e in events if e["type"] == "tool_result"], r
    return go


def test_git_works_inside(bound, box):
    kind, place, _, _ = bound
    out, r = box(
        place,
        "set -e; git status --short; git log -1 --format=%s; echo y >>f; "
        "echo new >g; git add f g; git commit -qm made; git diff HEAD~1 "
        "--stat; git branch fresh; git checkout -qb more; echo z >>g; "
        "git commit -qam again; git log --format=%s -2; git reflog -2; "
        "git fsck; git rev-parse --show-toplevel; echo end")
    assert "\nend\n" in out[0], out[0]
    assert not r.notices and "does not work" not in r.err
    assert git("log", "-2", "--format=%s", cwd=place) == "again\nmade\n"
    assert git("branch", "--show-current", cwd=place) == "more\n"
    assert git("rev-parse", "fresh", cwd=place) == \
        git("rev-parse", "HEAD~1", cwd=place)
    status = git("status", "--short", cwd=place)
    assert status == "" or kind == "directory"
    assert f"\n{place if kind != 'directory' else place.parent}\n" in out[0]


ATTACKS = r"""
exec 2>&1
try() { if sh -c "$1"; then echo "DONE: $1"; fi; }
for d in $C $G; do
  for f in config config.worktree commondir gitdir hooks/pre-commit \
      info/attributes info/exclude ${O-objects/info/alternates}; do
    try "mkdir -p $d/${f%/*} && echo x >>$d/$f"
    try "rm -f $d/$f"; try "echo x >y && mv -f y $d/$f"
    try "ln -sfn /tmp $d/$f"
  done
  for f in hooks info ${O-objects/info}; do
    try "mv $d/$f $d/gone"; try "rmdir $d/$f"
  done
  [ $C = $G ] || O= # no objects are looked for there
done
try "echo x >$C/refs/heads/other"; try "rm -f $C/refs/heads/other"
try "echo x >y && mv -f y $C/refs/heads/other"
try 'git branch -f other $(git commit-tree -m x HEAD^{tree})'
try "git config core.pager x"
try "git remote add r /tmp"; try "mv $G ${G}2"; try "rm -rf $C/refs"
try "echo x >$C/refs/evil"; [ ! -f .git ] || try "echo x >.git"
echo end
"""


def listing(top):
    """What git obeys in a git directory, and the other branch."""
    names = subprocess.run(
        "find . -path ./modules -prune -o -path ./worktrees -prune -o "
        "-type f -print | grep -E '(config|hooks|info|commondir|gitdir|other)'"
        " | grep -v logs/ | sort | xargs -r sha256sum", shell=True, cwd=top,
        capture_output=True, text=True, check=False).stdout
    return names


def test_nothing_that_git_obeys_can_be_changed(bound, box):
    _, place, own, common = bound
    before = listing(common), listing(own)
    assert len(before[0].splitlines()) > 5
    out, _ = box(place, f"C={common} G={own}\n" + ATTACKS)
    done = [x for x in re.findall("DONE: (.*)", out[0])
            if not x.startswith("rm -f ")]  # of what is not there
    assert "\nend\n" in out[0] and done == [], done
    assert (listing(common), listing(own)) == before
    assert git("status", cwd=place)


def test_what_lies_beside_it_is_read_only(bound, box):
    kind, place, _, _ = bound
    before = sorted(os.listdir(place.parent))
    out, r = box(place, f"cd {place.parent}; echo x >evil; mkdir made; rm -f "
                 f"top; cd {place}; echo ok >f && cat f; git status >/dev/null "
                 "&& echo end")
    assert "ok\nend" in out[0]
    assert sorted(os.listdir(place.parent)) == before
    told = f"read all of {place.parent}, but write only to {place}" in r.err
    assert told == (kind == "directory")


BEGUN = ("rebase-merge", "rebase-apply", "sequencer")


def test_links_and_a_begun_rebase_are_told(bound, box):
    _, place, own, common = bound
    out, r = box(place, f"cd {own}; mkdir {' '.join(BEGUN)}; ln -s /tmp/x "
                 f"{own}/COMMIT_EDITMSG2; ln -s /tmp/x "
                 f"{common}/logs/refs/heads/evil; echo end")
    assert "end" in out[0] and len(r.notices) == 1, r.notices
    for name in (*BEGUN, "COMMIT_EDITMSG2", "logs/refs/heads/evil"):
        assert name in r.notices[0]
    last = [x for x in r.err.splitlines() if "while the sandbox ran" in x]
    assert len(last) == 1 and all(name in last[0] for name in BEGUN), r.err


def test_git_can_begin_and_end_what_is_told(bound, box):
    """The control: no placeholder is in git's way, and nothing is told."""
    _, place, _, _ = bound
    out, r = box(
        place,
        "set -e; git status; for n in 1 2; do echo $n >p$n; git add p$n; "
        "git commit -qm p$n; done; git reset -q --hard HEAD~2; "
        "git cherry-pick ORIG_HEAD~1 ORIG_HEAD >/dev/null; "
        "git rebase -q --exec true HEAD~2; git rebase -q --apply -f HEAD~1; "
        "git status; echo end")
    assert "\nend\n" in out[0] and "in progress" not in out[0], out[0]
    assert not r.notices
    assert git("log", "-2", "--format=%s", cwd=place) == "p2\np1\n"


def test_an_unfinished_rebase_is_read_only(bound, box):
    _, place, own, _ = bound
    before = {}
    for name in BEGUN:
        (own / name).mkdir()
        (own / name / "git-rebase-todo").write_text("noop\n")
        before[name] = ["git-rebase-todo"]
    out, r = box(
        place,
        f"for n in {' '.join(BEGUN)}; do d={own}/$n; "
        "echo exec >>$d/git-rebase-todo; echo x >$d/evil; rm -rf $d; "
        f"mv $d {own}/gone; done; echo y >>f; git add f; "
        "git commit -qm made && echo end")
    assert "\nend\n" in out[0] and not r.notices, out[0]
    assert {n: os.listdir(own / n) for n in BEGUN} == before
    assert {(own / n / "git-rebase-todo").read_text() for n in BEGUN} == \
        {"noop\n"}
    assert git("log", "-1", "--format=%s", cwd=place) == "made\n"


def test_nothing_of_ours_stays_in_the_repository(bound, box):
    _, place, own, common = bound
    before = {d: sorted(os.listdir(d)) for d in (own, common, place)}
    box(place, "true")
    assert {d: sorted(os.listdir(d)) for d in before} == before


def test_a_git_file_that_is_not_named_in_turn_gets_nothing(box, tmp_path):
    """Attack: an archive brings a .git that names a repository of the
    user's."""
    victim = tmp_path / "victim"
    git("init", "-q", str(victim), cwd=tmp_path)
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    for text in (f"gitdir: {victim}/.git", "gitdir: ../victim/.git"):
        (work / ".git").write_text(text + "\n")
        out, r = box(work, f"ls {victim}; git status; echo end")
        assert "No such file" in out[0] and "end" in out[0]
        assert f"git does not work in {work} in this sandbox" in r.err


def test_a_clone_is_bound_where_it_was(box, tmp_path):
    """The control: its .git lies inside."""
    work = tmp_path / "work"
    git("init", "-q", str(work), cwd=tmp_path)
    out, r = box(work, "pwd; git status >/dev/null && echo end")
    assert out[0].startswith("/workspace\nend\n")
    assert "git does not work" not in r.err and "can read" not in r.err



@pytest.mark.parametrize("above", [False, True])
def test_a_repository_of_the_whole_home_is_not_bound(box, home, tmp_path,
                                                     above):
    """The attack: dotfiles in git, and everything of the user's is readable
    from a project below. The control is a repository beside the home."""
    root = tmp_path if above else home
    place = home / "project"
    place.mkdir()
    (home / "secret").write_text("hunter2-of-mine\n")
    git("init", "-q", ".", cwd=root)
    look = f"cat {home}/secret; git log; ls -a"
    out, r = box(place, look)
    assert "hunter2-of-mine" not in out[0]
    told = " ".join((r.err + " ".join(r.notices)).split())
    assert "home directory" in told, told
    other = tmp_path / "other" / "project"
    other.mkdir(parents=True)
    (other.parent / "near").write_text("near it\n")
    git("init", "-q", ".", cwd=other.parent)
    out, _ = box(other, "cat ../near")
    assert "near it" in out[0]
