"""test_jobs_soak.py - a job under kills of its dcode and cuts of the way there.

10,000 lines; DCODE_TEST_LONG=1: 100 kills and 1,000 cuts, on an engine too."""
# SPDX-License-Identifier: MIT
import json
import os
import random
import re
import signal
import time

import pytest

from clouds import call, results
from cutter import Cutter
from lifecycle import execute, wait_for
from test_jobs_survive import thread

LONG = bool(os.environ.get("DCODE_TEST_LONG"))
KILLS, CUTS, SECONDS = (100, 1000, 200) if LONG else (3, 15, 5)
WHERE = ["e2b", "docker"] if LONG else ["e2b"]
A = ("-y", "-M", "anthropic:m")
ALL = b"".join(b"line %d\n" % i for i in range(1, 10001))
JOB = ("echo ran >>~/ran; i=0; while [ $i -lt 10000 ]; do i=$((i+1)); "
       f"echo line $i; [ $((i % 100)) != 0 ] || sleep {SECONDS / 100}; done; "
       "exit 7")
TOLD = re.compile(r"\A(.*?)\n?\[job 1 ([^;]*); bytes (\d+) to (\d+) of "
                  r"(\d+)\]", re.S)


@pytest.fixture(name="where", params=WHERE)
def where_fixture(request, env, config):
    """The provider, behind a relay that is not cutting yet."""
    seed = int(os.environ.get("DCODE_TEST_SEED", "0"))
    if request.param == "docker":
        rig = request.getfixturevalue("rig")
        upstream = rig.docker_host.removeprefix("unix://")
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\nnetwork = "none"\n')
    else:
        cloud = request.getfixturevalue("vendor")(request.param)
        upstream = ("127.0.0.1", cloud.port)
    with Cutter(upstream, seed) as relay:
        if request.param == "docker":
            env["DOCKER_HOST"] = f"tcp://127.0.0.1:{relay.port}"
        else:
            env.update({k: relay.url for k in env
                        if k.startswith("E2B_") and k.endswith("_URL")})
        relay.name, relay.dice = request.param, random.Random(seed)
        yield relay
        relay.cutting = False
        if request.param != "docker":
            cloud.violations[:] = [v for v in cloud.violations
                                   if "not one envelope" not in v and
                                   "E2b-Sandbox" not in v]  # were cut


class Seen:
    """What the model was told of the job."""

    def __init__(self, server):
        self.server, self.have, self.state, self.size = server, {}, "", 0

    def look(self):
        if not self.server.requests:
            return
        for text in results(self.server)[-40:]:
            m = TOLD.match(text)
            if not m:
                continue
            start, end = int(m[3]), int(m[4])
            if end > start:
                self.have[start, end] = m[1].encode()
            self.state, self.size = m[2], int(m[5])

    def covered(self):
        """Bytes from the first on without a gap, each as it was printed."""
        at = 0
        for (start, end), text in sorted(self.have.items()):
            if text != ALL[start:end].removesuffix(b"\n"):
                return f"bytes {start} to {end} differ"
            at = max(at, end) if start <= at else at
        return at

    def all(self):
        return "exit code" in self.state and self.covered() == len(ALL)


def serve(server, turns, **how):
    server.model.script = type(server.model.script)(
        {"turns": turns, "by": "count", "repeat": True, **how})
    server.model.answered = 0


def test_ten_thousand_lines_survive_kills_and_cuts(
        where, model, start, run, home):
    read = {"tool_calls": [call("job_output", job=1)], "delay_ms": 150}
    server = model({"turns": [execute(JOB, background=True), read],
                    "by": "count"})
    first = start("-n", "go", *A, "--sandbox", where.name)
    wait_for(lambda: server.requests, 60)
    where.cutting = True
    wait_for(lambda: len(server.requests) > 1, 120)
    first.signal(signal.SIGKILL)
    first.wait()
    kills, seen = 1, Seen(server)
    serve(server, [read])
    name = thread(home)
    end = time.monotonic() + 60 * KILLS
    while kills < KILLS or where.cuts < CUTS or not seen.all():
        assert time.monotonic() < end, (kills, where.cuts, seen.state)
        one = start("-n", "go on", *A, "-r", name)
        enough = kills >= KILLS and where.cuts >= CUTS
        until = time.monotonic() + (60 if enough else
                                    where.dice.uniform(0.1, 4))
        while (one.p.poll() is None and time.monotonic() < until and
               not (enough and seen.all())):
            time.sleep(0.02)
            seen.look()
        if one.p.poll() is None:
            one.signal(signal.SIGKILL)
            kills += 1
        one.wait()
        seen.look()
        if LONG and kills % 10 == 0:
            print(f"{where.name}: {kills} kills, {where.cuts} cuts, "
                  f"{seen.covered()} bytes, {seen.state}", flush=True)
        assert isinstance(seen.covered(), int), seen.covered()
    where.cutting = False
    assert seen.state.startswith("ended with exit code 7"), seen.state
    assert seen.size == len(ALL)
    box, = json.loads(run("sandbox", "list", "--json").out)["data"]
    last = run("sandbox", "exec", box["name"], "--", "cat ~/ran")
    assert (last.status, last.out) == (0, "ran\n"), last.err
    print(f"{where.name}: {kills} kills, {where.cuts} cuts")
