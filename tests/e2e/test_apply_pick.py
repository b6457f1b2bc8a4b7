"""test_apply_pick.py - dcode apply --interactive: what comes is picked."""
# SPDX-License-Identifier: MIT
import os
import pty

from apply_room import tree
from test_apply import TEN, room, send  # noqa: F401


def type_answers(command, env, cwd, answers):
    """Runs it at a terminal and types one line for each question."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execve(command[0], [str(c) for c in command], env)
    seen = b""
    for answer in answers:
        begin = len(seen)
        while b"?]? " not in seen[begin:]:
            seen += os.read(fd, 4096)
        os.write(fd, answer.encode() + b"\n")
    while True:
        try:
            more = os.read(fd, 4096)
        except OSError:
            break
        if not more:
            break
        seen += more
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode()


def test_interactive_takes_the_hunks_that_were_picked(
        dcode, env, run, room, tmp_path):
    long = "".join(f"line {i}\n" for i in range(60))
    room.write(a=long)
    room.commit()

    def change(there):
        (there / "a").write_text(long.replace("line 5\n", "five\nmore\n")
                                 .replace("line 30\n", "")
                                 .replace("line 55\n", "fifty-five\n"))
        (there / "b").unlink()
        (there / "dir/new").write_text("new\n")
    send(room, tmp_path, change)
    refused = run("apply", "--interactive")
    assert refused.status == 2 and "needs a terminal" in refused.err
    status, seen = type_answers([dcode, "apply", "--interactive"], env,
                                room.root, ["n", "?", "n", "y", "n", "y"])
    assert status == 0, seen
    assert "q - skip it and all" in seen
    assert (room.root / "a").read_text() == long.replace(
        "line 55\n", "fifty-five\n")
    assert (room.root / "b").exists()
    assert (room.root / "dir/new").read_text() == "new\n"
    rest = run("apply")  # what was left is still to come
    assert rest.status == 0, rest.err
    assert (room.root / "a").read_text().startswith(
        "line 0\nline 1\nline 2\nline 3\nline 4\nfive\nmore\n")
    assert not (room.root / "b").exists()


def test_interactive_asks_for_a_mode_by_itself_and_for_kinds_as_one(
        dcode, env, room, tmp_path):
    def change(there):
        (there / "a").write_text(TEN.replace("line 5", "five"))
        (there / "a").chmod(0o755)
        (there / "b").unlink()
        (there / "b").symlink_to("a")
        (there / "dir/c").unlink()
        (there / "dir").rmdir()
        (there / "dir").write_text("a file\n")
    send(room, tmp_path, change)
    before = tree(room.root)
    command = [dcode, "apply", "--interactive"]
    status, seen = type_answers(command, env, room.root,
                                ["n", "n", "n", "n"])
    assert status == 0 and tree(room.root) == before
    assert "Nothing was chosen." in seen
    status, seen = type_answers(command, env, room.root,
                                ["n", "y", "n", "y"])
    assert status == 0, seen
    assert "Apply this mode change" in seen
    assert "five" in (room.root / "a").read_text()
    assert (room.root / "a").stat().st_mode == before[b"a"][0]
    assert not (room.root / "b").is_symlink()
    assert (room.root / "dir").read_text() == "a file\n"
