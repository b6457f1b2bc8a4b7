#!/usr/bin/python3
# deno_rpc.py - inside an emulated Deno sandbox: JSON-RPC over one socket.
# SPDX-License-Identifier: MIT
"""What a socket to a sandbox is told and tells, as schema.js and proto.js of
@deno/sandbox 0.13.2 have it. Requests run side by side; their replies and the
streams' parts come in any order. Anything that the schema does not know is
refused and noted as a violation."""
import base64
import contextlib
import errno
import json
import os
import queue
import signal
import stat
import threading
import time

from cloud import Gone, Invalid, check

CHUNK = 32768
ROOM = 16  # parts of a stream that wait to be used
NUMBER = (lambda v: isinstance(v, int) and not isinstance(v, bool)
          and v >= 0)
BASE64 = (lambda v: isinstance(v, str) and
          base64.b64decode(v, validate=True) is not None)
FLAG, WORD, COUNT = (bool, None), (str, None), (NUMBER, None)
PIPE = {"piped", "null"}
WRITE = ({"append": FLAG, "create": FLAG, "createNew": FLAG, "mode": COUNT})
WRITE = ({f"?{k}": v for k, v in WRITE.items()}, None)
PATH = {"path": str, "?abortId": COUNT}
SHAPES = {
    "abort": {"abortId": NUMBER},
    "readFile": PATH,
    "readTextFile": PATH,
    "writeFile": ({**PATH, "?options": WRITE, "content": BASE64},
                  {**PATH, "?options": WRITE, "contentStreamId": NUMBER}),
    "writeTextFile": ({**PATH, "?options": WRITE, "content": str},
                      {**PATH, "?options": WRITE, "contentStreamId": NUMBER}),
    "readDir": {"path": str},
    "remove": {"path": str, "?options": ({"?recursive": FLAG}, None)},
    "mkdir": {"path": str, "?options": ({"?recursive": FLAG, "?mode": COUNT},
                                        None)},
    "rename": {"oldPath": str, "newPath": str},
    "stat": {"path": str},
    "lstat": {"path": str},
    "chmod": {"path": str, "mode": NUMBER},
    "realPath": {"path": str},
    "envGet": {"key": str},
    "envSet": {"key": str, "value": str},
    "envDelete": {"key": str},
    "envToObject": (None, {}),
    "spawn": {"command": str, "?args": ([str], None),
              "?env": ({str: str}, None), "?clearEnv": FLAG, "?cwd": WORD,
              "?stdinStreamId": COUNT, "stdout": PIPE, "stderr": PIPE},
    "exposeHttp": {"domain": str, "port": lambda v: 0 < v < 65536},
    "processWait": {"pid": NUMBER, "?vscode": FLAG},
    "processKill": {"pid": NUMBER, "?signal": WORD, "?vscode": FLAG},
}
STREAM = {
    "start": {"streamId": NUMBER},
    "enqueue": {"streamId": NUMBER, "data": BASE64},
    "end": {"streamId": NUMBER},
    "error": {"streamId": NUMBER, "error": (dict, None)},
    "cancel": {"streamId": NUMBER, "reason": (dict, None)},
}
NAMES = {errno.ENOENT: "NotFound", errno.EACCES: "PermissionDenied",
         errno.EPERM: "PermissionDenied", errno.EISDIR: "IsADirectory",
         errno.ENOTDIR: "NotADirectory", errno.EEXIST: "AlreadyExists"}


def failure(e):
    name = NAMES.get(e.errno, "Error")
    return {"error": {
        "constructorName": name, "name": name, "stack": None, "cause": None,
        "message": f"{e.strerror} (os error {e.errno})",
        "code": errno.errorcode.get(e.errno), "errors": None,
        "suppressed": None, "error": None}}


def error(number, text):
    return OSError(number, text)


class Session:
    """One socket."""

    def __init__(self, cloud, kept, ws):
        self.cloud, self.kept, self.ws = cloud, kept, ws
        self.box = kept.box
        self.lock = threading.Lock()
        self.next_stream = 0
        self.inbound, self.processes, self.over = {}, {}, False
        self.unwanted = set()  # our streams that were cancelled
        self.refused = set()  # theirs that nobody reads
        self.asked = {}  # processWait, by process
        self.env = kept.__dict__.setdefault("env", {})

    def end(self, code):
        self.over = True
        try:
            self.ws.close(code)
            self.ws.req.handler.shut()
        except (Gone, OSError, ValueError):
            pass

    def release(self, hangup):
        self.over = True
        for number, parts in list(self.inbound.items()):
            self.refuse(number)
            parts.put(None)
        for p in list(self.processes.values()) if hangup else ():
            try:
                p.signal(signal.SIGKILL, group=True)
            except OSError:
                pass

    def violation(self, text):
        self.cloud.violations.append(text)

    def serve(self):
        frames = self.ws.req.log["frames"] = []
        while not self.over:
            text = self.ws.text()
            if text is None:
                return
            if text == b"ping":
                self.ws.frame(1, b"pong")
                continue
            try:
                message = json.loads(text)
                if message.get("jsonrpc") != "2.0" or not isinstance(
                        message.get("method"), str):
                    raise Invalid("no request")
            except (ValueError, AttributeError) as e:
                self.violation(f"frame: {e}: {text[:200]!r}")
                self.end(4000)
                return
            if len(text) < 4096:
                frames.append(message)
            try:
                self.obey(message)
            except ValueError as e:
                self.violation(f"{message['method']}: {e}")
                self.end(4001)

    def obey(self, message):
        method, params = message["method"], message.get("params")
        if method.startswith("$sandbox.stream."):
            event = method.rpartition(".")[2]
            if event not in STREAM or "id" in message:
                raise Invalid("no such notification")
            check(params, STREAM[event], "params")
            self.on_stream(event, params)
            return
        check(message, {"jsonrpc": str, "id": NUMBER, "method": str,
                        "?params": (dict, None)}, "message")
        if method not in SHAPES:
            return self.ws.tell(jsonrpc="2.0", id=message["id"], error={
                "code": -32601, "message": f"Method not found: {method}"})
        check(params, SHAPES[method], "params")
        self.cloud.calls.append({"method": method, "params": params,
                                 "began": time.monotonic()})
        threading.Thread(target=self.perform, daemon=True,
                         args=[message["id"], method, params]).start()

    def perform(self, number, method, params):
        after = None
        try:
            ok = getattr(self, "do_" + method)(**(params or {}))
            if isinstance(ok, tuple):
                ok, after = ok
            result = {"ok": ok}
        except OSError as e:
            result = failure(e)
        except Gone:
            return
        try:
            if not self.over:
                self.ws.tell(jsonrpc="2.0", id=number, result=result)
            if after:
                after()
        except (Gone, OSError):
            pass

    # Streams.
    def on_stream(self, event, params):
        if event == "cancel":
            self.unwanted.add(params["streamId"])
            return
        if params["streamId"] in self.refused:
            return
        parts = self.stream(params["streamId"])
        if event == "enqueue":
            parts.put(base64.b64decode(params["data"]))
        elif event == "end":
            parts.put(b"")
        elif event == "error":
            parts.put(None)

    def stream(self, number):
        with self.lock:
            return self.inbound.setdefault(number, queue.Queue(ROOM))

    def refuse(self, number):
        """What still comes of a stream would stop all others, unread."""
        parts = self.stream(number)
        self.refused.add(number)
        with contextlib.suppress(queue.Empty):
            while True:
                parts.get_nowait()

    def parts(self, number):
        parts = self.stream(number)
        while True:
            data = parts.get()
            if data is None:
                raise error(errno.EIO, "the stream ends early")
            if not data:
                with self.lock:
                    del self.inbound[number]
                return
            yield data

    def notify(self, event, number, **more):
        self.ws.tell(jsonrpc="2.0", method=f"$sandbox.stream.{event}",
                     params={"streamId": number, **more})

    def number(self):
        with self.lock:
            self.next_stream += 1
            return self.next_stream - 1

    def pump(self, fd, number, pid):
        gone = False
        with os.fdopen(fd, "rb", buffering=0) as f:
            while True:
                data = f.read(CHUNK)
                gone = gone or number in self.unwanted
                try:
                    if not gone and data:
                        self.notify("enqueue", number,
                                    data=base64.b64encode(data).decode())
                    elif not gone:
                        if self.cloud.late:
                            self.waiting(pid).wait(30)
                        self.notify("end", number)
                except (Gone, OSError, ValueError):
                    gone = True
                if not data:
                    return

    def waiting(self, pid):
        with self.lock:
            return self.asked.setdefault(pid, threading.Event())

    # Processes.
    def do_spawn(self, command, stdout, stderr, args=None, env=None,
                 clearEnv=None, cwd=None, stdinStreamId=None):
        if cwd and not os.path.isabs(cwd):
            cwd = os.path.join("/home/sandbox", cwd)
        try:
            if cwd and not stat.S_ISDIR(self.box.os("stat", cwd)[0]):
                raise error(errno.ENOTDIR, f"No such cwd '{cwd}'")
        except FileNotFoundError as e:
            raise error(errno.ENOENT, f"No such cwd '{cwd}'") from e
        p = self.box.spawn([command, *(args or [])],
                           env={**self.env, **(env or {})}, cwd=cwd,
                           stdin=stdinStreamId is not None)
        self.processes[p.pid] = self.kept.__dict__.setdefault(
            "processes", {})[p.pid] = p
        ids, pumps = {}, []
        if self.cloud.noise:
            self.notify("enqueue", 1 << 20, data=base64.b64encode(
                bytes(self.cloud.noise)).decode())
        for name, how, fd in (("stdoutStreamId", stdout, p.stdout),
                              ("stderrStreamId", stderr, p.stderr)):
            ids[name] = self.number() if how == "piped" else None
            if how == "piped":
                pumps.append((fd, ids[name]))
            else:
                threading.Thread(target=self.drain, args=[fd],
                                 daemon=True).start()

        def after():
            for fd, number in pumps:
                try:
                    self.notify("start", number)
                except (Gone, OSError):
                    pass
                threading.Thread(target=self.pump, args=[fd, number, p.pid],
                                 daemon=True).start()
        if stdinStreamId is not None:
            threading.Thread(target=self.feed, args=[p, stdinStreamId],
                             daemon=True).start()
        return {"pid": p.pid, **ids}, after

    def drain(self, fd):
        with os.fdopen(fd, "rb", buffering=0) as f:
            while f.read(CHUNK):
                pass

    def feed(self, p, number):
        try:
            for data in self.parts(number):
                os.write(p.stdin, data)
        except OSError:
            pass
        os.close(p.stdin)

    def process(self, pid):
        p = self.kept.__dict__.get("processes", {}).get(pid)
        if not p:
            raise error(errno.ENOENT, "No such process")
        return p

    def do_processWait(self, pid, vscode=None):
        p = self.process(pid)
        self.waiting(pid).set()
        code = p.wait()
        name = signal.Signals(-p.status).name if p.status < 0 else None
        return {"success": code == 0, "code": code, "signal": name,
                "oom": None}

    def do_processKill(self, pid, signal=None, vscode=None):
        import signal as signals
        p = self.process(pid)
        if p.status is not None:
            raise error(errno.ENOENT, "No such process")
        p.signal(getattr(signals, signal or "SIGTERM"))

    def do_exposeHttp(self, domain, port):
        if domain not in self.kept.domains:
            raise error(errno.ENOENT, "No such domain")
        self.kept.domains[domain] = port

    # Files.
    def path(self, path):
        return os.path.join("/home/sandbox", path)

    def read(self, path):
        fd = self.box.open(self.path(path), os.O_RDONLY)
        with os.fdopen(fd, "rb") as f:
            return f.read()

    def do_readFile(self, path, abortId=None):
        return base64.b64encode(self.read(path)).decode()

    def do_readTextFile(self, path, abortId=None):
        return self.read(path).decode(errors="replace")

    def write(self, path, parts, options):
        options = options or {}
        flags = os.O_WRONLY
        if options.get("create") is not False:
            flags |= os.O_CREAT
        flags |= os.O_APPEND if options.get("append") else os.O_TRUNC
        if options.get("createNew"):
            flags |= os.O_EXCL
        mode = options.get("mode")
        fd = self.box.open(self.path(path), flags,
                           0o666 if mode is None else mode)
        with os.fdopen(fd, "wb", buffering=0) as f:
            if mode is not None:
                os.fchmod(fd, mode)
            for data in parts:
                f.write(data)

    def do_writeFile(self, path, content=None, contentStreamId=None,
                     options=None, abortId=None):
        if content is not None:
            self.write(path, [base64.b64decode(content)], options)
            return
        try:
            self.write(path, self.parts(contentStreamId), options)
        except OSError:
            self.refuse(contentStreamId)
            raise

    def do_writeTextFile(self, path, content=None, contentStreamId=None,
                         options=None, abortId=None):
        parts = [content.encode()] if content is not None \
            else self.parts(contentStreamId)
        self.write(path, parts, options)

    def do_mkdir(self, path, options=None):
        options, path = options or {}, self.path(path)
        mode = options.get("mode") or 0o777
        if not options.get("recursive"):
            self.box.os("mkdir", path, mode)
            return
        at = "/"
        for name in path.strip("/").split("/"):
            at = os.path.join(at, name)
            try:
                self.box.os("mkdir", at, mode)
            except OSError as e:
                if not stat.S_ISDIR(self.box.os("stat", at)[0]):
                    raise e

    def do_remove(self, path, options=None):
        path = self.path(path)
        if not stat.S_ISDIR(self.box.os("lstat", path)[0]):
            self.box.os("unlink", path)
        elif (options or {}).get("recursive"):
            for name in self.box.os("listdir", path):
                self.do_remove(os.path.join(path, name), options)
            self.box.os("rmdir", path)
        else:
            self.box.os("rmdir", path)

    def do_readDir(self, path):
        found = []
        for name in self.box.os("listdir", self.path(path)):
            mode = self.box.os("lstat", os.path.join(self.path(path),
                                                     name))[0]
            found.append({"name": name, "isFile": stat.S_ISREG(mode),
                          "isDirectory": stat.S_ISDIR(mode),
                          "isSymlink": stat.S_ISLNK(mode)})
        return found

    def do_rename(self, oldPath, newPath):
        self.box.os("rename", self.path(oldPath), self.path(newPath))

    def do_chmod(self, path, mode):
        self.box.os("chmod", self.path(path), mode)

    def do_realPath(self, path):
        return os.path.normpath(self.path(path))

    def about(self, how, path):
        s = os.stat_result(self.box.os(how, self.path(path)))
        when = {name: time.strftime("%Y-%m-%dT%H:%M:%S.000Z",
                                    time.gmtime(value))
                for name, value in (("mtime", s.st_mtime),
                                    ("atime", s.st_atime),
                                    ("ctime", s.st_ctime),
                                    ("birthtime", s.st_ctime))}
        m = s.st_mode
        return {"isFile": stat.S_ISREG(m), "isDirectory": stat.S_ISDIR(m),
                "isSymlink": stat.S_ISLNK(m), "size": s.st_size, **when,
                "mode": m, "dev": s.st_dev, "ino": s.st_ino,
                "nlink": s.st_nlink, "uid": s.st_uid, "gid": s.st_gid,
                "rdev": 0, "blksize": 4096, "blocks": 0,
                "isBlockDevice": stat.S_ISBLK(m),
                "isCharDevice": stat.S_ISCHR(m), "isFifo": stat.S_ISFIFO(m),
                "isSocket": stat.S_ISSOCK(m)}

    def do_stat(self, path):
        return self.about("stat", path)

    def do_lstat(self, path):
        return self.about("lstat", path)

    # Variables.
    def do_envGet(self, key):
        return self.env.get(key)

    def do_envSet(self, key, value):
        self.env[key] = value

    def do_envDelete(self, key):
        self.env.pop(key, None)

    def do_envToObject(self):
        return {**self.box.env, **self.env}

    def do_abort(self, abortId):
        return None
