"""test_trust_b17_streams.py - streams that end early, ids that come again,
results that have no call, text that a retry voids."""
# SPDX-License-Identifier: MIT
import json
import signal

import pytest

import raw_http as raw
from lifecycle import wait_for
from raw_http import RawServer, chat, messages, whole

WIRES = {"openai": chat, "anthropic": messages}
BEFORE_THE_FIRST_EVENT = {
    "comments": ": processing\n\n: processing\n\n",
    "blank lines": "\r\n\r\n\n",
    "a cut name": "even",
    "a cut value": "event: message_st",
    "a cut comment": ": proc",
    "a retry field": "retry: 3000\n\n",
    "a byte order mark": "\ufeff: hello\n",
}


@pytest.fixture
def ask(env, run):
    """ask(wire, answers, flags...) -> the Run of a task, and the server."""
    def go(wire, answers, *flags, runner=run):
        server = RawServer(*answers)
        at = f"http://127.0.0.1:{server.port}"
        env.update(ANTHROPIC_API_KEY="sk-a", ANTHROPIC_BASE_URL=at,
                   OPENAI_API_KEY="sk-o", OPENAI_BASE_URL=at + "/v1")
        return runner("-n", "hi", "-M", wire + ":m", *flags), server
    return go


@pytest.mark.parametrize("case", BEFORE_THE_FIRST_EVENT)
def test_a_stream_without_an_event_is_asked_for_again(ask, case):
    r, server = ask("anthropic", [whole(BEFORE_THE_FIRST_EVENT[case]),
                                  whole(messages("Hello."))])
    assert (r.status, r.out, len(server.requests)) == (0, "Hello.\n", 2), r.err
    assert "ended before the answer was complete" in r.err
    assert "address" not in r.err


@pytest.mark.parametrize("body", ["<html>sign in</html>", "datagram",
                                  "OK\n: x\n"])
def test_what_is_no_stream_is_not_asked_for_again(ask, body):
    r, server = ask("anthropic", [whole(body, kind="text/html")])
    assert r.status == 1 and len(server.requests) == 1
    assert "answered instead of the model" in r.err


def sent_ids(request):
    """The ids of calls and of results in a request, in order."""
    calls, results = [], []
    for m in request.body["messages"]:
        calls += [c["id"] for c in m.get("tool_calls", [])]
        if m["role"] == "tool":
            results.append(m["tool_call_id"])
        for part in m["content"] if isinstance(m["content"], list) else []:
            if part["type"] == "tool_use":
                calls.append(part["id"])
            elif part["type"] == "tool_result":
                results.append(part["tool_use_id"])
    return calls, results


@pytest.mark.parametrize("wire", WIRES)
def test_an_id_that_comes_again_is_made_unique(ask, wire):
    def turn(i, *ids):
        return whole(WIRES[wire](None, [
            (name, "execute", {"command": f"echo {i}{n}"})
            for n, name in enumerate(ids)]))
    # As servers that count from 0 in every message, and ids that are the same
    # once a vendor's rules are obeyed.
    r, server = ask(wire, [turn(0, "call:0", "call:1"),
                           turn(1, "call:0", "call_1"), turn(2, "call:0"),
                           whole(WIRES[wire]("Done."))], "-y", "--json")
    assert r.status == 0, r.err
    calls, results = sent_ids(server.requests[-1])
    assert calls == results and len(calls) == 5 == len(set(calls))
    events = [json.loads(line) for line in r.out.splitlines()]
    shown = [e["id"] for e in events if e["type"] == "tool_call"]
    assert shown == [e["id"] for e in events if e["type"] == "tool_result"]
    assert len(set(shown)) == 5


def test_every_result_follows_its_call(ask, start, tmp_path):
    answer = whole(messages(None, [(f"c{i}", "execute", {"command": command})
                                   for i, command in enumerate(
                                       ["touch began; sleep 60", "echo b",
                                        "echo c"])]))
    r, _ = ask("anthropic", [answer], "-y", "--json", runner=start)
    wait_for((tmp_path / "work" / "began").exists)
    r.signal(signal.SIGINT)
    r.wait(20)
    assert r.status == 130
    seen, results = set(), []
    for line in r.out.splitlines():
        event = json.loads(line)
        if event["type"] == "tool_call":
            seen.add(event["id"])
        if event["type"] == "tool_result":
            assert event["id"] in seen, line
            results.append(event["id"])
    assert results == ["c0", "c1", "c2"]


def cut(text):
    body = messages(text)
    at = body.index("content_block_stop")

    def answer(w, _request):
        w.send(raw.head("200 OK", f"Content-Length: {len(body)}"))
        w.send(body[:at])
        w.close()
    return answer


def test_text_that_a_retry_voids_is_said_to_be_void(ask):
    r, _ = ask("anthropic", [cut("It is 41."), whole(messages("It is 42."))])
    assert (r.status, r.out) == (0, "It is 41.\nIt is 42.\n")
    assert "the answer starts over" in r.err
    r, _ = ask("anthropic", [cut("It is"), whole(messages("It is 42."))])
    assert (r.status, r.out) == (0, "It is 42.\n")
    assert "may start over" in r.err and "starts over" not in r.err
    r, _ = ask("anthropic", [cut("It is 41."), raw.refused("400 Bad")])
    assert r.status == 1 and "Ignore the text above.\n" in r.err
    r, _ = ask("anthropic", [whole(messages("It is 42."))])
    assert (r.status, r.out) == (0, "It is 42.\n") and "void" not in r.err
