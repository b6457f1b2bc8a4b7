"""test_sdk_secrets.py - a secret, sent as the vendors' SDKs send it."""
# SPDX-License-Identifier: MIT
import json
import re
import shutil

import pytest

import sdk
from clouds import DONE, emulator, task_of, vendor_fixture  # noqa: F401
from test_sdk_network import LENIENT, content
from test_secrets import (  # noqa: F401
    S3, assert_no_key, fixture_aws, fixture_world)
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


def copy_package(modules, name, to):
    """Copies a package and all that it needs."""
    if (to / name).exists():
        return
    shutil.copytree(modules / name, to / name)
    package = json.loads((modules / name / "package.json").read_text())
    for other in package.get("dependencies", {}):
        if not (to / name / "node_modules" / other).exists():
            copy_package(modules, other, to)


S3_CLIENT = f"""
import {{ GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client }}
  from "@aws-sdk/client-s3";
const s3 = new S3Client({{ region: "us-east-1", maxAttempts: 1 }});
const at = {{ Bucket: "{S3.split(".", maxsplit=1)[0]}" }};
const got = await s3.send(new GetObjectCommand(
  {{ ...at, Key: "a b/(c)+ü.txt", Range: "bytes=0-99" }}));
console.log("get", await got.Body.transformToString());
await s3.send(new PutObjectCommand({{ ...at, Key: "k", Body: "some bytes" }}));
await s3.send(new PutObjectCommand({{ ...at, Key: "k", ContentLength: 10,
  Body: (await import("node:stream")).Readable.from(["some ", "bytes"]) }}));
try {{
  await s3.send(new ListObjectsV2Command({{ ...at, Prefix: "a/b c" }}));
}} catch {{ /* the answer is not XML */ }}
"""


def test_what_the_sdk_of_s3_sends_is_signed_with_the_real_key(top, aws):
    """GET, PUT with a hash, PUT with a checksum behind an unsigned body."""
    sdk.node_of(top)
    root = aws.box.home / ".deepagents/sandboxes" / aws.box.id
    assert aws.do("touch here") is not None
    place = next(root.rglob("here")).parent
    copy_package(top / "tests/sdk/node_modules", "@aws-sdk/client-s3",
                 place / "node_modules")
    (place / "s3.mjs").write_text(S3_CLIENT)
    said = aws.do("node s3.mjs; env | grep -c ^AWS_")
    assert "get SIGNED header s3" in said, said
    assert_no_key(said)
    log = (aws.folder / "aws").read_text().split("\n")[:-1]
    assert len(log) == 4 and not [x for x in log if "SIGNED" not in x], log
    assert any("STREAMING-UNSIGNED-PAYLOAD-TRAILER" in x for x in log), log
