"""test_sdk_network.py - a list of hosts, sent as the vendors' SDKs send it."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest

import sdk
from clouds import emulator, vendor_fixture  # noqa: F401
from slash_chat import HELLO, begin, talk  # noqa: F401

# pylint: disable=redefined-outer-name

# What of a request is about the network; in the order of the requests.
PARTS = {"e2b": ("network", "allowOut", "denyOut"),
         "vercel": ("networkPolicy", "allow"),
         "daytona": ("domainAllowList",),
         "runloop": ("allow_all", "allowed_hostnames"),
         "langsmith": ("proxy_config",),
         "deno": ("allow_net",),
         "modal": ("network_access",)}
# The list of Deno's sandboxes is fixed when they are created.
FIXED = ("deno",)
# The SDK sends fields that providers/modal/modal.proto does not list.
LENIENT = {"modal": {"lenient": True}}


def content(request):
    """The JSON of a request: its body, a message, Deno's header."""
    if "message" in request:
        message = request["message"]
        return {**message.pop("definition", {}), **message}
    if "config" in request:
        return request["config"]
    try:
        body = json.loads(bytes(request.get("raw", b"")) or b"{}")
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def operation(request):
    """Method and path, without what names something."""
    path = re.sub(r"^/api(?=/v\d)|/(dcode-\w+|sbx_\w+|np_\w+|[0-9a-z]{20}|"
                  r"[0-9a-f-]{36}|[a-z]+(-[a-z]+)+-\w+)(?=/|$)",
                  lambda m: "/ID" if m.group(1) else "", request["path"])
    path = path.replace("/create_and_await_running", "")
    # The SDK creates at /v3, which only images need: see vercel.c.
    if request["method"] != "GET":
        path = path.replace("/v3/sandboxes", "/v2/sandboxes")
    return request["method"], path.removesuffix("V2")


def about_network(name, requests):
    """[(method, path, the members that are about the network)]"""
    found = []
    for q in requests:
        if q["method"] == "GET" and "config" not in q or \
                q["status"] >= 300:
            continue
        parts = {k: v for k, v in content(q).items() if k in PARTS[name]}
        if parts or q["path"].endswith("/delete"):
            found.append((*operation(q), parts))
    return found


@pytest.mark.parametrize("name", PARTS)
def test_the_sdk_makes_and_changes_a_list_as_dcode_does(top, name, vendor,
                                                        talk):
    with emulator(name, **LENIENT.get(name, {})) as cloud:
        sdk.run(top, "network.mjs", cloud.env, name)
        theirs = about_network(name, cloud.requests)
        assert cloud.violations == []
    cloud = vendor(name)
    c = begin(talk, HELLO, "--sandbox", name, "--sandbox-network", "a.example")
    c.say("/network allow b.example", "cannot change the network"
          if name in FIXED else "may now reach b.example")
    c.keys("C-d")
    assert c.status() == 0
    ours = about_network(name, cloud.requests)
    assert len(theirs) >= (1 if name in FIXED else 2) and ours == theirs
