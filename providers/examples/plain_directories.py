#!/usr/bin/env python3
# plain_directories.py - a provider for dcode: directories on this machine.
# SPDX-License-Identifier: MIT
"""Implements the protocol of ../PROTOCOL.md. Needs only Python 3.8.

    install -m 755 plain_directories.py \
        ~/.deepagents/providers/dcode-sandbox-directories

Then run dcode --sandbox directories. ~/.deepagents/config.toml can say where
the directories are:

    [sandboxes.providers.directories]
    params = { root = "/srv/boxes" }

THIS ISOLATES NOTHING: a command in such a directory can do whatever you can.
This is an example to read and to change: replace the methods of Boxes by your
own machine, container or service.
"""
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

NOT_FOUND, CONFIG, FAILED, NO_METHOD = -32001, -32003, -32000, -32601
NO_SENSE = -32602
FILE_NOT_FOUND, PERMISSION, IS_DIRECTORY, INVALID_PATH, TOO_LARGE = range(
    -32020, -32025, -1
)
NAME_BYTES = set("abcdefghijklmnopqrstuvwxyz0123456789-")


class Refusal(Exception):
    """Raised to answer a request with an error."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def file_refusal(exc):
    kinds = {
        FileNotFoundError: FILE_NOT_FOUND,
        PermissionError: PERMISSION,
        IsADirectoryError: IS_DIRECTORY,
        NotADirectoryError: INVALID_PATH,
    }
    return Refusal(kinds.get(type(exc), FAILED), str(exc))


class Boxes:
    """A sandbox is a directory ROOT/LABEL with about.json and files/, where
    commands start."""

    def __init__(self):
        self.root = None
        self.running = {}  # the id of a request -> its process
        self.lock = threading.Lock()

    def initialize(self, params, _request):
        settings = params.get("params", {})
        default = os.path.join(
            os.environ.get("XDG_STATE_HOME")
            or os.path.expanduser("~/.local/state"),
            "dcode-directories",
        )
        self.root = os.path.abspath(settings.get("root", default))
        if not os.path.isabs(settings.get("root", "/")):
            raise Refusal(CONFIG, "root must be an absolute path")
        os.makedirs(self.root, mode=0o700, exist_ok=True)
        return {
            "protocol": 1,
            "name": "directories",
            "capabilities": [
                "attach",
                "download",
                "extend",
                "info",
                "list",
                "make_snapshot",
                "snapshot",
                "stop",
                "upload",
            ],
            "settings": {"root": "string"},
        }

    def place(self, name):
        if not name or not set(name) <= NAME_BYTES or len(name) > 64:
            raise Refusal(NOT_FOUND, "unknown sandbox")
        return os.path.join(self.root, name)

    def about(self, name):
        path = os.path.join(self.place(name), "about.json")
        try:
            with open(path, encoding="utf-8") as f:
                return json.load(f)
        except (OSError, ValueError):
            raise Refusal(NOT_FOUND, "unknown sandbox") from None

    def tell(self, name, about):
        """Writes about.json by a rename, so that it is never incomplete."""
        place = self.place(name)
        with tempfile.NamedTemporaryFile(
            "w", dir=place, delete=False, encoding="utf-8"
        ) as f:
            json.dump(about, f)
        os.replace(f.name, os.path.join(place, "about.json"))

    def files(self, name):
        return os.path.join(self.place(name), "files")

    def entered(self, name):
        self.about(name)
        return {"id": name, "workdir": self.files(name)}

    def snapshot_of(self, name):
        return self.place("snapshot-" + name.lower().replace("_", "-"))

    def create(self, params, request):
        """A second call with the same label must not make a second sandbox."""
        label = params["label"]
        os.makedirs(self.place(label), exist_ok=True)
        if params.get("snapshot"):
            source = self.snapshot_of(params["snapshot"])
            if not os.path.isdir(source):
                raise Refusal(NOT_FOUND, "unknown snapshot")
            note(request, "progress", message="copying the snapshot")
            shutil.copytree(
                source, self.files(label), symlinks=True, dirs_exist_ok=True
            )
        os.makedirs(self.files(label), exist_ok=True)
        now = int(time.time())
        self.tell(
            label,
            {
                "id": label,
                "label": label,
                "owner": params["owner"],
                "created": now,
                "ends": now + params["lifetime_s"],
                "state": "running",
            },
        )
        return self.entered(label)

    def attach(self, params, _request):
        self.change(params["sandbox"], state="running")
        return self.entered(params["sandbox"])

    def stop(self, params, _request):
        """There is nothing to stop: dcode has ended the commands already."""
        ends = int(time.time()) + params["keep_s"]
        self.change(params["sandbox"], state="stopped", ends=ends)
        return {"keep_s": 0}

    def change(self, name, **values):
        self.tell(name, {**self.about(name), **values})

    def list(self, params, _request):
        found = []
        for name in sorted(os.listdir(self.root)):
            try:
                about = self.about(name)
            except Refusal:
                continue
            if params.get("owner") in (None, about["owner"]):
                found.append(about)
        return {"sandboxes": found}

    def info(self, params, _request):
        return self.about(params["sandbox"])

    def extend(self, params, _request):
        about = self.about(params["sandbox"])
        about["ends"] = int(time.time()) + params["lifetime_s"]
        self.tell(params["sandbox"], about)
        return {}

    def snapshot(self, params, _request):
        self.about(params["sandbox"])
        target = self.snapshot_of(params["name"])
        if os.path.exists(target) and not params.get("replace"):
            raise Refusal(NO_SENSE, "the snapshot exists already")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.files(params["sandbox"]), target, symlinks=True)
        return {}

    def execute(self, params, request):
        """Sends the output as it arrives. dcode ends it with "cancel"."""
        self.about(params["sandbox"])
        process = subprocess.Popen(
            ["sh", "-c", params["command"]],
            cwd=self.files(params["sandbox"]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with self.lock:
            self.running[request] = process
        watch = threading.Timer(params["timeout_s"], self.cancel, [request])
        watch.daemon = True
        watch.start()
        for chunk in iter(lambda: process.stdout.read1(65536), b""):
            note(request, "output", data=base64.b64encode(chunk).decode())
        code = process.wait()
        watch.cancel()
        with self.lock:
            self.running.pop(request, None)
        return {"exit_code": 128 - code if code < 0 else code}

    def cancel(self, request):
        with self.lock:
            process = self.running.get(request)
        if process and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    def upload(self, params, _request):
        self.about(params["sandbox"])
        path, mode = params["path"], params.get("mode")
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            new = not os.path.exists(path)
            with open(path, "wb") as f:
                f.write(base64.b64decode(params["data"]))
            if mode or new:
                os.chmod(path, mode or 0o644)
        except FileExistsError:
            raise Refusal(INVALID_PATH, "the parent is a file") from None
        except OSError as exc:
            raise file_refusal(exc) from exc
        return {}

    def download(self, params, _request):
        self.about(params["sandbox"])
        try:
            with open(params["path"], "rb") as f:
                data = f.read(params["max_bytes"] + 1)
        except OSError as exc:
            raise file_refusal(exc) from exc
        if len(data) > params["max_bytes"]:
            raise Refusal(TOO_LARGE, "it does not fit in a message")
        return {"data": base64.b64encode(data).decode()}

    def delete(self, params, _request):
        shutil.rmtree(self.place(params["sandbox"]), ignore_errors=True)
        if os.path.exists(self.place(params["sandbox"])):
            raise Refusal(FAILED, "some of it cannot be deleted")
        return {}


output_lock = threading.Lock()


def send(message):
    with output_lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def note(request, method, **params):
    send({"method": method, "params": {"id": request, **params}})


METHODS = (
    "attach create delete download execute extend info initialize list "
    "snapshot stop upload"
).split()


def serve(boxes, message):
    request, method = message["id"], message["method"]
    try:
        if method not in METHODS:
            raise Refusal(NO_METHOD, f"there is no method {method}")
        result = getattr(boxes, method)(message["params"], request)
        send({"id": request, "result": result})
    except Exception as exc:
        code = exc.code if isinstance(exc, Refusal) else FAILED
        error = {"code": code, "message": str(exc) or type(exc).__name__}
        send({"id": request, "error": error})


def main():
    boxes = Boxes()
    for line in sys.stdin:
        message = json.loads(line)
        if message["method"] == "shutdown":
            break
        if message["method"] == "cancel":
            boxes.cancel(message["params"]["id"])
        elif "id" in message:
            threading.Thread(
                target=serve, args=(boxes, message), daemon=True
            ).start()


main()
