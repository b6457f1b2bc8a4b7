"""test_apply_syncs.py - apply waits for the disk a few times, not per file."""
# SPDX-License-Identifier: MIT
import preload
import pytest
from apply_room import Room, git, tree

FILES = 120


@pytest.fixture(scope="session")
def counter(tmp_path_factory):
    return preload.build(tmp_path_factory, "count_syncs")


@pytest.mark.parametrize("files, most", [(FILES, 24), (3, 40)])
def test_apply_and_undo_wait_for_the_disk_as_a_whole(
        counter, dcode_release, run, home, env, tmp_path, files, most):
    assert run("threads", "list").status == 0
    room = Room(tmp_path / "work", home)
    for i in range(files):
        room.write(**{f"d{i % 7}__{i}": f"file {i}\n"})
    room.commit()
    before = tree(room.root)
    for path in sorted(room.root.glob("d*/*")):
        path.write_text("changed " + path.name)
    patch = tmp_path / "patch"
    patch.write_text(git(room.root, "diff", "--binary"))
    git(room.root, "checkout", "-q", ".")
    before = tree(room.root)

    def synced(*args):
        log = tmp_path / "log"
        log.write_text("")
        done = run(*args, program=dcode_release, env={
            **env, "LD_PRELOAD": str(counter), "SYNC_LOG": str(log)})
        assert done.status == 0, done.err
        return log.read_text()
    apply = synced("apply", "--patch", str(patch))
    assert (room.root / "d1/1").read_text() == "changed 1"
    undo = synced("apply", "--undo")
    assert tree(room.root) == before
    for calls in apply, undo:
        assert 2 <= len(calls) <= most, calls
        # what a crash is taken back from, and the files, before they count
        assert calls.count("s") >= 2 or calls.count("f") >= 3 * files, calls
