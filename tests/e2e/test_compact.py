"""test_compact.py - conversations that are longer than the model's window."""
# SPDX-License-Identifier: MIT
import json
import re
import signal
import time

import pytest

from lifecycle import wait_for
from slash_chat import OTHER, begin, talk  # noqa: F401 (a fixture)

WINDOW = 32000
SUMMARY = "SESSION INTENT: what the summary keeps.\nSUMMARY: done so far."
TODOS = {"todos": [{"content": "Öl, \"quoted\"", "status": "in_progress"}]}
# wire, what follows the server's address
WIRES = {"anthropic": "", "openai-chat": "/v1", "openai-responses": "/v1",
         "gemini": "/v1beta", "bedrock": ""}


def strings(value):
    """Every text of a request."""
    if isinstance(value, str):
        yield value
    for item in (value.values() if isinstance(value, dict)
                 else value if isinstance(value, list) else ()):
        yield from strings(item)


def head(body):
    """What no compaction may change."""
    return {k: v for k, v in body.items()
            if k in ("system", "systemInstruction", "instructions")} or \
        [m for m in body["messages"] if m["role"] == "system"]


def texts(record):
    return "\n".join(strings(record["body"]))


class Long:
    """Runs against a small window, each wire by its name as the vendor."""

    def __init__(self, model, run, config, env, work):
        self.model, self.run_, self.env, self.work = model, run, env, work
        self.config = config

    def serve(self, turns, at=WINDOW * 85 // 100, **window):
        window = {"tokens": WINDOW, "summary": SUMMARY, **window}
        self.server = self.model({"turns": turns, "by": "count",
                                  "repeat": True, "window": window})
        self.env.update(TEST_KEY="k-test", AWS_REGION="us-east-1")
        self.config(f"[models]\ncompact_at = {at}\n" + "".join(
            f'[models.providers.{name.replace("-", "_")}x]\nwire = "{name}"\n'
            f'base_url = "{self.server.url}{path}"\n'
            f'api_key_env = "TEST_KEY"\n' for name, path in WIRES.items()))
        return self.server

    def say(self, wire, prompt, *args, status=0, **how):
        r = self.run_("-n", prompt, "-y", "--json", "-M",
                      wire.replace("-", "_") + "x:m", *args, **how)
        assert r.status == status, (r.out[-2000:], r.err)
        r.events = [json.loads(line) for line in r.out.splitlines()]
        r.compactions = [e for e in r.events if e["type"] == "compaction"
                         and e["over"]]
        return r

    def thread(self):
        r = self.run_("threads", "list", "--json")
        return json.loads(r.out)["data"][0]

    def checked(self):
        """The requests; each was valid and inside the window."""
        assert self.server.violations == []
        done = [r for r in self.server.requests if "tokens" in r]
        assert [r["tokens"] for r in done if r["too_long"]] == []
        return done


@pytest.fixture
def long(model, run, config, env, tmp_path):
    return Long(model, run, config, env, tmp_path / "work")


def reading(work, n, size=3000):
    """Turns that each read a file of their own, then an answer."""
    turns = []
    for i in range(n):
        line = f"fact-{i}: the value of number {i} is {i * 7919}.\n"
        (work / f"f{i}").write_text(line * (size // len(line)))
        turns.append({"text": f"reading-{i} now", "tool_calls": [
            {"name": "read_file", "args": {"file_path": f"f{i}"}}]})
    return turns + [{"text": "the end of it"}]


@pytest.mark.parametrize("wire", WIRES)
def test_every_request_of_a_long_thread_fits_and_keeps_what_is_pinned(
        long, wire):
    turns = reading(long.work, 50)
    turns[4]["tool_calls"] = [{"name": "write_todos", "args": TODOS}]
    long.serve(turns)
    compactions = []
    for part in range(3):
        resume = ["-r"] if part else []
        prompt = f"Do part {part} \"exactly\" so: é\t{part}."
        n = len(long.server.requests)
        r = long.say(wire, prompt, *resume)
        compactions += r.compactions
        sent = [q for q in long.checked()[n:] if q["turn"] is not None]
        assert all(any(prompt in s for s in strings(q["body"]))
                   for q in sent)
    assert len(compactions) >= 3
    asked = [q for q in long.checked() if q["turn"] is not None]
    assert len(asked) == 153
    assert all(head(q["body"]) == head(asked[0]["body"]) for q in asked)
    late = [q for q in asked if SUMMARY in texts(q)]
    kept = {m.group(1) for q in late
            for m in re.finditer(r"<todos>\n(.*)\n</todos>", texts(q))}
    assert [json.loads(k) for k in kept] == [TODOS]
    assert "read_history" in texts(asked[-1])
    assert "read_history" not in texts(asked[0])


CHATTY = {"turns": [{"text": "A long answer. " * 80}], "repeat": True,
          "by": "count", "window": {"tokens": 10 ** 6, "summary": SUMMARY}}


def test_the_older_messages_give_way_to_a_summary_on_demand(talk, run):
    c = begin(talk, CHATTY)
    c.say("/compact", "Nothing to compact")
    for prompt in ("apples", "pears", "plums"):
        c.ask(prompt)
    c.until(lambda t: t.count("A long answer.") >= 3)
    c.say("/compact don't \\ forget  \"plan B\", please", "Context: about ")
    assert "awindowof128000tokensisassumed,see/tokens" in \
        "".join(c.text(True).split())
    asked = texts(c.server.requests[3])
    assert 'don\'t \\ forget  "plan B", please.' in asked
    assert "apples" in asked
    c.ask("the fourth")
    sent = texts(c.server.requests[4])
    assert SUMMARY in sent and "plums" in sent and "the fourth" in sent
    assert "apples" not in sent and "read_history" in sent
    c.say("/quit")
    shown = run("threads", "show", "latest").out
    before, mark, after = shown.partition("-- compacted here, ")
    assert "apples" in before and "plums" in before
    assert mark and "the fourth" in after and "> " not in \
        after.splitlines()[0]


def test_a_thread_goes_on_compacted_and_its_file_goes_with_it(long, home):
    long.serve(reading(long.work, 40))
    assert long.say("anthropic", "go").compactions
    files = list(home.glob(".deepagents/.state/conversation_history/*.md"))
    assert [f.stat().st_mode & 0o777 for f in files] == [0o600]
    assert "fact-0: the value of number 0" in files[0].read_text()
    n = len(long.server.requests)
    long.say("anthropic", "more", "-r", "latest")
    first = texts(long.server.requests[n])
    assert SUMMARY in first and "go" in first and "read_history" in first
    assert long.run_("threads", "delete", files[0].stem).status == 0
    assert not files[0].exists()


def test_a_refusal_as_too_long_leads_to_one_compaction_and_one_new_try(long):
    long.serve(reading(long.work, 30), tokens=14000)
    r = long.say("anthropic", "go")
    refused = [q for q in long.server.requests if q["too_long"]]
    assert refused and len(r.compactions) >= 1
    assert [e["code"] for e in r.events if e["type"] == "error"] == [
        "retrying"] * len(refused)


def test_an_answer_that_ends_at_the_window_is_asked_for_once_more(long):
    cut = {"text": "half of it", "stop": "model_context_window_exceeded"}
    turns = reading(long.work, 8)[:-1]
    long.serve(turns + [cut, {"text": "the whole of it"}], tokens=10 ** 6)
    r = long.say("anthropic", "go")
    assert len(r.compactions) == 1
    assert [e["message"] for e in r.events if e["type"] == "error"] == [
        "the answer exceeded the context window"]
    asked = [q for q in long.checked() if q["turn"] is not None]
    assert len(asked) == 10 and "fact-0" in texts(asked[8])
    assert len(texts(asked[9])) < len(texts(asked[8])) * 3 / 4
    assert r.events[-1]["status"] == "success"


def test_an_answer_that_ends_at_the_window_again_is_left_so(long):
    cut = {"text": "half of it", "stop": "model_context_window_exceeded"}
    turns = reading(long.work, 8)[:-1]
    long.serve(turns + [cut, cut], tokens=10 ** 6)
    r = long.say("anthropic", "go")
    assert len(r.compactions) == 1
    assert len([q for q in long.checked() if q["turn"] is not None]) == 10


def test_what_alone_is_too_large_is_named_before_any_request(long):
    long.serve([{"text": "no"}])
    r = long.say("anthropic", "word " * 22000, status=1)
    assert "request too large: about " in r.err
    assert "Largest part: the last message (" in r.err
    assert "send less at once" in r.err
    assert long.server.requests == []


def test_without_a_summary_the_first_words_take_its_place(long):
    turns = reading(long.work, 30)
    for t in turns:  # so that shorter results alone never do
        t["text"] += " and so on" * 150
    server = long.serve(turns, summary="")
    r = long.say("anthropic", "go on")
    assert [c["summary"] for c in r.compactions] == [False] * len(
        r.compactions) and r.compactions
    assert "could not be summarised" in r.out
    late = texts(server.requests[-1])
    assert "Request: go on" in late or "go on" in late
    assert "call of read_file" in late and long.checked()


def test_what_was_taken_out_is_found_again(long):
    turns = reading(long.work, 30)[:-1] + [
        {"tool_calls": [{"name": "read_history", "args": args}]}
        for args in ({"pattern": "FACT-3: the value"},
                     {"offset": 9, "limit": 1}, {"offset": 9999})
    ] + [{"text": "done"}]
    long.serve(turns)
    r = long.say("openai-chat", "go")
    results = [e for e in r.events if e["type"] == "tool_result"][-3:]
    assert "fact-3: the value of number 3 is 23757" in results[0]["content"]
    assert "-- message 9:" in results[0]["content"]
    assert results[1]["content"].count("is 23757.") > 40
    assert "Unknown message" in results[2]["content"]
    assert [e["is_error"] for e in results] == [False, False, True]


def test_context_says_what_fills_the_window(talk):
    c = begin(talk, CHATTY)
    c.ask("apples")
    c.until("A long answer.")
    seen = c.say("/context", "free; dcode compacts at")
    used = c.server.requests[0]["tokens"]
    assert f"(lastreported{used})" in "".join(seen.split()), seen
    for part in ("system prompt", "tool descriptions", "your messages",
                 "answers and thinking", "Next request: about"):
        assert part in seen


def test_an_assumed_window_is_told_with_what_to_set(talk):
    c = begin(talk, CHATTY)
    for n, command in enumerate(("/tokens", "/context"), 1):
        seen = c.say(command, "max_input_tokens = ", n)
        for part in ("of anthropic:m is unknown; dcode assumes 128000 tokens",
                     "[models.providers.anthropic.profile]"):
            assert seen.count(part) == n


def test_a_known_window_is_not_called_assumed(talk):
    c = talk(CHATTY, "-M", "anthropic:claude-opus-5")
    c.say("/tokens", "No token usage yet")
    c.say("/context", "free; dcode compacts at")
    assert "assumed" not in c.text()


@pytest.mark.parametrize("size, times", [(7999, 1), (8000, 0)])
def test_a_small_window_is_warned_of(model, run, config, size, times):
    model([{"text": "ok"}])
    config("[models.providers.anthropic.profile]\n"
           f"max_input_tokens = {size}\n")
    r = run("-n", "hi", "-M", "anthropic:m")
    assert r.status == 0, r.err
    assert r.err.count(f"Model 'm' has limited context ({size} tokens). "
                       "Agent performance may be affected.") == times, r.err


def three(c):
    """Three answers; then all of them are in the conversation."""
    for prompt in ("apples", "pears", "plums"):
        c.ask(prompt)
    c.until(lambda t: t.count("A long answer.") >= 3)


def test_what_would_not_get_shorter_stays_as_it_was(talk):
    c = begin(talk, {**CHATTY, "turns": [{"text": "A long answer."}]})
    three(c)
    c.say("/compact", "Compacting would save nothing: about ")
    before, after = map(int, re.search(
        r"about(\d+)->(\d+)tokens", "".join(c.text().split())).groups())
    assert after > before
    assert len(c.server.requests) == 3  # it has cost nothing
    c.ask("the fourth")
    sent = texts(c.server.requests[3])
    assert "apples" in sent and SUMMARY not in sent
    assert "read_history" not in sent


def test_a_first_refusal_as_too_long_does_not_end_the_thread(talk):
    refused = {"status": 400, "body": {"type": "error", "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: 210000 tokens > 200000 maximum"}}}
    c = talk({"turns": [{"text": "Hello there.", "fault": refused}],
              "repeat": True, "by": "count"}, "-M", "anthropic:claude-opus-5")
    c.say("the first", "prompt is too long")
    c.say("the second", "Hello there.")
    c.say("the third", "Hello there.", 2)
    assert "too large" not in c.text()


def test_an_interrupted_compaction_changes_nothing(talk):
    slow = {"chunk_bytes": 8, "chunk_delay_ms": 200}
    c = begin(talk, {**CHATTY, "window": {**CHATTY["window"], "pace": slow}})
    three(c)
    c.say("/compact")
    c.until(lambda _: len(c.server.requests) == 4)
    c.keys("C-c")
    c.until("Interrupted: the conversation is unchanged.")
    c.ask("the fourth")
    sent = texts(c.server.requests[4])
    assert "apples" in sent and "plums" in sent and SUMMARY not in sent


@pytest.mark.parametrize("talk", ["lines"], indirect=True)
def test_in_lines_an_interrupted_compaction_loses_no_message(talk):
    slow = {"chunk_bytes": 8, "chunk_delay_ms": 200}
    c = begin(talk, {**CHATTY, "window": {**CHATTY["window"], "pace": slow}})
    three(c)
    c.say("/compact")
    c.until(lambda _: len(c.server.requests) == 4)
    c.say("remember me", "remember me")
    time.sleep(0.3)  # dcode reads it while the command runs
    c.keys("C-c")
    c.until("Interrupted: the conversation is unchanged.")
    c.until(lambda _: len(c.server.requests) == 5)
    assert "remember me" in texts(c.server.requests[4])


def test_a_kill_during_a_compaction_loses_nothing(long, start):
    slow = {"chunk_bytes": 8, "chunk_delay_ms": 200}
    long.serve(reading(long.work, 40), pace=slow)
    p = start("-n", "go", "-y", "-M", "anthropicx:m", cwd=long.work)
    wait_for(lambda: any(q["turn"] is None for q in long.server.requests), 60)
    p.signal(signal.SIGKILL)
    p.wait()
    n = len(long.server.requests)
    long.serve([{"text": "still here"}])
    r = long.say("anthropic", "more", "-r", "latest")
    assert r.events[-1]["status"] == "success"
    sent = "".join(texts(q) for q in long.checked())
    assert n > 3 and "fact-0" in sent and "more" in sent


@pytest.mark.parametrize("before, after", [("anthropic", "openai-chat"),
                                           ("gemini", "anthropic"),
                                           ("openai-responses", "bedrock")])
def test_too_long_right_after_a_change_of_vendor(long, before, after):
    long.serve(reading(long.work, 8), tokens=10 ** 6)
    long.say(before, "go")
    long.serve([{"text": "still here"}], at=10 ** 6, tokens=6000)
    r = long.say(after, "more", "-r", "latest")
    assert r.events[-1]["status"] == "success" and len(r.compactions) == 1
    refused, summary, again = long.server.requests[0], *[
        q for q in long.server.requests if not q["too_long"]][-2:]
    assert refused["too_long"] and summary["turn"] is None
    assert "fact-0" not in texts(again) and "more" in texts(again)


def test_a_summary_that_fails_changes_nothing(talk):
    c = begin(talk, {**CHATTY, "window": {**CHATTY["window"], "summary": ""}})
    three(c)
    c.say("/compact", "the conversation was not compacted: ")
    c.until("the model returned no summary")
    c.ask("the fourth")
    sent = texts(c.server.requests[-1])
    assert "apples" in sent and "plums" in sent and "read_history" not in sent


def test_a_model_with_a_smaller_window_gets_a_compacted_thread(
        talk, monkeypatch):
    monkeypatch.setattr("slash_chat.OTHER", OTHER + """
[models.providers.other.profile]
max_input_tokens = 16000
""")
    c = begin(talk, {**CHATTY, "turns": [
        {"text": "A long answer. " * 600 + f"end-{i}"} for i in range(3)]})
    for n, prompt in enumerate(("apples", "pears", "plums")):
        c.ask(prompt)
        c.until(f"end-{n}")
    c.say("/model other:big", "The model is other:big from")
    n = len(c.server.requests)
    c.say("the fourth")
    c.until(lambda _: len(c.server.requests) >= n + 2)
    first, second = c.server.requests[n:n + 2]
    assert {c.wire(n), c.wire(n + 1)} == {"openai-chat"}
    assert "apples" in texts(first) and first["turn"] is None
    assert SUMMARY in texts(second) and "the fourth" in texts(second)
    assert "apples" not in texts(second)


def test_a_summary_is_cut_where_it_would_be_longer_than_what_it_replaces(
        talk):
    window = {**CHATTY["window"], "summary": "so \"much\"\n" * 2000}
    c = begin(talk, {**CHATTY, "window": window})
    three(c)
    c.say("/compact", "Context: about ")
    n = len(c.server.requests)
    c.ask("the fourth")
    sent = texts(c.server.requests[n])
    assert "bytes of the summary are left out" in sent
    assert "read_history shows the whole" not in sent
    assert "apples" not in sent
    assert c.server.requests[n]["bytes"] < \
        c.server.requests[2]["bytes"] + 1200


def test_a_fork_is_compacted_before_it_has_gone_on(talk, run):
    c = begin(talk, CHATTY)
    three(c)
    c.say("/quit")
    origin = run("threads", "list", "--json")
    origin = json.loads(origin.out)["data"][0]["thread_id"]
    script = {"turns": [{"text": "Later."}], "repeat": True, "by": "count",
              "window": CHATTY["window"]}
    c = talk(script, "-M", "anthropic:m", "-r", origin, "--fork")
    c.say("/compact", "Context: about ")
    c.ask("the fourth")
    sent = texts(c.server.requests[1])
    assert SUMMARY in sent and "apples" not in sent
    c.say("/quit")
    both = {t: json.loads(run("threads", "show", t, "--json").out)["data"]
            for t in (origin, "latest")}
    assert both[origin]["compactions"] == []
    assert [m["after"] for m in both["latest"]["compactions"]] == [6]
    assert len(both["latest"]["messages"]) == 8


def test_exports_say_where_a_compaction_stands(long):
    turns = reading(long.work, 40)
    long.serve(turns)
    n = len(long.say("anthropic", "go").compactions)
    r = long.run_("threads", "export", "latest", "t.json")
    assert r.status == 0, r.err
    r = long.run_("threads", "export", "latest", "t.html", "--html")
    assert r.status == 0, r.err
    file = json.loads((long.work / "t.json").read_text())
    marks = [m["after"] for m in file["compactions"]]
    assert len(marks) == n > 0 and marks == sorted(marks)
    shown = json.loads(long.run_("threads", "show", "latest", "--json").out)
    assert shown["data"]["compactions"] == file["compactions"]
    page = (long.work / "t.html").read_text()
    assert page.count("compacted here: ") == n
    before = page.partition("compacted here: ")[0]
    assert before.count("<section") == marks[0]
    r = long.run_("threads", "import", "t.json")
    assert r.status == 0, r.err
    shown = json.loads(long.run_("threads", "show", "latest", "--json").out)
    assert shown["data"]["compactions"] == []
    assert len(shown["data"]["messages"]) == len(file["messages"])
