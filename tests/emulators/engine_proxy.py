#!/usr/bin/python3
# engine_proxy.py - between dcode and a container engine: counts and breaks.
# SPDX-License-Identifier: MIT
"""A unix socket in front of another one that speaks HTTP/1.1.

    with EngineProxy(upstream, path) as proxy:
        env["DOCKER_HOST"] = proxy.docker_host
        proxy.fault("POST .*/containers/create", "hang")
        ... proxy.requests: [(connection, "POST /containers/create?name=x")]
        proxy.bodies: [("POST /containers/create?name=x", b"{...}")]
        proxy.replace = b"old", b"new"      in bodies, of the same length

fault(pattern, action, nth=1, times=1, bytes=0, seconds=0) strikes the nth and
following requests that match, `times` of them (None: all). Actions:

  hang         the request is not passed on, and never answered
  hang_answer  passed on; of the answer `bytes` bytes arrive, then nothing
  cut          not passed on; the connection is closed
  cut_answer   passed on; `bytes` bytes of the answer, then closed
  cut_late     closed at once, and passed on after `seconds`: the engine does
               it when nobody listens any more
  delay        passed on after `seconds`
  404, 500     answered with that status, not passed on
  garbage      answered with what is no HTTP
"""
import re
import socket
import threading
import time


class Fault:
    def __init__(self, pattern, action, nth, times, length, seconds):
        self.pattern = re.compile(pattern)
        self.action, self.nth, self.times = action, nth, times
        self.bytes, self.seconds = length, seconds
        self.seen = 0
        self.struck = threading.Event()

    def strikes(self, line):
        if not self.pattern.match(line):
            return False
        self.seen += 1
        if self.seen < self.nth or (
                self.times is not None and
                self.seen >= self.nth + self.times):
            return False
        self.struck.set()
        return True


class EngineProxy:
    def __init__(self, upstream, path):
        self.upstream = upstream.removeprefix("unix://")
        self.path = str(path)
        self.requests, self.faults, self.open = [], [], []
        self.bodies = []
        self.replace = b"\0", b"\0"
        self.connections = 0
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)

    @property
    def docker_host(self):
        return "unix://" + self.path

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()
        for s in self.open:
            shut(s)

    def fault(self, pattern, action, nth=1, times=1, bytes=0, seconds=0):
        self.faults.append(Fault(pattern, action, nth, times, bytes, seconds))
        return self.faults[-1]

    def lines(self, pattern=""):
        return [line for _, line in self.requests if re.match(pattern, line)]

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                number = self.connections
                self.open.append(client)
            Link(self, client, number)

    def note(self, number, line):
        with self.lock:
            self.requests.append((number, line))
            for fault in self.faults:
                if fault.strikes(line):
                    return fault
        return None


def shut(s):
    try:
        s.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    s.close()


class Link:
    """One connection of the client's, and ours to the engine."""

    def __init__(self, proxy, client, number):
        self.proxy, self.client, self.number = proxy, client, number
        self.left = None  # bytes of the answer that may still pass
        self.then_cut = False
        self.engine = socket.socket(socket.AF_UNIX)
        self.engine.connect(proxy.upstream)
        proxy.open.append(self.engine)
        for work in (self.to_engine, self.to_client):
            threading.Thread(target=self.guarded, args=(work,),
                             daemon=True).start()

    def guarded(self, work):
        try:
            work()
        except OSError:
            pass

    def to_client(self):
        while True:
            data = self.engine.recv(65536)
            if not data:
                if self.left is None:
                    shut(self.client)
                return
            if self.left is not None:
                data, self.left = data[:self.left], \
                    max(0, self.left - len(data))
            if data:
                self.client.sendall(data)
            if self.left == 0 and self.then_cut:
                shut(self.client)
                return

    def to_engine(self):
        held = b""
        while True:
            head, held = self.read_until(held, b"\r\n\r\n")
            if head is None:
                shut(self.engine)
                return
            line = head.split(b" HTTP/1.", 1)[0].decode("latin-1")
            match = re.search(rb"\r\ncontent-length: *(\d+)", head, re.I)
            length = int(match.group(1)) if match else 0
            while len(held) < length:
                held += self.client.recv(65536)
            body, held = held[:length], held[length:]
            self.proxy.bodies.append((line, body))
            body = body.replace(*self.proxy.replace)
            if not self.pass_on(line, head + body):
                return
            if re.search(r"/exec/[^/]+/start$|/attach", line):
                self.raw(held)
                return

    def read_until(self, held, end):
        while end not in held:
            data = self.client.recv(65536)
            if not data:
                return None, b""
            held += data
        at = held.index(end) + len(end)
        return held[:at], held[at:]

    def raw(self, held):
        while True:
            if held:
                self.engine.sendall(held)
            held = self.client.recv(65536)
            if not held:
                self.engine.shutdown(socket.SHUT_WR)
                return

    def pass_on(self, line, data):
        """False when nothing more is read from this client."""
        fault = self.proxy.note(self.number, line)
        action = fault.action if fault else None
        if action == "hang":
            return False
        if action == "cut":
            shut(self.client)
            shut(self.engine)
            return False
        if action in ("404", "500"):
            text = b'{"message":"the proxy says no"}'
            self.client.sendall(
                b"HTTP/1.1 %s Refused\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s"
                % (action.encode(), len(text), text))
            return True
        if action == "garbage":
            self.client.sendall(b"\0\1garbage\r\n\r\n\xff{")
            shut(self.client)
            return False
        if action in ("hang_answer", "cut_answer"):
            self.left = fault.bytes
            self.then_cut = action == "cut_answer"
        if action == "cut_late":
            self.left = 0
            shut(self.client)
        if action in ("cut_late", "delay"):
            time.sleep(fault.seconds)
        self.engine.sendall(data)
        return action != "cut_late"
