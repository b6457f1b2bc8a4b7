"""test_subagents_soak.py - twenty subagents at once, a third of them ending
badly at random: parents go on. 200 runs in make soak, else two."""
# SPDX-License-Identifier: MIT
import json
import pathlib
import random
import re
import tempfile
import time

import pytest

from lifecycle import folders
from screens import Screen
from test_money import USD
from test_subagents import DONE, call, results, task

RUNS, USUAL = 200, 2
AT_ONCE, CAP, POOR = 20, 5, 0.2
WORK = call("execute", command="echo did >> log; sleep 0.1")

# what becomes of one, what its model does, and what its caller is told
ENDS = {
    "well": ([{"tool_calls": [WORK]}, {"text": "did it"}], "^did it$"),
    "failing": ([{"text": "x", "fault": {"status": 400, "times": 9}}],
                "did not finish: anthropic: HTTP 400"),
    "cut": ([{"text": "long " * 90, "fault": {
        "cut_after_bytes": 200, "times": 1}}], "^long long"),
    "short": ([{"text": "so far", "tool_calls": [WORK]}] * 9,
              "its 2 turns .*so far"),
    "poor": ([{"tool_calls": [WORK]}] * 60, "spent .* of its"),
    "stopped": ([{"tool_calls": [WORK]},
                 {"text": "late", "delay_ms": 600000}], "the user ended it"),
}
BAD = [name for name in ENDS if name != "well"]


def orders_of(seed):
    """The order and the fate of each, a third of them bad."""
    dice = random.Random(seed)
    return [(f"job {i:02}", dice.choice(BAD) if dice.random() < 1 / 3
             else "well") for i in range(AT_ONCE)]


def write_agents(home):
    for name, limit in (("short", "max_turns: 2"), ("poor",
                                                   f"max_usd: {POOR}")):
        path = home / ".deepagents" / "agent" / "agents" / name / "AGENTS.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\ndescription: D\n{limit}\n---\n")


def script(seed, orders):
    kinds = {"short": "short", "poor": "poor"}
    return {"turns": [{"tool_calls": [
        task(order, kinds.get(fate, "general-purpose"))
        for order, fate in orders]}, DONE],
        "talks": {order: ENDS[fate][0] for order, fate in orders},
        "bill": seed}


def cancel(screen, order):
    """/agents says its number; /agents cancel ends it alone."""
    screen.type("/agents")
    screen.keys("Enter")
    row = re.compile(r"^ *(\d+) +\S+, for [^\n]*\n +" + order, re.M)
    seen = screen.until(lambda t: row.search(t.replace("\u2502", " ")),
                        scrollback=True)
    number = row.search(seen).group(1)
    screen.type(f"/agents cancel {number}")
    screen.keys("Enter")
    screen.until(f"Stopping subagent {number}", scrollback=True)


@pytest.mark.parametrize("seed", [
    pytest.param(seed, marks=pytest.mark.long) if seed >= USUAL else seed
    for seed in range(RUNS)])
def test_parents_go_on_whatever_becomes_of_twenty(dcode, env, home, model,
                                                  run, seed):
    orders = orders_of(seed)
    write_agents(home)
    server = model(script(seed, orders))
    place = pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-"))
    screen = Screen(place, [dcode, "-M", "anthropic:claude-opus-5",
                            "--sandbox", "local", "--on-exit", "delete",
                            "--max-usd", CAP], env,
                    home.parent / "work", columns=150, lines=120)
    try:
        cap = play(screen, server, orders)
    finally:
        screen.close()
    told = results(server)
    for (order, fate), said in zip(orders, told, strict=True):
        assert re.search(ENDS[fate][1], said, re.S), (seed, order, fate, said)
    assert not server.model.violations, server.model.violations
    billed = server.model.invoice.dollars(USD)
    assert 0 < billed <= cap, (seed, billed)
    for order, fate in orders:
        if fate == "poor":
            assert server.model.invoice.dollars(USD, order) <= POOR
    assert folders(home) == []
    listed = run("sandbox", "list", "--json")
    assert json.loads(listed.out)["data"] == [], listed.out


def play(screen, server, orders):
    screen.until("tools in")
    screen.type("go")
    screen.keys("Enter")
    stopped = [order for order, fate in orders if fate == "stopped"]
    end = time.monotonic() + 60
    while not all(waits(server, order) for order in stopped):
        assert time.monotonic() < end, screen.text()
        time.sleep(0.05)
    for order in stopped:
        cancel(screen, order)
    seen = screen.until(lambda t: "all done" in t or "raise the cap to" in t,
                        scrollback=True, seconds=90)
    asked = "all done" not in seen
    if asked:  # those who ended well have spent nearly all of it
        screen.keys("Down", "Enter")
        screen.until("all done", scrollback=True)
    screen.type("/quit")
    screen.keys("Enter")
    assert screen.status() == 0
    return 2 * CAP if asked else CAP


def waits(server, order):
    """It has asked its second question, which is answered too late."""
    return sum(bool(r) and order in json.dumps(r["body"]["messages"][0])
               for r in list(server.requests)) == 2
