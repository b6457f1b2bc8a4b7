"""test_chat_waits.py - something moves while the chat waits for anything."""
# SPDX-License-Identifier: MIT
import os
import re
import select
import time

import pytest

from apply_room import git
from test_chat_notify import Chat
from test_live_chat import execute

# What moves does so every 120 ms; each wait here is longer than STILL.
STILL = 1.5
LONG = 2.5
ESCAPES = re.compile(r"\x1b(\][^\x1b]*\x1b\\|\[[0-9;?<>]*[a-zA-Z])")


class Recorded(Chat):
    """A chat whose output is looked at for pauses."""

    pause = 0.0

    def watch(self, text, seconds=60):
        """Up to a text; all that was seen, without escape sequences."""
        end = time.monotonic() + seconds
        got = b""
        while True:
            seen = ESCAPES.sub("", got.decode("utf-8", "replace"))
            if text in seen:
                return seen
            began = time.monotonic()
            assert began < end, f"no {text!r} in {seen[-2000:]}"
            if select.select([self.fd], [], [], end - began)[0]:
                try:
                    got += os.read(self.fd, 65536)
                except OSError:
                    raise AssertionError(f"ended without {text!r}: {seen}")
            self.pause = max(self.pause, time.monotonic() - began)


@pytest.fixture
def begin(dcode, env, tmp_path, model):
    """begin(turns, *args) -> a Recorded chat that has just been started."""
    open_ones = []
    env["TERM"] = "xterm-256color"

    def start(turns, *args):
        model(turns)
        (tmp_path / "work").mkdir(exist_ok=True)
        t = Recorded([str(dcode), "-M", "anthropic:m", *args], env,
                     tmp_path / "work")
        open_ones.append(t)
        return t
    yield start
    for t in open_ones:
        t.close()


def test_each_wait_of_a_sandbox_says_what_it_is_and_moves(
        begin, vendor, tmp_path):
    vendor("daytona", delay=LONG)
    setup = tmp_path / "setup.sh"
    setup.write_text(f"sleep {LONG}\n")
    t = begin([{**execute(f"sleep {LONG}"), "delay_ms": int(LONG * 1000)},
               {"text": "done."}], "--sandbox", "daytona", "--workspace",
              "none", "--sandbox-setup", str(setup), "--on-exit", "delete")
    seen = t.watch("tools in")
    assert "Starting Daytona sandbox  1 s, Esc stops it" in seen
    assert "daytona, starting" in seen
    assert re.search(r"Running setup script: \S+  1 s, Esc stops it", seen)
    t.type("go\r")
    seen = t.watch("done.")
    assert "waiting for the model  1 s, Esc stops it" in seen
    assert re.search(r"running execute  \d s, \d+ tokens, Esc stops", seen)
    t.type("\x04")
    seen = t.watch("dcode -r")
    seen += t.watch("terminated", 20) if "terminated" not in seen else ""
    assert t.pause < STILL


@pytest.mark.usefixtures("sandbox_at_start")
def test_the_end_of_a_sandbox_is_waited_for_visibly(begin, vendor):
    cloud = vendor("daytona")
    t = begin([{"text": "done."}], "--sandbox", "daytona", "--workspace",
              "none")
    t.watch("tools in")
    cloud.fault("DELETE .*/sandbox/", delay=LONG)
    t.type("\x04")
    seen = t.watch("terminated")
    assert re.search(r"Terminating Daytona sandbox \S+  1 s, "
                     r"Ctrl-C twice leaves at once", seen)
    assert t.pause < STILL


@pytest.mark.usefixtures("sandbox_at_start")
def test_two_interrupts_at_the_end_leave_at_once(begin, vendor):
    cloud = vendor("daytona")
    t = begin([{"text": "done."}], "--sandbox", "daytona", "--workspace",
              "none")
    t.watch("tools in")
    cloud.fault("DELETE .*/sandbox/", delay=8)
    t.type("\x04")
    t.watch("Ctrl-C twice leaves at once")
    began = time.monotonic()
    t.type("\x03")
    t.wait(0.3)
    t.type("\x03")
    t.watch("stopped without cleaning up")
    assert time.monotonic() - began < 6


def test_a_retry_is_named_with_its_time_and_moves(begin):
    t = begin([{"text": "done.", "fault": {"status": 529,
                                           "retry_after": "3"}}])
    t.watch("tools in")
    t.type("go\r")
    seen = t.watch("done.")
    assert "Retrying: anthropic: HTTP 529" in seen
    assert "overloaded" in seen
    assert "attempt 2 (for up to 10 min)  2 s left" in seen
    assert t.pause < STILL


def test_a_tree_that_is_sent_says_how_far_it_is(begin, vendor, tmp_path):
    vendor("daytona")
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    git(work, "init", "-q")
    for i in range(40):
        (work / f"f{i}").write_bytes(os.urandom(200000))
    t = begin([{"text": "done."}], "--sandbox", "daytona", "--workspace",
              "repo")
    seen = t.watch("tools in")
    assert re.search(r"Sending \d+ of 40 files, .*MB/s  \d+ s, Esc", seen)
    assert "Sent work: 40 files" in seen
