"""test_network.py - which hosts a sandbox may reach: the list, who wins, what
each vendor gets, and what is refused before anything is created."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest

import services
from clouds import CREATE, DONE, task_of, vendor_fixture  # noqa: F401
from test_trust_c10_policy import managed  # noqa: F401

# pylint: disable=redefined-outer-name

LIST = ["crates.io", "*.npmjs.org"]
E2B = '[sandboxes.providers.e2b.params]\nnetwork = ["own.example"]\n'
ALL = '[network]\nallow = ["all.example"]\n'


def flags(*hosts):
    return [word for host in hosts for word in ("--sandbox-network", host)]


def sent(cloud, name):
    """The body of the request that created the sandbox."""
    for q in cloud.requests:
        if "config" in q:
            return q["config"]
        if q.get("body") and re.search(CREATE[name], q["line"]):
            return json.loads(q["body"])
    raise AssertionError("nothing was created")


WIRE = {
    "e2b": lambda b: b["network"] == {
        "allowOut": LIST, "denyOut": ["0.0.0.0/0"],
        "allowPublicTraffic": False} and
    "allow_internet_access" not in b,
    "vercel": lambda b: b["networkPolicy"] == {"allow": LIST},
    "daytona": lambda b: b["domainAllowList"] ==
    "crates.io,*.npmjs.org,npmjs.org" and "networkBlockAll" not in b,
    "langsmith": lambda b: b["proxy_config"] == {
        "access_control": {"allow_list": LIST}},
}


@pytest.mark.parametrize("name", WIRE)
def test_a_list_of_the_command_line_reaches_the_vendor(vendor, model, run,
                                                       name):
    cloud = vendor(name)
    model([DONE])
    hosts = LIST + (["npmjs.org"] if name == "daytona" else [])
    r = task_of(run, name)(*flags(*hosts))
    assert r.status == 0, r.err
    assert WIRE[name](sent(cloud, name))


DENIED = {
    "e2b": ("10.0.0.0/8", lambda b: b["network"] == {
        "denyOut": ["10.0.0.0/8"], "allowPublicTraffic": False}),
    "vercel": ("10.0.0.0/8", lambda b: b["networkPolicy"] == {
        "allow": {"*": []}, "subnets": {"deny": ["10.0.0.0/8"]}}),
    "langsmith": ("ads.example", lambda b: b["proxy_config"] == {
        "access_control": {"deny_list": ["ads.example"]}}),
}


@pytest.mark.parametrize("name", DENIED)
def test_all_hosts_but_the_denied_ones(vendor, model, run, name):
    host, good = DENIED[name]
    cloud = vendor(name)
    model([DONE])
    r = task_of(run, name)(*flags("full", f"!{host}"))
    assert r.status == 0, r.err
    assert good(sent(cloud, name))


@pytest.mark.parametrize("name, host, why", [
    ("e2b", "github.com:22", "limit a host to a port"),
    ("e2b", "!10.0.0.0/8", "allow some hosts and deny others"),
    ("vercel", "!ads.example", "deny a host by its name"),
    ("vercel", "github.com:22", "limit a host to a port"),
    ("daytona", "*.npmjs.org", "npmjs.org to the list"),
    ("daytona", "10.0.0.0/8", "either names or addresses"),
    ("daytona", "!10.0.0.0/8", "deny an address"),
    ("modal", "github.com:22", "a port other than 443"),
    ("modal", "!ads.example", "deny a host by its name"),
    ("runloop", "10.0.0.0/8", "it takes names"),
    ("runloop", "!ads.example", "deny a host by its name"),
    ("langsmith", "!ads.example", "allow some hosts and deny others"),
    ("deno", "10.0.0.0/8", "it takes single addresses"),
    ("deno", "!ads.example", "deny a host by its name"),
])
def test_what_a_vendor_cannot_enforce_is_refused_before_any_request(
        vendor, model, run, name, host, why):
    cloud = vendor(name)
    server = model([DONE])
    r = task_of(run, name)(*flags("crates.io", host))
    assert r.status == 2 and why in r.err, r.err
    assert host in r.err or "not both" in r.err or "in one list" in r.err
    assert not cloud.requests and not server.requests
    assert task_of(run, name)(*flags("crates.io")).status == 0


def test_more_names_than_daytona_takes(vendor, model, run):
    cloud = vendor("daytona")
    model([DONE])
    hosts = [f"h{i}.example" for i in range(21)]
    r = task_of(run, "daytona")(*flags(*hosts))
    assert r.status == 2 and "at most 20 names, not 21" in r.err
    assert not cloud.requests
    assert task_of(run, "daytona")(*flags(*hosts[:20])).status == 0


def test_a_provider_that_cannot_filter_says_so(model, run, config):
    server = model([DONE])
    r = task_of(run, "slurm")(*flags("crates.io"))
    assert r.status == 2 and "not supported by provider 'slurm'" in r.err
    config('[network]\nallow = ["crates.io"]\n')
    r = task_of(run, "slurm")()
    assert r.status == 2 and "config.toml:2:9: network.allow: slurm" in r.err
    config('[network]\nallow = ["crates.io"]\n'
           '[sandboxes.providers.local.params]\nnetwork = "none"\n')
    assert not server.requests
    assert task_of(run, "local")().status == 0


def test_the_nearest_list_counts(vendor, model, run, config):
    cloud = vendor("e2b")
    for text, args, host in ((ALL, (), "all.example"),
                             (ALL + E2B, (), "own.example"),
                             (ALL + E2B, flags("flag.example"),
                              "flag.example")):
        config(text)
        model([DONE])
        cloud.forget()
        assert task_of(run, "e2b")(*args).status == 0
        assert sent(cloud, "e2b")["network"]["allowOut"] == [host]


def test_an_empty_list_is_no_network(vendor, model, run, config):
    cloud = vendor("e2b")
    config("[network]\nallow = []\n")
    model([DONE])
    assert task_of(run, "e2b")().status == 0
    assert sent(cloud, "e2b")["allow_internet_access"] is False


@pytest.mark.parametrize("text, args, beyond", [
    (ALL, (), None),
    ('[network]\nallow = ["x.all.example"]\n', (), "x.all.example"),
    ("[network]\nallow = \"full\"\n", (), '"full"'),
    (E2B, (), "own.example"),
    ("", flags("flag.example"), "flag.example"),
    ("", flags("full"), '"full"'),
    ("", flags("none"), None),
    ("", flags("all.example:443"), "limit a host to a port"),
])
def test_the_policy_is_a_ceiling(vendor, model, managed, config, text, args,
                                 beyond):
    cloud = vendor("e2b")
    config(text)
    model([DONE])
    r = managed(ALL, "-n", "hi", "-M", "anthropic:m", "--sandbox", "e2b",
                *args)
    if beyond:
        assert r.returncode != 0 and beyond in r.stderr
        assert "port" in beyond or "managed_config.toml:2:9" in r.stderr
        assert not cloud.requests
    else:
        assert r.returncode == 0, r.stderr


def test_the_policy_alone_is_the_list(vendor, model, managed):
    cloud = vendor("e2b")
    model([DONE])
    r = managed(ALL, "-n", "hi", "-M", "anthropic:m", "--sandbox", "e2b")
    assert r.returncode == 0, r.stderr
    assert sent(cloud, "e2b")["network"]["allowOut"] == ["all.example"]


def test_a_narrower_list_of_the_user_is_not_replaced(vendor, model, managed,
                                                     config):
    cloud = vendor("e2b")
    config('[network]\nallow = ["a.example"]\n')
    model([DONE])
    r = managed('[network]\nallow = ["a.example", "b.example"]\n', "-n", "hi",
                "-M", "anthropic:m", "--sandbox", "e2b")
    assert r.returncode == 0, r.stderr
    assert sent(cloud, "e2b")["network"]["allowOut"] == ["a.example"]


def test_presets_are_data(run):
    r = run("sandbox", "network", "presets", "--json")
    assert r.status == 0
    sets = {p["name"]: p["hosts"] for p in json.loads(r.out)["data"]}
    assert set(sets) == {"python", "node", "rust", "go", "debian", "github"}
    assert "files.pythonhosted.org" in sets["python"]
    assert "  crates.io\n" in run("sandbox", "network", "presets").out


def test_a_preset_reaches_the_vendor(vendor, model, run):
    cloud = vendor("e2b")
    model([DONE])
    assert task_of(run, "e2b")(*flags("preset:python")).status == 0
    assert len(sent(cloud, "e2b")["network"]["allowOut"]) == 2


@pytest.mark.parametrize("host, verdict, words", [
    ("crates.io", "allowed", ["by crates.io, of preset:rust",
                             "config.toml:2:9: network.allow"]),
    ("x.npmjs.org", "allowed", ["by *.npmjs.org ("]),
    ("npmjs.org", "refused", ["by "]),
    ("crates.io:22", "refused", []),
    ("1.2.3.4", "refused", []),
])
def test_check_says_which_entry_decides(run, config, host, verdict, words):
    config('[network]\nallow = ["preset:rust", "*.npmjs.org"]\n')
    r = run("sandbox", "network", "check", host, "--sandbox", "e2b")
    assert f": {verdict} in a new e2b sandbox" in r.out, r.err
    assert all(word in r.out for word in words)
    assert "DNS" in r.out and r.status == (verdict != "allowed")
    r = run("sandbox", "network", "check", host, "--sandbox", "e2b", "--json")
    assert json.loads(r.out)["data"]["verdict"] == verdict


def test_check_takes_the_list_of_the_command_line(run, config):
    config('[network]\nallow = ["crates.io"]\nask = true\n')
    check = ("sandbox", "network", "check", "a.example", "--sandbox")
    r = run(*check, "local")
    assert r.status == 1 and ": refused in a new local sandbox" in r.out
    assert "In a chat you are asked about it first" in r.out
    r = run(*check, "local", *flags("a.example", "!b.example"))
    assert r.status == 0, r.err
    assert ": allowed in a new local sandbox\n  by a.example (--sa" in r.out
    r = run(*check, "local", *flags("full", "!a.example"))
    assert r.status == 1 and "by !a.example (--sandbox-network)" in r.out
    assert "In a chat" not in r.out
    r = run(*check, "e2b", *flags("a.example:22"))
    assert r.status == 2 and "limit a host to a port" in r.err


def test_check_says_default_only_if_nobody_knows(run, config):
    check = ("sandbox", "network", "check", "a.example", "--sandbox")
    assert ": default in a new e2b sandbox" in run(*check, "e2b").out
    assert ": refused in a new local sandbox" in run(*check, "local").out
    r = run(*check, "none")
    assert r.status == 0 and ": allowed on this machine" in r.out
    r = run(*check, "none", *flags("a.example"))
    assert r.status == 2 and "requires a --sandbox provider" in r.err


def test_check_of_what_cannot_be_created(run, config):
    config('[network]\nallow = ["crates.io:22"]\n')
    r = run("sandbox", "network", "check", "crates.io", "--sandbox", "e2b")
    assert r.status == 2 and "limit a host to a port" in r.err
    r = run("sandbox", "network", "check", "https://x.example/", "--sandbox",
            "e2b")
    assert r.status == 2 and "only its host" in r.err


@pytest.mark.parametrize("line", [
    'network_allow = ["crates.io"]', 'network_deny = ["0.0.0.0/0"]',
    "network_block = true", 'domain_allow = ["crates.io"]'])
def test_a_key_of_before_is_refused_and_not_ignored(vendor, model, run, config,
                                                    line):
    cloud = vendor("daytona")
    server = model([DONE])
    config(f"[sandboxes.providers.daytona.params]\n{line}\n")
    r = task_of(run, "daytona")()
    assert r.status == 2 and "is now written as network" in r.err
    assert "config.toml:2:" in r.err
    assert not cloud.requests and not server.requests


def test_on_this_machine_a_list_is_named_once_and_a_policy_is_an_error(
        model, run, managed, config):
    config(ALL)
    server = model([DONE])
    r = run("-n", "hi", "-M", "anthropic:m")
    assert r.status == 0, r.err
    assert r.err.count("[network] allow limits sandboxes only") == 1
    r = run("-n", "hi", "-M", "anthropic:m", *flags("a.example"))
    assert r.status == 2 and "requires a --sandbox provider" in r.err
    config("")
    asked = len(server.requests)
    r = managed(ALL, "-n", "hi", "-M", "anthropic:m")
    assert r.returncode != 0
    assert "cannot limit that of this machine" in r.stderr
    assert len(server.requests) == asked
    assert managed(None, "-n", "hi", "-M", "anthropic:m").returncode == 0


PROGRAM = r'''#!/usr/bin/python3
import base64, json, os, subprocess, sys
HERE = os.path.dirname(os.path.abspath(__file__))
CAN = open(os.path.join(HERE, "can")).read().split()
for line in sys.stdin:
    ask = json.loads(line)
    method, params = ask.get("method"), ask.get("params", {})
    answer = {"result": {}}
    if method == "initialize":
        answer["result"] = {"protocol": 1, "capabilities": CAN,
                            "workdir": "/tmp"}
    elif method == "create":
        with open(os.path.join(HERE, "created"), "a") as f:
            f.write(json.dumps(params.get("network")) + "\n")
        answer["result"] = {"id": "b1"}
    elif method == "execute":
        p = subprocess.run(["sh", "-c", params["command"]],
                           stdin=subprocess.DEVNULL, capture_output=True)
        answer["result"] = {"exit_code": p.returncode, "data":
                            base64.b64encode(p.stdout).decode()}
    elif method != "remove":
        answer = {"error": {"code": -32601, "message": "no"}}
    if "id" in ask:
        print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], **answer}),
              flush=True)
'''


@pytest.mark.parametrize("can, hosts, told", [
    ("network network_list", ["a.example:22", "10.0.0.0/8"],
     ["a.example:22", "10.0.0.0/8"]),
    ("network network_list network_deny", ["full", "!a.example"],
     ["full", "!a.example"]),
    ("network", ["none"], "none"),
    ("attach", [], None),
    ("network network_list", ["full", "!a.example"], "deny a host"),
    ("network", ["a.example"], "cannot filter by host"),
    ("attach", ["none"], "cannot control the network"),
    ("network network_list netwrok_deny", ["a.example"],
     "unknown capability 'netwrok_deny'"),
])
def test_a_program_says_what_it_can_enforce(model, run, config, tmp_path, can,
                                            hosts, told):
    program = tmp_path / "acme" / "acme"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    (program.parent / "can").write_text(can)
    config(f'[sandboxes.providers.acme]\ncommand = ["{program}"]\n')
    model([DONE])
    r = task_of(run, "acme")(*flags(*hosts))
    created = program.parent / "created"
    if isinstance(told, str) and told != "none":
        assert r.status != 0 and told in r.err
        assert not created.exists()
    else:
        assert r.status == 0, r.err
        assert json.loads(created.read_text()) == told


CLASS = """
import pathlib


class Provider:
    def get_or_create(self, sandbox_id=None, **params):
        pathlib.Path(__file__).with_name("created").touch()
        raise RuntimeError("a sandbox was asked for")
"""


@pytest.fixture
def created(tmp_path, env):
    """The file that exists once the class has been asked for a sandbox."""
    (tmp_path / "acme_net.py").write_text(CLASS)
    env["PYTHONPATH"] = str(tmp_path)
    return tmp_path / "created"


ACME = '[sandboxes.providers.acme]\nclass_path = "acme_net:Provider"\n'
HOSTS = ["a.example"], ["full", "!a.example"], ["none"]


@pytest.mark.parametrize("hosts", HOSTS)
def test_a_class_is_not_asked_for_a_network(model, run, config, created,
                                            hosts):
    config(ACME)
    server = model([DONE])
    r = task_of(run, "acme")(*flags(*hosts))
    assert r.status == 2 and "'acme'" in r.err, r.err
    assert "--sandbox-network" in r.err
    assert not created.exists() and not server.requests
    assert task_of(run, "acme")().status != 0
    assert created.exists()


@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize("name", services.ALL)
def test_a_described_service_is_not_asked_for_a_network(
        model, run, config, env, top, name, hosts):
    with services.ALL[name]() as cloud:
        env.update(cloud.env)
        config(cloud.describe(top))
        server = model([DONE])
        r = task_of(run, name)(*flags(*hosts))
        assert r.status == 2 and f"'{name}'" in r.err, r.err
        assert "--sandbox-network" in r.err
        assert not cloud.requests and not server.requests
        assert task_of(run, name)().status == 0
        assert cloud.requests


@pytest.mark.parametrize("name", ["acme", "sprites"])
def test_a_list_of_the_config_is_refused_there_too(model, run, config, env,
                                                   top, created, name):
    with services.ALL["sprites"]() as cloud:
        env.update(cloud.env)
        config(cloud.describe(top) + ALL + ACME)
        model([DONE])
        r = task_of(run, name)()
        assert r.status == 2 and "network.allow" in r.err, r.err
        assert not created.exists() and not cloud.requests


@pytest.mark.parametrize("host, secrets", [
    ("api.acme.example", "ACME"), ("api.acme.example:443", "ACME"),
    ("api.acme.example:8443", ""), ("acme.example", ""), ("10.0.0.1:443", "")])
def test_check_says_which_secrets_a_host_gets(run, config, host, secrets):
    config('[network]\nallow = ["*.acme.example"]\n[secrets.ACME]\n'
           'env = "ACME_TOKEN"\nhosts = ["api.acme.example"]\n'
           'value_env = "THE_VALUE"\n')
    check = ("sandbox", "network", "check", host, "--sandbox", "local")
    assert json.loads(run(*check, "--json").out)["data"]["secrets"] == secrets
    assert ("get secrets.ACME" in run(*check).out) == bool(secrets)


def test_doctor_says_which_provider_can_enforce_list_and_secrets(
        run, config, env):
    env.update(E2B_API_KEY="e2b_x", DAYTONA_API_KEY="dtn_x")

    def rows():
        listed = json.loads(run("doctor", "--json").out)["data"]["checks"]
        return {r["name"]: f"{r['status']}: {r['text']}" for r in listed}
    assert "local network" not in rows()
    config('[network]\nallow = ["a.example:22"]\n[secrets.ACME]\n'
           'env = "ACME_TOKEN"\nhosts = ["api.acme.example"]\n'
           'value_env = "THE_VALUE"\n')
    found = rows()
    assert found["local network"] == "ok: can enforce your list of hosts"
    assert found["local secrets"] == "ok: can hold your secrets"
    assert found["daytona secrets"] == "ok: can hold your secrets"
    assert found["e2b network"].startswith("remark: ")
    assert "a.example:22" in found["e2b network"]
    assert found["e2b secrets"].startswith("remark: ")
    assert "secrets.ACME: e2b cannot" in found["e2b secrets"]
    assert "none network" not in found
