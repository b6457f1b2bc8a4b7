"""git_servers.py - a real git server over https, with a REST API."""
# SPDX-License-Identifier: MIT
import base64
import http.server
import json
import os
import pathlib
import ssl
import subprocess
import threading

from apply_room import git
from forges import Forge

USER, PASSWORD = "ann", "pass-word-of-ann"
TOKEN = "token-of-ann-0123456789"


class Handler(http.server.BaseHTTPRequestHandler):
    """Starts git http-backend for each request of the user."""

    def log_message(self, *args):
        pass

    def serve(self):
        site = self.server.site
        site.requests.append(f"{self.command} {self.path}")
        if self.path.startswith("/api/"):
            self.serve_api(site)
            return
        wanted = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != f"Basic {wanted}":
            site.refused += 1
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        site.hold.wait(60)
        self.backend(site)

    def serve_api(self, site):
        length = int(self.headers.get("Content-Length") or 0)
        status, answer = site.forge.answer(
            self.command, self.path, self.headers, self.rfile.read(length))
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def backend(self, site):
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self.read_chunks()
        done = subprocess.run(
            [site.backend], input=body, capture_output=True, env={
                "PATH": os.environ["PATH"], "REMOTE_USER": USER,
                "GIT_PROJECT_ROOT": str(site.root), "PATH_INFO": path,
                "GIT_HTTP_EXPORT_ALL": "1", "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_LENGTH": str(len(body)),
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING":
                    self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")})
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = dict(fields).get("Status", "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    def read_chunks(self):
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    do_GET = do_POST = serve


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that was killed


class Https:
    """site.url("r.git") is a repository; root has the bare repositories."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder)
        self.requests, self.refused = [], 0
        self.hold = threading.Event()  # clear: the server does not answer
        self.hold.set()
        core = subprocess.run(["git", "--exec-path"], capture_output=True,
                              text=True, check=True).stdout.strip()
        self.backend = f"{core}/git-http-backend"
        self.cert = self.root / "cert.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-keyout",
             self.root / "key.pem", "-out", self.cert, "-days", "30",
             "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.root / "key.pem")
        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.server.site = self
        self.server.socket = context.wrap_socket(self.server.socket,
                                                 server_side=True)
        self.port = self.server.server_address[1]
        self.host = f"localhost:{self.port}"
        self.forge = Forge(TOKEN, self.host)
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def url(self, name):
        return f"https://localhost:{self.port}/{name}"

    def repository(self, name, source):
        """A bare copy of source, whose default branch is that of source."""
        (self.root / name).parent.mkdir(exist_ok=True)
        git(source, "clone", "-q", "--bare", str(source),
            str(self.root / name))
        git(self.root / name, "config", "http.receivepack", "true")
        return self.root / name

    def accept(self, home):
        """The user's own settings: credentials and the certificate."""
        helper = home / "helper"
        helper.write_text(f"#!/bin/sh\necho $1 >>{home}/helped\n"
                          f'echo username={USER}\necho password={PASSWORD}\n')
        helper.chmod(0o755)
        (home / ".gitconfig").write_text(
            "[user]\nname = Ann\nemail = ann@example.org\n"
            f"[credential]\nhelper = {helper}\n"
            f"[http]\nsslCAInfo = {self.cert}\n")

    def close(self):
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()
