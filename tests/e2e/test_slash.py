"""test_slash.py - the commands of the chat, with a screen and in lines."""
# SPDX-License-Identifier: MIT
import re
import time

import pytest

from slash_chat import (  # noqa: F401 (a fixture)
    HELLO, begin, on_screen, talk)


def in_use(run):
    return {title for title in ("apples", "pears")
            for row in run("threads", "list").out.splitlines()
            if title in row and "(in use)" in row}


def test_the_model_changes_in_mid_thread_and_gets_all_of_it(talk):
    c = begin(talk)
    c.ask("the first")
    c.say("/model other:big", "The model is other:big from")
    assert c.ask("the second") == ["the first", "the second"]
    c.say("/model anthropic:n", "The model is anthropic:n from")
    assert c.ask("the third") == ["the first", "the second", "the third"]
    assert [c.wire(n) for n in range(3)] == ["anthropic", "openai-chat",
                                             "anthropic"]
    c.until(lambda t: t.count("Hello there.") == 3)


def test_a_change_of_model_says_that_a_large_cache_is_lost(talk):
    usage = {"input": 5, "output": 5, "cache_read": 50000}
    c = begin(talk, {"turns": [{"text": "Hello there.", "usage": usage}],
                     "repeat": True})
    assert "billed" not in c.say("/model anthropic:n", "is anthropic:n from")
    c.ask("the first")
    c.until(lambda t: t.count("Hello there.") == 1)
    c.say("/model anthropic:o", "billed without cache discount")


def test_the_effort_changes_in_mid_thread(talk):
    c = begin(talk)
    c.ask("the first")
    c.say("/effort huge", "must be none, minimal")
    c.say("/effort high", "The effort is high from")
    assert c.ask("the second") == ["the first", "the second"]
    c.say("/effort", "m supports none, minimal")
    c.say("/effort default", "The effort is default from")
    c.ask("the third")
    assert [r["body"].get("output_config") for r in c.server.requests] == [
        None, {"effort": "high"}, None]


@pytest.mark.parametrize("name, why", [
    ("keyless:huge", "NO_SUCH_KEY"), ("nobody:x", "Unknown model provider"),
    ("two words", "accepts only one model")])
def test_a_model_that_cannot_be_used_leaves_the_old_one(talk, name, why):
    c = begin(talk)
    c.say(f"/model {name}", why)
    assert c.ask("still here") == ["still here"]
    assert c.wire(0) == "anthropic"


def test_a_model_is_chosen_from_those_that_are_known(talk):
    c = begin(talk)
    c.say("/model")
    seen = c.until("other:small", scrollback=True)
    assert "no key: NO_SUCH_KEY" in seen
    c.say("big", "The model is other:big from")
    c.ask("hi")
    assert c.wire(0) == "openai-chat"


def test_the_list_has_the_table_and_what_the_server_offers(talk):
    c = begin(talk, {**HELLO, "models": [
        {"id": "m"}, {"id": "claude-brandnew"}, {"id": "text-embedding-9"},
        {"id": "bad\x1b[2Jname"}]}, lines=50)
    seen = c.say("/model", "claude-sonnet-5-5")
    assert re.search(r"claude-opus-5-5 .*opus, default, 1M, \$4/\$20", seen)
    assert seen.index("claude-opus-5-5") < seen.index("claude-opus-5 ")
    if not c.screen:
        c.say("brandnew", "The model is anthropic:claude-brandnew")
        return
    c.type("embedding")
    c.until("\n> embedding ")  # nothing else matches
    for _ in "embedding":
        c.keys("BSpace")
    c.type("brandnew")
    c.until("offered by the server")
    for _ in "brandnew":
        c.keys("BSpace")
    c.type("sonnet")
    c.until(lambda t: "> anthropic:claude-sonnet-5-5" in t)
    c.keys("Enter")
    c.until("The model is anthropic:claude-sonnet-5-5")
    c.say("/model opus", "The model is anthropic:claude-opus-5-5")


@on_screen
def test_a_mistyped_command_is_never_corrected_to_one_that_acts(talk):
    c = begin(talk)
    for typed in ("/yoloo", "/quitt", "/clera", "/applyy", "/syncc"):
        seen = c.say(typed, f"Unknown command {typed}.")
        line = seen[seen.rindex("Unknown command"):].split("\n")[0]
        assert "Did you mean" not in line
    c.say("/modle", "Did you mean /model?")


@pytest.mark.parametrize("command", ["/clear", "/new"])
def test_a_new_thread_begins_without_the_old_one(talk, command):
    c = begin(talk)
    c.ask("the first")
    seen = c.say(command, "Previous thread: /resume lists it")
    assert not re.search("[0-9a-f]{8}-", seen)  # an id says nothing
    assert c.ask("the second") == ["the second"]
    c.say("/resume latest", "Resumed thread")
    assert c.ask("the third") == ["the first", "the third"]


def test_a_thread_is_chosen_by_letters_of_its_title(talk):
    c = begin(talk)
    c.ask("about apples")
    c.say("/clear", "Started new thread")
    c.ask("about pears")
    seen = c.say("/threads", "first words")
    assert "about apples\n" in seen and "about pears\n" in seen
    c.say("apples", "Resumed thread")
    assert c.ask("more") == ["about apples", "more"]


def test_the_latest_thread_is_not_the_one_that_is_open(talk):
    c = begin(talk)
    c.say("/threads -r", "this directory has no other thread")
    c.ask("about apples")
    c.until("Hello there.")
    c.say("/clear", "Started new thread")
    c.ask("about pears")
    c.until(lambda t: t.count("Hello there.") == 2)
    c.say("/threads -r", "Resumed thread")
    assert c.ask("more") == ["about apples", "more"]


def test_the_lock_of_a_thread_moves_with_the_chat(talk, run):
    c = begin(talk)
    c.ask("about apples")
    c.until("Hello there.")
    assert in_use(run) == {"apples"}
    c.say("/clear", "Started new thread")
    c.ask("about pears")
    c.until(lambda t: t.count("Hello there.") == 2)
    assert in_use(run) == {"pears"}
    c.say("/resume", "first words")
    c.say("apples", "Resumed thread")
    assert in_use(run) == {"apples"}


def test_unknown_commands_name_the_nearest(talk):
    c = begin(talk)
    c.say("/modle x", "Did you mean /model?")
    assert not c.server.requests


def test_tokens_are_those_of_the_thread(talk):
    c = talk(HELLO, "-M", "anthropic:claude-opus-5")
    c.say("/tokens", "No token usage yet")
    c.say("hi", "Hello there.")
    c.say("/tokens", "7 tokens in")
    c.say("/clear", "Started new thread")
    c.say("/tokens", "No token usage yet", 2)


def test_help_groups_the_commands_and_fits_any_width(talk):
    c = begin(talk, HELLO, columns=40, lines=60)
    c.say("/help", "/version /about")
    seen = c.text(True)
    for title in ("Conversation", "Sandbox and files", "Settings", "Chat"):
        assert f"\n{title}" in seen
    assert seen.index("/clear") < seen.index("/upload") < seen.index("/quit ")


def test_the_last_answer_is_copied_without_its_controls(talk, env, tmp_path):
    taken = tmp_path / "taken"
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "wl-copy"
    program.write_text(f"#!/bin/sh\ncat > {taken}\n")
    program.chmod(0o755)
    env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"
    env["WAYLAND_DISPLAY"] = "wayland-0"
    c = begin(talk, {"turns": [{"text": "An\x1b[31m answer.\n"}],
                     "repeat": True, "by": "count"})
    c.say("/copy", "No message to copy yet.")
    c.say("hi", "answer.")
    c.say("/copy", "Copied latest response to clipboard")
    assert taken.read_text() == "An answer."


def test_the_answer_of_a_resumed_thread_is_copied(talk):
    c = begin(talk)
    c.tmux("set", "-g", "set-clipboard", "on")
    c.ask("hi")
    c.until("Hello there.")
    c.say("/clear", "Started new thread")
    c.say("/copy", "No message to copy yet.")
    c.say("/resume latest", "Resumed thread")
    c.say("/copy", "OSC 52")
    assert c.tmux("show-buffer") == "Hello there."


@on_screen
def test_a_call_without_a_word_is_not_the_answer_that_is_copied(talk):
    c = begin(talk, {"turns": [{"text": "Hello there."},
                               {"tool_calls": [{"name": "execute", "args": {
                                   "command": "echo x"}}]}], "by": "count"})
    c.tmux("set", "-g", "set-clipboard", "on")
    c.say("hi", "Hello there.")
    c.say("go", "y yes")
    c.keys("n")
    c.until("Stopped after")
    c.say("/clear", "Started new thread")
    c.say("/resume latest", "Resumed thread")
    c.say("/copy", "OSC 52")
    assert c.tmux("show-buffer") == "Hello there."


def test_without_a_program_the_terminal_is_given_the_answer(talk, env):
    c = begin(talk)
    c.tmux("set", "-g", "set-clipboard", "on")
    c.say("hi", "Hello there.")
    c.say("/copy", "OSC 52")
    assert c.tmux("show-buffer") == "Hello there."


def test_an_answer_beyond_what_terminals_take_is_not_copied(talk):
    c = begin(talk, {"turns": [{"text": "word " * 20000 + "end."}],
                     "repeat": True, "by": "count"})
    c.say("hi", "end.")
    c.say("/copy", "(limit 74994)")


def test_settings_are_read_again_without_losing_the_thread(talk, home):
    c = begin(talk)
    c.ask("the first")
    with open(home / ".deepagents" / "config.toml", "a") as f:
        f.write('[models.providers.third]\nwire = "openai-chat"\n'
                'base_url = "%s/v1"\napi_key_env = "OTHER_KEY"\n'
                '[threads]\nmax_size_mb = 77\n'
                % c.env["ANTHROPIC_BASE_URL"].rstrip("/"))
    c.say("/model third:x", "Unknown model provider")
    seen = c.say("/reload", "takes effect when dcode is restarted")
    assert "-> 77" in seen.replace("\n", " ") and "third" in seen
    c.say("/model third:x", "The model is third:x from")
    assert c.ask("the second") == ["the first", "the second"]


def test_a_broken_config_is_named_when_it_is_read_again(talk, home):
    c = begin(talk)
    (home / ".deepagents" / "config.toml").write_text("[[[\n")
    c.say("/reload", "config.toml:1")
    c.say("hi", "Hello there.")


@on_screen
def test_what_only_shows_does_not_wait_for_the_turn(talk):
    c = begin(talk, {"turns": [{"text": "Late answer.", "delay_ms": 4000}],
                     "repeat": True, "by": "count"})
    c.say("hi", "Esc stops it")
    seen = c.say("/version", "dcode 0.2.0", 2)
    assert "Late answer." not in seen
    c.say("/tokens", "+ /tokens")
    c.until("Late answer.")
    c.until("tokens in")


@on_screen
@pytest.mark.parametrize("typed, shown, taken", [
    ("/model sma", "other:small", "/model other:small"),
    ("/theme li", "light", "/theme light"),
    ("/upload note", "my\\ notes.txt", "/upload my\\ notes.txt"),
    ("/sandbox on-exit ke", "on-exit keep", "/sandbox on-exit keep"),
    ("/config pa", "path", "/config path")])
def test_arguments_are_completed(talk, tmp_path, typed, shown, taken):
    (tmp_path / "work" / "my notes.txt").write_text("x")
    c = begin(talk)
    c.type(typed)
    c.until(shown)
    c.keys("Tab")
    c.until(taken)


@on_screen
def test_threads_are_completed_by_their_ids(talk):
    c = begin(talk)
    c.ask("about apples")
    c.until("Hello there.")
    c.say("/clear", "Previous thread")
    c.type("/resume 0")
    c.until("  about apples")
    c.keys("Tab", "Enter")
    c.until("Resumed thread")


@on_screen
def test_an_unfinished_resume_shows_no_ids_and_opens_the_list(talk):
    c = begin(talk)
    c.ask("about apples")
    c.until("Hello there.")
    c.say("/clear", "Previous thread")
    c.type("/resu")
    c.until("Resume a stored thread")
    bottom = c.text().rsplit("\u276f /resu", 1)[1]
    assert "apples" not in bottom and "-" not in bottom.split("\u00b7")[0]
    c.keys("Enter")  # it is the only command that begins so
    c.until("first words")


def test_the_editor_writes_the_message(talk, env, tmp_path):
    program = tmp_path / "ed"
    program.write_text("#!/bin/sh\nprintf 'one\\ntwo\\n' > \"$1\"\n")
    program.chmod(0o755)
    env["VISUAL"] = str(program)
    c = begin(talk)
    n = len(c.server.requests)
    c.say("/editor", "two")
    if c.screen:
        c.keys("Enter")
    c.until("Hello there.")
    content = c.server.requests[n]["body"]["messages"][-1]["content"]
    assert content[0]["text"] == "one\ntwo"


def test_a_choice_that_is_left_changes_nothing(talk):
    c = begin(talk)
    c.say("/model")
    c.until("other:small", scrollback=True)
    c.keys("Escape" if c.screen else "Enter")
    c.until(lambda t: "Filter:" not in t)
    c.say("hi", "Hello there.")
    assert c.wire(0) == "anthropic"


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_thread_in_use_elsewhere_goes_on_as_a_copy_or_not_at_all(
        talk, answer):
    first = begin(talk)
    first.ask("about apples")
    first.until("Hello there.")
    c = begin(talk)
    c.ask("about pears")
    c.until("Hello there.")
    assert "this one " in c.say("/resume", "in use")
    c.say("apples", "Continue in a copy? [y/N]")
    c.say(answer, "Copied thread" if answer == "y" else "Error: thread")
    assert c.ask("more") == (["about apples", "more"] if answer == "y"
                             else ["about pears", "more"])
    c.until(lambda t: t.count("Hello there.") >= 2)
    c.say("/model other:big", "The model is other:big from")
    assert c.ask("last")[-2:] == ["more", "last"]


def test_a_command_that_waits_runs_in_its_turn(talk):
    c = begin(talk, {"turns": [{"text": "Late answer.", "delay_ms": 2000}],
                     "repeat": True, "by": "count"})
    c.ask("one")
    c.say("/clear")
    c.say("two")
    if c.screen:
        c.until("+ /clear")
    c.until("Started new thread")
    c.until(lambda t: t.count("Late answer.") == 2)
    sent = [r["body"]["messages"] for r in c.server.requests]
    assert [len(m) for m in sent] == [1, 1]


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 20), (200, 50)])
@on_screen
def test_lists_of_subcommands_break_no_word(talk, home, columns, lines):
    said = "See to it that each list is read at a glance, however narrow the " \
        "window of the reader may be"
    place = home / ".deepagents" / "agent" / "skills" / "see"
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(
        f"---\nname: see\ndescription: {said}\n---\nx\n")
    c = begin(talk, columns=columns, lines=lines)
    c.say("漢字 " + said, "Done in")
    c.say("/threads list", "THREAD  ")
    rows = [r for r in c.text(True).splitlines()
            if r.startswith("THREAD  ") or "(in use)" in r]
    head, row = rows[0], rows[1]
    assert len(rows) == 2 and row.endswith("… (in use)"), rows
    wide = sum(ch in "漢字" for ch in row)
    at = head.index("TITLE")
    assert row[at:].startswith("漢字 See"), row
    assert columns - 2 < len(row) + wide <= columns or columns == 200, row
    assert ("MODEL" in head) == (columns == 200), head
    assert ("COST" in head) == (columns >= 80), head
    c.keys("C-l")
    c.say("/skills", "skill-creator: ")
    seen = c.text().split("User skills")[1].split("Built-in")[0]
    rows = seen.splitlines()[1:]
    rows = rows[[r.startswith("  see:") for r in rows].index(True):]
    assert all(r.startswith("    ") for r in rows[1:]), rows
    assert " ".join(" ".join(rows).split()) == f"see: {said}"


def test_a_model_that_no_list_has_can_be_typed_in_the_list(talk):  # noqa: F811
    chat = begin(talk)
    chat.say("/model", "Model")
    if chat.screen:
        chat.type("opus")
        chat.until("\n> anthropic:claude-opus-5-5 ")
        chat.keys("End")
        chat.until(lambda t: re.search(r"^> opus +use it as typed\n\d", t,
                                       re.M))  # the last row
        chat.keys("C-u")
        chat.type("anthropic:new-one-7")
        chat.until("\n> anthropic:new-one-7 ")
        chat.keys("Enter")
    else:
        chat.type("anthropic:new-one-7")
        chat.keys("Enter")
        seen = chat.until("  anthropic:new-one-7  use it as typed")
        chat.say(re.search(r"(\d+)  anthropic:new-one-7  use", seen)[1])
    chat.until("anthropic:new-one-7 is not in the list of models; used as")
    chat.say("hello", "Hello there.")
    assert chat.server.requests[-1]["body"]["model"] == "new-one-7"
