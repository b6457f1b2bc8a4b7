#!/usr/bin/python3
# modal_router.py - Modal's task command router: processes in a sandbox.
# SPDX-License-Identifier: MIT
"""Output is kept from its first byte, so that any offset can be read any
number of times; an exec's id makes a repeated start the same one; input is
counted, and a stream of it may break and be resumed."""
import json
import os
import threading
import time

from cloud import Invalid, Refused, route
from grpc_link import Failure
from modal_messages import as_json, parse, pb

SERVICE = "/modal.task_command_router.TaskCommandRouter/"
TOOL = "/__modal/.bin/modal-sandbox-fs-tools"
ARGUMENTS = 65536
# What the tool does, inside: JSON in, bytes over the pipes, JSON for errors.
TOOL_CODE = r'''
import errno, json, os, shutil, stat, sys
ask, = json.loads(sys.argv[1]).items()
verb, path = ask[0], ask[1]["path"]
kinds = {errno.ENOENT: "NotFound", errno.EISDIR: "IsDirectory",
         errno.EACCES: "PermissionDenied", errno.EROFS: "PermissionDenied",
         errno.EPERM: "PermissionDenied", errno.ENOTDIR: "NotDirectory",
         errno.EEXIST: "PathAlreadyExists",
         errno.ENOTEMPTY: "DirectoryNotEmpty"}
def entry(p):
    s = os.lstat(p)
    return {"name": os.path.basename(p), "path": p, "size": s.st_size,
            "type": "directory" if stat.S_ISDIR(s.st_mode) else "file",
            "mode": oct(s.st_mode & 0o7777)[2:], "permissions": "",
            "owner": "root", "group": "root", "modified_time": s.st_mtime}
try:
    if not path.startswith("/"):
        raise OSError(errno.ENOENT, "no absolute path")
    if verb == "WriteFile":
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            shutil.copyfileobj(sys.stdin.buffer, f)
    elif verb == "ReadFile":
        with open(path, "rb") as f:
            shutil.copyfileobj(f, sys.stdout.buffer)
    elif verb == "ListFiles":
        print(json.dumps([entry(os.path.join(path, n))
                          for n in sorted(os.listdir(path))]))
    elif verb == "Stat":
        print(json.dumps(entry(path)))
    elif verb == "MakeDirectory":
        os.makedirs(path) if ask[1].get("parents") else os.mkdir(path)
    elif verb == "Remove":
        d = os.path.isdir(path)
        shutil.rmtree(path) if d and ask[1].get("recursive") else \
            os.rmdir(path) if d else os.unlink(path)
    else:
        raise OSError(errno.ENOSYS, verb)
except OSError as e:
    kind = kinds.get(e.errno, "Other")
    print(json.dumps({"error_kind": kind, "message": e.strerror,
                      "detail": path}), file=sys.stderr)
    sys.exit(1)
'''


class Exec:
    """A process, with all of its output so far."""

    def __init__(self, ask, box, argv, workdir):
        self.ask = ask
        self.p = box.spawn(argv, cwd=workdir, stdin=True)
        self.lock = threading.Condition()
        self.input = threading.RLock()  # a stream's write is whole
        self.kept = [bytearray(), bytearray()]
        self.open = [True, True]
        self.written, self.closed, self.stream = 0, False, 0
        wanted = (ask.stdout_config, ask.stderr_config)
        for i, fd in enumerate((self.p.stdout, self.p.stderr)):
            threading.Thread(target=self.pump, args=(i, fd, wanted[i]),
                             daemon=True).start()
        if ask.HasField("timeout_secs"):
            timer = threading.Timer(ask.timeout_secs, self.kill)
            timer.daemon = True
            timer.start()

    def kill(self):
        if self.p.wait(0) is None:
            try:
                self.p.signal(9, group=True)
            except OSError:
                pass

    def pump(self, i, fd, wanted):
        while True:
            try:
                data = os.read(fd, 65536)
            except OSError:
                data = b""
            with self.lock:
                if wanted:
                    self.kept[i] += data
                self.open[i] = bool(data)
                self.lock.notify_all()
            if not data:
                break
        os.close(fd)

    def read(self, i, at, most, gone):
        """Bytes from at on; b"" at the end."""
        with self.lock:
            while True:
                if len(self.kept[i]) > at:
                    return bytes(self.kept[i][at:at + most])
                # background children may hold the pipe: as with the real one
                if not self.open[i]:
                    return b""
                if gone():
                    return b""
                self.lock.wait(0.05)

    def write(self, data, eof):
        if self.closed and (data or eof):
            raise Failure(9, "stdin is closed")
        try:
            view = memoryview(data)
            while view:
                n = os.write(self.p.stdin, view)
                view = view[n:]
                self.written += n
            if eof:
                self.close()
        except BrokenPipeError:
            self.close()
            self.p.wait(5)  # it is about to end, as the SDK expects
            raise Failure(9, "the process has closed its stdin") from None

    def close(self):
        if not self.closed:
            self.closed = True
            os.close(self.p.stdin)


class Router:
    """Part of modal.Modal, which has tasks by id."""

    def task(self, req, ask):
        headers = req.headers
        token = headers.get("authorization", "")
        for name in headers:
            if name.startswith("x-modal"):
                raise Invalid(f"{name} went to the router")
        kept = self.tasks.get(ask.task_id)
        if not kept:
            raise Failure(5, f"no such task: {ask.task_id}")
        if kept.tokens.get(token.removeprefix("Bearer "), 0) < time.time():
            raise Failure(16, "the token is not valid")
        if kept.status:
            raise Failure(5, "the task has ended")
        return kept

    def process(self, req, ask):
        kept = self.task(req, ask)
        if ask.exec_id not in kept.execs:
            raise Failure(5, f"no such exec: {ask.exec_id}")
        return kept.execs[ask.exec_id]

    def routed(self, req, kind):
        if not req.headers.get("authorization", "").startswith("Bearer "):
            raise Failure(16, "no token")
        return parse(kind, req.message(), self.lenient)

    @route("POST", SERVICE + "TaskExecStart")
    def exec_start(self, req):
        ask = self.routed(req, pb.TaskExecStartRequest)
        kept = self.task(req, ask)
        argv = list(ask.command_args)
        if not argv or sum(len(a.encode()) for a in argv) > ARGUMENTS:
            raise Failure(3, "command_args: none or too long")
        if not ask.exec_id or not {ask.stdout_config, ask.stderr_config} <= \
                {0, 1}:
            raise Invalid("exec_id, stdout_config or stderr_config")
        with kept.lock:
            if ask.exec_id in kept.execs:
                return 200, b""
            if argv[0] == TOOL:
                argv = ["/usr/bin/python3", "-S", "-E", "-c", TOOL_CODE,
                        *argv[1:]]
            try:
                kept.execs[ask.exec_id] = Exec(
                    ask, kept.box, argv, ask.workdir or kept.workdir)
            except OSError as e:
                raise Failure(3, f"{argv[0]}: {e.strerror}") from e
            self.n_execs += 1
        return 200, b""

    @route("POST", SERVICE + "TaskExecStdioRead")
    def exec_read(self, req):
        ask = self.routed(req, pb.TaskExecStdioReadRequest)
        x = self.process(req, ask)
        if ask.file_descriptor not in (0, 1):
            raise Invalid("file_descriptor")
        timeout = req.headers.get("grpc-timeout")
        end = time.monotonic() + (seconds(timeout) if timeout else 1e9)
        at = ask.offset
        req.begin()
        while True:
            data = x.read(ask.file_descriptor, at, self.most,
                          lambda: req.gone or time.monotonic() > end)
            if not data:
                break
            at += len(data)
            req.send(pb.TaskExecStdioReadResponse(
                data=data).SerializeToString())
        if time.monotonic() > end:
            raise Failure(4, "deadline exceeded")
        req.end()

    def outcome(self, x):
        code = x.p.status
        kind = pb.TaskExecWaitResponse
        return (kind(code=code) if code >= 0 else
                kind(signal=-code)).SerializeToString()

    @route("POST", SERVICE + "TaskSetNetworkAccess")
    def set_network(self, req):
        ask = self.routed(req, pb.TaskSetNetworkAccessRequest)
        req.log["message"] = as_json(ask)
        kept = self.task(req, ask)
        before = kept.ask.definition.network_access
        if (before.network_access_type, ask.network_access.
                network_access_type) != (3, 3):
            raise Failure(3, "only between allow lists")
        before.CopyFrom(ask.network_access)
        return 200, b""

    @route("POST", SERVICE + "TaskExecWait")
    def exec_wait(self, req):
        x = self.process(req, self.routed(req, pb.TaskExecRequest))
        end = time.monotonic() + seconds(req.headers.get("grpc-timeout",
                                                         "600S"))
        while x.p.wait(0.05) is None:
            if req.gone or time.monotonic() > end:
                raise Failure(4, "deadline exceeded")
        return 200, self.outcome(x)

    @route("POST", SERVICE + "TaskExecPoll")
    def exec_poll(self, req):
        x = self.process(req, self.routed(req, pb.TaskExecRequest))
        return 200, b"" if x.p.wait(0) is None else self.outcome(x)

    @route("POST", SERVICE + "TaskExecStdinWrite")
    def stdin_write(self, req):
        ask = self.routed(req, pb.TaskExecStdinWriteRequest)
        x = self.process(req, ask)
        if ask.offset > x.written:
            raise Failure(11, f"offset {ask.offset} is past {x.written}")
        x.write(ask.data[x.written - ask.offset:], ask.eof)
        return 200, b""

    @route("POST", SERVICE + "TaskExecStdinStatus")
    def stdin_status(self, req):
        x = self.process(req, self.routed(req, pb.TaskExecRequest))
        with x.input:
            x.stream += 1  # ends one that is still open
            return 200, pb.TaskExecStdinStatusResponse(
                num_bytes_written=x.written,
                closed=x.closed).SerializeToString()

    @route("POST", SERVICE + "TaskExecStdinWriteStream")
    def stdin_stream(self, req):
        x, mine = None, 0
        for data in req.messages():
            ask = parse(pb.TaskExecStdinWriteStreamRequest, data, self.lenient)
            payload = ask.WhichOneof("payload")
            if (payload == "start") != (x is None):
                raise Invalid(f"payload: {payload}")
            if payload == "start":
                x = self.process(req, ask.start)
                at = ask.start.offset
                if at > x.written:
                    raise Failure(11, f"offset {at} is past {x.written}")
                with x.input:
                    x.stream += 1
                    mine = x.stream
                continue
            with x.input:
                if x.stream != mine:
                    raise Failure(10, "another stream took over")
                fresh = ask.data[max(x.written - at, 0):]
                at += len(ask.data)
                x.write(fresh, payload == "end")
        if x is None:
            raise Invalid("no messages")
        return 200, b""

    @route("POST", SERVICE + "TaskSnapshotFilesystem")
    def snapshot(self, req):
        ask = self.routed(req, pb.TaskSnapshotFilesystemRequest)
        kept = self.task(req, ask)
        if not ask.HasField("ttl_seconds") or ask.ttl_seconds == 0 or \
                ask.ttl_seconds < -1:
            raise Invalid("ttl_seconds")
        with kept.lock:
            if ask.snapshot_id not in self.snapshots:
                id = self.new_id("im-")
                self.images[id] = {"source": kept.box.save()}
                self.snapshots[ask.snapshot_id] = id
        return 200, pb.TaskSnapshotFilesystemResponse(
            image_id=self.snapshots[ask.snapshot_id]).SerializeToString()


def seconds(text):
    scale = {"H": 3600, "M": 60, "S": 1, "m": 1e-3, "u": 1e-6, "n": 1e-9}
    if len(text) > 9 or text[-1] not in scale or not text[:-1].isdigit():
        raise Refused(400, {"message": f"grpc-timeout: {text}"})
    return int(text[:-1]) * scale[text[-1]]


def jwt(**claims):
    """Unsigned, but of the right shape."""
    import base64
    parts = [{"alg": "HS256", "typ": "JWT"}, claims]
    return ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).decode()
                    .rstrip("=") for p in parts) + ".c2ln"
