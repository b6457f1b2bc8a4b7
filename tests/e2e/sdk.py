"""sdk.py - runs a vendor's official SDK, installed as its lock file says."""
# SPDX-License-Identifier: MIT
import fcntl
import json
import os
import shutil
import subprocess

import pytest


def install(folder):
    """npm ci, unless what the lock file asks for is there."""
    with open(folder / "package-lock.json", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        want = json.loads(lock.read())
        have = folder / "node_modules" / ".package-lock.json"
        if have.exists():
            found = json.loads(have.read_text())["packages"]
            if all(found.get(name, {}).get("version") == p["version"]
                   for name, p in want["packages"].items()
                   if name and not p.get("optional")):
                return
        subprocess.run(["npm", "ci", "--no-progress"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, timeout=300)


def run(top, script, env, node="node", timeout=120):
    """The output of tests/sdk/SCRIPT; node: of the SDK's own version."""
    folder = top / "tests" / "sdk"
    if not shutil.which("npm"):
        pytest.skip("no npm here")
    install(folder)
    r = subprocess.run(
        [node, folder / script], timeout=timeout, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **env})
    assert r.returncode == 0, r.stdout
    return r.stdout
