"""test_overlap_hosts.py - the model answers while ssh still logs in, or while a
job of Slurm waits in the queue."""
# SPDX-License-Identifier: MIT
import json
import pathlib
import signal
import tempfile

import pytest

from clouds import DONE, results
from lifecycle import execute, wait_for
from screens import Screen
from test_ssh import left, ssh, sshd, wire  # noqa: F401

pytestmark = pytest.mark.usefixtures("sandbox_at_start")

TASK = ("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox")
ANSWERS = {"calls": {"text": "looking\n", **execute("echo hi")},
           "text": {"text": "looking\n"},
           "none": {"text": "x", "fault": {"stall_after_bytes": 0}}}
ENDS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9,
        "fails": 1}
OFTEN = [("calls", signal.SIGINT), ("calls", "fails"), ("text", signal.SIGKILL),
         ("none", signal.SIGTERM)]
CASES = [pytest.param(answer, end, id=f"{answer}-{end}", marks=[
    pytest.mark.long] * ((answer, end) not in OFTEN))
    for answer in ANSWERS for end in ENDS]


class Ssh:
    """Logging in waits until go_on()."""
    name, failure = "ssh", "ssh: "

    def __init__(self, wire, run, sshd):  # noqa: F811
        self.wire, self.run, self.sshd = wire(), run, sshd
        self.wire.stalled = True

    def is_making(self):
        return bool(self.wire.up)

    def fail(self):
        self.wire.refusing = True
        self.wire.cut()

    def go_on(self):
        self.wire.stalled = False

    def left(self):
        rows = json.loads(self.run("sandbox", "list", "--all", "--json").out)
        return left(self.sshd, [row["label"] for row in rows["data"]])


class Slurm:
    """The job is held until go_on()."""
    name, failure = "slurm", "has been PENDING (JobHeldUser) for more than 2 s"

    def __init__(self, slurm, fails):
        self.slurm = slurm
        slurm.params('options = ["--hold"]\n' + ("wait = 2\n" if fails else ""))

    def is_making(self):
        return any(j["job_state"] == "PENDING" for j in self.slurm.rig.jobs())

    def fail(self):
        """It has waited long enough by itself."""

    def go_on(self):
        for job in self.slurm.rig.jobs():
            self.slurm.rig.call("scontrol", "release", str(job["job_id"]),
                                check=False)

    def left(self):
        self.slurm.nothing_left()
        return []


@pytest.fixture(params=["ssh", "slurm"])
def host(request, run):
    """host(fails): one that is slow."""
    def begin(fails=False):
        get = request.getfixturevalue
        if request.param == "ssh":
            return Ssh(get("wire"), run, get("sshd"))
        return Slurm(get("slurm"), fails)
    if request.param == "ssh":
        request.getfixturevalue("wire")
    return begin


def nothing_left(place, run):
    assert run("sandbox", "gc").status == 0
    assert place.left() == []
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


@pytest.mark.parametrize("answer, end", CASES)
def test_the_run_ends_as_it_does_without(host, model, start, run, answer, end):
    """Nothing is left, and the thread goes on with a request that is valid,
    also where it was killed before there was a sandbox."""
    place = host(fails=end == "fails")
    server = model([ANSWERS[answer], DONE])
    r = start(*TASK, place.name)
    wait_for(lambda: server.requests and place.is_making())
    if answer != "none":
        wait_for(lambda: "answered" in server.requests[0])
    if end == "fails":
        place.fail()
    else:
        r.signal(end)
    r.wait()
    assert r.status == ENDS[end], r.err
    assert end != "fails" or place.failure in r.err
    assert len(server.requests) == 1
    place.go_on()
    nothing_left(place, run)
    server = model({"turns": [{"text": "well"}], "by": "count"})
    r = run("-r", "latest", "-n", "again", "-M", "anthropic:m", "--sandbox",
            "none")
    assert r.status == 0, r.err
    sent = json.dumps(server.requests[-1]["body"]["messages"])
    assert "hi" in sent and "again" in sent


def test_esc_in_a_chat_ends_both(host, model, run, dcode, env, tmp_path):
    place = host()
    server = model([ANSWERS["calls"], DONE])
    (tmp_path / "work").mkdir(exist_ok=True)
    s = Screen(pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-")),
               [dcode, "-M", "anthropic:m", "--sandbox", place.name, "-m",
                "look"], env, tmp_path / "work", columns=100)
    try:
        s.until("looking")
        wait_for(place.is_making)
        s.keys("Escape")
        s.until("Interrupted. Type a new message")
        place.go_on()
    finally:
        s.close()
    nothing_left(place, run)
    assert len(server.requests) == 1


@pytest.mark.parametrize("where", ["of its own", "the user's", "as it is"])
def test_the_request_is_the_same_as_without(  # noqa: F811
        run, start, ssh, sshd, wire, model, where):
    """To the byte; it goes out while ssh logs in."""
    place = sshd.home / "linked"
    place.symlink_to("/tmp")
    w = wire()
    more = f'workdir = "{place}"\n' if where == "the user's" else ""
    ssh(f"wire{w.port}", more)
    words = ["--sandbox-id", f"wire{w.port}"] if where == "as it is" else []
    server = model([execute("echo $((6*7))"), {"text": "done"}])
    w.stalled = True
    r = start(*TASK, "ssh", *words)
    wait_for(lambda: server.requests or r.p.poll() is not None)
    w.stalled = False
    r.wait()
    assert r.status == 0, r.err
    assert "42" in results(server)[0] and len(server.requests) == 2
    ssh(f"wire{w.port}", more + "\n[sandboxes]\noverlap = false\n")
    again = model([{"text": "done"}])
    assert run(*TASK, "ssh", *words).status == 0
    place.unlink()
    assert server.requests[0]["body"] == again.requests[0]["body"]
