"""test_secrets_vendors.py - secrets that vendors put into the requests of their
sandboxes: never in the sandbox, and deleted with it."""
# SPDX-License-Identifier: MIT
import base64
import json
import os
import pathlib
import re
import signal
import threading
import time

import pytest

import slash_chat
from clouds import DONE, results, task_of, vendor_fixture  # noqa: F401
from lifecycle import execute, wait_for
from outside import Leaving, Outside
from slash_chat import HELLO, begin, talk  # noqa: F401

# pylint: disable=redefined-outer-name

VALUE = "kx9QpTz4vWc7Lr2Nh8Jd5Fs3Yb6Mg1Ra0Ue"
HEADER = """[secrets.ACME]
env = "ACME_TOKEN"
hosts = ["api.acme.example"]
header = "Authorization"
format = "Bearer {}"
value_env = "MY_ACME"
"""
ACCOUNTS = {"api.acme.example": ("authorization", f"Bearer {VALUE}")}
# The secrets are objects of the account.
STORES = ("e2b", "daytona", "runloop", "modal")
WITH_HEADER = ("e2b", "vercel", "langsmith", "modal")
WITH_WILD = ("e2b", "vercel", "langsmith")
# They replace a placeholder that the client sends as `format` says, ...
WITH_FORMAT = ("vercel", "langsmith")
# ... or in any header.
ANYWHERE = ("daytona", "deno")


@pytest.fixture
def acme(env, config, monkeypatch):
    """acme(text): writes the config, with the value in a variable."""
    def write(text=HEADER):
        env["MY_ACME"] = VALUE
        config(text)
        # A chat writes its own.
        text = text.replace("{", "{{").replace("}", "}}")
        monkeypatch.setattr(slash_chat, "OTHER", slash_chat.OTHER + text)
    return write


def authorized(server):
    """What the hosts answered, in order."""
    return [json.loads(text.splitlines()[0])["authorized"]
            for text in results(server)]


FORMAT = HEADER.replace('header = "Authorization"\n', "")


def ask(outside, host="api.acme.example", path="/", options=""):
    return execute(f"curl -sS {options} {outside.url}/https/{host}{path}")


def readable(kept):
    """All bytes that the commands of an emulated sandbox can read."""
    for path in pathlib.Path(kept.box.root).rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path.read_bytes()
    inside = kept.box.outer.pid
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if str(inside) in (process / "stat").read_text().split():
                yield (process / "environ").read_bytes()
                yield (process / "cmdline").read_bytes()
        except OSError:
            pass


def has_value(data):
    """True if the value is there, also in base64 at any offset."""
    forms = {VALUE.encode()}
    for i in range(3):
        text = base64.b64encode(b"x" * i + VALUE.encode())
        forms.add(text[4:-4])
    return any(form in data for form in forms)


def add_foreign(cloud):
    """A secret of another dcode."""
    cloud.secrets["foreign"] = {"name": "dcode-zzzzzzzz-other",
                                "secretID": "sec_foreign", "value": "x"}


def stored_names(cloud):
    return sorted({item["name"] for item in [
        *cloud.secrets.values(), *getattr(cloud, "gateways", {}).values()]})


# The requests of dcode that may have the value.
CARRIERS = {"e2b": "POST /secrets$",
            "vercel": "POST /v2/sandboxes[?]",
            "langsmith": "POST /api/v2/sandboxes/boxes$",
            "modal": "POST /modal.client.ModalClient/SecretGetOrCreate$",
            "daytona": "POST /api/secret$", "runloop": "POST /v1/secrets$",
            "deno": "GET /api/v3/sandboxes/create$"}


@pytest.mark.parametrize("name", WITH_HEADER)
def test_a_request_is_authenticated_and_the_sandbox_has_no_value(
        vendor, model, run, acme, name):
    cloud = vendor(name)
    acme()
    found = []
    with Outside(cloud, ACCOUNTS) as outside:
        outside.look = lambda: found.extend(
            data for kept in list(cloud.boxes.values())
            for data in readable(kept))
        server = model([
            execute("echo have $ACME_TOKEN; export -p >/tmp/exported"),
            ask(outside), ask(outside, "other.example"), DONE])
        r = task_of(run, name)()
    assert r.status == 0, r.err
    have, own, other = results(server)
    assert re.search(r"have \S{20}", have) and not has_value(have.encode())
    assert '"authorized": true' in own
    assert '"authorized": false' in other  # the control
    # The control: what was looked at has the placeholder.
    assert any(have.split()[1].encode() in data for data in found)
    assert not any(has_value(data) for data in found)
    for q in cloud.requests:
        assert re.match(CARRIERS[name], q["line"]) or not has_value(
            bytes(q.get("raw", b"")) + str(q["headers"]).encode()), q["line"]
    assert not has_value(r.out.encode() + r.err.encode())
    assert cloud.left() == []


LISTED = ("--sandbox-network", "api.acme.example")
SENT = '-H "Authorization: Bearer $ACME_TOKEN"'


@pytest.mark.parametrize("name", WITH_FORMAT)
def test_a_placeholder_is_replaced_where_the_client_sends_it(
        vendor, model, run, acme, name):
    cloud = vendor(name)
    acme(FORMAT)
    with Outside(cloud, ACCOUNTS) as outside:
        server = model([
            ask(outside, options=SENT), ask(outside),
            ask(outside, options='-H "X-Other: $ACME_TOKEN"'),
            ask(outside, "other.example", options=SENT), DONE])
        r = task_of(run, name)()
        assert r.status == 0, r.err
        assert authorized(server) == [True, False, False, False]
        assert not any(has_value(str(q.headers).encode())
                       for q in outside.seen[1:])


@pytest.mark.parametrize("name", ANYWHERE)
def test_a_value_is_put_in_wherever_a_client_sends_it(vendor, model, run,
                                                      acme, name):
    """A header is the client's own, and so is Basic."""
    cloud = vendor(name)
    acme()
    found = []
    with Outside(cloud, ACCOUNTS) as outside:
        outside.look = lambda: found.extend(
            data for kept in list(cloud.boxes.values())
            for data in readable(kept))
        server = model([
            execute("echo have $ACME_TOKEN"), ask(outside, options=SENT),
            ask(outside), ask(outside, "other.example", options=SENT),
            ask(outside, options="-u me:$ACME_TOKEN"), DONE])
        r = task_of(run, name)()
    assert r.status == 0, r.err
    have, *answers = results(server)
    assert [json.loads(text.splitlines()[0])["authorized"]
            for text in answers] == [True, False, False, False]
    assert base64.b64decode(outside.seen[3].headers["authorization"][6:]) == \
        f"me:{VALUE}".encode()
    assert any(have.split()[1].encode() in data for data in found)
    assert not any(has_value(data) for data in found)
    assert not has_value(str(outside.seen[2].headers).encode())
    for q in cloud.requests:
        assert re.match(CARRIERS[name], q["line"]) or not has_value(
            bytes(q.get("raw", b"")) + str(q["headers"]).encode()), q["line"]
    assert "replaces the placeholder" in r.err
    assert ("plain HTTP" in r.err) == (name == "daytona")


@pytest.mark.parametrize("name", ANYWHERE)
def test_a_header_that_no_client_could_send_is_refused(vendor, model, run,
                                                       acme, name):
    cloud = vendor(name)
    model([DONE])
    for text, why in ((HEADER.replace('env = "ACME_TOKEN"\n', ""), "add env"),
                      (HEADER.replace("api.acme", "*.acme"), "below a name")):
        acme(text)
        r = task_of(run, name)()
        assert r.status == 2 and why in r.err, r.err
        assert not cloud.requests


def test_a_list_of_runloop_lets_its_gateways_through(vendor, model, run, acme):
    cloud = vendor("runloop")
    acme()
    model([execute("echo have $ACME_TOKEN"), DONE])
    r = task_of(run, "runloop")(*LISTED)
    assert r.status == 0 and "variable NAME_URL" in r.err
    policy, = (json.loads(q["body"]) for q in cloud.requests
               if q["line"] == "POST /v1/network-policies")
    assert policy["allow_agent_gateway"] is True


@pytest.mark.parametrize("header, form, sent, wanted", [
    ("Authorization", "Bearer {}", 'Authorization: Bearer $ACME_TOKEN',
     f"Bearer {VALUE}"),
    ("X-Key", "{}", "X-Key: $ACME_TOKEN", VALUE),
    ("Authorization", "Basic me:{}", "Authorization: Basic $ACME_TOKEN",
     "Basic " + base64.b64encode(f"me:{VALUE}".encode()).decode()),
])
def test_the_mechanisms_of_a_gateway(vendor, model, run, acme, header, form,
                                     sent, wanted):
    cloud = vendor("runloop")
    acme(HEADER.replace("Authorization", header).replace("Bearer {}", form))
    accounts = {"api.acme.example": (header.lower(), wanted)}
    with Outside(cloud, accounts) as outside:
        gate = f"{outside.url}/https/" + "${ACME_TOKEN_URL#https://}/user"
        found = []
        outside.look = lambda: found.extend(
            data for kept in list(cloud.boxes.values())
            for data in readable(kept))
        server = model([execute(f'curl -sS -H "{sent}" {gate}'),
                        execute(f"curl -sS {gate}"),
                        ask(outside, options=SENT), DONE])
        r = task_of(run, "runloop")()
    assert r.status == 0, r.err
    assert authorized(server) == [True, False, False]
    assert any(b"ACME_TOKEN_URL" in data for data in found)
    assert not any(has_value(data) for data in found)
    for q in cloud.requests:
        assert re.match(CARRIERS["runloop"], q["line"]) or not has_value(
            bytes(q.get("raw", b""))), q["line"]


def test_runloop_refuses_what_its_gateways_cannot_do(vendor, model, run, acme):
    cloud = vendor("runloop")
    model([DONE])
    for text, why in ((FORMAT, "replace a placeholder"),
                      (HEADER.replace("Bearer {}", "token {}"),
                       "in this format"),
                      (HEADER.replace('"]', '", "b.example"]'),
                       "more than one host")):
        acme(text)
        r = task_of(run, "runloop")()
        assert r.status != 0 and why in r.err, r.err
        assert not cloud.requests


def test_a_vendor_without_a_way_is_refused_before_any_request(
        vendor, model, run, acme, config):
    name = "agentcore"
    cloud = vendor(name)
    acme()
    server = model([DONE])
    r = task_of(run, name)()
    assert r.status == 2 and f"{name} cannot put secrets into" in r.err
    assert "secrets.ACME" in r.err and "dcode help secrets" in r.err
    assert not cloud.requests and not server.requests
    config("")
    assert task_of(run, name)().status == 0  # the control


@pytest.mark.parametrize("name", list(CARRIERS))
def test_a_vendor_that_cannot_sign_refuses_a_key_of_aws(vendor, model, run,
                                                        acme, name):
    cloud = vendor(name)
    acme('[secrets.AWS]\npreset = "aws"\nvalue_env = "MY_ACME"\n')
    server = model([DONE])
    r = task_of(run, name)()
    assert r.status == 2 and f"{name} cannot sign requests to AWS" in r.err
    assert "secrets.AWS" in r.err
    assert not cloud.requests and not server.requests


PATHS = HEADER + 'paths = ["/v1/*", "/exact"]\nmethods = ["GET", "HEAD"]\n'


def test_a_secret_is_limited_to_paths_and_methods(vendor, model, run, acme):
    cloud = vendor("vercel")
    acme(PATHS)
    yes = ["/v1/", "/v1/a", "/v1/a/b", "/exact"]
    no = ["/", "/v2/a", "/exact/", "/v1/../v2", "/v1//v2", "/v1/%2e%2e/v2",
          "/v1/.git"]
    with Outside(cloud, ACCOUNTS) as outside:
        server = model([ask(outside, path=path, options="--path-as-is")
                        for path in yes + no] +
                       [ask(outside, path="/v1/a", options="-X POST"), DONE])
        r = task_of(run, "vercel")()
    assert r.status == 0, r.err
    assert authorized(server) == [True] * len(yes) + [False] * (len(no) + 1)


@pytest.mark.parametrize("name", ["e2b", "langsmith", "modal"])
def test_a_vendor_without_paths_refuses_them(vendor, model, run, acme, name):
    cloud = vendor(name)
    acme(PATHS)
    model([DONE])
    r = task_of(run, name)()
    assert r.status == 2 and "limit a secret to paths" in r.err
    assert "config.toml:1:10: secrets.ACME" in r.err and name in r.err
    assert not cloud.requests


@pytest.mark.parametrize("name", STORES)
def test_what_the_account_stores_ends_with_the_sandbox(vendor, model, run,
                                                       acme, name):
    cloud = vendor(name)
    acme()
    model([DONE, DONE])
    r = task_of(run, name)("--keep")
    assert r.status == 0, r.err
    row, = json.loads(run("sandbox", "list", "--json").out)["data"]
    stored, = stored_names(cloud)
    # Modal has one object for all.
    assert stored.lower() == row["label"] + "-acme" * (name != "modal")
    add_foreign(cloud)
    assert run("sandbox", "gc").status == 0
    assert len(stored_names(cloud)) == 2
    assert run("sandbox", "rm", row["name"]).status == 0
    assert [n.lower() for n in stored_names(cloud)] == ["dcode-zzzzzzzz-other"]


@pytest.mark.parametrize("name", STORES)
def test_a_sandbox_that_has_ended_by_itself_leaves_no_secret(
        vendor, model, run, acme, name):
    cloud = vendor(name)
    acme()
    model([DONE])
    assert task_of(run, name)("--keep").status == 0
    row, = json.loads(run("sandbox", "list", "--json").out)["data"]
    for id in list(cloud.boxes):
        cloud.destroy(id)
    assert stored_names(cloud)
    run("sandbox", "rm", row["name"])
    assert run("sandbox", "gc").status == 0
    assert stored_names(cloud) == []


def test_without_secrets_no_request_is_about_them(vendor, model, run, config):
    for name in STORES:
        cloud = vendor(name)
        model([DONE])
        assert task_of(run, name)().status == 0
        assert not cloud.count("(?i).*(secret|gateway).*")


@pytest.mark.parametrize("name", STORES)
def test_a_kill_at_any_request_leaves_no_secret(vendor, model, start, run,
                                                acme, name):
    """Killed while request n waits. It is performed after the kill."""
    acme()
    cloud = vendor(name)
    stored = 0
    for n in range(1, 60):
        gate = threading.Event()
        cloud.forget()
        fault = cloud.fault(".*", nth=n, hold=gate)
        model([execute("echo hi"), DONE])
        p = start("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name)
        wait_for(lambda: fault.struck or p.p.poll() is not None, 60)
        p.signal(signal.SIGKILL)
        p.wait()
        asked = len(cloud.requests)
        gate.set()
        wait_for(lambda: all("status" in q for q in cloud.requests[:asked]))
        stored += bool(stored_names(cloud))
        r = run("sandbox", "gc")
        assert r.status == 0, r.err
        assert stored_names(cloud) == [] and cloud.left() == [], n
        if not fault.struck:
            break
    assert 3 < n < 59 and stored > 2


@pytest.mark.parametrize("name", ["e2b", "vercel", "langsmith"])
def test_a_change_of_the_network_keeps_the_rules(talk, vendor, acme, name):
    cloud = vendor(name)
    acme()
    c = begin(talk, HELLO, "--sandbox", name, *LISTED)
    c.say("/network allow b.example", "may now reach b.example")
    with Outside(cloud, ACCOUNTS) as outside:
        for host, good in (("api.acme.example", True), ("b.example", False)):
            request = Leaving("GET", f"/https/{host}/", {})
            assert outside.answer(request) == {"authorized": good}


def test_a_list_is_not_widened_by_a_secret(vendor, model, run, acme):
    """A name with a rule may be reached at Vercel."""
    cloud = vendor("vercel")
    acme()
    model([DONE])
    r = task_of(run, "vercel")("--sandbox-network", "b.example", "--keep")
    assert r.status == 0 and "api.acme.example is not in the network" in r.err
    kept, = cloud.boxes.values()
    assert kept.policy == {"allow": {"b.example": []}}


@pytest.mark.parametrize("name", ["vercel", "langsmith"])
def test_rules_that_cannot_be_sent_again_are_not_lost(vendor, model, run, talk,
                                                      acme, name):
    cloud = vendor(name)
    acme()
    model([DONE])
    assert task_of(run, name)("--keep", *LISTED).status == 0
    c = begin(talk, HELLO, "-r")
    cloud.forget()
    c.say("/network allow b.example", "would remove its")
    assert not cloud.count("(PATCH|POST) .*network|PATCH")


def test_a_change_does_not_remove_a_proxy_of_e2b(vendor, model, run, talk,
                                                 acme):
    cloud = vendor("e2b")
    acme()
    model([DONE])
    assert task_of(run, "e2b")("--keep", *LISTED).status == 0
    kept, = cloud.boxes.values()
    kept.body["network"]["egressProxy"] = {"address": "proxy.example:1080"}
    c = begin(talk, HELLO, "-r")
    c.say("/network allow b.example", "has an egressProxy")
    assert "egressProxy" in kept.body["network"]


def test_two_secrets_of_one_host_are_one_rule(vendor, model, run, env, acme):
    env["MY_KEY"] = "second" + VALUE
    acme(HEADER + HEADER.replace("ACME", "KEY").replace(
        "Authorization", "X-Key").replace("api.acme", "*.acme").replace(
            "MY_KEY", "MY_ACME"))
    for name in WITH_WILD:
        cloud = vendor(name)
        model([DONE])
        assert task_of(run, name)("--keep").status == 0
        with Outside(cloud, ACCOUNTS) as outside:
            request = Leaving("GET", "/https/api.acme.example/", {})
            assert outside.answer(request) == {"authorized": True}
            assert request.headers["x-key"] == f"Bearer {VALUE}"
            request = Leaving("GET", "/https/b.acme.example/", {})
            outside.answer(request)
            assert set(request.headers) == {"x-key"}


def test_modal_has_either_a_list_of_hosts_or_secrets(vendor, model, run,
                                                     acme, config):
    cloud = vendor("modal")
    acme()
    model([DONE, DONE])
    r = task_of(run, "modal")(*LISTED)
    assert r.status == 2 and "secrets.ACME" in r.err
    assert "both limit a sandbox to a list of hosts and put" in r.err
    assert "--sandbox-network full" in r.err and not cloud.requests
    config("")
    assert task_of(run, "modal")(*LISTED).status == 0  # the controls
    acme()
    r = task_of(run, "modal")("--sandbox-network", "none")
    assert r.status == 0 and "[secrets] is not used" in r.err
    assert not cloud.secrets


def test_modal_sets_at_most_25_headers(vendor, model, run, acme):
    cloud = vendor("modal")
    hosts = "\", \"".join(f"h{i}.example" for i in range(26))
    acme(HEADER.replace("api.acme.example", hosts))
    model([DONE, DONE])
    r = task_of(run, "modal")()
    assert r.status != 0 and "at most 25 headers" in r.err
    assert not cloud.boxes and not cloud.secrets
    acme(HEADER.replace("api.acme.example", hosts[:hosts.rindex('", ')]))
    assert task_of(run, "modal")().status == 0  # the control


def test_modal_would_send_a_secret_for_all_below_a_name_to_the_name_too(
        vendor, model, run, acme):
    cloud = vendor("modal")
    acme(HEADER.replace("api.acme", "*.acme"))
    model([DONE])
    r = task_of(run, "modal")()
    assert r.status == 2 and "below a name" in r.err and not cloud.requests


def test_what_modal_refuses_leaves_no_secret(vendor, model, run, acme):
    cloud = vendor("modal")
    acme()
    model([DONE])
    cloud.fault("POST .*SandboxCreate$", grpc=(3, "no such region"))
    r = task_of(run, "modal")()
    assert r.status != 0 and "no such region" in r.err
    assert cloud.count(".*SecretDelete") and not cloud.secrets


def test_a_variable_of_modal_is_there_after_an_attach(vendor, model, run,
                                                      acme):
    vendor("modal")
    acme()
    server = model([execute("echo have $ACME_TOKEN"), DONE,
                    execute("echo have $ACME_TOKEN"), DONE])
    assert task_of(run, "modal")("--keep").status == 0
    first, = results(server)
    r = run("-n", "hi", "-y", "-M", "anthropic:m", "-r")
    assert r.status == 0, r.err
    assert re.search(r"have \S{20}", first)
    assert results(server)[-1].split()[:2] == first.split()[:2]


def test_two_secrets_that_vercel_could_not_both_apply(vendor, model, run,
                                                      acme):
    cloud = vendor("vercel")
    acme(HEADER + FORMAT.replace("[secrets.ACME]", "[secrets.KEY]").replace(
        "ACME_TOKEN", "KEY"))
    model([DONE])
    r = task_of(run, "vercel")()
    assert r.status != 0 and "one secret to a request" in r.err
    assert not cloud.requests
