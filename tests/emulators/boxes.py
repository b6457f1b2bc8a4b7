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

config(url) is the table that describes it to dcode."""
import base64
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


def config(url, base64=False, shell="", files=True):
    return TABLE.format(
        url=url, shell=f"shell = '''{shell}'''" if shell else "",
        encoding='encoding = "base64"' if base64 else "") + \
        (FILES if files else "")


class Kept:
    def __init__(self, id, body, boots):
        self.id, self.body = id, body
        self.box = Box(workdir="/srv/work")
        self.up = time.monotonic() + boots
        self.ends = None

    def view(self):
        up = time.monotonic() >= self.up
        return {"id": self.id, "name": self.body["name"],
                "owner": self.body["owner"],
                "state": "up" if up else "booting"}


class Boxes(Cloud):
    def __init__(self, base64=False, boots=0.3, numbers=False, port=0):
        super().__init__(port)
        self.base64, self.boots, self.numbers = base64, boots, numbers

    def authorize(self, req):
        if req.headers.get("Authorization") != "Bearer " + KEY or \
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

    @route("POST", "/v1/boxes/(?P<id>[^/]+)/run")
    def run(self, req, id):
        body = check(req.json(), {"script": str, "seconds": int})
        p = self.kept(id).box.spawn(["/bin/sh", "-c", body["script"]])
        parts = []

        def read(fd):
            with os.fdopen(fd, "rb") as f:
                parts.append(f.read())
        os.close(p.stderr)
        reader = threading.Thread(target=read, args=[p.stdout], daemon=True)
        reader.start()
        reader.join(body["seconds"])
        if reader.is_alive():
            p.signal(9, True)
            reader.join(5)
            raise Refused(408, {"message": "too slow"})
        out = b"".join(parts)
        text = base64.b64encode(out).decode() if self.base64 else \
            out.decode(errors="replace")
        return 200, {"result": {"out": text, "code": p.wait()}}

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
