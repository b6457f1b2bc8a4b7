"""test_vercel.py - Vercel sandboxes through dcode: requests, cuts, an end."""
# SPDX-License-Identifier: MIT
import base64
import json
import time
import urllib.request

import pytest

from clouds import DONE, commands_end, fixtures, results
from lifecycle import execute, wait_for
from vercel import PROJECT, TEAM, TOKEN

COMMAND = "POST /v2/sandboxes/sessions/[^/]+/cmd"
CREATE = "POST /v2/sandboxes[?]"

vercel, task = fixtures("vercel")


def test_commands_end_v1(vercel, model, task, env):
    env["DEEPAGENTS_CODE_VERCEL_API"] = "v1"
    vercel()
    commands_end(model, task)


def ask(cloud, method, path, body=None, project="projectId"):
    """A request of somebody else with the same token."""
    url = f"{cloud.url}{path}?teamId={TEAM}" + \
        (f"&{project}={PROJECT}" if project else "")
    req = urllib.request.Request(
        url, body and json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization":
         f"Bearer {TOKEN}"}, method=method)
    with urllib.request.urlopen(req) as answer:
        return json.loads(answer.read() or b"null")


def make(cloud, **body):
    made = ask(cloud, "POST", "/v2/sandboxes", {
        "projectId": PROJECT, "runtime": "node24", "persistent": False,
        **body}, project=None)
    wait_for(lambda: cloud.boxes[made["sandbox"]["name"]].status == "running")
    return cloud.boxes[made["sandbox"]["name"]]


def test_demo_v1(vercel, model, task, top, env):
    env["VERCEL_API"] = "v1"
    cloud = vercel(delay=0.3)
    model(json.loads((top / "tests/data/demo.json").read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert cloud.left() == []
    assert not cloud.count(".*/v[23]/")


@pytest.mark.parametrize("api", ["v1", "v2"])
def test_streams_that_are_cut(vercel, model, task, env, api):
    """As a proxy with a time limit does: each byte comes once, the command
    runs once."""
    env["VERCEL_API"] = api
    cloud = vercel()
    cloud.fault("(GET|POST) .*/(cmd|logs)[?]", times=None, cut_after=0.7)
    server = model([execute("echo x >>ran; for i in 1 2 3 4; do echo $i; "
                            "sleep 1; done; cat ran"), DONE])
    r = task(timeout=60)
    assert r.status == 0, r.err
    assert results(server)[0].split()[:5] == ["1", "2", "3", "4", "x"]
    assert cloud.count("POST .*/cmd") > 5
    assert cloud.left() == []


@pytest.mark.parametrize("how", [
    {"drop": True}, {"late": 0.5, "truncate": 10}, {"status": 502},
    {"status": 429, "retry_after": 1}, {"garbage": b"{"},
    {"reset_at": 30}, {"duplicate": True}, {"replace": {"name": "other"}}])
def test_create_makes_one(vercel, model, task, how):
    cloud = vercel(delay=0.05)
    cloud.fault(CREATE, **how)
    model([execute("true"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert cloud.left() == [] and len(cloud.past) == 1


def test_a_server_that_gives_names(vercel, model, task):
    cloud = vercel(delay=0.05)
    cloud.nameless = True
    server = model([execute("echo here"), DONE])
    r = task()
    assert r.status == 0 and "here" in results(server)[0], r.err
    assert cloud.left() == [] and len(cloud.past) == 1


def test_refused_creates_leave_nothing(vercel, model, task, config, env):
    cloud = vercel(most=3600000)
    model([DONE])
    config('[sandboxes.providers.vercel.params]\nlifetime = 7200\n')
    r = task()
    assert r.status != 0 and "your plan's limit" in r.err
    config('[sandboxes.providers.vercel.params]\nvcpus = 3\n')
    r = task()
    assert r.status != 0 and "even" in r.err
    r = task("--sandbox-snapshot-name", "snap_ghost")
    assert r.status != 0
    config("")
    env["VERCEL_TOKEN"] = "wrong"
    r = task()
    assert r.status != 0 and "vercel.com/account/tokens" in r.err
    assert cloud.left() == [] and not cloud.past


@pytest.mark.parametrize("url", ["http://example.com", "ftp://127.0.0.1",
                                 "https://u@127.0.0.1"])
@pytest.mark.parametrize("name", ["VERCEL_API_URL",
                                  "DEEPAGENTS_CODE_VERCEL_API_URL"])
def test_addresses_that_get_no_token(vercel, model, task, env, name, url):
    cloud = vercel()
    env[name] = url
    model([DONE])
    r = task()
    assert r.status != 0 and "VERCEL_API_URL" in r.err
    assert cloud.requests == []


@pytest.mark.parametrize("name", ["TOKEN", "PROJECT_ID", "TEAM_ID"])
def test_missing_credentials(vercel, model, task, env, name):
    cloud = vercel()
    env["DEEPAGENTS_CODE_VERCEL_" + name] = ""
    model([DONE])
    r = task()
    assert r.status != 0 and f"not set: VERCEL_{name}\n" in r.err
    assert "vercel.com" in r.err and cloud.requests == []
    del env["DEEPAGENTS_CODE_VERCEL_" + name]
    assert task().status == 0


def jwt(**claims):
    def part(value):
        text = base64.urlsafe_b64encode(json.dumps(value).encode())
        return text.decode().rstrip("=")
    return f"{part({'alg': 'RS256'})}.{part(claims)}.c2lnbmF0dXJl"


def test_oidc(vercel, model, task, env):
    cloud = vercel()
    model([DONE])
    later = int(time.time()) + 3600
    token = jwt(project_id=PROJECT, owner_id=TEAM, exp=later)
    cloud.tokens = {token}
    env["VERCEL_OIDC_TOKEN"] = token  # goes over VERCEL_TOKEN
    r = task()
    assert r.status == 0, r.err
    for name in ("TOKEN", "PROJECT_ID", "TEAM_ID"):
        del env["VERCEL_" + name]
    assert task().status == 0
    env["VERCEL_OIDC_TOKEN"] = jwt(project_id=PROJECT, owner_id=TEAM, exp=9)
    r = task()
    assert r.status != 0 and "expired" in r.err and "env pull" in r.err
    for bad in (jwt(exp=later), "a.b", "x.%%.y"):
        env["VERCEL_OIDC_TOKEN"] = bad
        r = task()
        assert r.status != 0 and "VERCEL_PROJECT_ID" in r.err
    cloud.tokens = {TOKEN}
    env.update({"DEEPAGENTS_CODE_VERCEL_TOKEN": TOKEN, "VERCEL_TEAM_ID": TEAM,
                "VERCEL_PROJECT_ID": PROJECT})  # asked for: goes over OIDC
    assert task().status == 0
    assert cloud.left() == []


def test_params(vercel, model, task, config):
    cloud = vercel()
    config('[sandboxes.providers.vercel.params]\nlifetime = 900\n'
           'image = "vercel/sandbox/ubuntu"\nvcpus = 4\nregion = "sfo1"\n'
           'labels = ["team=a b&c"]\nenv = ["A=b=c"]\n'
           'network = ["github.com", "1.1.1.1/32", "!10.0.0.0/8"]\n')
    model([DONE])
    assert task().status == 0
    first = next(q for q in cloud.requests if q["method"] == "POST")
    body = json.loads(first["body"])
    assert first["path"] == "/v3/sandboxes"
    assert body.pop("tags")["team"] == "a b&c"
    assert body.pop("name").startswith("dcode-")
    assert body == {
        "projectId": PROJECT, "ports": [], "timeout": 900000,
        "image": "vercel/sandbox/ubuntu", "persistent": False,
        "region": "sfo1", "resources": {"vcpus": 4}, "env": {"A": "b=c"},
        "networkPolicy": {"allow": ["github.com"], "subnets": {
            "allow": ["1.1.1.1/32"], "deny": ["10.0.0.0/8"]}}}


@pytest.mark.parametrize("api", ["v1", "v2"])
def test_network(vercel, model, task, env, api):
    cloud = vercel()
    env["VERCEL_API"] = api
    model([DONE])
    for word, mode in (("none", "deny-all"), ("full", "allow-all")):
        cloud.forget()
        assert task("--sandbox-network", word).status == 0
        body = json.loads(cloud.requests[0]["body"])
        assert body["networkPolicy"] == {"mode": mode}
        assert body["timeout"] == 1800000


@pytest.mark.parametrize("by", ["name", "session"])
@pytest.mark.parametrize("state", ["running", "stopped"])
def test_attach(vercel, model, task, state, by):
    cloud = vercel(delay=0.1)
    kept = make(cloud, persistent=True, timeout=60000)
    kept.box.shell("echo kept >there")
    if state == "stopped":
        ask(cloud, "POST", f"/v2/sandboxes/sessions/{kept.session}/stop",
            project=None)
        wait_for(lambda: kept.status == "stopped")
    server = model([execute("cat there"), DONE])
    r = task("--sandbox-id", getattr(kept, by))
    assert r.status == 0, r.err
    assert "kept" in results(server)[0]
    kept = cloud.boxes[kept.name]
    assert kept.status == "running"
    assert kept.ends - time.monotonic() > 1700


def test_attach_to_nothing_and_to_another(vercel, model, task):
    cloud = vercel()
    kept = make(cloud)
    model([DONE])
    for ghost in ("ghost", "sbx_ghost"):
        r = task("--sandbox-id", ghost)
        assert r.status != 0 and "ghost" in r.err
    cloud.fault("GET /v2/sandboxes/", replace={"name": "another"})
    r = task("--sandbox-id", kept.name)
    assert r.status != 0 and "another" in r.err


def test_gone_under_us(vercel, model, start):
    cloud = vercel()
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "vercel")
    wait_for(lambda: cloud.count(COMMAND) > 0)
    time.sleep(0.5)
    cloud.begin_stop(next(iter(cloud.boxes.values())))
    r = p.wait(40)
    assert r.status != 0 and "has ended" in r.err
    assert cloud.left() == []


def test_life_is_extended_while_busy(vercel, model, task, config):
    """A command longer than the lifetime; then it ends by itself."""
    cloud = vercel()
    config('[sandboxes.providers.vercel.params]\nlifetime = 4\n')
    server = model([execute("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 1; "
                            "done"), DONE])
    r = task(timeout=60)
    assert r.status == 0, r.err
    assert "8" in results(server)[0]
    assert 2 <= cloud.count("POST .*/extend-timeout") <= 8
    kept = make(cloud, timeout=1000)
    wait_for(lambda: kept.status == "stopped")


def test_list_in_pages(vercel, run):
    cloud = vercel(page=2)
    for i in range(5):
        name = f"dcode-aaaaaaa{i + 2}"
        make(cloud, name=name, tags={"dcode.label": name,
                                     "dcode.owner": "another"})
    make(cloud)
    r = run("sandbox", "list", "--sandbox", "vercel", "--all", "--json")
    if r.status == 0:
        assert cloud.count("GET /v2/sandboxes[?]") == 3
