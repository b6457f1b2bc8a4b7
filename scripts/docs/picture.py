#!/usr/bin/python3
"""picture.py - prints the chat that README.md shows, from a real run.

scripts/docs/picture.py [DCODE] [--update]

A scripted model answers; the chat, its tools and the terminal (tmux) are real.
--update writes the picture into README.md. A test compares the two, so change
README with this whenever the chat looks different.
"""
# SPDX-License-Identifier: MIT
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests/e2e"), str(TOP / "tests/emulators")]
from model import ModelServer  # noqa: E402
from screens import Screen  # noqa: E402

APP = '''def greet(name):
    return "Hello, " + name
'''
CHECK = '''from app import greet

assert greet("Ann") == "Hello, Ann"
assert greet("") == "Hello"
print("2 checks passed")
'''
TURNS = [
    {"text": "Let me see how it greets.", "tool_calls": [
        {"name": "read_file", "args": {"file_path": "app.py"}}]},
    {"text": "An empty name leaves `Hello, ` behind.", "tool_calls": [
        {"name": "edit_file", "args": {
            "file_path": "app.py",
            "old_string": '    return "Hello, " + name\n',
            "new_string": '    return f"Hello, {name}" if name else '
                          '"Hello"\n'}}]},
    {"text": "Now the test.", "tool_calls": [
        {"name": "execute", "args": {"command": "python3 check.py"}}]},
    {"text": "Done."}]
TASK = "greet without a name should say just Hello"


def make_world(place):
    (place / "home").mkdir()
    work = place / "greeter"
    work.mkdir()
    (work / "app.py").write_text(APP)
    (work / "check.py").write_text(CHECK)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"],
                  ["-c", "user.name=Ann", "-c", "user.email=ann@example.org",
                   "commit", "-q", "-m", "Greet"]):
        subprocess.run(["git", "-C", work, *words], check=True)
    return work


def shot(dcode):
    """Returns the screen while the second question waits."""
    with tempfile.TemporaryDirectory(prefix="d-") as name, \
            ModelServer(TURNS) as server:
        place = pathlib.Path(name)
        work = make_world(place)
        env = {"HOME": str(place / "home"), "LANG": "C.UTF-8",
               "PATH": os.environ["PATH"], "TERM": "xterm-256color",
               "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"}
        screen = Screen(place, [dcode, "-M", "anthropic:claude-opus-5-5"],
                        env, work, lines=40)
        try:
            screen.until("greeter")
            screen.type(TASK)
            screen.keys("Enter")
            screen.until(r"edit_file")
            screen.until("yes")
            screen.keys("y")
            return screen.until(
                lambda s: "yes" in s.partition("python3 check.py")[2]), place
        finally:
            screen.close()


def picture(dcode):
    """Replaces what differs between runs: paths, versions and times."""
    text, place = shot(dcode)
    text = text.replace(f"{place}/greeter", "/home/ann/greeter")
    text = re.sub(r"\b\d+\.\d s\b", "0.0 s", text)
    lines = ["$ dcode", *map(str.rstrip, text.splitlines())]
    return "\n".join(lines).strip("\n") + "\n"


def main(argv):
    dcode = pathlib.Path(([a for a in argv if a[0] != "-"] or
                          [TOP / "dcode"])[0]).resolve()
    text = picture(dcode)
    if "--update" not in argv:
        print(text, end="")
        return
    readme = TOP / "README.md"
    readme.write_text(re.sub(
        r"(```text\n).*?(```\n)",
        lambda m: m[1] + text + m[2], readme.read_text(), count=1,
        flags=re.S))


if __name__ == "__main__":
    main(sys.argv[1:])
