#!/usr/bin/python3
# boxes.py - a small self-hosted service of sandboxes, for templates.
# SPDX-License-Identifier: MIT
"""What somebody may run at home: boxes with a shell, JSON and raw files.

    POST   /v1/boxes                     {"name", "image", ...} -> {"box": {..}}
    GET    /v1/boxes?owner=ID            -> {"boxes": [{"id", "name", "owner"}]}
    GET    /v1/boxes/ID                  -> {"box": {"state": "up"}}
    POST   /v1/boxes/ID/run              {"script", "seconds"} -> {"result":
                                         {"out" (base64 with Boxes(base64)),
                                          "code"}}
    GET    /v1/boxes/ID/file?at=PATH     raw bytes;  PUT the same
    DELETE /v1/boxes/ID

With Boxes(own=True) a box has a server and a token of its own, told when it is
made: run and file are below /own/ID/ and want that token. With stream="sse" or
"ndjson" the output comes as events {"kind", "bytes"} (base64) and {"kind",
"code"}; with Boxes(raw=True) the script is the body of the request, and its
output the answer, with the service's own control bytes between.

config(url) is the table that describes it to dcode."""
import base64
import json
import os
import random
import threading
import time

from cloud import Box, Cloud, Refused, check, main, route

KEY = "box-key-0123456789abcdef"

TABLE = """
[sandboxes.providers.homemade]
working_dir = "/srv/work"
supports_snapshot_name = true
params = {{ image = "debian", size = 2 }}

[sandboxes.providers.homemade.http]
base = "{url}/v1"
headers = {{ Authorization = "Bearer ${{BOX_TOKEN}}", X-Team = "blue" }}

[sandboxes.providers.homemade.http.create]
path = "/boxes"
body = {{ name = "{{label}}", owner = "{{owner}}", image = "{{param.image}}", \
size = "s-{{param.size}}", snapshot = "{{snapshot}}", ttl = "{{lifetime}}" }}
id = "/box/id"

[sandboxes.providers.homemade.http.ready]
path = "/boxes/{{id}}"
state = "/box/state"
is = ["up"]
failed = ["broken"]

[sandboxes.providers.homemade.http.execute]
path = "/boxes/{{id}}/run"
{shell}
body = {{ script = "{{command}}", seconds = "{{timeout}}" }}
output = "/result/out"
exit_code = "/result/code"
{encoding}

[sandboxes.providers.homemade.http.delete]
path = "/boxes/{{id}}"
"""
FILES = """
[sandboxes.providers.homemade.http.read]
path = "/boxes/{id}/file?at={path}"

[sandboxes.providers.homemade.http.write]
path = "/boxes/{id}/file?at={path}"

[sandboxes.providers.homemade.http.list]
path = "/boxes?owner={owner}"
items = "/boxes"
id = "/id"
label = "/name"
owner = "/owner"
"""


def config(url, base64=False, shell="", files=True, own=False, stream="",
           raw=False, array=False, within="127.0.0.1"):
    text = TABLE.format(
        url=url, shell=f"shell = '''{shell}'''" if shell else "",
        encoding='encoding = "base64"' if base64 or stream else "") + \
        (FILES if files else "")
    run = "[sandboxes.providers.homemade.http.execute]\n"
    body = 'body = { script = "{command}", seconds = "{timeout}" }\n'
    if own:
        text = text.replace('id = "/box/id"\n', 'id = "/box/id"\n'
                            'server = "/box/server"\ntoken = "/box/token"\n'
                            f'within = ["{within}"]\n', 1)
        text = text.replace('"/boxes/{id}/run"', '"/run"').replace(
            '"/boxes/{id}/file?', '"/file?')
    if stream:
        text = text.replace(run, run + f'stream = "{stream}"\n').replace(
            "/result/out", "/bytes").replace("/result/code", "/code")
    if array:
        text = text.replace(
            body, 'body = { argv = ["env", "-u", "X", "sh", "-c", '
            '"{command}"], seconds = "{timeout}" }\n')
    if raw:
        text = text.replace(body, 'body = "{command}"\n'
                            'type = "application/x-sh"\n').replace(
            'output = "/result/out"\nexit_code = "/result/code"\n', "")
    return text


class Kept:
    def __init__(self, id, body, boots):
        self.id, self.body = id, body
        self.box = Box(workdir="/srv/work")
        self.up = time.monotonic() + boots
        self.ends = None
        self.token = f"own-{random.randrange(10**15)}"
        self.server = ""

    def view(self):
        up = time.monotonic() >= self.up
        own = {"server": self.server, "token": self.token} \
            if self.server else {}
        return {"id": self.id, "name": self.body["name"],
                "owner": self.body["owner"], **own,
                "state": "up" if up else "booting"}


class Boxes(Cloud):
    def __init__(self, base64=False, boots=0.3, numbers=False, port=0,
                 own=False, stream="", raw=False, array=False):
        super().__init__(port)
        self.base64, self.boots, self.numbers = base64, boots, numbers
        self.own, self.stream, self.raw = own, stream, raw
        self.array = array

    def authorize(self, req):
        key = KEY
        if req.path.startswith("/own/"):
            kept = self.boxes.get(req.path.split("/")[2])
            key = kept.token if kept else "?"
        if req.headers.get("Authorization") != "Bearer " + key or \
                req.headers.get("X-Team") != "blue":
            raise Refused(401, {"message": "wrong key"})

    def kept(self, id):
        found = self.boxes.get(int(id) if self.numbers and id.isdigit()
                               else id)
        if not found:
            raise Refused(404, {"message": "no such box"})
        return found

    @route("POST", "/v1/boxes")
    def create(self, req):
        body = check(req.json(), {
            "name": str, "owner": str, "image": str, "size": str,
            "ttl": int, "?snapshot": str})
        if body["image"] == "refused":
            raise Refused(422, {"message": "no such image"})
        number = random.randrange(10**6, 10**7)
        id = number if self.numbers else f"box {number}/ü".replace(" ", "-")
        kept = Kept(id, body, self.boots)
        if self.own:
            id = kept.id = f"b{number}"
            kept.server = f"{self.url}/own/{id}/"
        with self.lock:
            self.boxes[id] = kept
        return 201, {"box": kept.view()}

    @route("GET", "/v1/boxes")
    def list(self, req):
        owner = req.query.get("owner")
        return 200, {"boxes": [k.view() for k in list(self.boxes.values())
                               if not owner or k.body["owner"] == owner]}

    @route("GET", "/v1/boxes/(?P<id>[^/]+)")
    def info(self, req, id):
        return 200, {"box": self.kept(id).view()}

    @route("DELETE", "/v1/boxes/(?P<id>[^/]+)")
    def delete(self, req, id):
        self.destroy(self.kept(id).id)
        return 204, None

    def asked(self, req):
        if self.raw:
            if req.headers.get("Content-Type") != "application/x-sh":
                raise Refused(415, {"message": "not a script"})
            script = b"".join(iter(req.read, b"")).decode()
            return ["/bin/sh", "-c", script], 25
        if self.array:
            body = check(req.json(), {"argv": [str], "seconds": int})
            return body["argv"], body["seconds"]
        body = check(req.json(), {"script": str, "seconds": int})
        return ["/bin/sh", "-c", body["script"]], body["seconds"]

    def answer(self, out, code):
        if self.raw:
            parts = [out[i:i + 700] for i in range(0, len(out), 700)]
            return 200, b"".join(b"\1" + p for p in parts) + b"\3" + \
                bytes([code & 255])
        if not self.stream:
            text = base64.b64encode(out).decode() if self.base64 else \
                out.decode(errors="replace")
            return 200, {"result": {"out": text, "code": code}}
        events = [{"kind": "begun", "bytes": None}]
        events += [{"kind": "out",
                    "bytes": base64.b64encode(out[i:i + 999]).decode()}
                   for i in range(0, len(out), 999)]
        events.append({"kind": "end", "code": code})
        lines = [json.dumps(e) for e in events]
        if self.stream == "ndjson":
            return 200, ("\n".join(lines) + "\n").encode()
        return 200, "".join(f": hi\nevent: x\ndata: {line}\n\n"
                            for line in lines).encode()

    @route("POST", "/own/(?P<id>[^/]+)/run")
    def own_run(self, req, id):
        return self.run(req, id)

    @route("GET", "/own/(?P<id>[^/]+)/file")
    def own_read(self, req, id):
        return self.read(req, id)

    @route("PUT", "/own/(?P<id>[^/]+)/file")
    def own_write(self, req, id):
        return self.write(req, id)

    @route("POST", "/v1/boxes/(?P<id>[^/]+)/run")
    def run(self, req, id):
        argv, seconds = self.asked(req)
        p = self.kept(id).box.spawn(argv)
        parts = []

        def read(fd):
            with os.fdopen(fd, "rb") as f:
                parts.append(f.read())
        os.close(p.stderr)
        reader = threading.Thread(target=read, args=[p.stdout], daemon=True)
        reader.start()
        reader.join(seconds)
        if reader.is_alive():
            p.signal(9, True)
            reader.join(5)
            raise Refused(408, {"message": "too slow"})
        return self.answer(b"".join(parts), p.wait())

    @route("GET", "/v1/boxes/(?P<id>[^/]+)/file")
    def read(self, req, id):
        try:
            fd = self.kept(id).box.open(req.query["at"], os.O_RDONLY)
            with os.fdopen(fd, "rb") as f:
                return 200, f.read()
        except OSError as e:
            raise Refused(400, {"message": str(e)}) from e

    @route("PUT", "/v1/boxes/(?P<id>[^/]+)/file")
    def write(self, req, id):
        fd = self.kept(id).box.open(
            req.query["at"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with os.fdopen(fd, "wb") as f:
            while True:
                piece = req.read()
                if not piece:
                    break
                f.write(piece)
        return 204, None


if __name__ == "__main__":
    main(Boxes)
