#!/usr/bin/python3
# langsmith.py - LangSmith's sandboxes on loopback, with real commands.
# SPDX-License-Identifier: MIT
"""LangSmith as its SDKs (JavaScript 0.12.0, Python at bc8dd672) have it: the
API below /api/v2/sandboxes (older SDKs: /v2/sandboxes), and one data plane per
sandbox below /sb-ID (langsmith_plane.py), all with X-Api-Key.

    with LangSmith(ready=["deepagents-code"]) as cloud:
        env.update(cloud.env)

ready     names of snapshots that are there from the beginning
build     seconds that building a snapshot takes
delay     seconds that a sandbox is provisioning
page      items per page, whatever is asked for
cursors   lists of the newer dialect: items and next_cursor
websocket False: /execute/ws is unknown
fails     building snapshots fails

States: provisioning, ready, failed, stopped, deleting; what is gone is 404. A
sandbox without requests stops after idle_ttl_seconds, its processes die, and
it is deleted delete_after_stop_seconds later. minute: seconds that 60 of these
last. A stopped one starts by a request to its data plane."""
import copy
import datetime
import shutil
import signal
import sys
import threading
import time
import uuid

from cloud import (
    Box, Cloud, Invalid, Refused, Reply, check, listed, main, route)
from langsmith_plane import Plane
from outside import below
from preview import Preview

KEY = "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789"
GIB = 1 << 30
POSITIVE = (lambda v: isinstance(v, int) and not isinstance(v, bool) and
            v > 0)
MINUTES = (lambda v: isinstance(v, int) and not isinstance(v, bool) and
           v >= 0 and v % 60 == 0)
NAME = (lambda v: isinstance(v, str) and 0 < len(v) <= 128)
STRINGS = {str: str}
ACCESS = ({"allow_list": [str]}, {"deny_list": [str]})
HEADER = {"name": str, "type": {"opaque", "plaintext", "workspace_secret"},
          "value": str}
RULE = {"name": NAME, "?description": str, "?enabled": bool,
        "?env_vars": STRINGS, "?headers": [HEADER], "?match_hosts": [str],
        "?match_headers": [lambda v: ": " in v], "?match_paths": [str],
        "?type": str, "?aws": dict, "?gcp": dict, "?azure": dict}
PROXY = {"?rules": [RULE], "?callbacks": list, "?no_proxy": [str],
         "?access_control": ACCESS}
LIFE = {"?idle_ttl_seconds": MINUTES, "?delete_after_stop_seconds": MINUTES,
        "?vcpus": POSITIVE, "?cpu_millicores": POSITIVE,
        "?mem_bytes": POSITIVE, "?fs_capacity_bytes": POSITIVE}
NEW = {**LIFE, "?wait_for_ready": bool, "?timeout": POSITIVE, "?name": NAME,
       "?snapshot_id": NAME, "?snapshot_name": NAME, "?env_vars": STRINGS,
       "?labels": STRINGS, "?proxy_config": PROXY, "?mount_config": dict,
       "?run_config": {"?user": str, "?work_dir": str, "?env_vars": STRINGS},
       "?preserve_memory_on_stop": bool, "?restore_memory": bool,
       "?tag_value_ids": [str]}
BUILD = {"name": NAME, "docker_image": str, "fs_capacity_bytes": POSITIVE,
         "?registry_id": str}
CAPTURE = {"name": NAME, "?docker_image": str, "?fs_capacity_bytes": POSITIVE,
           "?checkpoint": str, "?include_memory": bool, "?tag": str}
LIST = {"?name_contains": str, "?limit": str, "?offset": str,
        "?page_size": str, "?cursor": str, "?sort_by": str,
        "?sort_order": {"asc", "desc"}, "?status": str, "?label": str}
API = r"(?:/api)?/v2/sandboxes"


def problem(status, kind, message):
    return Refused(status, {"detail": {"error": kind, "message": message}})


def stamp(unix):
    return datetime.datetime.fromtimestamp(
        unix, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Kept:
    """What the vendor knows of a sandbox."""

    def __init__(self, body):
        self.uuid, self.made = str(uuid.uuid4()), time.time()
        self.name = body.get("name") or f"sandbox-{self.uuid[:8]}"
        self.body, self.box, self.state = body, None, "provisioning"
        self.ends = None
        self.sessions = {}  # commands by their id


class LangSmith(Plane, Cloud):
    """An emulated LangSmith."""

    def __init__(self, port=0, ready=(), build=0, delay=0, page=500,
                 cursors=False, websocket=True, fails=False, minute=60):
        super().__init__(port)
        self.build, self.delay, self.page = build, delay, page
        self.cursors, self.websocket, self.fails = cursors, websocket, fails
        self.minute, self.snapshots = minute, {}
        self.previews = []
        self.nameless = False  # sandboxes get names of our own
        for name in ready:
            self.add_snapshot(name, "python:3", 16 * GIB)["status"] = "ready"

    def __exit__(self, *what):
        super().__exit__(*what)
        for snapshot in self.snapshots.values():
            if snapshot.get("root"):
                shutil.rmtree(snapshot["root"], ignore_errors=True)

    @property
    def env(self):
        return {"LANGSMITH_API_KEY": KEY, "LANGSMITH_ENDPOINT": self.url}

    # What cloud.py asks for.
    def authorize(self, req):
        if req.headers.get("X-Api-Key") != KEY:
            raise Refused(401, {"detail": "Invalid token"})

    def invalid(self, req, error):
        where, _, message = str(error).partition(": ")
        return Reply(422, {"detail": [{"loc": where.split("."),
                                       "msg": message, "type": "value"}]})

    def unknown(self, req):
        return Reply(404, {"detail": "Not Found"})

    def expired(self, req):
        return Reply(401, {"detail": "Token expired"})

    def expire(self, id):
        kept = self.boxes.get(id)
        if kept and kept.state == "ready":
            self.do_stop(kept)
        else:
            self.destroy(id)

    # Lists of both dialects.
    def listed(self, req, key, items):
        check(req.query, LIST, "query")
        size = int(req.query.get("limit", req.query.get("page_size", 50)))
        if not 1 <= size <= 500:
            raise Invalid("query.limit: from 1 to 500")
        size = min(size, self.page)
        start = int(req.query.get("cursor") or req.query.get("offset") or 0)
        found = [i for i in items if req.query.get("name_contains", "")
                 in i["name"] and req.query.get("status", i["status"])
                 == i["status"] and self.has_label(i, req.query)]
        part = found[start:start + size]
        if not self.cursors:
            return 200, {key: part, "offset": start}
        more = str(start + size) if start + size < len(found) else None
        return 200, {"items": part, "next_cursor": more}

    def has_label(self, item, query):
        key, equals, value = query.get("label", "").partition("=")
        labels = item.get("labels", {})
        return not key or (key in labels and
                           (not equals or labels[key] == value))

    # Snapshots.
    def add_snapshot(self, name, image, size):
        now = stamp(time.time())
        made = {"id": str(uuid.uuid4()), "name": name, "status": "building",
                "docker_image": image, "fs_capacity_bytes": size,
                "created_at": now, "updated_at": now}
        with self.lock:
            self.snapshots[made["id"]] = made
        return made

    def shown(self, snapshot):
        return {k: v for k, v in snapshot.items() if k != "root"}

    def finish(self, snapshot):
        snapshot["status"] = "failed" if self.fails else "ready"
        if self.fails:
            snapshot["status_message"] = "manifest unknown"

    def begin_build(self, snapshot):
        timer = threading.Timer(self.build, self.finish, [snapshot])
        timer.daemon = True
        timer.start()
        return 201, self.shown(snapshot)

    @route("GET", API + "/snapshots")
    def list_snapshots(self, req):
        return self.listed(req, "snapshots",
                           [self.shown(s) for s in self.snapshots.values()])

    @route("POST", API + "/snapshots")
    def build_snapshot(self, req):
        body = check(req.json(), BUILD)
        return self.begin_build(self.add_snapshot(
            body["name"], body["docker_image"], body["fs_capacity_bytes"]))

    def snapshot(self, id):
        if id not in self.snapshots:
            raise problem(404, "NotFound", "snapshot not found")
        return self.snapshots[id]

    @route("GET", API + "/snapshots/(?P<id>[^/]+)")
    def get_snapshot(self, req, id):
        return 200, self.shown(self.snapshot(id))

    @route("DELETE", API + "/snapshots/(?P<id>[^/]+)")
    def delete_snapshot(self, req, id):
        gone = self.snapshots.pop(self.snapshot(id)["id"])
        if gone.get("root"):
            shutil.rmtree(gone["root"], ignore_errors=True)
        return 204, None

    @route("POST", API + "/boxes/(?P<name>[^/]+)/snapshot")
    def capture(self, req, name):
        body = check(req.json(), CAPTURE)
        kept = self.kept(name)
        made = self.add_snapshot(body["name"], "python:3", 16 * GIB)
        made["root"] = kept.box.save()
        made["source_sandbox_id"] = kept.uuid
        return self.begin_build(made)

    # Sandboxes.
    def kept(self, name):
        if name not in self.boxes:
            raise problem(404, "NotFound", "sandbox not found")
        return self.boxes[name]

    def full(self, kept):
        body = kept.body
        shown = {"id": kept.uuid, "name": kept.name, "status": kept.state,
                 "dataplane_url": f"{self.url}/sb-{kept.uuid}",
                 "snapshot_id": kept.snapshot, "vcpus": body.get("vcpus", 1),
                 "mem_bytes": body.get("mem_bytes", 4 * GIB),
                 "fs_capacity_bytes": body.get("fs_capacity_bytes", 16 * GIB),
                 "idle_ttl_seconds": body.get("idle_ttl_seconds", 600),
                 "delete_after_stop_seconds":
                     body.get("delete_after_stop_seconds", 0),
                 "labels": body.get("labels", {}),
                 "created_at": stamp(kept.made),
                 "updated_at": stamp(kept.made)}
        if "proxy_config" in body:
            shown["proxy_config"] = copy.deepcopy(body["proxy_config"])
            for rule in shown["proxy_config"].get("rules", ()):
                for header in rule.get("headers", ()):
                    if header["type"] == "opaque":
                        header["value"] = ""
                        header["is_set"] = True
        return shown

    def inject(self, kept, request):
        """What the proxy does to a request that leaves the sandbox."""
        for rule in kept.body.get("proxy_config", {}).get("rules", ()):
            if not request.secure or not any(
                    below(p, request.host) for p in rule["match_hosts"]):
                continue
            wanted = [h.partition(": ") for h in rule.get("match_headers", ())]
            if all(request.headers.get(n) == v for n, _, v in wanted):
                request.headers.update({h["name"].lower(): h["value"]
                                        for h in rule["headers"]})
                return

    def touch(self, kept):
        """A request has come: the idle time begins anew."""
        seconds = kept.body.get("idle_ttl_seconds", 600)
        kept.ends = time.monotonic() + seconds * self.minute / 60 \
            if seconds else None

    def boot(self, kept):
        time.sleep(self.delay)
        source = self.snapshots[kept.snapshot].get("root")
        body = kept.body
        env = {**body.get("env_vars", {}),
               **body.get("run_config", {}).get("env_vars", {})}
        access = body.get("proxy_config", {}).get("access_control", {})
        hosts = access.get("allow_list")
        kept.box = Box(workdir="/root", env=env, source=source,
                       network=hosts != ["127.0.0.1/32"] and listed(hosts))
        kept.state = "ready"
        self.touch(kept)
        if kept.name not in self.boxes:
            kept.box.destroy()

    def do_stop(self, kept):
        kept.state = "stopped"
        kept.box.ask("all", signal=int(signal.SIGKILL))
        kept.box.bill.stop()
        seconds = kept.body.get("delete_after_stop_seconds", 0)
        kept.ends = time.monotonic() + seconds * self.minute / 60 \
            if seconds else None

    def do_start(self, kept):
        kept.state = "provisioning"
        kept.ends = None
        time.sleep(self.delay)
        kept.box.bill.start()
        kept.state = "ready"
        self.touch(kept)

    @route("POST", API + "/boxes")
    def create(self, req):
        body = check(req.json(), NEW)
        if "snapshot_id" in body and "snapshot_name" in body:
            raise Invalid("body.snapshot_id: or snapshot_name")
        if "timeout" in body and not body.get("wait_for_ready"):
            raise Invalid("body.timeout: only with wait_for_ready")
        found = [s for s in self.snapshots.values() if s["status"] == "ready"
                 and (s["id"] == body.get("snapshot_id") or
                      s["name"] == body.get("snapshot_name"))]
        if not found:
            raise problem(400, "NotFound", "snapshot not found")
        if self.nameless:
            body.pop("name", None)
        kept = Kept(body)
        kept.snapshot = found[0]["id"]
        with self.lock:
            if kept.name in self.boxes:
                raise problem(409, "Conflict", f"sandbox name '{kept.name}' "
                              "already exists")
            self.boxes[kept.name] = kept
        thread = threading.Thread(target=self.boot, args=[kept], daemon=True)
        thread.start()
        if body.get("wait_for_ready"):
            thread.join(body.get("timeout", 180))
            if kept.state == "provisioning":
                raise problem(408, "Timeout", "sandbox is not ready in time")
        return 201, self.full(kept)

    @route("GET", API + "/boxes")
    def list(self, req):
        return self.listed(req, "sandboxes",
                           [self.full(k) for k in self.boxes.values()])

    @route("GET", API + "/boxes/(?P<name>[^/]+)")
    def info(self, req, name):
        return 200, self.full(self.kept(name))

    @route("GET", API + "/boxes/(?P<name>[^/]+)/status")
    def status(self, req, name):
        return 200, {"status": self.kept(name).state}

    @route("PATCH", API + "/boxes/(?P<name>[^/]+)")
    def update(self, req, name):
        body = check(req.json(), {**LIFE, "?name": NAME,
                                  "?proxy_config": PROXY})
        kept = self.kept(name)
        kept.body.update(body)
        if kept.state == "ready":
            self.touch(kept)
        return 200, self.full(kept)

    @route("POST", API + "/boxes/(?P<name>[^/]+)/service-url")
    def service_url(self, req, name):
        body = check(req.json(), {"port": POSITIVE,
                                  "?expires_in_seconds": POSITIVE})
        self.kept(name)
        self.previews.append(Preview(
            body["port"], "X-Langsmith-Sandbox-Service-Token", "/svc/x"))
        made = self.previews[-1]
        return 200, {"browser_url": made.url, "service_url": made.url + "/",
                     "token": made.token, "expires_at": "2099-01-01T00:00:00Z"}

    @route("POST", API + "/boxes/(?P<name>[^/]+)/stop")
    def stop(self, req, name):
        check(req.json(), {})
        kept = self.kept(name)
        if kept.state != "ready":
            raise problem(409, "Conflict", f"sandbox is {kept.state}")
        self.do_stop(kept)
        return 204, None

    @route("POST", API + "/boxes/(?P<name>[^/]+)/start")
    def start(self, req, name):
        check(req.json(), {})
        kept = self.kept(name)
        if kept.state == "stopped":
            kept.state = "provisioning"
            threading.Thread(target=self.do_start, args=[kept],
                             daemon=True).start()
            return 202, self.full(kept)
        if kept.state != "ready":
            raise problem(409, "Conflict", f"sandbox is {kept.state}")
        return 200, self.full(kept)

    @route("DELETE", API + "/boxes/(?P<name>[^/]+)")
    def delete(self, req, name):
        self.destroy(self.kept(name).name)
        return 204, None


if __name__ == "__main__":
    sys.exit(main(LangSmith))
