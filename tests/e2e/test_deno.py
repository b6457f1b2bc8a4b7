"""test_deno.py - Deno sandboxes through dcode: calls, cuts, nothing left."""
# SPDX-License-Identifier: MIT
import base64
import copy
import json
import os
import signal
import socketserver
import threading
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest

from clouds import (DONE, EACH_TOOL, LONG, emulated, per_tool, results,
                    task_of)
from deno import ORG, OTHER, TOKEN, Deno
from lifecycle import execute, wait_for

DEMO = "tests/data/demo.json"
CREATE = "GET /api/v3/sandboxes/create"
CONNECT = "GET /api/v3/sandbox/[^/]+/connect"
LIST = "GET /api/v2/sandboxes"


@pytest.fixture
def deno(env):
    """deno(**options): an emulated Deno that env points to."""
    yield from emulated(Deno, env)


@pytest.fixture
def task(run):
    """task(*options): a run of dcode in a Deno sandbox."""
    return task_of(run, "deno")


def runs(cloud, command):
    return any(command in c for id in cloud.left()
               for c in cloud.boxes[id].box.processes_left())


def test_demo(deno, model, task, top):
    """One socket; a round trip for each tool, two for an edit."""
    cloud = deno()
    server = model(json.loads((top / DEMO).read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert not server.violations
    assert cloud.left() == []
    assert cloud.count(CREATE) == 1 and cloud.count(CONNECT) == 0
    assert cloud.count("DELETE /api/v3/sandbox/sbx_ord_") == 1
    assert cloud.connections <= 2 and len(cloud.requests) == 2
    # the working directory; the start's own
    assert set(cloud.methods()) <= {"spawn", "processWait"}
    assert cloud.methods("spawn") <= 11


def test_calls_per_tool(deno, model, task):
    """One each; an edit reads and writes."""
    cloud = deno()
    server = model(EACH_TOOL)
    r = task()
    assert r.status == 0, r.err
    # on a slow machine the end of a command may be asked for
    calls = [c for c in cloud.calls if c["method"] != "processWait"]
    before, tools = per_tool(SimpleNamespace(requests=calls), server)
    assert before <= 2
    assert tools[:6] == [1] * 6 and tools[6] <= 2, tools
    assert "exit code 3" in results(server)[0]


@pytest.mark.parametrize("command, wanted", [
    ("exec false", "exit code 1"), ("kill -9 $$", "exit code 137"),
    ("nonsense-command", "exit code 127"), ("if", "exit code 2"),
    ("cat; read x; echo end $x; echo err >&2", "err"),
    ("printf 'a\\0b\\377c'", "a")])
def test_commands_end(deno, model, task, command, wanted):
    deno()
    server = model([execute(command), DONE])
    r = task(timeout=30)
    assert r.status == 0, r.err
    assert wanted in results(server)[0]


def test_timeout_keeps_output(deno, model, task):
    cloud = deno()
    server = model([execute("echo before; sleep 300 & sleep 300", timeout=1),
                    execute("ps ax | grep -c '[s]leep 300'"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "before" in results(server)[0]
    assert results(server)[1].strip().startswith("0")
    assert cloud.left() == []


@pytest.mark.parametrize("hangup", [False, True])
def test_a_long_command_survives_cuts(deno, model, task, hangup):
    """Every socket dies after a second, maybe with what it started; the
    command runs once."""
    cloud = deno(hangup=hangup)
    cloud.fault(f"{CREATE}|{CONNECT}", times=None, cut_after=1)
    server = model([execute("echo once >>ran; sleep 2.5; cat ran; echo end"),
                    DONE])
    r = task()
    assert r.status == 0, r.err
    assert results(server)[0].startswith("once\nend\n")
    assert cloud.count(CONNECT) >= 2
    assert cloud.left() == []


def test_a_connect_that_is_refused_once(deno, model, task):
    cloud = deno()
    cloud.fault(CREATE, cut_after=1)
    cloud.fault(CONNECT, status=503, retry_after=0)
    server = model([execute("sleep 2; echo hi"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "hi" in results(server)[0] and cloud.count(CONNECT) == 2


def test_cancel_kills(deno, model, start):
    cloud = deno()
    with Owner(cloud) as id:
        model([execute("sleep 300"), DONE])
        p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "deno",
                  "--sandbox-id", id)
        wait_for(lambda: runs(cloud, "sleep 300"))
        p.signal()
        assert p.wait().status != 0
        wait_for(lambda: not runs(cloud, "sleep 300"))
        assert cloud.left() == [id]


@pytest.mark.parametrize("how", [
    {"drop": True}, {"late": 0.1, "reset_at": 40}, {"status": 502},
    {"status": 429, "retry_after": 1}])
def test_create_makes_one(deno, model, task, how):
    """What was made and not told is found by its label."""
    cloud = deno()
    cloud.fault(CREATE, **how)
    model([execute("true"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert cloud.left() == [] and len(cloud.past) == 1
    assert cloud.count(f"{LIST}.labels%5Bdcode.label%5D=dcode-") >= 1


def test_a_create_that_is_late(deno, model, task):
    """Made twice: the second one is deleted."""
    cloud = deno()
    cloud.fault(CREATE, status=502)
    cloud.fault(CREATE, nth=2, duplicate=True)
    model([execute("true"), DONE])
    assert task().status == 0
    assert cloud.left() == [] and len(cloud.past) == 2


class Owner:
    """A sandbox made by somebody else, who is not connected any more."""

    def __init__(self, cloud, **config):
        self.cloud = cloud
        config = {"memory_mb": 1280, "volumes": [], **config}
        text = base64.b64encode(json.dumps(config).encode()).decode()
        fault = cloud.fault(CREATE, duplicate=True)
        req = urllib.request.Request(
            cloud.url + "/api/v3/sandboxes/create", None,
            {"Authorization": f"Bearer {TOKEN}",
             "x-deno-sandbox-config": text})
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(req)  # made, though it is no WebSocket
        cloud.faults.remove(fault)
        cloud.violations.clear()
        wait_for(lambda: len(cloud.left()) == 1)
        self.id = cloud.left()[0]

    def __enter__(self):
        return self.id

    def __exit__(self, *_):
        self.cloud.destroy(self.id)


def test_attach(deno, model, task):
    cloud = deno()
    with Owner(cloud) as id:
        cloud.boxes[id].box.shell("echo kept >/home/sandbox/note")
        server = model([execute("cat note"), DONE])
        r = task("--sandbox-id", id)
        assert r.status == 0, r.err
        assert "kept" in results(server)[0]
        assert cloud.left() == [id]
        assert cloud.count(CREATE) == 1  # its owner's


@pytest.mark.parametrize("id, wanted", [
    ("sbx_ord_0123456789abcdefghjk", "sandbox not found"),
    ("sbx_../../x", "not a sandbox id"),
    ("dcode-abcdefgh", "not a sandbox id")])
def test_attach_to_nothing(deno, model, task, id, wanted):
    deno()
    model([DONE])
    r = task("--sandbox-id", id)
    assert r.status != 0 and wanted in r.err


@pytest.mark.parametrize("told", ["sbx_ord_0123456789abcdefghjk", "../x"])
def test_wrong_id(deno, model, task, told):
    """Nothing is done in a sandbox that was not asked for."""
    cloud = deno(told=told)
    with Owner(cloud) as id:
        model([execute("true"), DONE])
        r = task("--sandbox-id", id)
        assert r.status != 0 and f"got {told}" in r.err
        assert cloud.calls == []
        cloud.told = id
        assert task("--sandbox-id", id).status == 0


def test_create_without_an_id(deno, model, task):
    """It is found by its label, and its socket is not used."""
    cloud = deno(told="x")
    model([execute("echo hi"), DONE])
    spawned = []

    def watch():
        wait_for(lambda: cloud.count(LIST))
        spawned.extend(cloud.calls)
        cloud.told = None
    threading.Thread(target=watch, daemon=True).start()
    assert task().status == 0
    assert spawned == [] and cloud.left() == [] and len(cloud.past) == 1


def test_gone_under_us(deno, model, task):
    cloud = deno()
    server = model([execute("echo begun; sleep 60"), DONE])

    def watch():
        wait_for(lambda: runs(cloud, "sleep 60"))
        for id in cloud.left():
            cloud.destroy(id)
    threading.Thread(target=watch, daemon=True).start()
    r = task(timeout=60)
    assert "has ended" in "".join(results(server)) + r.err
    assert cloud.left() == []


def test_params(deno, model, task, config):
    cloud = deno()
    config("""[sandboxes.providers.deno.params]
memory = 2048
env = ["FOO=bar"]
labels = ["team=x"]
network = ["github.com", "*.npmjs.org"]
volumes = ["cache=/data"]
lifetime = 600
workdir = "/home/sandbox/a b"
""")
    server = model([execute("echo $FOO; pwd"), DONE])
    r = task("--sandbox-snapshot-name", "base")
    assert r.status == 0, r.err
    sent = next(q["config"] for q in cloud.requests if "config" in q)
    owner = sent["labels"].pop("dcode.owner")
    assert owner and sent["labels"].pop("dcode.label").startswith("dcode-")
    seconds = sent.pop("stop_at_ms") / 1000 - next(iter(
        cloud.stopped.values())).created
    assert 540 < seconds < 660
    assert sent == {
        "memory_mb": 2048, "labels": {"team": "x"},
        "volumes": [{"volume": "cache", "path": "/data"}],
        "root": {"volume": "base"},
        "allow_net": ["github.com", "*.npmjs.org"]}
    assert "bar\n/home/sandbox/a b" in results(server)[0]


@pytest.mark.parametrize("network, wanted", [("none", []), ("full", None)])
def test_network(deno, model, task, network, wanted):
    cloud = deno()
    model([DONE])
    assert task("--sandbox-network", network).status == 0
    sent = next(q["config"] for q in cloud.requests if "config" in q)
    assert sent.get("allow_net") == wanted


@pytest.mark.long  # three seconds for each command
def test_streams_that_end_late(deno, model, task):
    """Only a process that is waited for is said to have ended."""
    cloud = deno(late=True)
    server = model([execute("echo hi; exit 3"), DONE])
    r = task(timeout=60)
    assert r.status == 0, r.err
    assert results(server)[0].startswith("hi\n")
    assert cloud.methods("processWait") == cloud.methods("spawn")


def test_life_is_extended(deno, model, task, config):
    """Half of it has passed when the second command begins."""
    cloud = deno()
    config("[sandboxes.providers.deno.params]\nlifetime = 6\n")
    model([execute("sleep 3.2"), execute("true"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert cloud.count("PATCH /api/v3/sandbox/") >= 1
    assert cloud.left() == []


def test_credentials(deno, env, model, task):
    cloud = deno()
    model([DONE])
    token = env.pop("DENO_DEPLOY_TOKEN")
    r = task()
    assert r.status != 0 and "Set DENO_DEPLOY_TOKEN" in r.err
    env["DENO_DEPLOY_TOKEN"] = OTHER
    r = task()
    assert r.status != 0 and "DENO_DEPLOY_ORG" in r.err
    assert cloud.requests == []
    env["DENO_DEPLOY_ORG"] = ORG
    assert task().status == 0
    env["DENO_DEPLOY_TOKEN"] = "ddo_wrong"
    r = task()
    assert r.status != 0 and "401" in r.err and "invalid or expired" in r.err
    assert "ddo_wrong" not in r.err
    env["DEEPAGENTS_CODE_DENO_DEPLOY_TOKEN"] = token
    assert task().status == 0
    assert cloud.left() == []


@pytest.mark.parametrize("name, value", [
    ("DENO_SANDBOX_ENDPOINT", "http://example.com"),
    ("DENO_DEPLOY_ENDPOINT", "ftp://127.0.0.1"),
    ("DENO_SANDBOX_BASE_DOMAIN", "example.com/x")])
def test_addresses_that_get_no_token(deno, env, model, task, name, value):
    cloud = deno()
    model([DONE])
    env[name] = value
    r = task()
    assert r.status != 0 and name in r.err
    assert cloud.requests == []


@pytest.fixture
def tunnels(env):
    """The hosts that dcode asks its proxy for; the proxy connects to none."""
    asked = []

    class Proxy(socketserver.StreamRequestHandler):
        def handle(self):
            asked.append(self.rfile.readline().decode().split()[1])
            self.wfile.write(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env["https_proxy"] = f"http://127.0.0.1:{server.server_address[1]}"
        yield asked
        server.shutdown()


@pytest.mark.parametrize("name, value", [
    ("DENO_SANDBOX_ENDPOINT", "https://gateway.example.test"),
    ("DENO_SANDBOX_BASE_DOMAIN", "gateway.example.test")])
def test_a_stored_token_does_not_go_where_an_exported_variable_says(
        deno, env, model, task, run, tunnels, name, value):
    deno()
    model([execute("true"), DONE])
    run("auth", "set", "deno", stdin=env.pop("DENO_DEPLOY_TOKEN"))
    del env["DENO_SANDBOX_ENDPOINT"]
    env[name] = value
    assert task().status == 1
    assert tunnels and all(".sandbox-api.deno.net:" in t for t in tunnels)
    tunnels.clear()
    env["DEEPAGENTS_CODE_" + name] = value  # the control
    assert task().status == 1
    assert tunnels and all("gateway.example.test:" in t for t in tunnels)


def test_copies(deno, run, tmp_path):
    """Parent directories are made; large files are streams; names may be
    anything."""
    cloud = deno()
    with Owner(cloud) as id:
        for name, size in (("small", 1000), ("large", 3_000_001)):
            data = os.urandom(size)
            (tmp_path / "work" / name).write_bytes(data)
            there = f"/home/sandbox/deep é/{name}/of/it"
            for pair in ((name, f"{id}:{there}"), (f"{id}:{there}", "back")):
                r = run("sandbox", "cp", "--sandbox", "deno", *pair)
                assert r.status == 0, r.err
            assert (tmp_path / "work" / "back").read_bytes() == data
            (tmp_path / "work" / "back").unlink()
    assert cloud.methods("writeFile") == 3 and cloud.methods("mkdir") == 2


def test_killed_and_collected(deno, model, start, run):
    """The sandbox outlives its socket, and gc finds it on the third page."""
    cloud = deno(page=1)
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "deno")
    wait_for(lambda: runs(cloud, "sleep 300"))
    p.signal(signal.SIGKILL)
    p.p.wait()
    [id] = cloud.left()
    for n in "12":
        old = copy.copy(cloud.boxes[id])
        old.id, old.state, old.created = id[:-1] + n, "stopped", 0
        cloud.stopped[old.id] = old
    r = run("sandbox", "gc")
    assert r.status == 0, r.err
    assert cloud.left() == []
    assert cloud.count(f"{LIST}.*cursor=2") == 1


@pytest.mark.parametrize("options", [{"drips": True}, {"noise": 20 << 20}])
def test_odd_messages(deno, model, task, options):
    """In many fragments; a large one that nobody asked for."""
    cloud = deno(**options)
    server = model([execute("echo hi; exit 3"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert results(server)[0].startswith("hi\n")
    assert cloud.count(CONNECT) == 0


@pytest.mark.long  # seconds, for a limit of net/ws.c
def test_a_message_that_is_too_large(deno, model, task):
    deno(noise=40 << 20)
    model([DONE])
    r = task(timeout=120)
    assert r.status != 0 and "message is too large" in r.err
