"""test_trust_c9_messages.py - what is wrong, where, and what to type next."""
# SPDX-License-Identifier: MIT
import re
import sqlite3

import pytest

ABSENT = "dcode does not have this {} of the Python program\n"


@pytest.mark.parametrize("line, flag, instead", [
    ("--no-interpreter", "--no-interpreter", "Instead: leave it out"),
    ("-e abc", "--extension", ""),
    ("--goal=abc -n x", "--goal", ""),
    ("--goa -n x", "--goal", ""),
    ("-n x --recursion-limit 5", "--recursion-limit", "--max-turns"),
    ("-n x --show-reasoning", "--show-reasoning", ""),
])
def test_a_flag_of_the_python_program_is_told_as_such(run, line, flag, instead):
    r = run(*line.split())
    assert r.status == 2 and not r.out
    assert f"dcode: error: {flag}: {ABSENT.format('flag')}" in r.err
    assert instead in r.err


def test_a_command_of_the_python_program_is_told_as_such(run):
    for line in (["plugins", "list", "--agent", "x"], ["update"]):
        r = run(*line)
        assert r.status == 2
        assert f"dcode {line[0]}: {ABSENT.format('command')}" in r.err
    assert "unknown command 'nosuch'" in run("nosuch").err


def test_an_ambiguous_option_names_the_candidates(run):
    r = run("-n", "x", "--sand", "local")
    assert r.status == 2
    assert r.err.endswith(
        "ambiguous option: --sand could mean --sandbox, --sandbox-id, "
        "--sandbox-snapshot-name, --sandbox-setup, --sandbox-network\n")
    assert "could mean --verbose, --version" in run("config", "--ver").err
    assert run("--vers").status == 0


def test_a_mistyped_option_is_answered_with_the_nearest(run):
    assert "Did you mean --sandbox?" in run("--sanbox", "local").err
    assert "Did you mean" not in run("--nothing-like-it").err


@pytest.mark.parametrize("line, usage", [
    ("sandbox exec --nosuch", "sandbox exec ID [--sandbox TYPE] [--stdin] "
     "[--json] -- COMMAND..."),
    ("sandbox cp a b", "sandbox cp SRC DST [--bring NAME] [--sandbox TYPE] "
     "[--json]"),
    ("sandbox info", "sandbox info ID [--sandbox TYPE] [--json]"),
    ("sandbox nosuch", "sandbox list|info|exec|shell|cp|create|stop|start|"
     "snapshot|forward|url|network|secrets|rm|gc ..."),
    ("config get", "config get KEY [-v] [--json]"),
    ("config --nosuch", "config [-v] [--json]"),
    ("auth ls x", "auth list [--json]"),
    ("install x --nosuch", "install PROVIDER [--package] [--yes] [--offline] "
     "[--json]"),
    ("--nosuch", "[options] [COMMAND ...]"),
    ("-n x --max-turns x", "[options] [COMMAND ...]"),
])
def test_a_wrong_line_is_answered_with_its_one_line_of_usage(run, line, usage):
    r = run(*line.split())
    lines = r.err.splitlines()
    assert r.status == 2 and lines[0] == f"usage: dcode {usage}"
    assert lines[1].startswith("dcode: error: ")


def test_the_line_is_checked_before_credentials_are_looked_for(run, tmp_path):
    missing = tmp_path / "missing.sh"
    for line, told in (
            (f"--sandbox local --sandbox-setup {missing}",
             f"Setup script not found: {missing}"),
            (f"--sandbox local --sandbox-setup {tmp_path}", "is a directory"),
            ("--model-params {", "--model-params is not valid JSON"),
            ("--model-params 5", "--model-params must be a JSON object"),
            ("--sandbox nosuch", "Unknown sandbox provider 'nosuch'"),
            ("--max-turns x", "invalid int value: 'x'"),
            ("--sandbox-id x", "--sandbox-id requires a --sandbox provider"),
            ("-S all,ls", "Cannot combine 'all'")):
        r = run("-n", "x", *line.split())
        assert r.status and told in r.err and "credentials" not in r.err
    only = run("provider", "test", "daytona", "--only", "nosuch")
    assert "no check has 'nosuch' in its name" in only.err
    assert "No model key found" in run("-n", "x").err


MODELS = """[retries]
max_retries = 0
[models.providers.mine]
base_url = "http://127.0.0.1:9/v1"
[models.providers.bad]
base_url = "nonsense"
[models.providers.named]
base_url_env = "NAMED_URL"
"""


def test_the_address_of_a_model_names_its_setting(config, env, home, run):
    config(MODELS)
    (home / ".deepagents" / ".env").write_text(
        "\n# mine\nNAMED_URL=http://127.0.0.1:9/v2\n")
    err = run("-n", "x", "-M", "mine:m").err
    assert "mine: cannot reach http://127.0.0.1:9/v1 (base_url of " \
        "[models.providers.mine], config.toml line 4): " in err
    assert "[models.providers.bad], config.toml line 6)" in run(
        "-n", "x", "-M", "bad:m").err
    # What a *_env key names is masked, its value may hold a key.
    assert f" (NAMED_URL, {home}/.deepagents/.env line 3): " in run(
        "-n", "x", "-M", "named:m").err
    env["OPENAI_API_KEY"] = "sk-0123456789"
    env["DEEPAGENTS_CODE_OPENAI_BASE_URL"] = "http://127.0.0.1:9"
    assert "(DEEPAGENTS_CODE_OPENAI_BASE_URL): " in run(
        "-n", "x", "-M", "openai:m").err


def test_the_address_of_a_sandbox_vendor_names_its_setting(env, home, run):
    env["DAYTONA_API_KEY"] = "dtn_0123456789"
    (home / ".deepagents").mkdir(mode=0o700)
    where = home / ".deepagents" / ".env"
    where.write_text("A=1\nDAYTONA_API_URL=http://127.0.0.1:9\n")
    line = ["sandbox", "list", "--sandbox", "daytona"]
    assert "daytona: cannot reach http://127.0.0.1:9 (DAYTONA_API_URL, " \
        f"{where} line 2): " in run(*line).err
    where.write_text("DAYTONA_API_URL=http://example.org\n")
    assert f"(DAYTONA_API_URL, {where} line 1)" in run(*line).err
    env["DAYTONA_API_URL"] = "http://127.0.0.1:9"
    assert "9 (DAYTONA_API_URL): " in run(*line).err


def test_the_list_shows_12_digits_of_a_docker_id(home, run):
    run("sandbox", "list")
    db = sqlite3.connect(home / ".deepagents" / ".state" / "dcode.db")
    whole = "0123456789abcdef" * 4
    for name, provider, box in (("aaaaaa", "docker", whole),
                                ("bbbbbb", "e2b", "i0123456789abcdefgh")):
        db.execute("insert into ledger (label, provider, endpoint, id, state, "
                   "created, ends, changed, pid, started, place) values "
                   "(?, ?, '', ?, 2, 1, 0, 1, 1, 1, '')",
                   (f"dcode-{name}", provider, box))
    db.commit()
    out = run("sandbox", "list").out
    assert " 0123456789ab  " in out and "i0123456789abc " in out
    assert whole in run("sandbox", "list", "--json").out
    r = run("sandbox", "info", "aaaaaa")
    assert whole not in r.out + r.err


def test_what_is_not_ready_is_counted(run, env):
    env["E2B_API_KEY"] = "made-up-key-0123456789"
    for command in (("provider", "list"), ("doctor",)):
        r = run(*command)
        assert "e2b" in r.out and "DAYTONA_API_KEY" not in r.out
        assert re.search(r"\d more.*daytona", r.out, re.S), r.out
        whole = run(*command, "-v").out
        assert "DAYTONA_API_KEY" in whole and "more" not in whole
        assert "DAYTONA_API_KEY" in run(*command, "--json").out
