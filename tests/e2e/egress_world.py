"""egress_world.py - a small Internet in a network namespace of its own.

egress_world.py DIR: run it under `unshare -n -m` (with -r for a user who is not
root). A second namespace is the Internet: public-looking addresses are on its
loopback interface, names of them in /etc/hosts, and servers for HTTP and HTTPS
at each. OWN is the address of the first one, the machine, with the same
servers, as on its loopback interface. It prints "ready", and
then a line for each packet to a DNS server that leaves a program. DIR/heads
gets the requests, and DIR/bytes all that record.good.example:443 gets, with a
line "END" after each connection. Paths below /echo/ return requests, /repo.git
is an empty repository that asks for a password. Below /registry/ are a proxy of
Go modules and a registry of cargo, which answer only requests with TOKEN. What
is below amazonaws.com answers only requests that are signed with AWS_KEY, and
says how they are.
"""
# SPDX-License-Identifier: MIT
import base64
import fcntl
import gzip
import http.server
import io
import json
import pathlib
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import tarfile
import threading
import urllib.parse
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "emulators"))
from agentcore_sign import (  # noqa: E402
    AUTHORIZATION, SAFE, hashed, query_of, signature)

TOKEN = "ghp_Real0123456789abcdefghijklmnopqrstuv"
AWS_KEY = ("ASIAREALKEY234567ABC", "Real/Secret+0123456789abcdefghijklmnopqr",
           "RealToken/" + "t0ken+" * 40 + "==")
AWS_HOSTS = ("box.s3.us-east-1.amazonaws.com", "sqs.us-east-1.amazonaws.com",
             "lambda.us-east-1.amazonaws.com")
HOSTS = {"good.example": "93.184.216.34", "api.good.example": "93.184.216.34",
         "evil-good.example": "93.184.216.35",
         "good.example.evil.test": "93.184.216.35",
         "bad.example": "93.184.216.35", "inner.example": "10.9.9.9",
         "meta.example": "169.254.169.254", "short": "93.184.216.34",
         **dict.fromkeys(AWS_HOSTS, "93.184.216.37")}
OWN = {"own.example": "93.184.217.1"}
GATEWAY = "93.184.217.2"
RECORDER = {"record.good.example": "93.184.216.36"}
# names that lead to one of these addresses in another form
MAPPED = {"mapped.example": "::ffff:93.184.216.35"}
RESOLVER = "93.184.216.53"
PORTS = {80: False, 443: True, 8080: False, 8443: True}


def raise_addresses(addresses):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        flags = struct.pack("16sh22x", b"lo", 0x1 | 0x40)
        fcntl.ioctl(s, 0x8914, flags)  # SIOCSIFFLAGS: up
        for i, address in enumerate(addresses):
            name = f"lo:{i + 1}".encode()
            fcntl.ioctl(s, 0x8916, struct.pack(  # SIOCSIFADDR
                "16sHH4s16x", name, socket.AF_INET, 0,
                socket.inet_aton(address)))
            fcntl.ioctl(s, 0x891C, struct.pack(  # SIOCSIFNETMASK
                "16sHH4s16x", name, socket.AF_INET, 0,
                socket.inet_aton("255.255.255.255")))


def mount_etc(folder):
    hosts = "".join(f"{a} {n}\n" for n, a in
                    (*HOSTS.items(), *RECORDER.items(), *MAPPED.items(),
                     *OWN.items()))
    (folder / "hosts").write_text("127.0.0.1 localhost\n" + hosts)
    (folder / "resolv.conf").write_text(f"nameserver {RESOLVER}\n")
    for name in ("hosts", "resolv.conf"):
        subprocess.run(["mount", "--bind", folder / name, f"/etc/{name}"],
                       check=True)


def make_crate():
    """The same bytes each time, for the hash in the index."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, text in (
                ("Cargo.toml", '[package]\nname = "m"\nversion = "1.0.0"\n'),
                ("src/lib.rs", "// REACHED\n")):
            info = tarfile.TarInfo("m-1.0.0/" + name)
            info.size = len(text)
            t.addfile(info, io.BytesIO(text.encode()))
    return gzip.compress(out.getvalue(), mtime=0)


def make_module():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("m.example/m@v1.0.0/go.mod", "module m.example/m\n")
        z.writestr("m.example/m@v1.0.0/m.go", "package m // REACHED\n")
    return out.getvalue()


VERSION = {"Version": "v1.0.0", "Time": "2026-01-01T00:00:00Z"}
# What the registries answer, by method and path.
REGISTRY = {
    "GET go/m.example/m/@v/list": b"v1.0.0\n",
    "GET go/m.example/m/@v/v1.0.0.info": json.dumps(VERSION).encode(),
    "GET go/m.example/m/@v/v1.0.0.mod": b"module m.example/m\n",
    "GET go/m.example/m/@v/v1.0.0.zip": make_module(),
    "GET cargo/m.crate": make_crate(),
    "GET cargo/api/v1/crates/m/owners": json.dumps({"users": [
        {"id": 1, "login": "REACHED", "name": None}]}).encode(),
    "DELETE cargo/api/v1/crates/m/1.0.0/yank": b'{"ok": true}',
}


def check_aws(method, target, headers, body):
    """How the request is signed; ValueError if it is not, or not well."""
    path, _, query = target.partition("?")
    asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    match = AUTHORIZATION.fullmatch(headers.get("Authorization", ""))
    if match:
        id, *scope, names, got = match.groups()
        when, token = headers["X-Amz-Date"], headers["X-Amz-Security-Token"]
    else:
        id, *scope, _ = asked["X-Amz-Credential"].split("/")
        names, got = asked["X-Amz-SignedHeaders"], asked["X-Amz-Signature"]
        when, token = asked["X-Amz-Date"], asked["X-Amz-Security-Token"]
        query = "&".join(p for p in query.split("&")
                         if not p.startswith("X-Amz-Signature="))
    if (id, token) != (AWS_KEY[0], AWS_KEY[2]) or when[:8] != scope[0]:
        raise ValueError("id, token or scope")
    s3 = scope[2] == "s3"
    payload = headers.get("X-Amz-Content-Sha256") or (
        "UNSIGNED-PAYLOAD" if s3 and not match else hashed(body))
    if len(payload) == 64 and payload != hashed(body):
        raise ValueError("the body's hash")
    lines = "".join(
        name + ":" + ",".join(" ".join(v.split()) for v in
                              headers.get_all(name)) + "\n"
        for name in names.split(";"))
    path = urllib.parse.unquote(path) if s3 else path
    canonical = "\n".join([
        method, urllib.parse.quote(path, safe="/" + SAFE), query_of(query),
        lines, names, payload])
    if got != signature(AWS_KEY[1], [*scope, "aws4_request"], when,
                        canonical):
        raise ValueError("the signature of\n" + canonical)
    return (f"SIGNED {'header' if match else 'link'} {scope[2]} {payload} "
            f"{asked.get('X-Amz-Expires', '')} {len(body)}")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, text, status=200):
        body = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def parse_request(self):
        ok = super().parse_request()
        if ok:
            with open(pathlib.Path(sys.argv[1]) / "heads", "a",
                      encoding="latin-1") as log:
                log.write(f"{self.requestline}\n{self.headers}\n")
        return ok

    def echo(self, form):
        """Returns the request's head in the body, and in a header."""
        head = str(self.headers)
        body = {"base64": lambda: base64.b64encode(b"xy" + head.encode()),
                "quoted": lambda: urllib.parse.quote(head, "").encode(),
                "gzip": lambda: gzip.compress(head.encode())}.get(
                    form, head.encode)()
        self.send_response(200)
        if form == "gzip":
            self.send_header("Content-Encoding", "gzip")
        self.send_header("X-Seen", self.headers.get("Authorization", "none"))
        if form != "chunked":
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(0, len(body), 7):
            part = body[i:i + 7]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def serve_repository(self):
        if "Authorization" not in self.headers:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = b"001e# service=git-upload-pack\n00000000"
        self.send_response(200)
        self.send_header("Content-Type",
                         "application/x-git-upload-pack-advertisement")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve_registry(self):
        """cargo sends the token alone, and what is in a URL goes as Basic."""
        basic = base64.b64encode(f"me:{TOKEN}".encode()).decode()
        if self.headers["Authorization"] not in (TOKEN, f"Basic {basic}"):
            self.answer("no token\n", 401)
            return
        found = REGISTRY.get(f"{self.command} {self.path[10:]}")
        self.answer(found or "not here\n", 200 if found else 404)

    def serve_aws(self, body=b""):
        try:
            text = check_aws(self.command, self.path, self.headers, body)
        except (KeyError, TypeError, ValueError) as e:
            text = f"WRONG {type(e).__name__} {e}"
        with open(pathlib.Path(sys.argv[1]) / "aws", "a",
                  encoding="latin-1") as log:
            log.write(text + "\n")
        # as S3 does in its errors
        self.answer(f"{text}\n{self.headers.get('Authorization')}\n"
                    f"{self.headers.get('X-Amz-Security-Token')}\n"
                    f"{self.path}\n")

    def do_GET(self):
        if self.headers["Host"] in AWS_HOSTS:
            self.serve_aws()
            return
        if self.path.startswith("/echo/"):
            self.echo(self.path[6:])
            return
        if self.path.startswith("/repo.git/"):
            self.serve_repository()
            return
        if self.path.startswith("/registry/"):
            self.serve_registry()
            return
        address, port = self.connection.getsockname()[:2]
        if self.path.startswith("/big/"):
            self.answer("x" * int(self.path[5:]))
        else:
            self.answer(f"REACHED {address}:{port} as {self.headers['Host']}\n")

    def do_POST(self):
        n = int(self.headers.get("Content-Length") or 0)
        body = b""
        if self.headers.get("Transfer-Encoding"):
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(n)
        if self.headers["Host"] in AWS_HOSTS:
            self.serve_aws(body)
        else:
            self.answer(f"REACHED with {len(body)} bytes\n")

    do_PUT = do_POST
    do_DELETE = do_GET

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_):
        pass


def make_certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder / "key.pem",
         "-out", folder / "cert.pem", "-days", "30", "-subj", "/CN=x",
         "-addext", "subjectAltName=DNS:good.example,DNS:bad.example,"
         "DNS:api.good.example,DNS:record.good.example," +
         ",".join(f"DNS:{name}" for name in AWS_HOSTS)],
        check=True, capture_output=True)


def load_certificate(folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def serve(context, addresses):
    for address in addresses:
        for port, tls in PORTS.items():
            s = Server((address, port), Handler)
            if tls:
                s.socket = context.wrap_socket(
                    s.socket, server_side=True, do_handshake_on_connect=False)
            threading.Thread(target=s.serve_forever, daemon=True).start()


def record(listener):
    """Answers each request, and writes down all that comes."""
    def serve_one(s):
        seen = b""
        with open(pathlib.Path(sys.argv[1]) / "bytes", "ab", 0) as log:
            try:
                while got := s.recv(65536):
                    log.write(got)
                    seen += got
                    while b"\r\n\r\n" in seen:
                        head, rest = seen.split(b"\r\n\r\n", 1)
                        if b"chunked" in head:
                            if b"0\r\n\r\n" not in rest:
                                break
                            rest = rest.split(b"0\r\n\r\n", 1)[1]
                        seen = rest
                        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n"
                                  b"\r\nREACHED\n")
            except OSError:
                pass
            log.write(b"\nEND\n")
        s.close()
    while True:
        threading.Thread(target=serve_one, args=(listener.accept()[0],),
                         daemon=True).start()


def watch_dns():
    """Prints each packet to port 53 that is seen on the interface."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    while True:
        packet, where = s.recvfrom(65536)
        if where[2] != socket.PACKET_OUTGOING or packet[0] >> 4 != 4:
            continue
        head = (packet[0] & 15) * 4
        if packet[9] in (6, 17) and packet[head + 2:head + 4] == b"\0\x35":
            print("dns", packet[head + 8:].hex(), flush=True)


def ip(*args):
    subprocess.run(["ip", *args], check=True, stdin=subprocess.DEVNULL)


def be_internet(folder):
    """The main function of the second namespace."""
    raise_addresses(sorted({*HOSTS.values(), *RECORDER.values(), RESOLVER}))
    print("up", flush=True)
    sys.stdin.readline()
    ip("address", "add", GATEWAY + "/24", "dev", "world1")
    ip("link", "set", "world1", "up")
    context = load_certificate(folder)
    serve(context, sorted(set(HOSTS.values())))
    threading.Thread(target=record, daemon=True, args=(context.wrap_socket(
        socket.create_server((RECORDER["record.good.example"], 443)),
        server_side=True, do_handshake_on_connect=False),)).start()
    print("ready", flush=True)
    sys.stdin.read()


def connect_internet(folder):
    """Starts the second namespace, which ends with this process."""
    # pylint: disable-next=consider-using-with
    other = subprocess.Popen(
        ["unshare", "-n", sys.executable, __file__, folder, "internet"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "up\n"
    ip("link", "add", "world0", "type", "veth", "peer", "name", "world1",
       "netns", str(other.pid))
    ip("address", "add", OWN["own.example"] + "/24", "dev", "world0")
    ip("link", "set", "world0", "up")
    ip("route", "add", "default", "via", GATEWAY)
    other.stdin.write("go\n")
    other.stdin.flush()
    assert other.stdout.readline() == "ready\n"
    return other


def main():
    folder = pathlib.Path(sys.argv[1])
    if sys.argv[2:] == ["internet"]:
        be_internet(folder)
        return
    raise_addresses([])
    mount_etc(folder)
    make_certificate(folder)
    other = connect_internet(folder)
    serve(load_certificate(folder), ["127.0.0.1", *OWN.values()])
    threading.Thread(target=watch_dns, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    other.kill()


if __name__ == "__main__":
    main()
