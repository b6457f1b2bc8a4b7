"""test_network_log.py - what commands connected to is logged with the thread,
and what was refused is in the result of -n."""
# SPDX-License-Identifier: MIT
import json
import pathlib
import subprocess
import sys
import time

import pytest

from clouds import DONE, task_of, vendor_fixture  # noqa: F401
from lifecycle import execute
from test_egress import CURL, LIST, fixture_world, write_list  # noqa: F401
from test_jobs import output, start

# pylint: disable=redefined-outer-name

MODEL = pathlib.Path(__file__).parents[1] / "emulators" / "model.py"


class Inside:
    """Starts dcode in the small Internet, where a model answers."""

    def __init__(self, world, dcode, env, work, script, log):
        self.enter = ["nsenter", "-t", str(world), "-n", "-m", f"--wd={work}"]
        (work / "script.json").write_text(json.dumps(script))
        port = work / "port"
        self.model = subprocess.Popen(
            [*self.enter, sys.executable, MODEL, "--script",
             work / "script.json", "--port-file", port, "--log", log])
        end = time.monotonic() + 30
        while not port.exists():
            assert self.model.poll() is None and time.monotonic() < end
            time.sleep(0.02)
        self.log, self.dcode = log, dcode
        self.env = {**env, "ANTHROPIC_API_KEY": "sk-a",
                    "ANTHROPIC_BASE_URL":
                        f"http://127.0.0.1:{port.read_text().strip()}"}

    def __call__(self, *args):
        return subprocess.run(
            [*self.enter, self.dcode, *args], env=self.env, text=True,
            capture_output=True, stdin=subprocess.DEVNULL, timeout=100,
            check=False)

    def results(self):
        """The texts of the tool results that the model got, in order."""
        last = [json.loads(line) for line in
                self.log.read_text().splitlines()][-1]["body"]
        return [part["content"] if isinstance(part["content"], str) else
                part["content"][0]["text"]
                for m in last["messages"] if isinstance(m["content"], list)
                for part in m["content"] if part["type"] == "tool_result"]


@pytest.fixture(name="inside")
def fixture_inside(world, dcode, env, home, tmp_path):
    """inside(script) -> an Inside; its working directory is tmp_path/work."""
    started = []
    write_list(home, LIST)
    (tmp_path / "work").mkdir(exist_ok=True)

    def begin(script):
        started.append(Inside(world[0], dcode, env, tmp_path / "work", script,
                              tmp_path / "model.log"))
        return started[-1]
    yield begin
    for one in started:
        one.model.kill()
        one.model.wait()


TASK = ("-n", "go", "-y", "-M", "anthropic:m", "--sandbox", "local")


def test_a_command_s_connections_are_logged(inside):
    dcode = inside([
        execute(CURL + "http://good.example/big/5000 http://good.example/ "
                "http://bad.example/; true"),
        execute(CURL + "http://else.test/; echo 'a\nb'"), DONE])
    r = dcode(*TASK, "--json")
    assert r.returncode == 0, r.stderr
    end = json.loads(r.stdout.splitlines()[-1])
    assert end["network_refused"] == [
        {"host": "bad.example", "port": 80, "reason": "unlisted", "times": 1},
        {"host": "else.test", "port": 0, "reason": "unlisted", "times": 1}]
    rows = json.loads(dcode("sandbox", "network", "log", "--json").stdout)
    bad, other, good = sorted(rows["data"], key=lambda r: r["host"])
    assert good["host"] == "good.example" and good["verdict"] == "allowed"
    assert good["port"] == 80 and good["bytes_down"] > 5000
    assert 50 < good["bytes_up"] < 1000 and good["first"] <= good["last"]
    assert good["call"] == bad["call"] != other["call"]
    assert bad["verdict"] == "unlisted" and bad["bytes_down"] == 0
    assert other["host"] == "else.test" and other["port"] == 0
    assert "a b" in other["command"] and other["provider"] == "local"
    text = dcode("sandbox", "network", "log", good["thread"][:30]).stdout
    assert "good.example:80  allowed" in text and "5.3 kB down" in text
    assert "bad.example:80  refused: unlisted" in text
    assert text == dcode("sandbox", "network", "log", good["sandbox"]).stdout
    # the log goes with its thread
    assert dcode("threads", "rm", good["thread"]).returncode == 0
    r = dcode("sandbox", "network", "log", good["sandbox"])
    assert r.returncode == 1 and "no thread and no logged sandbox" in r.stderr


def test_every_connection_of_a_command_is_counted(inside):
    """More than the proxy's socket holds."""
    dcode = inside([execute(
        "python3 - <<'END'\nimport urllib.request\nfor _ in range(1500):\n"
        "    urllib.request.urlopen('http://good.example/').read()\nEND"),
        DONE])
    assert dcode(*TASK).returncode == 0
    row, = json.loads(dcode("sandbox", "network", "log", "--json").stdout)[
        "data"]
    assert row["times"] == 1500


def test_what_was_refused_to_a_job_is_named(inside):
    tries = f"{CURL} http://bad.example/; {CURL} http://good.example/; "
    dcode = inside([
        start(tries), output(wait=60),
        start(f"{tries} touch tried; until [ -e go ]; do sleep 0.1; done"),
        # not a command, which would name them itself
        *[output(job=2, wait=1)] * 3,
        execute("until [ -e tried ]; do sleep 0.1; done; touch go"), DONE])
    r = dcode(*TASK, "--json")
    assert r.returncode == 0, r.stderr
    told = dcode.results()
    line = "[network: bad.example:80 refused (not in the network list)]"
    assert "REACHED 93.184.216.34:80 as good.example" in told[1]  # the control
    assert line in told[1]
    assert "is running" in told[3] and "\n".join(told[3:]).count(line) == 1
    end = json.loads(r.stdout.splitlines()[-1])
    assert [(c["host"], c["times"]) for c in end["network_refused"]] == [
        ("bad.example", 2)]


def test_a_thread_keeps_the_newest_rows(inside):
    script = [execute(
        f"for i in $(seq {n}); do getent hosts a$i.test; done; true")
        for n in (200, 201, 202, 203, 204, 205)]
    dcode = inside([*script, DONE])
    assert dcode(*TASK).returncode == 0
    rows = json.loads(dcode("sandbox", "network", "log", "--json").stdout)[
        "data"]
    assert len(rows) == 1000
    assert {r["command"].split()[4] for r in rows} >= {"203);", "205);"}


@pytest.mark.parametrize("name", ["e2b", "daytona"])
def test_a_vendor_that_reports_nothing_is_named(vendor, model, run, name):
    vendor(name)
    model([execute("true"), DONE])
    assert task_of(run, name)("--sandbox-network", "a.example").status == 0
    r = run("sandbox", "network", "log")
    assert f"{name} does not report what its sandboxes connect to" in r.out
    assert json.loads(run("sandbox", "network", "log", "--json").out)[
        "data"] == []
