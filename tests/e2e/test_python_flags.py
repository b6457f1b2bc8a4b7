"""test_python_flags.py - flags and settings of the Python program."""
# SPDX-License-Identifier: MIT
import pytest

from clouds import DONE, results
from lifecycle import call
from slash_chat import HELLO, begin, talk  # noqa: F401 (a fixture)

RUN = ("-n", "hi", "-M", "anthropic:m")


def test_the_default_model_is_stored(run, home, config):
    file = home / ".deepagents" / "config.toml"
    assert run("--default-model").out == "No default model set.\n"
    r = run("--default-model", "claude-opus-5")
    assert (r.status, r.out) == (
        0, "Default model set to anthropic:claude-opus-5\n")
    assert run("--default-model").out == (
        "Default model: anthropic:claude-opus-5\n")
    config("# mine\n[models]\n# old\ndefault = \"x:y\" # why\n\n[ui]\n")
    assert run("--default-model", "openai:gpt-5.1").status == 0
    assert file.read_text() == (
        "# mine\n[models]\n# old\ndefault = 'openai:gpt-5.1'\n\n[ui]\n")
    assert run("--clear-default-model").out == "Default model cleared.\n"
    assert file.read_text() == "# mine\n[models]\n# old\n\n[ui]\n"
    config("models.default = \"x:y\"\n")
    assert run("--default-model", "openai:gpt-5.1").status == 0
    assert file.read_text() == "models.default = 'openai:gpt-5.1'\n"


def test_a_default_model_that_cannot_be_stored_changes_nothing(run, config):
    for text, status in (("models = { default = 'a:b' }\n", 1),
                         ("[models\n", 2)):
        file = config(text)
        r = run("--default-model", "openai:gpt-5.1")
        assert r.status == status and "config.toml" in r.err, r.err
        assert file.read_text() == text
    config("")
    r = run("--default-model", "nobody:x")
    assert r.status == 1 and "Unknown model provider" in r.err
    r = run("--default-model", "x", "--clear-default-model")
    assert r.status == 2 and "mutually exclusive" in r.err


def test_file_tools_that_are_not_allowed_are_not_offered(run, model, tmp_path):
    (tmp_path / "work" / "f").write_text("x")
    server = model([{"tool_calls": [
        call("ls", path="."), call("grep", pattern="x"),
        call("execute", command="touch made")]}, DONE])
    r = run(*RUN, "-y", "--allow-fs-tools", "LS, read_file")
    assert r.status == 4, r.err  # the only call that acts was refused
    offered = {t["name"] for t in server.requests[0]["body"]["tools"]}
    assert {"ls", "read_file", "write_todos"} <= offered
    assert not offered & {"execute", "write_file", "grep", "glob", "delete"}
    listed, *refused = results(server)
    assert "f" in listed
    assert all("is not available in this run" in r for r in refused)
    assert not (tmp_path / "work" / "made").exists()


@pytest.mark.parametrize("value, why", [
    ("", "requires a value"), (" , ", "at least one non-empty"),
    ("all,ls", "'all' cannot be combined"),
    ("read_file,x,y", "unknown tool name(s): x, y. Valid names: ls, "),
    ("ls", "must include 'read_file'")])
def test_wrong_lists_of_tools(run, value, why):
    r = run(*RUN, "--allow-fs-tools", value)
    assert r.status == 2 and why in r.err


def test_a_startup_command_runs_where_the_tools_run(run, model):
    server = model([{"tool_calls": [
        call("execute", command="cat made")]}, DONE])
    r = run(*RUN, "--sandbox", "local", "-y", "--startup-cmd",
            "echo BY-STARTUP >made; echo shown; exit 3")
    assert r.status == 0, r.err
    assert "shown" in r.err and "exit code 3" in r.err
    assert "BY-STARTUP" in results(server)[0]
    assert "shown" not in str(server.requests[0]["body"]["messages"])


def test_a_startup_command_in_a_chat(talk):
    c = begin(talk, HELLO, "--startup-cmd", "echo from-$((40 + 2))")
    c.until("echo from-")
    assert c.ask("hi") == ["hi"]


def test_settings_of_the_python_program_are_told_in_one_line(run, config):
    config("[goals]\nauto_accept_criteria = true\n[ui]\ncursor_blink = true\n"
           "[interpreter]\nptc = 'safe'\n[skills]\nextra_allowed_dirs = []\n")
    lines = [line for line in run("config").err.splitlines()
             if "Python program" in line]
    assert len(lines) == 1
    assert "goals, ui.cursor_blink, interpreter" in lines[0]
    assert "skills" not in lines[0]
    config("[models]\ndefault = 'a:b'\n")
    assert "Python program" not in run("config").err


def test_runs_name_settings_of_the_python_program_when_they_change(
        run, config):
    def told(*args):
        return run(*args).err.count("Python program")
    config("[ui]\ncursor_blink = true\n")
    assert [told("threads", "list") for _ in range(3)] == [1, 0, 0]
    assert told("config") == told("doctor") == 1  # who asks is answered
    assert "cursor_blink" in run("doctor", "--json").out
    config("[ui]\ncursor_blink = true\n"
           "[goals]\nauto_accept_criteria = true\n")
    assert [told("threads", "list") for _ in range(2)] == [1, 0]
    # control: what nobody knows is told each time
    config("[models]\ndefualt = 'a:b'\n")
    assert all("defualt" in run("threads", "list").err for _ in range(2))


def test_variables_of_the_python_program_are_told_in_the_same_line(
        run, config, env):
    env["DEEPAGENTS_CODE_CURSOR_STYLE"] = "block"
    env["DEEPAGENTS_CODE_THEME"] = "dark"  # dcode has this one
    err = run("config").err
    assert "these variables of the Python program: " \
        "DEEPAGENTS_CODE_CURSOR_STYLE; ignored" in err
    config("[runtime]\nrecursion_limit = 9\n[memory]\nauto_save = false\n")
    lines = [line for line in run("config").err.splitlines() if line]
    assert len(lines) == 1
    assert "Python program: runtime, memory; ignored. dcode also ignores " \
        "these variables: DEEPAGENTS_CODE_CURSOR_STYLE" in lines[0]


@pytest.mark.parametrize("words", ["plugin list", "skills trust list",
                                   "tools list", "update"])
def test_commands_of_the_python_program_are_named_as_such(run, words):
    r = run(*words.split())
    assert r.status == 2
    assert "dcode does not have this command of the Python program" in r.err


def test_a_project_of_langsmith_is_named_as_such(run):
    r = run("auth", "set", "langsmith", "--project", "x", stdin="key")
    assert r.status == 2
    assert "--project: dcode does not have this flag of the Python" in r.err
