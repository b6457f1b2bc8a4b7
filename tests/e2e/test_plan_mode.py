"""test_plan_mode.py - the model reads and plans; nothing runs before a yes."""
# SPDX-License-Identifier: MIT
import json
import subprocess
import time

import pytest

from mcp_rig import Mcp, calls, results
from test_approvals import call
from test_half_written import LATER, MANUAL, draft_at_question
from test_live_chat import DONE, execute, live  # noqa: F401
from test_steering import hooks

# pylint: disable=redefined-outer-name

ASKS = "Carry out this plan?"
PLAN = {"text": "1. touch made\n2. look at it"}
BAD = {"tool_calls": [
    {"name": "ls", "args": {"path": "."}},
    {"name": "execute", "args": {"command": "touch bad"}},
    {"name": "execute", "args": {"command": "touch bad",
                                 "run_in_background": True}},
    {"name": "write_file", "args": {"file_path": "bad", "content": "x"}},
    {"name": "edit_file", "args": {"file_path": "kept", "old_string": "a",
                                   "new_string": "b"}},
    {"name": "delete", "args": {"file_path": "kept"}}]}
READS = {"ls", "read_file", "glob", "grep", "job_output", "task", "fetch_url",
         "write_todos", "ask_user", "read_history", "web_search",
         "present_plan"}


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "kept").write_text("a\n")
    return tmp_path / "work"


def nothing_ran(work):
    return not (work / "bad").exists() and not (work / "made").exists() and \
        (work / "kept").read_text() == "a\n"


def offered(server, n):
    return {t["name"] for t in server.requests[n]["body"]["tools"]}


def prompt(server, n):
    return server.requests[n]["body"]["messages"][-1]["content"][-1]["text"]


def refusals(server, n):
    return sum("not available in plan mode" in json.dumps(b)
               for b in server.requests[n]["body"]["messages"][-1]["content"])


def plan(s, text="go"):
    s.keys("BTab", "BTab")
    s.until(lambda t: "plan" in t.splitlines()[-1] or "\nplan " in t)
    s.type(text)
    s.keys("Enter")


def answer(s, key):
    """A single key, without Enter."""
    s.until(lambda t: ASKS in t and ("y yes" in t or "y/n/e" in t))
    s.type(key)
    s.until(ASKS + " " + {"y": "yes", "a": "auto-edit", "n": "no",
                          "e": "edit"}[key])


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_a_plan_is_accepted_and_each_call_is_asked_about(
        live, work, columns, lines):
    s, server = live([PLAN, execute("touch made"), DONE, DONE],
                     columns=columns, lines=lines, ready="this machine")
    plan(s)
    s.until(ASKS)
    assert offered(server, 0) <= READS and "execute" not in offered(server, 0)
    assert "Plan mode" in prompt(server, 0) and "go" in prompt(server, 0)
    answer(s, "y")
    s.until("execute wants to run")
    assert "execute" in offered(server, 1) and nothing_ran(work)
    assert "Plan mode has ended" in prompt(server, 1)
    s.until(lambda t: "y yes" in t or "y/n" in t)
    s.type("y")
    s.until("done.")
    assert (work / "made").exists()
    s.until(lambda t: "\nmanual" in t)


def present(text, **more):
    return {"tool_calls": [{"name": "present_plan", "args": {"plan": text}}],
            **more}


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12)])
def test_a_plan_that_is_presented_is_asked_about_whatever_its_form(
        live, work, columns, lines):
    s, server = live([present("Make **made**, and nothing else."),
                      {"text": "Does that suit you?"}, execute("touch made"),
                      DONE], columns=columns, lines=lines,
                     ready="this machine")
    plan(s)
    s.until(ASKS)
    assert "present_plan" in offered(server, 0)
    seen = s.text(True)
    assert "Make made, and nothing else." in " ".join(seen.split())
    assert nothing_ran(work) and len(server.requests) == 2
    answer(s, "y")
    s.until("execute wants to run")
    assert "present_plan" not in offered(server, 2)
    assert "accepted the plan" in prompt(server, 2)
    s.until("y yes")
    s.type("y")
    s.until("done.")
    assert (work / "made").exists()


def test_a_plan_that_was_presented_once_is_not_asked_about_again(live, work):
    s, server = live([present("Make made."), {"text": "There."},
                      {"text": "The answer is 4."}])
    plan(s)
    answer(s, "n")
    s.type("how much is 2 + 2?")
    s.keys("Enter")
    s.until("The answer is 4.")
    s.until(lambda t: t.count("Done in") == 2)
    time.sleep(0.5)
    assert s.text(True).count(ASKS) == 1 and len(server.requests) == 3


def test_a_presented_plan_is_edited_before_it_is_accepted(
        live, work, env, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\ngrep -q 'Make made' \"$1\" && "
                      "echo 'Make other.' > \"$1\"\n")
    editor.chmod(0o755)
    env["EDITOR"] = str(editor)
    s, server = live([present("Make made."), {"text": "There."}, DONE])
    plan(s)
    answer(s, "e")
    s.until("Make other.")
    s.until(lambda t: t.count(ASKS) == 2 and "y yes" in t)
    answer(s, "y")
    s.until("done.")
    assert "Make other." in prompt(server, 2)


def test_outside_of_plan_mode_no_plan_is_presented(live, work):
    s, server = live([present("Make made."), DONE], args=["-y"])
    s.type("go")
    s.keys("Enter")
    s.until("done.")
    assert "present_plan" not in offered(server, 0)
    assert "not in plan mode" in json.dumps(server.requests[1]["body"])
    assert ASKS not in s.text(True)


def test_without_a_chat_the_plan_is_the_answer(run, model, work):
    server = model([{"text": "1. made"}])
    r = run("-n", "go", "-M", "anthropic:m", "--approval-mode", "plan")
    assert r.status == 0 and "1. made" in r.out
    assert "present_plan" not in offered(server, 0)


def test_all_that_changes_something_is_refused(live, work):
    s, server = live([BAD, PLAN], args=["-y"])
    plan(s)
    s.until(ASKS)
    assert refusals(server, 1) == 5 and nothing_ran(work)
    assert s.text().count("\u23bf Refused: plan mode\n") == 5
    assert "Do not try" not in s.text()  # that is for the model
    answer(s, "n")
    assert "plan" in s.text().splitlines()[-1] or "\nplan" in s.text()


def test_a_subagent_has_the_same_tools(live, work):
    task = {"tool_calls": [{"name": "task", "args": {
        "description": "look around", "subagent_type": "general-purpose",
        "prompt": "look around"}}]}
    s, server = live({"turns": [task, PLAN], "talks": {"look around": [
        BAD, {"text": "seen."}]}}, args=["-y"])
    plan(s)
    s.until(ASKS)
    child = [r["body"] for r in server.requests
             if "look around" in json.dumps(r["body"]["messages"][0])]
    assert len(child) == 2 and nothing_ran(work)
    assert {t["name"] for t in child[0]["tools"]} <= READS
    assert json.dumps(child[1]).count("not available in plan mode") == 5
    assert "Plan mode" in json.dumps(child[0]["messages"])


def test_a_subagent_in_plan_mode_gets_no_sandbox_of_its_own(
        run, model, work):
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c"]
    for line in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *line], cwd=work, check=True, timeout=60)
    task = {"tool_calls": [{"name": "task", "args": {
        "description": "look around", "own_sandbox": True,
        "subagent_type": "general-purpose"}}]}
    turns = {"turns": [task, PLAN],
             "talks": {"look around": [{"text": "seen."}]}}
    for mode, said in (("plan", "own_sandbox is not available in plan mode"),
                       ("manual", "seen.")):  # the second is the control
        server = model(turns)
        r = run("-n", "go", "-M", "anthropic:m", "--approval-mode", mode,
                "--sandbox", "local", "--workspace", "repo")
        assert r.status == 0, r.err
        assert said in json.dumps(server.requests[-1]["body"]["messages"][-1])


def test_the_plan_is_edited_before_it_is_accepted(live, work, env, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\ngrep -q 'touch made' \"$1\" && "
                      "echo '1. touch other' > \"$1\"\n")
    editor.chmod(0o755)
    env["EDITOR"] = str(editor)
    s, server = live([PLAN, DONE])
    plan(s)
    answer(s, "e")
    s.until("The plan is now:")
    s.until(lambda t: t.count(ASKS) == 2 and "y yes" in t)
    assert "1. touch other" in s.text() and len(server.requests) == 1
    answer(s, "y")
    s.until("done.")
    said = prompt(server, 1)
    assert "1. touch other" in said and "touch made" not in said


def test_a_message_in_place_of_an_answer_goes_on_planning(live, work):
    s, server = live([PLAN, {"text": "1. better\n2. less"}])
    plan(s)
    s.until("y yes")
    s.type("not so much: use less")
    s.until("\u276f not so much: use less")
    s.keys("Enter")
    s.until("1. better")
    s.until(lambda t: t.count(ASKS) >= 1)
    assert "not so much: use less" in prompt(server, 1)
    assert "Plan mode:" in prompt(server, 1) and nothing_ran(work)


def test_a_letter_at_a_draft_accepts_no_plan(live, work):
    s, server = live([{**PLAN, "delay_ms": 1200}, DONE])
    plan(s)
    s.until("waiting for")
    s.type("wait ")
    s.until(ASKS)
    s.until("Up/Down")
    s.type("y")
    s.until("\u276f wait y")
    time.sleep(0.5)
    assert len(server.requests) == 1
    s.keys("C-u")
    answer(s, "y")  # the control
    s.until("done.")


@pytest.mark.parametrize("columns", [80, 40])
def test_a_plan_is_accepted_with_auto_edit(live, work, columns):
    write = call("write_file", file_path="made", content="x")
    s, _ = live([PLAN, write, execute("touch bad"), DONE], columns=columns,
                ready="this machine")
    plan(s)
    answer(s, "a")
    s.until("execute wants to run")  # it has approved no call
    assert (work / "made").exists() and not (work / "bad").exists()
    s.until("\nauto-edit")


def test_an_accepted_plan_is_no_prompt_to_go_back_to(live):
    s, _ = live([PLAN, DONE])
    plan(s, "first of all")
    answer(s, "y")
    s.until("done.")
    s.type("/rewind")
    s.keys("Enter")
    seen = s.until("Go back to before a prompt")
    seen = s.until(lambda t: "first of all" in t[t.rindex("Go back to"):])
    assert "has accepted the plan" not in seen[seen.rindex("Go back to"):]


@pytest.mark.parametrize("asked, is_plan", [
    ("Shall I start with a.c?", True),
    ("Would you like me to proceed with this?", True),
    ("Should I start with a or b?", False), ("Which one?", False)])
def test_a_question_whether_to_begin_ends_a_plan(live, asked, is_plan):
    s, _ = live([{"text": PLAN["text"] + "\n\n" + asked}])
    plan(s)
    s.until(asked)
    s.until(ASKS if is_plan else "Done in")
    if not is_plan:
        time.sleep(0.5)
    assert (ASKS in s.text()) == is_plan


@pytest.mark.parametrize("text, is_plan", [
    ("The answer is 4.", False),
    ("There is one thing:\n1. the lock", False),
    ("It prints\n```\n1. one\n2. two\n```", False),
    ("Fix it:\n1. edit a.c\n2. test it", True),
    ("## Plan\n\nEdit a.c, then test it.", True),
    ("**Step 1** edit a.c\n**Step 2** test it", True)])
def test_only_an_answer_that_is_a_plan_is_asked_about(live, text, is_plan):
    s, _ = live([{"text": text}])
    plan(s, "how much is 2 + 2?")
    s.until(ASKS if is_plan else "Done in")
    if not is_plan:
        time.sleep(0.5)
    assert (ASKS in s.text()) == is_plan


@pytest.mark.parametrize("draft", ["", "less"])
def test_shift_tab_does_not_replace_the_question_about_a_plan(live, draft):
    s, server = live([{**PLAN, "delay_ms": 1200}, DONE])
    plan(s)
    s.until("waiting for")
    s.type(draft)
    s.until(ASKS)
    s.keys("BTab")
    seen = s.until("Answer the question first")
    assert ASKS in seen and "yolo" not in seen
    assert "changes the mode \u00b7 plan" in seen
    s.keys("C-u")
    answer(s, "y")  # the control
    s.until("done.")
    assert len(server.requests) == 2


@pytest.mark.parametrize("key", ["n", "Escape"])
def test_one_key_dismisses_the_question_about_a_plan(live, key):
    s, server = live([PLAN])
    plan(s)
    s.until("y yes")
    s.keys(key)
    s.until(ASKS + " no")
    assert len(server.requests) == 1
    s.until("\nplan")


def test_a_mode_that_shift_tab_only_passed_does_not_return(live, work):
    write = call("write_file", file_path="made", content="x")
    s, _ = live([PLAN, write, DONE])
    plan(s)  # past auto-edit
    answer(s, "y")
    s.until("write_file wants to")
    assert nothing_ran(work)


def test_the_note_that_plan_mode_has_ended_waits_for_a_prompt_that_is_sent(
        live, home):
    hooks(home, UserPromptSubmit="grep -q never && exit 2; exit 0")
    s, server = live([PLAN, DONE, DONE])
    plan(s)
    answer(s, "n")
    s.type("/manual")
    s.keys("Enter")
    s.until("The mode is manual.")
    s.type("never this")
    s.keys("Enter")
    s.until("a hook blocked the prompt")
    assert len(server.requests) == 1
    for n in (1, 2):
        s.type("now do it")
        s.keys("Enter")
        s.until(lambda t, n=n: t.count("done.") == n)
        assert ("Plan mode has ended" in prompt(server, n)) == (n == 1)


def test_the_mode_of_the_last_prompt_returns(live, work):
    write = call("write_file", file_path="made", content="x")
    s, _ = live([PLAN, write, DONE])
    s.type("/auto-edit")
    s.keys("Enter")
    s.until("The mode is auto-edit.")
    s.type("/plan")
    s.keys("Enter")
    s.until("The mode is plan.")
    s.type("go")
    s.keys("Enter")
    answer(s, "y")
    s.until("done.")
    assert (work / "made").exists() and "auto-edit" in s.text()


def last_result(server, n):
    blocks = server.requests[n]["body"]["messages"][-1]["content"]
    return json.dumps(blocks[-1]) if blocks[-1]["type"] == "tool_result" \
        else ""


def test_the_model_is_told_of_plan_mode_that_begins_and_ends_in_a_turn(
        live, work):
    look = {**call("ls", path="."), "delay_ms": 1500}
    s, server = live([look, look, look, look, DONE])
    s.keys("BTab")
    s.until("\nauto-edit")
    s.type("go")
    s.keys("Enter")
    s.until("waiting for")
    s.keys("BTab")
    s.until("\nplan")
    s.until(lambda _: len(server.requests) == 3)
    assert "[Plan mode: read, search" in last_result(server, 1)
    assert "Plan mode" not in last_result(server, 2)  # told once
    s.keys("BTab")  # yolo would have to be confirmed
    s.until("\u00b7 manual \u00b7")
    s.until("done.")
    told = [n for n in range(3, 5) if "Plan mode has ended"
            in last_result(server, n)]
    assert told == [3]
    assert "execute" not in offered(server, 1)
    assert offered(server, 3) == offered(server, 0)


def test_the_model_is_not_told_of_a_mode_that_changes_only_what_is_asked(
        live, work):
    look = {**call("ls", path="."), "delay_ms": 1500}
    s, server = live([look, DONE])
    s.type("go")
    s.keys("Enter")
    s.until("waiting for")
    s.keys("BTab")
    s.until("\nauto-edit")
    s.until("done.")
    assert "kept" in last_result(server, 1)
    assert "Plan mode" not in last_result(server, 1)
    assert "auto-edit" not in last_result(server, 1)


def test_a_yes_to_a_call_counts_no_more_once_plan_mode_is_on(live, work):
    s, server = live([LATER, PLAN])
    draft_at_question(s)
    s.keys("BTab", "BTab")
    s.until(lambda t: "\nplan" in t)
    s.keys("Down")
    s.until("> no ")
    s.keys("Left")
    s.until("> yes ")
    s.keys("Enter")
    s.until("Refused: plan mode")
    s.until(lambda _: len(server.requests) == 2)
    assert nothing_ran(work)
    assert refusals(server, 1) == 1


@pytest.mark.parametrize("command, said", [
    ("/model anthropic:n", "The model is anthropic:n"),
    ("/clear", "Started new thread")])
def test_a_model_that_is_opened_in_plan_mode_gets_all_tools_back(
        live, command, said):
    s, server = live([DONE, DONE])
    for line, shown in (("go", "done."), ("/plan", "The mode is plan."),
                        (command, said), ("/manual", "The mode is manual."),
                        ("go on", lambda _: len(server.requests) == 2)):
        s.type(line)
        s.keys("Enter")
        s.until(shown)
    assert offered(server, 1) == offered(server, 0)
    assert "You can look but not change" not in json.dumps(
        server.requests[1]["body"])


def test_a_question_of_the_model_is_not_a_plan(live):
    s, _ = live([{"text": "Which one?"}])
    plan(s)
    s.until("Which one?")
    time.sleep(0.5)
    assert ASKS not in s.text()


def test_in_lines_a_plan_is_accepted_or_talked_about(live, work):
    s, server = live([PLAN, PLAN, execute("touch made"), DONE],
                     args=["--plain", "--approval-mode", "plan"],
                     ready="/quit")
    s.type("go")
    s.keys("Enter")
    s.until(ASKS)
    time.sleep(0.4)
    s.type("use less")
    s.keys("Enter")
    s.until(lambda t: t.count(ASKS) == 2)
    assert "use less" in prompt(server, 1) and nothing_ran(work)
    time.sleep(0.4)
    s.type("y")
    s.keys("Enter")
    s.until("Allow it?")
    assert nothing_ran(work)
    time.sleep(0.4)
    s.type("y")
    s.keys("Enter")
    s.until("Done in")
    time.sleep(0.5)  # the message would be sent once more now
    assert len(server.requests) == 4
    assert json.dumps(server.requests[3]["body"]).count("use less") == 1


@pytest.mark.parametrize("more", [(), ("-y",), ("-S", "all")])
def test_a_task_in_plan_mode_prints_the_plan(run, model, work, more):
    server = model([BAD, PLAN])
    r = run("-n", "go", "-q", "-M", "anthropic:m", "--approval-mode", "plan",
            *more)
    assert r.status == 0, r.err
    assert r.out.strip() == PLAN["text"] and nothing_ran(work)
    assert offered(server, 0) <= READS and refusals(server, 1) == 5
    server = model([execute("touch made"), DONE])  # the control
    r = run("-n", "go", "-q", "-M", "anthropic:m", "-y")
    assert (work / "made").exists()


def test_a_task_in_plan_mode_says_what_it_may_do(run, model):
    model([PLAN])
    said = run("-n", "go", "-M", "anthropic:m", "-y", "--approval-mode",
               "plan").err
    assert "this run may only read, and write a plan" in said
    model([PLAN])  # the control
    assert "-y allows everything" in run("-n", "go", "-M", "anthropic:m").err


@pytest.mark.parametrize("tool", ["srv_add", "srv_look"])
def test_no_tool_of_an_mcp_server_is_there(run, model, home, work, tool):
    mcp = Mcp(home, work)
    mcp.own(srv=mcp.entry())
    server = model(calls(tool, a=1, b=2))
    r = run("-n", "hi", "-M", "anthropic:m", "-y", "--approval-mode", "plan")
    assert r.status == 0, r.err
    assert not [n for n in offered(server, 0) if n.startswith("srv_")]
    assert "not available in plan mode" in results(server)[0]
    assert not mcp.received("tools/call")
    server = model(calls(tool, a=1, b=2))  # the control
    assert run("-n", "hi", "-M", "anthropic:m", "-y").status == 0
    assert tool in offered(server, 0) and mcp.received("tools/call")


def test_a_mode_that_is_none_is_a_usage_error(run):
    assert run("-n", "go", "--approval-mode", "none").status == 2
    r = run("-n", "go", "--approval-mode", "auto-edit")
    assert r.status == 2 and "needs a chat" in r.err


def test_the_note_is_not_in_the_title(run, model, work):
    model([PLAN])
    run("-n", "tidy the parser", "-M", "anthropic:m", "--approval-mode",
        "plan")
    shown = run("threads", "list").out
    assert "tidy the parser" in shown and "Plan mode" not in shown


def test_under_a_policy_of_manual_shift_tab_goes_to_plan(live, work):
    s, server = live([PLAN], policy=MANUAL)
    s.keys("BTab")
    s.until(lambda t: "\nplan" in t)
    s.type("go")
    s.keys("Enter")
    assert "auto-edit" not in s.until("y yes")
    s.type("a")  # begins a message
    s.until("\u276f a")
    s.keys("BSpace")
    answer(s, "y")
    s.until(lambda _: len(server.requests) == 2)
    s.until(lambda t: "\nmanual" in t)
