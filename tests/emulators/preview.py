#!/usr/bin/python3
# preview.py - the address at which a vendor answers for a sandbox's port.
# SPDX-License-Identifier: MIT
"""Preview(port, header): .url takes HTTP requests with the token, and passes
them on to the port of this machine, where emulated sandboxes run. A connection
that is not told to close stays open, as at a vendor's proxy. .heads has what
came.

Front(cloud, zone, folder): https at .zone, "ZONE.localhost:PORT", and all names
below it. What cloud.preview(port, name) is for goes there: requests for
PORT-NAME.ZONE or PORT-NAME.tunnel.ZONE. All else goes to the cloud."""
import asyncio
import re
import secrets
import socket
import socketserver
import ssl
import subprocess
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
        wanted = self.server.header
        if wanted and fields.get(wanted.lower().encode()) != \
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

    request_queue_size = 128

    def __init__(self, port, header, prefix="", scheme=""):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port, self.header, self.prefix = port, header, prefix
        self.token = scheme + secrets.token_hex(16)
        self.host = f"127.0.0.1:{self.server_address[1]}"
        self.url = f"http://{self.host}{prefix}"
        self.heads = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Front:
    def __init__(self, cloud, zone, folder):
        self.cloud = cloud
        cert, key = folder / "front.pem", folder / "front.key"
        names = ",".join(f"DNS:{n}{zone}.localhost"
                         for n in ("", "*.", "*.tunnel."))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=x", "-addext", f"subjectAltName={names}",
             "-keyout", key, "-out", cert], check=True, capture_output=True)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(cert, key)
        self.cert = str(cert)
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(
            self.serve, "127.0.0.1", 0, ssl=tls, limit=1 << 20))
        port = self.server.sockets[0].getsockname()[1]
        self.zone = f"{zone}.localhost:{port}"
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)

    def target(self, head):
        host = re.search(rb"(?i)\r\nhost: *([^\r]+)", head)[1].decode()
        found = re.fullmatch(r"(\d+)-([\w-]+)(\.tunnel)?\." +
                             re.escape(self.zone), host)
        preview = found and self.cloud.preview(int(found[1]), found[2])
        if not preview:
            return self.cloud.port
        preview.host = host
        return preview.server_address[1]

    async def serve(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            there, back = await asyncio.open_connection(
                "127.0.0.1", self.target(head), limit=1 << 20)
            back.write(head)
            await asyncio.gather(pump(reader, back), pump(there, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def pump(reader, writer):
    try:
        while part := await reader.read(1 << 16):
            writer.write(part)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()
    except OSError:
        writer.close()
