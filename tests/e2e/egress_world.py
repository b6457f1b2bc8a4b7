"""egress_world.py - a small Internet in a network namespace of its own.

egress_world.py DIR: run it under `unshare -n -m` (with -r for a user who is not
root). Public-looking addresses are on its loopback interface, names of them in
its /etc/hosts, and servers for HTTP and HTTPS at each. It prints "ready", and
then a line for each packet to a DNS server that leaves a program. DIR/heads
gets the requests, and DIR/bytes all that record.good.example:443 gets, with a
line "END" after each connection. Paths below /echo/ return requests, /repo.git
is an empty repository that asks for a password.
"""
# SPDX-License-Identifier: MIT
import base64
import fcntl
import gzip
import http.server
import pathlib
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import threading
import urllib.parse

HOSTS = {"good.example": "93.184.216.34", "api.good.example": "93.184.216.34",
         "evil-good.example": "93.184.216.35",
         "good.example.evil.test": "93.184.216.35",
         "bad.example": "93.184.216.35", "inner.example": "10.9.9.9",
         "meta.example": "169.254.169.254", "short": "93.184.216.34"}
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
                    (*HOSTS.items(), *RECORDER.items(), *MAPPED.items()))
    (folder / "hosts").write_text("127.0.0.1 localhost\n" + hosts)
    (folder / "resolv.conf").write_text(f"nameserver {RESOLVER}\n")
    for name in ("hosts", "resolv.conf"):
        subprocess.run(["mount", "--bind", folder / name, f"/etc/{name}"],
                       check=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, text):
        body = text.encode()
        self.send_response(200)
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

    def do_GET(self):
        if self.path.startswith("/echo/"):
            self.echo(self.path[6:])
            return
        if self.path.startswith("/repo.git/"):
            self.serve_repository()
            return
        address, port = self.connection.getsockname()[:2]
        if self.path.startswith("/big/"):
            self.answer("x" * int(self.path[5:]))
        else:
            self.answer(f"REACHED {address}:{port} as {self.headers['Host']}\n")

    def do_POST(self):
        n = int(self.headers.get("Content-Length") or 0)
        if self.headers.get("Transfer-Encoding"):
            while size := int(self.rfile.readline(), 16):
                n += len(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
        else:
            self.rfile.read(n)
        self.answer(f"REACHED with {n} bytes\n")

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_):
        pass


def serve(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder / "key.pem",
         "-out", folder / "cert.pem", "-days", "30", "-subj", "/CN=x",
         "-addext", "subjectAltName=DNS:good.example,DNS:bad.example,"
         "DNS:api.good.example,DNS:record.good.example"],
        check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    for address in sorted({*HOSTS.values(), "127.0.0.1"}):
        for port, tls in PORTS.items():
            s = Server((address, port), Handler)
            if tls:
                s.socket = context.wrap_socket(
                    s.socket, server_side=True, do_handshake_on_connect=False)
            threading.Thread(target=s.serve_forever, daemon=True).start()
    with_tls = context.wrap_socket(
        socket.create_server((RECORDER["record.good.example"], 443)),
        server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=record, args=(with_tls,), daemon=True).start()


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


def main():
    folder = pathlib.Path(sys.argv[1])
    raise_addresses(sorted({*HOSTS.values(), *RECORDER.values(), RESOLVER}))
    mount_etc(folder)
    serve(folder)
    threading.Thread(target=watch_dns, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
