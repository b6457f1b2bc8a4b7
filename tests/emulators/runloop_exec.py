#!/usr/bin/python3
# runloop_exec.py - executions and files of the emulated Runloop.
# SPDX-License-Identifier: MIT
"""Part of runloop.py. Commands are run by bash from the home; those of a named
shell keep its directory and variables. No execution has a time limit."""
import json
import os
import random
import re
import string
import threading

from cloud import PIECE, Invalid, Refused, check, route

UUID7 = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                   "[0-9a-f]{12}")
SHELL = """. {state} 2>/dev/null
{command}
__code=$?
{{ export -p; printf 'cd %q\\n' "$PWD"; }} >{state}
exit $__code"""


class Execution:
    def __init__(self, kept, command, shell=None, stdin=False):
        self.id = "exec_30" + "".join(random.choices(string.ascii_letters,
                                                     k=18))
        self.kept, self.shell, self.stdin = kept, shell, stdin
        self.text = {"stdout": bytearray(), "stderr": bytearray()}
        self.code, self.changed = None, threading.Condition()
        if shell:
            command = SHELL.format(state=f"/tmp/.shell-{shell}",
                                   command=command)
        self.p = kept.box.spawn(["/bin/bash", "-c", command], stdin=stdin)
        readers = [threading.Thread(target=self.read, args=args, daemon=True)
                   for args in (("stdout", self.p.stdout),
                                ("stderr", self.p.stderr))]
        for r in readers:
            r.start()
        threading.Thread(target=self.finish, args=[readers],
                         daemon=True).start()

    def read(self, name, fd):
        with os.fdopen(fd, "rb", 0) as f:
            while True:
                data = f.read(PIECE)
                if not data:
                    return
                with self.changed:
                    self.text[name] += data
                    self.changed.notify_all()

    def finish(self, readers):
        code = self.p.wait()
        for r in readers:
            r.join(0.5)  # a child in the background may hold them
        with self.changed:
            self.code = code
            self.changed.notify_all()

    def wait(self, seconds):
        with self.changed:
            self.changed.wait_for(lambda: self.code is not None, seconds)
            return self.code is not None

    def view(self, last):
        view = {"devbox_id": self.kept.id, "execution_id": self.id,
                "status": "running" if self.code is None else "completed",
                "shell_name": self.shell, "stdout": None, "stderr": None,
                "exit_status": None}
        if self.code is None:
            return view
        view["exit_status"] = self.code
        for name, data in self.text.items():
            lines = bytes(data).decode(errors="replace").splitlines(True)
            view[name] = "".join(lines[-last:])
            view[name + "_truncated"] = len(lines) > last
        return view


class Executions:
    """The devboxes' part that runs commands and moves files."""

    def last(self, req):
        check(req.query, {"?last_n": str}, "query")
        return min(int(req.query.get("last_n", "100")), self.most_lines)

    def start(self, kept, body):
        kept.active()
        made = Execution(kept, body["command"], body.get("shell_name"),
                         body.get("attach_stdin", False))
        kept.executions[made.id] = made
        return made

    def execution(self, id, eid):
        found = self.kept(id).executions.get(eid)
        if not found:
            raise Refused(404, {"message": "Execution not found"})
        return found

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/execute")
    def execute(self, req, id):
        body = check(req.json(), {
            "command_id": UUID7.fullmatch, "command": str,
            "?shell_name": (str, None), "?optimistic_timeout":
            (lambda v: v in range(0, 26), None)})
        kept, last = self.kept(id, running=True), self.last(req)
        with self.lock:
            made = kept.commands.get(body["command_id"])
            if not made:
                made = self.start(kept, body)
                kept.commands[body["command_id"]] = made
        hold = body.get("optimistic_timeout")
        made.wait(min(25 if hold is None else hold, self.hold))
        return 200, made.view(last)

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/execute_async")
    def execute_async(self, req, id):
        body = check(req.json(), {"command": str, "?shell_name": (str, None),
                                  "?attach_stdin": (bool, None)})
        return 200, self.start(self.kept(id, running=True), body).view(100)

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/execute_sync")
    def execute_sync(self, req, id):
        body = check(req.json(), {"command": str, "?shell_name": (str, None)})
        made = self.start(self.kept(id, running=True), body)
        made.wait(600)
        view = made.view(1 << 30)
        return 200, {k: view[k] for k in ("devbox_id", "stdout", "stderr",
                                          "exit_status", "shell_name")}

    @route("GET", "/v1/devboxes/(?P<id>[^/]+)/executions/(?P<eid>[^/]+)")
    def get_execution(self, req, id, eid):
        return 200, self.execution(id, eid).view(self.last(req))

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/executions/(?P<eid>[^/]+)/"
           "wait_for_status")
    def wait_execution(self, req, id, eid):
        body = check(req.json(), {
            "statuses": [{"queued", "running", "completed"}],
            "?timeout_seconds": (lambda v: v in range(1, 26), None)})
        made = self.execution(id, eid)
        if made.wait(min(body.get("timeout_seconds") or 25, self.hold)):
            return 200, made.view(self.last(req))
        return 408, {"message": "Timeout waiting for command completion"}

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/executions/(?P<eid>[^/]+)/"
           "kill")
    def kill(self, req, id, eid):
        body = check(req.json(), {"?kill_process_group": (bool, None)}) \
            if req.body() else {}
        made = self.execution(id, eid)
        if made.code is None:
            made.p.signal(9, bool(body.get("kill_process_group")))
            made.wait(2)
        return 200, made.view(100)

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/executions/(?P<eid>[^/]+)/"
           "send_std_in")
    def send_std_in(self, req, id, eid):
        body = check(req.json(), {"?text": (str, None),
                                  "?signal": ({"EOF", "INTERRUPT"}, None)})
        made = self.execution(id, eid)
        if not made.stdin or made.p.stdin is None:
            raise Refused(400, {"message": "stdin is not attached"})
        if body.get("text"):
            os.write(made.p.stdin, body["text"].encode())
        if body.get("signal") == "EOF":
            os.close(made.p.stdin)
            made.p.stdin = None
        if body.get("signal") == "INTERRUPT":
            made.p.signal(2, True)
        return 200, {"devbox_id": id, "execution_id": eid, "success": True}

    @route("GET", "/v1/devboxes/(?P<id>[^/]+)/executions/(?P<eid>[^/]+)/"
           "stream_(?P<name>stdout|stderr)_updates")
    def stream(self, req, id, eid, name):
        check(req.query, {"?offset": str}, "query")
        made, at = self.execution(id, eid), int(req.query.get("offset", "0"))
        req.begin(200, {"Content-Type": "text/event-stream"})
        while True:
            with made.changed:
                made.changed.wait_for(lambda: len(made.text[name]) > at or
                                      made.code is not None, 10)
                data = bytes(made.text[name][at:at + PIECE])
                ended = made.code is not None
            if data:
                event = {"offset": at,
                         "output": data.decode(errors="replace")}
                req.send(b"data: %b\n\n" % json.dumps(event).encode())
                at += len(data)
            elif ended:
                break
            else:
                req.send(b": ping\n\n")
        req.end()

    # Files.
    def failed(self, error):
        text = {2: (404, "File not found"), 13: (403, "Permission denied"),
                1: (403, "Permission denied"), 21: (400, "Is a directory"),
                20: (400, "Not a directory")}
        status, message = text.get(error.errno, (500, str(error)))
        return status, {"message": message}

    def absolute(self, path):
        return path if path.startswith("/") else f"/home/user/{path}"

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/upload_file")
    def upload(self, req, id):
        kept = self.kept(id, running=True)
        kept.active()
        kind = req.headers.get("Content-Type") or ""
        found = re.fullmatch(r'multipart/form-data; boundary="?([^"]+)"?',
                             kind)
        if not found:
            raise Invalid(f"Content-Type: {kind}")
        try:
            return Form(req, b"--" + found[1].encode()).store(self, kept)
        except OSError as e:
            if e.errno is None or isinstance(e, ConnectionError):
                raise
            return self.failed(e)

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/download_file")
    def download(self, req, id):
        body = check(req.json(), {"path": str})
        kept = self.kept(id, running=True)
        kept.active()
        try:
            fd = kept.box.open(self.absolute(body["path"]), os.O_RDONLY)
        except OSError as e:
            return self.failed(e)
        with os.fdopen(fd, "rb") as f:
            req.begin(200, {"Content-Type": "application/octet-stream",
                            "Content-Disposition": "attachment"})
            while True:
                data = f.read(PIECE)
                if not data:
                    break
                req.send(data)
            req.end()
        return None

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/write_file_contents")
    def write_text(self, req, id):
        body = check(req.json(), {"file_path": str, "contents": str})
        kept = self.kept(id, running=True)
        try:
            fd = kept.box.open(self.absolute(body["file_path"]),
                               os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        except OSError as e:
            return self.failed(e)
        with os.fdopen(fd, "wb") as f:
            f.write(body["contents"].encode())
        return 200, {"devbox_id": id, "stdout": "", "stderr": "",
                     "exit_status": 0}

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/read_file_contents")
    def read_text(self, req, id):
        body = check(req.json(), {"file_path": str})
        kept = self.kept(id, running=True)
        try:
            fd = kept.box.open(self.absolute(body["file_path"]), os.O_RDONLY)
        except OSError as e:
            return self.failed(e)
        with os.fdopen(fd, "rb") as f:
            req.answer(200, f.read(), {"Content-Type": "text/plain"})


class Form:
    """multipart/form-data as it arrives: a part "path", then a part "file".
    A file of any size takes little memory."""

    def __init__(self, req, mark):
        self.req, self.mark, self.buf = req, mark, b""

    def more(self):
        data = self.req.read()
        if not data:
            raise Invalid("body: the form ends early")
        self.buf += data

    def until(self, end, limit=1 << 16):
        while end not in self.buf:
            if len(self.buf) > limit:
                raise Invalid("body: no form")
            self.more()
        head, _, self.buf = self.buf.partition(end)
        return head

    def name(self):
        head = self.until(b"\r\n\r\n").decode()
        found = re.search('form-data; name="([^"]*)"', head)
        if not found:
            raise Invalid(f"body: a part without a name: {head}")
        return found[1]

    def store(self, cloud, kept):
        self.until(self.mark)
        if self.name() != "path":
            raise Invalid("body: path comes first")
        path = cloud.absolute(self.until(b"\r\n" + self.mark).decode())
        if self.name() != "file":
            raise Invalid("body: no file")
        end = b"\r\n" + self.mark
        with os.fdopen(kept.box.open(path, os.O_WRONLY | os.O_CREAT |
                                     os.O_TRUNC), "wb") as f:
            while end not in self.buf:
                keep = len(end)
                f.write(self.buf[:-keep])
                self.buf = self.buf[-keep:]
                self.more()
            f.write(self.buf.partition(end)[0])
        return 200, {}
