"""test_trust_c6_install.py - names that install knows, what a failed pip
says, and that auth remove leaves nothing of what auth set stored."""
# SPDX-License-Identifier: MIT
import json

import pytest

from test_install import wheel

# What the Python program of the same name has as extras.
SUPPORTED = (
    "anthropic baseten cohere deepseek fireworks google-genai groq "
    "huggingface litellm meta mistralai nvidia ollama openai openrouter "
    "together xai bedrock vertex agentcore daytona modal runloop vercel "
    "all-providers all-sandboxes").split()
UNSUPPORTED = "ibm perplexity media quickjs".split()


@pytest.fixture(autouse=True)
def debian(env):
    env["PATH"] = "/usr/bin:/bin"


@pytest.mark.parametrize("name", SUPPORTED)
def test_install_knows_the_extra(run, name):
    r = run("install", name, "--offline")
    assert r.status in (0, 1), (r.out, r.err)
    assert "ready" in r.out
    assert "--package" not in r.out + r.err


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_an_extra_without_a_use_suggests_no_strangers_package(run, name):
    r = run("install", name)
    assert r.status == 1, (r.out, r.err)
    assert f"cannot set up '{name}': " in r.err
    assert "--package" not in r.out + r.err
    data = json.loads(run("install", name, "--json").out)
    assert data["error"]["code"] == "config"


def test_a_misspelt_name_is_no_package_to_install(run):
    r = run("install", "antropic")
    assert r.status == 2 and "all-providers" in r.err
    assert "dcode install PACKAGE --package" in r.err
    assert "install antropic --package" not in r.err


def test_all_providers_says_which_have_a_key(run, env):
    env["OPENAI_API_KEY"] = "sk-0123456789abcdef"
    r = run("install", "all-providers")
    assert r.status == 1
    assert "✓ openai: env: OPENAI_API_KEY" in r.out
    assert "✗ groq: GROQ_API_KEY is not set (dcode auth set groq)" in r.out
    assert "model providers are ready." in r.out
    rows = json.loads(run("install", "all-providers", "--json").out)["data"]
    ready = {row["name"]: row["ready"] for row in rows}
    assert ready["openai"] and not ready["groq"]


def test_a_failed_pip_says_its_last_line(run, home, tmp_path):
    needy = wheel(tmp_path, "needy_box", needs="nowhere-to-be-found")
    r = run("install", str(needy), "--package", "--yes", "--offline")
    assert r.status == 1
    log = (home / ".deepagents/.state/install.log").read_text()
    last = log.strip().split("\n")[-1]
    assert last.startswith("ERROR: No matching distribution")
    assert f"Install failed: {last}\n" in r.err


def stored(run):
    rows = json.loads(run("auth", "list", "--json").out)["data"]
    return {row["provider"] for row in rows if row["status"] == "stored"}


def test_auth_remove_removes_all_that_auth_set_stored(run):
    names = [row["provider"] for row in
             json.loads(run("auth", "list", "--json").out)["data"]]
    other = next(n for n in names if n.startswith("agentcore."))
    for name, keys in (("modal", "ak-0123456789\nas-0123456789\n"),
                       ("openai", "sk-0123456789\n"),
                       (other, "token-0123456789\n")):
        r = run("auth", "set", name, stdin=keys)
        assert r.status == 0, r.err
    first = stored(run)
    assert len([n for n in first if n.startswith("modal")]) == 2, first
    r = run("auth", "remove", "modal")
    assert r.status == 0
    assert r.out.count("Removed stored credential for modal") == 2
    assert stored(run) == {n for n in first if not n.startswith("modal")}
    r = run("auth", "remove", "agentcore", "--json")
    assert json.loads(r.out)["data"] == {"provider": "agentcore",
                                         "changed": True}
    assert stored(run) == {"openai"}
    assert "No stored credential for modal" in run("auth", "remove",
                                                   "modal").out


def test_auth_remove_of_one_key_leaves_the_others(run):
    run("auth", "set", "modal", stdin="ak-0123456789\nas-0123456789\n")
    first = stored(run)
    second = next(n for n in first if n != "modal")
    assert run("auth", "remove", second).status == 0
    assert stored(run) == {"modal"}
