"""test_hooks_said.py - what hooks say to the model, or to nobody."""
# SPDX-License-Identifier: MIT
from slash_chat import begin, talk  # noqa: F401 (a fixture)
from test_hooks import (DONE, HOW, TOUCH, body, hook, note, own, told,
                        work, write)  # noqa: F401 (fixtures)

# pylint: disable=redefined-outer-name


def test_context_of_hooks_reaches_the_model(write, model, run):
    write(SessionStart=[hook("echo from the start", "startup"),
                        hook("echo not this", "resume")],
          UserPromptSubmit=[hook(own("UserPromptSubmit",
                                     additionalContext="for the prompt"))])
    server = model([DONE])
    assert run("-n", "x", *HOW).status == 0
    assert "from the start" in body(server)
    assert "for the prompt" in body(server) and "not this" not in body(server)


def test_context_before_a_call_follows_its_result(write, work, model, run):
    write(PreToolUse=[hook(own("PreToolUse", additionalContext="mind it"))],
          PostToolUse=[hook(own("PostToolUse", updatedToolOutput="cleaned"))])
    server = model([TOUCH, DONE])
    assert run("-n", "x", *HOW).status == 0
    assert '<hook_context event=\\"PreToolUse\\">\\nmind it' in body(server)
    assert "cleaned" in body(server)


def test_a_hook_that_asks_where_nobody_is_refuses_and_says_why(write, work,
                                                               model, run):
    write(PreToolUse=[hook(own("PreToolUse", permissionDecision="ask"))])
    server = model([TOUCH, DONE])
    assert run("-n", "x", *HOW).status == 4
    assert "hook requires approval for this call" in body(server)
    assert not (work / "log").exists()


def test_a_timeout_of_null_is_the_usual_one(run, model, write, work):
    write(PreToolUse=[hook("echo > ran", "Bash", timeout=None)])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and (work / "ran").exists(), r.err
    assert "left out" not in r.err


def test_a_thread_that_a_chat_resumes_is_a_session_of_its_own(write, work,
                                                              talk):
    write(SessionStart=[hook(f"{note(work)}; echo it began")],
          UserPromptSubmit=[hook(note(work))], SessionEnd=[hook(note(work))])
    c = begin(talk)
    c.say("/clear", "Started new thread")
    c.ask("the first")
    assert body(c.server).count("it began") == 1
    c.until("Hello there.")
    c.say("/clear", "Previous thread: ")
    c.ask("the second")
    c.until(lambda t: t.count("Hello there.") == 2)
    c.say("/resume latest", "Resumed thread")
    c.ask("the third")
    seen = [(e["hook_event_name"], e.get("reason", e.get("source")),
             e["session_id"]) for e in told(work)]
    first, second = seen[2][2], seen[5][2]
    assert seen[2:] == [
        ("SessionStart", "clear", first), ("UserPromptSubmit", None, first),
        ("SessionEnd", "clear", first),
        ("SessionStart", "clear", second), ("UserPromptSubmit", None, second),
        ("SessionEnd", "resume", second),
        ("SessionStart", "resume", first), ("UserPromptSubmit", None, first)]
