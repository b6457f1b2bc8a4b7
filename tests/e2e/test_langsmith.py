"""test_langsmith.py - LangSmith sandboxes through dcode: requests, cuts."""
# SPDX-License-Identifier: MIT
import json
import signal
import threading
import urllib.request

import pytest

from clouds import DONE, fixtures, results
from langsmith import KEY
from lifecycle import execute, wait_for

EXECUTE = "(POST /sb-[^/]+/execute|GET /sb-[^/]+/execute/ws)$"
WS = "GET /sb-[^/]+/execute/ws"
BOXES = "/api/v2/sandboxes/boxes"
READY = ["deepagents-code"]

langsmith, task = fixtures("langsmith")


def test_demo_over_http(langsmith, model, task, top):
    """Where the WebSocket would be refused."""
    cloud = langsmith(websocket=False, delay=0.15)
    server = model(json.loads((top / "tests/data/demo.json").read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert not server.violations
    assert cloud.left() == []
    assert cloud.count(EXECUTE) <= 10 and cloud.count(WS) == 0
    assert cloud.count("GET /api/v2/sandboxes/snapshots") == 1


@pytest.mark.parametrize("what", [EXECUTE, WS])
def test_a_long_command_survives_cuts(langsmith, model, task, what):
    """The proxy cuts each request after a second; it runs once."""
    cloud = langsmith()
    cloud.fault(what, times=None, cut_after=1)
    server = model([execute("echo once >>ran; sleep 4; cat ran; echo end"),
                    DONE])
    r = task()
    assert r.status == 0, r.err
    assert results(server)[0].startswith("once\nend\n")
    frames = [f for q in cloud.requests for f in q.get("frames", [])]
    if what == WS:
        assert "reconnect" in [f["type"] for f in frames]
        assert len({f["command_id"] for f in frames}) == 1
    assert cloud.left() == []


def test_no_websocket_for_a_long_command(langsmith, model, task):
    cloud = langsmith(websocket=False)
    server = model([execute("echo begun; sleep 4; echo end"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert results(server)[0].startswith("begun\nend\n")
    assert cloud.count(WS) == 1


def test_a_websocket_that_is_refused_once(langsmith, model, task):
    """503, then the same again."""
    cloud = langsmith()
    cloud.fault(WS, status=503, retry_after=0,
                body={"detail": {"error": "ServiceUnavailable"}})
    server = model([execute("sleep 4; echo hi"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "hi" in results(server)[0] and cloud.count(WS) == 2


def test_cancel_kills(langsmith, model, start):
    cloud = langsmith()
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "langsmith",
              "--sandbox-id", make(cloud, name="mine").name)
    wait_for(lambda: cloud.count(WS) == 1)
    box = cloud.boxes["mine"].box
    wait_for(lambda: any("sleep 300" in c for c in box.processes_left()))
    p.signal()
    assert p.wait().status != 0
    wait_for(lambda: not any("sleep 300" in c for c in box.processes_left()))
    assert cloud.left() == ["mine"]


@pytest.mark.parametrize("how", [
    {"drop": True}, {"late": 0.5, "truncate": 10}, {"status": 502},
    {"status": 504}, {"status": 429, "retry_after": 1}, {"duplicate": True},
    {"garbage": b"{"}])
def test_create_makes_one(langsmith, model, task, how):
    cloud = langsmith(delay=0.05)
    cloud.fault(f"POST {BOXES}$", **how)
    model([execute("true"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert cloud.left() == [] and len(cloud.past) == 1


def test_a_server_that_gives_names(langsmith, model, task):
    cloud = langsmith(delay=0.05)
    cloud.nameless = True
    server = model([execute("echo here"), DONE])
    r = task()
    assert r.status == 0 and "here" in results(server)[0], r.err
    assert cloud.left() == [] and len(cloud.past) == 1


def test_snapshot_is_built(langsmith, model, task):
    """All pages are read before."""
    cloud = langsmith(ready=["deepagents-code-" + c for c in "abc"], page=2,
                      build=3)
    model([DONE])
    r = task(timeout=90)
    assert r.status == 0, r.err
    assert "snapshot deepagents-code: building" in r.err
    posts = [json.loads(q["body"]) for q in cloud.requests
             if q["line"] == "POST /api/v2/sandboxes/snapshots"]
    assert posts == [{"name": "deepagents-code", "docker_image": "python:3",
                      "fs_capacity_bytes": 17179869184}]
    assert cloud.count("GET /api/v2/sandboxes/snapshots.*offset=2") == 1
    assert cloud.left() == []


@pytest.mark.parametrize("cursors", [True, False])
def test_snapshot_on_a_later_page(langsmith, model, task, cursors):
    cloud = langsmith(ready=[c + "-deepagents-code" for c in "abc"] + READY,
                      page=2, cursors=cursors)
    model([DONE])
    assert task().status == 0
    assert cloud.count("POST /api/v2/sandboxes/snapshots") == 0


def test_snapshot_that_fails(langsmith, model, task):
    cloud = langsmith(ready=[], fails=True)
    model([DONE])
    r = task()
    assert r.status != 0 and "Failed to build snapshot" in r.err
    assert "manifest unknown" in r.err and cloud.left() == []
    r = task()
    assert r.status != 0 and "is in state 'failed'" in r.err


def test_snapshot_by_variable(langsmith, env, model, task):
    cloud = langsmith(ready=["mine"])
    model([DONE])
    env["DEEPAGENTS_CODE_LANGSMITH_SANDBOX_SNAPSHOT_NAME"] = "mine"
    assert task().status == 0
    assert cloud.count("POST /api/v2/sandboxes/snapshots") == 0
    cloud.forget()
    env["LANGSMITH_SANDBOX_SNAPSHOT_ID"] = next(iter(cloud.snapshots))
    assert task().status == 0
    assert cloud.count(".*/snapshots") == 0


def make(cloud, **body):
    """A sandbox made by somebody else."""
    body = {"wait_for_ready": True, "snapshot_name": READY[0], **body}
    req = urllib.request.Request(
        cloud.url + BOXES, json.dumps(body).encode(),
        {"Content-Type": "application/json", "X-Api-Key": KEY})
    with urllib.request.urlopen(req) as answer:
        return cloud.boxes[json.loads(answer.read())["name"]]


@pytest.mark.parametrize("state", ["ready", "stopped"])
def test_attach(langsmith, model, task, state):
    cloud = langsmith(delay=0.1)
    kept = make(cloud, name="mine")
    kept.box.shell("echo kept >/root/note")
    if state != "ready":
        cloud.do_stop(kept)
    server = model([execute("cat note"), DONE])
    r = task("--sandbox-id", kept.name)
    assert r.status == 0, r.err
    assert "kept" in results(server)[0]
    assert cloud.left() == ["mine"]
    assert cloud.count(f"POST {BOXES}/mine/start") == (state != "ready")


def test_attach_to_nothing(langsmith, model, task):
    langsmith()
    model([DONE])
    r = task("--sandbox-id", "no-such-one")
    assert r.status != 0 and "no sandbox no-such-one" in r.err


def test_wrong_id_in_an_answer(langsmith, model, task):
    cloud = langsmith()
    make(cloud, name="mine")
    cloud.fault(f"GET {BOXES}/", times=None,
                replace={"name": "other", "id": "another"})
    model([DONE])
    r = task("--sandbox-id", "mine")
    assert r.status != 0 and "other" in r.err
    assert cloud.count(EXECUTE) == 0


def test_gone_under_us(langsmith, model, task):
    cloud = langsmith()
    model([execute("sleep 60"), DONE])

    def watch():
        wait_for(lambda: cloud.count(WS))
        for id in cloud.left():
            cloud.destroy(id)
    threading.Thread(target=watch, daemon=True).start()
    r = task(timeout=60)
    assert "ended" in r.err
    assert cloud.left() == []


def test_params(langsmith, model, task, config):
    cloud = langsmith()
    config("""[sandboxes.providers.langsmith.params]
cpu = 2
memory = 8
env = ["FOO=bar"]
labels = ["team=x"]
network = ["github.com", "10.0.0.0/8"]
lifetime = 601
keep_stopped = 300
""")
    server = model([execute("echo $FOO"), DONE])
    r = task()
    assert r.status == 0, r.err
    body = json.loads(next(q["body"] for q in cloud.requests
                           if q["line"] == f"POST {BOXES}"))
    assert body["labels"].pop("dcode.label") == body.pop("name")
    assert body["labels"].pop("dcode.owner")
    assert body == {
        "wait_for_ready": True, "timeout": 180,
        "snapshot_id": next(iter(cloud.snapshots)),
        "vcpus": 2, "mem_bytes": 8 << 30, "env_vars": {"FOO": "bar"},
        "labels": {"team": "x"}, "idle_ttl_seconds": 660,
        "delete_after_stop_seconds": 300,
        "proxy_config": {"access_control": {
            "allow_list": ["github.com", "10.0.0.0/8"]}}}
    assert "bar" in results(server)[0]


def test_credentials(langsmith, env, model, task):
    cloud = langsmith()
    model([DONE])
    key = env.pop("LANGSMITH_API_KEY")
    r = task()
    assert r.status != 0 and "Set LANGSMITH_API_KEY" in r.err
    env["LANGCHAIN_API_KEY"] = "wrong"
    r = task()
    assert r.status != 0 and "401" in r.err and "Invalid token" in r.err
    env["LANGSMITH_API_KEY"] = key
    assert task().status == 0
    env["LANGSMITH_SANDBOX_API_KEY"] = "wrong"
    assert task().status != 0
    env["DEEPAGENTS_CODE_LANGSMITH_SANDBOX_API_KEY"] = ""
    assert task().status == 0
    assert cloud.left() == []


@pytest.mark.parametrize("end", ["", "/api", "/api/v1/"])
def test_self_hosted(langsmith, env, model, task, end):
    cloud = langsmith()
    model([execute("true"), DONE])
    env["LANGSMITH_ENDPOINT"] = cloud.url + end
    assert task().status == 0
    assert cloud.count("POST /api/v2/sandboxes/boxes$") == 1


@pytest.mark.parametrize("url", ["http://example.com/api", "ftp://127.0.0.1",
                                 "https://u@example.com/api"])
def test_addresses_that_get_no_key(langsmith, env, model, task, url):
    langsmith()
    model([DONE])
    env["LANGSMITH_ENDPOINT"] = url
    r = task()
    assert r.status != 0 and "LANGSMITH_ENDPOINT" in r.err


def test_a_data_plane_that_gets_no_key(langsmith, model, task):
    cloud = langsmith()
    model([DONE])
    cloud.fault("(GET|POST) /api/v2/sandboxes/boxes", times=None,
                replace={"dataplane_url": "http://example.com/sb"})
    r = task()
    assert r.status != 0 and "example.com" in r.err
    assert cloud.left() == []


def test_an_idle_one_ends_by_itself(langsmith):
    cloud = langsmith(minute=0.02)
    make(cloud, idle_ttl_seconds=600, delete_after_stop_seconds=60)
    wait_for(lambda: cloud.left() == [])


def test_gc_finds_a_renamed_sandbox_by_its_labels(langsmith, model, start,
                                                  run):
    """The labels say whose it is; those of another installation stay."""
    cloud = langsmith()
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "langsmith")
    wait_for(lambda: cloud.count(EXECUTE) > 0)
    p.signal(signal.SIGKILL)
    p.p.wait()
    name, = cloud.boxes
    kept = cloud.boxes["renamed"] = cloud.boxes.pop(name)
    kept.name = "renamed"
    make(cloud, name="foreign", labels={"dcode.owner": "somebody-else",
                                        "dcode.label": "dcode-aaaaaaaa"})
    r = run("sandbox", "gc")
    assert r.status == 0, r.err
    assert cloud.left() == ["foreign"]
    assert cloud.count("GET /api/v2/sandboxes/boxes[?].*"
                       "label=dcode.owner%3D") > 0
