#!/usr/bin/python3
"""terminal.py - the chat at a terminal against bare C programs at another.

terminal.py --bin DIR [--dcode PATH] [--quick] [--only WORD]

DIR holds empty and raw_reader. The lines are those of bench.py: ours, the
floor of the same run, the ratio or the difference, the bar.
"""
# SPDX-License-Identifier: MIT
import argparse
import pathlib
import random
import statistics
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests/bench"), str(TOP / "tests/e2e")]
from bench import Bench  # noqa: E402
from chat_pty import Model, Pty, env_of, markdown, open_raw  # noqa: E402

FRAME = b"\x1b[?2026h"
READY = b"anthropic:bench, tools"
END = "The end."
TOKENS = 20000
PASTE = 10_000_000
QUIET = 5  # seconds
LINES = {"ASCII": b"The quick brown fox jumps over the lazy dog.\n",
         "UTF-8": "漢字 ein Käse und noch einer, \U0001f600\n".encode()}


def percentile(times, share):
    times = sorted(times)
    return times[min(len(times) - 1, int(len(times) * share))] * 1e3


class Terminal(Bench):
    def __init__(self, args, home):
        super().__init__(args, home)
        self.model = Model(home)
        self.work = pathlib.Path(home, "work")
        self.work.mkdir()
        self.env = env_of(home, self.model)

    def chat(self, *args, ready=READY):
        p = Pty([self.dcode, "-M", "anthropic:bench", "-y", *args], self.env,
                self.work)
        if ready:
            p.until(ready)
            p.quiet()
        return p

    def reader(self, *args):
        return open_raw(self.bare("raw_reader", *args), self.env, self.work)

    def paint(self):
        def measure():
            ours, floor = [], []
            for _ in range(self.rounds):
                p = Pty(self.bare("empty"), self.env, self.work)
                p.process.wait()
                floor.append(time.monotonic() - p.began)
                p.close()
                p = self.chat(ready=None)
                ours.append(p.until(FRAME) - p.began)
                p.until(READY)
                p.close()
            return min(ours) * 1e3, min(floor) * 1e3
        self.judge("first paint", measure, "ms", more=15)

    def idle(self):
        def measure():
            p = self.chat()
            p.send(b"hi\r")
            p.until(b"Hello there.")
            p.quiet(1)
            pss = p.memory()["Pss"] / 1024
            p.close()
            return pss, 0

        def wake():
            p = self.chat()
            p.send(b"hi\r")
            p.until(b"Hello there.")
            p.quiet(1)
            before = p.wake_ups()
            p.quiet(QUIET)
            after = p.wake_ups()
            p.close()
            return after - before, 0
        self.model.script([{"text": "Hello there."}])
        self.judge("PSS after a turn", measure, "MiB", below=14)
        self.judge(f"wake-ups in {QUIET} s without a key", wake, "", below=1)

    def keys(self):
        """Keys at random times; both programs answer them in turn."""
        def measure():
            p, echo, r = self.chat(), self.reader(), random.Random(1)
            ours, floor, draft = [], [], b""
            p.send(b"go\r")
            start, _ = len(p.seen), p.until(b"part 1")
            while p.seen.find(END.encode(), start) < 0:
                wait_for(p, r.uniform(0.001, 0.02))
                at, began = len(echo.seen), time.monotonic()
                echo.send(b"Q")
                floor.append(echo.until(b"Q", at) - began)
                draft += bytes([r.choice(b"QZJX")])
                p.read()
                at, began = len(p.seen), time.monotonic()
                p.send(draft[-1:])
                ours.append(p.until(draft, at) - began)
                if len(draft) == 40:
                    p.send(b"\x15")
                    wait_for(p, 0.05)
                    draft = b""
            p.close()
            echo.close()
            print(f"  {len(ours)} keys: median "
                  f"{percentile(ours, .5):.2f} ms, longest "
                  f"{percentile(ours, 1):.2f} ms")
            return percentile(ours, .99), percentile(floor, .99)
        self.script(300, 1)
        self.judge("keystroke while it streams, p99", measure, "ms", more=5)

    def script(self, chunk, delay):
        self.model.script([{"text": markdown(TOKENS) + "\n\n" + END,
                            "chunk_bytes": chunk, "chunk_delay_ms": delay}])

    def paste(self):
        for name, line in LINES.items():
            text = b"\x1b[200~" + line * (PASTE // len(line)) + b"\x1b[201~"

            def measure():
                ours, floor = [], []
                for _ in range(5 if self.quick else 11):
                    p = self.reader(len(text))
                    floor.append(p.send_all(text, b"done"))
                    p.close()
                    p = self.chat()
                    ours.append(p.send_all(text, b" MB"))
                    p.close()
                return (statistics.median(ours) * 1e3,
                        statistics.median(floor) * 1e3)
            self.judge(f"paste of 10 MB, {name}", measure, "ms", times=2)

    def render(self):
        def cpu(*args, **ready):
            p = self.chat(*args, **ready)
            if not ready["ready"]:
                p.until(b"> ")
                p.quiet()
            before = p.cpu()
            p.send(b"go\r")
            p.until(END.encode())
            p.quiet(0.3)
            used = p.cpu() - before
            p.close()
            return used * 1e3

        def measure():
            pairs = [(cpu(ready=READY), cpu("--plain", ready=None))
                     for _ in range(3 if self.quick else 5)]
            return tuple(min(side) for side in zip(*pairs))
        for name, chunk, delay in (("at once", 2000, 0), ("in 5 s", 500, 1)):
            self.script(chunk, delay)
            self.judge(f"CPU of 20,000 tokens {name}", measure, "ms", times=3)

    def turns(self):
        """Memory after many turns of 1 KiB each way against that after 20."""
        last = 100 if self.quick else 500

        def measure():
            p, held = self.chat(), {}
            for i in range(1, last + 1):
                del p.seen[:]
                p.send(b"\x1b[200~%d " % i + b"abcd " * 204 + b"\x1b[201~\r")
                p.until(b" OK")
                while b"Esc stops" in p.seen[p.seen.rfind(FRAME):]:
                    p.read(0.1)
                if i in (20, last):
                    p.quiet(0.5)
                    held[i] = p.memory()
            p.close()
            print("  " + ", ".join(
                f"turn {i}: {m['Private_Dirty']} KiB private"
                for i, m in held.items()))
            return held[last]["Pss"] / 1024, held[20]["Pss"] / 1024
        self.model.script([{"text": "word " * 204 + "OK"}])
        self.judge(f"PSS after {last} turns against 20", measure, "MiB",
                   times=1.05)


def wait_for(p, seconds):
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        p.read(left)


FIGURES = "paint idle keys paste render turns".split()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", default="build/release/tests/bench")
    p.add_argument("--dcode", default="./dcode")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--only", choices=FIGURES)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as home:
        bench = Terminal(args, home)
        print(f"{'figure':36} {'dcode':>9} {'floor':>9}")
        try:
            for name in FIGURES:
                if args.only in (None, name):
                    getattr(bench, name)()
        finally:
            bench.model.close()
    print(f"terminal: {bench.shown - bench.over} passed, {bench.over} failed")
    return 1 if bench.over or not bench.shown else 0


if __name__ == "__main__":
    sys.exit(main())
