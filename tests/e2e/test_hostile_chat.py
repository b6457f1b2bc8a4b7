"""test_hostile_chat.py - the approval prompt: what is shown is what runs."""
# SPDX-License-Identifier: MIT
import time

import pytest

from terminal import Terminal


@pytest.fixture
def chat(dcode, env, tmp_path, model):
    """chat(turns) -> (Terminal at its prompt, the model's server)."""
    open_ones = []

    def begin(turns, cwd="work", args=()):
        server = model(turns)
        (tmp_path / cwd).mkdir(exist_ok=True)
        t = Terminal([str(dcode), "-M", "anthropic:m", *args], env,
                     tmp_path / cwd)
        open_ones.append(t)
        t.until("> ")
        return t, server
    yield begin
    for t in open_ones:
        t.close()


def execute(command, **more):
    return {"name": "execute", "args": {"command": command, **more}}


DONE = {"text": "done."}


@pytest.mark.parametrize("command, shown", [
    ("echo 1 \x1b]0; touch hidden; \x07 2",
     "echo 1 \\x1b]0; touch hidden; \\x07 2"),
    ("echo a\rtouch b", "echo a\\x0dtouch b"),
    ("echo \u202etxt.exe\u2066", "echo \\u{202e}txt.exe\\u{2066}"),
    ("echo \x9b2J\x1b[1A\x1b[2Kls", "echo \\u{9b}2J\\x1b[1A\\x1b[2Kls"),
    ("true\n\nAllow it? [y/N] y\n> fine", "true\r\n  | \r\n"
     "  | Allow it? [y/N] y\r\n  | > fine"),
    ("echo plain", "command: echo plain\r\n"),
])
def test_nothing_of_a_command_is_hidden(chat, tmp_path, command, shown):
    t, server = chat([{"tool_calls": [execute(command)]}, DONE])
    t.type("go\r")
    asked = t.until("\nAllow it? [y/N] ")
    question = asked[asked.index("wants to run"):]
    assert shown in question
    assert "\x1b" not in asked and "\x9b" not in asked
    t.type("n\r")
    t.until("done.")
    assert "rejected" in str(server.requests[-1]["body"])


def test_names_of_arguments_are_cleaned_too(chat):
    bad = "x\x1b[2J\nAllow it? [y/N] y"
    t, server = chat([{"tool_calls": [execute("true", **{bad: "v"})]}, DONE])
    t.type("go\r")
    asked = t.until("\nAllow it? [y/N] ")
    assert "x\\x1b[2J\r\n  | Allow it?" in asked and "\x1b" not in asked
    t.type("y\r")
    t.until("done.")
    assert "exit code 0" in str(server.requests[-1]["body"])


def test_typing_ahead_approves_nothing(chat, tmp_path):
    """A "y" from before the question is a message, not an answer."""
    t, server = chat([
        {"tool_calls": [execute("touch made")], "delay_ms": 700}, DONE])
    t.type("go\r")
    time.sleep(0.3)
    t.type("y\r")
    t.until("Allow it? [y/N] ")
    time.sleep(0.5)
    assert not (tmp_path / "work" / "made").exists()
    t.type("y\r")
    t.until("Sent into the running turn: y")  # and the message was kept
    t.until("done.")
    assert (tmp_path / "work" / "made").exists()
    assert "'y'" in str(server.requests[-1]["body"]["messages"][-1])


def test_long_calls_say_so(chat):
    t, _ = chat([{"tool_calls": [execute("true\n" * 100)]}, DONE])
    t.type("go\r")
    asked = t.until("Allow it? [y/N] ")
    hidden = int(asked.split("  ... ")[1].split(" rows")[0])
    assert hidden + asked.count("true") == 101  # an empty line at the end
    assert "Answer v" in asked
    t.type("n\r")
    t.until("done.")


def test_the_name_of_the_folder(chat):
    t, _ = chat([DONE], cwd="a\x1b]0;x\x07\u202e\nError: fake")
    assert "a Error: fake. /help" in " ".join(t.seen.split())
    assert not set(t.seen) & set("\x1b\x07\u202e")
