"""test_trust_a4_paths.py - a file tool asks about the path it will write."""
# SPDX-License-Identifier: MIT
import pytest

from test_hostile_chat import chat  # noqa: F401 (a fixture)

DONE = {"text": "done."}
ASKS = "Allow it? [y/N] "


def call(tool, **args):
    return {"tool_calls": [{"name": tool, "args": args}]}


WRITE = call("write_file", file_path="notes.txt", content="new\n")
EDIT = call("edit_file", file_path="notes.txt", old_string="old",
            new_string="new")
DELETE = call("delete", file_path="notes.txt")


@pytest.mark.parametrize("what", [WRITE, EDIT])
def test_the_target_of_a_link_is_named(
        chat, home, tmp_path, what):  # noqa: F811
    target = home / "profile"
    target.write_text("old\n")
    (tmp_path / "work" / "notes.txt").symlink_to(target)
    t, _ = chat([what, DONE])
    t.type("go\r")
    asked = t.until(ASKS)
    assert f"acts on: {target} (outside the working directory)" in \
        asked.replace("\r\n    ", "")
    t.type("y\r")
    t.until("done.")
    assert target.read_text() == "new\n"  # what was shown was written


@pytest.mark.parametrize("what", [WRITE, EDIT, DELETE])
def test_without_a_link_nothing_is_added(chat, tmp_path, what):  # noqa: F811
    path = tmp_path / "work" / "notes.txt"
    path.write_text("old\n")
    t, _ = chat([what, DONE])
    t.type("go\r")
    assert "acts on" not in t.until(ASKS)
    t.type("y\r")
    t.until("done.")
    assert not path.exists() or path.read_text() == "new\n"


@pytest.mark.parametrize("kind", ["parent", "dangling", "chain", "absolute"])
def test_every_way_out_is_named(chat, home, tmp_path, kind):  # noqa: F811
    work, out = tmp_path / "work", home / "out"
    out.mkdir()
    path, real = "notes.txt", out / "f"
    if kind == "parent":
        (work / "dir").symlink_to(out)
        path, real = "dir/new/f", out / "new" / "f"
    elif kind == "chain":
        (work / "notes.txt").symlink_to("hop")
        (work / "hop").symlink_to("../home/out/f")
    elif kind == "dangling":
        (work / "notes.txt").symlink_to(real)
    else:
        path = str(real)
    t, _ = chat([call("write_file", file_path=path, content="x"), DONE])
    t.type("go\r")
    asked = t.until(ASKS).replace("\r\n    ", "")
    assert f"acts on: {real} (outside" in asked
    t.type("n\r")
    t.until("done.")
    assert not any(out.iterdir())


def test_deleting_a_link_is_said_to_leave_its_target(
        chat, home, tmp_path):  # noqa: F811
    (home / "kept").write_text("x")
    (tmp_path / "work" / "notes.txt").symlink_to(home / "kept")
    t, _ = chat([DELETE, DONE])
    t.type("go\r")
    assert "the link itself" in t.until(ASKS).replace("\r\n    ", "")
    t.type("y\r")
    t.until("done.")
    assert (home / "kept").exists()
    assert not (tmp_path / "work" / "notes.txt").is_symlink()


@pytest.mark.parametrize("swap", ["file", "parent"])
def test_a_link_that_comes_after_the_question_is_not_followed(
        chat, home, tmp_path, swap):  # noqa: F811
    (tmp_path / "work" / "d").mkdir()
    (home / "f").write_text("kept")
    t, server = chat([call("write_file", file_path="d/f", content="x"), DONE])
    t.type("go\r")
    t.until(ASKS)
    if swap == "file":
        (tmp_path / "work" / "d" / "f").symlink_to(home / "f")
    else:
        (tmp_path / "work" / "d").rmdir()
        (tmp_path / "work" / "d").symlink_to(home)
    t.type("y\r")
    t.until("done.")
    assert (home / "f").read_text() == "kept"
    assert "path_changed" in str(server.requests[-1]["body"])
