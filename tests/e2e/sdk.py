"""sdk.py - runs a vendor's official SDK, installed as its lock file says."""
# SPDX-License-Identifier: MIT
import fcntl
import json
import os
import shutil
import subprocess
import time

import pytest


def installed(folder):
    have = folder / "node_modules" / ".package-lock.json"
    if not have.exists():
        return False
    want = json.loads((folder / "package-lock.json").read_text())["packages"]
    found = json.loads(have.read_text())["packages"]
    return all(found.get(name, {}).get("version") == p["version"]
               for name, p in want.items() if name and not p.get("optional"))


def fetch(command, folder, how):
    """Runs what fetches packages; a connection that breaks is tried again."""
    for left in (2, 1, 0):
        try:
            subprocess.run(command, cwd=folder, **how)
            return
        except subprocess.CalledProcessError:
            if not left:
                raise
            time.sleep(5)


def install(folder):
    """npm ci, unless what the lock file asks for is there; no package's
    script runs but that of `node`, which fetches the program."""
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "timeout": 600}
    with open(folder / "package-lock.json", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed(folder):
            fetch(["npm", "ci", "--ignore-scripts", "--no-progress",
                   "--no-audit", "--no-fund"], folder, quiet)
        node = folder / "node_modules" / "node"
        if not (node / "bin" / "node").exists():
            fetch(["node", "installArchSpecificPackage.js"], node, quiet)


def node_of(top):
    """The Node.js that the SDKs ask for; all packages are installed."""
    if not shutil.which("npm"):
        pytest.fail("no npm here: run ./scripts/install-deps test")
    install(top / "tests" / "sdk")
    return top / "tests" / "sdk" / "node_modules" / "node" / "bin" / "node"


def run(top, script, env, *words, timeout=120):
    """The output of tests/sdk/SCRIPT, by the Node that the SDKs ask for."""
    node = node_of(top)
    r = subprocess.run(
        [node, top / "tests" / "sdk" / script, *words],
        timeout=timeout, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **env})
    assert r.returncode == 0, r.stdout
    return r.stdout
