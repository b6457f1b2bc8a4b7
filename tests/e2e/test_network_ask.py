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
from test_hooks import hook, own
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


def let_hook_allow(home, event):
    """A hook of the user allows every command."""
    path = home / ".deepagents/hooks.json"
    path.write_text(json.dumps({"hooks": {event: [
        hook(own(event, permissionDecision="allow"), "Bash")]}}))


def ask_in_sandboxes(home):
    path = home / ".deepagents/config.toml"
    path.write_text(path.read_text() + '[approvals]\nsandbox = "ask"\n')


@pytest.mark.parametrize("how", ["-y", "--yolo", "-S", "PreToolUse",
                                 "PermissionRequest"])
def test_what_allows_every_call_opens_no_host(chat, home, how):
    ask_in_sandboxes(home)
    (home / ".deepagents/.state").mkdir(parents=True, exist_ok=True)
    (home / ".deepagents/.state/yolo-acknowledged").touch()
    if how[0] != "-":
        let_hook_allow(home, how)
    c = chat([execute("echo pl''ain"), NAMED, OVER],
             *([how] if how[0] == "-" else []), *(["all"] * (how == "-S")))
    send(c, "go", "opens")
    c.until(lambda t: QUESTION in " ".join(t.split()))
    c.until("y yes")
    c.type("n")
    c.until("Declined")
    assert "plain" in c.results()[0]  # the control: nobody was asked


def test_without_such_a_thing_each_call_is_asked_about(chat, home):
    """The control of the test above."""
    ask_in_sandboxes(home)
    c = chat([execute("echo pl''ain"), DONE])
    send(c, "go", "y yes")
    assert "opens" not in c.text()
    c.type("n")
    c.until("Declined")


def test_an_earlier_always_opens_no_host(chat, home):
    ask_in_sandboxes(home)
    c = chat([execute(REACH + "; true"), execute(REACH + "; true"),
              execute(REACH + "; true", hosts=["evil-good.example:80"]),
              OVER])
    send(c, "go", "y yes")
    c.type("a")
    c.until("a again")
    c.type("a")
    c.until(lambda t: QUESTION in " ".join(t.split()))
    c.until("y yes")
    assert len(c.results()) == 2  # the control: the second was not asked about
    c.type("n")
    c.until("Declined")
    assert not any("REACHED" in text for text in c.results())


@pytest.mark.parametrize("how", ["-y", "-S", "PreToolUse",
                                 "PermissionRequest"])
def test_without_a_user_nothing_opens_a_host(inside, home, how):
    ask_in_sandboxes(home)
    if how[0] != "-":
        let_hook_allow(home, how)
    dcode = inside([execute("echo pl''ain"), NAMED, DONE])
    r = dcode("-n", "go", "-M", "anthropic:m", "--sandbox", "local",
              *([how] if how[0] == "-" else []), *(["all"] * (how == "-S")))
    assert r.returncode in (0, 4), r.stderr
    plain, named = dcode.results()
    assert "plain" in plain  # the control
    assert "nobody can be asked" in named and "REACHED" not in named


@pytest.mark.parametrize("how", ["-y", "--yolo", "PermissionRequest"])
def test_what_allows_every_call_does_not_answer_about_a_host(asking, home,
                                                             how):
    (home / ".deepagents/.state").mkdir(parents=True, exist_ok=True)
    (home / ".deepagents/.state/yolo-acknowledged").touch()
    if how[0] != "-":
        let_hook_allow(home, how)
    c = asking([execute(WAITS + "; true"), OVER],
               *([how] if how[0] == "-" else []))
    send(c, "go", "Let `curl")
    answer(c, "n")
    c.until("all over")
    assert "REACHED" not in c.results()[0]


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


ASKED = "reach evil-good.example:80?"
WAITS = "curl -sS -m 50 http://evil-good.example/"


@pytest.fixture(name="asking")
def fixture_asking(chat, home):
    """asking(script, ...) -> a chat with [network] ask."""
    def begin(script, *flags, **size):
        path = home / ".deepagents/config.toml"
        path.write_text(path.read_text() + "ask = true\n")
        return chat(script, *flags, **size)
    return begin


def asked(chat, times=1):
    """Waits for the question, which may be on two lines, and its keys."""
    chat.until(lambda t: " ".join(t.split()).count(ASKED) >= times and
               ("n never" in " ".join(t.split()) or "/Never]" in t))


def answer(chat, letter, times=1):
    asked(chat, times)
    chat.type(letter)
    chat.keys("Enter")


def test_a_connection_waits_for_the_answer(asking):
    c = asking([execute(WAITS), execute(WAITS + "; true"), OVER])
    send(c, "go", "Let `curl -sS -m 50 http")
    answer(c, "o")
    answer(c, "n", 2)  # once is for one command
    c.until("all over")
    send(c, "/network log", "evil-good.example:80  allowed")
    once, never = c.results()
    assert REACHED in once and "REACHED" not in never
    assert "network: evil-good.example:80 refused" in never


def test_always_on_the_row_of_answers_wants_enter_twice(asking, home):
    config = home / ".deepagents/config.toml"
    c = asking([execute(WAITS), OVER])
    send(c, "go", "Let `curl")
    asked(c)
    c.type("a")
    c.until("a again: always")
    c.keys("Up")  # it counts twice in a row
    c.until("> never")
    c.type("a")
    c.until("a again: always")
    c.keys("Down", "Right", "Left")  # the row ends here
    c.until("> always")
    c.keys("Enter")
    c.until("Enter again: always")
    c.keys("Left")
    c.until("> session")
    assert "evil-good" not in config.read_text()
    c.keys("Right", "Enter")
    c.until("Enter again: always")
    c.keys("Enter")  # the control
    c.until("all over")
    assert "evil-good" in config.read_text()


def test_a_plain_chat_asks_about_a_host_too(asking):
    c = asking([execute(WAITS), execute(WAITS + "; true"), OVER], "--plain",
               "-y", columns=120)
    send(c, "go", "Let `curl")
    answer(c, "o")
    answer(c, "n", 2)
    c.until("all over")
    once, never = c.results()
    assert REACHED in once and "REACHED" not in never
    c.until("\n> ")  # the next message is not an answer
    send(c, f"!{CURL} http://good.example/; echo o''k", "ok")


def test_a_plain_chat_withdraws_a_question_with_its_command(asking):
    c = asking([execute("curl -sS -m 3 http://evil-good.example/"), OVER],
               "--plain", "-y")
    send(c, "go", "Let `curl")
    c.until("all over")
    send(c, "!echo o''k", "ok")
    assert "REACHED" not in c.results()[0]


def test_a_stopped_turn_withdraws_the_question_of_a_plain_chat(asking):
    c = asking([execute(WAITS), OVER], "--plain", "-y", columns=120)
    send(c, "go", "Let `curl")
    asked(c)
    c.keys("C-c")
    c.until("Interrupted")
    send(c, "!echo o''k", "ok")


def test_never_and_session_hold_for_the_session(asking):
    c = asking([execute(WAITS + "; true"), execute(WAITS + "; true"), OVER])
    send(c, "go", "Let `curl")
    answer(c, "n")
    c.until("all over")
    assert not any("REACHED" in r for r in c.results())
    seen = " ".join(c.text(True).split())
    assert seen.count("example:80? never") == 1


MANY = ("for i in 1 2 3 4 5 6 7 8 9 10 11; do curl -sS -m {0} "
        "http://h$i.example/; done; " + CURL + "http://good.example/")


def test_a_command_causes_at_most_eight_questions(asking):
    """Attack: a program in the sandbox asks until the user is tired."""
    c = asking([execute(MANY.format(50)), execute(WAITS), OVER], "--plain",
               "-y", columns=150)
    send(c, "go", "Let `for")
    for i in range(1, 9):
        c.until(lambda t, i=i: f"reach h{i}.example:80? [" in t)
        c.type("n")
        c.keys("Enter")
    asked(c)  # the next command's own question
    shown = " ".join(c.text(True).split())
    assert shown.count("h9.example:80 and other hosts are refused without a "
                       "question, because this command has caused 8.") == 1
    assert "reach h9.example" not in shown
    answer(c, "o")
    c.until("all over")
    first, second = c.results()
    assert "REACHED" in first and REACHED in second  # the controls
    assert "network: h1.example:80 refused" in first
    assert shown.count("reach h") == 8


def test_a_host_for_the_session_does_not_go_along_with_an_added_one(
        asking, chat, home):
    """/network allow stores its own host for the sandbox's next start, and no
    other; the settings have a list, which the resumed sandbox exceeds."""
    script = [execute(WAITS), OVER,
              execute(WAITS + "; true"), {"text": "ended"}]
    c = asking(script, "--on-exit", "stop")
    send(c, "go", "Let `curl")
    answer(c, "s")
    c.until("all over")
    send(c, "/network allow sub.example", "may now reach sub.example")
    assert "sub.example" in stored_lists(home)  # the control
    assert "evil-good.example" not in stored_lists(home)
    send(c, "/quit", "dcode -r")
    again = chat(script, "-r")
    send(again, "go on", "Let `curl")
    answer(again, "n")
    again.until("ended")
    assert "REACHED" not in again.results()[-1]
    send(again, "/network", "sub.example")


def stored_lists(home):
    return "".join(p.read_text() for p in
                   home.glob(".deepagents/sandboxes/*/*") if p.is_file())


def test_a_host_for_the_session_ends_with_it(asking, chat, home):
    script = [execute(WAITS), execute(WAITS), OVER, execute(WAITS + "; true"),
              {"text": "ended"}]
    c = asking(script, "--on-exit", "stop")
    send(c, "go", "Let `curl")
    answer(c, "s")
    c.until("all over")
    assert all(REACHED in r for r in c.results())
    send(c, "/network", "evil-good.example:80")
    assert "good.example" in stored_lists(home)  # the control
    assert "evil-good.example" not in stored_lists(home)
    send(c, "/quit", "dcode -r")
    again = chat(script, "-r")
    send(again, "go on", "Let `curl")
    answer(again, "n")
    again.until("ended")
    assert "REACHED" not in again.results()[-1]


def test_a_command_is_masked_in_the_question(asking):
    token = "ghp_" + "0123456789" * 3 + "0pV6Ps"
    c = asking([execute(f": {token}; {WAITS}"), OVER])
    send(c, "go", "Let `")
    asked(c)
    assert "ghp_0123" not in c.text(True)
    assert "masked" in c.text()
    c.type("n")
    c.keys("Enter")
    c.until("all over")


def test_session_lasts_and_always_is_stored(asking, home, tmp_path):
    c = asking([execute(WAITS), execute(WAITS), OVER])
    send(c, "go", "Let `curl")
    answer(c, "a")
    c.until("all over")
    assert all(REACHED in r for r in c.results())
    stored = (home / ".deepagents/config.toml").read_text()
    assert f"'evil-good.example:80 {tmp_path / 'work'}'" in stored


def test_always_is_for_one_directory(inside, home, tmp_path):
    path = home / ".deepagents/config.toml"
    for folder, reached in ((tmp_path / "work", True), ("/tmp", False)):
        write_list(home, LIST)
        path.write_text(path.read_text() + "project_hosts = "
                        f'["evil-good.example:80 {folder}"]\n')
        dcode = inside([execute(WAITS + "; true"), DONE])
        assert dcode(*TASK).returncode == 0
        assert (REACHED in dcode.results()[-1]) == reached


def test_what_the_list_denies_is_not_asked_about(asking, home):
    write_list(home, [*LIST, "!evil-good.example"])
    c = asking([execute(WAITS + "; true"), OVER])
    send(c, "go", "all over")
    assert "session/always" not in c.text(True)
    assert "evil-good.example refused" in c.results()[0]


def test_this_machine_is_not_asked_about(asking):
    c = asking([execute(CURL + "http://127.0.0.1:8080/ http://short/; "
                        + CURL + "http://good.example/"), OVER])
    send(c, "go", "all over")
    assert "session/always" not in c.text(True)
    assert c.results()[0].count("REACHED") == 1


def test_a_stopped_turn_withdraws_the_question(asking):
    c = asking([execute(WAITS), OVER])
    send(c, "go", "Let `curl")
    asked(c)
    c.keys("C-c")
    c.until("Interrupted")
    c.until(lambda t: "session/always" not in t)
    send(c, f"!{WAITS}; echo o''k", "Let `curl")
    answer(c, "o")
    c.until(REACHED)


def test_a_question_ends_with_its_command(asking):
    c = asking([execute("curl -sS -m 3 http://evil-good.example/"), OVER])
    send(c, "go", "Let `curl")
    c.until("all over")
    c.until(lambda t: "session/always" not in t, seconds=20)


def test_nobody_is_asked_without_a_chat(inside, home):
    path = home / ".deepagents/config.toml"
    path.write_text(path.read_text() + "ask = true\n")
    dcode = inside([execute(WAITS + "; true"), DONE])
    r = dcode(*TASK, "--json")
    end = json.loads(r.stdout.splitlines()[-1])
    assert end["network_refused"][0]["host"] == "evil-good.example"
