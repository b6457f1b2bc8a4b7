#!/usr/bin/python3
# agentcore_tools.py - what a code interpreter's tools do, with real commands.
# SPDX-License-Identifier: MIT
"""Part of agentcore.py. Each tool gives a CodeInterpreterResult. Paths of the
file tools are relative to the interpreter's directory; absolute ones and those
that lead out of it are refused."""
import base64
import os
import posixpath
import threading
import time
import uuid

from cloud import Invalid, check

PATH = (lambda v: isinstance(v, str) and 0 < len(v) <= 4096)
SHAPES = {
    "executeCommand": {"command": str},
    "executeCode": {"code": str, "language":
                    {"python", "javascript", "typescript"},
                    "?clearContext": bool, "?runtime":
                    {"nodejs", "deno", "python"}},
    "writeFiles": {"content": [({"path": PATH, "text": str},
                                {"path": PATH, "blob": str})]},
    "readFiles": {"paths": [PATH]},
    "listFiles": {"?directoryPath": str, "?path": str},
    "removeFiles": {"paths": [PATH]},
    "startCommandExecution": {"command": str},
    "getTask": {"taskId": str},
    "stopTask": {"taskId": str},
}


def text_of(*blocks):
    return [{"type": "text", "text": t} for t in blocks if t]


def failed(text):
    return {"content": text_of(text), "isError": True}


def told(out, err, code, began, **more):
    """As executeCommand tells it."""
    out, err = (x.decode(errors="replace") for x in (out, err))
    return {"content": text_of(out + err), "structuredContent": {
        "stdout": out, "stderr": err, "exitCode": code,
        "executionTime": time.monotonic() - began, **more},
        "isError": code != 0}


class Task:
    def __init__(self, box, command, cwd):
        self.id, self.began = str(uuid.uuid4()), time.monotonic()
        self.parts, self.code, self.stopped = [b"", b""], None, False
        self.process = box.spawn(["/bin/bash", "-c", command], cwd=cwd)
        threads = [threading.Thread(target=self.read, args=x, daemon=True)
                   for x in enumerate((self.process.stdout,
                                       self.process.stderr))]
        for t in threads:
            t.start()
        threading.Thread(target=self.end, args=(threads,),
                         daemon=True).start()

    def read(self, i, fd):
        with os.fdopen(fd, "rb", buffering=0) as f:
            while data := f.read(65536):
                self.parts[i] += data

    def end(self, threads):
        code = self.process.wait()
        for t in threads:
            t.join(1)
        self.code = code

    def tell(self):
        status = "working" if self.code is None else "canceled" \
            if self.stopped else "completed" if self.code == 0 else "failed"
        answer = told(*self.parts, self.code or 0, self.began, taskId=self.id,
                      taskStatus=status)
        if self.code is None:
            del answer["structuredContent"]["exitCode"]
        return answer


class Tools:
    """Mixed into the emulator: self.cwd is the interpreter's directory."""

    def tool(self, session, name, arguments):
        if name not in SHAPES:
            raise Invalid(f"body.name: {name} is not allowed")
        check(arguments, SHAPES[name], "arguments")
        return getattr(self, "do_" + name)(session, **arguments)

    def do_executeCommand(self, session, command):
        began = time.monotonic()
        code, out, err = session.box.shell(command, cwd=self.cwd)
        return told(out, err, code, began)

    def do_executeCode(self, session, code, language, clearContext=False,
                       runtime=None):
        began = time.monotonic()
        if language != "python":
            return failed(f"no {language} in this emulator")
        p = session.box.spawn(["/usr/bin/python3", "-c", code], cwd=self.cwd)
        with os.fdopen(p.stdout, "rb") as out, os.fdopen(p.stderr, "rb") as e:
            parts = out.read(), e.read()
        return told(*parts, p.wait(), began)

    def where(self, path):
        """Absolute, or None for what is refused."""
        whole = posixpath.normpath(posixpath.join(self.cwd, path))
        if path.startswith("/") or not (whole + "/").startswith(
                self.cwd.rstrip("/") + "/"):
            return None
        return whole

    def do_writeFiles(self, session, content):
        for item in content:
            path = self.where(item["path"])
            if not path:
                return failed(f"Invalid path: {item['path']}")
            data = item["text"].encode() if "text" in item else \
                base64.b64decode(item["blob"], validate=True)
            try:
                fd = session.box.open(path, os.O_WRONLY | os.O_CREAT |
                                      os.O_TRUNC, parents=True)
            except OSError as e:
                return failed(f"Error writing {item['path']}: {e.strerror}")
            with os.fdopen(fd, "wb") as f:
                f.write(data)
        return {"content": text_of(f"Successfully wrote all {len(content)} "
                                   "files"), "isError": False}

    def do_readFiles(self, session, paths):
        blocks = []
        for name in paths:
            path = self.where(name)
            if not path:
                return failed(f"Invalid path: {name}")
            try:
                fd = session.box.open(path, os.O_RDONLY)
                with os.fdopen(fd, "rb") as f:
                    data = f.read()
            except OSError as e:
                return failed(f"Error reading {name}: {e.strerror}")
            resource = {"uri": "file:///" + name}
            try:
                resource |= {"type": "text", "mimeType": "text/plain",
                             "text": data.decode()}
            except UnicodeDecodeError:
                resource |= {"type": "blob",
                             "mimeType": "application/octet-stream",
                             "blob": base64.b64encode(data).decode()}
            blocks.append({"type": "resource", "resource": resource})
        return {"content": blocks, "isError": False}

    def do_listFiles(self, session, directoryPath="", path=""):
        where = self.where(directoryPath or path or ".")
        try:
            names = session.box.os("listdir", where)
        except OSError as e:
            return failed(e.strerror)
        return {"content": [{"type": "resource_link", "uri": "file:///" + n,
                             "name": n} for n in sorted(names)],
                "isError": False}

    def do_removeFiles(self, session, paths):
        for name in paths:
            try:
                session.box.os("unlink", self.where(name))
            except OSError as e:
                return failed(f"Error removing {name}: {e.strerror}")
        return {"content": text_of("removed"), "isError": False}

    def do_startCommandExecution(self, session, command):
        task = Task(session.box, command, self.cwd)
        session.tasks[task.id] = task
        return {"content": text_of("started"), "structuredContent": {
            "taskId": task.id, "taskStatus": "submitted"}, "isError": False}

    def do_getTask(self, session, taskId):
        task = session.tasks.get(taskId)
        return task.tell() if task else failed("no such task")

    def do_stopTask(self, session, taskId):
        task = session.tasks.get(taskId)
        if not task:
            return failed("no such task")
        if task.code is None:
            task.stopped = True
            try:
                task.process.signal(15, group=True)
            except OSError:
                pass
        task.process.wait(5)
        return {"content": text_of("stopped"), "structuredContent": {
            "taskId": taskId, "taskStatus": "canceled"}, "isError": False}
