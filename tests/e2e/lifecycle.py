"""lifecycle.py - helpers for tests of a sandbox's life."""
# SPDX-License-Identifier: MIT
import ctypes
import json
import os
import pathlib
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
    """Makes orphans of this process's descendants its children."""
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
    """Returns living descendants of this process, {pid: command}, without
    those of the engine and those below the pids in `but`."""
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
    """Reaps adopted children, except those that a Popen waits for."""
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and stat_of(name) == ("Z", os.getpid()):
                os.waitpid(int(name), os.WNOHANG)
        except (OSError, ValueError, IndexError):
            pass


def folders(home):
    """Returns the directories of the local sandboxes in this home."""
    top = pathlib.Path(home, ".deepagents", "sandboxes")
    return sorted(p.name for p in top.iterdir()) if top.exists() else []


def contract(run, name, *options):
    """Returns the checks by name. All must have passed, and the ledger must be
    empty."""
    r = run("provider", "test", name, "--json", *options, timeout=240)
    data = json.loads(r.out)["data"]
    checks = {c["name"]: c for c in data["checks"]}
    assert [c for c in data["checks"] if c["status"] == "fail"] == []
    assert r.status == 0 and data["failed"] == 0
    assert data["provider"] == name
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []
    return data, checks
