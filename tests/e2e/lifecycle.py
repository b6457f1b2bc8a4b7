"""lifecycle.py - what the tests of a sandbox's life share."""
# SPDX-License-Identifier: MIT
import ctypes
import json
import os
import pathlib
import pty
import select
import signal
import time

PR_SET_CHILD_SUBREAPER = 36


def call(name, **args):
    return {"name": name, "args": args}


def execute(command, **more):
    return {"tool_calls": [call("execute", command=command, **more)]}


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def adopt_orphans():
    """What outlives its parent becomes a child of this process."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def stat_of(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as f:
        fields = f.read().rpartition(") ")[2].split()
    return fields[0], int(fields[1])  # state, parent


def command_of(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as f:
        return f.read().replace(b"\0", b" ").decode(errors="replace").strip()


ENGINE = ("podman", "conmon", "runc", "crun", "slirp4netns", "catatonit",
          "fuse-overlayfs")


def processes(but=()):
    """Living descendants of this process: {pid: command}, without the
    engine's and those below the pids in `but`."""
    parents, found = {}, {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            state, parent = stat_of(name)
            parents[int(name)] = (state, parent, command_of(name))
        except (OSError, ValueError, IndexError):
            continue

    def ours(pid):
        while pid in parents and pid != os.getpid():
            command = parents[pid][2].split(" ")[0].rpartition("/")[2]
            if pid in but or command in ENGINE:
                return False
            pid = parents[pid][1]
        return pid == os.getpid()
    for pid, (state, _, command) in parents.items():
        if pid != os.getpid() and state not in "ZX" and ours(pid):
            found[pid] = command
    return found


def reap():
    """Adopted children that have ended, but none that a Popen waits for."""
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and stat_of(name) == ("Z", os.getpid()):
                os.waitpid(int(name), os.WNOHANG)
        except (OSError, ValueError, IndexError):
            pass


def folders(home):
    """Of the local sandboxes under this home."""
    top = pathlib.Path(home, ".deepagents", "sandboxes")
    return sorted(p.name for p in top.iterdir()) if top.exists() else []


class Terminal:
    """A chat in a pseudo-terminal."""

    def __init__(self, dcode, env, cwd, *args):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(dcode, [str(dcode), *map(str, args)], env)
        self.text = ""

    def until(self, word, seconds=20):
        end = time.monotonic() + seconds
        while word not in self.text:
            self.text += self.read(end).decode(errors="replace")
        self.text = self.text.partition(word)[2]
        return time.monotonic()

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, end):
        """Some bytes, by this time."""
        left = max(0, end - time.monotonic())
        if not select.select([self.fd], [], [], left)[0]:
            os.kill(self.pid, signal.SIGKILL)
            raise AssertionError(f"nothing more came after: {self.text}")
        return os.read(self.fd, 65536)

    def leave(self):
        """/quit; the question what becomes of the sandbox may follow."""
        self.type("/quit\n")
        end = time.monotonic() + 30
        self.text = ""
        try:
            while "keep it?" not in self.text:
                part = self.read(end)
                self.text += part.decode(errors="replace")
                if not part:
                    break
            else:
                self.type("d\n")
        except OSError:
            pass
        return self.end()

    def end(self, seconds=30):
        end = time.monotonic() + seconds
        self.text = ""
        try:
            while part := self.read(end):
                self.text += part.decode(errors="replace")
        except OSError:
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def contract(run, name, *options):
    """The checks by name; all of them passed, nothing is in the ledger."""
    r = run("provider", "test", name, "--json", *options, timeout=240)
    data = json.loads(r.out)["data"]
    checks = {c["name"]: c for c in data["checks"]}
    assert [c for c in data["checks"] if c["status"] == "fail"] == []
    assert r.status == 0 and data["failed"] == 0
    assert data["provider"] == name
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []
    return data, checks
