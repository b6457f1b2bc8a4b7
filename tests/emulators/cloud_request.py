#!/usr/bin/python3
# cloud_request.py - one request to an emulated vendor, and its answer.
# SPDX-License-Identifier: MIT
"""Part of cloud.py: the shapes of JSON, requests, answers, faults."""
import http.client
import json
import re
import time
import urllib.parse

PIECE = 1 << 16


class Refused(Exception):
    """Answer so: raise Refused(400, {"message": ...}, headers)."""

    def __init__(self, status, body=None, headers=None):
        super().__init__(f"{status} {body}")
        self.status, self.body, self.headers = status, body, headers or {}


class Gone(Exception):
    """The client, or the connection by a fault, is gone."""


class Invalid(ValueError):
    """What is not as the vendor's document says; str() tells where."""


def check(value, shape, where="body"):
    """Returns value when it has the shape, else raises Invalid.

    A shape is a type (int does not take true; float takes int), a tuple of
    shapes (any), a list [shape] of items, {str: shape} for a map, a set of
    allowed values, None for null, a function that returns whether, or a dict
    of members: "?name" may be missing, others must be there, unknown ones are
    refused."""
    if isinstance(shape, tuple):
        for one in shape:
            try:
                return check(value, one, where)
            except Invalid as e:
                last = e
        raise last
    if shape is None:
        good = value is None
    elif isinstance(shape, set):
        good = isinstance(value, (str, int)) and value in shape
    elif isinstance(shape, list):
        good = isinstance(value, list)
        for i, item in enumerate(value if good else ()):
            check(item, shape[0], f"{where}[{i}]")
    elif isinstance(shape, dict):
        good = isinstance(value, dict)
        if good:
            members(value, shape, where)
    elif shape is float:
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
    elif shape is int:
        good = isinstance(value, int) and not isinstance(value, bool)
    elif isinstance(shape, type):
        good = isinstance(value, shape)
    else:
        good = shape(value)
    if not good:
        raise Invalid(f"{where}: {json.dumps(value)[:80]} is not allowed")
    return value


def members(value, shape, where):
    if str in shape:
        for key, item in value.items():
            check(item, shape[str], f"{where}.{key}")
        return
    known = {name.lstrip("?"): sub for name, sub in shape.items()}
    for key, item in value.items():
        if key not in known:
            raise Invalid(f"{where}.{key}: no such field")
        check(item, known[key], f"{where}.{key}")
    for name in shape:
        if not name.startswith("?") and name not in value:
            raise Invalid(f"{where}.{name}: is missing")


class Reply:
    """An answer with headers: Reply(200, body, {"x-next": "1"})."""

    def __init__(self, status, body=None, headers=None):
        self.status, self.body = status, body
        self.headers = headers or {}


class Fault:
    def __init__(self, pattern, nth=1, times=1, **what):
        self.pattern, self.nth, self.times = re.compile(pattern), nth, times
        self.what, self.seen, self.struck = what, 0, 0

    def strikes(self, line):
        if not self.pattern.match(line):
            return False
        self.seen += 1
        if self.seen < self.nth or (self.times is not None and
                                    self.seen >= self.nth + self.times):
            return False
        self.struck += 1
        return True


class Request:
    """One request, its body unread, and the way back.

    method, path (decoded by the vendor), query (dict of last values), headers;
    body() reads all, json() parses, read(n) streams (b"" at the end); begin(
    status, headers), send(bytes), end() stream an answer."""

    def __init__(self, handler, cloud):
        self.handler, self.cloud = handler, cloud
        self.method = handler.command
        parts = urllib.parse.urlsplit(handler.path)
        self.path, self.headers = parts.path, handler.headers
        self.raw_query = parts.query
        self.query = dict(urllib.parse.parse_qsl(parts.query,
                                                 keep_blank_values=True))
        self.line = f"{self.method} {handler.path}"
        self.began = time.monotonic()
        self.whole = None
        self.left = int(self.headers.get("Content-Length") or 0)
        self.chunked = "chunked" in (
            self.headers.get("Transfer-Encoding") or "").lower()
        self.rest = 0 if self.chunked else self.left
        self.status, self.sent, self.taken = None, 0, 0
        self.fault = {}
        self.open_chunks = False
        self.log = None
        self.mute = False  # performed, but nobody listens
        self.replay = None  # the body once more, for read()

    def read(self, n=PIECE):
        if self.replay is not None:
            data, self.replay = self.replay[:n], self.replay[n:]
            return data
        f = self.handler.rfile
        if self.chunked and not self.rest:
            size = f.readline(64).split(b";")[0].strip()
            self.rest = int(size, 16) if size else 0
            if not self.rest:
                while f.readline(8192).strip():
                    pass
                self.chunked = False
                return b""
        if not self.rest:
            return b""
        data = f.read1(min(n, self.rest))
        if not data:
            raise Gone("the body ends early")
        self.rest -= len(data)
        self.taken += len(data)
        if self.taken > self.fault.get("cut_body", self.taken):
            self.shut()
        if self.log is not None:
            raw = self.log.setdefault("raw", bytearray())
            raw += data[:max((1 << 22) - len(raw), 0)]
        if self.chunked and not self.rest:
            f.readline(8)
        return data

    def body(self):
        if self.whole is None:
            parts = []
            while True:
                data = self.read()
                if not data:
                    break
                parts.append(data)
            self.whole = b"".join(parts)
        return self.whole

    def json(self):
        kind = (self.headers.get("Content-Type") or "").split(";")[0]
        if kind.strip() != "application/json":
            raise Invalid(f"Content-Type: {kind or 'is missing'}")
        try:
            return json.loads(self.body())
        except ValueError as e:
            raise Invalid(f"body: {e}") from e

    # The answer. Everything goes through write(), where the faults strike.
    def write(self, data):
        if self.mute:
            return
        limit = self.fault.get("reset_at")
        spoil = self.cloud.piece()
        try:
            if spoil in ("cut", "lost", "reset"):
                if spoil == "cut":
                    self.handler.wfile.write(data[:len(data) // 2])
                self.shut(spoil == "reset")
            if limit is not None and self.sent + len(data) > limit:
                self.handler.wfile.write(data[:max(limit - self.sent, 0)])
                self.shut(True)
            self.handler.wfile.write(data)
            if spoil == "twice":
                self.handler.wfile.write(data)
        except (OSError, ValueError) as e:
            raise Gone(str(e)) from e
        self.sent += len(data)

    def shut(self, reset=False):
        self.handler.shut(reset)
        raise Gone("by a fault")

    def begin(self, status, headers=None):
        headers = dict(headers or {})
        self.status = status
        names = {h.lower() for h in headers}
        if "content-length" not in names and status not in (204, 304):
            headers["Transfer-Encoding"] = "chunked"
            self.open_chunks = True
        head = [f"HTTP/1.1 {status} "
                f"{http.client.responses.get(status, 'Unknown')}"]
        head += [f"{k}: {v}" for k, v in headers.items()]
        self.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1"))

    def send(self, data):
        if not data or self.method == "HEAD":
            return
        limit = self.fault.get("truncate")
        if limit is not None:
            if limit < len(data):
                self.fault = {}
                if limit:
                    self.send(data[:limit])
                self.shut()
            self.fault["truncate"] = limit - len(data)
        if self.open_chunks:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        self.write(data)

    def end(self):
        if self.open_chunks:
            self.open_chunks = False
            self.write(b"0\r\n\r\n")

    def answer(self, status, body=None, headers=None):
        """body: None, bytes, or anything JSON can say."""
        headers = dict(headers or {})
        if self.fault.get("late"):
            time.sleep(self.fault["late"])
        if isinstance(body, (dict, list)) and self.fault.get("replace"):
            body = replaced(body, self.fault["replace"])
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        body = self.fault.get("garbage", body or b"")
        if status != 204:
            headers["Content-Length"] = len(body)
        self.begin(status, headers)
        self.send(body)


def replaced(value, new):
    if isinstance(value, list):
        return [replaced(v, new) for v in value]
    if isinstance(value, dict):
        return {k: new.get(k, replaced(v, new)) for k, v in value.items()}
    return value
