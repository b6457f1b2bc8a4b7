"""test_first_start.py - a chat without any key, and what is missing at once."""
# SPDX-License-Identifier: MIT
import json
import os
import pty
import subprocess
import time

import pytest

from daytona import Daytona
from model import ModelServer
from terminal import Terminal
from test_auth import on_disk

GOOD = "sk-ant-a-good-key-0123456789"
BAD = "sk-ant-a-bad-key-9876543210"
MENU = "q  leave\r\n> "
TURNS = {"turns": [{"text": "Hello."}], "repeat": True}


@pytest.fixture
def vendor(env):
    """vendor(**script) -> the server of Anthropic's keys, none of which the
    environment has; stored ones go there."""
    servers = []

    def serve(**more):
        servers.append(ModelServer({**TURNS, "key": GOOD, **more}).__enter__())
        env["DEEPAGENTS_CODE_ANTHROPIC_BASE_URL"] = \
            servers[-1].env["ANTHROPIC_BASE_URL"]
        return servers[-1]
    env["OLLAMA_HOST"] = env["LLAMACPP_BASE_URL"] = "http://127.0.0.1:9"
    yield serve
    for server in servers:
        server.__exit__()


def talk(t):
    """The chat answers, and is left."""
    t.until("tools in")
    t.type("hi\r")
    t.until("Hello.")
    t.type("/quit\r")
    assert t.end() == 0


def ask_for_key(terminal, way):
    """A start that waits for a key: at the menu, or after a vendor's number."""
    t = terminal()
    t.until(MENU)
    if way == "number":
        t.type("1\r")
        t.until("Paste the key of anthropic (not shown): ")
    return t


@pytest.mark.parametrize("way", ["menu", "number"])
def test_a_pasted_key_is_checked_stored_sealed_and_never_shown(
        vendor, terminal, home, way):
    server = vendor()
    t = ask_for_key(terminal, way)
    t.type(f"\x1b[200~{GOOD}\x1b[201~\r")
    t.until("anthropic:claude-opus-5-5 accepted the key. It is stored "
            "encrypted.")
    assert len(server.requests) == 1
    talk(t)
    assert GOOD not in t.seen and GOOD[:12] not in t.seen
    assert GOOD.encode() not in on_disk(home)
    assert {r["key"] for r in server.requests} == {GOOD}
    t = terminal()  # the second start
    talk(t)
    assert MENU not in t.seen


def test_a_refused_key_is_said_forgotten_and_asked_for_again(
        vendor, terminal, run, home):
    server = vendor()
    t = terminal()
    t.until(MENU)
    t.type(BAD + "\r")
    t.until("anthropic refuses this key (HTTP 401).")
    t.until("Paste the key of anthropic (not shown): ")
    assert "missing" in run("auth", "status", "anthropic").out
    t.type("no key at all\r")
    t.until("This is not an API key")
    t.until("Paste the key of anthropic (not shown): ")
    assert len(server.requests) == 1
    t.type(GOOD + "\r")
    t.until("accepted the key")
    talk(t)
    assert BAD not in t.seen and BAD.encode() not in on_disk(home)


def test_a_key_goes_to_its_own_vendor_only(vendor, terminal, env):
    server = vendor()
    with ModelServer(TURNS) as other:
        env["DEEPAGENTS_CODE_OPENAI_BASE_URL"] = other.env["OPENAI_BASE_URL"]
        t = terminal()
        t.until(MENU)
        t.type("sk-or-v1-0123456789abcdef\r")
        t.until("Cannot tell which vendor this key belongs to")
        t.until(MENU)
        t.type("2\r")
        t.until("Paste the key of openai (not shown): ")
        t.type(GOOD + "\r")
        t.until("This key belongs to another vendor")
        t.until("(not shown): ")
        t.type("sk-0123456789abcdef\r")  # the control
        t.until("openai:gpt-6.1-terra accepted")
        assert len(other.requests) == 1 and not server.requests


@pytest.mark.parametrize("way", ["menu", "number"])
def test_a_key_that_was_cut_is_said_to_be_too_short(vendor, terminal, way):
    server = vendor()
    t = ask_for_key(terminal, way)
    t.type("sk-ant-abc\r")
    t.until("This is too short for an API key (10 characters)")
    t.until("(not shown): " if way == "number" else MENU)
    assert "not in the list" not in t.seen and not server.requests
    t.type(GOOD + "\r")
    t.until("accepted the key")


def test_the_check_counts_in_what_the_chat_may_cost(vendor, terminal):
    server = vendor()
    t = terminal("--max-usd", "5")
    t.until(MENU)
    t.type(GOOD + "\r")
    t.until("accepted the key")
    t.until("tools in")
    assert len(server.requests) == 1
    t.type("/cost\r")
    t.until("1 request")
    t.type("/quit\r")
    assert t.end() == 0


@pytest.mark.parametrize("usd, checked", [("0.001", 0), ("5", 1)])
def test_no_check_is_sent_that_the_cap_cannot_pay(
        vendor, terminal, usd, checked):
    server = vendor()
    t = terminal("--max-usd", usd)
    t.until(MENU)
    t.type(GOOD + "\r")
    t.until("accepted the key" if checked else "The key could not be checked")
    t.until("tools in")
    assert len(server.requests) == checked
    t.type("/quit\r")
    assert t.end() == 0


@pytest.mark.parametrize("keys, status", [
    ("q\r", 1), ("\x1b", 1), ("\x04", 1), ("\x03", 130),
    ("1\r\x1b", 1), ("1\r\x03", 130), ("x\r\r9\rq\r", 1)])
def test_it_can_be_left_in_every_way(vendor, terminal, home, keys, status):
    server = vendor()
    t = terminal()
    t.until(MENU)
    for key in keys:
        time.sleep(0.1)
        t.type(key)
    assert t.end() == status
    assert not server.requests
    later = "To store a key later: dcode auth set anthropic" in t.seen
    assert later == (status == 1)
    assert not (home / ".deepagents/.state/credentials").exists()


def test_the_check_has_a_deadline_and_the_chat_begins_all_the_same(
        vendor, terminal):
    server = vendor(turns=[{"text": "Hello.",
                            "fault": {"stall_after_bytes": 0}}])
    t = terminal()
    t.until(MENU)
    began = time.monotonic()
    t.type(GOOD + "\r")
    t.until("The key could not be checked")
    assert 5 < time.monotonic() - began < 15
    t.until("The key is stored anyway.")
    talk(t)
    assert len(server.requests) == 2


def test_ctrl_c_ends_the_check_and_forgets_the_key(vendor, terminal, run):
    vendor(turns=[{"text": "x", "fault": {"stall_after_bytes": 0}}])
    t = terminal()
    t.until(MENU)
    t.type(GOOD + "\r")
    t.until("Checking the key")
    time.sleep(0.3)
    t.type("\x03")
    assert t.end() == 130
    assert "missing" in run("auth", "status", "anthropic").out


@pytest.mark.parametrize("args", [[], ["-m", "hi"]])
def test_without_a_terminal_nothing_is_asked(vendor, run, dcode, env, args,
                                             tmp_path):
    server = vendor()
    for r in (run(*args, stdin="x"), run("-n", "x")):
        assert r.status == 1 and MENU not in r.out + r.err
        assert "No model key found" in r.err
    master, slave = pty.openpty()  # the output goes elsewhere
    done = subprocess.run([dcode, *args], stdin=slave, stdout=subprocess.PIPE,
                          stderr=slave, env=env, cwd=tmp_path / "work",
                          timeout=30, check=False, start_new_session=True)
    os.set_blocking(master, False)
    told = os.read(master, 1 << 16).decode()
    assert done.returncode == 1 and "No model key found" in told
    assert MENU not in told + done.stdout.decode()
    assert not server.requests


def test_the_error_of_a_task_says_what_to_type(run, env):
    for r in (run("-n", "x"), run("-n", "x", "--json")):
        assert r.status == 1
        for word in ("dcode auth set anthropic", "openai", "google_genai",
                     "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY",
                     "dcode help models"):
            assert word in r.err, word


def test_a_missing_key_of_the_sandbox_is_told_in_the_same_try(run, env):
    with Daytona() as cloud:
        env.update(cloud.env)
        del env["DAYTONA_API_KEY"]
        r = run("-n", "x", "--sandbox", "daytona")
        assert r.status == 1
        assert "No model key found" in r.err
        assert "DAYTONA_API_KEY is not set" in r.err
        r = run("-n", "x", "--sandbox", "daytona", "--json")
        error, = [e for e in map(json.loads, r.out.splitlines())
                  if e["type"] == "error"]
        assert "No model key found" in error["message"]
        assert "DAYTONA_API_KEY is not set" in error["message"]
        r = run("-n", "x")  # the control
        assert "DAYTONA" not in r.err


@pytest.mark.parametrize("plain", [[], ["--plain"]])
def test_a_chat_says_so_before_its_first_prompt(env, terminal, model, plain):
    with Daytona() as cloud:
        env.update(cloud.env)
        del env["DAYTONA_API_KEY"]
        t = terminal("--sandbox", "daytona", *plain)
        assert t.end() == 1
        assert "DAYTONA_API_KEY is not set" in t.seen
        assert "No model key found" in t.seen and MENU not in t.seen
        model(TURNS)
        t = terminal("--sandbox", "daytona", *plain)
        assert t.end() == 1
        assert "DAYTONA_API_KEY is not set" in t.seen
        assert "No model key" not in t.seen and ">" not in t.seen


LISTS = {**TURNS, "open": True, "models": [
    {"id": "qwen3:8b", "owned_by": "library"},
    {"id": "llama3.2", "owned_by": "library"}]}
LLAMA = {**TURNS, "open": True, "models": [
    {"id": "gemma.gguf", "owned_by": "llamacpp"}]}


@pytest.mark.parametrize("typed, model", [
    (["4", "2"], "ollama:llama3.2"), (["5"], "llamacpp:gemma.gguf")])
def test_a_server_of_this_machine_is_offered_and_remembered(
        vendor, terminal, env, home, typed, model):
    vendor()
    with ModelServer(LISTS) as ollama, ModelServer(LLAMA) as llama:
        env["OLLAMA_HOST"] = ollama.env["ANTHROPIC_BASE_URL"]
        env["LLAMACPP_BASE_URL"] = llama.env["OPENAI_BASE_URL"]
        t = terminal()
        t.until("4  Ollama     on this machine: qwen3:8b, llama3.2")
        t.until("5  llama.cpp  on this machine: gemma.gguf")
        t.until(MENU)
        for word in typed:
            t.type(word + "\r")
            time.sleep(0.5)
        t.until(f"Default model set to {model}")
        talk(t)
        assert f"default = '{model}'" in \
            (home / ".deepagents/config.toml").read_text()
        t = terminal()
        talk(t)
        assert MENU not in t.seen and model in t.seen


def test_what_listens_there_and_is_no_model_server_is_not_offered(
        vendor, terminal, env):
    vendor()
    with ModelServer(LISTS) as other, ModelServer(
            {**LISTS, "models_delay_ms": 20000}) as slow:
        env["LLAMACPP_BASE_URL"] = other.env["OPENAI_BASE_URL"]
        env["OLLAMA_HOST"] = slow.env["ANTHROPIC_BASE_URL"]
        began = time.monotonic()
        t = terminal()
        t.until(MENU)
        assert time.monotonic() - began < 6
        assert "on this machine" not in t.seen
        t.type("q\r")
        assert t.end() == 1


def test_nothing_else_of_this_machine_is_touched(dcode_release, env, home,
                                                 tmp_path):
    trace = tmp_path / "trace"
    t = Terminal(["/usr/bin/strace", "-f", "-o", str(trace), "-e",
                  "trace=connect", str(dcode_release)], env,
                 tmp_path / "work")
    t.until(MENU)
    t.type("q\r")
    assert t.end() == 1
    ports = {line.split("htons(")[1].split(")")[0]
             for line in trace.read_text().splitlines()
             if "htons(" in line and "127.0.0.1" in line or "::1" in line}
    assert ports <= {"11434", "8080", "0", "53"} and "11434" in ports


def test_a_named_model_asks_for_its_own_key(vendor, terminal, config):
    server = vendor()
    config('[models.providers.anthropic]\n'
           'api_key_env = "ANTHROPIC_API_KEY"\n')
    t = terminal("-M", "anthropic:claude-haiku-4-5")
    t.until("No API key for anthropic yet.")
    t.until("(not shown): ")
    t.type(GOOD + "\r")
    t.until("anthropic:claude-haiku-4-5 accepted")
    talk(t)
    assert {r["body"]["model"] for r in server.requests} == {
        "claude-haiku-4-5"}
    t = terminal("-M", "openai:gpt-5")
    t.until("No API key for openai yet.")
    t.until("(not shown): ")
    t.type("\r")
    assert t.end() == 1


def test_the_model_that_nobody_chose_is_said(run, env, model, config):
    server = model(TURNS)
    env.pop("OPENAI_API_KEY", None)
    said = "Model: anthropic:claude-opus-5-5 (the default; -M chooses " \
        "another)\n"
    assert run("-n", "x").err.startswith(said)
    assert said not in run("-n", "x", "-q").err
    assert said not in run("-n", "x", "-M", "claude-opus-5").err
    config('[models]\ndefault = "anthropic:claude-opus-5"\n')
    assert said not in run("-n", "x").err
    assert len(server.requests) == 4
