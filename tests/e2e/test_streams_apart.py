"""test_streams_apart.py - text of the model and lines of dcode never share a
line where both streams are the same terminal, pipe or file."""
# SPDX-License-Identifier: MIT
import json
import pathlib
import subprocess

import pytest

from raw_http import messages, whole
from terminal import Terminal
from test_live_chat import execute
from test_model_wire import cut, serve  # noqa: F401

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


@pytest.fixture
def cut_once(serve):
    """The first answer breaks off, the second one has other words."""
    lost = messages("This answer is cut")
    serve(cut(lost.encode(), lost.index("event: content_block_stop")),
          whole(messages("Another one is whole.")))


def check_marks(shown):
    """The void answer, the reason, the mark and the new answer."""
    lines = shown.splitlines()
    voided = next(i for i, l in enumerate(lines)
                  if l.startswith("This answer is cut"))
    assert lines[voided + 1].startswith("Retrying: "), shown
    mark = next(i for i, l in enumerate(lines) if l.startswith(
        "The connection broke; the answer starts over."))
    assert voided < mark < lines.index("Another one is whole."), shown


@pytest.mark.parametrize("to", ["pipe", "file", "terminal"])
def test_an_answer_that_a_retry_voids_is_marked_before_the_new_one(
        dcode, env, work, tmp_path, cut_once, to):
    check_marks(merged(dcode, env, work, "-n", "go", *M, to=to,
                       place=tmp_path / "shown"))


def test_a_chat_of_lines_marks_it_too(terminal, cut_once):
    t = terminal("--plain", *M)
    t.until("> ")
    t.type("go\n")
    check_marks(t.until("is whole.\r\n").replace("\r", ""))


def test_in_a_pipe_the_new_answer_begins_on_a_new_line(run, cut_once):
    r = run("-n", "go", *M)
    first, second = r.out.splitlines()
    assert first.startswith("This answer is cut")
    assert second == "Another one is whole."
    assert "Ignore the text above." in r.err


def test_events_say_that_the_text_before_is_void(run, cut_once):
    r = run("-n", "go", *M, "--json")
    events = [json.loads(line) for line in r.out.splitlines()]
    kinds = [e.get("code", e["type"]) for e in events]
    assert kinds.index("text") < kinds.index("retrying")
    assert "text" in kinds[kinds.index("retrying"):]
    assert events[-1]["text"] == "Another one is whole."
