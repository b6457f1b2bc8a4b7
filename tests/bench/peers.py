#!/usr/bin/python3
"""peers.py - dcode beside other agents of the terminal, in the same minutes.

npm install --prefix DIR @openai/codex @anthropic-ai/claude-code opencode-ai
peers.py DIR [--dcode PATH] [--rounds N]

Each does one headless task against a scripted model on this machine, in a
fresh home, in turns, so that other work of the machine hits all alike. It
prints medians: the time of --version, from the start to the first request,
the most memory that the process tree had (proportional set size, looked at
every 20 ms), and the size of what is installed. The README has such a table.
"""
# SPDX-License-Identifier: MIT
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/emulators"))
from model import ModelServer  # noqa: E402

CODEX = """model = "m"
model_provider = "here"
[model_providers.here]
name = "here"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
"""


def codex(home, url):
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text(CODEX.format(url=url))
    return ["exec", "--skip-git-repo-check", "go"]


def claude(_home, _url):
    return ["-p", "go", "--model", "claude-sonnet-5"]


def opencode(home, url):
    (home / ".config/opencode").mkdir(parents=True)
    (home / ".config/opencode/opencode.json").write_text(json.dumps({
        "provider": {"here": {
            "npm": "@ai-sdk/openai-compatible", "name": "here",
            "options": {"baseURL": url + "/v1", "apiKey": "sk-x"},
            "models": {"m": {"name": "m"}}}}}))
    return ["run", "-m", "here/m", "go"]


def dcode(_home, _url):
    return ["-n", "go", "-M", "anthropic:claude-sonnet-5"]


def megabytes(*paths):
    out = subprocess.run(["du", "-scm", *map(str, paths)], check=True,
                         capture_output=True, text=True).stdout
    return int(out.split()[-2])


def tree(pid):
    found = [pid]
    for p in found:
        try:
            for task in pathlib.Path(f"/proc/{p}/task").iterdir():
                found += [int(c) for c in
                          (task / "children").read_text().split()]
        except OSError:
            pass
    return found


def pss(pid):
    """KiB of the process and all that it started."""
    total = 0
    for p in tree(pid):
        try:
            text = pathlib.Path(f"/proc/{p}/smaps_rollup").read_text()
            total += int(text.split("\nPss:")[1].split()[0])
        except (OSError, IndexError):
            pass
    return total


class Peer:
    def __init__(self, name, program, prepare, installed):
        self.name, self.program, self.prepare = name, program, prepare
        self.size = megabytes(*installed)
        self.versions, self.firsts, self.memory = [], [], []

    def env(self, home, url):
        return {"HOME": str(home), "PATH": os.environ["PATH"],
                "LANG": "C.UTF-8", "TERM": "dumb",
                "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-x",
                "OPENAI_API_KEY": "sk-x",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def version(self, env):
        began = time.monotonic()
        subprocess.run([self.program, "--version"], env=env, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.versions.append(1e3 * (time.monotonic() - began))

    def task(self):
        """One run; its times and its memory are kept."""
        script = {"turns": [{"text": "done"}], "repeat": True, "check": False}
        with tempfile.TemporaryDirectory(prefix="peers-") as name, \
                ModelServer(script) as server:
            home, arrived = pathlib.Path(name), []
            note = server.model.note
            server.model.note = lambda record, over=True: (
                arrived.append(record["received"]), note(record, over))
            env = self.env(home, server.url)
            args = self.prepare(home, server.url)
            (home / "work").mkdir()
            self.version(env)
            began = time.monotonic()
            p = subprocess.Popen(
                [self.program, *args], env=env, cwd=home / "work",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT)
            said = []
            reader = threading.Thread(
                target=lambda: said.append(p.stdout.read()))
            reader.start()
            most = 0
            while p.poll() is None:
                most = max(most, pss(p.pid))
                time.sleep(0.02)
            reader.join()
            if not arrived or b"done" not in said[0]:
                sys.exit(f"peers: {self.name}: {said[0][-2000:]}")
            self.firsts.append(1e3 * (arrived[0] - began))
            self.memory.append(most / 1024)


def peers_in(folder, ours):
    modules = folder / "node_modules"
    found = [Peer("dcode", ours, dcode, [ours])]
    for name, program, prepare, installed in (
            ("codex", "codex", codex, ["@openai"]),
            ("Claude Code", "claude", claude, ["@anthropic-ai"]),
            ("opencode", "opencode", opencode,
             ["opencode-ai", "opencode-linux-x64"])):
        path = modules / ".bin" / program
        if path.exists():
            found.append(Peer(name, path, prepare,
                              [modules / i for i in installed
                               if (modules / i).exists()]))
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--dcode", type=pathlib.Path, default=TOP / "dcode")
    p.add_argument("--rounds", type=int, default=7)
    args = p.parse_args()
    stripped = pathlib.Path(tempfile.mkdtemp()) / "dcode"
    subprocess.run(["strip", "-o", stripped, args.dcode], check=True)
    peers = peers_in(args.folder, stripped)
    for _ in range(args.rounds):
        for peer in peers:
            peer.task()
    print(f"{'':12} {'--version':>10} {'first request':>14} {'memory':>8} "
          f"{'installed':>10}")
    for peer in peers:
        print(f"{peer.name:12} {statistics.median(peer.versions):7.1f} ms "
              f"{statistics.median(peer.firsts):11.0f} ms "
              f"{statistics.median(peer.memory):5.0f} MB "
              f"{peer.size:7} MB")


if __name__ == "__main__":
    main()
