"""test_bedrock.py - what only AWS Bedrock's ConverseStream has."""
# SPDX-License-Identifier: MIT
import calendar
import email.utils
import json
import time

import pytest

import agentcore_sign
import raw_http as raw
from model_bedrock import frame
from raw_http import RawServer, whole

MODEL = "bedrock:us.anthropic.claude-opus-5"
CALL = [{"name": "execute", "args": {"command": "true"}}]
KEY = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
       "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI"}


def converse(text="ok", calls=(), stop="end_turn"):
    out = [frame("messageStart", {"role": "assistant"})]
    for i, c in enumerate(calls):
        out += [frame("contentBlockStart", {
            "contentBlockIndex": i + 1, "start": {"toolUse": {
                "toolUseId": c[0], "name": c[1]}}}),
                frame("contentBlockDelta", {
                    "contentBlockIndex": i + 1,
                    "delta": {"toolUse": {"input": json.dumps(c[2])}}})]
    if text:
        out.append(frame("contentBlockDelta", {
            "contentBlockIndex": 0, "delta": {"text": text}}))
    return out + [frame("messageStop", {"stopReason": stop}),
                  frame("metadata", {"usage": {"inputTokens": 3}})]


def stream(frames):
    return whole(b"".join(frames), kind="application/vnd.amazon.eventstream")


@pytest.fixture
def model(model, env):
    """The same, for this vendor too."""
    def begin(script):
        server = model(script)
        env.update(AWS_ENDPOINT_URL_BEDROCK_RUNTIME=server.url)
        return server
    return begin


@pytest.fixture
def ask(run, env):
    env.update(KEY, AWS_REGION="us-west-2")

    def to_end(*flags, spec=MODEL, **how):
        return run("-n", "hi", "-M", spec, *flags, **how)
    return to_end


@pytest.fixture
def serve(env):
    servers = []

    def begin(*answers):
        servers.append(RawServer(*answers))
        env["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] = \
            f"http://127.0.0.1:{servers[-1].port}"
        return servers[-1]
    yield begin
    for server in servers:
        server.__exit__()


@pytest.mark.parametrize("more, key", [
    ({}, "AKIDEXAMPLE"),
    ({"AWS_ACCESS_KEY_ID": "ASIAEXAMPLE",
      "AWS_SESSION_TOKEN": "session+token/="}, "ASIAEXAMPLE"),
    ({"AWS_BEARER_TOKEN_BEDROCK": "bedrock-api-key-x"}, "bedrock-api-key-x")])
def test_requests_are_signed_or_bear_a_token(model, ask, env, more, key):
    server = model([{"text": "ok"}])
    env.update(more)
    r = ask()
    assert (r.status, r.out) == (0, "ok\n"), r.err
    assert [q["key"] for q in server.requests] == [key]


def test_a_wrong_secret_is_refused_with_what_to_do(model, ask, env):
    model([{"text": "ok"}])
    env["AWS_SECRET_ACCESS_KEY"] = "wrong"
    r = ask()
    assert (r.status, r.out) == (1, "") and "aws sso login" in r.err
    assert "wrong" not in r.err


def test_key_and_region_of_a_profile(model, ask, env, home):
    server = model([{"text": "ok"}])
    for name in [*KEY, "AWS_REGION"]:
        env.pop(name)
    (home / ".aws").mkdir()
    (home / ".aws" / "config").write_text(
        "[default]\nregion = us-west-2\n"
        "aws_access_key_id = AKIDEXAMPLE\n"
        "aws_secret_access_key = wJalrXUtnFEMI\n")
    r = ask()
    assert (r.status, r.out) == (0, "ok\n"), r.err
    # the signature is of that region, or the emulator would refuse it
    assert [q["key"] for q in server.requests] == ["AKIDEXAMPLE"]


def test_a_key_of_a_project_is_named(model, ask, env, tmp_path):
    model([{"text": "ok"}])
    for name in KEY:
        env.pop(name)
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    (work / ".env").write_text(
        "".join(f"{k}={v}\n" for k, v in KEY.items()))
    r = ask()
    assert (r.status, r.out) == (0, "ok\n"), r.err
    assert f"AWS_ACCESS_KEY_ID of {work}/.env" in r.err


def test_a_key_that_expired_is_asked_for_again(serve, ask, env, home):
    for name in KEY:
        env.pop(name)
    script = home / "keys"
    script.write_text("#!/bin/sh\necho x >>\"$HOME/asked\"\n"
                      "echo '{\"Version\":1,\"AccessKeyId\":\"AKIDEXAMPLE\","
                      "\"SecretAccessKey\":\"s\"}'\n")
    script.chmod(0o755)
    (home / ".aws").mkdir()
    (home / ".aws" / "config").write_text(
        f"[default]\ncredential_process = {script}\n")
    expired = raw.refused("403 Forbidden", "The security token included in "
                          "the request is expired",
                          "x-amzn-errortype: ExpiredTokenException")
    s = serve(expired, stream(converse()))
    assert ask().out == "ok\n"
    assert (home / "asked").read_text() == "x\nx\n"
    s = serve(expired)
    r = ask()
    assert r.status == 1 and len(s.requests) == 2  # once in a turn


def stamp(seconds):
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(seconds))


def too_old(now):
    """What AWS says to a signature of our time, at its own time."""
    return raw.refused(
        "403 Forbidden", f"Signature expired: {stamp(now - 3600)} is now "
        f"earlier than {stamp(now - 300)} ({stamp(now)} - 5 min.)",
        "x-amzn-errortype: InvalidSignatureException")


def signed_at(request):
    return calendar.timegm(time.strptime(request.headers["x-amz-date"],
                                         "%Y%m%dT%H%M%SZ"))


@pytest.mark.parametrize("ahead", [3600, -7200])
def test_a_wrong_clock_is_corrected_for_all_that_follows(serve, ask, ahead):
    now = time.time() + ahead
    s = serve(too_old(now), stream(converse("", [
        ("c1", "execute", {"command": "true"})], "tool_use")),
        stream(converse()))
    r = ask("-y")
    assert (r.status, r.out) == (0, "ok\n"), r.err
    times = [signed_at(q) - time.time() for q in s.requests]
    assert abs(times[0]) < 200
    assert all(abs(t - ahead) < 200 for t in times[1:]) and len(times) == 3


def test_the_time_may_be_said_by_the_date_alone(serve, ask):
    now = time.time() + 3600
    s = serve(raw.refused(
        "403 Forbidden", "no", "x-amzn-errortype: RequestTimeTooSkewed",
        "Date: " + email.utils.formatdate(now, usegmt=True)),
        stream(converse()))
    assert ask().out == "ok\n"
    assert abs(signed_at(s.requests[1]) - now) < 200


@pytest.mark.parametrize("answer", [
    too_old(time.time()),  # the clock is right: the key is wrong
    too_old(time.time() + 9 * 86400),  # signatures for another week
    raw.refused("403 Forbidden", f"no ({stamp(time.time() + 3600)} x)",
                "x-amzn-errortype: AccessDeniedException")])
def test_a_time_that_explains_nothing_is_not_taken(serve, ask, answer):
    s = serve(answer)
    r = ask()
    assert (r.status, len(s.requests)) == (1, 1)


def test_a_clock_is_corrected_once_in_a_turn(serve, ask):
    s = serve(too_old(time.time() + 3600), too_old(time.time() + 9000))
    r = ask()
    assert (r.status, len(s.requests)) == (1, 2)


def test_thoughts_go_back_after_a_resume_and_to_nobody_else(model, run, ask):
    turn = {"thinking": ["hm", {"redacted": "data"}], "tool_calls": CALL}
    server = model([turn, {"text": "one"}, {"text": "two"}])
    assert ask("-y").out == "one\n"
    # the emulator refuses thoughts that changed
    r = run("-n", "more", "-r", "-M", MODEL)
    assert (r.status, r.out) == (0, "two\n"), r.err
    assert "sig+/0_0" in json.dumps(server.requests[-1]["body"])
    server = model([turn, {"text": "one"}, {"text": "two"}, {"text": "three"}])
    r = run("-n", "more", "-r", "-M", "anthropic:claude-opus-5")
    assert (r.status, r.out) == (0, "three\n"), r.err
    assert "sig+/0_0" not in json.dumps(server.requests[-1]["body"])


@pytest.mark.parametrize("spec, system, tools, history", [
    (MODEL, 1, 1, 2), ("bedrock:amazon.nova-pro-v1:0", 1, 0, 2),
    ("bedrock:anthropic.claude-3-sonnet-20240229-v1:0", 0, 0, 0),
    ("bedrock:openai.gpt-oss-120b-1:0", 0, 0, 0)])
def test_cache_points_where_the_model_has_a_cache(model, ask, spec, system,
                                                  tools, history):
    server = model([{"tool_calls": CALL}, {"text": "ok"}])
    r = ask("-y", spec=spec)
    assert (r.status, r.out) == (0, "ok\n"), r.err
    body = server.requests[-1]["body"]
    points = [json.dumps(body[k]).count("cachePoint")
              for k in ("system", "toolConfig", "messages")]
    assert points == [system, tools, history]


def test_parameters_get_their_places(model, ask):
    server = model([{"text": "ok"}])
    assert ask("--model-params", json.dumps({
        "max_tokens": 99, "temperature": 1, "stop": ["x"], "top_k": 5,
        "thinking": {"type": "enabled", "budget_tokens": 1024}})).status == 0
    body = server.requests[0]["body"]
    assert body["inferenceConfig"] == {
        "maxTokens": 99, "temperature": 1, "stopSequences": ["x"]}
    assert body["additionalModelRequestFields"] == {
        "top_k": 5, "thinking": {"type": "enabled", "budget_tokens": 1024}}


def test_an_arn_is_one_part_of_the_path(model, ask):
    server = model([{"text": "ok"}])
    arn = "arn:aws:bedrock:us-west-2:1:inference-profile/us.x"
    r = ask(spec="bedrock:" + arn)
    assert r.status == 0, r.err
    assert server.requests[0]["path"] == \
        "/model/arn%3Aaws%3Abedrock%3Aus-west-2%3A1%3Ainference-profile%2F" \
        "us.x/converse-stream"


@pytest.mark.parametrize("kind, words, tries", [
    ("throttlingException", "throttlingException: sorry", 2),
    ("modelStreamErrorException", "sorry", 2),
    ("validationException", "sorry", 1)])
def test_exceptions_in_a_stream(serve, ask, kind, words, tries):
    s = serve(stream(converse()[:1] + [agentcore_sign.exception(
        kind, b'{"message":"sorry"}')]))
    r = ask("--max-retries", "1")
    assert (r.status, r.out, len(s.requests)) == (1, "", tries)
    assert words in r.err


def test_an_error_frame_is_one_too(serve, ask):
    s = serve(stream([agentcore_sign.error("InternalError", "sorry")]),
              stream(converse()))
    r = ask()
    assert (r.status, r.out, len(s.requests)) == (0, "ok\n", 2)
    assert "InternalError: sorry" in r.err


def test_a_model_that_needs_a_profile_is_explained(serve, ask):
    serve(raw.refused("400 Bad Request", "Invocation of model ID x with "
                      "on-demand throughput isn\u2019t supported."))
    r = ask(spec="bedrock:anthropic.claude-opus-5")
    assert r.status == 1
    assert "-M bedrock:us.anthropic.claude-opus-5" in r.err


@pytest.mark.parametrize("body, kind", [
    ("<html>sign in</html>", "text/html"), ("{}", "application/json")])
def test_what_is_no_event_stream_is_not_asked_for_again(serve, ask, body,
                                                        kind):
    s = serve(whole(body, kind=kind))
    r = ask()
    assert (r.status, r.out, len(s.requests)) == (1, "", 1)
    assert "event stream" in r.err or "answered instead" in r.err


def test_every_cut_is_retried_once(serve, ask):
    calls = [("c1", "execute", {"command": "true"})]
    frames = converse("ok", calls, "tool_use")
    good = stream(converse())
    for n in range(len(frames) - 1):
        cuts = [frames[:n], frames[:n] + [frames[n][:-3]]]
        if n + 2 == len(frames):  # the stream may end before the counts
            cuts = cuts[:1]
        for part in cuts:
            s = serve(stream(part), good)
            r = ask("-y")
            assert (r.status, r.out, len(s.requests)) == (0, "ok\n", 2), n
            assert "Retrying" in r.err


def test_a_flipped_byte_is_no_answer(serve, ask):
    whole_stream = b"".join(converse("abcdef"))
    at = whole_stream.index(b"abcdef")
    spoilt = whole_stream[:at] + b"X" + whole_stream[at + 1:]
    s = serve(stream([spoilt]), stream(converse("abcdef")))
    r = ask()
    assert (r.status, r.out, len(s.requests)) == (0, "abcdef\n", 2)


def test_the_region_may_be_the_profiles_with_a_key_in_variables(model, ask,
                                                                env, home):
    model([{"text": "ok"}])
    del env["AWS_REGION"]
    r = ask()
    assert r.status == 1 and "has no AWS region" in r.err
    (home / ".aws").mkdir()
    (home / ".aws" / "config").write_text("[default]\nregion = eu/x\n")
    assert "not an AWS region: 'eu/x'" in ask().err
    (home / ".aws" / "config").write_text("[default]\nregion = us-west-2\n")
    r = ask()
    assert (r.status, r.out) == (0, "ok\n"), r.err
