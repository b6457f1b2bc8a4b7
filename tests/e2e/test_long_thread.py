"""test_long_thread.py - 2,000 turns through a window of 32,000 tokens."""
# SPDX-License-Identifier: MIT
import hashlib
import json
import re
import statistics
import threading
import time

import pytest

from test_compact import SUMMARY, WIRES, head, long, texts  # noqa: F401

TURNS = 2000
HALF = TURNS // 2
ASKED = 20  # turns for each fact that the model looks up again
LISTS = {5: "begin", HALF + 205: "go on"}  # turn: the task of its list
REFUSED = 9
PROMPTS = ["Do all of it \"so\": é\t1.", "Now the other half: ß\t2."]


def fact(i):
    return f"fact-{i} is {hashlib.sha256(b'%d' % i).hexdigest()[:20]}"


def todos(task):
    return {"todos": [{"content": task, "status": "in_progress"}]}


def write_file(work, i):
    """Larger and smaller ones, so that the window fills at another pace."""
    line = f"line {i} of what nobody needs, with some more words behind it\n"
    (work / f"f{i}").write_text(fact(i) + "\n" + line * (10 + i * 7 % 40))


def turn(i):
    if i in LISTS:
        return {"tool_calls": [{"name": "write_todos",
                                "args": todos(LISTS[i])}]}
    if i == REFUSED:
        return {"tool_calls": [{"name": "write_todos",
                                "args": {"todos": [{"content": "no"}]}}]}
    return {"text": f"reading {i}", "tool_calls": [
        {"name": "read_file", "args": {"file_path": f"f{i}"}}]}


def lookups():
    calls = [{"name": "read_history", "args": {"pattern": fact(i)[:-4]}}
             for i in range(20, TURNS, ASKED)]
    return [{"tool_calls": calls[i:i + 5]} for i in range(0, len(calls), 5)]


class Watch:
    """Judges each request as it comes, and forgets its body: 2,000 of them
    are more than a test should hold."""

    def __init__(self, server, prompt):
        self.server, self.prompt = server, prompt
        self.at, self.turn = len(server.requests), 0
        self.heads, self.lists, self.unpinned = set(), set(), []

    def look(self):
        records = self.server.requests
        for r in records[self.at:]:
            body = r.pop("body")
            self.at += 1
            r["near"] = self.turn
            if r["turn"] is None:  # of a summary
                continue
            r["near"] = self.turn = r["turn"]
            self.heads.add(json.dumps(head(body)))
            text = texts({"body": body})
            if self.prompt not in text:
                self.unpinned.append(r["n"])
            self.lists |= set(re.findall(r"<todos>\n(.*)\n</todos>", text))

    def keep_looking(self, over):
        while not over.wait(0.05):
            self.look()

    def run(self, process):
        over = threading.Event()
        thread = threading.Thread(target=self.keep_looking, args=(over,))
        thread.start()
        try:
            process.wait(1200)
        finally:
            over.set()
            thread.join()
        self.look()


def cpu_clock(pid):
    """The CPU time of a process, all threads, without its children: Linux's
    number for the clock of clock_getcpuclockid()."""
    return lambda: time.clock_gettime(~pid << 3 | 2)


def costs(requests, begin, end):
    """{size class: seconds of CPU of each turn}, without compactions."""
    found = {}
    for a, b in zip(requests, requests[1:]):
        if a["turn"] is None or b["turn"] is None or \
                not begin <= a["turn"] < end or b["clock"] < a["clock"]:
            continue
        found.setdefault(b["bytes"] // 6000, []).append(
            b["clock"] - a["clock"])
    return found


def ratio(requests):
    """CPU of a turn near 2,000 against one near 100, at equal fill."""
    early = costs(requests, 20, 320)
    late = costs(requests, TURNS - 300, TURNS)
    both = [(statistics.median(early[size]), statistics.median(late[size]))
            for size in early if len(early[size]) > 4
            and len(late.get(size, ())) > 4]
    assert len(both) >= 3
    print("ms a turn, early and late, by size of the request:",
          [(round(a * 1e3, 2), round(b * 1e3, 2)) for a, b in both])
    return statistics.median(b / a for a, b in both)


def with_compactions(requests, begin, end):
    """CPU of each turn, with its share of the compactions."""
    spent = sum(b["clock"] - a["clock"] for a, b in zip(requests, requests[1:])
                if begin <= a["near"] < end and b["clock"] > a["clock"])
    return spent / (end - begin)


@pytest.mark.long
@pytest.mark.parametrize("wire", WIRES)
def test_two_thousand_turns_fit_the_window_and_lose_nothing(
        long, wire, start, dcode_release, home):  # noqa: F811
    for i in range(TURNS):
        write_file(long.work, i)
    ends = [{"text": "half of it"}, {"text": "the end of it"}]
    server = long.serve([turn(i) for i in range(HALF)] + ends[:1] +
                        [turn(i) for i in range(HALF, TURNS)] + lookups() +
                        ends[1:])
    out, heads, lists = "", set(), []
    for prompt in PROMPTS:
        watch = Watch(server, prompt)
        resume = ["-r"] if out else []
        p = start("-n", prompt, "-y", "--json", *resume, "-M",
                  wire.replace("-", "_") + "x:m", program=dcode_release)
        server.model.clock = cpu_clock(p.pid)
        watch.run(p)
        assert p.status == 0, (p.out[-2000:], p.err)
        assert watch.unpinned == []
        heads |= watch.heads
        lists.append(watch.lists)
        out += p.out
    assert server.violations == []
    assert [r["tokens"] for r in server.requests if r["too_long"]] == []
    assert max(r["tokens"] for r in server.requests) > 20000
    assert len(heads) == 1
    assert [sorted(map(json.loads, found), key=str) for found in lists] == [
        [todos("begin")], [todos("begin"), todos("go on")]]
    events = [json.loads(line) for line in out.splitlines()]
    made = [e for e in events if e["type"] == "compaction" and e["over"]]
    assert len(made) > 20 and all(e["summary"] for e in made)
    results = [e["content"] for e in events if e["type"] == "tool_result"]
    looked = "\n".join(results[1 - TURNS // ASKED:])
    missing = [i for i in range(20, TURNS, ASKED) if fact(i) not in looked]
    assert missing == []
    text = next(home.glob(
        ".deepagents/.state/conversation_history/*.md")).read_text()
    shown = [i for i in range(TURNS - 200) if i not in LISTS and i != REFUSED]
    assert [i for i in shown if fact(i) not in text] == []
    assert ratio(server.requests) <= 1.3
    all_ = [with_compactions(server.requests, n, n + 400) * 1e3
            for n in (100, TURNS - 400)]
    print("ms a turn with compactions, early and late:", all_)
    assert all_[1] / all_[0] <= 1.3


@pytest.mark.parametrize("wire", WIRES)
def test_a_model_that_repeats_a_refused_call_ends_at_the_cap(long, wire):
    long.serve([{"tool_calls": [{"name": "read_file",
                                 "args": {"file_path": 7}}]}], tokens=10 ** 6)
    r = long.say(wire, "go", "--max-turns", "4", status=124)
    assert [e["is_error"] for e in r.events
            if e["type"] == "tool_result"] == [True] * 4
    assert len(long.checked()) == 4
    assert r.events[-1]["status"] == "max_turns"
