#!/usr/bin/python3
# model_script.py - what a script says, read: for model.py.
# SPDX-License-Identifier: MIT
import json
import re

from model_window import Window


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
        """The turn of the talk that the first message begins; or None."""
        if not self.talks:
            return None
        first = next((m for m in body.get("messages", [])
                      if m.get("role") == "user"), {})
        for pattern, at, n in self.talks:
            if re.search(pattern, json.dumps(first)):
                return at + answers if answers < n else len(self.turns)
        return None
