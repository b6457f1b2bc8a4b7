"""test_failures.py - a model that fails: what is said, and that it goes on."""
# SPDX-License-Identifier: MIT
import json

from slash_chat import HELLO, begin, on_screen, talk  # noqa: F401 (a fixture)

CUT = {"tool_calls": [{"name": "write_file", "raw_args":
                       '{"file_path": "cut", "content": "half of it'}],
       "stop": "max_tokens"}
A = ("-M", "anthropic:m")


def last(server, n=-1):
    return json.dumps(server.requests[n]["body"]["messages"][-1])


def test_a_call_that_was_cut_does_not_run_and_the_model_is_told(
        run, model, tmp_path):
    server = model({"turns": [CUT, {"text": "Shorter."}]})
    r = run("-n", "go", "-y", *A)
    assert r.status == 0 and "Shorter." in r.out
    assert "output limit within this call" in last(server)
    assert not (tmp_path / "work" / "cut").exists()


def test_after_three_cut_calls_the_turn_ends_and_the_next_works(talk):
    c = begin(talk, {"turns": [CUT, CUT, CUT, {"text": "Fine."}]}, "-y")
    c.say("go")
    c.until("3 times in a row")
    c.until("max_tokens")
    assert len(c.server.requests) == 3
    c.say("once more", "Fine.")


def test_the_filter_that_stopped_an_answer_is_named(run, model):
    model({"turns": [{"text": "Half", "stop": "content_filter"}]})
    r = run("-n", "go", "-M", "openai:m")
    assert "stopped the answer (content_filter)" in r.err


@on_screen
def test_the_wait_for_another_try_counts_down_and_can_be_stopped(talk):
    slow = {"turns": [{"text": "Hello.", "fault": {
        "status": 429, "retry_after": "100"}}]}
    c = begin(talk, slow)
    c.say("go")
    c.until("waiting to try again  100 s left, Esc stops it")
    c.until("waiting to try again  98 s left, Esc stops it")
    c.keys("Escape")
    c.until("Interrupted")
    c.say("again", "Hello.")


def test_lines_say_the_wait_once(run, model):
    model({"turns": [{"text": "Hello.", "fault": {
        "status": 429, "retry_after": "1"}}]})
    r = run("-n", "go", *A)
    assert r.out == "Hello.\n"
    assert r.err.count("trying again in 1 s (1 of") == 1
