"""test_runloop.py - Runloop devboxes through dcode: requests, cuts, no rest."""
# SPDX-License-Identifier: MIT
import json
import signal
import threading
import urllib.request

import pytest

from clouds import DONE, fixtures, results
from lifecycle import execute, wait_for
from runloop import KEY

EXECUTE = "POST /v1/devboxes/[^/]+/execute[?]"
CREATE = "POST /v1/devboxes$"
SHUTDOWN = "POST /v1/devboxes/[^/]+/shutdown"

runloop, task = fixtures("runloop")


@pytest.mark.parametrize("lines", [1 << 30, 100, 30])
def test_all_of_the_output(runloop, model, task, lines):
    """However few lines an answer may have."""
    cloud = runloop(most_lines=lines)
    server = model([execute("seq 1 9000 | sha256sum; seq 1 9000"),
                    execute("seq 1 9000 | sha256sum"), DONE])
    r = task()
    assert r.status == 0, r.err
    first, second = results(server)
    assert first.split()[0] == second.split()[0]
    assert bool(cloud.count("GET .*/stream_stdout_updates")) == (lines < 200)
    assert cloud.left() == []


def test_a_long_command_is_polled(runloop, model, task):
    """Each request is held, or cut, after a second; it runs once."""
    cloud = runloop(hold=1)
    cloud.fault(EXECUTE, nth=3, times=2, cut_after=0.5)
    server = model([execute("echo once >>ran; sleep 4; cat ran; echo end"),
                    DONE])
    r = task()
    assert r.status == 0, r.err
    assert results(server)[0].startswith("once\nend\n")
    assert cloud.left() == []


@pytest.mark.parametrize("how", [
    {"drop": True}, {"late": 0.5, "truncate": 10}, {"status": 502},
    {"status": 429, "retry_after": 1}, {"garbage": b"{"}])
def test_create_makes_one(runloop, model, task, how):
    cloud = runloop()
    cloud.fault(CREATE, **how)
    model([execute("true"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert cloud.left() == [] and len(cloud.known) == 1
    ids = {q["headers"]["x-request-id"] for q in cloud.requests
           if q["line"] == "POST /v1/devboxes"}
    assert len(ids) == 1


def test_a_failed_boot_is_shut_down(runloop, model, task):
    cloud = runloop(boot_fails=1)
    model([DONE])
    r = task()
    assert r.status != 0 and "did not boot" in r.err
    assert cloud.left() == []
    assert cloud.count(SHUTDOWN) == 1


def test_a_boot_that_hangs_is_told_and_ended(runloop, model, start):
    cloud = runloop(delay=20, hold=0.3)
    model([DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "runloop")
    wait_for(lambda: cloud.count("POST .*wait_for_status") > 3)
    p.signal(signal.SIGINT)
    p.wait()
    assert "provisioning" in p.err
    assert cloud.left() == []


def test_busy_is_waited_for(runloop, model, task):
    cloud = runloop()
    cloud.fault(".*wait_for_status", status=429, retry_after=1)
    cloud.fault(SHUTDOWN, status=409, times=2)
    model([execute("true"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert cloud.left() == [] and cloud.count(SHUTDOWN) == 3


def make(cloud, **body):
    """A devbox made by somebody else."""
    req = urllib.request.Request(
        cloud.url + "/v1/devboxes", json.dumps(body).encode(),
        {"Content-Type": "application/json", "x-request-id": "1",
         "Authorization": "Bearer " + KEY})
    with urllib.request.urlopen(req) as answer:
        kept = cloud.known[json.loads(answer.read())["id"]]
    wait_for(lambda: kept.status == "running")
    return kept


@pytest.mark.parametrize("state", ["running", "suspended", "suspending"])
def test_attach(runloop, model, task, state):
    cloud = runloop(delay=0.3)
    kept = make(cloud, name="mine")
    kept.box.shell("echo kept >/home/user/note")
    if state != "running":
        cloud.do_suspend(kept)
        wait_for(lambda: kept.status == state)
    server = model([execute("cat note"), DONE])
    r = task("--sandbox-id", kept.id)
    assert r.status == 0, r.err
    assert "kept" in results(server)[0]
    assert cloud.left() == [kept.id]


def test_attach_to_nothing(runloop, model, task):
    cloud = runloop()
    model([DONE])
    r = task("--sandbox-id", "dbx_none")
    assert r.status != 0 and "dbx_none" in r.err
    kept = make(cloud)
    cloud.end(kept, "shutdown", "api_shutdown")
    r = task("--sandbox-id", kept.id)
    assert r.status != 0 and "has ended (shutdown)" in r.err


def test_wrong_id_in_an_answer(runloop, model, task):
    cloud = runloop()
    kept, other = make(cloud), make(cloud)
    cloud.fault("GET /v1/devboxes/", times=None, replace={"id": other.id})
    model([DONE])
    r = task("--sandbox-id", kept.id)
    assert r.status != 0 and other.id in r.err
    assert cloud.count(EXECUTE) == 0


def under(cloud, deed):
    """Does that while the second command runs."""
    def go():
        wait_for(lambda: cloud.count(EXECUTE) >= 3)
        deed(next(iter(cloud.boxes.values())))
    threading.Thread(target=go, daemon=True).start()


def test_suspended_under_us(runloop, model, task):
    cloud = runloop()
    # The command that is hit ends with it; the next one works again.
    server = model([execute("echo one >f"),
                    execute("echo begun; sleep 1; echo more; sleep 9"),
                    execute("sleep 1"), execute("cat f"), DONE])
    under(cloud, cloud.do_suspend)
    r = task(timeout=60)
    assert cloud.count("POST .*/resume") >= 1
    assert r.status == 0, r.err
    assert results(server)[1].startswith("begun\n")
    assert "interrupted" in results(server)[1]
    assert "one" in results(server)[3]
    assert cloud.left() == []


def test_gone_under_us(runloop, model, task):
    cloud = runloop()
    model([execute("true"), execute("sleep 3"), execute("true"), DONE])
    under(cloud, lambda kept: cloud.end(kept, "shutdown", "idle"))
    r = task(timeout=60)
    assert "has ended" in r.err
    assert cloud.left() == []


def body_of(cloud, path="/v1/devboxes"):
    return json.loads(next(q["body"] for q in cloud.requests
                           if q["line"] == f"POST {path}"))


def test_params(runloop, model, task, config):
    cloud = runloop()
    config("""[sandboxes.providers.runloop.params]
cpu = 2
memory = 4
disk = 8
architecture = "arm64"
launch_commands = ["touch /home/user/launched"]
env = ["FOO=bar"]
secrets = ["TOKEN=my-token"]
labels = ["team=x"]
network = ["github.com", "*.example.org"]
lifetime = 600
idle = 300
on_idle = "suspend"
""")
    server = model([execute("echo $FOO; ls"), DONE])
    r = task()
    assert r.status == 0, r.err
    body = body_of(cloud)
    label = body["metadata"].pop("dcode.label")
    assert body.pop("name") == label and body["metadata"].pop("dcode.owner")
    assert body_of(cloud, "/v1/network-policies") == {
        "name": label, "allow_all": False,
        "allowed_hostnames": ["github.com", "*.example.org"]}
    assert cloud.policies == {}  # deleted with the devbox
    policy = {"id": body["launch_parameters"]["network_policy_id"]}
    assert body == {
        "metadata": {"team": "x"}, "environment_variables": {"FOO": "bar"},
        "secrets": {"TOKEN": "my-token"},
        "launch_parameters": {
            "keep_alive_time_seconds": 600,
            "lifecycle": {"after_idle": {"idle_time_seconds": 300,
                                         "on_idle": "suspend"}},
            "resource_size_request": "CUSTOM_SIZE", "custom_cpu_cores": 2,
            "custom_gb_memory": 4, "custom_disk_size": 8,
            "architecture": "arm64", "network_policy_id": policy["id"],
            "launch_commands": ["touch /home/user/launched"]}}
    assert results(server)[0].split()[:2] == ["bar", "launched"]


def test_blueprint_and_no_network(runloop, model, task):
    """Built once, with progress; then found."""
    cloud = runloop(delay=0.4)
    for built in (1, 1):
        model([DONE])
        r = task("--sandbox-snapshot-name", "my bp", "--sandbox-network",
                 "none")
        assert r.status == 0, r.err
        assert cloud.count("POST /v1/blueprints$") == built
        assert cloud.count("POST /v1/network-policies$") == 1
    assert body_of(cloud)["blueprint_name"] == "my bp"
    assert body_of(cloud, "/v1/blueprints") == {
        "name": "my bp", "dockerfile": "FROM python:3\n"}
    policy = next(iter(cloud.policies.values()))
    assert policy["egress"] == {"allow_all": False, "allowed_hostnames": [],
                                "allow_devbox_to_devbox": False}
    assert body_of(cloud)["launch_parameters"]["network_policy_id"] == \
        policy["id"]
    assert cloud.left() == []


def test_blueprint_by_id_comes_first(runloop, model, task, env):
    cloud = runloop()
    model([DONE])
    assert task("--sandbox-snapshot-name", "bp").status == 0
    env["RUNLOOP_SANDBOX_BLUEPRINT_ID"] = next(iter(cloud.blueprints))
    asked = cloud.count("GET /v1/blueprints")
    cloud.requests.clear()
    model([DONE])
    r = task("--sandbox-snapshot-name", "other")
    assert r.status == 0, r.err
    assert asked and cloud.count("GET /v1/blueprints") == 0
    assert body_of(cloud)["blueprint_id"] == env[
        "RUNLOOP_SANDBOX_BLUEPRINT_ID"]
    assert "blueprint_name" not in body_of(cloud)


def test_a_snapshot_that_fails_leaves_its_name(runloop, run):
    cloud = runloop()
    id = make(cloud).id
    save = ("sandbox", "snapshot", "--sandbox", "runloop", id, "base")
    cloud.snapshot_error = "the disk is full"
    r = run(*save)
    assert r.status != 0 and "failed: the disk is full" in r.err
    assert cloud.snapshots == {}
    cloud.snapshot_error = None
    assert run(*save).status == 0
    r = run(*save)
    assert r.status != 0 and "already exists" in r.err
    assert len(cloud.snapshots) == 1


@pytest.mark.parametrize("how, left", [(signal.SIGINT, 0),
                                       (signal.SIGKILL, 1)])
def test_a_snapshot_is_not_found_before_it_is_complete(
        runloop, run, start, how, left):
    """Ctrl-C deletes it; a killed dcode cannot."""
    cloud = runloop()
    id = make(cloud).id
    save = ("sandbox", "snapshot", "--sandbox", "runloop", id, "base")
    cloud.delay = 3600
    p = start(*save)
    wait_for(lambda: cloud.count("GET .*/disk_snapshots/[^/]+/status"))
    p.signal(how)
    assert p.wait().status != 0
    assert len(cloud.snapshots) == left
    cloud.delay = 0.05
    assert run(*save).status == 0
    assert len(cloud.snapshots) == left + 1


def test_list_in_one_request(runloop, run):
    cloud = runloop()
    for i in "23":
        make(cloud, metadata={"dcode.label": "dcode-aaaaaaa" + i,
                              "dcode.owner": "somebody"})
    cloud.end(next(iter(cloud.boxes.values())), "shutdown", "idle")
    cloud.requests.clear()
    r = run("sandbox", "list", "--sandbox", "runloop", "--all", "--json")
    assert r.status == 0, r.err
    assert len(json.loads(r.out)["data"]) == 1
    assert cloud.count("GET /v1/devboxes") == 1


def test_blueprint_that_fails(runloop, model, task):
    cloud = runloop()
    cloud.build_fails = 1
    model([DONE])
    r = task("--sandbox-snapshot-name", "bp")
    assert r.status != 0 and "blueprint 'bp' failed" in r.err
    assert cloud.left() == [] and cloud.count(CREATE) == 0


def test_a_wrong_label_is_told_before_a_blueprint_is_built(
        runloop, model, task, config):
    cloud = runloop()
    config('[sandboxes.providers.runloop.params]\nlabels = ["team"]\n')
    model([DONE])
    r = task("--sandbox-snapshot-name", "bp")
    assert r.status != 0 and "labels: each entry must be NAME=value" in r.err
    assert cloud.count("POST") == 0


def test_blueprint_made_once_after_a_cut(runloop, model, task):
    cloud = runloop()
    cloud.fault("POST /v1/blueprints$", truncate=10)
    model([DONE])
    r = task("--sandbox-snapshot-name", "bp")
    assert r.status == 0, r.err
    assert len(cloud.blueprints) == 1


def test_credentials(runloop, env, model, task):
    cloud = runloop()
    model([DONE])
    key = env.pop("RUNLOOP_API_KEY")
    r = task()
    assert r.status != 0 and "RUNLOOP_API_KEY" in r.err and "https" in r.err
    env["RUNLOOP_API_KEY"] = "wrong"
    r = task()
    assert r.status != 0 and "401" in r.err
    env["DEEPAGENTS_CODE_RUNLOOP_API_KEY"] = ""
    env["RUNLOOP_API_KEY"] = key
    assert task().status != 0
    env["DEEPAGENTS_CODE_RUNLOOP_API_KEY"] = key
    assert task().status == 0
    assert cloud.left() == []


@pytest.mark.parametrize("url", ["http://example.com", "ftp://127.0.0.1",
                                 "https://u@example.com"])
def test_addresses_that_get_no_key(runloop, env, model, task, url):
    runloop()
    model([DONE])
    env["RUNLOOP_BASE_URL"] = url
    r = task()
    assert r.status != 0 and "RUNLOOP_BASE_URL" in r.err


def test_one_ends_by_itself(runloop):
    cloud = runloop()
    kept = make(cloud, launch_parameters={"keep_alive_time_seconds": 1})
    wait_for(lambda: cloud.left() == [])
    assert kept.shutdown == "keep_alive_timeout"


def test_killed_while_creating(runloop, model, start, run):
    """It is found by its label: its id was never told."""
    cloud = runloop(page=1)
    make(cloud, metadata={"dcode.label": "dcode-aaaaaaaa",
                          "dcode.owner": "another"})
    cloud.fault(CREATE, nth=1, late=5)
    model([DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "runloop")
    wait_for(lambda: len(cloud.left()) == 2)
    p.signal(signal.SIGKILL)
    p.p.wait()
    r = run("sandbox", "gc")
    assert r.status == 0, r.err
    assert len(cloud.left()) == 1


def test_a_policy_of_a_devbox_that_is_refused_is_deleted(runloop, model, task):
    cloud = runloop()
    model([DONE])
    cloud.fault("POST /v1/devboxes$", times=None, status=400,
                body={"message": "no such size"})
    r = task("--sandbox-network", "a.example")
    assert r.status != 0 and "no such size" in r.err
    assert cloud.count("POST /v1/network-policies$") == 1
    assert cloud.policies == {}


def test_a_policy_of_a_create_that_was_cut_is_deleted_by_gc(
        runloop, model, task, run):
    cloud = runloop()
    model([DONE])
    cloud.fault("POST /v1/devboxes$", times=None, drop=True)
    r = task("--sandbox-network", "a.example", timeout=60)
    assert r.status != 0
    assert len(cloud.policies) == 1  # the row is left for gc
    r = run("sandbox", "gc")
    assert cloud.policies == {}, r.out + r.err
