"""test_streams_apart.py - text of the model and lines of dcode never share a
line where both streams are the same terminal, pipe or file."""
# SPDX-License-Identifier: MIT
import pathlib
import subprocess

import pytest

from terminal import Terminal
from test_live_chat import execute

M = ("-M", "anthropic:m")


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
