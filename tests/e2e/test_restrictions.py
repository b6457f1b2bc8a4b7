"""test_restrictions.py - a config.toml that cannot be used keeps its limits."""
# SPDX-License-Identifier: MIT
import os
import subprocess

import pytest

from broken_files import NO_FILES, put_no_file
from test_config import data  # noqa: F401
from test_live_chat import live  # noqa: F401
from test_trust_c10_policy import PLACE, managed, task  # noqa: F401

# pylint: disable=redefined-outer-name

M = ("-M", "anthropic:m")
DONE = {"text": "done."}
CAP = "[limits]\nmax_usd = 0.0001\n"
BROKEN = CAP + '[ui]\ntheme = "dark"x\n'
SECTIONS = {
    "approvals": ["allow = 1", "review = 1", "sandbox = true"],
    "limits": ["max_usd = 'five'", "max_usd = []", "max_usd = -1",
               "max_usd = true", "max_usd = nan", "warn_usd = 'x'",
               "warn_usd = [1, true]"],
    "mcp": ["allow = 1", "call_timeout = 'x'", "disabled_servers = 1",
            "disabled_servers = [1]", "disabled_project_servers = true",
            "startup_timeout = []"],
    "network": ["allow = 1", "allow = [1]"],
    "models": ["allowed = 5", "allowed = [5]", "providers = 3",
               "providers.anthropic.enabled = 'false'",
               "providers.anthropic.allow_http = 'no'"],
    "retries": ["max_retries = 'two'"],
    "sandboxes": ["copy_limit = 'x'", "default = 3", "keep_for = 'x'",
                  "on_exit = 1", "providers = 1", "providers.docker = 1",
                  "providers.docker.params = 'x'",
                  "providers.docker.params.network = false",
                  "providers.docker.params.memory = 5",
                  "providers.docker.params.no_new_privileges = 'x'",
                  "providers.local.params.network = 0",
                  "providers.e2b.params.network = 1",
                  "providers.vercel.params.network = [1]",
                  "providers.modal.params.lifetime = 'x'"],
    "shell": ["allow_list = 1", "allow_list = [1]"],
    "skills": ["extra_allowed_dirs = 1"],
    "startup": ["read_project_dotenv = 'no'"],
    "threads": ["max_size_mb = 'x'", "when_full = 1"],
    "web": ["allow_hosts = 1", "allow_private = 'false'",
            "allow_search = 'no'", "search_command = 1"],
    "workspace": ["mode = 1", "include = 1", "history = 'all'",
                  "file_mb = 'x'", "fetch_mb = 'x'"],
}
WRONG = [f"[{section}]\n{line}\n" for section, lines in SECTIONS.items()
         for line in lines]
WRONG += [f"{section} = 1\n" for section in SECTIONS]
WRONG += ["protect = 1\n", "protect = [1]\n", "[[limits]]\nmax_usd = 1\n"]


@pytest.mark.parametrize("text", WRONG)
def test_a_key_that_restricts_ends_a_run_where_its_type_is_wrong(
        config, model, run, text):
    server = model([DONE])
    path = config(text)
    r = run("-n", "x", *M)
    assert r.status == 2 and f"Error: {path}:" in r.err, r.err
    assert not server.requests


@pytest.mark.parametrize("text", [
    "[ui]\ntheme = 5\n", "[ui]\nnotify_after = 'x'\n",
    "[sandboxes.providers.docker.params]\nimage = 5\n",
    "[limits]\nmax_usd = 5\nwarn_usd = [1, '2.50']\n", "[limits]\n",
    "[limits]\nmax_usd = '0.50'\n", "[sandboxes]\noverlap = 'x'\n",
    "[shell]\nallow_list = 'ls,cat'\n"])
def test_other_keys_do_not(config, model, run, text):
    server = model([DONE])
    config(text)
    r = run("-n", "x", "-M", "anthropic:claude-opus-5")
    assert r.status == 0 and server.requests, r.err


def place(config, how, tmp_path):
    path = config(CAP)
    if how == "large":
        path.write_text(CAP + "#" + " " * (8 << 20))
    elif not put_no_file(path, how):
        path.write_bytes({"syntax": BROKEN.encode(),
                          "cut": b"[limits]\nmax_usd = ",
                          "twice": CAP.encode() * 2,
                          "latin": CAP.encode() + b"# \xe9\n",
                          "nul": CAP.encode() + b"\0"}[how])
    return path


@pytest.mark.parametrize("how", ["syntax", "cut", "twice", "latin", "nul",
                                 *NO_FILES, "large"])
def test_a_file_that_cannot_be_read_ends_a_run(config, model, run, tmp_path,
                                               how):
    server = model([DONE])
    path = place(config, how, tmp_path)
    for words in (["-n", "x"], ["-n", "x", "-q"], ["-n", "x", "--json"],
                  ["-n", "x", "--output-format", "stream-json"],
                  ["-n", "x", "-y", "-S", "all"],
                  ["-n", "x", "--sandbox", "local"]):
        r = run(*words, *M)
        assert r.status == 2 and str(path) in r.err, (words, r.err)
    r = run(*M, stdin="x")
    assert r.status == 2 and str(path) in r.err
    assert not server.requests


def test_what_explains_still_runs(config, run):
    config(BROKEN)
    for words in (["help"], ["--help"], ["help", "apply"], ["--version"],
                  ["version"], ["config"], ["config", "path"],
                  ["config", "get", "limits"], ["auth", "path"],
                  ["auth", "list"], ["auth", "status", "anthropic"]):
        assert run(*words).status == 0, words
    assert "config.toml" in run("doctor").out
    assert run("auth", "set", "tavily", stdin="tvly-123456789\n").status == 0
    assert run("auth", "remove", "tavily").status == 0


def test_what_only_lists_or_removes_does_too_and_nothing_else(config, run):
    for text, status in ((BROKEN, 2), ("", None)):
        config(text)
        for words in (["sandbox", "list"], ["threads", "list"],
                      ["provider", "list"], ["mcp", "config"],
                      ["trust", "list"]):
            assert run(*words).status == 0, words
        for words in (["mcp", "test"], ["sandbox", "create", "none"],
                      ["install", "local"], ["sync"], ["apply"]):
            r = run(*words)
            assert (r.status == status) or not status, (words, r.err)
            assert (":4:" in r.err) == bool(text), (words, r.err)


@pytest.mark.parametrize("text", [BROKEN, "[limits]\nmax_usd = 'five'\n",
                                  "[limits]\nwarn_usd = ['x']\n",
                                  "[mcp]\ndisabled_servers = 1\n"])
@pytest.mark.parametrize("args", [[], ["--plain"]], ids=["screen", "lines"])
@pytest.mark.parametrize("answer", ["y", "n"])
def test_the_chat_asks(config, live, text, answer, args):
    config(text)
    s, server = live([DONE], args=args,
                     ready="Continue without this file? [y/N]")
    s.type(answer)
    s.keys("Enter")
    if answer == "y":
        s.until("/quit")
        s.type("hello")
        s.keys("Enter")
        s.until("done.")
        s.type("/quit")
        s.keys("Enter")
    assert s.status() == (0 if answer == "y" else 2)
    assert len(server.requests) == (answer == "y")


def test_a_reload_keeps_the_limits_that_there_were(config, live):
    config("[web]\nallow_hosts = ['a.example']\n")
    s, _ = live([DONE], args=["--plain"], ready="/quit")
    config(BROKEN)
    s.type("/reload")
    s.keys("Enter")
    s.until("\nError:")
    s.type("/config get web.allow_hosts")
    s.keys("Enter")
    s.until("a.example")
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0


@pytest.mark.parametrize("policy", [
    "[limits]\nmax_usd = 'five'\n", "limits = 5\n", "[web\n", "mcp = 1\n",
    "[models.providers.x]\nenabled = 'no'\n", "sandboxes = 1\n",
    "[sandboxes]\nproviders = 1\n", "[mcp]\ndisabled_servers = 1\n"])
def test_a_broken_policy_ends_every_run_unasked(task, managed, policy):
    r, ran, asked = task(policy, *M, "-y")
    assert (r.returncode, ran, asked) == (78, False, 0), r.stderr
    assert PLACE in r.stderr and "[y/N]" not in r.stderr
    assert managed(policy, "sandbox", "list").returncode == 78
    for words in (["help"], ["version"], ["config"], ["auth", "list"]):
        assert managed(policy, *words).returncode == 0, words
    good = "[limits]\nmax_usd = 5\n[mcp]\ndisabled_servers = ['a']\n"
    r, ran, _ = task(good, "-M", "anthropic:claude-opus-5", "-y")
    assert (r.returncode, ran) == (0, True), r.stderr


KEYS = {
    "top": lambda n: "".join(f"key{i} = {i}\n" for i in range(n)),
    "sections": lambda n: "".join(f"[s{i}]\nk = 1\n" for i in range(n)),
    "params": lambda n: "[sandboxes.providers.docker.params]\n" + "".join(
        f"key{i} = {i}\n" for i in range(n)),
    "models": lambda n: "[models.providers.x]\n" + "".join(
        f"key{i} = {i}\n" for i in range(n)),
    "limits": lambda n: "[limits]\n" + "".join(
        f"key{i} = {i}\n" for i in range(n)),
}


@pytest.mark.parametrize("where", KEYS)
def test_a_hundred_thousand_unknown_keys_cost_little(
        config, dcode_release, env, where, tmp_path):
    config(KEYS[where](100000))
    before = os.times().children_user
    r = subprocess.run([dcode_release, "config", "path"], env=env, text=True,
                       capture_output=True, timeout=60, check=True,
                       cwd=tmp_path)
    assert os.times().children_user - before < 1
    lines = r.stderr.splitlines()
    assert len(lines) == 10 and "and 99991 more" in lines[-1], lines
    config(KEYS[where](10))
    r = subprocess.run([dcode_release, "config", "path"], env=env, text=True,
                       capture_output=True, timeout=60, check=True,
                       cwd=tmp_path)
    assert len(r.stderr.splitlines()) == 10 and "more" not in r.stderr


def test_a_misspelt_cap_is_named(config, run):
    config("[limits]\nmax_uds = 5\n")
    r = run("config")
    assert "limits.max_uds is not a known setting" in r.err
    assert "did you mean max_usd?" in r.err


@pytest.mark.slow
def test_every_row_that_limits_by_its_name_is_one_of_them(config, model, run,
                                                          data):
    """So that a new provider's row is not forgotten: config/settings_files.c"""
    config("")
    rows = [row["key"] for row in data("-v", command="config list")]
    words = ("network", "allow", "deny", "block", "disabled", "memory", "cpu",
             "lifetime", "idle", "max_", "limit", "mounts", "protect")
    rows = [key for key in rows
            if any(w in key.rpartition(".")[2] for w in words)]
    assert len(rows) > 50
    server = model([DONE])
    for key in rows:
        config(f"{key} = 2020-01-01\n")
        r = run("-n", "x", *M)
        assert r.status == 2 and key in r.err, (key, r.err)
    assert not server.requests
