# cutter.py - a relay that cuts connections at random bytes.
# SPDX-License-Identifier: MIT
"""A port of loopback in front of a server.

    with Cutter(("127.0.0.1", port), seed=1) as relay:    # or a socket's path
        ... relay.url, relay.port; relay.cutting = True; relay.cuts

While it cuts, each connection ends, with a reset, after a random number of
bytes of both ways together."""
import random
import socket
import struct
import threading

SHORT, LONG = 300, 200_000  # bytes that a connection may pass
RESET = struct.pack("ii", 1, 0)


class Link:
    def __init__(self, cutter, near):
        self.cutter, self.near = cutter, near
        # Early and late alike: as often in 1 to 10 KB as in 10 to 100.
        self.left = SHORT * (LONG / SHORT) ** cutter.dice.random()
        self.lock, self.over = threading.Lock(), False
        self.far = cutter.connect()
        for ends in ((near, self.far), (self.far, near)):
            threading.Thread(target=self.copy, args=ends, daemon=True).start()

    def pass_on(self, data):
        """What of it may pass; less: the connection is cut."""
        with self.lock:
            if not self.cutter.cutting:
                return data
            self.left -= len(data)
            return data if self.left > 0 else data[:int(self.left)]

    def cut(self):
        with self.lock:
            if self.over:
                return
            self.over = True
        self.cutter.cuts += 1
        for s in (self.near, self.far):
            try:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def copy(self, source, target):
        try:
            while data := source.recv(65536):
                some = self.pass_on(data)
                target.sendall(some)
                if len(some) < len(data):
                    self.cut()
                    return
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Cutter:
    def __init__(self, upstream, seed):
        self.upstream, self.dice = upstream, random.Random(seed)
        self.cutting, self.cuts = False, 0
        self.server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.server.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def connect(self):
        if isinstance(self.upstream, tuple):
            return socket.create_connection(self.upstream)
        far = socket.socket(socket.AF_UNIX)
        far.connect(self.upstream)
        return far

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.close()

    def accept(self):
        while True:
            try:
                near = self.server.accept()[0]
                Link(self, near)
            except OSError:
                if self.server.fileno() < 0:
                    return
                near.close()
