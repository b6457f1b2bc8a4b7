"""test_export_patch.py - an exported thread takes its sandbox's work along."""
# SPDX-License-Identifier: MIT
import base64
import json
import shlex

import pytest

from lifecycle import execute
from test_diff import patches
from test_workspace import DONE, box, git, local, task, work  # noqa: F401

pytestmark = local
CHANGE = "echo agent >src/main.c; mkfifo pipe"


@pytest.fixture
def kept(task, work):
    """A kept sandbox in which a file was changed."""
    r = task([execute(CHANGE), DONE], "--workspace", "repo", "--keep").wait()
    assert r.status == 0, r.err


@pytest.fixture
def exported(run, home):
    """exported(): the patch of an export, or None, and what was said."""
    def read(**how):
        r = run("threads", "export", "latest", str(home / "x.json"), "--force",
                "--with-patch", **how)
        assert r.status == 0, r.err
        doc = json.loads((home / "x.json").read_text())
        if "patch" not in doc:
            return None, r.err
        return b"".join(map(base64.b64decode, doc["patch_base64"])), r.err
    return read


def command(run, text):
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    assert run("sandbox", "exec", name, "--", text).status == 0
    return name


def test_the_patch_is_what_a_living_sandbox_has_now(
        kept, run, exported, work, home):
    patch, said = exported()
    assert b"+agent" in patch and "Left in the sandbox: pipe" in said
    saved, = patches(home)
    assert saved.read_bytes().replace(bytes(work), b"work") == patch
    assert exported()[0] == patch and patches(home) == [saved]
    name = command(run, "echo later >>src/main.c")
    patch, _ = exported()
    assert b"+later" in patch
    (home / "copy").mkdir()
    git(home / "copy", "init", "-q")
    (home / "copy/src").mkdir()
    (home / "copy/src/main.c").write_text("int main2;\n")
    (home / "x.patch").write_bytes(patch)
    git(home / "copy", "apply", home / "x.patch")
    assert (home / "copy/src/main.c").read_text() == "agent\nlater\n"
    assert name in run("sandbox", "list").out  # it stays
    assert (work / "src/main.c").read_text() == "int main2;\n"


def test_what_has_come_back_is_not_exported_again(kept, run, exported):
    assert b"+agent" in exported()[0]
    assert run("apply").status == 0
    patch, said = exported()
    assert patch is None and "are applied" in said


def test_the_newest_saved_patch_goes_where_the_sandbox_does_not_answer(
        kept, run, exported, home):
    assert b"+agent" in exported()[0]
    name = command(run, "echo lost >>src/main.c")
    sandboxes = home / ".deepagents/sandboxes"
    sandboxes.rename(home / "away")
    patch, said = exported()
    assert b"+agent" in patch and b"+lost" not in patch
    assert "cannot read the sandbox" in said
    (home / "away").rename(sandboxes)
    assert run("sandbox", "rm", name).status == 0
    assert b"+lost" in exported()[0]  # saved by the deletion


def test_a_tree_of_another_directory_is_found(kept, run, home):
    name = json.loads(run("threads", "list", "--json").out)["data"][0][
        "thread_id"]
    (home / "other").mkdir()
    r = run("threads", "export", name, "-", "--with-patch",
            cwd=home / "other")
    assert r.status == 0, r.err
    assert b"+agent" in b"".join(
        map(base64.b64decode, json.loads(r.out)["patch_base64"]))


def test_a_page_shows_the_patch_and_not_where_the_tree_is(kept, run, work):
    r = run("threads", "export", "latest", "-", "--html", "--with-patch")
    assert r.status == 0 and "+agent" in r.out and "Base: " in r.out
    assert str(work) not in r.out


def test_an_import_says_how_its_patch_comes_onto_the_tree(
        kept, run, work, home, env):
    assert run("threads", "export", "latest", str(home / "x.json"),
               "--with-patch").status == 0
    doc = json.loads((home / "x.json").read_text())
    patch = b"".join(map(base64.b64decode, doc["patch_base64"]))
    assert str(work).encode() in patches(home)[0].read_bytes()
    assert str(home.parent).encode() not in patch
    assert f"\nTree: {work.name}\n".encode() in patch
    clone = home / "their clone"
    git(home, "clone", "-q", work, clone)
    (clone / "src/main.c").write_text("int main2;\n")
    theirs = {**env, "DEEPAGENTS_HOME": str(home / "their home")}
    r = run("threads", "import", str(home / "x.json"), cwd=clone, env=theirs)
    assert r.status == 0, r.err
    line, = [x for x in r.out.splitlines() if "dcode apply" in x]
    words = shlex.split(line.partition(": dcode ")[2])
    assert words[:2] == ["apply", "--patch"] and len(words) == 3
    r = run(*words, cwd=clone, env=theirs)
    assert r.status == 0, r.err
    assert (clone / "src/main.c").read_text() == "agent\n"
