"""test_windows.py - what a server says of a model that the table lacks."""
# SPDX-License-Identifier: MIT
import json
import time

import pytest

import raw_http as raw
from raw_http import RawServer
from slash_chat import begin, on_screen, talk  # noqa: F401 (a fixture)

CALL = {"name": "execute", "args": {"command": "true"}}
STEPS = {"turns": [{"tool_calls": [CALL]}] * 3 + [{"text": "Done."}]}
MINE = """[models.providers.mine]
wire = "{1}"
base_url = "{0}"
api_key_env = "OPENAI_API_KEY"
"""
FILE = ".deepagents/.state/model_windows.json"

# what servers of these kinds answer: wire, path of the base, the script's part
KINDS = {
    "openrouter": ("openai-chat", "/v1", {"models": [
        {"id": "other", "context_length": 1},
        {"id": "m", "context_length": 99000, "top_provider": {
            "context_length": 64000, "max_completion_tokens": 8000}}]}),
    "vllm": ("openai-chat", "/v1", {"models": [
        {"id": "m", "owned_by": "vllm", "max_model_len": 64000}]}),
    "one model of another name": ("openai-chat", "/v1", {"models": [
        {"id": "/models/qwen.gguf", "max_model_len": 64000}]}),
    "llama.cpp": ("openai-chat", "/v1", {
        "models": [{"id": "m", "owned_by": "llamacpp",
                    "meta": {"n_ctx_train": 262144}}],
        "props": {"default_generation_settings": {"n_ctx": 64000}}}),
    "lm studio": ("openai-chat", "/v1", {
        "models": [{"id": "m", "owned_by": "organization_owner"},
                   {"id": "n", "owned_by": "organization_owner"}],
        "native": [{"id": "n", "max_context_length": 1000000},
                   {"id": "m", "max_context_length": 131072,
                    "loaded_context_length": 64000}]}),
    "ollama": ("openai-chat", "/v1", {
        "models": [{"id": "m:latest", "owned_by": "library"}],
        "show": {"parameters": "stop \"x\"\nnum_ctx     64000\n",
                 "model_info": {"qwen3.context_length": 131072}}}),
    "ollama's own": ("openai-chat", "/v1", {
        "models": [{"id": "m:latest", "owned_by": "library"}],
        "show": {"model_info": {"general.architecture": "qwen3",
                                "qwen3.context_length": 64000}}}),
    "responses": ("openai-responses", "/v1", {"models": [
        {"id": "m", "context_window": 64000}]}),
    "anthropic": ("anthropic", "", {"models": [
        {"id": "m", "max_input_tokens": 64000, "max_tokens": 8000}]}),
    "gemini": ("gemini", "/v1beta", {"models": [
        {"name": "models/m", "inputTokenLimit": 64000,
         "outputTokenLimit": 8000}]}),
}


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def ask(model, run, config):
    """A run of some turns with a model of that name at a server like this."""
    def to_end(wire, base, part, *flags, turns=STEPS):
        server = model({**turns, **part})
        config(MINE.format(server.url + base, wire))
        r = run("-n", "hi", "-y", "-M", "mine:m", *flags)
        return server, r
    return to_end


def stored(home):
    path = home / FILE
    return json.loads(path.read_text()) if path.exists() else {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_is_asked_in_its_own_way(ask, run, home, kind):
    wire, base, part = KINDS[kind]
    slow = {"turns": [{"tool_calls": [{"name": "execute", "args": {
        "command": "sleep 0.4"}}]}, {"text": "Done."}]}
    server, r = ask(wire, base, part, turns=slow)
    assert (r.status, r.out) == (0, "Done.\n"), r.err
    wait_for(lambda: stored(home))
    assert [e["context"] for e in stored(home).values()] == [64000]
    asked = len(server.asked)
    # once: it is known from now on
    r = run("-n", "more", "-r", "-y", "-M", "mine:m")
    assert len(server.asked) == asked and len(server.violations) == 0 or \
        "no turn" in server.violations[0]


@on_screen
def test_the_window_that_the_server_names_holds_in_the_chat(talk, config):
    turns = {"turns": [{"text": "Hello."}] * 9, "by": "count",
             "models": [{"id": "m", "max_model_len": 64000}]}
    c = begin(talk, turns, "-M", "openai:m")
    c.say("one", "Hello.")
    wait_for(lambda: c.server.asked)
    c.say("two", "Hello.", 2)
    seen = c.say("/context", "free; dcode compacts at")
    assert "64" in seen and "assumed" not in seen


@pytest.mark.parametrize("size", [-5, 100, 7999, 10 ** 8, 1e300, "many"])
def test_a_size_that_cannot_be_ends_no_conversation(ask, home, size):
    server, r = ask("openai-chat", "/v1", {"models": [
        {"id": "m", "max_model_len": size}]})
    assert (r.status, r.out) == (0, "Done.\n"), r.err
    assert len(server.requests) == 4


@pytest.mark.parametrize("name, used", [
    ("claude-opus-5", 10 ** 9), ("unknown", 10 ** 6), ("unknown", 2 ** 62)])
def test_used_tokens_that_cannot_be_end_no_conversation(model, run, used,
                                                        name):
    usage = {"input": used, "output": 1, "cache_read": used}
    server = model({"turns": [{**t, "usage": usage} for t in STEPS["turns"]]})
    r = run("-n", "hi", "-y", "-M", "anthropic:" + name)
    assert (r.status, r.out) == (0, "Done.\n"), r.err
    assert len(server.requests) == 4


def test_a_slow_server_delays_nothing(ask):
    began = time.monotonic()
    server, r = ask("openai-chat", "/v1", {
        "models": [{"id": "m", "max_model_len": 64000}],
        "models_delay_ms": 60000})
    assert (r.status, r.out) == (0, "Done.\n"), r.err
    assert time.monotonic() - began < 30


def test_a_model_that_the_table_has_is_not_asked_for(model, run):
    server = model({**STEPS, "models": []})
    r = run("-n", "hi", "-y", "-M", "anthropic:claude-opus-5")
    assert r.status == 0 and server.asked == []


@pytest.mark.parametrize("text", ["{", "[]", "{\"a\": 1}"])
def test_a_damaged_file_is_written_anew(ask, home, text):
    path = home / FILE
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_text(text)
    slow = {"turns": [{"tool_calls": [{"name": "execute", "args": {
        "command": "sleep 0.4"}}]}, {"text": "Done."}]}
    _, r = ask(*KINDS["vllm"], turns=slow)
    assert (r.status, r.out) == (0, "Done.\n"), r.err
    wait_for(lambda: any(e == 64000 or isinstance(e, dict) and
                         e.get("context") == 64000
                         for e in stored(home).values()))


NAMES = {"models": [{"id": "qwen3-coder"}, {"id": "llama-4-scout"},
                    {"id": "openai/gpt-oss-120b"}, {"id": "a"}, {"id": "b"}]}
WRONG = {"turns": [{"text": "x", "fault": {
    "status": 404, "body": {"error": {"message": "no", "code":
                                      "model_not_found"}}}}]}


@pytest.mark.parametrize("wire, base, name, words", [
    ("openai-chat", "/v1", "qwen3-codr", "Did you mean -M mine:qwen3-coder?"),
    ("openai-responses", "/v1", "gpt-oss-120",
     "Did you mean -M mine:openai/gpt-oss-120b?"),
    ("anthropic", "", "qwen3-coder", "The server lists"),
    ("gemini", "/v1beta", "llama4-scout", "-M mine:llama-4-scout?"),
    ("openai-chat", "/v1", "entirely-different", "Check the model name")])
def test_the_nearest_name_of_the_servers_own_list(model, run, config, wire,
                                                  base, name, words):
    lists = {"models": [{"name": "models/" + m["id"]} for m in
                        NAMES["models"]]} if wire == "gemini" else NAMES
    server = model({**WRONG, **lists})
    config(MINE.format(server.url + base, wire))
    r = run("-n", "hi", "-M", "mine:" + name)
    assert r.status == 1 and words in r.err, r.err
    assert len(server.requests) == 1 and len(server.asked) == 1


def test_a_server_of_few_models_names_them(model, run, config):
    server = model({**WRONG, "models": [
        {"id": "qwen3:8b"}, {"id": "a\x1b[31mb\nc"}]})
    config(MINE.format(server.url + "/v1", "openai-chat"))
    r = run("-n", "hi", "-M", "mine:gpt-4")
    assert "offers qwen3:8b, ab c. Choose with -M mine:NAME" in r.err


def test_the_table_where_the_server_has_no_list(model, run):
    model(WRONG)
    r = run("-n", "hi", "-M", "anthropic:claude-opsu-5")
    assert "Did you mean -M anthropic:claude-opus-5?" in r.err


def test_a_list_that_does_not_come_is_not_waited_for_long(run, config, env):
    def silent(wire, _request):
        time.sleep(60)

    env["OPENAI_API_KEY"] = "k"
    with RawServer(raw.refused("404 Not Found", "no", code="model_not_found"),
                   beside=silent) as server:
        config(MINE.format(f"http://127.0.0.1:{server.port}/v1",
                           "openai-chat"))
        r = run("-n", "hi", "-M", "mine:m", timeout=40)
        assert r.status == 1 and "Check the model name" in r.err
