#!/usr/bin/python3
# agentcore_sign.py - AWS's signatures checked, and its event stream's frames.
# SPDX-License-Identifier: MIT
"""Part of agentcore.py. A request is Wrong when its signature is not what
Signature Version 4 says it is; frame() makes one message of an event stream.
"""
import calendar
import hashlib
import hmac
import re
import struct
import time
import urllib.parse
import zlib

AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/"
    r"aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})")
MUST = ("host", "x-amz-date")
SAFE = "-._~"


class Wrong(Exception):
    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def query_of(raw):
    pairs = []
    for item in filter(None, raw.split("&")):
        name, _, value = item.partition("=")
        pairs.append(tuple(urllib.parse.quote(urllib.parse.unquote_to_bytes(x),
                                              safe=SAFE)
                           for x in (name, value)))
    return "&".join(f"{n}={v}" for n, v in sorted(pairs))


def hashed(data):
    return hashlib.sha256(data).hexdigest()


def mac(key, text):
    return hmac.new(key, text.encode(), "sha256").digest()


def signature(secret, scope, when, canonical):
    key = ("AWS4" + secret).encode()
    for part in scope:
        key = mac(key, part)
    text = "\n".join(["AWS4-HMAC-SHA256", when, "/".join(scope),
                      hashed(canonical.encode())])
    return mac(key, text).hex()


def canonical_of(req, names, body):
    path, _, query = req.handler.path.partition("?")
    lines = []
    for name in names:
        values = req.headers.get_all(name)
        if values is None:
            raise Wrong("InvalidSignatureException", f"{name} is not there")
        lines.append(name + ":" + ",".join(
            re.sub(r"\s+", " ", v.strip()) for v in values) + "\n")
    return "\n".join([req.method, urllib.parse.quote(path, safe="/" + SAFE),
                      query_of(query), "".join(lines), ";".join(names),
                      hashed(body)])


def verify(req, body, keys, region, skew=0, service="bedrock-agentcore"):
    """keys: {id: (secret, token or None)}. skew: of the server's clock."""
    match = AUTHORIZATION.fullmatch(req.headers.get("Authorization") or "")
    if not match:
        raise Wrong("MissingAuthenticationTokenException",
                    "Missing Authentication Token")
    id, date, where, named, names, got = match.groups()
    when, names = req.headers.get("X-Amz-Date") or "", names.split(";")
    if id not in keys:
        raise Wrong("UnrecognizedClientException",
                    "The security token included in the request is invalid.")
    secret, token = keys[id]
    needed = set(MUST) | {n.lower() for n in req.headers
                          if n.lower().startswith("x-amz-")}
    if not needed <= set(names) or names != sorted(names):
        raise Wrong("InvalidSignatureException", "SignedHeaders")
    if (req.headers.get("X-Amz-Security-Token") or None) != token:
        raise Wrong("UnrecognizedClientException", "the session token")
    if (where, named) != (region, service) or \
            not re.fullmatch(r"\d{8}T\d{6}Z", when) or when[:8] != date:
        raise Wrong("InvalidSignatureException", "Credential's scope")
    sent = calendar.timegm(time.strptime(when, "%Y%m%dT%H%M%SZ"))
    if abs(sent - (time.time() + skew)) > 300:
        raise Wrong("InvalidSignatureException",
                    "Signature expired: is not within 5 min.")
    canonical = canonical_of(req, names, body)
    scope = (date, where, named, "aws4_request")
    if not hmac.compare_digest(got, signature(secret, scope, when,
                                              canonical)):
        raise Wrong("InvalidSignatureException", "The request signature we "
                    "calculated does not match the signature you provided.")


def frame(headers, payload=b""):
    """headers: {name: string}."""
    head = b"".join(bytes([len(k)]) + k.encode() + b"\x07" +
                    struct.pack(">H", len(v.encode())) + v.encode()
                    for k, v in headers.items())
    start = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    data = start + struct.pack(">I", zlib.crc32(start)) + head + payload
    return data + struct.pack(">I", zlib.crc32(data))


def result(payload):
    return frame({":event-type": "result", ":content-type":
                  "application/json", ":message-type": "event"}, payload)


def exception(kind, payload):
    return frame({":exception-type": kind, ":content-type":
                  "application/json", ":message-type": "exception"}, payload)


def error(code, text):
    return frame({":message-type": "error", ":error-code": code,
                  ":error-message": text})
