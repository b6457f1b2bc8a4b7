"""test_trust_c4_listed_writing.py - what a list with -S lets a run write."""
# SPDX-License-Identifier: MIT
import os

import pytest

DONE = {"text": "done."}
CHANGES = {"write_file", "edit_file", "delete"}


def call(tool, **args):
    return {"tool_calls": [{"name": tool, "args": args}]}


def write(path):
    return call("write_file", file_path=path, content="x")


@pytest.fixture
def work(tmp_path, home):
    return tmp_path / "work"


@pytest.fixture
def task(model, run):
    """task(turns..., flags) -> the run, the text of its last result."""
    def go(*turns, flags=("-S", "make")):
        server = model([*turns, DONE])
        r = run("-n", "go", "-M", "anthropic:m", *flags)
        last = server.requests[-1]["body"]["messages"][-1]["content"]
        assert r.status in (0, 4), r.err
        return r, str(last[-1].get("content")), server
    return go


def offered(server):
    return {t["name"] for t in server.requests[0]["body"]["tools"]}


def test_a_list_lets_a_run_change_files_of_the_directory(task, work):
    (work / "old").write_text("one two")
    (work / "tree" / "sub").mkdir(parents=True)
    r, _, server = task(
        write("src/new/a.c"),
        call("edit_file", file_path="old", old_string="two",
             new_string="three"),
        call("delete", file_path="tree"))
    assert CHANGES <= offered(server)
    assert (work / "src" / "new" / "a.c").read_text() == "x"
    assert (work / "old").read_text() == "one three"
    assert not (work / "tree").exists()
    assert "only these commands: make" in r.err


def test_without_a_list_it_only_reads_and_says_so(task, work):
    r, result, server = task(write("a.c"), flags=())
    assert not CHANGES & offered(server) and not (work / "a.c").exists()
    assert "not permitted" in result
    said = [line for line in r.err.splitlines() if "may only read" in line]
    assert len(said) == 1 and "-S LIST" in said[0]


@pytest.mark.parametrize("path", [
    ".git/hooks/pre-commit", "sub/.git/config", ".GIT/config", "git~1/config",
    ".git./config", ".git /config", ".g\u200cit/config", ".Git/x", "sub/.git",
    ".git::$INDEX_ALLOCATION/config", "a/.envrc", ".env", ".env.local",
    ".ENVRC", "x/.vscode/tasks.json", ".claude/settings.json", ".mcp.json",
    "deep/er/.husky/pre-commit", ".idea/x", ".agents/x", ".deepagents/x"])
def test_names_that_run_things_are_refused(task, work, path):
    _, result, _ = task(write(path))
    assert "protected" in result and "not permitted" in result
    assert not any(p for p in work.rglob("*") if p.is_file())


@pytest.mark.parametrize("path", [
    ".gitignore", ".github/x", "git/config", "a.git/x", "envrc", "claude"])
def test_names_that_only_look_like_them_are_not(task, work, path):
    task(write(path))
    assert (work / path).read_text() == "x"


@pytest.mark.parametrize("kind", [
    "absolute", "link", "parent", "dangling", "git", "gitfile", "hard"])
def test_where_links_lead_counts(task, work, home, kind):
    (home / "f").write_text("kept")
    path = "link"
    if kind == "absolute":
        path = str(home / "f")
    elif kind == "link":
        (work / "link").symlink_to(home / "f")
    elif kind == "parent":
        (work / "dir").symlink_to(home)
        path = "dir/f"
    elif kind == "dangling":
        (work / "link").symlink_to(home / "new")
    elif kind == "git":
        (work / ".git" / "hooks").mkdir(parents=True)
        (work / "dir").symlink_to(".git/hooks")
        path = "dir/pre-commit"
    elif kind == "gitfile":  # a repository by another name
        for name in ("refs", "objects", "hooks"):
            (work / "data" / name).mkdir(parents=True)
        (work / "data" / "HEAD").write_text("ref: refs/heads/main\n")
        (work / ".git").write_text("gitdir: data\n")
        path = "data/hooks/pre-commit"
    else:
        os.link(home / "f", work / "link")
    _, result, _ = task(write(path))
    assert "not permitted" in result
    assert (home / "f").read_text() == "kept"
    assert not (home / "new").exists()
    assert not list(work.rglob("pre-commit"))


def test_a_link_within_the_directory_is_followed(task, work):
    (work / "src").mkdir()
    (work / "link").symlink_to("src/a")
    task(write("link"))
    assert (work / "src" / "a").read_text() == "x"
    assert (work / "link").is_symlink()


@pytest.mark.parametrize("path", [".", "sub", ".git", "sub/deep/.envrc"])
def test_deleting_takes_nothing_protected_along(task, work, path):
    (work / ".git").mkdir()
    (work / "sub" / "deep").mkdir(parents=True)
    (work / "sub" / "deep" / ".envrc").write_text("x")
    _, result, _ = task(call("delete", file_path=path))
    assert "not permitted" in result or "holds the working" in result
    assert (work / "sub" / "deep" / ".envrc").exists()
    assert (work / ".git").exists()


def test_the_list_of_names_is_a_setting(task, work, config):
    config('protect = ["Makefile"]\n')
    _, result, _ = task(write(".envrc"), write("sub/makefile"))
    assert "protected" in result and (work / ".envrc").exists()
    assert not (work / "sub").exists()


@pytest.mark.parametrize("path, written", [
    ("a/b", True), ("in", True), ("out", False), (".git/x", False)])
def test_the_same_holds_for_a_bound_directory(task, work, config, path,
                                              written):
    config('[sandboxes.providers.local.params]\nworkspace = "bind"\n')
    (work / "in").symlink_to("real")
    (work / "out").symlink_to("/tmp/elsewhere")
    _, result, _ = task(write(path), flags=("-S", "make", "--sandbox",
                                            "local"))
    assert ("Updated" in result) == written
    assert ("not permitted" in result) != written
    if written:
        assert (work / path).read_text() == "x"
