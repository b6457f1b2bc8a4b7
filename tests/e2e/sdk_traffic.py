"""sdk_traffic.py - what dcode and an SDK send to a vendor, made comparable."""
# SPDX-License-Identifier: MIT
import importlib
import json
import re

import sdk
from lifecycle import call, execute, wait_for

NAMES = {"agentcore": "AgentCore", "daytona": "Daytona", "deno": "Deno",
         "e2b": "E2B", "runloop": "Runloop", "vercel": "Vercel",
         "langsmith": "LangSmith"}
# The HTTP library's own, and what says who asks.
TRANSPORT = {"host", "connection", "content-length", "accept-encoding",
             "transfer-encoding", "user-agent", "expect", "accept-language",
             "sec-fetch-mode", "keep-alive"}
# Members with names of the user's choice, anywhere in a body.
MAPS = {"env", "envs", "envVars", "labels", "metadata", "tags", "env_vars",
        "environment_variables", "file_mounts"}
# The same job at another path: waiting is a request of its own then, and
# Vercel's API is the same at two hosts.
SAME = [(r"(POST /v1/devboxes)/create_and_await_running", r"\1"),
        (r"(\w+ )/api(/v[123]/sandboxes.*)", r"\1\2")]


def emulator(name, **options):
    return getattr(importlib.import_module(name), NAMES[name])(**options)


def work(cloud, name, model, start, run, env, folder):
    """Has dcode do every job at the vendor once; returns the requests."""
    env.update(cloud.env)
    server = model([
        execute("echo hi"),
        {"tool_calls": [call("write_file", file_path="a", content="one\n")]},
        {"tool_calls": [call("read_file", file_path="a")]},
        execute("sleep 300"), {"text": "done"}])
    text = "some\n" * 200_000  # more than a command carries
    (folder / "up").write_text(text)
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name,
              cwd=folder)
    wait_for(lambda: len(server.requests) >= 4 or p.p.poll() is not None, 60)
    assert p.p.poll() is None, p.p.communicate()
    if name == "langsmith":  # what runs long
        wait_for(lambda: cloud.count("GET .*/execute/ws"), 60)
    r = run("sandbox", "list", "--sandbox", name, "--json", cwd=folder)
    assert r.status == 0, r.err
    box = json.loads(r.out)["data"][0]["name"]
    for pair in (("up", f"{box}:b"), (f"{box}:b", "down")):
        r = run("sandbox", "cp", *pair, cwd=folder)
        assert r.status == 0, r.err
    r = run("sandbox", "exec", box, "--", "cat", "b", cwd=folder)
    assert r.out == (folder / "down").read_text() == text
    p.signal()
    p.wait()
    assert cloud.violations == [] and cloud.left() == []
    return list(cloud.requests)


def official(top, name, cloud):
    """What the vendor's SDK sends in its tests, if it was done so."""
    sdk.run(top, f"{name}.mjs", cloud.env)
    return [r for r in cloud.requests if r.get("status") == 101 or
            200 <= (r.get("status") or 0) < 300]


def operation(cloud, request):
    """METHOD and path, its parts that name something in braces."""
    path = request["path"]
    for method, pattern, _ in cloud.routes:
        match = pattern.fullmatch(path)
        if not match or method != request["method"]:
            continue
        spans = sorted((match.span(g), g) for g, v in
                       match.groupdict().items()
                       if v and re.search(r"[0-9_%.-]", v) and
                       not re.match(r"v\d", v))
        for (a, b), group in reversed(spans):
            path = path[:a] + "{" + group + "}" + path[b:]
        break
    line = f"{request['method']} {path}"
    for pattern, new in SAME:
        line = re.sub(f"^{pattern}$", new, line)
    return line


def kind(value):
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "string", type(None): "null"}.get(type(value), "?")


def members(value, where):
    """Every leaf's path and type."""
    if isinstance(value, dict):
        if where.rpartition(".")[2] in MAPS:
            yield f"{where}: map"
            return
        for name, item in value.items():
            yield from members(item, f"{where}.{name}")
        if not value:
            yield f"{where}: object"
    elif isinstance(value, list):
        for item in value:
            yield from members(item, f"{where}[]")
        if not value:
            yield f"{where}: array"
    else:
        yield f"{where}: {kind(value)}"


def fields(request):
    """A set of lines: a header, a parameter, a member of the body each."""
    found = {f"query.{name}" for name in request["query"]}
    headers = {k.lower(): v for k, v in request["headers"].items()}
    found |= {f"header.{k}" for k in headers if k not in TRANSPORT}
    raw = bytes(request.get("raw", b""))
    media = headers.get("content-type", "").partition(";")[0].strip()
    if not raw and media:
        found.add("body: none")
    if media:
        found.add(f"type {media}")
    if media == "application/connect+json" and len(raw) > 5:
        raw = raw[5:5 + int.from_bytes(raw[1:5], "big")]
    if media.endswith("json") and raw:
        found |= set(members(json.loads(raw), "body"))
    elif media == "multipart/form-data":
        for part in re.findall(rb'(?i)\r\ncontent-disposition:[^\r]*?; *name='
                               rb'"?([^";\r]*)', b"\r\n" + raw):
            found.add("part." + re.sub(r"\[\d+\]", "[]", part.decode()))
    return found


def frames(request):
    """What was asked for over a WebSocket, by method."""
    for frame in request.get("frames", ()):
        if "method" in frame:
            yield frame["method"], set(members(frame["params"], "params"))


def summary(cloud, requests):
    """{operation: (fields of any, fields of every request)}"""
    table = {}
    for request in requests:
        if "/socket.io/" in request["path"]:
            continue  # the SDK's own news of its sandboxes
        have = fields(request)
        if "config" in request:
            have |= set(members(request["config"], "config"))
        for name, have in [(operation(cloud, request), have),
                           *frames(request)]:
            any_, every = table.get(name, (set(), have))
            table[name] = (any_ | have, every & have)
    return table


def compare(ours, theirs):
    """{operation: {difference}}; + what only dcode sends, - what the SDK
    never leaves out and dcode does not always send."""
    found = {}
    for name, (any_, every) in ours.items():
        if name not in theirs:
            found[name] = {"+operation"}
            continue
        lines = {"+" + f for f in any_ - theirs[name][0]}
        lines |= {"-" + f for f in theirs[name][1] - every}
        if lines:
            found[name] = lines
    return found
