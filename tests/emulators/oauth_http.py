# oauth_http.py - a server that asks for a login, and its hostile metadata.
# SPDX-License-Identifier: MIT
"""OAuthHttp(**what) as a context manager: an MCP server's address .url whose
login is given by this server too. what changes one document each:
  challenge=TEXT    WWW-Authenticate;  resource={...}, issuer={...}: members of
  the metadata (None: without it);  token=(status, body or seconds to hang);
  raw={path: bytes}: an answer as it stands;  redirect={path: address};
  endless={path, ...}: a body without an end;  iss=TEXT: of the answer.
hang={path, ...}: no answer for 20 s.  rotates=SECONDS: a token ends at once,
and each renewal, answered so much later, takes the one before back.
needs=SCOPE: calls of tools are refused without it.  .paths has every request
that came, .refused how many renewals came with an old token."""
import json
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RESOURCE = "/.well-known/oauth-protected-resource/mcp"
ISSUER = "/.well-known/oauth-authorization-server"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def whole(self, status, body, **headers):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def odd(self, path):
        """True when the test wants something else of this path."""
        what = self.server.what
        if path in what.get("redirect", {}):
            self.whole(302, b"", Location=what["redirect"][path])
        elif path in what.get("raw", {}):
            self.whole(200, what["raw"][path])
        elif path in what.get("hang", ()):
            time.sleep(20)
        elif path in what.get("endless", ()):
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b"{" * 65536)
        else:
            return False
        return True

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        self.server.paths.append(url.path)
        if self.odd(url.path):
            return
        if url.path == RESOURCE:
            self.whole(200, self.server.resource())
        elif url.path == ISSUER:
            self.whole(200, self.server.issuer())
        elif url.path == "/authorize":
            q = dict(urllib.parse.parse_qsl(url.query))
            more = {"iss": self.server.what["iss"]} \
                if "iss" in self.server.what else {}
            back = urllib.parse.urlencode(
                {"code": "a-code", "state": q["state"], **more})
            self.whole(302, b"", Location=f"{q['redirect_uri']}?{back}")
        else:
            self.whole(404, b"nothing")

    def token(self, form):
        s = self.server
        answer = {"access_token": "an-access-token", "token_type": "Bearer"}
        if "rotates" in s.what:
            old = form.get("refresh_token")
            if old and old != f"refresh-{s.renewed}":
                s.refused += 1
                return self.whole(400, {"error": "invalid_grant"})
            s.renewed += 1
            if old:
                time.sleep(s.what["rotates"])
            answer |= {"access_token": f"an-access-token-{s.renewed}",
                       "expires_in": 20,
                       "refresh_token": f"refresh-{s.renewed}"}
        return self.whole(*s.what.get("token", (200, answer)))

    def message(self, message):
        needs, method = self.server.what.get("needs"), message["method"]
        result = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "o"},
                  "capabilities": {"tools": {}}}
        if method == "tools/list":
            result = {"tools": needs and [{
                "name": "far", "inputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": True}}] or []}
        if method == "tools/call":
            return self.whole(403, b"{}", WWW_Authenticate=f'Bearer error="'
                              f'insufficient_scope", scope="{needs}"')
        return self.whole(200, {"jsonrpc": "2.0", "id": message.get("id"),
                                "result": result})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.append(self.path)
        self.server.bodies.append((self.path, body))
        self.server.seen |= set(self.headers)
        if self.odd(self.path):
            return
        if self.path == "/register":
            self.whole(201, {"client_id": "a-client"})
        elif self.path == "/token":
            self.token(dict(urllib.parse.parse_qsl(body.decode())))
        elif self.path == "/revoke":
            self.whole(*self.server.what.get("revoke", (200, b"")))
        elif "open" in self.server.what or \
                self.headers.get("Authorization", "").startswith(
                    "Bearer an-access-token"):
            self.message(json.loads(body))
        else:
            told = self.server.what.get(
                "challenge", f'Bearer resource_metadata="BASE{RESOURCE}"')
            self.whole(401, b"{}", WWW_Authenticate=told.replace(
                "BASE", self.server.base))


class OAuthHttp(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, **what):
        super().__init__(("127.0.0.1", 0), Handler)
        self.what, self.paths, self.bodies = what, [], []
        self.renewed = self.refused = 0
        self.seen = set()  # names of headers of POST
        self.base = f"http://127.0.0.1:{self.server_address[1]}"
        self.url = self.base + "/mcp"

    def handle_error(self, request, client_address):
        pass

    def document(self, name, document):
        document.update(self.what.get(name, {}))
        return {k: v.replace("BASE", self.base) if isinstance(v, str) else v
                for k, v in document.items() if v is not None}

    def resource(self):
        return self.document("resource", {
            "resource": self.url, "authorization_servers": [self.base]})

    def issuer(self):
        return self.document("issuer", {
            "issuer": self.base, "token_endpoint": self.base + "/token",
            "authorization_endpoint": self.base + "/authorize",
            "registration_endpoint": self.base + "/register",
            "code_challenge_methods_supported": ["S256"]})

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.02,),
                         daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
