"""test_readme.py - what README.md shows is what the program takes."""
# SPDX-License-Identifier: MIT
import json
import re

import pytest


@pytest.fixture(scope="module")
def readme(top):
    return (top / "README.md").read_text()


def examples(text):
    return re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S)


def test_configuration_examples(readme, config, env, run):
    env["ACME_TOKEN"] = "made-up"
    assert len(examples(readme)) >= 3
    config("\n".join(examples(readme)))
    r = run("config")
    assert (r.status, r.err) == (0, "") and "(invalid)" not in r.out
    assert "mine:qwen3" in r.out
    # and what is wrong is told
    config("[sandboxes.providers.docker.params]\ncpus = 2\n")
    assert "cpus must be a string" in run("config").err


def test_flags_are_those_of_the_help(readme, run):
    table = re.search(r"\n\| flag \|.*?\n\n", readme, re.S).group()
    told = set(re.findall(r"--[a-z][a-z-]+", "\n".join(
        row.split(" | ")[0] for row in table.splitlines())))
    have = set(re.findall(r"--[a-z][a-z-]+", run("--help").out))
    assert len(told) > 15 and told <= have
    elsewhere = {"--install", "--package", "--yes", "--offline",
                 "--version", "--help"}
    assert have - told <= elsewhere


def test_commands_have_their_help(readme, run):
    named = set(re.findall(r"`dcode ([a-z]+)|^    dcode ([a-z]+)", readme,
                           re.M))
    named = {a or b for a, b in named} - {"help", "version"}
    assert len(named) > 5
    commands = run("--help").out
    for name in sorted(named):
        assert re.search(rf"^  {name} ", commands, re.M), name
        assert f"usage: dcode {name}" in run("help", name).out


def test_sandboxes_are_those_of_the_list(readme, run):
    table = re.search(r"\n\| name \| what it is.*?\n\n", readme, re.S).group()
    told = re.findall(r"^\| `([a-z0-9]+)`", table, re.M)
    rows = json.loads(run("provider", "list", "--json").out)["data"]
    have = [r["name"] for r in rows if "alias_of" not in r]
    assert sorted(told) == sorted(have) and len(told) > 10
