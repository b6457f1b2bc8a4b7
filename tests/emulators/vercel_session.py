#!/usr/bin/python3
# vercel_session.py - commands and files of an emulated Vercel sandbox.
# SPDX-License-Identifier: MIT
"""The routes below a session (v2) or a sandbox (v1). A command whose stream is
cut goes on; its log stays with the session, whole."""
import codecs
import json
import os
import random
import stat
import string
import tarfile
import threading
import time

from cloud import Gone, Invalid, Refused, check, route

AT = "(?:/api)?/(?P<v>v1/sandboxes|v2/sandboxes/sessions)/(?P<sid>sbx_[^/]+)"
WORKDIR = "/vercel/sandbox"
MATCHER = ({"exact": str}, {"startsWith": str}, {"regex": str})
ENTRY = {"?key": MATCHER, "?value": MATCHER}
RULE = {"?match": {"?path": MATCHER, "?method": [str], "?queryString": [ENTRY],
                   "?headers": [ENTRY]},
        "transform": [{"headers": {str: str}}]}
NETWORK_1 = ({"mode": {"allow-all", "deny-all"}},
             {"mode": {"custom"}, "?allowedDomains": [str],
              "?allowedCIDRs": [str], "?deniedCIDRs": [str],
              "?injectionRules": list})
NETWORK_2 = ({"mode": {"allow-all", "deny-all"}},
             {"?allow": ([str], {str: [RULE]}),
              "?subnets": {"?allow": [str], "?deny": [str]}})
RUN = {"command": str, "?args": [str], "?cwd": str, "?env": {str: str},
       "?sudo": bool, "?wait": bool}
RUN_2 = {**RUN, "?logs": bool, "?timeout": int}
PIECE = 256 << 10


def line(message):
    return json.dumps(message).encode() + b"\n"


def bad(message, status=400, code="bad_request"):
    return Refused(status, {"error": {"code": code, "message": message}})


class Command:
    """A process, its log, and those who wait for either."""

    def __init__(self, kept, body, process):
        letters = string.ascii_letters + string.digits
        self.id = "cmd_" + "".join(random.choices(letters, k=24))
        self.kept, self.body, self.p = kept, body, process
        self.began, self.code, self.log = time.time(), None, []
        self.news = threading.Condition()
        self.took = 0
        pumps = [threading.Thread(target=self.pump, args=a, daemon=True)
                 for a in ((process.stdout, "stdout"),
                           (process.stderr, "stderr"))]
        for t in pumps:
            t.start()
        threading.Thread(target=self.finish, args=(pumps,),
                         daemon=True).start()

    def pump(self, fd, name):
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            try:
                data = os.read(fd, 32768)
            except OSError:
                data = b""
            text = decoder.decode(data, not data)
            if text:
                with self.news:
                    self.log.append({"stream": name, "data": text})
                    self.news.notify_all()
            if not data:
                break
        os.close(fd)

    def finish(self, pumps):
        for t in pumps:
            t.join()
        code = self.p.wait()
        with self.news:
            self.took = int((time.time() - self.began) * 1000)
            self.code = code
            self.news.notify_all()

    def shown(self, first=False):
        code = None if first else self.code
        who = "sandboxId" if self.kept.v1 else "sessionId"
        return {"command": {
            "id": self.id, "name": self.body["command"],
            "args": self.body.get("args", []),
            "cwd": self.body.get("cwd", WORKDIR), who: self.kept.session,
            "exitCode": code, "startedAt": int(self.began * 1000),
            **({"durationMs": self.took} if code is not None else {})}}

    def follow(self, req):
        """The log, from its beginning to the command's end."""
        at = 0
        while True:
            with self.news:
                while at == len(self.log) and self.code is None and \
                        self.kept.status == "running":
                    self.news.wait(0.2)
                new, ended = self.log[at:], self.code is not None
            for entry in new:
                req.send(line(entry))
            at += len(new)
            if ended and at == len(self.log):
                return
            if not new and self.kept.status != "running":
                req.send(line({"stream": "error", "data": {
                    "code": "sandbox_stopped", "message": "it stopped"}}))
                return

    def wait(self):
        with self.news:
            while self.code is None and self.kept.status == "running":
                self.news.wait(0.2)

    def kill(self, number):
        try:
            self.p.signal(number, group=True)
        except OSError:
            pass


class Session:
    def at(self, sid, v):
        return self.alive(sid, v[:2] == "v1")

    @route("GET", AT.replace("v1/sandboxes|", ""))
    def get_session(self, req, sid, v):
        check(req.query, {}, "query")
        kept = self.session(sid, False)
        return 200, {"session": kept.shown_session(),
                     "routes": kept.routes()}

    @route("POST", AT + "/stop")
    def stop(self, req, sid, v):
        if req.body():
            raise Invalid("body: none is expected")
        kept = self.session(sid, v[:2] == "v1")
        if kept.status not in ("pending", "running"):
            raise bad("Sandbox is stopped", 410, "sandbox_stopped")
        self.begin_stop(kept)
        if kept.v1:
            return 200, {"sandbox": kept.shown_session()}
        return 200, {"session": kept.shown_session(), "sandbox": kept.shown()}

    @route("POST", AT + "/extend-timeout")
    def extend(self, req, sid, v):
        body = check(req.json(), {"duration": lambda x: type(x) is int and
                                  x >= 1000})
        kept = self.at(sid, v)
        if kept.timeout + body["duration"] > self.most:
            raise bad("timeout: above your plan's limit")
        kept.timeout += body["duration"]
        kept.ends += body["duration"] / 1000
        return 200, {"sandbox" if kept.v1 else "session":
                     kept.shown_session()}

    @route("POST", AT + "/network-policy")
    def network(self, req, sid, v):
        v1 = v[:2] == "v1"
        body = check(req.json(), NETWORK_1 if v1 else NETWORK_2)
        kept = self.at(sid, v)
        kept.policy = body
        return 200, {"sandbox" if v1 else "session": kept.shown_session()}

    @route("POST", AT.replace("v2", "v[23]") + "/snapshot")
    def snapshot(self, req, sid, v):
        if req.body():
            check(req.json(), {"expiration": lambda x: x == 0 or
                               x >= 86400000})
        kept = self.at(sid, v)
        made = self.save(kept)
        kept.persistent = False
        self.begin_stop(kept)
        return 201, {"snapshot": self.told(made),
                     "sandbox" if kept.v1 else "session":
                     kept.shown_session()}

    # Commands.
    @route("POST", AT + "/cmd")
    def run(self, req, sid, v):
        v1 = v[:2] == "v1"
        check(req.query, {}, "query")
        body = check(req.json(), RUN if v1 else RUN_2)
        kept = self.at(sid, v)
        try:
            p = kept.box.spawn([body["command"], *body.get("args", [])],
                               env=body.get("env"), cwd=body.get("cwd"))
        except OSError as e:
            raise bad(f"{body['command']}: {e.strerror}") from e
        command = Command(kept, body, p)
        kept.commands[command.id] = command
        if body.get("timeout"):
            timer = threading.Timer(body["timeout"] / 1000, command.kill, (9,))
            timer.daemon = True
            timer.start()
        if not body.get("wait"):
            return 200, command.shown(first=True)
        req.log["body"] = (req.whole or b"")[:1 << 16].decode()
        req.begin(200, {"Content-Type": "application/x-ndjson"})
        req.send(line(command.shown(first=True)))
        if body.get("logs"):
            command.follow(req)
        command.wait()
        if command.code is not None:
            req.send(line(command.shown()))
        req.end()
        return None

    @route("GET", AT + "/cmd")
    def list_commands(self, req, sid, v):
        kept = self.at(sid, v)
        return 200, {"commands": [c.shown()["command"]
                                  for c in kept.commands.values()]}

    def command(self, sid, v, cid):
        command = self.at(sid, v).commands.get(cid)
        if not command:
            raise bad("Command not found", 404, "not_found")
        return command

    @route("GET", AT + "/cmd/(?P<cid>[^/]+)")
    def get_command(self, req, sid, v, cid):
        check(req.query, {"?wait": {"true", "false"}}, "query")
        command = self.command(sid, v, cid)
        if req.query.get("wait") == "true":
            command.wait()
        return 200, command.shown()

    @route("GET", AT + "/cmd/(?P<cid>[^/]+)/logs")
    def logs(self, req, sid, v, cid):
        check(req.query, {}, "query")
        command = self.command(sid, v, cid)
        req.begin(200, {"Content-Type": "application/x-ndjson"})
        command.follow(req)
        req.end()

    @route("POST", AT + "/(?:cmd/)?(?P<cid>cmd_[^/]+)/kill")
    def kill(self, req, sid, v, cid):
        body = check(req.json(), {"signal": {1, 2, 3, 9, 15, 18, 19}})
        command = self.command(sid, v, cid)
        command.kill(body["signal"])
        return 200, command.shown()

    # Files.
    @route("POST", AT + "/fs/mkdir")
    def mkdir(self, req, sid, v):
        body = check(req.json(), {"path": str, "?cwd": str,
                                  "?recursive": bool})
        kept = self.at(sid, v)
        path = os.path.join(body.get("cwd", WORKDIR), body["path"])
        try:
            kept.box.os("makedirs" if body.get("recursive") else "mkdir", path)
        except OSError as e:
            raise bad(f"mkdir {path}: {e.strerror}") from e
        return 200, {}

    @route("POST", AT + "/fs/read")
    def read_file(self, req, sid, v):
        body = check(req.json(), {"path": str, "?cwd": str})
        kept = self.at(sid, v)
        path = os.path.join(body.get("cwd", WORKDIR), body["path"])
        try:
            fd = kept.box.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError) as e:
            raise bad("File not found", 404, "not_found") from e
        except OSError as e:
            raise bad(f"open {path}: {e.strerror}") from e
        with os.fdopen(fd, "rb", buffering=0, closefd=True) as f:
            info = os.fstat(fd)
            if stat.S_ISDIR(info.st_mode):
                raise bad(f"read {path}: is a directory")
            req.begin(200, {"Content-Type": "application/octet-stream",
                            "Content-Length": info.st_size})
            left = info.st_size
            while left:
                data = f.read(min(PIECE, left))
                if not data:
                    req.shut()
                req.send(data)
                left -= len(data)

    @route("POST", AT + "/fs/write")
    def write_files(self, req, sid, v):
        kept = self.at(sid, v)
        if req.headers.get("Content-Type") != "application/gzip":
            raise Invalid("Content-Type: application/gzip is expected")
        top = req.headers.get("x-cwd") or ""
        if not top.startswith("/"):
            raise Invalid("x-cwd: is missing")
        try:
            with tarfile.open(fileobj=Body(req), mode="r|gz") as tar:
                for entry in tar:
                    self.unpack(kept, tar, entry, top)
        except Gone:
            raise
        except (tarfile.TarError, EOFError) as e:
            raise Invalid(f"body: {e}") from e
        except OSError as e:
            raise bad(f"write {e.filename}: {e.strerror}") from e
        return 200, {}

    def unpack(self, kept, tar, entry, top):
        path = os.path.normpath(os.path.join(top, entry.name))
        if entry.name.startswith("/") or ".." in entry.name.split("/"):
            raise Invalid(f"body: the name {entry.name}")
        if entry.isdir():
            kept.box.shell('mkdir -p -- "$P"', env={"P": path})
            return
        if not entry.isreg():
            raise Invalid(f"body: the type of {entry.name}")
        fd = kept.box.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
                           parents=True)
        with os.fdopen(fd, "wb", buffering=0) as f, \
                tar.extractfile(entry) as data:
            while True:
                piece = data.read(PIECE)
                if not piece:
                    break
                f.write(piece)
        kept.box.os("chmod", path, entry.mode)


class Body:
    """What tarfile reads from."""

    def __init__(self, req):
        self.req = req

    def read(self, n=-1):
        return self.req.read(n if n > 0 else PIECE)
