"""test_records_swept.py - records of sandboxes that are gone go in time."""
# SPDX-License-Identifier: MIT
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
