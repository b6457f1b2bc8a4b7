#!/usr/bin/python3
"""layers.py - includes point down, and never in a circle; prints the counts.

A node is foo.h with foo.c, foo_impl.h and each .c that includes foo_impl.h.
"""
# SPDX-License-Identifier: MIT
import pathlib
import re
import sys

# Layers in one row are siblings and never include each other.
MAY = {
    "base": "",
    "config": "base", "net": "base", "archive": "base", "term": "base",
    "aws": "base net", "rpc": "base",
    "model": "base config net aws", "sandbox": "base config net",
    "kit": "base config net sandbox",
    "vendor": "base config net archive aws rpc sandbox kit egress",
    "table": "base config net sandbox kit vendor",
    "session": "base model",
    "web": "base net",
    "egress": "base net aws web sandbox",
    "forge": "base net",
    "tool": "base config net model sandbox web",
    "oauth": "base net web",
    "mcp": "base config net rpc model sandbox tool web",
    "lifecycle": "base config net sandbox session",
    "editor": "base term", "markup": "base term",
    "trust": "base",
    "hooks": "base config trust",
    "worktree": "base config net archive sandbox session",
    "contract": "base config net sandbox session tool lifecycle",
    "skills": "base", "subagents": "base skills",
    "agent": "base config net model sandbox session tool skills hooks",
    "ui": "base config term markup model tool agent",
    "cmd": "base config net archive term editor markup model sandbox "
           "contract vendor table session tool lifecycle worktree "
           "skills subagents agent ui mcp trust hooks web oauth egress forge",
}
# cmd: what opens a conversation knows no command and no screen; a command knows
# no chat; the chat runs commands; main() and what it starts know all of them.
CMD = ("cmd", "cmd/session", "cmd/commands", "cmd/chat", "cmd/main")
for number, name in enumerate(CMD):
    MAY[name] = MAY["cmd"] + "".join(" " + below for below in CMD[:number])
CMD_MAIN = ("first_start", "help", "main", "slash_table", "start", "table",
            "task")
OVER = {"slurm": "ssh"}  # a provider that works through another
TOPS = ("src", "config", "providers", "cmd")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def layer_of(path):
    """Returns the layer of a file; None if its folder is not listed."""
    top, *rest = path.parts[:-1]
    if top == "src":
        return rest[0] if rest and rest[0] in MAY else None
    if top == "providers":
        rank = {"": "table", "kit": "kit", "held": "kit"}
        return rank.get("/".join(rest), "vendor")
    if top == "cmd" and rest:
        name = f"cmd/{rest[0]}"
        return {"cmd/subagents": "cmd/session"}.get(name, name
                                                    if name in MAY else None)
    return "cmd/main" if top == "cmd" and path.stem in CMD_MAIN else top


def target_of(name):
    for root in ("src", "."):
        path = pathlib.Path(root, name)
        if path.is_file():
            return path
    return None


def read_tree():
    tree = {}
    for top in TOPS:
        for path in sorted(pathlib.Path(top).rglob("*.[ch]")):
            if "examples" not in path.parts:
                tree[path] = [(n, hit.group(1)) for n, line
                              in enumerate(open(path), 1)
                              if (hit := INCLUDE.match(line))]
    return tree


def node_of(path, includes):
    impl = [i for _, i in includes if i.endswith("_impl.h")]
    if path.name.endswith("_impl.h"):
        impl = [path.as_posix()]
    if impl:
        path = target_of(impl[0]) or path
    return path.with_name(re.sub(r"(_impl)?\.[ch]$", "", path.name))


def find_circles(edges):
    """Returns the circles: strongly connected sets of more than one node
    (Tarjan)."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in edges.get(v, ()):
            if w not in index:
                visit(w)
            if w in on:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            group = []
            while not group or group[-1] != v:
                group.append(stack.pop())
                on.discard(group[-1])
            if len(group) > 1:
                found.append(sorted(map(str, group)))

    for v in list(edges):
        if v not in index:
            visit(v)
    return found


def may_include(path, target):
    mine, other = layer_of(path), layer_of(target)
    if mine == other == "vendor":
        return target.parts[1] in (path.parts[1], OVER.get(path.parts[1]))
    return mine == other or other in MAY[mine].split()


def main():
    sys.setrecursionlimit(10000)
    tree = read_tree()
    bad, edges = 0, {}
    nodes = {path: node_of(path, inc) for path, inc in tree.items()}
    for path, includes in tree.items():
        if layer_of(path) is None:
            bad += 1
            print(f"{path}: no such layer; give it a rank in {sys.argv[0]}")
            continue
        for number, name in includes:
            target = target_of(name)
            if "/" not in name:
                why = 'name the layer: #include "layer/file.h"'
            elif target is None or target not in tree:
                continue  # generated: an embedded script, a .proto's structs
            elif not may_include(path, target):
                why = (f"layer {layer_of(path)} may not know "
                       f"{target.parent}")
            else:
                if nodes[path] != nodes[target]:
                    edges.setdefault(nodes[path], set()).add(nodes[target])
                continue
            bad += 1
            print(f"{path}:{number}: {why}")
    circles = find_circles(edges)
    for group in circles:
        print("circle: " + " ".join(group))
    if not tree:
        print("no source files found: run this from the top folder")
    print(f"{len(tree)} files, {len(set(nodes.values()))} nodes, "
          f"{len(circles)} circles, {bad} arrows up")
    return 1 if bad or circles or not tree else 0


if __name__ == "__main__":
    sys.exit(main())
