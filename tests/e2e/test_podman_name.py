"""test_podman_name.py - --sandbox podman: docker, through Podman's socket."""
# SPDX-License-Identifier: MIT
import json
import pathlib
import shutil
import tempfile

import pytest

from test_sandbox import call, rows, serve  # noqa: F401

pytestmark = pytest.mark.usefixtures("sandbox_first")

TASK = [{"tool_calls": [call("execute", command="echo in $(pwd)")]},
        {"text": "done"}]


@pytest.fixture
def podman(rig, env, config):
    """Podman's socket where it is looked for; Docker's is another one."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="dcode-xdg-"))
    (place / "podman").mkdir()
    (place / "podman" / "podman.sock").symlink_to(
        rig.docker_host.removeprefix("unix://"))
    env["XDG_RUNTIME_DIR"] = str(place)
    env["DOCKER_HOST"] = f"unix://{place}/no-docker.sock"
    config("[sandboxes.providers.podman.params]\n"
           f'image = "{rig.image}"\nnetwork = "none"\n')
    yield f"unix://{place}/podman/podman.sock"
    if rig.containers():
        rig.remove_all()
    shutil.rmtree(place)


def test_a_task_runs_in_podman_and_leaves_nothing(
        podman, rig, serve, run, rows):
    serve(TASK)
    r = run("-n", "x", "--sandbox", "podman", "-M", "anthropic:m")
    assert r.status == 0, r.err
    assert "Podman sandbox ready" in r.err
    assert not rig.containers() and not rows()


def test_docker_by_its_own_name_does_not_use_that_socket(podman, serve, run):
    """The control: the engine that is configured has no socket."""
    serve(TASK)
    r = run("-n", "x", "--sandbox", "docker", "-M", "anthropic:m")
    assert r.status == 1 and "no-docker.sock" in r.err


def test_a_kept_one_is_listed_used_and_deleted_without_more_words(
        podman, rig, run, rows):
    made = run("sandbox", "create", "--sandbox", "podman", "--json")
    assert made.status == 0, made.err
    assert json.loads(made.out)["data"]["provider"] == "docker"
    row, = rows()
    assert (row["provider"], row["endpoint"]) == ("docker", podman)
    assert len(rows("--sandbox", "podman")) == 1
    r = run("sandbox", "exec", row["name"], "--", "echo", "hello")
    assert (r.status, r.out) == (0, "hello\n"), r.err
    r = run("sandbox", "info", "--sandbox", "podman", row["name"])
    assert r.status == 0, r.err
    r = run("sandbox", "rm", row["name"])
    assert r.status == 0, r.err
    assert not rig.containers()


def test_a_thread_goes_on_in_the_podman_that_it_had(podman, serve, run):
    serve([{"tool_calls": [call("execute", command="echo A > kept")]},
           {"text": "one"},
           {"tool_calls": [call("execute", command="cat kept")]},
           {"text": "two"}])
    r = run("-n", "x", "--sandbox", "podman", "--keep", "-M", "anthropic:m")
    assert r.status == 0, r.err
    r = run("-n", "y", "-r", "--json")
    assert r.status == 0, r.err
    result, = [e for e in map(json.loads, r.out.splitlines())
               if e["type"] == "tool_result"]
    assert "A" in json.dumps(result)


def test_gc_looks_at_it_too(podman, rig, run, start, serve, rows):
    serve([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
    r = start("-n", "x", "--sandbox", "podman", "-M", "anthropic:m")
    while not rig.containers():
        assert r.p.poll() is None
    r.kill()
    r.p.communicate()
    gc = run("sandbox", "gc")
    assert "removed" in gc.out, gc.out + gc.err
    assert not rig.containers() and not rows()


def test_without_a_socket_the_error_says_how_to_start_it(env, serve, run,
                                                         tmp_path):
    serve(TASK)
    env["XDG_RUNTIME_DIR"] = str(tmp_path)
    r = run("-n", "x", "--sandbox", "podman", "-M", "anthropic:m")
    assert r.status == 1
    assert f"{tmp_path}/podman/podman.sock" in r.err
    assert "systemctl --user start podman.socket" in r.err


def test_a_socket_that_nobody_serves_says_the_same(env, serve, run, tmp_path):
    import socket
    serve(TASK)
    (tmp_path / "podman").mkdir()
    env["XDG_RUNTIME_DIR"] = str(tmp_path)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(f"{tmp_path}/podman/podman.sock")
    r = run("-n", "x", "--sandbox", "podman", "-M", "anthropic:m")
    assert r.status == 1
    assert "systemctl --user start podman.socket" in r.err


def test_the_list_and_the_completions_have_it(podman, run):
    data = json.loads(run("provider", "list", "--json").out)["data"]
    row, = [r for r in data if r["name"] == "podman"]
    assert row["alias_of"] == "docker" and row["endpoint"] == podman
    assert "podman" in json.loads(run("help", "--json").out)["data"][
        "sandboxes"]


def test_it_is_built_in_and_needs_no_key(podman, run):
    assert "needs no key" in run("auth", "set", "podman", stdin="k").err
    assert "is built in" in run("uninstall", "podman", "--yes").err
    r = run("install", "podman")
    assert r.status == 0 and podman in r.out + r.err


def test_a_provider_of_ones_own_may_have_the_name(config, run):
    config('[sandboxes.providers.podman]\ncommand = ["/bin/false"]\n')
    data = json.loads(run("provider", "list", "--json").out)["data"]
    row, = [r for r in data if r["name"] == "podman"]
    assert "alias_of" not in row and "config.toml" in row["origin"]


def test_both_tables_are_one_too_many(config, run):
    config('[sandboxes.providers.docker.params]\nimage = "a"\n'
           '[sandboxes.providers.podman.params]\nimage = "b"\n')
    r = run("config")
    assert "are the same provider; podman is ignored" in r.err
    assert "docker.params.image" in r.out and '"b"' not in r.out


@pytest.mark.parametrize("typed, meant", [
    ("dokcer", "docker"), ("podmn", "podman"), ("loacl", "local"),
    ("nope", None), ("nonee", None), ("kubernetes", None)])
def test_only_a_near_name_is_suggested(run, typed, meant):
    for args in (["-n", "x", "--sandbox", typed],
                 ["sandbox", "gc", "--sandbox", typed]):
        r = run(*args)
        assert r.status == 2 and f"'{typed}'" in r.err
        assert "/install" not in r.err
        if meant:
            assert f"Did you mean {meant}?" in r.err
        else:
            assert "Did you mean" not in r.err
