"""test_trust_c9_messages.py - what is wrong, where, and what to type next."""
# SPDX-License-Identifier: MIT
import pytest

ABSENT = "is a {} of the Python program that dcode does not have\n"


@pytest.mark.parametrize("line, flag, instead", [
    ("--resume", "--resume", "Instead: begin a new conversation."),
    ("-r abc", "--resume", ""),
    ("--resume=abc -n x", "--resume", ""),
    ("--resu -n x", "--resume", ""),
    ("--yolo -n x", "--yolo", "--auto-approve (-y)"),
    ("-n x --recursion-limit 5", "--recursion-limit", "--max-turns"),
    ("-n x --show-reasoning", "--show-reasoning", ""),
])
def test_a_flag_of_the_python_program_is_told_as_such(run, line, flag, instead):
    r = run(*line.split())
    assert r.status == 2 and not r.out
    assert f"dcode: error: {flag} {ABSENT.format('flag')}" in r.err
    assert instead in r.err


def test_a_command_of_the_python_program_is_told_as_such(run):
    for line in (["threads", "list", "--branch", "x"], ["mcp"]):
        r = run(*line)
        assert r.status == 2
        assert f"dcode {line[0]} {ABSENT.format('command')}" in r.err
    assert "there is no command 'nosuch'" in run("nosuch").err


def test_an_ambiguous_option_names_the_candidates(run):
    r = run("-n", "x", "--sand", "local")
    assert r.status == 2
    assert r.err.endswith(
        "ambiguous option: --sand could match --sandbox, --sandbox-id, "
        "--sandbox-snapshot-name, --sandbox-setup, --sandbox-network\n")
    assert "could match --verbose, --version" in run("config", "--ver").err
    assert run("--vers").status == 0


def test_a_mistyped_option_is_answered_with_the_nearest(run):
    assert "Did you mean --sandbox?" in run("--sanbox", "local").err
    assert "Did you mean" not in run("--nothing-like-it").err


@pytest.mark.parametrize("line, usage", [
    ("sandbox exec --nosuch", "sandbox exec ID -- COMMAND..."),
    ("sandbox cp a b", "sandbox cp SRC DST"),
    ("sandbox info", "sandbox info ID"),
    ("sandbox nosuch", "sandbox list|info|exec|cp|snapshot|rm|gc ..."),
    ("config get", "config get KEY [-v] [--json]"),
    ("config --nosuch", "config [-v] [--json]"),
    ("auth ls x", "auth list [--json]"),
    ("install x --nosuch", "install NAME [--offline] [--json]"),
    ("--nosuch", "[options] [COMMAND ...]"),
    ("-n x --max-turns x", "[options] [COMMAND ...]"),
])
def test_a_wrong_line_is_answered_with_its_one_line_of_usage(run, line, usage):
    r = run(*line.split())
    lines = r.err.splitlines()
    assert r.status == 2 and lines[0] == f"usage: dcode {usage}"
    assert lines[1].startswith("dcode: error: ")


def test_the_line_is_checked_before_credentials_are_looked_for(run, tmp_path):
    missing = tmp_path / "missing.sh"
    for line, told in (
            (f"--sandbox local --sandbox-setup {missing}",
             f"Setup script not found: {missing}"),
            (f"--sandbox local --sandbox-setup {tmp_path}", "is a directory"),
            ("--model-params {", "--model-params is not valid JSON"),
            ("--model-params 5", "--model-params must be a JSON object"),
            ("--sandbox nosuch", "Unknown sandbox provider 'nosuch'"),
            ("--max-turns x", "invalid int value: 'x'"),
            ("--sandbox-id x", "--sandbox-id requires a --sandbox provider"),
            ("-S all,ls", "Cannot combine 'all'")):
        r = run("-n", "x", *line.split())
        assert r.status and told in r.err and "credentials" not in r.err
    only = run("provider", "test", "daytona", "--only", "nosuch")
    assert "no check has 'nosuch' in its name" in only.err
    assert "No credentials configured" in run("-n", "x").err
