"""test_subagents_apart_soak.py - twenty subagents at once, each in a sandbox of
its own at a vendor's, some of them failing, and dcode stopped or killed at a
random moment: no sandbox is left, and no more is billed than the cap allows. 60
runs of each vendor in make soak."""
# SPDX-License-Identifier: MIT
import json
import random
import signal
import time

import pytest

from test_money import USD
from test_subagents import (  # noqa: F401 (a fixture)
    DONE, HOW, results, shell, task, tree)

pytestmark = pytest.mark.long
RUNS, AT_ONCE = 60, 20  # runs of each vendor
ENOUGH, LITTLE = 20, 1  # US dollars for a run
STOPS = [None, signal.SIGTERM, signal.SIGKILL]
BAD = {
    "failing": ([shell("echo kept > kept"), {
        "text": "x", "fault": {"status": 400, "times": 9}}], "did not finish"),
    "short": ([shell("echo x >> log")] * 9, "its 2 turns"),
    "silent": ([{"text": "x", "fault": {"cut_after_bytes": 20, "times": 1}}],
               ""),
}


def orders_of(dice):
    """The order and the fate of each, a third of them bad."""
    return [(f"job {i:02}", dice.choice(sorted(BAD)) if dice.random() < 1 / 3
             else "well") for i in range(AT_ONCE)]


def script(orders, seed):
    talks = {order: BAD[fate][0] if fate in BAD else [
        shell(f"echo did > '{order}'"), {"text": "did it"}]
        for order, fate in orders}
    return {"turns": [{"tool_calls": [
        task(order, fate if fate == "short" else "general-purpose",
             own_sandbox=True) for order, fate in orders]}, DONE],
        "talks": talks, "bill": seed}


def check_all_came(run, told, orders, work):
    assert run.status == 0, run.err
    assert "the cap" not in run.err, run.err
    for (order, fate), said in zip(orders, told, strict=True):
        if fate in BAD:
            assert BAD[fate][1] in said, (order, fate, said)
        else:
            assert said.startswith("did it") and order in said, (order, said)
    assert (work / "a.txt").exists()


@pytest.mark.parametrize("seed", range(RUNS))
@pytest.mark.parametrize("name", ["e2b", "daytona"])
def test_no_sandbox_is_left_of_twenty_however_it_ends(
        vendor, model, start, run, home, tree, name, seed):  # noqa: F811
    dice = random.Random(seed)
    orders = orders_of(dice)
    path = home / ".deepagents" / "agent" / "agents" / "short" / "AGENTS.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\ndescription: D\nmax_turns: 2\n---\n")
    cloud, server = vendor(name), model(script(orders, seed))
    how = STOPS[seed % len(STOPS)]
    cap = dice.choice([ENOUGH, LITTLE]) if how else ENOUGH
    r = start("-n", "x", *HOW, "-y", "--sandbox", name, "--workspace", "repo",
              "--max-usd", str(cap))
    if how:
        made = dice.randrange(1, len(orders) + 2)
        end = time.monotonic() + 60
        while len(cloud.boxes) < made and r.p.poll() is None and \
                time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(dice.uniform(0, 1))
        r.signal(how)
    r.wait(240)
    if how == signal.SIGKILL:
        assert run("sandbox", "gc", timeout=120).status == 0
    elif not how:
        check_all_came(r, results(server), orders, tree)
    billed = server.model.invoice.dollars(USD)
    assert billed <= cap and (billed > 0 or how), (billed, cap)
    assert cloud.left() == [], (r.status, r.err)
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []
