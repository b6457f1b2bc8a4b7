"""raw_http.py - a server that writes what a test says, byte by byte."""
# SPDX-License-Identifier: MIT
import json
import re
import socket
import threading
import time


class Request:
    def __init__(self, line, headers, body, connection):
        self.line, self.headers, self.raw = line, headers, body
        self.connection = connection  # which one, from 1
        self.at = time.monotonic()

    @property
    def body(self):
        return json.loads(self.raw)


class Wire:
    """What an answer writes to: send(bytes) or send("text")."""

    def __init__(self, sock):
        self.sock, self.open = sock, True

    def send(self, data, pieces=None, wait=0.0):
        """In pieces of so many bytes, with a pause after each."""
        data = data.encode() if isinstance(data, str) else data
        step = pieces or len(data) or 1
        for at in range(0, len(data), step):
            self.sock.sendall(data[at:at + step])
            if wait:
                time.sleep(wait)

    def close(self):
        self.open = False


class RawServer:
    """answers: functions of (wire, request), used up in order; the last one
    stays. A connection is kept until an answer closes it. What is asked about
    models, beside a conversation, gets a 404 and is no request here."""

    def __init__(self, *answers, tls=None, beside=None):
        self.answers, self.tls = list(answers), tls
        self.beside = beside or refused("404 Not Found", "asked beside")
        self.requests, self.connections, self.failed = [], 0, []
        self.lock = threading.Lock()
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def accept(self):
        while True:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            threading.Thread(target=self.serve, daemon=True,
                             args=(sock, self.connections)).start()

    def serve(self, sock, number):
        try:
            if self.tls:
                sock = self.tls.wrap_socket(sock, server_side=True)
            wire = Wire(sock)
            stream = sock.makefile("rb")
            while wire.open:
                request = read(stream, wire, number)
                if not request:
                    break
                if re.match("GET .*/models[/? ]|POST /api/show", request.line):
                    self.beside(wire, request)
                    continue
                with self.lock:
                    self.requests.append(request)
                    answer = self.answers[0]
                    if len(self.answers) > 1:
                        self.answers.pop(0)
                answer(wire, request)
        except OSError as e:
            self.failed.append(e)
        finally:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()


def read(stream, wire, number):
    line = stream.readline().decode().strip()
    if not line:
        return None
    headers = {}
    while True:
        field = stream.readline().decode().strip()
        if not field:
            break
        name, _, value = field.partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("expect") == "100-continue":
        wire.send("HTTP/1.1 100 Continue\r\n\r\n")
    body = stream.read(int(headers.get("content-length", 0)))
    return Request(line, headers, body, number)


def head(status="200 OK", *fields, kind="text/event-stream"):
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunked(data, size=None):
    data = data.encode() if isinstance(data, str) else data
    step = size or len(data) or 1
    out = b""
    for at in range(0, len(data), step):
        piece = data[at:at + step]
        out += b"%x\r\n%s\r\n" % (len(piece), piece)
    return out + b"0\r\n\r\n"


def sse(*events):
    """Of objects, or of (event name, object)."""
    out = ""
    for e in events:
        name, data = e if isinstance(e, tuple) else (None, e)
        text = data if isinstance(data, str) else json.dumps(data)
        out += (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
    return out


def whole(body, *fields, status="200 OK", kind="text/event-stream"):
    """An answer of known length on a kept connection."""
    body = body.encode() if isinstance(body, str) else body

    def answer(wire, _request):
        wire.send(head(status, f"Content-Length: {len(body)}", *fields,
                       kind=kind) + body)
    return answer


def refused(status, message="no", *fields, **more):
    error = {"message": message, "type": "emulated", **more}
    return whole(json.dumps({"type": "error", "error": error}), *fields,
                 status=status, kind="application/json")


def chat(text=None, calls=(), reason=None, usage=None):
    """A stream of Chat Completions; calls: (id, name, arguments)."""
    delta = {"role": "assistant", "content": text}
    if calls:
        delta["tool_calls"] = [
            {"index": i, "id": c[0], "type": "function",
             "function": {"name": c[1], "arguments": json.dumps(c[2])}}
            for i, c in enumerate(calls)]
    reason = reason or ("tool_calls" if calls else "stop")
    return sse({"choices": [{"index": 0, "delta": delta}]},
               {"choices": [{"index": 0, "delta": {},
                             "finish_reason": reason}]},
               {"choices": [], "usage": usage or {
                   "prompt_tokens": 3, "completion_tokens": 2}}, "[DONE]")


def messages(text=None, calls=(), reason=None, usage=None, details=None):
    """A stream of the Messages API; calls: (id, name, arguments)."""
    blocks = [({"type": "text", "text": ""},
               {"type": "text_delta", "text": text})] if text else []
    blocks += [({"type": "tool_use", "id": c[0], "name": c[1], "input": {}},
                {"type": "input_json_delta",
                 "partial_json": json.dumps(c[2])}) for c in calls]
    events = [{"type": "message_start", "message": {
        "usage": usage or {"input_tokens": 3, "output_tokens": 1}}}]
    for i, (start, delta) in enumerate(blocks):
        events += [{"type": "content_block_start", "index": i,
                    "content_block": start},
                   {"type": "content_block_delta", "index": i,
                    "delta": delta},
                   {"type": "content_block_stop", "index": i}]
    delta = {"stop_reason": reason or ("tool_use" if calls else "end_turn")}
    if details:
        delta["stop_details"] = details
    events += [{"type": "message_delta", "delta": delta,
                "usage": {"output_tokens": 2}}, {"type": "message_stop"}]
    return sse(*[(e["type"], e) for e in events])


def responses(text=None, calls=(), reason=None, usage=None):
    """A stream of Responses; calls: (id, name, arguments)."""
    items = [{"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": text}]}] if text else []
    items += [{"type": "function_call", "call_id": c[0], "name": c[1],
               "arguments": json.dumps(c[2])} for c in calls]
    events = [{"type": "response.created", "response": {"output": []}}]
    for i, item in enumerate(items):
        at = {"output_index": i}
        empty = {**item, "content": [], "arguments": ""}
        kind, delta = ("output_text", text) if item["type"] == "message" \
            else ("function_call_arguments", item["arguments"])
        events += [
            {"type": "response.output_item.added", **at, "item": empty},
            {"type": f"response.{kind}.delta", **at, "delta": delta},
            {"type": "response.output_item.done", **at, "item": item}]
    status = "incomplete" if reason else "completed"
    events += [{"type": f"response.{status}", "response": {
        "object": "response", "status": status, "output": items,
        "incomplete_details": {"reason": reason} if reason else None,
        "usage": usage or {"input_tokens": 3, "output_tokens": 2}}}]
    return sse(*[(e["type"], e) for e in events])


def gemini(text=None, calls=(), reason="STOP", usage=None):
    """A stream of generateContent; calls: (id, name, arguments)."""
    parts = [{"text": text}] if text else []
    parts += [{"functionCall": {"id": c[0], "name": c[1], "args": c[2]}}
              for c in calls]
    counts = usage or {"promptTokenCount": 3, "candidatesTokenCount": 2}
    events = [{"candidates": [{"content": {"role": "model", "parts": [p]}}],
               "usageMetadata": counts} for p in parts]
    return sse(*events, {"candidates": [{"finishReason": reason}],
                         "usageMetadata": counts})
