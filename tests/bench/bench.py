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

    def run(self, scenario, command):
        """One client under the harness; its report, or a loud end."""
        work = pathlib.Path(self.home, "work")
        work.mkdir(exist_ok=True)
        line = [*self.bare("harness"), *map(str, scenario), "--", *command]
        p = subprocess.run(line, env=self.env, cwd=work, text=True,
                           capture_output=True, stdin=subprocess.DEVNULL)
        report = json.loads(p.stdout) if p.returncode == 0 else {}
        if report.get("status") != 0:
            sys.exit(f"bench: {' '.join(line)}\nfailed: "
                     f"{ {k: v for k, v in report.items() if k != 'turns'} }\n"
                     f"{p.stderr[-3000:]}")
        return report

    def pairs(self, scenario, floor, ours, figure, rounds=None):
        """Medians of figure(report), the two taken in turns: A B A B."""
        a, b = [], []
        for _ in range(rounds or self.rounds):
            a.append(figure(self.run(scenario, floor)))
            b.append(figure(self.run(scenario, ours)))
        return statistics.median(a), statistics.median(b)

    def show(self, name, ours, floor, what, bar, over, unit):
        self.shown += 1
        self.over += over
        print(f"{name:38} {ours:9.3f} {floor:9.3f} {unit:4} {what:>10}  "
              f"bar {bar:9}  {'OVER' if over else 'ok'}", flush=True)

    def ratio(self, name, ours, floor, bar, unit):
        r = ours / floor if floor > 0 else float("inf")
        self.show(name, ours, floor, f"x {r:.2f}", f"x {bar}", r > bar, unit)

    # The figures

    def start(self):
        for wire in ("openai", "anthropic"):
            floor, ours = self.pairs(["text"], self.bare("bare_post"),
                                     self.agent(wire),
                                     lambda r: r["first_ms"])
            self.ratio(f"start to first request, {wire}", ours, floor, 1.2,
                       "ms")

    def light(self):
        for word in ("--version", "help", "config"):
            command = [self.dcode, word]
            floor, ours = self.pairs(["text"], self.bare("empty"), command,
                                     lambda r: r["wall_s"] * 1e3)
            self.ratio(f"dcode {word}", ours, floor, 3, "ms")
            trace = subprocess.run(
                ["strace", "-f", "-e", "trace=open,openat", *command],
                env=self.env, capture_output=True, text=True, check=True)
            loaded = sum("libcurl" in line and "= -1" not in line
                         for line in trace.stderr.splitlines())
            self.show(f"dcode {word}: opens of libcurl", loaded, 0, "",
                      "0", loaded > 0, "")

    def turns(self):
        pss = []

        def gap(report):
            pss.append(report["pss_kib"] / 1024)
            return statistics.median(t["gap_ms"] for t in report["turns"])
        for wire in ("openai", "anthropic"):
            floor, ours = self.pairs(
                ["tools", 50, 1, "true"], self.bare("bare_chat", wire),
                self.agent(wire), gap, 3 if self.quick else 7)
            more = ours - floor
            self.show(f"gap per tool turn (50), {wire}", ours, floor,
                      f"+ {more:.2f}", "+ 0.6", more > 0.6, "ms")
        top = max(pss[1::2])
        self.show("PSS in that run", top, pss[0], "", "14", top >= 14, "MiB")

    def growth(self):
        """CPU of turn 1,000 against turn 10, what sending costs deducted."""
        far = 1000
        for wire in ("openai", "anthropic"):
            r = self.run(["tools", far + 6, 1, "true"], self.agent(wire))
            net = []
            for turn in (10, far):
                near = r["turns"][turn - 6:turn + 5]
                cpu = statistics.median(t["cpu_us"] for t in near)
                sent = self.run(
                    ["tools", 40, 1, "true"],
                    self.bare("bare_post", near[5]["body"], 41))
                post = statistics.median(
                    t["cpu_us"] for t in sent["turns"][5:])
                net.append(cpu - post)
                print(f"  turn {turn}: {cpu:.0f} us of CPU, of which sending "
                      f"{near[5]['body']} bytes {post:.0f}")
            self.ratio(f"CPU of turn {far} against 10, {wire}", net[1],
                       net[0], 1.3, "us")

    def memory(self):
        calls = 2000 if self.quick else 10000
        r = self.run(["tools", calls // 10, 10, "true"], self.agent())
        mib = r["pss_kib"] / 1024
        self.show(f"PSS after {calls:,} tool calls", mib, 0, "", "24",
                  mib >= 24, "MiB")

    def stream(self):
        """Net CPU: the same run with one token is taken off on both sides."""
        for wire in ("openai", "anthropic"):
            bare, ours = self.bare("bare_chat", wire), self.agent(wire)
            figure = lambda r: r["cpu_s"] * 1e3
            rounds = 5 if self.quick else 15
            floor, cpu = self.pairs(["stream", 20000, 10], bare, ours, figure,
                                    rounds)
            floor0, cpu0 = self.pairs(["text"], bare, ours, figure, rounds)
            self.ratio(f"20,000 tokens, CPU, {wire}", cpu - cpu0,
                       floor - floor0, 2, "ms")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", default="build/release/tests/bench")
    p.add_argument("--dcode", default="./dcode")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--only", choices="start light turns growth memory stream"
                   .split())
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(args, home)
        print(f"{'figure':38} {'dcode':>9} {'floor':>9}")
        for name in "start light turns stream growth memory".split():
            if args.only in (None, name):
                getattr(bench, name)()
    print(f"bench: {bench.shown - bench.over} within the bar, "
          f"{bench.over} over")
    return 1 if bench.over or not bench.shown else 0


sys.exit(main())
