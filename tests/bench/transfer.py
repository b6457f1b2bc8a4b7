#!/usr/bin/python3
"""transfer.py - large files up and down: dcode against curl, as ratios.

transfer.py [--dcode PATH] [--mib N] [--rounds N] [VENDOR...]

One emulated vendor after another; curl repeats the very request that dcode
made, with the same file, to the same server, in turns. A line each way: the
throughputs, their ratio, the seconds of CPU, dcode's largest resident set, the
bars. Exit status 1 if one is missed.
"""
# SPDX-License-Identifier: MIT
import argparse
import email
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import namedtuple

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests/emulators"),
                str(TOP / "tests/e2e")]
from clouds import NAMES, UPLOAD, emulator  # noqa: E402
from model import ModelServer  # noqa: E402

RATIO, RSS_KIB = 0.9, 32 << 10
# curl's own, or of the body that it makes itself.
LEFT_OUT = {"host", "content-length", "transfer-encoding", "expect",
            "accept-encoding", "connection"}
DOWNLOAD = {"daytona": "GET .*/files/download", "e2b": "GET /files[?]",
            "langsmith": "GET .*/download[?]",
            "runloop": "POST .*/download_file", "vercel": "POST .*/fs/read"}
Ran = namedtuple("Ran", "seconds cpu rss_kib")


def timed(command, env, cwd):
    """A program's time and memory. wait4's maximum is no use for the memory:
    it is at least what this process had when it forked."""
    began = time.monotonic()
    p = subprocess.Popen([str(c) for c in command], env=env, cwd=cwd,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    peak = 0
    while True:
        try:
            text = pathlib.Path(f"/proc/{p.pid}/status").read_text()
            found = re.search(r"VmHWM:\s*(\d+)", text)
            peak = max(peak, int(found[1]) if found else 0)
        except OSError:
            pass
        pid, status, used = os.wait4(p.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.01)
    seconds = time.monotonic() - began
    p.returncode = os.waitstatus_to_exitcode(status)
    said = p.stdout.read().decode(errors="replace")
    if p.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{said[-3000:]}")
    return Ran(seconds, used.ru_utime + used.ru_stime, peak)


class Bench:
    def __init__(self, name, args, home):
        self.name, self.args, self.home = name, args, home
        self.work = home / "work"
        self.work.mkdir()
        self.up, self.down = self.work / "up", self.work / "down"
        self.env = {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
                    "HOME": str(home), "TERM": "dumb", "LANG": "C.UTF-8"}
        self.dcode = pathlib.Path(args.dcode).resolve()
        self.over = self.shown = 0

    def run(self, cloud):
        self.cloud = cloud
        self.env.update(cloud.env)
        self.box = self.sandbox()
        self.fill()
        there = f"{self.box}:/tmp/big"
        for way, command in (("up", [self.up, there]),
                             ("down", [there, self.down])):
            command = [self.dcode, "sandbox", "cp", *command]
            cloud.forget()
            timed(command, self.env, self.work)
            moves = (UPLOAD if way == "up" else DOWNLOAD)[self.name]
            request = max((r for r in cloud.requests
                           if re.match(moves, r["line"])),
                          key=lambda r: r["seconds"])
            self.judge(way, command, self.curl(way, request))
        if self.digest(self.down) != self.digest(self.up):
            sys.exit(f"{self.name}: other bytes came back")

    def sandbox(self):
        """The short name of one that goes on running: its owner is killed."""
        stall = [{"text": "abc", "fault": {"stall_after_bytes": 40}}]
        with ModelServer(stall) as server:
            p = subprocess.Popen(
                [self.dcode, "-n", "hi", "-M", "anthropic:m", "--sandbox",
                 self.name], env={**self.env, **server.env}, cwd=self.work,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            while not server.model.received and p.poll() is None:
                time.sleep(0.02)
            p.send_signal(signal.SIGKILL)
            p.wait()
        listed = subprocess.run(
            [self.dcode, "sandbox", "list", "--json"], env=self.env,
            cwd=self.work, capture_output=True, check=True)
        return json.loads(listed.stdout)["data"][0]["name"]

    def remove(self):
        """What there is at the way's end."""
        if self.way == "down":
            self.down.unlink(missing_ok=True)
        else:
            timed([self.dcode, "sandbox", "exec", self.box, "--", "rm", "-f",
                   "/tmp/big"], self.env, self.work)

    def fill(self):
        block = os.urandom(1 << 20)
        with open(self.up, "wb") as f:
            for i in range(self.args.mib):
                f.write(block[i % 997:] + block[:i % 997])

    @staticmethod
    def digest(path):
        with open(path, "rb") as f:
            return hashlib.file_digest(f, "sha256").hexdigest()

    def curl(self, way, request):
        """The command that makes the same request."""
        body = bytes(request.get("raw", b""))
        kind = request["headers"].get("Content-Type", "")
        command = ["curl", "-sS", "--fail-with-body", "-X",
                   request["method"], "-o",
                   self.down if way == "down" else self.work / "answer",
                   self.cloud.url + request["line"].split(" ", 1)[1]]
        multipart = kind.startswith("multipart/")
        for name, value in request["headers"].items():
            if name.lower() not in LEFT_OUT and not (
                    multipart and name.lower() == "content-type"):
                command += ["-H", f"{name}: {value}"]
        if way == "down":
            return command + (["--data-binary", body.decode()] if body else [])
        if multipart:
            return command + self.form(kind, body)
        if body[:2] == b"\x1f\x8b":
            return command + ["-T", self.archive()]
        return command + ["-T", self.up]

    def form(self, kind, body):
        """curl's words for the fields before and of the file."""
        text = body[:1 << 14].decode("latin-1")
        head = f"Content-Type: {kind}\r\n\r\n"
        words = []
        for part in email.message_from_string(head + text).get_payload():
            field = part.get_param("name", header="content-disposition")
            file = part.get_filename()
            if file is None:
                words += ["-F", f"{field}={part.get_payload().strip()}"]
            else:
                words += ["-F", f'{field}=@{self.up};filename="{file}";'
                                "type=application/octet-stream"]
        return words

    def archive(self):
        path = self.work / "up.tar.gz"
        with tarfile.open(path, "w:gz", compresslevel=0) as tar:
            tar.add(self.up, "tmp/curl-big")
        return path

    def judge(self, way, ours, floor):
        """With other work on the machine one bad sample proves nothing."""
        self.way = way
        for last in (False, False, True):
            a, b = [], []
            for _ in range(self.args.rounds):
                for command, list_ in ((floor, b), (ours, a)):
                    self.remove()  # replacing a file is more work
                    list_.append(timed(command, self.env, self.work))
            a, b = min(a), min(b)
            ratio = b.seconds / a.seconds
            rss = a.rss_kib / 1024
            over = ratio < RATIO or a.rss_kib >= RSS_KIB
            word = "MISSED" if over and last else "again" if over else "ok"
            print(f"{self.name:10} {way:5} {self.args.mib / a.seconds:7.0f} "
                  f"{self.args.mib / b.seconds:7.0f} MiB/s  x {ratio:4.2f}  "
                  f"{a.cpu:6.2f} {b.cpu:6.2f} s CPU  {rss:5.1f} MiB  {word}",
                  flush=True)
            if not over:
                break
        self.shown += 1
        self.over += over


def main():
    p = argparse.ArgumentParser()
    p.add_argument("vendors", nargs="*", metavar="VENDOR")
    p.add_argument("--dcode", default="./dcode")
    p.add_argument("--mib", type=int, default=1024)
    p.add_argument("--rounds", type=int, default=3)
    args = p.parse_args()
    need = args.mib << 20
    shm = pathlib.Path("/dev/shm")  # a disk would be what is measured
    if shm.is_dir() and shutil.disk_usage(shm).free > 6 * need:
        tempfile.tempdir = str(shm)
    shown = over = 0
    print(f"{'vendor':10} {'way':5} {'dcode':>7} {'curl':>7} {'':5}  "
          f"(x >= {RATIO}) {'dcode':>6} {'curl':>6} {'':5}  < 32 MiB")
    for name in args.vendors or NAMES:
        with tempfile.TemporaryDirectory() as home, emulator(name) as cloud:
            bench = Bench(name, args, pathlib.Path(home))
            bench.run(cloud)
            shown += bench.shown
            over += bench.over
    print(f"transfer: {shown - over} passed, {over} failed")
    return 1 if over or not shown else 0


if __name__ == "__main__":
    sys.exit(main())
