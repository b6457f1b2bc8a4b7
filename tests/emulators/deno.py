#!/usr/bin/python3
# deno.py - Deno's sandbox servers and console on loopback, real commands.
# SPDX-License-Identifier: MIT
"""Deno Sandbox as its SDK 0.13.2 has it: one port for the console (/api/v2)
and for the sandboxes' own servers (/api/v3). A WebSocket makes a sandbox; what
is said over it: see deno_rpc.py.

    with Deno(most=1800, page=None, hangup=False) as deno:
        env.update(deno.env)

most     seconds, the longest that may be asked for at once
page     sandboxes per page of the list, None: all
hangup   processes are killed when their socket ends
late     a stream's end is not told before processWait is asked
told     the id that a new socket is said to belong to, None: the right one
drips    messages come in fragments of three bytes, byte by byte
noise    bytes of a stream that nobody asked for, before each reply to spawn
strict   a client must say "ping" at least every 10 s
calls    deno.calls: {"method", "params", "began"} of each request over a socket

Without stop_at_ms a sandbox ends with the socket that made it."""
import base64
import json
import random
import re
import time

from cloud import (
    Box, Cloud, Invalid, Refused, Reply, check, listed, main, route)
from cloud_ws import Socket, handshake
from deno_rpc import Session

TOKEN = "ddo_0123456789abcdef"
OTHER = "ddp_0123456789abcdef"
ORG = "acme"
STRINGS = {str: str}
HOST = (lambda v: isinstance(v, str) and
        re.fullmatch(r"(\*\.)?[\w.:-]+", v))
CONFIG = {"?stop_at_ms": int, "memory_mb": lambda v: isinstance(v, int) and
          768 <= v <= 4096, "?labels": STRINGS,
          "volumes": [{"volume": str, "path": str}],
          "?root": {"volume": str}, "?allow_net": [HOST],
          "?secrets": {str: {"hosts": [str], "value": str}}}
ID = "(?P<id>sbx_[a-z]{3}_[0-9a-hjkmnp-z]{20})"
ALPHABET = "0123456789abcdefghjkmnpqrstuvwxyz"


def stamp(unix):
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(unix))
    return f"{text}.{int(unix * 1000) % 1000:03d}Z"


class Kept:
    """What the vendor knows of a sandbox."""

    def __init__(self, config, region):
        self.id = f"sbx_{region}_" + "".join(random.choices(ALPHABET, k=20))
        self.config, self.region = config, region
        self.labels = config.get("labels", {})
        self.state = "running"
        self.created, self.stopped, self.ends = time.time(), None, None
        self.placeholders = {
            name: "DENO_SECRET_" + "".join(random.choices(ALPHABET, k=32))
            for name in config.get("secrets", ())}
        self.box = Box(workdir="/home/sandbox", env=self.placeholders,
                       network=listed(config.get("allow_net")))
        self.sessions = set()
        self.domains = {}  # domain: port

    def record(self):
        return {"id": self.id, "createdAt": stamp(self.created),
                "stoppedAt": self.stopped and stamp(self.stopped),
                "region": self.region, "status": self.state,
                "labels": self.labels}


class Deno(Cloud):
    """An emulated Deno."""

    def __init__(self, port=0, most=1800, page=None, hangup=False,
                 strict=True, drips=False, noise=0, late=False,
                 told=None):
        super().__init__(port)
        self.most, self.page, self.hangup = most, page, hangup
        self.strict, self.drips, self.noise = strict, drips, noise
        self.late, self.told = late, told
        self.stopped, self.calls = {}, []

    @property
    def env(self):
        return {"DENO_DEPLOY_TOKEN": TOKEN, "DENO_SANDBOX_ENDPOINT": self.url,
                "DENO_DEPLOY_ENDPOINT": self.url}

    # What cloud.py asks for.
    def authorize(self, req):
        bearer = req.headers.get("Authorization")
        if bearer == f"Bearer {TOKEN}":
            return
        if bearer == f"Bearer {OTHER}" and \
                req.headers.get("X-Deno-Org") == ORG:
            return
        raise Refused(401, {"code": "INVALID_TOKEN",
                            "message": "The token is invalid or expired"},
                      {"x-deno-trace-id": "0123456789abcdef"})

    def invalid(self, req, error):
        return Reply(400, {"code": "INVALID_REQUEST", "message": str(error)})

    def unknown(self, req):
        return Reply(404, {"code": "NOT_FOUND", "message": "no such path"})

    def expired(self, req):
        return Reply(401, {"code": "INVALID_TOKEN",
                           "message": "The token is invalid or expired"})

    def forget(self):
        super().forget()
        self.calls = []

    def destroy(self, id):
        with self.lock:
            kept = self.boxes.get(id)
            if not kept or kept.state != "running":
                return None
            kept.state, kept.stopped = "stopped", time.time()
        self.stopped[id] = kept
        for session in list(kept.sessions):
            session.end(1001)
        return super().destroy(id)

    def kept(self, id):
        kept = self.boxes.get(id)
        if not kept or kept.state != "running":
            raise Refused(404, {"code": "SANDBOX_NOT_FOUND",
                                "message": f"Sandbox {id} not found"})
        return kept

    def live(self, kept, stop_at_ms):
        seconds = stop_at_ms / 1000 - time.time()
        if seconds > self.most + 5:
            raise Refused(400, {"code": "INVALID_TIMEOUT", "message":
                                "the timeout is too long"})
        kept.ends = time.monotonic() + max(seconds, 0)

    def inject(self, kept, request):
        for name, secret in kept.config.get("secrets", {}).items():
            if request.secure and request.host in secret["hosts"]:
                request.replace(kept.placeholders[name], secret["value"])

    # The sandboxes' own servers.
    @route("GET", "/api/v3/sandboxes/create")
    def create(self, req):
        try:
            config = json.loads(base64.b64decode(
                req.headers.get("x-deno-sandbox-config", ""), validate=True))
        except ValueError as e:
            raise Invalid(f"x-deno-sandbox-config: {e}") from e
        check(config, CONFIG, "x-deno-sandbox-config")
        labels = config.get("labels", {})
        if len(labels) > 5 or any(len(k) > 64 or len(v) > 128
                                  for k, v in labels.items()):
            raise Invalid("labels: too many, or too long")
        req.log["config"] = config
        kept = Kept(config, "ord")
        if "stop_at_ms" in config:
            try:
                self.live(kept, config["stop_at_ms"])
            except Refused:
                kept.box.destroy()
                raise
        with self.lock:
            self.boxes[kept.id] = kept
        if req.mute:
            return 200, {}
        try:
            return self.converse(req, kept)
        finally:
            if kept.ends is None:
                self.destroy(kept.id)

    @route("GET", f"/api/v3/sandbox/{ID}/connect")
    def connect(self, req, id):
        if "x-deno-sandbox-config" in req.headers:
            raise Invalid("headers: x-deno-sandbox-config")
        return self.converse(req, self.kept(id))

    def converse(self, req, kept):
        handshake(req, {"x-deno-sandbox-id": self.told or kept.id,
                        "x-deno-trace-id": "0123456789abcdef"})
        if self.strict:
            req.handler.connection.settimeout(10)
        session = Session(self, kept, Socket(req, self.drips))
        with self.lock:
            kept.sessions.add(session)
            alive = kept.id in self.boxes
        if not alive:
            session.end(1001)
        if "close" in req.fault:
            session.end(req.fault["close"])
        try:
            session.serve()
        finally:
            with self.lock:
                kept.sessions.discard(session)
            session.release(self.hangup)

    @route("PATCH", f"/api/v3/sandbox/{ID}")
    def extend(self, req, id):
        ask = check(req.json(), {"stop_at_ms": int})
        kept = self.kept(id)
        self.live(kept, ask["stop_at_ms"])
        return 200, {"stop_at_ms": ask["stop_at_ms"]}

    @route("DELETE", f"/api/v3/sandbox/{ID}")
    def delete(self, req, id):
        self.kept(id)
        self.destroy(id)
        return 200, {"id": id}

    @route("POST", f"/api/v3/sandbox/{ID}/expose/http")
    def expose(self, req, id):
        check(req.json(), {})
        kept = self.kept(id)
        domain = "".join(random.choices(ALPHABET, k=20)) + ".sandbox.deno.net"
        kept.domains[domain] = None
        return 200, {"domain": domain}

    # The console.
    @route("GET", "/api/v2/sandboxes")
    def list(self, req):
        wanted, cursor = {}, 0
        for name, value in req.query.items():
            label = re.fullmatch(r"labels\[(.+)\]", name)
            if label:
                wanted[label[1]] = value
            elif name == "cursor" and self.page:
                cursor = int(value)
            else:
                raise Invalid(f"query.{name}: no such field")
        found = [k for k in [*self.boxes.values(), *self.stopped.values()]
                 if all(k.labels.get(a) == b for a, b in wanted.items())]
        found.sort(key=lambda k: k.created)
        headers = {}
        if self.page:
            rest = found[cursor + self.page:]
            found = found[cursor:cursor + self.page]
            if rest:
                headers["Link"] = (
                    f"<{self.url}/api/v2/sandboxes?cursor=0>; rel=\"first\", "
                    f"<{self.url}/api/v2/sandboxes?limit=9&cursor="
                    f"{cursor + self.page}>; rel=\"next\"")
        return Reply(200, [k.record() for k in found], headers)

    def methods(self, name=None):
        """How often each was asked for over all sockets."""
        counts = {}
        for call in self.calls:
            counts[call["method"]] = counts.get(call["method"], 0) + 1
        return counts if name is None else counts.get(name, 0)

    def left(self):
        return [id for id, k in self.boxes.items() if k.state == "running"]


if __name__ == "__main__":
    main(Deno)
