"""test_gemini.py - what only Gemini's generateContent has."""
# SPDX-License-Identifier: MIT
import json

import pytest

import raw_http as raw
from raw_http import RawServer, gemini, sse, whole

CONFIG = """[models.providers.google_genai]
wire = "gemini"
"""
MODEL = "google_genai:gemini-3.1-pro-preview"
CALL = [{"name": "execute", "args": {"command": "true"}}]


@pytest.fixture
def model(model, env):
    """The same, for this vendor too."""
    def begin(script):
        server = model(script)
        env.update(GOOGLE_GEMINI_BASE_URL=server.url, GOOGLE_API_KEY="sk-g")
        return server
    return begin


@pytest.fixture
def ask(run, config):
    config(CONFIG)

    def to_end(*flags, spec=MODEL, **how):
        return run("-n", "hi", "-M", spec, *flags, **how)
    return to_end


@pytest.fixture
def serve(env):
    servers = []

    def begin(*answers):
        servers.append(RawServer(*answers))
        env.update(GOOGLE_API_KEY="k", GOOGLE_GEMINI_BASE_URL=
                   f"http://127.0.0.1:{servers[-1].port}")
        return servers[-1]
    yield begin
    for server in servers:
        server.__exit__()


def test_signatures_go_back_after_a_resume_and_to_nobody_else(model, run,
                                                              ask):
    turn = {"thinking": "hm", "tool_calls": CALL}
    server = model([turn, {"thinking": "so", "text": "one"}, {"text": "two"}])
    assert ask("-y").out == "one\n"
    # the emulator refuses calls whose signature is missing or another
    r = run("-n", "more", "-r", "-M", MODEL)
    assert (r.status, r.out) == (0, "two\n"), r.err
    parts = [p for c in server.requests[-1]["body"]["contents"]
             for p in c["parts"]]
    signed = [p for p in parts if "thoughtSignature" in p]
    assert ["functionCall" in p for p in signed] == [True, False]
    assert signed[1]["text"] == ""
    server = model([turn, {"text": "one"}, {"text": "two"}, {"text": "three"}])
    r = run("-n", "more", "-r", "-M", "anthropic:claude-opus-5")
    assert (r.status, r.out) == (0, "three\n"), r.err
    assert "c2ln" not in json.dumps(server.requests[-1]["body"])


@pytest.mark.parametrize("spec, signed", [
    (MODEL, True), ("google_genai:gemini-flash-latest", True),
    ("google_genai:gemini-2.5-pro", False)])
def test_calls_of_other_vendors_say_why_they_have_no_signature(
        model, run, ask, spec, signed):
    calls = [{"name": "execute", "args": {"command": c}}
             for c in ("true", "pwd")]
    server = model([{"tool_calls": calls}, {"text": "one"}, {"text": "two"}])
    assert ask("-y", spec="anthropic:claude-opus-5").out == "one\n"
    r = run("-n", "more", "-r", "-M", spec)
    assert (r.status, r.out) == (0, "two\n"), r.err
    parts = [p for p in server.requests[-1]["body"]["contents"][1]["parts"]
             if "functionCall" in p]
    # the first of parallel ones stands for all
    assert ["thoughtSignature" in p for p in parts] == [signed, False]


def test_parameters_get_the_names_of_this_wire(model, ask):
    server = model([{"text": "ok"}])
    assert ask("--model-params", json.dumps({
        "temperature": 1, "max_tokens": 99, "top_p": 0.5, "stop": ["x"],
        "thinking_budget": 1000, "contents": [], "safety_settings": []})
               ).status == 0
    body = server.requests[0]["body"]
    assert body["generationConfig"] == {
        "temperature": 1, "maxOutputTokens": 99, "topP": 0.5,
        "stopSequences": ["x"],
        "thinkingConfig": {"thinkingBudget": 1000, "includeThoughts": True}}
    assert body["safetySettings"] == []


@pytest.mark.parametrize("spec, wanted", [
    (MODEL, {"thinkingConfig": {"includeThoughts": True}}),
    ("google_genai:gemini-2.0-flash", None)])
def test_thoughts_are_asked_of_models_that_think(model, ask, spec, wanted):
    server = model([{"text": "ok"}])
    assert ask(spec=spec).status == 0
    assert server.requests[0]["body"].get("generationConfig") == wanted


def test_a_model_that_does_not_think_is_asked_again_without(serve, ask):
    s = serve(raw.refused("400 Bad Request", "Thinking is not enabled for "
                          "models/m"), whole(gemini("ok")))
    r = ask(spec="google_genai:m")
    assert (r.status, r.out) == (0, "ok\n"), r.err
    assert ["generationConfig" in q.body for q in s.requests] == [True, False]


def test_the_name_of_a_model_is_one_part_of_the_path(serve, ask):
    s = serve(whole(gemini("ok")))
    assert ask(spec="google_genai:a?b c").status == 0
    assert ask(spec="google_genai:tunedModels/x").status == 0
    assert [q.line.split()[1] for q in s.requests] == [
        f"/v1beta/{m}:streamGenerateContent?alt=sse"
        for m in ("models/a%3Fb%20c", "tunedModels/x")]


def test_a_blocked_prompt_is_a_refusal(model, ask):
    model([{"text": "", "stop": "block:PROHIBITED_CONTENT"}])
    r = ask()
    assert r.out == "PROHIBITED_CONTENT\n" and "filter stopped" in r.err


def test_a_call_that_cannot_be_read_is_asked_for_again(serve, ask):
    s = serve(whole(gemini(reason="MALFORMED_FUNCTION_CALL")),
              whole(gemini("ok")))
    r = ask()
    assert (r.status, r.out, len(s.requests)) == (0, "ok\n", 2)
    assert "MALFORMED_FUNCTION_CALL" in r.err


def test_a_wrong_key_is_named_although_the_status_is_400(serve, ask):
    serve(raw.refused("400 Bad Request", "API key not valid.",
                      details=[{"reason": "API_KEY_INVALID"}]))
    r = ask()
    assert r.status == 1 and "GOOGLE_API_KEY" in r.err
    assert "was refused" in r.err


@pytest.mark.parametrize("code, status, tries", [
    (503, "UNAVAILABLE", 2), (429, "RESOURCE_EXHAUSTED", 2),
    (400, "INVALID_ARGUMENT", 1)])
def test_failures_in_a_stream(serve, ask, code, status, tries):
    s = serve(whole(sse({"error": {"code": code, "status": status,
                                   "message": "sorry"}})))
    r = ask("--max-retries", "1")
    assert (r.status, r.out, len(s.requests)) == (1, "", tries)
    assert f"{status}: sorry" in r.err


def test_every_cut_between_events_is_retried_once(serve, ask):
    parts = gemini("Hello.", [("c1", "execute", {"command": "true"})])
    events = parts.split("\n\n")[:-1]
    for n in range(len(events)):
        s = serve(whole("".join(e + "\n\n" for e in events[:n])),
                  whole(gemini("Hello.")))
        r = ask("-y")
        assert (r.status, r.out, len(s.requests)) == (0, "Hello.\n", 2), n
        assert "Retrying" in r.err
