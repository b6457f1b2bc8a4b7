#!/usr/bin/python3
# model_answers.py - scripted answers as the bytes of a stream: for model.py.
# SPDX-License-Identifier: MIT
"""Answers, for both wires."""
import json


def pieces(text, n):
    return [text[i:i + n] for i in range(0, len(text), n)]


class Turn:
    """One scripted answer as the bytes of a stream."""

    def __init__(self, spec, number):
        self.spec = spec
        self.number = number
        self.quirks = set(spec.get("quirks", []))
        self.chars = spec.get("token_chars", 4)
        self.text = spec.get("text", "")
        if "tokens" in spec:
            self.text, self.chars = "tok " * spec["tokens"], 4
        thinking = spec.get("thinking", [])
        self.thinking = [thinking] if isinstance(thinking, str) else thinking
        self.calls = []
        for i, c in enumerate(spec.get("tool_calls", [])):
            raw = c.get("raw_args")
            if raw is None:
                raw = json.dumps(c.get("args", {}))
            self.calls.append({
                "id": c.get("id", "call_%d_%d" % (number, i)),
                "name": c["name"], "raw": raw, "args": c.get("args", {}),
                "extra": c.get("extra_content")})
        self.usage = {"input": 10, "output": 5, "cache_read": 0,
                      "cache_write": 0}
        self.usage.update(spec.get("usage", {}))

    # -- Anthropic ---------------------------------------------------------

    def blocks(self):
        for i, t in enumerate(self.thinking):
            if isinstance(t, dict):
                yield {"type": "redacted_thinking", "data": t["redacted"]}
            else:
                yield {"type": "thinking", "thinking": t,
                       "signature": "sig+/%d_%d==" % (self.number, i)}
        if self.text:
            yield {"type": "text", "text": self.text}
        for c in self.calls:
            yield {"type": "tool_use", "id": c["id"], "name": c["name"],
                   "raw": c["raw"]}

    def deltas(self, block):
        kind = block["type"]
        if kind == "thinking":
            for p in pieces(block["thinking"], self.chars):
                yield {"type": "thinking_delta", "thinking": p}
            yield {"type": "signature_delta", "signature": block["signature"]}
        elif kind == "text":
            for p in pieces(block["text"], self.chars):
                yield {"type": "text_delta", "text": p}
        elif kind == "tool_use":
            for p in [""] + pieces(block["raw"], self.chars):
                yield {"type": "input_json_delta", "partial_json": p}

    @staticmethod
    def empty(block):
        kind = block["type"]
        if kind == "thinking":
            return {"type": kind, "thinking": "", "signature": ""}
        if kind == "tool_use":
            return {"type": kind, "id": block["id"], "name": block["name"],
                    "input": {}}
        return {"type": kind, "text": ""} if kind == "text" else block

    def anthropic(self):
        u = self.usage
        yield {"type": "message_start", "message": {
            "id": "msg_%d" % self.number, "type": "message",
            "role": "assistant", "content": [], "model": "emulated",
            "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": u["input"], "output_tokens": 1,
                      "cache_read_input_tokens": u["cache_read"],
                      "cache_creation_input_tokens": u["cache_write"]}}}
        for i, block in enumerate(self.blocks()):
            yield {"type": "content_block_start", "index": i,
                   "content_block": self.empty(block)}
            if "pings" in self.quirks:
                yield {"type": "ping"}
            if "unknown" in self.quirks:
                yield {"type": "future_event", "index": i, "x": [1, {"y": 2}]}
                yield {"type": "content_block_delta", "index": i,
                       "delta": {"type": "future_delta", "z": None}}
            for d in self.deltas(block):
                yield {"type": "content_block_delta", "index": i, "delta": d}
            yield {"type": "content_block_stop", "index": i}
        stop = self.spec.get("stop",
                             "tool_use" if self.calls else "end_turn")
        yield {"type": "message_delta",
               "delta": {"stop_reason": stop, "stop_sequence": None},
               "usage": {"output_tokens": u["output"]}}
        yield {"type": "message_stop"}

    # -- OpenAI ------------------------------------------------------------

    def chunk(self, delta, finish=None):
        c = {"id": "chatcmpl-%d" % self.number,
             "object": "chat.completion.chunk", "created": 1700000000,
             "model": "emulated", "system_fingerprint": None,
             "choices": [{"index": 0, "delta": delta, "logprobs": None,
                          "finish_reason": finish}]}
        if "unknown" in self.quirks:
            c["future"] = {"a": [1, None]}
            delta["future_delta"] = [{}]
        return c

    def reasoning(self):
        field = ("reasoning_content" if "reasoning_content" in self.quirks
                 else "reasoning")
        for t in self.thinking:
            if isinstance(t, str):
                for p in pieces(t, self.chars):
                    yield self.chunk({field: p})

    def call_chunks(self):
        q = self.quirks
        for i, c in enumerate(self.calls):
            first = {"index": i, "id": c["id"], "type": "function",
                     "function": {"name": c["name"], "arguments": ""}}
            if c["extra"]:
                first["extra_content"] = c["extra"]
            rest = [c["raw"]] if {"zero_index", "no_id"} & q else \
                pieces(c["raw"], self.chars)
            if "args_object" in q:
                rest = [c["args"]]
            if {"no_id", "zero_index", "args_object"} & q:
                first["function"]["arguments"] = rest.pop(0)
            parts = [first] + [{"index": i, "function": {"arguments": p}}
                               for p in rest]
            for n, p in enumerate(parts):
                if "zero_index" in q:
                    p["index"] = 0
                if "no_index" in q:
                    del p["index"]
                if "no_id" in q:
                    p.pop("id", None)
                if "late_null_id" in q and n:
                    p["id"] = None
                    p["function"]["name"] = None
                if "repeat_name" in q:
                    p["id"] = c["id"]
                    p["function"]["name"] = c["name"]
                yield self.chunk({"tool_calls": [p]})

    def openai(self):
        q = self.quirks
        yield self.chunk({"role": "assistant", "content": ""})
        yield from self.reasoning()
        for p in pieces(self.text, self.chars):
            if "content_list" in q:
                p = [{"type": "text", "text": p}]
            yield self.chunk({"content": p})
        yield from self.call_chunks()
        stop = "tool_calls" if self.calls and "stop_with_calls" not in q \
            else "stop"
        yield self.chunk({}, self.spec.get("stop", stop))
        if "no_usage" not in q:
            u = self.usage
            last = self.chunk({})
            last["choices"] = None if "empty_choices" in q else []
            last["usage"] = {
                "prompt_tokens": u["input"] + u["cache_read"],
                "completion_tokens": u["output"],
                "total_tokens": u["input"] + u["output"] + u["cache_read"],
                "prompt_tokens_details": {"cached_tokens": u["cache_read"]}}
            yield last

    def whole(self):
        """The answer of a server that does not stream (openai-chat)."""
        message = {"role": "assistant", "content": self.text or None}
        if self.calls:
            message["tool_calls"] = [
                {"id": c["id"], "type": "function",
                 "function": {"name": c["name"], "arguments": c["raw"]}}
                for c in self.calls]
        body = self.chunk({}, "tool_calls" if self.calls else "stop")
        del body["choices"][0]["delta"]
        body["choices"][0]["message"] = message
        body["object"] = "chat.completion"
        body["usage"] = {"prompt_tokens": self.usage["input"],
                         "completion_tokens": self.usage["output"]}
        return json.dumps(body).encode()

    # -- bytes -------------------------------------------------------------

    def events(self, wire):
        """Each event of the stream as bytes."""
        q = self.quirks
        eol = "\r\n" if "crlf" in q else "\n"
        data = "data:" if "no_space" in q else "data: "
        if wire == "anthropic":
            for e in self.anthropic():
                yield ("event: %s%s%s%s%s%s" % (
                    e["type"], eol, data, json.dumps(e), eol, eol)).encode()
            return
        for e in self.openai():
            if "comments" in q:
                yield (": keep-alive%s%s" % (eol, eol)).encode()
            yield (data + json.dumps(e) + eol + eol).encode()
        if "no_done" not in q:
            yield (data + "[DONE]" + eol + eol).encode()
