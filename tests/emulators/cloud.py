#!/usr/bin/python3
# cloud.py - what the emulators of all cloud vendors share: server and faults.
# SPDX-License-Identifier: MIT
"""The base of an emulated vendor. Standard library only.

    class Acme(Cloud):
        @route("POST", "/v1/boxes")
        def create(self, req):
            body = check(req.json(), {"image": str, "?cpu": int})
            ...
            return 201, {"id": id}          # or Reply, None after streaming
        @route("GET", "/v1/boxes/(?P<id>[^/]+)")
        def info(self, req, id): ...

    with Acme() as cloud:                   # python3 acme.py: main(Acme)
        cloud.url, cloud.requests, cloud.count("POST /v1/.*")
        cloud.fault("POST /v1/boxes", status=429, retry_after=1)
        cloud.spoil(7)          # the 7th piece of all answers is cut
        cloud.left(), cloud.bills()

cloud.boxes maps ids to what the vendor keeps of a sandbox: objects with .box
(cloud_box.Box), .state, .ends (monotonic, None: never). The server's clock
calls cloud.expire(id) for those past their end.

fault(pattern, nth=1, times=1 or None for ever, **what): applies faults to the
requests that match "METHOD /path?query". In the order in which they apply:

  drop=True           the connection is closed, the request is not performed
  reset=True          the same with RST
  delay=s             performed s seconds later
  hold=Event          performed when the Event is set, after a minute at most;
                      only in Python
  status=n            not performed; answered with this status, and with body=,
                      retry_after= and location=
  expired=True        answered as the vendor does if a token has expired
  duplicate=True      performed twice, as if a proxy repeated it; the second
                      answer is sent
  cut_body=n          the connection closes after n bytes of the request's body
  late=s              the answer is sent s seconds later
  replace={key: v}    in a JSON answer, at any depth (a wrong id)
  garbage=bytes       instead of the answer's body
  truncate=n          n bytes of the answer's body, then the connection closes
  reset_at=n          n bytes of the answer with its head, then RST
  cut_after=s         the connection closes s seconds after the request

spoil(n, how): counts the pieces of all answers (a head, a body or one write of
a stream is a piece). The n-th is "cut" (only half of it is sent), "lost" (the
connection closes before it), "reset" or "twice". cloud.spoiled: it has
happened.

Programs in other languages do this over HTTP: GET /_state, POST /_fault
{"pattern", ...}, POST /_spoil {"n", "how"}, POST /_reset. These requests are
not counted.
"""
import argparse
import json
import os
import re
import signal
import socket
import struct
import sys
import threading
import time
import traceback
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cloud_box import Box, listed  # noqa: E402,F401
from cloud_request import (  # noqa: E402,F401
    PIECE, Fault, Gone, Invalid, Refused, Reply, Request, check)


def route(method, pattern):
    def mark(function):
        function.routes = getattr(function, "routes", []) + [
            (method, re.compile(pattern))]
        return function
    return mark


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 0

    def setup(self):
        super().setup()
        with self.server.cloud.lock:
            self.server.cloud.connections += 1

    def shut(self, reset=False):
        self.close_connection = True
        try:
            if reset:
                self.connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
                # The handler's files hold the socket open otherwise.
                self.rfile.close()
                self.connection.close()
            else:
                self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def handle(self):
        try:
            super().handle()
        except (OSError, ValueError):
            pass

    def finish(self):
        try:
            super().finish()
        except (OSError, ValueError):
            pass

    def log_message(self, *_):
        pass

    def serve(self):
        req = Request(self, self.server.cloud)
        try:
            if self.headers.get("Expect", "").lower() == "100-continue":
                pass  # http.server has answered
            self.server.cloud.serve(req)
            while req.read():  # what the handler left of the body
                pass
        except Gone:
            self.close_connection = True
        except (OSError, ValueError):
            self.close_connection = True
        finally:
            if req.log:
                req.log["status"] = req.status
                req.log["seconds"] = time.monotonic() - req.began

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = serve


class Cloud:
    """Subclass it; __init__ may take the vendor's options before super()."""
    handler = Handler

    def __init__(self, port=0):
        self.lock = threading.RLock()
        self.boxes, self.requests, self.faults = {}, [], []
        self.connections = self.pieces = 0
        self.spoil_at, self.spoil_how, self.spoiled = None, "cut", False
        self.violations = []
        self.past = {}  # bills of what is gone
        self.routes = []
        for name in dir(type(self)):
            function = getattr(type(self), name)
            for method, pattern in getattr(function, "routes", []):
                self.routes.append((method, pattern, getattr(self, name)))
        self.server = ThreadingHTTPServer(("127.0.0.1", port), self.handler)
        self.server.daemon_threads = True
        self.server.cloud = self
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.closing = threading.Event()

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True,
                         args=(0.05,)).start()
        threading.Thread(target=self.tick, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        for kept in list(self.boxes.values()):
            if getattr(kept, "box", None):
                kept.box.destroy()

    def tick(self):
        while not self.closing.wait(0.05):
            now = time.monotonic()
            for id, kept in list(self.boxes.items()):
                if getattr(kept, "ends", None) and kept.ends <= now:
                    self.expire(id)

    # For the vendor to override.
    def authorize(self, req):
        """Raises Refused for a wrong key."""

    def invalid(self, req, error):
        """Returns the vendor's answer to an invalid request."""
        return Reply(400, {"message": str(error)})

    def unknown(self, req):
        return Reply(404, {"message": f"no such path: {req.path}"})

    def expired(self, req):
        return Reply(401, {"message": "token has expired"})

    def expire(self, id):
        self.destroy(id)

    # For tests.
    def fault(self, pattern, nth=1, times=1, **what):
        with self.lock:
            self.faults.append(Fault(pattern, nth, times, **what))
            return self.faults[-1]

    def spoil(self, n, how="cut"):
        with self.lock:
            self.pieces, self.spoil_at, self.spoil_how = 0, n, how
            self.spoiled = False

    def count(self, pattern=""):
        return sum(bool(re.match(pattern, r["line"])) for r in self.requests)

    def lines(self, pattern=""):
        return [r["line"] for r in self.requests
                if re.match(pattern, r["line"])]

    def forget(self):
        """Forgets requests, faults and violations, but not the sandboxes."""
        with self.lock:
            self.requests, self.faults, self.violations = [], [], []
            self.spoil_at, self.connections = None, 0

    def left(self):
        return list(self.boxes)

    def bills(self):
        return {**self.past, **{id: kept.box.bill.seconds for id, kept in
                                self.boxes.items() if kept.box}}

    # For the vendor to use.
    def destroy(self, id):
        with self.lock:
            kept = self.boxes.get(id)
            if kept and getattr(kept, "box", None):
                self.past[id] = kept.box.bill.seconds
            self.boxes.pop(id, None)  # who misses it here finds it there
        if kept and getattr(kept, "box", None):
            kept.box.destroy()
            self.past[id] = kept.box.bill.seconds
        return kept

    def piece(self):
        with self.lock:
            self.pieces += 1
            if self.pieces != self.spoil_at:
                return None
            self.spoiled = True
            return self.spoil_how

    def find(self, req):
        for method, pattern, function in self.routes:
            match = pattern.fullmatch(req.path)
            if match and method == req.method:
                fields = {k: urllib.parse.unquote(v) if v else v
                          for k, v in match.groupdict().items()}
                return lambda: function(req, **fields)
        return None

    def perform(self, req):
        try:
            if req.fault.get("expired"):
                return self.expired(req)
            self.authorize(req)
            function = self.find(req)
            return function() if function else self.unknown(req)
        except Refused as e:
            return Reply(e.status, e.body, e.headers)
        except Invalid as e:
            self.violations.append(f"{req.line}: {e}")
            return self.invalid(req, e)
        except Gone:
            raise
        except Exception as e:
            traceback.print_exc()
            self.violations.append(f"{req.line}: {e!r}")
            return Reply(500, {"message": repr(e)})

    def serve(self, req):
        if req.path.startswith("/_"):
            return self.control(req)
        with self.lock:
            req.log = {"line": req.line, "method": req.method,
                       "path": req.path, "query": req.query,
                       "headers": dict(req.headers), "began": req.began,
                       "connection": req.handler.client_address[1]}
            self.requests.append(req.log)
            for fault in self.faults:
                if fault.strikes(req.line):
                    req.fault.update(fault.what)
        what = req.fault
        if what.get("drop") or what.get("reset"):
            req.shut(bool(what.get("reset")))
        if what.get("cut_after"):
            timer = threading.Timer(what["cut_after"], req.handler.shut)
            timer.daemon = True
            timer.start()
        if what.get("delay"):
            time.sleep(what["delay"])
        if what.get("hold"):
            what["hold"].wait(60)
        if what.get("status"):
            headers = {name: what[key] for name, key in (
                ("Retry-After", "retry_after"), ("Location", "location"))
                if key in what}
            req.body()
            return req.answer(what["status"],
                              what.get("body", {"message": "by a fault"}),
                              headers)
        if what.get("duplicate"):
            req.replay, req.mute = req.body(), True
            self.perform(req)
            req.replay, req.mute, req.open_chunks = req.body(), False, False
        reply = self.perform(req)
        if what.get("cut_after"):
            timer.cancel()
        if isinstance(reply, tuple):
            reply = Reply(*reply)
        if reply is not None:
            req.log["body"] = (req.whole or b"")[:1 << 16].decode(
                errors="replace")
            req.answer(reply.status, reply.body, reply.headers)
        return None

    def control(self, req):
        body = json.loads(req.body() or b"{}")
        if req.path == "/_fault":
            self.fault(**body)
        elif req.path == "/_spoil":
            self.spoil(**body)
        elif req.path == "/_reset":
            self.forget()
        state = {"requests": [r["line"] for r in self.requests],
                 "violations": self.violations, "left": self.left(),
                 "connections": self.connections, "bills": self.bills()}
        req.cloud.spoil_at, keep = None, req.cloud.spoil_at
        req.answer(200, state)
        req.cloud.spoil_at = keep


def main(kind):
    """python3 VENDOR.py --port 0 --port-file f"""
    parser = argparse.ArgumentParser(description=kind.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with kind(port=options.port) as cloud:
        if options.port_file:
            with open(options.port_file + ".new", "w") as f:
                f.write(str(cloud.port))
            os.replace(options.port_file + ".new", options.port_file)
        else:
            print(cloud.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
