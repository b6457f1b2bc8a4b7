"""test_tool_schemas.py - tools of MCP servers in the form each vendor takes."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest

from mcp_rig import Mcp

CONFIG = """[models.providers.gpt]
wire = "openai-responses"
base_url_env = "OPENAI_BASE_URL"
api_key_env = "OPENAI_API_KEY"
[models.providers.mine]
base_url_env = "OPENAI_BASE_URL"
api_key_env = "OPENAI_API_KEY"
[models.providers.gem]
wire = "gemini"
base_url_env = "GEM_BASE_URL"
api_key_env = "OPENAI_API_KEY"
"""
WIRES = {"anthropic": "anthropic:claude-sonnet-4-5",
         "openai-chat": "openai:gpt-4o",
         "others": "mine:qwen3",
         "openai-responses": "gpt:gpt-5",
         "gemini": "gem:gemini-2.5-pro",
         "bedrock-claude": "bedrock:us.anthropic.claude-opus-5",
         "bedrock-nova": "bedrock:us.amazon.nova-pro-v1:0"}
STRICT_KEYS = {"gemini": re.compile(r"^[a-zA-Z_][a-zA-Z0-9_]{0,63}$")}
KEYS = re.compile(r"^[a-zA-Z0-9_.-]{1,64}$")
TOP = {"bedrock-nova": {"type", "properties", "required"}}


def tools_of(name, body):
    """[(name, description, schema)] of a request."""
    if name in ("anthropic",):
        return [(t["name"], t["description"], t["input_schema"])
                for t in body["tools"]]
    if name in ("openai-chat", "others"):
        return [(t["function"]["name"], t["function"]["description"],
                 t["function"]["parameters"]) for t in body["tools"]]
    if name == "openai-responses":
        return [(t["name"], t["description"], t["parameters"])
                for t in body["tools"]]
    if name == "gemini":
        return [(t["name"], t["description"], t["parametersJsonSchema"])
                for t in body["tools"][0]["functionDeclarations"]]
    return [(t["toolSpec"]["name"], t["toolSpec"]["description"],
             t["toolSpec"]["inputSchema"]["json"])
            for t in body["toolConfig"]["tools"] if "toolSpec" in t]


def faults(wire, schema, top=True, depth=0):
    """What the vendor would refuse in a schema."""
    found = []
    if not isinstance(schema, dict):
        return ["no schema"]
    if top:
        if schema.get("type") != "object":
            found.append("type of the top")
        if {"oneOf", "anyOf", "allOf", "enum", "not"} & set(schema):
            found.append("union on top")
        if set(schema) - TOP.get(wire, set(schema)):
            found.append(f"on top: {sorted(schema)}")
    kind = schema.get("type")
    if depth > 40:
        found.append("too deep")
    if "array" in (kind or []) and "items" not in schema and \
            wire not in ("anthropic", "bedrock-claude"):
        found.append("array without items")
    if isinstance(schema.get("items"), list):
        found.append("items of draft 7")
    if isinstance(kind, list) and wire in ("gemini", "others"):
        found.append("list of types")
    if "$ref" in schema and wire in ("gemini", "others", "bedrock-nova"):
        found.append("$ref")
    if wire == "gemini":
        if "enum" in schema and kind != "string":
            found.append("enum of no string")
        if not {"type", "anyOf", "oneOf", "enum"} & set(schema):
            found.append("no type")
        if set(schema.get("required", [])) - set(schema.get("properties", {})):
            found.append("required, not defined")
    for key in schema.get("properties", {}):
        if not STRICT_KEYS.get(wire, KEYS).match(key):
            found.append(f"key {key!r}")
    for word in ("properties", "$defs"):
        for inner in schema.get(word, {}).values():
            found += faults(wire, inner, False, depth + 1)
    for word in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(word, []):
            found += faults(wire, inner, False, depth + 1)
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            found += faults(wire, schema[word], False, depth + 1)
    return found


def obj(*keys):
    return {"type": "object", "properties": {k: {"type": "string"}
                                             for k in keys},
            "required": list(keys)}


DEEP = {"type": "string"}
for _ in range(60):
    DEEP = {"type": "object", "properties": {"in": DEEP}}
ODD = {
    "plain": obj("a"),
    "either": {"type": "object", "oneOf": [obj("page_id"), obj("page_url")]},
    "arms": {"anyOf": [obj("content"), obj("source_url", "content")]},
    "all": {"allOf": [obj("first"), {"if": {"required": ["first"]},
                                     "then": {"required": ["second"]}}]},
    "keys": obj("filter[a]", "x" * 80, "$top", "ok"),
    "inner": {"type": "object", "properties": {"list": {
        "type": "array", "items": obj("a b", "deep[x]")}}},
    "lists": {"type": "object", "properties": {
        "bare": {"type": "array"},
        "pair": {"type": "array", "items": [{"type": "string"},
                                            {"type": "number"}]}}},
    "refs": {"type": "object", "$ref": "#/$defs/Top", "$defs": {
        "Top": {"properties": {"node": {"$ref": "#/$defs/Node"}}},
        "Node": {"type": "object", "properties": {
            "name": {"type": "string"},
            "next": {"$ref": "#/$defs/Node"}}}}},
    "nulls": {"type": "object", "properties": {
        "a": {"type": ["string", "null"]},
        "b": {"type": "integer", "nullable": True},
        "c": {"enum": ["x", "y", None]}}},
    "enums": {"type": "object", "properties": {
        "n": {"type": "integer", "enum": [1, 2]}, "s": {"enum": ["u", "v"]},
        "e": {"type": "string", "enum": []}}},
    "free": {"type": "object", "additionalProperties": {"type": "string"},
             "properties": {"any": {}, "yes": True, "no": False}},
    "old": {"type": "object", "properties": {
        "a": {"type": "string", "required": True},
        "b": {"type": "int", "minimum": 1, "exclusiveMinimum": True}}},
    "deep": DEEP,
    "none": {"type": "object"},
    "wrong": {"type": "object", "properties": [], "required": "a"},
    "undefined": {"type": "object", "properties": {}, "required": ["ghost"]},
    "described": {"type": "object", "properties": {"a": {
        "type": "string", "pattern": "^x+$", "description": "Told words."}}},
    "mistyped": {"type": "object", "contains": [], "uniqueItems": {"a": 1},
                 "dependentRequired": {"a": "b"}, "properties": {
                     "a": {"type": "string", "minLength": -1, "title": 5,
                           "contentEncoding": 0, "deprecated": "soon"},
                     "b": {"type": "array", "items": {"not": 3, "$defs": 1},
                           "prefixItems": [None], "examples": "x"},
                     "c": {"anyOf": ["x", {"type": "string"}],
                           "propertyNames": "date", "multipleOf": 0}}},
}
HOLDS = {"contains": dict, "not": dict, "propertyNames": dict, "$defs": dict,
         "uniqueItems": bool, "deprecated": bool, "examples": list,
         "prefixItems": dict, "anyOf": dict, "title": str,
         "contentEncoding": str, "dependentRequired": list}


def mistyped(value):
    """Keywords whose values are not what draft 2020-12 says, at any depth."""
    if isinstance(value, list):
        return [f for inner in value for f in mistyped(inner)]
    if not isinstance(value, dict):
        return []
    found = [k for k, of in HOLDS.items() for v in [value.get(k)]
             if v is not None and not all(
                 isinstance(one, of) for one in
                 (v if isinstance(v, list) and of is dict and v else [v]))]
    found += [k for k in ("minLength", "multipleOf") if value.get(k, 1) <= 0]
    return found + [f for inner in value.values() for f in mistyped(inner)]


@pytest.fixture
def offer(home, tmp_path, config, env, run):
    """offer(tools, server="s"): the user has a server with these."""
    config(CONFIG)
    mcp = Mcp(home, tmp_path / "work")
    env.update(AWS_ACCESS_KEY_ID="AKIDEXAMPLE", AWS_REGION="us-west-2",
               AWS_SECRET_ACCESS_KEY="wJalrXUtnFEMI")

    def write(tools, server="s"):
        path = tmp_path / "tools.json"
        path.write_text(json.dumps(
            tools if isinstance(tools, list) else
            [{"name": n, "description": f"Tool {n}.", "inputSchema": s}
             for n, s in tools.items()]))
        mcp.own(**{server: mcp.entry(TOOLS_FILE=str(path))})
        return mcp
    return write


@pytest.fixture
def ask(run, model, env):
    """ask(wire, script, *flags) -> (run, server) of one task."""
    def to_end(wire, script, *flags):
        server = model(script)
        env.update(AWS_ENDPOINT_URL_BEDROCK_RUNTIME=server.url,
                   GEM_BASE_URL=server.url)
        return run("-n", "go", "-y", "-M", WIRES[wire], *flags), server
    return to_end


def sent(wire, server, n=-1):
    return {t[0]: t for t in tools_of(wire, server.requests[n]["body"])}


@pytest.mark.parametrize("wire", WIRES)
def test_every_vendor_is_sent_schemas_that_it_takes(offer, ask, wire):
    offer(ODD)
    r, server = ask(wire, [{"text": "worked"}])
    assert r.status == 0 and "worked" in r.out, r.err
    found = sent(wire, server)
    assert len(server.requests) == 1
    for name in ODD:
        _, words, schema = found["s_" + name]
        assert not faults(wire, schema), (name, schema)
        assert not mistyped(schema), (name, schema)
        assert words.startswith(f"Tool {name}.")
    # the checks find faults where there are some
    assert faults(wire, ODD["arms"]) and faults(wire, ODD["keys"])
    assert len(set(mistyped(ODD["mistyped"]))) == len(HOLDS) + 2
    # what was told before is told still
    said = {n: json.dumps(t) for n, t in found.items()}
    assert "page_id" in said["s_either"] and "page_url" in said["s_either"]
    assert "exactly one of these sets: page_id; page_url" in said["s_either"]
    assert found["s_arms"][2]["required"] == ["content"]
    assert "first" in found["s_all"][2]["properties"]
    assert "second" in said["s_all"]
    assert "filter[a]" in said["s_keys"]
    assert set(found["s_keys"][2]["required"]) == \
        set(found["s_keys"][2]["properties"])
    assert found["s_old"][2]["required"] == ["a"]
    assert "Told words." in said["s_described"]
    assert "^x+$" in said["s_described"]
    assert "name" in said["s_refs"] and "ghost" in said["s_undefined"]
    assert found["s_plain"][2]["properties"] == ODD["plain"]["properties"]


@pytest.mark.parametrize("wire", WIRES)
def test_names_of_arguments_go_there_and_back(offer, ask, wire, run, model,
                                              env):
    tools = {"keys": {"type": "object", "properties": {
        "filter[a]": {"type": "string"}, "filter_a": {"type": "string"},
        "list": {"type": "array", "items": obj("in[x]")},
        "free": {"type": "object"}}}}
    mcp = offer(tools)
    r, server = ask(wire, [{"text": "look"}])
    props = sent(wire, server)["s_keys"][2]["properties"]
    key = next(k for k, v in props.items() if "filter[a]" in str(v))
    inner = next(iter(props["list"]["items"]["properties"]))
    assert key not in ("filter[a]", "filter_a") and inner == "in_x"
    args = {key: "1", "filter_a": "2", "list": [{inner: "3"}],
            "free": {key: "4", inner: "5"}}
    r, server = ask(wire, [{"tool_calls": [{"name": "s_keys", "args": args}]},
                           {"text": "done"}], "--json")
    assert r.status == 0, r.err
    wanted = {"filter[a]": "1", "filter_a": "2", "list": [{"in[x]": "3"}],
              "free": {key: "4", inner: "5"}}
    assert mcp.received("tools/call")[-1]["params"]["arguments"] == wanted
    events = [json.loads(line) for line in r.out.splitlines()]
    call = next(e for e in events if e["type"] == "tool_call")
    assert call["args"] == wanted
    # the model sees the call as it made it
    history = json.dumps(server.requests[-1]["body"]).replace("\\", "")
    assert f'"{key}": "1"' in history or f'"{key}":"1"' in history
    assert history.count('"in_x"') >= 2


def test_a_name_that_gemini_refuses_is_sent_as_another(offer, ask):
    mcp = offer({"cube": obj("a")}, server="3d")
    r, server = ask("gemini", [
        {"tool_calls": [{"name": "_3d_cube", "args": {"a": "x"}}]},
        {"text": "done"}])
    assert r.status == 0, r.err
    assert "_3d_cube" in sent("gemini", server)
    assert mcp.received("tools/call")[-1]["params"]["name"] == "cube"
    assert '"_3d_cube"' in json.dumps(server.requests[-1]["body"]["contents"])
    r, server = ask("anthropic", [{"text": "done"}])
    assert "3d_cube" in sent("anthropic", server)  # which takes it


PLACES = {
    "anthropic": "tools.{n}.custom.input_schema: no",
    "openai-chat": "Invalid schema for function '{name}': no",
    "others": "tools[{n}].function.parameters: no",
    "openai-responses": "Invalid 'tools[{n}].parameters'",
    "gemini": "* GenerateContentRequest.tools[0].function_declarations[{n}]"
              ".parameters.properties[a].items: missing field.",
    "bedrock-claude": "The value at toolConfig.tools.{n}.toolSpec.inputSchema"
                      " is wrong",
    "bedrock-nova": "Value at 'toolConfig.tools.{m}.member.toolSpec' failed",
}


@pytest.mark.parametrize("wire", WIRES)
def test_a_refused_request_is_asked_again_without_the_tool_it_names(
        offer, ask, wire):
    offer({"one": obj("a"), "two": obj("a"), "three": obj("a")})
    _, server = ask(wire, [{"text": "look"}])
    n = list(sent(wire, server)).index("s_two")
    words = PLACES[wire].format(n=n, m=n + 1, name="s_two")
    r, server = ask(wire, [
        {"fault": {"status": 400, "body": {"error": {"message": words}}},
         "tool_calls": [{"name": "ls", "args": {"path": "/"}}]},
        {"text": "done"}])
    assert r.status == 0 and "done" in r.out, r.err
    assert len(server.requests) == 3
    for i in (1, 2):
        assert {"s_one", "s_three"} <= set(sent(wire, server, i))
        assert "s_two" not in sent(wire, server, i)
    assert r.err.count("MCP server s: its tool s_two is left out") == 1, r.err


def test_a_refusal_that_names_the_tool_by_a_path_of_json_is_heeded(
        offer, ask):
    offer({"one": obj("a"), "two": obj("a")})
    _, server = ask("others", [{"text": "look"}])
    n = list(sent("others", server)).index("s_one")
    where = {"loc": ["body", "tools", n, "function", "parameters"],
             "msg": "Input should be a valid dictionary"}
    r, server = ask("others", [
        {"fault": {"status": 422, "body": {"detail": [where]}},
         "text": "done"}])
    assert r.status == 0 and len(server.requests) == 2, r.err
    assert "s_one" not in sent("others", server)
    assert "s_two" in sent("others", server)


def test_a_refusal_that_names_no_tool_of_a_server_is_told(offer, ask):
    offer({"one": obj("a")})
    for words in ("tools.0.custom.input_schema: no", "messages: no",
                  "tools.999.custom: no", "the word tools, s_oneself"):
        r, server = ask("anthropic", [
            {"fault": {"status": 400, "body": {"error": {"message": words}}},
             "text": "x"}])
        assert r.status == 1 and len(server.requests) == 1
        assert words in r.err


def test_one_tool_after_another_ends_with_all_of_them(offer, ask):
    offer({f"t{i}": obj("a") for i in range(40)})
    _, server = ask("anthropic", [{"text": "look"}])
    own = sum(not n.startswith("s_") for n in sent("anthropic", server))
    r, server = ask("anthropic", [{"fault": {
        "status": 400, "times": 13, "body": {"error": {
            "message": f"tools.{own}.custom: no"}}}, "text": "done"}])
    assert r.status == 0, r.err
    assert len(server.requests) == 14
    assert not any(n.startswith("s_") for n in sent("anthropic", server))


@pytest.mark.parametrize("wire,most", [("openai-chat", 128), ("others", 128),
                                       ("openai-responses", 128),
                                       ("gemini", 512), ("anthropic", None)])
def test_more_tools_than_the_vendor_takes_are_left_out_and_said(
        offer, ask, wire, most):
    count = 250
    offer({f"t{i}": obj("a") for i in range(count)})
    r, server = ask(wire, [{"text": "done"}])
    assert r.status == 0, r.err
    found = sent(wire, server)
    assert "read_file" in found and "execute" in found
    if not most or most > count:
        assert f"s_t{count - 1}" in found and "not offered" not in r.err
        return
    assert len(found) == most
    lost = count - sum(n.startswith("s_") for n in found)
    assert r.err.count("not offered") == 1
    assert f"MCP server s: {lost} tool{'s' * (lost != 1)} not offered" in r.err


def test_a_number_that_the_answer_names_is_heeded(offer, ask):
    offer({f"t{i}": obj("a") for i in range(100)})
    r, server = ask("anthropic", [{"fault": {"status": 400, "body": {
        "error": {"message": "Invalid 'tools': array too long. Expected an "
                             "array with maximum length 64"}}},
        "text": "done"}])
    assert r.status == 0 and len(server.requests) == 2, r.err
    assert len(sent("anthropic", server)) == 64


def test_tools_that_a_list_lost_are_said_in_a_run(offer, ask, run):
    offer([{"name": "good", "inputSchema": obj("a")},
           {"name": "two words", "inputSchema": obj("a")},
           {"name": "good", "inputSchema": obj("a")}])
    for _ in range(2):  # the second run has the list of the first
        r, _ = ask("anthropic", [{"text": "done"}])
        assert r.status == 0
        assert ("MCP server s: 2 of its tools are left out: two "
                "words (invalid name), good (the name appears twice)") in r.err
    r = run("mcp", "test")
    assert "2 left out: two words (invalid name)" in r.out


def test_what_people_do_not_see_is_taken_out_of_schemas(offer, ask):
    hidden = "\u202eevil\u200b\U000e0041"
    offer({"t": {"type": "object", "title": "T" + hidden, "properties": {
        "a" + hidden: {"type": "string", "description": "\x1b[31mred" + hidden,
                       "default": "d" + hidden, "examples": ["x" + hidden],
                       "enum": ["fine", "not" + hidden]}}}})
    r, server = ask("anthropic", [{"text": "done"}])
    assert r.status == 0, r.err
    schema = sent("anthropic", server)["s_t"][2]
    text = json.dumps(schema, ensure_ascii=False)
    for c in ("\u202e", "\u200b", "\U000e0041", "\x1b"):
        assert c not in text and json.dumps(c)[1:-1] not in text
    key, prop = next(iter(schema["properties"].items()))
    assert key == "aevil" or KEYS.match(key)
    assert "red" in prop["description"] and prop["enum"] == ["fine"]


def test_a_long_description_is_cut_for_who_refuses_it_and_not_lost(
        offer, ask):
    words = "word " * 400 + "the end"
    offer([{"name": "t", "description": words, "inputSchema": obj("a")}])
    r, server = ask("openai-chat", [{"text": "done"}])
    assert r.status == 0, r.err
    _, short, schema = sent("openai-chat", server)["s_t"]
    assert len(short) <= 1024 and "the end" in schema["description"]
    r, server = ask("anthropic", [{"text": "done"}])
    assert "the end" in sent("anthropic", server)["s_t"][1]


@pytest.mark.parametrize("schema", [
    {"type": "object", "$ref": "#/$defs/A", "$defs": {
        "A": {"anyOf": [{"$ref": "#/$defs/A"}] * 6}}},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {
        "A": {"properties": {k: {"$ref": "#/$defs/A"} for k in "abcdefgh"}}}},
    {"type": "object", "properties": {"a": {"$ref": "#"}}},
    {"type": "object", "properties": {f"k[{i}]": {} for i in range(3000)}},
    {"anyOf": [{"type": "string"}, 5, None, {"anyOf": "x"}]},
], ids=["top-cycle", "wide-cycle", "self", "many-keys", "not-objects"])
@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_hostile_schemas_cost_neither_time_nor_the_others(
        offer, ask, schema, wire):
    offer({"bad": schema, "good": obj("a")})
    r, server = ask(wire, [{"text": "done"}])
    assert r.status == 0 and r.seconds < 20, r.err
    found = sent(wire, server)
    assert "s_good" in found
    assert "s_bad" in found or "s_bad is left out" in r.err
    for t in found.values():
        if t[0].startswith("s_"):
            assert not faults(wire, t[2]), t[2]
