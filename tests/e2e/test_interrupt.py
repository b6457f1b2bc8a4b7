"""test_interrupt.py - Esc and Ctrl-C bring the prompt back, whatever runs.

DCODE_TEST_LONG=1: a hundred times at each stage, within 100 ms; CI tries a few
with a limit for a busy machine."""
# SPDX-License-Identifier: MIT
import os
import random
import statistics
import time

import pytest

from chat_pty import Pty, markdown
from clouds import CREATE, EXECUTE
from lifecycle import execute

TRIES, LIMIT = (100, 0.1) if os.environ.get("DCODE_TEST_LONG") else (2, 3)

# The model's answers, and what is seen once the stage has begun.
STAGES = {
    "first byte": ([{"text": "late", "delay_ms": 60000}], b"Esc stops it"),
    "stream": ([{"text": markdown(20000), "chunk_bytes": 300,
                 "chunk_delay_ms": 2}], b"part 3"),
    "thinking": ([{"thinking": markdown(20000), "text": "x",
                   "chunk_bytes": 300, "chunk_delay_ms": 2}], b"thinking"),
    "tool": ([execute("echo begun; sleep 60")], b"running execute"),
    "flood": ([execute("yes begun")], b"running execute"),
    "retry": ([{"text": "x", "fault": {"status": 529, "times": 10 ** 6,
                                       "retry_after": "30"}}], b"Retrying"),
    "own command": ([], b"Esc stops it"),
    "sandbox": ([execute("sleep 60")], b"running execute"),
}


@pytest.fixture
def chat(dcode_release, env, tmp_path, model):
    opened = []

    def start(turns, *args, ready=b"anthropic:m, tools"):
        model({"turns": turns, "repeat": True, "by": "count", "check": False})
        (tmp_path / "work").mkdir(exist_ok=True)
        p = Pty([dcode_release, "-M", "anthropic:m", "-y", *args],
                {**env, "TERM": "xterm-256color"}, tmp_path / "work")
        opened.append(p)
        p.until(ready)
        if b"tools" in ready:
            p.quiet()
        return p
    yield start
    for p in opened:
        p.close()


def try_once(p, key, said, begun, r):
    start = len(p.seen)
    p.send(said + b"\r")
    p.until(begun, start + len(said))
    end = time.monotonic() + r.uniform(0, 0.1)
    while time.monotonic() < end:
        p.read(0.01)
    start, began = len(p.seen), time.monotonic()
    p.send(key)
    took = p.until(b"Interrupted", start) - began
    p.quiet()
    return took


def judge(name, times):
    print(f"{name}: median {statistics.median(times) * 1e3:.0f} ms, "
          f"longest {max(times) * 1e3:.0f} ms of {len(times)}")
    assert max(times) < LIMIT, sorted(times)[-5:]


@pytest.mark.parametrize("key", [b"\x1b", b"\x03"], ids=["esc", "ctrl-c"])
@pytest.mark.parametrize("stage", STAGES)
def test_a_turn_is_stopped_at_once(chat, vendor, stage, key):
    turns, begun = STAGES[stage]
    said = b"!sleep 60" if stage == "own command" else b"go"
    args = ()
    if stage == "sandbox":
        vendor("e2b")
        args = ("--sandbox", "e2b")
    p, r = chat(turns, *args), random.Random(3)
    judge(stage, [try_once(p, key, said, begun, r) for _ in range(TRIES)])
    assert p.process.poll() is None


def test_making_a_sandbox_is_stopped_at_once(chat, vendor):
    cloud = vendor("e2b")
    cloud.fault(CREATE["e2b"], times=None, delay=60)
    times = []
    for _ in range(TRIES):
        p = chat([], "--sandbox", "e2b", ready=b"getting ready")
        start, began = len(p.seen), time.monotonic()
        p.send(b"\x03")
        p.until(b"\x1b[?2004l", start)
        times.append(time.monotonic() - began)
        p.close()
    judge("create", times)


KILL_S = 2  # for which the vendor holds the request that kills


@pytest.fixture
def interrupted(chat, vendor):
    """A chat whose command in a sandbox was interrupted, and is not dead yet:
    the chat, the cloud, and the request that kills."""
    cloud = vendor("e2b")
    p = chat([execute("echo be''gun; sleep 60"), execute("echo se''cond"),
              {"text": "done"}], "--sandbox", "e2b", "--on-exit", "delete")
    p.send(b"go\r")
    p.until(b"begun")
    fault = cloud.fault(EXECUTE["e2b"], times=None, delay=KILL_S)
    start, sent = len(p.seen), time.monotonic()
    p.send(b"\x1b")
    back = p.until(b"Interrupted", start)
    end = time.monotonic() + 10
    while not (kills := [q for q in cloud.requests if "Start" in q["line"]
                         and q["began"] > sent]):
        assert time.monotonic() < end
        time.sleep(0.01)
    cloud.faults.remove(fault)
    kill = kills[-1]
    assert back < kill["began"] + KILL_S
    return p, cloud, kill


def test_the_next_command_waits_for_the_kill_of_the_last(interrupted):
    p, cloud, kill = interrupted
    p.send(b"again\r")
    p.until(b"second", len(p.seen))
    later = [q for q in cloud.requests if "Start" in q["line"]
             and q["began"] > kill["began"]]
    assert kill["seconds"] >= KILL_S
    assert min(q["began"] for q in later) >= kill["began"] + kill["seconds"]


def test_leaving_waits_for_the_kill(interrupted):
    p, cloud, kill = interrupted
    p.send(b"\x04")
    p.until(b"Waiting for the interrupted command to end...")
    p.until(b"sandbox terminated")
    ends = [q for q in cloud.requests if q["line"].startswith("DELETE")]
    assert ends[0]["began"] >= kill["began"] + kill["seconds"]
