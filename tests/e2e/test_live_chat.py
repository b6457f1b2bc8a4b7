"""test_live_chat.py - the chat with a screen, as a user sees and types it."""
# SPDX-License-Identifier: MIT
import json
import os
import signal
import pathlib
import tempfile
import time

import pytest

from screens import Screen
from test_trust_a4_approval import PADDINGS
from test_trust_c10_policy import under_policy

HELLO = {"turns": [{"text": "Hello there."}], "repeat": True, "by": "count"}
SLOW = {"turns": [{"text": "Hello there.", "delay_ms": 1500}],
        "repeat": True, "by": "count"}
DONE = {"text": "done."}


@pytest.fixture
def live(dcode, env, tmp_path, model):
    """live(turns) -> (Screen at its prompt, the model's server)."""
    open_ones = []

    def begin(turns, args=(), ready="anthropic:m", policy=None, **size):
        server = model(turns)
        command = [dcode, "-M", "anthropic:m", *args]
        if policy is not None:
            (tmp_path / "policy").write_text(policy)
            command = under_policy(tmp_path, command)
        place = pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-"))
        (tmp_path / "work").mkdir(exist_ok=True)
        s = Screen(place, command, env, tmp_path / "work", **size)
        open_ones.append(s)
        s.until(ready)
        return s, server
    yield begin
    for s in open_ones:
        s.close()


def prompts(server):
    """A request that was cut is known a little later."""
    end = time.monotonic() + 10
    while not server.requests and time.monotonic() < end:
        time.sleep(0.02)
    return [r["body"]["messages"][-1]["content"][0]["text"]
            for r in server.requests]


def execute(command):
    return {"tool_calls": [{"name": "execute", "args": {"command": command}}]}


def test_an_answer_stands_above_the_editor(live):
    s, server = live(HELLO)
    s.type("hi")
    s.keys("Enter")
    seen = s.until("Hello there.")
    assert prompts(server) == ["hi"]
    assert seen.index("hi") < seen.index("Hello there.")
    assert seen.index("Hello there.") < seen.rindex("\u276f")  # the editor
    assert seen.rindex("\u276f") < seen.rindex(" m \u00b7 ")  # status


def test_lines_are_made_without_sending(live):
    s, server = live(HELLO)
    s.type("one")
    s.keys("C-j")
    s.type("two\\")
    s.until("two\\")  # several lines that arrive at once would be a paste
    s.keys("Enter")
    s.type("three")
    s.until("three")
    s.keys("M-Enter")
    s.type("four")
    s.keys("Enter")
    s.until("Hello there.")
    assert prompts(server) == ["one\ntwo\nthree\nfour"]


def send_two(s):
    """The second one while the first is being answered."""
    s.type("first")
    s.keys("Enter")
    s.until("Esc stops it")
    s.type("second")
    s.keys("Enter")


def test_what_is_typed_meanwhile_waits_and_is_shown(live):
    s, server = live(SLOW)
    send_two(s)
    seen = s.until("1 queued")
    assert "+ second" in seen
    s.until(lambda t: t.count("Hello there.") == 2)
    assert prompts(server) == ["first", "second"]


def test_escape_takes_back_what_waits_and_then_stops(live):
    s, server = live({"turns": [{"text": "late", "delay_ms": 60000}],
                      "repeat": True, "by": "count"})
    send_two(s)
    s.until("+ second")
    s.keys("Escape")
    s.until(lambda t: "+ second" not in t and "second" in t)
    s.keys("Escape")
    s.until("Interrupted")
    assert prompts(server) == ["first"]


def test_interrupt_keeps_the_queue_and_leaves_at_an_empty_prompt(live):
    s, server = live({"turns": [{"text": "late", "delay_ms": 60000}],
                      "repeat": True, "by": "count"})
    send_two(s)
    s.until("+ second")
    s.keys("C-c")
    s.until("Interrupted")
    s.until("+ second")
    assert prompts(server) == ["first"]
    s.keys("C-c")
    s.until("Queued messages")
    s.keys("C-c")
    s.until(lambda t: "dcode -r" in t)
    assert s.status() == 130


def test_end_of_input_leaves_only_at_an_empty_prompt(live):
    s, server = live(HELLO)
    s.type("xyz")
    s.keys("Home", "C-d")
    s.until(lambda t: "yz" in t and "xyz" not in t)
    s.keys("C-u", "C-e", "C-u", "C-d")
    assert s.status() == 0
    assert not server.requests


@pytest.mark.parametrize("key, ran, more", [
    ("y", True, 1), ("n", False, 0), ("Escape", False, 0)])
def test_a_call_is_shown_and_asked_about(live, tmp_path, key, ran, more):
    s, server = live([execute("echo 1 > made"), DONE])
    s.type("go")
    s.keys("Enter")
    seen = s.until("echo 1 > made")
    s.until("y yes")
    assert not (tmp_path / "work" / "made").exists()
    s.keys(key)
    s.until("done." if more else "Say what to do instead")
    assert (tmp_path / "work" / "made").exists() == ran
    assert len(server.requests) == 1 + more
    assert "execute" in seen


def test_a_no_with_a_reason_goes_on(live, tmp_path):
    s, server = live([execute("touch made"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.keys("w")
    s.until("No, because")
    s.type("use make instead")
    s.keys("Enter")
    s.until("done.")
    assert not (tmp_path / "work" / "made").exists()
    assert "use make instead" in json.dumps(server.requests[-1]["body"])


def test_always_is_for_exactly_what_was_shown(live, tmp_path):
    s, server = live([execute("echo a >> log"), execute("echo a >> log"),
                      execute("echo b >> log"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.keys("a")
    s.until("a again")
    s.keys("a")
    s.until("echo b >> log")
    s.until("y yes")
    assert (tmp_path / "work" / "log").read_text() == "a\na\n"
    s.keys("n")
    s.until("Say what to do instead")
    assert (tmp_path / "work" / "log").read_text() == "a\na\n"


def test_a_command_of_ones_own_is_told_to_the_model(live):
    s, server = live(HELLO)
    s.type("!echo $((40+2))")
    s.keys("Enter")
    s.until("42")
    s.type("!!echo $((60+6))")
    s.keys("Enter")
    s.until("66")
    s.type("hi")
    s.keys("Enter")
    s.until("Hello there.")
    sent = json.dumps(server.requests[-1]["body"]["messages"])
    assert "echo $((40+2))" in sent and "42" in sent
    assert "60+6" not in sent and "66" not in sent


def test_of_a_progress_bar_of_ones_own_command_the_last_state_is_listed(live):
    s, _ = live(HELLO)
    s.type("!printf '%s0%%\\r%s5%%\\rbar 9%%\\n' 'bar ' 'bar '; exit 4")
    s.keys("Enter")
    seen = s.until("exit 4, ")
    assert "\n    bar 9%" in seen
    assert "bar 0%" not in seen and "bar 5%" not in seen


def test_a_command_of_ones_own_that_fails_is_shown_once(live):
    s, _ = live(HELLO)
    s.type("!echo on''ce; sleep 0.3; exit 4")
    s.keys("Enter")
    seen = s.until("exit 4, ")
    assert [line.strip() for line in seen.splitlines()].count("once") == 1


def test_the_call_that_was_allowed_is_named_while_it_runs(live):
    s, _ = live([execute("sleep 60"), DONE])
    s.type("go")
    s.keys("Enter")
    s.until("y yes")
    s.keys("y")
    s.until("running execute  ")


def test_the_first_message_is_no_command(live):
    s, server = live(HELLO, args=("-m", "!echo x >made"))
    s.until("Hello there.")
    assert prompts(server) == ["!echo x >made"]


def test_slash_commands_print_into_the_scrollback(live):
    s, _ = live(HELLO)
    s.type("/help")
    s.keys("Enter")
    s.until("/apply", True)
    s.type("hi")
    s.keys("Enter")
    s.until("Hello there.")
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0
    assert "/apply" in s.text(True)


def test_the_terminal_is_as_before_after_every_way_out(live):
    for way in ("quit", signal.SIGTERM, signal.SIGHUP, "interrupt"):
        s, _ = live(HELLO)
        if way == "quit":
            s.type("/quit")
            s.keys("Enter")
        elif way == "interrupt":
            s.keys("C-c", "C-c")
        else:
            os.kill(s.pid(), way)
        status = s.status()
        assert status == (0 if way == "quit" else 130 if way == "interrupt"
                          else 128 + way)
        tty = s.tmux("display-message", "-p", "#{pane_tty}").strip()
        with open(tty) as terminal:
            import termios
            flags = termios.tcgetattr(terminal)[3]
        assert flags & termios.ICANON and flags & termios.ECHO
        assert s.tmux("display-message", "-p",
                      "#{cursor_flag}").strip() == "1"


def test_a_failure_to_begin_is_said_and_ends(live, env):
    env["DCODE_NOTHING"] = "1"
    s, _ = live(HELLO, args=["--sandbox", "daytona"], ready="DAYTONA_API_KEY")
    assert s.status() == 1


def test_plain_is_the_chat_of_lines(live):
    s, _ = live(HELLO, args=["--plain"], ready="/quit")
    s.type("hi")
    s.keys("Enter")
    s.until("Hello there.")
    assert "Esc stops" not in s.text(True)


def test_answers_stay_whole_through_resizes(live):
    text = "\n\n".join(f"Paragraph {i} of the long answer." for i in range(60))
    s, _ = live([{"text": text}, DONE])
    s.type("go")
    s.keys("Enter")
    s.until("Paragraph 59")
    for size in ((40, 10), (120, 40), (60, 20), (80, 24)):
        s.resize(*size)
    s.type("more")
    s.keys("Enter")
    s.until("done.")
    seen = s.text(True)
    for i in range(60):
        assert seen.count(f"Paragraph {i} of") == 1, i


def test_a_file_that_is_named_goes_with_the_message(live, tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "notes of mine.txt").write_text("the words\n")
    s, server = live(HELLO)
    s.type("read @not")
    s.until("notes of mine.txt")
    s.keys("Tab")
    s.type("and me@example.com and @nothing.")
    s.keys("Enter")
    s.until("Hello there.")
    sent = prompts(server)[0]
    assert "## Referenced Files" in sent and "the words" in sent
    assert "me@example.com" in sent and "@nothing" in sent
    assert sent.count("###") == 1
    assert "@nothing is not a readable file" in s.text(True)


def test_titles_and_resumed_prompts_are_what_was_typed(
        live, run, tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "notes.txt").write_text("the words\n")
    s, server = live(HELLO)
    s.type("see @notes.txt please")
    s.keys("Enter")
    s.until("Hello there.")
    assert "## Referenced Files" in prompts(server)[0]  # the control
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0
    title = json.loads(run("threads", "list", "--json").out)["data"][0]["title"]
    assert title == "see @notes.txt please"
    s, _ = live(HELLO, ("-r",))
    s.until("see @notes.txt please")
    assert "Referenced" not in s.text(True) and "the words" not in s.text(True)


def test_a_slash_command_is_completed(live):
    s, _ = live(HELLO)
    s.type("/vers")
    s.until("/version")
    s.keys("Tab")
    s.keys("Enter")
    s.until(lambda t: t.count("0.2.0") > 1)


def test_a_slash_command_is_in_the_history_of_its_session(live):
    s, _ = live(HELLO)
    s.type("/clear")
    s.keys("Enter")
    s.until("Started new")
    s.keys("C-l", "Up")
    s.until("❯ /clear")


def test_the_history_is_there_in_the_next_session(live):
    s, _ = live(HELLO)
    s.type("words to find again")
    s.keys("Enter")
    s.until("Hello there.")
    s.keys("C-d")
    s.status()
    s, server = live(HELLO)
    s.keys("Up")
    s.until("words to find again")
    s.keys("C-c", "C-r")
    s.until("History")
    s.type("find")
    s.keys("Enter")
    s.until("words to find again")
    s.keys("Enter")
    s.until("Hello there.")
    assert prompts(server) == ["words to find again"]


def test_several_calls_of_an_answer_are_numbered(live, tmp_path):
    both = {"tool_calls": [
        {"name": "execute", "args": {"command": f"echo {c} >> log"}}
        for c in "ab"]}
    s, _ = live([both, DONE])
    s.type("go")
    s.keys("Enter")
    for n in "12":
        s.until(lambda t: f"({n} of 2)" in t and "y yes" in t)
        s.keys("y")
    s.until("done.")
    assert (tmp_path / "work" / "log").read_text() == "a\nb\n"


@pytest.mark.parametrize("padding, columns", [
    *((p, 80) for p in PADDINGS),
    *((p, 20) for p in ("spaces", "lines", "wide", "commands"))])
def test_both_ends_of_a_command_are_in_the_question(live, padding, columns):
    s, _ = live([execute("touch PWNED #" + PADDINGS[padding] + " ls -la"),
                 DONE], columns=columns, ready="\u276f")
    s.type("go")
    s.keys("Enter")
    seen = s.until("y yes")
    seen = seen.split("wants")[-1].replace("\n    ", " ")
    assert "touch PWNED" in seen and "ls -la" in seen


@pytest.mark.parametrize("plain", [[], ["--plain"]])
def test_text_that_was_not_typed_takes_no_file_along(live, tmp_path, plain):
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "key").write_text("the secret words\n")
    s, server = live(HELLO, args=[*plain, "-m", "see @key"],
                     ready="Hello there.")
    assert prompts(server) == ["see @key"]
    s.type("see @key ")  # the control
    s.keys("Enter")
    s.until(lambda t: t.count("Hello there.") == 2)
    assert "the secret words" in prompts(server)[-1]
