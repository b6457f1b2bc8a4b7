#!/usr/bin/python3
# sshd_rig.py - a real sshd of our own, and a wire that can be cut, for tests.
# SPDX-License-Identifier: MIT
"""Package openssh-server. Whoever runs it logs in as himself, with a home of
the rig's. In a shell: tests/sshd_rig.py run COMMAND...
"""
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SSHD = "/usr/sbin/sshd"
CONF = """Port {port}
ListenAddress 127.0.0.1
HostKey {dir}/{key}
PidFile {dir}/pid
AuthorizedKeysFile {dir}/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
LogLevel VERBOSE
PrintMotd no
{more}
ForceCommand HOME={home} exec sh -c "cd; $SSH_ORIGINAL_COMMAND"
"""
CLIENT = """Host {name}
  HostName 127.0.0.1
  HostKeyAlias dcode-test
  Port {port}
  User {user}
  IdentityFile {dir}/key
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {dir}/known
  StrictHostKeyChecking yes
{more}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def keygen(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path],
                   check=True, stdin=subprocess.DEVNULL)


class Rig:
    """One sshd; config is the file for ssh -F, with the host "box"."""

    def __init__(self, more=""):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="dcode-sshd."))
        self.dir.chmod(0o755)
        self.home = self.dir / "home"
        self.home.mkdir()
        self.port = free_port()
        self.more = more
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.process = None
        for name in ("host", "other", "key"):
            keygen(self.dir / name)
        shutil.copy(self.dir / "key.pub", self.dir / "authorized")
        self.know("host")
        self.config = self.dir / "config"
        self.config.write_text("")
        self.host("box", self.port)
        self.start()

    def know(self, key):
        public = (self.dir / f"{key}.pub").read_text()
        (self.dir / "known").write_text(f"dcode-test {public}")

    def host(self, name, port, more=""):
        """Another name for ssh, which leads to this port."""
        with self.config.open("a") as f:
            f.write(CLIENT.format(name=name, port=port, dir=self.dir,
                                  user=self.user, more=more))

    def start(self, key="host"):
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        conf = self.dir / "conf"
        conf.write_text(CONF.format(port=self.port, dir=self.dir, key=key,
                                    home=self.home, more=self.more))
        self.log = (self.dir / "log").open("ab")
        self.process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", conf], stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, start_new_session=True)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("sshd does not start:\n" + self.logged())

    def logged(self):
        return (self.dir / "log").read_text(errors="replace")

    def logins(self):
        return self.logged().count("Accepted publickey")

    def stop(self, sessions=False):
        """sshd, and what serves those who are logged in."""
        if not self.process:
            return
        if sessions:
            for pid in children(self.process.pid):
                kill(pid)
        kill(self.process.pid)
        self.process.wait(30)
        self.process = None

    def close(self):
        self.stop(sessions=True)
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def children(pid):
    """The sshd processes below sshd, no commands."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        name, parent = re.match(r"\d+ \((.*)\) \S (\d+)", text, re.S).groups()
        if int(parent) == pid and name.startswith("sshd"):
            child = int(stat.parent.name)
            found += [child] + children(child)
    return found


class Wire:
    """A port that leads to another one, slowly, until it is cut."""

    def __init__(self, port, delay=0.0, rate=0):
        self.target, self.delay, self.rate = port, delay, rate
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.open = []
        self.stalled = self.refusing = False
        self.up = []  # when bytes came from the client: (time, count)
        self.down = []
        self.passed = 0
        self.cut_after = None  # so many have passed, either way
        self.cuts = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            if self.refusing:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.target), 5)
            except OSError:
                near.close()
                continue
            for s in (near, far):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.open.append((near, far))
            self.pump(near, far, self.up)
            self.pump(far, near, self.down)

    def pump(self, source, sink, seen):
        chunks = []
        ready = threading.Condition()

        def read():
            while True:
                try:
                    data = source.recv(65536)
                except OSError:
                    data = b""
                now = time.monotonic()
                if data:
                    seen.append((now, len(data)))
                with ready:
                    chunks.append((now + self.delay, data))
                    ready.notify()
                if not data:
                    return

        def write():
            while True:
                with ready:
                    while not chunks:
                        ready.wait()
                    due, data = chunks.pop(0)
                time.sleep(max(0, due - time.monotonic()))
                while self.stalled:
                    time.sleep(0.01)
                if self.rate:
                    time.sleep(len(data) / self.rate)
                try:
                    if not data:
                        sink.shutdown(socket.SHUT_WR)
                        return
                    sink.sendall(data)
                except OSError:
                    source.close()
                    return
                self.passed += 1
                if self.passed == self.cut_after:
                    self.cut()

        for work in (read, write):
            threading.Thread(target=work, daemon=True).start()

    def cut(self):
        with self.lock:
            pairs, self.open = self.open, []
        self.cuts += bool(pairs)
        for pair in pairs:
            for s in pair:
                try:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                 b"\1\0\0\0\0\0\0\0")
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                s.close()

    def close(self):
        self.listener.close()
        self.cut()


def main(args):
    rig = Rig()
    try:
        env = dict(os.environ, SSH_CONFIG=str(rig.config))
        return subprocess.run(args, env=env, check=False).returncode
    finally:
        rig.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]))
