#!/usr/bin/python3
# model_lists.py - what servers say of their models: for model.py.
# SPDX-License-Identifier: MIT
"""GET /v1/models and the like, of a script's "models": a list of objects with
an "id" each, as the server that is played has them. "show" is what Ollama says
of a model, "native" LM Studio's list, "props" llama.cpp's."""
import re
import time
import urllib.parse


def find(spec, path):
    """(status, body) for a path, or None: that is no question of this kind."""
    path = urllib.parse.unquote(path.split("?")[0])
    models = spec.get("models")
    if models is None:
        return None
    if path == "/api/show":
        return (200, spec["show"]) if "show" in spec else None
    if path == "/api/v0/models":
        return 200, {"data": spec.get("native", [])}
    if path == "/props":
        return 200, spec.get("props", {})
    match = re.fullmatch(r"(/v1|/v1beta)?/models(/(.*))?", path)
    if not match:
        return None
    google = match[1] == "/v1beta"
    if match[3] is None:
        return 200, {"models" if google else "data": models}
    for m in models:
        if match[3] in (m.get("id"), m.get("name", "")[7:]):
            return 200, m
    return 404, {"error": {"message": "no such model"}}


def answer(handler, spec):
    """True when it was one."""
    asks = handler.command == "GET" or handler.path == "/api/show"
    found = asks and find(spec, handler.path)
    if not found:
        return False
    handler.model.asked.append(handler.path)
    time.sleep(spec.get("models_delay_ms", 0) / 1000)
    handler.send_json(*found)
    return True
