#!/usr/bin/python3
# preview.py - the address at which a vendor answers for a sandbox's port.
# SPDX-License-Identifier: MIT
"""Preview(port, header, token): .url takes HTTP requests with the token, and
passes them on to the port of this machine, where emulated sandboxes run. A
connection that is not told to close stays open, as at a vendor's proxy. .heads
has what came."""
import secrets
import socket
import socketserver
import threading


class Handler(socketserver.BaseRequestHandler):
    def read_head(self):
        data = b""
        while b"\r\n\r\n" not in data:
            part = self.request.recv(1 << 16)
            if not part:
                return data, b""
            data += part
        head, _, rest = data.partition(b"\r\n\r\n")
        return head, rest

    def refuse(self, status):
        self.request.sendall(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n"
                             b"Connection: close\r\n\r\n" % status)

    def handle(self):
        head, rest = self.read_head()
        if not head:
            return
        self.server.heads.append(head.decode())
        lines = head.split(b"\r\n")
        fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            if name.lower() in fields:
                return self.refuse(400)
            fields[name.lower()] = value.strip()
        method, path, version = lines[0].split(b" ")
        prefix = self.server.prefix.encode()
        if fields.get(b"host") != self.server.host.encode():
            return self.refuse(421)
        if fields.get(self.server.header.lower().encode()) != \
                self.server.token.encode():
            return self.refuse(401)
        if not path.startswith(prefix + b"/"):
            return self.refuse(404)
        lines[0] = b" ".join((method, path[len(prefix):], version))
        try:
            there = socket.create_connection(("127.0.0.1", self.server.port))
        except OSError:
            return self.refuse(502)
        with there:
            there.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + rest)
            up = threading.Thread(target=copy, args=(self.request, there),
                                  daemon=True)
            up.start()
            copy(there, self.request)


def copy(a, b):
    try:
        while part := a.recv(1 << 16):
            b.sendall(part)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Preview(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port, header, prefix=""):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port, self.header, self.prefix = port, header, prefix
        self.token = secrets.token_hex(16)
        self.host = f"127.0.0.1:{self.server_address[1]}"
        self.url = f"http://{self.host}{prefix}"
        self.heads = []
        threading.Thread(target=self.serve_forever, daemon=True).start()
