# model_window.py - a model's context window, for model.py.
# SPDX-License-Identifier: MIT
"""Tokens of a request. No two texts have the same number of bytes for each
token: between least and most, as their content is."""
import zlib

# How each vendor refuses what is too long; the number is of the window.
REFUSALS = {
    "anthropic": "prompt is too long: %d tokens > %d maximum",
    "openai-chat": "This model's maximum context length is %.0s%d tokens. "
                   "However, your messages resulted in more.",
    "openai-responses": "Your input exceeds the context window of this model"
                        " (%d > %d).",
    "gemini": "The input token count (%d) exceeds the maximum number of "
              "tokens allowed (%d).",
    "bedrock": "Input is too long for requested model (%d > %d).",
}


class Window:
    def __init__(self, spec):
        self.tokens = spec["tokens"]
        self.least, self.most = spec.get("bytes", (2, 6))
        self.summary = spec.get("summary")  # for requests without tools
        self.pace = spec.get("pace", {})  # more members of its turn

    def text(self, text):
        data = text.encode("utf-8", "replace")
        spread = (zlib.crc32(data) % 1000) / 1000
        return len(data) / (self.least + (self.most - self.least) * spread)

    def count(self, body):
        if isinstance(body, str):
            return self.text(body)
        if isinstance(body, dict):
            return sum(self.text(k) + self.count(v) for k, v in body.items())
        if isinstance(body, list):
            return sum(map(self.count, body))
        return 1

    def refusal(self, wire, used):
        return wire.error("invalid_request_error",
                          REFUSALS[wire.name] % (used, self.tokens))

    def asks_for_summary(self, body):
        return self.summary is not None and not (
            body.get("tools") or body.get("toolConfig"))

    def turn(self, spec, used):
        """The turn, with what the vendor counts."""
        usage = {"input": used, "output": 1 + len(spec.get("text", "")) // 4}
        return {**spec, "usage": {**usage, **spec.get("usage", {})}}
