"""test_e2b.py - E2B sandboxes through dcode: requests, cuts, nothing left."""
# SPDX-License-Identifier: MIT
import json
import signal
import time
import urllib.request

import pytest

from clouds import DONE, fixtures, results
from e2b import KEY
from lifecycle import call, execute, wait_for

START = "POST /process.Process/Start"

e2b, task = fixtures("e2b")


def ask(cloud, method, path, body=None):
    """A request of somebody else with the same key."""
    req = urllib.request.Request(
        cloud.url + path, body and json.dumps(body).encode(),
        {"Content-Type": "application/json", "X-API-Key": KEY}, method=method)
    with urllib.request.urlopen(req) as answer:
        return json.loads(answer.read() or b"null")


def make(cloud, **body):
    made = ask(cloud, "POST", "/v2/sandboxes", {"templateID": "base", **body})
    return cloud.boxes[made["sandboxID"]]


@pytest.mark.parametrize("options", [
    {"version": "0.2.1"}, {"version": "0.3.5"}, {"version": "0.5.0"},
    {"old": True}])
def test_older_servers(e2b, model, task, options):
    cloud = e2b(**options)
    text = "0123456789abcde\n" * 65536
    server = model([
        execute("echo $((6*7)); exit 4"),
        {"tool_calls": [call("write_file", file_path="big", content=text)]},
        execute("wc -c <big"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "42" in results(server)[0] and "exit code 4" in results(server)[0]
    assert results(server)[2].split()[0] == "1048576"
    assert cloud.left() == []
    assert cloud.count("POST /sandboxes$") == ("old" in options)


def test_streams_that_are_cut(e2b, model, task):
    """As a proxy with a time limit does: each byte comes once, the command
    runs once."""
    cloud = e2b()
    cloud.fault(START, times=None, cut_after=0.7)
    server = model([execute("echo x >>ran; for i in 1 2 3 4; do echo $i; "
                            "sleep 1; done; cat ran"), DONE])
    r = task(timeout=60)
    assert r.status == 0, r.err
    assert results(server)[0].split()[:5] == ["1", "2", "3", "4", "x"]
    assert cloud.count(START) > 5
    assert cloud.left() == []


@pytest.mark.parametrize("how", [
    {"duplicate": True}, {"drop": True}, {"reset": True}, {"status": 500},
    {"status": 502}, {"status": 503}, {"status": 429, "retry_after": 1},
    {"delay": 0.5}, {"cut_after": 0.05}, {"reset_at": 250}, {"truncate": 60}])
def test_a_command_runs_once(e2b, model, task, how):
    cloud = e2b()
    cloud.fault(START, times=2, **how)
    cloud.fault("DELETE", **how)
    server = model([execute("echo x >>ran; sleep 0.3; cat ran"),
                    execute("wc -l <ran"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert results(server)[0].split()[0] == "x"
    assert results(server)[1].split()[0] == "1"
    assert cloud.left() == [] and len(cloud.past) == 1


def test_a_vendor_that_stays_down(e2b, model, task):
    """The right error within the patience, and the sandbox deleted."""
    cloud = e2b()
    cloud.fault(START, times=None, status=429)
    cloud.fault("DELETE", times=2, status=409)
    server = model([execute("true", timeout=3), DONE])
    r = task(timeout=60)
    told = r.err + "".join(results(server))
    assert "HTTP 429" in told or "timed out" in told, told
    assert cloud.left() == []


@pytest.mark.parametrize("how", [
    {"drop": True}, {"late": 0.5, "truncate": 10}, {"status": 502},
    {"status": 429, "retry_after": 1}, {"garbage": b"{"},
    {"reset_at": 30}])
def test_create_makes_one(e2b, model, task, how):
    cloud = e2b(delay=0.05)
    cloud.fault("POST /v2/sandboxes$", **how)
    model([execute("true"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert cloud.left() == [] and len(cloud.past) == 1


def test_refused_creates_leave_nothing(e2b, model, task, config, env):
    cloud = e2b(most=3600)
    model([DONE])
    config('[sandboxes.providers.e2b.params]\nlifetime = 7200\n')
    r = task()
    assert r.status != 0 and "greater than 1 hours" in r.err
    config('[sandboxes.providers.e2b.params]\ntemplate = "nope"\n')
    r = task()
    assert r.status != 0 and "'nope' not found" in r.err
    env["E2B_API_KEY"] = "e2b_ff"
    r = task()
    assert r.status != 0 and "E2B_API_KEY" in r.err
    assert cloud.left() == [] and not cloud.past


@pytest.mark.parametrize("url", ["http://example.com", "ftp://127.0.0.1",
                                 "https://u@127.0.0.1"])
@pytest.mark.parametrize("name", ["E2B_API_URL", "E2B_SANDBOX_URL",
                                  "DEEPAGENTS_CODE_E2B_API_URL"])
def test_addresses_that_get_no_key(e2b, model, task, env, name, url):
    cloud = e2b()
    env[name] = url
    model([DONE])
    r = task()
    assert r.status != 0 and name.removeprefix("DEEPAGENTS_CODE_") in r.err
    assert cloud.requests == []


def test_credentials(e2b, model, task, env):
    cloud = e2b()
    model([DONE])
    env["DEEPAGENTS_CODE_E2B_API_KEY"] = ""
    r = task()
    assert r.status != 0 and "E2B_API_KEY" in r.err and "e2b.dev" in r.err
    assert cloud.requests == []
    env.update(DEEPAGENTS_CODE_E2B_API_KEY=KEY, E2B_API_KEY="e2b_00")
    assert task().status == 0
    assert cloud.left() == []


def test_params(e2b, model, task, config):
    cloud = e2b()
    config('[sandboxes.providers.e2b.params]\n'
           'template = "code-interpreter-v1"\nlifetime = 900\n'
           'labels = ["team=a b&c"]\nenv = ["A=b=c"]\nauto_pause = true\n'
           'network = ["1.1.1.1"]\n')
    model([DONE])
    assert task().status == 0
    body = json.loads(cloud.requests[0]["body"])
    assert body.pop("metadata")["team"] == "a b&c"
    assert body == {
        "templateID": "code-interpreter-v1", "timeout": 900,
        "envVars": {"A": "b=c"}, "autoPause": True,
        "network": {"allowOut": ["1.1.1.1"], "denyOut": ["0.0.0.0/0"],
                    "allowPublicTraffic": False}}


def test_no_network(e2b, model, task):
    cloud = e2b()
    model([DONE])
    assert task("--sandbox-network", "none").status == 0
    body = json.loads(cloud.requests[0]["body"])
    assert body["allow_internet_access"] is False and body["timeout"] == 1800


@pytest.mark.parametrize("state", ["running", "paused"])
def test_attach(e2b, model, task, state):
    cloud = e2b(delay=0.1)
    kept = make(cloud)
    kept.box.shell("echo kept >there")
    if state == "paused":
        ask(cloud, "POST", f"/sandboxes/{kept.id}/pause", {})
    server = model([execute("cat there"), DONE])
    r = task("--sandbox-id", kept.id)
    assert r.status == 0, r.err
    assert "kept" in results(server)[0]
    assert cloud.left() == [kept.id] and kept.state == "running"
    assert kept.ends - time.monotonic() > 1700


def test_attach_to_nothing_and_to_another(e2b, model, task):
    cloud = e2b()
    kept = make(cloud)
    model([DONE])
    r = task("--sandbox-id", "ighost")
    assert r.status != 0 and "not found" in r.err
    cloud.fault("POST /v2/sandboxes/.*/connect",
                replace={"sandboxID": "iother"})
    r = task("--sandbox-id", kept.id)
    assert r.status != 0 and "iother" in r.err


def test_gone_under_us(e2b, model, start):
    cloud = e2b()
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "e2b")
    wait_for(lambda: cloud.count(START) > 0)
    time.sleep(0.5)
    cloud.destroy(cloud.left()[0])
    r = p.wait(40)
    assert r.status != 0 and "has ended" in r.err


def test_paused_under_us(e2b, model, start):
    """By the vendor or somebody else: it is resumed, and all goes on."""
    cloud = e2b()
    server = model([execute("echo x >>ran; sleep 2; cat ran"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "e2b")
    wait_for(lambda: cloud.count(START) > 0)
    time.sleep(0.7)
    cloud.fault(START, cut_after=0.1, times=1)
    ask(cloud, "POST", f"/sandboxes/{cloud.left()[0]}/pause", {})
    r = p.wait(60)
    assert r.status == 0, r.err
    assert results(server)[0].split()[0] == "x"
    assert cloud.count("POST /v2/sandboxes/.*/connect") == 1
    assert cloud.left() == []


def test_a_token_that_expires(e2b, model, task):
    cloud = e2b()
    cloud.fault(START, nth=2, expired=True)
    server = model([execute("echo one"), execute("echo two"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "two" in results(server)[1]


def test_life_is_extended_while_busy(e2b, model, task, config):
    """A command longer than the lifetime; then it ends by itself."""
    cloud = e2b()
    config('[sandboxes.providers.e2b.params]\nlifetime = 4\n')
    server = model([execute("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 1; "
                            "done"), DONE])
    r = task(timeout=60)
    assert r.status == 0, r.err
    assert "8" in results(server)[0]
    assert 2 <= cloud.count("POST /sandboxes/.*/timeout") <= 8
    make(cloud, timeout=1)
    wait_for(lambda: cloud.left() == [])


def test_all_pages_are_collected(e2b, model, start, run):
    cloud = e2b(page=2)
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "e2b")
    wait_for(lambda: cloud.count(START) > 0)
    p.signal(signal.SIGKILL)
    p.p.wait()
    ours = cloud.boxes[cloud.left()[0]].body["metadata"]["dcode.owner"]
    for i in range(4):
        make(cloud, metadata={"dcode.label": f"dcode-aaaaaaa{i + 2}",
                              "dcode.owner": ours})
    others = [make(cloud).id, make(cloud, metadata={
        "dcode.label": "dcode-bbbbbbbb", "dcode.owner": "another"}).id]
    r = run("sandbox", "gc")
    print(r.out, r.err)
    assert r.status == 0, r.err
    assert sorted(cloud.left()) == sorted(others)
    assert cloud.count("GET /v2/sandboxes") == 3


def test_a_create_that_comes_late(e2b, model, task):
    """The first request is performed after the second: one is left over, and
    deleted at once."""
    cloud = e2b()
    cloud.fault("POST /v2/sandboxes$", delay=0.6)
    cloud.fault("POST /v2/sandboxes$", cut_after=0.1)
    cloud.fault("GET /v2/sandboxes", nth=2, delay=1)
    model([execute("true"), DONE])
    r = task()
    assert r.status == 0, r.err
    wait_for(lambda: len(cloud.past) == 2)
    assert cloud.left() == []


def test_workdir_is_made(e2b, model, task, config):
    e2b()
    config('[sandboxes.providers.e2b.params]\nworkdir = "/srv/a b"\n')
    server = model([execute("pwd"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "/srv/a b" in results(server)[0]
