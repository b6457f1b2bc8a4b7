"""test_leave_while_opening.py - a chat that is left while its sandbox is got
ready, and a sandbox whose configuration is gone."""
# SPDX-License-Identifier: MIT
import http.server
import json
import os
import re
import signal
import subprocess
import threading

import pytest

from test_approvals import config
from test_live_chat import HELLO, live  # noqa: F401
from test_ssh import ssh, sshd  # noqa: F401

# pylint: disable=redefined-outer-name

LOCAL = ("--sandbox", "local", "--workspace", "none")


@pytest.fixture
def opening(live, run, tmp_path):
    """opening(*args) -> a chat whose setup script runs."""
    setup = tmp_path / "setup.sh"
    setup.write_text("echo it runs\nsleep 60\n")

    def begin(*args):
        s, _ = live(HELLO, args=[*LOCAL, "--sandbox-setup", str(setup), *args],
                    ready="it runs")
        assert json.loads(run("sandbox", "list", "--json").out)["data"]
        return s
    return begin


def leave(s, way):
    if way == "/quit":
        s.type("/quit")
        s.keys("Enter")
    elif way == "Ctrl-D":
        s.keys("C-d")
    else:
        os.kill(s.pid(), way)


@pytest.mark.parametrize("way, status, kind", [
    *((way, 0, kind) for way in ("/quit", "Ctrl-D")
      for kind in ((), ("--plain",), ("--plain", "-m", "apples"))),
    *((n, 128 + n, kind) for n in (signal.SIGTERM, signal.SIGHUP)
      for kind in ((), ("--plain",)))])
def test_leaving_while_a_setup_runs_deletes_the_sandbox_and_says_so(
        opening, run, way, status, kind):
    s = opening(*kind)
    leave(s, way)
    assert s.status() == status
    seen = s.text(True)
    assert "Local sandbox terminated" in seen
    assert "dcode did not create it" not in seen and "Error:" not in seen
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


@pytest.mark.usefixtures("sandbox_at_start")
@pytest.mark.parametrize("kind", [(), ("--plain",)])
def test_quit_at_a_question_of_the_opening_leaves(live, run, tmp_path, kind):
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q", work], check=True)
    (work / "f").write_text("x\n")
    s, _ = live(HELLO, args=["--sandbox", "local", *kind], ready="[y/N]")
    leave(s, "/quit")
    assert s.status() == 0
    assert "Error:" not in s.text(True)
    assert "Local sandbox terminated" in s.text(True)
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


def test_lines_typed_while_a_setup_runs_are_sent_in_their_order(
        live, tmp_path):
    """The control: only a first /quit ends the opening."""
    setup = tmp_path / "setup.sh"
    setup.write_text("echo it runs\nsleep 3\n")
    s, server = live(HELLO, args=[*LOCAL, "--plain", "--sandbox-setup",
                                  str(setup)], ready="it runs")
    for line in ("about apples", "/quit"):
        s.type(line)
        s.keys("Enter")
        s.until(line)
    assert s.status() == 0
    assert "Hello there." in s.text(True)
    assert "about apples" in json.dumps(server.requests[0]["body"])


class Refuses(http.server.BaseHTTPRequestHandler):
    """A vendor that knows no key."""
    # pylint: disable=invalid-name
    def do_POST(self):
        self.send_response(401)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
    do_GET = do_DELETE = do_POST

    def log_message(self, *args):  # pylint: disable=arguments-differ
        pass


def test_a_message_that_is_sent_again_leaves_one_thread(
        opening, run, tmp_path):
    s = opening()
    s.type("about apples")
    s.keys("Enter")
    s.until("Hello")
    (tmp_path / "setup.sh").write_text("echo it is quick\n")
    s.keys("Escape")
    s.until("+ about apples")
    s.keys("Enter")
    s.until("it is quick", scrollback=True)
    s.until(lambda t: t.count("Hello") >= 2)
    threads = json.loads(run("threads", "list", "--json").out)["data"]
    assert [t["title"] for t in threads] == ["about apples"]


@pytest.mark.usefixtures("sandbox_at_start")
def test_a_sandbox_that_never_was_costs_nothing(live, env):
    """The vendor refuses the key: nothing was made that costs."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config(env, "[sandboxes.providers.daytona]\nusd_per_hour = 126.3\n"
                "[sandboxes.providers.local]\nusd_per_hour = 126.3\n")
    env.update(DAYTONA_API_KEY="k-refused",
               DAYTONA_API_URL=f"http://127.0.0.1:{server.server_port}")
    try:
        s, _ = live(HELLO, args=["--sandbox", "daytona", "--workspace",
                                 "none"], ready="Error:")
        assert s.status() != 0
        assert "sandbox" not in s.text(True).split("Time:")[-1]
    finally:
        server.shutdown()
    s, _ = live(HELLO, args=[*LOCAL, "--on-exit", "delete"],
                ready="tools in")
    s.keys("C-d")
    s.until("Cost:")
    cost = s.text(True).split("Cost:")[-1]
    assert re.search(r"sandbox <?\$0\.", cost), cost  # the control


@pytest.mark.slow
def test_sync_names_the_host_of_a_sandbox_whose_configuration_is_gone(
        run, ssh, sshd, model, env, tmp_path):
    ssh()
    model(HELLO)
    work = tmp_path / "work"
    os.makedirs(work / ".git", exist_ok=True)
    (work / "a").write_text("1\n")
    subprocess.run(["git", "init", "-q", work], check=True)
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "ssh",
            "--workspace", "repo", "--keep", cwd=work)
    assert r.status == 0, r.err
    path = os.path.join(env["HOME"], ".deepagents", "config.toml")
    with open(path, encoding="utf-8") as f:
        kept = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write("")
    r = run("sync", cwd=work)
    assert r.status != 0 and "DOCKER_HOST" not in r.err, r.err
    assert "no longer configured" in r.err
    assert 'host = "box"' in r.err and "providers.ssh.params" in r.err
    with open(path, "w", encoding="utf-8") as f:
        f.write(kept)
    r = run("sync", cwd=work)  # the control
    assert r.status == 0, r.err
    row, = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert run("sandbox", "rm", row["name"]).status == 0
