#!/usr/bin/python3
# vercel.py - Vercel's sandbox API, v1 to v3, on loopback, with real commands.
# SPDX-License-Identifier: MIT
"""What the SDKs @vercel/sandbox 3.5.0 and 1.10.2 and vercel 0.5.9 speak.

    with Vercel(delay=0.2) as vercel:
        env.update(vercel.env)

delay     seconds of each change of state (pending, stopping, snapshotting)
most      ms, the longest timeout of the plan
page      sandboxes per page, whatever limit is asked for

A sandbox has a name and a session. One that is persistent (the default) leaves
a snapshot, which costs money, when its session stops; .snapshots has them.
left() is what still costs something or is still there to be deleted."""
import random
import re
import shutil
import string
import sys
import threading
import time

from cloud import Box, Cloud, Refused, Reply, check, listed, main, route
from outside import most_specific
from vercel_session import NETWORK_1, NETWORK_2, Session

TOKEN, TEAM, PROJECT = "vercel_token_0123456789", "team_test", "prj_test"
RUNTIMES = {"node26", "node24", "node22", "python3.13"}
REGIONS = {"iad1", "sfo1", "cle1", "cdg1"}
API = "(?:/api)?"
KEEP = {"count": lambda n: n == 1, "?expiration": lambda ms: ms == 0 or
        ms >= 86400000, "?deleteEvicted": bool}
NAME = "(?P<name>(?!sessions$|snapshots$)[^/]+)"
NUMBER = r"\d+"


def vcpus(value):
    return isinstance(value, int) and (value == 1 or value % 2 == 0 < value)


SOURCE = ({"type": {"snapshot"}, "snapshotId": str},
          {"type": {"git"}, "url": str, "?depth": int, "?revision": str,
           "?username": str, "?password": str},
          {"type": {"tarball"}, "url": str})
BOTH = {"projectId": str, "?timeout": lambda v: type(v) is int and v >= 1000,
        "?source": SOURCE, "?resources": {"vcpus": vcpus, "?memory": int},
        "?env": {str: str}}
NEW_1 = {**BOTH, "?runtime": RUNTIMES, "?networkPolicy": NETWORK_1,
         "?ports": lambda v: isinstance(v, list) and len(v) <= 4}
NEW_2 = {**BOTH, "?networkPolicy": NETWORK_2, "?persistent": bool,
         "?name": lambda v: bool(re.fullmatch("[a-z0-9-]{1,64}", v)),
         "?ports": lambda v: isinstance(v, list) and len(v) <= 15,
         "?tags": lambda v: isinstance(v, dict) and len(v) <= 5 and
         all(isinstance(x, str) for x in v.values()),
         "?region": REGIONS, "?failoverRegions": [REGIONS],
         "?snapshotExpiration": int, "?keepLastSnapshots": KEEP,
         "?mounts": dict, "?networkId": str}


def now():
    return int(time.time() * 1000)


def fails(status, code, message):
    return Refused(status, {"error": {"code": code, "message": message}})


def fits(matcher, text):
    (kind, wanted), = matcher.items()
    return {"exact": text == wanted, "startsWith": text.startswith(wanted),
            "regex": bool(kind == "regex" and re.search(wanted, text))}[kind]


def applies(match, request):
    return (("path" not in match or fits(match["path"], request.path)) and
            request.method in match.get("method", [request.method]) and
            all(any(fits(entry["key"], name) and fits(entry["value"], value)
                    for name, value in request.headers.items())
                for entry in match.get("headers", ())))


class Kept:
    """What the vendor knows of a sandbox and of its current session."""

    def __init__(self, body, v1):
        letters = string.ascii_letters + string.digits
        self.body, self.v1, self.box = body, v1, None
        self.name = body.get("name") or "quick-" + "".join(
            random.choices(string.ascii_lowercase, k=8))
        self.session = "sbx_" + "".join(random.choices(letters, k=24))
        self.persistent = body.get("persistent", not v1)
        self.status, self.created, self.times = "pending", now(), {}
        self.timeout = body.get("timeout", 300000)
        self.policy = body.get("networkPolicy", {"mode": "allow-all"})
        self.ends = self.snapshot = None
        self.commands = {}

    def routes(self):
        start = self.session[4:].lower()
        return [{"url": f"https://{start}-{n}.vercel.run", "port": n,
                 "subdomain": f"{start}-{n}"}
                for n in self.body.get("ports", [])]

    @property
    def size(self):
        n = self.body.get("resources", {}).get("vcpus", 2)
        return {"vcpus": n, "memory": 2048 * n}

    @property
    def kind(self):
        return {k: self.body[k] for k in ("runtime", "image")
                if k in self.body}

    def shown_policy(self):
        p = self.policy
        if "mode" in p:
            return p
        allow, nets = p.get("allow", []), p.get("subnets", {})
        shown = {"mode": "custom", "allowedDomains": list(allow),
                 "allowedCIDRs": nets.get("allow", []),
                 "deniedCIDRs": nets.get("deny", [])}
        rules = [{"domain": domain, "headerNames":
                  [h for t in rule["transform"] for h in t["headers"]],
                  **{k: rule[k] for k in ("match",) if k in rule}}
                 for domain, rules in (allow.items() if isinstance(allow, dict)
                                       else ()) for rule in rules]
        return {**shown, "injectionRules": rules} if rules else shown

    def shown_session(self):
        return {"id": self.session, **self.size, **self.kind,
                "region": self.body.get("region", "iad1"),
                "timeout": self.timeout, "status": self.status,
                "requestedAt": self.created, "createdAt": self.created,
                "updatedAt": now(), "cwd": "/vercel/sandbox",
                "networkPolicy": self.shown_policy(), **self.times}

    def shown(self):
        return {"name": self.name, "persistent": self.persistent,
                **self.size, **self.kind, "timeout": self.timeout,
                "region": self.body.get("region", "iad1"),
                "createdAt": self.created, "updatedAt": now(),
                "currentSessionId": self.session, "status": self.status,
                "statusUpdatedAt": now(), "cwd": "/vercel/sandbox",
                "tags": self.body.get("tags", {}),
                "networkPolicy": self.shown_policy(),
                **({"currentSnapshotId": self.snapshot["id"]}
                   if self.snapshot else {})}


class Vercel(Session, Cloud):
    """An emulated Vercel."""

    def __init__(self, port=0, delay=0, most=86400000, page=50):
        super().__init__(port)
        self.delay, self.most, self.page = delay, most, page
        self.nameless = False  # sandboxes get names of our own
        self.snapshots, self.saved = {}, 0
        self.tokens = {TOKEN}

    def __exit__(self, *what):
        super().__exit__(*what)
        for snapshot in self.snapshots.values():
            shutil.rmtree(snapshot["root"], ignore_errors=True)

    @property
    def env(self):
        return {"VERCEL_TOKEN": TOKEN, "VERCEL_TEAM_ID": TEAM,
                "VERCEL_PROJECT_ID": PROJECT, "VERCEL_API_URL": self.url}

    def left(self):
        return [k.name for k in self.boxes.values()
                if not k.v1 or k.status != "stopped"] + list(self.snapshots)

    # What cloud.py asks for.
    def authorize(self, req):
        word = (req.headers.get("Authorization") or "").partition(" ")
        if word[0] != "Bearer" or word[2] not in self.tokens:
            raise fails(403, "forbidden", "Not authorized")
        req.team = req.query.pop("teamId", getattr(req, "team", None))
        if req.team != TEAM:
            raise fails(403, "forbidden", "Not authorized: teamId")

    def invalid(self, req, error):
        return Reply(400, {"error": {"code": "bad_request",
                                     "message": str(error)}})

    def unknown(self, req):
        return Reply(404, {"error": {"code": "not_found",
                                     "message": "The page was not found"}})

    def expired(self, req):
        return Reply(403, {"error": {"code": "forbidden", "message":
                                     "The token has expired",
                                     "invalidToken": True}})

    def expire(self, id):
        kept = self.boxes.get(id)
        if kept:
            kept.ends = None
            self.begin_stop(kept)

    def inject(self, kept, request):
        """What the policy does to a request that leaves the sandbox."""
        allow = kept.policy.get("allow", {})
        rules = most_specific(allow, request.host) \
            if isinstance(allow, dict) else []
        for rule in rules or []:
            if request.secure and applies(rule.get("match", {}), request):
                for change in rule["transform"]:
                    request.headers.update({k.lower(): v for k, v in
                                            change["headers"].items()})
                return

    # Life.
    def project(self, value):
        if value != PROJECT:
            raise fails(404, "not_found", "Project not found")

    def named(self, name):
        kept = self.boxes.get(name)
        if not kept or kept.v1:
            raise fails(404, "not_found", "Sandbox not found")
        return kept

    def session(self, sid, v1):
        for kept in list(self.boxes.values()):
            if kept.session == sid and kept.v1 == v1:
                return kept
        raise fails(404, "not_found", "Sandbox not found")

    def alive(self, sid, v1):
        kept = self.session(sid, v1)
        if kept.status in ("stopping", "snapshotting"):
            raise fails(422, "sandbox_" + kept.status,
                        f"Sandbox is {kept.status}")
        if kept.status != "running":
            raise fails(410, "sandbox_stopped", "Sandbox is not running")
        return kept

    def boot(self, kept, source=None):
        policy = kept.policy
        hosts = None
        if "mode" not in policy and "*" not in policy.get("allow", []):
            hosts = policy.get("subnets", {}).get("allow", [])
        elif policy.get("mode") == "custom":
            hosts = policy.get("allowedCIDRs", [])
        box = Box(workdir="/vercel/sandbox", home="/home/vercel-sandbox",
                  env=kept.body.get("env"), source=source,
                  network=kept.policy.get("mode") != "deny-all" and
                  listed(hosts))

        def run():
            time.sleep(self.delay)
            kept.times = {"startedAt": now()}
            kept.ends = time.monotonic() + kept.timeout / 1000
            kept.status = "running"
        kept.box, kept.status = box, "pending"
        if self.delay:
            threading.Thread(target=run, daemon=True).start()
        else:
            run()

    def begin_stop(self, kept):
        with self.lock:
            if kept.status not in ("pending", "running"):
                return
            kept.status, kept.ends = "stopping", None

        def run():
            time.sleep(self.delay)
            if kept.persistent:
                kept.status = "snapshotting"
                time.sleep(self.delay)
                old, kept.snapshot = kept.snapshot, self.save(kept)
                if old and kept.body.get("keepLastSnapshots"):
                    self.drop(old["id"])  # its count is 1
            kept.box.destroy()
            kept.times["stoppedAt"] = now()
            kept.status = "stopped"
        if self.delay:
            threading.Thread(target=run, daemon=True).start()
        else:
            run()

    def save(self, kept):
        self.saved += 1
        id = f"snap_{self.saved:024d}"
        self.snapshots[id] = {
            "root": kept.box.save(), "id": id, "region": "iad1",
            "sourceSandboxId" if kept.v1 else "sourceSessionId": kept.session,
            "status": "created", "sizeBytes": 1 << 20, "createdAt": now(),
            "updatedAt": now()}
        return self.snapshots[id]

    def make(self, body, v1):
        self.project(body["projectId"])
        if body.get("timeout", 0) > self.most:
            raise fails(400, "bad_request", "timeout: above your plan's limit")
        source, root = body.get("source"), None
        if source and source["type"] == "snapshot":
            if source["snapshotId"] not in self.snapshots:
                raise fails(410, "snapshot_not_found", "Snapshot not found")
            root = self.snapshots[source["snapshotId"]]["root"]
        kept = Kept(body, v1)
        with self.lock:
            if kept.name in self.boxes:
                raise fails(409, "conflict", "A sandbox of this name exists")
            self.boxes[kept.name] = kept
        self.boot(kept, root)
        return kept

    def whole(self, kept, **more):
        return {"sandbox": kept.shown(), "session": kept.shown_session(),
                "routes": kept.routes(), **more}

    @route("POST", API + "/v2/sandboxes")
    def create_2(self, req):
        check(req.query, {}, "query")
        body = check(req.json(), {**NEW_2, "runtime": RUNTIMES})
        if self.nameless:
            body.pop("name", None)
        return 200, self.whole(self.make(body, False))

    @route("POST", API + "/v3/sandboxes")
    def create_3(self, req):
        check(req.query, {}, "query")
        body = check(req.json(), {**NEW_2, "?image": str})
        return 200, self.whole(self.make(body, False))

    @route("GET", API + "/v2/sandboxes/" + NAME)
    def get_2(self, req, name):
        check(req.query, {"projectId": str, "?resume": {"true", "false"}},
              "query")
        self.project(req.query["projectId"])
        kept = self.named(name)
        resumed = False
        if req.query.get("resume") == "true" and kept.status == "stopped":
            if not kept.snapshot:
                raise fails(410, "sandbox_stopped", "nothing to resume")
            fresh = Kept({**kept.body, "name": name}, False)
            fresh.snapshot = kept.snapshot
            with self.lock:
                self.boxes[name] = kept = fresh
            self.boot(kept, kept.snapshot["root"])
            resumed = True
        return 200, self.whole(kept, resumed=resumed)

    @route("PATCH", API + "/v2/sandboxes/" + NAME)
    def update(self, req, name):
        check(req.query, {"projectId": str}, "query")
        body = check(req.json(), {k if k[0] == "?" else "?" + k: v for k, v in
                                  {**NEW_2, "currentSnapshotId": str}.items()})
        kept = self.named(name)
        kept.policy = body.get("networkPolicy", kept.policy)
        kept.timeout = body.get("timeout", kept.timeout)
        kept.persistent = body.get("persistent", kept.persistent)
        kept.body.update({k: body[k] for k in ("tags", "resources",
                                               "persistent", "ports",
                                               "keepLastSnapshots")
                          if k in body})
        return 200, {"sandbox": kept.shown(), "routes": kept.routes()}

    @route("DELETE", API + "/v2/sandboxes/" + NAME)
    def delete(self, req, name):
        check(req.query, {"projectId": str,
                          "?deleteOrphanSnapshots": {"true"}}, "query")
        self.project(req.query["projectId"])
        kept = self.named(name)
        if kept.status in ("stopping", "snapshotting"):
            raise fails(422, "sandbox_" + kept.status, "try again later")
        shown = kept.shown()
        self.destroy(name)
        if kept.snapshot and "deleteOrphanSnapshots" in req.query:
            self.drop(kept.snapshot["id"])
        return 200, {"sandbox": shown}

    @route("GET", API + "/v2/sandboxes")
    def list_2(self, req):
        check(req.query, {
            "project": str, "?limit": lambda v: 1 <= int(v) <= 50,
            "?sortBy": {"createdAt", "name", "statusUpdatedAt"},
            "?sortOrder": {"asc", "desc"}, "?namePrefix": str, "?cursor": str,
            "?tags": lambda v: ":" in v}, "query")
        q = req.query
        if "namePrefix" in q and q.get("sortBy") != "name":
            raise fails(400, "bad_request", "namePrefix needs sortBy=name")
        self.project(q["project"])
        key, _, value = q.get("tags", "").partition(":")
        found = [k for k in list(self.boxes.values()) if not k.v1 and
                 k.name.startswith(q.get("namePrefix", "")) and
                 (not key or k.body.get("tags", {}).get(key) == value)]
        found.sort(key=lambda k: k.name)
        start = int(q.get("cursor", "c0")[1:])
        end = start + min(int(q.get("limit", 20)), self.page)
        return 200, {"sandboxes": [k.shown() for k in found[start:end]],
                     "pagination": {"count": len(found[start:end]), "next":
                                    f"c{end}" if end < len(found) else None}}

    # v1: no names.
    @route("POST", API + "/v1/sandboxes")
    def create_1(self, req):
        check(req.query, {}, "query")
        kept = self.make(check(req.json(), NEW_1), True)
        return 200, {"sandbox": kept.shown_session(),
                     "routes": kept.routes()}

    @route("GET", API + "/v1/sandboxes")
    def list_1(self, req):
        check(req.query, {"?project": str, "?limit": str, "?since": str,
                          "?until": str}, "query")
        found = [k.shown_session() for k in list(self.boxes.values()) if k.v1]
        return 200, {"sandboxes": found, "pagination": {
            "count": len(found), "next": None, "prev": None}}

    @route("GET", API + "/v1/sandboxes/(?P<sid>sbx_[^/]+)")
    def get_1(self, req, sid):
        check(req.query, {}, "query")
        kept = self.session(sid, True)
        return 200, {"sandbox": kept.shown_session(),
                     "routes": kept.routes()}

    # Snapshots.
    def drop(self, id):
        snapshot = self.snapshots.pop(id, None)
        if not snapshot:
            raise fails(404, "not_found", "Snapshot not found")
        shutil.rmtree(snapshot["root"], ignore_errors=True)
        return snapshot

    @staticmethod
    def told(snapshot, **more):
        return {**{k: v for k, v in snapshot.items() if k != "root"}, **more}

    @route("GET", API + "/v[12]/sandboxes/snapshots")
    def list_snapshots(self, req):
        found = [self.told(s) for s in self.snapshots.values()]
        return 200, {"snapshots": found, "pagination": {
            "count": len(found), "next": None}}

    @route("GET", API + "/v[12]/sandboxes/snapshots/(?P<id>[^/]+)")
    def get_snapshot(self, req, id):
        if id not in self.snapshots:
            raise fails(404, "not_found", "Snapshot not found")
        return 200, {"snapshot": self.told(self.snapshots[id])}

    @route("DELETE", API + "/v[12]/sandboxes/snapshots/(?P<id>[^/]+)")
    def delete_snapshot(self, req, id):
        return 200, {"snapshot": self.told(self.drop(id), status="deleted")}


if __name__ == "__main__":
    sys.exit(main(Vercel))
