"""test_resume.py - a stored thread goes on: -r, in the chat and with -n."""
# SPDX-License-Identifier: MIT
import json
import random
import re
import sqlite3
import time

import pytest

from terminal import Terminal

LS = {"name": "ls", "args": {"path": "."}}
TALK = {"turns": [{"text": "Hello."}, {"text": "Again."}, {"text": "Third."}],
        "repeat": True}
A = ("-M", "anthropic:m")


def threads(run, *args):
    r = run("threads", "list", "--json", *args)
    assert r.status == 0, r.err
    return json.loads(r.out)["data"]


def sent(server, n=-1):
    return json.dumps(server.requests[n]["body"]["messages"])


@pytest.fixture
def chat(dcode, env, tmp_path):
    """chat(*args, cwd=...) -> a Terminal, not yet at its prompt."""
    open_ones = []

    def begin(*args, cwd="work"):
        (tmp_path / cwd).mkdir(exist_ok=True)
        open_ones.append(Terminal([str(dcode), *args], env, tmp_path / cwd))
        return open_ones[-1]
    yield begin
    for t in open_ones:
        t.close()


def leave(t, keys="/quit\n"):
    """Types the last words; what follows, and the exit status."""
    t.type(keys)
    status = t.end()
    return t.text, status


@pytest.mark.parametrize("spec", ["anthropic:m", "openai:m"])
def test_a_task_goes_on_with_all_that_was_said(model, run, spec):
    m = model([{"text": "Looking.", "tool_calls": [LS], "thinking": "Hm."},
               {"text": "Done."}, {"text": "As I said: done."}])
    assert run("-n", "what is here", "-M", spec).status == 0
    (t,) = threads(run)
    r = run("-r", t["thread_id"][:13], "-n", "and again")
    assert (r.status, r.out) == (0, "As I said: done.\n"), r.err
    assert not m.violations
    assert "what is here" in sent(m) and "and again" in sent(m)
    assert "Looking." in sent(m) and "Done." in sent(m)
    (again,) = threads(run)
    assert again["thread_id"] == t["thread_id"]
    assert again["message_count"] == t["message_count"] + 2
    # the same bytes as before, as a cache of the vendor's wants them
    before = m.requests[1]["body"]["messages"]
    after = m.requests[2]["body"]["messages"]
    for a, b in zip(before, after):
        drop = re.compile(r', "cache_control": \{[^}]*\}')
        assert drop.sub("", json.dumps(a)) == drop.sub("", json.dumps(b))


def test_bare_r_and_latest_mean_the_last_one_of_this_directory(
        model, run, tmp_path):
    m = model(TALK)
    other = tmp_path / "other"
    other.mkdir()
    assert run("-n", "first", *A).status == 0
    assert run("-n", "second", *A).status == 0
    assert run("-n", "elsewhere", *A, cwd=other).status == 0
    assert run("-r", "-n", "more").status == 0
    assert "second" in sent(m) and "elsewhere" not in sent(m)
    assert run("-n", "yet more", "-r", "latest").status == 0
    assert "second" in sent(m) and "more" in sent(m)
    assert len(threads(run)) == 3


def test_an_unknown_thread_is_an_error_and_nothing_is_asked(model, run, chat):
    m = model(TALK)
    r = run("-r", "-n", "x")
    assert r.status == 1 and "no thread in this directory" in r.err
    assert run("-n", "x", *A).status == 0
    (t,) = threads(run)
    wrong = t["thread_id"][:-2] + "zz"
    n = len(m.requests)
    for args in (("-n", "x"), ("-n", "x", "--json")):
        r = run("-r", wrong, *args)
        assert r.status == 1, r.err
        assert "unknown thread " + wrong in r.err
        assert "Did you mean " + t["thread_id"] in r.err
    c = chat("-r", wrong)
    c.until("Did you mean")
    assert len(m.requests) == n
    assert run("--fork", "-n", "x").status == 2


def test_an_empty_id_is_refused_and_names_no_thread(model, run, chat):
    m = model(TALK)
    assert run("-n", "first", *A).status == 0
    (before,) = threads(run)
    n = len(m.requests)
    for args in (("-r", ""), ("--resume=",), ("-r", "", "--fork")):
        r = run("-n", "go", *args)
        assert r.status == 2, r.err
        assert "argument -r/--resume: ID is empty; bare -r means" in r.err
    for command in ("show", "delete", "export"):
        r = run("threads", command, "")
        assert r.status == 2 and "id of the thread is empty" in r.err, r.err
    assert run("diff", "").status == 2
    t = chat(*A)
    t.until("/quit.\r\n\r\n> ")
    t.type("/resume ''\n")
    t.until("id of the thread is empty")
    assert len(m.requests) == n and threads(run) == [before]
    assert run("threads", "show", "latest").status == 0
    assert run("-n", "go", "-r").status == 0  # bare, and last on the line
    assert len(m.requests) == n + 1


def test_the_chat_shows_the_last_words_and_how_to_go_on(model, run, chat):
    m = model(TALK)
    t = chat("-r", *A)
    assert "No earlier thread" in t.until("/quit.\r\n\r\n> ")
    t.type("my first words\n")
    t.until("Hello.\r\nDone in ")
    t.until("\r\n\r\n> ")
    got, status = leave(t)
    (row,) = threads(run)
    assert status == 0
    assert "Resume this thread with:" in got
    assert "dcode -r " + row["thread_id"] in got
    t = chat("-r", row["thread_id"])
    got = t.until("/quit.\r\n\r\n> ")
    assert "my first words (2 messages" in got
    assert "> my first words\r\nHello.\r\n" in got
    t.type("and now?\n")
    t.until("Again.\r\nDone in ")
    t.until("\r\n\r\n> ")
    assert "my first words" in sent(m) and not m.violations
    leave(t)
    assert threads(run)[0]["message_count"] == 4
    t = chat(*A)
    t.until("> ")
    got, status = leave(t)
    assert "Resume this thread" not in got


def test_another_directory_is_asked_about_and_said(model, run, chat, tmp_path):
    m = model(TALK)
    (tmp_path / "other").mkdir()
    assert run("-n", "first", *A).status == 0
    (row,) = threads(run)
    work = str(tmp_path / "work")
    t = chat("-r", row["thread_id"], cwd="other")
    t.until("[y/N]")
    got, status = leave(t, "n\n")
    assert status == 1
    assert "cd %s && dcode -r %s" % (work, row["thread_id"]) in " ".join(
        got.split())
    assert len(m.requests) == 1
    r = run("-r", row["thread_id"], "-n", "x", cwd=tmp_path / "other")
    assert r.status == 0 and "last used in " + work in r.err
    assert threads(run)[0]["cwd"] == str(tmp_path / "other")
    r = run("-r", row["thread_id"], "-n", "x", cwd=tmp_path / "other")
    assert r.status == 0 and "last used in" not in r.err
    t = chat("-r", row["thread_id"])
    t.until("[y/N]")
    t.type("y\n")
    t.until("/quit.")


def test_a_thread_in_use_is_refused_or_copied(model, run, start, chat):
    m = model({"turns": [{"text": "one"}, {"text": "two", "delay_ms": 9000}]})
    assert run("-n", "begin", *A).status == 0
    (row,) = threads(run)
    busy = start("-r", row["thread_id"], "-n", "slow")
    for _ in range(100):
        time.sleep(0.05)
        if threads(run)[0]["in_use_by"]:
            break
    assert threads(run)[0]["in_use_by"] == busy.pid
    r = run("-r", row["thread_id"], "-n", "x")
    assert r.status == 1
    assert str(busy.pid) in r.err and "--fork" in r.err
    t = chat("-r", row["thread_id"])
    t.until("in a copy? [y/N]")
    got, status = leave(t, "n\n")
    assert status == 1 and "threads show" in " ".join(got.split())
    assert run("threads", "show", row["thread_id"]).status == 0
    t = chat("-r", row["thread_id"])
    t.until("in a copy? [y/N]")
    t.type("y\n")
    t.until("Copied thread")
    busy.kill()
    busy.wait()
    model(TALK)
    r = run("-r", row["thread_id"], "--fork", "-n", "in the copy")
    assert r.status == 0, r.err
    copy, first = threads(run)
    assert first["thread_id"] == row["thread_id"]
    assert copy["title"] == "begin"
    assert copy["message_count"] == first["message_count"] + 2
    assert run("-r", row["thread_id"], "-n", "go on").status == 0
    assert not m.violations


def test_the_model_stays_unless_told_and_extras_stay_with_their_vendor(
        model, run):
    m = model({"turns": [
        {"text": "a", "thinking": "secret thought", "tool_calls": [LS]},
        {"text": "b"}, {"text": "c", "thinking": "other thought",
                        "quirks": ["reasoning_content"]},
        {"text": "d"}], "repeat": True})
    assert run("-n", "one", *A).status == 0
    r = run("-r", "-n", "two", "-M", "openai:n")
    assert r.status == 0 and "used anthropic:m before" in r.err
    assert m.requests[-1]["wire"] == "openai-chat"
    assert "secret thought" not in sent(m) and "sig+" not in sent(m)
    r = run("-r", "-n", "three")
    assert r.status == 0 and "used anthropic:m before" not in r.err
    assert m.requests[-1]["body"]["model"] == "n"
    assert run("-r", "-n", "four", *A).status == 0
    assert "secret thought" in sent(m) and "other thought" not in sent(m)
    assert not m.violations


def test_a_refused_prompt_stays_out_after_a_resume(model, run):
    m = model({"turns": [{"text": "fine"}, {"text": "no", "stop": "refusal"},
                         {"text": "good"}], "by": "count"})
    assert run("-n", "harmless", *A).status == 0
    assert run("-r", "-n", "forbidden", *A).status == 3
    assert run("-r", "-n", "another", *A).status == 0
    assert "harmless" in sent(m) and "another" in sent(m)
    assert "forbidden" not in sent(m)
    shown = run("threads", "show", "latest").out
    assert "forbidden" in shown and "refused" in shown


def test_a_call_that_was_cut_off_is_told_as_unknown(model, run, start, home):
    m = model([{"tool_calls": [{"name": "execute",
                                "args": {"command": "sleep 30"}}]},
               {"text": "I see."}])
    busy = start("-n", "sleep", "-S", "all", *A)
    for _ in range(200):
        time.sleep(0.05)
        if threads(run) and threads(run)[0]["message_count"] == 2:
            break
    busy.kill()
    busy.wait()
    r = run("-r", "-n", "go on")
    assert (r.status, r.out) == (0, "I see.\n"), r.err
    assert "outcome of this call is unknown" in sent(m)
    assert not m.violations


@pytest.mark.parametrize("spec", ["anthropic:m", "openai:m"])
def test_killed_at_any_point_every_thread_resumes(model, run, start, home,
                                                  spec):
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    turns = [{"text": "t", "thinking": "h", "tool_calls": [LS, LS],
              "chunk_bytes": 200, "chunk_delay_ms": 2} for _ in range(4)]
    m = model({"turns": turns + [{"text": "done"}], "repeat": True})
    whole = run("-n", "measure", "-M", spec)
    assert whole.status == 0
    killed = 0
    for i in range(15):
        how = () if i % 3 == 0 else ("-r",)
        busy = start("-n", f"task {i}", "-M", spec, *how)
        time.sleep(rng.uniform(0, whole.seconds))
        killed += busy.p.poll() is None
        busy.kill()
        busy.wait()
    assert killed > 3, seed
    for t in threads(run, "-n", "100"):
        r = run("-r", t["thread_id"], "-n", "and now", "-M", spec)
        assert r.status == 0, (seed, r.err)
        assert not m.violations, (seed, m.violations)
    with sqlite3.connect(home / ".deepagents/.state/dcode.db") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.slow
def test_a_full_store_stops_storing_and_not_the_work(model, run, config, home):
    m = model([{"text": "x" * 300000, "tool_calls": [LS]}, {"text": "Done."}])
    config("[threads]\nmax_size_mb = 1\n")
    for i in range(4):
        assert run("-n", f"fill {i}", *A).status == 0
    r = run("-n", "one more", *A)
    assert r.status == 0 and r.out.endswith("Done.\n")
    assert "is no longer stored" in r.err and "threads prune" in r.err
    stored = len(threads(run))
    r = run("threads", "prune", "--keep", "1")
    assert r.status == 0
    assert len(threads(run)) == 1 < stored
    assert (home / ".deepagents/.state/dcode.db").stat().st_size < 1 << 20
    r = run("-n", "one more", *A)
    assert r.status == 0 and "not stored" not in r.err
    assert not m.violations
    config('[threads]\nwhen_full = "burn"\n')
    r = run("threads", "list")
    assert r.status == 1 and "use stop or prune" in r.err
