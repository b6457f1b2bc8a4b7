"""test_subagents_chat.py - several subagents and one user; what each of their
own sandboxes is asked about, and gives back."""
# SPDX-License-Identifier: MIT
import re
import shutil
import signal
import time

import pytest

from test_live_chat import live  # noqa: F401
from test_subagents import (  # noqa: F401
    BOX, DONE, MODEL, agent, await_requests, call, gone, results, script,
    shell, talk, task, tree)

# pylint: disable=redefined-outer-name


def test_questions_about_a_file_and_about_a_call_take_turns(
        live, home, agent):
    agent("cheap", MODEL, project=True)
    s, server = live(script([task("job q"), task("job t", "cheap")], {
        "job q": [shell("echo x > made"), {"text": "q"}],
        "job t": [{"text": "t"}]}))
    s.type("go")
    s.keys("Enter")
    made = home.parent / "work" / "made"
    about_file = "Allow it from now on?"
    about_call = "execute wants to run"
    s.until(lambda t: about_file in t or about_call in t)
    order = [about_file, about_call]  # or, on a busy machine, the other
    if about_call in s.text():
        order.reverse()
    await_requests(server, 2)
    time.sleep(0.5)  # the other question comes meanwhile, and must not show
    assert order[1] not in s.text()
    for question in order:
        s.until(question)
        if question == about_file:
            s.until("now on? [y/N]")
            s.type("y")
            s.keys("Enter")
        else:
            s.until(lambda t: re.search(
                r"general-purpose \d: execute wants to run", t))
            s.until("y yes")
            assert not made.exists()
            s.type("y")
    s.until("all done")
    assert results(server) == ["q", "t"]
    assert made.exists()
    assert talk(server, "job t")[0]["model"] == "claude-haiku-4-5"


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_a_running_subagent_shows_its_newest_call_and_the_time(
        live, home, columns, lines):
    go = home.parent / "work" / "go"
    s, _ = live(script([task("job q")], {"job q": [
        {**shell("while [ ! -e go ]; do sleep 0.1; done"), "delay_ms": 2500},
        {"text": "q"}]}), args=["-y"], ready="yolo", columns=columns,
        lines=lines)
    s.type("go")
    s.keys("Enter")
    seen = s.until(lambda t: re.search(
        r"subagent 1: waiting for the model,\s+[12]\.\d s", t))
    assert "begins" not in seen
    s.type("/agents")
    s.keys("Enter")
    seen = s.until("Available:", scrollback=True)
    assert re.search(r"for 0:0\d: waiting for the model \(0:0\d\)",
                     " ".join(seen.split()))
    assert "0 tokens" not in seen
    s.until(lambda t: re.search(
        r"subagent 1: execute: while \[ ! -e go \];.* \(1\.\d s\), [34]\.\d s",
        " ".join(t.split())))
    go.touch()
    s.until("all done")


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_rows_of_subagents_say_answering_the_time_once_and_the_tokens(
        live, columns, lines):
    s, _ = live(script([task("job a"), task("job b")], {
        "job a": [{"text": "word " * 400, "chunk_bytes": 400,
                   "chunk_delay_ms": 100}],
        "job b": [{"text": "word " * 400, "chunk_bytes": 400,
                   "chunk_delay_ms": 100}]}), args=["-y"], ready="yolo",
        columns=columns, lines=lines)
    s.type("go")
    s.keys("Enter")
    row = r"subagent {}: answering,\s+\d\.\d\s+s,\s+\d+\s+tokens"
    first = s.until(lambda t: all(
        re.search(row.format(n), t) for n in (1, 2)))
    assert first.index("subagent 1") < first.index("subagent 2")
    tokens = int(re.search(r"subagent 1: [^:]*?(\d+)\s+tokens", first)[1])
    s.until(lambda t: any(int(n) > tokens + 20 for n in re.findall(
        r"subagent 1: [^:]*?(\d+)\s+tokens", t)))
    s.until("all done")


def test_subagents_have_the_numbers_of_the_order_of_their_calls(live):
    n = 8
    s, _ = live(script(
        [task(f"job {i}") for i in range(1, n + 1)],
        {f"job {i}": [{"text": "did it", "delay_ms": 4000}]
         for i in range(1, n + 1)}), args=["-y"], ready="yolo", lines=50)
    s.type("go")
    s.keys("Enter")
    s.until(lambda t: t.count("waiting for the model,") >= n)
    rows = re.findall(r"job (\d)\s+\S+ subagent (\d):", s.text())
    assert rows == [(str(i), str(i)) for i in range(1, n + 1)]
    s.type("/agents")
    s.keys("Enter")
    seen = s.until("Available:", scrollback=True)
    rows = re.findall(r"(\d)\s+general-purpose, [^\n]*\n\s+job (\d)", seen)
    assert rows == [(str(i), str(i)) for i in range(1, n + 1)]
    s.until("all done")


def test_a_call_in_a_sandbox_of_its_own_is_judged_by_its_files(
        live, home, tree, agent):
    agent("lone", "description: D\nsandbox: own")
    (home / ".deepagents").mkdir(exist_ok=True)
    (home / ".deepagents" / "config.toml").write_text(
        "[approvals]\nsandbox = \"ask\"\n")
    s, server = live(script([task("job own", "lone")], {"job own": [
        shell("printf 'its two\\n' > a.txt"),
        {"tool_calls": [call("edit_file", file_path="a.txt",
                             old_string="two", new_string="three")]},
        {"text": "did it"}]}), args=BOX[2:])
    s.type("go")
    s.keys("Enter")
    s.until("lone 1: execute wants to run")
    s.until("y yes")
    s.type("y")
    s.until(lambda t: "lone 1: edit_file wants to run" in t and
            "| +its three" in t and "y yes" in t)
    s.type("y")
    s.until("all done")
    assert "Merged into your files:\nM a.txt" in results(server)[0]


def test_a_file_in_place_of_a_directory_is_merged(model, run, tree):
    (tree / "d" / "e").mkdir(parents=True)
    (tree / "d" / "e" / "f").write_text("f\n")
    server = model({"turns": [
        {"tool_calls": [task("job d", own_sandbox=True)]},
        {**shell("cat d"), "expect": ["A d\nD d/e/f"]},
        {**DONE, "expect": ["now a file"]}],
        "talks": {"job d": [shell("rm -r d; echo now a file > d"),
                            {"text": "did it"}]}})
    r = run("-n", "x", *BOX)
    assert r.status == 0, r.err
    assert not server.model.violations, server.model.violations


def test_of_its_own_sandbox_it_is_told_which_jobs_have_ended(
        model, run, tree):
    begin = {"tool_calls": [call("execute", command="exit 7",
                                 background=True)]}
    server = model(script([task("job b", own_sandbox=True)], {"job b": [
        begin, shell("sleep 1"),
        {"text": "heard", "expect": ["job 1 ended with exit code 7"]}]}))
    r = run("-n", "x", *BOX)
    assert r.status == 0 and results(server) == ["heard"], r.err
    assert not server.model.violations, server.model.violations


SLOW_GIT = """#!/bin/sh
at=$(stat -c %Y "$0.slow" 2>/dev/null) &&
    [ $(($(date +%s) - at)) -lt 15 ] && sleep 600
exec {git} "$@"
"""


@pytest.mark.slow
def test_after_a_signal_all_have_one_time_to_come_back_then_patches(
        model, start, run, home, tree, env):
    shim = home / "shim"
    shim.mkdir()
    (shim / "git").write_text(SLOW_GIT.format(git=shutil.which("git")))
    (shim / "git").chmod(0o755)
    env["PATH"] = f"{shim}:{env['PATH']}"
    server = model(script(
        [task(f"job {i}", own_sandbox=True) for i in range(3)],
        {f"job {i}": [shell(f"echo {i} > f{i}"),
                      {"text": "late", "delay_ms": 60000}]
         for i in range(3)}))
    r = start("-n", "x", *BOX)
    await_requests(server, 7)
    (shim / "git.slow").touch()
    r.signal(signal.SIGTERM)
    r.wait()
    assert r.status == 143, r.err
    patches = home / ".deepagents" / ".state" / "patches"
    saved = "".join(p.read_text() for p in patches.glob("**/*.patch"))
    assert all(f"+++ b/f{i}" in saved for i in range(3)), r.err
    assert gone(run, home)
