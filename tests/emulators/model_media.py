#!/usr/bin/python3
# model_media.py - images and PDF files in requests: for model.py.
# SPDX-License-Identifier: MIT
"""Checks of files, and the words that stand for them in a script's expect."""
import base64
import binascii
import hashlib
import re

from model_check import need

MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff",
         "image/gif": b"GIF8", "image/webp": b"RIFF",
         "application/pdf": b"%PDF-"}


def check(mime, data, where, most=5 << 20):
    """Refuses what no vendor could read; gives the words for it."""
    need(mime in MAGIC, "%s: media type %s", where, mime)
    need(isinstance(data, str) and data, "%s: no data", where)
    need(len(data) <= most, "%s: image exceeds 5 MB maximum", where)
    try:
        raw = base64.b64decode(data, validate=True)
    except binascii.Error:
        raw = b""
    need(raw.startswith(MAGIC[mime]), "%s: not a valid %s", where, mime)
    return words(mime, raw)


def words(mime, raw):
    """"file image/png 120 1f2e3d4c": type, bytes, beginning of SHA-256."""
    return "file %s %d %s" % (mime, len(raw),
                              hashlib.sha256(raw).hexdigest()[:8])


def url(value, where):
    """The same of a data URL."""
    found = re.fullmatch(r"data:([a-z/]+);base64,(.+)", value or "", re.S)
    need(found, "%s: no data URL", where)
    return check(found[1], found[2], where)


def block_words(block):
    """The words of a content block of any wire, or "": it was checked."""
    if block.get("type") in ("image", "document"):
        s = block["source"]
        return check(s["media_type"], s["data"], "")
    if block.get("type") == "image_url":
        return url(block["image_url"]["url"], "")
    if block.get("type") == "file":
        return url(block["file"]["file_data"], "")
    if block.get("type") in ("input_image", "input_file"):
        return url(block.get("image_url") or block.get("file_data"), "")
    if "inlineData" in block:
        s = block["inlineData"]
        return check(s["mimeType"], s["data"], "")
    if "image" in block:
        return check("image/" + block["image"]["format"],
                     block["image"]["source"]["bytes"], "")
    if "document" in block:
        return check("application/pdf",
                     block["document"]["source"]["bytes"], "")
    return ""
