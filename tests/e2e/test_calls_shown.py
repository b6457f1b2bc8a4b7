"""test_calls_shown.py - what stays on the screen of a call that is done."""
# SPDX-License-Identifier: MIT
import re

import pytest

from test_live_chat import DONE, HELLO, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name


def ask(live, turns, **options):
    s, _ = live(turns, args=["-y"], ready="yolo", **options)
    s.type("go")
    s.keys("Enter")
    return s


@pytest.mark.parametrize("lines, status, kept", [
    (None, 0, 5), (2, 0, 2), (0, 0, 0), (None, 3, 12), (20, 3, 20)])
def test_the_last_lines_of_a_command_stay(live, config, lines, status, kept):
    if lines is not None:
        config(f"[ui]\noutput_lines = {lines}\n")
    count = f"for i in $(seq 30); do echo n-$i; done; exit {status}"
    seen = ask(live, [execute(count), DONE]).until("done.", True)
    assert f"30 lines (Ctrl+O shows all), exit {status}" in seen
    assert [int(n) for n in re.findall(r"^ +n-(\d+)$", seen, re.M)] == \
        list(range(31 - kept, 31))


def test_what_a_command_prints_cannot_act_on_the_terminal(live):
    seen = ask(live, [execute(r"printf 'a\033[2J\033]0;x\007b\n'"), DONE]
               ).until("done.", True)
    assert re.search(r"^    a.*b$", seen, re.M), seen


def test_an_interrupted_command_says_so_with_its_last_line(live):
    s = ask(live, [execute("echo half''way; sleep 60"), DONE])
    s.until("halfway")
    s.keys("Escape")
    s.until("Interrupted")
    assert re.search(r"^    halfway\n.*1 line, interrupted after \d\.\d s$",
                     s.text(), re.M), s.text()


def test_an_interrupted_command_says_so_without_a_screen(terminal, model):
    model([execute("echo half''way; sleep 60"), DONE])
    t = terminal("-M", "anthropic:m", "-y", "--plain")
    t.until("> ")
    t.type("go\r")
    t.until("halfway")
    t.type("\x03")
    seen = t.until("Interrupted")
    assert re.search(r"interrupted after \d\.\d s\r\n", seen), seen


def test_a_file_tool_is_one_line(live, tmp_path):
    (tmp_path / "work" / "a.txt").write_text("one\ntwo\n")
    seen = ask(live, [{"tool_calls": [
        {"name": "read_file", "args": {"file_path": "a.txt"}}]}, DONE]
        ).until("done.", True)
    assert re.search(r"read_file a.txt \(2 lines\)\n\n.*done.", seen), seen


def test_a_command_of_ones_own_is_shown_in_full_once(live):
    s, _ = live(HELLO)
    s.type("!seq 30 | sed s/^/n-/")
    s.keys("Enter")
    seen = s.until("30 lines, exit 0", True)
    assert re.findall(r"^    n-(\d+)$", seen, re.M) == [
        str(n) for n in range(1, 31)]
    assert "[Command" not in seen
    assert seen.index("n-30") < seen.index("30 lines, exit 0")
    assert "Ctrl+O shows" not in seen


def edit(old, new, path="a.txt"):
    return {"tool_calls": [{"name": "edit_file", "args": {
        "file_path": path, "old_string": old, "new_string": new}}]}


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_an_edit_that_failed_says_that_nothing_was_changed(
        live, tmp_path, columns, lines):
    (tmp_path / "work" / "a.txt").write_text("one\n")
    s, _ = live([edit("two\nthree", "four\nfive"), edit("one", "six"), DONE],
                args=["-y"], ready="yolo", columns=columns, lines=lines)
    s.type("go")
    s.keys("Enter")
    seen = s.until("done.", True)
    first, second = re.split("edit_file ", seen)[1:]
    assert "+2 -2" not in first and "Nothing was changed." in first
    assert second.startswith("a.txt +1 -1") and "Nothing" not in second


@pytest.mark.parametrize("old, hidden", [(None, 110), ("old\n", 81)])
def test_an_edit_that_is_cut_says_how_to_see_all_of_it(
        live, tmp_path, old, hidden):
    content = "".join(f"{n}\n" for n in range(120))
    if old:
        (tmp_path / "work" / "b.txt").write_text(old)
    s, _ = live([{"tool_calls": [{"name": "write_file", "args": {
        "file_path": "b.txt", "content": content}}]}, DONE],
        args=["-y"], ready="yolo")
    s.type("go")
    s.keys("Enter")
    s.until(f"{hidden} more rows (Ctrl+O shows all)", True)
