#!/usr/bin/python3
# modal.py - Modal's control plane and routers on loopback, real commands.
# SPDX-License-Identifier: MIT
"""Modal as modal-labs/modal-client has it and as the JavaScript SDK 0.11.1
talks to it: gRPC over HTTP/2, both services at one port.

    with Modal(builder="2025.06", delay=0.1) as modal:
        env.update(modal.env)

builder   version of the image builder
delay     seconds until a created sandbox has a task
page      sandboxes per page of a list
most      bytes of output in one message
token_s   life of a router's token
tagless   no SandboxTagsGet, as in older clients' documents
lenient   allow fields that providers/modal/modal.proto does not have (the SDK)
tls       (certificate, key): PEM files

A sandbox ends at its timeout (status 4) or is terminated (3); what has ended
is still known to SandboxWait."""
import random
import re
import shutil
import string
import sys
import threading
import time

from cloud import Box, Invalid, listed, main, route
from grpc_link import Failure, GrpcCloud
from modal_messages import as_json, parse, pb
from modal_router import Router, jwt
from outside import below
from preview import Preview

SERVICE = "/modal.client.ModalClient/"
ID, SECRET = "ak-0123456789", "as-0123456789abcdef"
LETTERS = string.ascii_letters + string.digits
SLIM = ["RUN apt-get update",
        "RUN apt-get install -y gcc gfortran build-essential",
        "RUN pip install --upgrade pip wheel uv",
        "RUN echo 'debconf debconf/frontend select Noninteractive' | "
        "debconf-set-selections", 'CMD ["sleep", "172800"]']
SLIM_FROM = {f"FROM python:{v}-slim-bookworm" for v in
             ("3.10.17", "3.11.12", "3.12.10", "3.13.3", "3.14.2")}
TERMINATED, TIMED_OUT, SUCCESS, FAILURE = 3, 4, 1, 2


class Kept:
    """What the vendor knows of a sandbox."""

    def __init__(self, id, task, ask, box, workdir):
        self.id, self.task, self.ask, self.box = id, task, ask, box
        self.tags = {t.tag_name: t.tag_value for t in ask.tags}
        self.name, self.workdir = ask.definition.name, workdir
        self.created = time.time()
        self.ready = 0
        self.ends = time.monotonic() + ask.definition.timeout_secs
        self.status = 0
        self.execs, self.lock, self.tokens = {}, threading.RLock(), {}


def rpc(kind, *names):
    """A method of the control plane, decoded: f(self, req, ask, v2)."""
    def wrap(function):
        def call(self, req):
            v2 = req.path.endswith("V2")
            self.check_headers(req, v2)
            answer = function(self, req, parse(kind, req.message(),
                                               self.lenient), v2)
            return answer and (200, answer.SerializeToString())
        for name in names:
            call = route("POST", SERVICE + name)(call)
        return call
    return wrap


class Modal(Router, GrpcCloud):
    """An emulated Modal."""

    def __init__(self, port=0, builder="2025.06", delay=0, page=2,
                 most=65536, token_s=3600, lenient=False, tls=None,
                 tagless=False):
        super().__init__(port, tls)
        self.tagless = tagless
        self.router = None  # another address of the routers
        self.builder, self.delay, self.page = builder, delay, page
        self.most, self.token_s, self.lenient = most, token_s, lenient
        self.apps, self.images, self.published = {}, {}, {}
        self.tasks, self.ended, self.snapshots = {}, {}, {}
        self.secrets, self.ephemeral = {}, {}
        self.previews = []
        self.auth = set()
        self.n_execs = 0

    def __exit__(self, *what):
        super().__exit__(*what)
        for image in self.images.values():
            if "source" in image:
                shutil.rmtree(image["source"], ignore_errors=True)

    @property
    def env(self):
        return {"MODAL_TOKEN_ID": ID, "MODAL_TOKEN_SECRET": SECRET,
                "MODAL_SERVER_URL": self.url}

    def policy(self, seconds):
        wish = pb.RPCRetryPolicy(retry_after_secs=seconds)
        return pb.RPCStatus(code=8, details=[pb.Any(
            type_url="type.modal.com/modal.client.RPCRetryPolicy",
            value=wish.SerializeToString())]).SerializeToString()

    def new_id(self, prefix, n=22):
        return prefix + "".join(random.choices(LETTERS, k=n))

    def check_headers(self, req, v2):
        h = req.headers
        if h.get("te") != "trailers" or \
                not h.get("content-type", "").startswith("application/grpc"):
            raise Invalid("te or content-type")
        if "authorization" in h:
            raise Invalid("a router's token went to the control plane")
        for name in ("x-modal-client-type", "x-modal-client-version",
                     "x-modal-host"):
            if not h.get(name):
                raise Invalid(f"{name} is missing")
        if (h.get("x-modal-token-id"), h.get("x-modal-token-secret")) != \
                (ID, SECRET):
            raise Failure(16, "Token ID is malformed")
        if (v2 or req.path.endswith("SandboxGetCommandRouterAccess")) and \
                h.get("x-modal-auth-token") not in self.auth:
            raise Failure(16, "no valid auth token")

    def expire(self, id):
        self.finish(id, TIMED_OUT)

    def finish(self, id, status):
        kept = self.boxes.get(id)
        if kept:
            kept.status = status
            self.ended[id] = kept
            self.destroy(id)

    def kept(self, id, v2=None):
        kept = self.boxes.get(id) or self.ended.get(id)
        if not kept:
            raise Failure(5, f"Sandbox {id} not found")
        if v2 is not None and v2 == (len(id) == 25):
            raise Invalid(f"{id} with a method of the other generation")
        return kept

    @rpc(pb.Empty, "AuthTokenGet")
    def auth_token(self, req, ask, v2):
        token = jwt(exp=int(time.time()) + 1200, n=len(self.auth))
        self.auth.add(token)
        return pb.AuthTokenGetResponse(token=token)

    @rpc(pb.Empty, "ClientHello")
    def hello(self, req, ask, v2):
        return pb.Empty()

    @rpc(pb.AppGetOrCreateRequest, "AppGetOrCreate")
    def app(self, req, ask, v2):
        if not ask.app_name or len(ask.app_name) > 64:
            raise Failure(3, "app_name")
        key = (ask.environment_name, ask.app_name)
        if key not in self.apps:
            if ask.object_creation_type != 1:
                raise Failure(5, f"App '{ask.app_name}' not found")
            self.apps[key] = self.new_id("ap-")
        return pb.AppGetOrCreateResponse(app_id=self.apps[key])

    @rpc(pb.EnvironmentGetOrCreateRequest, "EnvironmentGetOrCreate")
    def environment(self, req, ask, v2):
        settings = pb.EnvironmentSettings(image_builder_version=self.builder)
        return pb.EnvironmentGetOrCreateResponse(
            environment_id="en-1", metadata=pb.EnvironmentMetadata(
                name=ask.deployment_name or "main", settings=settings))

    @rpc(pb.ImageGetOrCreateRequest, "ImageGetOrCreate")
    def image(self, req, ask, v2):
        lines = list(ask.image.dockerfile_commands)
        if ask.app_id not in self.apps.values() or \
                ask.builder_version != self.builder:
            raise Failure(3, "app_id or builder_version")
        if ask.namespace == 3:
            if lines[0] not in SLIM_FROM or lines[1:] != SLIM or not \
                    ask.image.HasField("gpu_config") or not \
                    ask.image.HasField("image_registry_config"):
                raise Failure(7, "no such image of Modal's")
        elif ask.namespace or not lines or not lines[0].startswith("FROM "):
            raise Invalid("image")
        for id, image in self.images.items():
            if image.get("lines") == lines:
                return pb.ImageGetOrCreateResponse(
                    image_id=id, result=pb.GenericResult(
                        status=image["status"], exception="no such image"
                        if image["status"] == FAILURE else ""))
        id = self.new_id("im-")
        self.images[id] = {"lines": lines, "status": FAILURE if
                           "missing" in lines[0] else SUCCESS,
                           "own": bool(ask.namespace)}
        return pb.ImageGetOrCreateResponse(image_id=id)

    @rpc(pb.ImageJoinStreamingRequest, "ImageJoinStreaming")
    def join(self, req, ask, v2):
        image = self.images.get(ask.image_id)
        if not image:
            raise Failure(5, "no such image")
        kind = pb.ImageJoinStreamingResponse
        req.begin()
        if not ask.last_entry_id:
            req.send(kind(task_logs=[pb.TaskLogs(data="=> Step 0\n")],
                          entry_id="1-0").SerializeToString())
        if not ask.last_entry_id and image.get("lines", [""])[0].endswith(
                "-slow"):
            return req.end()  # the client comes again
        result = pb.GenericResult(status=image["status"], exception="" if
                                  image["status"] == SUCCESS else
                                  "no such image")
        req.send(kind(result=result, entry_id="2-0",
                      eof=True).SerializeToString())
        return req.end()

    @rpc(pb.ImageGetByTagRequest, "ImageGetByTag")
    def by_tag(self, req, ask, v2):
        key = (ask.environment_name, ask.tag)
        if ":" not in ask.tag or key not in self.published:
            raise Failure(5, f"Image '{ask.tag}' not found")
        return pb.ImageGetByTagResponse(image_id=self.published[key])

    @rpc(pb.ImagePublishRequest, "ImagePublish")
    def publish(self, req, ask, v2):
        if ask.image_id not in self.images or ":" not in ask.tag:
            raise Failure(5, "no such image")
        self.published[(ask.environment_name, ask.tag)] = ask.image_id
        return pb.Empty()

    @rpc(pb.ImageDeleteRequest, "ImageDelete")
    def delete_image(self, req, ask, v2):
        if not self.images.pop(ask.image_id, None):
            raise Failure(5, "no such image")
        for key in [k for k, v in self.published.items()
                    if v == ask.image_id]:
            del self.published[key]
        return pb.Empty()

    @rpc(pb.ImageGetByTagResponse, "ImageFromId")
    def from_id(self, req, ask, v2):
        if ask.image_id not in self.images:
            raise Failure(5, "Could not find image with ID")
        return pb.ImageGetByTagResponse(image_id=ask.image_id)

    @rpc(pb.SecretGetOrCreateRequest, "SecretGetOrCreate")
    def secret(self, req, ask, v2):
        req.log["message"] = as_json(ask)
        values = {p.key: p.value for p in ask.env_dict}
        kind, name = ask.object_creation_type, ask.deployment_name
        if any(not re.fullmatch(r"[a-zA-Z_]\w*", key) for key in values):
            raise Failure(3, "a key is not the name of a variable")
        if kind not in (0, 2, 3, 5) or bool(name) != (kind != 5) or \
                len(name) > 64 or bool(values) == (kind == 0):
            raise Invalid("SecretGetOrCreate")
        id = self.new_id("st-")
        with self.lock:
            if kind == 5:
                self.ephemeral[id] = values
                return pb.SecretGetOrCreateResponse(secret_id=id)
            key = (ask.environment_name, name)
            for known, secret in self.secrets.items():
                if secret.get("key") == key:
                    id = known
            if kind == 0 and id not in self.secrets:
                raise Failure(5, f"Secret '{name}' not found")
            if kind == 2 and id in self.secrets:
                raise Failure(6, f"Secret '{name}' already exists")
            if kind:
                self.secrets[id] = {"name": name, "key": key,
                                    "values": values}
        return pb.SecretGetOrCreateResponse(secret_id=id)

    @rpc(pb.SecretDeleteRequest, "SecretDelete")
    def delete_secret(self, req, ask, v2):
        req.log["message"] = as_json(ask)
        if not self.secrets.pop(ask.secret_id, None):
            raise Failure(5, "no such secret")
        return pb.Empty()

    def check_policy(self, d):
        """As the SDK checks an outbound policy, and secrets."""
        rules = d.experimental_outbound_policy.header_replacements
        if any(id not in self.ephemeral and id not in self.secrets
               for id in d.secret_ids) or any(
                   r.secret_id not in self.secrets for r in rules):
            raise Failure(5, "no such secret")
        if rules and (d.network_access.network_access_type == 2 or
                      d.network_access.allowed_domains):
            raise Failure(3, "an outbound policy and a network policy")
        if sum(len(r.headers) for r in rules) > 25:
            raise Failure(3, "too many header replacements")

    def inject(self, kept, request):
        """What the policy does to a request that leaves the sandbox."""
        policy = kept.ask.definition.experimental_outbound_policy
        for rule in policy.header_replacements:
            if request.secure and (below(rule.domain, request.host) or
                                   rule.domain == "*." + request.host):
                values = self.secrets[rule.secret_id]["values"]
                for pair in rule.headers:
                    request.headers[pair.key.lower()] = re.sub(
                        r"\$(\$|[a-zA-Z_]\w*)",
                        lambda m, known=values: "$" if m[1] == "$"
                        else known[m[1]], pair.value)

    def make(self, ask, v2):
        """A sandbox as asked for, with a name that no other has."""
        d = ask.definition
        with self.lock:
            for kept in self.boxes.values():
                if d.name and kept.name == d.name:
                    raise Failure(6, f"Sandbox '{d.name}' already exists")
            workdir = d.workdir or "/root"
            access = d.network_access
            env = {}
            for id in d.secret_ids:
                env |= self.ephemeral.get(id) or self.secrets[id]["values"]
            box = Box(workdir=workdir, home="/root", env=env,
                      source=self.images[d.image_id].get("source"),
                      network=access.network_access_type == 1 or
                      access.network_access_type == 3 and
                      listed(access.allowed_cidrs))
            id = self.new_id("sb-01K5" if v2 else "sb-")
            kept = Kept(id, self.new_id("ta-") + "V" * v2, ask, box, workdir)
            kept.ready = time.monotonic() + self.delay
            self.boxes[id] = self.tasks[kept.task] = kept
        return kept

    @rpc(pb.SandboxCreateRequest, "SandboxCreate", "SandboxCreateV2")
    def create(self, req, ask, v2):
        req.log["message"] = as_json(ask)
        d = ask.definition
        image = self.images.get(d.image_id)
        if ask.app_id not in self.apps.values() or not image:
            raise Failure(5, "no such app or image")
        if not 0 < d.timeout_secs <= 86400 or d.network_access.\
                network_access_type not in (1, 2, 3) or (
                d.workdir and not d.workdir.startswith("/")):
            raise Failure(3, "timeout_secs, network_access or workdir")
        if not d.entrypoint_args and not image.get("own") and \
                not self.lenient:
            raise Invalid("entrypoint_args: this image would end at once")
        self.check_policy(d)
        kept = self.make(ask, v2)
        metadata = pb.SandboxHandleMetadata(app_id=ask.app_id)
        if not v2:
            return pb.SandboxCreateResponse(sandbox_id=kept.id,
                                            metadata=metadata)
        return pb.SandboxCreateV2Response(
            sandbox_id=kept.id, metadata=metadata, task_id=kept.task,
            command_router_access=self.access(kept))

    @rpc(pb.SandboxGetFromNameRequest, "SandboxGetFromName",
         "SandboxGetFromNameV2")
    def from_name(self, req, ask, v2):
        for kept in self.boxes.values():
            if ask.sandbox_name and kept.name == ask.sandbox_name and \
                    self.apps.get((ask.environment_name, ask.app_name)) == \
                    kept.ask.app_id:
                return pb.SandboxGetFromNameResponse(sandbox_id=kept.id)
        raise Failure(5, f"Sandbox '{ask.sandbox_name}' not found")

    @rpc(pb.SandboxGetTaskIdRequest, "SandboxGetTaskId", "SandboxGetTaskIdV2")
    def task_id(self, req, ask, v2):
        kept = self.kept(ask.sandbox_id, v2)
        answer = pb.SandboxGetTaskIdResponse()
        end = time.monotonic() + (ask.timeout if ask.HasField("timeout")
                                  else 55)
        while time.monotonic() < min(end, kept.ready) and not kept.status:
            time.sleep(0.01)
        if kept.status:
            answer.task_result.status = kept.status
        elif time.monotonic() >= kept.ready:
            answer.task_id = kept.task
        return answer

    @rpc(pb.SandboxCreateConnectTokenRequest, "SandboxCreateConnectToken",
         "SandboxCreateConnectTokenV2")
    def connect_token(self, req, ask, v2):
        if self.kept(ask.sandbox_id, v2).status or not 0 < ask.port < 65536:
            raise Failure(9, "the sandbox is not running, or no port")
        made = Preview(ask.port, "Authorization", scheme="Bearer ")
        self.previews.append(made)
        return pb.SandboxCreateConnectTokenResponse(
            url=made.url, token=made.token.removeprefix("Bearer "))

    @rpc(pb.SandboxGetTunnelsRequest, "SandboxGetTunnels",
         "SandboxGetTunnelsV2")
    def tunnels(self, req, ask, v2):
        kept = self.kept(ask.sandbox_id, v2)
        return pb.SandboxGetTunnelsResponse(
            result=pb.GenericResult(status=SUCCESS), tunnels=[
                pb.TunnelData(host=f"{kept.id.lower()}.w.modal.host", port=443,
                              container_port=spec.port)
                for spec in kept.ask.definition.open_ports.ports])

    def access(self, kept):
        ends = int(time.time()) + self.token_s
        token = jwt(exp=ends, task=kept.task, n=random.random())
        kept.tokens[token] = ends
        # The SDK wants https:// and speaks cleartext all the same.
        return pb.CommandRouterAccess(
            jwt=token, url=self.router or self.url.replace("http:", "https:"))

    @rpc(pb.TaskGetCommandRouterAccessRequest, "TaskGetCommandRouterAccess")
    def task_access(self, req, ask, v2):
        kept = self.tasks.get(ask.task_id)
        if not kept or kept.status:
            raise Failure(9, "the task is not running")
        return self.access(kept)

    @rpc(pb.SandboxGetCommandRouterAccessRequest,
         "SandboxGetCommandRouterAccess")
    def sandbox_access(self, req, ask, v2):
        kept = self.boxes.get(ask.sandbox_id) or self.tasks.get(ask.task_id)
        if not kept or kept.status:
            raise Failure(9, "the sandbox is not running")
        return self.access(kept)

    @rpc(pb.SandboxWaitRequest, "SandboxWait", "SandboxWaitV2")
    def wait(self, req, ask, v2):
        kept = self.kept(ask.sandbox_id, v2)
        end = time.monotonic() + min(ask.timeout, 55)
        while not kept.status and time.monotonic() < end and not req.gone:
            time.sleep(0.01)
        answer = pb.SandboxWaitResponse()
        if kept.status:
            answer.result.status = kept.status
        return answer

    @rpc(pb.SandboxTerminateRequest, "SandboxTerminate", "SandboxTerminateV2")
    def terminate(self, req, ask, v2):
        kept = self.kept(ask.sandbox_id, v2)
        answer = pb.SandboxTerminateResponse()
        if kept.status:
            answer.existing_result.status = kept.status
        self.finish(kept.id, TERMINATED)
        return answer

    @rpc(pb.SandboxListRequest, "SandboxList", "SandboxListV2")
    def list(self, req, ask, v2):
        wanted = {t.tag_name: t.tag_value for t in ask.tags}
        found = [k for k in self.boxes.values()
                 if ask.app_id in ("", k.ask.app_id) and
                 all(k.tags.get(a) == b for a, b in wanted.items()) and
                 (not ask.before_timestamp or
                  k.created < ask.before_timestamp) and
                 (v2 or len(k.id) == 25)]
        found.sort(key=lambda k: -k.created)
        return pb.SandboxListResponse(sandboxes=[pb.SandboxInfo(
            id=k.id, created_at=k.created, app_id=k.ask.app_id, name=k.name,
            image_id=k.ask.definition.image_id,
            timeout_secs=k.ask.definition.timeout_secs,
            task_info=pb.TaskInfo(id=k.task, started_at=k.created))
            for k in found[:self.page]])

    @rpc(pb.SandboxTagsGetRequest, "SandboxTagsGet", "SandboxTagsGetV2")
    def tags(self, req, ask, v2):
        if self.tagless:
            raise Failure(12, "unknown method SandboxTagsGet")
        kept = self.kept(ask.sandbox_id, v2)
        return pb.SandboxTagsGetResponse(tags=[
            pb.SandboxTag(tag_name=a, tag_value=b)
            for a, b in kept.tags.items()])


if __name__ == "__main__":
    sys.exit(main(Modal))
