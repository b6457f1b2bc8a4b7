"""clouds.py - what the tests of all cloud vendors share."""
# SPDX-License-Identifier: MIT
import importlib
import re

import pytest

from lifecycle import execute

NAMES = {"daytona": "Daytona", "e2b": "E2B", "langsmith": "LangSmith",
         "runloop": "Runloop", "vercel": "Vercel"}
# What a command is started with.
EXECUTE = {"daytona": "POST /toolbox/[^/]+/process/execute",
           "e2b": "POST /process.Process/Start",
           "langsmith": "(POST|GET) .*/execute",
           "runloop": "POST /v1/devboxes/[^/]+/execute",
           "vercel": "POST .*/cmd"}
# What one is made with.
CREATE = {"daytona": "POST /api/sandbox$", "e2b": "POST /v2/sandboxes$",
          "langsmith": "POST /v2/sandboxes/boxes$",
          "runloop": "POST /v1/devboxes$",
          "vercel": "POST /v2/sandboxes[?]"}
# What a file is sent with.
UPLOAD = {"daytona": "POST .*/files/bulk-upload", "e2b": "POST /files[?]",
          "langsmith": "POST .*/upload[?]",
          "runloop": "POST .*/upload_file", "vercel": "POST .*/fs/write"}
DONE = {"text": "done"}
COMMANDS = [
    ("exit 3", "exit code 3"), ("set -e; false; echo no", "exit code 1"),
    ("exec false", "exit code 1"), ("kill -9 $$", "exit code 137"),
    ("nonsense-command", "exit code 127"), ("if", "exit code 2"),
    ("cat; read x; echo end $x", "end"), ("echo out; echo err >&2", "err"),
    ("printf 'a\\0b\\377c'", "a"), ("pwd", "/")]
OPTIONS = {"langsmith": {"ready": ["deepagents-code"]}}


def emulator(name, **options):
    kind = getattr(importlib.import_module(name), NAMES[name])
    return kind(**{**OPTIONS.get(name, {}), **options})


@pytest.fixture(name="vendor")
def vendor_fixture(env):
    """vendor(name, **options): an emulated one that env points to."""
    clouds = []

    def begin(name, **options):
        clouds.append(emulator(name, **options).__enter__())
        env.update(clouds[-1].env)
        return clouds[-1]
    yield begin
    for cloud in clouds:
        cloud.__exit__()
        assert cloud.violations == []


def fixtures(name):
    """Of a vendor's own tests: NAME(**options), and task(*options), a run of
    dcode in one of its sandboxes."""
    @pytest.fixture(name=name)
    def begin(vendor):
        return lambda **options: vendor(name, **options)

    @pytest.fixture(name="task")
    def task(run):
        return lambda *options, **how: run(
            "-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name,
            *options, **how)
    return begin, task


def commands_end(model, task):
    server = model([execute(c) for c, _ in COMMANDS] + [DONE])
    r = task(timeout=120)
    assert r.status == 0, r.err
    for (command, wanted), told in zip(COMMANDS, results(server),
                                       strict=True):
        assert wanted in told, command


def results(server):
    """The tools' results that the model was given, in order."""
    found = []
    for message in server.requests[-1]["body"]["messages"]:
        if isinstance(message["content"], list):
            found += [p["content"] if isinstance(p["content"], str) else
                      "".join(t["text"] for t in p["content"])
                      for p in message["content"]
                      if p["type"] == "tool_result"]
    return found


def elsewhere(env, url):
    """Every address in env that is the emulator's becomes url."""
    for name, value in env.items():
        if name.endswith(("_URL", "_ENDPOINT")) and "sandbox" not in value:
            env[name] = re.sub(r"^http://127\.0\.0\.1:\d+", url, value)
