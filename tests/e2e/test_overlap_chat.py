"""test_overlap_chat.py - the chat asks the model while its sandbox is made."""
# SPDX-License-Identifier: MIT
import pathlib
import subprocess
import tempfile
import threading

import pytest

from clouds import CREATE, DONE, results
from lifecycle import execute, wait_for
from screens import Screen

pytestmark = pytest.mark.usefixtures("sandbox_at_start")

LOOKING = [{"text": "looking now\n", **execute("echo $((6*7))")}, DONE]


@pytest.fixture
def chat(dcode, env, tmp_path, vendor):
    """chat(*args) -> (Screen of a chat, its cloud, the event that creating
    waits for)."""
    open_ones, events = [], []

    def begin(*args):
        cloud, made = vendor("e2b"), threading.Event()
        cloud.fault(CREATE["e2b"], hold=made)
        events.append(made)
        (tmp_path / "work").mkdir(exist_ok=True)
        s = Screen(pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-")),
                   [dcode, "-M", "anthropic:m", "--sandbox", "e2b", *args],
                   env, tmp_path / "work", columns=100)
        open_ones.append(s)
        return s, cloud, made
    yield begin
    for made in events:
        made.set()
    for s in open_ones:
        s.close()


@pytest.mark.parametrize("how", ["typed", "given"])
def test_a_message_goes_out_while_the_sandbox_is_made(chat, model, how):
    server = model(LOOKING)
    s, cloud, made = chat(*(["-m", "look"] if how == "given" else []))
    if how == "typed":
        s.until("Starting E2b sandbox")
        s.type("look")
        s.keys("Enter")
    # the answer, and both that are waited for
    s.until("looking now")
    s.until("; Starting E2b sandbox")
    assert cloud.count(CREATE["e2b"]) == 1 and not cloud.boxes
    made.set()
    s.until("done")
    assert len(server.requests) == 2 and "42" in results(server)[0]


def test_esc_ends_both_and_the_message_waits(chat, model):
    server = model([{"text": "x", "fault": {"stall_after_bytes": 0}}, DONE])
    s, cloud, made = chat()
    s.until("Starting E2b sandbox")
    s.type("look")
    s.keys("Enter")
    s.until("waiting for the model; Starting")
    wait_for(lambda: server.requests)
    s.keys("Escape")
    s.until("Interrupted. Type a new message")
    s.until("Enter sends the queue")
    made.set()
    wait_for(lambda: cloud.left() == [])
    s.keys("Enter")
    s.until("anthropic:m, tools in")
    wait_for(lambda: len(server.requests) == 2)
    first, second = (q["body"]["messages"] for q in server.requests)
    assert first == second


def test_nothing_is_sent_before_the_question_about_the_tree(
        chat, model, tmp_path, home):
    assert home
    subprocess.run(["git", "init", "-q", tmp_path / "work"], check=True)
    (tmp_path / "work" / "a.c").write_text("int a;\n")
    server = model(LOOKING)
    s, _, made = chat("-m", "look")
    s.until("Starting E2b sandbox")
    made.set()
    s.until("into the sandbox? [y/N]")
    assert not server.model.received
    s.type("y")
    s.keys("Enter")
    s.until("done")
    assert "42" in results(server)[0]
