"""test_busy.py - a model that is busy is waited for, and for how long."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest

from test_failures import PATHS, own

A = ("-M", "anthropic:m")
LIMITS = {
    "anthropic": lambda b: b["max_tokens"],
    "openai-chat": lambda b: b["max_tokens"],
    "openai-responses": lambda b: b["max_output_tokens"],
    "gemini": lambda b: b["generationConfig"]["maxOutputTokens"],
    "bedrock": lambda b: b["inferenceConfig"]["maxTokens"],
}


def busy(status=429, times=10 ** 6, **more):
    return {"text": "Hello.", "fault": {"status": status, "times": times,
                                        **more}}


@pytest.mark.parametrize("wire", PATHS)
def test_the_output_limit_of_a_profile_is_sent(run, model, env, config, wire):
    server = model({"turns": [{"text": "ok"}], "repeat": True, "by": "count"})

    def limit(*flags, more=""):
        own(env, config, server, wire)
        path = config("")  # written again, with the profile
        path.write_text(
            '[models.providers.mine]\nwire = "%s"\nbase_url = "%s%s"\n'
            'api_key_env = "MINE_KEY"\n%s' % (wire, server.url, PATHS[wire],
                                             more))
        r = run("-n", "x", "-M", "mine:m", *flags)
        assert r.status == 0, r.err
        try:
            return LIMITS[wire](server.requests[-1]["body"])
        except KeyError:
            return None
    profile = "[models.providers.mine.profile]\nmax_output_tokens = 1234\n"
    assert limit(more=profile) == 1234
    assert limit(more=profile + "[models.providers.mine.profile.m]\n"
                 "max_output_tokens = 777\n") == 777
    # what is said for the request itself wins; nothing said, nothing sent
    assert limit("--model-params", '{"max_tokens": 99}', more=profile) == 99
    assert limit() in (None, 8192)


def test_a_busy_model_is_waited_for_longer_than_four_retries(run, model):
    m = model([busy(times=6, retry_after="0")])
    r = run("-n", "go", *A)
    assert (r.status, r.out) == (0, "Hello.\n"), r.err
    assert len(m.requests) == 7
    assert r.err.count("trying again") == 6
    assert " of 600 s)" in r.err


@pytest.mark.parametrize("fault", [
    {"status": 429}, {"status": 529},
    {"error_event": {"type": "overloaded_error", "message": "Overloaded"}},
    {"error_event": {"type": "rate_limit_error", "message": "Slow down"}}])
def test_the_wait_has_an_end_that_can_be_set(run, model, config, fault):
    config("[retries]\nbusy_seconds = 2\n")
    m = model([{"text": "x", "fault": {"times": 10 ** 6, **fault}}])
    r = run("-n", "go", *A)
    assert r.status == 1 and 1.5 < r.seconds < 15
    assert re.search(r"\(waited [2-4] s\)", r.err), r.err
    assert "busy_seconds" in r.err
    assert 3 <= len(m.requests) <= 8
    assert "waited 0 of 2 s" in r.err


def test_other_failures_are_not_waited_for_so_long(run, model, config):
    config("[retries]\nmax_retries = 1\n")
    m = model([busy(status=500)])
    assert run("-n", "go", *A).status == 1 and len(m.requests) == 2


def test_max_retries_wins(run, model, config):
    for flags, text, n in ((("--max-retries", "1"), "", 2),
                           ((), "[retries]\nmax_retries = 0\n", 1),
                           ((), "[retries.anthropic]\nmax_retries = 1\n", 2)):
        config(text)
        m = model([busy()])
        r = run("-n", "go", *A, *flags)
        assert r.status == 1 and len(m.requests) == n, (text, r.err)


def test_a_timeout_wins(run, model):
    model([busy()])
    r = run("-n", "go", *A, "--timeout", "2", "--json")
    end = json.loads(r.out.splitlines()[-1])
    assert (r.status, end["status"]) == (124, "timeout"), r.err
    assert r.seconds < 10


def test_a_wait_that_the_timeout_would_cut_is_not_begun(run, model):
    m = model([busy(retry_after="60")])
    r = run("-n", "go", *A, "--timeout", "20", "--json")
    end = json.loads(r.out.splitlines()[-1])
    assert (r.status, end["status"]) == (124, "timeout"), r.err
    assert r.seconds < 10 and len(m.requests) == 1
    assert "trying again" not in r.err + r.out
    assert "60 s, longer than the time that is left" in r.err


def test_a_wish_above_the_limit_ends_at_once_without_a_promise(
        run, model, config):
    config("[retries]\nbusy_seconds = 3\n")
    m = model([busy(retry_after="5")])
    r = run("-n", "go", *A)
    assert r.status == 1 and len(m.requests) == 1 and r.seconds < 3
    assert "trying again" not in r.err
    assert "asks you to wait 5 seconds" in r.err
    m = model([busy(times=1, retry_after="1")])  # one within it is waited for
    assert run("-n", "go", *A).status == 0 and len(m.requests) == 2


def test_the_cap_wins(run, model, config):
    config("[sandboxes.providers.local]\nusd_per_hour = 220\n")
    m = model([{"tool_calls": [{"name": "ls", "args": {"path": "/"}}]},
               busy(retry_after="120")])
    r = run("-n", "go", "-M", "anthropic:claude-opus-5", "--max-usd", "4",
            "--sandbox", "local", "--workspace", "none")
    assert r.status == 124 and "max-usd" in r.err, r.err
    assert r.seconds < 30 and len(m.requests) == 2
