"""test_what_to_type.py - errors of sandboxes name the command that helps."""
# SPDX-License-Identifier: MIT
import socket

import pytest

from conftest import Run

VENDORS = ["agentcore", "daytona", "deno", "e2b", "langsmith", "modal",
           "runloop", "vercel"]
TASK = ("-n", "x", "-M", "ollama:x", "--sandbox")
SERVICE = """
[sandboxes.providers.mine.http]
base = "http://127.0.0.1:9"
headers = { Authorization = "Bearer ${MY_TOKEN}" }
create = { path = "/", id = "/id" }
execute = { path = "/{id}", body = { c = "{command}" }, output = "/o" }
delete = { path = "/{id}" }
"""


def as_nobody(dcode, env, *args):
    return Run([dcode, *args], env, "/", None, user=65534).wait(60)


@pytest.mark.parametrize("name", [*VENDORS, "mine"])
def test_a_missing_key_is_stored_by_one_command(run, env, config, name):
    config(SERVICE)
    r = run(*TASK, name)
    assert r.status == 1
    assert f"To store a key: dcode auth set {name}. " in r.err, r.err
    # The command is one that works, and then nothing is missing any more.
    r = run("auth", "set", name, stdin="ddo_0123456789\nas-0123456789\n"
            if name in ("modal", "agentcore") else "ddo_0123456789")
    assert r.status == 0, r.err
    r = run("install", name)
    assert f"store a key: dcode auth set {name}. " not in r.out + r.err


def test_no_engine_is_installed(run, env, tmp_path):
    env["PATH"] = str(tmp_path)
    r = run("install", "docker")
    assert r.status == 1 and "Install Podman (apt install podman)" in r.out
    for name in "docker", "podman":  # the control
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        r = run("install", "docker")
        assert "Start Docker (sudo systemctl start docker)" in r.out
        assert "podman system service -t 0" in r.out
        (tmp_path / name).unlink()


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_an_engine_that_the_user_may_not_use(dcode, env, tmp_path, mode):
    """It is there, and belongs to root, as after apt install docker.io."""
    path = tmp_path / "docker.sock"
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))
        path.chmod(mode)
        env.update(DOCKER_HOST=f"unix://{path}", HOME="/nonexistent")
        r = as_nobody(dcode, env, "install", "docker")
    group = "sudo usermod -aG docker $USER" in r.out + r.err
    assert group == (mode == 0o600), r.out + r.err


def test_podman_of_root_and_of_a_user(run, dcode, env, tmp_path):
    env["XDG_RUNTIME_DIR"] = str(tmp_path)
    r = run("install", "podman")
    assert "systemctl start podman.socket (as a user: systemctl --user" in r.out
    env["HOME"] = "/nonexistent"
    r = as_nobody(dcode, env, "install", "podman")
    assert "systemctl --user start podman.socket (as root: systemctl start" \
        in r.out + r.err
