"""test_lifecycle_signals.py - signals and a broken pipe at any moment."""
# SPDX-License-Identifier: MIT
import json
import os
import random
import signal
import subprocess
import time

import pytest

import lifecycle
from lifecycle import execute, folders, processes, wait_for
from terminal import Terminal

LONG = bool(os.environ.get("DCODE_TEST_LONG"))
TRIES = 60 if LONG else 4
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129,
          signal.SIGQUIT: 131}
TASK = ("-n", "hi", "-M", "anthropic:m", "--sandbox")
TURNS = [execute("echo x >f; sleep 0.1; cat f; seq 1000"),
         {"text": "done " * 20, "chunk_bytes": 200, "chunk_delay_ms": 5}]


@pytest.fixture(params=["local", "docker"])
def kind(request, env, config):
    if request.param == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\nnetwork = "none"\n')
    return request.param


@pytest.fixture
def nothing_left(run, kind, request, home):
    lifecycle.adopt_orphans()
    before = set(processes())

    def look(but=()):
        r = run("sandbox", "list", "--json")
        rows = json.loads(r.out)["data"]
        assert [x["label"] for x in rows if x["label"] not in but] == []
        if kind == "docker":
            names = request.getfixturevalue("rig").containers()
            assert [n for n in names if n not in but] == []
        else:
            assert [n for n in folders(home) if n not in but] == []
            wait_for(lambda: but or not set(processes()) - before, 5)
    return look


@pytest.mark.parametrize("number", list(STATUS), ids=lambda n: n.name)
def test_signal_at_any_time(start, model, kind, nothing_left, number,
                            tmp_path):
    model(TURNS)
    script = tmp_path / "s.sh"
    script.write_text("echo setup; sleep 0.1; echo ok\n")
    options = (*TASK, kind, "--sandbox-setup", script)
    began = time.monotonic()
    r = start(*options).wait()
    assert r.status == 0, r.err
    whole = time.monotonic() - began
    chosen = random.Random(os.environ.get("DCODE_TEST_SEED"))
    for i in range(TRIES):
        r = start(*options)
        at = whole * 1.1 * (i + chosen.random()) / TRIES
        time.sleep(at)
        r.signal(number)
        r.wait(20)
        unheard = r.status == -number and not r.err  # it had just begun
        assert unheard or r.status in (0, STATUS[number]), (
            at, r.status, r.err)
        try:
            nothing_left()
        except AssertionError as problem:
            raise AssertionError(f"after {at:.3f} s\n{r.err}") from problem


@pytest.mark.parametrize("how", ["text", "json"])
def test_broken_pipe(dcode, env, model, kind, nothing_left, tmp_path, how):
    model([{"text": "x" * 100_000, "chunk_bytes": 500, "chunk_delay_ms": 1}])
    p = subprocess.Popen(
        [dcode, *TASK, kind, *(["--json"] if how == "json" else [])],
        env=env, cwd=tmp_path / "work", stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    p.stdout.read(10)
    p.stdout.close()
    err = p.stderr.read().decode()
    assert p.wait(20) == 141, err
    nothing_left()


@pytest.mark.usefixtures("sandbox_first")
def test_two_signals_are_as_good_as_one(start, model, kind, nothing_left):
    server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
    r = start(*TASK, kind)
    wait_for(lambda: server.model.received)
    r.signal(signal.SIGINT)
    time.sleep(0.005)
    r.signal(signal.SIGINT)
    r.wait(15)
    assert r.status == 130, r.err
    nothing_left()


@pytest.mark.usefixtures("sandbox_first")
def test_terminal_hangs_up(start, model, kind, nothing_left):
    """SIGHUP and SIGTERM at once, as when a connection is lost."""
    server = model([execute("sleep 50")])
    r = start(*TASK, kind)
    wait_for(lambda: server.model.received)
    time.sleep(0.2)
    r.signal(signal.SIGHUP)
    r.signal(signal.SIGTERM)
    r.wait(15)
    assert r.status in (129, 143), r.err
    nothing_left()


@pytest.mark.parametrize("turns, status", [
    ([{"fault": {"status": 400, "body": "no"}}], 1),
    ([{"tool_calls": [{"name": "nosuch", "args": {}}]},
      {"fault": {"status": 401, "body": {"error": "bad key"}}}], 1),
    ([execute("true")] * 5, 124),
    ([execute("kill -9 -1; kill -9 1; sleep 1"), {"text": "x"}], None)])
def test_errors(start, model, kind, nothing_left, turns, status):
    model(turns)
    r = start(*TASK, kind, "--max-turns", "3", "--max-retries", "0").wait()
    assert status is None or r.status == status, r.err
    nothing_left()


def test_timeout_in_the_middle(start, model, kind, nothing_left):
    model([execute("echo a; sleep 60")])
    r = start(*TASK, kind, "--timeout", "2").wait(20)
    assert r.status == 124, r.err
    nothing_left()


@pytest.fixture
def other(sandbox_first, start, model, kind, run):
    """The id and label of a sandbox whose dcode lives on."""
    server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
    r = start(*TASK, kind)
    wait_for(lambda: server.model.received)
    (row,) = json.loads(run("sandbox", "list", "--json").out)["data"]
    yield row
    r.signal()
    r.wait(15)


@pytest.mark.parametrize("case", ["SIGINT", "setup", "end", "SIGTERM"])
@pytest.mark.usefixtures("sandbox_first")
def test_a_given_sandbox_is_never_deleted(other, start, run, model, kind,
                                          nothing_left, tmp_path, case):
    script = tmp_path / "s.sh"
    script.write_text("echo by setup >f\n" +
                      ("exit 4\n" if case == "setup" else ""))
    server = model([execute("cat f; sleep 20")] if case.startswith("SIG")
                   else [{"text": "done"}])
    r = start(*TASK, kind, "--sandbox-id", other["id"], "--sandbox-setup",
              script)
    if case.startswith("SIG"):
        wait_for(lambda: server.model.received)
        time.sleep(0.3)
        r.signal(getattr(signal, case))
    r.wait(20)
    wanted = {"setup": 1, "end": 0}
    assert r.status == wanted.get(case, STATUS.get(
        getattr(signal, case, None))), r.err
    look = run("sandbox", "exec", other["name"], "--", "cat f; ps | grep -c "
               "'[s]leep 20'")
    assert look.out == "by setup\n0\n", look.err
    r = run("sandbox", "gc")
    assert r.status == 0
    nothing_left(but=[other["label"]])
    assert run("sandbox", "info", other["name"]).status == 0


def test_gc_leaves_another_home_alone(other, run, env, kind, tmp_path,
                                      nothing_left):
    """The same engine, another user's ledger."""
    home = tmp_path / "home2"
    home.mkdir()
    if kind == "docker":
        (home / ".deepagents").mkdir(mode=0o700)
        (home / ".deepagents" / "config.toml").write_text(
            (tmp_path / "home/.deepagents/config.toml").read_text())
    r = run("sandbox", "gc", env={**env, "HOME": str(home)})
    assert (r.status, r.out) == (0, "Nothing to delete.\n")
    assert run("sandbox", "exec", other["name"], "--", "true").status == 0


@pytest.mark.parametrize("hung", ["command", "model"])
@pytest.mark.parametrize("where", ["none", "local"])
@pytest.mark.usefixtures("sandbox_first")
def test_prompt_is_back(dcode_release, env, tmp_path, model, where, hung):
    """Ctrl-C in the chat: within 100 ms where nothing else runs (ten times
    that here), and the command has ended."""
    lifecycle.adopt_orphans()
    server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}]
                   if hung == "model" else
                   [execute("echo be''gun; setsid sleep 778 & sleep 778"),
                    {"text": "done"}])
    t = Terminal([dcode_release, "-M", "anthropic:m", "--sandbox", where,
                  "-y"], env, tmp_path / "work")
    t.until("> ")
    t.type("go\n")
    if hung == "model":
        wait_for(lambda: server.model.received)
    else:
        t.until("begun\r\n")
    time.sleep(0.3)
    began = time.monotonic()
    t.type("\x03")
    t.until("Interrupted")
    t.until("> ")
    took = time.monotonic() - began
    print(f"{where}: prompt back after {took * 1000:.1f} ms")
    assert took < 1
    wait_for(lambda: not [c for c in processes().values() if "778" in c], 5)
    assert t.leave() == 0


@pytest.mark.usefixtures("sandbox_first")
def test_gc_after_a_death_that_nobody_asked_for(start, model, kind, run,
                                                nothing_left):
    """The killed dcode stays in the process table until its parent asks."""
    server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
    r = start(*TASK, kind)
    wait_for(lambda: server.model.received)
    os.kill(r.pid, signal.SIGKILL)
    wait_for(lambda: lifecycle.stat_of(r.pid)[0] == "Z")
    gone = run("sandbox", "gc", "--json")
    assert [i["outcome"] for i in json.loads(gone.out)["data"]["items"]] == \
        ["removed"]
    r.p.communicate()
    nothing_left()


def test_gc_beside_sessions_that_come_and_go(start, model, kind, run,
                                             nothing_left):
    """None of the living is touched, however young."""
    model([execute("echo x >f; sleep 0.1; cat f"),
           {"expect": ["x"], "text": "done"}])
    living, said = [], []
    for _ in range(24 if LONG else 6):
        living.append(start(*TASK, kind))
        r = run("sandbox", "gc")
        said.append(r.out + r.err)
    for r in living:
        r.wait()
        assert (r.status, r.out) == (0, "done\n"), r.err
        said.append(r.err)
    assert not any("removed " in text for text in said), "\n".join(said)
    nothing_left()
