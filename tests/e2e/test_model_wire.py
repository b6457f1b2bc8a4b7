"""test_model_wire.py - odd servers and odd streams, byte for byte."""
# SPDX-License-Identifier: MIT
import gzip
import json
import ssl
import subprocess

import pytest

import raw_http as raw
from raw_http import (RawServer, chat, gemini, messages, refused, responses,
                      sse, whole)

STREAMS = {"openai": chat, "anthropic": messages, "gpt": responses,
           "gem": gemini}
WIRES = list(STREAMS)
GPT = """[models.providers.gpt]
wire = "openai-responses"
base_url_env = "OPENAI_BASE_URL"
api_key_env = "OPENAI_API_KEY"
"""
GEM = """[models.providers.gem]
wire = "gemini"
base_url_env = "GEM_BASE_URL"
api_key_env = "OPENAI_API_KEY"
"""


def stream(wire, *args, **how):
    return STREAMS[wire](*args, **how)


def ok(wire, text="Hello."):
    return whole(stream(wire, text))


@pytest.fixture
def serve(env):
    """serve(answers...) -> RawServer that env points at."""
    servers = []

    def begin(*answers, scheme="http", host="127.0.0.1", **how):
        servers.append(RawServer(*answers, **how))
        at = f"{scheme}://{host}:{servers[-1].port}"
        env.update(ANTHROPIC_API_KEY="sk-a", ANTHROPIC_BASE_URL=at,
                   OPENAI_API_KEY="sk-o", OPENAI_BASE_URL=at + "/v1",
                   GEM_BASE_URL=at)
        return servers[-1]
    yield begin
    for server in servers:
        server.__exit__()


@pytest.fixture
def ask(run, config):
    """ask(wire, flags...) -> the Run of a one-word task."""
    config(GPT + GEM)

    def to_end(wire, *flags, **how):
        return run("-n", "hi", "-M", wire + ":m", *flags, **how)
    return to_end


def bytewise(wire):
    def answer(w, _request):
        w.send(raw.head("200 OK", "Transfer-Encoding: chunked"))
        w.send(raw.chunked(stream(wire, "Hello."), 1))
    return answer


def http_1_0(wire):
    def answer(w, _request):
        w.send(b"HTTP/1.0 200 OK\r\n\r\n" + stream(wire, "Hello.").encode())
        w.close()
    return answer


def trailers(wire):
    def answer(w, _request):
        w.send(raw.head("200 OK", "Transfer-Encoding: chunked"))
        w.send(raw.chunked(stream(wire, "Hello."))[:-2])
        w.send("X-Sum: 1\r\n\r\n")
    return answer


def early_hints(wire):
    def answer(w, request):
        w.send("HTTP/1.1 100 Continue\r\n\r\n"
               "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
        ok(wire)(w, request)
    return answer


def zipped(wire):
    return whole(gzip.compress(stream(wire, "Hello.").encode()),
                 "Content-Encoding: gzip")


def other_type(wire):
    return whole(stream(wire, "Hello."), kind="application/octet-stream")


def old_line_ends(wire):
    return whole("\ufeff" + stream(wire, "Hello.").replace("\n", "\r"))


def not_streamed(wire):
    if wire == "openai":
        body = {"choices": [{"message": {"content": "Hello."},
                             "finish_reason": "stop"}]}
    elif wire == "gpt":
        body = {"object": "response", "status": "completed", "output": [
            {"type": "message", "content": [{"text": "Hello."}]}]}
    elif wire == "gem":
        body = {"candidates": [{"finishReason": "STOP", "content": {
            "parts": [{"text": "Hel"}, {"text": "lo."}]}}]}
    else:
        body = {"type": "message", "stop_reason": "end_turn", "content": [
            {"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}]}
    return whole(json.dumps(body), kind="application/json")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", [
    bytewise, http_1_0, trailers, early_hints, zipped, other_type,
    old_line_ends, not_streamed])
def test_any_http_will_do(serve, ask, wire, answer):
    s = serve(answer(wire))
    r = ask(wire)
    assert (r.status, r.out) == (0, "Hello.\n"), r.err
    assert len(s.requests) == 1 and "Retrying" not in r.err


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", [
    whole("", "Location: /v2", status="307 Temporary Redirect"),
    whole("", status="204 No Content"),
    whole("<!doctype html><title>Sign in</title>", kind="text/html"),
    refused("401 Unauthorized", "bad key"),
    refused("402 Payment Required", "Insufficient Balance"),
    refused("429 Too Many", "Request too large for m: Limit 1, Requested 2"),
    refused("429 Too Many", "pay", code="project_spend_limit_exceeded"),
    refused("429 Too Many", "later", "Retry-After: inf")])
def test_some_answers_do_not_improve(serve, ask, wire, answer):
    s = serve(answer)
    r = ask(wire)
    assert (r.status, r.out, len(s.requests)) == (1, "", 1)
    assert "Retrying" not in r.err and len(r.err.splitlines()) == 4


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer, why", [
    (refused("429 Too Many", "You exceeded your current quota, please check "
             "your plan and billing details. Please retry in 20ms."), "quota"),
    (refused("429 Too Many", "x", "Retry-After: Sun, 06 Nov 1994 08:49:37 "
             "GMT"), "429"),
    (refused("429 Too Many", "x", "Retry-After: soon"), "429"),
    (refused("400 Bad Request", "Failed to call a function.",
             code="tool_use_failed"), "400"),
    (whole('data: {"error":"just words"}\n\n'), "reported just words"),
    (whole(""), "ended before"),
])
def test_others_do(serve, ask, wire, answer, why):
    s = serve(answer, ok(wire))
    r = ask(wire)
    assert (r.status, r.out, len(s.requests)) == (0, "Hello.\n", 2)
    assert f"{why}" in r.err and "Retrying" in r.err


def test_a_long_wait_is_announced(serve, ask):
    serve(refused("429 Too Many", "Please try again in 1.1s."), ok("openai"))
    r = ask("openai")
    assert "trying again in 1 s (waited 0 of 600 s)" in r.err
    assert r.seconds > 1.1


@pytest.mark.parametrize("wire", WIRES)
def test_a_slow_event_is_no_stall(serve, ask, env, wire):
    def drip(w, _request):
        data = stream(wire, "Hello.").encode()
        w.send(raw.head())
        w.send(data[:25], 1, 0.12)
        w.send(data[25:])
        w.close()
    env["DEEPAGENTS_CODE_STREAM_IDLE_SECONDS"] = "0.4"
    serve(drip)
    r = ask(wire)
    assert (r.status, r.out) == (0, "Hello.\n"), r.err
    assert "stalled" not in r.err and r.seconds > 2.5


@pytest.mark.parametrize("wire", WIRES)
def test_heartbeats_alone_are_one(serve, ask, env, wire):
    def beat(w, _request):
        w.send(raw.head())
        while True:
            w.send(": x\n\n" if wire != "anthropic" else
                   'event: ping\ndata: {"type":"ping"}\n\n', wait=0.02)
    env["DEEPAGENTS_CODE_STREAM_IDLE_SECONDS"] = "0.5"
    serve(beat, ok(wire))
    r = ask(wire)
    assert (r.status, r.out) == (0, "Hello.\n")
    assert "only heartbeats" in r.err


def once(n):
    return [(f"abc{n:06}", "execute", {"command": f"echo x >> ran{n}"})]


def closing(answer):
    def then_close(w, request):
        answer(w, request)
        w.close()
    return then_close


def cut(body, at):
    def answer(w, _request):
        w.send(raw.head("200 OK", f"Content-Length: {len(body)}"))
        w.send(body[:at])
        w.close()
    return answer


@pytest.mark.parametrize("wire", WIRES)
def test_no_retry_runs_a_tool_twice(serve, ask, tmp_path, wire):
    first = stream(wire, None, once(1)).encode()
    s = serve(
        cut(first, len(first) // 2), cut(first, len(first) - 3),
        closing(whole(first)),  # although it promised to stay
        refused("500 Oops"), refused("529 Overloaded", "x", "Retry-After: 0"),
        whole(stream(wire, None, once(2))),
        lambda w, _request: w.close(),  # the kept connection is dead
        ok(wire))
    r = ask(wire, "-y")
    assert (r.status, r.out) == (0, "Hello.\n"), r.err
    for name in ["ran1", "ran2"]:
        assert (tmp_path / "work" / name).read_text() == "x\n"
    assert len(s.requests) == 8
    if wire == "gpt":
        kinds = [i["type"] for i in s.requests[-1].body["input"]]
        assert kinds == ["message"] + 2 * ["function_call",
                                           "function_call_output"]
        return
    if wire == "gem":
        kinds = [list(c["parts"][0])[0]
                 for c in s.requests[-1].body["contents"]]
        assert kinds == ["text"] + 2 * ["functionCall", "functionResponse"]
        return
    roles = [m["role"] for m in s.requests[-1].body["messages"]
             if m["role"] != "system"]
    result = "tool" if wire == "openai" else "user"
    assert roles == ["user", "assistant", result, "assistant", result]


REASONING = ("Function tools with reasoning_effort are not supported for "
             "gpt-5.6-terra in /v1/chat/completions. To use function tools, "
             "use /v1/responses or set reasoning_effort to 'none'.")


def test_tools_without_reasoning_where_it_must_be(serve, ask):
    s = serve(refused("400 Bad Request", REASONING),
              whole(chat(None, once(3))), ok("openai"))
    r = ask("openai", "-y")
    assert (r.status, r.out) == (0, "Hello.\n")
    assert 'reasoning_effort "none"' in r.err
    sent = [q.body.get("reasoning_effort") for q in s.requests]
    assert sent == [None, "none", "none"]


def test_unless_the_user_said_otherwise(serve, ask):
    s = serve(refused("400 Bad Request", REASONING), ok("openai"))
    r = ask("openai", "--model-params", '{"reasoning_effort":"high"}')
    assert r.status == 1 and "/v1/responses" in r.err
    assert len(s.requests) == 1


def test_what_a_refusal_says_is_shown(serve, ask):
    serve(whole(messages("Hel", reason="refusal", details={
        "type": "refusal", "category": "cyber", "explanation": "No, sir."})))
    r = ask("anthropic")
    assert r.out == "Hel\n\nNo, sir.\n" and "refused" in r.err


@pytest.mark.parametrize("answer, words", [
    (messages("x", reason="model_context_window_exceeded"), "window is full"),
    (messages("x", reason="max_tokens"), "output limit"),
    (messages(), "an empty answer"), (messages("x"), None)])
def test_odd_ends_are_remarked_on(serve, ask, answer, words):
    serve(whole(answer))
    r = ask("anthropic")
    assert r.status == (3 if words == "an empty answer" else 0)
    assert words in r.err if words else "Warning" not in r.err


def test_no_fifth_cache_mark(serve, ask):
    s = serve(ok("anthropic"))
    ask("anthropic", "--model-params",
        '{"cache_control":{"type":"ephemeral"},"temperature":1}')
    body = s.requests[0].body
    assert "cache_control" not in body and body["temperature"] == 1
    assert json.dumps(body).count("cache_control") <= 4


def thinking(text, *rest):
    return whole(sse({"choices": [{"delta": {"reasoning_content": text}}]})
                 + chat(*rest))


def test_thoughts_go_back_with_every_answer(serve, ask):
    """DeepSeek: with those that had none, too, as an empty member."""
    s = serve(thinking("t1", None, once(4)), whole(chat("aside", once(5))),
              ok("openai"))
    ask("openai", "-y")
    said = [m for m in s.requests[-1].body["messages"]
            if m["role"] == "assistant"]
    assert [m["reasoning_content"] for m in said] == ["t1", ""]


def test_ids_of_calls_go_back_unchanged(serve, ask):
    call = [("functions.ls:0", "ls", {"path": "."})]
    s = serve(whole(chat(None, call)), ok("openai"))
    ask("openai")
    sent = s.requests[-1].body["messages"]
    assert sent[-2]["tool_calls"][0]["id"] == "functions.ls:0"
    assert sent[-1]["tool_call_id"] == "functions.ls:0"


def test_ids_that_we_invent_suit_mistral(serve, ask):
    call = {"index": 0, "function": {"name": "ls", "arguments": "{}"}}
    s = serve(whole(sse({"choices": [{"delta": {"tool_calls": [call]},
                                      "finish_reason": "tool_calls"}]})),
              ok("openai"))
    ask("openai")
    invented = s.requests[-1].body["messages"][-1]["tool_call_id"]
    assert len(invented) == 9 and invented.isalnum()


def test_mistral_gets_calls_alone(serve, ask, env):
    s = serve(whole(chat("aside", once(6))), ok("openai"))
    env.update(MISTRAL_API_KEY="k", MISTRAL_BASE_URL=env["OPENAI_BASE_URL"])
    assert ask("mistral", "-y").status == 0
    assert s.requests[-1].body["messages"][-2]["content"] is None


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A private CA: .pem, and a context for a server named localhost."""
    at = tmp_path_factory.mktemp("tls")

    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=at, check=True,
                       stderr=subprocess.DEVNULL)
    new = ["-newkey", "rsa:2048", "-nodes"]
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem",
            "-days", "2", "-subj", "/CN=test CA")
    openssl("req", *new, "-keyout", "key.pem", "-out", "csr", "-subj",
            "/CN=localhost")
    (at / "ext").write_text("subjectAltName=DNS:localhost")
    openssl("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", "leaf.pem", "-days", "2", "-extfile",
            "ext")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(at / "leaf.pem", at / "key.pem")
    return at / "ca.pem", context


@pytest.mark.parametrize("pem, hint", [
    ("own", None), (None, "SSL_CERT_FILE"), ("/nonexistent", "readable PEM")])
def test_private_authorities(serve, ask, env, authority, pem, hint):
    own, context = authority
    s = serve(ok("openai"), tls=context, scheme="https", host="localhost")
    if pem:
        env["SSL_CERT_FILE"] = str(own) if pem == "own" else pem
    r = ask("openai")
    assert (r.status, len(s.requests)) == ((1, 0) if hint else (0, 1))
    assert not hint or hint in r.err and "Retrying" not in r.err


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY",
                                      "all_proxy"])
def test_proxies(serve, ask, env, config, variable):
    s = serve(ok("openai"))
    config("[models.providers.openai]\nallow_http = true\n")
    env["OPENAI_BASE_URL"] = "http://vendor.invalid/v1"
    env[variable] = f"http://127.0.0.1:{s.port}"
    assert ask("openai").status == 0
    assert s.requests[0].line.split()[1] == \
        "http://vendor.invalid/v1/chat/completions"
    env["NO_PROXY"] = "example.org,.invalid"
    assert ask("openai", "--max-retries", "0").status == 1
    assert len(s.requests) == 1


def test_a_proxy_that_wants_a_password(serve, ask, env):
    s = serve(whole("", "Proxy-Authenticate: Basic", status="407 Who"))
    env["OPENAI_BASE_URL"] = "https://vendor.invalid/v1"
    env["HTTPS_PROXY"] = f"http://127.0.0.1:{s.port}"
    r = ask("openai")
    assert r.status == 1 and "user:password@" in r.err
    assert len(s.requests) == 1
