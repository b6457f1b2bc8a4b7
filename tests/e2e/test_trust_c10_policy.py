"""test_trust_c10_policy.py - /etc/dcode/managed_config.toml goes over all that
a user says, and what it demands in vain ends every run."""
# SPDX-License-Identifier: MIT
import json
import os
import shutil
import subprocess

import pytest

PLACE = "/etc/dcode/managed_config.toml"
# The real path, in a name space of its own: nothing else leads dcode there.
INSIDE = ('mkdir -p "$1/etc/dcode" "$1/etc/ssl" && cp --preserve=mode '
          '/etc/passwd /etc/nsswitch.conf /etc/hosts "$1/etc/" 2>/dev/null; '
          'mount --bind /etc/ssl "$1/etc/ssl" && '
          'mount --rbind "$1/etc" /etc && '
          'cp -a "$1/policy" /etc/dcode/managed_config.toml && shift && '
          'exec "$@"')


def under_policy(tmp_path, command):
    """The command, for which tmp_path/policy is the managed policy."""
    return ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
            INSIDE, "sh", tmp_path, *command]


@pytest.fixture
def managed(dcode, env, tmp_path):
    """managed(policy, *args) -> a run that has ended; policy None: no file,
    a path: that is put there."""
    def run(policy, *args):
        shutil.rmtree(tmp_path / "etc", ignore_errors=True)
        place = tmp_path / "policy"
        if place.is_dir():
            place.rmdir()
        command = [dcode, *args]
        if policy is not None:
            if policy == "directory":
                place.unlink(missing_ok=True)
                place.mkdir()
            else:
                place.write_text(policy)
            command = under_policy(tmp_path, command)
        return subprocess.run(command, env=env, cwd=tmp_path / "work",
                              stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=60, check=False)
    return run


@pytest.fixture
def task(managed, model, tmp_path):
    """task(policy, *flags): a run whose model runs a command; did it?"""
    def go(policy, *flags, script=None):
        mark = tmp_path / "work" / "ran"
        mark.unlink(missing_ok=True)
        server = model(script or [{"tool_calls": [{
            "name": "execute", "args": {"command": "touch ran"}}]},
            {"text": "Done."}])
        r = managed(policy, "-n", "hi", *flags)
        return r, mark.exists(), len(server.model.requests)
    return go


M = ("-M", "anthropic:m")


@pytest.mark.parametrize("policy", [
    "directory", "[shell\n", "[sandboxes]\ndefault = 3\n",
    "[startup]\nmode = \"yolo\"\n", "[startup]\nmode = \"nonsense\"\n",
    "[runtime]\nrecursion_limit = 5\n", "[shell]\nalow_list = []\n",
    "[shell]\nallow_list = [\"all\", \"ls\"]\n",
    "[interpreter]\nenable_interpreter = true\n",
    "[tracing]\nlangsmith_redact = \"yes\"\n",
    "[credentials]\nanthropic = \"x\"\n"])
def test_a_policy_that_cannot_be_honoured_ends_every_run(task, managed,
                                                         policy):
    r, ran, asked = task(policy, *M, "-y")
    assert (r.returncode, ran, asked) == (78, False, 0), r.stderr
    assert PLACE in r.stderr
    if "\"all\"" in policy:
        return  # only a run reads the names
    assert managed(policy, "sandbox", "list").returncode == 78
    assert managed(policy, "--install", "local").returncode == 78
    for command in (["help"], ["--version"], ["config"], ["--help"],
                    ["auth", "path"], ["config", "path"]):
        assert managed(policy, *command).returncode == 0
    r = managed(policy, "doctor")
    assert "managed config" in r.stdout and PLACE in r.stdout


def test_a_policy_of_parts_that_are_not_here_holds_by_itself(task):
    policy = ("[ui]\ntheme = \"x\"\n[mcp]\ndisabled_servers = [\"a\"]\n"
              "[interpreter]\nenable_interpreter = false\nptc = \"safe\"\n"
              "[skills]\nextra_allowed_dirs = []\n"
              "[tracing]\nlangsmith_redact = true\n"
              "[models]\nauto_classifier = \"x:y\"\n")
    for one in (policy, None):
        r, ran, _ = task(one, *M, "-y")
        assert (r.returncode, ran) == (0, True), r.stderr


def test_flags_and_variables_do_not_go_over_the_policy(task, env):
    r, ran, _ = task(None, *M, "-S", "touch")
    assert (r.returncode, ran) == (0, True), r.stderr
    listed = "[shell]\nallow_list = [\"ls\"]\n"
    for flag in (["-S", "touch"], ["-S", "all"], ["-y"]):
        r, ran, asked = task(listed, *M, *flag)
        assert (r.returncode, ran, asked) == (78, False, 0), r.stderr
        assert f"{PLACE}:2 sets shell.allow_list" in r.stderr
    env["DEEPAGENTS_CODE_SHELL_ALLOW_LIST"] = "touch"
    assert task(None, *M)[1]
    r, ran, _ = task(listed, *M)
    assert (r.returncode, ran) == (4, False), r.stderr
    assert not task("[shell]\nallow_list = []\n", *M)[1]
    assert task("[shell]\nallow_list = [\"touch\"]\n", *M)[1]
    for policy in ("[startup]\nyolo_switcher = false\n",
                   "[startup]\nmode = \"manual\"\n",
                   "[approvals]\nsandbox = \"ask\"\n",
                   "[approvals]\nreview = \"all\"\n"):
        for flag in ("-y", "--yolo"):
            r, ran, _ = task(policy, *M, flag)
            assert (r.returncode, ran) == (78, False), r.stderr
    for flag in ("-y", "--yolo"):
        assert task("[startup]\nyolo_switcher = true\n", *M, flag)[1]
        assert task("[approvals]\nsandbox = \"auto\"\n", *M, flag)[1]


def test_models_and_turns_of_the_policy(task, config):
    config("[models]\ndefault = \"anthropic:users\"\n"
           "[models.providers.mine]\nbase_url = \"http://127.0.0.1:1/v1\"\n")
    answer = [{"text": "Done."}]
    r, _, _ = task("[models]\ndefault = \"anthropic:managed\"\n",
                   script=answer)
    assert r.returncode == 0 and "anthropic:managed" in r.stderr
    r, _, _ = task(None, script=answer)
    assert "anthropic:users" in r.stderr
    allowed = "[models]\nallowed = [\"mine:*\", \"anthropic:a\"]\n"
    r, _, asked = task(allowed, *M, script=answer)
    assert (r.returncode, asked) == (78, 0) and "models.allowed" in r.stderr
    r, _, _ = task(allowed, "-M", "anthropic:a", script=answer)
    assert r.returncode == 0
    loop = {"generator": {"tool_turns": 99, "name": "ls",
                          "args": {"path": "."}}}
    r, _, asked = task("[runtime]\nrecursion_limit = 25\n", *M, script=loop)
    assert (r.returncode, asked) == (124, 12)


def test_the_sandbox_of_the_policy(task, managed):
    r, _, _ = task("[sandboxes]\ndefault = \"nosuch\"\n", *M, "--sandbox")
    assert r.returncode == 78 and "nosuch" in r.stderr
    r, _, _ = task("[sandboxes]\ndefault = \"local\"\n", *M)
    assert r.returncode == 4  # on this machine nothing may run
    assert "[sandboxes] default is 'local'" in r.stderr
    r = managed("[sandboxes]\ndefault = \"local\"\n"
                "[sandboxes.providers.local.params]\nnetwork = \"none\"\n",
                "config", "--json")
    rows = {row["key"]: row for row in json.loads(r.stdout)["data"]}
    assert rows["sandboxes.default"]["source"] == "managed"
    key = "sandboxes.providers.local.params.network"
    assert rows[key]["source"] == "managed"


def test_nothing_leads_the_policy_elsewhere(task, env, tmp_path):
    for name in ("DEEPAGENTS_CODE_MANAGED_CONFIG", "DEEPAGENTS_HOME",
                 "XDG_CONFIG_HOME", "DCODE_POLICY_FILE", "MANAGED_CONFIG"):
        env[name] = str(tmp_path)
    (tmp_path / "work" / "managed_config.toml").write_text("[shell\n")
    assert task("[startup]\nyolo_switcher = false\n", *M, "-y")[0].returncode \
        == 78
    assert task(None, *M, "-y")[0].returncode == 0
