#!/usr/bin/python3
"""bench.py - dcode against bare C programs, in one run, as ratios.

bench.py --bin DIR [--dcode PATH] [--quick] [--only WORD]

DIR holds harness, empty, bare_post and bare_chat. One line a figure: ours,
the floor, the ratio or the difference, the bar. Exit status 1 if one is over.
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

# The wires, and a vendor that speaks each.
WIRES = {"openai-chat": "openai", "openai-responses": "openai",
         "anthropic": "anthropic", "gemini": "google_genai",
         "bedrock": "bedrock"}
PARTS = "start others wires light turns stream growth memory".split()


class Bench:
    def __init__(self, args, home):
        self.bin = pathlib.Path(args.bin).resolve()
        self.dcode = str(pathlib.Path(args.dcode).resolve())
        self.rounds = 9 if args.quick else 31
        self.quick = args.quick
        self.over = self.shown = 0
        self.home = home
        keep = ("PATH", "LANG", "TZ")
        self.env = {k: os.environ[k] for k in keep if k in os.environ}
        self.env.update(HOME=home, TERM="dumb")

    def bare(self, name, *args):
        return [str(self.bin / name), *map(str, args)]

    def agent(self, wire="openai"):
        return [self.dcode, "-n", "go", "-y", "-M", wire + ":bench"]

    def run(self, scenario, command, status=0):
        """One client under the harness; its report, or a loud end."""
        work = pathlib.Path(self.home, "work")
        work.mkdir(exist_ok=True)
        line = [*self.bare("harness"), *map(str, scenario), "--", *command]
        p = subprocess.run(line, env=self.env, cwd=work, text=True,
                           capture_output=True, stdin=subprocess.DEVNULL)
        report = json.loads(p.stdout) if p.returncode == 0 else {}
        if report.get("status") != status:
            sys.exit(f"bench: {' '.join(line)}\nfailed: "
                     f"{ {k: v for k, v in report.items() if k != 'turns'} }\n"
                     f"{p.stderr[-3000:]}")
        return report

    def pairs(self, scenario, floor, ours, figure, rounds=None):
        """Medians of figure(report) as (ours, floor), run in turns."""
        a, b = [], []
        for _ in range(rounds or self.rounds):
            a.append(figure(self.run(scenario, floor)))
            b.append(figure(self.run(scenario, ours)))
        return statistics.median(b), statistics.median(a)

    def judge(self, name, measure, unit, times=0, more=0, below=0):
        """measure() -> ours, floor. One of the bars: ours is at most times
        the floor, or at most more above it, or below a figure. On a machine
        with other work one bad sample proves nothing: it counts as over
        when three in a row are."""
        for last in (False, False, True):
            ours, floor = measure()
            if times:
                got = ours / floor if floor > 0 else float("inf")
                text, bar, over = f"x {got:.2f}", f"x {times}", got > times
            elif more:
                got = ours - floor
                text, bar, over = f"+ {got:.2f}", f"+ {more}", got > more
            else:
                text, bar, over = "", f"< {below}", ours >= below
            word = "OVER" if over and last else "again" if over else "ok"
            print(f"{name:36} {ours:9.3f} {floor:9.3f} {unit:4} {text:>8}  "
                  f"{bar:>6}  {word}", flush=True)
            if not over:
                break
        self.shown += 1
        self.over += over

    # The figures

    def start(self):
        for wire in ("openai", "anthropic"):
            self.judge(f"start to first request, {wire}", lambda: self.pairs(
                ["text"], self.bare("bare_post"), self.agent(wire),
                lambda r: r["first_ms"]), "ms", times=1.2)

    def others(self):
        """What MCP servers, skills and AGENTS.md add to a start."""
        full = pathlib.Path(self.home, "full")
        agent = full / ".deepagents" / "agent"
        for i in range(50):
            (agent / "skills" / f"s-{i}").mkdir(parents=True)
            (agent / "skills" / f"s-{i}" / "SKILL.md").write_text(
                f"---\nname: s-{i}\ndescription: For {i}.\n---\nWords.\n")
        (agent / "AGENTS.md").write_text("Words of advice.\n" * 6000)
        server = pathlib.Path(__file__).parents[1] / "emulators" / \
            "mcp_server.py"
        (full / ".deepagents" / ".mcp.json").write_text(json.dumps({
            "mcpServers": {f"m{i}": {"command": sys.executable,
                                     "args": [str(server)]}
                           for i in range(5)}}))
        # Their lists of tools are known from before.
        subprocess.run([self.dcode, "mcp", "test"], check=True, cwd=full,
                       env={**self.env, "HOME": str(full)},
                       stdout=subprocess.DEVNULL)
        bare, ours = (["/usr/bin/env", f"HOME={home}", *self.agent()]
                      for home in (self.home, full))
        for figure, unit, more in (("first_ms", "ms", 3),
                                   ("pss_kib", "MiB", 2)):
            self.judge(f"5 MCP servers, 50 skills: {figure}",
                       lambda: self.pairs(
                           ["text"], bare, ours, lambda r: r[figure] /
                           (1024 if unit == "MiB" else 1)), unit, more=more)

    def wire(self, name):
        """A run of the model of this wire, refused at its first request."""
        provider = WIRES[name]
        folder = pathlib.Path(self.home, ".deepagents")
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(
            f'[models.providers.{provider}]\nwire = "{name}"\n')
        return self.agent(provider)

    def counts(self, name):
        """Of a start up to the answer: millions of instructions, and
        requests of the system."""
        out = pathlib.Path(self.home, "counts")
        self.run(["refuse"], [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
            *self.wire(name)], 1)
        total = [line for line in out.read_text().splitlines()
                 if line.startswith("totals:")][-1]
        self.run(["refuse"], ["strace", "-f", "-c", "-o", out,
                              *self.wire(name)], 1)
        calls = out.read_text().splitlines()[-1].split()
        return int(total.split()[1]) / 1e6, int(calls[3])

    def beside_chat(self, name, figure):
        """Medians of (this wire, Chat), run in turns."""
        a, b = [], []
        for _ in range(self.rounds):
            for wire, found in (("openai-chat", a), (name, b)):
                found.append(figure(self.run(["refuse"], self.wire(wire), 1)))
        return statistics.median(b), statistics.median(a)

    def wires(self):
        """Start to first request of each wire against Chat's."""
        self.run(["refuse"], self.wire("openai-chat"), 1)  # makes its files
        chat = self.counts("openai-chat")
        for name in [w for w in WIRES if w != "openai-chat"]:
            self.judge(f"start to first request, {name}",
                       lambda: self.beside_chat(name, lambda r: r["first_ms"]),
                       "ms", times=1.1)
            ours = self.counts(name)
            for i, what in enumerate(("instructions", "system calls")):
                self.judge(f"{name}: {what}", lambda: (ours[i], chat[i]),
                           "" if i else "M", times=1.1)
            self.judge(f"{name}: PSS", lambda: self.beside_chat(
                name, lambda r: r["pss_kib"] / 1024), "MiB", more=1)
        pathlib.Path(self.home, ".deepagents", "config.toml").unlink()

    def light(self):
        for word in ("--version", "help", "config"):
            command = [self.dcode, word]
            self.judge(f"dcode {word}", lambda: self.pairs(
                ["text"], self.bare("empty"), command,
                lambda r: r["wall_s"] * 1e3), "ms", times=3)
            trace = subprocess.run(
                ["strace", "-f", "-e", "trace=open,openat", *command],
                env=self.env, capture_output=True, text=True, check=True)
            opened = sum("libcurl" in line and "= -1" not in line
                         for line in trace.stderr.splitlines())
            self.judge(f"dcode {word}: opens of libcurl",
                       lambda: (opened, 0), "", below=1)

    def turns(self):
        pss = []

        def gap(report):
            pss.append(report["pss_kib"] / 1024)
            return statistics.median(t["gap_ms"] for t in report["turns"])
        for wire in ("openai", "anthropic"):
            self.judge(f"gap per tool turn (50), {wire}", lambda: self.pairs(
                ["tools", 50, 1, "true"], self.bare("bare_chat", wire),
                self.agent(wire), gap, 3 if self.quick else 7), "ms",
                more=0.6)
        self.judge("PSS in that run", lambda: (max(pss[1::2]), pss[0]),
                   "MiB", below=14)

    def turn_cpu(self, report, turn, name):
        """CPU of one turn in us, without what sending its bytes costs."""
        near = report["turns"][turn - 6:turn + 5]
        cpu = statistics.median(t["cpu_us"] for t in near)
        size = near[5]["body"]
        sent = self.run(["tools", 40, 1, "true"],
                        self.bare("bare_post", size, 41))
        post = statistics.median(t["cpu_us"] for t in sent["turns"][5:])
        print(f"  {name} {turn}: {cpu:.0f} us of CPU, of which sending "
              f"{size} bytes {post:.0f}")
        return cpu - post

    def growth(self):
        """CPU of turn 1,000 against turn 10."""
        def measure():
            r = self.run(["tools", 1006, 1, "true"], self.agent(wire))
            return [self.turn_cpu(r, turn, "turn") for turn in (1000, 10)]
        for wire in ("openai", "anthropic"):
            self.judge(f"CPU of turn 1000 against 10, {wire}", measure, "us",
                       times=1.3)

    def memory(self):
        calls = 2000 if self.quick else 10000
        self.judge(f"PSS after {calls:,} tool calls", lambda: (
            self.run(["tools", calls // 10, 10, "true"],
                     self.agent())["pss_kib"] / 1024, 0), "MiB", below=24)

    def stream(self):
        """Net CPU: the same run with one token is taken off on both sides."""
        rounds = 5 if self.quick else 15

        def measure():
            bare, ours = self.bare("bare_chat", wire), self.agent(wire)
            cpu = lambda r: r["cpu_s"] * 1e3
            all_ = self.pairs(["stream", 20000, 10], bare, ours, cpu, rounds)
            one = self.pairs(["text"], bare, ours, cpu, rounds)
            return all_[0] - one[0], all_[1] - one[1]
        for wire in ("openai", "anthropic"):
            self.judge(f"20,000 tokens, CPU, {wire}", measure, "ms", times=2)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", default="build/release/tests/bench")
    p.add_argument("--dcode", default="./dcode")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--only", choices=PARTS)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(args, home)
        print(f"{'figure':36} {'dcode':>9} {'floor':>9}")
        for name in PARTS:
            if args.only in (None, name):
                getattr(bench, name)()
    print(f"bench: {bench.shown - bench.over} passed, {bench.over} failed")
    return 1 if bench.over or not bench.shown else 0


if __name__ == "__main__":
    sys.exit(main())
