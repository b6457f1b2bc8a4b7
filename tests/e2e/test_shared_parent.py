"""test_shared_parent.py - what another user put above or into a directory."""
# SPDX-License-Identifier: MIT
import json
import os
import shlex
import subprocess

import pytest

from clouds import results
from lifecycle import execute

MALLORY = 54321
EVERYTHING = {"git", "memory", "skill", "subagent", "hooks", "mcp", "env"}
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0,
                               reason="gives files to another user")


def plant(top, marks):
    """Each kind of file that dcode looks for, and a neighbour's secret."""
    for name in (".deepagents/agents/planted", ".agents/skills/planted",
                 "neighbour"):
        (top / name).mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    (top / "neighbour" / "private.txt").write_text("neighbour's\n")
    (top / "AGENTS.md").write_text("PLANTED-MEMORY\n")
    (top / ".env").write_text("OPENAI_API_KEY=planted\n")
    (top / ".agents/skills/planted/SKILL.md").write_text(
        "---\nname: planted\ndescription: PLANTED-SKILL.\n---\nx\n")
    (top / ".deepagents/agents/planted/AGENTS.md").write_text(
        "---\nname: planted\ndescription: PLANTED-SUBAGENT.\n---\nx\n")
    touch = f"touch {shlex.quote(str(marks))}/"
    (top / ".deepagents/hooks.json").write_text(json.dumps(
        {"hooks": {"SessionStart": [{"hooks": [
            {"type": "command", "command": touch + "hooks"}]}]}}))
    (top / ".mcp.json").write_text(json.dumps({"mcpServers": {"planted": {
        "command": "sh", "args": ["-c", touch + "mcp"]}}}))


def give(top, uid=MALLORY, but=()):
    """Gives what is in top to another user, each name for itself."""
    for folder, dirs, files in os.walk(top):
        dirs[:] = [d for d in dirs if d not in but]
        for name in dirs + files:
            os.chown(os.path.join(folder, name), uid, uid,
                     follow_symlinks=False)


@pytest.fixture
def marks(tmp_path):
    (tmp_path / "marks").mkdir(mode=0o777)
    return tmp_path / "marks"


@pytest.fixture
def shared(tmp_path, marks):
    top = tmp_path / "shared"
    (top / "mine").mkdir(parents=True)
    (top / "mine" / "own.txt").write_text("mine\n")
    plant(top, marks)
    return top


@pytest.fixture
def counted(run, model, marks):
    """counted(cwd): what of the planted files a run there uses, and how it
    ended."""
    def go(cwd):
        server = model([execute("cd \"$(git rev-parse --show-toplevel "
                                "2>/dev/null || pwd)\"; find . -type f"),
                        {"text": "done"}])
        r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "local",
                "--workspace", "repo", "--trust-project", cwd=cwd)
        assert server.requests, r.err
        asked = json.dumps(server.requests[0]["body"])
        files = results(server)[0] if len(server.requests) > 1 else ""
        env = json.loads(run("config", "path", "--json", cwd=cwd).out)
        seen = {"git": "private.txt" in files,
                "memory": "PLANTED-MEMORY" in asked,
                "skill": "PLANTED-SKILL" in asked,
                "subagent": "PLANTED-SUBAGENT" in asked,
                "env": any(f["name"] == "project .env" and
                           f["status"] == "ok" for f in env["data"])}
        for name in ("hooks", "mcp"):
            seen[name] = (marks / name).exists()
            (marks / name).unlink(missing_ok=True)
        return {name for name in seen if seen[name]}, r
    return go


def test_all_that_is_above_counts_in_a_directory_of_the_users(
        counted, shared):
    seen, r = counted(shared / "mine")
    assert (seen, r.status) == (EVERYTHING, 0), r.err


@pytest.mark.parametrize("mode", (0o1777, 0o777, 0o707))
def test_nothing_in_a_directory_above_that_all_may_write_to_counts(
        counted, shared, mode):
    shared.chmod(mode)
    seen, r = counted(shared / "mine")
    assert (seen, r.status) == (set(), 0), r.err
    assert (f"{shared}/.git is not used, because every user may write to "
            f"{shared}. If it is the repository of {shared}/mine, run chmod "
            f"o-w {shared}"
            ) in r.err


def test_nothing_above_a_directory_that_all_may_write_to_counts(
        counted, shared):
    between = shared / "mine" / "between"
    (between / "deep").mkdir(parents=True)
    between.chmod(0o1777)
    seen, r = counted(between / "deep")
    assert (seen, r.status) == (set(), 0), r.err
    between.chmod(0o755)
    assert counted(between / "deep")[0] == EVERYTHING


@ROOT_ONLY
def test_nothing_in_another_users_directory_above_counts(counted, shared):
    os.chown(shared, MALLORY, MALLORY)
    seen, r = counted(shared / "mine")
    assert (seen, r.status) == (set(), 0), r.err


@ROOT_ONLY
def test_what_another_user_owns_in_a_directory_of_the_users_does_not_count(
        counted, shared):
    give(shared, but=("mine",))
    seen, r = counted(shared / "mine")
    assert (seen, r.status) == (set(), 0), r.err
    assert f"{shared}/.git is not used, because it belongs to another" in r.err


@ROOT_ONLY
def test_a_checkout_of_another_uid_counts_for_who_works_in_it(
        counted, shared):
    """A container whose checkout belongs to the host's user."""
    os.chown(shared, MALLORY, MALLORY)
    give(shared)
    assert counted(shared / "mine")[0] == EVERYTHING
    assert counted(shared)[0] == EVERYTHING


@ROOT_ONLY
def test_the_message_says_where_to_work_in_such_a_checkout(counted, shared):
    os.chown(shared, MALLORY, MALLORY)
    give(shared)
    os.chown(shared / "mine", os.geteuid(), os.getegid())
    seen, r = counted(shared / "mine")
    assert seen == set()
    assert (f"{shared}/.git is not used, because it belongs to "
            f"another user (uid {MALLORY}), like {shared}. To work "
            f"in that repository, run cd {shared}") in r.err


@ROOT_ONLY
def test_in_a_directory_that_all_may_write_to_only_ones_own_files_count(
        counted, shared):
    shared.chmod(0o1777)
    assert counted(shared)[0] == EVERYTHING  # they are the user's
    give(shared, but=("mine",))
    seen, r = counted(shared)
    # No repository: what lies there is sent because the user said repo.
    assert (seen - {"git"}, r.status) == (set(), 0), r.err
    assert "has a .git that belongs to another user" in r.err


@ROOT_ONLY
@pytest.mark.parametrize("name,target", (
    ("AGENTS.md", "own/AGENTS.md"), (".deepagents", "own")))
def test_another_users_link_leads_to_no_file_of_the_users(
        run, model, tmp_path, name, target):
    """The file itself is the user's, the way to it is not."""
    work = tmp_path / "work"
    (work / "own").mkdir(parents=True)
    (work / "own" / "AGENTS.md").write_text("PRIVATE-NOTES\n")
    (work / name).symlink_to(target)

    def told():
        server = model([{"text": "done"}])
        r = run("-n", "hi", "-M", "anthropic:m", cwd=work)
        return "PRIVATE-NOTES" in json.dumps(server.requests[0]["body"]), r.err
    assert told()[0]
    os.chown(work / name, MALLORY, MALLORY, follow_symlinks=False)
    seen, err = told()
    assert not seen
    assert f"{work / name} belongs to another user (uid {MALLORY})" in err


@ROOT_ONLY
def test_a_git_file_leads_to_no_directory_of_another_user(run, model,
                                                          tmp_path):
    main, tree = tmp_path / "main", tmp_path / "tree"
    subprocess.run(
        f"git init -q {main} && cd {main} && git -c user.name=a -c "
        f"user.email=a@b commit -q --allow-empty -m x && "
        f"git worktree add -q {tree}", shell=True, check=True)

    def said():
        model([execute("ls"), {"text": "done"}])
        r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "local",
                "--workspace", "repo", cwd=tree)
        assert r.status == 0, r.err
        return r.err
    assert "another user" not in said()
    os.chown(main / ".git", MALLORY, MALLORY)
    assert "has a .git that names another user's directory" in said()


@ROOT_ONLY
def test_roots_own_env_is_not_that_of_anybody_else(run, tmp_path, home):
    del home
    work = tmp_path / "work"
    (work / ".env").write_text("OPENAI_API_KEY=planted\n")
    assert f"{work}/.env" in run("config", "path").out
    assert "belongs to another user" not in run("config", "path").err
    os.chown(work / ".env", MALLORY, MALLORY)
    r = run("config", "path")
    assert f"{work}/.env belongs to another user (uid {MALLORY})" in r.err

