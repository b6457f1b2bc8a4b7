"""test_calls_menu.py - Ctrl+O lists the calls of a thread and opens one."""
# SPDX-License-Identifier: MIT
import re

import pytest

from test_live_chat import DONE, HELLO, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name

LONG = "for i in $(seq 400); do echo n-$i; done"
EDIT = {"tool_calls": [{"name": "edit_file", "args": {
    "file_path": "a.txt", "old_string": "old", "new_string": "new"}}]}


@pytest.fixture
def pager(env):
    """The pager prints what it gets, with a line before and after it."""
    env["PAGER"] = "sh -c 'echo PAGER; cat \"$0\"; echo END; read x'"


def ask(live, turns, args=("-y",), ready="yolo", **options):
    s, _ = live(turns, args=args, ready=ready, **options)
    s.type("go")
    s.keys("Enter")
    return s


@pytest.mark.parametrize("size", [{}, {"columns": 40, "lines": 12},
                                  {"columns": 200, "lines": 50}])
def test_an_earlier_call_is_opened_with_all_its_output(live, pager, size):
    s = ask(live, [execute(LONG), execute("echo short; exit 3"), DONE], **size)
    s.until("done.", True)
    s.keys("C-o")
    seen = s.until("Enter chooses")
    assert re.search(r"> exit 3 +1  execute: echo short.*\n"
                     r"  ok +400  execute: for i in", seen), seen
    s.type("seq")
    s.until("1 of 1")
    s.keys("Enter")
    s.until("END")
    seen = s.text(True)
    shown = seen[seen.index("PAGER"):]
    assert re.findall(r"^n-(\d+)$", shown, re.M) == \
        [str(n) for n in range(1, 401)]
    s.keys("Enter")
    s.until("\u276f")


def test_the_list_closes_without_a_choice(live):
    s = ask(live, [execute("echo short"), DONE])
    s.until("done.")
    s.keys("C-o")
    s.until("newest first")
    for key in ("Escape", "C-c", "C-o"):
        if "newest first" not in s.text():
            s.keys("C-o")
            s.until("newest first")
        s.keys(key)
        s.until(lambda t: "newest first" not in t)
    s.type("xyz")
    s.until("\u276f xyz")


def test_a_call_that_runs_is_listed_and_opened(live):
    s = ask(live, [execute("echo one; until [ -e go ]; do sleep 0.1; done"),
                   DONE])
    s.until("    one")
    s.keys("C-o")
    s.until("> runs")
    s.keys("Enter")
    s.until("(runs)")
    s.type("!touch go")  # waits for its turn
    s.keys("Escape")
    s.until("interrupted")


def test_a_question_waits_while_the_list_is_open(live, tmp_path):
    s = ask(live, [execute("until [ -e go ]; do sleep 0.1; done"),
                   execute("touch made"), DONE], args=(), ready="anthropic:m")
    s.until("y yes")
    s.keys("y")
    s.until("running execute")
    s.keys("C-o")
    s.until("> runs")
    (tmp_path / "work" / "go").touch()
    s.until("touch made")
    s.type("y")
    s.until("Filter: y")
    assert not (tmp_path / "work" / "made").exists()
    s.keys("Escape")
    s.until("y yes")
    s.keys("y")
    s.until("done.")
    assert (tmp_path / "work" / "made").exists()


def test_calls_of_a_resumed_thread_are_listed(live, tmp_path, pager):
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "a.txt").write_text("old\n")
    turns = [execute(LONG), EDIT, DONE,
             execute("echo later"), {"text": "finished."}]
    s = ask(live, turns)
    s.until("done.", True)
    s.keys("C-d")
    assert s.status() == 0
    s, _ = live(turns, args=("-y", "-r"))
    s.until("yolo")
    s.keys("C-o")
    seen = s.until("Enter chooses")
    assert re.search(r"> ok +1  edit_file: a.txt\n  ok +401  execute: for",
                     seen), seen
    s.keys("Enter")
    seen = s.until("+ new")
    assert "- old" in seen
    s.type("go")
    s.keys("Enter")
    s.until("finished.")
    s.keys("C-o")
    seen = s.until("Enter chooses")
    assert re.search(r"> ok +1  execute: echo later\n  ok +1  edit_file", seen)
    assert seen.count("edit_file: a.txt") == 1
    s.type("seq")
    s.keys("Enter")
    s.until("END")
    assert "\nn-1\n" in s.text(True) and "\nn-400\n" in s.text(True)


def test_another_thread_has_its_own_calls(live):
    s = ask(live, [execute("echo short"), DONE])
    s.until("done.")
    s.type("/clear")
    s.keys("Enter")
    s.until("/resume")
    s.keys("C-o")
    s.until("No tool calls yet.")


def test_without_calls_nothing_is_listed(live):
    s, _ = live(HELLO)
    s.keys("C-o")
    s.until("No tool calls yet.")
