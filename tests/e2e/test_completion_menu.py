"""test_completion_menu.py - the choices below the draft: where they show, and
how they fit the window."""
# SPDX-License-Identifier: MIT
import pathlib
import re
import shutil
import subprocess

import pytest

from lifecycle import wait_for
from test_live_chat import DONE, execute, live, prompts  # noqa: F401

# pylint: disable=redefined-outer-name

SIZES = [(80, 24), (40, 12), (200, 50)]


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "apples.txt").write_text("x\n")
    return tmp_path / "work"


@pytest.mark.parametrize("columns, lines", SIZES)
def test_a_mention_at_a_question_has_its_menu(live, work, columns, lines):
    s, server = live([execute("touch made"), DONE, DONE], columns=columns,
                     lines=lines, ready="this machine")
    s.type("go")
    s.keys("Enter")
    s.until(lambda t: "y yes" in t or "y/n/" in t)
    s.type("see @app")
    s.until("\n  apples.txt")
    s.keys("Tab")
    s.until("\u276f see @apples.txt")
    assert not (work / "made").exists() and len(server.requests) == 1
    s.keys("C-u")
    s.until(lambda t: "y yes" in t or "y/n/" in t)
    s.type("y")
    s.until("done.")


@pytest.mark.parametrize("columns, lines", SIZES)
def test_a_command_at_a_question_has_its_menu(live, work, columns, lines):
    s, _ = live([execute("touch made"), DONE], columns=columns, lines=lines,
                ready="this machine")
    s.type("go")
    s.keys("Enter")
    s.until(lambda t: "y yes" in t or "y/n/" in t)
    s.type("/agen")
    s.until("\n  /agents")
    s.keys("Enter")
    s.until("\u276f /agents\n", True)  # it only shows something: it ran
    assert not (work / "made").exists()


@pytest.mark.parametrize("columns, lines", SIZES)
@pytest.mark.parametrize("typed, said", [
    ("/vi", "Not sent: no command begins so"),
    ("/mo", "Not sent: several commands begin so")])
def test_enter_takes_no_command_that_only_resembles_what_is_typed(
        live, columns, lines, typed, said):
    s, _ = live([DONE], columns=columns, lines=lines, ready="this machine")
    s.type(typed)
    s.until("\n  /")
    s.keys("Enter")
    s.until(said[:columns - 2])
    assert re.search(f"\u276f {typed}$", s.text(), re.M)
    s.keys("Escape")
    s.until(lambda t: "\n  /" not in t)
    s.keys("Enter")
    s.until(f"Unknown command {typed}")


def test_enter_runs_the_only_command_if_it_only_shows_something(live):
    s, _ = live([DONE])
    s.type("/cont")
    s.until("\n  /context")
    s.keys("Enter")
    s.until("of a window of")
    s.type("/rew")
    s.until("\n  /rewind")
    s.keys("Enter")
    s.until("\u276f /rewind\n")


@pytest.mark.parametrize("typed, name", [
    ("/yol", "/yolo"), ("/qui", "/quit"), ("/cle", "/clear")])
def test_enter_says_that_it_completed_the_only_command(live, typed, name):
    s, _ = live([DONE])
    s.type(typed)
    s.until(f"\n  {name}")
    s.keys("Enter")
    seen = s.until("Completed, not sent yet: Enter sends it")
    assert f"\u276f {name}" in seen


def test_a_model_that_has_the_letters_is_listed_before_others(live):
    s, _ = live([DONE])
    s.type("/model opu")
    seen = s.until("\n  anthropic:claude-opus-")
    assert re.findall(r"^  \S+", seen, re.M)
    assert all("opu" in row for row in re.findall(r"^  \S+", seen, re.M))
    s.keys("Enter")
    s.until("Did you mean opus?")
    s.until("More: /help models")


@pytest.mark.parametrize("columns, lines", SIZES)
@pytest.mark.parametrize("command, title", [
    ("/theme", "The theme is"), ("/model", "Model")])
def test_a_list_that_is_left_prints_nothing(
        live, columns, lines, command, title):
    s, _ = live([DONE], columns=columns, lines=lines, ready="this machine")
    s.type(command)
    s.keys("Enter")
    s.until(lambda t: title in t and "Esc leaves" in t)
    s.keys("Escape")
    s.until(lambda t: title not in t)
    s.type("/keys")
    s.keys("Enter")
    seen = s.until("\u276f /keys\n", True)
    assert not seen.split(f"\u276f {command}\n")[1].split("\u276f")[0].strip()


@pytest.mark.parametrize("before", [(), ("/resume",)])
def test_up_goes_on_behind_a_slash_command_of_the_history(live, before):
    s, _ = live([DONE])
    for text in ("go", "/context", *before):
        s.type(text)
        s.keys("Enter")
        s.until("done." if text == "go" else f"\u276f {text}\n")
        if text == "/resume":
            s.until(lambda t: "No threads" in t or "Esc leaves" in t)
            s.keys("Escape")
            s.until(lambda t: "Esc leaves" not in t)
    for text in (*before, "/context"):
        s.keys("Up")
        s.until(f"\n\u276f {text}\nmanual")
    s.keys("Up")
    s.until("\n\u276f go\nmanual")
    s.keys("Down")
    s.until("\n\u276f /context\nmanual")
    s.keys("BSpace")  # an edited one has its list again
    s.until("\n  /context")


def test_up_goes_on_behind_a_queued_command(live):
    s, _ = live([{"text": "late", "delay_ms": 60000}])
    s.type("go")
    s.keys("Enter")
    for text in ("/compact", "/compact all"):
        s.type(text)
        s.keys("Enter")
        s.until(f"+ {text}")
    s.keys("Up", "Up")
    s.until("\u276f /compact\n")
    s.keys("Escape")  # no list is there to be closed first
    s.until("Interrupted")


def test_a_mention_has_its_menu_while_the_agent_works(live, work):
    s, _ = live([{"text": "late", "delay_ms": 60000}])
    s.type("go")
    s.keys("Enter")
    s.until("waiting for")
    s.type("see @app")
    s.until("\n  apples.txt")
    s.keys("C-c")
    s.until("Interrupted")


def test_a_model_that_no_list_has_is_named(live):
    s, _ = live([DONE], columns=120)
    near_one = "Did you mean anthropic:claude-opus-5-5?"
    for typed, near in (("claude-opus-55", near_one), ("claude-bogus-9", "")):
        s.type(f"/model anthropic:{typed} ")
        s.keys("Enter")
        seen = s.until(f"anthropic:{typed} is not in the list of models; "
                       "used as typed.")
        assert near in seen
        assert seen.count("Did you mean") == 1  # of the first
    s.type("/model anthropic:claude-opus-5 ")
    s.keys("Enter")
    seen = s.until("The model is anthropic:claude-opus-5 from")
    assert "anthropic:claude-opus-5 is not in the list" not in seen
    s.until(lambda t: "manual \u00b7 claude-opus-5 " in t)
    assert s.text().count("not in the list") == 2


def test_what_git_ignores_is_not_offered(live, work):
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    (work / ".gitignore").write_text("build/\n*.o\n")
    (work / "build").mkdir()
    for name in ("build/appbuilt.txt", "app.o", "application.c"):
        (work / name).write_text("x\n")
    s, server = live([DONE])
    s.type("see @app")
    s.until("application.c")
    assert "app.o" not in s.text() and "appbuilt" not in s.text()
    s.keys("C-u")
    s.type("see @app.o please")  # but it may be named
    s.keys("Enter")
    s.until("done.")
    assert "### app.o" in prompts(server)[-1]


def test_a_command_in_the_queue_ends_a_listing_before_it_runs(live, work):
    """/clear may replace the thread; the list is made again after it."""
    s, _ = live([DONE])
    s.type("go")
    s.keys("Enter")
    s.until("done.")
    s.type("/clear")
    s.keys("Enter")
    s.type("see @app")
    s.until("\n  apples.txt")
    s.until("Previous thread")


@pytest.mark.parametrize("columns, lines", SIZES)
def test_the_description_of_the_selected_command_is_whole(
        live, columns, lines):
    s, _ = live([DONE], columns=columns, lines=lines, ready="this machine")
    s.type("/rewi")
    s.until(lambda t: " ".join(t.split()).count(
        "Go back to before an earlier prompt, in a new thread (also Esc "
        "Esc)") == 1)
    rows = [row for row in s.text().splitlines() if "/rewind" in row]
    assert all(len(row) <= columns for row in rows)
    assert columns > 40 or rows[-1].endswith("\u2026")


@pytest.mark.parametrize("columns, lines", SIZES)
def test_a_long_list_of_choices_says_which_part_is_shown(
        live, columns, lines):
    s, _ = live([DONE], columns=columns, lines=lines, ready="this machine")
    place = re.compile(r"^  (\d+)-(\d+) of (\d+)$", re.M)
    s.type("/")
    s.until(lambda t: place.search(t))
    first, last, n = map(int, place.search(s.text()).groups())
    shown = re.findall(r"^  /\w+", s.text(), re.M)
    assert first == 1 and last == len(shown) < n
    s.keys("Up")  # to the last one
    s.until(lambda t: f" of {n}" in t and f"-{n} of {n}" in t)
    s.keys("Down")
    s.until(lambda t: "\n  1-" in t and "\n  /help" in t)


def test_a_path_that_is_too_long_is_cut_visibly(live, work):
    (work / ("long-" * 12)).write_text("x")
    s, _ = live([DONE], columns=40, lines=12, ready="this machine")
    s.type("see @long")
    s.until(lambda t: any("long-" in row and row.endswith("\u2026")
                          for row in t.splitlines()))


@pytest.mark.parametrize("columns, lines", SIZES)
def test_files_are_listed_by_name_with_directories(live, work, columns, lines):
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    (work / ".gitignore").write_text("out/\n")
    for name in ("lib/deep/snapping.c", "src/app.c", "out/made.o"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("x\n")
    s, _ = live([DONE], columns=columns, lines=lines, ready="this machine")
    s.type("see @app")
    s.until("\n  src/app.c\n  apples.txt\n  lib/deep/snapping.c\n")
    for name in ("src/app.c", "apples.txt", "lib/deep/snapping.c"):
        s.keys("Tab")
        s.until(f"\u276f see @{name}\n")
    s.keys("C-u")
    s.type("see @sr")
    s.until("\n  src/\n  src/app.c\n")
    s.keys("Tab")
    s.until(lambda t: "\u276f see @src/\n  src/app.c\n" in t)
    s.keys("C-u")
    s.type("see @out/")  # git ignores it: reachable, but not offered
    s.until("\n  out/made.o\n")
    s.keys("C-u")
    s.type("see @ma")
    s.until(lambda t: "\u276f see @ma\n" in t and "out/made.o" in t)
    s.keys("C-u")


@pytest.mark.parametrize("command, typed, rows", [
    ("/network", "", ["allow", "log"]), ("/network", "al", ["allow"]),
    ("/apply", "--un", ["--undo"]), ("/diff", "--st", ["--stat"]),
    ("/undo", "--", ["--turn", "--redo"]),
    ("/approvals", "", ["remove 1  execute: touch made"])])
def test_arguments_of_commands_are_offered(live, work, command, typed, rows):
    s, _ = live([execute("touch made"), DONE], columns=120)
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.type("a")
    s.until("a again")
    s.type("a")
    s.until("done.")
    s.type(f"{command} {typed}")
    s.until(lambda t: all(f"\n  {row}" in t for row in rows))
    s.keys("Tab")
    first = rows[0].split("  ")[0]
    s.until(lambda t: f"\u276f {command} {first}" in t)


@pytest.fixture
def gate(tmp_path, env):
    """A file: while it exists, no listing of files ends."""
    programs = tmp_path / "programs"
    programs.mkdir()
    gate = tmp_path / "gate"
    find = programs / "find"
    find.write_text(f"#!/bin/sh\n[ ! -e {gate} ] || echo >>{gate}.waits\n"
                    f"while [ -e {gate} ]; do sleep 0.05; done\n"
                    f"exec {shutil.which('find')} \"$@\"\n")
    find.chmod(0o755)
    env["PATH"] = f"{programs}:{env['PATH']}"
    yield gate
    gate.unlink(missing_ok=True)


def test_a_late_list_of_ignored_files_is_not_for_the_next_word(live, work,
                                                               gate):
    subprocess.run(["git", "init", "-q", work], check=True)
    (work / ".gitignore").write_text("*.log\n")
    (work / "apples.log").write_text("x\n")
    s, _ = live([DONE], ready="this machine")
    s.type("see @appl")
    s.until("\n  apples.txt")
    gate.touch()
    s.type("es.log")
    s.until("see @apples.log")
    wait_for(pathlib.Path(f"{gate}.waits").exists)
    s.type(" or")
    s.until("see @apples.log or")
    s.type(" @app")
    seen = s.until("see @apples.log or @app")
    assert "\n  apples" not in seen
    gate.unlink()
    seen = s.until("\n  apples.txt")
    assert "\n  apples.log" not in seen
    s.type("les.log")  # the control: it is found where nothing else is
    s.until("\n  apples.log")
