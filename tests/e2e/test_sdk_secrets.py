"""test_sdk_secrets.py - a secret, sent as the vendors' SDKs send it."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest

import sdk
from clouds import DONE, emulator, task_of, vendor_fixture  # noqa: F401
from test_sdk_network import LENIENT, content
from test_secrets_vendors import HEADER, VALUE, acme  # noqa: F401

# pylint: disable=redefined-outer-name

# What of a create request is about secrets.
PARTS = {"e2b": "network", "vercel": "networkPolicy", "daytona": "secrets",
         "runloop": "gateways", "langsmith": "proxy_config", "deno": "secrets",
         "modal": "experimental_outbound_policy"}
STORE = re.compile(r"(/api)?(/v1)?/(secrets?|gateway-configs)(/.*)?$|"
                   r".*/Secret(GetOrCreate|Delete)$")


def about_secrets(name, requests):
    """{"METHOD path: members"}, without what names the run."""
    found = set()
    for q in requests:
        path = q["path"]
        if q["status"] is not None and q["status"] >= 300:
            continue
        body = content(q)
        if STORE.match(path) and q["method"] != "GET":
            path = re.sub(r"/(sec_\w+|gwc_\w+|[0-9a-f-]{36})(?=/|$)", "/ID",
                          path)
        elif PARTS[name] in body:
            path, body = "create", body[PARTS[name]]
        else:
            continue
        line = f"{q['method']} {path}: {json.dumps(body, sort_keys=True)}"
        line = re.sub("dcode-[a-z2-7]{8}(?=[-\"])", "dcode-sdk", line)
        line = re.sub(r"st-\w+", "st-ID", line)
        found.add(re.sub('(ACME_TOKEN", "value": )"[^"]*"', r"\1...", line))
    return found


@pytest.mark.parametrize("name", PARTS)
def test_the_sdk_stores_and_binds_a_secret_as_dcode_does(
        top, name, vendor, model, run, acme):
    with emulator(name, **LENIENT.get(name, {})) as cloud:
        sdk.run(top, "secrets.mjs", cloud.env, name, VALUE)
        theirs = about_secrets(name, cloud.requests)
        assert cloud.violations == []
    cloud = vendor(name)
    acme()
    model([DONE])
    r = task_of(run, name)()
    assert r.status == 0, r.err
    assert theirs and about_secrets(name, cloud.requests) == theirs
