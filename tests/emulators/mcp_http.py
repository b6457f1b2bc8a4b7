# mcp_http.py - an MCP server over streamable HTTP, well-behaved or not.
# SPDX-License-Identifier: MIT
"""McpHttp(mode) as a context manager: .url, .requests [(method, headers,
message)]. Modes: see Handler.answer()."""
import json
import queue
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS = [{"name": "look", "inputSchema": {"type": "object"},
          "annotations": {"readOnlyHint": True}}]
SESSION = "session-0123456789"
STREAMS = ("says", "drops", "floods", "chatters", "sse", "sse_html",
           "sse_flood", "sse_silent", "sse_elsewhere", "sse_file",
           "sse_closes")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def head(self, status, kind, length=None, **more):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is None:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def whole(self, status, body=b"", kind="application/json", **more):
        self.head(status, kind, len(body), **more)
        self.wfile.write(body)

    def message(self, message, **more):
        self.whole(200, json.dumps({"jsonrpc": "2.0", **message}).encode(),
                   **more)

    def event(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message})
        self.wfile.write(f"id: 1\nevent: message\ndata: {text}\n\n".encode())
        self.wfile.flush()

    def do_GET(self):
        """The stream of what the server says by itself; of the older
        transport, of all."""
        self.server.note("GET", self.headers, None)
        mode = self.server.mode
        if mode == "never":
            self.head(200, "text/event-stream")
            n = len(self.server.requests)
            return self.wfile.write(f"id: {n}\ndata:\n\n".encode())
        if mode == "midway":  # the call was taken, its session has ended
            return self.whole(404, b"{}")
        if mode not in STREAMS:
            return self.whole(405)
        if mode == "sse_html":
            return self.whole(200, b"<html>", "text/html")
        self.head(200, "text/event-stream")
        if mode in ("sse_flood", "floods"):
            while True:
                self.wfile.write(b": " + b"x" * 65536 + b"\n\n")
        while mode == "chatters":
            self.event({"method": "notifications/x", "params": "x" * 65536})
            self.server.chatted += 65536
        if mode == "drops":
            return self.wfile.write(b"retry: 1\n: nothing\n\n")
        if mode == "says":
            self.event({"method": "notifications/tools/list_changed"})
            self.event({"id": "p1", "method": "ping"})
            self.event({"id": 2, "method": "elicitation/create"})
        elif mode != "sse_silent":
            where = {"sse_elsewhere": "http://127.0.0.1:1/post",
                     "sse_file": "file:///etc/passwd"}.get(mode, "/post?s=1")
            self.wfile.write(f"event: endpoint\ndata: {where}\n\n".encode())
        while not self.server.over:
            try:
                message = self.server.outbox.get(timeout=0.1)
            except queue.Empty:
                continue
            if mode == "sse_closes":
                return None
            self.event({"id": 12345, "result": {}})
            self.event({"id": 7, "method": "roots/list"})
            self.event(message)
        return None

    def do_old(self, message):
        """A message of the older transport: the stream has the answer."""
        self.whole(202, b"Accepted", "text/plain")
        if "id" in message and "method" in message:
            result = {"initialize": {"protocolVersion": "2024-11-05",
                                     "capabilities": {}},
                      "tools/list": {"tools": TOOLS}}.get(
                message["method"], {"content": [
                    {"type": "text", "text": "looked"}]})
            self.server.outbox.put({"id": message["id"], "result": result})

    def do_DELETE(self):
        self.server.note("DELETE", self.headers, None)
        time.sleep(60 if self.server.mode == "clings" else 0)
        self.whole(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        self.server.note("POST", self.headers, message)
        mode = self.server.mode
        if self.path.startswith("/post"):
            return self.do_old(message)
        if mode == "echoes" and not {"id", "method"} <= set(message):
            self.message({"id": 7, "method": "ping"})
        elif mode == "asks" and "method" not in message:
            time.sleep(30)
        elif "id" not in message or "method" not in message:
            self.whole(202)
        elif mode == "login":
            self.whole(401, b'{"error":"no"}')
        elif mode == "long_header":
            self.whole(200, X="x" * 200000)
        elif mode == "redirect":
            self.whole(307, Location="http://127.0.0.1:1/")
        elif message["method"] == "initialize":
            session = {} if mode == "no_session" else \
                {"Mcp_Session_Id": SESSION}
            self.message({"id": message["id"], "result": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": mode in STREAMS}},
                "serverInfo": {"name": "h"}}}, **session)
        elif message["method"] == "tools/list":
            self.message({"id": message["id"], "result": {"tools": TOOLS}})
        else:
            self.answer(mode, message["id"])
        return None

    def answer(self, mode, ident):
        result = {"id": ident, "result": {
            "content": [{"type": "text", "text": "looked"}]}}
        if mode == "stream":
            self.head(200, "text/event-stream; charset=utf-8")
            self.wfile.write(b": hello\n\nid: 0\ndata:\n\n")
            self.event({"method": "notifications/message", "params": {}})
            self.event({"id": 5, "method": "sampling/createMessage"})
            # The answer to that has to come before ours is sent.
            end = time.monotonic() + 10
            while time.monotonic() < end and not self.server.answered(5):
                time.sleep(0.01)
            self.event({"id": 999, "result": {}})
            self.event(result)
            time.sleep(30 if self.server.answered(5) else 0)
        elif mode in ("echoes", "asks"):
            self.head(200, "text/event-stream")
            for i in range(1 if mode == "echoes" else 100):
                self.event({"id": i, "method": "ping"})
            if mode == "asks":
                time.sleep(30)
            self.event(result)
        elif mode == "batch":
            self.whole(200, json.dumps([
                {"method": "notifications/message"}, result]).encode())
        elif mode == "wrong_id":
            self.message({"id": 12345, "result": {}})
        elif mode == "html":
            self.whole(200, b"<html>\x1b[31mportal</html>", "text/html")
        elif mode == "error":
            self.whole(500, b'{"error":{"message":"broken\\u001b[2J"}}')
        elif mode == "empty":
            self.whole(200)
        elif mode == "cut":
            self.head(200, "text/event-stream")
            self.wfile.write(b"data: {\"jsonrpc\"")
        elif mode == "silent":
            time.sleep(30)
        elif mode == "never":  # another event each time, never the answer
            self.head(200, "text/event-stream")
            self.wfile.write(f"retry: 1\nid: {ident}\ndata:\n\n".encode())
        elif mode == "endless":
            self.head(200, "text/event-stream")
            while True:
                self.wfile.write(b": " + b"x" * 65536 + b"\n\n")
        elif mode == "huge":
            self.head(200, "application/json")
            while True:
                self.wfile.write(b" " * 65536)
        elif mode == "forgets" and not self.server.forgot:
            self.server.forgot = True
            self.whole(404, b"{}")
        elif mode == "forgets_both" and not self.server.begun_again():
            time.sleep(0.2)
            self.whole(404, b"{}")
        elif mode == "forgets_all":
            self.whole(404, b"{}")
        elif mode == "midway":
            self.head(200, "text/event-stream")
            self.wfile.write(b"retry: 1\nid: 5\ndata:\n\n")
        else:
            self.message(result)


class McpHttp(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, mode=""):
        super().__init__(("127.0.0.1", 0), Handler)
        self.mode, self.requests, self.forgot = mode, [], False
        self.outbox, self.over = queue.Queue(), False
        self.chatted = 0  # bytes
        self.url = f"http://127.0.0.1:{self.server_address[1]}/mcp"

    def handle_error(self, request, client_address):
        pass

    def note(self, method, headers, message):
        self.requests.append((method, dict(headers.items()), message))

    def answered(self, ident):
        return any(m and m.get("id") == ident and "error" in m
                   for _, _, m in self.requests)

    def begun_again(self):
        return self.methods().count("initialize") > 1

    def methods(self):
        return [m.get("method", "answer") if m else how
                for how, _, m in self.requests]

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.02,),
                         daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.shutdown()
        self.server_close()
