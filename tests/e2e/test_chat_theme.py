"""test_chat_theme.py - colours and signs, by choice and by the terminal."""
# SPDX-License-Identifier: MIT
import re

import pytest

from test_chat_notify import chat  # noqa: F401
from test_live_chat import DONE

# pylint: disable=redefined-outer-name

# The sign before the draft: bold, in the accent colour.
DARK, LIGHT, NONE = "\x1b[0;1;36m", "\x1b[0;1;34m", "\x1b[0;1m"
SIGN = "\u276f "
ASKS = "\x1b]11;?\x1b\\"
WHITE, BLACK = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]11;rgb:0/0/0\x1b\\"


def begin(chat, config=""):
    """A chat, and what it has drawn."""
    t = chat([DONE], config)
    return t, t.seen + t.wait(0.3)


def command(t, line):
    t.type(line)
    t.wait(0.1)
    t.type("\r")
    return t.wait(0.6)


@pytest.mark.parametrize("answer, before, after", [
    (WHITE, DARK, LIGHT), (BLACK, DARK, DARK)])
def test_the_terminal_is_asked_and_may_answer_late(chat, answer, before,
                                                   after):
    t, seen = begin(chat)
    assert ASKS in seen and before + SIGN in seen
    t.type(answer)
    assert after + SIGN in t.wait(0.3)


@pytest.mark.parametrize("name, sign", [
    ("dark", DARK), ("light", LIGHT), ("none", NONE),
    ("langchain-light", LIGHT)])
def test_a_configured_theme_is_used_whatever_the_terminal_tells(
        chat, name, sign):
    t, seen = begin(chat, f'[ui]\ntheme = "{name}"\n')
    assert sign + SIGN in seen
    t.type(WHITE if name == "dark" else BLACK)
    t.wait(0.2)
    t.type("x")
    assert sign + SIGN in t.wait(0.3)


def test_the_choice_of_a_session_is_that_of_the_next(chat):
    t, seen = begin(chat)
    assert DARK + SIGN in seen
    assert LIGHT + SIGN in command(t, "/theme light")
    _, seen = begin(chat)
    assert LIGHT + SIGN in seen and DARK + SIGN not in seen
    t, seen = begin(chat, '[ui]\ntheme = "none"\n')
    assert NONE + SIGN in seen
    assert '[ui] theme = "none" is set and' in command(t, "/theme dark")
    t, seen = begin(chat)
    assert DARK + SIGN in seen
    command(t, "/theme auto")
    t.type(WHITE)
    assert LIGHT + SIGN in t.wait(0.3)


def test_no_color_takes_precedence_over_what_is_stored(chat, env):
    env["NO_COLOR"] = "1"
    t, seen = begin(chat, '[ui]\ntheme = "light"\n')
    assert NONE + SIGN in seen and LIGHT not in seen
    assert DARK + SIGN in command(t, "/theme dark")  # but not over words


def test_a_chosen_theme_is_confirmed_in_one_line(chat):
    t, _ = begin(chat)
    seen = command(t, "/theme deuteranopia")
    assert "Theme: deuteranopia (blue and orange for green and red)" in seen
    assert "Theme: dark\x1b[0m" in command(t, "/theme dark")


DOWN = "\x1b[B"
LIGHT_ADDED, DARK_ADDED = ";48;5;194m", ";48;5;22m"  # backgrounds


def test_the_list_of_themes_shows_each_theme_while_moving(chat, env):
    env["TERM"] = "xterm-256color"
    t, _ = begin(chat)
    seen = command(t, "/theme")
    assert "The theme is auto: dark." in seen and DARK_ADDED in seen
    t.type(DOWN)
    t.wait(0.3)
    t.type(DOWN)
    seen = t.wait(0.3)
    assert LIGHT_ADDED in seen and DARK_ADDED not in seen
    t.type("\x1b")
    assert DARK + SIGN in t.wait(0.5)
    command(t, "/theme")
    t.type(DOWN)
    t.wait(0.2)
    t.type(DOWN + "\r")
    seen = t.wait(0.5)
    assert LIGHT + SIGN in seen and "Theme: light" in seen
    _, seen = begin(chat)
    assert LIGHT + SIGN in seen


def test_a_name_that_is_no_theme_is_refused(chat):
    t, _ = begin(chat)
    seen = command(t, "/theme pink")
    assert "unknown theme: pink" in seen
    assert "The theme is auto: dark." in command(t, "/theme")
    chat([DONE], '[ui]\ntheme = "pink"\n',
         ready='theme = "pink": use one of auto, dark, light, none')


@pytest.mark.parametrize("glyphs, lang, ascii_signs", [
    ("ascii", "C.UTF-8", True), ("unicode", "C", False),
    ("auto", "C.UTF-8", False), ("auto", "C", True)])
def test_signs_are_ascii_where_it_is_said(chat, env, glyphs, lang,
                                          ascii_signs):
    env["LANG"] = lang
    _, seen = begin(chat, f'[ui]\nglyphs = "{glyphs}"\n')
    assert (DARK + "> " in seen) == ascii_signs
    assert seen.isascii() == ascii_signs


@pytest.mark.parametrize("name, answer, sign", [
    ("high-contrast", BLACK, "\x1b[0;1;96m"),
    ("high-contrast", WHITE, "\x1b[0;1;34m"),
    ("deuteranopia", WHITE, LIGHT)])
def test_an_accessible_theme_suits_the_background(chat, name, answer, sign):
    t, _ = begin(chat, f'[ui]\ntheme = "{name}"\n')
    t.type(answer)
    t.wait(0.3)
    t.type("x")
    t.wait(0.3)
    assert sign + SIGN in t.seen


OWN = """[ui]
theme = "mine"
[themes.mine]
label = "Mine"
dark = true
accent = "#ff8800"
muted = "#12345"
wrong = "#000000"
"""


def test_a_theme_of_config_toml_has_its_colours_and_names_wrong_ones(
        chat, env, home):
    env.update(TERM="xterm-256color", COLORTERM="truecolor")
    t, seen = begin(chat, OWN)
    path = home / ".deepagents" / "config.toml"
    assert "\x1b[0;1;38;2;255;136;0m" + SIGN in seen
    plain = " ".join(seen.replace("\r\n", " ").split())
    assert f"{path}:7: [themes.mine] muted: use a colour such as" in plain
    assert f"{path}:8: [themes.mine] wrong: unknown key; ignored" in plain
    seen = re.sub("\x1b\\[[0-9;]*m", "", command(t, "/theme"))
    assert "The theme is mine." in seen and "> mine " in seen
    for name in ("auto", "deuteranopia", "high-contrast"):
        assert f"  {name} " in seen
    t.type("\x1b")
    t.wait(0.5)
    assert DARK + SIGN in command(t, "/theme dark")
    seen = command(t, "/theme mine")
    assert "\x1b[0;1;38;2;255;136;0m" + SIGN in seen


def test_moving_over_a_wrong_theme_warns_only_when_it_is_chosen(chat, env):
    env.update(TERM="xterm-256color", COLORTERM="truecolor")
    t, _ = begin(chat, OWN.replace('theme = "mine"', 'theme = "dark"'))
    command(t, "/theme")
    for key in ("\x1b[F", "\x1b[A", "\x1b[F", "\x1b[A", "\x1b[F"):
        t.type(key)
        t.wait(0.2)
    assert "> mine" in re.sub("\x1b\\[[0-9;]*m", "", t.seen)
    assert "unknown key" not in t.seen
    t.type("\r")
    t.wait(0.6)
    assert t.seen.count("unknown key") == 1
