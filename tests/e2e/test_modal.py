"""test_modal.py - Modal sandboxes through dcode: calls, cuts, nothing left."""
# SPDX-License-Identifier: MIT
import json
import os
import signal
import subprocess
import time

import pytest

import clouds
from clouds import DONE, results
from late_door import LateDoor
from lifecycle import call, execute, wait_for
from modal import ID, SECRET, Modal
from modal_messages import pb

CONTROL = "POST /modal.client.ModalClient/"
ROUTER = "POST /modal.task_command_router.TaskCommandRouter/"
START = ROUTER + "TaskExecStart"
READ = ROUTER + "TaskExecStdioRead"
CREATE = CONTROL + "SandboxCreate"


@pytest.fixture
def modal(env):
    yield from clouds.emulated(Modal, env)


@pytest.fixture
def task(run):
    return clouds.task_of(run, "modal")


def created(cloud):
    """What the sandboxes were asked to be, in order."""
    return [k.ask for k in [*cloud.ended.values(), *cloud.boxes.values()]]


def put(cloud, name="", tags=(), seconds=600, v2=False):
    """A sandbox of somebody else with the same token."""
    image = cloud.new_id("im-")
    cloud.images[image] = {"lines": [], "status": 1, "own": True}
    cloud.apps.setdefault(("", "deepagents-sandbox"), "ap-1234567")
    ask = pb.SandboxCreateRequest(
        app_id=cloud.apps[("", "deepagents-sandbox")],
        tags=[pb.SandboxTag(tag_name=a, tag_value=b) for a, b in tags])
    d = ask.definition
    d.image_id, d.timeout_secs = image, seconds
    if not v2:
        d.workdir = "/workspace"
    d.network_access.network_access_type = 1
    if name:
        d.name = name
    return cloud.make(ask, v2)


def test_demo(modal, model, task, top):
    cloud = modal(delay=0.2)
    server = model(json.loads((top / "tests/data/demo.json").read_text()))
    r = task()
    assert r.status == 0, r.err
    assert "all six checks" in r.out
    assert not server.violations
    assert cloud.left() == []
    assert cloud.count(START) <= 11 and cloud.count(CREATE) == 1
    assert cloud.count(CONTROL + "SandboxTerminate") == 1


@pytest.mark.usefixtures("sandbox_first")
def test_calls_per_tool(modal, model, task):
    """Two each: start, and read to the end. An edit reads and writes."""
    cloud = modal()
    server = model(clouds.EACH_TOOL)
    r = task()
    assert r.status == 0, r.err
    before, each = clouds.per_tool(cloud, server)
    assert each[:6] == [2] * 6 and each[6] <= 4
    # app, environment, image, its build, create, task, router; a command
    assert before <= 11, cloud.lines()
    assert "exit code 3" in results(server)[0]


def test_connections_are_kept(modal, model, task, env, tmp_path):
    """Over TLS: one to the control plane and one to the router, which are at
    the same address here; without it each call has its own (libcurl 7)."""
    pem, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=x",
         "-addext", "subjectAltName=IP:127.0.0.1", "-batch", "-keyout", key,
         "-out", pem], check=True, stderr=subprocess.DEVNULL)
    cloud = modal(tls=(pem, key))
    env["SSL_CERT_FILE"] = str(pem)
    server = model(clouds.EACH_TOOL)
    r = task()
    assert r.status == 0, r.err
    assert "exit code 3" in results(server)[0]
    assert len(cloud.requests) > 20 and cloud.connections <= 3
    assert cloud.left() == []


@pytest.mark.parametrize("command, wanted", [
    ("exit 3", "exit code 3"), ("kill -9 $$", "exit code 137"),
    ("nonsense-command", "exit code 127"),
    ("cat; read x; echo end $x", "end"), ("echo out; echo err >&2", "err"),
    ("echo $FROM_PARAMS; pwd", "b=c\n/workspace")])
def test_commands_end(modal, model, task, config, command, wanted):
    modal()
    config('[sandboxes.providers.modal.params]\n'
           'env = ["A=1", "FROM_PARAMS=b=c"]\n')
    server = model([execute(command), DONE])
    r = task(timeout=30)
    assert r.status == 0, r.err
    assert wanted in results(server)[0]


@pytest.mark.slow
def test_long_commands_go_by_the_input(modal, model, task):
    cloud = modal()
    text = "0123456789abcde\n" * 20000
    server = model([
        {"tool_calls": [call("write_file", file_path="big", content=text)]},
        execute("wc -c <big; : " + "x" * 200000), DONE])
    r = task()
    assert r.status == 0, r.err
    assert results(server)[1].split()[0] == "320000"
    assert cloud.count(ROUTER + "TaskExecStdinWriteStream") >= 2


def test_timeout_keeps_output(modal, model, task):
    cloud = modal()
    server = model([execute("echo before; sleep 300 & sleep 300", timeout=1),
                    execute("ps ax | grep -c '[s]leep 300'"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "before" in results(server)[0]
    assert results(server)[1].strip().startswith("0")
    assert cloud.left() == []


def test_output_that_is_cut(modal, model, task):
    """It is taken up where it broke: each byte comes once."""
    cloud = modal(most=1000)
    cloud.fault(READ, times=3, reset_at=150)
    cloud.fault(READ, nth=4, times=2, cut_after=0.3)
    server = model([execute("echo x >>ran; for i in 1 2 3 4; do echo $i; "
                            "sleep 0.5; done; cat ran; seq 1000 | wc -c"),
                    DONE])
    r = task(timeout=60)
    assert r.status == 0, r.err
    assert results(server)[0].split()[:6] == ["1", "2", "3", "4", "x", "3893"]
    assert cloud.left() == []


@pytest.mark.parametrize("pattern, how", [
    (START, {"duplicate": True}), (START, {"reset": True}),
    (START, {"status": 502}), (START, {"grpc": (14, "busy")}),
    (START, {"grpc": (13, "odd")}), (START, {"cut_after": 0.001}),
    (START, {"no_status": True}), (START, {"goaway": True}),
    (READ, {"drop": True}), (READ, {"truncate": 60}), (READ, {"flags": 1}),
    (READ, {"no_status": True}), (READ, {"split": 1}),
    (READ, {"garbage": b"\x0a\xff"})])
def test_a_command_runs_once(modal, model, task, pattern, how):
    cloud = modal()
    # the first of them makes the working directory
    cloud.fault(pattern, nth=2 if pattern == START else 1, times=2, **how)
    cloud.fault(CONTROL + "SandboxTerminate", **how)
    server = model([execute("echo x >>ran; sleep 0.2; cat ran"),
                    execute("wc -l <ran"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert results(server)[0].split()[0] == "x"
    assert results(server)[1].split()[0] == "1"
    assert cloud.left() == [] and len(cloud.past) == 1


@pytest.mark.parametrize("how", [
    {"drop": True}, {"no_status": True}, {"grpc": (14, "busy")},
    {"grpc": (8, "wait"), "wish": 0.3}, {"truncate": 3},
    {"garbage": b"\x0a"}, {"status": 503}, {"cut_after": 0.01}])
def test_create_makes_one(modal, model, task, how):
    cloud = modal()
    cloud.fault(CREATE, **how)
    model([execute("true"), DONE])
    r = task()
    assert r.status == 0 or "garbage" in how, r.err
    assert cloud.left() == [] and len(cloud.past) == 1


def test_the_server_sets_the_pace(modal, model, task):
    """As in the recording of the Python SDK: two tries and a wish."""
    cloud = modal()
    for code, more in ((14, {}), (13, {}), (8, {"wish": 0.3})):
        cloud.fault(CREATE, nth=1 + len(cloud.faults), grpc=(code, "later"),
                    **more)
    model([DONE])
    assert task().status == 0
    calls = [q for q in cloud.requests if q["line"] == CREATE]
    heads = [q["headers"] for q in calls]
    assert [h["x-retry-attempt"] for h in heads] == ["0", "1", "2", "2"]
    assert [h["x-throttle-retry-attempt"] for h in heads] == \
        ["0", "0", "0", "1"]
    assert len({h["x-idempotency-key"] for h in heads}) == 1
    assert calls[3]["began"] - calls[2]["began"] >= 0.3
    assert "x-throttle-retry-delay" in heads[3]


def test_the_pace_that_is_taken(modal, model, task, env):
    """MODAL_MAX_THROTTLE_WAIT, in all: the second wish is one too many."""
    cloud = modal()
    env["MODAL_MAX_THROTTLE_WAIT"] = "0.3"
    for nth in (1, 2):
        cloud.fault(CREATE, nth=nth, grpc=(8, "later"), wish=0.2)
    model([DONE])
    r = task()
    assert r.status != 0 and "later" in r.err
    assert cloud.count(CREATE) == 2 and cloud.left() == []
    env["MODAL_MAX_THROTTLE_WAIT"] = "soon"
    r = task()
    assert r.status != 0 and "MODAL_MAX_THROTTLE_WAIT" in r.err


def test_refusals_leave_nothing(modal, model, task, config, env):
    cloud = modal()
    model([DONE])
    config('[sandboxes.providers.modal.params]\nimage = "missing:1"\n')
    r = task()
    assert r.status != 0 and "no such image" in r.err
    config('[sandboxes.providers.modal.params]\nnamed_image = "nope"\n')
    r = task()
    assert r.status != 0 and "nope:latest" in r.err
    config("")
    env["MODAL_TOKEN_SECRET"] = "as-wrong"
    r = task()
    assert r.status != 0 and "Token ID is malformed" in r.err
    assert "modal.com/settings/tokens" in r.err
    assert cloud.left() == [] and not cloud.past


PROFILES = f"""
[mine]
token_id = "{ID}"
token_secret = "{SECRET}"
server_url = "URL"
environment = "staging"
active = true
[other]
token_id = "ak-other"
token_secret = "as-other"
"""


def test_profiles(modal, model, task, env, home):
    cloud = modal()
    for name in ("MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "MODAL_SERVER_URL"):
        del env[name]
    model([DONE])
    r = task()
    assert r.status != 0 and "MODAL_TOKEN_ID is not set" in r.err
    assert "modal setup" in r.err
    file = home / ".modal.toml"
    file.write_text(PROFILES.replace("URL", cloud.url))
    assert task().status == 0
    assert ("staging", "deepagents-sandbox") in cloud.apps
    env["MODAL_SERVER_URL"], env["MODAL_PROFILE"] = cloud.url, "other"
    r = task()
    assert r.status != 0 and "malformed" in r.err
    env["MODAL_PROFILE"] = "absent"
    r = task()
    assert r.status != 0 and "unknown profile 'absent'" in r.err
    # each value by itself: the variables are stronger
    env.update(MODAL_PROFILE="other", MODAL_TOKEN_ID=ID,
               DEEPAGENTS_CODE_MODAL_TOKEN_SECRET=SECRET)
    assert task().status == 0
    file.write_text(PROFILES + "active = true\n")
    del env["MODAL_PROFILE"], env["MODAL_TOKEN_ID"]
    r = task()
    assert r.status != 0 and "more than one profile is active" in r.err
    assert cloud.left() == []


@pytest.mark.parametrize("url", ["http://example.com", "ftp://127.0.0.1", ","])
def test_addresses_that_get_no_token(modal, model, task, env, url):
    cloud = modal()
    env["MODAL_SERVER_URL"] = url
    model([DONE])
    r = task()
    assert r.status != 0 and "MODAL_SERVER_URL" in r.err
    assert cloud.requests == []


def test_the_second_server(modal, model, task, env):
    cloud = modal()
    env["MODAL_SERVER_URL"] = "http://127.0.0.1:1," + cloud.url
    model([DONE])
    assert task().status == 0
    assert cloud.left() == [] and len(cloud.past) == 1


def test_a_router_that_comes_late(modal, model, task):
    """A sandbox's server may take no connection at first."""
    cloud = modal()
    server = model([execute("echo through the door"), DONE])
    with LateDoor(int(cloud.url.rpartition(":")[2]), lambda: cloud.count(
            CONTROL + "TaskGetCommandRouterAccess")) as door:
        cloud.router = door.url
        r = task()
    assert r.status == 0, r.err
    assert "through the door" in results(server)[0]
    assert cloud.left() == [] and len(cloud.past) == 1


def test_params(modal, model, task, config):
    cloud = modal(lenient=False)
    config('[sandboxes.providers.modal.params]\n'
           'image = "python:3"\nlifetime = 900\nidle_timeout = 60\n'
           'app = "mine"\nlabels = ["team=a b"]\nenv = ["A=b=c"]\n'
           'cpu = "0.5"\nmemory = 1024\ngpu = "H100:2"\ncloud = "aws"\n'
           'region = ["us-east", "eu"]\nworkdir = "/srv/a b"\n'
           'network = ["10.0.0.0/8", "1.2.3.4", "fd00::1", '
           '"example.com"]\n')
    server = model([execute("pwd"), DONE])
    assert task().status == 0
    assert "/srv/a b" in results(server)[0]
    ask, = created(cloud)
    d = ask.definition
    assert {t.tag_name: t.tag_value for t in ask.tags}["team"] == "a b"
    assert (d.timeout_secs, d.idle_timeout_secs) == (900, 60)
    assert (d.resources.milli_cpu, d.resources.memory_mb) == (500, 1024)
    gpu = d.resources.gpu_config
    assert (gpu.gpu_type, gpu.count) == ("H100", 2)
    assert list(d.scheduler_placement.regions) == ["us-east", "eu"]
    assert d.cloud_provider_str == "aws" and d.workdir == "/srv/a b"
    assert d.network_access == pb.NetworkAccess(
        network_access_type=3,
        allowed_cidrs=["10.0.0.0/8", "1.2.3.4/32", "fd00::1/128"],
        allowed_domains=["example.com"])
    assert list(d.entrypoint_args) == ["sleep", "172800"]
    assert ("", "mine") in cloud.apps


@pytest.mark.parametrize("builder", ["2024.10", "PREVIEW"])
def test_defaults(modal, model, task, builder):
    cloud = modal(builder=builder)
    model([DONE])
    assert task("--sandbox-network", "none").status == 0
    ask, = created(cloud)
    d = ask.definition
    assert d.network_access.network_access_type == 2
    assert (d.timeout_secs, d.idle_timeout_secs) == (86400, 1800)
    assert bool(d.entrypoint_args) == (builder < "2025")
    assert d.name.startswith("dcode-") and len(d.name) == 14


@pytest.mark.parametrize("v2", [False, True])
def test_attach(modal, model, task, run, v2):
    """Either generation, by its id."""
    cloud = modal()
    kept = put(cloud, tags=[("dcode.label", "dcode-aaaaaaaa"),
                            ("dcode.owner", "x")], v2=v2)
    kept.box.shell("echo kept >/tmp/there")
    server = model([execute("cat /tmp/there; pwd"), DONE])
    r = task("--sandbox-id", kept.id)
    assert r.status == 0, r.err
    assert results(server)[0].split()[:2] == ["kept", "/workspace"]
    assert cloud.left() == [kept.id]
    assert (cloud.count(CONTROL + "SandboxWaitV2") > 0) == v2
    r = run("sandbox", "rm", "--sandbox", "modal", kept.id)
    assert cloud.left() == [], r.err


def test_list_without_tags(modal, run):
    """A list that leaves the tags out, and no other way to them: the name is
    the label."""
    cloud = modal(tagless=True, page=1)
    ours = put(cloud, name="dcode-aaaaaaaa", tags=[("dcode.owner", "x")])
    other = put(cloud, name="precious")
    r = run("sandbox", "list", "--sandbox", "modal", "--all", "--json")
    assert r.status == 0, r.err
    assert ours.id in r.out and other.id not in r.out
    r = run("sandbox", "info", "--sandbox", "modal", ours.id)
    assert r.status == 0 and "dcode-aaaaaaaa" in r.out, r.err
    r = run("sandbox", "rm", "--sandbox", "modal", other.id)
    assert r.status != 0 and "dcode did not make" in r.err
    r = run("sandbox", "rm", "--sandbox", "modal", ours.id)
    assert r.status == 0 and cloud.left() == [other.id], r.err


def test_attach_to_nothing(modal, model, task):
    cloud = modal()
    kept = put(cloud)
    model([DONE])
    r = task("--sandbox-id", "sb-" + "0" * 22)
    assert r.status != 0 and "not found" in r.err
    cloud.finish(kept.id, 4)
    r = task("--sandbox-id", kept.id)
    assert r.status != 0 and "has ended" in r.err


def test_gone_under_us(modal, model, start):
    cloud = modal()
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "modal")
    wait_for(lambda: cloud.count(READ) > 0)
    time.sleep(0.3)
    cloud.finish(cloud.left()[0], 4)
    r = p.wait(60)
    assert r.status != 0 and "has ended" in r.err


@pytest.mark.parametrize("seconds, times", [(25, 1), (3600, 2)])
def test_a_token_that_expires(modal, model, task, seconds, times):
    """It is asked for anew when it is old; a young one is tried again."""
    cloud = modal(token_s=seconds)
    cloud.fault(START, nth=2, times=times, expired=True)
    server = model([execute("echo one"), execute("echo two"), DONE])
    r = task()
    assert r.status == 0, r.err
    assert "two" in results(server)[1]
    assert cloud.count(CONTROL + "TaskGetCommandRouterAccess") == 2


def test_killed_and_collected(modal, model, start, run):
    """All pages; what is not ours stays."""
    cloud = modal(page=2)
    model([execute("sleep 300"), DONE])
    p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "modal")
    wait_for(lambda: cloud.count(READ) > 0)
    p.signal(signal.SIGKILL)
    p.p.wait()
    ours = cloud.boxes[cloud.left()[0]].tags["dcode.owner"]
    for i in range(3):
        name = f"dcode-aaaaaaa{i + 2}"
        put(cloud, name, [("dcode.label", name), ("dcode.owner", ours)])
    others = [put(cloud).id, put(cloud, tags=[
        ("dcode.label", "dcode-bbbbbbbb"), ("dcode.owner", "another")]).id]
    r = run("sandbox", "gc")
    assert r.status == 0, r.err
    assert sorted(cloud.left()) == sorted(others)
    assert cloud.count(CONTROL + "SandboxList$") >= 3


def test_setup_script(modal, model, task, tmp_path):
    cloud = modal()
    script = tmp_path / "setup.sh"
    script.write_text("echo ready >/workspace/made\n")
    server = model([execute("cat made"), DONE])
    r = task("--sandbox-setup", str(script))
    assert r.status == 0, r.err
    assert "ready" in results(server)[0] and cloud.left() == []


def test_files_that_are_cut(modal, run, tmp_path):
    """Input goes on where the router says, output where we are."""
    cloud = modal(most=1 << 20)
    kept = put(cloud)
    big = tmp_path / "big"
    big.write_bytes(os.urandom(3 << 20))
    cloud.fault(ROUTER + "TaskExecStdinWriteStream", times=2, take=1 << 20)
    cloud.fault(READ, reset_at=1 << 20)
    box = ("--sandbox", "modal")
    r = run("sandbox", "cp", *box, big, f"{kept.id}:/workspace/up")
    assert r.status == 0, r.err
    r = run("sandbox", "cp", *box, f"{kept.id}:/workspace/up",
            tmp_path / "down")
    assert r.status == 0, r.err
    assert (tmp_path / "down").read_bytes() == big.read_bytes()
    assert cloud.count(ROUTER + "TaskExecStdinStatus") == 2
    for path in ("/nowhere", "/workspace"):
        r = run("sandbox", "cp", *box, f"{kept.id}:{path}", tmp_path / "x")
        assert r.status != 0 or path == "/workspace"


def test_messages_of_20_mib(modal, run, tmp_path):
    cloud = modal(most=20 << 20)
    kept = put(cloud)
    kept.box.shell("head -c 20971520 /dev/zero >/workspace/zeros")
    r = run("sandbox", "cp", "--sandbox", "modal",
            f"{kept.id}:/workspace/zeros", tmp_path / "down")
    assert r.status == 0, r.err
    assert (tmp_path / "down").read_bytes() == bytes(20 << 20)
