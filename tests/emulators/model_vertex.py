#!/usr/bin/python3
# model_vertex.py - Gemini and Claude at Google's Vertex AI: for model.py.
# SPDX-License-Identifier: MIT
"""The same as at Google's own and Anthropic's, but for addresses, keys, and
what Vertex does not know."""
from model_check import need
from model_gemini import Gemini
from model_wires import Anthropic, Wire

PLACE = (r"/v1(beta1)?/projects/[^/]+/locations/[^/]+/publishers/%s/models/"
         r"[^/:]+:%s")


class VertexGemini(Gemini):
    path = PLACE % ("google", "streamGenerateContent")

    def key(self, headers):
        return Wire.key(self, headers)

    def check(self, checker, body, headers):
        for i, content in enumerate(body.get("contents") or []):
            for j, part in enumerate(content.get("parts", [])):
                for kind in ("functionCall", "functionResponse"):
                    need("id" not in part.get(kind, {}),
                         'Invalid JSON payload received. Unknown name "id" at '
                         "'contents[%d].parts[%d].%s': Cannot find field.",
                         i, j, kind)
        super().check(checker, body, headers)

    @staticmethod
    def same(items):
        return [i["name"] for i in items]

    @staticmethod
    def ids(calls, where):
        pass

    def remember(self, turn, checker):
        turn.quirks = {*turn.quirks, "no_id"}
        super().remember(turn, checker)


class VertexClaude(Anthropic):
    path = PLACE % ("anthropic", "streamRawPredict")

    def key(self, headers):
        return Wire.key(self, headers)

    def check(self, checker, body, headers):
        body = dict(body)
        need("model" not in body, "model: Extra inputs are not permitted")
        need(body.pop("anthropic_version", "") == "vertex-2023-10-16",
             "anthropic_version: Field required")
        super().check(checker, {**body, "model": "claude"}, headers)
