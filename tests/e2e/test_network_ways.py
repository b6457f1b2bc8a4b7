"""test_network_ways.py - whichever way a command comes into a sandbox, the list
of hosts and the placeholders of secrets hold.

Each way has its control in the same command: a listed host answers, and the
secret's own host gets the value."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest

from clouds import DONE
from lifecycle import execute
from test_egress import CURL, fixture_world  # noqa: F401
from test_jobs import output, start
from test_network_log import TASK, Inside
from test_secrets import CONFIG, HOST, VALUE, write_config
from test_subagents import task, tree  # noqa: F401

# pylint: disable=redefined-outer-name

PROBE = (f"{CURL} http://good.example/; {CURL} http://evil-good.example/; "
         f'{CURL} -H "Authorization: Bearer $TOKEN" https://{HOST}/; '
         'echo "TOKEN ${#TOKEN} $TOKEN"; true')
HOSTS = ("good.example", "*.good.example", "bad.example")
FLAGS = [word for h in HOSTS for word in ("--sandbox-network", h)]
ONLY_SECRETS = CONFIG[CONFIG.index("[secrets"):]
KEEP = ("--on-exit", "keep")
TREE = ("--workspace", "repo")


class Ways:
    """Runs dcode in the small Internet, each time with a model of its own."""

    def __init__(self, world, dcode, env, work, home):
        self.world, self.dcode, self.work, self.home = world, dcode, work, home
        self.env = {**env, "THE_VALUE": VALUE,
                    "SSL_CERT_FILE": str(world[1].parent / "cert.pem")}
        self.told, self.models = "", []

    def say(self, script, *flags, fresh=True):
        """A run with this script; what its tools returned."""
        if not isinstance(script, dict):
            script = {"turns": [*script, DONE], "by": "count"}
        (self.work / "port").unlink(missing_ok=True)
        log = self.home / f"log{len(self.models)}"
        inside = Inside(self.world[0], self.dcode, self.env, self.work, script,
                        log)
        self.models.append(inside.model)
        for name in ("port", "script.json"):
            (self.work / name).unlink()
        r = inside(*(TASK if fresh else ("-r", *TASK)), *flags)
        assert r.returncode == 0, r.stderr
        found = [part["content"] if isinstance(part["content"], str) else
                 part["content"][0]["text"]
                 for line in log.read_text().splitlines()
                 for m in json.loads(line)["body"].get("messages", ())
                 if isinstance(m["content"], list)
                 for part in m["content"] if part["type"] == "tool_result"]
        self.told = "\n".join(found) + r.stderr
        return self.told

    def call(self, *args):
        r = Inside.__call__(self, *args)
        assert r.returncode == 0, r.stderr
        return r.stdout

    @property
    def enter(self):
        return ["nsenter", "-t", str(self.world[0]), "-n", "-m",
                f"--wd={self.work}"]


@pytest.fixture
def ways(world, dcode, env, home, tree):
    write_config(home)
    made = Ways(world, dcode, env, tree, home)
    yield made
    for model in made.models:
        model.kill()
        model.wait()


def by_job(w):
    w.say([start(PROBE), output(wait=60)])


def resumed(w):
    w.say([execute("true")], *KEEP)
    w.say([execute(PROBE)], fresh=False)


def resumed_with_flags(w):
    """The list was only on the command line of the first run."""
    write_config(w.home, ONLY_SECRETS)
    w.say([execute("true")], *KEEP, *FLAGS)
    w.say([execute(PROBE)], fresh=False)


def forked(w):
    w.say([execute("true")], *KEEP)
    w.say([execute(PROBE)], "--fork", fresh=False)


def attached(w):
    box = w.call("sandbox", "create", "--sandbox", "local").strip()
    w.say([execute(PROBE)], "--sandbox-id", box)


def by_hand(w):
    box = w.call("sandbox", "create", "--sandbox", "local").strip()
    w.told = w.call("sandbox", "exec", box, "--", PROBE + " 2>&1")


def from_cache(w):
    write_config(w.home, CONFIG + "[sandboxes]\ncache_setup = true\n")
    script = w.home / "setup.sh"
    script.write_text("echo x >~/made\n")
    setup = ("--sandbox-setup", str(script))
    w.say([execute("true")], *setup)
    assert "Started from the snapshot" in w.say([execute(PROBE)], *setup)


def undone(w):
    w.say([execute("echo more >>a.txt")], *KEEP, *TREE)
    w.call("undo")
    assert "one\nREACHED" in w.say([execute("cat a.txt; " + PROBE)],
                                   fresh=False)


def shared(w):
    write_config(w.home, CONFIG + '[sandboxes]\nscope = "directory"\n')
    w.say([execute("true")])
    assert "share" in w.say([execute(PROBE)])


def handed(w, *flags, fresh=True, **how):
    # a resumed thread has two answers already
    before = [] if fresh else [DONE, DONE]
    w.say({"turns": [*before, {"tool_calls": [task("job one", **how)]}, DONE],
           "talks": {"job one": [execute(PROBE + "; touch new"), DONE]}},
          *flags, fresh=fresh)


def inherited(w):
    handed(w)


def in_its_own(w):
    handed(w, *TREE, own_sandbox=True)
    assert "Merged into your files" in w.told


def in_its_own_after_flags(w):
    """The caller's sandbox has a list that this run's options do not have."""
    write_config(w.home, ONLY_SECRETS)
    w.say([execute("true")], *KEEP, *TREE, *FLAGS)
    handed(w, *TREE, fresh=False, own_sandbox=True)
    assert "Merged into your files" in w.told, w.told


WAYS = {"a tool call": lambda w: w.say([execute(PROBE)]),
        "a background job": by_job, "-r": resumed,
        "-r after flags": resumed_with_flags, "a fork": forked,
        "--sandbox-id": attached, "sandbox exec": by_hand,
        "a cached setup": from_cache, "undo": undone, "a shared one": shared,
        "a subagent": inherited, "a subagent's own": in_its_own,
        "a subagent's own after flags": in_its_own_after_flags}


@pytest.mark.parametrize("way", WAYS)
def test_list_and_placeholders_hold(ways, way):
    WAYS[way](ways)
    told = ways.told
    assert "REACHED 93.184.216.34:80 as good.example" in told, told
    assert "REACHED 93.184.216.34:443 as api.good.example" in told, told
    assert "as evil-good.example" not in told
    length, held = re.findall(r"TOKEN (\d+) (\S+)", told)[-1]
    assert int(length) == len(VALUE) and held != VALUE
    assert VALUE not in told
    # the control: the host that the secret is for has got it
    heads = (ways.world[1].parent / "heads").read_text("latin-1")
    assert f"Authorization: Bearer {VALUE}" in heads
