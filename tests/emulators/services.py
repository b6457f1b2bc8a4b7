#!/usr/bin/python3
# services.py - three services that providers/services describes, on loopback.
# SPDX-License-Identifier: MIT
"""Sprites, Upstash and CoreWeave as their SDKs have them (npm @fly/sprites
0.1.0, npm @upstash/box 0.5.5, coreweave/cwsandbox-js of August 2026): as much
of each as its description uses, with real commands behind it.

    with Sprites() as cloud:
        config(cloud.describe(top))
"""
import base64
import os
import threading
import time
import urllib.parse

from cloud import Box, Cloud, Refused, check, route

KEY = "service-key-0123456789abcdef"


class Kept:
    def __init__(self, id, workdir, **more):
        self.id, self.ends, self.more = id, None, more
        self.box = Box(workdir=workdir)
        self.up = time.monotonic() + 0.1

    def ready(self):
        return time.monotonic() >= self.up


class Service(Cloud):
    name = header = value = variable = workdir = None

    def authorize(self, req):
        if req.headers.get(self.header) != self.value:
            raise Refused(401, {"error": "unauthorized"})

    @property
    def env(self):
        return {self.variable: KEY}

    def describe(self, top):
        """The description as it ships, but for its address."""
        text = (top / f"providers/services/{self.name}.toml").read_text()
        at = text.index('base = "') + len('base = "')
        end = text.index('"', at)
        path = urllib.parse.urlsplit(text[at:end]).path
        return text[:at] + self.url + path + text[end:]

    def kept(self, id):
        if id not in self.boxes:
            raise Refused(404, {"error": "not found"})
        return self.boxes[id]

    def add(self, id, **more):
        made = Kept(id, self.workdir, **more)
        with self.lock:
            self.boxes[id] = made
        return made

    def run_in(self, id, argv, stdin=b""):
        """(standard output, standard error, exit status)"""
        p = self.kept(id).box.spawn(argv, stdin=bool(stdin))
        parts = {p.stdout: b"", p.stderr: b""}

        def read(fd):
            with os.fdopen(fd, "rb") as f:
                parts[fd] = f.read()
        readers = [threading.Thread(target=read, args=[fd], daemon=True)
                   for fd in parts]
        for reader in readers:
            reader.start()
        if stdin:
            with os.fdopen(p.stdin, "wb") as f:
                f.write(stdin)
        for reader in readers:
            reader.join(40)
        return parts[p.stdout], parts[p.stderr], p.wait()


class Sprites(Service):
    name, variable = "sprites", "SPRITES_TOKEN"
    header, value = "Authorization", f"Bearer {KEY}"
    workdir = "/home/sprite"

    def view(self, kept):
        return {"id": f"uuid-{kept.id}", "name": kept.id, "status": "running"}

    @route("POST", "/v1/sprites")
    def create(self, req):
        body = check(req.json(), {"name": str, "?config": dict})
        if body["name"] in self.boxes:
            raise Refused(409, {"error": "exists"})
        return 201, self.view(self.add(body["name"]))

    @route("GET", "/v1/sprites")
    def list(self, req):
        check(req.query, {"?prefix": str, "?max_results": str}, "query")
        return 200, {"sprites": [
            self.view(k) for k in self.boxes.values()
            if k.id.startswith(req.query.get("prefix", ""))],
            "has_more": False}

    @route("GET", "/v1/sprites/(?P<id>[^/]+)")
    def info(self, req, id):
        return 200, self.view(self.kept(id))

    @route("DELETE", "/v1/sprites/(?P<id>[^/]+)")
    def delete(self, req, id):
        self.destroy(self.kept(id).id)
        return 204, None

    @route("POST", "/v1/sprites/(?P<id>[^/]+)/exec")
    def exec(self, req, id):
        query = urllib.parse.parse_qs(req.raw_query)
        if query.get("stdin") != ["true"] or query["path"] != \
                query["cmd"][:1]:
            raise Refused(400, {"error": "path, cmd, stdin"})
        script = b"".join(iter(req.read, b""))
        out, err, code = self.run_in(id, query["cmd"], script)
        frames = b"".join(bytes([kind]) + data[i:i + 512]
                          for kind, data in ((1, out), (2, err))
                          for i in range(0, len(data), 512))
        return 200, frames + b"\3" + bytes([code & 255])

    @route("GET", "/v1/sprites/(?P<id>[^/]+)/fs/read")
    def read(self, req, id):
        check(req.query, {"path": str, "workingDir": str}, "query")
        try:
            fd = self.kept(id).box.open(req.query["path"], os.O_RDONLY)
        except OSError as e:
            raise Refused(404, {"error": str(e), "code": "ENOENT"}) from e
        with os.fdopen(fd, "rb") as f:
            return 200, f.read()

    @route("PUT", "/v1/sprites/(?P<id>[^/]+)/fs/write")
    def write(self, req, id):
        check(req.query, {"path": str, "workingDir": str,
                          "?mkdirParents": {"true"}, "?mode": str}, "query")
        fd = self.kept(id).box.open(
            req.query["path"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with os.fdopen(fd, "wb") as f:
            for piece in iter(req.read, b""):
                f.write(piece)
        return 200, {"path": req.query["path"]}


class Upstash(Service):
    name, variable = "upstash", "UPSTASH_BOX_API_KEY"
    header, value = "X-Box-Api-Key", KEY
    workdir = "/workspace/home"

    def view(self, kept):
        return {"id": kept.id, **kept.more,
                "status": "idle" if kept.ready() else "creating"}

    @route("POST", "/v2/box")
    def create(self, req):
        body = check(req.json(), {
            "?name": str, "?runtime": str, "?size": str, "?keep_alive": bool,
            "?env_vars": {str: str}, "?labels": [str]})
        return 201, self.view(self.add(f"box{len(self.boxes)}x", **body))

    @route("GET", "/v2/box")
    def list(self, req):
        return 200, [self.view(k) for k in self.boxes.values()]

    @route("GET", "/v2/box/(?P<id>[^/]+)")
    def info(self, req, id):
        return 200, self.view(self.kept(id))

    @route("DELETE", "/v2/box/(?P<id>[^/]+)")
    def delete(self, req, id):
        self.destroy(self.kept(id).id)
        return 200, {}

    @route("POST", "/v2/box/(?P<id>[^/]+)/exec")
    def exec(self, req, id):
        body = check(req.json(), {"command": [str], "?folder": str})
        out, err, code = self.run_in(id, body["command"])
        return 200, {"output": out.decode(errors="replace"),
                     "error": err.decode(errors="replace"),
                     "exit_code": code}


class CoreWeave(Service):
    name, variable = "coreweave", "CWSANDBOX_API_KEY"
    header, value = "Authorization", f"Bearer {KEY}"
    workdir = "/root"

    def view(self, kept):
        return {"sandboxId": kept.id, "spec": kept.more, "status": {
            "state": "STATE_RUNNING" if kept.ready() else "STATE_CREATING"}}

    @route("POST", "/v1/sandboxes")
    def create(self, req):
        body = check(req.json(), {"spec": {
            "containers": [{"name": str, "image": str, "?workingDir": str,
                            "command": str, "args": [str]}],
            "?tags": [str], "?maxLifetimeSeconds": int}})
        return 200, self.view(self.add(f"cw-{len(self.boxes)}",
                                       **body["spec"]))

    @route("GET", "/v1/sandboxes")
    def list(self, req):
        tags = urllib.parse.parse_qs(req.raw_query).get("tags", [])
        return 200, {"sandboxes": [self.view(k) for k in self.boxes.values()
                                   if set(tags) <= set(k.more["tags"])]}

    @route("GET", "/v1/sandboxes/(?P<id>[^/:]+)")
    def info(self, req, id):
        return 200, self.view(self.kept(id))

    @route("DELETE", "/v1/sandboxes/(?P<id>[^/:]+)")
    def delete(self, req, id):
        self.destroy(self.kept(id).id)
        return 200, {}

    @route("POST", "/v1/sandboxes/(?P<id>[^/:]+):exec")
    def exec(self, req, id):
        body = check(req.json(), {"command": [str], "?env": {str: str},
                                  "?maxOutputBytes": int})
        out, _, code = self.run_in(id, body["command"])
        answer = {"stdout": base64.b64encode(out).decode(), "exitCode": code}
        return 200, {k: v for k, v in answer.items() if v}


ALL = {s.name: s for s in (Sprites, Upstash, CoreWeave)}
