"""test_no_answer.py - a task that ends without an answer does not end well."""
# SPDX-License-Identifier: MIT
import json

import pytest

from raw_http import RawServer, sse, whole
from test_failures import FILTER, PATHS, own

WRITE = {"name": "write_file", "args": {"file_path": "new.txt",
                                        "content": "x"}}
RUN = {"name": "execute", "args": {"command": "echo x > ran.txt"}}
READ = {"name": "ls", "args": {"path": "."}}


@pytest.fixture
def ask(run, model, env, config):
    """ask(wire, turns, *flags): one task, on this wire."""
    def to_end(wire, turns, *flags):
        server = model({"turns": turns, "by": "count"})
        own(env, config, server, wire)
        return run("-n", "go", "-M", "mine:m", "--max-retries", "0", *flags)
    return to_end


def result(r):
    return json.loads(r.out.strip().splitlines()[-1])


def turns_of(wire):
    return {"empty": ({"text": ""}, "an empty answer"),
            "blank": ({"text": " \n\t "}, "an empty answer"),
            "invisible": ({"text": "\u200b\x1b[m\x07"}, "an empty answer"),
            "thinking": ({"thinking": "hmm", "text": ""},
                         "the model thought but gave no answer"),
            "filter": ({"text": "Half", "stop": FILTER[wire]},
                       "rephrase it")}


@pytest.mark.parametrize("wire", PATHS)
def test_a_task_without_an_answer_ends_with_status_3(ask, wire):
    for name, (turn, words) in turns_of(wire).items():
        for flags in ((), ("-q",)):
            r = ask(wire, [turn], *flags)
            assert r.status == 3 and words in r.err, (name, flags, r.err)
        r = ask(wire, [turn], "--json")
        end = result(r)
        assert r.status == 3 and end["exit_status"] == 3, name
        assert end["status"] == "no_answer" and words in end["reason"], name
        assert end["refused"] == (name == "filter")
        assert words in r.err and r.err.count(words) == 1


@pytest.mark.parametrize("wire", PATHS)
def test_an_answer_ends_with_status_0_and_no_reason(ask, wire):
    r = ask(wire, [{"thinking": "hmm", "text": "yes"}], "--json")
    end = result(r)
    assert (r.status, end["status"], end["reason"], end["refused"]) == (
        0, "success", None, 0)
    r = ask(wire, [{"tool_calls": [READ]}, {"text": "yes"}], "-q")
    assert (r.status, r.out, r.err) == (0, "yes\n", "")


def test_an_empty_answer_after_work_that_was_done_is_no_answer(ask):
    r = ask("anthropic", [{"tool_calls": [WRITE]}, {"text": ""}], "-y")
    assert r.status == 3 and "an empty answer" in r.err


def test_a_refusal_with_finish_reason_stop_is_one(run, env, config):
    def chunk(delta, reason=None):
        return {"choices": [{"index": 0, "delta": delta,
                             "finish_reason": reason}]}
    stream = sse(chunk({"refusal": "I will not."}), chunk({}, "stop"))
    with RawServer(whole(stream)) as server:
        server.url = f"http://127.0.0.1:{server.port}"
        own(env, config, server, "openai-chat")
        r = run("-n", "go", "-M", "mine:m", "--json")
    assert r.status == 3 and result(r)["finish"] == "refusal"


@pytest.mark.parametrize("calls", [[WRITE], [RUN], [WRITE, RUN, READ]],
                         ids=["write", "run", "all"])
def test_a_run_whose_calls_were_refused_ends_with_status_4(ask, calls, home):
    turns = [{"tool_calls": calls}, {"text": "I could not."}]
    for flags in ((), ("-q",)):
        r = ask("anthropic", turns, *flags)
        assert r.status == 4 and "refused" in r.err, r.err
        assert r.out == "I could not.\n"
    r = ask("anthropic", turns, "--json")
    end = result(r)
    acts = len([c for c in calls if c is not READ])
    assert (r.status, end["status"], end["refused"]) == (4, "refused", acts)
    assert "refused" in end["reason"] and end["exit_status"] == 4
    # and all is well where they were not
    r = ask("anthropic", turns, "-y", "--json")
    end = result(r)
    assert (r.status, end["status"], end["refused"], end["reason"]) == (
        0, "success", 0, None)


def test_a_call_that_ran_beside_a_refused_one_is_a_success(ask, home):
    other = {"name": "execute", "args": {"command": "true"}}
    r = ask("anthropic", [{"tool_calls": [other, RUN]}, {"text": "done"}],
            "-S", "true", "--json")
    assert r.status == 0 and result(r)["refused"] == 1, r.err


def test_a_hook_that_refuses_all_counts_and_one_that_ends_the_run_does_not(
        ask, home):
    path = home / ".deepagents" / "hooks.json"
    path.parent.mkdir(exist_ok=True)

    def hook(event, command):
        path.write_text(json.dumps({"hooks": {event: [{"hooks": [
            {"type": "command", "command": command}]}]}}))
        path.chmod(0o600)
    turns = [{"tool_calls": [RUN]}, {"text": "done"}]
    hook("PreToolUse", "echo no >&2; exit 2")
    r = ask("anthropic", turns, "-y")
    assert r.status == 4, r.err
    hook("PostToolUse", "echo '{\"continue\": false}'")
    assert ask("anthropic", turns, "-y").status == 0


def test_calls_of_subagents_count(ask):
    task = {"name": "task", "args": {"description": "write",
                                     "subagent_type": "general-purpose"}}
    r = ask("anthropic", [{"tool_calls": [task]}, {"tool_calls": [WRITE]},
                          {"text": "no"}, {"text": "it could not"}], "--json")
    assert r.status == 4 and result(r)["refused"] == 1, r.err


def test_piped_text_has_the_same_ends(run, model):
    model([{"text": ""}])
    r = run("-M", "anthropic:claude-sonnet-4-5", stdin="go")
    assert r.status == 3 and "an empty answer" in r.err
