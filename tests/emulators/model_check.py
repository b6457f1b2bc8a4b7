#!/usr/bin/python3
# model_check.py - what a model vendor refuses, and more: for model.py.
# SPDX-License-Identifier: MIT
"""Checks of requests, for both wires."""
import json
import re

NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
CALL_ID = re.compile(r"^[a-zA-Z0-9_-]+$")


class Violation(Exception):
    """What a vendor would refuse with HTTP 400."""


def need(ok, text, *args):
    if not ok:
        raise Violation(text % args if args else text)


def only(obj, allowed, where):
    need(isinstance(obj, dict), "%s: must be an object", where)
    extra = sorted(set(obj) - set(allowed.split()))
    need(not extra, "%s: unknown field %s", where, ", ".join(extra))


import model_media  # noqa: E402  (it needs need())


class Checker:
    """Remembers what was issued, so that what comes back can be compared."""

    def __init__(self):
        self.thinking = {}  # id of a call -> thinking blocks issued with it
        self.reasoning = {}  # id of a call -> reasoning_content issued
        self.extra = {}  # id of a call -> extra_content issued
        self.encrypted = {}  # id of a call -> encrypted reasoning before it
        self.signatures = {}  # id of a call -> its thought signature
        self.issued = set()  # all of both

    # -- Anthropic ---------------------------------------------------------

    def anthropic(self, body, headers):
        only(body, "model max_tokens messages system tools tool_choice "
                   "temperature top_p top_k stop_sequences stream metadata "
                   "thinking service_tier output_config", "request")
        need(headers.get("anthropic-version") in ("2023-06-01", "2026-10-21"),
             "header anthropic-version missing")
        need(isinstance(body.get("model"), str) and body["model"], "model")
        need(type(body.get("max_tokens")) is int and body["max_tokens"] > 0,
             "max_tokens: must be a positive integer")
        need(body.get("stream") is True, "stream must be true")
        marks = self.a_system(body.get("system", []))
        for tool in body.get("tools", []):
            marks += self.a_tool(tool)
        marks += self.a_messages(body.get("messages"))
        need(marks <= 4, "%d cache_control marks, 4 allowed", marks)
        last = body["messages"][-1]["content"]
        need(not marks or isinstance(last, str) or "cache_control" in last[-1],
             "cache_control marks, but none on the last block")

    @staticmethod
    def mark(block, where):
        if "cache_control" not in block:
            return 0
        need(block["cache_control"] == {"type": "ephemeral"},
             "%s: bad cache_control", where)
        return 1

    def a_system(self, system):
        if isinstance(system, str):
            return 0
        marks = 0
        for i, block in enumerate(system):
            only(block, "type text cache_control", "system.%d" % i)
            need(block["text"].strip(), "system.%d: empty text", i)
            marks += self.mark(block, "system")
        return marks

    def a_tool(self, tool):
        only(tool, "name description input_schema cache_control", "tools")
        need(NAME.match(tool.get("name", "")), "tools: bad name")
        need(isinstance(tool.get("description"), str), "tools: description")
        self.schema(tool.get("input_schema"), tool["name"])
        return self.mark(tool, "tools")

    @staticmethod
    def schema(schema, name):
        need(isinstance(schema, dict), "tool %s: no schema", name)
        need(schema.get("type") == "object", "tool %s: type", name)
        props = schema.get("properties")
        need(isinstance(props, dict), "tool %s: properties", name)
        for key in schema.get("required", []):
            need(key in props, "tool %s: required %s", name, key)

    def a_messages(self, messages):
        need(isinstance(messages, list) and messages, "messages: empty")
        marks, role, open_calls = 0, "assistant", []
        for i, m in enumerate(messages):
            where = "messages.%d" % i
            only(m, "role content", where)
            need(m.get("role") in ("user", "assistant"), "%s: role", where)
            need(m["role"] != role, "%s: two %s messages in a row", where,
                 role)
            role = m["role"]
            content = m.get("content")
            if isinstance(content, str):
                content = [{"type": "text", "text": content}]
            need(isinstance(content, list) and content, "%s: empty content",
                 where)
            if role == "user":
                marks += self.a_user(content, open_calls, where)
            else:
                open_calls, n = self.a_assistant(content, where)
                marks += n
        need(role == "user", "messages: must end with a user message")
        return marks

    def a_user(self, content, open_calls, where):
        marks, waiting, texts = 0, list(open_calls), 0
        for block in content:
            kind = block.get("type")
            marks += self.mark(block, where)
            if kind == "tool_result":
                only(block, "type tool_use_id content is_error cache_control",
                     where)
                need(not texts, "%s: tool_result after text", where)
                need(block.get("tool_use_id") in waiting,
                     "%s: unexpected tool_use_id %s", where,
                     block.get("tool_use_id"))
                waiting.remove(block["tool_use_id"])
                if isinstance(block.get("content"), list):
                    need(block["content"], "%s: content", where)
                    for inner in block["content"]:
                        self.a_shown(inner, where)
                else:
                    need(isinstance(block.get("content", ""), str),
                         "%s: content", where)
                need(isinstance(block.get("is_error", False), bool),
                     "%s: is_error", where)
            else:
                self.a_shown(block, where)
                texts += 1
        need(not waiting, "%s: tool_use ids were found without tool_result "
             "blocks immediately after: %s", where, ", ".join(waiting))
        return marks

    def a_shown(self, block, where):
        kind = block.get("type")
        if kind not in ("image", "document"):
            self.a_text(block, where)
            return
        only(block, "type source cache_control" +
             (" title" if kind == "document" else ""), where)
        only(block["source"], "type media_type data", where)
        need(block["source"]["type"] == "base64", "%s: source", where)
        need((block["source"]["media_type"] == "application/pdf") ==
             (kind == "document"), "%s: media_type", where)
        model_media.block_words(block)

    @staticmethod
    def a_text(block, where):
        need(block.get("type") == "text", "%s: block type %s", where,
             block.get("type"))
        only(block, "type text cache_control", where)
        need(isinstance(block.get("text"), str), "%s: text", where)
        need(block["text"].strip(),
             "%s: text content blocks must contain non-whitespace text", where)

    def a_assistant(self, content, where):
        marks, calls, thoughts = 0, [], []
        for block in content:
            kind = block.get("type")
            if kind in ("thinking", "redacted_thinking"):
                need("cache_control" not in block, "%s: mark on thinking",
                     where)
                thoughts.append(block)
                continue
            marks += self.mark(block, where)
            if kind == "tool_use":
                only(block, "type id name input cache_control", where)
                need(CALL_ID.match(block.get("id", "")), "%s: id", where)
                need(block["id"] not in calls, "%s: id twice", where)
                need(NAME.match(block.get("name", "")), "%s: name", where)
                need(isinstance(block.get("input"), dict), "%s: input", where)
                calls.append(block["id"])
            else:
                self.a_text(block, where)
        need(content[-1].get("type") not in ("thinking", "redacted_thinking"),
             "%s: the final block cannot be thinking", where)
        if calls and calls[0] in self.thinking:
            need(thoughts == self.thinking[calls[0]],
                 "%s: thinking blocks cannot be modified", where)
        return calls, marks

    # -- OpenAI ------------------------------------------------------------

    def openai(self, body, _headers):
        only(body, "model messages stream stream_options tools tool_choice "
                   "temperature top_p max_tokens max_completion_tokens stop "
                   "seed reasoning_effort parallel_tool_calls user "
                   "prompt_cache_key response_format verbosity", "request")
        need(isinstance(body.get("model"), str) and body["model"], "model")
        need(body.get("stream") is True, "stream must be true")
        if "stream_options" in body:
            only(body["stream_options"], "include_usage", "stream_options")
        for tool in body.get("tools", []):
            only(tool, "type function", "tools")
            need(tool.get("type") == "function", "tools: type")
            only(tool["function"], "name description parameters strict",
                 "tools.function")
            need(NAME.match(tool["function"].get("name", "")), "tools: name")
            self.schema(tool["function"].get("parameters"),
                        tool["function"]["name"])
        self.o_messages(body.get("messages"))

    def o_messages(self, messages):
        need(isinstance(messages, list) and messages, "messages: empty")
        waiting = []
        for i, m in enumerate(messages):
            where = "messages.%d" % i
            need(isinstance(m, dict), "%s: must be an object", where)
            role = m.get("role")
            if role != "tool":
                need(not waiting, "%s: tool_call_ids did not have response "
                     "messages: %s", where, ", ".join(waiting))
            if role == "assistant":
                waiting = self.o_assistant(m, where)
            elif role == "tool":
                only(m, "role tool_call_id content", where)
                need(m.get("tool_call_id") in waiting,
                     "%s: unexpected tool_call_id", where)
                waiting.remove(m["tool_call_id"])
                need(isinstance(m.get("content"), str), "%s: content", where)
            else:
                need(role in ("user", "system"), "%s: role", where)
                need(role == "user" or i == 0, "%s: late system", where)
                only(m, "role content", where)
                if role == "user" and isinstance(m.get("content"), list):
                    need(m["content"], "%s: empty content", where)
                    for part in m["content"]:
                        self.o_part(part, where)
                else:
                    need(isinstance(m.get("content"), str), "%s: content",
                         where)
        need(not waiting, "tool_call_ids without response messages: %s",
             ", ".join(waiting))
        need(messages[-1]["role"] in ("user", "tool"),
             "messages: must end with user or tool")

    @staticmethod
    def o_part(part, where):
        kind = part.get("type")
        if kind == "text":
            only(part, "type text", where)
            need(isinstance(part["text"], str), "%s: text", where)
            return
        need(kind in ("image_url", "file"), "%s: part %s", where, kind)
        only(part, "type " + kind, where)
        only(part[kind], "url detail" if kind == "image_url" else
             "filename file_data", where)
        words = model_media.block_words(part)
        need(("pdf" in words) == (kind == "file"), "%s: %s", where, words)

    def o_assistant(self, m, where):
        only(m, "role content tool_calls reasoning_content", where)
        calls = m.get("tool_calls", [])
        need("content" in m, "%s: no content", where)
        if m["content"] is None:
            need(calls, "%s: neither content nor tool_calls", where)
        else:
            need(isinstance(m["content"], str), "%s: content", where)
        need(calls or "tool_calls" not in m, "%s: empty tool_calls", where)
        ids = []
        for c in calls:
            only(c, "id type function extra_content", where)
            need(c.get("type") == "function", "%s: type", where)
            only(c.get("function"), "name arguments", where)
            need(isinstance(c.get("id"), str) and c["id"], "%s: id", where)
            need(c["id"] not in ids, "%s: id twice", where)
            need(NAME.match(c["function"].get("name", "")), "%s: name", where)
            try:
                args = json.loads(c["function"]["arguments"])
            except (ValueError, TypeError):
                args = None
            need(isinstance(args, dict), "%s: arguments are no JSON object",
                 where)
            need(self.extra.get(c["id"]) == c.get("extra_content"),
                 "%s: extra_content was changed", where)
            ids.append(c["id"])
        if ids:
            # an empty one stands for none (DeepSeek)
            need(self.reasoning.get(ids[0]) ==
                 (m.get("reasoning_content") or None),
                 "%s: reasoning_content was changed", where)
        return ids


def block_words(block):
    inner = block.get("content")
    if isinstance(inner, list):
        return "\n".join(block_words(b) for b in inner)
    return block.get("text") or inner or model_media.block_words(block)


def last_words(wire, body):
    """The text that the last user message or tool results carry."""
    out = []
    for m in reversed(body["messages"]):
        if m["role"] == "assistant":
            break
        content = m.get("content") or ""
        if isinstance(content, list):
            content = "\n".join(block_words(b) for b in content)
        if m["role"] != "system":
            out.append(content)
    return "\n".join(reversed(out))
