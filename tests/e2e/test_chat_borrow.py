"""test_chat_borrow.py - others that ask at the chat's terminal, and give it
back."""
# SPDX-License-Identifier: MIT
import termios
import time

import pytest

from apply_room import git
from test_chat_suspend import leave, shell  # noqa: F401
from test_live_chat import HELLO, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name

SIGN = "\u276f "
SECRET = "sk-ant-very-secret-0123456789"


def echoes(s):
    """Whether the terminal is cooked, and whether it echoes."""
    tty = s.tmux("display-message", "-p", "#{pane_tty}").strip()
    with open(tty, encoding="ascii") as terminal:
        flags = termios.tcgetattr(terminal)[3]
    return bool(flags & termios.ICANON), bool(flags & termios.ECHO)


def command(s, line):
    s.type(line)
    s.keys("Enter")


def is_back(s):
    """The live part stands once, raw, and takes a message."""
    s.until(lambda t: t.rstrip().splitlines()[-2:-1] == [SIGN.strip()])
    assert echoes(s) == (False, False)
    s.type("still there")
    seen = s.until(SIGN + "still there")
    assert seen.count("still there") == 1
    assert seen.count("manual") <= 1
    s.keys("Enter")
    s.until("Hello there.")


def test_a_key_is_asked_for_without_showing_it(live, run, env):
    env["DEEPAGENTS_CODE_KEYRING"] = "none"
    s, _ = live(HELLO)
    command(s, "/auth set openai")
    s.until("(not shown):")
    assert not echoes(s)[1]
    command(s, SECRET)
    s.until("Send this key to that")  # OPENAI_BASE_URL is set
    time.sleep(2.2)  # a question that comes while one types takes no key
    s.keys("n", "Enter")
    is_back(s)
    assert SECRET not in s.text(True)
    assert "openai" in run("auth", "list").out


def test_a_key_that_is_not_given_leaves_the_chat_as_it_was(shell):
    s, server = shell([HELLO["turns"][0]])
    s.type("/auth set openai")
    s.wait(0.2)
    s.type("\r")
    s.until("(not shown):")
    s.type("half a key")
    s.wait(0.2)
    s.type("\x03")
    seen = s.until(SIGN) + s.wait(0.5)
    assert s.flags() == (False, False)
    assert "half a key" not in seen
    s.type("hi")
    s.wait(0.2)
    s.type("\r")
    s.until("Hello there.")
    assert len(server.requests) == 1
    leave(s)


@pytest.fixture
def tree(tmp_path):
    top = tmp_path / "work"
    top.mkdir(exist_ok=True)
    git(top, "init", "-q", "-b", "main")
    (top / "a").write_text("one\n")
    (top / "b").write_text("two\n")
    git(top, "add", "-A")
    git(top, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm",
        "base")
    return top


def test_each_file_is_asked_about_in_the_chat(live, tree):
    s, _ = live([execute("echo 1 >> a; echo 2 >> b"), *[HELLO["turns"][0]] * 2],
                args=["--sandbox", "local", "--workspace", "repo"],
                ready="local ")
    command(s, "go")
    s.until("Hello there.")
    command(s, "/apply --interactive")
    s.until("[y")
    command(s, "y")
    s.until(lambda t: t.count("[y") > 1)
    command(s, "n")
    s.until(lambda t: t.rstrip().splitlines()[-2:-1] == [SIGN.strip()])
    assert echoes(s) == (False, False)
    assert (tree / "a").read_text() == "one\n1\n"
    assert (tree / "b").read_text() == "two\n"
    command(s, "again")
    s.until(lambda t: t.count("Hello there.") == 2, scrollback=True)


@pytest.mark.parametrize("editor, said", [
    ("false", "status 1"), ("/no/such/editor", "status 127"),
    ("kill -9 $$;:", "status 137")])
def test_an_editor_that_fails_leaves_the_draft(live, env, editor, said):
    env["EDITOR"] = editor
    s, server = live(HELLO)
    s.type("my draft")
    s.keys("C-x")
    s.until(said)
    s.until(SIGN + "my draft")
    assert echoes(s) == (False, False)
    s.keys("Enter")
    s.until("Hello there.")
    assert server.requests[0]["body"]["messages"][-1]["content"][0][
        "text"] == "my draft"


def test_an_editor_writes_the_draft(live, env):
    env["EDITOR"] = "printf 'from the\\neditor\\n' >"
    s, server = live(HELLO)
    s.type("my draft")
    s.keys("C-x")
    s.until("from the")
    s.keys("Enter")
    s.until("Hello there.")
    assert server.requests[0]["body"]["messages"][-1]["content"][0][
        "text"] == "from the\neditor"


@pytest.mark.parametrize("pager, said", [
    ("/no/such/pager", "the pager exited with status 127"),
    ("cat", "line 299"), ("false", "the pager exited with status 1")])
def test_a_long_output_is_paged(live, env, pager, said):
    env["PAGER"] = pager
    s, _ = live([execute("seq -f 'line %g' 0 299"), HELLO["turns"][0]],
                args=["-y"])
    command(s, "go")
    s.until("Hello there.")
    s.keys("C-o", "Enter")
    s.until(said, scrollback=True)
    s.until("Enter chooses")  # the list is still there
    s.keys("Escape")
    s.until(lambda t: t.rstrip().splitlines()[-2:-1] == [SIGN.strip()])
    assert echoes(s) == (False, False)
    s.type("x")
    s.until(SIGN + "x")
