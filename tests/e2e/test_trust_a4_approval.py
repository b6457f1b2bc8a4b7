"""test_trust_a4_approval.py - an approval shows what will run."""
# SPDX-License-Identifier: MIT
import subprocess
import time

import pytest

DONE = {"text": "done."}


class Screen:
    """dcode in tmux: what a person sees, and no more."""

    def __init__(self, socket, command, env, cwd, size):
        self.tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        line = " ".join(f"'{c}'" for c in command)
        subprocess.run([*self.tmux, "new-session", "-d", "-x", str(size[0]),
                        "-y", str(size[1]), line], check=True, cwd=cwd,
                       env={**env, "TERM": "screen", "LC_ALL": "C.UTF-8"})

    def type(self, text):
        subprocess.run([*self.tmux, "send-keys", "-l", text], check=True)
        subprocess.run([*self.tmux, "send-keys", "Enter"], check=True)

    def resize(self, columns, rows):
        subprocess.run([*self.tmux, "resize-window", "-x", str(columns),
                        "-y", str(rows)], check=True)

    def seen(self, *more):
        return subprocess.run([*self.tmux, "capture-pane", "-p", *more],
                              check=True, capture_output=True,
                              text=True).stdout.rstrip()

    def until(self, end, seconds=30):
        """What is on the screen once its last line ends so."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            seen = self.seen()
            if seen.endswith(end):
                return seen
            time.sleep(0.02)
        raise AssertionError(f"no {end!r} in\n{seen}")

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], check=False)


ASKS = "Allow it? [y/N]"


@pytest.fixture
def screen(dcode, env, tmp_path, model):
    """screen(turns, size) -> (Screen at the first question, the model)."""
    opened = []

    def begin(turns, size=(80, 24)):
        server = model(turns)
        s = Screen(tmp_path / "tmux",
                   [dcode, "--plain", "-M", "anthropic:m"], env,
                   tmp_path / "work", size)
        opened.append(s)
        s.until(">")
        s.type("go")
        return s, server
    yield begin
    for s in opened:
        s.close()


def call(tool, **args):
    return {"tool_calls": [{"name": tool, "args": args}]}


# "nothing" is the control: that command was always seen.
PADDINGS = {
    "nothing": "", "spaces": " " * 3000, "tabs": "\t" * 3000,
    "nbsp": "\u00a0" * 3000, "braille": "\u2800" * 3000,
    "lines": "\n" * 3000, "blank lines": " \n" * 3000,
    "wide": "\u6f22" * 3000, "marks": "a" + "\u0301" * 3000,
    "zero": "\u200b" * 3000, "letters": "x" * 3000,
    "commands": "\ntrue" * 3000 + "\n"}


@pytest.mark.parametrize("padding, columns", [
    *((p, 80) for p in PADDINGS),
    *((p, 20) for p in ("spaces", "lines", "wide", "commands"))])
def test_both_ends_of_a_command_are_on_the_screen(screen, padding, columns):
    s, _ = screen([call("execute", command="touch PWNED #" +
                        PADDINGS[padding] + " ls -la"), DONE],
                  (columns, 24))
    seen = s.until(ASKS).split("wants to")[-1].replace("\n    ", " ")
    assert "touch PWNED" in seen and "ls -la" in seen


def test_the_middle_is_counted_and_shown_on_request(screen, tmp_path):
    lines = [f"true {i}" for i in range(400)]
    lines[200] = "touch hidden"
    s, _ = screen([call("execute", command="\n".join(lines)), DONE])
    seen = s.until(ASKS)
    assert "true 0" in seen and "true 399" in seen
    assert " rows ..." in seen and "touch hidden" not in seen
    s.type("v")
    time.sleep(0.2)
    s.until(ASKS)
    assert "| touch hidden" in s.seen("-S", "-")
    assert "true 0" in s.seen() and "true 399" in s.seen()
    assert not (tmp_path / "work" / "hidden").exists()
    s.type("y")
    s.until(">")
    assert (tmp_path / "work" / "hidden").exists()


def test_arguments_that_the_tool_ignores_hide_nothing(screen):
    pad = "x" * 9000
    s, _ = screen([call("execute", a=pad, command="touch PWNED", z=pad),
                   DONE])
    assert "command: touch PWNED" in s.until(ASKS)


def test_a_terminal_that_became_smaller_is_asked_again(screen, tmp_path):
    text = "touch made\n" + "\n".join(f"true {i}" for i in range(12))
    s, _ = screen([call("execute", command=text), DONE])
    assert "touch made" in s.until(ASKS)
    s.resize(40, 12)
    s.type("y")
    time.sleep(0.2)
    seen = s.until(ASKS)
    assert "became smaller" in s.seen("-S", "-")
    assert "touch made" in seen and "true 11" in seen
    assert not (tmp_path / "work" / "made").exists()
    s.type("y")
    s.until(">")
    assert (tmp_path / "work" / "made").exists()
