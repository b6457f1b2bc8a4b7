#!/usr/bin/python3
# model_script.py - what a script says, read: for model.py.
# SPDX-License-Identifier: MIT
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
        self.repeat = spec.get("repeat", False)
        self.check = spec.get("check", True)
        self.by_count = not self.check or spec.get("by") == "count"
        self.refuse = spec.get("refuse", [])
        self.key = spec.get("key")
        self.bill = spec.get("bill")
        self.window = Window(spec["window"]) if "window" in spec else None
