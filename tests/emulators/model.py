#!/usr/bin/python3
# model.py - a scripted model server that speaks every wire, with faults.
# SPDX-License-Identifier: MIT
"""A model server for tests, demos and benches. Standard library only.

    python3 tests/emulators/model.py --script s.json --port 0 --port-file f
                                     [--wire any|anthropic|openai-chat|...]
                                     [--log requests.jsonl]

It answers POST /v1/messages, /v1/chat/completions, /v1/responses (also without
/v1), /v1beta/models/NAME:streamGenerateContent and /model/NAME/converse-stream,
all streaming only.
GET /_state gives {"requests", "violations", "answered"};
POST /_script takes another script and forgets everything.
The port is written to --port-file once the server listens.

A script is a list of turns, or an object:

    {"turns": [...], "repeat": false, "by": "history", "check": true,
     "refuse": [], "key": null, "open": false, "generator": null}

  by        which turn answers: "history" (default) counts the assistant
            messages in the request, so a server can be used again; "count"
            counts the answers given.
  repeat    start again after the last turn. Without it, asking for more is
            answered with HTTP 400.
  check     false: bodies are not even parsed (benches). Implies by=count.
  refuse    names of request fields answered with HTTP 400 (openai-chat), as a
            server does that does not know them: ["stream_options"].
  key       the only key accepted (else HTTP 401); null accepts any.
  open      true: no key is needed, as with a server on one's own machine.
  window    {"tokens": N, "bytes": [2, 6], "summary": "text"}: a request of
            more tokens (see model_window.py) is refused as too long, usage is
            what was counted, requests without tools get the summary, as a
            turn with the members of "pace".
  talks     {"pattern": [turns]}: these answer, by history, conversations whose
            first user message has the pattern; "turns" the others. For wires
            with "messages". "latest": true looks at the last prompt instead.
  models    what the server says of its models, see model_lists.py
  generator {"tool_turns": N, "name": "execute", "args": {...}, "tokens": M}:
            N turns of one tool call, then one text answer of M tokens.

A turn, every member optional:

  text          the answer's text
  thinking      thinking before it: a string, or a list of strings and of
                {"redacted": "data"}
  tool_calls    [{"name": "ls", "args": {...}}]; "raw_args": "text" instead of
                args sends exactly that; "id" is made up unless given
  usage         {"input": n, "output": n, "cache_read": n, "cache_write": n}
  stop          the vendor's own stop reason, instead of the fitting one
  expect        regular expressions that must all be found in the text of the
                last user message or tool results; if not, HTTP 400 with
                "script: turn N expected ..." ends the run
  delay_ms      wait before the answer's first byte
  token_chars   characters per delta (default 4)
  tokens        instead of text: so many deltas of "tok "
  chunk_bytes   the stream is written in pieces of so many bytes (default: one
                piece)
  chunk_delay_ms  wait between the pieces
  quirks        any of: crlf, no_space, comments, pings, unknown (events and
                fields), no_done, no_usage, empty_choices, no_index, zero_index,
                late_null_id, no_id, args_object, stop_with_calls, content_list,
                reasoning_content, repeat_name, no_stream, no_last_newline,
                no_deltas
  fault         one object, or a list used up in order. Each strikes `times`
                requests (default 1) before the turn is answered:
      {"status": 529, "retry_after": "1", "body": {...} or "text",
       "headers": {...}}
      {"cut_after_bytes": n}      n bytes of the stream, then the connection
                                  closes; "clean": true ends the body properly
      {"stall_after_bytes": n}    n bytes, then nothing; "stall_ms" (default
                                  until the client leaves), "heartbeat_ms":
                                  a comment line now and then
      {"error_event": {...}, "after_events": n}   an error in the stream
      {"garbage": "text", "after_events": n}      bytes in the stream
      {"reset": true}             RST, after "after_bytes" if given

Every request is checked as strictly as the vendors do, see model_check.py.
A violation is answered with HTTP 400, logged, and counted in `violations`.
Each line of the log is one request: {"n", "wire", "path", "turn", "fault",
"received", "answered" (monotonic seconds), "bytes", "violations", "body",
"headers" (without the key), "key"}. """
import argparse
import json
import os
import re
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, os.path.dirname(__file__) or ".")
from model_answers import Turn  # noqa: E402
from model_check import Checker, Violation, need  # noqa: E402
from model_invoice import Invoice  # noqa: E402
from model_script import Script  # noqa: E402
import model_lists  # noqa: E402
import model_wires  # noqa: E402


class Model:
    """The state behind all connections."""
    clock = staticmethod(time.monotonic)  # "clock" of each record

    def __init__(self, script, wire="any", log=None):
        self.script = Script(script)
        self.wire = wire
        self.log = open(log, "a", encoding="utf-8") if log else None
        self.lock = threading.Lock()
        self.checker = Checker()
        self.requests, self.asked = [], []  # asked: see model_lists.py
        self.violations = []
        self.received = 0  # at once; self.requests once they are answered
        self.answered = 0
        self.invoice = None if self.script.bill is None else \
            Invoice(self.script.bill)
        self.struck, self.cache = {}, {}  # turn -> faults used; -> bytes

    def index(self, wire, body):
        i = self.answered if self.script.by_count else wire.answers(body)
        talk = self.script.talk(body, i)
        if talk is not None:
            return talk, talk
        if self.script.repeat and self.script.plain:
            return i % self.script.plain, i
        return i, i

    def fault(self, i, spec):
        faults = spec.get("fault", [])
        faults = [faults] if isinstance(faults, dict) else faults
        used = self.struck.get(i, 0)
        for f in faults:
            if used < f.get("times", 1):
                self.struck[i] = self.struck.get(i, 0) + 1
                return f
            used -= f.get("times", 1)
        return None

    def note(self, record, over=True):
        with self.lock:
            if "n" not in record:
                record["n"] = len(self.requests)
                self.requests.append(record if self.script.check else None)
            if over and self.log:
                self.log.write(json.dumps(record) + "\n")
                self.log.flush()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "model-emulator"

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, *_args):
        pass

    @property
    def model(self):
        return self.server.model

    def send_json(self, status, body, headers=()):
        data = body.encode() if isinstance(body, str) else \
            json.dumps(body).encode()
        head = "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n" \
               "Content-Length: %d\r\nrequest-id: req_emulated\r\n" % (
                   status, len(data))
        for k, v in headers:
            head += "%s: %s\r\n" % (k, v)
        self.wfile.write(head.encode() + b"\r\n" + data)

    def do_GET(self):
        m = self.model
        if model_lists.answer(self, m.script.spec):
            return
        self.send_json(*((200, {
            "requests": m.received, "answered": m.answered,
            "violations": m.violations}) if self.path == "/_state" else
            (404, {"error": {"message": "no such path"}})))

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            out = b""
            while True:
                n = int(self.rfile.readline().split(b";")[0], 16)
                out += self.rfile.read(n)
                self.rfile.readline()
                if not n:
                    return out
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_POST(self):
        raw = self.read_body()
        if len(raw) < int(self.headers.get("Content-Length", 0)):
            self.close_connection = True  # the client is gone
            return
        received = time.monotonic()
        if self.path == "/_script":
            self.server.model = Model(json.loads(raw), self.model.wire)
            return self.send_json(200, {})
        if model_lists.answer(self, self.model.script.spec):
            return
        wire = model_wires.find(self.path)
        if not wire or self.model.wire not in ("any", wire.name):
            return self.send_json(404, {"error": {
                "message": "no " + self.path}})
        with self.model.lock:
            self.model.received += 1
        record = {"wire": wire.name, "path": self.path, "bytes": len(raw),
                  "received": received, "violations": [],
                  "clock": self.model.clock()}
        try:
            self.answer(wire, raw, record)
        except (BrokenPipeError, ConnectionResetError):
            record["left"] = True
            self.close_connection = True
        self.model.note(record)

    def judge(self, wire, raw, record):
        """The checked body, or None when an error was answered."""
        m = self.model
        headers = {k.lower(): v for k, v in self.headers.items()}
        headers[":path"] = self.path
        key = wire.authorize(self, raw)
        wire.key(headers)  # it stays out of the log
        if not (key or m.script.spec.get("open")) or \
                m.script.key not in (None, key):
            self.send_json(401, wire.error("authentication_error", "no"))
            return None
        try:
            need("application/json" in headers.get("content-type", ""),
                 "content-type must be application/json")
            try:
                body = json.loads(raw.decode("utf-8"))
            except ValueError as e:
                raise Violation("body is no JSON: %s" % e) from e
            record["body"] = body
            record["headers"] = headers
            record["key"] = key
            for field in m.script.refuse:
                if field in body:
                    self.send_json(400, wire.error(
                        "invalid_request_error",
                        "Unrecognized request argument supplied: " + field))
                    return None
            wire.check(m.checker, body, headers)
            return body
        except (Violation, KeyError, TypeError, AttributeError) as e:
            text = str(e) if isinstance(e, Violation) else repr(e)
            record["violations"].append(text)
            m.violations.append(text)
            self.send_json(400, wire.error("invalid_request_error",
                                           text))
            return None

    def unmet(self, wire, body, spec, i):
        words = wire.words(body)
        for pattern in spec.get("expect", []):
            if not re.search(pattern, words, re.S | re.M):
                return "script: turn %d expected /%s/ but got: %s" % (
                    i, pattern, words[-300:])
        return None

    def answer(self, wire, raw, record):
        m = self.model
        body = None
        if m.script.check:
            body = self.judge(wire, raw, record)
            if body is None:
                return
        window = m.script.window
        summary = window and window.asks_for_summary(body)
        with m.lock:
            i, number = m.index(wire, body)
            spec = m.script.turns[i] if i < len(m.script.turns) else None
            fault = m.fault(i, spec) if spec and not summary else None
        record.update(turn=None if summary else i, fault=fault)
        if window and self.passes(window, wire, body, record):
            return
        if summary:
            spec = {"text": window.summary, **window.pace}
        if window and spec:
            spec = window.turn(spec, record["tokens"])
        m.note(record, over=False)  # before the client can have the answer
        why = "script: no turn %d" % i if spec is None else \
            body and self.unmet(wire, body, spec, i)
        if why:
            m.violations.append(why)
            self.send_json(400, wire.error("invalid_request_error", why))
            return
        time.sleep(spec.get("delay_ms", 0) / 1000)
        if fault and "status" in fault:
            self.refuse(wire, fault)
            return
        if fault and fault.get("reset") and not fault.get("after_bytes"):
            self.reset()
            return
        turn = Turn(spec, number)
        if m.invoice:
            m.invoice.charge(wire, raw, body, turn, not fault)
        wire.remember(turn, m.checker)
        if not fault and not summary:
            with m.lock:
                m.answered += 1
        record["answered"] = time.monotonic()
        if "no_stream" in turn.quirks:
            self.send_json(200, wire.whole(turn).decode())
        else:
            self.stream(wire, turn, fault or {})

    def passes(self, window, wire, body, record):
        """Counts the request; True when it was refused as too long."""
        record["tokens"] = int(window.count(body))
        record["too_long"] = record["tokens"] > window.tokens
        if record["too_long"]:
            self.model.note(record, over=False)
            self.send_json(400, window.refusal(wire, record["tokens"]))
        return record["too_long"]

    def refuse(self, wire, fault):
        headers = list(fault.get("headers", {}).items())
        if "retry_after" in fault:
            headers.append(("Retry-After", str(fault["retry_after"])))
        body = fault.get("body")
        if body is None:
            body = wire.error("emulated_error", "emulated failure")
        self.send_json(fault["status"], body, headers)

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack("ii", 1, 0))
        self.close_connection = True
        # the socket itself, for BaseServer would shut it down in order
        self.connection.close()

    @staticmethod
    def spoil(wire, events, fault):
        at = fault.get("after_events", len(events) // 2)
        if "garbage" in fault:
            events.insert(at, fault["garbage"].encode())
        if "error_event" in fault:
            events[at:] = [wire.error_event(fault["error_event"])]

    def piece(self, data):
        self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")

    def stream(self, wire, turn, fault):
        key = (wire.name, json.dumps(turn.spec, sort_keys=True))
        plain = not fault and not self.model.script.check
        data = self.model.cache.get(key) if plain else None
        if data is None:
            events = list(wire.events(turn))
            self.spoil(wire, events, fault)
            data = b"".join(events)
            if "no_last_newline" in turn.quirks:
                data = data.rstrip(b"\r\n")
            if plain:
                self.model.cache[key] = data
        ends = [fault[k] for k in ("cut_after_bytes", "stall_after_bytes",
                                   "after_bytes") if k in fault]
        if ends:
            data = data[:ends[0]]
            if "heartbeat_ms" in fault:  # they may not fall inside an event
                data = data[:data.rfind(b"\n\n") + 2]
        head = (b"HTTP/1.1 200 OK\r\n"
                b"Content-Type: " + wire.content_type.encode() + b"\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n")
        size = turn.spec.get("chunk_bytes", 0) or max(len(data), 1)
        delay = turn.spec.get("chunk_delay_ms", 0) / 1000
        if size >= len(data) and not ends:
            self.wfile.write(head + b"%x\r\n" % len(data) + data
                             + b"\r\n0\r\n\r\n")
            return
        self.wfile.write(head)
        for i in range(0, len(data), size):
            self.piece(data[i:i + size])
            if delay:
                time.sleep(delay)
        self.finish_stream(fault)

    def finish_stream(self, fault):
        if "stall_after_bytes" in fault:
            self.stall(fault)
        if fault.get("reset"):
            self.reset()
        elif ("cut_after_bytes" in fault and not fault.get("clean")) or \
                "stall_after_bytes" in fault:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def stall(self, fault):
        """Silence (or heartbeats) until it is over or the client leaves."""
        beat = fault.get("heartbeat_ms", 0) / 1000
        until = time.monotonic() + fault.get("stall_ms", 3600000) / 1000
        while time.monotonic() < until:
            self.connection.settimeout(beat or 0.2)
            try:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    raise BrokenPipeError
            except socket.timeout:
                pass
            finally:
                self.connection.settimeout(None)
            if beat:
                self.piece(b": heartbeat\n\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def shutdown_request(self, request):
        try:
            super().shutdown_request(request)
        except OSError:
            pass

    def handle_error(self, request, client_address):
        kind = sys.exc_info()[0]
        if kind and not issubclass(kind, (OSError, ValueError)):
            super().handle_error(request, client_address)


class ModelServer:
    """For pytest: with ModelServer([...]) as m: m.url, m.requests."""

    def __init__(self, script, wire="any", log=None, port=0):
        self.model = Model(script, wire, log)
        self.server = Server(("127.0.0.1", port), Handler)
        self.server.model = self.model
        self.port = self.server.server_address[1]
        self.url = "http://127.0.0.1:%d" % self.port

    @property
    def requests(self):
        return self.model.requests

    @property
    def asked(self):
        return self.model.asked

    @property
    def violations(self):
        return self.model.violations

    @property
    def env(self):
        """Variables that point both wires here."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "sk-a",
                "OPENAI_BASE_URL": self.url + "/v1", "OPENAI_API_KEY": "sk-o"}

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       args=(0.05,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_exc):
        self.server.shutdown()
        self.server.server_close()


def main():
    p = argparse.ArgumentParser(description="scripted model server")
    p.add_argument("--script", required=True)
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--port-file")
    p.add_argument("--wire", default="any",
                   help="a name of model_wires.py")
    p.add_argument("--log", help="JSON lines of all requests")
    args = p.parse_args()
    with open(args.script, encoding="utf-8") as f:
        script = json.load(f)
    server = ModelServer(script, args.wire, args.log, args.port)
    if args.port_file:
        # whole or not at all: whoever waits for it reads it at once
        import os
        with open(args.port_file + ".tmp", "w", encoding="ascii") as f:
            f.write("%d\n" % server.port)
        os.rename(args.port_file + ".tmp", args.port_file)
    else:
        print(server.url, flush=True)
    try:
        server.server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
