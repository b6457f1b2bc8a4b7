"""test_sdk_openapi.py - dcode's requests as the vendors' documents have them.

Prism reads the OpenAPI documents at ../shared/ and is asked about every request
that dcode sent to our emulator."""
# SPDX-License-Identifier: MIT
import contextlib
import http.client
import json
import re
import socket
import subprocess
import time

import pytest

import sdk
import sdk_traffic as traffic

# vendor: [(document, requests it is about, what to put in their place)]
DOCUMENTS = {
    "daytona": [("daytona.mock.yaml", r"/api(/.*)", r"\1"),
                ("daytona-toolbox.mock.yaml", r"/toolbox/[^/]+(/.*)", r"\1")],
    "runloop": [("runloop.mock.yaml", r"(/v1/.*)", r"\1")],
    # The document has GET /v2/sandboxes but is older than POST there, whose
    # body is that of POST /sandboxes (SDK 2.51.0, seen 2026-11).
    "e2b": [("e2b-openapi.yml", r"(?:GET )(/(?:v2/)?sandboxes.*)", r"\1"),
            ("e2b-openapi.yml", r"(?:POST |DELETE )(?:/v2)?(/sandboxes.*)",
             r"\1"),
            ("e2b-envd.yaml", r"(/files.*|/health)", r"\1")],
}
# Connect-RPC: protocol files, no OpenAPI; the SDK's fields are compared.
UNDOCUMENTED = r"/(process\.Process|filesystem\.Filesystem)/.*"


@contextlib.contextmanager
def prism(top, document, log):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    script = top / "tests/sdk/node_modules/@stoplight/prism-cli/dist/index.js"
    with open(log, "w", encoding="utf-8") as out, subprocess.Popen(
            [sdk.node_of(top), script, "mock", "--errors", "-h", "127.0.0.1",
             "-p", str(port), document], stdout=out,
            stderr=subprocess.STDOUT) as p:
        try:
            end = time.monotonic() + 120
            while "is listening" not in log.read_text():
                assert p.poll() is None and time.monotonic() < end, \
                    log.read_text()
                time.sleep(0.1)
            yield port
        finally:
            p.kill()


def faults(port, request, path):
    """What Prism has against a request, sent as it was recorded."""
    con = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    query = request["line"].partition("?")[2]
    headers = {k: v for k, v in request["headers"].items() if k.lower() not in
               ("host", "connection", "content-length", "transfer-encoding",
                "expect", "accept-encoding")}
    # Whatever of the answer's types there are: it is not looked at.
    headers["Accept"] = "*/*"
    con.request(request["method"], path + (query and "?" + query),
                bytes(request.get("raw", b"")) or None, headers)
    answer = con.getresponse()
    body = answer.read()
    con.close()
    found = [f["message"] for f in json.loads(
        answer.headers.get("sl-violations") or "[]")
        if f["location"][0] == "request"]
    # From 500 on it is the answer that Prism could not make up.
    if answer.status < 500 and "problem+json" in (
            answer.headers.get("Content-Type") or ""):
        problem = json.loads(body)
        if "prism/errors#" in problem.get("type", ""):
            found.append(f"{answer.status} {problem.get('detail')}")
    return found


def place(name, request):
    """(document, path there), or None."""
    for document, pattern, path in DOCUMENTS[name]:
        for line in (request["path"],
                     f"{request['method']} {request['path']}"):
            if re.fullmatch(pattern, line):
                return document, re.sub(pattern, path, line)
    return None


def spoilt(requests):
    """A request with a body whose every member has a wrong type."""
    for request in requests:
        raw = bytes(request.get("raw", b""))
        if request["method"] == "POST" and raw.startswith(b"{") and \
                len(raw) > 2:
            body = {k: ["?"] if isinstance(v, (str, int)) else 7
                    for k, v in json.loads(raw).items()}
            yield {**request, "raw": json.dumps(body).encode()}


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_openapi(top, name, model, start, run, env, tmp_path):
    folder = top.parent / "shared" / "spec" / "openapi"
    if not folder.is_dir():
        pytest.skip("no OpenAPI documents at ../shared/spec/openapi")
    with traffic.emulator(name) as cloud:
        sent = traffic.work(cloud, name, model, start, run, env,
                            tmp_path / "work")
    stray = [r["line"] for r in sent if not place(name, r) and
             not re.fullmatch(UNDOCUMENTED, r["path"])]
    assert stray == []
    asked, found, caught = 0, [], 0
    for document in sorted({d for d, *_ in DOCUMENTS[name]}):
        about = [r for r in sent if (place(name, r) or [0])[0] == document]
        assert about, f"nothing was sent to {document}"
        with prism(top, folder / document, tmp_path / "prism.log") as port:
            for request in about:
                asked += 1
                found += [f"{request['line']}: {fault}" for fault in
                          faults(port, request, place(name, request)[1])]
            caught += sum(bool(faults(port, r, place(name, r)[1]))
                          for r in spoilt(about))
            lost = dict(about[0], method="PATCH")
            assert faults(port, lost, "/no/such/path")
    assert found == [] and asked >= 5
    assert caught  # the control: a spoilt one is refused
