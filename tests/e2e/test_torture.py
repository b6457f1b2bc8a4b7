"""test_torture.py - each piece of each vendor's answers, spoiled once.

A piece is a head, a body or one write of a stream. CI tries every eighth, each
way of spoiling others; DCODE_TORTURE_STEP=1 tries all."""
# SPDX-License-Identifier: MIT
import os

import pytest

from cloud_box import Box
from clouds import DONE, NAMES, results
from lifecycle import call, execute, wait_for

STEP = int(os.environ.get("DCODE_TORTURE_STEP", "8"))
WAYS = ["cut", "lost", "reset", "twice"]
SCRIPT = [execute("echo x >>ran; cat ran"),
          {"tool_calls": [call("write_file", file_path="b",
                               content="one\n")]},
          {"tool_calls": [call("read_file", file_path="b")]},
          execute("echo y >>ran; cat ran b"), DONE]
FEWEST = 8  # pieces of a run


@pytest.fixture
def ran(monkeypatch):
    """What the commands of each sandbox left, once it is deleted."""
    left, alive, make, destroy = [], set(), Box.__init__, Box.destroy

    def count(box, *args, **how):
        alive.add(box)
        make(box, *args, **how)

    def look_first(box):
        path = box.root / box.workdir.lstrip("/") / "ran"
        if path.exists():
            left.append(path.read_text())
        destroy(box)
        alive.discard(box)
    monkeypatch.setattr(Box, "__init__", count)
    monkeypatch.setattr(Box, "destroy", look_first)

    def when_all_are_gone():
        wait_for(lambda: not alive)
        found = left[:]
        left.clear()
        return found
    return when_all_are_gone


@pytest.mark.parametrize("name, way", [
    (name, way) for name in NAMES for way in WAYS
    # Few of the others' answers are streams: CI spares them that.
    if way != "twice" or name in ("e2b", "vercel") or STEP == 1])
def test_torture(vendor, model, run, ran, name, way):
    """Every run ends, in success or an error that names the vendor; no
    command runs twice, no sandbox is left."""
    cloud = vendor(name)
    server = model(SCRIPT)
    n = 1 + WAYS.index(way) * STEP // len(WAYS)
    failed = 0
    while True:
        cloud.forget()
        cloud.spoil(n, way)
        r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name,
                timeout=90)
        assert cloud.left() == [], n
        told = ran()
        assert all(text in ("x\n", "x\ny\n") for text in told), (n, told)
        if r.status == 0:
            assert told == ["x\ny\n"], (n, told)
            assert results(server)[3].startswith("x\ny\none"), n
        else:
            failed += 1
            assert f"{name}: " in r.err, (n, r.err)
        if not cloud.spoiled:
            break
        n += STEP
    print(f"{name}, {way}: {n} pieces, {failed} runs failed")
    assert r.status == 0 and n > FEWEST
