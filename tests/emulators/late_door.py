# late_door.py - a port that takes no connection until later, then hands on.
# SPDX-License-Identifier: MIT
"""A server that is there, but not at once:

    with LateDoor(port, ready) as door:
        use(door.url)

Connections are refused until ready() is true and a second more, then go to
the port of a server on loopback."""
import socket
import threading
import time


def carry(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class LateDoor:
    def __init__(self, port, ready, wait=1):
        self.port, self.ready, self.wait = port, ready, wait
        self.over = threading.Event()

    def __enter__(self):
        self.door = socket.socket()
        self.door.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.door.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def serve(self):
        while not self.ready():
            if self.over.wait(0.02):
                return
        time.sleep(self.wait)
        self.door.listen()
        while not self.over.is_set():
            try:
                here = self.door.accept()[0]
            except OSError:
                return
            there = socket.create_connection(("127.0.0.1", self.port))
            for pair in ((here, there), (there, here)):
                threading.Thread(target=carry, args=pair,
                                 daemon=True).start()

    def __exit__(self, *what):
        self.over.set()
        try:
            self.door.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # nobody came
        self.door.close()
        self.thread.join(10)
