"""test_records_swept.py - records of sandboxes that are gone go in time."""
# SPDX-License-Identifier: MIT
import fcntl
import os
import sqlite3
import time

import pytest
from apply_room import LABEL, git
from test_apply import room  # noqa: F401 (a fixture)

LIVE, GONE, STOPPED = 2, 4, 6  # enum ledger_state


@pytest.fixture
def old(room, tmp_path):  # noqa: F811
    """The records of a sandbox that was last used 40 days ago."""
    room.send(tmp_path, lambda there: (there / "a").write_text("agent\n"))
    (room.store / f"{LABEL}.seen").write_text("")
    (room.store / "dcode-bbbbbbbb.listing").write_text("")
    before = time.time() - 40 * 86400
    os.utime(room.store / f"{LABEL}.listing", (before, before))
    return room


@pytest.fixture
def begin(run, model, old):
    """A run that opens the workspace and saves nothing, a day later."""
    def begin():
        (old.store / "swept").unlink(missing_ok=True)
        again()

    def again():
        model([{"text": "Nothing to do."}])
        done = run("-n", "go", "-M", "anthropic:m", "--sandbox", "local",
                   "-y", "--workspace", "repo")
        assert done.status == 0 and "Saved" not in done.err, done.err
    begin.again = again
    return begin


def ledger(room, state):  # noqa: F811
    with sqlite3.connect(room.home / ".deepagents/.state/dcode.db") as db:
        db.execute("DELETE FROM ledger WHERE label = ?", (LABEL,))
        if state:
            db.execute(
                "INSERT INTO ledger(label, provider, endpoint, id, state,"
                " created, ends, changed, pid, started, place) VALUES"
                " (?, 'docker', '', 'x', ?, 1, 0, 1, 0, 0, '')",
                (LABEL, state))


def store_git(room, *args):  # noqa: F811
    return git(room.root, *args, env={"GIT_DIR": str(room.store / "git")})


def bring_back(room):  # noqa: F811
    store_git(room, "update-ref", f"refs/dcode/{LABEL}/sandbox", room.base)


def test_records_go_when_they_are_old_and_the_work_has_come_back(old, begin):
    listing = old.store / f"{LABEL}.listing"
    ledger(old, GONE)
    begin()
    assert listing.exists() and old.ref("base") == old.base
    bring_back(old)
    begin.again()
    assert listing.exists()  # once a day
    begin()
    assert not listing.exists()
    assert not (old.store / f"{LABEL}.seen").exists()
    assert (old.store / "dcode-bbbbbbbb.listing").exists()
    refs = store_git(old, "for-each-ref")
    assert LABEL not in refs and "/base" in refs


def test_records_stay_of_what_the_ledger_does_not_call_gone(old, begin):
    bring_back(old)
    for state in None, LIVE, STOPPED:  # None: the database was lost
        ledger(old, state)
        begin()
        assert (old.store / f"{LABEL}.listing").exists(), state
        assert old.ref("base") == old.base


def test_records_stay_when_the_commit_of_what_was_seen_is_lost(old, begin):
    ledger(old, GONE)
    store_git(old, "update-ref", "-d", f"refs/dcode/{LABEL}/sandbox")
    begin()
    assert (old.store / f"{LABEL}.listing").exists()
    (old.store / f"{LABEL}.seen").unlink()  # nobody ever looked
    begin()
    assert not (old.store / f"{LABEL}.listing").exists()


def age(room, days):  # noqa: F811
    then = time.time() - days * 86400
    os.utime(room.store / f"{LABEL}.listing", (then, then))


def test_records_of_work_that_never_came_back_go_after_a_year(old, begin):
    ledger(old, GONE)
    age(old, 359)
    begin()
    assert (old.store / f"{LABEL}.listing").exists()
    age(old, 361)
    begin()
    assert not (old.store / f"{LABEL}.listing").exists()
    assert LABEL not in store_git(old, "for-each-ref")


def test_gc_sweeps_trees_that_nobody_sends_any_more(old, run):
    ledger(old, GONE)
    bring_back(old)
    gone = old.root.rename(old.root.parent / "elsewhere")
    old.root.mkdir()
    assert run("sandbox", "gc").status == 0
    assert not (old.store / f"{LABEL}.listing").exists()
    assert gone.exists()


def packs(room):  # noqa: F811
    return sorted((room.store / "git/objects/pack").glob("*.pack"))


@pytest.fixture
def many(old):
    """As many packs as make it due, of which nothing is needed any more, and
    one object that was named today."""
    ledger(old, GONE)
    made = []
    for i in range(21):
        text = f"{i}\n".encode()
        oid = git(old.root, "hash-object", "-w", "--stdin", input=text,
                  env={"GIT_DIR": str(old.store / "git")}).strip()
        name = old.store / "git/objects/pack/pack"
        git(old.root, "pack-objects", "-q", str(name),
            input=oid.encode() + b"\n",
            env={"GIT_DIR": str(old.store / "git")})
        made.append(oid)
    before = time.time() - 15 * 86400
    store_git(old, "prune-packed")
    for pack in packs(old):
        os.utime(pack, (before, before))
    assert len(packs(old)) == 21
    fresh = git(old.root, "hash-object", "-w", "--stdin", input=b"fresh",
                env={"GIT_DIR": str(old.store / "git")}).strip()
    return made[0], fresh


def has(room, oid):  # noqa: F811
    return git(room.root, "cat-file", "-e", oid, check=False, env={
        "GIT_DIR": str(room.store / "git"), "GIT_TRACE": "0"}) == "" and (
            oid in store_git(room, "cat-file", "--batch-all-objects",
                             "--batch-check"))


@pytest.mark.parametrize("how", ["run", "gc"])
def test_objects_are_packed_and_old_ones_that_nothing_names_go(
        old, many, begin, run, how):
    useless, fresh = many
    if how == "run":
        begin()
    else:
        assert run("sandbox", "gc").status == 0
    assert len(packs(old)) <= 3
    assert not has(old, useless) and has(old, fresh)
    assert old.ref("base") == old.base
    assert "agent" in run("diff", LABEL).out
    stamp = old.store / "git/packed"
    assert int(stamp.read_text()) > 0


def test_nothing_is_packed_while_another_dcode_has_the_tree_open(
        old, many, begin, run):
    with (old.store / "use.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        begin()
        assert run("sandbox", "gc").status == 0
        assert has(old, many[0]) and len(packs(old)) >= 21
    begin()
    assert not has(old, many[0])


def test_nothing_is_packed_before_a_cut_apply_is_finished(old, many, run):
    (old.store / "journal.new").mkdir()
    assert run("sandbox", "gc").status == 0
    assert has(old, many[0])
    (old.store / "journal.new").rmdir()
    assert run("sandbox", "gc").status == 0
    assert not has(old, many[0])


def test_a_large_tree_is_not_packed_before_it_has_grown(old, begin, run):
    ledger(old, GONE)
    stamp = old.store / "git/packed"
    with (old.store / "git/objects/pack/pack-x.pack").open("w") as f:
        f.truncate(80 << 20)
    begin()
    assert not stamp.exists()
    stamp.write_text("1000\n")  # so many bytes two days ago
    before = time.time() - 2 * 86400
    os.utime(stamp, (before, before))
    begin()
    assert stamp.stat().st_mtime > before + 86400


def test_that_another_dcode_packs_is_said_while_one_waits(start, model, old):
    model([{"text": "Nothing to do."}])
    packs = os.open(old.store / "use.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(packs, fcntl.LOCK_EX)
    r = start("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
              "--workspace", "repo")
    said = next((line for line in r.p.stderr
                 if "waiting for another dcode" in line), None)
    os.close(packs)
    r.wait(60)
    assert said and r.status == 0, r.err
