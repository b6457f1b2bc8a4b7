"""test_calls_menu.py - Ctrl+O lists the calls of a thread and opens one."""
# SPDX-License-Identifier: MIT
import re

import pytest

from lifecycle import call
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
    took = "" if size.get("columns") == 40 else r"\d.\d s  "
    assert re.search(rf"> exit 3 +1 +{took}execute: echo short.*\n"
                     rf"  ok +400 +{took}execute: for i in", seen), seen
    s.type("seq")
    s.until("1 of 1")
    s.keys("Enter")
    s.until("END")
    seen = s.text(True)
    shown = seen[seen.index("PAGER"):]
    assert re.findall(r"^n-(\d+)$", shown, re.M) == \
        [str(n) for n in range(1, 401)]
    s.keys("Enter")
    s.until("1 of 1")  # the list is still there
    s.keys("Escape")
    s.until(lambda t: "1 of 1" not in t)


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


@pytest.mark.parametrize("size", [{}, {"columns": 40, "lines": 12},
                                  {"columns": 200, "lines": 50}])
def test_a_call_that_runs_is_followed_until_escape(live, pager, tmp_path, size):
    """Its output is shown as it arrives; Enter opens all of it."""
    s = ask(live, [execute("seq -f first-%g 30; "
                           "until [ -e go ]; do sleep 0.1; done; "
                           "seq -f later-%g 30; "
                           "until [ -e end ]; do sleep 0.1; done; echo over"),
                   DONE], **size)
    s.until("first-30")
    s.keys("C-o")
    s.until("> runs")
    s.keys("Enter")
    seen = s.until("Esc: back")
    assert "first-30" in seen and "> runs" not in seen
    assert len(re.findall(r"^ +first-", seen, re.M)) > 5 or size
    (tmp_path / "work" / "go").touch()
    seen = s.until("later-30")
    assert "Esc: back" in seen
    s.keys("Enter")
    seen = s.until("END", True)
    assert "first-1\n" in seen and "later-30\n" in seen
    s.keys("Enter")
    s.until("Esc: back")
    (tmp_path / "work" / "end").touch()
    seen = s.until("Ended: ok. Esc: back")
    assert re.search(r"later-30\n *over\n", seen), seen
    s.keys("Escape")
    s.until(lambda t: "Esc: back" not in t and "newest first" in t)
    s.keys("Escape")
    s.until(lambda t: "newest first" not in t)
    s.until("done.", True)
    s.type("xyz")
    s.until("\u276f xyz")


def test_a_row_of_the_list_changes_when_its_call_ends(live, tmp_path):
    s = ask(live, [execute("echo one; until [ -e end ]; do sleep 0.1; done; "
                           "exit 3"), DONE])
    s.until("one")
    s.keys("C-o")
    s.until("> runs")
    (tmp_path / "work" / "end").touch()
    s.until("> exit 3  ")


def test_a_call_that_is_asked_about_does_not_run(live):
    s = ask(live, [execute("echo one"), DONE], args=(), ready="manual")
    s.until("y yes")
    s.keys("C-o")
    seen = s.until("newest first")
    assert re.search(r"> asked +0 +execute: echo one", seen), seen
    s.keys("Escape")
    s.until("y yes")


@pytest.mark.parametrize("size", [{}, {"columns": 40, "lines": 12},
                                  {"columns": 200, "lines": 50}])
def test_a_call_that_was_shown_leaves_the_list_open(live, env, size):
    env["PAGER"] = "cat"
    s = ask(live, [execute("echo one"), execute("echo two"), DONE], **size)
    s.until("done.")
    s.keys("C-o")
    s.until("> ok")
    for word in ("two", "one"):
        s.keys("Enter")
        s.until(f"execute echo {word} (ok)", True)
        s.until("Enter chooses")
        s.keys("Down")
    s.keys("Escape")
    s.until(lambda t: "Enter chooses" not in t)
    s.type("xyz")
    s.until("\u276f xyz")


@pytest.mark.parametrize("size", [{}, {"columns": 40, "lines": 12},
                                  {"columns": 200, "lines": 50}])
def test_escape_closes_only_what_is_in_front(live, size):
    """From the call to the list, then to the prompt; a third one stops."""
    s = ask(live, [execute("echo here; sleep 60"), DONE], **size)
    s.until("here")
    s.keys("C-o")
    s.until("> runs")
    for _ in range(2):  # the list can be used again
        s.keys("Enter")
        s.until("Esc: back")
        s.keys("Escape")
        s.until(lambda t: "> runs" in t and "Esc: back" not in t)
    s.keys("Escape")
    s.until(lambda t: "newest first" not in t)
    assert "Interrupted" not in s.text(True)
    s.keys("Escape")  # the control
    s.until("Interrupted")


def test_calls_of_a_subagent_are_listed_with_time_and_output(live, pager):
    """So are two subagents that run side by side, with their answers."""
    def task(word):
        return call("task", subagent_type="general-purpose", description=word)
    steps = [execute("sleep 0.2; echo inside"), {"text": "the answer"}]
    s = ask(live, {"turns": [{"tool_calls": [task("one"), task("two")]}, DONE],
                   "talks": {"one": steps, "two": steps}}, columns=100)
    s.until("done.", True)
    s.keys("C-o")
    seen = s.until("Enter chooses")
    assert len(re.findall(
        r"ok +2 +\d\.\d s  general-purpose \d: execute: sleep", seen)) == 2
    assert len(re.findall(r"ok +\d +\d\.\d s  task", seen)) == 2, seen
    s.keys("Enter")
    seen = s.until("(ok)")
    assert re.search(r"general-purpose \d: execute: sleep 0.2.*\n.*done\n"
                     r" *the answer", seen), seen
    s.keys("Enter")  # leaves the pager
    s.until("Enter chooses")
    s.type("sleep")
    s.until("1 of 2")
    s.keys("Enter")
    s.until("\ninside\n")


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


@pytest.mark.parametrize("close", ["Escape", "C-o"])
def test_the_list_opens_over_a_question_and_closes_back_to_it(
        live, tmp_path, close):
    s = ask(live, [execute("echo first"), execute("touch made"), DONE],
            (), "this machine")
    s.until("y yes")
    s.keys("y")
    s.until(lambda t: "command: touch made" in t and "y yes" in t)
    s.keys("C-o")
    seen = s.until("Enter chooses")
    assert "execute: echo first" in seen
    s.type("y")
    s.until("Filter: y")
    assert not (tmp_path / "work" / "made").exists()
    s.keys(close)
    s.until(lambda t: "Enter chooses" not in t and "y yes" in t)
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
    assert re.search(r"> ok +1 +edit_file: a.txt\n  ok +401 +execute: for",
                     seen), seen
    s.keys("Enter")
    seen = s.until("+ new")
    assert "- old" in seen
    s.keys("Enter")  # leaves the pager
    s.until("Enter chooses")
    s.keys("Escape")
    s.until(lambda t: "Enter chooses" not in t)
    s.type("go")
    s.keys("Enter")
    s.until("finished.")
    s.keys("C-o")
    # the list's head is drawn before its rows
    seen = s.until(lambda t: re.search(
        r"> ok +1 +\d.\d s  execute: echo later\n  ok +1 +edit_file", t))
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


@pytest.mark.parametrize("columns, lines", [(40, 12), (80, 24)])
def test_a_row_that_is_cut_says_so_and_a_declined_call_only_that(
        live, columns, lines):
    s, _ = live([execute("echo " + "word " * 40), DONE], columns=columns,
                lines=lines, ready="this machine")
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.type("n")
    s.until("Stopped after")
    s.keys("C-o")
    seen = s.until("Tool calls")
    row = next(r for r in seen.splitlines() if r.startswith("> declined"))
    assert row.endswith("…") and len(row) >= columns - 1, row
    assert "  Declined.\n" in seen and "User rejected" not in seen, seen
