#!/usr/bin/python3
"""exports.py - a function in a header must be used by another file.

Each function of src, config, providers and cmd that is not static must be
called by another file, or by its own file if a test calls it, too. Others are
dead, or should be static. Reads the sources; no build is needed.

A function that only files of its own folder call is a door inside a room:
probably one thing was split into several files. tests/lint/doors has the number
for each folder. A folder may not get more, and a number that is too high is an
error, so that the list only shrinks. exports.py --doors writes the list.
"""
# SPDX-License-Identifier: MIT
import pathlib
import re
import sys

DOORS = pathlib.Path("tests/lint/doors")
TOPS = ("src", "config", "providers", "cmd")
# Called by tests only, on purpose.
ALLOWED = {
    "ws_protocol",       # what the peer chose and why it closed, which the
    "ws_reason",         # contract of WebSockets is checked with
    "supervise_follow",  # a job outlives its reader: what the reader's own
                         # retries rest on
}
# `type name(...)` from column 0 to the brace that opens the body.
DEFINED = re.compile(r"^(?!static\b|extern\b|typedef\b|#)[a-z][^;{}()=]*?"
                     r"\b(\w+)\([^;{}]*\)\n\{", re.M)
PROTOTYPE = re.compile(r"^[a-z][^;{}#]*?\([^;{}]*?\)[^;{}]*;", re.M)
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'
                      r"'(?:\\.|[^'\\\n])+'", re.S)
WORD = re.compile(r"[A-Za-z_]\w+")
# A macro and its text, which may go on over several lines.
MACRO = re.compile(r"^#define (\w+)((?:[^\n]*\\\n)*[^\n]*)$", re.M)


def words_of(path, text):
    """Counts each word of the code, without prototypes."""
    code = NOT_CODE.sub(" ", text)
    if path.endswith(".h"):
        code = PROTOTYPE.sub(" ", code)
    seen = {}
    for word in WORD.findall(code):
        seen[word] = seen.get(word, 0) + 1
    return seen


def find_unused(files, tests):
    """Yields (path, line, name, why) of functions that nothing else calls."""
    words = {path: words_of(path, text) for path, text in files.items()}
    tested = set().union(*(words_of("x.c", text) for text in tests))
    users = {}
    for path, seen in words.items():
        for word in seen:
            users.setdefault(word, set()).add(path)
    for path, text in files.items():
        if not path.endswith(".c"):
            continue
        code = NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
        for hit in DEFINED.finditer(code):
            name, line = hit.group(1), code.count("\n", 0, hit.start(1)) + 1
            if name == "main" or users[name] != {path}:
                continue
            if words[path][name] == 1:
                why = "only tests call it" if name in tested else \
                    "nothing calls it"
                yield path, line, name, why
            elif name not in tested:
                yield path, line, name, "only this file uses it: static"


def find_doors(files):
    """Returns {folder: functions that only its own files call}."""
    users = {}
    for path, text in files.items():
        for word in words_of(path, text):
            users.setdefault(word, set()).add(path)
    # What a macro of a header calls is called where the macro is used.
    for path, text in files.items():
        for name, body in MACRO.findall(text) if path.endswith(".h") else ():
            for word in WORD.findall(NOT_CODE.sub(" ", body)):
                users.setdefault(word, set()).update(users.get(name, ()))
    doors = {}
    for path, text in files.items():
        if not path.endswith(".c"):
            continue
        own = path.rpartition("/")[0]
        code = NOT_CODE.sub(" ", text)
        for hit in DEFINED.finditer(code):
            name = hit.group(1)
            folders = {user.rpartition("/")[0] for user in users[name]}
            if len(users[name]) > 1 and folders == {own}:
                doors.setdefault(own, set()).add(name)
    return doors


def read_doors():
    rows = (line.split() for line in DOORS.read_text().splitlines()
            if line and not line.startswith("#"))
    return {folder: int(count) for count, folder in rows}


def check_doors(files):
    """Returns messages. Writes the counts if --doors was given."""
    have = {folder: len(names) for folder, names in find_doors(files).items()}
    if "--doors" in sys.argv:
        DOORS.write_text("# Functions that only their own folder calls: "
                         "tests/lint/exports.py\n" + "".join(
                             f"{n} {folder}\n"
                             for folder, n in sorted(have.items())))
    most = read_doors()
    for folder in sorted(have.keys() | most.keys()):
        n, limit = have.get(folder, 0), most.get(folder, 0)
        if n > limit:
            yield (f"{folder}: {n} functions are called in their own folder "
                   f"only, at most {limit}: make them static")
        if n < limit:
            yield (f"{folder}: {n} functions are called in their own folder "
                   f"only, {limit} are listed: run exports.py --doors")


def check_itself():
    """Checks this program with a file of each kind."""
    files = {
        "a.h": "/* used(): says */\nint used(int a,\n\t\t int b);\n"
               "int own(void);\nint dead(void);\nint tried(void);\n"
               "int seen(void);\nstatic inline int f(void)\n{\n"
               "\treturn by_header(1);\n}\n#define M() by_macro()\n",
        "a.c": "int used(int a,\n\t int b)\n{\n}\nint own(void)\n{\n}\n"
               "int dead(void)\n{\n\tlog(\"dead()\"); /* dead() */\n}\n"
               "int tried(void)\n{\n\treturn own();\n}\n"
               "const struct row *seen(void)\n{\n}\nint by_header(int a)\n"
               "{\n\treturn seen();\n}\nint by_macro(void)\n{\n}\n"
               "static int mine(void)\n{\n\treturn mine();\n}\n",
        "b.c": "static int f(void)\n{\n\treturn used(1, 2);\n}\n",
    }
    found = [(line, name, why.split(":")[0]) for _, line, name, why
             in find_unused(files, ["tried(); seen();"])]
    rooms = {"x/a.c": files["a.c"], "x/b.c": files["b.c"],
             "y/c.c": "int by_macro(void)\n{\n\treturn tried();\n}\n"}
    if find_doors(rooms) != {"x": {"used"}}:
        return False
    rooms |= {"x/a.h": "#define CALL(a) \\\n\tused(a)\n",
              "y/d.c": "int doer(void)\n{\n\treturn CALL(1);\n}\n"}
    if find_doors(rooms):
        return False
    return found == [(5, "own", "only this file uses it"),
                     (8, "dead", "nothing calls it"),
                     (12, "tried", "only tests call it")]


def main():
    if not check_itself():
        print("tests/lint/exports.py:1: does not find what it should")
        return 1
    files = {path.as_posix(): path.read_text("utf-8") for top in TOPS
             for path in sorted(pathlib.Path(top).rglob("*.[ch]"))
             if "examples" not in path.parts}
    tests = [path.read_text("utf-8") for path
             in sorted(pathlib.Path("tests").rglob("*.[ch]"))
             if "node_modules" not in path.parts]
    bad, left = 0, set(ALLOWED)
    for path, line, name, why in find_unused(files, tests):
        left.discard(name)
        if name not in ALLOWED:
            bad += 1
            print(f"{path}:{line}: {name}(): {why}")
    for message in check_doors(files):
        bad += 1
        print(f"tests/lint/doors:1: {message}")
    for name in sorted(left):
        bad += 1
        print(f"tests/lint/exports.py:1: {name}() is used now, or gone")
    return 1 if bad else 0


sys.exit(main())
