"""test_setup_cache.py - [sandboxes] cache_setup: a setup script runs once."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import threading

import pytest

from apply_room import git
from clouds import results
from lifecycle import execute, wait_for

ON = "[sandboxes]\ncache_setup = true\n"
SAVES = {"e2b": "POST /sandboxes/[^/]+/snapshots",
         "daytona": "POST /api/sandbox/[^/]+/snapshot",
         "langsmith": "POST .*/boxes/[^/]+/snapshot",
         "modal": ".*TaskSnapshotFilesystem",
         "runloop": "POST /v1/devboxes/[^/]+/snapshot_disk_async"}
KEPT = {"e2b": lambda c: list(c.snapshots),
        "daytona": lambda c: list(c.roots),
        "langsmith": lambda c: [s for s in c.snapshots.values()
                                if s["name"].startswith("dcode-setup-")],
        "modal": lambda c: list(c.published),
        "runloop": lambda c: list(c.snapshots)}


class Cache:
    """Makes sandboxes with one setup script; says what the script left."""

    def __init__(self, run, kind, home, tmp_path):
        self.run, self.kind, self.home = run, kind, home
        self.script = tmp_path / "setup.sh"
        self.write("")

    def write(self, more):
        self.script.write_text(
            "echo \"$(cat /proc/sys/kernel/random/uuid)\" >~/mark\n"
            f"mkdir -p ~/sub && cd ~/sub\n{more}\n")

    def make(self):
        """Returns the mark of the script's run, and what dcode said."""
        r = self.run("sandbox", "create", "--sandbox", self.kind, "--setup",
                     self.script)
        assert r.status == 0, r.err
        id = r.out.strip()
        seen = self.run("sandbox", "exec", id, "--", "cat ~/mark; pwd")
        gone = self.run("sandbox", "rm", "--force", id)
        assert (seen.status, gone.status) == (0, 0), seen.err + gone.err
        assert seen.out.endswith("/sub\n")
        return seen.out.split("\n")[0], r.err

    def rows(self):
        with sqlite3.connect(self.database()) as db:
            return db.execute("SELECT name, state, id FROM setup_snapshot"
                              ).fetchall()

    def change(self, sql):
        with sqlite3.connect(self.database()) as db:
            db.execute(sql)

    def database(self):
        return next(pathlib.Path(self.home, ".deepagents").rglob("*.db"))

    def gc(self, *options):
        r = self.run("sandbox", "gc", "--json", *options)
        assert r.status == 0, r.out + r.err
        return json.loads(r.out)["data"]["items"]


def images(rig):
    listed = rig.podman("images", "--format", "{{.Repository}}:{{.Tag}}")
    return [line for line in listed.stdout.decode().split()
            if "dcode-snapshot" in line]


@pytest.fixture(params=["local", "docker"])
def box_kind(request):
    return request.param


@pytest.fixture
def cache(run, env, config, home, tmp_path, box_kind, request):
    text = ON
    if box_kind == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        text += ("[sandboxes.providers.docker.params]\n"
                 f'image = "{rig.image}"\nnetwork = "none"\n')
    config(text)
    one = Cache(run, box_kind, home, tmp_path)
    if box_kind == "docker":
        one.kept = lambda: images(rig)
    else:
        one.kept = lambda: [p.name for p in (
            home / ".deepagents" / "snapshots").glob("*")]
    yield one
    one.gc("--setup")
    assert one.rows() == [] and one.kept() == []


@pytest.fixture
def clouded(run, config, home, tmp_path, vendor):
    """clouded(name): a Cache at an emulated vendor, and the emulator."""
    def begin(name, **options):
        config(ON)
        cloud = vendor(name, **options)
        return Cache(run, name, home, tmp_path), cloud
    return begin


def test_the_second_sandbox_starts_without_running_the_script(cache):
    first, said = cache.make()
    assert "Running setup script" in said and "Snapshot saved with every" \
        in said
    second, said = cache.make()
    assert second == first
    assert "Running setup script" not in said
    assert "does not run again" in said
    assert len(cache.rows()) == len(cache.kept()) == 1


def test_without_the_setting_nothing_is_saved(cache, config, home):
    config((home / ".deepagents" / "config.toml").read_text().replace(
        ON, ""))
    first, said = cache.make()
    assert "napshot" not in said
    assert cache.make()[0] != first
    assert cache.rows() == [] and cache.kept() == []


def test_another_script_or_another_setting_has_another_snapshot(
        cache, config, home):
    first, _ = cache.make()
    cache.write("true")
    second, _ = cache.make()
    assert second != first
    path = home / ".deepagents" / "config.toml"
    text = path.read_text()
    table = f"[sandboxes.providers.{cache.kind}.params]"
    if table not in text:
        text += table + "\n"
    config(text.replace(table, table + '\nenv = ["TZ=UTC"]'))
    third, _ = cache.make()
    assert third not in (first, second)
    assert cache.make()[0] == third
    names = [name for name, _, _ in cache.rows()]
    assert len(names) == 3
    assert all(len(n) == 44 and n.startswith("dcode-setup-") for n in names)


def test_a_script_that_receives_values_is_never_cached(cache, env):
    env["MY_TOKEN"] = "s3cr3t/Val+ue==~0123456789"
    cache.write("echo ${MY_TOKEN} >~/.netrc")
    first, said = cache.make()
    assert "receives MY_TOKEN" in said
    assert cache.make()[0] != first
    assert cache.rows() == [] and cache.kept() == []


@pytest.mark.parametrize("entry, cached", [
    ("DATABASE_URL=postgres://me:pw@db/x", False), ("LC_ALL=C", True)])
def test_variables_of_the_params_are_values(cache, config, home, entry,
                                            cached):
    text = (home / ".deepagents" / "config.toml").read_text()
    table = f"[sandboxes.providers.{cache.kind}.params]"
    if table not in text:
        text += table + "\n"
    config(text.replace(table, f'{table}\nenv = ["{entry}"]'))
    first, said = cache.make()
    assert ("receives DATABASE_URL, which" in said) is not cached
    assert (cache.make()[0] == first) is cached
    assert len(cache.rows()) == len(cache.kept()) == cached


def replace_snapshot(cache, rig):
    """Somebody else's snapshot gets the name of dcode's."""
    name, _, _ = cache.rows()[0]
    if cache.kind == "docker":
        rig.podman("tag", rig.image,
                   f"docker.io/library/dcode-snapshot:{name}")
        return
    top = cache.home / ".deepagents" / "snapshots"
    (top / name).rename(top / "real")
    subprocess.run(["cp", "-a", top / "real", top / name], check=True)
    (top / name / "home" / "mark").write_text("evil\n")
    subprocess.run(["rm", "-rf", top / "real"], check=True)


def remove_foreign(cache, rig, name):
    if cache.kind == "docker":
        rig.podman("rmi", f"dcode-snapshot:{name}")
    else:
        subprocess.run(["rm", "-rf", cache.home / ".deepagents" /
                        "snapshots" / name], check=True)


def test_a_replaced_snapshot_is_neither_used_nor_deleted(cache, request):
    rig = request.getfixturevalue("rig") if cache.kind == "docker" else None
    first, _ = cache.make()
    name, _, _ = cache.rows()[0]
    replace_snapshot(cache, rig)
    second, said = cache.make()
    assert second not in (first, "evil")
    assert "was replaced" in said and "did not make" in said
    assert cache.rows() == [] and len(cache.kept()) == 1
    cache.gc("--setup")
    assert len(cache.kept()) == 1
    remove_foreign(cache, rig, name)


def test_a_snapshot_that_is_not_in_the_ledger_is_not_used(cache, request):
    rig = request.getfixturevalue("rig") if cache.kind == "docker" else None
    first, _ = cache.make()
    name, _, _ = cache.rows()[0]
    cache.change("DELETE FROM setup_snapshot")
    second, said = cache.make()
    assert second != first and "did not make" in said
    assert cache.rows() == []
    remove_foreign(cache, rig, name)


def test_a_snapshot_that_is_gone_is_made_again(cache, request):
    rig = request.getfixturevalue("rig") if cache.kind == "docker" else None
    first, _ = cache.make()
    remove_foreign(cache, rig, cache.rows()[0][0])
    second, _ = cache.make()
    assert second != first
    assert cache.make()[0] == second


def test_a_snapshot_is_used_for_seven_days(cache):
    first, _ = cache.make()
    cache.change("UPDATE setup_snapshot SET created=created-604700")
    assert cache.gc() == []
    assert cache.make()[0] == first
    cache.change("UPDATE setup_snapshot SET created=created-200")
    assert [i["outcome"] for i in cache.gc("--dry-run")] == ["would remove"]
    second, _ = cache.make()
    assert second != first and len(cache.kept()) == 1
    cache.change("UPDATE setup_snapshot SET created=created-604900")
    assert [i["outcome"] for i in cache.gc()] == ["removed"]
    assert cache.rows() == [] and cache.kept() == []


def test_five_snapshots_stay_those_used_last(cache):
    marks = []
    for i in range(6):
        cache.write(f"true {i}")
        marks.append(cache.make()[0])
        cache.change("UPDATE setup_snapshot SET used=used-10")
        if i == 4:  # the oldest becomes the newest
            cache.write("true 0")
            assert cache.make()[0] == marks[0]
    assert len(cache.rows()) == len(cache.kept()) == 5
    cache.write("true 0")
    assert cache.make()[0] == marks[0]
    cache.write("true 1")
    assert cache.make()[0] != marks[1]


@pytest.fixture
def repository(tmp_path):
    work = tmp_path / "work"
    git(work, "init", "-q")
    (work / "private.txt").write_text("mine\n")
    git(work, "add", ".")
    git(work, "commit", "-qm", "x")
    return work


def test_the_users_files_are_not_in_the_snapshot(
        cache, run, model, repository):
    cache.write("ls -a /workspace . >~/seen; cd /workspace")
    options = ("-M", "anthropic:m", "--sandbox", cache.kind,
               "--sandbox-setup", cache.script, "--workspace", "repo")
    told = []
    for _ in range(2):
        server = model([execute("cat ~/mark ~/seen; cat private.txt"),
                        {"text": "done"}])
        r = run("-n", "hi", *options)
        assert r.status == 0, r.err
        told.append(results(server)[0])
        (repository / "private.txt").write_text("newer\n")
    assert told[0].split("\n")[0] == told[1].split("\n")[0]
    assert "mine" in told[0] and "newer" in told[1]
    assert "private.txt" not in told[0] + told[1]


def test_two_starts_at_once_make_one_snapshot(cache, start):
    cache.write("sleep 1")
    both = [start("sandbox", "create", "--sandbox", cache.kind, "--setup",
                  cache.script) for _ in range(2)]
    for one in both:
        assert one.wait().status == 0, one.err
        cache.run("sandbox", "rm", "--force", one.out.strip())
    assert len(cache.rows()) == len(cache.kept()) == 1
    assert sum("Snapshot saved" in one.err for one in both) == 1
    assert "does not run again" in cache.make()[1]


@pytest.mark.parametrize("name", SAVES)
def test_each_vendor_starts_from_the_snapshot(clouded, name):
    cache, cloud = clouded(name)
    first, said = cache.make()
    assert "Snapshot saved" in said, said
    assert cloud.count(SAVES[name]) == 1
    cloud.forget()
    second, said = cache.make()
    assert second == first and "does not run again" in said
    assert cloud.count(SAVES[name]) == 0
    assert len(KEPT[name](cloud)) == 1
    assert [i["outcome"] for i in cache.gc("--setup")] == ["removed"]
    assert KEPT[name](cloud) == []
    third, _ = cache.make()
    assert third != first


@pytest.mark.parametrize("name", ["e2b", "daytona", "langsmith", "runloop"])
def test_a_vendor_that_cannot_save_is_only_said(clouded, name):
    cache, cloud = clouded(name)
    cloud.fault(SAVES[name], times=None, status=400)
    first, said = cache.make()
    assert "The snapshot was not saved" in said
    assert cache.rows() == [] and KEPT[name](cloud) == []
    assert cache.make()[0] != first


def test_the_snapshot_comes_before_a_blueprint_by_id(clouded, run, model,
                                                     env):
    cache, cloud = clouded("runloop")
    model([{"text": "done"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "runloop",
            "--sandbox-snapshot-name", "bp")
    assert r.status == 0, r.err
    env["RUNLOOP_SANDBOX_BLUEPRINT_ID"] = next(iter(cloud.blueprints))
    first, _ = cache.make()
    second, said = cache.make()
    assert second == first and "does not run again" in said
    made = [json.loads(q["body"]) for q in cloud.requests
            if q["line"] == "POST /v1/devboxes"][-2:]
    assert ["blueprint_id" in body for body in made] == [True, False]
    assert made[1]["snapshot_id"] in cloud.snapshots


@pytest.mark.parametrize("name", ["vercel", "deno"])
def test_a_vendor_without_snapshots_is_named(clouded, name):
    cache, _ = clouded(name)
    first, said = cache.make()
    assert "cannot make and delete snapshots" in said
    assert cache.make()[0] != first


def test_a_snapshot_that_vanishes_before_the_create(clouded):
    """It was there when dcode looked, and is gone when it is needed."""
    cache, cloud = clouded("e2b")
    first, _ = cache.make()
    cloud.fault("POST /v2/sandboxes$", delay=1)
    cloud.fault("GET /snapshots", nth=1, delay=0)
    begun = threading.Thread(target=vanish, args=(cloud,))
    begun.start()
    second, said = cache.make()
    begun.join()
    assert second != first and "Running setup script" in said
    assert "Snapshot saved" in said and cloud.left() == []


def vanish(cloud):
    """Deletes the snapshots once the vendor is asked to create."""
    seen = cloud.count("POST /v2/sandboxes$")
    wait_for(lambda: cloud.count("POST /v2/sandboxes$") > seen)
    cloud.snapshots.clear()


def killed(cache, start, cloud, **how):
    """Kills dcode when the vendor was asked for a snapshot."""
    cloud.fault(SAVES["e2b"], **how)
    r = start("sandbox", "create", "--sandbox", "e2b", "--setup",
              cache.script)
    wait_for(lambda: cloud.count(SAVES["e2b"]))
    if "late" in how:
        wait_for(lambda: KEPT["e2b"](cloud))
    os.kill(r.pid, signal.SIGKILL)
    r.p.communicate()
    assert [state for _, state, _ in cache.rows()] == [2]
    cloud.forget()


def test_killed_after_the_snapshot_was_made(clouded, start):
    """gc finds it, and so does the next start."""
    cache, cloud = clouded("e2b")
    killed(cache, start, cloud, late=60)
    assert {i["outcome"] for i in cache.gc()} == {"removed"}
    assert cache.rows() == [] and KEPT["e2b"](cloud) == []
    killed(cache, start, cloud, late=60)
    lost = KEPT["e2b"](cloud)
    assert "Snapshot saved" in cache.make()[1]
    assert len(KEPT["e2b"](cloud)) == 1 and KEPT["e2b"](cloud) != lost
    cache.gc("--setup")
    assert cache.rows() == [] and KEPT["e2b"](cloud) == []
    assert cloud.left() == []


def test_killed_before_the_vendor_makes_the_snapshot(clouded, start, run):
    """What appears after gc has looked is not forgotten."""
    cache, cloud = clouded("e2b")
    killed(cache, start, cloud, late=60)
    made, cloud.snapshots = cloud.snapshots, {}
    r = run("sandbox", "gc", "--json", "--sandbox", "e2b")
    items = json.loads(r.out)["data"]["items"]
    assert r.status == 1
    assert any("in the making" in i["reason"] for i in items)
    assert "in the making" in cache.make()[1]
    cloud.snapshots = made
    assert {i["outcome"] for i in cache.gc()} == {"removed"}
    assert cache.rows() == [] and KEPT["e2b"](cloud) == []


def test_killed_before_the_vendor_was_asked_leaves_foreign_ones(
        clouded, start):
    """A row whose snapshot was never requested names nothing of dcode's."""
    cache, cloud = clouded("e2b")
    cache.make()
    cache.change("UPDATE setup_snapshot SET state=1, id='', pid=0")
    cache.gc()
    assert cache.rows() == [] and len(KEPT["e2b"](cloud)) == 1
