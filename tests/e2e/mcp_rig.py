"""mcp_rig.py - what the tests of MCP share: files, servers, what is left."""
# SPDX-License-Identifier: MIT
import json
import pathlib
import sys
import time

EMULATOR = pathlib.Path(__file__).resolve().parents[1] / "emulators" / \
    "mcp_server.py"


class Mcp:
    """The user's ~/.deepagents/.mcp.json, and one log for its servers."""

    def __init__(self, home, work):
        self.home, self.work = home, work
        self.log = home / "mcp.log"
        self.servers = {}

    def entry(self, *modes, **env):
        return {"command": sys.executable, "args": [str(EMULATOR), *modes],
                "env": {"LOG": str(self.log), **env}}

    def write(self, path, servers):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(json.dumps({"mcpServers": servers}))
        return path

    def own(self, **servers):
        """own(name=entry, ...): the user's file has just these."""
        return self.write(self.home / ".deepagents" / ".mcp.json", servers)

    def project(self, name=".mcp.json", **servers):
        (self.work / ".git").mkdir(exist_ok=True)
        return self.write(self.work / name, servers)

    def lines(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def received(self, method):
        found = [json.loads(line[2:]) for line in self.lines()
                 if line.startswith("< ")]
        return [m for m in found if m.get("method") == method]

    def pids(self):
        return [int(line.split()[1]) for line in self.lines()
                if line.startswith(("start ", "child "))]

    def starts(self):
        return sum(line.startswith("start ") for line in self.lines())

    def left(self):
        """Pids of servers, and of what they started, that still live."""
        return [p for p in self.pids() if is_alive(p)]

    def wait_none_left(self, seconds=20):
        return wait_for(lambda: not self.left(), seconds), self.left()


def is_alive(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def wait_for(happened, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if happened():
            return True
        time.sleep(0.02)
    return False


def calls(name, **args):
    """A script: one call of a tool, then the end."""
    return [{"tool_calls": [{"name": name, "args": args}]}, {"text": "done"}]


def results(server):
    """The texts of all tool results of the last request to the model."""
    body = server.requests[-1]["body"]
    found = []
    for message in body["messages"]:
        content = message["content"]
        for block in content if isinstance(content, list) else []:
            if block.get("type") != "tool_result":
                continue
            inner = block["content"]
            found.append(inner if isinstance(inner, str) else "".join(
                b.get("text", f"<{b['type']}>") for b in inner))
    return found


def offered(server, n=0):
    return [t["name"] for t in server.requests[n]["body"].get("tools", [])]


