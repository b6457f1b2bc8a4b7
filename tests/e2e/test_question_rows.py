"""test_question_rows.py - what a question shows in a small window."""
# SPDX-License-Identifier: MIT
import pytest

from test_live_chat import DONE, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name


def ask_choices(n):
    return {"tool_calls": [{"name": "ask_user", "args": {"questions": [{
        "question": "Which colour should the new button have in the end?",
        "type": "multiple_choice",
        "choices": [{"value": f"colour-{i}"} for i in range(n)]}]}}]}


def start(live, turns, columns=40, lines=12):
    s, _ = live([*turns, DONE], columns=columns, lines=lines,
                ready="this machine")
    s.type("go")
    s.keys("Enter")
    return s


def test_choices_that_fit_are_all_shown(live):
    s = start(live, [ask_choices(4)])
    seen = s.until("in your own words")
    assert all(f" {i + 1} colour-{i}\n" in seen for i in range(4))
    assert " of 5" not in seen


def test_a_list_of_choices_that_is_cut_says_where_it_is(live):
    s = start(live, [ask_choices(9)])
    s.until("\n  1-5 of 10\n")
    s.until("selects  Esc declines")
    s.keys("Up")  # to the last one
    s.until("\n> in your own words ...\n  6-10 of 10\n")


@pytest.mark.parametrize("columns, lines", [(40, 12), (80, 24)])
def test_the_keys_of_a_question_are_explained(live, columns, lines):
    s = start(live, [execute("touch made")], columns, lines)
    seen = s.until(lambda t: "y yes" in t or "y/n" in t)
    keys = " ".join(seen[seen.index("y yes"):].split())
    assert keys.startswith(
        "y yes n no w because a always A config e edit" if columns == 40 else
        "y yes n no w no, because... a always A in config e edit")


def test_the_title_of_a_question_is_whole(live):
    two = execute("touch one")["tool_calls"] + execute("touch 2")["tool_calls"]
    s = start(live, [{"tool_calls": two}])
    seen = s.until("y yes")
    assert "execute wants to run on this machine (1 of 2): command:" in \
        " ".join(seen.split())
