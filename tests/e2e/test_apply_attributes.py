"""test_apply_attributes.py - .gitattributes choose how apply merges."""
# SPDX-License-Identifier: MIT
import pytest
from apply_room import Room, git
from test_apply import TEN, plant, ran

LOCAL = TEN.replace("line 5", "my line 5")
THERE = TEN.replace("line 5", "the sandbox's line 5")
NAMES = ("union", "unset", "binary", "driver", "info", "home", "sub/deep")


@pytest.fixture
def room(run, home, tmp_path):
    assert run("threads", "list").status == 0  # makes the database
    made = Room(tmp_path / "work", home)
    for name in NAMES:
        made.write(**{name.replace("/", "__"): TEN})
    return made


def edit_all(there):
    for name in NAMES:
        (there / name).write_text(THERE)


def merge_with_git(room, tmp_path):
    """The same merge by git itself, whose drivers are all its own."""
    there = tmp_path / "plain"
    git(tmp_path, "clone", "-q", str(room.root), str(there))
    info = room.root / ".git/info/attributes"
    (there / ".git/info/attributes").write_bytes(info.read_bytes())
    git(there, "checkout", "-q", "-b", "sandbox")
    edit_all(there)
    git(there, "commit", "-q", "-a", "-m", "theirs")
    git(there, "checkout", "-q", "main")
    for name in NAMES:
        (there / name).write_text(LOCAL)
    git(there, "commit", "-q", "-a", "-m", "ours")
    git(there, "-c", f"core.attributesFile={room.home}/attributes", "merge",
        "-q", "sandbox", check=False)
    return {name: (there / name).read_text().replace("HEAD", "local")
            for name in NAMES}


def test_attributes_choose_how_lines_are_merged_and_run_nothing(
        run, room, tmp_path):
    out = tmp_path / "out"
    room.write(**{".gitattributes": "union merge=union\nunset -merge\n"
                  "binary binary\ndriver merge=x filter=x\n",
                  "sub__.gitattributes": "deep merge=union\n"})
    room.commit()
    (room.root / ".git/info/attributes").write_text("info merge=union\n")
    (room.home / "attributes").write_text("home merge=union\n")
    (room.home / ".gitconfig").write_text(
        f"[core]\nattributesFile = {room.home}/attributes\n")
    expected = merge_with_git(room, tmp_path)
    plant(room, out)
    room.send(tmp_path, edit_all)
    for name in NAMES:
        (room.root / name).write_text(LOCAL)
    done = run("apply", "--conflicts")
    assert done.status == 1, done.err
    for name in ("union", "info", "home", "sub/deep"):
        text = (room.root / name).read_text()
        assert "my line 5\nthe sandbox's line 5\n" in text, name
        assert name not in done.err.split("onflicts", 1)[-1]
    for name in ("unset", "binary"):
        assert (room.root / name).read_text() == LOCAL
        assert name in done.err
    assert "<<<<<<< local" in (room.root / "driver").read_text()
    assert {n: (room.root / n).read_text() for n in NAMES} == expected
    assert ran(out) == []
    assert not list(room.store.glob("git/merge*"))


def test_without_attributes_the_same_edits_are_conflicts(run, room, tmp_path):
    room.commit()
    room.send(tmp_path, edit_all)
    for name in NAMES:
        (room.root / name).write_text(LOCAL)
    done = run("apply", "--conflicts")
    assert done.status == 1
    for name in NAMES:
        assert "<<<<<<< local" in (room.root / name).read_text(), name


def test_no_attribute_makes_conflict_markers_longer(run, room, tmp_path):
    size = "* conflict-marker-size=40\n"
    room.write(**{".gitattributes": size + "union merge=union\n"})
    room.commit()
    (room.root / ".git/info/attributes").write_text(size)
    (room.home / "attributes").write_text(size)
    (room.home / ".gitconfig").write_text(
        f"[core]\nattributesFile = {room.home}/attributes\n")
    long = "<" * 40 + " local\n"
    assert long in merge_with_git(room, tmp_path)["driver"]
    room.send(tmp_path, edit_all)
    for name in NAMES:
        (room.root / name).write_text(LOCAL)
    done = run("apply", "--conflicts")
    assert done.status == 1, done.err
    # The same file's other attributes count.
    assert "<<<" not in (room.root / "union").read_text()
    text = (room.root / "driver").read_text()
    assert "\n<<<<<<< local\n" in text and "\n>>>>>>> sandbox\n" in text


CRLF = "one\r\ntwo\r\nthree\r\n"
STORED = {"text": "one\nTWO\nthree\n", "raw": "one\r\nTWO\r\nthree\r\n",
          "script.bat": "one\nTWO\nthree\n"}


@pytest.mark.parametrize("where", ["repository", "home"])
def test_branch_merges_line_ends_as_git_stores_them(
        run, home, tmp_path, env, where):
    assert run("threads", "list").status == 0
    room = Room(tmp_path / "work", home)
    config = home / "config"
    env["XDG_CONFIG_HOME"] = str(config)
    (config / "git").mkdir(parents=True)
    (config / "git/config").write_text(
        "[user]\nname=B\nemail=b@example.org\n")
    place = (room.root / ".git/config" if where == "repository" else
             config / "git/config")
    with place.open("a") as file:
        file.write("[core]\nautocrlf = true\n")
    room.write(**{".gitattributes": "raw -text\n*.bat text eol=crlf\n"})
    for name in (*STORED, "gone"):
        (room.root / name).write_bytes(CRLF.encode())
    git(room.root, "-c", "core.autocrlf=true", "add", "-A")
    git(room.root, "commit", "-q", "-m", "first")

    def change(there):
        for name in STORED:
            (there / name).write_bytes(CRLF.replace("two", "TWO").encode())
        (there / "gone").unlink()
    room.send(tmp_path, change)
    done = run("apply", "--branch", "work")
    assert done.status == 0, done.err
    assert {n: git(room.root, "cat-file", "blob", f"work:{n}")
            for n in STORED} == STORED
    assert "gone" not in git(room.root, "ls-tree", "--name-only", "work")
