"""test_address_of_key.py - a stored key, and an address in a variable."""
# SPDX-License-Identifier: MIT
import json

import pytest

from model import ModelServer

KEY = "sk-ant-a-good-key-0123456789"
FOREIGN = "https://gateway.example.test"
TURNS = {"turns": [{"text": "Hello."}], "repeat": True, "key": KEY}
# The variable with the address, the key's variable.
CLOUDS = {"daytona": ("DAYTONA_API_URL", "DAYTONA_API_KEY"),
          "e2b": ("E2B_API_URL", "E2B_API_KEY"),
          "runloop": ("RUNLOOP_BASE_URL", "RUNLOOP_API_KEY"),
          "deno": ("DENO_DEPLOY_ENDPOINT", "DENO_DEPLOY_TOKEN"),
          "langsmith": ("LANGSMITH_ENDPOINT", "LANGSMITH_API_KEY")}


@pytest.fixture
def checks(run):
    """checks(section) -> the texts of doctor's checks of one section."""
    def ask(section):
        r = run("doctor", "--json")
        return [c["name"] + " " + c["text"]
                for c in json.loads(r.out)["data"]["checks"]
                if c["section"] == section]
    return ask


def test_auth_set_says_that_a_variable_does_not_count(run, env, checks):
    env["ANTHROPIC_BASE_URL"] = FOREIGN
    r = run("auth", "set", "anthropic", stdin=KEY)
    assert r.status == 0 and "The key does not go to the address in " \
        "ANTHROPIC_BASE_URL" in r.err
    assert "dcode auth set anthropic --base-url URL" in r.err
    told = "\n".join(checks("model"))
    assert "at https://api.anthropic.com" in told
    assert "The stored key goes to https://api.anthropic.com, not to " \
        "ANTHROPIC_BASE_URL." in told
    # Each way that it names.
    env["DEEPAGENTS_CODE_ANTHROPIC_BASE_URL"] = FOREIGN
    assert "does not go" not in run("auth", "set", "anthropic", stdin=KEY).err
    told, = checks("model")
    assert told.endswith(f" at {FOREIGN}")
    del env["DEEPAGENTS_CODE_ANTHROPIC_BASE_URL"]
    r = run("auth", "set", "anthropic", "--base-url", FOREIGN, stdin=KEY)
    assert r.status == 0 and "does not go" not in r.err
    told, = checks("model")
    assert told.endswith(f" at {FOREIGN}")


def test_the_vendors_own_address_in_a_variable_is_no_news(run, env, checks):
    env["ANTHROPIC_BASE_URL"] = "https://api.anthropic.com/"
    assert "does not go" not in run("auth", "set", "anthropic", stdin=KEY).err
    assert len(checks("model")) == 1


@pytest.mark.parametrize("answer, asked", [("y", 1), ("n", 0), ("\r", 0)])
def test_auth_set_asks_at_a_terminal(env, terminal, checks, answer, asked):
    env["ANTHROPIC_BASE_URL"] = FOREIGN
    t = terminal("auth", "set", "anthropic")
    t.until("(not shown): ")
    t.type(KEY + "\n")
    t.until(f"ANTHROPIC_BASE_URL is set to {FOREIGN}. Send this key to that "
            "address? [y/N] ")
    t.type(answer + "\n" if answer != "\r" else "\n")
    t.until("Stored credential for anthropic.")
    assert t.end() == 0
    assert ("--base-url URL" in t.seen) == (not asked)
    assert (f"at {FOREIGN}" in "\n".join(checks("model"))) == bool(asked)


def test_the_first_start_asks_for_a_pasted_key(env, terminal):
    env["OLLAMA_HOST"] = env["LLAMACPP_BASE_URL"] = "http://127.0.0.1:9"
    with ModelServer(TURNS) as server:
        env["ANTHROPIC_BASE_URL"] = server.env["ANTHROPIC_BASE_URL"]
        t = terminal()
        t.until("q  leave\r\n> ")
        t.type(KEY + "\r")
        t.until("Send this key to that address? [y/N] ")
        t.type("y\r")
        t.until("accepted the key")
        t.until("tools in")
        t.type("hi\r")
        t.until("Hello.")
        t.type("/quit\r")
        assert t.end() == 0


def test_the_error_says_where_the_key_went(run, env):
    env.update(ANTHROPIC_BASE_URL=FOREIGN,
               https_proxy="http://127.0.0.1:9")
    run("auth", "set", "anthropic", stdin=KEY)
    r = run("-n", "x", "--max-retries", "0")
    assert r.status == 1 and "cannot reach https://api.anthropic.com" in r.err
    assert "not to ANTHROPIC_BASE_URL." in " ".join(r.err.split())
    del env["ANTHROPIC_BASE_URL"]  # the control
    r = run("-n", "x", "--max-retries", "0")
    assert r.status == 1 and "The stored key goes" not in r.err


@pytest.mark.parametrize("name", CLOUDS)
def test_a_sandbox_vendors_stored_key_obeys_the_same_rule(
        run, env, checks, name):
    address, key = CLOUDS[name]
    env[address] = FOREIGN
    env[key] = "ddo_exported-0123456789"
    told = [line for line in checks("sandbox") if line.startswith(name)]
    assert len(told) == 1 and f"; at {FOREIGN}" in told[0]  # its own key
    del env[key]
    r = run("auth", "set", name, stdin="ddo_stored-0123456789")
    assert f"does not go to the address in {address}" in r.err
    told = [line for line in checks("sandbox") if line.startswith(name)]
    assert f"; at {FOREIGN}" not in told[0] and "; at https://" in told[0]
    assert f"not to {address}. To change that: dcode auth set {name} " \
        "--base-url URL" in told[1]
    r = run("auth", "set", name, "--base-url", FOREIGN,
            stdin="ddo_stored-0123456789")
    assert "does not go" not in r.err
    told = [line for line in checks("sandbox") if line.startswith(name)]
    assert len(told) == 1 and f"; at {FOREIGN}" in told[0]


def test_azure_has_no_address_but_the_users_own(run, env):
    """As the manual has it: export the endpoint, then store the key."""
    with ModelServer(TURNS) as server:
        env["AZURE_OPENAI_ENDPOINT"] = server.env["ANTHROPIC_BASE_URL"]
        r = run("auth", "set", "azure_openai", stdin=KEY)
        assert r.status == 0 and "does not go" not in r.err
        run("-n", "x", "-M", "azure_openai:m")
        assert server.requests
