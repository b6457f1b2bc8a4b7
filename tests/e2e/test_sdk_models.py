"""test_sdk_models.py - official SDKs of models, our emulator and dcode."""
# SPDX-License-Identifier: MIT
import json
import tomllib

import pytest

import sdk
import sdk_traffic as traffic



def script(cut, refused):
    """What the model does; the ends have each vendor's own names."""
    return {"by": "count", "turns": [
        {"thinking": "I should look.", "text": "Let me see.",
         "tool_calls": [{"name": "ls", "args": {"path": "/"}},
                        {"name": "ls", "args": {"path": "/tmp"}}],
         "usage": {"reasoning": 4}},
        {"text": "Done."},
        {"text": "Cut", "stop": cut},
        {"text": "No.", "stop": refused},
        {"fault": {"error_event": {"type": "server_error", "code": 500,
                                   "message": "out of order"}, "times": 9}}]}


# vendor: (model, wire, the SDK's address and key)
VENDORS = {
    "anthropic": ("anthropic:claude-opus-5", "anthropic",
                  script("max_tokens", "refusal"),
                  lambda s: {"ANTHROPIC_BASE_URL": s.url,
                             "ANTHROPIC_API_KEY": "k"}),
    "openai": ("openai:gpt-5.6-terra", "openai-responses",
               script("max_output_tokens", "refusal"),
               lambda s: {"OPENAI_BASE_URL": s.url + "/v1",
                          "OPENAI_API_KEY": "k"}),
    "bedrock": ("bedrock:us.anthropic.claude-opus-5-v1:0", "bedrock",
                script("max_tokens", "guardrail_intervened"),
                lambda s: {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": s.url,
                           "AWS_REGION": "us-west-2",
                           "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
                           "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI"}),
    "google_genai": ("google_genai:gemini-3.1-pro-preview", "gemini",
                     script("MAX_TOKENS", "SAFETY"),
                     lambda s: {"GOOGLE_GEMINI_BASE_URL": s.url,
                                "GOOGLE_API_KEY": "k"}),
    "google_vertexai": ("google_vertexai:gemini-3.1-pro-preview", "gemini",
                        script("MAX_TOKENS", "SAFETY"),
                        lambda s: {"GOOGLE_VERTEX_BASE_URL": s.url,
                                   "GOOGLE_CLOUD_PROJECT": "my-app",
                                   "GOOGLE_OAUTH_ACCESS_TOKEN": "k"}),
}
# at another address
SCRIPTS = {"google_vertexai": "google_genai"}


def shape(body):
    """Every leaf's path and type; what tools have in them is ours."""
    body = {**body, "tools": "as dcode sends them"}
    body.pop("toolConfig", None)
    return set(traffic.members(body, "body"))


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_sdk_is_content_and_sends_what_dcode_sends(
        vendor, top, model, run, config, env):
    name, wire, turns, at = VENDORS[vendor]
    config(f"[models.providers.{vendor}]\nwire = \"{wire}\"\n")
    key = "AKIDEXAMPLE" if vendor == "bedrock" else "k"
    server = model({**turns, "key": key})
    env.update(at(server))
    r = run("-n", "hi", "-y", "-M", name)
    assert (r.status, r.out) == (0, "Let me see.\nDone.\n"), r.err
    ours = [q["body"] for q in server.requests]
    path = server.requests[0]["path"]
    server = model({**turns, "key": key})
    out = sdk.run(top, f"{SCRIPTS.get(vendor, vendor)}.mjs", {
        **at(server), "MODEL": name.partition(":")[2],
        "DCODE_REQUEST": json.dumps(ours[0])})
    assert out.splitlines()[-1] == "content"
    assert server.violations == []
    theirs = [q["body"] for q in server.requests if "body" in q]
    assert len(ours) == 2 and len(theirs) == 5
    assert server.requests[0]["path"] == path
    found = {}
    for mine, other in zip(ours, theirs):
        for tools in ("tools", "toolConfig"):
            assert mine.get(tools) == other.get(tools)
        found |= {"+" + f: 1 for f in shape(mine) - shape(other)}
        found |= {"-" + f: 1 for f in shape(other) - shape(mine)}
    listed = top / "tests" / "sdk" / "differences.toml"
    known = tomllib.loads(listed.read_text())["models"]
    for f in sorted(found):
        print(f'"{f}" = ""')
    assert set(found) == set(known.get(vendor, ()))
    # the control: a member more
    assert shape(ours[0]) != shape({**ours[0], "odd": 1})
