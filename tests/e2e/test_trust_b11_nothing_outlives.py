"""test_trust_b11_nothing_outlives.py - a sandbox in which nothing outlives an
execute: each runs in a container of its own."""
# SPDX-License-Identifier: MIT
import json
import time

import pytest

import boxes
from lifecycle import execute

# Answers execute as its row says; the log has the commands' time limits.
PROVIDER = '''#!/usr/bin/python3
import base64, json, subprocess, sys, threading
ALONE = ["bwrap", "--unshare-pid", "--die-with-parent", "--ro-bind", "/", "/",
         "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
         "--bind", "WORK", "WORK", "--chdir", "WORK"]
running, lock = {}, threading.Lock()

def say(**message):
    with lock:
        print(json.dumps(dict(message, jsonrpc="2.0")), flush=True)

def execute(number, params):
    with open("LOG", "a") as log:
        log.write("%d\\n" % params["timeout_s"])
    p = subprocess.Popen(WRAP + ["sh", "-c", params["command"]], cwd="WORK",
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    running[number] = p
    out = p.communicate()[0]
    say(id=number, result={"data": base64.b64encode(out).decode(),
                           "exit_code": max(0, p.returncode)})

for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "initialize":
        say(id=m["id"], result={"protocol": 1, "workdir": "WORK"})
    elif m["method"] == "execute":
        threading.Thread(target=execute, args=(m["id"], m["params"]),
                         daemon=True).start()
    elif m["method"] == "cancel" and m["params"]["id"] in running:
        running[m["params"]["id"]].kill()
    elif "id" in m:
        say(id=m["id"], error={"code": -32601, "message": "no"})
'''


@pytest.fixture
def acme(home, config, tmp_path):
    """acme(wrap): the provider; its working directory and its log."""
    def make(wrap):
        work = tmp_path / "inside"
        work.mkdir()
        text = PROVIDER.replace("WRAP", wrap).replace("WORK", str(work))
        program = home / "provider"
        program.write_text(text.replace("LOG", str(tmp_path / "log")))
        program.chmod(0o755)
        config(f'[sandboxes.providers.acme]\ncommand = ["{program}"]\n')
        return work, tmp_path / "log"
    return make


def task(*more):
    return ("-n", "go", "-M", "anthropic:m", "--sandbox", "acme", *more)


@pytest.mark.parametrize("wrap, held", [("ALONE", True), ("[]", False)])
def test_a_long_command_runs_to_its_end(run, model, acme, wrap, held):
    """Longer than the 5 s after which a command is left to itself."""
    work, log = acme(wrap)
    server = model([execute("echo begun; sleep 6; echo x >>end; echo end"),
                    {"expect": ["begun\nend\n", "exit code 0"],
                     "text": "done"}])
    r = run(*task())
    assert r.status == 0, r.err + json.dumps(server.requests[-1]["body"])
    assert (work / "end").read_text() == "x\n"
    limits = [int(line) for line in log.read_text().split()]
    assert (max(limits) > 1800) == held, limits  # the tool's time limit
    assert len(limits) == 3 or not held, limits  # two to look, one command


def test_a_held_command_ends_with_its_time_limit_and_a_cancel(run, start,
                                                              model, acme):
    work, log = acme("ALONE")
    model([execute("echo begun; (sleep 5; echo x >late) & wait", timeout=2),
           {"expect": ["begun\n.*timed out after 2 s"], "text": "done"}])
    assert run(*task()).status == 0
    model([execute(": >here; sleep 5; echo x >late")])
    r = start(*task())
    end = time.monotonic() + 20
    while not (work / "here").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    r.signal()
    assert r.wait(15).status == 130
    time.sleep(5)
    assert not (work / "late").exists()


# As with KillUserProcesses: what began since then is killed at the end.
CLEARED = """was=" $(echo $(ls /proc)) "; sh -c {command}; s=$?
for p in $(ls /proc); do case $was in *" $p "*) continue ;; esac
case $p in *[!0-9]*) ;; *) kill -9 $p ;; esac; done 2>/dev/null; exit $s"""


@pytest.mark.parametrize("shell, held", [(CLEARED, True),
                                         ("sh -c {command}", False)],
                         ids=["cleared", "kept"])
def test_a_described_service_runs_a_long_command_to_its_end(
        run, model, env, config, shell, held):
    with boxes.Boxes() as cloud:
        env["BOX_TOKEN"] = boxes.KEY
        config(boxes.config(cloud.url, shell=shell))
        server = model([execute("echo begun; sleep 6; echo end"),
                        {"expect": ["begun\nend\n", "exit code 0"],
                         "text": "done"}])
        r = run("-n", "go", "-M", "anthropic:m", "--sandbox", "homemade")
        assert r.status == 0, r.err + json.dumps(server.requests[-1]["body"])
        limits = [json.loads(q["body"])["seconds"] for q in cloud.requests
                  if q["path"].endswith("/run")]
    assert (max(map(int, limits)) > 1800) == held, limits
