"""test_task.py - dcode -n on this machine: streams, events, statuses."""
# SPDX-License-Identifier: MIT
import json
import signal
import socket
import subprocess
import threading
import time

import pytest

from model import ModelServer

HELLO = [{"text": "Hello there."}]


def call(name, **args):
    return {"name": name, "args": args}


@pytest.fixture
def serve(env):
    """serve(script) -> ModelServer that env points at, default model set."""
    servers = []

    def begin(script, **how):
        servers.append(ModelServer(script, **how).__enter__())
        env.update(servers[-1].env)
        return servers[-1]
    yield begin
    for server in servers:
        server.__exit__()


def events(run):
    return [json.loads(line) for line in run.out.splitlines()]


def kinds(evs):
    return [e["type"] for e in evs]


@pytest.mark.parametrize("model", ["anthropic:m", "openai:m"])
def test_the_answer_alone_is_on_stdout(serve, run, model):
    m = serve(HELLO)
    r = run("-n", "hi", "-M", model)
    assert (r.status, r.out) == (0, "Hello there.\n")
    assert "thread" in r.err
    assert len(m.requests) == 1 and not m.violations


def test_quiet_says_nothing_else(serve, run):
    serve(HELLO)
    r = run("-n", "hi", "-q", "-M", "anthropic:m")
    assert (r.status, r.out, r.err) == (0, "Hello there.\n", "")


def test_no_stream_prints_the_same(serve, run):
    serve([{"text": "one " * 50}])
    r = run("-n", "hi", "--no-stream", "-M", "anthropic:m")
    assert (r.status, r.out) == (0, "one " * 50 + "\n")


def test_piped_text_comes_before_the_task(serve, run):
    m = serve(HELLO)
    r = run("-n", "TASK", "-M", "anthropic:m", stdin="PIPED\n")
    assert r.status == 0
    assert "PIPED\\n\\nTASK" in json.dumps(m.requests[0]["body"])


def test_piped_text_alone_is_the_task(serve, run):
    m = serve(HELLO)
    r = run("-M", "anthropic:m", stdin="ONLY THIS")
    assert (r.status, r.out) == (0, "Hello there.\n")
    assert "ONLY THIS" in json.dumps(m.requests[0]["body"])


def test_too_much_piped_text(serve, run):
    m = serve(HELLO)
    r = run("-n", "x", "-M", "anthropic:m", stdin="y" * (10 * 2**20 + 1))
    assert r.status == 1 and "10 MiB" in r.err and not m.requests


def test_events_of_a_whole_run(serve, run, tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "f.txt").write_text("content\n")
    serve([
        {"thinking": "hm", "text": "Looking.",
         "tool_calls": [call("read_file", file_path="f.txt"),
                        call("execute", command="echo out; exit 3")]},
        {"text": "Done.", "expect": ["content", "exit code 3"],
         "usage": {"input": 5, "output": 2}},
    ])
    r = run("-n", "go", "-y", "--json", "-M", "anthropic:m")
    assert r.status == 0, r.err
    evs = events(r)
    assert kinds(evs)[0] == "start" and kinds(evs)[-1] == "result"
    start, result = evs[0], evs[-1]
    assert start["schema_version"] == 1
    assert len(start["thread_id"]) == 36
    assert start["model"] == "anthropic:m"
    assert start["sandbox"] == {"provider": "none", "id": None}
    text = "".join(e["delta"] for e in evs if e["type"] == "text")
    assert text == "Looking.Done."
    assert "hm" in "".join(
        e["delta"] for e in evs if e["type"] == "thinking")
    calls = [e for e in evs if e["type"] == "tool_call"]
    assert [c["name"] for c in calls] == ["read_file", "execute"]
    assert calls[0]["args"] == {"file_path": "f.txt"}
    results = {e["id"]: e for e in evs if e["type"] == "tool_result"}
    assert "content" in results[calls[0]["id"]]["content"]
    assert results[calls[1]["id"]]["is_error"] is False
    live = [e for e in evs if e["type"] == "tool_output"]
    assert "".join(e["delta"] for e in live) == "out\n"
    assert all(e["id"] == calls[1]["id"] for e in live)
    assert result["status"] == "success" and result["text"] == "Done."
    assert result["turns"] == 2 and result["exit_status"] == 0
    assert result["usage"]["output_tokens"] >= 2
    assert "usage" in kinds(evs)


def test_output_format_is_an_alias(serve, run):
    serve(HELLO)
    r = run("-n", "hi", "--output-format", "stream-json", "-M", "openai:m")
    assert kinds(events(r))[-1] == "result"


def test_json_is_one_object(serve, run):
    script = [{"tool_calls": [call("ls", path=".")]}, HELLO[0]]
    serve(script)
    stream = events(run("-n", "hi", "--json", "-M", "openai:m"))
    serve(script)
    r = run("-n", "hi", "--output-format", "json", "-M", "openai:m")
    assert r.status == 0, r.err
    only, = events(r)
    last = stream[-1]
    assert list(only) == list(last)
    assert only["type"] == "result" and only["schema_version"] == 1
    assert only["text"] == "Hello there." and only["turns"] == 2
    assert only["model"] == "openai:m" and len(only["thread_id"]) == 36
    assert only["sandbox"] == {"provider": "none", "id": None}
    assert 0 < only["duration_ms"] < 60000


@pytest.mark.parametrize("script, args, status, exit_status", [
    ([{"fault": {"status": 400, "body": "no"}}], [], "error", 1),
    ([{"fault": {"stall_after_bytes": 0}}], ["--timeout", "1"], "timeout",
     124),
    (HELLO, ["--sandbox", "nope"], "error", 2),
    (HELLO, ["--sandbox", "local", "--sandbox-setup", "none.sh"], "error", 1),
])
def test_json_is_one_object_also_after_an_error(serve, run, script, args,
                                                status, exit_status):
    serve(script)
    r = run("-n", "hi", "--output-format", "json", "-M", "openai:m", *args)
    only, = events(r)
    assert (only["type"], only["status"]) == ("result", status), r.err
    assert only["exit_status"] == r.status == exit_status
    assert only["reason"] and only["schema_version"] == 1


def test_json_and_output_format_json_are_not_one(serve, run):
    serve(HELLO)
    r = run("-n", "hi", "--json", "--output-format", "json")
    assert r.status == 2 and "use one of them" in r.err


def test_the_last_answer_goes_to_a_file(serve, run, tmp_path):
    file = tmp_path / "work" / "answer.txt"
    file.parent.mkdir(exist_ok=True)
    file.write_text("before")
    file.chmod(0o666)
    serve([{"text": "First.", "tool_calls": [call("ls", path=".")]},
           {"text": "Last."}])
    r = run("-n", "go", "-o", "answer.txt", "-M", "anthropic:m")
    assert r.status == 0 and "Last." in r.out, r.err
    assert file.read_text() == "Last."
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.glob("answer.txt.*")) == []


@pytest.mark.parametrize("script", [
    [{"fault": {"status": 400, "body": "no"}}],
    [{"text": "half of it", "fault": {"stall_after_bytes": 500}}]])
def test_a_run_without_an_answer_leaves_the_file(serve, run, tmp_path,
                                                 script):
    file = tmp_path / "work" / "answer.txt"
    file.parent.mkdir(exist_ok=True)
    file.write_text("before")
    serve(script)
    r = run("-n", "go", "-o", str(file), "-M", "anthropic:m", "--timeout",
            "2")
    assert r.status in (1, 124)
    assert file.read_text() == "before"


@pytest.mark.parametrize("path, text", [
    ("none/answer.txt", "none/"), ("made", "not a regular file"),
    ("link", "not a regular file"), ("/dev/null", "not a regular file"),
    ("made/", "not the name of a file"), (".", "not a regular file")])
def test_a_file_that_cannot_be_written_is_named_first(serve, run, tmp_path,
                                                      path, text):
    work = tmp_path / "work"
    (work / "made").mkdir(parents=True)
    (work / "link").symlink_to("target")
    server = serve(HELLO)
    r = run("-n", "go", "-o", path, "-M", "anthropic:m")
    assert r.status in (1, 2) and "--output" in r.err and text in r.err, r.err
    assert not server.requests
    assert not (work / "target").exists()


def test_a_link_that_a_command_made_leads_the_answer_nowhere(
        serve, run, tmp_path):
    """A command that may write here could send the answer, whose text it
    knows, into another directory."""
    work, victim = tmp_path / "work", tmp_path / "victim"
    (work / "out").mkdir(parents=True)
    victim.mkdir()
    (victim / "answer.txt").write_text("precious")
    serve([{"tool_calls": [call("execute", command="mv out moved && ln -s "
                                f"{victim} out && echo done")]},
           {"text": "New.", "expect": ["done"]}])
    r = run("-n", "go", "-y", "-o", "out/answer.txt", "-M", "anthropic:m")
    assert r.status == 0, r.err
    assert (work / "out").is_symlink()
    assert (victim / "answer.txt").read_text() == "precious"
    assert (work / "moved" / "answer.txt").read_text() == "New."


def test_an_error_ends_in_a_result(serve, run):
    serve([{"fault": {"status": 400, "body": "no such thing"}}])
    r = run("-n", "hi", "--json", "-M", "anthropic:m")
    evs = events(r)
    assert r.status == 1
    assert kinds(evs)[-2:] == ["error", "result"]
    assert evs[-2]["code"] and "no such thing" in evs[-2]["message"]
    assert evs[-1]["status"] == "error" and evs[-1]["exit_status"] == 1


def test_max_turns(serve, run):
    m = serve({"turns": [{"tool_calls": [call("ls", path=".")]}],
               "repeat": True})
    r = run("-n", "go", "--max-turns", "3", "-M", "anthropic:m", "--json")
    evs = events(r)
    assert r.status == 124
    assert len(m.requests) == 3
    assert evs[-1]["status"] == "max_turns" and evs[-1]["turns"] == 3
    assert "--max-turns 3" in evs[-2]["message"]


def test_timeout(serve, run):
    serve([{"fault": {"stall_after_bytes": 0}}])
    r = run("-n", "go", "--timeout", "1", "-M", "anthropic:m", timeout=10)
    assert r.status == 124 and "timed out after 1s" in r.err
    assert r.seconds < 20


def test_no_credentials(run, env):
    r = run("-n", "hi")
    assert r.status == 1
    assert "No model key found" in r.err
    r = run("-n", "hi", "-M", "anthropic:m")
    assert r.status == 1 and "ANTHROPIC_API_KEY" in r.err


@pytest.mark.parametrize("args, text", [
    (["--frobnicate"], "--frobnicate"),
    (["-n"], "-n"),
    (["-n", "x", "--max-turns", "0"], "must be a positive integer"),
    (["-n", "x", "--max-turns", "x"], "invalid int value"),
    (["-n", "x", "--timeout", "-3"], "must be a positive integer"),
    (["-n", "x", "--sandbox-network", "half"], "at least one dot"),
    (["-n", "x", "--sandbox", "local", "--sandbox-id", "y",
      "--sandbox-network", "none"], "keeps the network"),
    (["-n", "x", "--output-format", "xml"], "choose from"),
    (["-n", "x", "-S", "all,ls"], "Cannot combine 'all'"),
    (["-n", "x", "--sandbox-id", "i"], "requires a --sandbox provider"),
    (["-n", "x", "--sandbox-snapshot-name", "s"],
     "requires a --sandbox provider"),
    (["-n", "x", "--sandbox", "nope"], "Unknown sandbox provider 'nope'"),
    (["-n", "x", "--sandbox", "nope"], "Available providers: "),
    (["-n", "x", "--sandbox"], "no [sandboxes].default is configured"),
    (["-n", "x", "--sandbox", "local", "--sandbox-id", "i",
      "--sandbox-snapshot-name", "s"], "cannot be combined"),
    (["nonsense"], "unknown command 'nonsense'"),
    (["sandbox", "frob"], "frob"),
    (["config", "get"], ""),
])
def test_wrong_use_is_two(run, args, text):
    r = run(*args)
    assert r.status == 2, (r.out, r.err)
    assert text in r.err and not r.out


def test_broken_config_is_named(serve, run, config):
    config("[sandboxes\ndefault = 'local'\n")
    r = run("-n", "x", "--sandbox", "-M", "anthropic:m")
    assert r.status == 2
    assert "config.toml" in r.err and ":1:" in r.err
    assert "Until then, only dcode config and dcode doctor run" in r.err
    server = serve(HELLO)
    r = run("-n", "x", "-M", "anthropic:m")
    assert r.status == 2 and not r.out and not server.requests
    config("[sandboxes]\ndefault = 'local'\n")
    r = run("-n", "x", "-M", "anthropic:m")
    assert r.status == 0 and r.out


def test_default_sandbox_from_config(serve, run, config):
    serve(HELLO)
    config("[sandboxes]\ndefault = 'none'\n")
    assert run("-n", "x", "--sandbox", "-M", "anthropic:m").status == 0
    config("[sandboxes]\ndefault = 'acme'\n")
    r = run("-n", "x", "--sandbox", "-M", "anthropic:m")
    assert r.status == 2 and "'acme'" in r.err


def offered(m):
    return {t["name"] for t in m.requests[0]["body"]["tools"]}


READING = {"ls", "read_file", "glob", "grep", "task", "write_todos"}


def test_without_leave_only_reading_is_offered(serve, run, tmp_path):
    m = serve([{"tool_calls": [call("write_file", file_path="x",
                                    content="y")]},
               {"text": "ok", "expect": ["not permitted"]}])
    r = run("-n", "x", "-M", "anthropic:m")
    assert r.status == 4, r.err
    assert offered(m) == READING
    assert not (tmp_path / "work" / "x").exists()


def test_allow_list_judges_each_command(serve, run, tmp_path):
    m = serve([
        {"tool_calls": [call("execute", command="echo one && ls | wc -l")]},
        {"expect": ["one"],
         "tool_calls": [call("execute", command="echo one; touch bad")]},
        {"text": "ok", "expect": ["Shell command rejected: `echo one; touch"]},
    ])
    r = run("-n", "x", "-S", "echo,ls,wc", "-M", "anthropic:m")
    assert r.status == 0, r.err
    assert offered(m) == READING | {"execute", "job_output", "job_kill",
                                    "write_file", "edit_file", "delete"}
    assert not (tmp_path / "work" / "bad").exists()


def test_auto_approve_says_so_once(serve, run, tmp_path):
    serve([{"tool_calls": [call("execute", command="touch good"),
                           call("write_file", file_path="w.txt",
                                content="w\n")]},
           {"text": "ok"}])
    r = run("-n", "x", "-y", "-M", "anthropic:m")
    assert r.status == 0
    assert r.err.count("--auto-approve") == 1
    assert (tmp_path / "work" / "good").exists()
    assert (tmp_path / "work" / "w.txt").read_text() == "w\n"


def test_keys_are_not_in_the_commands_environment(serve, run, env):
    serve([{"tool_calls": [call("execute", command="env")]},
           {"text": "ok", "expect": ["MARKER=1"]}])
    env["MARKER"] = "1"
    env["ANTHROPIC_API_KEY"] = "sk-canary-123456"
    r = run("-n", "x", "-y", "--json", "-M", "anthropic:m")
    assert r.status == 0, r.out
    assert "sk-canary" not in r.out + r.err


def test_escape_sequences_do_not_reach_the_terminal(serve, run):
    serve([{"text": "a\x1b]0;t\x07b",
            "tool_calls": [call("execute", command="printf 'x\\033[2Jy'")]},
           {"text": "c\x1b[31md"}])
    r = run("-n", "x", "-y", "-M", "anthropic:m")
    assert r.out == "ab\ncd\n"
    assert "\x1b" not in r.err and "xy" in r.err


@pytest.mark.parametrize("number, status", [
    (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signal_during_a_hung_stream(serve, start, number, status):
    serve([{"text": "abc", "fault": {"stall_after_bytes": 400}}])
    r = start("-n", "x", "--json", "-M", "anthropic:m")
    time.sleep(0.7)
    assert r.p.poll() is None
    began = time.monotonic()
    r.signal(number)
    r.wait(10)
    assert r.status == status
    assert time.monotonic() - began < 10
    assert events(r)[-1]["status"] == "cancelled"


def test_signal_during_a_hung_command(serve, start):
    marker = "31.4159"
    serve([{"tool_calls": [call("execute", command=f"sleep {marker}")]},
           {"text": "never"}])
    r = start("-n", "x", "-y", "--json", "-M", "anthropic:m")
    deadline = time.monotonic() + 20
    while not sleeping(marker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert sleeping(marker)
    r.signal(signal.SIGINT)
    r.wait(10)
    assert r.status == 130
    assert not sleeping(marker)
    result = [e for e in events(r) if e["type"] == "tool_result"]
    assert len(result) == 1, "every call has a result"


def sleeping(marker):
    return subprocess.run(["pgrep", "-f", f"sleep {marker}"],
                          stdout=subprocess.DEVNULL).returncode == 0


def test_nobody_reads_any_more(serve, dcode, env, tmp_path):
    serve({"turns": [{"text": "word " * 20000,
                      "tool_calls": [call("ls", path=".")]}],
           "repeat": True})
    (tmp_path / "work").mkdir(exist_ok=True)
    p = subprocess.Popen([dcode, "-n", "x", "-M", "anthropic:m"], env=env,
                         cwd=tmp_path / "work", stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    p.stdout.read(10)
    p.stdout.close()
    assert p.wait(20) == 141


@pytest.mark.parametrize("fault", [
    {"status": 529}, {"status": 500}, {"status": 429, "retry_after": "1"},
    {"status": 429, "body": {"error": {"message":
                                       "Please try again in 250ms"}}},
    {"reset": True}, {"cut_after_bytes": 300},
    {"cut_after_bytes": 300, "clean": True},
    {"garbage": "data: {nonsense\n\n", "after_events": 2},
])
@pytest.mark.parametrize("model", ["anthropic:m", "openai:m"])
def test_passing_failures_are_retried(serve, run, fault, model):
    m = serve([{"text": "Hello there, friend.", "fault": fault}])
    r = run("-n", "hi", "-M", model)
    assert r.status == 0, r.err
    assert r.out == "Hello there, friend.\n"
    assert len(m.requests) == 2


def test_tool_arguments_that_are_no_json(serve, run):
    m = serve([{"tool_calls": [{"name": "ls", "raw_args": "{\"path\": "}]},
               {"text": "ok", "expect": ["(?i)json|argument"]}])
    r = run("-n", "x", "--json", "-M", "openai:m")
    assert r.status == 0, r.err
    assert not m.violations


def test_unknown_tool(serve, run):
    serve([{"tool_calls": [call("frobnicate", a=1)]},
           {"text": "ok", "expect": ["frobnicate is not a valid tool"]}])
    r = run("-n", "x", "-M", "anthropic:m")
    assert r.status == 0, r.err


def test_many_reading_calls_keep_their_order(serve, run, tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    for i in range(12):
        (tmp_path / "work" / f"f{i}").write_text(f"text{i}\n")
    m = serve([
        {"tool_calls": [call("read_file", file_path=f"f{i}")
                        for i in range(12)]},
        {"text": "ok", "expect": [f"text{i}" for i in range(12)]}])
    r = run("-n", "x", "--json", "-M", "anthropic:m")
    assert r.status == 0, r.err
    calls = [e["id"] for e in events(r) if e["type"] == "tool_call"]
    results = [e["id"] for e in events(r) if e["type"] == "tool_result"]
    assert calls == results
    body = m.requests[1]["body"]["messages"][-1]["content"]
    assert [b["tool_use_id"] for b in body] == calls


def test_memory_files_join_the_prompt(serve, run, home, tmp_path):
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    (work / "AGENTS.md").write_text("PROJECT RULE <!-- hidden --> end\n")
    agent = home / ".deepagents" / "agent"
    agent.mkdir(parents=True)
    (agent / "AGENTS.md").write_text("USER RULE\n")
    (tmp_path / "outside.md").write_text("OUTSIDE\n")
    (work / ".deepagents").mkdir()
    (work / ".deepagents" / "AGENTS.md").symlink_to(tmp_path / "outside.md")
    m = serve(HELLO)
    r = run("-n", "x", "-M", "anthropic:m")
    system = json.dumps(m.requests[0]["body"]["system"])
    assert "PROJECT RULE" in system and "USER RULE" in system
    assert "hidden" not in system and "OUTSIDE" not in system
    assert "AGENTS.md" in r.err


def test_project_env_cannot_redirect_keys(serve, run, env, tmp_path):
    m = serve(HELLO)
    trap = socket.create_server(("127.0.0.1", 0))
    port = trap.getsockname()[1]
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / ".env").write_text(
        f"ANTHROPIC_BASE_URL=http://127.0.0.1:{port}\n"
        f"HTTPS_PROXY=http://127.0.0.1:{port}\n"
        f"http_proxy=http://127.0.0.1:{port}\n"
        "LD_PRELOAD=/nonexistent.so\nANTHROPIC_API_KEY=sk-from-project\n")
    del env["ANTHROPIC_API_KEY"]
    r = run("-n", "x", "-M", "anthropic:m")
    assert r.status == 0, r.err  # the key of the file is used
    assert len(m.requests) == 1
    assert "ANTHROPIC_BASE_URL" in r.err and str(port) not in r.err
    trap.settimeout(0.1)
    with pytest.raises(TimeoutError):
        trap.accept()
    trap.close()


def test_thread_is_on_disk(serve, run, home):
    serve([{"tool_calls": [call("ls", path=".")]}, {"text": "fin"}])
    r = run("-n", "remember me", "--json", "-M", "anthropic:m")
    db = home / ".deepagents" / ".state" / "dcode.db"
    assert db.exists() and db.stat().st_mode & 0o077 == 0
    import sqlite3
    rows = sqlite3.connect(db).execute("select * from message").fetchall()
    assert len(rows) == 4
    assert "remember me" in str(rows) and "fin" in str(rows)
    assert events(r)[0]["thread_id"] in str(
        sqlite3.connect(db).execute("select * from thread").fetchall())


def test_light_commands(run, dcode):
    for args in (["--version"], ["version"], ["-v"]):
        r = run(*args)
        assert r.status == 0 and r.out.startswith("dcode ") and not r.err
    for args in (["--help"], ["help"], ["-h"]):
        r = run(*args)
        assert r.status == 0 and "--sandbox-setup" in r.out
        assert max(map(len, r.out.splitlines())) <= 80
    for name in ("config", "doctor", "provider", "sandbox", "version"):
        assert run("help", name).status == 0
        assert run(name, "--help").status == 0
    r = run("provider", "list", "--json")
    names = [p["name"] for p in json.loads(r.out)["data"]]
    assert names == sorted(names) and {"docker", "local", "none"} <= set(names)
    assert run("doctor", "--json").status == 0


def test_a_server_that_never_ends_its_answer(run, env):
    """After the end mark nothing more is waited for."""
    body = ('data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
            'data: {"choices":[{"index":0,"delta":{},'
            '"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    server = socket.create_server(("127.0.0.1", 0))
    kept = []

    def answer():
        kept.append(server.accept()[0])
        kept[0].recv(1 << 20)
        kept[0].sendall((head + body).encode())
    threading.Thread(target=answer, daemon=True).start()
    env["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    env["OPENAI_API_KEY"] = "k"
    r = run("-n", "x", "-M", "openai:m", timeout=20)
    assert (r.status, r.out) == (0, "hi\n") and r.seconds < 30
    server.close()
