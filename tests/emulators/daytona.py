#!/usr/bin/python3
# daytona.py - Daytona's API and toolbox on loopback, with real commands.
# SPDX-License-Identifier: MIT
"""Daytona as its OpenAPI documents 0.190.0 and its SDK 0.218.0 have it: one
port for the API (/api) and for the toolbox proxy (/toolbox/ID, see
daytona_toolbox), with the same key.

    with Daytona(daemon="0.190.0", delay=0) as daytona:
        env.update(daytona.env)

daemon    version of the daemon in the sandboxes, with its powers
delay     seconds that each change of state takes
hold      seconds for which the API holds a create or start until it is done
page      sandboxes per page, whatever limit is asked for
minute    seconds of a minute of the auto-stop and auto-delete intervals
moves     an extra state on the way to started ("pulling_snapshot")

A sandbox without activity stops after autoStopInterval; a stopped one is
deleted after autoDeleteInterval, at once when that is 0. While a state changes
other changes get 409."""
import base64
import datetime
import json
import re
import shutil
import sys
import threading
import time
import uuid

from cloud import (
    Box, Cloud, Invalid, Refused, Reply, check, listed, main, route)
from daytona_toolbox import Toolbox
from outside import below
from preview import Preview

KEY = "dtn_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
JWT, ORGANIZATION = "eyJ.jwt.token", "11111111-2222-3333-4444-555555555555"
SNAPSHOTS = {"daytonaio/sandbox:0.6.0": "active", "daytona-small": "active",
             "old-one": "inactive"}
STRINGS = {str: str}
NEW = {"?name": str, "?snapshot": str, "?user": str, "?env": STRINGS,
       "?secrets": [STRINGS],
       "?labels": STRINGS, "?public": bool, "?networkBlockAll": bool,
       "?networkAllowList": str, "?domainAllowList": str, "?target": str,
       "?cpu": int, "?gpu": int, "?gpuType": [str], "?memory": int,
       "?disk": int, "?autoStopInterval": int, "?autoArchiveInterval": int,
       "?autoDeleteInterval": int, "?linkedSandbox": str,
       "?volumes": [{"volumeId": str, "mountPath": str, "?subpath": str}],
       "?buildInfo": {"dockerfileContent": str, "?contextHashes": [str]}}
LIST = {"?cursor": str, "?limit": str, "?id": str, "?name": str,
        "?labels": str, "?includeErroredDeleted": str, "?states": str,
        "?snapshots": str, "?regionIds": str, "?sort": str, "?order": str}
RESOURCES = ("cpu", "memory", "disk", "gpu")
HERE = r"/api/sandbox/(?P<id>[^/]+)"


def stamp(unix=None):
    when = datetime.datetime.fromtimestamp(unix or time.time(),
                                           datetime.timezone.utc)
    return when.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class Kept:
    """What the vendor knows of a sandbox."""

    def __init__(self, body):
        self.id, self.body = str(uuid.uuid4()), body
        self.name = body.get("name") or self.id
        self.box, self.state, self.desired = None, "creating", "started"
        self.labels = body.get("labels", {})
        self.stop_after = body.get("autoStopInterval", 15)
        self.delete_after = body.get("autoDeleteInterval", -1)
        self.archive_after = body.get("autoArchiveInterval", 10080)
        self.created = self.active_unix = time.time()
        self.active = time.monotonic()
        self.reason, self.stopped = None, None
        self.sessions, self.terminals = {}, {}
        self.ends, self.saved = None, None
        self.lock = threading.Lock()
        self.settled = threading.Event()

    def touch(self):
        self.active, self.active_unix = time.monotonic(), time.time()


class Daytona(Toolbox, Cloud):
    """An emulated Daytona."""

    def __init__(self, port=0, daemon="0.190.0", delay=0.0, hold=0.0,
                 page=200, minute=60.0, moves=None):
        super().__init__(port)
        self.daemon, self.delay, self.hold = daemon, delay, hold
        self.page, self.minute, self.moves = page, minute, moves
        self.fail_start = None  # a reason: the next create ends in "error"
        self.snapshots, self.roots = dict(SNAPSHOTS), {}
        self.secrets, self.previews, self.signed = {}, [], {}

    @property
    def env(self):
        return {"DAYTONA_API_KEY": KEY, "DAYTONA_API_URL": self.url + "/api"}

    # What cloud.py asks for.
    def error(self, req, status, message, code=None):
        names = {400: "Bad Request", 401: "Unauthorized", 404: "Not Found",
                 409: "Conflict"}
        if req.path.startswith("/toolbox"):
            return {"statusCode": status, "message": message, "code": code or
                    names.get(status, "").upper().replace(" ", "_"),
                    "timestamp": stamp(), "path": req.path,
                    "method": req.method}
        return {"path": req.path, "timestamp": stamp(), "statusCode": status,
                "error": names.get(status, "Error"), "message": message}

    def refuse(self, req, status, message, code=None):
        return Refused(status, self.error(req, status, message, code))

    def authorize(self, req):
        given = req.headers.get("Authorization")
        if given == "Bearer " + JWT:
            if req.headers.get("X-Daytona-Organization-ID") != ORGANIZATION:
                raise self.refuse(req, 401, "Unauthorized")
        elif given != "Bearer " + KEY:
            raise self.refuse(req, 401, "Unauthorized")
        if not req.headers.get("X-Daytona-SDK-Version") and \
                "socket.io" not in req.path:
            self.violations.append(f"{req.line}: no X-Daytona-SDK-Version")

    def invalid(self, req, e):
        return Reply(400, self.error(req, 400, str(e)))

    def unknown(self, req):
        return Reply(404, self.error(
            req, 404, f"Cannot {req.method} {req.path}"))

    def expired(self, req):
        return Reply(401, self.error(req, 401, "Unauthorized"))

    def tick(self):
        while not self.closing.wait(0.05):
            for kept in list(self.boxes.values()):
                self.sweep(kept, time.monotonic())

    def sweep(self, kept, now):
        if kept.state == "started" and kept.stop_after > 0 and \
                now - kept.active > kept.stop_after * self.minute:
            self.change(kept, "stopping", "stopped")
        elif kept.state == "stopped" and kept.delete_after >= 0 and \
                now - kept.stopped >= kept.delete_after * self.minute:
            self.change(kept, "destroying", None)

    # States.
    def change(self, kept, way, end):
        """Goes to way now and to end after the delay."""
        with self.lock:
            kept.state, kept.desired = way, end or "destroyed"
            kept.settled.clear()
        threading.Thread(target=self.arrive, args=(kept, way, end),
                         daemon=True).start()

    def arrive(self, kept, way, end):
        if self.moves and way in ("creating", "pending_build"):
            kept.state = self.moves
            time.sleep(self.delay)
        time.sleep(self.delay)
        if end is None:
            self.destroy(kept.id)
        elif end == "stopped":
            for pid in list(kept.sessions):
                self.end_session(kept, pid)
            self.forget_saved(kept)
            kept.saved = kept.box.save()
            kept.box.destroy()
            kept.stopped = time.monotonic()
        elif end == "started":
            kept.touch()
            bill = kept.box.bill.seconds if kept.box else 0
            lists = [kept.body[name] for name in (
                "networkAllowList", "domainAllowList") if name in kept.body]
            lists = lists[0].split(",") if lists else None
            kept.box = Box(workdir="/home/daytona",
                           source=kept.saved or
                           self.roots.get(kept.body.get("snapshot")),
                           env={**kept.body.get("env", {}),
                                **self.placeholders(kept)},
                           network=not kept.body.get("networkBlockAll")
                           and listed(lists))
            self.forget_saved(kept)
            kept.box.bill.total += bill
            if kept.id not in self.boxes:
                kept.box.destroy()
        if end:
            kept.state = end
        kept.settled.set()

    # Secrets of the organization. No answer has a value.
    def placeholders(self, kept):
        return {variable: self.secrets[name]["placeholder"]
                for pair in kept.body.get("secrets", ())
                for variable, name in pair.items() if name in self.secrets}

    def inject(self, kept, request):
        """Replaces placeholders, in plain HTTP, too."""
        for pair in kept.body.get("secrets", ()):
            for name in pair.values():
                secret = self.secrets[name]
                if any(below(h, request.host) or h == "*." + request.host
                       for h in secret["hosts"]):
                    request.replace(secret["placeholder"], secret["value"])

    def shown_secret(self, secret):
        return {k: v for k, v in secret.items() if k != "value"}

    @route("POST", "/api/secret")
    def add_secret(self, req):
        body = check(req.json(), {
            "name": lambda v: re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", v),
            "value": str, "?description": str, "?hosts": [str]})
        with self.lock:
            if body["name"] in self.secrets:
                raise self.refuse(req, 409, "the name is taken")
            id = str(uuid.uuid4())
            self.secrets[body["name"]] = {
                "id": id, "placeholder": "dtn_secret_" + id.replace("-", ""),
                "hosts": [], "createdAt": stamp(), "updatedAt": stamp(),
                **body}
        return 200, self.shown_secret(self.secrets[body["name"]])

    @route("GET", "/api/secret/paginated")
    def list_secrets(self, req):
        check(req.query, {"?cursor": str, "?limit": str, "?name": str,
                          "?sort": str, "?order": str}, "query")
        found = [self.shown_secret(s) for s in self.secrets.values()]
        start = int(req.query.get("cursor", 0))
        end = start + min(int(req.query.get("limit", 100)), self.page)
        return 200, {"items": found[start:end], "total": len(found),
                     "nextCursor": str(end) if end < len(found) else None}

    @route("DELETE", "/api/secret/(?P<id>[^/]+)")
    def delete_secret(self, req, id):
        for name, secret in list(self.secrets.items()):
            if secret["id"] == id:
                del self.secrets[name]
                return 200, None
        raise self.refuse(req, 404, "Secret not found")

    def forget_saved(self, kept):
        if kept.saved:
            shutil.rmtree(kept.saved, ignore_errors=True)
        kept.saved = None

    def destroy(self, id):
        kept = super().destroy(id)
        if kept:
            self.forget_saved(kept)
        return kept

    def __exit__(self, *what):
        super().__exit__(*what)
        for kept in self.boxes.values():
            self.forget_saved(kept)
        for root in self.roots.values():
            shutil.rmtree(root, ignore_errors=True)

    def find_box(self, req, id):
        for kept in list(self.boxes.values()):
            if id in (kept.id, kept.name):
                return kept
        raise self.refuse(req, 404,
                          f"Sandbox with ID or name {id} not found")

    def settled(self, req, id):
        kept = self.find_box(req, id)
        if not kept.settled.is_set():
            raise self.refuse(req, 409, "Sandbox state change in progress")
        return kept

    def full(self, kept, short=False):
        body = kept.body
        shown = {
            "id": kept.id, "name": kept.name, "organizationId": ORGANIZATION,
            "target": body.get("target", "us"), "state": kept.state,
            "desiredState": kept.desired, "user": body.get("user", "daytona"),
            "labels": kept.labels, "public": body.get("public", False),
            "cpu": body.get("cpu", 1), "memory": body.get("memory", 1),
            "disk": body.get("disk", 3), "gpu": body.get("gpu", 0),
            "autoStopInterval": kept.stop_after, "backupState": "None",
            "autoArchiveInterval": kept.archive_after,
            "autoDeleteInterval": kept.delete_after,
            "createdAt": stamp(kept.created), "updatedAt": stamp(),
            "lastActivityAt": stamp(kept.active_unix),
            "sandboxClass": "container", "daemonVersion": self.daemon,
            "toolboxProxyUrl": self.url + "/toolbox"}
        if "buildInfo" not in body:
            shown["snapshot"] = body.get("snapshot", "daytonaio/sandbox:0.6.0")
        if kept.reason:
            shown.update(errorReason=kept.reason, recoverable=False)
        if not short:
            shown.update(env=body.get("env", {}), volumes=[],
                         networkBlockAll=body.get("networkBlockAll", False))
            for name in ("networkAllowList", "domainAllowList", "buildInfo"):
                if name in body:
                    shown[name] = body[name]
        return shown

    # The API.
    def check_new(self, req, body):
        snapshot = body.get("snapshot")
        if snapshot and "buildInfo" in body:
            raise self.refuse(req, 400, "Cannot specify both")
        if "buildInfo" not in body and any(r in body for r in RESOURCES):
            raise self.refuse(req, 400, "Cannot specify Sandbox resources "
                              "when using a snapshot")
        state = self.snapshots.get(snapshot, None if snapshot else "active")
        if state != "active":
            raise self.refuse(req, 400, f"Snapshot {snapshot} " + (
                f"is {state}" if state else "not found. Did you add it?"))
        if re.search(r"[<>\x00-\x1f]|://", body.get("name", "")):
            raise self.refuse(req, 400, "name is not allowed")
        for item in body.get("networkAllowList", "").split(","):
            if item and not re.fullmatch(r"[0-9.]+/\d+", item):
                raise self.refuse(req, 400, f"Invalid network: {item}")

    @route("POST", "/api/sandbox")
    def create(self, req):
        body = check(req.json(), NEW)
        self.check_new(req, body)
        with self.lock:
            if any(k.name == body.get("name") for k in self.boxes.values()):
                raise self.refuse(req, 409, f"Sandbox with name "
                                  f"{body['name']} already exists")
            kept = Kept(body)
            self.boxes[kept.id] = kept
        if self.fail_start:
            kept.state, kept.reason = "error", self.fail_start
            kept.settled.set()
            self.fail_start = None
            raise self.refuse(req, 400, "Sandbox failed to start: "
                              + kept.reason)
        self.change(kept, "pending_build" if "buildInfo" in body
                    else "creating", "started")
        first = self.full(kept)
        if "buildInfo" not in body:
            kept.settled.wait(self.hold)
        return 200, first

    @route("GET", HERE)
    def info(self, req, id):
        check(req.query, {"?verbose": str}, "query")
        return 200, self.full(self.find_box(req, id))

    @route("GET", "/api/sandbox")
    def list(self, req):
        check(req.query, LIST, "query")
        limit = int(req.query.get("limit", "100"))
        if not 1 <= limit <= 200:
            raise Invalid("query.limit: from 1 to 200")
        labels = check(json.loads(req.query.get("labels", "{}")), STRINGS,
                       "query.labels")
        found = [k for k in list(self.boxes.values())
                 if all(k.labels.get(a) == b for a, b in labels.items())]
        found.sort(key=lambda k: k.created)
        start = 0
        if req.query.get("cursor"):
            start = int(base64.b64decode(req.query["cursor"]))
        end = start + min(limit, self.page)
        return 200, {"items": [self.full(k, True) for k in found[start:end]],
                     "nextCursor": base64.b64encode(b"%d" % end).decode()
                     if end < len(found) else None}

    @route("POST", HERE + "/start")
    def start(self, req, id):
        kept = self.find_box(req, id)
        if kept.state == "started":
            return 200, self.full(kept)
        kept = self.settled(req, id)
        if kept.state == "error":
            raise self.refuse(req, 400, "Sandbox is in an errored state")
        self.change(kept, "restoring" if kept.state == "archived"
                    else "starting", "started")
        kept.settled.wait(self.hold)
        return 200, self.full(kept)

    @route("POST", HERE + "/network-settings")
    def network(self, req, id):
        body = check(req.json(), {"?networkBlockAll": bool,
                                  "?networkAllowList": str,
                                  "?domainAllowList": str})
        if len(body) != 1:
            raise self.refuse(req, 400, "networkBlockAll, networkAllowList "
                              "and domainAllowList exclude each other")
        kept = self.find_box(req, id)
        for name in ("networkBlockAll", "networkAllowList",
                     "domainAllowList"):
            kept.body.pop(name, None)
        kept.body.update(body)
        return 200, self.full(kept)

    @route("GET", HERE + "/ports/(?P<port>[0-9]+)/preview-url")
    def preview(self, req, id, port):
        self.settled(req, id)
        self.previews.append(Preview(int(port), "x-daytona-preview-token"))
        return 200, {"sandboxId": id, "url": self.previews[-1].url,
                     "token": self.previews[-1].token}

    @route("GET", HERE + "/ports/(?P<port>[0-9]+)/signed-preview-url")
    def sign(self, req, id, port):
        check(req.query, {"?expiresInSeconds": lambda v: int(v) > 0}, "query")
        self.settled(req, id)
        made = Preview(int(port), None)
        self.signed[made.token] = made
        return 200, {"sandboxId": id, "port": int(port), "url": made.url,
                     "token": made.token}

    @route("POST", HERE + "/ports/(?P<port>[0-9]+)/signed-preview-url/"
                          "(?P<token>[^/]+)/expire")
    def expire_signed(self, req, id, port, token):
        self.settled(req, id)
        if token not in self.signed:
            raise self.refuse(req, 404, "no such URL")
        made = self.signed.pop(token)
        made.shutdown()
        made.server_close()
        return 200, None

    @route("POST", HERE + "/stop")
    def stop(self, req, id):
        check(req.query, {"?force": {"true", "false"}}, "query")
        kept = self.settled(req, id)
        if kept.state != "started":
            raise self.refuse(req, 400, "Sandbox is not in a stoppable state")
        self.change(kept, "stopping", "stopped")
        return 200, self.full(kept)

    @route("POST", HERE + "/archive")
    def archive(self, req, id):
        kept = self.settled(req, id)
        if kept.state != "stopped":
            raise self.refuse(req, 400, "Sandbox is not stopped")
        kept.state = kept.desired = "archived"
        return 200, self.full(kept)

    @route("DELETE", HERE)
    def delete(self, req, id):
        kept = self.settled(req, id)
        self.change(kept, "destroying", None)
        return 200, self.full(kept)

    @route("POST", HERE + "/(?P<what>autostop|autodelete|autoarchive)"
           "/(?P<minutes>-?[0-9]+)")
    def interval(self, req, id, what, minutes):
        kept = self.find_box(req, id)
        setattr(kept, what[4:] + "_after", int(minutes))
        return 200, self.full(kept)

    @route("POST", HERE + "/last-activity")
    def last_activity(self, req, id):
        self.find_box(req, id).touch()
        return 201, None

    @route("POST", HERE + "/snapshot")
    def save(self, req, id):
        kept = self.settled(req, id)
        name = check(req.json(), {"name": str, "?includeMemory": bool})["name"]
        if name in self.snapshots:
            raise self.refuse(req, 409, f"Snapshot {name} already exists")
        if kept.state != "started":
            raise self.refuse(req, 400, "Sandbox is not started")
        kept.state = "snapshotting"

        def go():
            time.sleep(self.delay)
            self.snapshots[name] = "pending"
            self.roots[name] = kept.box.save()
            time.sleep(self.delay)
            self.snapshots[name], kept.state = "active", "started"
        threading.Thread(target=go, daemon=True).start()
        return 200, self.full(kept)

    @route("PUT", HERE + "/labels")
    def set_labels(self, req, id):
        kept = self.find_box(req, id)
        kept.labels = check(req.json(), {"labels": STRINGS})["labels"]
        return 200, {"labels": kept.labels}

    @route("GET", HERE + "/toolbox-proxy-url")
    def proxy_url(self, req, id):
        self.find_box(req, id)
        return 200, {"url": self.url + "/toolbox"}

    @route("GET", "/api/snapshots/(?P<name>.+)")
    def snapshot(self, req, name):
        if name not in self.snapshots:
            raise self.refuse(req, 404, f"Snapshot {name} not found")
        return 200, {"id": name, "name": name, "general": True,
                     "state": self.snapshots[name], "cpu": 1, "gpu": 0,
                     "mem": 1, "disk": 3, "size": 1.1, "entrypoint": None,
                     "errorReason": None, "createdAt": stamp(),
                     "updatedAt": stamp(), "lastUsedAt": None}

    @route("DELETE", "/api/snapshots/(?P<name>.+)")
    def delete_snapshot(self, req, name):
        if not self.snapshots.pop(name, None):
            raise self.refuse(req, 404, f"Snapshot {name} not found")
        self.roots.pop(name, None)
        return 200, None


if __name__ == "__main__":
    sys.exit(main(Daytona))
