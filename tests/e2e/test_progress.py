"""test_progress.py - what a turn is doing and has taken, in the chat and with
-n at a terminal."""
# SPDX-License-Identifier: MIT
import pathlib
import re
import tempfile
import time

import pytest

from screens import Screen
from terminal import Terminal
from test_live_chat import HELLO, execute, live  # noqa: F401

PLAN = {"tool_calls": [{"name": "write_todos", "args": {"todos": [
    {"content": "Look around", "status": "in_progress"},
    {"content": "Write the tests", "status": "pending"}]}}],
    "usage": {"input": 9000, "output": 60}}
REFUSED = {"fault": {"status": 400, "body": {"type": "error", "error": {
    "type": "invalid_request_error", "message": "the cat sat on it"}}}}
SLOW_WORDS = {"text": "These words come one after the other. " * 20,
              "token_chars": 8, "chunk_bytes": 400, "chunk_delay_ms": 40,
              "usage": {"input": 900, "output": 200}}
TASK = [PLAN, execute("while [ ! -e go ]; do sleep 0.1; done"), SLOW_WORDS]
OPUS = ("-M", "anthropic:claude-opus-5")
SIZES = [(80, 24), (40, 12), (200, 50)]


def progress(step):
    """The row of a running turn, with its time and tokens."""
    return re.compile(rf"^\S {step}  \d+ s, [\d.]+K? tokens", re.M)


def told(text):
    """A text without blanks and without the breaks of a narrow screen."""
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("columns, lines", SIZES)
def test_a_turn_shows_step_time_and_tokens_and_keeps_them_at_its_end(
        live, tmp_path, columns, lines):
    s, _ = live(TASK, args=["-y", *OPUS], ready="yolo", columns=columns,
                lines=lines)
    s.type("go")
    s.keys("Enter")
    seen = s.until(lambda t: progress("running execute").search(t))
    assert "0 of 2 done: Look around" in seen
    (tmp_path / "work" / "go").touch()
    s.until(lambda t: progress("answering").search(t))
    s.until(lambda t: re.search(
        r"Donein[\d.]+s,2calls,1\d\.\dKtokens,\$0\.\d\d", told(t)))


def test_the_time_of_a_question_does_not_count(live):
    s, _ = live([execute("true"), {"text": "done."}])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.tmux("run-shell", "sleep 5")
    s.keys("y")
    seen = s.until("Done")
    assert re.search(r"Done in [0-4]\.\d s, 1 call", seen), seen


@pytest.mark.parametrize("key, end", [
    ("C-c", "Interrupted"), ("n", "Stopped")])
def test_the_time_of_a_question_that_ends_the_turn_does_not_count(
        live, key, end):
    s, _ = live([execute("true"), {"text": "done."}])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.tmux("run-shell", "sleep 5")
    s.keys(key)
    seen = s.until(f"{end} after")
    assert re.search(end + r" after [0-4]\.\d s, 1 call", seen), seen


def test_an_interrupted_answer_says_how_many_tokens_came(live):
    s, _ = live([{**SLOW_WORDS, "chunk_bytes": 60, "chunk_delay_ms": 300,
                  "usage": {"input": 0, "output": 0}}])
    s.type("go")
    s.keys("Enter")
    s.until(lambda t: t.count("These words") > 1)
    s.keys("Escape")
    s.until(lambda t: re.search(r"Interrupted after [\d.]+ s, \d+ tokens$", t,
                                re.M))


def test_a_failed_turn_says_what_it_took_and_the_error_stands_out(live):
    s, _ = live([REFUSED])
    s.type("go")
    s.keys("Enter")
    seen = s.until(lambda t: re.search(r"Failed after \d\.\d s", t))
    assert "the cat sat on it" in seen
    assert seen.index("Error: ") < seen.index("Failed after")
    coloured = s.tmux("capture-pane", "-p", "-e")
    # tmux repeats no attribute that the row before has already set
    before = coloured[:coloured.index("Error: ")]
    codes = ";".join(re.findall(r"\x1b\[([\d;]*)m", before)).split(";")
    while "0" in codes:
        codes = codes[codes.index("0") + 1:]
    assert "1" in codes, before  # bold
    assert codes[-1] in ("31", "91") or "38" in codes, before


def test_a_chat_of_lines_counts_no_question_and_says_how_a_turn_ended(
        terminal, model):
    model({"turns": [execute("true"), REFUSED], "by": "count"})
    t = terminal("--plain", "-M", "anthropic:m")
    t.until("> ")
    t.type("go\n")
    t.until("Allow it? [y/N] ")
    time.sleep(4)
    t.type("\x03")
    t.until("Interrupted after ")
    assert re.match(r"[0-3]\.\d s, 1 call", t.until("call"))
    t.type("go\n")
    t.until("Error: ")
    t.until("Failed after ")
    assert re.match(r"\d\.\d s", t.until(" s"))


def test_an_interrupted_turn_says_what_it_took(live):
    s, _ = live([{"text": "late", "delay_ms": 60000}])
    s.type("go")
    s.keys("Enter")
    s.until("waiting for the model  1 s")
    s.keys("Escape")
    s.until(lambda t: re.search(r"Interrupted after \d\.\d s$", t, re.M))


def test_a_chat_of_lines_says_it_too(terminal, model):
    model(HELLO)
    t = terminal("--plain", "-M", "anthropic:m")
    t.until("> ")
    t.type("go\n")
    t.until("Hello there.\r\n")
    assert re.match(r"Done in \d\.\d s, \d+ tokens\r\n",
                    t.until("tokens\r\n"))


@pytest.fixture
def at_screen(dcode, env, tmp_path, model):
    """at_screen(turns, *args, to=None) -> (Screen that -n runs at)."""
    open_ones = []

    def begin(turns, *args, to=None, how=("-n", "go", "-y"), columns=80,
              lines=24):
        model(turns)
        command = [dcode, *how, *OPUS, *args]
        if to:
            command = ["sh", "-c", f'exec "$@" >{to}', "sh", *command]
        (tmp_path / "work").mkdir(exist_ok=True)
        s = Screen(pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-")),
                   command, env, tmp_path / "work", columns=columns,
                   lines=lines)
        open_ones.append(s)
        return s
    yield begin
    for s in open_ones:
        s.close()


@pytest.mark.parametrize("columns, lines", SIZES)
def test_a_task_at_a_terminal_has_the_same_line(
        at_screen, tmp_path, columns, lines):
    s = at_screen(TASK, columns=columns, lines=lines)
    seen = s.until(lambda t: progress("running execute").search(t))
    if columns > 60:
        assert "0 of 2 done: Look around" in seen
    (tmp_path / "work" / "go").touch()
    seen = s.until("Done in", scrollback=True)
    assert re.search(r"Donein[\d.]+s,2calls,1\d\.\dKtokens\.Cost:\$0\.\d\d",
                     told(seen))
    assert "running execute" not in seen and "waiting for" not in seen
    assert s.status() == 0


def test_the_line_never_gets_into_the_answer(at_screen, tmp_path):
    answer = tmp_path / "answer"
    s = at_screen(TASK, to=answer)
    s.until(lambda t: progress("running execute").search(t))
    (tmp_path / "work" / "go").touch()
    s.until(lambda t: progress("answering").search(t))
    assert s.status() == 0
    assert answer.read_text() == SLOW_WORDS["text"].strip() + " \n"


@pytest.mark.parametrize("term, args", [
    ("dumb", ()), ("xterm", ("-q",)), ("xterm", ("--json",))])
def test_no_line_where_it_would_disturb(dcode, env, model, home, tmp_path,
                                        term, args):
    model(HELLO)
    t = Terminal([str(dcode), "-n", "go", *OPUS, *args],
                 {**env, "TERM": term}, tmp_path / "work")
    assert t.end() == 0
    assert "waiting for" not in t.seen and "\x1b[K" not in t.seen


def test_no_line_without_a_terminal(run, model):
    model(HELLO)
    r = run("-n", "go", *OPUS)
    assert "waiting for" not in r.err and "\x1b" not in r.err
    assert r.err.splitlines()[-1].startswith("Cost: ")
