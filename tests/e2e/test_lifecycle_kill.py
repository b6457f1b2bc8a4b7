"""test_lifecycle_kill.py - SIGKILL before any system call; gc finds the rest.

Samples the moments; DCODE_TEST_LONG=1 tries every one."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import random
import subprocess
import time

import pytest

import lifecycle
from lifecycle import execute, folders, processes

LONG = bool(os.environ.get("DCODE_TEST_LONG"))
SAMPLES = {"local": 10, "docker": 7}
KILLED = 137


@pytest.fixture(scope="session")
def kill_at(tmp_path_factory):
    program = tmp_path_factory.mktemp("kill_at") / "kill_at"
    source = pathlib.Path(__file__).with_name("kill_at.c")
    subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
    return program


@pytest.fixture
def orphans():
    lifecycle.adopt_orphans()
    return set(processes())


class Killer:
    """Runs one task under kill_at, then gc; says what is left."""

    def __init__(self, kill_at, dcode, env, tmp_path, before):
        self.kill_at, self.dcode, self.env = kill_at, dcode, env
        self.work, self.count = tmp_path / "work", tmp_path / "count"
        self.before = before

    def task(self, n, *options):
        r = subprocess.run(
            [self.kill_at, str(n), self.count, self.dcode, "-n", "hi",
             "-M", "anthropic:m", *options], env=self.env, cwd=self.work,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
            check=False)
        return r.returncode, int(self.count.read_text()), r.stderr.decode()

    def gc(self):
        r = subprocess.run([self.dcode, "sandbox", "gc", "--json"],
                           env=self.env, cwd=self.work, capture_output=True,
                           timeout=60, check=False, stdin=subprocess.DEVNULL)
        assert r.returncode == 0, r.stderr + r.stdout
        return json.loads(r.stdout)["data"]["items"]

    def rows(self):
        r = subprocess.run([self.dcode, "sandbox", "list", "--json"],
                           env=self.env, cwd=self.work, capture_output=True,
                           timeout=60, check=True)
        return json.loads(r.stdout)["data"]

    def strangers(self):
        return {pid: command for pid, command in processes().items()
                if pid not in self.before}

    def nothing_left(self, home, containers):
        assert self.rows() == []
        assert folders(home) == []
        assert containers() == []
        end = time.monotonic() + 5
        while self.strangers() and time.monotonic() < end:
            time.sleep(0.02)
        assert not self.strangers()


def moments(total, samples):
    """All of them, or some: one of each stretch of the run."""
    if LONG:
        return range(1, total + 1)
    chosen = random.Random(os.environ.get("DCODE_TEST_SEED"))
    width = total / samples
    return [max(1, min(total, int(i * width + chosen.random() * width)))
            for i in range(samples)]


def test_killed_anywhere(kill_at, dcode_release, env, config, model, home,
                         tmp_path, orphans, request, box_kind):
    containers = list
    if box_kind == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\nnetwork = "none"\n')
        rig.podman("run", "-d", "--name", "stranger", rig.image, "sleep",
                   "1000")
        request.addfinalizer(
            lambda: rig.podman("rm", "-f", "-t", "0", "stranger"))
        containers = lambda: [c for c in rig.containers() if c != "stranger"]
    model([execute("echo x >f; sleep 0.05; cat f"), {"text": "done"}])
    script = tmp_path / "setup.sh"
    script.write_text("echo ready >g\n")
    options = ("--sandbox", box_kind, "--sandbox-setup", script)
    killer = Killer(kill_at, dcode_release, env, tmp_path, orphans)
    status, total, err = killer.task(0, *options)
    assert status == 0 and total > 20, err
    killer.nothing_left(home, containers)
    found = 0
    for n in moments(total, SAMPLES[box_kind]):
        status, seen, err = killer.task(n, *options)
        assert status in (0, KILLED), (n, err)
        where = f"killed before call {n} of about {total}"
        items = killer.gc()
        found += any(i["outcome"] == "removed" for i in items)
        try:
            killer.nothing_left(home, containers)
        except AssertionError as problem:
            raise AssertionError(f"{where}: {items}\n{err}") from problem
    assert found, "no kill struck while there was a sandbox"
    if box_kind == "docker":
        state = rig.podman("inspect", "-f", "{{.State.Running}}", "stranger")
        assert state.stdout.strip() == b"true"


class Keeper:
    """What is there after a kill in a run that keeps its sandbox."""

    def __init__(self, killer, there, running):
        self.killer, self.there, self.running = killer, there, running

    def check(self):
        """gc deletes nothing that is kept, and leaves nothing else."""
        self.killer.gc()
        rows = self.killer.rows()
        assert [row["label"] for row in rows] == self.there()
        for row in rows:
            assert row["kept"] and not row["owner_runs"]
            assert row["ends"] > time.time()
            assert row["state"] in ("live", "stopping", "stopped")
            assert row["state"] != "stopped" or not self.running()
        return rows

    def remove(self):
        for row in self.killer.rows():
            subprocess.run([self.killer.dcode, "sandbox", "rm", row["id"]],
                           env=self.killer.env, check=True, timeout=60,
                           capture_output=True, cwd=self.killer.work)


@pytest.fixture
def keeper(kill_at, dcode_release, env, config, model, home, tmp_path,
           orphans, request, box_kind):
    there, running = lambda: folders(home), lambda: False
    if box_kind == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\nnetwork = "none"\n')
        there = rig.containers
        running = lambda: rig.podman("ps", "-q").stdout.strip()
    model({"turns": [execute("echo x >>f"), {"text": "done"}], "repeat": True})
    killer = Killer(kill_at, dcode_release, env, tmp_path, orphans)
    return Keeper(killer, there, running)


def test_killed_anywhere_while_it_is_kept(keeper, box_kind, home):
    killer = keeper.killer
    options = ("--sandbox", box_kind, "--on-exit", "stop")
    status, total, err = killer.task(0, *options)
    assert status == 0, err
    assert [row["state"] for row in keeper.check()] == ["stopped"]
    keeper.remove()
    kept = 0
    for n in moments(total, SAMPLES[box_kind]):
        status, _, err = killer.task(n, *options)
        assert status in (0, KILLED), (n, err)
        kept += len(keeper.check())
        keeper.remove()
        killer.nothing_left(home, keeper.there)
    # The last calls come after the intent to keep it.
    for n in range(total - 2, total + 1):
        killer.task(n, *options)
        kept += len(keeper.check())
        keeper.remove()
    assert kept


def test_killed_anywhere_while_it_is_resumed(keeper, box_kind, home):
    killer = keeper.killer
    status, _, err = killer.task(0, "--sandbox", box_kind, "--on-exit", "stop")
    assert status == 0, err
    row, = keeper.check()
    status, total, err = killer.task(0, "-r", row["thread"])
    assert status == 0, err
    for n in moments(total, SAMPLES[box_kind]):
        status, _, err = killer.task(n, "-r", row["thread"])
        assert status in (0, KILLED), (n, err)
        again, = keeper.check()
        assert again["label"] == row["label"], f"killed before call {n}"
    status, _, err = killer.task(0, "-r", row["thread"], "--on-exit", "delete")
    assert status == 0, err
    killer.nothing_left(home, keeper.there)


@pytest.fixture(params=["local", "docker"])
def box_kind(request):
    return request.param
