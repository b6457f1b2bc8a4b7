#!/usr/bin/python3
# grpc_cases.py - answers that a gRPC client must bear, one per method.
# SPDX-License-Identifier: MIT
"""python3 grpc_cases.py --port-file F [--tls CERT KEY]: GrpcCloud, with faults
by the method's name. Part of tests/unit/grpc_test.c."""
import argparse
import os
import signal
import sys
import threading
import time

from cloud import route
from grpc_link import Failure, GrpcCloud

LARGE = 20 << 20


class Cases(GrpcCloud):
    """All of them at /cases.Cases/."""

    def __init__(self, **how):
        super().__init__(**how)
        self.seen = {}

    @route("POST", "/cases.Cases/(?P<name>[A-Za-z]+)")
    def case(self, req, name):
        return getattr(self, "do_" + name)(req)

    def do_Echo(self, req):
        return 200, req.message()

    def do_Split(self, req):
        req.fault["split"] = 1
        return 200, req.message()

    def do_Count(self, req):
        n = int(req.message())
        req.begin()
        for i in range(n):
            req.send(b"%d" % i)
        req.end()

    def do_Refuse(self, req):
        req.message()
        raise Failure(5, "n\u00f6 such thing: 100% \x1b[31mred", b"\x08\x05")

    def do_Early(self, req):
        raise Failure(16, "who are you")

    def do_Half(self, req):
        req.begin()
        req.send(b"one")
        raise Failure(14, "later")

    def do_Silent(self, req):
        req.fault["no_status"] = True
        return 200, req.message()

    def do_Cut(self, req):
        req.fault["truncate"] = 7
        return 200, req.message()

    def do_Middle(self, req):
        req.begin()
        req.data(b"\0\0\0\0\x09half")
        req.end()

    def do_Flags(self, req):
        req.fault["flags"] = 1
        return 200, req.message()

    def do_Large(self, req):
        return 200, bytes(LARGE)

    def do_Huge(self, req):
        req.begin()
        req.data(b"\0\x40\0\0\0" + bytes(100))
        req.end()

    def do_Slow(self, req):
        end = time.monotonic() + 30
        while not req.gone and time.monotonic() < end:
            time.sleep(0.01)

    def do_Http(self, req):
        return 503, None

    def do_Html(self, req):
        return 200, None

    def do_Odd(self, req):
        return req.answer(200, None, {"grpc-status": "77"})

    def do_Sum(self, req):
        found = [len(m) for m in req.messages()]
        return 200, b"%d %d" % (len(found), sum(found))

    def do_Dies(self, req):
        """All but the first request of a connection are lost with it."""
        link = id(req.handler)
        self.seen[link] = self.seen.get(link, 0) + 1
        if self.seen[link] > 1:
            req.shut()
        return 200, b"%d" % self.connections


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", required=True)
    parser.add_argument("--tls", nargs=2)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Cases(tls=options.tls) as cloud:
        with open(options.port_file + ".new", "w", encoding="ascii") as f:
            f.write(str(cloud.port))
        os.replace(options.port_file + ".new", options.port_file)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    sys.exit(main())
