"""test_move.py - a thread goes to another sandbox with its work."""
# SPDX-License-Identifier: MIT
import json

import pytest

from clouds import vendor_fixture  # noqa: F401 (a fixture)
from slash_chat import on_screen, talk  # noqa: F401 (a fixture)
from test_undo import (  # noqa: F401 (a fixture)
    LOOK, begin, execute, go, prompt, tree, turns)

EDIT = ("printf 'two\\n' >a.c; rm link; chmod -x run.sh; mkdir -p d; "
        "echo new >'d/a b'; ln -s ../a.c d/l; echo x >d/x; chmod +x d/x")
EDITED = ["a.c 644 two", "d/a b 644 new", "d/l -> ../a.c", "d/x 755 x",
          "run.sh 644 run"]


def boxes(run):
    """Provider and name of each sandbox that exists."""
    rows = json.loads(run("sandbox", "list", "--json").out)["data"]
    return {r["provider"]: r["name"] for r in rows}


def look(run, name):
    r = run("sandbox", "exec", name, "--", LOOK)
    assert r.status == 0, r.err
    return r.out.splitlines()


def thread(run):
    (one,) = json.loads(run("threads", "list", "--json").out)["data"]
    return one


@on_screen
def test_a_thread_moves_with_its_files(talk, tree, vendor, run):
    vendor("e2b")
    c = begin(talk, EDIT, "cat a.c")
    go(c, 1)
    before = look(run, boxes(run)["local"])
    diff = run("diff").out
    c.say("/move e2b", "Move this thread to e2b? [y/N]")
    c.until("6 changed files of the local sandbox")
    c.say("y", "on the same files")
    go(c, 2)
    asked = prompt(c, "go 2")
    assert "were moved there as they were" in asked
    place = boxes(run)
    assert set(place) == {"local", "e2b"}  # --on-exit keep
    assert look(run, place["e2b"]) == before == EDITED
    assert thread(run)["sandbox"]["provider"] == "e2b"
    assert run("diff").out == diff
    c.keys("C-d")
    assert c.status() == 0


@pytest.mark.parametrize("talk", ["lines"], indirect=True)
def test_no_leaves_the_thread_where_it_is(talk, tree, vendor, run):
    cloud = vendor("e2b")
    c = begin(talk, EDIT)
    go(c, 1)
    c.say("/move e2b", "[y/N]")
    c.say("n")
    c.say("/sandbox status", "provider   local")
    assert set(boxes(run)) == {"local"}
    assert not [r for r in cloud.requests if r["method"] == "POST"]
