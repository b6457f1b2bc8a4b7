#!/usr/bin/python3
# model_gemini.py - Gemini's streamGenerateContent: for model.py.
# SPDX-License-Identifier: MIT
"""Checks of requests, and answers as events."""
import json
import re

import model_media
from model_answers import pieces
from model_check import NAME, need, only
from model_wires import Wire

FIELDS = ("contents systemInstruction tools toolConfig safetySettings "
          "generationConfig cachedContent")
LEVELS = {"MINIMAL", "LOW", "MEDIUM", "HIGH"}
CONFIG = ("temperature topP topK maxOutputTokens stopSequences seed "
          "candidateCount responseMimeType thinkingConfig")
UNSIGNED = "skip_thought_signature_validator"


def signature(turn):
    return "c2ln%d+/==" % turn.number if turn.thinking else None


class Gemini(Wire):
    name = "gemini"
    path = r"(/v1beta)?/models/[^/:]+:streamGenerateContent"

    def key(self, headers):
        return headers.pop("x-goog-api-key", "")

    def error(self, kind, message):
        return {"error": {"code": 400, "message": message, "status": kind}}

    # -- requests ----------------------------------------------------------

    def check(self, checker, body, headers):
        need(headers[":path"].endswith("?alt=sse"), "alt=sse is missing")
        only(body, FIELDS, "request")
        only(body.get("generationConfig", {}), CONFIG, "generationConfig")
        thinking = body.get("generationConfig", {}).get("thinkingConfig", {})
        only(thinking, "includeThoughts thinkingBudget thinkingLevel",
             "thinkingConfig")
        need(thinking.get("thinkingLevel", "LOW") in LEVELS, "thinkingLevel")
        if "systemInstruction" in body:
            only(body["systemInstruction"], "role parts", "systemInstruction")
            need(body["systemInstruction"]["parts"][0]["text"], "system text")
        for tool in body.get("tools", []):
            only(tool, "functionDeclarations", "tools")
            for f in tool["functionDeclarations"]:
                only(f, "name description parametersJsonSchema", "tools")
                need(NAME.match(f.get("name", "")), "tools: name")
                checker.schema(f.get("parametersJsonSchema"), f["name"])
        strict = re.search(r"gemini-[3-9]", headers[":path"])
        for content in body.get("contents") or []:
            for part in content.get("parts", []):
                need(strict or "parts" not in
                     part.get("functionResponse", {}), "Multimodal function "
                     "responses are not supported by this model.")
        self.contents(checker, body.get("contents"), strict)

    def contents(self, checker, contents, strict):
        need(isinstance(contents, list) and contents, "contents: empty")
        waiting, before = [], None
        same = self.same
        for i, content in enumerate(contents):
            where = "contents[%d]" % i
            only(content, "role parts", where)
            role, parts = content.get("role"), content.get("parts")
            need(role in ("user", "model"), "%s: role", where)
            need(isinstance(parts, list) and parts, "%s: parts", where)
            need(role != before or role == "user", "%s: two answers", where)
            for part in parts:
                self.part(part, role, where)
            got = [p["functionResponse"] for p in parts
                   if "functionResponse" in p]
            need(len(got) == len(waiting),
                 "Please ensure that the number of function response parts is "
                 "equal to the number of function call parts of the function "
                 "call turn.")
            need(same(got) == same(waiting), "%s: a response to no call",
                 where)
            waiting = [p["functionCall"] for p in parts
                       if "functionCall" in p]
            self.ids(waiting, where)
            if waiting:
                self.signed(checker, parts, strict, where)
            before = role
        need(before == "user", "contents: must end with a user's turn")

    @staticmethod
    def same(items):
        """What a call and its response have in common."""
        return sorted((i["id"], i["name"]) for i in items)

    @staticmethod
    def ids(calls, where):
        need(len({c["id"] for c in calls}) == len(calls), "%s: id twice",
             where)

    @staticmethod
    def part(part, role, where):
        only(part, "text thought thoughtSignature functionCall "
                   "functionResponse inlineData", where)
        need(len({"text", "functionCall", "functionResponse", "inlineData"} &
                 set(part)) == 1, "%s: a part needs one kind of data", where)
        if "inlineData" in part:
            only(part["inlineData"], "mimeType data", where)
            need(role == "user", "%s: role", where)
            need(part["inlineData"]["mimeType"] != "image/gif",
                 "Unsupported MIME type: image/gif")
            model_media.block_words(part)
            return
        if "text" in part:
            need(isinstance(part["text"], str) and
                 (part["text"] or "thoughtSignature" in part),
                 "%s: empty text", where)
        elif "functionCall" in part:
            only(part["functionCall"], "id name args", where)
            need(role == "model", "%s: role", where)
            need(NAME.match(part["functionCall"]["name"]), "%s: name", where)
            need(isinstance(part["functionCall"]["args"], dict), "%s: args",
                 where)
        else:
            only(part["functionResponse"], "id name response parts", where)
            for inner in part["functionResponse"].get("parts", []):
                only(inner, "inlineData", where)
                only(inner["inlineData"], "mimeType data displayName", where)
                model_media.block_words(inner)
            need(role == "user", "%s: role", where)
            need(isinstance(part["functionResponse"]["response"], dict),
                 "%s: response", where)

    @staticmethod
    def signed(checker, parts, strict, where):
        calls = [p for p in parts if "functionCall" in p]
        got = calls[0].get("thoughtSignature")
        need(got or not strict,
             "Function call is missing a thought_signature in functionCall "
             "parts.")
        want = checker.signatures.get(calls[0]["functionCall"].get("id"))
        need(not want or got == want, "%s: thought signature", where)
        need(got in (None, UNSIGNED) or got in checker.issued,
             "%s: Corrupted thought signature.", where)

    def answers(self, body):
        return sum(c["role"] == "model" for c in body["contents"])

    def words(self, body):
        out = []
        for content in reversed(body["contents"]):
            if content["role"] == "model":
                break
            for part in reversed(content["parts"]):
                response = part.get("functionResponse", {})
                out += [model_media.block_words(p)
                        for p in response.get("parts", [])]
                out.append(part.get("text") or
                           model_media.block_words(part) or
                           "".join(response["response"].values()))
        return "\n".join(reversed(out))

    # -- answers -----------------------------------------------------------

    def remember(self, turn, checker):
        if turn.thinking:
            checker.issued.add(signature(turn))
            if turn.calls:
                checker.signatures[turn.calls[0]["id"]] = signature(turn)

    @staticmethod
    def parts(turn):
        """Lists of parts, one for each event."""
        sign = signature(turn)
        for text in turn.thinking:
            for p in pieces(text, turn.chars):
                yield [{"text": p, "thought": True}]
        for p in pieces(turn.text, turn.chars):
            yield [{"text": p}]
        calls = []
        for c in turn.calls:
            part = {"functionCall": {"name": c["name"], "args": c["args"],
                                     "id": c["id"]}}
            if sign:
                part["thoughtSignature"] = sign
            if "no_id" in turn.quirks:
                del part["functionCall"]["id"]
            sign = None
            calls.append(part)
        if calls:
            yield calls
        elif sign:
            yield [{"text": "", "thoughtSignature": sign}]

    def objects(self, turn):
        u = turn.usage
        counts = {"promptTokenCount": u["input"] + u["cache_read"],
                  "candidatesTokenCount": u["output"] - u.get("reasoning", 0),
                  "totalTokenCount": u["input"] + u["cache_read"] +
                  u["output"]}
        if u["cache_read"]:
            counts["cachedContentTokenCount"] = u["cache_read"]
        if u.get("reasoning"):
            counts["thoughtsTokenCount"] = u["reasoning"]
        rest = {"usageMetadata": counts, "modelVersion": "emulated",
                "responseId": "r%d" % turn.number}
        stop = turn.spec.get("stop", "STOP")
        if stop.startswith("block:"):
            yield {"promptFeedback": {"blockReason": stop[6:]}, **rest}
            return
        all_parts = list(self.parts(turn)) or [[{"text": ""}]]
        for n, parts in enumerate(all_parts):
            candidate = {"content": {"parts": parts, "role": "model"},
                         "index": 0}
            if "unknown" in turn.quirks:
                candidate["future"] = {"x": [None]}
            if n + 1 == len(all_parts):
                candidate["finishReason"] = stop
            yield {"candidates": [candidate], **rest}

    def events(self, turn):
        eol = "\r\n" if "crlf" in turn.quirks else "\n"
        data = "data:" if "no_space" in turn.quirks else "data: "
        for e in self.objects(turn):
            if "comments" in turn.quirks:
                yield (": keep-alive%s%s" % (eol, eol)).encode()
            yield (data + json.dumps(e) + eol + eol).encode()

    def error_event(self, error):
        body = {"error": {"code": error.get("code", 500), "status":
                          error.get("type", "INTERNAL"),
                          "message": error.get("message")}}
        return b"data: " + json.dumps(body).encode() + b"\n\n"

    def whole(self, turn):
        body = list(self.objects(turn))[-1]
        body["candidates"][0]["content"]["parts"] = [
            p for parts in self.parts(turn) for p in parts]
        return json.dumps(body).encode()
