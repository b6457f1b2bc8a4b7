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


class Invoice:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.tokens = self.bytes = 0

    def charge(self, wire, raw, body, turn, whole):
        """Sets the usage of turn: at most a token for each byte that was added
        since the last whole answer, and the request's output limit."""
        roll, size = self.random.randint, len(raw)
        grown = size - self.bytes
        tokens = self.tokens + roll(0, grown) if self.tokens and grown >= 0 \
            else roll(1, size)
        read = roll(0, tokens)
        written = roll(0, tokens - read) if wire.name in WRITES else 0
        turn.usage = {"input": tokens - read - written, "cache_read": read,
                      "cache_write": written,
                      "output": roll(1, limit_of(body) or 4000)}
        if whole:
            self.tokens, self.bytes = tokens, size
        self.lines.append(dict(turn.usage))

    def dollars(self, prices):
        """prices: of a million tokens of each kind."""
        return sum(line[k] * prices[k] / 1e6
                   for line in self.lines for k in KINDS)
