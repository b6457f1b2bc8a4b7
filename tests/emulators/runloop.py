#!/usr/bin/python3
# runloop.py - Runloop's API on loopback, with real commands.
# SPDX-License-Identifier: MIT
"""Runloop as its OpenAPI document and its SDKs (JavaScript 1.32.0, Python
1.23.3) have it. Executions and files are in runloop_exec.py.

    with Runloop(delay=0.2, boot_fails=0) as runloop:
        env.update(runloop.env)

delay       seconds that each transition takes: provisioning, initializing,
            suspending, resuming, and each step of a blueprint's build
boot_fails  so many of the next devboxes end in failure
hold        the longest that a long poll is held, in seconds
page        items per page, whatever limit is asked for
most_lines  lines of output that an answer has at most, whatever last_n says

What has ended stays known (status shutdown or failure) but is not among
cloud.boxes. Suspending keeps the disk; the processes die."""
import base64
import json
import random
import shutil
import string
import sys
import threading
import time

from cloud import Box, Cloud, Invalid, Refused, Reply, check, main, route
from preview import Preview
from runloop_exec import Executions

TUNNEL = "X-Runloop-Tunnel-Authorization"
KEY = "ak_0123456789abcdef"
STRINGS = {str: str}
STATUSES = {"scheduled", "queued", "provisioning", "initializing", "running",
            "suspending", "suspended", "resuming", "failure", "shutdown"}


def maybe(shape):
    return (shape, None)


IDLE = {"idle_time_seconds": int, "on_idle": {"shutdown", "suspend"}}
LAUNCH = {
    "?launch_commands": maybe([str]),
    "?resource_size_request": maybe({
        "X_SMALL", "SMALL", "MEDIUM", "LARGE", "X_LARGE", "XX_LARGE",
        "CUSTOM_SIZE"}),
    "?available_ports": maybe([int]),
    "?keep_alive_time_seconds": maybe(
        lambda v: isinstance(v, int) and 0 < v <= 172800),
    "?after_idle": maybe(IDLE), "?custom_cpu_cores": maybe(int),
    "?custom_gb_memory": maybe(int), "?custom_disk_size": maybe(int),
    "?architecture": maybe({"x86_64", "arm64"}),
    "?user_parameters": maybe({"username": str, "uid": int}),
    "?required_services": maybe([str]), "?network_policy_id": maybe(str),
    "?lifecycle": maybe({"?after_idle": maybe(IDLE), "?resume_triggers":
                         maybe({"?http": bool, "?axon_event": bool})}),
}
NEW = {
    "?name": maybe(str), "?environment_variables": maybe(STRINGS),
    "?secrets": maybe(STRINGS), "?file_mounts": maybe(STRINGS),
    "?entrypoint": maybe(str), "?blueprint_id": maybe(str),
    "?blueprint_name": maybe(str), "?repo_connection_id": maybe(str),
    "?launch_parameters": maybe(LAUNCH), "?snapshot_id": maybe(str),
    "?metadata": maybe(STRINGS), "?code_mounts": maybe(list),
    "?mounts": maybe(list), "?tunnel": maybe(dict), "?gateways":
    maybe({str: {"gateway": str, "secret": str}}),
    "?mcp": maybe(dict),
}
BLUEPRINT = {
    "name": str, "?dockerfile": maybe(str),
    "?system_setup_commands": maybe([str]), "?launch_parameters":
    maybe(LAUNCH), "?file_mounts": maybe(STRINGS),
    "?base_blueprint_id": maybe(str), "?base_blueprint_name": maybe(str),
    "?metadata": maybe(STRINGS), "?build_args": maybe(STRINGS),
    "?secrets": maybe(STRINGS), "?network_policy_id": maybe(str),
}
POLICY = {"name": str, "?description": maybe(str), "?allow_all": maybe(bool),
          "?allow_devbox_to_devbox": maybe(bool),
          "?allowed_hostnames": maybe([str]),
          "?allow_agent_gateway": maybe(bool),
          "?allow_mcp_gateway": maybe(bool)}


GATEWAY = {"name": str, "endpoint": lambda v: v.startswith("https://"),
           "auth_mechanism": ({"type": {"header"}, "key": str},
                              {"type": {"bearer", "basic"}}),
           "?custom_headers": maybe([dict]), "?description": maybe(str)}
GATEWAY_HOST = "gateway.example"


def new_id(kind):
    return kind + "_30" + "".join(
        random.choices(string.ascii_letters + string.digits, k=22))


def now_ms():
    return int(time.time() * 1000)


class Kept:
    """What the vendor knows of a devbox."""

    def __init__(self, body):
        self.id, self.body = new_id("dbx"), body
        self.launch = body.get("launch_parameters") or {}
        self.metadata, self.name = body.get("metadata") or {}, body.get("name")
        self.box = self.ends = None
        self.created, self.ended = now_ms(), None
        self.failure = self.shutdown = None
        self.status, self.transitions = None, []
        self.changed = threading.Condition()
        self.executions, self.commands = {}, {}
        self.tunnel, self.previews = None, {}

    def become(self, status):
        with self.changed:
            if self.status in ("shutdown", "failure"):
                return
            self.status = status
            self.transitions.append({"status": status,
                                     "transition_time_ms": now_ms()})
            self.changed.notify_all()

    @property
    def idle(self):
        return (self.launch.get("lifecycle") or {}).get("after_idle") or \
            self.launch.get("after_idle")

    def active(self):
        """Its end, by the idle limit, or by the fixed lifetime."""
        if self.idle:
            self.ends = time.monotonic() + self.idle["idle_time_seconds"]
        elif not self.ends:
            self.ends = time.monotonic() + (
                self.launch.get("keep_alive_time_seconds") or 3600)

    def view(self):
        return {"id": self.id, "name": self.name, "status": self.status,
                "create_time_ms": self.created, "end_time_ms": self.ended,
                "initiator_type": "api", "initiator_id": None,
                "blueprint_id": self.body.get("blueprint_id"),
                "snapshot_id": self.body.get("snapshot_id"),
                "metadata": self.metadata, "failure_reason": self.failure,
                "shutdown_reason": self.shutdown,
                "launch_parameters": self.launch,
                "capabilities": ["unknown"],
                "state_transitions": self.transitions,
                "tunnel": self.tunnel,
                "gateway_specs": None, "mcp_specs": None}


class Runloop(Executions, Cloud):
    """An emulated Runloop."""

    def __init__(self, port=0, delay=0.05, boot_fails=0, hold=30, page=5000,
                 most_lines=1 << 30):
        super().__init__(port)
        self.delay, self.boot_fails, self.hold = delay, boot_fails, hold
        self.page, self.most_lines = page, most_lines
        self.known, self.blueprints, self.policies = {}, {}, {}
        self.build_fails = 0
        self.secrets, self.gateways = {}, {}
        self.previews = []
        self.snapshots = {}
        self.snapshot_error = None  # why each one fails

    @property
    def env(self):
        return {"RUNLOOP_API_KEY": KEY, "RUNLOOP_BASE_URL": self.url}

    # Tunnels. A port has an address as soon as there is one.
    def preview(self, port, key):
        for kept in list(self.boxes.values()):
            if kept.tunnel and kept.tunnel["tunnel_key"] == key:
                with self.lock:
                    if port not in kept.previews:
                        token = kept.tunnel["auth_token"]
                        made = Preview(port, token and TUNNEL)
                        made.token = f"Bearer {token}"
                        kept.previews[port] = made
                        self.previews.append(made)
                return kept.previews[port]
        return None

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/enable_tunnel")
    def enable_tunnel(self, req, id):
        body = check(req.json(), {
            "?auth_mode": maybe({"open", "authenticated"}),
            "?http_keep_alive": maybe(bool), "?wake_on_http": maybe(bool)})
        kept = self.kept(id)
        if kept.status != "running" or kept.tunnel:
            raise Refused(400, {"message": "already has a tunnel"})
        closed = body.get("auth_mode") == "authenticated"
        letters = string.ascii_lowercase + string.digits
        kept.tunnel = {
            "tunnel_key": "".join(random.choices(letters, k=20)),
            "auth_mode": "authenticated" if closed else "open",
            "auth_token": "".join(random.choices(letters, k=30))
            if closed else None, "create_time_ms": now_ms(),
            "http_keep_alive": body.get("http_keep_alive") is not False,
            "wake_on_http": bool(body.get("wake_on_http"))}
        return 200, kept.tunnel

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/remove_tunnel")
    def remove_tunnel(self, req, id):
        check(req.json() if req.body() else {}, {})
        kept = self.kept(id)
        kept.tunnel, kept.previews = None, {}
        return 200, {}

    # What cloud.py asks for.
    def authorize(self, req):
        if req.headers.get("Authorization") != f"Bearer {KEY}":
            raise Refused(401, {"message": "Invalid API key"})
        if req.method != "GET" and not req.headers.get("x-request-id"):
            raise Invalid("x-request-id: is missing")

    def expire(self, id):
        kept = self.boxes.get(id)
        if kept and kept.idle and kept.idle["on_idle"] == "suspend":
            self.do_suspend(kept)
        elif kept:
            self.end(kept, "shutdown",
                     "idle" if kept.idle else "keep_alive_timeout")

    # Secrets and gateways. No answer has a value.
    def tokens(self, kept):
        """A gateway's address, and a token that is good from the devbox."""
        env = {}
        for name in kept.body.get("gateways") or {}:
            env[name] = f"gws_{kept.id}_{name}"
            env[name + "_URL"] = f"https://{GATEWAY_HOST}/{kept.id}/{name}"
        return env

    def inject(self, kept, request):
        for name, spec in (kept.body.get("gateways") or {}).items():
            start = f"/{kept.id}/{name}"
            gateway = self.gateways[spec["gateway"]]
            secret = self.secrets[spec["secret"]]["value"]
            if request.host != GATEWAY_HOST or \
                    not request.path.startswith(start):
                continue
            way = gateway["auth_mechanism"]
            header = way.get("key", "authorization").lower()
            if f"gws_{kept.id}_{name}" not in request.headers.get(header, ""):
                continue
            request.host = gateway["endpoint"].removeprefix("https://")
            request.path = request.path[len(start):]
            request.headers[header] = {
                "header": secret, "bearer": f"Bearer {secret}", "basic":
                "Basic " + base64.b64encode(secret.encode()).decode()
            }[way["type"]]
            return

    def keep_object(self, kind, table, body):
        with self.lock:
            if body["name"] in table:
                raise Refused(409, {"message": "the name is taken"})
            table[body["name"]] = {"id": new_id(kind), **body,
                                   "create_time_ms": now_ms()}
        return 200, self.shown_object(table[body["name"]])

    def shown_object(self, item):
        return {k: v for k, v in item.items() if k != "value"}

    def drop_object(self, table, key, id):
        for name, item in list(table.items()):
            if item[key] == id:
                del table[name]
                return 200, self.shown_object(item)
        raise Refused(404, {"message": "not found"})

    @route("POST", "/v1/secrets")
    def add_secret(self, req):
        return self.keep_object("sec", self.secrets, check(
            req.json(), {"name": str, "value": str}))

    @route("GET", "/v1/secrets")
    def list_secrets(self, req):
        check(req.query, {"?limit": str}, "query")
        return 200, {"secrets": [self.shown_object(s) for s in
                                 self.secrets.values()], "has_more": False}

    @route("POST", "/v1/secrets/(?P<name>[^/]+)/delete")
    def delete_secret(self, req, name):
        check(req.json() if req.body() else {}, {})
        return self.drop_object(self.secrets, "name", name)

    @route("POST", "/v1/gateway-configs")
    def add_gateway(self, req):
        return self.keep_object("gwc", self.gateways,
                                check(req.json(), GATEWAY))

    @route("GET", "/v1/gateway-configs")
    def list_gateways(self, req):
        check(req.query, {"?limit": str, "?starting_after": str,
                          "?name": str}, "query")
        items, more = self.page_of(req, list(self.gateways.values()))
        return 200, {"gateway_configs": items, "has_more": more}

    @route("POST", "/v1/gateway-configs/(?P<id>[^/]+)/delete")
    def delete_gateway(self, req, id):
        check(req.json() if req.body() else {}, {})
        return self.drop_object(self.gateways, "id", id)

    # Devboxes.
    def end(self, kept, status, reason):
        with self.lock:
            if kept.status in ("shutdown", "failure"):
                return
            kept.become(status)
            kept.ended = now_ms()
            if status == "failure":
                kept.failure = reason
            else:
                kept.shutdown = reason
        self.destroy(kept.id)

    def boot(self, kept, fails):
        kept.become("provisioning")

        def go():
            time.sleep(self.delay)
            kept.become("initializing")
            time.sleep(self.delay)
            if fails:
                self.end(kept, "failure", "execution_failed")
                return
            launch = kept.body.get("launch_parameters") or {}
            policy = self.policies.get(launch.get("network_policy_id"))
            snapshot = self.snapshots.get(kept.body.get("snapshot_id"))
            box = Box(workdir="/home/user",
                      source=snapshot and snapshot["root"], env={
                **(kept.body.get("environment_variables") or {}),
                **self.tokens(kept)},
                      network=not policy or policy["egress"]["allow_all"])
            with self.lock:
                if kept.id not in self.boxes:
                    box.destroy()
                    return
                kept.box = box
            for command in kept.launch.get("launch_commands") or []:
                box.shell(command)
            kept.become("running")
        threading.Thread(target=go, daemon=True).start()

    def kept(self, id, running=False):
        kept = self.known.get(id)
        if not kept:
            raise Refused(404, {"message": "Devbox not found"})
        if running and kept.status != "running":
            raise Refused(400, {"message": f"Devbox is {kept.status}"})
        return kept

    @route("POST", "/v1/devboxes")
    def create(self, req):
        body = check(req.json(), NEW) if req.body() else {}
        if sum(bool(body.get(k)) for k in ("blueprint_id", "blueprint_name",
                                           "snapshot_id")) > 1:
            raise Invalid("only one of blueprint and snapshot")
        name = body.get("blueprint_name")
        if name and not any(b["name"] == name and b["state"] == "created" and
                            b["status"] == "build_complete"
                            for b in self.blueprints.values()):
            raise Refused(400, {"message": f"No blueprint named {name}"})
        if body.get("blueprint_id") and \
                body["blueprint_id"] not in self.blueprints:
            raise Refused(404, {"message": "Blueprint not found"})
        if body.get("snapshot_id") and \
                body["snapshot_id"] not in self.snapshots:
            raise Refused(404, {"message": "Snapshot not found"})
        policy = (body.get("launch_parameters") or {}).get("network_policy_id")
        if policy and policy not in self.policies:
            raise Refused(404, {"message": "Network policy not found"})
        kept = Kept(body)
        with self.lock:
            self.known[kept.id] = self.boxes[kept.id] = kept
            fails = self.boot_fails > 0
            self.boot_fails -= fails
        kept.active()
        self.boot(kept, fails)
        return 200, kept.view()

    @route("POST", "/v1/devboxes/create_and_await_running")
    def create_and_await(self, req):
        return self.create(req)

    def page_of(self, req, items):
        limit = min(int(req.query.get("limit", "20")), self.page)
        if not 1 <= limit <= 5000:
            raise Invalid("query.limit: from 1 to 5000")
        after, start = req.query.get("starting_after"), 0
        ids = [item["id"] for item in items]
        if after in ids:
            start = ids.index(after) + 1
        return items[start:start + limit], start + limit < len(items)

    @route("GET", "/v1/devboxes")
    def list(self, req):
        check(req.query, {"?status": STATUSES, "?limit": str,
                          "?starting_after": str,
                          "?include_total_count": {"true", "false"}}, "query")
        status = req.query.get("status")
        found = [k.view() for k in list(self.known.values())
                 if not status or k.status == status]
        items, more = self.page_of(req, found[::-1])
        return 200, {"devboxes": items, "has_more": more, "total_count":
                     None if req.query.get("include_total_count") == "false"
                     else len(found)}

    # Snapshots of the disk.
    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/snapshot_disk_async")
    def snapshot(self, req, id):
        body = check(req.json(), {"?name": maybe(str),
                                  "?metadata": maybe(STRINGS),
                                  "?commit_message": maybe(str)})
        kept = self.kept(id, running=True)
        made = {"id": new_id("snp"), "name": body.get("name"),
                "create_time_ms": now_ms(), "source_devbox_id": id,
                "metadata": body.get("metadata") or {},
                "source_blueprint_id": None, "commit_message": None}
        # It is there after a while.
        ready = time.monotonic() + self.delay
        self.snapshots[made["id"]] = {"view": made, "ready": ready,
                                      "root": kept.box.save()}
        return 200, made

    def found_snapshot(self, id):
        if id not in self.snapshots:
            raise Refused(404, {"message": "Snapshot not found"})
        return self.snapshots[id]

    @route("GET", "/v1/devboxes/disk_snapshots")
    def list_snapshots(self, req):
        check(req.query, {"?limit": str, "?starting_after": str,
                          "?devbox_id": str}, "query")
        views = [s["view"] for s in self.snapshots.values()]
        items, more = self.page_of(req, views[::-1])
        return 200, {"snapshots": items, "has_more": more,
                     "total_count": len(views)}

    @route("GET", "/v1/devboxes/disk_snapshots/(?P<id>[^/]+)/status")
    def snapshot_status(self, req, id):
        found = self.found_snapshot(id)
        if self.snapshot_error:
            return 200, {"status": "error", "snapshot": None,
                         "error_message": self.snapshot_error}
        if time.monotonic() < found["ready"]:
            return 200, {"status": "in_progress", "snapshot": None}
        return 200, {"status": "complete", "snapshot": found["view"]}

    @route("POST", "/v1/devboxes/disk_snapshots/(?P<id>[^/]+)/delete")
    def delete_snapshot(self, req, id):
        self.found_snapshot(id)
        shutil.rmtree(self.snapshots.pop(id)["root"], ignore_errors=True)
        return 200, {}

    @route("GET", "/v1/devboxes/(?P<id>dbx_[^/]+|missing)")
    def info(self, req, id):
        return 200, self.kept(id).view()

    @route("POST", "/v1/devboxes/(?P<id>dbx_[^/]+|missing)")
    def update(self, req, id):
        body = check(req.json(), {"?name": maybe(str),
                                  "?metadata": maybe(STRINGS)})
        kept = self.kept(id)
        kept.name = body.get("name", kept.name)
        kept.metadata = body.get("metadata", kept.metadata)
        return 200, kept.view()

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/wait_for_status")
    def wait(self, req, id):
        body = check(req.json(), {"statuses": [STATUSES], "?timeout_seconds":
                                  maybe(lambda v: v in range(1, 31))})
        kept = self.kept(id)
        hold = min(body.get("timeout_seconds") or 10, self.hold)
        with kept.changed:
            kept.changed.wait_for(lambda: kept.status in body["statuses"],
                                  hold)
            if kept.status in body["statuses"]:
                return 200, kept.view()
        return Reply(408, {"message": "Timeout waiting for status"},
                     {"x-should-retry": "true"})

    def do_suspend(self, kept):
        kept.become("suspending")
        kept.ends = None

        def go():
            kept.box.ask("all", signal=9)
            kept.box.bill.stop()
            time.sleep(self.delay)
            kept.become("suspended")
        threading.Thread(target=go, daemon=True).start()

    def nothing(self, req):
        if req.body():
            raise Invalid("body: there is none")

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/suspend")
    def suspend(self, req, id):
        self.nothing(req)
        kept = self.kept(id, running=True)
        self.do_suspend(kept)
        return 200, kept.view()

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/resume")
    def resume(self, req, id):
        self.nothing(req)
        kept = self.kept(id)
        if kept.status != "suspended":
            raise Refused(400, {"message": "Devbox is not suspended"})
        kept.become("resuming")

        def go():
            time.sleep(self.delay)
            kept.box.bill.start()
            kept.ends = None
            kept.active()
            kept.become("running")
        threading.Thread(target=go, daemon=True).start()
        return 200, kept.view()

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/keep_alive")
    def keep_alive(self, req, id):
        self.nothing(req)
        self.kept(id, running=True).active()
        return 200, {}

    @route("POST", "/v1/devboxes/(?P<id>[^/]+)/shutdown")
    def shutdown(self, req, id):
        self.nothing(req)
        check(req.query, {"?force": {"true", "false"}}, "query")
        kept = self.kept(id)
        if kept.status in ("shutdown", "failure"):
            raise Refused(400, {"message": f"Devbox is {kept.status}"})
        self.end(kept, "shutdown", "api_shutdown")
        return 200, kept.view()

    # Blueprints and network policies.
    @route("GET", "/v1/blueprints")
    def list_blueprints(self, req):
        check(req.query, {"?name": str, "?limit": str, "?status": str,
                          "?starting_after": str,
                          "?include_total_count": str}, "query")
        found = [b for b in self.blueprints.values()
                 if req.query.get("name") in (None, b["name"])]
        items, more = self.page_of(req, found[::-1])
        return 200, {"blueprints": items, "has_more": more,
                     "total_count": len(found)}

    @route("POST", "/v1/blueprints")
    def build(self, req):
        body = check(req.json(), BLUEPRINT)
        made = {"id": new_id("bp"), "name": body["name"], "status": "queued",
                "state": "created", "create_time_ms": now_ms(),
                "parameters": body, "failure_reason": None}
        self.blueprints[made["id"]] = made
        fails, self.build_fails = self.build_fails > 0, self.build_fails - 1

        def go():
            for status in ("provisioning", "building",
                           "failed" if fails else "build_complete"):
                time.sleep(self.delay)
                made["status"] = status
            if fails:
                made["failure_reason"] = "build_failed"
        threading.Thread(target=go, daemon=True).start()
        return 200, dict(made)

    @route("GET", "/v1/blueprints/(?P<id>[^/]+)")
    def blueprint(self, req, id):
        if id not in self.blueprints:
            raise Refused(404, {"message": "Blueprint not found"})
        return 200, self.blueprints[id]

    @route("POST", "/v1/blueprints/(?P<id>[^/]+)/delete")
    def delete_blueprint(self, req, id):
        if not self.blueprints.pop(id, None):
            raise Refused(404, {"message": "Blueprint not found"})
        return 200, {}

    @route("GET", "/v1/network-policies")
    def list_policies(self, req):
        check(req.query, {"?name": str, "?id": str, "?limit": str,
                          "?starting_after": str,
                          "?include_total_count": str}, "query")
        found = [p for p in self.policies.values()
                 if req.query.get("name") in (None, p["name"])]
        items, more = self.page_of(req, found)
        return 200, {"network_policies": items, "has_more": more,
                     "total_count": len(found)}

    @route("POST", "/v1/network-policies")
    def make_policy(self, req):
        body = check(req.json(), POLICY)
        if any(p["name"] == body["name"] for p in self.policies.values()):
            raise Refused(409, {"message": "the name is taken"})
        made = {"id": new_id("np"), "name": body["name"],
                "create_time_ms": now_ms(), "update_time_ms": now_ms(),
                "egress": {"allow_all": body.get("allow_all") or False,
                           "allow_devbox_to_devbox": False,
                           "allowed_hostnames":
                           body.get("allowed_hostnames") or []}}
        self.policies[made["id"]] = made
        return 200, json.loads(json.dumps(made))

    def policy_of(self, id):
        if id not in self.policies:
            raise Refused(404, {"message": "NetworkPolicy not found"})
        return self.policies[id]

    @route("GET", "/v1/network-policies/(?P<id>[^/]+)")
    def show_policy(self, req, id):
        return 200, json.loads(json.dumps(self.policy_of(id)))

    @route("POST", "/v1/network-policies/(?P<id>[^/]+)")
    def change_policy(self, req, id):
        body = check(req.json(), {"?" + k.strip("?"): v
                                  for k, v in POLICY.items()})
        egress = self.policy_of(id)["egress"]
        for key in ("allow_all", "allowed_hostnames"):
            if body.get(key) is not None:
                egress[key] = body[key]
        return 200, json.loads(json.dumps(self.policy_of(id)))

    @route("POST", "/v1/network-policies/(?P<id>[^/]+)/delete")
    def delete_policy(self, req, id):
        shown = self.policy_of(id)
        del self.policies[id]
        return 200, shown


if __name__ == "__main__":
    sys.exit(main(Runloop))
