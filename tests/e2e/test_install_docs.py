"""test_install_docs.py - make install: program, manual, completions."""
# SPDX-License-Identifier: MIT
import json
import re
import shutil
import subprocess

import pytest

FILES = {
    "bin/dcode", "share/man/man1/dcode.1",
    "share/bash-completion/completions/dcode",
    "share/zsh/site-functions/_dcode",
    "share/fish/vendor_completions.d/dcode.fish",
    "share/dcode/services/coreweave.toml",
    "share/dcode/services/sprites.toml",
    "share/dcode/services/upstash.toml",
}
DRIVER = """
. "$1"; shift
compopt() { COMPREPLY=("compopt $*"); }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dcode
printf '%s\\n' "${COMPREPLY[@]}"
"""


def man_files(tables):
    """The man page of each topic."""
    for topic in tables["topics"]:
        name, section = topic["name"], topic["section"]
        page = {"dcode": "dcode", "toml": "dcode.toml"}.get(
            name, "dcode-" + name)
        yield f"share/man/man{section}/{page}.{section}"


@pytest.fixture(scope="module")
def installed(top, tmp_path_factory):
    """/usr of a DESTDIR that make install filled."""
    dest = tmp_path_factory.mktemp("dest")
    subprocess.run(["make", "-s", "install", f"DESTDIR={dest}", "PREFIX=/usr"],
                   cwd=top, check=True, stdout=subprocess.DEVNULL)
    return dest / "usr"


@pytest.fixture(scope="module")
def tables(dcode_release):
    out = subprocess.run([dcode_release, "help", "--json"], check=True,
                         stdout=subprocess.PIPE).stdout
    return json.loads(out)["data"]


@pytest.fixture
def complete(installed):
    """complete(WORD...) -> what bash offers for the last word."""
    script = installed / "share/bash-completion/completions/dcode"

    def run(*words):
        r = subprocess.run(["bash", "-c", DRIVER, "bash", script, "dcode",
                            *words], check=True, stdout=subprocess.PIPE)
        return r.stdout.decode().split("\n")[:-1]
    return run


def test_models_complete_by_name_and_by_short_name(complete):
    assert "opus" in complete("-M", "op")
    assert "claude-opus-5-5" in complete("-M", "claude-op")
    assert "gpt-6.1-terra" in complete("--model", "gpt-6")


def test_make_uninstall_leaves_nothing(top, installed, tmp_path):
    shutil.copytree(installed, tmp_path / "usr")
    (tmp_path / "usr/share/man/man1/other.1").touch()
    subprocess.run(["make", "-s", "uninstall", f"DESTDIR={tmp_path}",
                    "PREFIX=/usr"], cwd=top, check=True)
    left = [p for p in (tmp_path / "usr").rglob("*") if p.is_file()]
    assert [p.name for p in left] == ["other.1"]


def test_make_install_puts_each_file_in_its_place(installed, tables):
    found = {str(p.relative_to(installed)) for p in installed.rglob("*")
             if p.is_file()}
    assert found == FILES | set(man_files(tables))
    r = subprocess.run([installed / "bin/dcode", "--version"],
                       stdout=subprocess.PIPE, check=True)
    assert r.stdout.startswith(b"dcode ")


def show_man(page, columns):
    """What man prints; not a word of warning."""
    r = subprocess.run(["man", "--warnings", "-l", page], check=True,
                       env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                            "MANWIDTH": str(columns)},
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert r.stderr == b"", page
    return r.stdout.decode()


def test_each_man_page_is_clean(installed, tables):
    for name in man_files(tables):
        lint = subprocess.run(["mandoc", "-Tlint", installed / name],
                              stdout=subprocess.PIPE, check=False).stdout
        assert lint == b"", lint.decode()
        assert show_man(installed / name, 80).startswith(
            name.split("/")[-1].rsplit(".", 1)[0].upper() + "(")


def test_the_manual_has_every_option_and_command(installed, tables):
    text = show_man(installed / "share/man/man1/dcode.1", 200)
    for option in tables["options"] + tables["run_options"]:
        assert f"--{option['name']}" in text, option["name"]
    for command in tables["commands"]:
        for row in [command, *command["subcommands"]]:
            assert not row["usage"] or f"dcode {row['usage']}" in text


def test_bash_completes_options_of_a_run(complete):
    assert complete("--sand") == [
        "--sandbox", "--sandbox-id", "--sandbox-snapshot-name",
        "--sandbox-setup", "--sandbox-network"]
    assert complete("-n", "x", "--mod") == ["--model", "--model-params"]


def test_bash_completes_commands_and_subcommands(complete, tables):
    assert complete("") == [c["name"] for c in tables["commands"]]
    assert complete("sandbox", "") == [
        "list", "info", "exec", "shell", "cp", "create", "stop", "start",
        "snapshot", "forward", "url", "network", "secrets", "rm", "gc"]
    assert complete("-q", "--sandbox", "local", "sandbox", "l") == ["list"]
    assert complete("help", "provide")[0] == "provider"
    for topic in tables["topics"]:
        assert topic["name"] in complete("help", topic["name"][:3])


def test_bash_completes_an_option_only_where_its_subcommand_is(complete):
    assert complete("sandbox", "rm", "--forc") == ["--force"]
    assert complete("sandbox", "gc", "--forc") == [""]
    assert complete("-n", "x", "--forc") == ["--force"]
    assert complete("sandbox", "gc", "--dr") == ["--dry-run"]


def test_bash_completes_values(complete):
    assert complete("--sandbox", "lo") == ["local"]
    assert complete("--sandbox", "=", "lo") == ["local"]
    assert complete("--sandbox-network", "") == ["full", "none"]
    assert complete("auth", "set", "openr") == ["openrouter"]
    assert complete("provider", "test", "mo") == ["modal"]
    assert complete("--sandbox-setup", "/e") == ["compopt -o default"]
    assert complete("sandbox", "exec", "x", "--", "l") == [
        "compopt -o default"]


@pytest.mark.parametrize("shell, path", [
    ("bash", "share/bash-completion/completions/dcode"),
    ("zsh", "share/zsh/site-functions/_dcode"),
    ("fish", "share/fish/vendor_completions.d/dcode.fish")])
def test_completions_know_each_option_and_parse(installed, tables, shell,
                                                path):
    text = (installed / path).read_text()
    dashes = "-l " if shell == "fish" else "--"
    for option in tables["options"] + tables["run_options"]:
        assert dashes + option["name"] in text
    topics = {t["name"] for t in tables["topics"]}
    assert any(topics <= set(re.findall(r"[\w-]+", line))
               for line in text.splitlines())
    subprocess.run([shell, "-n", installed / path], check=True)
