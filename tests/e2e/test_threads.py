"""test_threads.py - dcode threads: list, show, rename, delete, prune."""
# SPDX-License-Identifier: MIT
import json
import sqlite3
import time

import pytest

HELLO = {"turns": [{"text": "Hello there."}], "repeat": True}
M = ("-M", "anthropic:m")


def rows(run, *args, **how):
    r = run("threads", "list", "--json", *args, **how)
    assert r.status == 0, r.err
    doc = json.loads(r.out)
    assert (doc["schema_version"], doc["command"]) == (1, "threads list")
    return doc["data"]


def database(home):
    return sqlite3.connect(home / ".deepagents" / ".state" / "dcode.db")


def test_the_list_tells_what_a_thread_is(model, run, home, tmp_path):
    model(HELLO)
    git = tmp_path / "work" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/fix\n")
    assert run("threads", "list").out == "No threads found.\n"
    assert rows(run) == []
    assert run("-n", "fix  the\ntests \x1b[31mnow", *M).status == 0
    (t,) = rows(run)
    assert t["title"] == "fix the tests now"
    assert t["model"] == "anthropic:m"
    assert t["cwd"] == str(tmp_path / "work")
    assert t["git_branch"] == "fix"
    assert (t["message_count"], t["turns"], t["headless"]) == (2, 1, True)
    assert (t["input_tokens"], t["output_tokens"]) == (10, 5)
    assert t["sandbox"] == {"provider": "none", "id": "", "label": "",
                            "state": ""}
    assert t["in_use_by"] == 0 and not t["imported"]
    assert t["patch"] is None
    assert t["updated_at"] >= t["created_at"]
    r = run("threads", "ls")
    assert r.status == 0
    for part in (t["thread_id"][:13], "s ago", "anthropic:m", "none",
                 "fix the tests now"):
        assert part in r.out, r.out
    assert "fix " in run("threads", "ls", "-v").out


def test_the_list_filters_sorts_and_limits(model, run, tmp_path):
    model(HELLO)
    other = tmp_path / "other"
    other.mkdir()
    for task, cwd in (("one", None), ("two", other), ("three", None)):
        assert run("-n", task, *M, cwd=cwd).status == 0

    def titles(*args, **how):
        return [t["title"] for t in rows(run, *args, **how)]
    assert titles() == ["three", "two", "one"]
    assert titles("--cwd") == ["three", "one"]
    assert titles("--cwd", str(other)) == ["two"]
    assert titles("--cwd", "../other") == ["two"]
    assert titles("-n", "2") == ["three", "two"]
    assert titles("--sort", "created", "--limit", "1") == ["three"]
    assert titles("--branch", "x") == []
    r = run("threads", "list", "-n", "1")
    assert "DA_CLI_RECENT_THREADS" in r.out
    assert "DA_CLI_RECENT_THREADS" not in run("threads", "list").out
    for wrong in (("-n", "0"), ("-n", "x"), ("--sort", "age")):
        assert run("threads", "list", *wrong).status == 2
    r = run("threads", "list", "--cwd", "/no/such/place")
    assert r.status == 0 and "not a directory" in r.err


def test_show_prints_the_conversation_masked_and_clean(model, run, env):
    env["ACME_API_KEY"] = "sekret-sekret-sekret"
    m = model([{"text": "Looking.", "tool_calls": [
        {"name": "ls", "args": {"path": "."}}]},
        {"text": "Your key is \x1b[2Jsekret-sekret-sekret. Done."}])
    env["OPENAI_API_KEY"] = "sekret-sekret-sekret"
    assert run("-n", "what is here", *M).status == 0
    assert not m.violations
    (t,) = rows(run)
    r = run("threads", "show", "latest")
    assert r.status == 0
    for part in (t["thread_id"], "> what is here", "Looking.", "* ls",
                 "Done."):
        assert part in r.out, r.out
    assert "\x1b" not in r.out and "sekret" not in r.out
    r = run("threads", "show", t["thread_id"][:13], "--json")
    data = json.loads(r.out)["data"]
    assert data["thread_id"] == t["thread_id"]
    assert [x["role"] for x in data["messages"]] == [
        "user", "assistant", "tool", "assistant"]
    assert data["messages"][1]["parts"][1]["name"] == "ls"
    assert "sekret" not in r.out


def test_a_wrong_id_is_told_with_near_ones(model, run):
    model(HELLO)
    assert run("-n", "x", *M).status == 0
    (t,) = rows(run)
    wrong = t["thread_id"][:10] + "zz"
    for what in (("show",), ("delete",), ("rename",)):
        tail = ("new",) if what == ("rename",) else ()
        r = run("threads", *what, wrong, *tail)
        assert r.status == 1, r.err
        assert "unknown thread " + wrong in r.err
        assert "Did you mean " + t["thread_id"] in r.err
    assert len(rows(run)) == 1
    r = run("threads", "show", "latest", cwd="/tmp")
    assert r.status == 1 and "no thread in this directory" in r.err


def test_rename_and_delete(model, run):
    model(HELLO)
    for task in ("one", "two"):
        assert run("-n", task, *M).status == 0
    two, one = [t["thread_id"] for t in rows(run)]
    assert run("threads", "rename", one, "a", "better\n", "name").status == 0
    assert [t["title"] for t in rows(run)] == ["two", "a better name"]
    assert run("threads", "rename", one, " ").status == 1 + 1
    r = run("threads", "delete", one, "--dry-run")
    assert r.status == 0 and "Would delete" in r.out
    assert len(rows(run)) == 2
    r = run("threads", "delete", one, "--json")
    assert json.loads(r.out)["data"] == [{"thread_id": one, "deleted": True}]
    assert [t["thread_id"] for t in rows(run)] == [two]
    r = run("threads", "delete", one)
    assert r.status == 1 and "unknown thread" in r.err
    r = run("threads", "delete", one, two, "--json")
    assert r.status == 1 and "unknown thread" in r.err
    assert json.loads(r.out)["data"] == [
        {"thread_id": one, "deleted": False},
        {"thread_id": two, "deleted": True}]


def test_a_thread_in_use_is_not_deleted(model, start, run):
    model([{"text": "slow", "delay_ms": 8000}])
    busy = start("-n", "wait", *M)
    for _ in range(100):
        time.sleep(0.05)
        found = rows(run)
        if found:
            break
    (t,) = found
    assert t["in_use_by"] == busy.pid
    r = run("threads", "delete", t["thread_id"])
    assert r.status == 1 and str(busy.pid) in r.err
    r = run("threads", "prune", "--keep", "0")
    assert r.status == 0 and "Nothing" in r.out
    busy.kill()
    busy.wait()
    assert rows(run)[0]["in_use_by"] == 0
    assert run("threads", "delete", t["thread_id"]).status == 0
    assert rows(run) == []


def test_prune_by_age_and_by_number(model, run, home):
    model(HELLO)
    for task in ("one", "two", "three"):
        assert run("-n", task, *M).status == 0
    with database(home) as db:
        db.execute("UPDATE thread SET updated = updated - 86400000 * 10"
                   " WHERE title = 'one'")

    def titles():
        return [t["title"] for t in rows(run)]
    r = run("threads", "prune", "--older-than", "8d", "--dry-run")
    assert "Would delete" in r.out and "(one)" in r.out
    assert len(titles()) == 3
    assert run("threads", "prune", "--older-than", "2w").status == 0
    assert len(titles()) == 3
    assert run("threads", "prune", "--older-than", "8d").status == 0
    assert titles() == ["three", "two"]
    assert run("threads", "prune", "--keep", "1").status == 0
    assert titles() == ["three"]
    for wrong in ((), ("--older-than", "soon"), ("--keep", "-1")):
        r = run("threads", "prune", *wrong)
        assert r.status == 2, (wrong, r.err)
    assert titles() == ["three"]


def test_a_sandbox_that_is_left_is_named_when_its_thread_goes(model, run,
                                                              home):
    model(HELLO)
    assert run("-n", "x", *M).status == 0
    with database(home) as db:
        db.execute("UPDATE thread SET provider='docker', sandbox='c0ffee',"
                   " label='dcode-abcd2345'")
        db.execute("INSERT INTO ledger(label, provider, endpoint, id, state,"
                   " created, ends, changed, pid, started, place) VALUES("
                   "'dcode-abcd2345', 'docker', '', 'c0ffee', 2, 1, 0, 1, 0,"
                   " 0, '')")
    (t,) = rows(run)
    assert t["sandbox"]["state"] == "live"
    assert "docker live" in run("threads", "list").out
    r = run("threads", "delete", t["thread_id"])
    assert r.status == 0
    assert "dcode sandbox rm abcd2345" in r.err


@pytest.mark.parametrize("prompt, title", [
    ("Fix the parser please. It fails on empty lines.",
     "Fix the parser please"),
    ("Why does make fail? See below.", "Why does make fail?"),
    ("Make the tests pass\n\nThey fail since Monday.", "Make the tests pass"),
    ("Hi. Read main.c, e.g. its end, please. Then stop.",
     "Hi. Read main.c, e.g. its end, please"),
    ("Only some words without an end", "Only some words without an end"),
    ("Use version 1.2.3 of it", "Use version 1.2.3 of it")])
def test_the_title_is_the_first_sentence(run, model, prompt, title):
    model({"turns": [{"text": "done."}]})
    assert run("-n", prompt, "-M", "anthropic:m").status == 0
    listed = json.loads(run("threads", "list", "--json").out)["data"]
    assert listed[0]["title"] == title


def test_cost_in_a_resumed_thread_counts_the_thread(run, model, terminal):
    model({"turns": [{"text": "done.", "usage": {"input": 9000,
                                                 "output": 90}}]})
    opus = ("-M", "anthropic:claude-opus-5")
    assert run("-n", "go", *opus).status == 0
    thread = rows(run)[0]["thread_id"]
    t = terminal("-r", thread, "--plain", *opus)
    t.until("> ")
    t.type("/cost\n")
    seen = t.until("total: $")
    assert "This thread, all runs:" in seen and "9000 in" in seen
    assert "Nothing has been used" not in seen


def test_cost_of_a_new_chat_says_that_nothing_was_used(model, terminal):
    model({"turns": []})
    t = terminal("--plain", "-M", "anthropic:m")
    t.until("> ")
    t.type("/cost\n")
    t.until("Nothing has been used yet.")
