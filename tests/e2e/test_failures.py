"""test_failures.py - a model that fails: what is said, and that it goes on."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest
import slash_chat
from slash_chat import HELLO, begin, on_screen, talk  # noqa: F401 (a fixture)
from test_live_chat import live  # noqa: F401 (a fixture)

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
    c.until("attempt 2 (for up to 10 min)  100 s left")
    c.until("attempt 2 (for up to 10 min)  98 s left")
    c.keys("Escape")
    c.until("Interrupted")
    c.say("again", "Hello.")


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_the_row_of_a_retry_says_which_one_it_is(live, columns, lines):
    cut = {"text": "Hello.", "fault": {"reset": True, "times": 9}}
    s, _ = live([cut], columns=columns, lines=lines)
    s.type("go")
    s.keys("Enter")
    s.until("Retrying: anthropic: ")
    for attempt in 1, 2, 3:
        s.until(lambda t, n=attempt: re.search(
            rf"^\S attempt {n + 1} of 5  \d+ s left", t, re.M))
    seen = s.text()
    assert seen.count("Retrying: ") == 1 and seen.count(" of 5") == 1
    s.keys("Escape")


@pytest.mark.parametrize("fault, step", [
    ({"status": 400}, "The request is refused as it is: change the message"),
    ({"status": 400, "body": "no"}, "choose another model (/model)"),
    ({"error_event": {"type": "invalid_request_error", "message": "no"}},
     "The request is refused as it is: change the message"),
    ({"reset": True, "times": 9}, "Check the network and send the message"),
    ({"status": 200, "body": "", "times": 9}, "Check the ")])
def test_each_failure_says_what_to_do_next(talk, fault, step):
    c = begin(talk, {"turns": [{"text": "Hello.", "fault": {
        "times": 9, **fault}}]})
    c.say("go")
    c.until("Error: ")
    c.until(lambda t: step in " ".join(t.split()))


def test_only_a_screen_says_alike_tries_once(talk):
    c = begin(talk, {"turns": [{"text": "Hello.", "fault": {
        "status": 429, "retry_after": "0", "times": 3}}]})
    c.say("go", "Hello.")
    seen = c.text(True)
    assert seen.count("Retrying: ") == (1 if c.screen else 3), seen


def test_lines_say_the_wait_once(run, model):
    model({"turns": [{"text": "Hello.", "fault": {
        "status": 429, "retry_after": "1"}}]})
    r = run("-n", "go", *A)
    assert r.out == "Hello.\n"
    assert r.err.count("trying again in 1 s (waited 0 of") == 1


# -- every failure on every wire -----------------------------------------------

PATHS = {"anthropic": "", "openai-chat": "/v1", "openai-responses": "/v1",
         "gemini": "/v1beta", "bedrock": ""}
FILTER = {"anthropic": "refusal", "openai-chat": "content_filter",
          "openai-responses": "content_filter", "gemini": "SAFETY",
          "bedrock": "content_filtered"}
LIMIT = {"anthropic": "max_tokens", "openai-chat": "length",
         "openai-responses": "max_output_tokens", "gemini": "MAX_TOKENS",
         "bedrock": "max_tokens"}


def said(wire, kind, words):
    """An error as the vendors of a wire write it."""
    if wire == "anthropic":
        return {"type": "error", "error": {"type": kind, "message": words}}
    if wire == "gemini":
        return {"error": {"status": kind.upper(), "message": words}}
    if wire == "bedrock":
        return {"message": words}
    return {"error": {"type": kind, "code": kind, "message": words}}


def refused(status, kind, words, **more):
    return lambda wire: {"text": "Fine.", "fault": {
        "status": status, "body": said(wire, kind, words), **more}}


# name: (turn of a wire, code of the error event, part of what to do)
FAILURES = {
    "overloaded": (refused(503, "overloaded_error", "Overloaded", times=2),
                   "remote", "Send the message again later"),
    "rate": (refused(429, "rate_limit_error", "too many", retry_after="0",
                     times=2),
             "limit", "Send the message again later"),
    "long_rate": (refused(429, "rate_limit_error", "slow down",
                          retry_after="7200"),
                  "limit", "wait 120 minutes. Then send the message again"),
    "model": (refused(404, "not_found_error", "no such thing"),
              "not_found", 'Check the model name "m"'),
    "access": (refused(403, "permission_error", "not for you"),
               "auth", "Give the account of MINE_KEY access to m"),
    "key": (refused(401, "authentication_error", "invalid key"),
            "auth", "Set MINE_KEY to a valid key"),
    "credit": (refused(402, "billing_error", "no credit"),
               "limit", "see the vendor's billing page"),
    "page": (lambda wire: {"text": "Fine.", "fault": {
        "status": 200, "body": "<!DOCTYPE html><title>Sign in</title>",
        }}, "protocol", "check the network, HTTPS_PROXY and http"),
    "filter": (lambda wire: {"text": "Half", "stop": FILTER[wire]},
               "refusal", "rephrase it"),
    "output": (lambda wire: {"text": "Half", "stop": LIMIT[wire]},
               "length", "raise max_tokens"),
    "too_long": (refused(400, "invalid_request_error",
                         "prompt is too long: 3 tokens > 2 maximum"),
                 "limit", "model with a larger window"),
}


def own(env, config, server, wire):
    env.update(MINE_KEY="sk-mine", AWS_REGION="us-west-2")
    config('[models.providers.mine]\nwire = "%s"\nbase_url = "%s%s"\n'
           'api_key_env = "MINE_KEY"\n' % (wire, server.url, PATHS[wire]))


@pytest.fixture
def fails(run, model, env, config):
    """fails(wire, name, goes_on): a failing run; the next one where asked."""
    def check(wire, name, goes_on):
        turn, code, words = FAILURES[name]
        server = model({"turns": [turn(wire), {"text": "Fine."}],
                        "by": "count"})
        own(env, config, server, wire)
        r = run("-n", "go", "--json", "-M", "mine:m", "--max-retries", "1")
        events = [json.loads(line) for line in r.out.splitlines()]
        end, told = events[-1], events[-2]
        if end["status"] == "no_answer":
            assert (end["finish"], r.status) == (code, 3), (name, r.err)
            assert end["finish_reason"] == FILTER[wire]
            assert words in told["message"] and words in end["reason"]
        elif end["status"] == "success":
            assert (end["finish"], r.status) == (code, 0), (name, r.err)
            assert end["finish_reason"] == LIMIT[wire]
            assert told["code"] == "warning" and words in told["message"]
        else:
            assert end["finish"] is None and r.status == 1, (name, r.err)
            assert (told["code"], words in told["hint"]) == (code, True), (
                name, told)
        assert words in r.err, (name, r.err)
        if goes_on:
            r = run("-n", "again", "-r", "-M", "mine:m")
            assert (r.status, r.out) == (0, "Fine.\n"), (name, r.err)
        assert not server.violations
    return check


@pytest.mark.parametrize("wire", PATHS)
def test_a_failure_says_what_to_do_and_the_thread_goes_on(fails, wire):
    at = list(PATHS).index(wire)
    for i, name in enumerate(FAILURES):
        if (i - at) % len(PATHS) < 2:  # each on two wires
            fails(wire, name, i % len(PATHS) == at)


@pytest.mark.long
@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("wire", PATHS)
def test_each_failure_of_each_wire_says_what_to_do(fails, wire, name):
    fails(wire, name, True)


@on_screen
@pytest.mark.parametrize("wire", [
    "anthropic", *(pytest.param(w, marks=pytest.mark.long)
                   for w in list(PATHS)[1:])])
def test_the_next_prompt_works_after_each_failure_of_a_chat(
        talk, env, monkeypatch, wire):
    env["AWS_REGION"] = "us-west-2"
    turns = []
    for name, (turn, _code, _words) in FAILURES.items():
        fine = {"text": "Fine after %s." % name}
        failing = turn(wire)
        # one that is struck answers the next request
        turns += [{**failing, **fine}] if "fault" in failing else [
            failing, fine]
    turns.append(fine)  # the summary of a compaction took one
    monkeypatch.setattr(slash_chat, "OTHER", '''
[models.providers.mine]
wire = "%s"
base_url = "{0}%s"
api_key_env = "OTHER_KEY"
''' % (wire, PATHS[wire]))
    c = talk({"turns": turns, "by": "count"}, "-M", "mine:m",
             "--max-retries", "1", columns=100, lines=50)
    for name, (_turn, _code, words) in FAILURES.items():
        words = words.replace("MINE_KEY", "OTHER_KEY")
        c.say("go " + name)
        if name == "too_long":  # it is compacted, and asked again
            c.until("Fine after too_long.")
            break
        c.until(lambda t, w=words: w in " ".join(t.split()), scrollback=True)
        c.say("again", "Fine after %s." % name)
    assert not c.server.violations


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 14), (200, 50)])
def test_a_refused_connection_is_said_once(live, columns, lines):
    s, server = live([{"text": "Never."}], columns=columns, lines=lines)
    address = server.env["ANTHROPIC_BASE_URL"]
    server.__exit__()
    s.type("go")
    s.keys("Enter")
    s.until("attempt 2 of 5")
    s.until("Failed after")
    seen = " ".join(s.text(True).split())
    assert seen.count("connection refused") == 1 and address in seen, seen
    assert "Failed to connect" not in seen and "after 0 ms" not in seen
    assert "Error: gave up (5 attempts) Check ANTHROPIC_BASE_URL and this " \
        "machine's network, then send the message again." in seen, seen
