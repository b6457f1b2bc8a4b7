#!/usr/bin/python3
"""hostile_tar.py CASE OUTSIDE - writes a tar stream made to harm whoever
unpacks it, to standard output. OUTSIDE is a directory it aims at. Each has a
file "good" at its end: who refuses everything has not passed."""
# SPDX-License-Identifier: MIT
import io
import sys
import tarfile


def entry(name, kind=tarfile.REGTYPE, to="", mode=0o644, data=b"bad"):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, to, mode
    info.mtime = 1000000000
    body = data if kind == tarfile.REGTYPE else b""
    info.size = len(body)
    return info, body


def link(name, to):
    return entry(name, tarfile.SYMTYPE, to)


def hard(name, to):
    return entry(name, tarfile.LNKTYPE, to)


def directory(name, mode=0o755):
    return entry(name, tarfile.DIRTYPE, mode=mode)


def cases(outside):
    up = "../" * 20
    return {
        "absolute": [entry(outside + "/x")],
        "dotdot": [entry("../x"), entry(".."), directory("../d")],
        "dotdot-inside": [entry("a/../../x"), entry("a/b/..")],
        "dotdot-far": [entry(up + outside[1:] + "/x")],
        "link-absolute": [link("l", outside), entry("l/x")],
        "link-up": [link("l", ".."), entry("l/x"), link("l/y", "z")],
        "link-to-file": [link("l", outside + "/secret"), entry("l")],
        "link-chain": [directory("a/b/c"), link("a/b/c/l", "../../.."),
                       link("a/b/c/m", "l/.."), entry("a/b/c/m/x")],
        "link-through-good": [directory("d"), link("l", "d"), entry("l/x")],
        "link-over-dir": [directory("d"), link("d", "good"), entry("d/in")],
        "hard-absolute": [hard("h", outside + "/secret"), entry("h")],
        "hard-dotdot": [hard("h", "../outside/secret")],
        "hard-far": [hard("h", up + outside[1:] + "/secret")],
        "hard-to-link": [directory("a"), link("a/l", "../a"), hard("m", "a/l"),
                         entry("m/x")],
        "hard-to-itself": [entry("f"), hard("f", "f")],
        "planted": [entry("planted/x"), directory("planted/d"),
                    link("planted/l", "x"), hard("planted/h", "good")],
        "planted-file": [entry("linked", data=b"new")],
        "case": [link("L", outside), entry("l/x"), entry("L/x")],
        "device": [entry("c", tarfile.CHRTYPE), entry("b", tarfile.BLKTYPE)],
        "pipe": [entry("p", tarfile.FIFOTYPE)],
        "setuid": [entry("s", mode=0o6755), directory("t", mode=0o7777)],
        "names": [entry("new\nline"), entry("\udcff\udcfe"), entry("\x1b[2J"),
                  entry("-rf"), entry("a\\..\\b"), entry("./dot//x"),
                  entry("ü" * 60 + "/" + "y" * 200)],
        "empty-names": [entry("./"), link(".", "x"), entry("/")],
        "long": [entry("n" * 256), entry("d/" * 1500 + "x")],
        "plain": [directory("a"), entry("a/f"), link("a/l", "../good")],
    }


def stream(items, how):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w",
                      format=tarfile.PAX_FORMAT if how == "pax"
                      else tarfile.GNU_FORMAT) as tar:
        for info, body in items + [entry("good", data=b"good")]:
            tar.addfile(info, io.BytesIO(body))
    return out.getvalue()


def main():
    name, outside = sys.argv[1:3]
    how = sys.argv[3] if len(sys.argv) > 3 else "gnu"
    if name == "truncated":
        bytes_ = stream([entry("big", data=b"x" * 100000)], how)[:60000]
    elif name == "garbage":
        bytes_ = b"this is no archive\n" * 1000
    elif name == "empty":
        bytes_ = b""
    elif name == "bad-checksum":
        bytes_ = bytearray(stream([entry("a"), entry("b")], how))
        bytes_[1024] ^= 1
    else:
        bytes_ = stream(cases(outside)[name], how)
    sys.stdout.buffer.write(bytes_)


if __name__ == "__main__":
    main()
