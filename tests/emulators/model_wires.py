#!/usr/bin/python3
# model_wires.py - what differs between the protocols of models: for model.py.
# SPDX-License-Identifier: MIT
"""One object for each protocol."""
import json
import re

from model_check import last_words


class Wire:
    """The wires share this; each overrides what it does its own way."""
    name = None
    path = None  # a regular expression of the whole path
    content_type = "text/event-stream; charset=utf-8"

    def authorize(self, handler, _raw):
        """The key of a request, or ""."""
        return self.key({k.lower(): v for k, v in handler.headers.items()})

    def key(self, headers):
        """Takes the key out of the headers. Azure's has one of its own,
        which is told."""
        if "api-key" in headers:
            return "api-key " + headers.pop("api-key")
        return re.sub("^Bearer ", "", headers.pop("authorization", ""))

    def error(self, kind, message):
        return {"error": {"message": message, "type": kind, "code": kind,
                          "param": None}}

    def error_event(self, error):
        return b"data: " + json.dumps({"error": error}).encode() + b"\n\n"

    def check(self, checker, body, headers):
        checker.openai(body, headers)

    def answers(self, body):
        """How many answers of the model the request has."""
        return sum(m.get("role") == "assistant" for m in body["messages"])

    def words(self, body):
        """The text that the last user message or tool results carry."""
        return last_words(self.name, body)

    def events(self, turn):
        """Each event of the stream as bytes."""
        return turn.events(self.name)

    def remember(self, turn, checker):
        """What must come back with the next request."""
        if not turn.calls:
            return
        first = turn.calls[0]["id"]
        thoughts = [b for b in turn.blocks() if "thinking" in b["type"]]
        if thoughts:
            checker.thinking[first] = thoughts
        if turn.thinking and "reasoning_content" in turn.quirks:
            checker.reasoning[first] = "".join(turn.thinking)
        for c in turn.calls:
            if c["extra"]:
                checker.extra[c["id"]] = c["extra"]

    def whole(self, turn):
        """The answer of a server that does not stream."""
        return turn.whole()


class Chat(Wire):
    name = "openai-chat"
    path = (r"(/v1|/openai/v1|/openai/deployments/[^/]+)?"
            r"/chat/completions")

    def answers(self, body):
        # one stands between results and the files that came with them
        return sum(m.get("role") == "assistant" and
                   m.get("content") != "(the file follows)"
                   for m in body["messages"])

    def words(self, body):
        """Files of results stand behind them."""
        return last_words(self.name, {"messages": [
            m for m in body["messages"]
            if m.get("content") != "(the file follows)"]})


class Anthropic(Wire):
    name = "anthropic"
    path = r"(/v1)?/messages"

    def key(self, headers):
        """The SDK sends a bearer (npm @anthropic-ai/sdk 1.12.0)."""
        bearer = headers.pop("authorization", "").removeprefix("Bearer ")
        return headers.pop("x-api-key", bearer)

    def error(self, kind, message):
        return {"type": "error", "error": {"type": kind, "message": message}}

    def error_event(self, error):
        body = {"type": "error", "error": error}
        return b"event: error\ndata: " + json.dumps(body).encode() + b"\n\n"

    def check(self, checker, body, headers):
        checker.anthropic(body, headers)


def all_wires():
    from model_bedrock import Bedrock
    from model_gemini import Gemini
    from model_responses import Responses
    from model_vertex import VertexClaude, VertexGemini
    return [Anthropic(), Chat(), Responses(), Gemini(), Bedrock(),
            VertexGemini(), VertexClaude()]


WIRES = []


def find(path):
    """The wire of a path, or None."""
    if not WIRES:
        WIRES.extend(all_wires())
    for wire in WIRES:
        if re.fullmatch(wire.path, path.split("?")[0]):
            return wire
    return None
