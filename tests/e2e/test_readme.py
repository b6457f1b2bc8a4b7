"""test_readme.py - a newcomer who has README.md and nothing else gets from its
first line to a finished change; its picture is what a run shows today, its
tables have what the program has, and src/README.md has each folder."""
# SPDX-License-Identifier: MIT
import re
import subprocess
import sys

import pytest

from docs_pages import blocks_of
from screens import Screen
from test_docs import clouds, docker, ssh, slurm_cluster, world  # noqa: F401

REWRITE = "run scripts/docs/picture.py --update"


@pytest.fixture(scope="module")
def readme(top):
    return (top / "README.md").read_text()


def test_it_is_read_in_five_minutes(readme):
    assert len(readme.splitlines()) <= 280
    assert readme.index("./scripts/demo") < readme.index("./scripts/check") \
        < 3000


def like(text):
    """Without what a slow machine or another version changes."""
    return re.sub(r"\b\d+\.\d\.\d\b", "N", text)


def test_the_picture_is_what_a_chat_shows(readme, top, dcode_release):
    shown = subprocess.run(
        [sys.executable, top / "scripts/docs/picture.py", dcode_release],
        capture_output=True, text=True, timeout=120, check=False)
    assert shown.returncode == 0, shown.stderr
    picture = next(b for b in blocks_of(readme) if b.language == "text")
    assert like(picture.text) == like(shown.stdout), REWRITE


def test_the_table_of_sandboxes_is_that_of_the_program(readme, run):
    table = readme.split("| `--sandbox` |")[1].split("\n\n")[0]
    told = [name for row in table.splitlines() if row.startswith("| `")
            for name in re.findall("`([a-z0-9]+)`", row.split("|")[1])]
    have = re.findall(r"^([a-z0-9]+) ", run("provider", "list", "-v").out,
                      re.M)
    assert sorted(told) == sorted(have) and len(have) > 12


def test_each_slash_command_that_is_named_exists(readme, run, model, dcode,
                                                 env, home, tmp_path):
    named = set(re.findall(r"`(/[a-z]+)", readme)) - {"/usr"}
    table = (tmp_path / "seen")
    s = Screen(tmp_path, [dcode, "-M", "anthropic:m"], {
        **env, "ANTHROPIC_API_KEY": "sk-x"}, home, columns=100, lines=100)
    try:
        s.until("anthropic:m")
        s.type("/help")
        s.keys("Enter")
        s.until("/quit")
        table.write_text(s.until("/yolo", scrollback=True))
    finally:
        s.close()
    assert len(named) > 8
    assert named <= set(re.findall(r"(/[a-z-]+)", table.read_text()))


def quick_start(readme, sandbox):
    """The commands up to the chat in that sandbox, as README has them."""
    part = readme.split("## Quick start")[1].split("\n## ")[0]
    lines = [line.split(" #")[0].strip() for b in blocks_of(part)
             if b.language == "sh" for line in b.text.splitlines()]
    keys = [n for n, line in enumerate(lines)
            if line.startswith("dcode auth set")]
    cd = next(n for n, line in enumerate(lines) if line.startswith("cd "))
    chat = next(n for n, line in enumerate(lines)
                if f"--sandbox {sandbox}" in line)
    mine = [n for n in keys if n < cd or sandbox in lines[n]]
    return [lines[n] for n in sorted({*mine, cd, chat})]


class Newcomer:
    """Who types at a shell in a terminal, and looks at the screen."""

    def __init__(self, here, place):
        self.screen = Screen(place, ["sh"], {**here.env, "PS1": "READY> "},
                             here.home, columns=100, lines=45)
        self.keys = {name: keys[0] for name, keys in here.keys.items()}

    def enter(self, text):
        self.screen.type(text)
        self.screen.keys("Enter")

    def command(self, line):
        """One that ends; its key is typed where it asks for one."""
        self.screen.until("READY>")
        self.screen.tmux("send-keys", "-R")
        self.screen.tmux("clear-history")
        self.enter(line)
        if line.startswith("dcode auth set"):
            self.screen.until("not shown")
            self.enter(self.keys[line.split()[3]])

    def chat(self, line, task):
        """From the command to the shell again; what the screen showed."""
        self.command(line)
        self.screen.until(lambda s: "ready" in s, seconds=60)
        for text, wanted in ((task, "notes.md is written"),
                             ("/diff", "new file mode"),
                             ("/apply", "Applied 1 file")):
            self.enter(text)
            self.screen.until(wanted, scrollback=True, seconds=60)
        self.enter("/quit")
        self.screen.until(lambda s: s.rstrip().endswith("READY>"),
                          seconds=60)
        return self.screen.text(scrollback=True)


@pytest.mark.every
@pytest.mark.parametrize("sandbox", ["docker", "daytona"])
def test_the_quick_start_ends_in_a_change_of_the_own_repository(
        readme, top, world, tmp_path, sandbox):
    here = world(top / "README.md")
    here.begin_in_project()
    steps = quick_start(readme, sandbox)
    assert len(steps) == (3 if sandbox == "docker" else 4)
    newcomer = Newcomer(here, tmp_path)
    try:
        for line in steps[:-1]:
            newcomer.command(line)
        newcomer.chat(steps[-1], "add a note: greet in French, too")
    finally:
        newcomer.screen.close()
    note = here.home / "project/notes.md"
    assert note.read_text() == "Greet in French, too.\n"
    assert here.quiet("sandbox", "list").stdout.count("dcode-") == 0


def folders(top):
    """Of the sources, as git has them: all of src, others two deep."""
    listed = subprocess.run(["git", "ls-files"], cwd=top, check=True,
                            capture_output=True, text=True).stdout
    found = set()
    for name in listed.splitlines():
        parts = name.split("/")[:-1]
        if parts and parts[0] in ("src", "cmd", "providers", "config",
                                  "scripts", "tests"):
            deep = 4 if parts[0] in ("src", "cmd") else 2
            found |= {"/".join(parts[:n]) for n in range(1, deep + 1)}
    return found


def test_the_map_of_the_sources_has_each_folder_and_no_other(top):
    text = (top / "src/README.md").read_text()
    told = re.findall(r"^\| `([a-z0-9_/.-]+)/` \|", text, re.M)
    assert sorted(told) == sorted(folders(top))
    for path, function in re.findall(r"`([a-z_/]+\.[ch])`[^`|\n]*"
                                     r"`([a-z_]+)\(\)`", text):
        assert (top / path).exists(), path
        assert re.search(rf"\b{function}\(", (top / path).read_text()), \
            f"{path}: {function}"
    for name in re.findall(r"`([a-z_]+/[a-z_/]+\.(?:c|h|py|sh|toml))`", text):
        assert (top / name).exists(), name
