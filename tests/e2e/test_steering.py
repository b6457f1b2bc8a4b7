"""test_steering.py - messages that the user sends into the running turn."""
# SPDX-License-Identifier: MIT
import json
import shlex
import time

import pytest

from test_bedrock import KEY
from test_live_chat import DONE, execute, live  # noqa: F401
from test_model_wire import GEM, GPT

# pylint: disable=redefined-outer-name

STEP = "(at the next step)"
LATER = "(after this turn)"
WIRES = ["anthropic", "openai", "gpt", "gem", "bedrock"]


@pytest.fixture
def model(model, env, config):
    """The same, for every wire."""
    config(GPT + GEM)
    env.update(KEY, AWS_REGION="us-west-2")

    def begin(script):
        server = model(script)
        env.update(AWS_ENDPOINT_URL_BEDROCK_RUNTIME=server.url,
                   GEM_BASE_URL=server.url + "/v1beta")
        return server
    return begin


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    return tmp_path / "work"


def waits(work, name="go"):
    """A command that runs until the test lets it end."""
    return execute("until [ -e " + shlex.quote(str(work / name)) +
                   " ]; do sleep 0.05; done; echo ran")


def texts(message):
    """The kinds of a message's blocks, and the text of each text block."""
    return [(b["type"], b.get("text")) for b in message["content"]]


def begin(s, text="hello"):
    s.type(text)
    s.keys("Enter")
    s.until("running execute")


def say(s, text, key="Enter"):
    s.type(text)
    s.until("\u276f " + text)
    s.keys(key)
    s.until("+ " + text)


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_enter_sends_the_message_with_the_results_of_the_step(
        live, work, columns, lines):
    s, server = live([waits(work), DONE, {"text": "more"}], args=["-y"],
                     columns=columns, lines=lines, ready="this machine")
    begin(s)
    say(s, "only in C")
    s.until(STEP)
    (work / "go").touch()
    seen = s.until("done.")
    assert seen.count("only in C") == 1 and "+ only" not in seen
    assert seen.index("only in C") < seen.index("done.")
    assert len(server.requests) == 2  # one turn
    last = server.requests[1]["body"]["messages"][-1]
    kinds = texts(last)
    assert [k for k, _ in kinds] == ["tool_result", "text"]
    assert kinds[1][1] == "only in C" and last["role"] == "user"


@pytest.mark.parametrize("wire", WIRES)
def test_the_history_is_valid_on_every_wire(live, work, wire):
    s, server = live({"turns": [waits(work), waits(work, "two"), DONE,
                                {"text": "ok."}], "by": "count"},
                     args=["-y", "-M", wire + ":m"], ready="this machine")
    begin(s)
    say(s, "only in C")
    (work / "go").touch()
    s.until(lambda t: "\u276f only in C" in t and "running execute" in t)
    say(s, "and short")
    (work / "two").touch()
    s.until("done.")
    s.type("next")
    s.keys("Enter")
    s.until("ok.")
    assert server.violations == [] and len(server.requests) == 4
    body = json.dumps(server.requests[-1]["body"])
    assert body.count("only in C") == body.count("and short") == 1
    assert body.index("only in C") < body.index("and short")
    assert "interrupted" not in body


def test_tab_queues_for_after_the_turn_and_enter_overtakes_it(live, work):
    s, server = live([waits(work), DONE, {"text": "second."}], args=["-y"])
    s.type("idle")
    s.keys("Tab")
    time.sleep(0.3)
    assert "\u276f idle" in s.text() and not server.requests
    s.keys("C-u")
    begin(s)
    say(s, "then this", "Tab")
    s.until(LATER)
    say(s, "first this")
    seen = s.until(STEP)
    assert seen.index("first this") < seen.index("then this")
    (work / "go").touch()
    s.until("second.")
    bodies = [json.dumps(r["body"]) for r in server.requests]
    assert len(bodies) == 3
    assert "first this" in bodies[1] and "then this" not in bodies[1]
    assert "then this" in bodies[2]


def test_tab_completes_where_something_can_be_completed(live, work):
    (work / "some.txt").write_text("x")
    s, _ = live([waits(work), DONE], args=["-y"])
    begin(s)
    for text in ("look at @some", "/mod", "/mode pl"):
        s.type(text)
        s.keys("Tab")
        time.sleep(0.3)
        seen = s.text()
        assert "+ " not in seen and text.split()[0] in seen
        s.keys("C-u")
    (work / "go").touch()
    s.until("done.")


def test_escape_takes_back_the_newest_message(live, work):
    s, server = live([waits(work), DONE], args=["-y"])
    begin(s)
    say(s, "later one", "Tab")
    say(s, "newer one")
    s.keys("Escape")
    seen = s.until("\u276f newer one")
    assert "+ later one" in seen and "+ newer one" not in seen
    s.keys("C-u", "Escape")
    s.until("\u276f later one")
    s.keys("C-u")
    (work / "go").touch()
    s.until("done.")
    assert "r one" not in json.dumps(server.requests[-1]["body"]["messages"])


def test_a_turn_that_ends_first_leaves_it_as_the_next_message(live):
    s, server = live([{"text": "first.", "delay_ms": 1500}, {"text": "two."}])
    s.type("hello")
    s.keys("Enter")
    s.until("waiting for")
    say(s, "second message")
    s.until("two.")
    assert len(server.requests) == 2
    assert texts(server.requests[1]["body"]["messages"][-1]) == [
        ("text", "second message")]


def test_a_command_in_the_queue_is_not_overtaken(live, work):
    s, server = live([waits(work), DONE, {"text": "two."}], args=["-y"])
    begin(s)
    say(s, "/mode manual")
    say(s, "behind it")
    s.until(lambda t: t.count(LATER) == 2)
    (work / "go").touch()
    s.until("two.")
    assert "behind it" not in json.dumps(server.requests[1]["body"])


def test_a_message_behind_a_command_that_is_dropped_is_sent_at_the_next_step(
        live, work):
    s, server = live([waits(work), waits(work, "two"), DONE], args=["-y"])
    begin(s)
    say(s, "/mode plan")
    say(s, "only in C")
    s.until(LATER)
    (work / "go").touch()
    s.until(lambda _: len(server.requests) == 2)
    time.sleep(0.5)
    s.type("/queue drop 1")
    s.keys("Enter")
    s.until("Dropped: /mode plan")
    s.until(STEP)
    (work / "two").touch()
    s.until("done.")
    assert "only in C" in json.dumps(server.requests[2]["body"])


def test_an_interrupt_keeps_the_message(live, work):
    s, server = live([waits(work), DONE, {"text": "ok."}], args=["-y"])
    begin(s)
    say(s, "only in C")
    s.keys("C-c")
    seen = s.until("Interrupted")
    assert "+ only in C" in seen and len(server.requests) == 1
    s.keys("Enter")
    s.until("done.")
    assert "only in C" in json.dumps(
        server.requests[1]["body"]["messages"][-1])


def hooks(home, **commands):
    (home / ".deepagents").mkdir(exist_ok=True)
    (home / ".deepagents" / "hooks.json").write_text(json.dumps({"hooks": {
        event: [{"hooks": [{"type": "command", "command": command}]}]
        for event, command in commands.items()}}))


def test_an_interrupt_while_its_hook_runs_returns_it_to_the_queue(
        live, work, home):
    hooks(home, UserPromptSubmit="grep -q hello || { touch " +
          shlex.quote(str(work / "hooked")) + "; sleep 60; }")
    s, server = live([waits(work), DONE], args=["-y"])
    begin(s)
    say(s, "only in C")
    (work / "go").touch()
    end = time.monotonic() + 20
    while not (work / "hooked").exists() and time.monotonic() < end:
        time.sleep(0.02)
    s.keys("C-c")
    seen = s.until("Interrupted")
    assert "+ only in C" in seen and len(server.requests) == 1
    s.keys("Escape")
    s.until("\u276f only in C")


@pytest.mark.parametrize("refuses", [False, True])
def test_the_prompt_hook_sees_it_and_may_refuse_it(
        live, work, home, refuses):
    hooks(home, UserPromptSubmit="cat >> " +
          shlex.quote(str(work / "told")) + "; " +
          ("grep -q only " + shlex.quote(str(work / "told")) +
           " && { echo not-this >&2; exit 2; }; exit 0" if refuses else
           "echo from-the-hook"))
    s, server = live([waits(work), DONE], args=["-y"])
    begin(s)
    say(s, "only in C")
    (work / "go").touch()
    seen = s.until("done.")
    assert "only in C" in (work / "told").read_text()
    last = texts(server.requests[1]["body"]["messages"][-1])
    if refuses:
        assert "your message was not sent" in seen and "not-this" in seen
        assert [k for k, _ in last] == ["tool_result"]
    else:
        assert last[1][1].startswith("only in C")
        assert "from-the-hook" in last[1][1]


def test_a_secret_in_it_is_masked_on_its_way(live, work, env):
    env["DEEPAGENTS_CODE_TEST"] = "1"
    env["MY_API_KEY"] = "sk-secret-0123456789"
    s, server = live([waits(work), DONE], args=["-y"])
    begin(s)
    say(s, "key sk-secret-0123456789")
    (work / "go").touch()
    s.until("done.")
    body = json.dumps(server.requests[1]["body"])
    assert "sk-secret-0123456789" not in body and "[masked:" in body


def test_its_file_goes_with_it(live, work):
    (work / "note.txt").write_text("what it holds")
    s, server = live([waits(work), DONE], args=["-y"])
    begin(s)
    s.type("see @note.txt please")
    s.keys("Enter")
    s.until(STEP)
    (work / "go").touch()
    s.until("done.")
    assert "what it holds" in json.dumps(
        server.requests[1]["body"]["messages"][-1])


def test_a_resumed_thread_has_it_at_its_place(live, work, run):
    s, server = live([waits(work), DONE, {"text": "again."}], args=["-y"])
    begin(s)
    say(s, "only in C")
    (work / "go").touch()
    s.until("done.")
    s.keys("C-d")
    assert s.status() == 0
    first = server.requests[1]["body"]["messages"]
    r = run("-n", "next", "-r", "-M", "anthropic:m")
    assert r.status == 0, r.err
    again = server.requests[2]["body"]["messages"]
    strip = [[(b["type"], b.get("text")) for b in m["content"]]
             for m in first]
    assert [[(b["type"], b.get("text")) for b in m["content"]]
            for m in again[:len(first)]] == strip
    assert "> only in C" in run("threads", "show", "latest").out


def test_in_lines_a_message_is_not_called_sent_before_it_is(live, work):
    s, server = live([waits(work), DONE], args=["-y", "--plain"],
                     ready="/quit")
    s.type("hello")
    s.keys("Enter")
    s.until("execute")
    s.type("/skill:nope now")
    s.keys("Enter")
    time.sleep(0.3)
    (work / "go").touch()
    seen = s.until("done.", scrollback=True)
    assert "Sent into" not in seen and "nope" in seen.split("execute")[1]
    assert "nope" not in json.dumps(server.requests[1]["body"])


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_in_lines_what_is_typed_goes_into_the_running_turn(
        live, work, columns, lines):
    s, server = live([waits(work), DONE, {"text": "more."}],
                     args=["-y", "--plain"], columns=columns, lines=lines,
                     ready="/quit")
    s.type("hello")
    s.keys("Enter")
    s.until("execute")
    s.type("only in C")
    s.keys("Enter")
    s.type("/tokens")  # a command waits, and what follows it
    s.keys("Enter")
    s.type("and then")
    s.keys("Enter")
    time.sleep(0.3)
    (work / "go").touch()
    seen = s.until("more.", scrollback=True)
    assert seen.index("Sent into the running turn: only in C") < \
        seen.index("done.") < seen.index("tokens in")
    assert len(server.requests) == 3
    kinds = texts(server.requests[1]["body"]["messages"][-1])
    assert [k for k, _ in kinds] == ["tool_result", "text"]
    assert kinds[1][1] == "only in C"
    assert "and then" not in json.dumps(server.requests[1]["body"])
    assert texts(server.requests[2]["body"]["messages"][-1]) == \
        [("text", "and then")]


def test_a_message_that_cannot_be_sent_is_not_shown_as_sent(live, work):
    s, server = live([waits(work), DONE], args=["-y"])
    begin(s)
    say(s, "/skill:nothing do it")
    say(s, "a message")
    (work / "go").write_text("")
    s.until("done.")
    seen = s.text(True)
    assert "\u276f a message" in seen  # the control
    assert texts(server.requests[1]["body"]["messages"][-1])[-1] == \
        ("text", "a message")


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_in_lines_an_interrupt_loses_no_message(live, work, columns, lines):
    s, server = live([waits(work), {"text": "kept."}, DONE],
                     args=["-y", "--plain"], columns=columns, lines=lines,
                     ready="/quit")
    s.type("hello")
    s.keys("Enter")
    s.until("execute")
    s.type("remember me")
    s.keys("Enter")
    s.type("and me")
    s.keys("Enter")
    s.until("and me")
    time.sleep(0.3)
    s.keys("C-c")
    s.until("done.")
    assert [texts(r["body"]["messages"][-1])[-1] for r in
            server.requests[1:]] == [("text", "remember me"),
                                     ("text", "and me")]
    assert "Sent into" not in s.text(True)


def test_in_lines_what_was_not_sent_is_shown_at_the_end(live, work):
    s, server = live([waits(work), DONE], args=["-y", "--plain"],
                     ready="/quit")
    s.type("hello")
    s.keys("Enter")
    s.until("execute")
    for line in ("/quit", "remember me", "and me"):
        s.type(line)
        s.keys("Enter")
    s.until("and me")
    time.sleep(0.3)
    s.keys("C-c")
    s.until("Not sent:\n  remember me\n  and me")
    assert s.status() == 0 and len(server.requests) == 1


def test_in_lines_the_editor_of_a_call_gets_what_is_typed(live, work, env):
    env["EDITOR"] = "sed -n -e 's/^/echo /p;q' - >"  # reads the terminal
    s, _ = live([execute("echo no"), DONE], args=["--plain"], ready="/quit")
    s.type("hello")
    s.keys("Enter")
    s.until("Allow it?")
    time.sleep(0.3)  # a quicker answer is ignored
    s.type("e")
    s.keys("Enter")
    time.sleep(0.5)  # the watch must not take the line
    s.type("typed")
    s.keys("Enter")
    s.until("echo typed")
    s.keys("C-c")


def test_in_lines_a_turn_without_a_step_leaves_the_line_for_the_next(live):
    s, server = live([{**DONE, "delay_ms": 1500}, {"text": "more."}],
                     args=["--plain"], ready="/quit")
    s.type("hello")
    s.keys("Enter")
    time.sleep(0.5)
    s.type("next")
    s.keys("Enter")
    s.until("more.")
    assert "running turn" not in s.text(True) and len(server.requests) == 2
