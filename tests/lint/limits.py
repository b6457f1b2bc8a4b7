#!/usr/bin/python3
"""limits.py CHECK - checks rules of the style guide in the text of files."""
# SPDX-License-Identifier: MIT
import pathlib
import re
import sys

LINES, HEADER, FUNCTION, COLUMNS, TAB = 1200, 400, 100, 80, 8
CODE = ("src", "config", "providers", "cmd")
SKIP = {".git", "build", "node_modules", "__pycache__", ".pytest_cache",
        "corpus", "data"}
BANNED = re.compile(
    r"\b(strcpy|strcat|strncpy|strncat|sprintf|vsprintf|gets|strtok|atoi|atol"
    r"|atof|gmtime|localtime|ctime|asctime|strerror|setenv|putenv|system"
    r"|popen|rand|srand|mktemp|tmpnam|alloca)\s*\(")
ALLOCATES = re.compile(r"\b(malloc|calloc|realloc|reallocarray|strdup|strndup"
                       r"|asprintf|vasprintf)\s*\(")
# Calls that a signal interrupts; those of base/io.h begin again.
INTERRUPTED = re.compile(r"(?<![\w>.])(fsync|flock|ftruncate|pread|pwrite)\s*\("
                         r"|\(void\)!?((?:read|write)\s*)\(")
# Put together from halves, so that this file passes its own check.
PRIVATE = re.compile("/wo" + r"rk/(main|steering|shared|research|ref|\.)|"
                     "/fa" + r"rm\b|deb\.deb" + r"ian\.org|registry\.np"
                     + r"mjs|pypi\.o" + "rg|nodes" + "ource")
# The hosts that users allow by name are data of the program.
PRESETS = [pathlib.Path("src/sandbox", room, "presets.c")
           for room in ("network", "secrets")]
LATER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b(?!.*#\d)")


def tree(*suffixes):
    for path in sorted(pathlib.Path(".").rglob("*")):
        if SKIP.isdisjoint(path.parts) and path.is_file() \
                and (not suffixes or path.suffix in suffixes):
            yield path


def text_of(path):
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        return ""


def bare(text):
    """Returns C without comments and literals, with the same line numbers."""
    gap = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
                  gap, text, flags=re.S)


def is_script(path):
    if path.suffix in (".c", ".h", ".py", ".sh"):
        return True
    with open(path, "rb") as f:
        return f.read(2) == b"#!"


def check_size():
    for path in tree():
        if not is_script(path):
            continue
        lines = text_of(path).splitlines()
        api = path.suffix == ".h" and path.parts[0] != "tests"
        most = HEADER if api else LINES
        if len(lines) > most:
            yield path, most + 1, f"{len(lines)} lines, at most {most}"
        for number, line in enumerate(lines, 1):
            wide = len(line.expandtabs(TAB))
            if wide > COLUMNS:
                yield path, number, f"{wide} columns, at most {COLUMNS}"


def check_functions():
    for path in tree(".c"):
        start = 0
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if line.startswith("{"):
                start = number
            elif line.startswith("}") and start:
                size = number - start - 1
                if size > FUNCTION:
                    yield path, start, f"{size} lines, at most {FUNCTION}"
                start = 0


def check_heads():
    for path in tree(".c", ".h"):
        head = text_of(path).split("\n", 3)
        if not head[0].startswith(f"/* {path.name} - "):
            yield path, 1, f'first line: "/* {path.name} - one sentence. */"'
        if not any("SPDX-License-Identifier: MIT" in h for h in head[1:3]):
            yield path, 2, "second line: the SPDX licence"


def check_banned():
    for path in tree(".c", ".h"):
        if path.parts[0] not in CODE:
            continue
        for number, line in enumerate(bare(text_of(path)).split("\n"), 1):
            hit = BANNED.search(line)
            if not hit and path.as_posix() != "src/base/mem.c":
                hit = ALLOCATES.search(line)
            if not hit and path.as_posix() != "src/base/io.c":
                hit = INTERRUPTED.search(line)
            if hit:
                name = hit.group(1) or hit.group(2)
                yield path, number, f"{name}() is banned"
            if "//" in line:
                yield path, number, "comments are /* so */"
    for path in tree(".c", ".h", ".py", ".sh", ".md"):
        for number, line in enumerate(text_of(path).split("\n"), 1):
            if line.startswith(("<" * 7 + " ", ">" * 7 + " ")):
                yield path, number, "a conflict of a merge is left"


# Calls that mask, by file. Everything else is behind one of these doors
# (src/agent/show.c has the idea); the list can only shrink.
MASKS = re.compile(r"^\t.*\b(mask_(?:text|json|feed|end|pass|buf|string|prefix|"
                   r"clean)|message_(?:mask|admit)|redact_\w+)\(")
DOORS = {
    # in: prompts and results; a tool's result before it is cut or kept as a
    # file; what is cut where it enters; commits that go into a sandbox
    "src/agent/loop.c": 1, "src/agent/compact.c": 1, "src/tool/tool_call.c": 1,
    "src/tool/result.c": 1, "src/hooks/hooks.c": 1, "src/agent/policy.c": 1,
    "src/worktree/rewrite.c": 1,
    # output of commands
    "src/tool/execute.c": 3, "src/sandbox/jobs/jobs.c": 2,
    "src/lifecycle/setup.c": 1, "cmd/commands/sandbox_use.c": 1,
    # out: events; stderr; what is printed, drawn or written; messages that
    # leave the store; pages; the change that is asked about; patches
    "src/agent/show.c": 2, "src/ui/streams.c": 1, "cmd/app.c": 1,
    "src/session/thread.c": 1, "src/model/message.c": 4, "src/ui/html.c": 1,
    "cmd/chat/ask_view.c": 1, "cmd/commands/diff.c": 1,
    "cmd/commands/threads_export.c": 1,
    # in: the system prompt and the tools, where a request begins
    "src/model/conversation.c": 1,
}


# Who passes an event to a screen: show_event(), and one that forwards those.
EVENT = re.compile(r"\bui(\.|->)event\(")
SHOWS = ("src/agent/show.c", "cmd/subagents/run_subagents.c")


def check_masks():
    for path in tree(".c"):
        name = path.as_posix()
        if path.parts[0] not in CODE or name.startswith("src/base/"):
            continue
        if EVENT.search(text_of(path)) and name not in SHOWS:
            yield path, 1, "events are shown with show_event()"
        calls = [number for number, line
                 in enumerate(bare(text_of(path)).split("\n"), 1)
                 if MASKS.search(line)]
        if len(calls) > DOORS.get(name, 0):
            yield (path, calls[-1], "masks: let the text pass a door "
                   "(DOORS in tests/lint/limits.py)")
        elif len(calls) < DOORS.get(name, 0):
            yield path, 1, f"masks {len(calls)} times: DOORS has more"


def check_words():
    for path in tree():
        for number, line in enumerate(text_of(path).splitlines(), 1):
            hit = PRIVATE.search(line) or LATER.search(line)
            if hit and path not in PRESETS:
                yield path, number, f"'{hit.group(0)}' does not belong here"


# What looks into a text, or compares it with another.
SEARCHES = (r"\b(strstr|strcasestr|strn?cmp|strn?casecmp|strr?chr|strchrnul|"
            r"strpbrk|strspn|strcspn|memmem|memchr|memrchr|memcmp|sscanf|"
            r"fnmatch|regexec|strtol|strtoll|str_(search|find|starts|ends|is|"
            r"is_nocase|eq|split|to_int)|has_any)\s*\(")
ERROR = (r"\b(err|why|error|failure|missing|other|ignored|gone|told|refused|"
         r"own|last|e|j|x|w|p|c)\b")
MESSAGE = re.compile(SEARCHES + r"[^;{}]*?" + ERROR +
                     r"(\.|->)(err(\.|->)|why(\.|->))?(message|hint)\b"
                     r"(?!\s*\[0\])")


def searched_messages(text):
    """Yields lines of C that decide by the text of an error."""
    code = bare(text)
    for hit in MESSAGE.finditer(code):
        yield code.count("\n", 0, hit.start()) + 1, hit.group(1)


def check_messages():
    """Code must decide by codes, because a message may contain a server's
    text. The first part tests this check."""
    catches = ['strstr(err->message, "HTTP 5")', "strcasestr(why.hint, x)",
               "str_search(str_of(\n\twhy.message), s)",
               'strncmp(a->err.message, "x", 1)',
               "str_starts(str_of(e->message), STR(\"x\"))",
               "has_any(str_of(why->message), words)"]
    passes = ["err->http_status == 409", 'json_string(tree, "message", "")',
              "if (!err->hint[0])", 'snprintf(b, n, "%s", err->message)',
              "/* strstr(err->message) */"]
    for line in catches:
        if not list(searched_messages(line)):
            yield "tests/lint/limits.py", 1, f"does not catch: {line}"
    for line in passes:
        if list(searched_messages(line)):
            yield "tests/lint/limits.py", 1, f"catches: {line}"
    for path in tree(".c", ".h"):
        if path.parts[0] in CODE:
            for number, name in searched_messages(text_of(path)):
                yield path, number, f"{name}() on an error's text: use a code"


TAG = re.compile(r"\bstruct (\w+)\s*\{")


def repeated_tags(texts):
    """Yields (path, line, tag, first path) of each repeated struct tag."""
    seen = {}
    for path, text in texts:
        code = bare(text)
        for hit in TAG.finditer(code):
            first = seen.setdefault(hit.group(1), path)
            if first != path:
                yield (path, code.count("\n", 0, hit.start()) + 1,
                       hit.group(1), first)


def check_tags():
    """A struct tag means one thing in the program. The first part tests this
    check."""
    one, two = ("a.c", "struct run {\n"), ("b.h", "\nstatic struct run\n{")
    other = ("b.h", "struct run r = x;\n/* struct run { */\nstruct runs {")
    if [hit[1] for hit in repeated_tags([one, two])] != [2]:
        yield "tests/lint/limits.py", 1, "does not catch a tag used twice"
    if list(repeated_tags([one, other])):
        yield "tests/lint/limits.py", 1, "catches a tag used once"
    texts = [(path, text_of(path)) for path in tree(".c", ".h")
             if path.parts[0] in CODE and "examples" not in path.parts]
    for path, number, tag, first in repeated_tags(texts):
        yield path, number, f"struct {tag} is in {first} too: name the concept"


def main():
    bad = 0
    for path, number, what in globals()["check_" + sys.argv[1]]():
        bad += 1
        print(f"{path}:{number}: {what}")
    return 1 if bad else 0


sys.exit(main())
