"""test_responses.py - what only the Responses API has."""
# SPDX-License-Identifier: MIT
import json

import pytest

import raw_http as raw
from raw_http import RawServer, responses, sse, whole

CONFIG = """[models.providers.openai]
wire = "openai-responses"
"""
CALL = [{"name": "execute", "args": {"command": "echo x >> ran"}}]


@pytest.fixture
def ask(run, config):
    config(CONFIG)

    def to_end(*flags, **how):
        return run("-n", "hi", "-M", "openai:gpt-5.6-terra", *flags, **how)
    return to_end


@pytest.fixture
def serve(env):
    servers = []

    def begin(*answers):
        servers.append(RawServer(*answers))
        env.update(OPENAI_API_KEY="k", OPENAI_BASE_URL=
                   f"http://127.0.0.1:{servers[-1].port}/v1")
        return servers[-1]
    yield begin
    for server in servers:
        server.__exit__()


def test_nothing_is_stored_and_reasoning_comes_encrypted(model, ask):
    server = model([{"text": "ok"}])
    assert ask().status == 0
    body = server.requests[0]["body"]
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["reasoning"] == {"summary": "auto"}
    assert all(t["strict"] is False for t in body["tools"])


def test_reasoning_goes_back_after_a_resume_and_to_nobody_else(model, run,
                                                               ask, env):
    turn = {"thinking": "hm", "tool_calls": CALL}
    server = model([turn, {"text": "one"}, {"text": "two"}])
    assert ask("-y").out == "one\n"
    # the emulator refuses a request that lacks what was thought
    r = run("-n", "more", "-r", "-M", "openai:gpt-5.6-terra")
    assert (r.status, r.out) == (0, "two\n"), r.err
    assert "gAAAA0_0" in json.dumps(server.requests[-1]["body"])
    server = model([turn, {"text": "one"}, {"text": "two"}, {"text": "three"}])
    r = run("-n", "more", "-r", "-M", "anthropic:claude-opus-5")
    assert (r.status, r.out) == (0, "three\n"), r.err
    assert "gAAAA" not in json.dumps(server.requests[-1]["body"])


@pytest.mark.parametrize("param, message", [
    ("include", "Encrypted content is not supported with this model."),
    ("reasoning", "Unsupported parameter: 'reasoning.summary' is not "
                  "supported with this model.")])
def test_a_model_without_reasoning_is_asked_without(serve, ask, param,
                                                    message):
    s = serve(raw.refused("400 Bad Request", message), whole(responses("ok")))
    r = ask()
    assert (r.status, r.out) == (0, "ok\n"), r.err
    assert [param in q.body for q in s.requests] == [True, False]
    assert "Retrying" not in r.err


def test_names_of_old_models_say_so_already(model, run, config):
    config(CONFIG)
    server = model([{"text": "ok"}])
    assert run("-n", "hi", "-M", "openai:gpt-4.1").status == 0
    body = server.requests[0]["body"]
    assert "include" not in body and "reasoning" not in body


def test_parameters_get_the_names_of_this_wire(model, ask):
    server = model([{"text": "ok"}])
    assert ask("--model-params", json.dumps({
        "max_tokens": 99, "reasoning_effort": "low", "verbosity": "low",
        "store": True, "include": None, "input": "x"})).status == 0
    body = server.requests[0]["body"]
    assert body["max_output_tokens"] == 99 and "max_tokens" not in body
    assert body["reasoning"] == {"effort": "low"}
    assert body["text"] == {"verbosity": "low"}
    assert body["store"] is True and "include" not in body
    assert body["input"][0]["content"].startswith("hi")


def test_a_call_id_is_cut_to_what_the_vendor_takes(serve, ask):
    """Some answer with longer ones than they take."""
    ids = ["c" * 80 + "1", "c" * 80 + "2"]
    s = serve(whole(responses(None, [
        (i, "execute", {"command": "true"}) for i in ids])),
        whole(responses("ok")))
    assert ask("-y").status == 0
    items = s.requests[-1].body["input"][1:]
    sent = [i["call_id"] for i in items]
    assert sent[:2] == sent[2:] and len(set(sent)) == 2
    assert all(len(i) == 64 for i in sent)


@pytest.mark.parametrize("event, words, tries", [
    ({"code": "server_error", "message": "oops"}, "server_error: oops", 2),
    ({"code": "rate_limit_exceeded", "message": "slow"}, "rate_limit", 2),
    ({"code": "invalid_prompt", "message": "flagged"}, "flagged", 1),
    ({"code": "context_length_exceeded", "message": "x"}, "context window",
     1)])
@pytest.mark.parametrize("kind", ["error", "response.failed"])
def test_failures_in_a_stream(serve, ask, kind, event, words, tries):
    e = {"type": kind, **event} if kind == "error" else {
        "type": kind, "response": {"status": "failed", "error": event}}
    s = serve(whole(sse({"type": "response.created"}, e)))
    r = ask("--max-retries", "1")
    assert (r.status, r.out, len(s.requests)) == (1, "", tries)
    assert words in r.err


def test_reasoning_of_another_account_is_explained(serve, ask):
    serve(raw.refused("400 Bad Request", "The encrypted content gAAA could "
                      "not be verified.", code="invalid_encrypted_content"))
    r = ask()
    assert r.status == 1 and "belongs to another account" in r.err


def test_every_cut_between_events_is_retried_once(serve, ask):
    parts = responses("Hello.", [("call_1", "execute", {"command": "true"})])
    events = parts.split("\n\n")[:-1]
    good = whole(responses("Hello."))
    for n in range(len(events)):
        s = serve(whole("".join(e + "\n\n" for e in events[:n])), good)
        r = ask("-y")
        assert (r.status, r.out, len(s.requests)) == (0, "Hello.\n", 2), n
        assert "Retrying" in r.err
