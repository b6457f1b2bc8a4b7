"""test_chat.py - what is typed and pasted into the chat."""
# SPDX-License-Identifier: MIT
import json
import time

from test_hostile_chat import chat  # noqa: F401 (a fixture)

HELLO = {"turns": [{"text": "Hello."}], "repeat": True, "by": "count"}


def last(server):
    return server.requests[-1]["body"]["messages"][-1]["content"][0]["text"]


def test_pasted_lines_are_one_message(chat):  # noqa: F811
    t, server = chat(HELLO)
    t.type("first\n\n  third \u6f22\n")
    t.until("Hello.\r\nDone in ")
    t.until("\r\n\r\n> ")
    assert len(server.requests) == 1
    assert last(server) == "first\n\n  third \u6f22"
    t.type("alone\n")
    t.until("Hello.")
    assert last(server) == "alone"


def test_what_is_typed_ahead_stays_apart(chat):  # noqa: F811
    t, server = chat({"turns": [{"text": "Hello.", "delay_ms": 600}],
                      "repeat": True, "by": "count"})
    t.type("one\n")
    t.until("one")
    time.sleep(0.2)
    t.type("two\nthree\n")
    for _ in range(3):
        t.until("Hello.")
    assert last(server) == "three"
    assert "two\\nthree" not in json.dumps(server.requests[-1]["body"])


def test_a_line_that_the_terminal_cut_is_not_sent(chat):  # noqa: F811
    t, server = chat(HELLO)
    t.type("x" * 5000 + "\n")
    t.until("Not sent")
    assert not server.requests
    t.type("y" * 4000 + "\n")
    t.until("Hello.")
    assert last(server) == "y" * 4000


def test_a_command_of_ones_own_is_told_to_the_model(chat):  # noqa: F811
    t, server = chat(HELLO)
    t.type("!echo $((40+2))\n")
    assert "42" in t.until("> ")
    t.type("!!echo $((60+6))\n")
    assert "66" in t.until("> ")
    assert not server.requests
    t.type("hi\n")
    t.until("Hello.")
    sent = json.dumps(server.requests[-1]["body"]["messages"])
    assert "echo $((40+2))" in sent and "42" in sent and "hi" in sent
    assert "60+6" not in sent and "66" not in sent
    t.type("again\n")
    t.until("Hello.")
    assert last(server) == "again"


def test_a_command_of_ones_own_is_stopped_and_the_chat_goes_on(
        chat):  # noqa: F811
    t, server = chat(HELLO)
    t.type("!echo begun; sleep 60\n")
    t.until("begun\r\n")
    t.type("\x03")
    t.until("Interrupted\r\n\r\n> ")
    t.type("hi\n")
    t.until("Hello.")
    assert len(server.requests) == 1


def test_the_first_message_is_no_command(chat):  # noqa: F811
    t, server = chat(HELLO, args=("-m", "!echo x >made"))
    assert "Hello." in t.seen
    assert last(server) == "!echo x >made"


def test_a_file_that_a_message_names_goes_with_it(
        chat, tmp_path):  # noqa: F811
    t, server = chat(HELLO)
    (tmp_path / "work" / "notes").write_text("the text of the file\n")
    t.type("read @notes, not ann@notes\n")
    t.until("Hello.")
    assert last(server).count("the text of the file") == 1
    assert last(server).startswith("read @notes, not ann@notes")


def test_leaving(chat):  # noqa: F811
    for keys, status in (("\x04", 0), ("/quit\n", 0), ("\x03", None)):
        t, _ = chat(HELLO)
        t.type(keys)
        if status is None:
            t.until("Ctrl-C again")
            t.type("\x03")
            status = 130
        assert t.end() == status


def test_the_terminal_goes(chat, run):  # noqa: F811
    t, _ = chat(HELLO)
    t.type("hello\n")
    t.until("Hello.\r\nDone in ")
    t.until("\r\n\r\n> ")
    assert t.hang_up() == 129


def test_a_line_that_comes_right_behind_a_command_is_a_message(chat):
    t, server = chat([{"text": f"answer {i}."} for i in range(3)])
    for i, command in enumerate(("/reload", "/todos", "/version")):
        t.type(f"{command}\rprompt {i}\r")  # as a paste has them
        t.until(f"answer {i}.")
    assert len(server.requests) == 3
