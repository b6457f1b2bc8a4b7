"""test_chat_paste_and_signs.py - odd pastes, the editor while a sandbox starts,
signs in ASCII, and the thread of a sandbox that is in use."""
# SPDX-License-Identifier: MIT
import json
import re
import subprocess

import pytest

from terminal import Terminal
from test_approvals import config
from test_live_chat import DONE, HELLO, execute, live, prompts  # noqa: F401

# pylint: disable=redefined-outer-name

LOCAL = ("--sandbox", "local", "--workspace", "none", "--on-exit", "delete")


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    return tmp_path / "work"


def terminal(dcode, env, work, *args, term="xterm-256color"):
    return Terminal([str(dcode), "-M", "anthropic:m", *args],
                    {**env, "TERM": term}, str(work))


@pytest.mark.parametrize("pasted", [
    "one\0two three", "\0".join(f"line {n}\r" for n in range(40))],
    ids=["short", "long"])
def test_a_paste_with_a_nul_is_sent_whole_without_it(
        dcode, env, model, work, pasted):
    server = model(HELLO)
    t = terminal(dcode, env, work)
    t.until("this machine")
    t.type(f"\x1b[200~{pasted}\x1b[201~")
    t.wait(0.3)
    t.type("\r")
    t.until("Hello there.")
    assert prompts(server) == [
        pasted.replace("\0", "").replace("\r", "\n").strip("\n")] or \
        prompts(server) == [pasted.replace("\0", "").replace("\r", "\n")]
    t.type("\x04")
    t.close()


def test_a_line_of_the_plain_chat_with_a_nul_is_sent_whole(
        dcode, env, model, work):
    server = model(HELLO)
    t = terminal(dcode, env, work, "--plain")
    t.until("> ")
    t.type("one \x16\0two\n")  # Ctrl+V: the terminal takes it as it is
    t.until("Hello there.")
    assert prompts(server) == ["one two"]
    t.close()


@pytest.mark.parametrize("way", ["key", "command"])
def test_the_editor_opens_while_the_sandbox_starts(
        live, env, tmp_path, way):
    program = tmp_path / "editor"
    program.write_text("#!/bin/sh\nprintf 'from\\000 the editor\\n' > \"$1\"\n")
    program.chmod(0o755)
    env["EDITOR"] = str(program)
    setup = tmp_path / "setup.sh"
    setup.write_text("sleep 4\n")
    s, server = live([DONE], args=[*LOCAL, "--sandbox-setup", str(setup)],
                     ready="etup")
    if way == "key":
        s.type("draft")
        s.keys("C-x")
    else:
        s.type("/editor")
        s.keys("Enter")
    seen = s.until("from the editor")
    assert "tools in" not in seen  # it still starts
    s.keys("Enter")
    s.until("done.")
    assert prompts(server) == ["from the editor"]


LONG = execute("echo " + "x" * 300)


@pytest.mark.parametrize("by", ["glyphs", "locale"])
@pytest.mark.parametrize("how", ["screen", "lines", "task", "shell"])
def test_with_ascii_glyphs_every_sign_of_dcode_is_ascii(
        live, dcode, env, model, work, how, by):
    if by == "glyphs":
        config(env, '[ui]\nglyphs = "ascii"\n')
    else:
        env["LC_ALL"] = "C"
    if how in ("task", "shell"):
        model([LONG, DONE])
        args = ["-n", "go", "-M", "anthropic:m", *LOCAL] if how == "task" \
            else ["sandbox", "create", "--sandbox", "local"]
        r = subprocess.run([dcode, *args], env=env, cwd=work, text=True,
                           capture_output=True, check=True, timeout=60,
                           stdin=subprocess.DEVNULL)
        shown = r.stdout + r.stderr
        assert "+ Local sandbox ready" in shown
    else:
        s, _ = live([LONG, DONE], ready="tools in",
                    args=[*LOCAL, *(["--plain"] if how == "lines" else [])])
        s.type("go")
        s.keys("Enter")
        s.until("done.")
        s.keys("C-d")
        assert s.status() == 0
        shown = s.text(True)
        assert "+ Local sandbox terminated" in shown
    assert shown.isascii(), [c for c in shown if ord(c) > 127]
    if how == "task":
        assert "xxx ..." in shown or "xxx..." in shown


@pytest.mark.usefixtures("sandbox_at_start")
def test_the_list_names_the_thread_of_a_sandbox_in_use(live, run):
    s, _ = live([DONE], args=[*LOCAL], ready="tools in")
    s.type("go")
    s.keys("Enter")
    s.until("done.")
    for args in ((), ("--sandbox", "local")):
        row, = json.loads(run("sandbox", "list", "--json", *args).out)["data"]
        thread, = json.loads(run("threads", "list", "--json").out)["data"]
        assert row["thread"] and row["thread"] == thread["thread_id"]


def test_a_paste_without_marks_is_one_paste_and_is_not_sent(
        dcode, env, model, work):
    server = model(HELLO)
    t = terminal(dcode, env, work)
    t.until("this machine")
    lines = "\r".join(f"line {n}" for n in range(900))  # several reads
    t.type(lines)
    t.until("[Pasted #1: 900 lines")
    assert not server.requests
    t.type("\r")
    t.until("Hello there.")
    assert prompts(server) == [lines.replace("\r", "\n")]
    # Two lines are text in the draft; a line and Enter in one read are sent.
    t.type("the first few words\rand some more words")
    t.until("and some more words")
    t.wait(0.3)
    assert len(server.requests) == 1
    t.type(" at the end\r")
    t.until("Hello there.")
    assert prompts(server)[1:] == [
        "the first few words\nand some more words at the end"]
    t.type("\x04")
    t.close()


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_the_queue_is_listed_and_emptied(live, columns, lines):
    s, server = live({"turns": [{"text": "late", "delay_ms": 60000}],
                      "repeat": True, "by": "count"},
                     columns=columns, lines=lines)
    s.type("first")
    s.keys("Enter")
    s.until("Esc stops it" if columns > 40 else "waiting for")
    for text in ("second", "third", "fourth"):
        s.type(text)
        s.keys("Enter")
        s.until("+ " + text)
    s.type("/queue")
    s.keys("Enter")
    seen = s.until("drops all", scrollback=True)
    assert "1  second\n2  third\n3  fourth" in seen
    s.type("/queue drop 2")
    s.keys("Enter")
    s.until("Dropped: third")
    s.until(lambda t: "+ third" not in t and "+ fourth" in t)
    s.keys("C-c")
    s.until("Interrupted", scrollback=True)
    s.type("/queue clear")
    s.keys("Enter")
    s.until("2 queued messages dropped.")
    s.until(lambda t: "+ " not in t)
    assert prompts(server) == ["first"]  # a stopped queue is not started
    s.type("/queue")
    s.keys("Enter")
    s.until("No message is queued.")


def test_enter_runs_a_typed_command_though_a_list_is_open(live):
    s, _ = live(HELLO)
    s.type("/vers")
    s.until("/version")
    s.type("ion")
    s.until("Show the version")
    s.keys("Enter")
    s.until(lambda t: "dcode " in t.split("/version")[-1])


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_a_question_mark_shows_the_keys_until_the_next_key(
        live, columns, lines):
    s, server = live(HELLO, columns=columns, lines=lines)
    s.type("?")
    seen = s.until("take back")
    assert "\u276f ?" in seen and "this machine" in seen.split("take back")[1]
    assert ("leave" in seen) == (columns > 40)  # the last of the list
    s.keys("Enter")
    s.until(lambda t: "take back" not in t and "\u276f ?" not in t)
    assert not server.requests
    s.type("?")
    s.until("take back")
    s.type("really")
    s.until(lambda t: "take back" not in t and "\u276f ?really" in t)
    s.keys("Enter")
    s.until("Hello there.")
    assert prompts(server) == ["?really"]
    s.type("why")
    s.type("?")
    assert "take back" not in s.until("\u276f why?")


@pytest.mark.parametrize("columns, words", [
    (40, 9), (80, 18), (200, 60)])
def test_a_draft_breaks_between_words(live, columns, words):
    s, server = live(HELLO, columns=columns)
    text = " ".join(["parser"] * words)
    s.type(text)
    rows = s.until(lambda t: t.count("parser") == words).split("\n")
    rows = [r[2:].rstrip() for r in rows if "parser" in r]
    assert len(rows) > 1
    for row in rows:
        assert set(row.split(" ")) == {"parser"}
    s.keys("Up", "Home", "Enter")  # within the draft, not the history
    s.until("Hello there.")
    assert prompts(server) == [text]


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_the_draft_has_the_keys_of_vi_if_asked(live, env, columns, lines):
    config(env, "[ui]\nkeys = \"vi\"\n")
    s, server = live(HELLO, columns=columns, lines=lines)
    s.until("vi insert")
    s.type("fix the wrong test")
    s.keys("Escape")
    s.until("vi normal")
    s.type("bbcwright")
    s.until(lambda t: "fix the right test" in t and "vi insert" in t)
    s.keys("Escape")
    s.until("vi normal")
    s.type("0dwu")  # and undone
    s.type("A now")
    s.until("fix the right test now")
    s.keys("Enter")
    s.until("Hello there.")
    assert prompts(server) == ["fix the right test now"]
    s.until("vi insert")
    s.keys("Escape")
    s.until("vi normal")
    s.type("k")  # the history, as with Up
    s.until(lambda t: t.count("fix the right test now") == 2)
    s.type("ddGG")
    s.until(lambda t: t.count("fix the right test now") == 1)


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12)])
def test_in_vi_mode_a_selection_is_marked_and_a_change_repeated(
        live, env, columns, lines):
    config(env, "[ui]\nkeys = \"vi\"\n")
    s, server = live(HELLO, columns=columns, lines=lines)
    s.until("vi insert")
    s.type("fix (the wrong) test")
    s.keys("Escape")
    s.until("vi normal")
    s.type("Fwviw")
    s.until("vi visual")
    seen = s.tmux("capture-pane", "-p", "-e")
    assert re.search("\x1b\\[[0-9;]*7m" + "wrong", seen)
    s.keys("Escape")
    s.until("vi normal")
    s.type("ci(a")
    s.until("fix (a) test")
    s.keys("Escape")
    s.until("vi normal")
    s.type("0cwmend")
    s.until("mend (a) test")
    s.keys("Escape")
    s.until("vi normal")
    s.type("$b.")
    s.until("mend (a) mend")
    s.keys("Enter")
    s.until("Hello there.")
    assert prompts(server) == ["mend (a) mend"]


def test_an_unknown_kind_of_keys_is_named(live, env):
    config(env, "[ui]\nkeys = \"nano\"\n")
    s, _ = live(HELLO)
    s.until('use "emacs" or "vi"', scrollback=True)
    assert "vi insert" not in s.text()


def test_tab_completes_a_path_of_ones_own_command(live, work):
    (work / "src").mkdir()
    (work / "src" / "needle.txt").write_text("found it\n")
    s, _ = live(HELLO)
    s.type("!cat need")
    s.until("src/needle.txt")
    s.keys("Tab")
    s.until("!cat src/needle.txt")
    s.keys("Enter")
    s.until("found it")


def test_pasting_again_shows_what_a_marker_stands_for(live):
    s, _ = live(HELLO)
    s.paste("one\ntwo\nthree\nfour")
    s.until("[Pasted #1: 4 lines")
    s.paste("one\ntwo\nthree\nfour")
    seen = s.until("four")
    assert "three" in seen and "[Pasted" not in seen
    s.keys("C-_")  # undo
    s.until("[Pasted #1: 4 lines")


def test_lines_typed_ahead_are_one_draft_without_a_marker(
        dcode, env, tmp_path, model):
    server = model(HELLO)
    (tmp_path / "work").mkdir(exist_ok=True)
    lines = [f"line {i}" for i in range(30)]
    t = Terminal([str(dcode), "-M", "anthropic:m"],
                 {**env, "TERM": "xterm-256color"}, tmp_path / "work")
    t.type("\r".join(lines))
    t.until("this machine")
    seen = t.wait(0.5)
    t.type("\r")
    seen += t.until("Hello there.")
    assert "[Pasted" not in seen
    assert server.requests[0]["body"]["messages"][-1]["content"][0][
        "text"] == "\n".join(lines)
    t.close()
