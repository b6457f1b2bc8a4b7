#!/usr/bin/python3
"""calls.py - calls point down and never in a circle, by the object files.

layers.py reads includes, but a file can call a higher layer without one, and
two files of a folder can call each other. So this reads from the object files
(nm) which file calls which: layers.py must allow the call, and there must be no
circle. Needs the release build: run make first.

    calls.py [BUILD]        default: build/release
"""
# SPDX-License-Identifier: MIT
import pathlib
import subprocess
import sys

import layers


def read_symbols(build):
    """Returns (defines, needs) of each source file, from its object."""
    defines, needs, missing = {}, {}, []
    sources = [path for path in layers.read_tree() if path.suffix == ".c"]
    objects = {}
    for path in sources:
        made = build / path.with_suffix(".o")
        if not made.is_file():
            missing.append(path)
        else:
            objects[str(made)] = path
    out = subprocess.run(["nm", "-A", *objects], check=True, text=True,
                         capture_output=True).stdout
    for line in out.splitlines():
        where, rest = line.split(":", 1)
        words = rest.split()
        if len(words) == 3 and words[1] in "TDBRC":
            defines[words[2]] = objects[where]
        elif len(words) == 2 and words[0] == "U":
            needs.setdefault(objects[where], set()).add(words[1])
    return defines, needs, missing


def main():
    build = pathlib.Path(sys.argv[1] if sys.argv[1:] else "build/release")
    sys.setrecursionlimit(10000)
    defines, needs, missing = read_symbols(build)
    if missing or not defines:
        print(f"{build}: no object of {(missing or ['any file'])[0]}: "
              "run make first")
        return 1
    bad, edges, folders = 0, {}, set()
    for path, names in sorted(needs.items()):
        for name in sorted(names):
            target = defines.get(name)
            if target is None or target == path:
                continue
            edges.setdefault(path, set()).add(target)
            if target.parent != path.parent:
                folders.add((path.parent, target.parent))
            if not layers.may_include(path, target):
                bad += 1
                print(f"{path}: {name}() of {target}: layer "
                      f"{layers.layer_of(path)} may not call it")
    circles = layers.find_circles(edges)
    for group in circles:
        print("circle: " + " ".join(group))
    both = sum((b, a) in folders for a, b in folders) // 2
    print(f"{len(defines)} names, {len(circles)} circles, {both} pairs of "
          f"folders that call each other, {bad} arrows up")
    return 1 if bad or circles else 0


if __name__ == "__main__":
    sys.exit(main())
