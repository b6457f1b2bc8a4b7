#!/usr/bin/python3
# daytona_toolbox.py - Daytona's daemon in each sandbox: commands and files.
# SPDX-License-Identifier: MIT
"""process/execute is a shell whose input is the command (daemons before 0.160:
words run without a shell), with output and error output in one; sessions are a
shell each, which sources what it is told. A request that is cut does not end
its command. A terminal (process/pty) stays when its WebSocket is cut; what it
prints meanwhile is sent to the next."""
import base64
import json
import os
import re
import shlex
import signal
import socket
import stat
import termios
import threading
import time
import urllib.parse

from cloud import Gone, Invalid, Refused, Reply, check, route
from cloud_ws import Socket, handshake

TB = r"/toolbox/(?P<id>[^/]+)"
SESSION = TB + r"/process/session/(?P<sid>[^/]+)"
EXECUTE = {"command": str, "?timeout": lambda v: isinstance(v, int) and
           not isinstance(v, bool) and v >= 0, "?cwd": str,
           "?envs": {str: str}}
SESSION_EXEC = {"command": str, "?runAsync": bool, "?async": bool,
                "?suppressInputEcho": bool}
CODES = {404: "FILE_NOT_FOUND", 403: "FILE_ACCESS_DENIED",
         400: "INVALID_FILE_PATH", 500: "FILE_READ_FAILED"}
SIZE = {"cols": int, "rows": int}
EXIT, ENVS = "X-Daytona-Pty-Exit-Control", "X-Daytona-Pty-Envs~"
BOUNDARY = "DAYTONA-FILE-BOUNDARY"
FILE = 256 << 10


def words(e):
    return (e.strerror or str(e)).lower()


class Form:
    """A multipart body, read as a stream."""

    def __init__(self, req):
        kind = req.headers.get("Content-Type") or ""
        mark = re.search(r'multipart/form-data; *boundary="?([^";]+)', kind)
        if not mark:
            raise Invalid(f"Content-Type: {kind}")
        self.req, self.mark = req, b"\r\n--" + mark[1].encode()
        self.room = b"\r\n"
        for _ in self.data():
            pass

    def more(self):
        data = self.req.read(FILE)
        if not data:
            raise Invalid("body: the form has no end")
        self.room += data

    def data(self):
        """The bytes up to the next boundary."""
        while self.mark not in self.room:
            keep = len(self.mark)
            if len(self.room) > keep:
                yield self.room[:-keep]
                self.room = self.room[-keep:]
            self.more()
        last, _, self.room = self.room.partition(self.mark)
        if last:
            yield last

    def parts(self):
        while True:
            while len(self.room) < 2:
                self.more()
            if self.room.startswith(b"--"):
                return
            while b"\r\n\r\n" not in self.room:
                self.more()
            head, _, self.room = self.room.partition(b"\r\n\r\n")
            name = re.search(rb' name="([^"]*)"', head)
            yield name[1].decode() if name else "", self.data()


class Session:
    """A shell that sources commands, one after the other."""

    def __init__(self, box):
        self.p = box.spawn(["/bin/bash"], stdin=True)
        self.commands = {}
        for fd in (self.p.stdout, self.p.stderr):
            threading.Thread(target=self.drain, args=(fd,),
                             daemon=True).start()
        box.shell("mkdir -p /tmp/.daytona")

    def drain(self, fd):
        while os.read(fd, 4096):
            pass
        os.close(fd)

    def run(self, box, command):
        id = os.urandom(8).hex()
        base = f"/tmp/.daytona/{id}"
        fd = box.open(base + ".sh", os.O_WRONLY | os.O_CREAT)
        os.write(fd, command.encode() + b"\n")
        os.close(fd)
        self.commands[id] = {"command": command, "base": base}
        try:
            os.write(self.p.stdin, f". {base}.sh >{base}.out 2>{base}.err "
                     f"</dev/null; echo $? >{base}.tmp; "
                     f"mv {base}.tmp {base}.code\n".encode())
        except OSError:
            pass
        return id


class Terminal:
    """A PTY session: a shell, and those who are connected."""

    def __init__(self, toolbox, kept, ask):
        self.id, self.sockets, self.exit = ask["id"], [], None
        self.lock, self.kept, self.toolbox = threading.Lock(), kept, toolbox
        self.backlog = []
        self.p = kept.box.spawn(["/bin/bash"], env=ask.get("envs"),
                                cwd=ask.get("cwd"),
                                pty=(ask["rows"], ask["cols"]))
        threading.Thread(target=self.pump, daemon=True).start()

    def pump(self):
        while True:
            try:
                data = os.read(self.p.stdout, 32768)
            except OSError:
                data = b""
            if not data:
                break
            self.tell(2, data)
        code = self.p.wait()
        self.kept.terminals.pop(self.id, None)
        self.exit = json.dumps({"type": "control", "status": "exited",
                                "exitCode": code}).encode()
        self.tell(1, self.exit)
        for ws in list(self.sockets):
            try:
                ws.close(1000, json.dumps({"exitCode": code}).encode())
            except (Gone, OSError):
                pass

    def tell(self, opcode, data):
        with self.lock:
            if not self.sockets:
                self.backlog.append((opcode, data))
            for ws in list(self.sockets):
                self.send(ws, opcode, data)

    def send(self, ws, opcode, data):
        try:
            ws.frame(opcode, data)
        except (Gone, OSError):
            self.sockets.remove(ws)

    def converse(self, req):
        """One connection, to its end."""
        ws = Socket(req)
        ws.tell(type="control", status="connected")
        with self.lock:
            self.sockets.append(ws)
            for opcode, data in self.backlog:
                self.send(ws, opcode, data)
            self.backlog = []
        try:
            while (data := ws.text()) is not None:
                os.write(self.p.stdin, data)
        except OSError:
            pass
        finally:
            with self.lock:
                if ws in self.sockets:
                    self.sockets.remove(ws)

    def resize(self, ask):
        termios.tcsetwinsize(self.p.stdin, (ask["rows"], ask["cols"]))

    def cut(self):
        for ws in list(self.sockets):
            ws.req.handler.connection.shutdown(socket.SHUT_RDWR)

    def kill(self):
        self.p.signal(signal.SIGKILL)


class Toolbox:
    def toolbox(self, req, id):
        """The sandbox that the request is for; the proxy's errors."""
        kept = self.boxes.get(id)
        if not kept:
            raise self.refuse(req, 404, f"sandbox with ID {id} not found")
        if kept.state != "started":
            raise self.refuse(req, 400, "bad request: failed to resolve "
                              "container IP: no IP. Is the Sandbox started?")
        if "X-Daytona-Skip-Last-Activity-Update" not in req.headers:
            kept.touch()
        return kept

    def since(self, *version):
        return tuple(map(int, self.daemon.split("."))) >= version

    @route("GET", TB + "/(?P<what>work-dir|user-home-dir)")
    def directory(self, req, id, what):
        self.toolbox(req, id)
        return 200, {"dir": "/home/daytona"}

    # Commands.
    @route("POST", TB + "/process/execute")
    def execute(self, req, id):
        kept = self.toolbox(req, id)
        ask = check(req.json(), EXECUTE)
        if not ask["command"].strip():
            raise self.refuse(req, 400, "command is required")
        argv, text = ["/bin/bash"], ask["command"].encode()
        if not self.since(0, 160):
            argv, text = shlex.split(ask["command"]), b""
        try:
            if len(text) == 0 and any(len(a) > 131000 for a in argv):
                raise OSError(7, "argument list too long")
            p = kept.box.spawn(
                ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", *argv],
                env=ask.get("envs"), cwd=ask.get("cwd"), stdin=True)
        except OSError:
            return 200, {"exitCode": -1, "result": ""}
        return self.output(req, p, text, ask.get("timeout") or
                           (None if self.since(0, 160) else 360))

    def feed(self, p, text):
        try:
            while text:
                text = text[os.write(p.stdin, text[:65536]):]
        except OSError:
            pass
        os.close(p.stdin)

    def output(self, req, p, text, limit):
        late = threading.Event()

        def kill():
            late.set()
            try:
                p.signal(signal.SIGKILL, group=True)
            except OSError:
                pass
        timer = threading.Timer(limit, kill) if limit else None
        if timer:
            timer.daemon = True
            timer.start()
        threading.Thread(target=self.feed, args=(p, text),
                         daemon=True).start()
        parts = []
        os.close(p.stderr)
        while True:
            data = os.read(p.stdout, 65536)
            if not data:
                break
            parts.append(data)
        os.close(p.stdout)
        code = p.wait()
        if timer:
            timer.cancel()
        if late.is_set():
            raise self.refuse(req, 408, "request timeout: command execution "
                              "timeout", "REQUEST_TIMEOUT")
        return 200, {"exitCode": code,
                     "result": b"".join(parts).decode(errors="replace")}

    # Sessions.
    @route("POST", TB + "/process/session")
    def create_session(self, req, id):
        kept = self.toolbox(req, id)
        sid = check(req.json(), {"sessionId": str})["sessionId"]
        if sid in kept.sessions or sid == "entrypoint":
            raise self.refuse(req, 409, "conflict: session already exists")
        kept.sessions[sid] = Session(kept.box)
        return 201, None

    def session(self, req, kept, sid, status=404):
        if sid not in kept.sessions:
            raise self.refuse(req, status, "not found: session not found")
        return kept.sessions[sid]

    def contents(self, kept, path):
        try:
            fd = kept.box.open(path, os.O_RDONLY)
        except OSError:
            return None
        with os.fdopen(fd, "rb") as f:
            return f.read().decode(errors="replace")

    def command(self, kept, session, cid):
        known = session.commands[cid]
        shown = {"id": cid, "command": known["command"]}
        code = self.contents(kept, known["base"] + ".code")
        if code is not None:
            shown["exitCode"] = int(code)
        return shown

    def logs_of(self, kept, session, cid):
        out, err = (self.contents(kept, session.commands[cid]["base"] + end)
                    or "" for end in (".out", ".err"))
        raw = "".join(mark + line for mark, text in
                      (("\1\1\1", out), ("\2\2\2", err))
                      for line in text.splitlines(True))
        return {"output": raw, "stdout": out, "stderr": err}

    @route("POST", SESSION + "/exec")
    def session_exec(self, req, id, sid):
        kept = self.toolbox(req, id)
        ask = check(req.json(), SESSION_EXEC)
        session = self.session(req, kept, sid, 500)
        cid = session.run(kept.box, ask["command"])
        if ask.get("runAsync") or ask.get("async"):
            return 202, {"cmdId": cid, "output": None, "stdout": None,
                         "stderr": None, "exitCode": None}
        while "exitCode" not in self.command(kept, session, cid):
            if sid not in kept.sessions or self.closing.wait(0.02):
                req.shut()
        return 200, {"cmdId": cid, **self.logs_of(kept, session, cid),
                     "exitCode": self.command(kept, session, cid)["exitCode"]}

    @route("GET", SESSION)
    def get_session(self, req, id, sid):
        kept = self.toolbox(req, id)
        session = self.session(req, kept, sid)
        return 200, {"sessionId": sid, "commands": [
            self.command(kept, session, c) for c in session.commands]}

    @route("GET", SESSION + "/command/(?P<cid>[^/]+)(?P<logs>/logs)?")
    def get_command(self, req, id, sid, cid, logs):
        kept = self.toolbox(req, id)
        session = self.session(req, kept, sid)
        if cid not in session.commands:
            raise self.refuse(req, 404, "not found: command not found")
        if not logs:
            return 200, self.command(kept, session, cid)
        return 200, self.logs_of(kept, session, cid)

    def end_session(self, kept, sid):
        session = kept.sessions.pop(sid)
        try:
            session.p.signal(signal.SIGKILL, group=True)
        except OSError:
            pass

    @route("DELETE", SESSION)
    def delete_session(self, req, id, sid):
        kept = self.toolbox(req, id)
        self.session(req, kept, sid)
        self.end_session(kept, sid)
        return 204, None

    # Terminals.
    def terminal(self, req, kept, tid):
        if tid not in kept.terminals:
            raise self.refuse(req, 404, "PTY session not found")
        return kept.terminals[tid]

    def new_terminal(self, req, kept, ask):
        if ask["id"] in kept.terminals:
            raise self.refuse(req, 409, "PTY session already exists")
        kept.terminals[ask["id"]] = Terminal(self, kept, ask)
        return kept.terminals[ask["id"]]

    @route("POST", TB + "/process/pty")
    def create_terminal(self, req, id):
        kept = self.toolbox(req, id)
        ask = check(req.json(), {"id": str, **SIZE, "?cwd": str,
                                 "?envs": {str: str}, "?lazyStart": bool})
        self.new_terminal(req, kept, ask)
        return 201, {"sessionId": ask["id"]}

    def begin_terminal(self, req):
        """The answer names one of the protocols that were offered."""
        offered = [p.strip() for p in
                   req.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        if EXIT not in offered:
            raise Invalid(f"Sec-WebSocket-Protocol: {offered}")
        handshake(req, {"Sec-WebSocket-Protocol": EXIT})
        return offered

    @route("GET", TB + "/process/pty/create-connect")
    def create_connect(self, req, id):
        kept = self.toolbox(req, id)
        ask = dict(check(req.query, {"id": str, "cols": str, "rows": str,
                                     "?cwd": str}, "query"))
        ask.update(cols=int(ask["cols"]), rows=int(ask["rows"]))
        for name in self.begin_terminal(req):
            if name.startswith(ENVS):
                code = name[len(ENVS):]
                ask["envs"] = json.loads(base64.urlsafe_b64decode(
                    code + "=" * (-len(code) % 4)))
        self.new_terminal(req, kept, ask).converse(req)

    @route("GET", TB + "/process/pty/(?P<tid>[^/]+)/connect")
    def connect_terminal(self, req, id, tid):
        terminal = self.terminal(req, self.toolbox(req, id), tid)
        self.begin_terminal(req)
        terminal.converse(req)

    @route("POST", TB + "/process/pty/(?P<tid>[^/]+)/resize")
    def resize_terminal(self, req, id, tid):
        kept = self.toolbox(req, id)
        self.terminal(req, kept, tid).resize(check(req.json(), SIZE))
        return 200, {"id": tid, "active": True}

    @route("DELETE", TB + "/process/pty/(?P<tid>[^/]+)")
    def end_terminal(self, req, id, tid):
        self.terminal(req, self.toolbox(req, id), tid).kill()
        return 200, {"message": "PTY session deleted"}

    # Files.
    def path(self, text):
        return os.path.normpath(os.path.join("/home/daytona", text))

    def write(self, kept, path, pieces):
        size = 0
        fd = kept.box.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
                           parents=True)
        with os.fdopen(fd, "wb", buffering=0) as f:
            for data in pieces:
                f.write(data)
                size += len(data)
        return {"path": path, "bytes": size}

    @route("POST", TB + "/files/bulk-upload")
    def bulk_upload(self, req, id):
        kept = self.toolbox(req, id)
        paths, done, errors = {}, [], []
        for name, data in Form(req).parts():
            part = re.fullmatch(r"files\[(\d+)\]\.(path|file)", name)
            if not part:
                raise Invalid(f"body: a part named {name!r}")
            if part[2] == "path":
                paths[part[1]] = b"".join(data).decode("utf-8",
                                                       "surrogateescape")
                continue
            if part[1] not in paths:
                errors.append(f"file[{part[1]}]: missing .path metadata")
                for _ in data:
                    pass
                continue
            dest = paths[part[1]]
            try:
                done.append(self.write(kept, self.path(dest), data))
            except Gone:
                raise
            except OSError as e:
                errors.append(f"{dest}: create: open {dest}: {words(e)}")
                for _ in data:
                    pass
        if errors:
            return 400, {"errors": errors, "files": done}
        return 200, {"files": done} if self.since(0, 160) else None

    @route("POST", TB + "/files/upload")
    def upload(self, req, id):
        kept = self.toolbox(req, id)
        path = self.path(check(req.query, {"path": str}, "query")["path"])
        try:
            for name, data in Form(req).parts():
                if name != "file":
                    raise Invalid(f"body: a part named {name!r}")
                self.write(kept, path, data)
        except Gone:
            raise
        except OSError as e:
            raise self.refuse(req, 400, f"open {path}: {words(e)}") from e
        return 200, {}

    def open_file(self, kept, path):
        """A descriptor, or (status, words)."""
        try:
            fd = kept.box.open(path, os.O_RDONLY)
        except PermissionError:
            return None, (403, f"access denied: {path}")
        except (FileNotFoundError, NotADirectoryError):
            return None, (404, f"file not found: {path}")
        except OSError as e:
            return None, (400, f"invalid file path: {path}: {words(e)}")
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            return None, (400, f"invalid file path: {path} is no file")
        return fd, None

    def send_file(self, req, fd):
        with os.fdopen(fd, "rb", buffering=0) as f:
            while True:
                data = f.read(FILE)
                if not data:
                    break
                req.send(data)

    @route("GET", TB + "/files/download")
    def download(self, req, id):
        kept = self.toolbox(req, id)
        path = self.path(check(req.query, {"path": str}, "query")["path"])
        fd, wrong = self.open_file(kept, path)
        if wrong:
            return Reply(wrong[0])
        req.begin(200, {"Content-Type": "application/octet-stream",
                        "Content-Length": os.fstat(fd).st_size})
        self.send_file(req, fd)
        return None

    @route("POST", TB + "/files/bulk-download")
    def bulk_download(self, req, id):
        kept = self.toolbox(req, id)
        paths = check(req.json(), {"paths": [str]})["paths"]
        if not paths:
            return 400, {"error": 'request body must be {"paths": [ ... ]} '
                         "and non-empty"}
        req.begin(200, {"Content-Type":
                        f"multipart/form-data; boundary={BOUNDARY}"})
        for i, name in enumerate(paths):
            fd, wrong = self.open_file(kept, self.path(name))
            coded = urllib.parse.quote(name, safe="")
            head = (f"{chr(13) + chr(10) if i else ''}--{BOUNDARY}\r\n"
                    'Content-Disposition: form-data; name="'
                    f'{"error" if wrong else "file"}"; filename="{name}"; '
                    f"filename*=utf-8''{coded}\r\n")
            if wrong:
                body = Reply(200, self.error(req, *wrong, CODES[wrong[0]]))
                req.send((head + "Content-Type: application/json; "
                          "charset=utf-8\r\n\r\n").encode())
                req.send(json.dumps(body.body).encode())
                continue
            size = os.fstat(fd).st_size
            req.send((head + f"Content-Length: {size}\r\nContent-Type: "
                      "application/octet-stream\r\n\r\n").encode())
            self.send_file(req, fd)
        req.send(f"\r\n--{BOUNDARY}--\r\n".encode())
        req.end()
        return None

    def shown(self, kept, path):
        s = os.stat_result(kept.box.os("stat", path))
        when = time.gmtime(s.st_mtime)
        return {"name": os.path.basename(path), "size": s.st_size,
                "isDir": stat.S_ISDIR(s.st_mode), "owner": "daytona",
                "group": "daytona", "mode": stat.filemode(s.st_mode),
                "permissions": f"{s.st_mode & 0o7777:04o}",
                "modTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", when),
                "modifiedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", when)}

    def file_call(self, req, id, shape, work):
        kept = self.toolbox(req, id)
        query = check(req.query, shape, "query")
        path = self.path(query.get("path", "."))
        try:
            return work(kept, path)
        except FileNotFoundError as e:
            raise self.refuse(req, 404, f"file not found: {path}") from e
        except OSError as e:
            raise self.refuse(req, 400, f"{path}: {words(e)}") from e

    @route("GET", TB + "/files/info")
    def file_info(self, req, id):
        return self.file_call(req, id, {"path": str}, lambda kept, path:
                              (200, self.shown(kept, path)))

    @route("GET", TB + "/files")
    def list_files(self, req, id):
        return self.file_call(req, id, {"?path": str}, lambda kept, path: (
            200, [self.shown(kept, os.path.join(path, name))
                  for name in sorted(kept.box.os("listdir", path))]))

    @route("POST", TB + "/files/folder")
    def make_folder(self, req, id):
        def work(kept, path):
            kept.box.os("makedirs", path, int(req.query["mode"], 8), True)
            return 201, None
        return self.file_call(req, id, {"path": str, "mode": str}, work)

    @route("DELETE", TB + "/files")
    def delete_file(self, req, id):
        def work(kept, path):
            if not stat.S_ISDIR(kept.box.os("lstat", path)[0]):
                kept.box.os("unlink", path)
            elif req.query.get("recursive") != "true":
                raise Refused(400, self.error(req, 400, "is a directory"))
            else:
                kept.box.shell('rm -rf -- "$P"', env={"P": path})
            return 204, None
        return self.file_call(req, id, {"path": str, "?recursive": str}, work)
