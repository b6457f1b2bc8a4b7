"""test_trust_a5_bind_approvals.py - a bound directory is the user's machine:
calls are approved there as they are without a sandbox."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest

from test_hostile_chat import chat  # noqa: F401 (a fixture)

BIND = ('[sandboxes]\ndefault = "local"\n'
        '[sandboxes.providers.local.params]\nworkspace = "bind"\n')
PRIVATE = '[sandboxes]\ndefault = "local"\n'
RUN = ("-n", "x", "-M", "anthropic:m", "--sandbox")
REMOVE = {"name": "execute", "args": {"command": "rm -f keep.txt; echo ran"}}
WRITE = {"name": "write_file",
         "args": {"file_path": "made.txt", "content": "x"}}
DONE = {"text": "done"}


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "keep.txt").write_text("keep")
    return tmp_path / "work"


def offered(server):
    return {t["name"] for t in server.requests[0]["body"]["tools"]}


def results(run):
    events = [json.loads(line) for line in run.out.splitlines()]
    return [e["content"] for e in events if e["type"] == "tool_result"]


def test_a_bound_directory_is_not_changed_unasked(run, model, config, work):
    config(BIND)
    server = model([{"tool_calls": [REMOVE]}, {"tool_calls": [WRITE]}, DONE])
    r = run(*RUN, "--json")
    assert r.status == 4, r.err
    assert (work / "keep.txt").exists() and not (work / "made.txt").exists()
    assert offered(server) == {"ls", "read_file", "glob", "grep",
                               "task", "write_todos"}
    assert len(results(r)) == 2 and "ran" not in results(r)[0]


def test_a_private_workspace_needs_no_approval(run, model, config, work):
    """The positive control: the same calls, in a directory of its own."""
    config(PRIVATE)
    model([{"tool_calls": [REMOVE]}, {"tool_calls": [WRITE]}, DONE])
    r = run(*RUN, "--json")
    assert "ran" in results(r)[0] and "on this machine" not in r.err
    assert (work / "keep.txt").exists() and not (work / "made.txt").exists()


def test_yes_or_a_list_allows_it_and_the_banner_says_where(run, model, config,
                                                           work):
    config(BIND)
    model([{"tool_calls": [REMOVE]}, DONE])
    r = run(*RUN, "local", "-S", "rm,echo")
    assert f"(/workspace = {work} on this machine)" in r.err
    assert not (work / "keep.txt").exists()
    model([{"tool_calls": [WRITE]}, DONE])
    r = run(*RUN, "local", "-y")
    assert "without asking" in r.err and (work / "made.txt").exists()


def test_the_chat_asks_in_a_bound_directory(chat, config, work):  # noqa: F811
    config(BIND)
    t, server = chat([{"tool_calls": [REMOVE]}, {"tool_calls": [REMOVE]},
                      DONE], args=("--sandbox",))
    assert f"= {work} on this machine" in " ".join(t.seen.split())
    t.type("go\r")
    assert "rm -f keep.txt" in t.until("Allow it? [y/N] ")
    t.type("n\r")
    t.until("Allow it? [y/N] ")
    assert (work / "keep.txt").exists()
    t.type("y\r")
    t.until("done")
    assert not (work / "keep.txt").exists()


def test_an_attached_bound_sandbox_asks_too(run, start, model, config, work):
    config(BIND)
    server = model([{"text": "x", "fault": {"stall_after_bytes": 0}}])
    left = start(*RUN, "local", "-y")
    while not server.model.received:
        assert left.p.poll() is None
    left.kill()
    left.p.wait()
    name = re.search("dcode-[a-z2-7]{8}", run("sandbox", "list").out).group()
    config("")
    model([{"tool_calls": [REMOVE]}, DONE])
    r = run(*RUN, "local", "--sandbox-id", name)
    assert f"= {work} on this machine" in r.err
    assert r.status == 4 and (work / "keep.txt").exists(), r.err
    assert run("sandbox", "gc").status == 0


@pytest.mark.parametrize("mount, host", [
    ("{work}:/data", True), ("{work}:/data:z", True),
    ("named:/data", False), ("{work}:/data:ro", False),
    ("{work}:/data:ro,z", False)])
def test_a_writable_mount_of_docker_is_this_machine(
        rig, run, model, config, env, work, mount, host):
    mount = mount.format(work=work)
    config("[sandboxes.providers.docker.params]\n"
           f'image = "{rig.image}"\nnetwork = "none"\nmounts = ["{mount}"]\n')
    env["DOCKER_HOST"] = rig.docker_host
    model([{"tool_calls": [{"name": "execute", "args": {
        "command": "rm -f /data/keep.txt; touch /data/new && echo wrote"}}]},
        DONE])
    r = run(*RUN, "docker", "--json")
    assert r.status == (4 if host else 0), r.err
    assert (work / "keep.txt").exists() and not (work / "new").exists()
    assert ("wrote" in results(r)[0]) == (mount.startswith("named"))
    assert ("not permitted" in results(r)[0]) == host
    if mount == f"{work}:/data":
        model([{"tool_calls": [REMOVE]}, DONE])
        r = run(*RUN, "docker", "-S", "rm,echo")
        assert f"/data = {work} on this machine" in r.err
