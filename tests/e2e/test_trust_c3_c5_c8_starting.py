"""test_trust_c3_c5_c8_starting.py - how a run begins, and what a line says."""
# SPDX-License-Identifier: MIT
import subprocess

import pytest

from terminal import Terminal
from test_hostile_chat import chat  # noqa: F401 (a fixture)

HELLO = {"turns": [{"text": "Hello."}], "repeat": True, "by": "count"}


def sent(server):
    return [r["body"]["messages"][-1]["content"][0]["text"]
            for r in server.requests]


@pytest.mark.parametrize("task", ["", " \n"])
def test_an_empty_task_is_wrong_use(run, model, task):
    server = model(HELLO)
    r = run("-n", task, "-M", "anthropic:m")
    assert r.status == 2 and "the task is empty" in r.err
    assert run("-n", "hi", "-M", "anthropic:m").status == 0  # the control
    assert len(server.requests) == 1


@pytest.mark.parametrize("stdin", [None, "", " \n"])
@pytest.mark.parametrize("flags", [(), ("-m", "hi")])
def test_without_text_and_terminal_it_is_wrong_use(run, model, stdin, flags):
    server = model(HELLO)
    r = run("-M", "anthropic:m", *flags, stdin=stdin)
    assert r.status == 2 and "needs a terminal" in r.err and "-n" in r.err
    assert not server.requests
    r = run("-M", "anthropic:m", *flags, stdin="piped")
    assert r.status == 0 and sent(server)[-1].startswith("piped")


@pytest.fixture
def shell(dcode, env, tmp_path):
    """shell(line) -> a terminal of its own in which sh runs the line."""
    opened = []

    def begin(line):
        env["DCODE"] = str(dcode)
        opened.append(Terminal(["/bin/sh", "-c", line], env,
                               tmp_path / "work"))
        return opened[-1]
    yield begin
    for t in opened:
        t.close()


def test_piped_text_with_a_message_begins_a_chat(shell, model):
    server = model(HELLO)
    t = shell('echo piped | "$DCODE" -M anthropic:m -m message; sleep 60')
    t.until("> ")
    t.type("typed\n")
    t.until("Hello.")
    assert sent(server) == ["piped\n\nmessage", "typed"]


def test_nothing_piped_leaves_the_terminal(shell, model):
    server = model(HELLO)
    t = shell('"$DCODE" -M anthropic:m </dev/null; sleep 60')
    t.until("> ")
    t.type("typed\n")
    t.until("Hello.")
    assert sent(server) == ["typed"]


@pytest.fixture
def instructions(model, run, tmp_path, home):
    """instructions(cwd) -> the system prompt and standard error there."""
    def ask(cwd):
        server = model(HELLO)
        r = run("-n", "hi", "-M", "anthropic:m", cwd=cwd)
        assert r.status == 0, r.err
        return "".join(b["text"] for b in
                       server.requests[0]["body"]["system"]), r.err
    return ask


def order(text, *words):
    assert all(text.count(w) == 1 for w in words), text
    return sorted(words, key=text.index) == list(words)


def test_instructions_come_from_the_root_down(instructions, tmp_path, home):
    (home / ".deepagents" / "agent").mkdir(parents=True, mode=0o700)
    (home / ".deepagents" / "agent" / "AGENTS.md").write_text("OF-USER")
    (tmp_path / "AGENTS.md").write_text("ABOVE-ROOT")
    top = tmp_path / "work"
    subprocess.run(["git", "init", "-q", top], check=True)
    for at in (top, top / "a", top / "a" / "b"):
        (at / ".deepagents").mkdir(parents=True, exist_ok=True)
        (at / "AGENTS.md").write_text(f"PLAIN-{at.name}.")
        (at / ".deepagents" / "AGENTS.md").write_text(f"DIR-{at.name}.")
    (top / "other").mkdir()
    (top / "other" / "AGENTS.md").write_text("ASIDE")
    text, err = instructions(top / "a" / "b")
    assert order(text, "OF-USER", "DIR-work.", "PLAIN-work.", "DIR-a.",
                 "PLAIN-a.", "DIR-b.", "PLAIN-b.")
    assert "ASIDE" not in text and "ABOVE-ROOT" not in text
    text, _ = instructions(top)
    assert "PLAIN-work." in text and "PLAIN-a." not in text


def test_outside_a_repository_only_the_directory_counts(
        instructions, tmp_path):
    (tmp_path / "work" / "a").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_text("PARENT")
    (tmp_path / "work" / "a" / "AGENTS.md").write_text("OWN")
    text, _ = instructions(tmp_path / "work" / "a")
    assert "OWN" in text and "PARENT" not in text


def test_the_nearest_instructions_stay_when_they_are_many(
        instructions, tmp_path):
    at = top = tmp_path / "work"
    subprocess.run(["git", "init", "-q", top], check=True)
    for i in range(4):
        (at / "AGENTS.md").write_text(f"LEVEL-{i}." + "x" * 100_000)
        at = at / "d"
        at.mkdir()
    text, err = instructions(at)
    assert "LEVEL-3." in text and "LEVEL-2." in text
    assert "LEVEL-0." not in text and err.count("is left out") == 2


def test_a_link_may_stay_in_the_repository(instructions, tmp_path, home):
    top = tmp_path / "work"
    subprocess.run(["git", "init", "-q", top], check=True)
    (top / "a").mkdir()
    (top / "SHARED.md").write_text("SHARED")
    (home / "x.md").write_text("OUTSIDE")
    (top / "a" / "AGENTS.md").symlink_to("../SHARED.md")
    (top / "AGENTS.md").symlink_to(home / "x.md")
    text, err = instructions(top / "a")
    assert "SHARED" in text and "OUTSIDE" not in text
    assert "is not a regular file of its directory" in err


@pytest.mark.parametrize("line", [
    "/etc/hosts is wrong", "/home/ann/x", "/", "/2 of it", "/* a comment */",
    "//", "/a.b", "/usr/bin/env: why?"])
def test_a_line_that_is_no_command_is_sent(chat, line):  # noqa: F811
    t, server = chat(HELLO)
    t.type(line + "\n")
    t.until("Hello.")
    assert sent(server) == [line]


@pytest.mark.parametrize("line, meant", [
    ("/hlep", "/help"), ("/contxet now", "/context"),
    ("/modle", "/model")])
def test_the_nearest_command_is_suggested(chat, line, meant):  # noqa: F811
    t, server = chat(HELLO)
    t.type(line + "\n")
    assert f"Did you mean {meant}?" in t.until("> ")
    t.type("/help\n")
    assert "Leave" in t.until("> ")
    assert not server.requests
