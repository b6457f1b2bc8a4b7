#!/usr/bin/python3
# model_script.py - what a script says, read: for model.py.
# SPDX-License-Identifier: MIT
import json
import re

from model_window import Window


def is_prompt(message):
    """Words of the user's, not results of tools."""
    return message.get("role") == "user" and \
        "tool_result" not in json.dumps(message.get("content"))


class Script:
    def __init__(self, spec):
        if isinstance(spec, list):
            spec = {"turns": spec}
        self.spec, self.turns = spec, list(spec.get("turns", []))
        gen = spec.get("generator")
        if gen:
            call = {"name": gen.get("name", "execute"),
                    "args": gen.get("args", {"command": "true"})}
            self.turns += [{"tool_calls": [call]}] * gen.get("tool_turns", 0)
            self.turns.append({"tokens": gen["tokens"]} if gen.get("tokens")
                              else {"text": "done"})
        self.plain = len(self.turns)  # those that "repeat" repeats
        self.talks = []  # pattern, its first turn, how many
        for pattern, turns in spec.get("talks", {}).items():
            self.talks.append((pattern, len(self.turns), len(turns)))
            self.turns += turns
        self.repeat = spec.get("repeat", False)
        self.check = spec.get("check", True)
        self.by_count = not self.check or spec.get("by") == "count"
        self.refuse = spec.get("refuse", [])
        self.key = spec.get("key")
        self.bill = spec.get("bill")
        self.window = Window(spec["window"]) if "window" in spec else None

    def talk(self, body, answers):
        """The turn of the talk that the first message begins (or the last
        prompt, with "latest"); or None."""
        if not self.talks:
            return None
        messages = body.get("messages", [])
        prompts = [i for i, m in enumerate(messages) if is_prompt(m)]
        if self.spec.get("latest") and prompts:
            messages = messages[prompts[-1]:]
            answers = sum(m["role"] == "assistant" for m in messages)
        first = next((m for m in messages if m.get("role") == "user"), {})
        for pattern, at, n in self.talks:
            if re.search(pattern, json.dumps(first)):
                return at + answers if answers < n else len(self.turns)
        return None
