"""test_cut_connections.py - a long silent command behind a proxy that cuts.

30 minutes of silence, every request cut after 20 s: the clock runs 20 times
faster with DCODE_TEST_LONG=1 (90 s, cut after 1 s); without, there are fewer
cuts. All vendors at once: what they do is wait."""
# SPDX-License-Identifier: MIT
import contextlib
import os

from clouds import DONE, UPLOAD, emulator
from lifecycle import execute, wait_for
from model import ModelServer

LONG = bool(os.environ.get("DCODE_TEST_LONG"))
SILENT, CUT = (90, 1.0) if LONG else (5, 1.0)
COMMAND = (f"echo x >>ran; echo begun; sleep {SILENT}; seq 1 2000; cat ran; "
           "exit 7")
PRINTED = ["begun", *map(str, range(1, 2001)), "x"]


class Behind:
    """A dcode, its vendor, and the proxy between them."""

    def __init__(self, name, start, env, home, stack):
        self.cloud = stack.enter_context(emulator(name))
        self.cloud.fault(".*", times=None, cut_after=CUT)
        self.model = stack.enter_context(ModelServer(
            [execute(COMMAND, timeout=SILENT + 300), DONE]))
        home.mkdir()
        self.run = start(
            "-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name,
            env={**env, **self.cloud.env, **self.model.env,
                 "HOME": str(home)})

    def result(self):
        found = [p["content"] for m in
                 self.model.requests[-1]["body"]["messages"]
                 if isinstance(m["content"], list) for p in m["content"]
                 if p["type"] == "tool_result"]
        return found[0] if isinstance(found[0], str) else "".join(
            t["text"] for t in found[0])


def test_silence(start, env, tmp_path):
    with contextlib.ExitStack() as stack:
        runs = {name: Behind(name, start, env, tmp_path / name, stack)
                for name in UPLOAD}
        for name, one in runs.items():
            one.run.wait(SILENT + 240)
            assert one.run.status == 0, (name, one.run.err)
            lines = one.result().split("\n")
            assert lines[:len(PRINTED)] == PRINTED, (name, lines[:5])
            assert "exit code 7" in "".join(lines[len(PRINTED):]), name
            assert one.cloud.left() == [] and one.cloud.violations == [], name
            wait_for(lambda: len(one.cloud.past) == 1)
            assert one.run.seconds >= SILENT, name
            assert one.cloud.count() > SILENT / CUT, name
            print(name, one.cloud.count(), "requests",
                  f"{one.run.seconds:.1f} s")
