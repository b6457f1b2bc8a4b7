"""clouds.py - helpers for tests of the vendors' sandboxes."""
# SPDX-License-Identifier: MIT
import importlib
import os
import re

import pytest

from lifecycle import call, execute

DONE = {"text": "done"}
EACH_TOOL = [
    execute("echo hi >a; exit 3"),
    {"tool_calls": [call("write_file", file_path="b", content="one\n")]},
    {"tool_calls": [call("read_file", file_path="b")]},
    {"tool_calls": [call("ls", path=".")]},
    {"tool_calls": [call("glob", pattern="*")]},
    {"tool_calls": [call("grep", pattern="one")]},
    {"tool_calls": [call("edit_file", file_path="b", old_string="one",
                         new_string="two")]}, DONE]
NAMES = {"agentcore": "AgentCore", "daytona": "Daytona", "deno": "Deno",
         "e2b": "E2B", "langsmith": "LangSmith", "modal": "Modal",
         "runloop": "Runloop", "vercel": "Vercel"}
# What a command is started with.
EXECUTE = {"daytona": "POST /toolbox/[^/]+/process/execute",
           "e2b": "POST /process.Process/Start",
           "langsmith": "(POST|GET) .*/execute",
           "runloop": "POST /v1/devboxes/[^/]+/execute",
           "vercel": "POST .*/cmd"}
# What one is made with.
CREATE = {"daytona": "POST /api/sandbox$", "e2b": "POST /v2/sandboxes$",
          "langsmith": "POST /api/v2/sandboxes/boxes$",
          "runloop": "POST /v1/devboxes$",
          "vercel": "POST /v2/sandboxes[?]"}
# What a file is sent with, where that is a request of its own.
UPLOAD = {"daytona": "POST .*/files/bulk-upload", "e2b": "POST /files[?]",
          "langsmith": "POST .*/upload[?]",
          "runloop": "POST .*/upload_file", "vercel": "POST .*/fs/write"}
COMMANDS = [
    ("exit 3", "exit code 3"), ("set -e; false; echo no", "exit code 1"),
    ("exec false", "exit code 1"), ("kill -9 $$", "exit code 137"),
    ("nonsense-command", "exit code 127"), ("if", "exit code 2"),
    ("cat; read x; echo end $x", "end"), ("echo out; echo err >&2", "err"),
    ("printf 'a\\0b\\377c'", "a"), ("pwd", "/")]
OPTIONS = {"langsmith": {"ready": ["deepagents-code"]}}
LONG = bool(os.environ.get("DCODE_TEST_LONG"))


def emulator(name, **options):
    kind = getattr(importlib.import_module(name), NAMES[name])
    return kind(**{**OPTIONS.get(name, {}), **options})


def emulated(kind, env):
    """For a fixture: begin(...) starts an emulator and sets env to it. At the
    end no emulator may have complained about a request."""
    clouds = []

    def begin(*args, **options):
        clouds.append(kind(*args, **options).__enter__())
        env.update(clouds[-1].env)
        return clouds[-1]
    yield begin
    for cloud in clouds:
        cloud.__exit__()
        assert cloud.violations == []


@pytest.fixture(name="vendor")
def vendor_fixture(env):
    """vendor(name, **options): starts an emulator and sets env to it."""
    yield from emulated(emulator, env)


def task_of(run, name):
    """task(*options): runs dcode in a sandbox of this provider."""
    def go(*options, **how):
        return run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name,
                   *options, **how)
    return go


def fixtures(name):
    """Makes the fixtures of a vendor's own tests: NAME(**options) starts its
    emulator, task(*options) runs dcode in one of its sandboxes."""
    @pytest.fixture(name=name)
    def begin(vendor):
        return lambda **options: vendor(name, **options)

    @pytest.fixture(name="task")
    def task(run):
        return task_of(run, name)
    return begin, task


def commands_end(model, task):
    server = model([execute(c) for c, _ in COMMANDS] + [DONE])
    r = task(timeout=120)
    assert r.status == 0, r.err
    for (command, wanted), told in zip(COMMANDS, results(server),
                                       strict=True):
        assert wanted in told, command


def results(server):
    """Returns the tool results that the model received, in order."""
    found = []
    for message in server.requests[-1]["body"]["messages"]:
        if isinstance(message["content"], list):
            found += [p["content"] if isinstance(p["content"], str) else
                      "".join(t["text"] for t in p["content"])
                      for p in message["content"]
                      if p["type"] == "tool_result"]
    return found


def per_tool(cloud, server):
    """Returns the requests before the first tool and those of each tool."""
    began = [q["received"] for q in server.requests]
    times = [q["began"] for q in cloud.requests]
    return (sum(t < began[0] for t in times),
            [sum(a < t < b for t in times)
             for a, b in zip(began, began[1:])])


def elsewhere(env, url):
    """Replaces the emulator's address in env by url."""
    for name, value in env.items():
        if name.endswith(("_URL", "_ENDPOINT")) and "sandbox" not in value:
            env[name] = re.sub(r"^http://127\.0\.0\.1:\d+", url, value)
