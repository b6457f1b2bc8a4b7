"""test_trust_b15_waits.py - a wait is said, has an end, and can be ended."""
# SPDX-License-Identifier: MIT
import os
import re
import select
import socket
import threading
import time

import pytest

from clouds import CREATE, DONE, EXECUTE, results
from lifecycle import execute, wait_for
from terminal import Terminal

TASK = ("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox")


def said(run, word, seconds=20):
    """Standard error until `word`, and how long that took."""
    text, end = "", run.began + seconds
    while word not in text:
        assert time.monotonic() < end, text
        if select.select([run.p.stderr], [], [], 0.1)[0]:
            part = os.read(run.p.stderr.fileno(), 65536).decode()
            assert part, text
            text += part
    return text, time.monotonic() - run.began


class Silent:
    """Accepts connections on a socket and never answers."""

    def __init__(self, path):
        self.path, self.taken = path, []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                self.taken.append(self.socket.accept()[0])
            except OSError:
                return


@pytest.fixture
def silent(tmp_path, env):
    engine = Silent(tmp_path / "e.sock")
    env["DOCKER_HOST"] = f"unix://{engine.path}"
    yield engine
    engine.socket.close()
    for one in engine.taken:
        one.close()


def test_a_service_that_always_answers_500_is_named(vendor, model, start):
    cloud = vendor("daytona")
    cloud.fault("(GET|POST) ", times=None, status=500)
    model([DONE])
    p = start(*TASK, "daytona")
    text, seconds = said(p, "(Ctrl-C stops)")
    assert seconds < 5 * 3  # a loaded machine
    assert re.search(f"Waiting for {cloud.url}: HTTP 500 in answer to "
                     f"(GET|POST) /api/", text)
    p.kill()


def test_a_service_that_fails_during_a_command_is_named(vendor, model, start):
    cloud = vendor("daytona")
    model([execute("echo one"), execute("echo two"), DONE])
    cloud.fault(EXECUTE["daytona"], nth=2, times=None, status=500)
    p = start(*TASK, "daytona")
    text, _ = said(p, "HTTP 500")
    assert text.count("Waiting for ") == 1
    p.kill()


def test_one_failure_is_not_mentioned(vendor, model, run):
    cloud = vendor("daytona")
    cloud.fault(EXECUTE["daytona"], nth=1, times=1, status=500)
    server = model([execute("sleep 6; echo slow"), DONE])
    r = run(*TASK, "daytona")
    assert r.status == 0 and "slow" in results(server)[0]
    assert "Waiting" not in r.err


def test_an_engine_that_never_answers_is_named(silent, model, start):
    model([DONE])
    p = start(*TASK, "docker")
    text, seconds = said(p, "(Ctrl-C stops)")
    assert f"unix://{silent.path}: no answer yet to" in text
    assert silent.taken and 3 < seconds < 5 + 10  # a loaded machine
    for _ in range(2):
        p.signal()
        time.sleep(0.3)
    p.wait(5)
    assert p.status == 130


@pytest.mark.usefixtures("sandbox_first")
def test_a_second_ctrl_c_ends_the_cleaning_up(vendor, model, start):
    cloud = vendor("daytona")
    cloud.fault("DELETE ", times=None, delay=30)
    server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
    p = start(*TASK, "daytona")
    wait_for(lambda: server.model.received)
    p.signal()
    wait_for(lambda: cloud.count("DELETE "))
    time.sleep(0.3)  # sooner it would be the same press
    began = time.monotonic()
    p.signal()
    p.wait(20)
    assert p.status == 130 and time.monotonic() - began < 5
    assert "dcode sandbox gc" in p.err


@pytest.mark.usefixtures("sandbox_first")
def test_control_one_ctrl_c_cleans_up(vendor, model, start):
    cloud = vendor("daytona")
    server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
    p = start(*TASK, "daytona")
    wait_for(lambda: server.model.received)
    p.signal()
    p.wait(20)
    assert p.status == 130 and cloud.left() == []
    assert cloud.count(CREATE["daytona"]) == cloud.count("DELETE ") == 1


def test_live_output_has_a_ceiling_and_the_result_has_not(model, run):
    server = model([execute("seq 400000"), execute("seq 20000"), DONE])
    r = run(*TASK, "local")
    assert r.status == 0
    size = len("\n".join(map(str, range(1, 400001))) + "\n")
    assert len(r.err) < (1 << 20) + (1 << 18)
    assert "[more output follows that is not shown here]" in r.err
    assert f"[{size - (1 << 20)} bytes were not shown]" in r.err
    first, second = results(server)
    assert "400000  400000" in first  # the model gets beginning and end
    assert r.err.count("\n19999\n") == 2 and "20000" in second  # control


@pytest.mark.slow
def test_live_output_at_a_terminal_has_a_ceiling(dcode, model, env, tmp_path):
    model([execute("yes | head -c 30000000", timeout=40), DONE])
    t = Terminal([dcode, "-y", "-M", "anthropic:m", "--sandbox", "local",
                  "-m", "go"], env, tmp_path)
    got = 0
    end = time.monotonic() + 60
    while "bytes were not shown]" not in t.text:
        t.text = t.text[-400:]
        before = len(t.seen)
        assert t.read(end)
        got += len(t.seen) - before
    assert got < 4 << 20
    assert t.leave() == 0


def test_no_limit_and_no_timeout_have_documented_ends(top, model, run):
    server = model([execute("echo hi", timeout=0), DONE])
    r = run(*TASK, "local")
    assert r.status == 0 and "hi" in results(server)[0]
    (tool,) = [t for t in server.requests[0]["body"]["tools"]
               if t["name"] == "execute"]
    assert "0 means 24 hours" in str(tool)
    manual = " ".join((top / "cmd/manual/dcode.md").read_text().split())
    assert "24 hours by default" in manual
    assert "`timeout: 0` means 24 hours" in manual
