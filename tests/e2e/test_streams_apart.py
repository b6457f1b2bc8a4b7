"""test_streams_apart.py - text of the model and lines of dcode never share a
line where both streams are the same terminal, pipe or file; and README's
session is what a real run shows."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import re
import subprocess

import pytest

from terminal import Terminal
from test_live_chat import execute

M = ("-M", "anthropic:m")
TOP = pathlib.Path(__file__).resolve().parents[2]


def merged(dcode, env, work, *args, to="pipe", place=None):
    """What both streams of a run show as one."""
    if to == "terminal":
        t = Terminal([str(dcode), *args], {**env, "TERM": "dumb"}, str(work))
        t.wait(20)
        return t.seen.replace("\r", "")
    if to == "file":
        with open(place, "wb") as f:
            subprocess.run([dcode, *args], env=env, cwd=work, stdout=f,
                           stderr=f, stdin=subprocess.DEVNULL, timeout=60,
                           check=False)
        return pathlib.Path(place).read_text()
    return subprocess.run([dcode, *args], env=env, cwd=work, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=60,
                          check=False).stdout


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    return tmp_path / "work"


TURNS = {"turns": [{"text": "First, what is here already?",
                    **execute("printf part")}, {"text": "Done."}]}


@pytest.mark.parametrize("to", ["pipe", "file", "terminal"])
def test_lines_of_dcode_begin_on_their_own(
        dcode, env, model, work, tmp_path, to):
    model(TURNS)
    shown = merged(dcode, env, work, "-n", "go", *M, "--sandbox", "local",
                   "--workspace", "none", to=to, place=tmp_path / "shown")
    lines = shown.splitlines()
    for line in ("First, what is here already?", "part", "Done."):
        assert lines.count(line) == 1, shown
    assert sum(l.startswith("\u2713 Local sandbox") for l in lines) == 2


def session(text):
    """Without what differs from run to run."""
    text = re.sub(r"dcode-[a-z2-7]{8}", "dcode-xxxxxxxx", text)
    text = re.sub(r"thread [0-9a-f-]{36}", "thread ID", text)
    return re.sub(r"for \d+ s\)", "for N s)", text).strip()


def test_the_session_of_the_manual_is_that_of_a_real_run(dcode):
    shown = subprocess.run(
        ["sh", str(TOP / "scripts/session"), str(dcode)], text=True,
        capture_output=True, timeout=120, check=True,
        env={**os.environ}).stdout
    readme = (TOP / "README.md").read_text().split("## A session\n")[1]
    block = "\n".join(line[4:] for line in readme.split("\nThis is")[0]
                      .splitlines() if line.startswith("    "))
    assert session(block) == session(shown)
    assert "all six checks" in json.dumps(shown)
