"""test_port_url.py - dcode sandbox url: a vendor's address for a port."""
# SPDX-License-Identifier: MIT
import json
import time
import urllib.error
import urllib.request

import pytest
from test_forward import free_port, fronted, page  # noqa: F401

PROTECTED = ["daytona", "langsmith", "e2b", "modal", "runloop"]


@pytest.fixture
def made(run, config):
    """made(provider, **params) -> the id of a new sandbox."""
    names = []

    def create(provider, **params):
        if params:
            config(f"[sandboxes.providers.{provider}.params]\n" + "".join(
                f"{k} = {json.dumps(v)}\n" for k, v in params.items()))
        done = run("sandbox", "create", "--sandbox", provider)
        assert done.status == 0, done.err
        names.append(done.out.strip())
        return names[-1]
    yield create
    for name in names:
        assert run("sandbox", "rm", "--force", name).status == 0


@pytest.fixture
def held(start):
    """held(*args) -> (process, its first line), until Ctrl-C."""
    def begin(*args):
        p = start("sandbox", "url", *map(str, args))
        return p, p.p.stdout.readline().strip()
    return begin


def fetch(url, headers=()):
    try:
        ask = urllib.request.Request(url + "/", headers=dict(headers))
        with urllib.request.urlopen(ask, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as e:
        return e.code
    except OSError:
        return 0


@pytest.mark.parametrize("name", PROTECTED)
def test_the_token_is_printed_only_when_asked_for(
        name, run, vendor, made, env, tmp_path, page):  # noqa: F811
    cloud = vendor(name)
    far = name in ("e2b", "runloop")
    if far:
        front = fronted(name, cloud, env, tmp_path)
    box = made(name)
    plain = run("sandbox", "url", box, page)
    assert plain.status == 0 and "--token prints it" in plain.err
    url = plain.out.strip()
    assert url.startswith("http") and "\n" not in url
    said = json.loads(run("sandbox", "url", "--json", box, page).out)["data"]
    assert not said["public"] and "token" not in said
    shown = run("sandbox", "url", "--token", box, page).out.splitlines()
    header, _, token = shown[1].partition(": ")
    assert header == said["header"]
    assert token not in plain.out + plain.err
    whole = run("sandbox", "url", "--token", "--json", box, page)
    assert json.loads(whole.out)["data"]["token"]
    if not far:
        assert fetch(shown[0]) == 401
        assert fetch(shown[0], {header: token}) == 200
    else:
        assert front.zone in url
    assert "public" not in plain.out + plain.err


@pytest.mark.parametrize("name", ["vercel", "deno"])
def test_a_public_address_needs_the_flag(name, run, vendor, made):
    cloud = vendor(name)
    box = made(name)
    before = len(cloud.requests)
    done = run("sandbox", "url", box, 3000)
    assert done.status == 2 and "only public addresses" in done.err
    assert "--public" in done.err and not done.out
    assert not any("expose" in r["line"] or r["method"] == "PATCH"
                   for r in cloud.requests[before:])
    if name == "vercel":
        done = run("sandbox", "forward", box, 3000)
        assert done.status == 2 and "--public" in done.err
        assert not any(k.body["ports"] for k in cloud.boxes.values())


@pytest.mark.parametrize("name", ["local", "langsmith"])
def test_what_has_no_public_address_says_so(name, run, vendor, made):
    if name != "local":
        vendor(name)
    box = made(name)
    done = run("sandbox", "url", "--public", box, 3000)
    assert done.status == 2 and "no public addresses" in done.err


def test_a_sandbox_without_addresses_names_the_forward(run, made):
    done = run("sandbox", "url", made("local"), 3000)
    assert done.status == 2 and "`dcode sandbox forward`" in done.err


def test_agentcore_says_why_there_is_no_way_to_a_port(run, vendor, made):
    vendor("agentcore")
    box = made("agentcore")
    for verb in ("forward", "url"):
        done = run("sandbox", verb, box, 3000)
        assert done.status == 2 and "only API calls" in done.err


def closed_again(p):
    p.signal()
    done = p.wait(30)
    assert done.status == 0 and "closed again" in done.err
    assert "open to anybody who knows this address, until you press Ctrl-C" \
        in done.err


def test_daytona_closes_a_public_address_at_the_end(
        vendor, made, held, page):  # noqa: F811
    vendor("daytona")
    p, url = held("--public", made("daytona"), page)
    assert fetch(url) == 200
    closed_again(p)
    assert fetch(url) != 200


def test_runloop_closes_its_open_tunnel_at_the_end(run, vendor, made, held):
    cloud = vendor("runloop")
    box = made("runloop")
    kept, = cloud.boxes.values()
    assert run("sandbox", "url", box, 3000).status == 0
    assert kept.tunnel["auth_mode"] == "authenticated"
    p, url = held("--public", box, 3000)
    assert kept.tunnel["auth_mode"] == "open"
    assert f"3000-{kept.tunnel['tunnel_key']}.tunnel." in url
    refused = run("sandbox", "url", box, 3000)
    assert refused.status == 2 and "its tunnel is open" in refused.err
    closed_again(p)
    assert kept.tunnel is None


def test_vercel_closes_only_the_port_that_it_opened(vendor, made, held):
    cloud = vendor("vercel")
    box = made("vercel", ports=["8080"])
    kept, = cloud.boxes.values()
    assert kept.body["ports"] == [8080]
    p, url = held("--public", box, 3000)
    assert kept.body["ports"] == [8080, 3000] and "-3000.vercel.run" in url
    closed_again(p)
    assert kept.body["ports"] == [8080]
    p, url = held("--public", box, 8080)
    p.signal()
    assert "still open: it was before" in p.wait(30).err
    assert kept.body["ports"] == [8080]


def test_a_port_that_cannot_be_closed_again_is_said(run, vendor, made):
    cloud = vendor("deno")
    done = run("sandbox", "url", "--public", made("deno"), 3000)
    assert done.status == 0
    assert "until the sandbox ends: its vendor cannot close it" in done.err
    kept, = cloud.boxes.values()
    assert kept.domains == {done.out.strip().removeprefix("https://"): 3000}


def test_modal_opens_only_ports_of_its_params(run, vendor, made):
    vendor("modal")
    box = made("modal", ports=["3000", "8080"])
    done = run("sandbox", "url", "--public", box, 8080)
    assert done.status == 0 and done.out.endswith(".w.modal.host\n")
    assert "cannot close it" in done.err
    done = run("sandbox", "url", "--public", box, 3001)
    assert done.status == 2 and "ports of [sandboxes.providers.modal" in \
        done.err


@pytest.mark.parametrize("ports", [["x"], ["0"], ["65536"],
                                   [str(n) for n in range(1, 17)]])
def test_a_bad_list_of_ports_creates_nothing(run, vendor, config, ports):
    cloud = vendor("vercel")
    config("[sandboxes.providers.vercel.params]\n"
           f"ports = {json.dumps(ports)}\n")
    done = run("sandbox", "create", "--sandbox", "vercel")
    assert done.status != 0 and "ports: " in done.err
    assert not cloud.count("POST .*/sandboxes")


def test_e2b_that_was_made_without_protection_is_public(
        run, vendor, made):
    """A sandbox of somebody else, or of an older dcode."""
    cloud = vendor("e2b")
    box = made("e2b")
    kept, = cloud.boxes.values()
    assert kept.body["network"]["allowPublicTraffic"] is False
    refused = run("sandbox", "url", "--public", box, 3000)
    assert refused.status == 2 and "are protected" in refused.err
    kept.traffic = None
    refused = run("sandbox", "url", box, 3000)
    assert refused.status == 2 and "anybody reaches the ports" in refused.err
    done = run("sandbox", "url", "--public", box, 3000)
    assert done.status == 0 and "cannot close it" in done.err


def test_an_answer_without_a_token_is_no_protected_address(
        run, vendor, made):
    cloud = vendor("runloop")
    box = made("runloop")
    cloud.fault("POST .*/enable_tunnel", replace={"auth_mode": "open"})
    done = run("sandbox", "url", box, 3000)
    assert done.status == 1 and "another tunnel" in done.err and not done.out


def browser(env, tmp_path):
    """The file to which a browser of the user's writes its address."""
    program, seen = tmp_path / "browse", tmp_path / "seen"
    program.write_text(f'#!/bin/sh\necho "$1" >{seen}.new\n'
                       f'mv {seen}.new {seen}\n')
    program.chmod(0o755)
    env["BROWSER"] = str(program)
    return seen


def test_open_shows_the_port_through_this_machine(
        vendor, made, held, env, tmp_path, page):  # noqa: F811
    cloud = vendor("daytona")
    seen = browser(env, tmp_path)
    here = free_port()
    p, said = held("--open", made("daytona"), f"{here}:{page}")
    assert f"127.0.0.1:{here}" in said
    deadline = time.monotonic() + 30
    while not seen.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    address = seen.read_text().strip()
    assert address == f"http://127.0.0.1:{here}/"
    assert fetch(address.rstrip("/")) == 200
    p.signal()
    assert p.wait(30).status == 0
    assert all(v.token not in address for v in cloud.previews)


@pytest.mark.parametrize("port", ["0", "x", "8080:3000", "65536"])
def test_what_is_no_port_is_refused(run, made, port):
    done = run("sandbox", "url", made("local"), port)
    assert done.status == 2
