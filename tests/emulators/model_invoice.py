#!/usr/bin/python3
# model_invoice.py - what the emulated vendor bills: for model.py.
# SPDX-License-Identifier: MIT
"""Tokens of each request, drawn at random within what a vendor may count."""
import random

KINDS = ("input", "output", "cache_read", "cache_write")
# whose usage tells what was written to a cache apart
WRITES = ("anthropic", "bedrock", "openai-responses")


def limit_of(body):
    """The output limit of a request, wherever its wire has it."""
    for part in (body, body.get("generationConfig", {}),
                 body.get("inferenceConfig", {})):
        for name in ("max_tokens", "max_completion_tokens",
                     "max_output_tokens", "maxOutputTokens", "maxTokens"):
            if name in part:
                return part[name]
    return None


def first_words(body):
    """Of the conversation; without the marks of a cache, which move."""
    first = (body.get("messages") or [{}])[0].get("content", "")
    if isinstance(first, list):
        first = next((p["text"] for p in first if "text" in p), "")
    return first


class Talk:
    """A conversation, as the last whole answer to it was billed."""
    tokens = text = images = 0


class Invoice:
    """spec: a seed, or {"seed", "image": base64, "image_tokens"}: a file that
    requests may hold, and what it counts at most by the vendor's documents."""

    def __init__(self, spec):
        spec = spec if isinstance(spec, dict) else {"seed": spec}
        self.random = random.Random(spec["seed"])
        self.image = spec.get("image", "").encode()
        self.image_tokens = spec.get("image_tokens", 0)
        self.lines = []
        self.talks = {}

    def count(self, raw, talk):
        """At most a token for each byte of text that was added since."""
        roll = self.random.randint
        images = raw.count(self.image) if self.image else 0
        text = len(raw) - images * len(self.image)
        new = images - talk.images
        if talk.tokens and text >= talk.text and new >= 0:
            tokens = talk.tokens + roll(0, text - talk.text)
        else:
            tokens, new = roll(1, text), images
        tokens += sum(roll(0, self.image_tokens) for _ in range(new))
        return tokens, text, images

    def charge(self, wire, raw, body, turn, whole):
        """Sets the usage of turn, within its request's output limit."""
        roll = self.random.randint
        # one without tools sums up another; each subagent has its own
        begin = first_words(body)
        talk = self.talks.setdefault(
            ("tools" in body or "toolConfig" in body, begin), Talk())
        tokens, text, images = self.count(raw, talk)
        read = roll(0, tokens)
        written = roll(0, tokens - read) if wire.name in WRITES else 0
        turn.usage = {"input": tokens - read - written, "cache_read": read,
                      "cache_write": written,
                      "output": roll(1, limit_of(body) or 4000)}
        if not whole:  # at once: a model writes few tokens meanwhile
            turn.usage["output"] = min(turn.usage["output"], roll(1, 500))
        if whole:
            talk.tokens, talk.text, talk.images = tokens, text, images
        self.lines.append({**turn.usage, "begin": begin})

    def dollars(self, prices, begin=""):
        """prices: of a million tokens of each kind. begin: of conversations
        alone whose first message has this."""
        return sum(line[k] * prices[k] / 1e6 for line in self.lines
                   for k in KINDS if begin in line["begin"])
