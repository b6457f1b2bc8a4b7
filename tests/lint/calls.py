#!/usr/bin/python3
"""calls.py - calls point down and never in a circle, by the object files.

layers.py reads includes; a file can call up without one, and two files of a
folder can call each other. So this asks nm which object defines what another
one needs: a call must be one that layers.py allows, and no file may reach
itself through others. tests/lint/circles has the files that still do: a file
may not join them, and one that has left must be taken out, so that the list
only shrinks. calls.py --circles writes it anew. The release build must be
there: make first.

    calls.py [--circles] [BUILD]        BUILD: build/release unless given
"""
# SPDX-License-Identifier: MIT
import pathlib
import subprocess
import sys

import layers

KNOWN = pathlib.Path("tests/lint/circles")


def read_symbols(build):
    """(defines, needs): of each source file, by its object."""
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
    args = [a for a in sys.argv[1:] if a != "--circles"]
    build = pathlib.Path(args[0] if args else "build/release")
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
    inside = {name for group in circles for name in group}
    if "--circles" in sys.argv:
        KNOWN.write_text("".join(f"{name}\n" for name in sorted(inside)))
    known = set(KNOWN.read_text().split()) if KNOWN.is_file() else set()
    for group in sorted(circles):
        new = [name for name in group if name not in known]
        if new:
            bad += 1
            print(f"{' '.join(new)}: call and are called by, in a circle: "
                  + " ".join(group))
    for name in sorted(known - inside):
        bad += 1
        print(f"{name}: no longer in a circle: take it out of {KNOWN}")
    both = sum((b, a) in folders for a, b in folders) // 2
    print(f"{len(defines)} names, {len(circles)} circles with "
          f"{len(inside)} files, {both} pairs of folders that call each "
          f"other, {bad} faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
