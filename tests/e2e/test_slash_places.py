"""test_slash_places.py - a chat moves its tools, and is left."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from slash_chat import (  # noqa: F401 (a fixture)
    HELLO, begin, on_screen, talk)

pytestmark = pytest.mark.usefixtures("sandbox_at_start")


def test_a_thread_moves_into_a_sandbox_and_back(talk, tmp_path):
    where = {"tool_calls": [{"name": "execute",
                             "args": {"command": "pwd > where"}}]}
    c = begin(talk, {"turns": [{"text": "Hello there."}, where,
                               {"text": "Made."}, {"text": "And back."}],
                     "by": "count"})
    c.ask("the first")
    c.say("/sandbox", "Tools run on this machine")
    c.say("/sandbox switch local", "now run in a sandbox of local")
    c.say("/sandbox status", "at the end")
    asked = c.ask("the second")
    assert asked[0] == "the first" and asked[1].endswith("the second")
    assert "files that were written there are not here" in asked[1]
    c.until("Made.")
    assert not (tmp_path / "work" / "where").exists()
    c.say("/sandbox on-exit delete", "the sandbox is deleted")
    c.say("/sandbox switch none", "now run on this machine")
    assert c.ask("the third")[-1].endswith("the third")
    c.until("And back.")


def test_a_sandbox_that_cannot_be_made_leaves_the_old_place(talk):
    c = begin(talk)
    c.say("/sandbox switch nobody", "Unknown sandbox provider")
    c.say("/sandbox", "Tools run on this machine")
    c.say("hi", "Hello there.")


def test_a_resumed_thread_brings_its_sandbox(talk):
    c = begin(talk, HELLO, "--sandbox", "local", "--keep")
    c.ask("about apples")
    c.until("Hello there.")
    c.keys("C-d")
    assert c.status() == 0
    c = begin(talk)
    c.ask("about pears")
    c.say("/resume", "first words")
    c.say("apples", "Resumed thread")
    c.say("/sandbox", "provider   local")
    assert c.ask("more") == ["about apples", "more"]


def test_a_sandbox_without_network_is_followed_by_none_with_one(talk, vendor):
    cloud = vendor("e2b")
    c = begin(talk, HELLO, "--sandbox", "e2b", "--sandbox-network", "none")
    c.say("/sandbox switch none", "now run on this machine")
    c.say("/sandbox switch e2b", "now run in a sandbox of e2b")
    made = [json.loads(r["body"]) for r in cloud.requests
            if "templateID" in r.get("body", "")]
    assert [m.get("allow_internet_access") for m in made] == [False, False]


def test_leaving_says_how_to_go_on_and_what_was_used(talk):
    c = begin(talk)
    c.say("hi", "Hello there.")
    c.say("/exit")
    seen = c.until("dcode -r ")
    assert c.status() == 0
    assert "Tokens: 7 in (0 of them cached), 3 out. Time: " in seen
    assert re.search(r"dcode -r [0-9a-f-]{36}", seen)


@pytest.mark.parametrize("way", ["end", "signal"])
def test_every_way_out_says_how_to_go_on(talk, way):
    c = begin(talk)
    c.say("hi", "Hello there.")
    if way == "end":
        c.keys("C-d")
    else:
        os.kill(c.pid(), signal.SIGTERM)
    c.until("dcode -r ")
    assert c.status() == {"end": 0, "signal": 143}[way]


@on_screen
def test_a_second_interrupt_says_how_to_go_on(talk):
    c = begin(talk)
    c.say("hi", "Hello there.")
    c.keys("C-c")
    c.until("again")
    c.keys("C-c")
    c.until("dcode -r ")
    assert c.status() == 130
    assert "Tokens: 7 in" in c.text()


def test_threads_of_one_sandbox_share_it(talk, run):
    id = run("sandbox", "create", "--sandbox", "local").out.strip()
    for words in (("--sandbox-id", id), ("--on-exit", "delete")):
        c = begin(talk, HELLO, "--sandbox", "local", *words, lines=60)
        c.ask("about apples")
        c.until("Hello there.")
        mine = re.search("\n  id +(\\S+)", c.say("/sandbox", "at the end"))
        c.say("/clear", "Started new thread")
        c.ask("about pears")
        c.say("/resume latest", "Resumed thread")
        again = c.say("/sandbox", "at the end", 2)
        assert re.findall("\n  id +(\\S+)", again)[-1] == mine.group(1)
        assert c.ask("more") == ["about apples", "more"]
        c.keys("C-d")
        assert c.status() == 0
    run("sandbox", "rm", "--force", id)


def test_leaving_says_that_an_attached_sandbox_stays(talk, run):
    id = run("sandbox", "create", "--sandbox", "local").out.strip()
    c = begin(talk, HELLO, "--sandbox", "local", "--sandbox-id", id)
    c.say("/quit")
    c.until("is not deleted: dcode did not create it")
    assert c.status() == 0
    run("sandbox", "rm", "--force", id)


def test_leaving_counts_what_is_not_applied_and_says_how(
        talk, run, tmp_path, home):
    work = tmp_path / "work"
    (work / "f").write_text("1\n")
    for words in (["init", "-q"], ["add", "f"],
                  ["-c", "user.name=a", "-c", "user.email=a@b", "commit",
                   "-qm", "x"]):
        subprocess.run(["git", *words], cwd=work, check=True)
    change = {"tool_calls": [{"name": "execute",
                              "args": {"command": "echo 2 > f"}}]}
    c = begin(talk, [change, {"text": "Done it."}], "--sandbox", "local",
              "--workspace", "repo", "--on-exit", "keep")
    c.say("go", "Done it.")
    c.say("/quit")
    seen = c.until("dcode -r ")
    assert c.status() == 0
    assert "1 changed file in the sandbox is not applied." in seen
    command = re.search(r"dcode apply (\S+)", seen)
    assert run("apply", command.group(1)).status == 0
    assert (work / "f").read_text() == "2\n"


def test_a_sandbox_that_has_ended_is_not_said_to_hold_work(talk, vendor):
    cloud = vendor("e2b")
    change = {"tool_calls": [{"name": "execute",
                              "args": {"command": "echo 2 > f"}}]}
    c = begin(talk, [change, {"text": "Done it."}, change], "--sandbox",
              "e2b", "--workspace", "none", "--on-exit", "stop")
    c.say("go", "Done it.")
    cloud.destroy(cloud.left()[0])
    c.say("again", "was not kept")
    seen = c.until("dcode -r ")
    assert c.status() == 1
    assert "are not applied here" not in seen and "not applied" not in seen


def test_advice_in_the_chat_names_the_commands_of_the_chat(talk, tmp_path):
    work = tmp_path / "work"
    (work / "f").write_text("1\n")
    for words in (["init", "-q"], ["add", "f"],
                  ["-c", "user.name=a", "-c", "user.email=a@b", "commit",
                   "-qm", "x"]):
        subprocess.run(["git", *words], cwd=work, check=True)
    change = {"tool_calls": [{"name": "execute",
                              "args": {"command": "echo 2 > f"}}]}
    c = begin(talk, [change, {"text": "Done it."}], "--sandbox", "local",
              "--workspace", "repo")
    c.say("go", "Done it.")
    (work / "f").write_text("3\n")
    c.say("/apply", "/apply --conflicts writes the files")
    (work / "f").write_text("1\n")
    assert "dcode apply" not in c.say("/apply", "/apply --undo undoes it")


def test_a_chat_without_a_tree_says_so(talk):
    c = begin(talk, HELLO, "--sandbox", "local", "--workspace", "none")
    seen = c.say("/diff", "this chat has no copy of the repository")
    assert "of thread" not in seen


def test_a_place_is_chosen_and_a_sandbox_that_was_kept_is_used_again(
        talk, run):
    id = run("sandbox", "create", "--sandbox", "local").out.strip()
    c = begin(talk)
    c.say("/sandbox switch", "kept until")
    c.say("local dcode", "now run in a sandbox of local")
    assert id[:12] in c.say("/sandbox", "at the end")
    c.say("/sandbox switch none", "now run on this machine")
    run("sandbox", "rm", "--force", id)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_chat_that_waits_for_a_choice(talk, number):
    c = begin(talk)
    c.say("hi", "Hello there.")
    c.say("/model", "other:small")
    os.kill(c.pid(), number)
    c.until("dcode -r ")
    assert c.status() == 128 + number


def test_what_was_allowed_in_a_sandbox_is_not_allowed_here(talk, tmp_path):
    change = {"tool_calls": [{"name": "execute",
                              "args": {"command": "echo x > made"}}]}
    c = begin(talk, {"turns": [change, {"text": "First."}, change,
                               {"text": "Second."}], "by": "count"},
              "--sandbox", "local", "-y", "--on-exit", "delete")
    c.say("go", "First.")  # the control: it is not asked about there
    c.say("/sandbox switch none", "asks about each call again")
    c.say("go on")
    c.until("echo x > made")
    c.until(lambda t: "y yes" in t or "Allow it?" in t)
    assert not (tmp_path / "work" / "made").exists()


def test_yolo_of_a_sandbox_does_not_return_here_with_a_plan(talk, tmp_path):
    change = {"tool_calls": [{"name": "execute",
                              "args": {"command": "echo x > made"}}]}
    c = begin(talk, {"turns": [{"text": "# Plan\nmake it"}, change,
                               {"text": "Made."}], "by": "count"},
              "--sandbox", "local", "--on-exit", "delete")
    c.say("/yolo", "Allow it? [y/N]")
    time.sleep(0.5)
    c.say("y", "The mode is yolo.")
    c.say("/plan", "The mode is plan.")
    c.say("/sandbox switch none", "asks about each call again")
    c.say("go", "Carry out this plan?")
    c.until(lambda t: "y yes" in t or "plan? [y/N" in t)
    time.sleep(0.5)
    c.say("y")
    c.until("execute wants to run" if c.screen else "echo x > made")
    c.until(lambda t: "y yes" in t or "Allow it?" in t)
    assert not (tmp_path / "work" / "made").exists()


@on_screen
def test_a_mode_chosen_while_the_place_changes_is_kept(talk, vendor):
    cloud = vendor("e2b")
    begun, goes_on = threading.Event(), threading.Event()
    destroy = cloud.destroy

    def hold(*args):
        begun.set()
        goes_on.wait(20)
        return destroy(*args)
    cloud.destroy = hold
    c = begin(talk, HELLO, "--sandbox", "e2b", "--on-exit", "delete")
    c.say("hi", "Hello there.")
    c.say("/auto-edit", "The mode is auto-edit.")
    c.say("/sandbox switch none")
    assert begun.wait(20)
    c.keys("BTab", "BTab")
    c.until("yolo: every call")
    c.keys("BTab")
    c.until(lambda t: "yolo: every call" not in t)
    goes_on.set()
    c.until("now run on this machine")
    last = c.until(lambda t: t.strip().splitlines()[-1].startswith(
        ("manual", "auto-edit"))).strip().splitlines()[-1]
    assert last.startswith("manual")
