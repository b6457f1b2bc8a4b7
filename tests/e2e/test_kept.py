"""test_kept.py - what was sent and what came stays in the thread, killed at any
moment."""
# SPDX-License-Identifier: MIT
import json
import os
import random
import signal
import socket
import sqlite3
import threading
import time

import pytest

from lifecycle import execute, wait_for
from test_model_wire import GEM, GPT

POINTS = 100 if os.environ.get("DCODE_TEST_LONG") else 6
WORDS = "one two three four five six seven eight nine ten "
LONG = {"text": WORDS * 40, "chunk_bytes": 150, "chunk_delay_ms": 12}
# Where the stream ends, and the moment by which all of it has to be stored.
STALLS, SOON = {"text": WORDS * 40, "fault": {"stall_after_bytes": 2500}}, 0.7
OPUS = ("-M", "anthropic:claude-opus-5")


def shown(run):
    r = run("threads", "show", "latest", "--json")
    assert r.status == 0, r.err
    return json.loads(r.out)["data"]


def texts(thread, role):
    return ["".join(p.get("text", "") for p in m["parts"]
                    if p["kind"] == "text")
            for m in thread["messages"] if m["role"] == role]


def spend(home):
    """The rows of the last thread: calls, cut, and money that is not sure."""
    db = sqlite3.connect(home / ".deepagents/.state/dcode.db")
    rows = db.execute("SELECT calls, cut, cost, unclear FROM spend WHERE "
                      "NOT sandbox AND thread=(SELECT max(no) FROM thread)"
                      ).fetchall()
    db.close()
    return rows


class Killer:
    """A server that kills who connects as the request's first byte comes."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.pid = None
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            if peer.recv(1):
                os.kill(self.pid, signal.SIGKILL)
            peer.close()


@pytest.mark.parametrize("turn", ["first", "later"])
def test_the_prompt_is_in_the_thread_before_it_is_sent(env, run, start, model,
                                                       turn):
    if turn == "later":
        model([{"text": "before"}])
        assert run("-n", "earlier", *OPUS).status == 0
    killer = Killer()
    env.update(ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=
               f"http://127.0.0.1:{killer.socket.getsockname()[1]}")
    for i in range(4):
        r = start("-n", f"prompt {i}", *OPUS,
                  *(["-r", "latest"] if turn == "later" else []))
        killer.pid = r.pid
        r.wait()
        assert r.status == -signal.SIGKILL, r.err
        assert texts(shown(run), "user")[-1] == f"prompt {i}"
    killer.socket.close()


def test_results_are_in_the_thread_before_they_are_sent(run, start, model):
    server = model([execute("echo $((6*7))"),
                    {"text": "x", "fault": {"stall_after_bytes": 0}}])
    r = start("-n", "hi", "-y", *OPUS)
    wait_for(lambda: server.model.received > 1)
    r.signal(signal.SIGKILL)
    r.wait()
    result = shown(run)["messages"][-1]["parts"][-1]
    assert result["kind"] == "tool_result" and "42" in result["text"]


@pytest.mark.parametrize("spec", ["anthropic:m", "openai:m", "gpt:m", "gem:m"])
def test_an_answer_that_a_kill_cut_is_there_and_goes_on(run, start, model, env,
                                                        config, spec):
    """With all that came before the stream stood still, marked."""
    config(GPT + GEM)
    server = model([STALLS])
    env["GEM_BASE_URL"] = env["ANTHROPIC_BASE_URL"]
    r = start("-n", "count", "-M", spec)
    seen = ""
    while "three" not in seen:
        seen += os.read(r.p.stdout.fileno(), 4096).decode()
    time.sleep(SOON)
    r.signal(signal.SIGKILL)
    r.wait()
    thread = shown(run)
    seen += r.out
    assert texts(thread, "user") == ["count"]
    assert texts(thread, "assistant") == [seen]
    assert thread["messages"][-1]["cut"]
    assert "(interrupted: the rest of this answer is missing)" in \
        run("threads", "show", "latest").out
    server = model({"turns": [{"text": "and on"}], "by": "count"})
    env["GEM_BASE_URL"] = env["ANTHROPIC_BASE_URL"]
    r = run("-r", "latest", "-n", "go on")
    assert r.status == 0 and r.out == "and on\n", r.err
    assert not server.violations
    asked = json.dumps(server.requests[-1]["body"])
    assert seen.strip() + "\\n\\n(interrupted)" in asked and "go on" in asked


def test_what_a_kill_cut_is_counted_in_what_the_thread_cost(run, start, model,
                                                            home):
    model([STALLS])
    r = start("-n", "count", *OPUS)
    time.sleep(SOON + 0.5)
    assert spend(home) and r.p.poll() is None
    r.signal(signal.SIGKILL)
    r.wait()
    (calls, cut, cost, unclear), = spend(home)
    assert (calls, cut) == (1, 1) and cost + unclear > 0
    # the control: of an answer that is whole nothing is left unclear
    model({"turns": [LONG], "by": "count"})
    assert run("-n", "count", *OPUS).status == 0
    (calls, cut, cost, unclear), = spend(home)
    assert (calls, cut, unclear) == (1, 0, 0) and cost > 0


def test_thinking_alone_that_was_cut_is_shown_and_not_sent(run, start, model):
    model([{"thinking": WORDS * 40, "text": "so", "fault":
            {"stall_after_bytes": 2500}}])
    r = start("-n", "count", *OPUS)
    time.sleep(SOON + 0.5)
    r.signal(signal.SIGKILL)
    r.wait()
    assert [p["kind"] for p in shown(run)["messages"][-1]["parts"]] == [
        "thinking"]
    server = model({"turns": [{"text": "on"}], "by": "count"})
    r = run("-r", "latest", "-n", "go on")
    assert r.status == 0 and not server.violations, r.err
    assert "three" not in json.dumps(server.requests[-1]["body"]["messages"])


def test_an_answer_that_a_retry_voids_does_not_stay(run, model):
    server = model([{"text": WORDS * 40, "chunk_bytes": 150,
                     "chunk_delay_ms": 30,
                     "fault": {"cut_after_bytes": 2500, "times": 1}}])
    r = run("-n", "count", *OPUS)
    assert r.status == 0 and len(server.requests) == 2, r.err
    assert texts(shown(run), "assistant") == [WORDS * 40]
    assert run("threads", "list", "--json").out.count("message_count\":2") == 1


def test_an_interrupted_answer_stays_as_far_as_it_came(run, start, model):
    model([STALLS])
    r = start("-n", "count", *OPUS)
    time.sleep(SOON + 0.5)
    r.signal(signal.SIGINT)
    r.wait()
    assert r.status == 130
    assert texts(shown(run), "assistant") == [r.out.rstrip("\n")]
    assert shown(run)["messages"][-1]["cut"]


def test_killed_at_any_moment_the_thread_has_what_was_shown(run, start, model):
    """But for the last moment; a later turn, too."""
    chosen = random.Random(os.environ.get("DCODE_TEST_SEED"))
    for i in range(POINTS):
        server = model({"turns": [execute("echo x"), LONG], "by": "count"})
        r = start("-n", f"go {i}", "-y", *OPUS)
        wait_for(lambda: server.model.received > 1)
        time.sleep((i + chosen.random()) * 0.8 / POINTS)
        r.signal(signal.SIGKILL)
        seen_until = time.monotonic()
        r.wait()
        thread = shown(run)
        assert texts(thread, "user") == [f"go {i}"]
        kept = "".join(texts(thread, "assistant"))
        assert r.out.startswith(kept) or kept.startswith(r.out.rstrip("\n"))
        # 12 ms for each 150 bytes of events: 300 ms are 2500 at most
        assert len(kept) >= len(r.out) - 2500, seen_until
