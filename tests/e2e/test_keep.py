"""test_keep.py - sandboxes that outlive their dcode: kept, stopped, started."""
# SPDX-License-Identifier: MIT
import json
import os
import signal
import sqlite3
import time

import pytest

from lifecycle import contract, execute, folders, wait_for
from terminal import Terminal
from test_providers import example

WRITES = [execute("echo kept >f"), {"text": "done"}]


@pytest.fixture(params=["local", "docker"])
def box(request, env, config):
    """The provider, configured; its containers are removed at the end."""
    if request.param == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\nnetwork = "none"\n')
        yield request.param
        for name in rig.containers():
            rig.podman("rm", "-f", "-t", "0", name)
    else:
        yield request.param


@pytest.fixture
def rows(run):
    def read(*options):
        r = run("sandbox", "list", "--json", *options)
        assert r.status == 0, r.err
        return json.loads(r.out)["data"]
    return read


@pytest.fixture
def there(box, home, request):
    """there(): the names of the sandboxes that there really are."""
    if box == "docker":
        return request.getfixturevalue("rig").containers
    return lambda: folders(home)


@pytest.fixture
def expire(home):
    """expire(): the time of what is kept is over."""
    def change():
        path = home / ".deepagents" / ".state" / "dcode.db"
        with sqlite3.connect(path) as db:
            assert db.execute("UPDATE ledger SET ends = 5 WHERE kept") \
                .rowcount
    return change


def task(run, box, *options):
    return run("-n", "hi", "-M", "anthropic:m", "--sandbox", box, *options)


def test_what_is_stopped_at_the_end_stays_with_its_files(
        run, model, box, rows, there):
    model(WRITES)
    r = task(run, box, "--on-exit", "stop")
    assert r.status == 0, r.err
    row, = rows()
    assert (row["state"], row["kept"], row["owner_runs"]) == \
        ("stopped", True, False)
    assert row["ends"] > time.time() + 6 * 86400
    assert there() == [row["label"]]
    assert "stopped, its files are kept" in r.err
    assert f"dcode -r {row['thread']}\n" in r.err
    assert f"dcode sandbox rm {row['id'][:14]}" in r.err or \
        f"dcode sandbox rm {row['id'][:12]}\n" in r.err
    assert "terminated" not in r.err
    r = run("sandbox", "exec", row["id"], "--", "cat f")
    assert (r.status, r.out) == (0, "kept\n")
    assert run("sandbox", "rm", row["name"]).status == 0
    assert there() == rows() == []


def test_without_a_flag_it_is_deleted(run, model, box, rows, there):
    model(WRITES)
    assert task(run, box).status == 0
    assert there() == rows() == []


def test_gc_leaves_what_is_kept_until_its_time_is_over(
        run, model, box, rows, there, expire):
    model(WRITES)
    assert task(run, box, "--keep").status == 0
    assert json.loads(run("sandbox", "gc", "--json").out)["data"]["items"] \
        == []
    assert there() == [rows()[0]["label"]]
    expire()
    assert not rows()[0]["kept"]
    item, = json.loads(run("sandbox", "gc", "--json").out)["data"]["items"]
    assert item["outcome"] == "removed"
    assert there() == rows() == []


def test_the_setting_counts_and_a_flag_takes_precedence(
        run, model, config, home, rows):
    config('[sandboxes]\non_exit = "stop"\nkeep_for = 600\n')
    model(WRITES * 3)
    assert task(run, "local").status == 0
    row, = rows()
    assert row["state"] == "stopped"
    assert 0 < row["ends"] - time.time() <= 600
    assert task(run, "local", "--on-exit", "delete").status == 0
    assert [r["id"] for r in rows()] == [row["id"]]
    config('[sandboxes]\non_exit = "delete"\n')
    assert task(run, "local").status == 0
    assert folders(home) == [row["label"]]


@pytest.mark.parametrize("options, word", [
    (["--sandbox", "local", "--on-exit", "sleep"], "invalid choice: 'sleep'"),
    (["--sandbox", "local", "--keep", "--on-exit", "stop"],
     "cannot be combined with --on-exit stop"),
    (["--keep"], "--keep requires a --sandbox provider"),
    (["--on-exit", "stop"], "--on-exit requires a --sandbox provider"),
    (["--sandbox", "local", "--sandbox-id", "x", "--on-exit", "stop"],
     "that sandbox always stays"),
])
def test_flags_that_make_no_sense_are_refused(run, options, word, rows):
    r = run("-n", "hi", "-M", "anthropic:m", *options)
    assert r.status == 2 and word in r.err
    assert rows() == []


@pytest.mark.parametrize("text, word", [
    ('on_exit = "sleep"', 'on_exit = "sleep": use delete, stop or keep'),
    ("keep_for = 5", "keep_for = 5: use seconds, at least 60"),
])
def test_settings_that_make_no_sense_are_refused(run, config, text, word):
    config(f"[sandboxes]\n{text}\n")
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "local")
    assert r.status == 1 and word in r.err


def test_a_vendor_that_cannot_stop_says_so_before_anything_is_made(
        run, env, config, model, rows):
    model(WRITES)
    env["MODAL_TOKEN_ID"] = env["MODAL_TOKEN_SECRET"] = "x"
    r = task(run, "modal", "--on-exit", "stop")
    assert r.status == 2
    assert "modal cannot stop a sandbox and keep its files" in r.err
    config('[sandboxes]\non_exit = "stop"\n')
    assert "modal cannot stop" in task(run, "modal").err
    assert rows() == []


def test_create_stop_start_and_delete_by_hand(run, box, rows, there):
    r = run("sandbox", "create", "--sandbox", box, "--lifetime", "900")
    assert r.status == 0, r.err
    row, = rows()
    assert r.out == row["id"] + "\n"
    assert 0 < row["ends"] - time.time() <= 900
    assert run("sandbox", "exec", row["id"], "--", "echo one >f").status == 0
    r = run("sandbox", "stop", row["name"])
    assert r.status == 0 and r.out.startswith("stopped "), r.err
    assert rows()[0]["state"] == "stopped"
    assert "until 20" in run("sandbox", "list").out
    r = run("sandbox", "stop", row["name"])
    assert r.status == 0, r.err
    r = run("sandbox", "start", row["name"])
    if box == "local":
        assert r.status == 2 and "runs only while dcode uses it" in r.err
    else:
        assert r.status == 0, r.err
        assert rows()[0]["state"] == "live" and rows()[0]["kept"]
    r = run("sandbox", "exec", row["id"], "--", "cat f")
    assert (r.status, r.out) == (0, "one\n"), r.err
    assert run("sandbox", "rm", row["id"]).status == 0
    assert there() == rows() == []
    for what in "stop", "start":
        r = run("sandbox", what, row["id"])
        assert r.status == 1 and "has been deleted" in r.err


def test_exec_in_a_stopped_one_leaves_it_stopped(
        run, env, config, rig, rows):
    env["DOCKER_HOST"] = rig.docker_host
    config("[sandboxes.providers.docker.params]\n"
           f'image = "{rig.image}"\nnetwork = "none"\n')
    id = run("sandbox", "create", "--sandbox", "docker").out.strip()
    assert run("sandbox", "stop", id).status == 0
    assert rows()[0]["state"] == "stopped"
    assert run("sandbox", "exec", id, "--", "true").status == 0
    assert (rows()[0]["state"], rows()[0]["kept"]) == ("stopped", True)
    assert run("sandbox", "rm", id).status == 0


def test_create_refuses_what_it_cannot_do(run, rows):
    r = run("sandbox", "create")
    assert r.status == 2 and "needs a provider" in r.err
    r = run("sandbox", "create", "--sandbox", "local", "--lifetime", "-1")
    assert r.status == 2 and "not a number of seconds" in r.err
    r = run("sandbox", "create", "--sandbox", "agentcore")
    assert r.status != 0
    assert rows() == []


def test_a_kept_one_attached_by_its_id_is_never_deleted(
        run, model, rows, home):
    model(WRITES * 2)
    id = run("sandbox", "create", "--sandbox", "local").out.strip()
    r = task(run, "local", "--sandbox-id", id)
    assert r.status == 0, r.err
    row, = rows()
    assert row["kept"] and folders(home) == [id]


@pytest.mark.parametrize("setting, stays", [("stop", True), ("", False)])
def test_at_signals_the_setting_holds(
        start, model, config, home, rows, setting, stays):
    config(f'[sandboxes]\non_exit = "{setting}"\n' if setting else "")
    model([execute("echo kept >f; sleep 97"), {"text": "done"}])
    r = start("-n", "hi", "-M", "anthropic:m", "--sandbox", "local")
    wait_for(lambda: [f for f in folders(home) if
                      (home / ".deepagents/sandboxes" / f / "workspace/f")
                      .exists()])
    r.signal(signal.SIGTERM)
    assert r.wait().status == 143
    assert len(folders(home)) == len(rows()) == stays
    assert [row["state"] for row in rows()] == ["stopped"] * stays


@pytest.mark.parametrize("answer, state", [
    ("s\n", "stopped"), ("k\n", "stopped"), ("\n", None), ("d\n", None)])
def test_a_chat_with_work_asks_once_at_its_end(
        dcode_release, env, model, tmp_path, home, rows, answer, state):
    model(WRITES)
    t = Terminal([dcode_release, "-M", "anthropic:m", "--sandbox", "local"],
                 env, tmp_path / "work")
    t.until("> ")
    t.type("go\n")
    t.until("done")
    t.until("> ")
    t.type("/quit\n")
    t.until("Delete it, stop it, or keep it? [D/s/k/b] ")
    t.type(answer)
    assert t.end() == 0
    assert ("Stopping" in t.seen) == (answer == "s\n")
    assert ("Keeping Local sandbox" in t.seen) == (answer == "k\n")
    assert [row["state"] for row in rows()] == ([state] if state else [])
    assert len(folders(home)) == (1 if state else 0)


@pytest.mark.parametrize("how", ["no work", "flag", "hangup"])
def test_a_chat_does_not_ask_without_need(
        dcode_release, env, model, tmp_path, rows, how):
    model([{"text": "done"}] if how == "no work" else WRITES)
    t = Terminal([dcode_release, "-M", "anthropic:m", "--sandbox", "local",
                  *(["--on-exit", "delete"] if how == "flag" else [])],
                 env, tmp_path / "work")
    t.until("> ")
    t.type("go\n")
    t.until("done")
    t.until("> ")
    if how == "hangup":
        os.kill(t.pid, signal.SIGHUP)
    else:
        t.type("/quit\n")
    t.end()
    assert "Delete it" not in t.seen
    assert rows() == []


STOPPED = {"daytona": "stopped", "e2b": "paused", "langsmith": "stopped",
           "runloop": "suspended", "vercel": "stopped"}


@pytest.mark.parametrize("name", STOPPED)
def test_vendors_stop_what_is_kept_and_start_it_for_its_thread(
        run, vendor, model, rows, name):
    cloud = vendor(name)
    model([execute("echo kept >f"), {"text": "done"},
           execute("cat f; echo more >>f"), {"text": "done"}])
    r = task(run, name, "--on-exit", "stop")
    assert r.status == 0, r.err
    row, = rows()
    assert (row["state"], row["kept"]) == ("stopped", True)
    info = json.loads(run("sandbox", "info", row["id"], "--json").out)["data"]
    assert info["state"] == "stopped"
    kept, = cloud.boxes.values()
    assert STOPPED[name] in (getattr(kept, "state", ""),
                             getattr(kept, "status", ""))
    if name == "daytona":
        assert kept.delete_after == 7 * 24 * 60
    if name == "langsmith":
        assert kept.body["delete_after_stop_seconds"] == 7 * 86400
    assert ("sets no expiry" in r.err) == (name in ("e2b", "runloop"))
    r = run("-r", row["thread"], "-n", "go on")
    assert r.status == 0 and "again..." in r.err, r.err
    assert [(a["label"], a["state"]) for a in rows()] == \
        [(row["label"], "stopped")]
    r = run("sandbox", "exec", row["id"], "--", "cat f")
    assert r.out == "kept\nmore\n", r.err
    assert rows()[0]["state"] == "stopped"
    r = run("sandbox", "rm", row["id"])
    assert r.status == 0, r.err
    assert cloud.left() == [] and rows() == []


@pytest.mark.parametrize("name, least, most", [
    ("daytona", 86000, 86400), ("e2b", 86000, 86400),
    ("runloop", 14000, 14400), ("modal", 86000, 86400)])
def test_a_running_one_is_kept_as_far_as_its_vendor_goes(
        run, vendor, model, rows, name, least, most):
    cloud = vendor(name)
    model(WRITES)
    r = task(run, name, "--keep")
    assert r.status == 0 and "kept running" in r.err, r.err
    assert ("at the latest" in r.err) == (name == "modal")
    row, = rows()
    assert (row["state"], row["kept"]) == ("live", True)
    assert least <= row["ends"] - time.time() <= most
    assert json.loads(run("sandbox", "gc", "--json").out)["data"]["items"] \
        == []
    assert run("sandbox", "rm", row["id"]).status == 0
    assert cloud.left() == []


def test_a_program_can_stop_its_sandboxes(top, home, run, config):
    example(top, home, "directories", "plain_directories.py")
    config("[sandboxes.providers.directories]\n"
           f'params.root = "{home / "boxes"}"\n')
    _, checks = contract(run, "directories", "--only", "stop and start")
    assert checks["stop and start"]["status"] == "ok"


def thread_of(r):
    return r.err.rpartition("dcode -r ")[2].split()[0]


def test_a_thread_goes_on_in_its_own_sandbox(run, model, box, rows, there):
    model([execute("echo kept >f"), {"text": "done"},
           execute("cat f; echo more >>f"), {"text": "done"},
           execute("cat f"), {"text": "done"}])
    r = task(run, box, "--on-exit", "stop")
    assert r.status == 0, r.err
    before, = rows()
    r = run("-r", before["thread"], "-n", "go on")
    assert r.status == 0, r.err
    assert "again..." in r.err and "terminated" not in r.err
    after, = rows()
    assert (after["label"], after["state"], after["kept"]) == \
        (before["label"], "stopped", True)
    assert thread_of(r) == before["thread"]
    r = run("-r", before["thread"], "-n", "end it", "--on-exit", "delete")
    assert r.status == 0 and "terminated" in r.err, r.err
    assert there() == rows() == []


def test_what_a_crash_left_goes_on_with_its_thread(
        run, start, model, box, rows, there):
    model([execute("echo kept >f; sleep 97"), execute("cat f"),
           {"text": "done"}])
    r = start("-n", "hi", "-M", "anthropic:m", "--sandbox", box)
    wait_for(there)
    time.sleep(2)
    r.kill()
    r.p.communicate()
    label, = there()
    r = run("-r", "-n", "go on")
    assert r.status == 0, r.err
    assert "Connecting to" in r.err and "gone" not in r.err
    assert there() == rows() == [], label


def test_a_thread_whose_sandbox_is_gone_is_told_and_gets_a_new_one(
        run, model, home, rows, box, there):
    model(WRITES + [execute("ls"), {"text": "done"}] * 2)
    assert task(run, box, "--on-exit", "stop").status == 0
    row, = rows()
    patches = home / ".deepagents" / ".state" / "patches"
    patches.mkdir(mode=0o700, exist_ok=True)
    (patches / f"{row['thread']}-3.patch").write_text("x")
    assert run("sandbox", "rm", row["id"]).status == 0
    r = run("-r", row["thread"], "-n", "go on")
    assert r.status == 0, r.err
    assert "The sandbox of this thread is gone: " in r.err
    assert f"{row['thread']}-3.patch" in r.err
    assert "dcode makes a new one" in r.err
    assert there() == rows() == []


def test_a_sandbox_that_its_vendor_lost_is_found_to_be_gone(
        run, model, env, config, rig, rows):
    env["DOCKER_HOST"] = rig.docker_host
    config("[sandboxes.providers.docker.params]\n"
           f'image = "{rig.image}"\nnetwork = "none"\n')
    model(WRITES + [{"text": "done"}])
    assert task(run, "docker", "--keep").status == 0
    row, = rows()
    rig.podman("rm", "-f", "-t", "0", row["label"])
    r = run("-r", row["thread"], "-n", "go on")
    assert r.status == 0 and "is gone" in r.err, r.err
    assert rows() == []
