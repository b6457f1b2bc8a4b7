"""test_hooks.py - commands of hooks.json: told, heard, limited, trusted."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import shlex
import signal
import subprocess
import time

import pytest

from test_live_chat import live  # noqa: F401

# pylint: disable=redefined-outer-name

HOW = ("-M", "anthropic:m", "-y")
DONE = {"text": "done."}
TOUCH = {"tool_calls": [{"name": "execute", "args": {"command":
                                                     "echo ran >> log"}}]}


def hook(command, matcher=None, **more):
    group = {"hooks": [{"type": "command", "command": command, **more}]}
    return group | ({"matcher": matcher} if matcher is not None else {})


@pytest.fixture
def work(home):
    return home.parent / "work"


@pytest.fixture
def write(home, work):
    """write(project=False, **events): hooks.json of the user or project."""
    def to(project=False, **events):
        top = work if project else home
        (top / ".deepagents").mkdir(exist_ok=True)
        path = top / ".deepagents" / "hooks.json"
        path.write_text(json.dumps({"hooks": events}))
        return path
    return to


def note(work, name="told"):
    """A command that keeps what it was told, a line for each event."""
    return f"cat >> {shlex.quote(str(work / name))}; echo >> " \
           f"{shlex.quote(str(work / name))}"


def told(work, name="told"):
    path = work / name
    return [json.loads(line) for line in path.read_text().splitlines()
            if line] if path.exists() else []


def say(**what):
    return "echo " + shlex.quote(json.dumps(what))


def own(event, **what):
    return say(hookSpecificOutput={"hookEventName": event, **what})


def body(server, number=-1):
    return json.dumps(server.requests[number]["body"])


def test_every_event_of_a_run_is_told_as_on_the_wire(write, work, model, run):
    names = ("SessionStart", "UserPromptSubmit", "PreToolUse",
             "PermissionRequest", "PostToolUse", "PostToolUseFailure", "Stop",
             "SessionEnd")
    write(**{name: [hook(note(work))] for name in names})
    model([{"tool_calls": [
        {"name": "execute", "args": {"command": "echo one", "timeout": 7}}]},
        {"tool_calls": [{"name": "read_file", "args": {
            "file_path": "absent", "offset": 4}}]}, DONE])
    r = run("-n", "the task", *HOW)
    assert r.status == 0, r.err
    seen = told(work)
    assert [e["hook_event_name"] for e in seen] == [
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest",
        "PostToolUse", "PreToolUse", "PostToolUseFailure", "Stop",
        "SessionEnd"]
    start, prompt, pre, ask, post, _, failed, stop, end = seen
    assert start["source"] == "startup" and start["cwd"] == str(work)
    assert {e["session_id"] for e in seen} == {start["session_id"]}
    assert len(start["session_id"]) == 36
    assert start["permission_mode"] == "bypassPermissions"
    assert prompt["prompt"] == "the task"
    assert pre["tool_name"] == ask["tool_name"] == "Bash"
    assert pre["tool_input"] == {"command": "echo one", "timeout": 7000}
    assert "one" in post["tool_response"]
    assert failed["tool_name"] == "Read" and "absent" in failed["error"]
    assert failed["tool_input"] == {"file_path": "absent", "offset": 5}
    assert stop["stop_hook_active"] is False
    assert end["reason"] == "other"


def test_without_hooks_nothing_is_read_and_no_thread_is_started(
        model, dcode_release, env, work, home, write):
    model([DONE])
    trace = home / "trace"

    def calls():
        subprocess.run(
            ["strace", "-f", "-o", trace, dcode_release, "-n", "hi", *HOW],
            env=env, cwd=work, check=True, capture_output=True, timeout=120)
        text = trace.read_text()
        return ([l for l in text.splitlines() if "hooks.json" in l],
                text.count("CLONE_THREAD"))
    lines, threads = calls()
    assert 1 <= len(lines) <= 4, lines
    assert not any("openat(" in line for line in lines), lines
    write(PreCompact=[hook("true")])  # control: it is found and read
    read, with_hooks = calls()
    assert any("openat(" in line for line in read), read
    assert with_hooks == threads


@pytest.mark.parametrize("command", [
    "echo not here >&2; exit 2",
    own("PreToolUse", permissionDecision="deny",
        permissionDecisionReason="not here"),
    say(decision="block", reason="not here")])
def test_a_hook_refuses_a_call(write, work, model, run, command):
    write(PreToolUse=[hook(command, "Bash"), hook("exit 0", "Write")])
    server = model([TOUCH, DONE])
    assert run("-n", "x", *HOW).status == 4
    assert not (work / "log").exists()
    assert "not here" in body(server) and "hook" in body(server)


@pytest.mark.parametrize("matcher,ran", [
    ("Bash", False), ("", False), ("*", False), (None, False),
    ("Write|Bash", False), ("Write,Bash", False), ("B.*h", False),
    ("ash$", False), ("Bas", True), ("bash", True), ("^ash", True),
    ("execute", True)])
def test_matchers_are_names_or_regular_expressions(write, work, model, run,
                                                   matcher, ran):
    write(PreToolUse=[hook("exit 2", matcher)])
    model([TOUCH, DONE])
    assert run("-n", "x", *HOW).status == (0 if ran else 4)
    assert (work / "log").exists() == ran


def test_a_refusal_wins_over_an_allowance(write, work, model, run):
    write(PreToolUse=[
        hook(own("PreToolUse", permissionDecision="allow")),
        hook(own("PreToolUse", permissionDecision="deny")),
        hook(own("PreToolUse", permissionDecision="ask"))])
    model([TOUCH, DONE])
    assert run("-n", "x", *HOW).status == 4
    assert not (work / "log").exists()


def test_a_hook_changes_a_call_and_its_result(write, work, model, run):
    write(PreToolUse=[hook(own("PreToolUse", updatedInput={
              "command": "echo changed >> log"}))],
          PostToolUse=[hook(own("PostToolUse", updatedToolOutput="all new",
                                additionalContext="more of it"))])
    server = model([TOUCH, DONE])
    assert run("-n", "x", *HOW).status == 0
    assert (work / "log").read_text() == "changed\n"
    assert "all new" in body(server) and "more of it" in body(server)


def test_a_blocked_prompt_is_never_sent(write, model, run):
    write(UserPromptSubmit=[hook("echo has a secret >&2; exit 2")])
    server = model([DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 1 and "has a secret" in r.err
    assert not server.requests


def test_a_stop_hook_has_the_agent_go_on_eight_times_at_most(
        write, work, model, run):
    write(Stop=[hook(note(work) + "; echo run the tests >&2; exit 2")])
    server = model([DONE] * 12)
    r = run("-n", "x", *HOW)
    assert r.status == 0 and len(server.requests) == 9
    assert "run the tests" in body(server)
    assert [e["stop_hook_active"] for e in told(work)] == [False] + [True] * 8


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse",
                                   "PostToolUse"])
def test_a_hook_ends_the_run_with_status_0(write, model, run, event):
    write(**{event: [hook(say(**{"continue": False,
                                 "stopReason": "enough now"}))]})
    server = model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0, r.err
    assert "Operation stopped by hook: enough now" in r.err
    assert "an empty answer" not in r.err
    assert len(server.requests) == (0 if event == "UserPromptSubmit" else 1)


def test_failures_are_told_and_fatal_to_nobody(write, work, model, run):
    missing = {"hooks": [{"type": "command", "argv": ["no-such-program"]}]}
    write(PreToolUse=[hook("echo \x1b[31mbroken\x1b[0m >&2; exit 3"),
                      hook("echo no json")],
          PostToolUse=[missing, hook("true", "["),
                       hook("true", "x", timeout=-1)],
          Stop=[hook("true", "Bash")], Nonsense=[hook("true")])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and (work / "log").exists()
    for words in ("exit status 3: broken", "Hook output is not valid JSON",
                  "not found: no-such-program", "not a regular expression",
                  "timeout must be", "does not support a matcher",
                  "unknown event 'Nonsense'"):
        assert words in r.err, words
    assert "\x1b" not in r.err


def test_a_terminal_sequence_is_no_event_of_json(write, model, run):
    write(PreToolUse=[hook(say(systemMessage="it was heard",
                               terminalSequence="\a"))])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW, "--json")
    assert r.status == 0, r.err
    lines = [json.loads(line) for line in r.out.splitlines()]
    assert any("it was heard" in e.get("message", "") for e in lines), r.out
    assert not [e for e in lines if e["type"] == "job"], r.out


def alive(pid):
    try:
        return "Z" not in open(f"/proc/{pid}/stat").read().split(")")[1][:3]
    except OSError:
        return False


def test_at_its_limit_a_hook_and_all_it_started_are_killed(write, work, model,
                                                           run):
    slow = "setsid sh -c 'echo $$ >> pids; sleep 300' & echo $$ >> pids; " \
           "sleep 300"
    write(PreToolUse=[hook(slow, timeout=1)])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status in (0, 4) and "longer than 1 s" in r.err
    assert not (work / "log").exists()  # a guard refuses then
    pids = (work / "pids").read_text().split()
    assert len(pids) == 2 and not any(alive(p) for p in pids)


def test_a_cancel_reaches_a_hook(write, work, model, start):
    write(PreToolUse=[hook("echo $$ > pids; exec sleep 300")])
    model([TOUCH, DONE])
    r = start("-n", "x", *HOW)
    end = time.monotonic() + 60
    while not (work / "pids").exists() or not (work / "pids").read_text():
        assert time.monotonic() < end
        time.sleep(0.05)
    r.signal(signal.SIGINT)
    assert r.wait().status == 130
    assert not alive((work / "pids").read_text().strip())
    assert not (work / "log").exists()


def test_hooks_of_an_event_run_side_by_side(write, work, model, run):
    meet = "touch {}; while ! test -e {}; do sleep 0.01; done"
    write(PreToolUse=[hook(meet.format("a", "b"), timeout=60),
                      hook(meet.format("b", "a"), timeout=60)])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and "killed" not in r.err


def test_output_beyond_its_cap_is_cut(write, work, model, run):
    write(UserPromptSubmit=[hook("yes word | head -c 5000000")])
    server = model([DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and "more than 100 kB" in r.err
    assert len(body(server)) < 250000


@pytest.mark.parametrize("size, says", [(10, "refused"),
                                        (101000, "longer than 100 kB")])
def test_a_guard_whose_answer_is_cut_refuses(run, work, write, model, size,
                                             says):
    (work.parent / "guard.py").write_text(
        "import json, sys\n"
        "call = json.load(sys.stdin)['tool_input']['command']\n"
        "print(json.dumps({'reason': 'refused ' + call,\n"
        "                  'decision': 'block'}))\n")
    write(PreToolUse=[hook(f"/usr/bin/env python3 {work.parent}/guard.py")])
    server = model([{"tool_calls": [{"name": "execute", "args": {
        "command": "echo ran >log #" + size * "x"}}]}, DONE])
    r = run(*HOW, "-n", "hi")
    assert r.status == 4 and not (work / "log").exists(), r.err
    assert says in json.dumps(server.requests[-1]["body"]["messages"][-1])


def test_the_environment_of_each_kind_of_hook(write, work, model, run, env):
    env["ACME_TOKEN"] = "exported-secret"
    env["LC_TIME"] = "C"
    (work / ".env").write_text("FROM_PROJECT=evil\n")
    write(SessionEnd=[hook(f"env > {work}/users")])
    write(True, SessionEnd=[hook(f"env > {work}/projects")])
    model([DONE])
    assert run("-n", "x", *HOW, "--trust-project-hooks").status == 0
    users = (work / "users").read_text()
    projects = (work / "projects").read_text()
    assert "ACME_TOKEN=exported-secret" in users  # control
    names = {line.split("=")[0] for line in projects.splitlines()}
    assert names <= {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER",
                     "LANG", "TMPDIR", "LC_TIME", "PWD", "SHLVL", "_",
                     "OLDPWD"}
    assert "FROM_PROJECT" not in users + projects


def test_a_projects_hooks_run_only_when_trusted(write, work, model, run,
                                                home):
    path = write(True, SessionEnd=[hook("touch ran")])
    model([DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and not (work / "ran").exists()
    assert str(path) in r.err and "--trust-project-hooks" in r.err
    for flag in ("--trust-project-hooks", "--trust-project"):
        r = run("-n", "x", *HOW, flag)
        assert r.status == 0 and (work / "ran").exists()
        assert "does not run" not in r.err
        os.unlink(work / "ran")
    assert run("-n", "x", *HOW, "--trust-project-mcp").status == 0
    assert not (work / "ran").exists()
    assert not (home / ".deepagents/.state/trusted.json").exists()


def test_the_chat_asks_once_and_again_when_a_file_has_changed(
        write, work, live):
    write(True, SessionStart=[hook("sh ./check.sh \x1b[8m\u202e")])
    script = work / "check.sh"
    script.write_text("echo one >> ran\n")

    def chat(answer=None):
        s, _ = live([DONE], args=["--plain"],
                    ready="[y/N]" if answer else "/quit")
        seen = s.until("[y/N]" if answer else "/quit")
        if answer:
            assert "hooks.json" in seen and "./check.sh" in seen
            s.type(answer)
            s.keys("Enter")
        seen = s.until("/quit")
        s.type("/quit")
        s.keys("Enter")
        assert s.status() == 0
        return seen
    assert "you said no" in chat("n").replace("\n", " ")
    assert not (work / "ran").exists()
    seen = chat("y")
    assert "u202e" in seen and "check.sh" in seen
    assert (work / "ran").read_text() == "one\n"
    chat()
    assert (work / "ran").read_text() == "one\none\n"
    script.write_text("echo two >> ran\n")
    chat("y")
    assert (work / "ran").read_text() == "one\none\ntwo\n"


def test_what_is_too_long_to_be_shown_is_not_allowed(write, work, live):
    path = write(True, SessionStart=[{"pad": "PAD", **hook("touch ran")}])
    path.write_text(path.read_text().replace("PAD", "\u202e" * 300000))
    s, _ = live([DONE], args=["--plain"], ready="/quit")
    assert "too long to show" in s.until("/quit")
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0 and not (work / "ran").exists()


def test_a_script_that_the_model_changes_is_not_run_any_more(
        write, work, model, run, live):
    write(True, PreToolUse=[hook("sh ./check.sh")])
    (work / "check.sh").write_text("echo good >> ran\n")
    s, _ = live([DONE], args=["--plain"], ready="[y/N]")
    s.type("y")
    s.keys("Enter")
    s.until("/quit")
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0
    model([TOUCH, {"tool_calls": [{"name": "write_file", "args": {
        "file_path": "check.sh", "content": "echo bad >> ran"}}]}, TOUCH,
        DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and "does not run" in r.err
    assert (work / "ran").read_text() == "good\ngood\n"
    # A guard that may not run any more has not agreed to the second call.
    assert (work / "log").read_text() == "ran\n"


@pytest.mark.parametrize("args", [[], ["--plain"]], ids=["screen", "lines"])
def test_a_reload_reads_hooks_again_and_asks_about_a_projects(
        write, work, live, args):
    s, _ = live([{"text": f"answer {i}."} for i in range(4)], args=args,
                ready="/quit" if args else "tools in")
    ran = work.parent / "ran"  # no file of the repository's

    def say(text, wanted):
        s.type(text)
        s.keys("Enter")
        s.until(lambda t: wanted in t.rpartition(text)[2])

    def ask(number):
        say(f"prompt {number}", f"answer {number}.")
        return ran.read_text() if ran.exists() else ""
    users = write(UserPromptSubmit=[hook(f"echo user >> {ran}")])
    assert ask(0) == ""
    say("/reload", "hooks and AGENTS.md")
    assert ask(1) == "user\n"
    users.unlink()
    project = write(True, UserPromptSubmit=[hook(f"echo project >> {ran}")])
    say("/reload", "[y/N]")
    say("y", "hooks and AGENTS.md")
    assert ask(2) == "user\nproject\n"
    project.unlink()
    say("/reload", "hooks and AGENTS.md")
    assert ask(3) == "user\nproject\n"


def test_the_home_directory_is_no_project(write, home, model, run, work):
    write(SessionEnd=[hook(f"echo ran >> {work}/ran")])
    model([DONE])
    r = run("-n", "x", *HOW, cwd=home)
    assert r.status == 0 and "does not run" not in r.err
    assert (work / "ran").read_text() == "ran\n"


def test_a_permission_hook_answers_in_place_of_the_user(write, work, live):
    write(PermissionRequest=[hook(own("PermissionRequest",
                                      permissionDecision="allow"), "Bash")])
    s, _ = live([TOUCH, DONE], args=["--plain"], ready="/quit")
    s.type("go")
    s.keys("Enter")
    seen = s.until("done.")
    assert "Allow it?" not in seen and (work / "log").exists()


def test_a_question_is_notified_without_waiting(write, work, live):
    write(Notification=[hook(note(work), "permission_prompt")])
    s, _ = live([TOUCH, DONE], args=["--plain"], ready="/quit")
    s.type("go")
    s.keys("Enter")
    s.until("Allow it?")
    end = time.monotonic() + 60
    while not told(work):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert told(work)[0]["notification_type"] == "permission_prompt"


def test_secrets_are_masked_in_what_hooks_say(write, model, run, env):
    env["ANTHROPIC_API_KEY"] = "sk-ant-a-long-secret-key"
    write(SessionStart=[hook("echo key $ANTHROPIC_API_KEY")])
    server = model([DONE])
    env["ANTHROPIC_API_KEY"] = "sk-ant-a-long-secret-key"
    r = run("-n", "x", *HOW)
    assert r.status == 0 and "key [masked:" in body(server)
    assert "a-long-secret" not in body(server)


def test_each_line_of_the_transcript_is_whole_whatever_the_model_wrote(
        write, work, model, run):
    write(Stop=[hook("python3 -c 'import json, sys; print(open(json.load("
                     "sys.stdin)[\"transcript_path\"]).read(), "
                     "file=open(\"copy\", \"w\"))'")])
    model([{"tool_calls": [{
        "name": "execute", "raw_args":
        '{\n\t"command":\r\n "echo \\"a\\nb\\"" \n}'}]}, DONE])
    r = run("-n", "the task", *HOW)
    assert r.status == 0, r.err
    lines = [json.loads(line) for line in
             (work / "copy").read_text().split("\n") if line]
    assert [line["role"] for line in lines] == [
        "user", "assistant", "tool", "assistant"]
    assert lines[1]["content"][-1]["input"] == {"command": 'echo "a\nb"'}


def test_the_transcript_has_what_was_said_until_then(
        write, work, model, run, env, home):
    env["DAYTONA_API_KEY"] = "dtn-0123456789abcdef"
    keep = "python3 -c 'import json, sys; p = json.load(sys.stdin)[\"" \
        "transcript_path\"]; open(\"copy\", \"a\").write(p + \"\\n\" + " \
        "open(p).read() + \"--\\n\")'"
    write(SessionStart=[hook(keep)], Stop=[hook(keep)])
    model([{"text": "I look.", "tool_calls": [
        {"name": "execute", "args": {"command": "echo dtn-0123456789abcdef"}}]},
        DONE])
    r = run("-n", "the task", *HOW)
    assert r.status == 0, r.err
    start, stop, _ = (work / "copy").read_text().split("--\n")
    path, *lines = stop.splitlines()
    assert start == path + "\n"
    lines = [json.loads(line) for line in lines]
    thread = os.path.basename(path).removesuffix(".jsonl")
    assert path == str(home / f".deepagents/.state/transcripts/{thread}.jsonl")
    assert [line["role"] for line in lines] == [
        "user", "assistant", "tool", "assistant"]
    assert [line["sequence"] for line in lines] == [0, 1, 2, 3]
    assert {line["thread_id"] for line in lines} == {thread}
    assert lines[0]["content"] == "the task"
    said, call = lines[1]["content"]
    assert said == {"type": "text", "text": "I look."}
    assert (call["type"], call["name"]) == ("tool_use", "execute")
    assert lines[2]["name"] == "execute"
    assert lines[2]["tool_call_id"] == call["id"]
    assert lines[3]["content"] == "done."
    assert "dtn-0123" not in stop and "[masked:" in stop
    assert os.stat(path).st_mode & 0o777 == 0o600
    # It goes on with its thread, and goes with it.
    model([DONE] * 3)
    r = run("-n", "more", "-r", thread, *HOW)
    assert r.status == 0, r.err
    again = pathlib.Path(path).read_text().splitlines()
    assert again[:4] == stop.splitlines()[1:] and len(again) == 6
    assert run("threads", "delete", thread).status == 0
    assert not os.path.exists(path)
