"""test_export.py - a thread leaves as one file and goes on elsewhere."""
# SPDX-License-Identifier: MIT
import base64
import json
import re
import sqlite3
import stat
import subprocess

import pytest

from terminal import Terminal
from test_hostile_chat import execute

M = ("-M", "anthropic:m")
SECRET = 'sekret-"quoted"-sekret'
HELLO = {"turns": [{"text": "Hello there."}], "repeat": True}


def talk(model, run, env):
    """One thread whose every part holds the secret; returns its id."""
    model([{"text": f"Looking for {SECRET}.", "tool_calls": [
        {"name": "write_file", "args": {
            "file_path": "/tmp/none/x", "content": f"key = '{SECRET}'\n"}}]},
        {"text": "**Done**, " + SECRET}])
    env["OPENAI_API_KEY"] = SECRET
    r = run("-n", "fix the tests", *M)
    assert r.status == 4, r.err  # the call was refused
    return thread(run)["thread_id"]


def threads(run, **how):
    return json.loads(run("threads", "list", "--json", **how).out)["data"]


def thread(run, **how):
    return threads(run, **how)[0]


def shown(run, **how):
    r = run("threads", "show", "latest", "--json", **how)
    assert r.status == 0, r.err
    return json.loads(r.out)["data"]


def patches(home):
    folder = home / ".deepagents" / ".state" / "patches"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def elsewhere(tmp_path, env):
    """The environment of another machine: a home of its own."""
    (tmp_path / "elsewhere").mkdir()
    return {**env, "HOME": str(tmp_path / "elsewhere")}


def test_an_export_is_masked_private_and_carries_messages_only(
        model, run, env, tmp_path):
    name = talk(model, run, env)
    r = run("threads", "export", "latest", "out.json")
    assert r.status == 0 and "Wrote out.json (4 messages)" in r.out, r.err
    path = tmp_path / "work" / "out.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    doc = json.loads(text)
    assert (doc["format"], doc["version"]) == ("dcode-thread", 1)
    assert doc["thread"]["id"] == name
    assert doc["thread"]["title"] == "fix the tests"
    assert set(doc) == {"format", "version", "thread", "messages"}
    assert [m["role"] for m in doc["messages"]] == [
        "user", "assistant", "tool", "assistant"]
    call = doc["messages"][1]["parts"][1]
    assert json.loads(call["args"])["content"] == \
        "key = '[masked:OPENAI_API_KEY]'\n"
    assert text.count("[masked:OPENAI_API_KEY]") >= 3
    for gone in ("sekret", "127.0.0.1", "anthropic", str(tmp_path / "work")):
        assert gone not in text, gone
    # and what was said is still there
    assert "Looking for [masked:OPENAI_API_KEY]." in text


def test_an_export_replaces_nothing_unasked(model, run, tmp_path):
    model(HELLO)
    assert run("-n", "hi", *M).status == 0
    name = thread(run)["thread_id"]
    work = tmp_path / "work"
    assert run("threads", "export", "latest").status == 0
    first = work / f"thread-{name}.json"
    assert json.loads(first.read_text())["thread"]["id"] == name
    first.write_text("mine")
    r = run("threads", "export", "latest")
    assert r.status == 2 and "exists" in r.err and "--force" in r.err
    assert first.read_text() == "mine"
    assert run("threads", "export", "latest", "--force").status == 0
    assert json.loads(first.read_text())["thread"]["id"] == name
    (work / "link").symlink_to(first)
    (work / "folder").mkdir()
    for other in ("link", "folder", "/dev/null"):
        r = run("threads", "export", "latest", other, "--force")
        assert r.status == 2 and "not a regular file" in r.err
    r = run("threads", "export", "latest", "no/such/x")
    assert r.status == 1 and "no/such/x" in r.err
    assert sorted(p.name for p in work.iterdir()) == sorted(
        ["link", "folder", first.name])


def test_an_export_goes_on_elsewhere_with_the_same_messages(
        model, run, env, elsewhere, tmp_path):
    name = talk(model, run, env)
    assert run("threads", "export", name, "a.json").status == 0
    r = run("threads", "import", "a.json", env=elsewhere)
    assert r.status == 0 and "Imported 4 messages" in r.out, r.err
    data = shown(run, env=elsewhere)
    assert data["imported"] and data["origin_id"] == name
    assert data["thread_id"] != name and data["title"] == "fix the tests"
    assert data["model"] == "" and data["message_count"] == 4
    assert data["created_at"] == thread(run)["created_at"]
    assert data["cwd"] == str(tmp_path / "work")
    assert re.search(rf"^imported +{name}$", run(
        "threads", "show", "latest", env=elsewhere).out, re.M)
    assert run("threads", "export", "latest", "b.json",
               env=elsewhere).status == 0
    a, b = (json.loads((tmp_path / "work" / f).read_text())
            for f in ("a.json", "b.json"))
    assert a["messages"] == b["messages"]
    # the one that was exported is as it was
    assert [t["thread_id"] for t in threads(run)] == [name]


def test_a_pipe_does_as_well(model, run, env, elsewhere, dcode, tmp_path):
    model(HELLO)
    assert run("-n", "hi", *M).status == 0
    work = tmp_path / "work"
    out = subprocess.run([dcode, "threads", "export", "latest", "-"], env=env,
                         cwd=work, stdout=subprocess.PIPE, check=True).stdout
    r = subprocess.run([dcode, "threads", "import", "-", "--json"], input=out,
                       env=elsewhere, cwd=work, stdout=subprocess.PIPE,
                       check=True)
    doc = json.loads(r.stdout)
    assert doc["command"] == "threads import"
    assert doc["data"]["message_count"] == 2
    assert doc["data"]["origin_id"] == thread(run)["thread_id"]
    assert shown(run, env=elsewhere)["messages"][0]["parts"] == [
        {"kind": "text", "text": "hi"}]


def test_the_patch_comes_along_when_asked_and_is_only_put_aside(
        model, run, env, home, elsewhere, tmp_path):
    name = talk(model, run, env)
    r = run("threads", "export", name, "none.json", "--with-patch")
    assert r.status == 0 and name + " has no saved patch" in r.err
    binary = b"diff --git a/x b/x\n\x00\xff" + b"+y\n" * 40000
    folder = patches(home)
    (folder / f"{name}-2.patch").write_bytes(b"old")
    (folder / f"{name}-10.patch").write_bytes(binary)
    (folder / f"{name}-x.patch").write_bytes(b"another")
    r = run("threads", "export", name, "with.json", "--with-patch")
    assert r.status == 0 and "and the patch" in r.out and not r.err
    doc = json.loads((tmp_path / "work" / "with.json").read_text())
    assert doc["patch"]["name"] == f"{name}-10.patch"
    assert b"".join(map(base64.b64decode, doc["patch_base64"])) == binary
    assert "patch" not in json.loads(
        (tmp_path / "work" / "none.json").read_text())
    r = run("threads", "import", "with.json", env=elsewhere)
    assert r.status == 0, r.err
    (path,) = (tmp_path / "elsewhere" / ".deepagents" / ".state" /
               "patches").iterdir()
    assert path.read_bytes() == binary and str(path) in r.out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    new = thread(run, env=elsewhere)["thread_id"]
    assert path.name == f"{new}-imported.patch"
    # and it goes on from there
    r = run("threads", "export", new, "again.json", "--with-patch",
            env=elsewhere)
    assert r.status == 0 and not r.err
    again = json.loads((tmp_path / "work" / "again.json").read_text())
    assert again["patch_base64"] == doc["patch_base64"]


def test_a_secret_in_a_patch_is_told(model, run, env, home):
    name = talk(model, run, env)
    path = patches(home) / f"{name}-1.patch"
    path.write_bytes(b"x" * 49140 + SECRET.encode())  # over a chunk's end
    r = run("threads", "export", name, "a.json", "--with-patch")
    assert r.status == 0 and f"{path} contains a known secret" in r.err
    r = run("threads", "export", name, "-", "--html", "--with-patch")
    assert r.status == 0 and "sekret" not in r.out
    path.write_bytes(b"nothing")
    assert not run("threads", "export", name, "b.json", "--with-patch").err


def exported(messages, **more):
    return json.dumps({"format": "dcode-thread", "version": 1,
                       "messages": messages, **more})


def say(text, role="user"):
    return {"role": role, "parts": [{"kind": "text", "text": text}]}


@pytest.mark.slow
def test_half_a_file_is_no_thread_and_ends_with_1(run, home, tmp_path):
    good = exported([say("a"), say("b \\u00e9", "assistant")],
                    patch={"name": "p"}, patch_base64=["YQ==", "Yg=="])
    file = tmp_path / "work" / "f.json"
    for n in [*range(1, len(good), 7), len(good) - 1]:
        file.write_text(good[:n])
        r = run("threads", "import", "f.json")
        assert r.status == 1, (n, r.err)
        assert "f.json" in r.err and "the end is missing" in r.err
    r = run("threads", "import", "-", stdin=good[:-20])
    assert r.status == 1 and "the end is missing" in r.err
    assert threads(run) == [] and not list(patches(home).glob("*"))
    file.write_text(good)
    assert run("threads", "import", "f.json").status == 0
    assert len(threads(run)) == 1


def test_what_is_wrong_is_named_and_nothing_is_stored(run, home, tmp_path):
    good = exported([say("a"), say("b", "assistant")])
    wrong = {
        "{}": "format",
        "": "no JSON object",
        good.replace('"version": 1', '"version": 2'): "version",
        good.replace("dcode-thread", "other"): '"format" is not',
        good.replace('"assistant"', '\n"system"'): "line 1: message 2",
        exported([say("a"), say("x", "tool")],
                 patch={"name": "p"}, patch_base64=["YQ=="]): "message 2",
        exported([say("a")], patch={"name": "p"},
                 patch_base64=["YQ==", "?"]): "base64",
        exported([say("a")], sandbox={"provider": "docker",
                                      "id": "../x"}): "sandbox",
    }
    file = tmp_path / "work" / "f.json"
    for text, why in wrong.items():
        file.write_text(text)
        r = run("threads", "import", "f.json")
        assert r.status == 2 and why in r.err and "f.json" in r.err, r.err
        assert threads(run) == []
    assert not list(patches(home).iterdir())
    r = run("threads", "import", "missing.json")
    assert r.status == 1 and "missing.json: No such file" in r.err
    assert "is a directory" in run("threads", "import", ".").err
    file.write_text(good)
    assert run("threads", "import", "f.json").status == 0
    assert len(threads(run)) == 1


def test_an_import_brings_no_control_to_the_terminal(run, tmp_path):
    file = tmp_path / "work" / "f.json"
    file.write_text(exported(
        [say("x\x1b]0;own\x07\u202e")],
        thread={"id": "\x1b[2J", "title": "t\x1b[2J\n\u202eu",
                "created": 99999999999999},
        sandbox={"provider": "docker", "id": "abc"},
        grants=["all"], model="evil:m", base_url="http://evil.example"))
    for args in (("threads", "import", "f.json"), ("threads", "list"),
                 ("threads", "show", "latest")):
        r = run(*args)
        assert r.status == 0
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", r.out + r.err)
    data = shown(run)
    assert data["title"] == "t u" and data["origin_id"] == ""
    assert data["model"] == "" and data["updated_at"] < "2100"
    assert data["sandbox"]["provider"] == "docker"
    assert data["sandbox"]["label"] == ""
    r = run("threads", "import", "f.json")
    assert "The file names a sandbox, docker abc" in r.out


def test_an_import_that_has_no_room_is_refused_whole(run, config, tmp_path):
    (tmp_path / "work" / "f.json").write_text(
        exported([say("x" * 1000)] * 2000))
    config("[threads]\nmax_size_mb = 1\n")
    r = run("threads", "import", "f.json")
    assert r.status == 1 and "max_size_mb = 1" in r.err
    assert threads(run) == []
    config("[threads]\nmax_size_mb = 10\n")
    assert run("threads", "import", "f.json").status == 0
    assert thread(run)["message_count"] == 2000


@pytest.mark.slow
def test_an_import_that_was_killed_leaves_no_thread(start, run, home,
                                                    tmp_path):
    file = tmp_path / "work" / "f.json"
    file.write_text(exported([say("x" * 1000)] * 40000))
    p = start("threads", "import", "f.json")
    database = home / ".deepagents" / ".state" / "dcode.db"
    while p.p.poll() is None and not (
            database.with_name("dcode.db-wal").exists() and
            database.with_name("dcode.db-wal").stat().st_size > 1 << 20):
        pass
    p.kill()
    p.p.communicate()
    rows = sqlite3.connect(database).execute(
        "SELECT count(*) FROM message").fetchone()[0]
    assert rows in (0, 40000) and len(threads(run)) == (rows > 0)


@pytest.fixture
def offered(run, tmp_path):
    """An imported thread whose file names a running sandbox; its id."""
    r = run("sandbox", "create", "--sandbox", "local", "--json")
    assert r.status == 0, r.err
    row = json.loads(run("sandbox", "list", "--json").out)["data"][0]
    r = run("sandbox", "exec", row["id"], "--", "echo offered >f")
    assert r.status == 0, r.err
    (tmp_path / "work" / "f.json").write_text(exported(
        [say("a"), say("b", "assistant")],
        sandbox={"provider": "local", "id": row["id"]}))
    assert run("threads", "import", "f.json").status == 0
    return row["id"]


def told(server):
    return json.dumps(server.requests[-1]["body"]["messages"])


# The first is the imported answer.
LOOK = [{"text": "b"}, {"tool_calls": [execute("cat f || echo nothing")]},
        {"text": "seen"}]
JUST_SAY = [LOOK[0], {"text": "seen"}]


def in_chat(dcode, env, cwd, *typed):
    """A chat that resumes, answers and ends; what it showed."""
    t = Terminal([str(dcode), "-r", *M], env, cwd)
    try:
        for after, text in typed:
            t.until(after)
            t.type(text)
        t.until("dcode -r ")
        return t.seen
    finally:
        t.close()


def test_a_chat_asks_before_it_uses_the_offered_sandbox(
        dcode, env, run, model, offered, tmp_path):
    server = model(LOOK)
    shown_ = in_chat(dcode, env, tmp_path / "work",
                     ("Use this sandbox? [y/N] ", "y\r"), ("\n> ", "look\r"),
                     ("seen", "/quit\r"))
    assert f"names a sandbox: local {offered}" in shown_
    assert "offered" in told(server)
    r = run("sandbox", "exec", offered, "--", "cat f")
    assert (r.status, r.out) == (0, "offered\n")  # never deleted


def test_a_no_leaves_the_offered_sandbox_alone(
        dcode, env, run, model, offered, tmp_path):
    server = model(JUST_SAY)
    shown_ = in_chat(dcode, env, tmp_path / "work",
                     ("Use this sandbox? [y/N] ", "\r"), ("\n> ", "look\r"),
                     ("seen", "/quit\r"))
    assert "local" not in shown_.split("[y/N]")[1]
    assert '"a"' in told(server) and '"b"' in told(server)
    assert shown(run)["sandbox"]["provider"] == "none"


def test_without_anybody_to_ask_only_the_flags_use_the_sandbox(
        run, model, offered):
    server = model(JUST_SAY)
    r = run("-n", "look", "-r", "latest", *M)
    flags = f"--sandbox local --sandbox-id {offered}"
    assert r.status == 0 and flags in r.err
    assert "[y/N]" not in r.err and '"b"' in told(server)
    assert shown(run)["sandbox"]["provider"] == "none"
    assert run("threads", "import", "f.json").status == 0
    server = model(LOOK)
    r = run("-n", "look", "-r", "latest", *M, *flags.split())
    assert r.status == 0 and "offered" in told(server), r.err
    assert "names" not in r.err
    assert run("sandbox", "exec", offered, "--", "cat f").out == "offered\n"


def test_a_new_sandbox_in_place_of_the_offered_one_is_said(
        run, model, offered):
    assert "on offer" in run("threads", "show", "latest").out
    model(JUST_SAY)
    r = run("-n", "look", "-r", "latest", *M, "--sandbox", "local")
    assert r.status == 0, r.err
    assert ("To use the sandbox named in the imported file, add "
            f"--sandbox local --sandbox-id {offered}." in r.err)
    assert "This run makes a new one." in r.err
    assert run("sandbox", "exec", offered, "--", "cat f").out == "offered\n"
    model(JUST_SAY * 2)  # it has one of its own by now
    r = run("-n", "look", "-r", "latest", *M, "--sandbox", "local")
    assert r.status == 0 and "imported" not in r.err, r.err
    assert "on offer" not in run("threads", "show", "latest").out
