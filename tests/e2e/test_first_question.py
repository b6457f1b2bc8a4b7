"""test_first_question.py - whether the repository goes into the sandbox."""
# SPDX-License-Identifier: MIT
import json
import pathlib
import tempfile
import time

import pytest

from screens import Screen
from test_workspace import git

QUESTION = "into the sandbox? [y/N]"
ALONE = 2.3  # s after which a single key may answer
DONE = {"text": "done."}
LIST = {"tool_calls": [{"name": "execute", "args": {"command": "ls"}}]}


@pytest.fixture
def work(home):
    top = home.parent / "work"
    git(top, "init", "-q", "-b", "main")
    for i in range(1200):
        (top / f"f{i:04}").write_text("x" * 9)
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    return top


@pytest.fixture(params=["screen", "lines"])
def chat(request, dcode, env, model, work):
    """chat(*options) -> a Screen that begins in the repository."""
    open_ones = []

    def begin(*args, script=(LIST, DONE)):
        if not open_ones:
            begin.server = model({"turns": list(script), "repeat": True})
        place = pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-"))
        plain = ["--plain"] if request.param == "lines" else []
        s = Screen(place, [dcode, "-M", "anthropic:m", "--sandbox", "local",
                           "--on-exit", "delete", *plain, *args], env, work)
        open_ones.append(s)
        return s
    begin.lines = request.param == "lines"
    yield begin
    for s in open_ones:
        s.close()


def one_line(text):
    return " ".join(text.split())


def asked(s, what="Copy this repository (1,200 files, 10 kB) "):
    s.until(lambda t: what + QUESTION in one_line(t))
    time.sleep(0.4)  # nobody answers sooner


def answer(s, text):
    s.type(text)
    s.keys("Enter")


def leave(s):
    answer(s, "/quit")
    assert s.status() == 0


def seen_files(server):
    return "f0001" in json.dumps(server.requests[-1]["body"])


@pytest.mark.parametrize("said, copied", [
    ("y", True), ("Y", True), ("n", False), ("", False)])
def test_y_n_and_enter_answer(chat, said, copied):
    s = chat()
    asked(s)
    answer(s, said)
    s.until(lambda t: "Answer saved for work: "
            f"{'copy' if copied else 'do not copy'}. To" in one_line(t))
    s.until(lambda t: "--workspace "
            f"{'none' if copied else 'repo'} stored in "
            "~/.deepagents/.state/dcode.db" in one_line(t))
    answer(s, "look")
    s.until("done.")
    assert seen_files(chat.server) == copied
    leave(s)


def test_any_other_text_is_kept_as_the_message(chat):
    s = chat()
    asked(s)
    answer(s, "now list the files")
    if chat.lines:
        s.until("Saved as your next message. Please answer y or n.")
    else:
        s.until("+ now list the files")
        time.sleep(ALONE)
    assert not chat.server.requests
    answer(s, "y")
    s.until("done.")
    assert "now list the files" in json.dumps(chat.server.requests[0]["body"])
    assert seen_files(chat.server)
    leave(s)


def test_a_message_that_begins_as_an_answer_is_no_answer(chat):
    s = chat()
    asked(s)
    s.type("y")
    s.type("es, but first")
    if not chat.lines:
        s.until("\u276f yes, but first")
    s.keys("Enter")
    time.sleep(0.3 if chat.lines else ALONE)
    assert "Sent work" not in s.text(True)
    answer(s, "n")
    s.until("done.")
    assert "yes, but first" in json.dumps(chat.server.requests[0]["body"])
    assert not seen_files(chat.server)
    leave(s)


@pytest.mark.usefixtures("sandbox_at_start")
def test_the_flag_changes_the_remembered_answer(chat):
    for args, said, later in (
            ((), "n", "Answer saved for work: do not copy"),
            ((), None, "The sandbox starts empty, because you declined to "
                       "copy work earlier. To copy it: --workspace repo"),
            (("--workspace", "repo"), None, "Answer saved for work: copy."),
            ((), None, "Sent work"),
            (("--workspace", "none"), None, "Answer saved for work: do not"),
            ((), None, "empty, because you declined")):
        s = chat(*args)
        if said:
            asked(s)
            answer(s, said)
        seen = s.until(lambda t, later=later: later in one_line(t))
        assert said or QUESTION not in seen
        s.until("tools in")
        leave(s)


def test_escape_and_the_end_of_input_mean_no(chat):
    s = chat()
    asked(s)
    if chat.lines:
        s.keys("C-d")
        assert s.status() == 130
    else:
        s.keys("Escape")
        s.until("[y/N] no")
        s.until("tools in")
        leave(s)
    s = chat()
    asked(s) if chat.lines else s.until("empty, because you declined")


@pytest.mark.parametrize("overlap", ["true", "false"])
def test_a_task_says_before_the_model_that_the_sandbox_is_empty(
        run, work, model, env, overlap):
    env["DEEPAGENTS_CODE_SANDBOX_OVERLAP"] = overlap
    line = ("The sandbox starts empty. --workspace repo copies work into "
            "it.\n")
    server = model([{"text": "an answer", "fault": {"status": 401}}])
    told = run("-n", "x", "--sandbox", "local", "-M", "anthropic:m")
    assert told.err.startswith(line) and told.err.count(line) == 1
    assert len(server.requests) == 1
    for args in (["--workspace", "none"], ["--workspace", "repo"], ["-q"]):
        r = run("-n", "x", "--sandbox", "local", "-M", "anthropic:m", *args)
        assert line not in r.err
    r = run("-n", "x", "-M", "anthropic:m")
    assert line not in r.err
