#!/usr/bin/python3
"""layers.py - every #include "LAYER/file.h" points to a layer it may."""
# SPDX-License-Identifier: MIT
import pathlib
import re
import sys

# Layers in one row are siblings and never include each other.
MAY = {
    "base": "",
    "config": "base", "net": "base",
    "model": "base config net", "sandbox": "base config net",
    "providers": "base config net sandbox", "session": "base model",
    "tool": "base config net model sandbox",
    "agent": "base config net model sandbox session tool",
    "ui": "base config model tool agent",
    "cmd": "base config net model sandbox providers session tool agent ui",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"/]+)/([^"]+)"')
PLAIN = re.compile(r'^\s*#\s*include\s+"([^"/]+)"')


def folder(layer):
    flat = layer in ("config", "providers", "cmd")
    return pathlib.Path(layer if flat else "src/" + layer)


def main():
    bad = seen = 0
    for layer, may in MAY.items():
        for path in sorted(folder(layer).glob("*.[ch]")):
            seen += 1
            for number, line in enumerate(open(path), 1):
                hit = INCLUDE.match(line)
                to = hit.group(1) if hit else "" if PLAIN.match(line) else None
                # embedded files: #include "scripts/sandbox/X.inc"
                if to in (None, layer, "scripts", "gen") or to in may.split():
                    continue
                bad += 1
                why = (f"layer {layer} may not know layer {to}" if to else
                       "name the layer: #include \"layer/file.h\"")
                print(f"{path}:{number}: {why}")
    stray = {p.parent.name for p in pathlib.Path("src").glob("*/*.[ch]")}
    for name in sorted(stray - set(MAY)):
        bad += 1
        print(f"src/{name}: no such layer; give it a rank in {sys.argv[0]}")
    if not seen:
        print("no source files found: run this from the top folder")
    return 1 if bad or not seen else 0


sys.exit(main())
