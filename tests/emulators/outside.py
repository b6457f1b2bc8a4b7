#!/usr/bin/python3
# outside.py - hosts that emulated sandboxes reach through their vendor's proxy.
# SPDX-License-Identifier: MIT
"""A command in a sandbox asks URL/https/HOST/PATH where a real one would ask
https://HOST/PATH, and the vendor's inject(kept, request) puts the secrets in.

    with Outside(cloud, {"api.github.com": ("authorization", "Bearer VALUE")}
                 ) as outside:
        ...curl outside.url + "/https/api.github.com/user"
        outside.seen

A host answers {"authorized": bool}: whether the request has the header that was
given for it. outside.seen has the requests as they reached their hosts."""
import base64
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Leaving:
    """One request: secure, host, method, path, headers (lower-case names)."""

    def __init__(self, method, path, headers):
        parts = re.fullmatch(r"/(https?)/([^/]+)(/.*)?", path)
        self.secure, self.host = parts[1] == "https", parts[2]
        self.method, self.path = method, parts[3] or "/"
        self.headers = {k.lower(): v for k, v in headers.items()}

    def replace(self, placeholder, value):
        """Puts the value where a header has the placeholder, also in Basic."""
        for name, text in self.headers.items():
            if text.startswith("Basic "):
                inside = base64.b64decode(text[6:]).decode()
                inside = inside.replace(placeholder, value)
                text = "Basic " + base64.b64encode(inside.encode()).decode()
            self.headers[name] = text.replace(placeholder, value)


def below(pattern, host):
    """True for the host itself, and with *.x for each host below x."""
    return pattern == host or (pattern.startswith("*.") and
                               host.endswith(pattern[1:]))


def most_specific(table, host):
    """The entry of {"host" or "*.host": entry} that counts for the host."""
    for pattern in sorted(table, key=lambda p: (p.startswith("*"), -len(p))):
        if pattern == "*" or below(pattern, host):
            return table[pattern]
    return None


class Outside:
    def __init__(self, cloud, accounts):
        self.cloud, self.accounts, self.seen = cloud, accounts, []
        self.look = lambda: None  # called while the sandbox asks
        outside = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(outside.answer(Leaving(
                    self.command, self.path, self.headers))).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        self.look()
        for kept in list(self.cloud.boxes.values()):
            self.cloud.inject(kept, request)
        self.seen.append(request)
        name, value = self.accounts.get(request.host, ("", None))
        return {"authorized": value is not None and
                request.headers.get(name) == value}
