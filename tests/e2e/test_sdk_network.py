"""test_sdk_network.py - a list of hosts, sent as the vendors' SDKs send it."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest

import sdk
import sdk_traffic as traffic
from clouds import vendor_fixture  # noqa: F401
from slash_chat import HELLO, begin, talk  # noqa: F401

# pylint: disable=redefined-outer-name

# What of a request is about the network; in the order of the requests.
PARTS = {"e2b": ("network", "allowOut", "denyOut"),
         "vercel": ("networkPolicy", "allow"),
         "daytona": ("domainAllowList",),
         "runloop": ("allow_all", "allowed_hostnames")}


def about_network(name, requests):
    """[(method, path without what names something, the members)]"""
    found = []
    for q in requests:
        if q["method"] not in ("POST", "PUT", "PATCH") or q["status"] >= 300:
            continue
        text = bytes(q.get("raw", b"")) or b"{}"
        try:
            body = json.loads(text)
        except ValueError:
            continue
        parts = {k: v for k, v in body.items() if k in PARTS[name]} \
            if isinstance(body, dict) else {}
        path = re.sub(r"^/api(?=/v\d)|/(dcode-\w+|sbx_\w+|np_\w+|[0-9a-z]{20}|"
                      r"[0-9a-f-]{36}|[a-z]+(-[a-z]+)+-\w+)(?=/|$)",
                      lambda m: "/ID" if m.group(1) else "", q["path"])
        path = path.replace("/create_and_await_running", "")
        # The SDK creates at /v3, which only images need: see vercel.c.
        path = path.replace("/v3/sandboxes", "/v2/sandboxes")
        if parts or path.endswith("/delete"):
            found.append((q["method"], path, parts))
    return found


@pytest.mark.parametrize("name", PARTS)
def test_the_sdk_makes_and_changes_a_list_as_dcode_does(top, name, vendor,
                                                        talk):
    with traffic.emulator(name) as cloud:
        sdk.run(top, "network.mjs", cloud.env, name)
        theirs = about_network(name, cloud.requests)
        assert cloud.violations == []
    cloud = vendor(name)
    c = begin(talk, HELLO, "--sandbox", name, "--sandbox-network", "a.example")
    c.say("/network allow b.example", "may now reach b.example")
    c.keys("C-d")
    assert c.status() == 0
    ours = about_network(name, cloud.requests)
    assert len(theirs) >= 2 and ours == theirs
