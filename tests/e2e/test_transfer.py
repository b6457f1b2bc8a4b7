"""test_transfer.py - --upload and --download around a run, and in the chat."""
# SPDX-License-Identifier: MIT
import json
import os
import signal
import time

import pytest

from terminal import Terminal

DONE = {"text": "done."}


def execute(command):
    return {"tool_calls": [{"name": "execute", "args": {"command": command}}]}


@pytest.fixture(params=["local"])
def box(request, env, config):
    if request.param == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\n')
    elif request.param != "local":
        request.getfixturevalue("vendor")(request.param)
    return request.param


every_way = pytest.mark.parametrize("box", ["local", "docker", "e2b"],
                                    indirect=True)


@pytest.fixture
def work(home):
    return home.parent / "work"


@pytest.fixture
def task(model, start, box):
    """task(script, *args): a run of these turns that was started."""
    def begin(script, *args):
        begin.server = model(script)
        return start("-n", "go", "-M", "anthropic:m", "--sandbox", box, *args)
    return begin


@pytest.fixture
def task_in(vendor, model, start):
    """task_in(name) -> (task(script, *args), the emulated vendor)."""
    clouds = {}

    def make(name):
        if name not in clouds:
            clouds[name] = vendor(name)

        def begin(script, *args):
            model(script)
            return start("-n", "go", "-M", "anthropic:m", "--sandbox", name,
                         *args)
        return begin, clouds[name]
    return make


def result_of(run):
    last = json.loads(run.out.splitlines()[-1])
    assert last["type"] == "result"
    return last


def sandboxes(run):
    return json.loads(run("sandbox", "list", "--json").out)["data"]


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@every_way
def test_uploads_are_there_before_setup_and_results_come_back(
        task, work, run):
    (work / "notes.txt").write_text("some notes\n")
    (work / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (work / "run.sh").chmod(0o755)
    (work / "data" / "deep").mkdir(parents=True)
    (work / "data" / "a").write_text("A")
    (work / "data" / "deep" / "b").write_bytes(bytes(range(256)))
    (work / "data" / "link").symlink_to("a")
    (work / "setup.sh").write_text("cp notes.txt seen-by-setup\n")
    r = task([execute("mkdir out; cp seen-by-setup in/link in/deep/b out; "
                      "/tmp/run.sh >out/ran; ln -s ran out/alias"), DONE],
             "--json", "--sandbox-setup", "setup.sh",
             "--upload", "notes.txt", "--upload", "run.sh:/tmp/",
             "--upload", "data:in", "--download", "out",
             "--download", "out/ran:got.txt").wait()
    assert r.status == 0, r.err
    out = work / "out"
    assert (out / "seen-by-setup").read_text() == "some notes\n"
    assert (out / "link").read_text() == "A"
    assert (out / "b").read_bytes() == bytes(range(256))
    assert os.readlink(out / "alias") == "ran"
    assert (work / "got.txt").read_text() == "ran\n"
    lines = [r.err.index(s) for s in (
        "✓ Uploaded notes.txt to ", "  deep/b\n", "✓ Uploaded data to ",
        "Running setup script", "  alias\n", "✓ Downloaded out to ./out: "
        "5 files", "✓ Downloaded out/ran to got.txt: 1 file", "Terminating")]
    assert lines == sorted(lines)
    said = result_of(r)["transfers"]
    assert [(t["direction"], t["from"], t["status"], t["files"], t["links"],
             t["skipped"]) for t in said] == [
        ("upload", "notes.txt", "ok", 1, 0, 0),
        ("upload", "run.sh", "ok", 1, 0, 0),
        ("upload", "data", "ok", 2, 1, 0),
        ("download", "out", "ok", 4, 1, 0),
        ("download", "out/ran", "ok", 1, 0, 0)]
    assert said[1]["to"] == "/tmp/run.sh" and said[3]["to"] == "./out"
    assert sorted(e["path"] for e in said[2]["entries"]) == [
        "a", "deep/b", "link"]
    assert {e["status"] for e in said[2]["entries"]} == {"ok"}
    assert sandboxes(run) == []


@every_way
def test_what_leads_out_of_a_tree_stays_there_and_fails_the_run(
        task, work, home):
    (home.parent / "secret").write_text("s")
    r = task([execute("mkdir t; ln -s /etc/passwd t/abs; ln -s ../../x t/up; "
                      "mkfifo t/pipe; echo f >t/f"), DONE],
             "--json", "--download", "t").wait()
    assert r.status == 1
    assert os.listdir(work / "t") == ["f"]
    assert "not copied: abs: the link leads out of the copy" in r.err
    result = result_of(r)
    assert (result["status"], result["text"], result["exit_status"]) == (
        "error", "done.", 1)
    said, = result["transfers"]
    assert (said["status"], said["files"]) == ("partial", 1)
    left = {e["path"]: e["reason"] for e in said["entries"]
            if e["status"] == "skipped"}
    assert set(left) >= {"abs", "up"} and "leads out" in left["up"]


def test_a_download_that_fails_fails_the_run_but_not_the_others(task, work):
    r = task([execute("echo here >b"), DONE], "--download", "missing",
             "--download", "b").wait()
    assert (r.status, r.out) == (1, "done.\n")
    assert ("--download missing: not found in the sandbox: "
            "/workspace/missing") in r.err
    assert "1 of 2 downloads failed" in r.err
    assert (work / "b").read_text() == "here\n"


def test_downloads_come_when_the_model_fails(task, work):
    r = task([execute("echo kept >f"),
              {"text": "x", "fault": {"status": 400, "body": {}}}],
             "--download", "f", "--json").wait()
    assert r.status == 1 and (work / "f").read_text() == "kept\n"
    assert result_of(r)["transfers"][0]["status"] == "ok"


def test_downloads_come_at_the_timeout(task, work):
    r = task([execute("echo kept >f; sleep 60"), DONE],
             "--download", "f", "--timeout", "4").wait()
    assert r.status == 124 and (work / "f").read_text() == "kept\n"
    assert "Downloading 1 path, for 60 s at most" in r.err


@every_way
def test_downloads_come_after_an_interrupt(task, work, run):
    r = task([execute("echo kept >f"),
              {"text": "abc", "fault": {"stall_after_bytes": 40}}],
             "--download", "f")
    wait_for(lambda: task.server.model.received == 2)
    r.signal(signal.SIGINT)
    r.wait()
    assert r.status == 130 and (work / "f").read_text() == "kept\n"
    assert "Downloading 1 path, for 60 s at most" in r.err
    assert sandboxes(run) == []


@pytest.mark.long
def test_a_download_that_hangs_after_an_interrupt_ends_in_a_minute(
        task, run):
    r = task([execute("mkdir -p t ~/.local/bin; cd ~/.local/bin; "
                      "printf '#!/bin/sh\nsleep 600\n' >tar; "
                      "chmod 755 tar"),
              {"text": "abc", "fault": {"stall_after_bytes": 40}}],
             "--json", "--download", "t")
    wait_for(lambda: task.server.model.received == 2)
    r.signal(signal.SIGINT)
    began = time.monotonic()
    r.wait(90)
    assert r.status == 130 and 55 < time.monotonic() - began < 80
    assert result_of(r)["transfers"][0]["error"]["code"] == "timeout"
    assert sandboxes(run) == []


def test_nothing_local_is_replaced_unless_forced(task, work, run):
    (work / "f").write_text("mine")
    (work / "d").mkdir()
    (work / "d" / "mine").write_text("mine")
    script = [execute("echo theirs >f; mkdir d; echo theirs >d/new"), DONE]
    for spec in ("f", "d", "x:f", "f:d/mine"):
        r = task(script, "--download", spec).wait()
        assert r.status == 2 and "already exists" in r.err
        assert "--force" in r.err and not task.server.requests
    assert "sandbox" not in r.err.split("Error")[0]
    r = task(script, "--download", "f", "--download", "d:.",
             "--force").wait()
    assert r.status == 0, r.err
    assert (work / "f").read_text() == "theirs\n"
    assert sorted(os.listdir(work / "d")) == ["mine", "new"]


@pytest.fixture
def kept(sandbox_first, task, run, work):
    """kept(*args): a run in the sandbox that an earlier run left."""
    (work / "f").write_text("old")
    (work / "d").mkdir()
    (work / "d" / "same").write_text("same")
    (work / "d" / "edited").write_text("old")
    (work / "d" / "sub").write_text("a file")
    (work / "d" / "link").symlink_to("same")
    (work / "dir").mkdir()
    (work / "dir" / "x").write_text("x")
    r = task([DONE], "--keep", "--upload", "f", "--upload", "d",
             "--upload", "dir").wait()
    assert r.status == 0, r.err
    box, = sandboxes(run)

    def again(*args, commands=()):
        return task([*map(execute, commands), DONE], "--json",
                    "--sandbox-id", box["id"], *args).wait()
    return again


@every_way
def test_uploads_replace_nothing_unless_forced_and_name_what_they_do_not(
        kept, work, task):
    (work / "f").write_text("new")
    (work / "new").write_text("n")
    r = kept("--upload", "f", "--upload", "new", "--upload", "d:dir/x")
    assert r.status == 1 and not task.server.requests
    assert "--upload f: " in r.err and "/f: the sandbox already has" in r.err
    assert "the path in the sandbox is not a directory" in r.err
    assert "2 of 3 uploads would replace" in r.err
    assert "--force" in r.err
    assert [(t["status"], t["files"]) for t in result_of(r)["transfers"]] == [
        ("failed", 0), ("ok", 1), ("failed", 0)]
    r = kept("--upload", "new", "--upload", "f:dir",
             commands=["cat f; cat new; cat dir/f"])
    assert r.status == 0 and "oldnnew" in r.out, r.err
    r = kept("--upload", "f", "--force", commands=["cat f"])
    assert r.status == 0 and "new" in r.out, r.err
    r = kept("--upload", "new:dir/x/", "--force")
    assert r.status != 0 and not task.server.requests
    r = kept("--upload", "dir:f", "--force")
    assert r.status == 1 and "is not a directory" in r.err


@every_way
def test_a_tree_that_meets_one_brings_what_is_new_and_names_the_rest(
        kept, work, task):
    (work / "d" / "edited").write_text("new")
    (work / "d" / "added").write_text("a")
    (work / "d" / "sub").unlink()
    (work / "d" / "sub").mkdir()
    (work / "d" / "sub" / "deep").write_text("x")
    (work / "d" / "x\ny").write_text("odd")
    r = kept("--upload", "d")
    assert r.status == 1 and not task.server.requests
    assert "not copied: edited: the sandbox already has a different" in r.err
    assert "not copied: sub: the path in the sandbox is not a" in r.err
    assert "deep" not in r.err and "same" not in r.err.replace("  same", "")
    said, = result_of(r)["transfers"]
    assert said["status"] == "partial" and said["skipped"] == 2
    assert {e["path"] for e in said["entries"] if e["status"] == "ok"} == {
        "same", "link", "added", "x\ny"}
    (work / "d" / "x\ny").write_text("changed")
    r = kept("--upload", "d",
             commands=["cat d/edited d/added d/sub d/x*y"])
    assert r.status == 1 and "not copied: x" in r.err
    assert r.err.count("the sandbox already has a different file at") == 2
    (work / "d" / "sub" / "deep").unlink()
    (work / "d" / "sub").rmdir()
    r = kept("--upload", "d", "--force",
             commands=["cat d/edited d/added d/sub d/x*y"])
    assert r.status == 0 and "newaa filechanged" in r.out, r.err


def test_one_command_asks_what_is_there_for_all_uploads(task_in, work):
    starts = []
    for n in 1, 9:
        for i in range(n):
            (work / f"f{i}").write_text("x")
        begin, cloud = task_in("e2b")
        cloud.forget()
        specs = [w for i in range(n) for w in ("--upload", f"f{i}")]
        assert begin([DONE], *specs).wait().status == 0
        starts.append(sum("/Start" in q["line"] for q in cloud.requests))
    # Each file is put in place by one command of its own.
    assert starts[1] == starts[0] + 8


def test_two_uploads_to_one_place_are_refused_before_one_is_sent(
        kept, work, task):
    (work / "e").mkdir()
    (work / "e" / "in").write_text("1")
    (work / "in").write_text("2")
    for args in (("--upload", "new:one", "--upload", "f:./one"),
                 ("--upload", "e:all", "--upload", "in:all/in")):
        (work / "new").write_text("n")
        r = kept(*args)
        assert r.status != 0 and not task.server.requests
        assert "both go to" in r.err and "nothing was sent" in r.err
        assert {t["status"] for t in result_of(r)["transfers"]} == {
            "not_tried"}
    r = kept("--upload", "new:dir", "--upload", "f:dir",
             commands=["cat dir/new dir/f; ls one all"])
    assert r.status == 0 and "nold" in r.out, r.err


def test_a_download_never_puts_a_directory_onto_a_file_nor_the_reverse(
        task, work):
    (work / "d").write_text("mine")
    (work / "in" / "f").mkdir(parents=True)
    (work / "in" / "f" / "mine").write_text("mine")
    script = [execute("echo theirs >f; mkdir d; echo theirs >d/new"), DONE]
    r = task(script, "--force", "--download", "d", "--download", "f:in",
             "--download", "f:free").wait()
    assert r.status == 1 and "2 of 3 downloads failed" in r.err, r.err
    assert (work / "d").read_text() == "mine"
    assert os.listdir(work / "in" / "f") == ["mine"]
    assert os.listdir(work / "in") == ["f"]
    assert (work / "free").read_text() == "theirs\n"


def test_a_file_that_appeared_meanwhile_is_not_replaced(task, work):
    r = task([execute("echo theirs >f; mkdir d; echo theirs >d/new"),
              dict(DONE, delay_ms=1500)],
             "--download", "f", "--download", "d")
    wait_for(lambda: task.server.model.received == 2)
    (work / "f").write_text("mine")
    (work / "d").mkdir()
    r.wait()
    assert r.status == 1 and r.err.count("already exists") == 2
    assert (work / "f").read_text() == "mine"
    assert os.listdir(work / "d") == []


def test_what_is_wrong_is_said_before_there_is_a_sandbox(task, work):
    (work / "ok").write_text("x")
    os.mkfifo(work / "pipe")
    for args, words in (
            (("--upload", "missing"), "argument --upload: missing: No such"),
            (("--upload", "ok", "--upload", "pipe"), "neither a file nor"),
            (("--upload", ":x"), "LOCAL is empty"),
            (("--download", ":x"), "REMOTE is empty"),
            (("--download", "x:-"), "not standard output"),
            (("--download", "x:no/such/y"), "no/such/: No such"),
            (("--download", "x:ok/y"), "ok/"),
            (("--force",), "--force requires --upload or --download"),
            (("--upload", "ok", "--upload", "./ok"), "both go to"),
            (("--download", "x", "--download", "y/x"), "both go to")):
        r = task([DONE], *args).wait()
        assert r.status == 2 and words in r.err, r.err
        assert "Starting" not in r.err and not task.server.requests
    r = task([DONE], "--upload", "ok").wait()
    assert r.status == 0 and "Starting" in r.err


@pytest.mark.parametrize("flag", ["--upload", "--download"])
def test_without_a_sandbox_transfers_are_refused(model, run, work, flag):
    (work / "f").write_text("x")
    server = model([DONE])
    r = run("-n", "go", "-M", "anthropic:m", flag, "f:g")
    assert r.status == 2 and not server.requests
    assert f"{flag} requires a --sandbox provider" in r.err


def test_an_upload_that_fails_ends_the_run_before_the_first_request(
        sandbox_first, task, work, run):
    (work / "f").write_text("x")
    r = task([DONE], "--json", "--upload", "f:/proc/nowhere/f",
             "--upload", "f", "--download", "out").wait()
    assert r.status == 1 and not task.server.requests
    assert "--upload f: " in r.err
    said = result_of(r)["transfers"]
    assert [t["status"] for t in said] == ["failed", "not_tried", "not_tried"]
    assert said[0]["error"]["message"] and sandboxes(run) == []


def test_a_colon_of_a_name_is_written_with_a_backslash(task, work):
    (work / "a:b").write_text("colon")
    r = task([execute("cp x:y z:1"), DONE], "--upload", "a\\:b:x:y",
             "--download", "z\\:1:got").wait()
    assert r.status == 0, r.err
    assert (work / "got").read_text() == "colon"


def test_many_files_get_a_few_lines_and_a_count(task, work):
    (work / "many").mkdir()
    for i in range(1200):
        (work / "many" / f"f{i}").write_text("x")
    r = task([execute("ls many | wc -l"), DONE], "--json",
             "--upload", "many").wait()
    assert r.status == 0
    assert r.err.count("\n  f") == 20 and "  ... and 1180 more" in r.err
    said, = result_of(r)["transfers"]
    assert (said["files"], len(said["entries"]), said["unlisted"]) == (
        1200, 1000, 200)
    assert '1200' in r.out


def test_quiet_runs_say_nothing_of_transfers_that_went_well(task, work):
    (work / "f").write_text("x")
    r = task([DONE], "-q", "--upload", "f", "--download", "f:g").wait()
    assert (r.status, r.out, r.err) == (0, "done.\n", "")
    assert (work / "g").read_text() == "x"


def test_names_from_the_sandbox_do_not_reach_the_terminal_raw(task, work):
    r = task([execute("mkdir t; touch \"t/$(printf 'a\\033[2Jb')\""), DONE],
             "--json", "--download", "t").wait()
    assert r.status == 0 and "\x1b" not in r.err + r.out
    assert os.listdir(work / "t") == ["a\x1b[2Jb"]


@pytest.fixture
def chat(dcode, env, work, model):
    """chat(turns, *args) -> (Terminal at its prompt, the model's server)."""
    open_ones = []

    def begin(turns, *args):
        server = model(turns)
        t = Terminal([str(dcode), "-M", "anthropic:m", *args], env, work)
        open_ones.append(t)
        t.until("> ")
        return t, server
    yield begin
    for t in open_ones:
        t.close()


def test_the_chat_uploads_and_downloads(chat, work, home):
    (work / "my notes").write_text("mine")
    (home / "h").write_text("of home")
    t, server = chat([execute("cat 'my notes' sub/h >out; cat out"), DONE],
                     "--sandbox", "local")
    t.type("/upload 'my notes'\n")
    t.until("Uploaded my notes to /workspace/my notes: 1 file")
    t.type("/upload ~/h sub/\n")
    t.until("to /workspace/sub/h")
    t.type("go\n")
    t.until("done.\r\nDone in ")
    t.until("\r\n\r\n> ")
    assert "mineof home" in json.dumps(server.requests[-1]["body"])
    t.type("/download out\n")
    t.until("Downloaded out to ./out: 1 file")
    assert (work / "out").read_text() == "mineof home"
    (work / "out").write_text("edited")
    t.type("/download out\n")
    assert "already exists" in t.until("--force")
    assert (work / "out").read_text() == "edited"
    t.type("/download --force out\n")
    t.until("Downloaded out")
    assert (work / "out").read_text() == "mineof home"
    (home / "h").write_text("other")
    t.type("/upload ~/h sub/\n")
    assert "the sandbox already has a different file at" in t.until("--force")
    t.type("/upload --force ~/h sub/\n")
    t.until("Uploaded")
    for line, words in (("/download", "REMOTE [LOCAL]"),
                        ("/upload", "LOCAL [REMOTE]"),
                        ("/upload nothere", "nothere: No such file"),
                        ("/upload a b c", "unexpected argument: c"),
                        ("/upload --over h", "unexpected argument")):
        t.type(line + "\n")
        t.until(words)
    assert len(server.requests) == 2


def test_the_chat_downloads_at_its_end(chat, work):
    t, _ = chat([DONE], "--sandbox", "local", "--upload", "/etc/hostname:h",
                "--download", "h")
    t.type("\x04")
    assert t.end() == 0
    assert (work / "h").exists()


def test_the_chat_on_this_machine_has_nowhere_to_upload_to(chat, work):
    (work / "f").write_text("x")
    t, _ = chat([DONE])
    t.type("/upload f g\n")
    t.until("no sandbox: tools work on this machine")
    assert not (work / "g").exists()
