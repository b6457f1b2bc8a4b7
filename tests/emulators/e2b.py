#!/usr/bin/python3
# e2b.py - E2B's API and envd on loopback, with real commands.
# SPDX-License-Identifier: MIT
"""E2B as its OpenAPI document, its protocol files and its SDK 2.51.0 have it:
one port for the API (X-API-Key) and for envd (E2b-Sandbox-Id, see e2b_envd).

    with E2B(version="0.6.4", old=False, most=86400) as e2b:
        env.update(e2b.env)

version   what envd says of itself, with the powers of that version
old       only the paths before v2 of create and connect
most      seconds, the longest timeout
page      sandboxes per page, whatever limit is asked for
delay     seconds that creating and resuming take

States: running, paused; what is gone is 404. A sandbox ends at endAt, or is
paused then (autoPause). Between two states (delay) requests get 409."""
import base64
import datetime
import random
import re
import shutil
import string
import sys
import time
import urllib.parse

from cloud import (
    Box, Cloud, Invalid, Refused, Reply, check, listed, main, route)
from e2b_envd import Envd
from outside import most_specific
from preview import Preview

TRAFFIC = "e2b-traffic-access-token"
KEY = "e2b_0123456789abcdef0123456789abcdef01234567"
TEMPLATES = {"base": "rki5dems9wqfm4r03t7g", "code-interpreter-v1": "nlhz8vlwy"}
STRINGS = {str: str}
RULES = {str: [{"?transform": {"?headers": STRINGS}}]}
PROXY = {"address": str, "?username": str, "?password": str}
CHANGE = {"?allowOut": [str], "?denyOut": [str], "?rules": RULES,
          "?egressProxy": PROXY, "?allow_internet_access": bool}
NETWORK = {"?allowOut": [str], "?denyOut": [str], "?rules": RULES,
           "?egressProxy": PROXY, "?allowPublicTraffic": bool,
           "?maskRequestHost": str}
SECRET_NAME = (lambda v: isinstance(v, str) and
               not v.lower().startswith("sec_") and
               re.fullmatch(r"[^{}\x00-\x1f]+", v))
NEW = {"templateID": str, "?timeout": lambda v: isinstance(v, int)
       and not isinstance(v, bool) and v >= 0,
       "?autoPause": bool, "?autoPauseMemory": bool,
       "?autoResume": {"enabled": bool}, "?allow_internet_access": bool,
       "?network": NETWORK, "?metadata": STRINGS, "?envVars": STRINGS,
       "?mcp": (dict, None), "?iam": dict, "?volumeMounts": list}
OPEN = ("/health", "/files", "/process.Process/", "/filesystem.Filesystem/")


def stamp(unix):
    return datetime.datetime.fromtimestamp(
        unix, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Kept:
    """What the vendor knows of a sandbox."""

    def __init__(self, body, box):
        letters = string.ascii_lowercase + string.digits
        self.id = "i" + "".join(random.choices(letters, k=19))
        self.token = "envd-" + "".join(random.choices(letters, k=24))
        self.previews = {}  # by port
        self.body, self.box, self.state = body, box, "running"
        self.traffic = None
        if not body.get("network", {}).get("allowPublicTraffic", True):
            self.traffic = "".join(random.choices(letters, k=24))
        self.started = time.time()
        self.ends = self.end_unix = None
        self.running = {}  # envd's processes by number

    def live(self, seconds):
        self.ends = time.monotonic() + seconds
        self.end_unix = time.time() + seconds


class E2B(Envd, Cloud):
    """An emulated E2B."""

    def __init__(self, port=0, version="0.6.4", old=False, most=86400,
                 page=100, delay=0):
        super().__init__(port)
        self.version, self.old, self.most = version, old, most
        self.page, self.delay = page, delay
        self.snapshots, self.secrets, self.saved = {}, {}, 0
        self.previews = []

    def preview(self, port, id):
        """Who answers for a port of a sandbox; None: envd."""
        kept = self.boxes.get(id)
        if not kept or port == 49983:
            return None
        with self.lock:
            if port not in kept.previews:
                made = Preview(port, TRAFFIC if kept.traffic else None)
                made.token = kept.traffic or ""
                kept.previews[port] = made
                self.previews.append(made)
        return kept.previews[port]

    def __exit__(self, *what):
        super().__exit__(*what)
        for snapshot in self.snapshots.values():
            shutil.rmtree(snapshot["root"], ignore_errors=True)

    @property
    def env(self):
        return {"E2B_API_KEY": KEY, "E2B_API_URL": self.url,
                "E2B_SANDBOX_URL": self.url}

    # What cloud.py asks for.
    def authorize(self, req):
        if req.path.startswith(OPEN):
            if "X-API-Key" in req.headers:
                self.violations.append(f"{req.line}: the key went to envd")
            return
        if req.headers.get("X-API-Key") != KEY:
            raise Refused(401, {"code": 401, "message":
                                "unauthorized: invalid API key"})
        if "X-Access-Token" in req.headers:
            self.violations.append(f"{req.line}: the token went to the API")

    def invalid(self, req, error):
        return Reply(400, {"code": 400, "message": str(error)})

    def unknown(self, req):
        return Reply(404, {"code": 404, "message": "page not found"})

    def expired(self, req):
        if req.path.startswith(OPEN):
            return Reply(401, {"code": "unauthenticated",
                               "message": "invalid access token"})
        return Reply(401, {"code": 401, "message": "token has expired"})

    def expire(self, id):
        kept = self.boxes.get(id)
        if kept and kept.body.get("autoPause"):
            self.do_pause(kept)
        else:
            self.destroy(id)

    # The API.
    def kept(self, id):
        kept = self.boxes.get(id)
        if not kept:
            raise Refused(404, {"code": 404,
                                "message": f"sandbox {id} not found"})
        if kept.state == "changing":
            raise Refused(409, {"code": 409, "message":
                                f"sandbox {id} is changing its state"})
        return kept

    def seconds(self, value):
        if value > self.most:
            raise Refused(400, {"code": 400, "message": "Timeout cannot be "
                                f"greater than {self.most // 3600} hours"})
        return value

    def short(self, kept):
        template = kept.body["templateID"]
        return {"templateID": TEMPLATES.get(template, template),
                "sandboxID": kept.id, "alias": template,
                "clientID": "6532622b", "envdVersion": self.version,
                "envdAccessToken": kept.token,
                "trafficAccessToken": kept.traffic,
                "domain": None}

    def full(self, kept, token=False):
        shown = {**self.short(kept), "startedAt": stamp(kept.started),
                 "endAt": stamp(kept.end_unix), "state": kept.state,
                 "cpuCount": 2, "memoryMB": 512, "diskSizeMB": 1024,
                 "metadata": kept.body.get("metadata", {})}
        if "network" in kept.body:
            shown["network"] = kept.body["network"]
        shown["allowInternetAccess"] = kept.body.get("allow_internet_access")
        if not token:
            del shown["envdAccessToken"]
        del shown["trafficAccessToken"]
        return shown

    def create(self, body, default):
        template = body["templateID"]
        seconds = self.seconds(body.get("timeout", default))
        snapshot = self.snapshots.get(template)
        for s in self.snapshots.values():
            if template in s["names"] or f"{template}:default" in s["names"]:
                snapshot = s
        if template.split(":")[0] not in TEMPLATES and not snapshot:
            raise Refused(404, {"code": 404, "message":
                                f"template '{template}' not found"})
        time.sleep(self.delay)
        network = body.get("network", {})
        hosts = network.get("allowOut", []) \
            if "0.0.0.0/0" in network.get("denyOut", []) else None
        box = Box(workdir="/home/user", env=body.get("envVars"),
                  source=snapshot and snapshot["root"],
                  network=body.get("allow_internet_access", True)
                  and listed(hosts))
        kept = Kept(body, box)
        kept.live(seconds)
        with self.lock:
            self.boxes[kept.id] = kept
        return 201, self.short(kept)

    @route("POST", "/v2/sandboxes")
    def create_new(self, req):
        if self.old:
            return self.unknown(req)
        return self.create(check(req.json(), NEW), 300)

    @route("POST", "/sandboxes")
    def create_old(self, req):
        return self.create(check(req.json(), {**NEW, "?secure": bool}), 15)

    def do_connect(self, req, id, default):
        kept = self.kept(id)
        seconds = self.seconds(req.get("timeout", default))
        status = 200
        if kept.state == "paused":
            kept.state = "changing"
            time.sleep(self.delay)
            kept.box.resume()
            kept.state, kept.ends, status = "running", None, 201
        if not kept.ends or time.monotonic() + seconds > kept.ends:
            kept.live(seconds)
        return status, self.short(kept)

    @route("POST", "/v2/sandboxes/(?P<id>[^/]+)/connect")
    def connect_new(self, req, id):
        if self.old:
            return self.unknown(req)
        body = check(req.json(), {"?timeout": int}) if req.body() else {}
        return self.do_connect(body, id, 300)

    @route("POST", "/sandboxes/(?P<id>[^/]+)/connect")
    def connect_old(self, req, id):
        return self.do_connect(check(req.json(), {"timeout": int}), id, 0)

    @route("GET", "/sandboxes/(?P<id>[^/]+)")
    def info(self, req, id):
        return 200, self.full(self.kept(id), token=True)

    @route("GET", "/v2/sandboxes")
    def list(self, req):
        check(req.query, {"?metadata": str, "?state": str, "?limit": str,
                          "?nextToken": str, "?order": str,
                          "?startedAfter": str, "?template": str}, "query")
        limit = int(req.query.get("limit", "100"))
        if not 1 <= limit <= 100:
            raise Invalid("query.limit: from 1 to 100")
        unquote = urllib.parse.unquote  # the SDK encodes each of them again
        wanted = [(unquote(a), unquote(b)) for a, b in urllib.parse.parse_qsl(
            req.query.get("metadata", ""), keep_blank_values=True)]
        states = [s for s in req.query.get("state", "").split(",") if s]
        for state in states:
            check(state, {"running", "paused"}, "query.state")
        found = [k for k in self.boxes.values()
                 if all(k.body.get("metadata", {}).get(a) == b
                        for a, b in wanted) and
                 (k.state in states or not states)]
        found.sort(key=lambda k: k.started)
        start = 0
        if req.query.get("nextToken"):
            start = int(base64.b64decode(req.query["nextToken"]))
        end = start + min(limit, self.page)
        token = base64.b64encode(b"%d" % end).decode() \
            if end < len(found) else ""
        return Reply(200, [self.full(k) for k in found[start:end]],
                     {"X-Next-Token": token})

    @route("DELETE", "/sandboxes/(?P<id>[^/]+)")
    def delete(self, req, id):
        self.destroy(self.kept(id).id)
        return 204, None

    @route("POST", "/sandboxes/(?P<id>[^/]+)/timeout")
    def timeout(self, req, id):
        body = check(req.json(), {"timeout": int})
        self.kept(id).live(self.seconds(body["timeout"]))
        return 204, None

    @route("POST", "/sandboxes/(?P<id>[^/]+)/refreshes")
    def refresh(self, req, id):
        body = check(req.json(), {"?duration": int}) if req.body() else {}
        self.kept(id).live(self.seconds(body.get("duration", 15)))
        return 204, None

    def do_pause(self, kept):
        kept.state = "changing"
        kept.box.suspend()
        kept.ends = None
        kept.state = "paused"

    @route("POST", "/sandboxes/(?P<id>[^/]+)/pause")
    def pause(self, req, id):
        if req.body():
            check(req.json(), {"?memory": bool})
        kept = self.kept(id)
        if kept.state == "paused":
            return 409, {"code": 409, "message":
                         f"sandbox {id} is already paused"}
        self.do_pause(kept)
        return 204, None

    @route("PUT", "/sandboxes/(?P<id>[^/]+)/network")
    def network(self, req, id):
        kept = self.kept(id)
        kept.body["network"] = check(req.json(), CHANGE)
        return 204, None

    # Secrets of the account. No answer has a value.
    def secret(self, id):
        for secret in self.secrets.values():
            if id in (secret["secretID"], secret["name"]):
                return secret
        raise Refused(404, {"code": 404, "message": "secret not found"})

    def shown_secret(self, secret):
        return {k: v for k, v in secret.items() if k != "value"}

    @route("POST", "/secrets")
    def add_secret(self, req):
        body = check(req.json(), {"name": SECRET_NAME, "value": str,
                                  "?metadata": STRINGS})
        name = body["name"].lower()
        now = stamp(time.time())
        with self.lock:
            if name in self.secrets:
                return 409, {"code": 409, "message": "the name is taken"}
            self.secrets[name] = {
                "secretID": f"sec_{len(self.secrets):04d}x{time.time_ns()}",
                "name": name, "value": body["value"], "currentVersion": 1,
                "metadata": body.get("metadata", {}), "createdAt": now,
                "updatedAt": now}
        return 201, self.shown_secret(self.secrets[name])

    @route("GET", "/secrets")
    def list_secrets(self, req):
        check(req.query, {"?limit": str, "?nextToken": str}, "query")
        found = [self.shown_secret(s) for s in self.secrets.values()]
        start = int(req.query.get("nextToken") or 0)
        end = start + min(int(req.query.get("limit", "100")), self.page)
        return Reply(200, found[start:end], {
            "X-Next-Token": str(end) if end < len(found) else ""})

    @route("DELETE", "/secrets/(?P<id>[^/]+)")
    def delete_secret(self, req, id):
        with self.lock:
            self.secrets.pop(self.secret(id)["name"], None)
        return 204, None

    def inject(self, kept, request):
        """What the rules do to a request that leaves the sandbox."""
        rules = kept.body.get("network", {}).get("rules", {})
        rule = most_specific(rules, request.host)
        if not request.secure or not rule:
            return
        for name, value in rule[0]["transform"]["headers"].items():
            wanted = re.fullmatch(r"\$\{e2b\.secrets\.([^}]+)\}", value)
            request.headers[name.lower()] = \
                self.secret(wanted[1])["value"] if wanted else value

    @route("POST", "/sandboxes/(?P<id>[^/]+)/snapshots")
    def snapshot(self, req, id):
        body = check(req.json(), {"?name": str})
        kept = self.kept(id)
        name = body.get("name")
        self.saved += 1
        key = f"snap_{self.saved:06d}:default"
        names = [name, f"{name}:default"] if name else []
        self.snapshots[key] = {"root": kept.box.save(), "names": names,
                               "of": id}
        return 201, {"snapshotID": key, "names": names[1:]}

    @route("GET", "/snapshots")
    def list_snapshots(self, req):
        check(req.query, {"?sandboxID": str, "?limit": str,
                          "?nextToken": str}, "query")
        return 200, [{"snapshotID": key, "names": s["names"][1:]}
                     for key, s in self.snapshots.items()
                     if req.query.get("sandboxID", s["of"]) == s["of"]]

    @route("DELETE", "/templates/(?P<id>[^/]+)")
    def delete_template(self, req, id):
        if id not in self.snapshots:
            return 404, {"code": 404, "message": f"template {id} not found"}
        shutil.rmtree(self.snapshots.pop(id)["root"], ignore_errors=True)
        return 204, None


if __name__ == "__main__":
    sys.exit(main(E2B))
