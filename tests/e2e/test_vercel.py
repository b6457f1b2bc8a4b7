"""test_vercel.py - Vercel sandboxes through dcode: requests, cuts, an end."""
# SPDX-License-Identifier: MIT
import base64
import json
import os
import signal
import time
import urllib.request

import pytest

from lifecycle import call, execute, wait_for
from clouds import results
from vercel import PROJECT, TEAM, TOKEN, Vercel

DEMO = "tests/data/demo.json"
COMMAND = "POST /v2/sandboxes/sessions/[^/]+/cmd"
CREATE = "POST /v2/sandboxes[?]"
DONE = {"text": "done"}

@pytest.fixture
def vercel(env):
    """vercel(**options): an emulated Vercel that env points to."""
    clouds = []

    def begin(**options):
        clouds.append(Vercel(**options).__enter__())
        env.update(clouds[-1].env)
        return clouds[-1]
    yield begin
    for cloud in clouds:
        assert cloud.violations == []
        cloud.__exit__()


@pytest.fixture
def task(run):
    """task(*options): a run of dcode in a Vercel sandbox."""
    def go(*options, **how):
        return run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox",
                   "vercel", *options, **how)
    return go


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


def test_demo(vercel, model, task, top):
    cloud = vercel(delay=0.3)
    server = model(json.loads((top / DEMO).read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert not server.violations
    assert cloud.left() == []
    # ls, two writes, test, grep and read, edit (2), test; the start's own
    assert cloud.count(COMMAND) <= 10
    assert cloud.count("POST /v2/sandboxes[?]") == 1
    assert cloud.count("DELETE /v2/sandboxes/") >= 1


def test_demo_v1(vercel, model, task, top, env):
    env["VERCEL_API"] = "v1"
    cloud = vercel(delay=0.3)
    model(json.loads((top / DEMO).read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert cloud.left() == []
    assert not cloud.count(".*/v[23]/")


def test_requests_per_tool(vercel, model, task):
    """One each; an edit reads and writes."""
    cloud = vercel()
    server = model([
        execute("echo hi >a; exit 3"),
        {"tool_calls": [call("write_file", file_path="b", content="one\n")]},
        {"tool_calls": [call("read_file", file_path="b")]},
        {"tool_calls": [call("ls", path=".")]},
        {"tool_calls": [call("glob", pattern="*")]},
        {"tool_calls": [call("grep", pattern="one")]},
        {"tool_calls": [call("edit_file", file_path="b", old_string="one",
                             new_string="two")]}, DONE])
    r = task()
    assert r.status == 0, r.err
    began = [q["received"] for q in server.requests]
    times = [q["began"] for q in cloud.requests]
    marks = [sum(a < t < b for t in times)
             for a, b in zip(began, began[1:])]
    assert marks[:6] == [1] * 6 and marks[6] <= 2
    assert sum(t < began[0] for t in times) <= 3
    assert "exit code 3" in results(server)[0]
    assert len({q["connection"] for q in cloud.requests}) <= 2


@pytest.mark.parametrize("command, wanted", [
    ("exit 3", "exit code 3"), ("set -e; false; echo no", "exit code 1"),
    ("exec false", "exit code 1"), ("kill -9 $$", "exit code 137"),
    ("nonsense-command", "exit code 127"), ("if", "exit code 2"),
    ("cat; read x; echo end $x", "end"), ("echo out; echo err >&2", "err"),
    ("printf 'a\\0b\\377c'", "a"),
    ("echo $FROM_PARAMS; pwd", "yes\n/vercel/sandbox")])
@pytest.mark.parametrize("api", ["v1", "v2"])
def test_commands_end(vercel, model, task, config, env, command, wanted, api):
    env["DEEPAGENTS_CODE_VERCEL_API"] = api
    vercel()
    config('[sandboxes.providers.vercel.params]\nenv = ["FROM_PARAMS=yes"]\n')
    server = model([execute(command), DONE])
    r = task(timeout=30)
    assert r.status == 0, r.err
    assert wanted in results(server)[0]


def test_timeout_keeps_output(vercel, model, task):
    cloud = vercel()
    server = model([execute("echo before; sleep 300 & sleep 300", timeout=1),
                    execute("ps ax | grep -c '[s]leep 300'"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "before" in results(server)[0]
    assert results(server)[1].strip().startswith("0")
    assert cloud.left() == []


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
    assert r.status != 0 and f"VERCEL_{name} is not set" in r.err
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
           'network_allow = ["github.com", "1.1.1.1/32"]\n'
           'network_deny = ["10.0.0.0/8"]\n')
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


def test_killed_and_collected(vercel, model, start, run):
    cloud = vercel()
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "vercel")
    wait_for(lambda: cloud.count(COMMAND) > 0)
    p.signal(signal.SIGKILL)
    p.p.wait()
    assert len(cloud.left()) == 1
    r = run("sandbox", "gc")
    assert r.status == 0, r.err
    assert cloud.left() == []


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


TORTURE = [execute("echo x >>ran; cat ran"),
           {"tool_calls": [call("write_file", file_path="b",
                                content="one\n")]},
           {"tool_calls": [call("read_file", file_path="b")]},
           execute("echo x >>ran; wc -l <ran; cat b"), DONE]
STEP = int(os.environ.get("DCODE_TORTURE_STEP", "4"))


@pytest.mark.parametrize("how", ["cut", "lost", "reset", "twice"])
def test_torture(vercel, model, task, how):
    """The n-th piece of all answers is spoiled: every command runs once."""
    cloud = vercel()
    server = model(TORTURE)
    n = 1
    while True:
        cloud.forget()
        cloud.spoil(n, how)
        r = task(timeout=90)
        assert cloud.left() == [], n
        if r.status == 0:
            told = results(server)
            assert told[3].split()[0] == "2" and "one" in told[3], (n, told)
        else:
            assert "ercel" in r.err, (n, r.err)
        if not cloud.spoiled:
            break
        n += STEP
    assert r.status == 0
