"""clouds.py - what the tests of all cloud vendors share."""
# SPDX-License-Identifier: MIT
import importlib
import re

import pytest

NAMES = {"daytona": "Daytona", "e2b": "E2B", "langsmith": "LangSmith",
         "runloop": "Runloop", "vercel": "Vercel"}
# What a command is started with.
EXECUTE = {"daytona": "POST /toolbox/[^/]+/process/execute",
           "e2b": "POST /process.Process/Start",
           "langsmith": "(POST|GET) .*/execute",
           "runloop": "POST /v1/devboxes/[^/]+/execute",
           "vercel": "POST .*/cmd"}
# What a file is sent with.
UPLOAD = {"daytona": "POST .*/files/bulk-upload", "e2b": "POST /files[?]",
          "langsmith": "POST .*/upload[?]",
          "runloop": "POST .*/upload_file", "vercel": "POST .*/fs/write"}
DONE = {"text": "done"}
OPTIONS = {"langsmith": {"ready": ["deepagents-code"]}}


def emulator(name, **options):
    kind = getattr(importlib.import_module(name), NAMES[name])
    return kind(**{**OPTIONS.get(name, {}), **options})


@pytest.fixture
def vendor(env):
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
