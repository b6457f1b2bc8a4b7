# provider_host.py - serves a Python sandbox provider class over stdio.
# SPDX-License-Identifier: MIT
"""Implements providers/PROTOCOL.md for a provider class in Python.

Arguments: "module.path:Class", the entries of PYTHONPATH, "--", the directories
of packages. Python runs isolated (-I). main() adds those directories to the
module path that -I leaves out and that do not depend on the current directory.
The class is one that was written for the Python program dcode:
get_or_create(sandbox_id=..., **params) returns a backend with id and
execute(command, timeout=...), and delete() deletes the sandbox. Methods may be
async. dcode_stand_ins.py replaces modules of that program that are not
installed.
"""
import asyncio
import base64
import datetime
import importlib
import inspect
import json
import os
import site
import sys
import threading

from dcode_stand_ins import WORKDIR, StandIns

NOT_FOUND, AUTH, CONFIG, LIMIT, NETWORK, TIMEOUT = range(-32001, -32007, -1)
GONE, UNSUPPORTED, MISSING = -32007, -32008, -32009
NO_METHOD, BAD_PARAMS, FAILED = -32601, -32602, -32000
AT_ONCE = 64  # requests
PAGES = 1000  # of a list
STATES = {
    "starting": "starting", "pending": "starting", "creating": "starting",
    "running": "running", "ready": "running", "started": "running",
    "stopped": "stopped", "paused": "stopped",
}


class Refusal(Exception):
    """Raised to answer a request with an error."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def has_base(exc, name):
    return any(base.__name__ == name for base in type(exc).__mro__)


def explain(exc):
    text = str(exc).strip()
    name = type(exc).__name__
    return f"{name}: {text}" if text else name


def refusal_of(exc, creating):
    if isinstance(exc, Refusal):
        return exc
    if has_base(exc, "SandboxNotFoundError"):
        return Refusal(NOT_FOUND, f"no such sandbox: {exc}")
    if isinstance(exc, NotImplementedError):
        return Refusal(UNSUPPORTED, f"not supported: {exc}")
    if isinstance(exc, ImportError):
        return Refusal(MISSING, explain(exc))
    if isinstance(exc, (TimeoutError, asyncio.TimeoutError)):
        return Refusal(TIMEOUT, explain(exc))
    if creating and isinstance(exc, (ValueError, TypeError)):
        return Refusal(CONFIG, f"Invalid sandbox configuration: {exc}")
    return Refusal(FAILED, explain(exc))


class Loop:
    """An event loop on a thread of its own, which runs async methods."""

    def __init__(self):
        self.lock = threading.Lock()
        self.loop = None

    def wait(self, awaitable):
        with self.lock:
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self.loop.run_forever, daemon=True
                ).start()

        async def run():
            return await awaitable

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result()


def parameters_of(function):
    try:
        return inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None


def accepts(function, name):
    parameters = parameters_of(function)
    return parameters is None or any(
        p.name == name or p.kind is inspect.Parameter.VAR_KEYWORD
        for p in parameters
    )


def names(function, name):
    """True if a parameter has this name. **kwargs do not count: they may go
    to an API that refuses unknown names."""
    return any(p.name == name for p in parameters_of(function) or ())


def member(value, *keys):
    """Returns the value of the first key that a mapping or object has."""
    for key in keys:
        found = (
            value.get(key) if isinstance(value, dict)
            else getattr(value, key, None)
        )
        if found is not None:
            return found
    return None


def seconds_of(value):
    """Converts a number, a datetime or ISO 8601 text to Unix seconds, or 0."""
    try:
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(
                value.replace("Z", "+00:00")
            )
        if isinstance(value, datetime.datetime):
            value = value.timestamp()
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0


class Host:
    def __init__(self, class_path):
        self.class_path = class_path
        self.loop = Loop()
        self.lock = threading.Lock()
        self.provider = None
        self.metadata = None
        self.params = {}
        self.backends = {}
        self.attaching = {}

    def call(self, owner, name, /, *args, **kwargs):
        """Calls a method or, if it is not implemented, its async form."""
        function = getattr(owner, name, None)
        twin = getattr(owner, "a" + name, None)
        if function is None and twin is None:
            raise NotImplementedError(f"{type(owner).__name__} has no {name}")
        try:
            result = (function or twin)(*args, **kwargs)
        except NotImplementedError:
            if function is None or twin is None:
                raise
            result = twin(*args, **kwargs)
        if inspect.isawaitable(result):
            result = self.loop.wait(result)
        return result

    def load(self):
        module, _, name = self.class_path.partition(":")
        try:
            made = importlib.import_module(module)
        except ImportError as exc:
            raise Refusal(
                MISSING, f"cannot import {self.class_path}: {explain(exc)}"
            ) from exc
        for part in name.split("."):
            if not hasattr(made, part):
                raise Refusal(CONFIG, f"{module} has no {name}")
            made = getattr(made, part)
        try:
            self.provider = made() if callable(made) else made
        except (ValueError, TypeError) as exc:
            raise Refusal(
                CONFIG, f"cannot make {self.class_path}: {explain(exc)}"
            ) from exc

    def initialize(self, params):
        self.params = params.get("params") or {}
        self.load()
        meta = self.metadata = getattr(self.provider, "metadata", None)
        found = getattr(meta, "working_dir", None)
        workdir = found if isinstance(found, str) and found else WORKDIR
        can = ["upload"]
        if getattr(meta, "supports_sandbox_id", True):
            can.append("attach")
        if getattr(meta, "supports_snapshot_name", False):
            can.append("snapshot")
        if self.lists():
            labels = names(self.creator(), "label")
            can.append("list" if labels else "list_ids")
        return {
            "protocol": 1,
            "name": str(getattr(meta, "name", None) or self.class_path),
            "workdir": workdir,
            "capabilities": can,
        }

    def keep(self, backend):
        sandbox_id = backend.id
        if inspect.isawaitable(sandbox_id):
            sandbox_id = self.loop.wait(sandbox_id)
        with self.lock:
            self.backends[sandbox_id] = backend
        return {"id": sandbox_id}

    def creator(self):
        return getattr(self.provider, "get_or_create", None) or getattr(
            self.provider, "aget_or_create", None
        )

    def lists(self):
        """False if the class only inherits list() from the base class."""
        for base in type(self.provider).__mro__:
            if "list" in vars(base) or "alist" in vars(base):
                package = base.__module__.partition(".")[0]
                return package not in (
                    "dcode_stand_ins", "deepagents", "deepagents_cli",
                    "deepagents_code",
                )
        return False

    def list(self, params):
        """Lists all pages. A class whose create has a label returns it in the
        item or in the item's metadata. Other classes return only ids."""
        owner = params.get("owner")
        pages = self.has_pages()
        found, cursor = [], None
        for _ in range(PAGES):
            kwargs = {"cursor": cursor} if pages else {}
            answer = self.call(self.provider, "list", **kwargs)
            items = member(answer, "items", "sandboxes")
            for item in answer if items is None else items:
                shown = self.item(item)
                if not owner or shown["owner"] in ("", owner):
                    found.append(shown)
            seen, cursor = cursor, member(answer, "cursor", "next_cursor")
            if not pages or not cursor or cursor == seen:
                break
        return {"sandboxes": found}

    def has_pages(self):
        """False if list() takes no cursor: one answer then has all."""
        found = (getattr(self.provider, n, None) for n in ("list", "alist"))
        return all(accepts(f, "cursor") for f in found if f)

    def item(self, item):
        if isinstance(item, str):
            return {"id": item, "label": "", "owner": ""}
        notes = member(item, "metadata", "labels") or {}

        def text(*keys):
            return str(member(item, *keys) or member(notes, *keys) or "")

        return {
            "id": text("sandbox_id", "id"),
            "label": text("label", "dcode.label"),
            "owner": text("owner", "dcode.owner"),
            "state": STATES.get(text("state", "status").lower(), ""),
            "image": text("image", "template"),
            "created": seconds_of(
                member(item, "created", "created_at")
                or member(notes, "created", "created_at")
            ),
        }

    def create(self, params):
        kwargs = dict(self.params)
        for name in ("label", "owner"):
            if names(self.creator(), name) and params.get(name):
                kwargs.setdefault(name, params[name])
        if params.get("snapshot"):
            kwargs["snapshot"] = params["snapshot"]
        return self.keep(
            self.call(
                self.provider, "get_or_create", sandbox_id=None, **kwargs
            )
        )

    def attach(self, params):
        return self.keep(
            self.call(
                self.provider,
                "get_or_create",
                sandbox_id=params["sandbox"],
                **self.params,
            )
        )

    def backend(self, sandbox_id):
        """Returns the backend of a sandbox. An earlier process may have created
        the sandbox: then attaches to it."""
        with self.lock:
            lock = self.attaching.setdefault(sandbox_id, threading.Lock())
        with lock:
            if sandbox_id not in self.backends:
                self.attach({"sandbox": sandbox_id})
            return self.backends.get(sandbox_id)

    def execute(self, params):
        backend = self.backend(params["sandbox"])
        function = getattr(backend, "execute", None) or getattr(
            backend, "aexecute", None
        )
        kwargs = {}
        if accepts(function, "timeout"):
            kwargs["timeout"] = params["timeout_s"]
        result = self.call(backend, "execute", params["command"], **kwargs)
        field = result.get if isinstance(result, dict) else None
        output = (
            field("output") if field else getattr(result, "output", result)
        )
        code = field("exit_code") if field else result.exit_code
        if isinstance(output, str):
            output = output.encode("utf-8", "surrogateescape")
        return {
            "data": base64.b64encode(output or b"").decode(),
            "exit_code": code if isinstance(code, int) else None,
        }

    def upload(self, params):
        """One file, whose path is dcode's own: see process.c."""
        backend = self.backend(params["sandbox"])
        data = base64.b64decode(params["data"])
        answer = self.call(backend, "upload_files", [(params["path"], data)])
        error = getattr(answer[0], "error", None)
        if error:
            raise Refusal(FAILED, str(error))
        return {}

    def delete(self, params):
        self.call(self.provider, "delete", sandbox_id=params["sandbox"])
        with self.lock:
            self.backends.pop(params["sandbox"], None)
        return {}


class Server:
    METHODS = (
        "initialize", "create", "attach", "execute", "upload", "delete",
        "list",
    )

    def __init__(self, host, source, sink):
        self.host = host
        self.source = source
        self.sink = sink
        self.lock = threading.Lock()
        self.room = threading.Semaphore(AT_ONCE)

    def send(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        with self.lock:
            self.sink.write(line.encode())
            self.sink.flush()

    def serve(self, message):
        method = message["method"]
        try:
            if method not in self.METHODS:
                raise Refusal(NO_METHOD, f"unknown method {method}")
            answer = {
                "result": getattr(self.host, method)(message["params"])
            }
        except BaseException as exc:  # whatever a class raises is its answer
            refusal = refusal_of(
                exc, method in ("initialize", "create", "attach")
            )
            answer = {
                "error": {"code": refusal.code, "message": str(refusal)}
            }
        finally:
            self.room.release()
        self.send({"id": message["id"], **answer})

    def run(self):
        for line in self.source:
            message = json.loads(line)
            if message["method"] == "shutdown":
                break
            if "id" in message:
                self.room.acquire()
                threading.Thread(
                    target=self.serve, args=(message,), daemon=True
                ).start()


def add_user_site():
    """Adds it where Python does without -I: before the system's packages."""
    if (
        sys.prefix != sys.base_prefix  # a virtual environment has none
        or os.environ.get("PYTHONNOUSERSITE")
        or os.getuid() != os.geteuid()
    ):
        return
    directory = site.getusersitepackages()
    if not os.path.isabs(directory) or not os.path.isdir(directory):
        return
    before = list(sys.path)
    site.addsitedir(directory)
    added = [path for path in sys.path if path not in before]
    system = set(site.getsitepackages())
    at = [i for i, path in enumerate(before) if path in system]
    first = at[0] if at else len(before)
    sys.path[:] = before[:first] + added + before[first:]


def main():
    # What the class prints goes to stderr: it is not a message.
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    sys.stdout = sys.stderr
    end = sys.argv.index("--")
    add_user_site()
    sys.path[:0] = sys.argv[2:end]
    for directory in sys.argv[end + 1:]:
        site.addsitedir(directory)
    sys.meta_path.append(StandIns())
    Server(Host(sys.argv[1]), source, sink).run()


main()
