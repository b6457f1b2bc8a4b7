"""test_network_live.py - the hosts of a sandbox that exists: read back when
dcode attaches, and changed while it runs."""
# SPDX-License-Identifier: MIT
import json
import sqlite3

import pytest

from clouds import DONE, task_of, vendor_fixture  # noqa: F401
from slash_chat import HELLO, begin, talk  # noqa: F401
from test_trust_c10_policy import managed  # noqa: F401

# pylint: disable=redefined-outer-name

FLAG = ("--sandbox-network", "a.example")


def bodies(cloud, method, end):
    return [json.loads(q["body"]) for q in cloud.requests
            if q["method"] == method and q["path"].split("?")[0].endswith(end)]


WIRE = {
    "e2b": lambda cloud: bodies(cloud, "PUT", "/network") == [
        {"allowOut": ["a.example", "b.example"], "denyOut": ["0.0.0.0/0"]}],
    "vercel": lambda cloud: bodies(cloud, "POST", "/network-policy") == [
        {"allow": ["a.example", "b.example"]}] and {
            "networkPolicy": {"allow": ["a.example", "b.example"]}} in [
            json.loads(q["body"]) for q in cloud.requests
            if q["method"] == "PATCH"],
    "daytona": lambda cloud: bodies(cloud, "POST", "/network-settings") == [
        {"domainAllowList": "a.example,b.example"}],
    "runloop": lambda cloud: {
        "allowed_hostnames": ["a.example", "b.example"]} in [
            json.loads(q["body"]) for q in cloud.requests
            if q["line"].startswith("POST /v1/network-policies/np")],
    "langsmith": lambda cloud: {
        "proxy_config": {"access_control": {
            "allow_list": ["a.example", "b.example"]}}} in [
                json.loads(q["body"]) for q in cloud.requests
                if q["method"] == "PATCH"],
}


def test_a_host_is_added_to_a_sandbox_of_modal(talk, vendor):
    cloud = vendor("modal")
    c = begin(talk, HELLO, "--sandbox", "modal", *FLAG)
    c.say("/network allow b.example:443", "may now reach b.example:443")
    box, = cloud.boxes.values()
    access = box.ask.definition.network_access
    assert list(access.allowed_domains) == ["a.example", "b.example"]
    c.say("/network allow b.example:22", "a port other than 443")


@pytest.mark.parametrize("name", WIRE)
def test_a_host_is_added_while_the_sandbox_runs(talk, vendor, name):
    cloud = vendor(name)
    c = begin(talk, HELLO, "--sandbox", name, *FLAG)
    c.say("/network", "hosts      a.example")
    c.say("/network allow b.example", "may now reach b.example")
    c.say("/network", "hosts      a.example, b.example")
    assert WIRE[name](cloud)
    c.say("/network allow https://x.example/", "it is an address of a page")


def test_a_host_is_added_to_a_local_sandbox(talk, home):
    c = begin(talk, HELLO, "--sandbox", "local", *FLAG)
    c.say("/network allow b.example", "may now reach b.example")
    c.say("/network", "hosts      a.example, b.example")
    stored, = home.glob(".deepagents/sandboxes/*/sandbox.json")
    assert json.loads(stored.read_text())["hosts"] == ["a.example", "b.example"]
    c.say("/network allow 10.0.0.1", "needs a port with an address")


@pytest.mark.parametrize("name", ["local", "e2b"])
def test_a_sandbox_with_an_added_host_is_resumed(talk, vendor, config, run,
                                                 name, model):
    """The settings have a list, and the user has added to it himself."""
    if name != "local":
        vendor(name)
    c = begin(talk, HELLO, "--sandbox", name, "--on-exit", "keep", *FLAG)
    c.say("hello", "there.")
    c.say("/network allow b.example", "may now reach b.example")
    c.say("/quit", "dcode -r")
    model([DONE, DONE])
    config('[network]\nallow = ["a.example"]\n')
    r = run("-r", "-n", "go on", "-M", "anthropic:m")
    assert r.status == 0, r.err
    # the control: less in the settings is less for a sandbox that has more
    model([DONE] * 4)
    config('[network]\nallow = ["c.example"]\n')
    r = run("-r", "-n", "go on", "-M", "anthropic:m")
    assert r.status != 0 and "may reach a.example" in r.err


def test_a_new_sandbox_of_the_chat_gets_the_added_host(talk, vendor):
    cloud = vendor("e2b")
    c = begin(talk, HELLO, "--sandbox", "e2b", *FLAG)
    c.say("/network allow b.example", "may now reach b.example")
    c.say("/sandbox switch none", "now run on this machine")
    c.say("/network", "not limited")
    c.say("/sandbox switch e2b", "now run in a sandbox of e2b")
    made = [json.loads(q["body"])["network"]["allowOut"]
            for q in cloud.requests if "templateID" in q.get("body", "")]
    assert made == [["a.example"], ["a.example", "b.example"]]


def test_what_the_vendor_cannot_change_is_said(talk, vendor):
    vendor("deno")
    c = begin(talk, HELLO, "--sandbox", "deno", *FLAG)
    c.say("/network allow b.example", "cannot change the network")


def test_an_open_network_is_no_list_to_add_to(talk, vendor):
    vendor("e2b")
    c = begin(talk, HELLO, "--sandbox", "e2b", "--sandbox-network", "full")
    c.say("/network allow b.example", "not a list of hosts")


LIMIT = '[network]\nallow = ["a.example"]\n'


def kept(vendor, model, run, name, *flags):
    """An emulator, and the id of a sandbox that was kept in it."""
    cloud = vendor(name)
    model([DONE])
    r = task_of(run, name)("--keep", *flags)
    assert r.status == 0, r.err
    listed = run("sandbox", "list", "--json")
    row, = json.loads(listed.out)["data"]
    return cloud, row["id"]


@pytest.mark.parametrize("name", WIRE)
def test_an_attached_sandbox_may_reach_no_more_than_the_list(
        vendor, model, run, config, name):
    _, narrow = kept(vendor, model, run, name, *FLAG)
    config(LIMIT)
    r = task_of(run, name)("--sandbox-id", narrow)
    assert r.status == 0, r.err
    config('[network]\nallow = ["b.example"]\n')
    r = task_of(run, name)("--sandbox-id", narrow)
    assert r.status != 0 and "may reach a.example" in r.err
    assert "config.toml:2:9: network.allow limits its network" in r.err


@pytest.mark.parametrize("name", WIRE)
def test_an_attached_sandbox_with_an_open_network_is_refused(
        vendor, model, run, config, name):
    _, open_one = kept(vendor, model, run, name, "--sandbox-network", "full")
    config(LIMIT)
    r = task_of(run, name)("--sandbox-id", open_one)
    assert r.status != 0 and "may reach every host" in r.err


# vendors that do not tell the list: what dcode has recorded counts
@pytest.mark.parametrize("name", ["deno", "modal"])
@pytest.mark.parametrize("way", ["--sandbox-id", "-r"])
def test_a_list_that_cannot_be_read_back_is_the_recorded_one(
        vendor, model, run, config, name, way):
    _, box = kept(vendor, model, run, name, *FLAG)
    task = task_of(run, name)

    def again():
        model([DONE] * 4)
        return (task("--sandbox-id", box) if way == "--sandbox-id" else
                task("-r", "--keep"))
    config(LIMIT)
    r = again()
    assert r.status == 0, r.err
    config('[network]\nallow = ["b.example"]\n')
    r = again()
    assert r.status != 0 and "may reach a.example" in r.err
    assert "network.allow limits its network" in r.err
    assert ("leave out --sandbox-id" if way == "--sandbox-id" else
            "dcode sandbox rm dcode-") in r.err
    config("")
    assert again().status == 0


@pytest.mark.parametrize("name", ["deno", "modal"])
def test_a_list_that_was_not_recorded_is_an_error(vendor, model, run, config,
                                                  home, name):
    """Another dcode has made the sandbox, or an older one."""
    _, box = kept(vendor, model, run, name, *FLAG)
    with sqlite3.connect(home / ".deepagents/.state/dcode.db") as db:
        assert db.execute("SELECT network FROM ledger").fetchall() == [
            ("a.example\n",)]
        db.execute("UPDATE ledger SET network=''")
    config(LIMIT)
    r = task_of(run, name)("--sandbox-id", box)
    assert r.status != 0 and "does not say which hosts" in r.err
    assert "Start a new sandbox: leave out --sandbox-id" in r.err
    config("")
    assert task_of(run, name)("--sandbox-id", box).status == 0


def test_the_policy_is_compared_with_the_recorded_list(vendor, model, run,
                                                       managed):
    _, box = kept(vendor, model, run, "deno", "--sandbox-network", "full")
    args = ("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "deno",
            "--sandbox-id", box)
    r = managed(LIMIT, *args)
    assert r.returncode != 0 and "may reach every host" in r.stderr
    assert managed(None, *args).returncode == 0


def test_what_a_killed_dcode_left_open_is_closed_where_it_is_not_told(
        vendor, model, run):
    cloud, _ = kept(vendor, model, run, "modal", *FLAG)
    box, = cloud.boxes.values()
    domains = box.ask.definition.network_access.allowed_domains
    domains.append("left.example")
    model([DONE] * 2)
    r = task_of(run, "modal")("-r", "--keep")
    assert r.status == 0, r.err
    assert list(box.ask.definition.network_access.allowed_domains) == [
        "a.example"]


def test_an_added_host_counts_for_who_attaches_where_it_is_not_told(
        talk, vendor, model, run, config):
    """A list that is recorded only; a chat has added a host to it."""
    cloud = vendor("modal")
    c = begin(talk, HELLO, "--sandbox", "modal", "--on-exit", "keep", *FLAG)
    c.say("/network allow b.example", "may now reach b.example")
    box, = cloud.boxes
    model([DONE] * 4)
    task = task_of(run, "modal")
    both = '[network]\nallow = ["a.example", "b.example"]\n'
    config(both)
    r = task("--sandbox-id", box)
    assert r.status != 0 and "another dcode uses the sandbox" in r.err
    assert "leave out --sandbox-id" in r.err
    config("")
    assert task("--sandbox-id", box).status == 0
    c.say("/quit", "dcode -r")
    config(LIMIT)
    r = task("--sandbox-id", box)
    assert r.status != 0 and "the sandbox may reach b.example" in r.err
    config(both)
    assert task("--sandbox-id", box).status == 0


def test_a_list_beyond_the_limit_is_not_set_again(vendor, model, run, config):
    cloud, _ = kept(vendor, model, run, "modal", *FLAG, "--sandbox-network",
                    "b.example")
    box, = cloud.boxes.values()

    def domains():
        return box.ask.definition.network_access.allowed_domains
    domains()[:] = ["a.example"]  # as if somebody had narrowed it
    model([DONE] * 4)
    config(LIMIT)
    r = task_of(run, "modal")("-r", "--keep")
    assert r.status != 0 and "may reach b.example" in r.err
    assert list(domains()) == ["a.example"]
    config("")
    r = task_of(run, "modal")("-r", "--keep")
    assert r.status == 0, r.err
    assert list(domains()) == ["a.example", "b.example"]


def test_the_list_is_recorded_before_the_vendor_is_asked(vendor, model, run,
                                                         home):
    cloud = vendor("e2b")
    cloud.fault("POST /v2/sandboxes", times=None, status=400, body={
        "code": 400, "message": "not now"})
    model([DONE])
    assert task_of(run, "e2b")(*FLAG).status != 0
    with sqlite3.connect(home / ".deepagents/.state/dcode.db") as db:
        assert db.execute("SELECT network FROM ledger").fetchall() == [
            ("a.example\n",)]


def test_the_policy_holds_for_an_attached_sandbox(vendor, model, run, managed):
    _, box = kept(vendor, model, run, "e2b", "--sandbox-network", "full")
    args = ("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "e2b",
            "--sandbox-id", box)
    r = managed(LIMIT, *args)
    assert r.returncode != 0 and "may reach every host" in r.stderr
    assert managed(None, *args).returncode == 0


def test_a_change_that_the_vendor_refuses_changes_nothing(talk, vendor):
    cloud = vendor("e2b")
    c = begin(talk, HELLO, "--sandbox", "e2b", *FLAG)
    cloud.fault("PUT /sandboxes/", times=None, status=400, body={
        "code": 400, "message": "no such host"})
    c.say("/network allow b.example", "no such host")
    c.say("/network", "hosts      a.example")
