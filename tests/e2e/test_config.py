"""test_config.py - dcode config: layers, files, secrets, mistakes."""
# SPDX-License-Identifier: MIT
import json
import subprocess

import pytest

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def data(run):
    """data(*args) -> the data of the envelope, which is one line."""
    def read(*args, status=0, command="config get", **how):
        r = run("config", *args, "--json", **how)
        assert r.status == status, r.err
        assert r.out.count("\n") == 1
        envelope = json.loads(r.out)
        assert list(envelope) == ["schema_version", "command", "data"]
        assert envelope["schema_version"] == 1
        assert envelope["command"] == command
        return envelope["data"]
    return read


@pytest.fixture
def put(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path
    return write


def test_nothing_set(run):
    r = run("config")
    assert (r.status, r.err) == (0, "")
    assert r.out.startswith("Unset and default settings")
    r = run("config", "-v")
    assert r.status == 0
    assert "sandboxes.copy_limit" in r.out and "16384" in r.out
    assert run("config", "--all").out == r.out


@pytest.mark.parametrize("key, value", [
    ("threads.when_full", "stop"), ("ui.notify", "bell")])
def test_a_default_that_is_text_is_shown_as_the_value(run, key, value):
    assert run("config", "get", key).out.split() == [key, value, "default"]


def test_each_layer_goes_over_the_weaker(data, config, put, env):
    def mode():
        row = data("get", "credentials.groq")
        assert SECRET not in str(row)
        return row["value"], row["source"], row["set"]

    def allowed():
        row = data("get", "shell.allow_list")
        return row["value"], row["source"]

    assert mode() == ("not configured", "unset", False)
    put("work/.env", f"export GROQ_API_KEY='{SECRET}'\n")
    assert mode() == ("configured", "project .env (GROQ_API_KEY)", True)
    put("home/.deepagents/.env", f"GROQ_API_KEY={SECRET}\n")
    assert mode() == ("configured", "user .env (GROQ_API_KEY)", True)
    env["GROQ_API_KEY"] = SECRET
    assert mode() == ("configured", "env (GROQ_API_KEY)", True)
    env["DEEPAGENTS_CODE_GROQ_API_KEY"] = SECRET
    assert mode() == ("configured", "env (DEEPAGENTS_CODE_GROQ_API_KEY)",
                      True)
    env["DEEPAGENTS_CODE_GROQ_API_KEY"] = ""
    assert mode() == ("not configured", "unset", False)

    assert allowed() == (None, "unset")
    config("shell.allow_list = ['ls', 'cat']\n")
    assert allowed() == (["ls", "cat"], "config.toml")
    env["SHELL_ALLOW_LIST"] = "rm"
    assert allowed() == (["ls", "cat"], "config.toml")
    env["DEEPAGENTS_CODE_SHELL_ALLOW_LIST"] = "git, wc"
    assert allowed() == (["git", "wc"],
                         "env (DEEPAGENTS_CODE_SHELL_ALLOW_LIST)")


def test_sections_and_unknown_keys(run, data, config):
    config("""
        [models]
        default = "mine:m"
        [models.providers.mine]
        base_url = "http://localhost/v1"
        [nobody.knows]
        key = 1
    """)
    assert data("get", "models.default")["value"] == "mine:m"
    keys = [row["key"] for row in data("get", "models")]
    assert "models.default" in keys
    assert "models.providers.mine.base_url" in keys
    assert not any(key.startswith("startup") for key in keys)
    assert data("get", "MODELS.") == data("get", "models")
    assert [row["key"] for row in data("get", "models.providers")] == [
        "models.providers.mine.base_url"]
    r = run("config", "get", "models.default")
    assert r.status == 0
    assert r.out.split() == ["models.default", "mine:m", "config.toml"]

    for key in "nobody.knows", "no.such", "model", "":
        r = run("config", "get", key)
        assert (r.status, r.out) == (1, "")
        assert "Unknown config option or section" in r.err
    assert data("get", "no.such", status=1)["key"] == "no.such"
    r = run("config", "get")
    assert r.status == 2 and "config get needs KEY" in r.err
    assert run("config", "get", "a", "b").status == 2
    assert run("config", "bogus").status == 2


def test_rows_of_the_providers(data, config):
    config("[sandboxes.providers.local.params]\nnetwork = 'full'\n")
    rows = {row["key"]: row for row in
            data("get", "sandboxes.providers.local")}
    row = rows["sandboxes.providers.local.params.network"]
    assert (row["value"], row["source"]) == (["full"], "config.toml")
    every = data("-v", command="config list")
    assert all("summary" in row or not row["source"] for row in every)


def test_secrets_are_never_shown(run, config, put, env):
    config(f"""
        [models.providers.mine]
        base_url = "https://user:{SECRET}@host/v1"
        api_key_env = "MINE"
        [models.providers.mine.params]
        api_key = "{SECRET}"
        default_headers = {{ X-Any = "{SECRET}" }}
    """)
    put("work/.env", f"XAI_API_KEY={SECRET}\nA_URL={SECRET}\nB='{SECRET}\n")
    env["OPENAI_API_KEY"] = SECRET
    env["MINE"] = SECRET
    for how in [], ["-v"], ["--json"], ["get", "models"], [
            "get", "credentials", "--json"], ["path"]:
        r = run("config", *how)
        assert r.status == 0
        assert SECRET not in r.out + r.err
    assert "configured" in run("config").out


def test_a_broken_file_is_a_warning(run, data, config, env):
    path = config("[models]\ndefault = 'a:b'\n\noops\n")
    r = run("config", "-v")
    assert r.status == 0
    assert f"{path}:4:5: missing '=' after the key 'oops'" in r.err
    files = {f["name"]: f["status"] for f in
             data("path", command="config path")}
    assert files["config.toml"] == "broken"
    config("[models]\ndefault = 3\n")
    row = data("get", "models.default")
    assert row["value"] is None
    assert ":2:11: models.default must be a string" in row["error"]


def test_project_file(run, data, config, put, tmp_path, env):
    put("work/.env", "GROQ_API_KEY=12345678\nHTTPS_PROXY=http://evil\n"
        "OPENAI_BASE_URL=http://evil\nPATH=/evil\nnonsense\n")
    deep = tmp_path / "work" / "a" / "b"
    deep.mkdir(parents=True)
    r = run("config", "get", "credentials.groq", cwd=deep)
    assert "project .env" in r.out
    for line, name in (2, "HTTPS_PROXY"), (3, "OPENAI_BASE_URL"), (4, "PATH"):
        assert f"work/.env:{line}: {name} may not be set" in r.err
    assert "work/.env:5: expected NAME=value" in r.err
    assert "evil" not in r.err and "nonsense" not in r.err

    def state():
        return [f["status"] for f in data("path", command="config path")
                if f["name"] == "project .env"]
    assert state() == ["ok"]
    config("[startup]\nread_project_dotenv = false\n")
    assert state() == ["disabled"]
    assert data("get", "credentials.groq")["source"] == "unset"
    env["DEEPAGENTS_CODE_READ_PROJECT_DOTENV"] = "1"
    assert state() == ["ok"]


def test_a_light_command(dcode_release, env, tmp_path):
    """No libcurl, no file but those looked for, no thread."""
    trace = tmp_path / "trace"
    subprocess.run(["strace", "-f", "-o", trace, dcode_release, "config"],
                   env=env, cwd=tmp_path / "work", check=True,
                   stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    calls = trace.read_text()
    assert "/.deepagents/config.toml" in calls
    assert "libcurl" not in calls
    assert "clone" not in calls
    assert "/etc/passwd" not in calls
