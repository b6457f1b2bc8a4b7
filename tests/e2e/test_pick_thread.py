"""test_pick_thread.py - the list of stored threads in the chat."""
# SPDX-License-Identifier: MIT
import sqlite3

import pytest

from slash_chat import (  # noqa: F401 (a fixture)
    HELLO, begin, on_screen, talk)

M = ("-M", "anthropic:m")


def database(home):
    return sqlite3.connect(home / ".deepagents" / ".state" / "dcode.db")


def use_branch(directory, name):
    (directory / ".git").mkdir(parents=True, exist_ok=True)
    (directory / ".git" / "HEAD").write_text(f"ref: refs/heads/{name}\n")


@pytest.fixture
def a_run(model, run, home, tmp_path):
    """A run of -n in the chat's directory."""
    model(HELLO)
    use_branch(tmp_path / "work", "fix")
    assert run("-n", "about plums", *M).status == 0


def rows_of(seen):
    """The lines below the titles, up to the preview or the keys."""
    lines = seen.splitlines()
    at = max(i for i, line in enumerate(lines) if "first words" in line)
    return lines[at], lines[at + 1:]


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
@on_screen
def test_the_columns_are_aligned_at_every_size(talk, a_run, columns, lines):
    c = begin(talk, HELLO, columns=columns, lines=lines)
    c.say("about apples", "Hello there.")
    c.say("/clear", "Previous thread")
    c.ask("about pears")
    seen = c.say("/resume", "first words")
    titles, rows = rows_of(seen)
    at = titles.index("first words")
    assert rows[0].startswith("  this one ") and rows[0][at:] == "about pears"
    assert rows[1].startswith("> ") and rows[1][at:] == "about apples"
    assert rows[1][:at].split()[2:4] == ["ago", "1"]
    assert (" fix " in rows[0]) == (columns > 40)
    assert "about plums" not in seen
    if columns > 40:
        assert "Ctrl+A shows 1 run of -n" in seen


@on_screen
def test_a_thread_that_is_in_use_is_not_preselected(talk):
    c = begin(talk)
    c.say("about pears", "Hello there.")
    c.say("/quit", "dcode -r")
    begin(talk).say("about apples", "Hello there.")  # stays open
    c = begin(talk)
    _, rows = rows_of(c.say("/resume", "first words"))
    assert rows[0].startswith("  in use") and rows[0].endswith("about apples")
    assert rows[1].startswith("> ") and rows[1].endswith("about pears")


@on_screen
def test_runs_without_a_chat_are_shown_when_asked_for(talk, a_run):
    c = begin(talk)
    c.say("about apples", "Hello there.")
    assert "plums" not in c.say("/resume", "first words")
    c.keys("C-a")
    seen = c.until("about plums")
    assert seen.index("Runs of -n") < seen.index("about plums")
    c.keys("C-a")
    c.until(lambda t: "about plums" not in t)
    c.keys("C-a")
    c.until("about plums")
    c.say("plums", "Resumed thread")
    c.say("more", "Hello there.", 2)
    c.say("/clear", "Previous thread")
    c.say("/resume", "about plums")  # a chat has used it


@pytest.mark.parametrize("talk", ["lines"], indirect=True)
def test_in_lines_a_star_shows_the_runs_without_a_chat(talk, a_run):
    c = begin(talk)
    c.say("about apples", "Hello there.")
    assert "plums" not in c.say("/resume", "1 run of -n; * lists them")
    c.say("*", "about plums")
    c.say("2", "Resumed thread")


@on_screen
def test_this_directory_comes_first(talk, home):
    c = begin(talk)
    c.say("about apples", "Hello there.")
    c.say("/clear", "Previous thread")
    c.say("about pears", "Hello there.", 2)
    with database(home) as db:
        db.execute("UPDATE thread SET cwd='/elsewhere', updated=updated+9999 "
                   "WHERE title='about apples'")
    seen = c.say("/resume", "Other directories")
    assert (seen.index("  about pears") < seen.index("Other directories")
            < seen.index("  about apples"))


@on_screen
def test_the_branch_is_that_of_the_last_use(talk, run, tmp_path):
    use_branch(tmp_path / "work", "fix")
    c = begin(talk)
    c.say("about apples", "Hello there.")
    use_branch(tmp_path / "work", "done")
    c.say("/quit")
    assert c.status() == 0
    assert "  done  " in run("threads", "list").out


@on_screen
def test_the_preview_is_of_the_selected_thread(talk):
    c = begin(talk, {"turns": [{"text": "They are **red**\n\nor green."},
                               {"text": "They are yellow."}], "by": "count"})
    c.say("about apples", "or green.")
    c.say("/clear", "Previous thread")
    c.say("about pears", "yellow.")
    c.say("/resume", "first words")
    seen = c.until("  They are **red**\n  or green.")
    assert "  > about apples\n" in seen
    c.keys("Up")
    c.until("  > about pears\n  They are yellow.\n")
