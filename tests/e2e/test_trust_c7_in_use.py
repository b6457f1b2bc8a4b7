"""test_trust_c7_in_use.py - sandbox rm of one that another dcode uses, and
sandboxes that --sandbox-id named once."""
# SPDX-License-Identifier: MIT
import json
import signal

import pytest

from lifecycle import wait_for

pytestmark = pytest.mark.usefixtures("sandbox_first")

STALL = [{"text": "abc", "fault": {"stall_after_bytes": 40}}]
PLAIN = ("-n", "hi", "-M", "anthropic:m", "--sandbox", "local")


@pytest.fixture
def working(model, start, run):
    """working(flags...) -> a dcode that waits for its model, and the rows."""
    def begin(*flags):
        server = model(STALL)
        r = start(*PLAIN, *flags)
        wait_for(lambda: server.model.received)
        return r, json.loads(run("sandbox", "list", "--json").out)["data"]
    return begin


def end(r):
    r.p.send_signal(signal.SIGKILL)
    r.p.wait()


def test_a_sandbox_in_use_is_removed_only_with_force(working, run):
    r, rows = working()
    name = rows[0]["name"]
    for by in (name, rows[0]["id"]):
        refused = run("sandbox", "rm", by)
        assert refused.status == 2, refused.err
        assert f"in use by the dcode with process id {r.pid}" in refused.err
        assert f"dcode sandbox rm --force {by}" in refused.err
    assert run("sandbox", "exec", name, "--", "echo here").out == "here\n"
    assert run("sandbox", "rm", "--force", name).status == 0
    end(r)
    r, rows = working()
    end(r)
    assert run("sandbox", "rm", rows[0]["name"]).status == 0
    again = run("sandbox", "rm", rows[0]["name"])
    assert again.status == 1 and "dcode sandbox list" in again.err


def test_one_that_another_dcode_attached_to_is_in_use(working, run):
    first, rows = working()
    end(first)
    second, _ = working("--sandbox-id", rows[0]["id"])
    r = run("sandbox", "rm", rows[0]["name"])
    assert r.status == 2 and str(second.pid) in r.err
    end(second)
    assert run("sandbox", "rm", rows[0]["name"]).status == 0


@pytest.fixture
def foreign(request, env, config):
    """A container that dcode did not make: (id, name, its engine)."""
    rig = request.getfixturevalue("rig")
    env["DOCKER_HOST"] = rig.docker_host
    config(f'[sandboxes.providers.docker.params]\nimage = "{rig.image}"\n')
    made = rig.podman("run", "-d", "--name", "devbox", rig.image, "sleep",
                      "600").stdout.decode().strip()
    yield made
    rig.podman("rm", "-f", "-t", "0", "devbox")


def test_a_container_that_was_attached_to_is_known(foreign, model, run,
                                                   tmp_path):
    assert run("sandbox", "info", "devbox").status == 1
    model([{"text": "Done."}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "docker",
            "--sandbox-id", "devbox")
    assert r.status == 0, r.err
    for name in ("devbox", foreign, foreign[:12]):
        r = run("sandbox", "exec", name, "--", "echo here")
        assert (r.status, r.out) == (0, "here\n"), r.err
        assert run("sandbox", "info", name).status == 0
    (tmp_path / "work" / "f").write_text("f")
    assert run("sandbox", "cp", "f", "devbox:/tmp/f").status == 0
    r = run("sandbox", "rm", "devbox")
    assert r.status == 2 and "dcode did not make" in r.err
    assert "Delete it with the tools of docker" in r.err
    assert run("sandbox", "list").out.count("devbox") == 0
