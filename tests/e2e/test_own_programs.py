"""test_own_programs.py - the user's own programs take nothing from the
directory that dcode was started in."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import sys

import pytest

from mcp_rig import EMULATOR, calls, results
from test_live_chat import live  # noqa: F401
from test_mcp import mcp, task  # noqa: F401

# pylint: disable=redefined-outer-name

PYTHON = sys.executable
TRAP = "import pathlib, os\n" \
       "pathlib.Path(os.environ['RAN']).write_text(os.getcwd())\n"


@pytest.fixture
def ran(env, tmp_path):
    env["RAN"] = str(tmp_path / "ran")
    return tmp_path / "ran"


def trap(work, name):
    path = work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\npwd >\"$RAN\"\n")
    path.chmod(0o755)
    return path


def where(rig):
    return [line.split()[2] for line in rig.lines()
            if line.startswith("start ")]


@pytest.mark.parametrize("how", [["-y"], ["-y", "--sandbox", "local"],
                                 ["-y", "--sandbox", "none"]])
def test_a_module_of_the_repository_is_not_run(mcp, model, run, ran, how):
    (mcp.work / "srv").mkdir()
    (mcp.work / "srv/__init__.py").write_text(TRAP)
    (mcp.work / "srv/__main__.py").write_text("")
    mcp.own(one={"command": PYTHON, "args": ["-m", "srv"]},
            good=mcp.entry())
    m = model(calls("good_look"))
    r = task(run, *how)
    assert not ran.exists()
    assert results(m) == ["looked"] and where(mcp) == ["/"], r.err
    # The control: where the user says so, it is taken, and said.
    mcp.own(one={"command": PYTHON, "args": ["-m", "srv"], "cwd": "project"})
    model(calls("ls"))
    r = task(run, *how)
    assert ran.read_text() == str(mcp.work)
    words = " ".join(r.err.split())
    assert f"MCP server one starts in {mcp.work}, as its \"cwd\" in" in words
    assert "it runs" in words and "-m: the code that it runs may come" in words


def test_npx_finds_no_package_of_the_repository(mcp, model, run, ran, home,
                                                env):
    """As npx does: node_modules/.bin of the directory goes first."""
    trap(mcp.work, "node_modules/.bin/mcp-server")
    bin_dir = home / "bin"
    bin_dir.mkdir()
    npx = bin_dir / "npx"
    npx.write_text(
        "#!/bin/sh\n[ -x node_modules/.bin/\"$2\" ] && "
        "exec node_modules/.bin/\"$2\"\n"
        f"exec {PYTHON} {EMULATOR}\n")
    npx.chmod(0o755)
    env["PATH"] = f"{bin_dir}:{env['PATH']}"
    entry = {"command": "npx", "args": ["-y", "mcp-server"],
             "env": {"LOG": str(mcp.log)}}
    mcp.own(srv=entry)
    m = model(calls("srv_look"))
    r = task(run, "-y")
    assert not ran.exists() and results(m) == ["looked"], r.err
    mcp.own(srv={**entry, "cwd": "project"})
    model(calls("ls"))
    r = task(run, "-y")
    assert ran.exists() and "it runs npx" in r.err


def test_a_server_starts_in_its_own_absolute_directory(mcp, model, run):
    (mcp.home / "sub").mkdir()
    mcp.own(a={**mcp.entry(), "cwd": "~/sub"},
            b={**mcp.entry(), "cwd": str(mcp.home / "sub")},
            c={**mcp.entry(), "cwd": "${HOME}/sub"},
            d=mcp.entry(), e={**mcp.entry(), "cwd": "project"})
    model(calls("ls"))
    r = task(run, "-y")
    assert sorted(where(mcp)) == sorted(
        ["/", str(mcp.work), *[str(mcp.home / "sub")] * 3]), r.err


@pytest.mark.parametrize("cwd", [".", "sub", "./project", "../work"])
def test_a_relative_directory_is_refused(mcp, model, run, cwd):
    (mcp.work / "sub").mkdir()
    mcp.own(srv={**mcp.entry(), "cwd": cwd})
    model(calls("ls"))
    r = task(run, "-y")
    assert where(mcp) == []
    assert 'its "cwd" must be an absolute path or "project"' in r.err


@pytest.mark.parametrize("more", [{}, {"cwd": "project"}])
@pytest.mark.parametrize("command", ["./srv", "bin/srv", "../work/srv"])
def test_a_relative_command_is_refused(mcp, model, run, ran, command, more):
    trap(mcp.work, "srv")
    trap(mcp.work, "bin/srv")
    mcp.own(srv={"command": command, **more})
    model(calls("ls"))
    r = task(run, "-y")
    assert not ran.exists() and '"command" must be an absolute' in r.err
    mcp.own()
    mcp.project(srv={"command": command, "env": {"RAN": str(ran)}})
    model(calls("ls"))
    task(run, "-y", "--trust-project-mcp")
    assert ran.read_text() == f"{mcp.work}\n"


def test_a_projects_runner_and_nameless_command_are_said(mcp, model, run,
                                                         home, env):
    (home / "npx").write_text("#!/bin/sh\nexit 1\n")
    (home / "npx").chmod(0o755)
    env["PATH"] = f"{home}:{env['PATH']}"
    (mcp.work / "srv.py").write_text("")
    mcp.project(a={"command": "npx", "args": ["x"]},
                b={"command": PYTHON, "args": ["srv.py"]})
    model(calls("ls"))
    r = task(run, "-y", "--trust-project-mcp")
    said = [line for line in r.err.splitlines()
            if "does not ask again when project files change" in line]
    assert len(said) == 1 and "MCP server a runs npx" in said[0], r.err
    model(calls("ls"))
    assert "does not ask again" not in task(run, "-y", "-q",
                                      "--trust-project-mcp").err


# ---- PATH ----

PATHS = [".:{path}", ":{path}", "{path}:", "{path}::", "bin:{path}",
         "./bin:.:{path}"]


@pytest.mark.parametrize("path", PATHS)
def test_no_relative_entry_of_path_counts(mcp, model, run, ran, env, home,
                                          path):
    """For hooks, commands on this machine and servers, and what they start."""
    for name in ("probe", "bin/probe", "ls", "cat", "bin/ls", "git", "bash",
                 "bin/cat", "bin/git"):
        trap(mcp.work, name)
    env["PATH"] = path.format(path=env["PATH"])
    (home / ".deepagents").mkdir(exist_ok=True)
    (home / ".deepagents/hooks.json").write_text(json.dumps({"hooks": {
        "PostToolUse": [{"hooks": [
            {"type": "command", "command": "probe; ls; cat; git --version"},
            {"type": "command", "argv": ["probe"]}]}]}}))
    mcp.own(srv={**mcp.entry("env"), "cwd": "project"})
    m = model([{"tool_calls": [
        {"name": "execute", "args": {"command":
                                     "probe; ls; git --version; echo $PATH"}},
        {"name": "srv_env", "args": {}}]}, {"text": "done"}])
    r = task(run, "-y")
    assert r.status == 0 and not ran.exists(), r.err
    shell, server = results(m)
    for text in (shell, server.partition("PATH=")[2].splitlines()[0]):
        found = [line for line in text.splitlines()
                 if line.startswith("/")][-1]
        assert all(e.startswith("/") for e in found.split(":")), text


@pytest.mark.parametrize("path", PATHS)
def test_the_editor_takes_nothing_of_the_directory(live, env, work, ran,
                                                        home, path):
    for name in ("probe", "bin/probe", "vi", "less", "bin/vi"):
        trap(work, name)
    editor = home / "editor"
    editor.write_text("#!/bin/sh\npwd >\"$0.cwd\"\nprobe\n"
                      "echo edited >\"$1\"\n")
    editor.chmod(0o755)
    env.update(EDITOR=str(editor), VISUAL="",
               PATH=path.format(path=env["PATH"]))
    s, server = live([{"text": "done."}], ready="/quit")
    s.type("/editor")
    s.keys("Enter")
    s.until("edited")
    s.keys("Enter")
    s.until("done.")
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0
    assert not ran.exists() and server.requests
    assert pathlib.Path(f"{editor}.cwd").read_text() == "/\n"


@pytest.fixture
def work(home):
    return home.parent / "work"


def test_a_relative_editor_is_not_run(live, env, work, ran):
    trap(work, "ed")
    env.update(EDITOR="./ed", VISUAL="")
    s, _ = live([{"text": "done."}], ready="/quit")
    s.type("/editor")
    s.keys("Enter")
    s.until("exited with status 127")
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0 and not ran.exists()
    assert os.access(work / "ed", os.X_OK)


@pytest.mark.parametrize("path", PATHS)
def test_the_pager_of_help_takes_nothing_of_the_directory(
        terminal, env, work, ran, home, path):
    for name in ("probe", "bin/probe", "less", "bin/less"):
        trap(work, name)
    pager = home / "pager"
    pager.write_text("#!/bin/sh\npwd >\"$0.cwd\"\nprobe\ncat\n")
    pager.chmod(0o755)
    env.update(PATH=path.format(path=env["PATH"]), TERM="xterm")
    for own in (str(pager), "./less"):
        env["PAGER"] = own
        t = terminal("help", "skills")
        t.until("AGENTS.md" if own == str(pager) else "skills")
        assert t.end() == 0
    assert not ran.exists()
    assert pathlib.Path(f"{pager}.cwd").read_text() == "/\n"
