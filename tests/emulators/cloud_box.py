#!/usr/bin/python3
# cloud_box.py - an emulated sandbox: its own root, real commands, a bill.
# SPDX-License-Identifier: MIT
"""A Box is a machine that bubblewrap makes of a private root directory; only
/usr and /etc are the host's. Its processes share a process namespace: they can
see and signal each other, whichever request started them.

    box = Box(workdir="/home/user")
    p = box.spawn(["/bin/sh", "-c", "echo hi"], env={}, cwd=None)
    p.stdout, p.stderr   descriptors to read; p.stdin to write or None
    p.wait()             128 + n when killed by signal n
    box.open(path, os.O_RDONLY) -> descriptor;  box.os("listdir", path)
    box.suspend(), box.resume(), box.destroy()

Errors are OSError with the errno inside the sandbox."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
LINKS = ("bin", "sbin", "lib", "lib64")


class Bill:
    """Seconds for which a sandbox costs money."""

    def __init__(self):
        self.total, self.since = 0.0, None

    def start(self):
        if self.since is None:
            self.since = time.monotonic()

    def stop(self):
        self.total, self.since = self.seconds, None

    @property
    def running(self):
        return self.since is not None

    @property
    def seconds(self):
        now = time.monotonic() - self.since if self.running else 0
        return self.total + now


class Process:
    def __init__(self, box, pid, pipes):
        self.box, self.pid = box, pid
        self.stdin, self.stdout, self.stderr = pipes
        self.ended = threading.Event()
        self.status = None  # -n when killed by signal n

    def wait(self, timeout=None):
        if not self.ended.wait(timeout):
            return None
        return self.status if self.status >= 0 else 128 - self.status

    def signal(self, number, group=False):
        self.box.ask("signal", pid=self.pid, signal=number, group=group)


def listed(hosts):
    """True if a list of allowed hosts (None: there is none) opens this
    machine. A box has this machine's network, or none."""
    return hosts is None or Box.forgets or any(
        h.split(":")[0].split("/")[0] == "127.0.0.1" for h in hosts)


class Box:
    leaks = False  # True: a vendor that forgets to deny the network
    forgets = False  # True: a vendor that does not keep to lists of hosts

    def __init__(self, workdir="/home/user", home=None, env=None, source=None,
                 network=True):
        """source: the root is a copy of this directory (a snapshot). network:
        this machine's network, otherwise only the loopback device."""
        self.network = network or Box.leaks
        self.workdir, self.home = workdir, home or workdir
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                    "/usr/bin:/sbin:/bin", "HOME": self.home, "USER": "user",
                    "LANG": "C.UTF-8", **(env or {})}
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="dcode-cloud-"))
        if source:
            subprocess.run(["cp", "-a", f"{source}/.", self.root], check=True)
        self.bill = Bill()
        self.lock = threading.Lock()
        self.answers, self.processes, self.tags = {}, {}, 0
        self.early = {}
        self.dead = False
        for path in (workdir, self.home, "/tmp", "/root", "/var/tmp"):
            (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        for path in ("tmp", "var/tmp"):
            (self.root / path).chmod(0o1777)
        self.boot()

    def boot(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX,
                                         socket.SOCK_SEQPACKET)
        command = ["bwrap", "--bind", self.root, "/", "--ro-bind", "/usr",
                   "/usr", "--ro-bind", "/etc", "/etc", "--proc", "/proc",
                   "--dev", "/dev", "--ro-bind", HERE / "cloud_agent.py",
                   "/dev/agent", "--unshare-pid", "--unshare-ipc",
                   "--cap-drop", "ALL", "--die-with-parent", "--new-session"]
        if not self.network:
            command.append("--unshare-net")
        for name in LINKS:
            if os.path.lexists("/" + name):
                command += ["--symlink", "usr/" + name, "/" + name]
        command += ["--chdir", self.workdir, "/usr/bin/python3", "-S", "-E",
                    "/dev/agent", str(theirs.fileno())]
        # Its parent must be a thread that stays: --die-with-parent.
        started = threading.Event()

        def keep():
            self.outer = subprocess.Popen(
                [str(c) for c in command], env=self.env,
                stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
            started.set()
            self.outer.wait()
        threading.Thread(target=keep, daemon=True).start()
        started.wait()
        theirs.close()
        self.sock = ours
        threading.Thread(target=self.listen, daemon=True).start()
        self.os("getpid")
        self.bill.start()

    def listen(self):
        while True:
            try:
                data, fds, _, _ = socket.recv_fds(self.sock, 1 << 18, 1)
            except OSError:
                data = b""
            if not data:
                break
            answer = json.loads(data)
            with self.lock:
                if "ended" in answer:
                    p = self.processes.pop(answer["tag"], None)
                    if not p:
                        self.early[answer["tag"]] = answer["ended"]
                    else:
                        p.status = answer["ended"]
                        p.ended.set()
                    continue
                waiting = self.answers.get(answer["tag"])
            if waiting:
                waiting["answer"], waiting["fds"] = answer, fds
                waiting["event"].set()
        with self.lock:  # nobody waits for ever
            self.dead = True
            for p in list(self.processes.values()):
                p.status = -9
                p.ended.set()
            for waiting in self.answers.values():
                waiting["event"].set()

    def ask(self, op, fds=(), **fields):
        with self.lock:
            self.tags += 1
            tag = self.tags
            waiting = self.answers[tag] = {"event": threading.Event(),
                                           "answer": None, "fds": []}
            memory = os.memfd_create("ask")
            try:
                os.write(memory, json.dumps({"tag": tag, "op": op,
                                             **fields}).encode())
                socket.send_fds(self.sock, [b"ask"], [memory, *fds])
            except OSError as e:
                raise ProcessLookupError(3, "the sandbox is dead") from e
            finally:
                os.close(memory)
        waiting["event"].wait(30)
        with self.lock:
            del self.answers[tag]
        answer = waiting["answer"]
        if answer is None:
            raise ProcessLookupError(3, "the sandbox is dead")
        if "errno" in answer:
            raise OSError(answer["errno"], os.strerror(answer["errno"]),
                          answer["where"])
        return answer, waiting["fds"]

    def spawn(self, argv, env=None, cwd=None, stdin=False, pty=None):
        """stdin: a pipe for it, else /dev/null. pty: (rows, columns)."""
        env = {**self.env, **(env or {})}
        cwd = cwd or self.workdir
        if not pty:
            r, w = os.pipe(), os.pipe()
            i = os.pipe() if stdin else (os.open("/dev/null", 0), None)
            theirs, ours = [i[0], r[1], w[1]], [i[1], r[0], w[0]]
        else:
            import fcntl
            import struct
            import termios
            master, slave = os.openpty()
            fcntl.ioctl(master, termios.TIOCSWINSZ,
                        struct.pack("HHHH", *pty, 0, 0))
            theirs = [slave, os.dup(slave), os.dup(slave)]
            ours = [os.dup(master), master, None]
        try:
            answer, _ = self.ask("spawn", theirs, argv=argv, env=env, cwd=cwd,
                                 pty=bool(pty))
        except OSError:
            for fd in ours:
                if fd is not None:
                    os.close(fd)
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        p = Process(self, answer["pid"], ours)
        with self.lock:
            if answer["tag"] in self.early:
                p.status = self.early.pop(answer["tag"])
                p.ended.set()
            elif self.dead:
                p.status = -9
                p.ended.set()
            else:
                self.processes[answer["tag"]] = p
        return p

    def shell(self, command, **how):
        """Runs a command. Returns (exit code, output, error output)."""
        p = self.spawn(["/bin/sh", "-c", command], **how)
        parts = [b"", b""]

        def read(i, fd):
            with os.fdopen(fd, "rb") as f:
                parts[i] = f.read()
        threads = [threading.Thread(target=read, args=(i, fd))
                   for i, fd in enumerate((p.stdout, p.stderr))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return p.wait(), parts[0], parts[1]

    def open(self, path, flags, mode=0o644, parents=False):
        _, fds = self.ask("open", path=path, flags=flags, mode=mode,
                          parents=parents)
        return fds[0]

    def os(self, name, *args):
        return self.ask("os", name=name, args=args)[0]["value"]

    def stat(self, path):
        return os.stat_result(self.os("lstat", path))

    def processes_left(self):
        """Returns the command lines of processes inside, without the agent."""
        found = []
        code = ("for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || "
                "tr '\\0' ' ' <$p/cmdline && echo; done 2>/dev/null")
        for line in self.shell(code)[1].decode(errors="replace").split("\n"):
            if line.strip() and "/dev/agent" not in line and \
                    not line.startswith("tr "):
                found.append(line.strip())
        return found

    def save(self):
        """Copies the root, for Box(source=...)."""
        copy = tempfile.mkdtemp(prefix="dcode-cloud-save-")
        for name in os.listdir(self.root):
            if name not in LINKS and name not in ("dev", "proc", "usr", "etc"):
                self.copy_whole(name, copy)
        return copy

    def copy_whole(self, name, copy):
        """Copies again if running processes deleted files meanwhile."""
        for attempt in range(10):
            done = subprocess.run(["cp", "-a", self.root / name, copy],
                                  check=False, capture_output=True)
            if done.returncode == 0:
                return
            shutil.rmtree(os.path.join(copy, name), ignore_errors=True)
        raise OSError(done.stderr)

    def suspend(self):
        self.ask("all", signal=int(signal.SIGSTOP))
        self.bill.stop()

    def resume(self):
        self.ask("all", signal=int(signal.SIGCONT))
        self.bill.start()

    def destroy(self):
        self.bill.stop()
        self.sock.close()
        try:
            self.outer.kill()
        except OSError:
            pass
        self.outer.wait()
        for _ in range(50):
            shutil.rmtree(self.root, ignore_errors=True)
            if not self.root.exists():
                return
            for folder, _, _ in os.walk(self.root):
                os.chmod(folder, 0o700)
            time.sleep(0.02)
