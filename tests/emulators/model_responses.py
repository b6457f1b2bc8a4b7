#!/usr/bin/python3
# model_responses.py - OpenAI's Responses API: for model.py.
# SPDX-License-Identifier: MIT
"""Checks of requests, and answers as events."""
import json

import model_media
from model_answers import pieces
from model_check import NAME, need, only
from model_wires import Wire

FIELDS = ("model input instructions stream store include tools tool_choice "
          "parallel_tool_calls reasoning text temperature top_p top_logprobs "
          "max_output_tokens max_tool_calls prompt_cache_key "
          "prompt_cache_retention safety_identifier service_tier truncation "
          "metadata user stream_options background previous_response_id")
ENCRYPTED = "reasoning.encrypted_content"


def secret(turn, i):
    return "gAAAA%d_%d+/==" % (turn.number, i)


class Responses(Wire):
    name = "openai-responses"
    path = r"(/openai)?(/v1)?/responses"

    # -- requests ----------------------------------------------------------

    def check(self, checker, body, _headers):
        only(body, FIELDS, "request")
        need(isinstance(body.get("model"), str) and body["model"], "model")
        need(body.get("stream") is True, "stream must be true")
        need(not body.get("previous_response_id"), "nothing is stored here")
        if "reasoning" in body:
            only(body["reasoning"], "effort summary context mode",
                 "reasoning")
        need(isinstance(body.get("instructions", ""), str), "instructions")
        for tool in body.get("tools", []):
            only(tool, "type name description parameters strict", "tools")
            need(tool.get("type") == "function", "tools: type")
            need(NAME.match(tool.get("name", "")), "tools: name")
            # left out it would be strict, and then the schema must be, too
            need(tool.get("strict") is False, "tools: strict")
            checker.schema(tool.get("parameters"), tool["name"])
        self.items(checker, body)

    def items(self, checker, body):
        need(isinstance(body.get("input"), list) and body["input"],
             "input: empty")
        seen, waiting, before = [], [], None
        for i, item in enumerate(body["input"]):
            where = "input[%d]" % i
            need(isinstance(item, dict), "%s: must be an object", where)
            kind = item.get("type", "message")
            if before == "reasoning":
                need(kind in ("reasoning", "function_call") or
                     item.get("role") == "assistant",
                     "%s: reasoning was provided without its required "
                     "following item", where)
            if kind == "message":
                self.message(item, where)
                need(item["role"] == "assistant" or not waiting,
                     "No tool output found for function call %s",
                     ", ".join(waiting))
            elif kind == "reasoning":
                self.reasoning(checker, body, item, where)
            elif kind == "function_call":
                self.call(item, seen, where)
                waiting.append(item["call_id"])
            else:
                need(kind == "function_call_output", "%s: type", where)
                only(item, "type call_id output id status", where)
                need(item.get("call_id") in waiting,
                     "No tool call found for function call output with "
                     "call_id %s", item.get("call_id"))
                waiting.remove(item["call_id"])
                if isinstance(item.get("output"), list):
                    self.content(item["output"], where)
                else:
                    need(isinstance(item.get("output"), str), "%s: output",
                         where)
            before = kind
        need(before != "reasoning", "input: reasoning was provided without "
             "its required following item")
        need(not waiting, "No tool output found for function call %s",
             ", ".join(waiting))
        self.all_back(checker, body["input"])

    @staticmethod
    def all_back(checker, items):
        """What was thought before a call has to be there."""
        sent = [i.get("encrypted_content") for i in items
                if i.get("type") == "reasoning"]
        for item in items:
            for one in checker.encrypted.get(item.get("call_id"), []):
                need(item["type"] != "function_call" or one in sent,
                     "reasoning of %s is missing", item.get("call_id"))

    @staticmethod
    def message(item, where):
        only(item, "type role content phase id status", where)
        role, content = item.get("role"), item.get("content")
        need(role in ("user", "assistant", "system", "developer"),
             "%s: role", where)
        need(item.get("phase") in (None, "commentary", "final_answer") and
             ("phase" not in item or role == "assistant"), "%s: phase", where)
        if isinstance(content, list) and role != "assistant":
            Responses.content(content, where)
        elif isinstance(content, list):
            for part in content:
                kinds = {"output_text": "text", "refusal": "refusal"}
                need(part.get("type") in kinds, "%s: content type", where)
                need(isinstance(part.get(kinds[part["type"]]), str),
                     "%s: text", where)
        else:
            need(isinstance(content, str), "%s: content", where)

    @staticmethod
    def content(parts, where):
        need(parts, "%s: empty content", where)
        for part in parts:
            kind = part.get("type")
            if kind == "input_text":
                only(part, "type text", where)
                need(isinstance(part["text"], str), "%s: text", where)
                continue
            need(kind in ("input_image", "input_file"), "%s: %s", where, kind)
            only(part, "type detail image_url" if kind == "input_image" else
                 "type filename file_data", where)
            need(part.get("detail", "auto") in ("auto", "low", "high"),
                 "%s: detail", where)
            words = model_media.block_words(part)
            need(("pdf" in words) == (kind == "input_file"), "%s: %s", where,
                 words)

    @staticmethod
    def reasoning(checker, body, item, where):
        only(item, "type id summary content encrypted_content", where)
        need(isinstance(item.get("summary"), list), "%s: summary", where)
        one = item.get("encrypted_content")
        need(one or item.get("content"), "%s: item %s not found. Items are "
             "not persisted when `store` is set to false", where,
             item.get("id"))
        need(one is None or one in checker.issued,
             "%s: encrypted content could not be verified", where)
        need(body.get("store") is False, "store must be false")

    @staticmethod
    def call(item, seen, where):
        only(item, "type id call_id name arguments status", where)
        need(isinstance(item.get("call_id"), str) and
             0 < len(item["call_id"]) <= 64,
             "%s: call_id: string too long", where)
        need(item["call_id"] not in seen, "%s: call_id twice", where)
        seen.append(item["call_id"])
        need(NAME.match(item.get("name", "")), "%s: name", where)
        try:
            args = json.loads(item["arguments"])
        except (ValueError, TypeError):
            args = None
        need(isinstance(args, dict), "%s: arguments are no JSON object",
             where)

    @staticmethod
    def ours(item):
        return item.get("role") == "assistant" or \
            item.get("type") in ("function_call", "reasoning")

    def answers(self, body):
        kinds = [self.ours(i) for i in body["input"]]
        return sum(a and not b for a, b in zip(kinds, [False] + kinds))

    def words(self, body):
        out = []
        for item in reversed(body["input"]):
            if self.ours(item):
                break
            text = item.get("output", item.get("content"))
            if isinstance(text, list):
                text = "\n".join(p.get("text") or model_media.block_words(p)
                                 for p in text)
            out.append(text)
        return "\n".join(reversed(out))

    # -- answers -----------------------------------------------------------

    def remember(self, turn, checker):
        made = [secret(turn, i) for i in range(len(turn.thinking))]
        checker.issued.update(made)
        if turn.calls:
            checker.encrypted[turn.calls[0]["id"]] = made

    @staticmethod
    def items_of(turn):
        for i, text in enumerate(turn.thinking):
            item = {"type": "reasoning", "id": "rs_%d_%d" % (turn.number, i),
                    "summary": [], "encrypted_content": secret(turn, i)}
            if isinstance(text, str) and text:
                item["summary"] = [{"type": "summary_text", "text": text}]
            yield item
        if turn.text:
            kind = "refusal" if turn.spec.get("stop") == "refusal" \
                else "output_text"
            name = "text" if kind == "output_text" else kind
            yield {"type": "message", "id": "msg_%d" % turn.number,
                   "role": "assistant", "status": "completed",
                   "phase": "commentary" if turn.calls else "final_answer",
                   "content": [{"type": kind, name: turn.text}]}
        for i, c in enumerate(turn.calls):
            yield {"type": "function_call", "status": "completed",
                   "id": "fc_%d_%d" % (turn.number, i), "call_id": c["id"],
                   "name": c["name"], "arguments": c["raw"]}

    @staticmethod
    def response(turn, status, output):
        u, stop = turn.usage, turn.spec.get("stop")
        total = u["input"] + u["cache_read"] + u["cache_write"]
        r = {"id": "resp_%d" % turn.number, "object": "response",
             "created_at": 1700000000, "model": "emulated", "store": False,
             "status": status, "error": None, "incomplete_details": None,
             "instructions": None, "metadata": {}, "tools": [],
             "output": output, "usage": None}
        if stop in ("max_output_tokens", "content_filter") and \
                status == "completed":
            r.update(status="incomplete",
                     incomplete_details={"reason": stop})
        if r["status"] != "in_progress":
            r["usage"] = {
                "input_tokens": total, "output_tokens": u["output"],
                "total_tokens": total + u["output"],
                "input_tokens_details": {
                    "cached_tokens": u["cache_read"],
                    "cache_write_tokens": u["cache_write"]},
                "output_tokens_details": {
                    "reasoning_tokens": u.get("reasoning", 0)}}
        return r

    @staticmethod
    def deltas(turn, item, at):
        """(type, members) between the begin and the end of an item."""
        if item["type"] == "function_call":
            for p in pieces(item["arguments"], turn.chars):
                yield "function_call_arguments.delta", {"delta": p}
            yield "function_call_arguments.done", {
                "arguments": item["arguments"], "name": item["name"]}
            return
        part = "content_part" if item["type"] == "message" \
            else "reasoning_summary_part"
        index = "content_index" if item["type"] == "message" \
            else "summary_index"
        for i, one in enumerate(item.get("content") or
                                item.get("summary") or []):
            kind = one["type"] if one["type"] != "summary_text" \
                else "reasoning_summary_text"
            name = "refusal" if kind == "refusal" else "text"
            where = {index: i}
            yield part + ".added", {**where, "part": {**one, name: ""}}
            for p in pieces(one[name], turn.chars):
                yield kind + ".delta", {**where, "delta": p}
            yield kind + ".done", {**where, name: one[name]}
            yield part + ".done", {**where, "part": one}

    def objects(self, turn):
        items = list(self.items_of(turn))
        begun = self.response(turn, "in_progress", [])
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.in_progress", "response": begun}
        for at, item in enumerate(items):
            hidden = {"content": [], "arguments": "", "summary": [],
                      "status": "in_progress"}
            empty = {k: hidden.get(k, v) for k, v in item.items()
                     if k != "encrypted_content"}
            yield {"type": "response.output_item.added", "output_index": at,
                   "item": empty}
            if "unknown" in turn.quirks:
                yield {"type": "response.future.delta", "output_index": at,
                       "delta": {"x": [None]}}
            if "no_deltas" not in turn.quirks:
                for kind, more in self.deltas(turn, item, at):
                    yield {"type": "response." + kind, "output_index": at,
                           "item_id": item["id"], **more}
            yield {"type": "response.output_item.done", "output_index": at,
                   "item": item}
        end = self.response(turn, "completed", items)
        yield {"type": "response." + end["status"], "response": end}

    def events(self, turn):
        eol = "\r\n" if "crlf" in turn.quirks else "\n"
        data = "data:" if "no_space" in turn.quirks else "data: "
        for n, e in enumerate(self.objects(turn)):
            if "comments" in turn.quirks:
                yield (": keep-alive%s%s" % (eol, eol)).encode()
            e["sequence_number"] = n
            yield "".join(["event: ", e["type"], eol, data, json.dumps(e),
                           eol, eol]).encode()

    def error_event(self, error):
        body = {"type": "error", "sequence_number": 1, "param": None,
                "code": error.get("code", error.get("type")),
                "message": error.get("message")}
        return b"event: error\ndata: " + json.dumps(body).encode() + b"\n\n"

    def whole(self, turn):
        return json.dumps(self.response(
            turn, "completed", list(self.items_of(turn)))).encode()
