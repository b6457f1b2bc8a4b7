"""test_network_ask.py - hosts outside the network list: a call that names them
is always asked about, and they are open for that command alone."""
# SPDX-License-Identifier: MIT
import json
import pathlib
import tempfile

import pytest

from clouds import DONE, task_of, vendor_fixture  # noqa: F401
from lifecycle import execute
from screens import Screen
from slash_chat import talk  # noqa: F401
from test_egress import CURL, LIST, fixture_world, write_list  # noqa: F401
from test_network_live import bodies
from test_network_log import TASK, fixture_inside  # noqa: F401
from test_trust_c10_policy import managed  # noqa: F401

# pylint: disable=redefined-outer-name

REACH = CURL + "http://evil-good.example/"
REACHED = "REACHED 93.184.216.35:80 as evil-good.example"
NAMED = execute(REACH, hosts=["evil-good.example:80"])
QUESTION = "opens: evil-good.example:80 for everything in the sandbox"
OVER = {"text": "all over"}


@pytest.fixture(name="chat")
def fixture_chat(inside, tmp_path):
    """chat(script, flags...) -> a chat in the small Internet."""
    open_ones = []

    def begin(script, *flags, **size):
        dcode = inside(script)
        place = pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-"))
        s = Screen(place, [*dcode.enter, dcode.dcode, "--sandbox", "local",
                           "-M", "anthropic:m", *flags],
                   dcode.env, tmp_path / "work", **size)
        open_ones.append(s)
        s.results = dcode.results
        s.until("tools in")
        return s
    yield begin
    for s in open_ones:
        s.close()


def send(chat, text, wanted):
    chat.type(text)
    chat.keys("Enter")
    chat.until(wanted)


@pytest.mark.parametrize("flags", [(), ("-y",), ("--yolo",)])
def test_a_call_that_names_hosts_is_always_asked_about(chat, home, flags):
    (home / ".deepagents/.state").mkdir(parents=True, exist_ok=True)
    (home / ".deepagents/.state/yolo-acknowledged").touch()
    c = chat([NAMED, execute(REACH + "; true"), OVER], *flags)
    send(c, "go", "opens")
    c.until(lambda t: QUESTION in " ".join(t.split()))
    c.until("y yes")
    assert "always" not in c.text()
    c.type("y")
    c.until("all over")
    named, other = c.results()
    assert REACHED in named
    # for that command alone
    assert "REACHED" not in other
    assert "network: evil-good.example refused" in other


def test_a_declined_host_stays_closed(chat):
    c = chat([NAMED, DONE])
    send(c, "go", "y yes")
    c.type("n")
    c.until("Declined")
    send(c, f"!{REACH}", "evil-good.example refused")


def test_a_background_program_loses_the_host_with_the_call(chat):
    loop = ("python3 - <<'END'\nimport socket\n"
            "s = socket.create_connection(('evil-good.example', 80), 5)\n"
            "import os\nif os.fork() == 0:\n    import time\n    os.setsid()\n"
            "    while not os.path.exists('go'):\n        time.sleep(0.05)\n"
            "    s.settimeout(5)\n    try:\n        s.sendall(b'GET / HTTP/1.1"
            "\\r\\nHost: evil-good.example\\r\\n\\r\\n')\n"
            "        got = s.recv(999)\n"
            "    except OSError as e:\n        got = b'failed'\n"
            "    open('said', 'wb').write(got or b'ended')\nEND")
    after = execute("touch go; while [ ! -s said ]; do sleep 0.05; done; "
                    "cat said")
    c = chat([execute(loop, hosts=["evil-good.example:80"]), after, OVER])
    send(c, "go", "y yes")
    c.type("y")
    c.until("all over")
    assert "REACHED" not in c.results()[1]
    assert "ended" in c.results()[1] or "failed" in c.results()[1]


def test_nobody_to_ask_refuses_and_lists(inside):
    dcode = inside([execute(CURL + "http://good.example/",
                            hosts=["good.example"]), NAMED, DONE])
    r = dcode(*TASK, "--json")
    end = json.loads(r.stdout.splitlines()[-1])
    assert end["network_refused"] == [
        {"host": "evil-good.example", "port": 80, "reason": "unlisted",
         "times": 1}]
    listed, named = dcode.results()
    assert "REACHED" in listed  # no question for a host of the list
    assert "nobody can be asked" in named and "REACHED" not in named


@pytest.mark.parametrize("hosts, said", [
    (["*.a.example"], "single hosts only"), (["!a.example"], "denied hosts"),
    (["preset:python"], "single hosts"), (["full"], "single hosts"),
    (["https://x.example/"], "address of a page"),
    (["denied.example"], "network list denies it"),
    (["a.example"] * 17, "too many"), ([3], "valid string")])
def test_what_is_no_host_is_refused(inside, home, hosts, said):
    write_list(home, [*LIST, "!denied.example"])
    dcode = inside([execute(REACH, hosts=hosts), DONE])
    dcode(*TASK)
    assert said in dcode.results()[0]


def schema_of(request):
    tool, = [t for t in request["body"]["tools"] if t["name"] == "execute"]
    return tool["input_schema"]["properties"]


def test_hosts_are_offered_with_a_list_only(run, model, config):
    server = model([DONE, DONE, DONE])
    for value, offered in (('["a.example"]', True), ('"none"', False),
                           ('"full"', False)):
        config(f"[network]\nallow = {value}\n")
        assert run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox",
                   "local").status == 0
        assert ("hosts" in schema_of(server.requests[-1])) == offered


def test_a_vendor_is_opened_and_closed_again(talk, vendor):
    cloud = vendor("e2b")
    c = talk([execute("true", hosts=["b.example"]), DONE], "--sandbox",
              "e2b", "--sandbox-network", "a.example")
    c.say("go", "y yes" if c.screen else "[y/N]")
    c.type("y")
    if not c.screen:
        c.keys("Enter")
    c.until("done")
    assert [b["allowOut"] for b in bodies(cloud, "PUT", "/network")] == [
        ["a.example", "b.example"], ["a.example"]]


def test_the_policy_is_not_exceeded(managed, vendor, model, env):
    cloud = vendor("e2b")
    server = model([execute("true", hosts=["b.example"]), DONE])
    r = managed('[network]\nallow = ["a.example"]\n', "-n", "hi", "-y", "-M",
                "anthropic:m", "--sandbox", "e2b")
    assert r.returncode == 4, r.stderr
    assert "exceeds the machine's policy" in json.dumps(server.requests[-1])
    assert not bodies(cloud, "PUT", "/network")
