"""test_first_use.py - a chat makes its sandbox when something needs it."""
# SPDX-License-Identifier: MIT
import pathlib
import subprocess
import tempfile
import threading

import pytest

from clouds import CREATE, DONE, results
from lifecycle import execute, wait_for
from screens import Screen

HELLO = {"text": "Hello there."}
SUM = execute("echo $((6*7))")


@pytest.fixture
def chat(dcode, env, tmp_path, vendor):
    """chat(*args) -> (Screen of a chat, its cloud)."""
    open_ones, events = [], []

    def begin(*args, hold=False, cwd="work"):
        cloud, made = vendor("e2b"), threading.Event()
        if hold:
            cloud.fault(CREATE["e2b"], hold=made)
        events.append(made)
        (tmp_path / cwd).mkdir(exist_ok=True)
        s = Screen(pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-")),
                   [dcode, "-M", "anthropic:m", "--sandbox", "e2b", *args],
                   env, tmp_path / cwd, columns=100)
        s.made = made
        open_ones.append(s)
        return s, cloud
    yield begin
    for made in events:
        made.set()
    for s in open_ones:
        s.close()


def say(s, text, answer):
    s.type(text)
    s.keys("Enter")
    s.until(answer)


def creates(cloud):
    return cloud.count(CREATE["e2b"])


def test_talk_creates_nothing(chat, model):
    server = model([HELLO, {"text": "Again."}])
    s, cloud = chat()
    s.until("anthropic:m, tools in")
    say(s, "hi", "Hello there.")
    say(s, "again", "Again.")
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0
    assert len(server.requests) == 2
    assert cloud.requests == [], "a chat without tools asks the vendor nothing"


@pytest.mark.parametrize("how", [
    ["--startup-cmd", "true"], ["--sandbox-setup", "../setup.sh"],
    ["--workspace", "repo"], "overlap = false", 'create = "start"'])
def test_what_needs_it_creates_it_at_the_start(chat, model, config, tmp_path,
                                               how):
    model([HELLO])
    (tmp_path / "setup.sh").write_text("true\n")
    options = how
    if isinstance(how, str):
        config(f"[sandboxes]\n{how}\n")
        options = []
    s, cloud = chat(*options)
    wait_for(lambda: creates(cloud) == 1)
    s.until("anthropic:m, tools in")


def test_the_first_call_creates_it_while_it_arrives(chat, model):
    long = execute("echo $((6*7)); : " + "x" * 600)
    server = model([HELLO, {**long, "chunk_bytes": 500,
                            "chunk_delay_ms": 200}, DONE, SUM, DONE])
    s, cloud = chat(hold=True)
    s.until("anthropic:m, tools in")
    say(s, "hi", "Hello there.")
    assert creates(cloud) == 0
    s.type("look")
    s.keys("Enter")
    wait_for(lambda: creates(cloud) == 1)
    assert "echo $((6*7))" not in s.text(), "the call is complete"
    s.until("Starting E2b sandbox")
    s.made.set()
    s.until("done")
    assert "42" in results(server)[0]
    s.type("once more")
    s.keys("Enter")
    wait_for(lambda: len(server.requests) == 5)
    assert creates(cloud) == 1


def test_a_creation_that_fails_is_tried_again_by_the_next_call(chat, model):
    server = model([HELLO, SUM, SUM, DONE])
    s, cloud = chat()
    cloud.fault(CREATE["e2b"], status=400, times=1)
    s.until("anthropic:m, tools in")
    say(s, "hi", "Hello there.")
    say(s, "look", "Error:")
    say(s, "look again", "done")
    assert creates(cloud) == 2
    assert "42" in results(server)[-1]
    # the conversation is that of before
    assert "hi" in str(server.requests[-1]["body"]["messages"][0])


def test_esc_ends_the_creation_and_nothing_is_left(chat, model):
    model([SUM, SUM, DONE])
    s, cloud = chat(hold=True)
    s.until("anthropic:m, tools in")
    s.type("look")
    s.keys("Enter")
    wait_for(lambda: creates(cloud) == 1)
    s.until("Starting E2b sandbox")
    s.keys("Escape")
    s.until("Interrupted")
    s.made.set()
    wait_for(lambda: cloud.left() == [])
    say(s, "look again", "done")
    assert creates(cloud) == 2


@pytest.mark.parametrize("line", [
    "!echo $((6*7))", "/shell", "/upload ../notes.txt",
    "what is in @/etc/hostname ?"])
def test_what_needs_the_sandbox_creates_it(chat, model, tmp_path, line):
    model([HELLO])
    (tmp_path / "notes.txt").write_text("notes\n")
    s, cloud = chat()
    s.until("anthropic:m, tools in")
    assert creates(cloud) == 0
    s.type(line)
    s.keys("Enter")
    s.until("E2b sandbox ready")
    assert creates(cloud) == 1
    s.until({"!": "42", "/s": "", "/u": "notes.txt",
             "w": "Hello there."}[line[:2 if line[0] == "/" else 1]])


@pytest.mark.parametrize("line,shows", [
    ("/sandbox", "not created yet"), ("/jobs", "No background commands"),
    ("/cost", "Nothing has been used"), ("/diff", "does not exist yet"),
    ("/apply", "does not exist yet"), ("/push", "does not exist yet"),
    ("/undo", "does not exist yet")])
def test_what_does_not_need_it_creates_none(chat, model, line, shows):
    model([HELLO])
    s, cloud = chat()
    s.until("anthropic:m, tools in")
    say(s, line, shows)
    say(s, "hi", "Hello there.")
    assert creates(cloud) == 0


@pytest.mark.parametrize("how", ["/plan", None])
def test_a_mode_chosen_before_the_first_call_stays(chat, model, home, how):
    """--yolo must not come back when the sandbox does."""
    state = home / ".deepagents/.state"
    state.mkdir(mode=0o700, parents=True)
    (state / "yolo-acknowledged").touch()
    server = model([execute("echo made"), DONE])
    s, cloud = chat("--yolo")
    s.until("yolo \u00b7")
    assert creates(cloud) == 0
    if how:
        say(s, how, "plan \u00b7")
    say(s, "go", "done")
    # the control: without /plan it runs
    assert ("made\n" in results(server)[-1]) == (not how)
    assert ("yolo \u00b7" in s.text()) == (not how)


@pytest.mark.parametrize("answer", ["y", "n"])
def test_the_question_about_the_tree_stays_at_the_start(
        chat, model, tmp_path, home, answer):
    assert home
    subprocess.run(["git", "init", "-q", tmp_path / "work"], check=True)
    (tmp_path / "work" / "a.c").write_text("int a;\n")
    server = model([HELLO, execute("ls"), DONE])
    s, cloud = chat()
    s.until("into the sandbox? [y/N]")
    s.type(answer)
    s.keys("Enter")
    s.until("anthropic:m, tools in")
    say(s, "hi", "Hello there.")
    assert cloud.requests == []
    say(s, "look", "done")
    assert ("a.c" in results(server)[-1]) == (answer == "y")
    assert "declined to copy" not in s.text(scrollback=True)


def test_a_chat_in_lines_too(chat, model):
    server = model([HELLO, SUM, DONE])
    s, cloud = chat("--plain")
    s.until("/help, /quit")
    say(s, "hi", "Hello there.")
    assert creates(cloud) == 0
    say(s, "look", "done")
    assert creates(cloud) == 1
    assert "42" in results(server)[-1]
    say(s, "/quit", "Delete it, stop it, or keep it?")
    s.keys("Enter")
    assert s.status() == 0
    assert cloud.left() == []


def test_a_wrong_value_is_an_error(run, config):
    config('[sandboxes]\ncreate = "later"\n')
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "e2b")
    assert r.status != 0 and "use first-use or start" in r.err
