#!/usr/bin/python3
# model_bedrock.py - AWS Bedrock's ConverseStream: for model.py.
# SPDX-License-Identifier: MIT
"""Checks of requests, and answers as frames of an event stream."""
import base64
import json
import re

import agentcore_sign
import model_media
from model_answers import pieces
from model_check import CALL_ID, NAME, need, only
from model_wires import Wire

FIELDS = ("messages system inferenceConfig toolConfig guardrailConfig "
          "additionalModelRequestFields requestMetadata performanceConfig")
POINT = {"cachePoint": {"type": "default"}}
KEYS = {"AKIDEXAMPLE": ("wJalrXUtnFEMI", None),
        "ASIAEXAMPLE": ("wJalrXUtnFEMI", "session+token/=")}
REGION = "us-west-2"


def frame(event, body):
    return agentcore_sign.frame(
        {":event-type": event, ":content-type": "application/json",
         ":message-type": "event"}, json.dumps(body).encode())


class Request:
    """What agentcore_sign.verify() reads."""

    def __init__(self, handler):
        self.handler, self.headers, self.method = \
            handler, handler.headers, "POST"


class Bedrock(Wire):
    name = "bedrock"
    path = r"/model/[^/]+/converse-stream"
    content_type = "application/vnd.amazon.eventstream"

    def authorize(self, handler, raw):
        """A bearer's key, or the id of the key that signed."""
        value = handler.headers.get("Authorization") or ""
        if value.startswith("Bearer "):
            return value[7:]
        try:
            agentcore_sign.verify(Request(handler), raw, KEYS, REGION,
                                  service="bedrock")
        except agentcore_sign.Wrong:
            return ""
        return re.search("Credential=([^/]+)", value)[1]

    def error(self, kind, message):
        return {"message": message}

    # -- requests ----------------------------------------------------------

    def check(self, checker, body, headers):
        only(body, FIELDS, "request")
        only(body.get("inferenceConfig", {}),
             "maxTokens temperature topP stopSequences", "inferenceConfig")
        system, points = body.get("system", []), 0
        for block in system:
            need(block == POINT or block["text"].strip(), "system: text")
            points += block == POINT
        for tool in body.get("toolConfig", {}).get("tools", []):
            points += tool == POINT
            if tool != POINT:
                only(tool["toolSpec"], "name description inputSchema",
                     "toolSpec")
                need(NAME.match(tool["toolSpec"]["name"]), "tools: name")
                checker.schema(tool["toolSpec"]["inputSchema"]["json"],
                               tool["toolSpec"]["name"])
        points += self.messages(checker, body.get("messages"))
        need(points <= 4, "%d cache points, 4 allowed", points)
        need(not points or re.search("claude|nova", headers[":path"]),
             "You invoked an unsupported model or your request did not allow "
             "prompt caching.")

    def messages(self, checker, messages):
        need(isinstance(messages, list) and messages, "messages: empty")
        points, role, waiting = 0, "assistant", []
        names = set()
        for i, m in enumerate(messages):
            where = "messages.%d" % i
            only(m, "role content", where)
            need(m.get("role") in ("user", "assistant"), "%s: role", where)
            need(m["role"] != role, "A conversation must alternate between "
                 "user and assistant roles.")
            role = m["role"]
            need(isinstance(m["content"], list) and m["content"],
                 "%s: content", where)
            calls, thoughts = [], []
            for block in m["content"]:
                if block == POINT:
                    points += 1
                    continue
                need(len(block) == 1, "%s: one member", where)
                kind = list(block)[0]
                if kind == "text":
                    need(block["text"].strip(), "%s: text is blank", where)
                elif kind in ("image", "document"):
                    need(role == "user", "%s: %s", where, kind)
                    self.media(block, names, where)
                elif kind == "toolUse":
                    need(role == "assistant", "%s: toolUse", where)
                    calls.append(self.call(block[kind], where))
                elif kind == "toolResult":
                    need(role == "user", "%s: toolResult", where)
                    self.result(block[kind], waiting, names, where)
                else:
                    need(kind == "reasoningContent" and role == "assistant",
                         "%s: block %s", where, kind)
                    thoughts.append(block)
            need(role == "assistant" or not waiting,
                 "Expected toolResult blocks for the following Ids: %s",
                 ", ".join(waiting))
            need("reasoningContent" not in m["content"][-1],
                 "%s: the final block cannot be thinking", where)
            need(len(set(calls)) == len(calls), "%s: id twice", where)
            want = checker.thinking.get(calls[0]) if calls else None
            need(not want or thoughts == want,
                 "%s: thinking blocks cannot be modified", where)
            waiting = calls or waiting
        need(role == "user", "messages: must end with a user message")
        return points

    @staticmethod
    def call(call, where):
        only(call, "toolUseId name input", where)
        need(CALL_ID.match(call["toolUseId"]) and len(call["toolUseId"]) <=
             64, "%s: toolUseId", where)
        need(NAME.match(call["name"]), "%s: name", where)
        need(isinstance(call["input"], dict), "%s: input", where)
        return call["toolUseId"]

    @staticmethod
    def media(block, names, where):
        kind = list(block)[0]
        only(block[kind], "format source" +
             (" name" if kind == "document" else ""), where)
        only(block[kind]["source"], "bytes", where)
        if kind == "document":
            name = block[kind]["name"]
            need(re.fullmatch(r"[A-Za-z0-9()\[\]-]+(\s[A-Za-z0-9()\[\]-]+)*",
                              name), "%s: the file name", where)
            need(name not in names, "duplicate document file names")
            names.add(name)
        model_media.block_words(block)

    @staticmethod
    def result(result, waiting, names, where):
        only(result, "toolUseId content status", where)
        need(result["toolUseId"] in waiting, "%s: unexpected toolUseId",
             where)
        waiting.remove(result["toolUseId"])
        need(result.get("status", "success") in ("success", "error"),
             "%s: status", where)
        for block in result["content"]:
            if "text" not in block:
                Bedrock.media(block, names, where)
                continue
            need(block["text"].strip(), "%s: text is blank", where)

    def words(self, body):
        out = []
        for block in body["messages"][-1]["content"]:
            for part in block.get("toolResult", {}).get("content", [block]):
                out.append(part.get("text") or
                           model_media.block_words(part))
        return "\n".join(filter(None, out))

    # -- answers -----------------------------------------------------------

    @staticmethod
    def thoughts(turn):
        for b in turn.blocks():
            if b["type"] == "thinking":
                yield {"reasoningContent": {"reasoningText": {
                    "text": b["thinking"], "signature": b["signature"]}}}
            elif b["type"] == "redacted_thinking":
                yield {"reasoningContent": {"redactedContent":
                       base64.b64encode(b["data"].encode()).decode()}}

    def remember(self, turn, checker):
        if turn.calls and turn.thinking:
            checker.thinking[turn.calls[0]["id"]] = list(self.thoughts(turn))

    def deltas(self, turn):
        """Lists: what starts a block, and its deltas."""
        for t in self.thoughts(turn):
            one = t["reasoningContent"]
            if "redactedContent" in one:
                yield None, [{"reasoningContent": one}]
                continue
            text = one["reasoningText"]
            yield None, [{"reasoningContent": {"text": p}} for p in
                         pieces(text["text"], turn.chars)] + [
                {"reasoningContent": {"signature": text["signature"]}}]
        if turn.text:
            yield None, [{"text": p} for p in pieces(turn.text, turn.chars)]
        for c in turn.calls:
            yield {"toolUse": {"toolUseId": c["id"], "name": c["name"]}}, [
                {"toolUse": {"input": p}}
                for p in pieces(c["raw"], turn.chars)]

    def events(self, turn):
        u = turn.usage
        yield frame("messageStart", {"role": "assistant", "p": "abc"})
        for i, (start, deltas) in enumerate(self.deltas(turn)):
            at = {"contentBlockIndex": i}
            if start:
                yield frame("contentBlockStart", {**at, "start": start})
            if "unknown" in turn.quirks:
                yield frame("futureEvent", {"x": [None]})
            for d in deltas:
                yield frame("contentBlockDelta", {**at, "delta": d})
            yield frame("contentBlockStop", at)
        stop = turn.spec.get("stop", "tool_use" if turn.calls else "end_turn")
        yield frame("messageStop", {"stopReason": stop})
        yield frame("metadata", {"metrics": {"latencyMs": 1}, "usage": {
            "inputTokens": u["input"], "outputTokens": u["output"],
            "totalTokens": u["input"] + u["output"],
            "cacheReadInputTokens": u["cache_read"],
            "cacheWriteInputTokens": u["cache_write"]}})

    def error_event(self, error):
        kind = error.get("type", "modelStreamErrorException")
        return agentcore_sign.exception(kind, json.dumps(
            {"message": error.get("message")}).encode())
