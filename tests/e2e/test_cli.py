"""test_cli.py - the command line's edges: streams, flags, early failures."""
# SPDX-License-Identifier: MIT
import email.utils
import json
import os
import resource
import socket
import subprocess
import time

import pytest

HELLO = [{"text": "Hello there."}]


def events(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def raw(dcode, env, tmp_path):
    """raw(*args, **Popen's) -> CompletedProcess; any descriptors."""
    def go(*args, **how):
        how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        (tmp_path / "work").mkdir(exist_ok=True)
        return subprocess.run([dcode, *args], env=env, timeout=30,
                              cwd=tmp_path / "work", **how)
    return go


def without(*numbers):
    def close():
        for number in numbers:
            os.close(number)
    return close


def test_closed_standard_streams(model, raw):
    """They must not become the database or the pipe that cancels."""
    model({"turns": HELLO, "repeat": True, "by": "count"})
    task = ("-n", "hi", "-M", "anthropic:m")
    began = time.monotonic()
    r = raw(*task, preexec_fn=without(0))
    assert (r.returncode, r.stdout) == (0, b"Hello there.\n")
    assert time.monotonic() - began < 20
    assert raw("-M", "anthropic:m", preexec_fn=without(0)).returncode == 2
    r = raw(*task, preexec_fn=without(2))
    assert (r.returncode, r.stdout) == (0, b"Hello there.\n")
    r = raw(*task, preexec_fn=without(1))
    assert r.returncode == 1 and b"standard output" in r.stderr
    assert raw(*task, preexec_fn=without(1, 2)).returncode == 1
    assert raw(*task, preexec_fn=without(0, 1, 2)).returncode == 1
    assert raw("--version", preexec_fn=without(1)).returncode == 1


@pytest.mark.parametrize("args", [
    ["-n", "x"], ["-n", "x", "--json"], ["-n", "x", "--no-stream"],
    ["-n", "x", "-q"], ["config", "-v", "--json"], ["help"], ["--version"],
])
def test_a_full_disk_is_an_error(model, raw, args):
    model(HELLO)
    if "-n" in args:
        args = args + ["-M", "anthropic:m"]
    with open("/dev/full", "wb") as full:
        r = raw(*args, stdout=full)
    assert r.returncode == 1 and b"writing standard output" in r.stderr
    reader, writer = os.pipe()
    os.close(reader)
    r = raw(*args, stdout=writer)
    os.close(writer)
    assert r.returncode == 141


@pytest.mark.parametrize("args, status, text", [
    (["--sandbox", "nope"], 2, "Unknown sandbox provider"),
    (["--max-turns", "0"], 2, "must be a positive integer"),
    (["-S", "all,ls"], 2, "Cannot combine 'all'"),
    (["-M", "nope:m"], 1, "Unknown model provider"),
    (["-M", "anthropic:m", "--model-params", "{"], 1, "is not valid JSON: {"),
    (["--sandbox", "local", "--sandbox-setup", "/nowhere"], 1,
     "Setup script not found"),
])
def test_an_early_failure_ends_in_a_result_too(model, run, args, status, text):
    model(HELLO)
    for more in ([], ["--json"]):
        r = run("-n", "x", *args, *more)
        assert r.status == status and text in r.err
    evs = events(r.out)
    assert [e["type"] for e in evs] == ["start", "error", "result"]
    assert text in evs[1]["message"] and evs[2]["status"] == "error"
    assert evs[2]["exit_status"] == status


@pytest.mark.parametrize("text", [b"\xff\xfe", b"a\0b"])
def test_piped_bytes_that_are_no_text(model, raw, text):
    m = model(HELLO)
    r = raw("-n", "x", "-M", "anthropic:m", "--json", stdin=None, input=text)
    assert r.returncode == 1 and b"valid text" in r.stderr
    assert events(r.stdout.decode())[-1]["type"] == "result"
    assert not m.requests


def test_timeout_counts_from_the_start(model, raw):
    """Also while standard input stays silent."""
    m = model(HELLO)
    here, there = socket.socketpair()
    for more in ([], ["--json"], ["--stdin"]):
        r = raw("-n", "x", "--timeout", "1", *more, stdin=here)
        assert r.returncode == 124 and b"timed out after 1s" in r.stderr
        assert not more or more == ["--stdin"] or \
            events(r.stdout.decode())[-1]["status"] == "timeout"
    there.close()
    assert not m.requests


def test_a_message_follows_the_piped_text(model, run):
    m = model(HELLO)
    r = run("-m", "MESSAGE", "-M", "anthropic:m", stdin="PIPED")
    assert (r.status, r.out) == (0, "Hello there.\n")
    assert "PIPED\\n\\nMESSAGE" in json.dumps(m.requests[0]["body"])
    r = run("-n", "x", "-m", "y", "-M", "anthropic:m")
    assert r.status == 2 and "--message" in r.err


def test_the_effort_is_asked_for_or_refused(model, run):
    m = model(HELLO)
    r = run("-n", "x", "-M", "anthropic:claude-opus-5-5", "--effort", "xhigh")
    assert r.status == 0, r.err
    assert m.requests[0]["body"]["output_config"] == {"effort": "xhigh"}
    r = run("-n", "x", "-M", "anthropic:claude-opus-5-5", "--effort", "none")
    assert r.status != 0
    assert "It supports low, medium, high, xhigh or max" in r.err
    r = run("-n", "x", "-M", "anthropic:m", "--effort", "much")
    assert r.status == 2 and "--effort must be none, minimal" in r.err
    assert len(m.requests) == 1


def test_the_setting_is_for_models_that_take_it(model, run, config):
    m = model(HELLO)
    config('[models]\neffort = "high"\n')
    for name in ("claude-opus-5-5", "claude-haiku-4-5", "gpt-4.1"):
        vendor = "openai" if "gpt" in name else "anthropic"
        r = run("-n", "x", "-M", f"{vendor}:{name}")
        assert r.status == 0, r.err
    new, old, none = (r["body"] for r in m.requests)
    assert new["output_config"] == {"effort": "high"}
    assert old["thinking"]["budget_tokens"] < old["max_tokens"]
    assert "reasoning_effort" not in none


@pytest.mark.parametrize("value, text", [
    ("-1", "must be a non-negative integer (>= 0), got -1"),
    ("x", "invalid int value: 'x'"), ("", "invalid int value: ''"),
])
def test_max_retries_is_checked(model, run, value, text):
    model([{"fault": {"status": 529, "times": 9}}])
    r = run("-n", "x", "--max-retries", value, "-M", "anthropic:m")
    assert r.status == 2 and text in r.err
    r = run("-n", "x", "--max-retries", "0", "-M", "anthropic:m")
    assert r.status == 1 and "Retrying" not in r.err


def test_a_wait_too_long_is_not_announced(model, run):
    m = model([{"text": "x", "fault": {"status": 429,
                                       "retry_after": "86400"}}])
    r = run("-n", "x", "-M", "anthropic:m")
    assert r.status == 1 and "429" in r.err and "Retrying" not in r.err
    soon = email.utils.formatdate(time.time() + 1, usegmt=True)
    m = model([{"text": "x", "fault": {"status": 503, "retry_after": soon}}])
    r = run("-n", "x", "-M", "anthropic:m")
    assert r.status == 0 and "Retrying" in r.err and len(m.requests) == 2


def test_a_list_of_commands_in_the_configuration(model, run, config):
    model({"turns": [{"tool_calls": [{"name": "execute", "args": {
        "command": "echo yes | wc -l"}}]}, {"text": "ok"}]})
    config("[shell]\nallow_list = ['echo', 'wc']\n")
    r = run("-n", "x", "-M", "anthropic:m", "--json")
    assert r.status == 0
    result = [e for e in events(r.out) if e["type"] == "tool_result"]
    assert not result[0]["is_error"] and result[0]["content"][0] == "1"


def test_a_configuration_that_is_no_file(model, run, home):
    server = model({"turns": HELLO, "repeat": True, "by": "count"})
    path = home / ".deepagents" / "config.toml"
    path.mkdir(parents=True)
    for more in ((), ("--sandbox",)):
        r = run("-n", "x", "-M", "anthropic:m", *more)
        assert r.status == 2 and "not a regular file" in r.err
        assert not server.requests
    assert run("doctor").status == 1
    path.rmdir()
    path.symlink_to("/dev/null")
    r = run("-n", "x", "-M", "anthropic:m")
    assert r.status == 0 and "config.toml" not in r.err


def test_control_characters_of_arguments_stay_out(run):
    for args in (["x\x1b[31m"], ["--x\x1b[31m"], ["config", "\x1b[31m"],
                 ["-n", "x", "--sandbox", "a\x1b[31mb"]):
        r = run(*args)
        assert r.status == 2 and "\x1b" not in r.err


def test_no_path_variable(model, run, env):
    model(HELLO)
    del env["PATH"]
    r = run("-n", "x", "-M", "anthropic:m", "--sandbox", "local")
    assert (r.status, r.out) == (0, "Hello there.\n"), r.err


def test_a_directory_that_is_gone(model, raw, tmp_path):
    model(HELLO)
    gone = tmp_path / "gone"
    gone.mkdir()

    def leave():
        os.chdir(gone)
        gone.rmdir()
    r = raw("-n", "x", "-M", "anthropic:m", preexec_fn=leave)
    assert r.returncode == 1 and b"current directory" in r.stderr


def test_a_limit_on_file_sizes(model, raw):
    """SIGXFSZ must not end the run: nothing more is stored, that is all."""
    model(HELLO)
    r = raw("-n", "x", "-M", "anthropic:m", preexec_fn=lambda:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    assert r.returncode in (0, 1) and r.stderr


def test_an_engine_that_is_not_there_is_not_ready(run, env, tmp_path):
    env["DOCKER_HOST"] = f"unix://{tmp_path}/none.sock"

    def listed():
        rows = json.loads(run("provider", "list", "--json").out)["data"]
        return next(row for row in rows if row["name"] == "docker")
    docker = listed()
    assert not docker["ready"]
    assert "none.sock" in docker["missing"] and "DOCKER_HOST" in docker["hint"]
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"{tmp_path}/none.sock")
    assert listed()["ready"]
    server.close()


def test_an_event_is_one_line_for_every_reader(model, run):
    odd = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh\ni"
    model([{"text": odd, "thinking": odd, "tool_calls": [
        {"name": "ls\u2028", "args": {"path\u2029": odd}}]},
        {"text": odd}])
    r = run("-n", "x", "-y", "--json", "-M", "anthropic:m")
    evs = events(r.out)
    assert r.status == 0 and evs[-1]["text"] == odd
    assert [e for e in evs if e["type"] == "tool_call"][0]["args"] == {
        "path\u2029": odd}


@pytest.mark.parametrize("how", [[], ["--json"]])
def test_nobody_takes_the_output(model, start, how):
    """A pipe that is full and never read: Ctrl-C and --timeout still end."""
    model({"turns": [{"text": "word " * 60000}], "repeat": True,
           "by": "count"})
    r = start("-n", "x", "-M", "anthropic:m", *how)
    time.sleep(1)
    assert r.p.poll() is None
    r.signal()
    assert r.p.wait(5) == 130
    r = start("-n", "x", "-M", "anthropic:m", "--timeout", "1", *how)
    assert r.p.wait(8) == 124


def test_help_for_programs(run):
    whole = json.loads(run("help", "--json").out)
    assert whole["schema_version"] == 1 and whole["command"] == "help"
    options = {o["name"]: o for o in whole["data"]["options"]}
    assert options["model"]["letter"] == "M"
    assert options["sandbox"]["value_optional"]
    assert json.loads(run("--help", "--json").out) == whole
    one = json.loads(run("help", "config", "--json").out)["data"]
    assert one in whole["data"]["commands"] and one["name"] == "config"
    assert json.loads(run("config", "--help", "--json").out)["data"] == one


def test_what_people_read_fits_80_columns(run, env, tmp_path):
    env["DOCKER_HOST"] = f"unix://{tmp_path}/none.sock"
    for args in (["doctor"], ["provider", "list"], ["help"],
                 ["help", "sandbox"], ["help", "config"], ["help", "doctor"]):
        r = run(*args)
        long = [line for line in r.out.splitlines()
                if len(line) > 80 and str(tmp_path) not in line]
        assert r.status == 0 and r.out and not long, args


@pytest.mark.parametrize("text, kept", [
    (b"RULE\n", True), (b"", False), (b" <!-- only a note -->\n", False),
    (b"RULE\0more", False), (b"RULE\xff", False)])
def test_which_memory_joins_the_prompt(model, run, tmp_path, text, kept):
    m = model(HELLO)
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "AGENTS.md").write_bytes(text)
    assert run("-n", "x", "-M", "anthropic:m").status == 0
    system = json.dumps(m.requests[0]["body"]["system"])
    assert ("agent_memory" in system) == kept == ("RULE" in system)


@pytest.mark.parametrize("box", [["-y"], ["--sandbox", "local"]])
def test_nobody_takes_what_is_said(model, dcode, env, run, tmp_path, box):
    """Both streams in one full pipe; the sandbox goes all the same."""
    model({"turns": [{"tool_calls": [{"name": "execute", "args": {
        "command": "seq 1 30000"}}]}], "repeat": True, "by": "count"})
    (tmp_path / "work").mkdir(exist_ok=True)
    for more, status in (([], 130), (["--timeout", "2"], 124)):
        reader, writer = os.pipe()
        p = subprocess.Popen(
            [dcode, "-n", "x", "-M", "anthropic:m", *box, *more], env=env,
            cwd=tmp_path / "work", stdin=subprocess.DEVNULL, stdout=writer,
            stderr=writer)
        os.close(writer)
        time.sleep(1.5)
        assert p.poll() is None
        if not more:
            p.send_signal(2)
        assert p.wait(10) == status
        os.close(reader)
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


def test_an_empty_sandbox_name_is_not_the_default(model, run, config):
    model(HELLO)
    config("[sandboxes]\ndefault = 'none'\n")
    assert run("-n", "x", "-M", "anthropic:m", "--sandbox").status == 0
    for args in (["--sandbox", ""], ["--sandbox="]):
        r = run("-n", "x", "-M", "anthropic:m", *args)
        assert r.status == 2 and "Unknown sandbox provider ''" in r.err


@pytest.mark.parametrize("line, option, command", [
    ("apply --history 3", "history", "apply"),
    ("diff --keep", "keep", "diff"),
    ("sandbox create --workspace repo", "workspace", "sandbox create"),
    ("-M anthropic:m config", "model", "config"),
    ("sandbox list -y", "auto-approve", "sandbox list"),
    ("--install x --timeout 3", "timeout", "install"),
])
def test_a_command_refuses_the_options_of_a_run(run, line, option, command):
    r = run(*line.split())
    assert r.status == 2 and not r.out
    assert f"--{option} cannot be used with dcode {command}\n" in \
        r.err


def test_a_command_takes_its_own_options_and_those_of_all(run):
    r = run("threads", "prune", "--keep", "1", "--json", "-q")
    assert r.status == 0, r.err
    r = run("diff", "--keep", "--help")
    assert r.status == 0 and "usage: dcode diff" in r.out
    r = run("diff", "--keep")
    assert "--keep is an option of dcode threads prune" in r.err
