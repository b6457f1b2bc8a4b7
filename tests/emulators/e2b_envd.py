#!/usr/bin/python3
# e2b_envd.py - envd, E2B's daemon in each sandbox: processes and files.
# SPDX-License-Identifier: MIT
"""Connect-RPC with JSON: Start and Connect are streams of envelopes, the rest
are plain calls. A stream that is cut leaves its process running; what it
printed meanwhile is lost to everybody, as with the real one."""
import base64
import datetime
import json
import os
import queue
import re
import signal
import stat
import termios
import threading
import time

from cloud import Gone, Invalid, Refused, Reply, check, route

PORT = "49983"
SELECTOR = {"process": ({"pid": int}, {"tag": str})}
START = {"process": {"cmd": str, "?args": [str], "?envs": {str: str},
                     "?cwd": str},
         "?stdin": bool, "?tag": str,
         "?pty": {"size": {"cols": int, "rows": int}}}
INPUT = {**SELECTOR, "input": ({"stdin": str}, {"pty": str})}
SIGNALS = {"SIGNAL_SIGTERM": signal.SIGTERM, "SIGNAL_SIGKILL": signal.SIGKILL}
STATUS = {"invalid_argument": 400, "unauthenticated": 401, "not_found": 404,
          "already_exists": 409, "internal": 500, "permission_denied": 403}
FILE = 256 << 10


def envelope(message, flags=0):
    data = json.dumps(message, separators=(",", ":")).encode()
    return bytes([flags]) + len(data).to_bytes(4, "big") + data


def fails(code, message):
    return Refused(STATUS[code], {"code": code, "message": message})


class Running:
    """A process and those who listen to it."""

    def __init__(self, process, config, tag, pty):
        self.p, self.config, self.tag, self.pty = process, config, tag, pty
        self.listeners, self.lock = [], threading.Lock()
        self.end = None

    def begin(self):
        pumps = [threading.Thread(target=self.pump, args=a, daemon=True)
                 for a in ((self.p.stdout, "pty" if self.pty else "stdout"),
                           (self.p.stderr, "stderr")) if a[0] is not None]
        for t in pumps:
            t.start()
        threading.Thread(target=self.finish, args=(pumps,),
                         daemon=True).start()

    def listen(self):
        q = queue.Queue(64)
        with self.lock:
            if self.end:
                return None
            self.listeners.append(q)
        return q

    def leave(self, q):
        with self.lock:
            if q in self.listeners:
                self.listeners.remove(q)

    def tell(self, event):
        for q in list(self.listeners):
            while q in self.listeners:
                try:
                    q.put(event, timeout=0.2)
                    break
                except queue.Full:
                    pass

    def cut(self):
        """Closes the connections of those who listen."""
        self.tell(None)

    def pump(self, fd, name):
        while True:
            try:
                data = os.read(fd, 32768)
            except OSError:
                data = b""
            if not data:
                break
            self.tell({"data": {name: base64.b64encode(data).decode()}})
        os.close(fd)

    def finish(self, pumps):
        for t in pumps:
            t.join()
        self.p.wait()
        code = self.p.status
        end = {"exited": code >= 0}
        if code < 0:
            name = {9: "killed", 15: "terminated"}.get(-code, str(-code))
            end.update(exitCode=-1, status=f"signal: {name}",
                       error=f"signal: {name}")
        else:
            end["status"] = f"exit status {code}"
            if code:
                end.update(exitCode=code, error=f"exit status {code}")
        with self.lock:
            self.end = {"end": end}
        self.tell(self.end)


class Envd:
    def envd(self, req, rpc=True):
        """The sandbox that the request is for; the proxy's errors."""
        id = req.headers.get("E2b-Sandbox-Id")
        if not id or req.headers.get("E2b-Sandbox-Port") != PORT:
            raise Invalid("E2b-Sandbox-Id or E2b-Sandbox-Port")
        kept = self.boxes.get(id)
        if not kept or kept.state != "running":
            raise Refused(502, {"sandboxId": id, "message":
                                "The sandbox was not found", "code": 502})
        if req.headers.get("X-Access-Token") != kept.token:
            raise Refused(401, {"code": "unauthenticated" if rpc else 401,
                                "message": "invalid access token"})
        user = base64.b64decode((req.headers.get("Authorization") or
                                 "Basic dXNlcjo=")[6:]).decode()
        if user not in ("user:", "root:"):
            raise Refused(401, {"code": "unauthenticated", "message":
                                f"invalid username: '{user[:-1]}'"})
        if self.since(0, 4, 0) or "Authorization" in req.headers or not rpc:
            return kept
        raise fails("unauthenticated", "no user specified")

    def since(self, *version):
        return tuple(map(int, self.version.split("."))) >= version

    @route("GET", "/health")
    def health(self, req):
        self.envd(req, rpc=False)
        return 204, None

    # Processes.
    def stream_request(self, req, shape):
        kept = self.envd(req)
        if req.headers.get("Content-Type") != "application/connect+json":
            raise Refused(415, {})
        if req.headers.get("Connect-Protocol-Version") != "1":
            raise fails("invalid_argument", "missing protocol version")
        data = req.body()
        if len(data) < 5 or data[0] or \
                int.from_bytes(data[1:5], "big") != len(data) - 5:
            raise Invalid("body: not one envelope")
        return kept, check(json.loads(data[5:]), shape)

    def refuse_stream(self, req, code, message):
        req.begin(200, {"Content-Type": "application/connect+json"})
        req.send(envelope({"error": {"code": code, "message": message}}, 2))
        req.end()

    @route("POST", "/process.Process/Start")
    def start(self, req):
        kept, ask = self.stream_request(req, START)
        process = ask["process"]
        cwd = process.get("cwd") or "/home/user"
        if "stdin" in ask and not self.since(0, 3, 0):
            raise Invalid("body.stdin: no such field")
        try:
            if not stat.S_ISDIR(kept.box.os("stat", cwd)[0]):
                raise NotADirectoryError
        except OSError:
            return self.refuse_stream(req, "invalid_argument",
                                      f"cwd '{cwd}' does not exist")
        size = ask.get("pty", {}).get("size")
        try:
            p = kept.box.spawn(
                [process["cmd"], *process.get("args", [])],
                env=process.get("envs"), cwd=cwd, stdin=ask.get("stdin", True),
                pty=size and (size["rows"], size["cols"]))
        except OSError as e:
            return self.refuse_stream(
                req, "invalid_argument",
                f"fork/exec {process['cmd']}: {e.strerror.lower()}")
        running = Running(p, process, ask.get("tag"), size)
        kept.running[p.pid] = running
        q = running.listen()
        running.begin()
        return self.stream(req, kept, running, q)

    @route("POST", "/process.Process/Connect")
    def connect(self, req):
        kept, ask = self.stream_request(req, SELECTOR)
        try:
            running = self.selected(kept, ask)
            q = running.listen()
        except Refused:
            q = None
        if not q:
            return self.refuse_stream(req, "not_found", "process not found")
        return self.stream(req, kept, running, q)

    def stream(self, req, kept, running, q):
        limit = req.headers.get("Connect-Timeout-Ms")
        end = time.monotonic() + int(limit) / 1000 if limit else None
        every = int(req.headers.get("Keepalive-Ping-Interval") or 90)
        try:
            req.begin(200, {"Content-Type": "application/connect+json"})
            req.send(envelope({"event": {"start": {"pid": running.p.pid}}}))
            while True:
                wait = every
                if end is not None:
                    wait = min(wait, end - time.monotonic())
                if kept.id not in self.boxes:
                    req.shut()
                try:
                    event = q.get(timeout=max(wait, 0.001))
                except queue.Empty:
                    if end is not None and time.monotonic() >= end:
                        running.p.signal(signal.SIGKILL)
                        req.send(envelope({"error": {
                            "code": "deadline_exceeded",
                            "message": "context deadline exceeded"}}, 2))
                        break
                    event = {"keepalive": {}}
                if event is None:
                    req.shut()
                req.send(envelope({"event": event}))
                if "end" in event:
                    kept.running.pop(running.p.pid, None)
                    req.send(envelope({}, 2))
                    break
            req.end()
        finally:
            running.leave(q)

    def unary(self, req, shape):
        kept = self.envd(req)
        if req.headers.get("Connect-Protocol-Version") != "1":
            raise fails("invalid_argument", "missing protocol version")
        try:
            return kept, check(req.json(), shape)
        except Invalid as e:
            self.violations.append(f"{req.line}: {e}")
            raise fails("invalid_argument", str(e)) from e

    def selected(self, kept, ask):
        for pid, running in kept.running.items():
            if not running.end and (pid == ask["process"].get("pid") or
                                    running.tag is not None and running.tag
                                    == ask["process"].get("tag")):
                return running
        raise fails("not_found", f"process with pid "
                    f"{ask['process'].get('pid')} not found")

    @route("POST", "/process.Process/List")
    def processes(self, req):
        kept, _ = self.unary(req, {})
        found = []
        for pid, r in kept.running.items():
            config = {"args": [], "envs": {}, **r.config}
            found.append({"config": config, "pid": pid,
                          **({"tag": r.tag} if r.tag else {})})
        return 200, {"processes": found}

    @route("POST", "/process.Process/SendSignal")
    def send_signal(self, req):
        kept, ask = self.unary(req, {**SELECTOR, "signal": set(SIGNALS)})
        self.selected(kept, ask).p.signal(SIGNALS[ask["signal"]])
        return 200, {}

    @route("POST", "/process.Process/SendInput")
    def send_input(self, req):
        kept, ask = self.unary(req, INPUT)
        running = self.selected(kept, ask)
        data = base64.b64decode(next(iter(ask["input"].values())))
        if running.p.stdin is None:
            raise fails("invalid_argument", "stdin is not enabled")
        os.write(running.p.stdin, data)
        return 200, {}

    @route("POST", "/process.Process/Update")
    def update(self, req):
        kept, ask = self.unary(req, {**SELECTOR, "pty": {
            "size": {"cols": int, "rows": int}}})
        running = self.selected(kept, ask)
        if not running.pty:
            raise fails("invalid_argument", "tty not assigned to process")
        size = ask["pty"]["size"]
        termios.tcsetwinsize(running.p.stdin, (size["rows"], size["cols"]))
        return 200, {}

    @route("POST", "/process.Process/CloseStdin")
    def close_stdin(self, req):
        kept, ask = self.unary(req, SELECTOR)
        running = self.selected(kept, ask)
        if running.p.stdin is not None:
            os.close(running.p.stdin)
            running.p.stdin = None
        return 200, {}

    # Files.
    def path(self, text):
        return os.path.normpath(os.path.join("/home/user", text))

    def trouble(self, e, path):
        if isinstance(e, IsADirectoryError):
            return 400, {"code": 400, "message": f"path '{path}' is a "
                         "directory"}
        if isinstance(e, FileNotFoundError):
            return 404, {"code": 404, "message": f"path '{path}' does not "
                         "exist"}
        if isinstance(e, (NotADirectoryError, FileExistsError)):
            return 400, {"code": 400, "message": f"path '{path}': a parent "
                         "is a file"}
        if e.errno == 28:
            return 507, {"code": 507, "message": "not enough disk space"}
        return 500, {"code": 500, "message":
                     f"open {path}: {e.strerror.lower()}"}

    @route("GET", "/files")
    def download(self, req):
        kept = self.envd(req, rpc=False)
        check(req.query, {"path": str, "?username": str, "?signature": str,
                          "?signature_expiration": str}, "query")
        path = self.path(req.query["path"])
        try:
            fd = kept.box.open(path, os.O_RDONLY)
        except OSError as e:
            return self.trouble(e, path)
        with os.fdopen(fd, "rb", buffering=0) as f:
            size = os.fstat(fd).st_size
            first, status, headers = 0, 200, {}
            wanted = re.fullmatch(r"bytes=(\d+)-", req.headers.get("Range")
                                  or "")
            if wanted:
                first, status = int(wanted[1]), 206
                if first >= size:
                    return Reply(416, {"code": 416, "message": "range"},
                                 {"Content-Range": f"bytes */{size}"})
                headers["Content-Range"] = f"bytes {first}-{size - 1}/{size}"
            f.seek(first)
            req.begin(status, {"Content-Type": "application/octet-stream",
                               "Content-Length": size - first,
                               "Accept-Ranges": "bytes", **headers})
            while first < size:
                data = f.read(min(FILE, size - first))
                if not data:
                    req.shut()
                req.send(data)
                first += len(data)
        return None

    def write(self, kept, path, pieces):
        fd = kept.box.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
                           parents=True)
        with os.fdopen(fd, "wb", buffering=0) as f:
            for data in pieces:
                f.write(data)
        return {"path": path, "name": os.path.basename(path), "type": "file"}

    @route("POST", "/files")
    def upload(self, req):
        kept = self.envd(req, rpc=False)
        check(req.query, {"?path": str, "?username": str, "?signature": str,
                          "?signature_expiration": str}, "query")
        kind = req.headers.get("Content-Type") or ""
        path = req.query.get("path")
        try:
            if kind == "application/octet-stream" and self.since(0, 5, 7):
                if not path:
                    raise Invalid("query.path: is missing")
                path = self.path(path)
                return 200, [self.write(kept, path,
                                        iter(lambda: req.read(FILE), b""))]
            if not kind.startswith("multipart/form-data"):
                raise Invalid(f"Content-Type: {kind}")
            done = []
            for name, data in self.parts(req, kind):
                path = self.path(req.query.get("path") or name)
                done.append(self.write(kept, path, [data]))
            return 200, done
        except OSError as e:
            if isinstance(e, Gone):
                raise
            return self.trouble(e, path)

    def parts(self, req, kind):
        mark = b"--" + re.search(r'boundary="?([^";]+)', kind)[1].encode()
        body = b"\r\n" + req.body()
        for part in body.split(b"\r\n" + mark)[1:]:
            if part.startswith(b"--"):
                return
            head, _, data = part.partition(b"\r\n\r\n")
            if b'name="file"' not in head:
                raise Invalid("body: a part that is no file")
            name = re.search(rb'filename="([^"]*)"', head)
            yield name[1].decode() if name else "", data
        raise Invalid("body: the form has no end")

    # Directories.
    def entry(self, kept, path):
        s = os.stat_result(kept.box.os("lstat", path))
        kinds = {stat.S_IFDIR: "DIRECTORY", stat.S_IFLNK: "SYMLINK"}
        when = datetime.datetime.fromtimestamp(s.st_mtime,
                                               datetime.timezone.utc)
        return {"name": os.path.basename(path), "path": path,
                "type": "FILE_TYPE_" + kinds.get(stat.S_IFMT(s.st_mode),
                                                 "FILE"),
                "size": str(s.st_size), "mode": s.st_mode & 0o7777,
                "permissions": stat.filemode(s.st_mode), "owner": "user",
                "group": "user",
                "modifiedTime": when.strftime("%Y-%m-%dT%H:%M:%SZ")}

    def file_call(self, req, shape, work):
        kept, ask = self.unary(req, shape)
        names = {k: self.path(v) for k, v in ask.items() if k != "depth"}
        try:
            return 200, work(kept, **names)
        except FileNotFoundError as e:
            raise fails("not_found", f"path not found: {e.filename}") from e
        except FileExistsError as e:
            raise fails("already_exists", str(e)) from e
        except OSError as e:
            raise fails("invalid_argument", str(e)) from e

    @route("POST", "/filesystem.Filesystem/ListDir")
    def list_dir(self, req):
        return self.file_call(
            req, {"path": str, "?depth": int}, lambda kept, path:
            {"entries": [self.entry(kept, os.path.join(path, name))
                         for name in sorted(kept.box.os("listdir", path))]})

    @route("POST", "/filesystem.Filesystem/Stat")
    def stat_path(self, req):
        return self.file_call(req, {"path": str}, lambda kept, path:
                              {"entry": self.entry(kept, path)})

    @route("POST", "/filesystem.Filesystem/MakeDir")
    def make_dir(self, req):
        def work(kept, path):
            kept.box.os("makedirs", path)
            return {"entry": self.entry(kept, path)}
        return self.file_call(req, {"path": str}, work)

    @route("POST", "/filesystem.Filesystem/Move")
    def move(self, req):
        def work(kept, source, destination):
            kept.box.os("rename", source, destination)
            return {"entry": self.entry(kept, destination)}
        return self.file_call(req, {"source": str, "destination": str}, work)

    @route("POST", "/filesystem.Filesystem/Remove")
    def remove(self, req):
        def work(kept, path):
            if stat.S_ISDIR(kept.box.os("lstat", path)[0]):
                kept.box.shell('rm -rf -- "$P"', env={"P": path})
            else:
                kept.box.os("unlink", path)
            return {}
        return self.file_call(req, {"path": str}, work)


