"""test_think_tags.py - thinking that a model writes into its answer."""
# SPDX-License-Identifier: MIT
import json

import pytest

from test_failures import PATHS, own

TAGS = [("<think>", "</think>"), ("<THINK>", "</Think>"),
        ("<thinking>", "</thinking>"), ("[THINK]", "[/THINK]"),
        ("<seed:think>", "</seed:think>")]


@pytest.fixture
def ask(run, model, env, config):
    """ask(wire, turns, *flags): one task; .server has the requests."""
    def to_end(wire, turns, *flags):
        server = model({"turns": turns, "by": "count"})
        own(env, config, server, wire)
        r = run("-n", "go", "-M", "mine:m", *flags)
        r.server = server
        return r
    return to_end


def streamed(r):
    """What the events said: (thinking, text)."""
    events = [json.loads(line) for line in r.out.splitlines()]
    return tuple("".join(e["delta"] for e in events if e["type"] == kind)
                 for kind in ("thinking", "text"))


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_it_is_thinking_however_it_is_cut_into_deltas(ask, wire, size):
    turn = {"text": "\n<think>\nsecret plan < 3 </thin\n</think>\n\nIt is 4.",
            "token_chars": size}
    r = ask(wire, [turn], "--json")
    thinking, text = streamed(r)
    assert r.status == 0, r.err
    assert thinking.strip() == "secret plan < 3 </thin"
    assert text == "It is 4."
    assert json.loads(r.out.splitlines()[-1])["text"] == "It is 4."


@pytest.mark.parametrize("open_tag,close_tag", TAGS)
def test_it_is_not_printed_not_sent_back_and_stored_as_thinking(
        ask, run, model, env, config, open_tag, close_tag):
    turn = {"text": f"{open_tag}\nsecret plan\n{close_tag}\n\nIt is 4."}
    for flags in ((), ("-q",), ("--no-stream",)):
        r = ask("openai-chat", [turn], *flags)
        assert (r.status, r.out) == (0, "It is 4.\n"), r.err
        assert "secret" not in r.err
    server = model({"turns": [{"text": "next"}], "by": "count"})
    own(env, config, server, "openai-chat")
    r = run("-r", "latest", "-n", "and?", "-M", "mine:m")
    sent = json.dumps(server.requests[-1]["body"])
    assert r.status == 0 and "It is 4." in sent
    assert "secret plan" not in sent and "think>" not in sent
    shown = run("threads", "show", "latest", "--json").out
    kinds = {p["kind"]: p["text"] for m in json.loads(shown)["data"]["messages"]
             for p in m["parts"] if "secret" in p.get("text", "")}
    assert list(kinds) == ["thinking"]


def test_it_is_not_sent_back_within_a_turn_either(ask):
    r = ask("openai-chat", [
        {"text": "<think>\nsecret plan\n</think>\n",
         "tool_calls": [{"name": "ls", "args": {"path": "."}}]},
        {"text": "done"}])
    assert (r.status, r.out) == (0, "done\n")
    assert "secret plan" not in json.dumps(r.server.requests[-1]["body"])
    assert len(r.server.requests) == 2


@pytest.mark.parametrize("text", [
    "```xml\n<think>\nx\n</think>\n```\nThat is how it looks.",
    "The tag <think>x</think> is for thinking.",
    "A line.\n<think>\nx\n</think>\nanother.",
    "<thinkers> are people", "<", "<thin", " \n<b>bold</b>", "[THIN", "[1]",
])
def test_elsewhere_the_words_are_the_answers(ask, text):
    for size in (1, 1000):
        r = ask("openai-chat", [{"text": text, "token_chars": size}],
                "--json")
        thinking, said = streamed(r)
        assert (r.status, thinking, said) == (0, "", text), r.err


def test_a_server_that_tells_thinking_apart_is_taken_at_its_word(ask):
    r = ask("openai-chat", [{"thinking": "hm", "text": "<think>x</think> is "
                             "it.", "quirks": ["reasoning_content"]}],
            "--json")
    assert streamed(r) == ("hm", "<think>x</think> is it.")


def test_several_in_a_row_and_one_that_never_ends(ask):
    r = ask("openai-chat", [{"text": "<think>a</think>\n<think>b</think>\n\n"
                                     "Yes."}], "--json")
    assert streamed(r) == ("ab", "Yes.")
    r = ask("openai-chat", [{"text": "<think>on and on </thi"}], "--json")
    assert streamed(r) == ("on and on </thi", "")
    assert r.status == 3 and "the model thought but gave no answer" in r.err


# ---- the template of the model has the opening tag ----

LONE = "secret plan\nand more\n</think>\n\nIt is 4."


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_closing_tag_alone_ends_thinking(ask, wire, size):
    r = ask(wire, [{"text": LONE, "token_chars": size}], "--json")
    events = [json.loads(line) for line in r.out.splitlines()]
    again = [i for i, e in enumerate(events) if e.get("code") == "retrying"]
    assert (r.status, len(again)) == (0, 1), r.err
    kinds = {k: "".join(e["delta"] for e in events[again[0]:]
                        if e["type"] == k) for k in ("thinking", "text")}
    assert kinds["thinking"].strip() == "secret plan\nand more"
    assert kinds["text"] == events[-1]["text"] == "It is 4."


def test_thinking_before_a_closing_tag_is_not_sent_back(ask, run, model, env,
                                                        config):
    r = ask("openai-chat", [{"text": LONE}], "--no-stream")
    assert (r.status, r.out) == (0, "It is 4.\n"), r.err
    r = ask("openai-chat", [{"text": LONE, "token_chars": 3}])
    assert r.status == 0 and "above is the model's thinking" in r.err
    server = model({"turns": [{"text": "next"}], "by": "count"})
    own(env, config, server, "openai-chat")
    r = run("-r", "latest", "-n", "and?", "-M", "mine:m")
    sent = json.dumps(server.requests[-1]["body"])
    assert r.status == 0 and "It is 4." in sent
    assert "secret plan" not in sent and "think>" not in sent


def test_a_closing_tag_before_a_call_ends_thinking(ask):
    r = ask("openai-chat", [
        {"text": "secret plan\n</think>", "token_chars": 3,
         "tool_calls": [{"name": "ls", "args": {"path": "."}}]},
        {"text": "done"}])
    assert r.status == 0 and r.out.endswith("done\n")
    assert "secret plan" not in json.dumps(r.server.requests[-1]["body"])


@pytest.mark.parametrize("text", [
    "A tag:\n```\n</think>\n```\nThat is it.", "Write </think> at the end.",
    "A line.\n<think>\nx\n\n</think>\nanother.", "a\n</think>b\nc",
    "a\n</thin"])
def test_other_closing_tags_are_the_answers(ask, text):
    for size in (1, 1000):
        r = ask("openai-chat", [{"text": text, "token_chars": size}],
                "--json")
        assert streamed(r) == ("", text), r.err
