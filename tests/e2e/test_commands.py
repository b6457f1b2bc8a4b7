"""test_commands.py - what a command of the model's finds, and what of it the
model is told."""
# SPDX-License-Identifier: MIT
import json

import pytest

from clouds import DONE, results
from lifecycle import execute

TASK = ("-n", "hi", "-y", "-M", "anthropic:m")
PLACES = [(), ("--sandbox", "local")]
MIXED = "for i in 1 2 3 4; do echo out$i; echo err$i >&2; done"
IN_ORDER = "".join(f"out{i}\nerr{i}\n" for i in (1, 2, 3, 4))


@pytest.mark.parametrize("place", PLACES)
def test_both_streams_come_in_the_order_in_which_they_were_written(
        run, model, place):
    server = model([execute(MIXED)] * 4 + [DONE])
    r = run(*TASK, *place)
    assert r.status == 0, r.err
    assert [t.partition("\n[Command")[0] + "\n" for t in results(server)] \
        == [IN_ORDER] * 4


@pytest.mark.parametrize("name", ["e2b", "langsmith"])
def test_both_streams_of_a_vendor_come_in_order(run, model, vendor, name):
    vendor(name)
    server = model([execute(MIXED), DONE])
    r = run(*TASK, "--sandbox", name)
    assert r.status == 0, r.err
    assert IN_ORDER.strip() in results(server)[0]


def test_streams_that_are_asked_for_apart_stay_apart(run, model):
    model([DONE])
    assert run(*TASK, "--sandbox", "local", "--keep").status == 0
    listed = run("sandbox", "list", "--json").out
    box = json.loads(listed)["data"][0]["id"]
    r = run("sandbox", "exec", box, "echo out; echo err >&2")
    run("sandbox", "rm", box, "--force")
    assert (r.out, r.err) == ("out\n", "err\n")
