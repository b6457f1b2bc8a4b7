#!/usr/bin/python3
# cloud_ws.py - the server's side of a WebSocket in an emulated vendor.
# SPDX-License-Identifier: MIT
"""handshake(req, headers) answers the upgrade, Socket(req) then talks. Every
frame is a piece that may be spoiled (see cloud.py)."""
import base64
import hashlib
import json
import struct
import threading

from cloud_request import Gone, Invalid

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def handshake(req, headers=None):
    key = req.headers.get("Sec-WebSocket-Key", "")
    if req.headers.get("Upgrade", "").lower() != "websocket" or \
            req.headers.get("Sec-WebSocket-Version") != "13" or \
            len(base64.b64decode(key)) != 16:
        raise Invalid("headers: no WebSocket handshake")
    accept = base64.b64encode(hashlib.sha1((key + GUID).encode())
                              .digest()).decode()
    req.handler.close_connection = True
    req.status = 101
    more = "".join(f"{k}: {v}\r\n" for k, v in (headers or {}).items())
    req.write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
               "Connection: Upgrade\r\nSec-WebSocket-Accept: "
               f"{accept}\r\n{more}\r\n").encode())


class Socket:
    def __init__(self, req, drips=False):
        self.drips = drips
        self.req, self.f = req, req.handler.rfile
        self.lock = threading.Lock()

    def drip(self, opcode, data):
        """In fragments of three bytes, byte by byte."""
        parts = [data[i:i + 3] for i in range(0, len(data), 3)] or [b""]
        heads = [opcode, *[0] * (len(parts) - 1)]
        heads[-1] |= 0x80
        whole = b"".join(bytes([h, len(p)]) + p
                         for h, p in zip(heads, parts))
        with self.lock:
            for i in range(len(whole)):
                self.req.write(whole[i:i + 1])

    def frame(self, opcode, data):
        n = len(data)
        if self.drips and opcode == 1:
            self.drip(opcode, data)
            return
        head = bytes([0x80 | opcode])
        if n < 126:
            head += bytes([n])
        elif n < 1 << 16:
            head += struct.pack("!BH", 126, n)
        else:
            head += struct.pack("!BQ", 127, n)
        with self.lock:
            self.req.write(head + data)

    def tell(self, **message):
        self.frame(1, json.dumps(message).encode())

    def close(self, code, reason=b""):
        self.frame(8, struct.pack("!H", code) + reason)

    def exactly(self, n):
        try:
            data = self.f.read(n)
        except (OSError, ValueError) as e:
            raise Gone(str(e)) from e
        if len(data) < n:
            raise Gone("the client has closed")
        return data

    def text(self):
        """The next message's bytes; None once the client closes."""
        whole = b""
        while True:
            first, second = self.exactly(2)
            n = second & 127
            if not second & 128:
                raise Invalid("frame: not masked")
            if n > 125:
                n = int.from_bytes(self.exactly(2 if n == 126 else 8), "big")
            mask = self.exactly(4)
            data = self.exactly(n)
            key = mask * (n // 4 + 1)
            data = (int.from_bytes(data, "big") ^ int.from_bytes(
                key[:n], "big")).to_bytes(n, "big")
            if first & 15 == 8:
                self.frame(8, data[:2])
                return None
            if first & 15 == 9:
                self.frame(10, data)
            if first & 15 > 2:
                continue
            whole += data
            if first & 128:
                return whole

    def receive(self):
        """The next message, parsed; None once the client closes."""
        text = self.text()
        return None if text is None else json.loads(text)
