"""test_trust_c2_output.py - what goes to which stream, and in which lines."""
# SPDX-License-Identifier: MIT
import json
import os
import pty
import select
import signal

import pytest

from test_sandbox import HUNG, wait_for

pytestmark = pytest.mark.usefixtures("sandbox_first")

DONE = {"text": "The end."}
ENDS = {"CR": "\r", "NEL": "\x85", "LS": "\u2028", "PS": "\u2029",
        "VT": "\x0b", "FF": "\x0c", "CRLF": "\r\n"}


def on_terminal(command, env, cwd):
    """All that it shows there until it ends."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execve(command[0], command, env)
    seen = b""
    while select.select([fd], [], [], 30)[0]:
        try:
            seen += os.read(fd, 65536)
        except OSError:
            break
    os.waitpid(pid, 0)
    os.close(fd)
    return seen.decode("utf-8", "replace")


def call(tool, text="", **args):
    return {"text": text, "tool_calls": [{"name": tool, "args": args}]}


@pytest.fixture
def task(model, run):
    def go(*turns, flags=()):
        model([*turns, DONE])
        return run("-n", "go", "-M", "anthropic:m", "-S", "all", *flags)
    return go


def test_quiet_prints_the_last_answer_alone(task, tmp_path, config):
    config("[models]\ndefalt = 'm'\n")  # a warning, too
    (tmp_path / "work" / "AGENTS.md").write_bytes(b"\xff")  # a warning
    turns = (call("execute", "First I look.", command="echo seen"),
             call("execute", "And again.", command="false"))
    r = task(*turns, flags=("-q",))
    assert (r.status, r.out, r.err) == (0, "The end.\n", "")
    r = task(*turns)
    assert r.out == "First I look.\nAnd again.\nThe end.\n"
    assert "seen" in r.err and "AGENTS.md" in r.err and "defalt" in r.err


def test_quiet_keeps_warnings_about_security(task, tmp_path):
    (tmp_path / "work" / ".env").write_text("OPENAI_BASE_URL=http://x\n")
    r = task(flags=("-q",))
    assert r.out == "The end.\n" and "OPENAI_BASE_URL" in r.err


@pytest.mark.parametrize("flags", [(), ("--no-stream",), ("-q",)])
def test_an_answer_begins_its_own_line(dcode, env, model, tmp_path, home,
                                       flags):
    """Both streams on one terminal, after output without a line end."""
    model([call("execute", command="printf 'no line end'"), DONE])
    seen = on_terminal([dcode, "-n", "go", "-M", "anthropic:m", "-y", *flags],
                       env, tmp_path / "work")
    lines = seen.split("\r\n")
    assert "The end." in lines
    assert ("no line end" in lines) == (flags != ("-q",))


@pytest.mark.parametrize("end", ENDS)
def test_no_name_begins_a_line_of_the_log(task, end):
    fake = "\u23fa execute: ls"
    command = f"true {ENDS[end]}{fake}"
    r = task(call("execute", command=command),
             call("read_file", file_path=f"a{ENDS[end]}{fake}"))
    log = [line for line in r.err.splitlines()
           if line.startswith("\u23fa ")]
    assert len(log) == 2  # the two calls
    assert log[0].startswith("\u23fa execute: true")
    assert log[1].startswith("\u23fa read_file: a")


def test_json_escapes_what_steers_a_terminal(task):
    bad = "\x9b2J\x85\u202e\u2066\u200f\u061c\u2028"
    r = task(call("execute", command=f"echo '{bad}'; printf '\\302\\233'"),
             call("read_file", file_path=bad), flags=("--json",))
    assert r.status == 0
    assert not set(r.out) & set(bad.replace("2J", ""))
    assert not [c for c in r.out if "\x80" <= c < "\xa0"]
    events = [json.loads(line) for line in r.out.splitlines()]
    calls = [e for e in events if e["type"] == "tool_call"]
    assert calls[1]["args"]["file_path"] == bad  # nothing is lost


@pytest.fixture
def left(model, start, run):
    """The name of a sandbox whose dcode was killed."""
    server = model(HUNG)
    r = start("-n", "hi", "-M", "anthropic:m", "--sandbox", "local")
    wait_for(lambda: server.model.received)
    r.p.send_signal(signal.SIGKILL)
    r.p.wait()
    yield json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    run("sandbox", "gc")


def test_exec_at_a_terminal_masks_what_cleaning_joins(dcode, env, left,
                                                      tmp_path):
    """As it was: an escape, or the other stream, within a secret."""
    env["MY_SECRET_TOKEN"] = "hunter2hunter2"
    for line, words in (
            ("printf 'hunter2hunter2\\n'", "[masked:MY_SECRET_TOKEN]"),
            ("printf 'hunter2\\033[0mhunter2\\n'",
             "[masked:MY_SECRET_TOKEN]"),
            ("printf hunter2; printf 'hunter2\\n' >&2", "hunter2"),
            ("printf 'plain\\n'", "plain")):
        seen = on_terminal([dcode, "sandbox", "exec", left, "--", line], env,
                           tmp_path / "work")
        assert "hunter2hunter2" not in seen
        assert words in seen or "[masked:" in seen
