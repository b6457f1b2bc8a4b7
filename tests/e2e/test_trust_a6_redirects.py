"""test_trust_a6_redirects.py - an answer of 3xx is a failure, everywhere."""
# SPDX-License-Identifier: MIT
import pytest

import boxes
from clouds import DONE, task_of
from elsewhere import Elsewhere, ledger
from lifecycle import execute

REMOVE = {"agentcore": "PUT .*/sessions/stop", "daytona": "DELETE .*/sandbox/",
          "deno": "DELETE ", "e2b": "DELETE ", "langsmith": "DELETE ",
          "runloop": "POST .*/shutdown", "vercel": "DELETE "}
CREATE = {"agentcore": "PUT .*/sessions/start", "daytona": "POST .*/sandbox$",
          "deno": "GET .*/create", "e2b": "POST .*/sandboxes",
          "langsmith": "POST .*/boxes", "runloop": "POST .*/devboxes$",
          "vercel": "POST .*/sandboxes[?]"}


@pytest.fixture
def elsewhere():
    """Where the redirects point: nobody may ask there."""
    with Elsewhere() as server:
        yield server


@pytest.mark.parametrize("name, status", [
    ("e2b", 302), ("e2b", 304), ("e2b", 307), ("e2b", 308), ("vercel", 302),
    ("vercel", 308), ("langsmith", 307), ("agentcore", 304), ("deno", 302),
    ("deno", 308), ("daytona", 301), ("runloop", 303)])
def test_a_redirected_delete_keeps_the_row(
        vendor, model, run, home, elsewhere, name, status):
    cloud = vendor(name)
    fault = cloud.fault(REMOVE[name], times=None, status=status,
                        location=elsewhere.url + "/taken")
    model([execute("echo hi"), DONE])
    r = task_of(run, name)()
    assert fault.struck > 0
    assert "terminated" not in r.err and "Cleanup failed" in r.err
    assert f"HTTP {status}" in r.err and elsewhere.url + "/taken" in r.err
    assert "sandbox gc" in r.err
    assert len(cloud.left()) == 1 and elsewhere.lines == []
    assert [row["id"] for row in ledger(home)] == cloud.left()
    cloud.faults.clear()
    assert run("sandbox", "gc").status == 0
    assert cloud.left() == [] and ledger(home) == []


@pytest.mark.parametrize("name", REMOVE)
def test_without_a_redirect_the_row_goes(vendor, model, run, home, name):
    cloud = vendor(name)
    model([execute("echo hi"), DONE])
    r = task_of(run, name)()
    assert r.status == 0 and "terminated" in r.err
    assert cloud.left() == [] and ledger(home) == []


@pytest.mark.parametrize("name", CREATE)
def test_a_redirected_create_is_sent_once(
        vendor, model, run, elsewhere, name):
    cloud = vendor(name)
    fault = cloud.fault(CREATE[name], times=None, status=307,
                        location=elsewhere.url + "/taken")
    model([DONE])
    r = task_of(run, name)()
    assert r.status == 1 and fault.struck == 1
    assert "HTTP 307" in r.err and elsewhere.url + "/taken" in r.err
    assert elsewhere.lines == [] and cloud.left() == []


def test_a_described_service(run, model, env, config, home, elsewhere):
    with boxes.Boxes() as cloud:
        env["BOX_TOKEN"] = boxes.KEY
        config(boxes.config(cloud.url))
        cloud.fault("DELETE ", times=None, status=302,
                    location=elsewhere.url + "/taken")
        model([execute("echo hi"), DONE])
        r = task_of(run, "homemade")()
        assert "terminated" not in r.err and elsewhere.url in r.err
        assert len(cloud.left()) == len(ledger(home)) == 1
        cloud.faults.clear()
        assert run("sandbox", "gc").status == 0 and cloud.left() == []


@pytest.mark.parametrize("status", [301, 302, 304, 307, 308])
def test_a_redirected_model(run, env, elsewhere, status):
    """It is asked once, and what it points to is named."""
    with Elsewhere(status, {"Location": elsewhere.url + "/v1\x1b[31m"}) as m:
        env.update(ANTHROPIC_API_KEY="sk-ant-1", ANTHROPIC_BASE_URL=m.url)
        r = run("-n", "hi", "-M", "anthropic:m")
        assert r.status == 1 and len(m.lines) == 1
    assert f"HTTP {status}" in r.err and elsewhere.url + "/v1" in r.err
    assert "\x1b" not in r.err and elsewhere.lines == []


def test_a_long_address_is_cut(run, env):
    with Elsewhere(302, {"Location": "http://127.0.0.1/" + "x" * 9000}) as m:
        env.update(ANTHROPIC_API_KEY="sk-ant-1", ANTHROPIC_BASE_URL=m.url)
        r = run("-n", "hi", "-M", "anthropic:m")
    assert "http://127.0.0.1/xxx" in r.err and len(r.err) < 1000


def test_a_redirected_engine(run, env, model, elsewhere):
    with Elsewhere(307, {"Location": elsewhere.url}) as engine:
        env["DOCKER_HOST"] = f"tcp://127.0.0.1:{engine.port}"
        model([DONE])
        r = task_of(run, "docker")()
    assert r.status == 1 and elsewhere.url in r.err and elsewhere.lines == []


def test_a_redirected_key_service(vendor, run, env, model, elsewhere):
    """A redirect of the metadata service hands nobody the token."""
    cloud = vendor("agentcore")
    with Elsewhere(302, {"Location": elsewhere.url}) as keys:
        for name in [n for n in env if n.startswith("AWS_")]:
            if "ENDPOINT" not in name:
                del env[name]
        env.update(AWS_EC2_METADATA_DISABLED="true",
                   AWS_CONTAINER_CREDENTIALS_FULL_URI=keys.url + "/creds",
                   AWS_CONTAINER_AUTHORIZATION_TOKEN="token")
        model([DONE])
        r = task_of(run, "agentcore")()
        assert r.status == 1 and set(keys.lines) == {"GET /creds"}
    assert elsewhere.url in r.err and elsewhere.lines == []
    assert cloud.requests == []


def test_a_redirected_socket(vendor, run, env, model, elsewhere):
    """A WebSocket that is pointed elsewhere is not opened there."""
    cloud = vendor("langsmith")
    fault = cloud.fault("GET /sb-[^/]+/execute/ws", times=None, status=302,
                        location=elsewhere.url)
    model([execute("sleep 3; echo hi"), DONE])
    task_of(run, "langsmith")(timeout=30)
    assert fault.struck <= 1 and elsewhere.lines == []
    assert cloud.left() == []


def test_a_redirected_grpc_server(run, env, model, elsewhere):
    with Elsewhere(302, {"Location": elsewhere.url}) as proxy:
        env.update(MODAL_TOKEN_ID="ak-1", MODAL_TOKEN_SECRET="as-1",
                   MODAL_SERVER_URL=proxy.url)
        model([DONE])
        r = task_of(run, "modal")()
    assert r.status == 1 and elsewhere.lines == []
