"""test_doctor_terminal.py - what doctor says of the terminal and of tmux."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import tempfile
import time

import pytest

from screens import Screen
from terminal import Terminal

KITTY, DEVICE = "\x1b[?0u", "\x1b[?62;22c"
LIGHT = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
SYNC = "\x1b[?2026;2$y"


@pytest.fixture
def doctor(dcode, env, tmp_path):
    """doctor(answers, ...) -> what it prints at a terminal that answers so."""
    def look(first, second="", term="xterm-256color"):
        env["TERM"] = term
        t = Terminal([str(dcode), "doctor"], env, tmp_path)
        seen = ""
        if first:
            seen += t.until("\x1b[c")
            t.type(first)
        if second:
            seen += t.until("\x1b[?2026$p\x1b[c")
            t.type(second)
        seen += t.until("locale")
        t.close()
        return " ".join(seen.split())
    return look


def test_a_terminal_that_can_all_of_it(doctor):
    seen = doctor(KITTY + LIGHT + DEVICE, SYNC + DEVICE)
    assert "kitty keyboard protocol: Shift+Enter starts a new line" in seen
    assert "synchronized (mode 2026)" in seen
    assert "light, like the terminal's background" in seen


def test_a_terminal_that_can_little(doctor):
    seen = doctor(DEVICE, DEVICE)
    assert "no kitty keyboard protocol" in seen
    assert "not synchronized" in seen
    assert "dark: the terminal does not report" in seen


def test_a_terminal_that_never_answers_is_waited_for_half_a_second(doctor):
    began = time.monotonic()
    seen = doctor("")
    assert "does not answer" in seen
    assert time.monotonic() - began < 10


def test_apples_terminal_is_not_asked_what_it_would_print(doctor, env):
    env["TERM_PROGRAM"] = "Apple_Terminal"
    assert "2026$p" not in doctor(KITTY + DEVICE)


def test_without_a_terminal_nothing_is_asked(run, env):
    env["TERM"] = "xterm-256color"
    r = run("doctor", "--json")
    checks = {c["name"]: c for c in json.loads(r.out)["data"]["checks"]
              if c["section"] == "terminal"}
    assert list(checks) == ["screen"]
    assert "not checked, because" in checks["screen"]["text"]
    assert "\x1b" not in r.out


@pytest.fixture
def in_tmux(dcode, env, tmp_path):
    """in_tmux(...) -> the words that doctor prints in a tmux of its own."""
    open_ones = []

    def look(setting, **more):
        place = pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-"))
        gate = place / "gate"
        s = Screen(place, ["sh", "-c", f"while [ ! -e {gate} ]; do sleep "
                           f'0.05; done; exec "$@"', "sh", "env",
                           *(f"{k}={v}" for k, v in more.items()), dcode,
                           "doctor"], env, tmp_path, columns=160)
        open_ones.append(s)
        s.tmux("set", "-s", "extended-keys", setting)
        gate.touch()
        s.status()
        return " ".join(s.text(True).split())
    yield look
    for s in open_ones:
        s.close()


@pytest.mark.parametrize("setting, said", [
    ("off", "In ~/.tmux.conf: set -s extended-keys on"),
    ("on", "extended-keys is on"), ("always", "extended-keys is on")])
def test_what_tmux_keeps_from_the_chat_is_explained(in_tmux, setting, said):
    assert said in in_tmux(setting)


def test_no_tmux_of_the_directory_is_run(in_tmux, tmp_path):
    planted = tmp_path / "tmux"
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho on\n")
    planted.chmod(0o755)
    assert "is not on PATH" in in_tmux("on", PATH=".:")
    assert not (tmp_path / "ran").exists()
    seen = in_tmux("off", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert "extended-keys is on" in seen  # the control
    assert (tmp_path / "ran").exists()
