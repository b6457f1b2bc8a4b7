"""test_clipboard_image.py - Ctrl+V takes an image from the clipboard, and a
terminal that decodes images itself shows it."""
# SPDX-License-Identifier: MIT
import base64
import os
import time

import pytest

from terminal import Terminal
from test_live_chat import DONE
from test_media import png

IMAGE = png(40, 30)
CTRL_V = "\x16"
PROGRAMS = {"xclip": "DISPLAY", "wl-paste": "WAYLAND_DISPLAY"}


@pytest.fixture
def chat(dcode, env, tmp_path, model):
    """chat(program, script) -> (Terminal at its prompt, the model's server)."""
    open_ones = []
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "image").write_bytes(IMAGE)
    env.update(TERM="xterm-256color", PATH=f"{tmp_path}/bin:{env['PATH']}")

    def begin(program=None, script="", **more):
        if program:
            path = tmp_path / "bin" / program
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
            env[PROGRAMS[program]] = ":9"
        env.update(more)
        server = model([DONE])
        t = Terminal([str(dcode), "-M", "anthropic:m"], env, tmp_path / "work")
        open_ones.append(t)
        t.until("this machine")
        return t, server
    yield begin
    for t in open_ones:
        t.close()


def serves(tmp_path, kind="image/png"):
    """A program that has the image as one type only."""
    return (f'case "$*" in *{kind}*) pwd >{tmp_path}/pwd; '
            f"cat {tmp_path}/image;; *) exit 1;; esac")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", ["image/png", "image/gif"])
def test_ctrl_v_attaches_the_image_of_the_clipboard(
        chat, tmp_path, program, kind):
    t, server = chat(program, serves(tmp_path, kind))
    t.type("look at " + CTRL_V)
    t.until("[image 1: clipboard, ")
    t.type("please\r")
    t.until("done.")
    content = server.requests[0]["body"]["messages"][-1]["content"]
    images = [c["source"]["data"] for c in content if c["type"] == "image"]
    assert [base64.b64decode(i) for i in images] == [IMAGE]
    assert any(c.get("text", "").startswith("look at [image 1: clipboard, ")
               for c in content)
    assert (tmp_path / "pwd").read_text() == "/\n"


@pytest.mark.parametrize("pasted", [False, True])
def test_an_image_behind_a_mention_is_not_part_of_its_path(
        chat, tmp_path, pasted):
    t, server = chat("xclip", serves(tmp_path))
    (tmp_path / "work" / "notes.txt").write_text("remember the milk\n")
    (tmp_path / "image.png").write_bytes(IMAGE)
    t.type("see @notes.txt")
    t.until("@notes.txt")
    t.type(f"\x1b[200~{tmp_path}/image.png\x1b[201~" if pasted else CTRL_V)
    t.until("[image 1: image.png, " if pasted else "[image 1: clipboard, ")
    t.type(" please\r")
    t.until("done.")
    content = server.requests[0]["body"]["messages"][-1]["content"]
    assert [c["type"] for c in content].count("image") == 1
    assert "remember the milk" in str(content)


def test_an_image_that_is_too_large_is_refused_and_nothing_is_sent(
        chat, tmp_path):
    (tmp_path / "big.png").write_bytes(png(9, 9, b"x" * 3_750_000))
    (tmp_path / "work" / "big.png").write_bytes(png(9, 9, b"x" * 3_750_000))
    (tmp_path / "ok.png").write_bytes(IMAGE)
    t, server = chat()
    t.type(f"\x1b[200~{tmp_path}/big.png\x1b[201~")
    t.until("not attached: big.png has 3.8 MB, and the limit")
    t.until("Make it smaller, for example: magick")
    t.type("\x15see @big.png \r")
    t.until("not sent: @big.png is too large")
    t.type("\x15")
    t.type(f"\x1b[200~{tmp_path}/ok.png\x1b[201~")
    t.until("[image 1: ok.png, ")
    # it has grown since
    (tmp_path / "ok.png").write_bytes(png(9, 9, b"x" * 3_750_000))
    t.type(" please\r")
    t.until("not attached: ok.png has 3.8 MB")
    assert not server.requests
    (tmp_path / "ok.png").write_bytes(IMAGE)
    t.type(" now\r")  # the draft is still there
    t.until("done.")
    content = str(server.requests[0]["body"]["messages"][-1]["content"])
    assert "please now" in content and "[image 1: ok.png" in content
    assert len(server.requests) == 1


@pytest.mark.parametrize("name, data", [
    ("text.png", b"no image"), ("cut.jpg", b"\x89PN"),
    ("photo.HEIC", b"\0\0\0\x18ftypheic"), ("old.bmp", b"BM\0\0")])
def test_a_file_that_is_no_image_is_refused_and_nothing_is_sent(
        chat, tmp_path, name, data):
    (tmp_path / "work" / name).write_bytes(data)
    (tmp_path / "work" / "notes.png").write_bytes(IMAGE)
    t, server = chat()
    t.type(f"see @{name} \r")
    t.until(f"not sent: @{name} is not a PNG, JPEG, GIF, WebP or PDF file")
    t.until("Convert it, for example: magick")
    t.until(f"see @{name}")  # the draft is still there
    assert not server.requests
    t.type("\x15see @notes.png \r")  # the control
    t.until("done.")
    assert len(server.requests) == 1


@pytest.mark.parametrize("key", ["\x7f", "\x08", "\x17"])
def test_backspace_removes_an_attached_image_at_once(chat, tmp_path, key):
    for name in ("one.png", "two.png"):
        (tmp_path / name).write_bytes(IMAGE)
    t, server = chat()
    t.type(f"\x1b[200~{tmp_path}/one.png {tmp_path}/two.png\x1b[201~")
    t.until("[image 2: two.png, ")
    t.type(key)
    t.type("only\r")
    t.until("done.")
    content = server.requests[0]["body"]["messages"][-1]["content"]
    assert [c["type"] for c in content].count("image") == 1
    assert "two.png" not in str(content) and "only" in str(content)


def test_a_clipboard_without_an_image_says_so(chat):
    t, _ = chat("xclip", "exit 1")
    t.type("text" + CTRL_V)
    t.until("the clipboard has no image")


def test_text_that_claims_to_be_an_image_is_none(chat):
    t, _ = chat("xclip", "echo not an image")
    t.type(CTRL_V)
    t.until("the clipboard has no image")
    assert "[image" not in t.wait(0.3)


def test_a_program_that_hangs_is_given_up(chat):
    t, _ = chat("xclip", "exec sleep 600")
    t.type(CTRL_V)
    t.until("did not answer in time", seconds=15)


def test_keys_work_while_a_clipboard_program_hangs(chat, tmp_path):
    started = tmp_path / "started"
    t, _ = chat("xclip", f"touch {started}; exec sleep 600")
    t.type(CTRL_V)
    end = time.monotonic() + 10
    while not started.exists() and time.monotonic() < end:
        time.sleep(0.01)
    t.type("typed meanwhile")
    seen = t.until("typed meanwhile")
    assert "did not answer in time" not in seen
    assert "typed meanwhile" not in t.until("did not answer in time")


def test_leaving_ends_a_clipboard_program_that_hangs(chat, tmp_path):
    t, _ = chat("xclip", f"echo $$ >{tmp_path}/pid; exec sleep 600")
    t.type(CTRL_V)
    end = time.monotonic() + 10
    while not (tmp_path / "pid").exists() and time.monotonic() < end:
        time.sleep(0.01)
    t.type("\x04")
    assert t.end() == 0
    pid = int((tmp_path / "pid").read_text())
    assert not os.path.exists(f"/proc/{pid}/exe")


def test_a_clipboard_without_an_end_is_cut(chat):
    t, _ = chat("xclip", "exec cat /dev/zero")
    t.type(CTRL_V)
    t.until("is too large", seconds=15)


def test_without_a_program_the_hint_says_what_to_install(chat):
    t, _ = chat()
    t.type(CTRL_V)
    t.until("xclip")


def test_a_program_of_the_working_directory_is_never_run(
        chat, env, tmp_path):
    trap = tmp_path / "work" / "xclip"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/trapped\n")
    trap.chmod(0o755)
    t, _ = chat(DISPLAY=":9", PATH=f".:{env['PATH']}")
    t.type(CTRL_V)
    t.until("rror: ")
    assert not os.path.exists(tmp_path / "trapped")


KITTY = {"TERM": "xterm-kitty"}
ITERM = {"TERM_PROGRAM": "iTerm.app"}


@pytest.mark.parametrize("terminal, begins", [
    (KITTY, "\x1b_Ga=T,f=100,q=2,r=8,m="),
    ({"TERM_PROGRAM": "ghostty"}, "\x1b_Ga=T,f=100,q=2,r=8,m="),
    (ITERM, "\x1b]1337;File=inline=1;size=")])
def test_a_terminal_that_decodes_images_shows_it(
        chat, tmp_path, terminal, begins):
    t, _ = chat("xclip", serves(tmp_path), **terminal)
    t.type(CTRL_V)
    seen = t.until("[image 1: clipboard, ")
    assert begins in seen
    assert base64.b64encode(IMAGE).decode()[:60] in seen


@pytest.mark.parametrize("terminal", [
    {}, {**KITTY, "TMUX": "/nowhere,1,0"}, {**ITERM, "TMUX": "/nowhere,1,0"},
    {**ITERM, "STY": "1"}])
def test_others_get_the_mark_alone(chat, tmp_path, terminal):
    t, _ = chat("xclip", serves(tmp_path), **terminal)
    t.type(CTRL_V)
    seen = t.until("[image 1: clipboard, ")
    assert "\x1b_G" not in seen and "1337" not in seen


def test_the_setting_turns_it_off(chat, config, tmp_path):
    config("[ui]\nimages = false\n")
    t, _ = chat("xclip", serves(tmp_path), **KITTY)
    t.type(CTRL_V)
    assert "\x1b_G" not in t.until("[image 1: clipboard, ")
