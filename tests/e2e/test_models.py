"""test_models.py - dcode models: what is known, and what a model can do."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest


def rows_of(run, *words):
    return json.loads(run("models", "list", *words, "--json").out)["data"]


def test_the_list_says_what_the_table_and_the_profile_say(run, config, env):
    config('[models.providers.mine]\nbase_url = "http://127.0.0.1:1"\n'
           'models = ["huge"]\n[models.providers.mine.profile]\n'
           'max_input_tokens = 5000\ninput_price = 1\noutput_price = 2\n')
    env["ANTHROPIC_API_KEY"] = "sk-x"
    env.pop("OPENAI_API_KEY", None)
    rows = {f"{r['provider']}:{r['model']}": r for r in rows_of(run)}
    opus = rows["anthropic:claude-opus-5"]
    assert (opus["context"], opus["input_price"], opus["ready"]) == (
        1000000, 5, True)
    assert rows["openai:gpt-5.5"]["ready"] is False
    mine = rows["mine:huge"]
    assert (mine["context"], mine["output_price"], mine["max_output"]) == (
        5000, 2, None)
    assert [r["model"] for r in rows_of(run, "opus-5-5")] == [
        "claude-opus-5-5"]
    text = run("models", "list", "mine:").out
    assert "mine:huge" in text and "$1/$2" in text and "opus" not in text
    assert "No known model" in run("models", "list", "nothing").err


def call(city):
    return {"name": "weather", "args": {"city": city}}


ABLE = [{"text": "1 2 3 4 5 6 7 8"}, {"tool_calls": [call("Paris")]},
        {"tool_calls": [call("Paris"), call("Rome")]},
        {"thinking": "hm, 9", "text": "27"}, {"text": "Red."},
        {"text": "49", "usage": {"input": 9, "output": 1, "cache_write": 99}},
        {"text": "81", "usage": {"input": 9, "output": 1, "cache_read": 99}}]
# one delta each, no calls, no thoughts, the wrong colour, nothing cached
UNABLE = [{"text": "1"}] * 7


def try_model(model, run, turns, name):
    m = model({"turns": turns, "by": "count"})
    r = run("models", "test", name, "--json")
    data = json.loads(r.out)["data"]
    return m, r, {c["name"]: c["result"] for c in data["checks"]}, data


def test_a_model_is_tried_for_what_it_can_do(model, run):
    m, r, checks, data = try_model(model, run, ABLE,
                                   "anthropic:claude-opus-5")
    assert r.status == 0, r.err
    assert checks == dict.fromkeys(
        ("streaming", "tools", "parallel tools", "thinking", "images",
         "caching"), "yes")
    assert len(m.requests) == 7
    assert data["cost_usd"] > 0
    assert data["usage"]["cache_read_tokens"] == 99


def test_what_a_model_cannot_do_is_no_and_not_a_failure(model, run):
    _, r, checks, data = try_model(model, run, UNABLE, "anthropic:unknown")
    assert r.status == 0 and set(checks.values()) == {"no"}
    assert data["cost_usd"] is None


def test_a_refused_request_fails_its_check_alone(model, run):
    turns = [{"text": "1 2 3 4 5 6", "fault": {
        "status": 400, "body": {"error": {"message": "no such thing"}}}}]
    _, r, checks, _ = try_model(model, run, turns + ABLE,
                                "anthropic:claude-opus-5")
    assert r.status == 1
    assert checks["streaming"] == "failed" and len(checks) == 6


def test_a_wrong_key_ends_it_at_once(model, run):
    m = model({"turns": ABLE, "by": "count", "key": "another"})
    r = run("models", "test", "anthropic:claude-opus-5")
    assert r.status == 1 and "failed" in r.out and "tools" not in r.out
    assert len(m.requests) == 1


AWS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_REGION": "us-west-2",
       "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI"}
# wire: (model, variables; {} is the server's address)
WIRES = {
    "openai-chat": ("openai:gpt-5.5", {}),
    "openai-responses": ("openai:gpt-5.5", {}),
    "gemini": ("google_genai:gemini-3.1-pro-preview",
               {"GOOGLE_GEMINI_BASE_URL": "{}", "GOOGLE_API_KEY": "k"}),
    "bedrock": ("bedrock:us.anthropic.claude-opus-5",
                {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "{}", **AWS}),
    "gemini at vertex": ("vertex:gemini-3.1-pro-preview", {
        "GOOGLE_VERTEX_BASE_URL": "{}", "GOOGLE_CLOUD_PROJECT": "p",
        "GOOGLE_OAUTH_ACCESS_TOKEN": "k"}),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("turns, word", [(ABLE, "yes"), (UNABLE, "no")])
def test_every_wire_is_tried_alike(model, run, env, config, wire, turns, word):
    name, variables = WIRES[wire]
    m = model({"turns": turns, "by": "count"})
    env.update({k: v.format(m.url) for k, v in variables.items()})
    config(f"[models.providers.{name.partition(':')[0]}]\n"
           f"wire = \"{wire.split()[0]}\"\n")
    r = run("models", "test", name, "--max-usd", "50", "--json")
    data = json.loads(r.out)["data"]
    assert r.status == 0, r.err
    assert m.violations == [] and len(m.requests) == 7
    assert {c["name"]: c["result"] for c in data["checks"]} == dict.fromkeys(
        ("streaming", "tools", "parallel tools", "thinking", "images",
         "caching"), word)


@pytest.mark.parametrize("by", ["flag", "config"])
def test_a_cap_ends_the_trial(model, run, config, by):
    m = model({"turns": ABLE, "by": "count"})
    flags = ["--max-usd", "0.15"] if by == "flag" else []
    if by == "config":
        config("[limits]\nmax_usd = 0.15\n")
    r = run("models", "test", "anthropic:claude-opus-5", *flags)
    assert r.status == 124, r.err
    # the long prompt of the last check alone may cost more
    assert len(m.requests) == 5
    last = [x for x in r.out.splitlines() if x.startswith("caching")][0]
    assert "failed" in last and "(--max-usd); the next request" in last


def test_a_cap_needs_a_price_and_an_amount(model, run):
    m = model({"turns": ABLE, "by": "count"})
    r = run("models", "test", "anthropic:unknown", "--max-usd", "1")
    assert r.status != 0 and "price of anthropic:unknown" in r.err
    r = run("models", "test", "anthropic:claude-opus-5", "--max-usd", "x")
    assert r.status == 2 and "amount in US dollars" in r.err
    assert m.requests == []


def test_a_model_without_tools_is_refused(model, run, config):
    m = model([{"text": "ok"}])
    config("[models.providers.anthropic.profile.\"claude-opus-5\"]\n"
           "tool_calling = false\n"
           "[models.providers.anthropic.profile.\"claude-opus-5-5\"]\n"
           "tool_calling = true\n")
    r = run("-n", "hi", "-M", "anthropic:claude-opus-5")
    assert r.status == 1 and m.requests == []
    assert "Model 'claude-opus-5' does not support tool calling" in r.err
    assert run("-n", "hi", "-M", "anthropic:claude-opus-5-5").out == "ok\n"


@pytest.mark.parametrize("key, family, url", [
    ("OPENAI_API_KEY", "terra", "OPENAI_BASE_URL"),
    ("ANTHROPIC_API_KEY", "opus", "ANTHROPIC_BASE_URL")])
def test_the_default_is_the_one_that_the_manual_names(
        model, run, env, top, key, family, url):
    server = model([{"text": "ok"}])
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        env.pop(name, None)
    env[key] = "sk-x"
    assert run("-n", "hi").out == "ok\n"
    used = server.requests[0]["body"]["model"]
    page = " ".join((top / "cmd/manual/models.md").read_text().split())
    assert re.search(rf"`{family}` of \w+ \((now )?`{re.escape(used)}`\)",
                     page)
    if family == "opus":  # the examples show the default
        assert f":{used}, tools in" in (top / "README.md").read_text()
        assert f" {used} · " in (top / "cmd/manual/chat.md").read_text()


def test_a_short_name_is_the_newest_of_its_family(model, run):
    server = model({"turns": [{"text": "ok"}], "repeat": True})
    for name, full in (("sonnet", "claude-sonnet-5-5"),
                       ("opus-4.6", "claude-opus-4-6"),
                       ("claude", "claude-opus-5-5")):
        assert run("-n", "hi", "-M", name).out == "ok\n"
        assert server.requests[-1]["body"]["model"] == full
