"""test_trust_b2_keys.py - keys are not read out of dcode's memory."""
# SPDX-License-Identifier: MIT
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile
import time

import pytest

from conftest import Run

USER = 54321 if os.getuid() == 0 else os.getuid()
KEY = "k-0123456789-abcdef"


@pytest.fixture(autouse=True)
def core_files():
    """As where core files are wanted."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    most = before[1]
    small = 4096 if most == resource.RLIM_INFINITY else min(4096, most)
    resource.setrlimit(resource.RLIMIT_CORE, (small, most))
    yield small
    resource.setrlimit(resource.RLIMIT_CORE, before)


@pytest.fixture
def user(dcode_release, env):
    """run(*args): a dcode of an ordinary user, with a home of its own."""
    room = pathlib.Path(tempfile.mkdtemp(prefix="dcode-b2-"))
    (room / "home").mkdir()
    shutil.copy(dcode_release, room / "dcode")
    env.update(HOME=str(room / "home"), OPENAI_API_KEY=KEY,
               DEEPAGENTS_CODE_GROQ_API_KEY=KEY, GITHUB_TOKEN=KEY,
               GREETING="hello")
    runs = []

    def start(*args, command=(room / "dcode",)):
        runs.append(Run([*command, *args], env, room / "home", None,
                        user=USER))
        return runs[-1]
    if os.getuid() == 0:
        for path in (room, room / "home"):
            os.chown(path, USER, USER)
    yield start
    for r in runs:
        r.kill()
        r.p.communicate()
    shutil.rmtree(room)


def owner(pid):
    """The kernel gives the files of a process that cannot be dumped to
    root."""
    return os.stat(f"/proc/{pid}/environ").st_uid


def until(what, seconds=30):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def waiting(user, model):
    """A dcode that has read its settings, and waits for the model."""
    server = model([{"text": "late", "delay_ms": 20000}])
    r = user("-n", "x", "-M", "anthropic:m", "-y")
    until(lambda: server.requests or r.p.poll() is not None)
    assert r.p.poll() is None, r.p.stderr.read()
    return r


def test_no_debugger_and_no_core_file(user, model):
    control = user("60", command=("/bin/sleep",))
    r = waiting(user, model)
    assert owner(control.pid) == USER
    assert owner(r.pid) == 0
    limits = pathlib.Path(f"/proc/{r.pid}/limits").read_text()
    assert re.search(r"^Max core file size +0 ", limits, re.M), limits


def test_the_environment_in_proc_holds_no_key(user, model):
    control = user("60", command=("/bin/sleep",))
    r = waiting(user, model)

    def environ(pid):
        return subprocess.run(["cat", f"/proc/{pid}/environ"], check=True,
                              capture_output=True).stdout.decode()
    assert environ(control.pid).count(KEY) == 3
    if os.getuid() == 0:
        assert "GREETING=hello" in environ(r.pid)
        assert KEY not in environ(r.pid)


def test_commands_get_what_was_exported_and_the_users_limits(
        user, model, core_files):
    server = model([{"tool_calls": [{"name": "execute", "args": {
        "command": "echo token=${#GITHUB_TOKEN} $GREETING core=$(ulimit -c)"
                   " key=$OPENAI_API_KEY."}}]}, {"text": "done."}])
    r = user("-n", "x", "-M", "anthropic:m", "-y").wait()
    assert r.status == 0, r.err
    core = core_files // 1024  # as bash counts
    said = str(server.requests[-1]["body"])
    assert f"token={len(KEY)} hello core={core} key=." in said, said


def test_an_ordinary_user_has_a_local_sandbox(user, model, env):
    """Its supervisor is dcode again: one that cannot be dumped, either."""
    home = pathlib.Path(env["HOME"])
    can = user("-U", "true", command=("unshare",)).wait()
    if can.status != 0:
        pytest.skip("this machine gives users no namespaces")
    model([{"tool_calls": [{"name": "execute", "args": {
        "command": "echo $((6 * 7)) >answer; cat answer; mkdir -p a/b; "
                   "chmod 000 a"}}]},
        {"tool_calls": [{"name": "read_file", "args": {
            "file_path": "/workspace/answer"}}]}, {"text": "done."}])
    r = user("-n", "x", "-M", "anthropic:m", "--sandbox", "local").wait()
    assert r.status == 0 and "42" in r.err, r.err
    assert not list(home.glob(".deepagents/sandboxes/*/workspace"))
