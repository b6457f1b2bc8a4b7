"""test_sdk_types.py - what dcode sends to a model has its SDK's types.

TypeScript checks each request as a literal: a member that the vendor's
declarations do not have, one that is missing, or a value of another type is an
error."""
# SPDX-License-Identifier: MIT
import json
import subprocess

import pytest

import sdk
from test_media import PDF, PNG, on, work  # noqa: F401 (fixtures)

LOOSE = """type Loose<T> = T extends string ? `${T}` : T extends Uint8Array ? T
  : T extends object ? { [K in keyof T]: Loose<T[K]> } : T;
"""
# wire: the declarations, and the type of a request's body
TYPES = {
    "anthropic": (
        'import type { MessageCreateParamsStreaming as Body }\n'
        '  from "@anthropic-ai/sdk/resources/messages";\n', "a-model"),
    "openai-chat": (
        'import type { ChatCompletionCreateParamsStreaming as Body }\n'
        '  from "openai/resources/chat/completions";\n', "a-model"),
    "openai-responses": (
        'import type { ResponseCreateParamsStreaming as Body }\n'
        '  from "openai/resources/responses/responses";\n', "gpt-5.6-terra"),
    "bedrock": (
        'import type { ConverseStreamCommandInput }\n'
        '  from "@aws-sdk/client-bedrock-runtime";\n'
        'type Body = Omit<ConverseStreamCommandInput, "modelId">;\n',
        "us.anthropic.claude-opus-5-v1:0"),
    # enumerations are words on the wire
    "gemini": (
        'import type { Content, GenerationConfig, Tool, ToolConfig }\n'
        '  from "@google/genai";\n' + LOOSE +
        'type Body = Loose<{ contents: Content[]; tools?: Tool[];\n'
        '  systemInstruction?: Content; toolConfig?: ToolConfig;\n'
        '  generationConfig?: GenerationConfig }>;\n', "gemini-3.1-pro"),
}
OPTIONS = ("--noEmit", "--strict", "--skipLibCheck", "--target", "es2022",
           "--module", "nodenext", "--exactOptionalPropertyTypes", "false")
SCRIPT = [
    {"thinking": "I should look.", "text": "Let me see.",
     "tool_calls": [{"name": "read_file", "args": {"file_path": "paper.pdf"}},
                    {"name": "read_file", "args": {"file_path": "a.png"}},
                    {"name": "ls", "args": {"path": "/none"}}]},
    {"text": "Done."},
    {"tool_calls": [{"name": "write_todos", "args": {"todos": [
        {"content": "one", "status": "pending"}]}}]},
    {"text": "End."}]


def literal(value, wire):
    """A JSON value as TypeScript; the SDK of Bedrock takes bytes as such."""
    if isinstance(value, dict):
        return "{" + ",\n".join(
            json.dumps(k) + ": " +
            ("new Uint8Array()" if wire == "bedrock" and k == "bytes"
             else literal(v, wire)) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(literal(v, wire) for v in value) + "]"
    return json.dumps(value)


def errors(top, wire, bodies):
    """What TypeScript says of them."""
    node = sdk.node_of(top)
    folder = top / "tests" / "sdk"
    source = TYPES[wire][0] + "".join(
        f"export const body{i}: Body = {literal(b, wire)};\n"
        for i, b in enumerate(bodies))
    file = folder / f"types-{wire}.mts"  # beside node_modules
    file.write_text(source)
    try:
        return subprocess.run(
            [node, folder / "node_modules" / ".bin" / "tsc", *OPTIONS, file],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=120, check=False, cwd=folder).stdout
    finally:
        file.unlink()


@pytest.mark.parametrize("wire", TYPES)
def test_every_request_has_the_types_of_the_sdk(
        wire, top, on, run, work):  # noqa: F811
    server, flags = on(wire, SCRIPT, TYPES[wire][1])
    for prompt, more in (("see @a.png @paper.pdf", ()), ("again", ("-r",))):
        r = run("-n", prompt, "-y", "--effort", "high", *more, *flags)
        assert r.status == 0, r.err
    bodies = [q["body"] for q in server.requests]
    assert len(bodies) == 4 and not server.violations
    for item in (i for b in bodies for i in b.get("input", [])):
        if item["type"] == "reasoning":  # nothing is stored that it names
            item.setdefault("id", "rs_1")
    assert errors(top, wire, bodies) == ""
    # the control: members that nobody has, at the top and deep inside
    first = bodies[-1]
    inner = "contents" if wire == "gemini" else \
        "input" if wire == "openai-responses" else "messages"
    assert '"odd"' in errors(top, wire, [{**first, "odd": 1}])
    last = [*first[inner][:-1], {**first[inner][-1], "odd": 1}]
    assert '"odd"' in errors(top, wire, [{**first, inner: last}])
