"""test_daytona.py - Daytona sandboxes through dcode: life, requests, cuts."""
# SPDX-License-Identifier: MIT
import json
import os
import signal

import pytest

from clouds import DONE, EXECUTE, fixtures, results
from daytona import JWT, ORGANIZATION
from lifecycle import execute, wait_for

pytestmark = pytest.mark.usefixtures("sandbox_first")

daytona, task = fixtures("daytona")


def test_old_daemon(daytona, model, task):
    cloud = daytona(daemon="0.148.0")
    server = model([execute("echo $((6*7)); exit 4"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "42" in results(server)[0] and "exit code 4" in results(server)[0]
    assert cloud.left() == []


def test_a_long_command_is_polled(daytona, model, task):
    """The proxy cuts each request after a second; it runs once."""
    cloud = daytona()
    cloud.fault(EXECUTE["daytona"], times=None, cut_after=1)
    server = model([execute("echo once >>ran; sleep 2.5; cat ran; echo end"),
                    DONE])
    r = task()
    assert r.status == 0, r.err
    assert results(server)[0].startswith("once\nend\n")
    assert cloud.left() == []


@pytest.mark.parametrize("how", [
    {"drop": True}, {"late": 0.5, "truncate": 10}, {"status": 502},
    {"status": 429, "retry_after": 1}, {"duplicate": True},
    {"garbage": b"{"}])
def test_create_makes_one(daytona, model, task, how):
    cloud = daytona(delay=0.05)
    cloud.fault("POST /api/sandbox$", **how)
    model([execute("true"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert cloud.left() == [] and len(cloud.past) == 1


def test_a_slow_create_says_in_which_state_the_sandbox_is(daytona, model,
                                                          task):
    daytona(delay=0.5)
    model([DONE])
    r = task()
    assert r.status == 0, r.err
    assert "Daytona sandbox ready" in r.err
    assert "sandbox state: creating\n" in r.err


def test_create_that_fails_leaves_nothing(daytona, model, task):
    cloud = daytona()
    cloud.fail_start = "no runner has room"
    model([DONE])
    r = task()
    assert r.status != 0 and "no runner has room" in r.err
    assert cloud.left() == []


def test_limits_of_the_account_are_waited_for(daytona, model, task):
    cloud = daytona()
    cloud.fault("GET /api/sandbox/", status=429, retry_after=1)
    cloud.fault("DELETE /api/sandbox/", status=409, times=2)
    model([execute("true"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert cloud.left() == []


def make(cloud, **body):
    """A sandbox made by somebody else."""
    import urllib.request
    req = urllib.request.Request(
        cloud.url + "/api/sandbox", json.dumps(body).encode(),
        {"Content-Type": "application/json",
         "X-Daytona-SDK-Version": "0.218.0",
         "Authorization": "Bearer " + cloud.env["DAYTONA_API_KEY"]})
    with urllib.request.urlopen(req) as answer:
        kept = cloud.boxes[json.loads(answer.read())["id"]]
    wait_for(lambda: kept.state == "started")
    return kept


@pytest.mark.parametrize("state", ["started", "stopped", "archived"])
def test_attach(daytona, model, task, state):
    cloud = daytona(delay=0.1)
    kept = make(cloud, name="mine")
    kept.box.shell("echo kept >/home/daytona/note")
    if state != "started":
        cloud.change(kept, "stopping", "stopped")
        wait_for(lambda: kept.state == "stopped")
        kept.state = state
    server = model([execute("cat note"), DONE])
    r = task("--sandbox-id", kept.id)
    assert r.status == 0, r.err
    assert "kept" in results(server)[0]
    assert cloud.left() == [kept.id]


def test_attach_waits_for_a_change(daytona, model, task):
    """409: it is being stopped just now."""
    cloud = daytona(delay=0.8)
    kept = make(cloud)
    cloud.change(kept, "stopping", "stopped")
    server = model([execute("echo here"), DONE])
    r = task("--sandbox-id", kept.id)
    assert r.status == 0, r.err
    assert "here" in results(server)[0]


def test_attach_to_nothing(daytona, model, task):
    daytona()
    model([DONE])
    r = task("--sandbox-id", "no-such-one")
    assert r.status != 0 and "no-such-one" in r.err


def test_wrong_id_in_an_answer(daytona, model, task):
    cloud = daytona()
    kept, other = make(cloud), make(cloud)
    cloud.fault("GET /api/sandbox/", times=None, replace={"id": other.id})
    model([DONE])
    r = task("--sandbox-id", kept.id)
    assert r.status != 0 and other.id in r.err
    assert cloud.count(EXECUTE["daytona"]) == 0


def test_gone_under_us(daytona, model, task):
    cloud = daytona()
    cloud.fault(EXECUTE["daytona"], nth=3, times=None, status=400, body={
        "statusCode": 400, "message": "Is the Sandbox started?"})
    model([execute("true"), execute("true"), execute("true"), DONE])
    kept = {}

    def watch():
        kept.update(cloud.boxes)
        for id in kept:
            cloud.destroy(id)
    fault = cloud.faults[0]
    import threading
    threading.Thread(target=lambda: (wait_for(lambda: fault.struck), watch()),
                     daemon=True).start()
    r = task(timeout=30)
    assert "ended" in r.err
    assert cloud.left() == []


def test_params(daytona, model, task, config):
    cloud = daytona()
    config("""[sandboxes.providers.daytona.params]
image = "python:3.12-slim"
cpu = 2
memory = 4
disk = 5
region = "eu"
user = "root"
env = ["FOO=bar"]
labels = ["team=x"]
network = ["10.0.0.0/8", "1.1.1.1"]
lifetime = 600
auto_delete = 5
""")
    server = model([execute("echo $FOO"), DONE])
    r = task()
    assert r.status == 0, r.err
    body = json.loads(next(q["body"] for q in cloud.requests
                           if q["line"] == "POST /api/sandbox"))
    label = body["labels"].pop("dcode.label")
    assert body.pop("name") == label and body["labels"].pop("dcode.owner")
    assert body == {
        "buildInfo": {"dockerfileContent": "FROM python:3.12-slim\n"},
        "cpu": 2, "memory": 4, "disk": 5, "target": "eu", "user": "root",
        "env": {"FOO": "bar"}, "labels": {"team": "x"},
        "networkAllowList": "10.0.0.0/8,1.1.1.1/32",
        "autoStopInterval": 10, "autoDeleteInterval": 5}
    assert "bar" in results(server)[0]


def test_snapshot_and_no_network(daytona, model, task):
    cloud = daytona()
    model([DONE])
    r = task("--sandbox-snapshot-name", "daytona-small", "--sandbox-network",
             "none")
    assert r.status == 0, r.err
    body = json.loads(next(q["body"] for q in cloud.requests
                           if q["line"] == "POST /api/sandbox"))
    assert body["snapshot"] == "daytona-small" and body["networkBlockAll"]
    assert body["autoStopInterval"] == 30 and body["autoDeleteInterval"] == 0


def test_a_snapshot_is_made(daytona, model, task, run):
    cloud = daytona(delay=0.3)
    kept = make(cloud)
    kept.box.shell("echo kept >/home/daytona/note")
    r = run("sandbox", "snapshot", "--sandbox", "daytona", kept.id, "mine")
    assert r.status == 0 and "mine" in r.out, r.err
    server = model([execute("cat note"), DONE])
    r = task("--sandbox-snapshot-name", "mine")
    assert r.status == 0, r.err
    assert "kept" in results(server)[0]
    cloud.snapshots["bad"] = "error"
    r = run("sandbox", "snapshot", "--sandbox", "daytona", kept.id, "bad")
    assert r.status != 0 and "a snapshot 'bad'" in r.err
    assert cloud.left() == [kept.id]


def test_credentials(daytona, env, model, task):
    cloud = daytona()
    model([DONE])
    key = env.pop("DAYTONA_API_KEY")
    r = task()
    assert r.status != 0 and "DAYTONA_API_KEY" in r.err and "https" in r.err
    env["DAYTONA_API_KEY"] = "wrong"
    r = task()
    assert r.status != 0 and "401" in r.err
    env["DEEPAGENTS_CODE_DAYTONA_API_KEY"] = ""
    env["DAYTONA_API_KEY"] = key
    assert task().status != 0
    env["DEEPAGENTS_CODE_DAYTONA_API_KEY"] = key
    assert task().status == 0
    del env["DEEPAGENTS_CODE_DAYTONA_API_KEY"], env["DAYTONA_API_KEY"]
    env["DAYTONA_JWT_TOKEN"] = JWT
    r = task()
    assert r.status != 0 and "DAYTONA_ORGANIZATION_ID" in r.err
    env["DAYTONA_ORGANIZATION_ID"] = ORGANIZATION
    assert task().status == 0
    assert cloud.left() == []


@pytest.mark.parametrize("url", ["http://example.com/api", "ftp://127.0.0.1",
                                 "https://u@example.com/api"])
def test_addresses_that_get_no_key(daytona, env, model, task, url):
    daytona()
    model([DONE])
    env["DAYTONA_API_URL"] = url
    r = task()
    assert r.status != 0 and "DAYTONA_API_URL" in r.err


def test_a_toolbox_that_gets_no_key(daytona, model, task):
    cloud = daytona()
    model([DONE])
    cloud.fault("(GET|POST) /api/sandbox", times=None,
                replace={"toolboxProxyUrl": "http://example.com/toolbox"})
    r = task()
    assert r.status != 0 and "example.com" in r.err
    assert cloud.left() == []


def test_an_idle_one_ends_by_itself(daytona):
    cloud = daytona(minute=0.02)
    make(cloud, autoStopInterval=30, autoDeleteInterval=0)
    wait_for(lambda: cloud.left() == [])


def test_list_in_pages(daytona, run, model, start):
    """What has our owner's label is found on the last page too."""
    cloud = daytona(page=2)
    for _ in range(5):
        make(cloud)
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "daytona")
    wait_for(lambda: cloud.count(EXECUTE["daytona"]) > 1)
    p.signal(signal.SIGKILL)
    p.p.wait()
    ours = next(k for k in cloud.boxes.values() if "dcode.owner" in k.labels)
    owner = ours.labels["dcode.owner"]
    for i in "23456":
        make(cloud, labels={"dcode.label": "dcode-aaaaaaa" + i,
                            "dcode.owner": owner})
    make(cloud, labels={"dcode.label": "dcode-bbbbbbbb",
                        "dcode.owner": "another"})
    r = run("sandbox", "gc", timeout=90)
    assert r.status == 0, r.err
    assert cloud.count(r"GET /api/sandbox\?.*cursor=") >= 2
    assert len(cloud.left()) == 6


@pytest.fixture
def name(model, start, run):
    """name(): the short name of a sandbox that goes on running."""
    def begin():
        server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
        p = start("-n", "hi", "-M", "anthropic:m", "--sandbox", "daytona")
        wait_for(lambda: server.model.received)
        p.signal(signal.SIGKILL)
        p.p.wait()
        return json.loads(run("sandbox", "list", "--json").out)["data"][0][
            "name"]
    return begin


@pytest.mark.parametrize("size", [0, 1, 100_000, 3_000_000])
def test_copy(daytona, name, run, tmp_path, size):
    cloud = daytona()
    box = name()
    data = os.urandom(size)
    (tmp_path / "up").write_bytes(data)
    r = run("sandbox", "cp", tmp_path / "up", f"{box}:/tmp/new dir/ü")
    assert r.status == 0, r.err
    r = run("sandbox", "cp", f"{box}:/tmp/new dir/ü", tmp_path / "down")
    assert r.status == 0, r.err
    assert (tmp_path / "down").read_bytes() == data
    assert cloud.count("GET /toolbox/[^/]+/files/download") == 1
    # What fits into a command goes in one.
    assert cloud.count("POST /toolbox/[^/]+/files/bulk-upload") == \
        (size > 1_000_000)


def test_copy_errors(daytona, name, run, tmp_path):
    daytona()
    box = name()
    (tmp_path / "up").write_text("x")
    for path in ("/missing", "/etc/passwd/x"):
        r = run("sandbox", "cp", f"{box}:{path}", tmp_path / "down")
        assert r.status != 0 and path in r.err
        assert not (tmp_path / "down").exists()
    r = run("sandbox", "cp", tmp_path / "up", f"{box}:/usr/no/x")
    assert r.status != 0 and "/usr/no/x" in r.err


def test_copy_after_a_cut(daytona, name, run, tmp_path):
    """The rest is asked for; a daemon that knows no ranges sends all."""
    cloud = daytona()
    box = name()
    data = os.urandom(700_000)
    (tmp_path / "up").write_bytes(data)
    cloud.fault(".*bulk-upload", drop=True)
    r = run("sandbox", "cp", tmp_path / "up", f"{box}:/tmp/f")
    assert r.status == 0, r.err
    cloud.fault(".*/files/download", truncate=400_000)
    r = run("sandbox", "cp", f"{box}:/tmp/f", tmp_path / "down")
    assert r.status == 0, r.err
    assert (tmp_path / "down").read_bytes() == data
