#!/usr/bin/python3
# cloud_agent.py - inside an emulated sandbox: starts commands, opens files.
# SPDX-License-Identifier: MIT
"""cloud_agent.py FD, started by cloud_box.py as the sandbox's first process.

FD is a SOCK_SEQPACKET socket. A request is {"tag", "op", ...} in a memfd that
comes as a descriptor, followed by the request's own descriptors; an answer is
JSON, maybe with a descriptor.

  spawn   argv, env, cwd, pty; descriptors: stdin, stdout, stderr.
          Answers {"pid"}, and {"ended": status} with the same tag later
  signal  pid, signal, group
  all     signal: for every process but this one
  open    path, flags, mode, parents; answers with a descriptor
  os      name, args: a function of the module os
Failures answer {"errno", "where"}."""
import json
import os
import socket
import stat
import subprocess
import sys
import threading


class Agent:
    def __init__(self, fd):
        self.sock = socket.socket(fileno=fd)
        self.lock = threading.Lock()

    def answer(self, tag, fds=(), **fields):
        text = json.dumps({"tag": tag, **fields}).encode()
        with self.lock:
            socket.send_fds(self.sock, [text], list(fds))

    def serve(self):
        while True:
            data, fds, _, _ = socket.recv_fds(self.sock, 64, 8)
            if not data:
                return
            with os.fdopen(fds.pop(0), "rb") as f:
                f.seek(0)
                ask = json.loads(f.read())
            threading.Thread(target=self.handle, args=(ask, fds),
                             daemon=True).start()

    def handle(self, ask, fds):
        try:
            getattr(self, "do_" + ask["op"])(ask, fds)
        except OSError as e:
            self.answer(ask["tag"], errno=e.errno or 5,
                        where=str(e.filename or ""))
        finally:
            for fd in fds:
                os.close(fd)

    def do_spawn(self, ask, fds):
        def begin():
            if ask.get("pty"):
                import fcntl
                import termios
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        child = subprocess.Popen(
            ask["argv"], env=ask["env"], cwd=ask["cwd"], stdin=fds[0],
            stdout=fds[1], stderr=fds[2], start_new_session=True,
            preexec_fn=begin if ask.get("pty") else None)
        while fds:
            os.close(fds.pop())
        self.answer(ask["tag"], pid=child.pid)
        self.answer(ask["tag"], ended=child.wait())

    def do_signal(self, ask, _):
        (os.killpg if ask.get("group") else os.kill)(ask["pid"],
                                                     ask["signal"])
        self.answer(ask["tag"])

    def do_all(self, ask, _):
        try:
            os.kill(-1, ask["signal"])
        except ProcessLookupError:
            pass
        self.answer(ask["tag"])

    def do_open(self, ask, _):
        path = ask["path"]
        if ask.get("parents"):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        fd = os.open(path, ask["flags"] | os.O_CLOEXEC | os.O_NONBLOCK,
                     ask.get("mode", 0o644))
        try:
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                raise IsADirectoryError(21, "is a directory", path)
            os.set_blocking(fd, True)
            self.answer(ask["tag"], [fd])
        finally:
            os.close(fd)

    def do_os(self, ask, _):
        value = getattr(os, ask["name"])(*ask["args"])
        self.answer(ask["tag"], value=value)


if __name__ == "__main__":
    Agent(int(sys.argv[1])).serve()
