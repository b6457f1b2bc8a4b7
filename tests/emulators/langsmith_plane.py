#!/usr/bin/python3
# langsmith_plane.py - a LangSmith sandbox's data plane: commands and files.
# SPDX-License-Identifier: MIT
"""/sb-ID/execute, /execute/ws, /upload and /download. A command that came over
a WebSocket goes on when its connection is lost; what it prints is kept, and
"reconnect" sends it from the offsets asked for. Output is text: bytes that are
no UTF-8 become U+FFFD."""
import codecs
import os
import re
import signal
import stat
import threading
import time

from cloud import Gone, Invalid, Refused, Reply, check, route
from cloud_ws import Socket, handshake

FILE = 256 << 10
CHUNK = 32768
STRINGS = {str: str}
COUNT = (lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0)
RUN = {"?run_config": dict, "?env": STRINGS, "?cwd": str}
EXECUTE = {"command": str, "timeout": lambda v: COUNT(v) and v > 0,
           "?shell": str, **RUN}
START = {"type": {"execute"}, "command": str, "timeout_seconds": COUNT,
         "shell": str, "?idle_timeout_seconds": int,
         "?kill_on_disconnect": bool, "?ttl_seconds": COUNT,
         "?command_id": str, "?pty": bool, "?close_stdin": bool, **RUN}
AGAIN = {"type": {"reconnect"}, "command_id": str, "stdout_offset": COUNT,
         "stderr_offset": COUNT}
ORDER = ({"type": {"kill", "close_stdin"}},
         {"type": {"input"}, "data": str})


def detail(kind, message):
    return {"detail": {"error": kind, "message": message}}


class Session:
    """A command, and all that it has printed."""

    def __init__(self, box, ask):
        self.id = ask.get("command_id") or os.urandom(16).hex()
        self.texts = {"stdout": b"", "stderr": b""}
        self.end, self.news = None, threading.Condition()
        self.killed = False
        self.p = box.spawn([ask["shell"], "-c", ask["command"]],
                           env=ask.get("env"), cwd=ask.get("cwd"),
                           stdin=not ask.get("close_stdin"))
        pumps = [threading.Thread(target=self.pump, args=a, daemon=True)
                 for a in ((self.p.stdout, "stdout"),
                           (self.p.stderr, "stderr"))]
        for t in pumps:
            t.start()
        threading.Thread(target=self.finish, args=[pumps],
                         daemon=True).start()
        if ask["timeout_seconds"]:
            timer = threading.Timer(ask["timeout_seconds"], self.late,
                                    [ask["timeout_seconds"]])
            timer.daemon = True
            timer.start()

    def pump(self, fd, name):
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        data = b"."
        while data:
            try:
                data = os.read(fd, CHUNK)
            except OSError:
                data = b""
            text = decoder.decode(data, not data).encode()
            with self.news:
                self.texts[name] += text
                self.news.notify_all()
        os.close(fd)

    def finish(self, pumps):
        code = self.p.wait()
        for t in pumps:
            t.join(0.3 if self.killed else None)
        with self.news:
            self.end = self.end or {"type": "exit", "exit_code": code}
            self.news.notify_all()

    def late(self, seconds):
        if self.p.status is None:
            self.end = {"type": "error", "error_type": "CommandTimeout",
                        "error": f"command timed out after {seconds}s"}
            self.kill()

    def kill(self):
        self.killed = True
        try:
            self.p.signal(signal.SIGKILL, group=True)
        except OSError:
            pass


class Plane:
    def plane(self, id):
        """The sandbox that the request is for."""
        for kept in list(self.boxes.values()):
            if kept.uuid == id:
                if kept.state == "stopped":
                    self.do_start(kept)
                if kept.state != "ready":
                    raise Refused(503, detail("ServiceUnavailable",
                                              "sandbox not ready"))
                self.touch(kept)
                return kept
        raise Refused(404, detail("NotFound", "sandbox not found"))

    def enter(self, kept, ask):
        """Checks what a command needs."""
        cwd = ask.get("cwd")
        try:
            if cwd and not stat.S_ISDIR(kept.box.os("stat", cwd)[0]):
                raise NotADirectoryError
            kept.box.os("stat", ask.get("shell", "/bin/bash"))
        except OSError as e:
            raise Refused(400, detail("CommandError", str(e))) from e

    @route("POST", "/sb-(?P<id>[^/]+)/execute")
    def execute(self, req, id):
        ask = check(req.json(), EXECUTE)
        kept = self.plane(id)
        self.enter(kept, ask)
        p = kept.box.spawn([ask.get("shell", "/bin/bash"), "-c",
                            ask["command"]], env=ask.get("env"),
                           cwd=ask.get("cwd"))
        parts = [b"", b""]

        def read(i, fd):
            with os.fdopen(fd, "rb") as f:
                parts[i] = f.read()
        threads = [threading.Thread(target=read, args=a, daemon=True)
                   for a in enumerate((p.stdout, p.stderr))]
        for t in threads:
            t.start()
        end = time.monotonic() + ask["timeout"]
        for t in threads:
            t.join(max(end - time.monotonic(), 0))
        code = p.wait(max(end - time.monotonic(), 0.01))
        if code is None:
            p.signal(signal.SIGKILL, group=True)
            return 408, detail("CommandError", "command timed out")
        self.touch(kept)
        return 200, {"stdout": parts[0].decode(errors="replace"),
                     "stderr": parts[1].decode(errors="replace"),
                     "exit_code": code}

    # WebSocket.
    @route("GET", "/sb-(?P<id>[^/]+)/execute/ws")
    def execute_ws(self, req, id):
        if not self.websocket:
            return self.unknown(req)
        kept = self.plane(id)
        handshake(req)
        self.converse(req, kept, Socket(req))

    def converse(self, req, kept, ws):
        try:
            ask = ws.receive()
            if ask is None:
                return
            req.log["frames"] = [ask]
            at = {"stdout": 0, "stderr": 0}
            if ask.get("type") == "reconnect":
                check(ask, AGAIN, "frame")
                session = kept.sessions.get(ask["command_id"])
                at = {k: ask[k + "_offset"] for k in at}
                if not session:
                    ws.tell(type="error", error_type="SessionExpired",
                            error="no such session")
            else:
                check(ask, START, "frame")
                session = self.session(kept, ask, ws)
        except (ValueError, AttributeError) as e:
            self.violations.append(f"{req.line}: {e}")
            return ws.close(1008, b"invalid")
        if session:
            threading.Thread(target=self.obey, args=[req, session, ws],
                             daemon=True).start()
            self.feed(kept, session, ws, at)
        ws.close(1000)
        # Till the client has answered.
        req.handler.connection.settimeout(2)
        time.sleep(0.02)

    def session(self, kept, ask, ws):
        """The command; one that was begun before is not begun again."""
        with self.lock:
            session = kept.sessions.get(ask.get("command_id"))
            if session:
                return session
            try:
                self.enter(kept, ask)
                session = Session(kept.box, ask)
            except (Refused, OSError) as e:
                what = e.body["detail"]["message"] \
                    if isinstance(e, Refused) else str(e)
                ws.tell(type="error", error_type="CommandNotFound"
                        if ask["shell"] in what else "CommandError",
                        error=what)
                return None
            kept.sessions[session.id] = session
        return session

    def obey(self, req, session, ws):
        try:
            while True:
                order = ws.receive()
                if order is None:
                    return
                req.log["frames"].append(order)
                check(order, ORDER, "frame")
                if order["type"] == "kill":
                    session.kill()
                elif session.p.stdin is not None:
                    if order["type"] == "input":
                        os.write(session.p.stdin, order["data"].encode())
                    else:
                        os.close(session.p.stdin)
                        session.p.stdin = None
        except Invalid as e:
            self.violations.append(f"{req.line}: {e}")
        except (Gone, OSError, ValueError):
            pass

    def feed(self, kept, session, ws, at):
        ws.tell(type="started", command_id=session.id, pid=session.p.pid)
        while True:
            with session.news:
                news = {k: t[at[k]:at[k] + CHUNK]
                        for k, t in session.texts.items()}
                end = session.end if session.end and (
                    session.p.status is not None) else None
                if not any(news.values()) and not end:
                    session.news.wait(0.2)
                    if kept.state != "ready":
                        ws.req.shut()
            for name, data in news.items():
                # Whole characters.
                while data and len(session.texts[name]) > at[name] + len(
                        data) and session.texts[name][
                            at[name] + len(data)] & 0xC0 == 0x80:
                    data = data[:-1]
                if data:
                    ws.tell(type=name, data=data.decode(errors="replace"),
                            offset=at[name])
                    at[name] += len(data)
            if end and all(at[k] >= len(t)
                           for k, t in session.texts.items()):
                break
        self.touch(kept)
        ws.tell(**end)

    # Files.
    def trouble(self, e, path, kind):
        if isinstance(e, FileNotFoundError):
            return 404, detail("FileNotFound", f"no such file: {path}")
        if isinstance(e, PermissionError):
            return 403, detail("PermissionDenied",
                               f"open {path}: permission denied")
        return 400, detail(kind, f"open {path}: {e.strerror.lower()}")

    def path(self, req):
        check(req.query, {"path": str}, "query")
        if re.search(r"path=[^&]*/", req.raw_query):
            raise Invalid("query.path: is not fully encoded")
        return os.path.normpath(os.path.join("/home/user",
                                             req.query["path"]))

    @route("HEAD", "/sb-(?P<id>[^/]+)/download")
    def head(self, req, id):
        return self.download(req, id)

    @route("GET", "/sb-(?P<id>[^/]+)/download")
    def download(self, req, id):
        kept, path = self.plane(id), self.path(req)
        try:
            fd = kept.box.open(path, os.O_RDONLY)
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                os.close(fd)
                return 400, detail("ReadError",
                                   f"read {path}: is a directory")
        except OSError as e:
            return self.trouble(e, path, "ReadError")
        with os.fdopen(fd, "rb", buffering=0) as f:
            size = os.fstat(fd).st_size
            first, status, headers = 0, 200, {}
            wanted = re.fullmatch(r"bytes=(\d+)-", req.headers.get("Range")
                                  or "")
            if wanted:
                first, status = int(wanted[1]), 206
                if first >= size:
                    return Reply(416, detail("ReadError", "range"),
                                 {"Content-Range": f"bytes */{size}"})
                headers["Content-Range"] = f"bytes {first}-{size - 1}/{size}"
            f.seek(first)
            req.begin(status, {"Content-Type": "application/octet-stream",
                               "Content-Length": size - first,
                               "Accept-Ranges": "bytes", **headers})
            while first < size and req.method == "GET":
                data = f.read(min(FILE, size - first))
                if not data:
                    req.shut()
                req.send(data)
                first += len(data)
        return None

    @route("POST", "/sb-(?P<id>[^/]+)/upload")
    def upload(self, req, id):
        kept, path = self.plane(id), self.path(req)
        kind = req.headers.get("Content-Type") or ""
        mark = re.fullmatch(r'multipart/form-data; boundary="?([^";]+)"?',
                            kind)
        if not mark:
            raise Invalid(f"Content-Type: {kind or 'is missing'}")
        pieces = self.part(req, b"--" + mark[1].encode())
        first = next(pieces)  # the form's head is good
        try:
            fd = kept.box.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        except OSError as e:
            return self.trouble(e, path, "WriteError")
        size = 0
        with os.fdopen(fd, "wb", buffering=0) as f:
            while first is not None:
                f.write(first)
                size += len(first)
                first = next(pieces, None)
        return 200, {"path": path, "size": size}

    def part(self, req, mark):
        """The one file of a form, in pieces."""
        data = b""
        while b"\r\n\r\n" not in data:
            more = req.read()
            if not more or len(data) > 8192:
                raise Invalid("body: no part")
            data += more
        head, _, data = data.partition(b"\r\n\r\n")
        if not head.startswith(mark + b"\r\n") or \
                b'name="file"' not in head or b"filename=" not in head:
            raise Invalid("body: no part that is a file")
        tail = b"\r\n" + mark + b"--"
        while True:
            more = req.read()
            if not more:
                break
            data += more
            keep = len(tail) + 4
            if len(data) > keep:
                yield data[:-keep]
                data = data[-keep:]
        body, found, rest = data.rpartition(tail)
        if not found or rest not in (b"", b"\r\n"):
            raise Invalid("body: the form has no end, or a second part")
        yield body
