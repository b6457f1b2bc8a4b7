#!/usr/bin/python3
# mcp_server.py - an MCP server over stdio, well-behaved or not.
# SPDX-License-Identifier: MIT
"""mcp_server.py [MODE ...] - speaks MCP on its standard streams.

Each MODE makes one thing wrong or different; without any it is a plain server
with the tools of `TOOLS`. LOG in the environment names a file that gets a line
for every message it receives ("<") and its life ("start", "end").
"""
import base64
import json
import os
import signal
import subprocess
import sys
import time

MODES = set(sys.argv[1:])
LOG = os.environ.get("LOG")
PNG = base64.b64encode(base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA"
    "60e6kgAAAABJRU5ErkJggg==")).decode()


def schema(**properties):
    return {"type": "object", "properties": properties,
            "required": list(properties)}


TOOLS = [
    {"name": "add", "description": "Adds two numbers.",
     "inputSchema": schema(a={"type": "number"}, b={"type": "number"})},
    {"name": "look", "description": "Reads.", "inputSchema": schema(),
     "annotations": {"readOnlyHint": True}},
    {"name": "liar", "description": "Both.", "inputSchema": schema(),
     "annotations": {"readOnlyHint": True, "destructiveHint": True}},
    {"name": "env", "description": "Its environment.",
     "inputSchema": schema()},
    {"name": "mixed", "description": "Every kind of content.",
     "inputSchema": schema()},
    {"name": "fails", "description": "Fails.", "inputSchema": schema()},
    {"name": "slow", "description": "Never answers.",
     "inputSchema": schema()},
    {"name": "big", "description": "Much text.", "inputSchema": schema()},
    {"name": "grow", "description": "Adds a tool.", "inputSchema": schema()},
    {"name": "die", "description": "Ends the server.",
     "inputSchema": schema()},
]


if os.environ.get("TOOLS_FILE"):  # others, which answer with their arguments
    with open(os.environ["TOOLS_FILE"], encoding="utf-8") as given:
        TOOLS = json.load(given)


def log(text):
    if LOG:
        with open(LOG, "a", encoding="utf-8") as f:
            f.write(text + "\n")


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def send(message):
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def mixed():
    return {"content": [
        {"type": "text", "text": "one\x1b[31m red\x1b[0m \u202e"},
        {"type": "image", "mimeType": "image/png", "data": PNG},
        {"type": "image", "mimeType": "image/x", "data": "!!!"},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
        {"type": "resource_link", "uri": "file:///a/b", "name": "b",
         "description": "a file"},
        {"type": "resource",
         "resource": {"uri": "x://y", "text": "inside"}},
        {"type": "new", "x": 1}]}


def call(ident, name, args):
    answers = {
        "look": lambda: text("looked"),
        "liar": lambda: text("lied"),
        "env": lambda: text("\n".join(f"{k}={v}" for k, v in
                                      sorted(os.environ.items()))
                            + "\ncwd=" + os.getcwd()),
        "mixed": mixed,
        "fails": lambda: {**text("it went wrong"), "isError": True},
        "big": lambda: text("0123456789abcdef\n" * 200000),
        "more": lambda: text("there is more"),
    }
    if name == "add":
        result = {**text(f"sum: {args['a'] + args['b']}"),
                  "structuredContent": {"sum": args["a"] + args["b"]}}
    elif name == "slow":
        return
    elif name == "die":
        sys.stderr.write("I am dying now\n")
        sys.stderr.flush()
        os._exit(3)
    elif name == "grow":
        TOOLS.append({"name": "more", "inputSchema": schema()})
        send({"method": "notifications/tools/list_changed"})
        result = text("grown")
    elif name in answers:
        result = answers[name]()
    elif os.environ.get("TOOLS_FILE"):
        result = text("got " + json.dumps(args, sort_keys=True))
    else:
        send({"id": ident, "error": {"code": -32602, "message":
                                     f"no tool\x1b[2J {name}"}})
        return
    if "wrong_ids" in MODES:
        send({"id": 99999, "result": text("for nobody")})
        send({"id": str(ident), "result": text("of a string")})
    if "asks" in MODES:
        send({"id": "s1", "method": "sampling/createMessage", "params": {}})
        send({"id": 7, "method": "roots/list"})
        send({"id": 8, "method": "ping"})
    if "noise" in MODES:
        write("this is no JSON \x1b[31m\n[1,2]\nnull\n\n{}\n")
    if "cut_json" in MODES:
        write('{"jsonrpc":"2.0","id":\n')
    if "no_newline" in MODES:
        write('{"jsonrpc":"2.0","id":%d,"result":{}}' % ident)
        return
    if "endless_line" in MODES:
        while True:
            write("x" * 65536)
    if "endless_lines" in MODES:
        while True:
            write("y" * 1023 + "\n")
    if "endless_notices" in MODES:
        while True:
            send({"method": "notifications/message",
                  "params": {"data": "z" * 4000}})
    if "no_result" in MODES:
        send({"id": ident})
        return
    if "result_text" in MODES:
        send({"id": ident, "result": "text"})
        return
    if "bad_content" in MODES:
        result = {"content": {"type": 7}, "structuredContent": 5}
    if "deep" in MODES:
        write('{"jsonrpc":"2.0","id":%d,"result":%s%s}\n' %
              (ident, '{"a":' * 5000, "1" + "}" * 5000))
        return
    if "cut_pair" in MODES:  # as JSON.stringify() writes a cut emoji
        write('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text",'
              '"text":"looked \\ud83d, \\ud83d\\ude00, \\u0000, \\\\ud83d"'
              '}]}}\r\n' % ident)
        return
    if "bad_utf8" in MODES:
        sys.stdout.buffer.write(b'{"id":%d,"result":{"content":"\xff"}}\n'
                                % ident)
        sys.stdout.flush()
        return
    if "batch" in MODES:  # version 2025-03-26 has them
        write(json.dumps([5, [], {"method": "notifications/message"},
                          {"id": 7, "method": "roots/list"},
                          {"id": 99999, "result": text("for nobody")},
                          {"jsonrpc": "2.0", "id": ident,
                           "result": result}]) + "\n[]\n")
        return
    send({"id": ident, "result": result})
    if "twice" in MODES:
        send({"id": ident, "result": text("again")})
        send({"id": ident, "error": {"code": 1, "message": "again"}})


def listed(cursor):
    if "huge_list" in MODES:
        return {"tools": [{"name": f"t{i}", "inputSchema": schema()}
                          for i in range(5000)]}
    if "pages" in MODES:
        at = int(cursor or 0)
        more = {"nextCursor": str(at + 1)} if at + 1 < len(TOOLS) else {}
        return {"tools": [TOOLS[at]], **more}
    if "endless_pages" in MODES:
        return {"tools": [], "nextCursor": "on"}
    if "bad_tools" in MODES:
        return {"tools": [
            5, {"name": 7}, {"name": ""}, {"name": "a b"},
            {"name": "e\x1b[31m"}, {"name": "x" * 300},
            {"name": "big", "inputSchema": schema(
                **{f"p{i}": {"type": "string"} for i in range(20000)})},
            {"name": "bad", "inputSchema": {"type": "string"}},
            {"name": "dots.and/slashes", "description": "d\x1b]0;t\x07e",
             "inputSchema": schema()},
            {"name": "l" * 100, "inputSchema": schema()},
            {"name": "l" * 101, "inputSchema": schema()},
            {"name": "add", "inputSchema": schema()},
            {"name": "add", "inputSchema": schema()}]}
    if "no_list" in MODES:
        return {"tools": "none"}
    return {"tools": TOOLS}


def initialize(params):
    version = params["protocolVersion"]
    if "old" in MODES:
        version = "2024-11-05"
    if "unknown_version" in MODES:
        version = "1999-01-01"
    return {"protocolVersion": version, "serverInfo": {"name": "t"},
            "capabilities": {"tools": {"listChanged": True}}}


def handle(message):
    method, ident = message.get("method"), message.get("id")
    params = message.get("params") or {}
    if method == "initialize":
        if "mute" in MODES:
            return
        if "dies_early" in MODES:
            sys.stderr.write("cannot start: \x1b[31mno luck\n")
            sys.exit(4)
        if "tells" in MODES:
            sys.stderr.write("no access with " + os.environ["MY_TOKEN"])
            sys.exit(4)
        if "refuses" in MODES:
            send({"id": ident, "error": {"code": -32000,
                                         "message": "not today"}})
            return
        send({"id": ident, "result": initialize(params)})
    elif method == "tools/list":
        if "no_tools" in MODES:
            send({"id": ident, "error": {"code": -32601, "message": "no"}})
        elif "mute_list" not in MODES:
            send({"id": ident, "result": listed(params.get("cursor"))})
    elif method == "tools/call":
        call(ident, params["name"], params.get("arguments"))


def main():
    log(f"start {os.getpid()} {os.getcwd()}")
    if "children" in MODES:
        hidden = subprocess.Popen(["sleep", "300"], start_new_session=True)
        plain = subprocess.Popen(["sleep", "300"])
        log(f"child {hidden.pid}\nchild {plain.pid}")
    if "stubborn" in MODES:
        signal.signal(signal.SIGTERM, lambda *_: log("term"))
    if "stderr_flood" in MODES:
        for i in range(100000):
            sys.stderr.write(f"line {i} \x1b[31m\n")
        sys.stderr.flush()
    delay = os.environ.get("DELAY_FILE")
    if delay and os.path.exists(delay):
        with open(delay, encoding="utf-8") as f:
            time.sleep(float(f.read()))
    for line in sys.stdin:
        log("< " + line.strip())
        handle(json.loads(line))
    log("end")
    while "stubborn" in MODES:
        time.sleep(1)


main()
