"""test_auth.py - stored keys: who sees them, who uses them, what is on disk."""
# SPDX-License-Identifier: MIT
import fcntl
import json
import os
import signal
import stat
import subprocess
import termios
import time

import pytest

from daytona import Daytona
from terminal import Terminal

KEY = "sk-stored-key-0123456789"
OTHER = "sk-other-key-9876543210"
PHRASE = "correct horse battery"
STATE = ".deepagents/.state"


@pytest.fixture
def auth(run):
    def go(*args, key=None, status=0, **how):
        r = run("auth", *args, stdin=key, **how)
        assert r.status == status, (r.out, r.err)
        assert KEY not in r.out + r.err
        return r
    return go


def on_disk(home):
    """Everything below ~/.deepagents."""
    return b"".join(p.read_bytes() for p in
                    (home / ".deepagents").rglob("*") if p.is_file())


def test_from_a_pipe(auth, home):
    r = auth("set", "openai", key=KEY + "\n")
    assert r.out == "Stored credential for openai.\n"
    assert "stored" in auth("status", "openai").out
    rows = {row["provider"]: row for row in
            json.loads(auth("list", "--json").out)["data"]}
    assert rows["openai"] == {
        "provider": "openai", "kind": "model", "variable": "OPENAI_API_KEY",
        "status": "stored", "configured": True}
    assert rows["groq"]["status"] == "missing"
    assert rows["daytona"]["kind"] == "sandbox"
    assert rows["ollama"]["status"] == "local provider"
    assert KEY.encode() not in on_disk(home)
    path = auth("path").out.strip()
    assert path == str(home / STATE / "credentials")
    for name, mode in (("credentials", 0o600), ("credentials.key", 0o600),
                       ("", 0o700)):
        assert stat.S_IMODE(os.stat(home / STATE / name).st_mode) == mode
    assert auth("remove", "openai").out == \
        "Removed stored credential for openai.\n"
    assert auth("rm", "openai").out == "No stored credential for openai.\n"
    assert "missing" in auth("status", "openai").out


def test_mistakes(auth, env, config):
    assert "Error: no API key received on stdin." in \
        auth("set", "openai", key=" \n", status=1).err
    assert "not an API key" in auth("set", "openai", key="a b", status=1).err
    assert "not an API key" in \
        auth("set", "openai", key="a\x1b[1m", status=1).err
    assert "longer than" in \
        auth("set", "openai", key="x" * 20000, status=1).err
    assert "environment variable NOPE is not set or is empty." in \
        auth("set", "openai", "--from-env", "NOPE", status=1).err
    assert "Unknown provider 'nope'" in \
        auth("set", "nope", key=KEY, status=1).err
    assert "sandbox provider local needs no key" in \
        auth("set", "local", key=KEY, status=1).err
    assert "http" in auth("set", "openai", "--base-url", "ftp://x", key=KEY,
                          status=1).err
    assert "do not put a key on the command line" in \
        auth("set", "openai", "sk-shown", key="", status=2).err
    assert "--from-env is an option of dcode auth set" in \
        auth("list", "--from-env", "X", status=2).err
    auth("frob", status=2)
    auth("set", status=2)
    assert "ChatGPT" in auth("set", "openai_codex", key=KEY, status=1).err
    config('[models.providers.acme]\nbase_url = "http://localhost:1/v1"\n')
    assert "api_key_env" in auth("set", "acme", key=KEY, status=1).err
    assert "missing" in auth("status", "openai").out


def test_from_a_variable(auth, env, model, run):
    env["MY_KEY"] = KEY
    auth("set", "openai", "--from-env", "MY_KEY")
    del env["MY_KEY"]
    assert "stored" in auth("status", "openai").out


@pytest.fixture
def model(model, env):
    """Where stored keys may go as well: by variables of dcode's own."""
    def serve(script):
        server = model(script)
        for name in "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL":
            env["DEEPAGENTS_CODE_" + name] = env[name]
        return server
    return serve


def request_key(model, run, env, key, **more):
    """A run that is answered only if it sends this key."""
    server = model({"turns": [{"text": "the answer"}], "key": key})
    for name in ("ANTHROPIC_API_KEY", "DEEPAGENTS_CODE_ANTHROPIC_API_KEY"):
        env.pop(name, None)
    env.update(more)
    r = run("-n", "hi", "-M", "anthropic:m", "--max-retries", "0")
    assert KEY not in r.out + r.err
    return r.status == 0 and len(server.requests) == 1


def test_who_goes_first(auth, model, run, env):
    prefixed = "DEEPAGENTS_CODE_ANTHROPIC_API_KEY"
    plain = "ANTHROPIC_API_KEY"
    assert not request_key(model, run, env, KEY)
    assert request_key(model, run, env, OTHER, **{plain: OTHER})
    auth("set", "anthropic", key=KEY)
    assert request_key(model, run, env, KEY)
    assert request_key(model, run, env, KEY, **{plain: OTHER})
    assert not request_key(model, run, env, OTHER, **{plain: OTHER})
    assert request_key(model, run, env, OTHER, **{prefixed: OTHER})
    env.pop(prefixed)
    assert "stored" in auth("status", "anthropic").out
    env[prefixed] = OTHER
    assert "env: " + prefixed in auth("status", "anthropic").out


def test_a_key_of_ones_own_provider(auth, model, run, env, config):
    server = model({"turns": [{"text": "hi"}] * 2, "key": KEY})
    base = env["OPENAI_BASE_URL"]
    config(f'[models.providers.acme]\nbase_url = "{base}"\n'
           'api_key_env = "ACME_API_KEY"\n')
    auth("set", "acme", key=KEY)
    r = run("-n", "hi", "-M", "acme:m")
    assert r.status == 0, r.err
    assert len(server.requests) == 1


def test_an_address_belongs_to_its_key(auth, model, run, env):
    server = model({"turns": [{"text": "hi"}] * 3, "key": KEY})
    base = env.pop("ANTHROPIC_BASE_URL")
    del env["DEEPAGENTS_CODE_ANTHROPIC_BASE_URL"]
    env.pop("ANTHROPIC_API_KEY", None)
    auth("set", "anthropic", "--base-url", base, key=KEY)
    r = run("-n", "hi", "-M", "anthropic:m", "--max-retries", "0")
    assert r.status == 0, r.err
    assert len(server.requests) == 1
    # Another key does not go to that address.
    env["DEEPAGENTS_CODE_ANTHROPIC_API_KEY"] = OTHER
    env["HTTPS_PROXY"] = env["https_proxy"] = "http://127.0.0.1:9"
    r = run("-n", "hi", "-M", "anthropic:m", "--max-retries", "0")
    assert r.status == 1
    assert len(server.requests) == 1


def test_a_sandbox_uses_it(auth, model, run, env):
    server = model([{"text": "hi"}])
    with Daytona() as cloud:
        env.update(cloud.env)
        key = env.pop("DAYTONA_API_KEY")
        r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "daytona")
        assert r.status == 1 and "DAYTONA_API_KEY" in r.err
        auth("set", "daytona", key=key)
        env["DAYTONA_API_KEY"] = "dtn_wrong_0123456789"
        r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "daytona")
        assert r.status == 0, r.err
        assert len(server.requests) == 1


def test_a_region_stands_for_its_address_with_its_own_vendor_only(auth, run):
    auth("set", "langsmith", "--base-url", "eu", key=KEY)
    assert "ready: https://eu.api.smith.langchain.com" in \
        run("provider", "list", "-v").out
    told = auth("set", "langsmith", "--base-url", "xx", key=KEY, status=1).err
    assert "address, us or eu" in told
    told = auth("set", "daytona", "--base-url", "eu", key=KEY, status=1).err
    assert "https:// address" in told and "us or eu" not in told


def test_what_the_model_prints_is_masked(auth, model, run, env):
    model({"turns": [{"tool_calls": [{
        "name": "execute", "args": {
            "command": "printf 'it is %s%s' " + KEY[:9] + " " + KEY[9:]}}]},
        {"text": "done"}], "check": False})
    env.pop("ANTHROPIC_API_KEY", None)
    auth("set", "anthropic", key=KEY)
    r = run("-n", "hi", "-M", "anthropic:m", "-y", "--json")
    assert r.status == 0, r.err
    assert KEY not in r.out and "[masked:anthropic key]" in r.out


def test_at_a_terminal(terminal, auth, home):
    t = terminal("auth", "set", "openai")
    t.until("API key for openai (not shown): ")
    assert not termios.tcgetattr(t.fd)[3] & termios.ECHO
    t.type("sk-wrong\x15" + KEY + "X\x7f\n")
    t.until("Stored credential for openai.")
    assert t.end() == 0
    assert "sk-" not in t.seen
    assert KEY.encode() not in on_disk(home)
    assert "stored" in auth("status", "openai").out


def test_a_provider_with_two_secrets(terminal, auth, home):
    """Both in one go, from a pipe or at a terminal, or one by one."""
    r = auth("set", "modal", key="ak-0123\n\n as-0123 \n")
    assert r.out == ("Stored credential for modal.\n"
                     "Stored credential for modal.token_secret.\n")
    assert "stored" in auth("status", "modal.token_secret").out
    auth("rm", "modal")
    auth("rm", "MODAL_TOKEN_SECRET")
    auth("set", "modal", key="ak\nas\nmore\n", status=1)
    assert "missing" in auth("status", "modal").out
    r = auth("set", "modal", key="ak-0123")
    assert r.out.endswith("modal also needs: dcode auth set "
                          "modal.token_secret\n")
    assert "needs" not in auth("set", "modal.token_secret", key="as-1").out
    auth("rm", "modal")
    auth("rm", "modal.token_secret")
    t = terminal("auth", "set", "modal")
    t.until("MODAL_TOKEN_ID for modal (not shown): ")
    t.type("ak-0123\n")
    t.until("MODAL_TOKEN_SECRET for modal (not shown): ")
    t.type("as-0123\n")
    t.until("Stored credential for modal.token_secret.")
    assert t.end() == 0
    assert "0123" not in t.seen
    assert b"0123" not in on_disk(home)


def test_named_twice(auth, config):
    """A variable is one key, whatever names it; a vendor's stays its own."""
    config("""
[sandboxes.providers.mine]
credentials = ["MY_TOKEN", "MY_TOKEN", "MY_OTHER", "E2B_API_KEY"]
[sandboxes.providers.mine.http]
base = "http://127.0.0.1:9"
headers = { A = "${MY_TOKEN}" }
create = { path = "/", id = "/id" }
execute = { path = "/{id}", body = "{command}" }
delete = { path = "/{id}" }
[sandboxes.providers.openai]
command = ["true"]
credentials = ["BOX_KEY"]
""")
    names = [line.split()[0] for line in auth("list").out.splitlines()]
    assert [n for n in names if n.startswith("mine")] == \
        ["mine", "mine.my_other"]
    assert names.count("e2b") == names.count("openai") == 1
    auth("set", "openai", key=KEY)
    assert "missing" in auth("status", "openai.box_key").out


def test_in_the_chat(terminal, auth, model):
    model({"turns": [{"text": "Hello."}], "repeat": True})
    t = terminal("-M", "anthropic:m")
    t.until("> ")
    t.type("/auth set e2b\n")
    t.until("API key for e2b (not shown): ")
    assert not termios.tcgetattr(t.fd)[3] & termios.ECHO
    t.type(KEY + "\n")
    t.until("Stored credential for e2b.\r\n\r\n> ")
    assert termios.tcgetattr(t.fd)[3] & termios.ECHO
    t.type("/auth status e2b\n")
    t.until("stored\r\n\r\n> ")
    t.type("/auth rm e2b\n")
    t.until("Removed stored credential for e2b.\r\n\r\n> ")
    t.type("/auth\n")
    t.until(" missing\r\n\r\n> ")
    t.type("/auth frob\n")
    t.until("unknown command 'auth frob'\r\n\r\n> ")
    t.type("/quit\n")
    assert t.end() == 0
    assert KEY not in t.seen
    assert "missing" in auth("status", "e2b").out


def test_a_long_key_at_a_terminal(terminal, auth, model, run, env):
    """Longer than a line that the terminal's own editing would take."""
    key = "k" * 9000
    t = terminal("auth", "set", "anthropic")
    t.until("not shown): ")
    for i in range(0, len(key), 1000):
        t.type(key[i:i + 1000])
    t.type("\n")
    t.until("Stored")
    assert t.end() == 0
    assert request_key(model, run, env, key)


def test_ctrl_c_restores_the_terminal(terminal, auth):
    t = terminal("auth", "set", "openai")
    t.until("not shown): ")
    t.type("half a k")
    t.type("\x03")
    with open(os.dup(t.fd), "rb") as after:
        assert t.end() == 130
        assert termios.tcgetattr(after)[3] & termios.ECHO
    assert "half" not in t.seen
    assert "missing" in auth("status", "openai").out


def test_a_passphrase(terminal, auth, env, home, model, run):
    t = terminal("auth", "set", "anthropic", "--passphrase")
    t.until("not shown): ")
    t.type(KEY + "\n")
    t.until("New passphrase")
    t.type(PHRASE + "\n")
    t.until("Repeat the passphrase: ")
    t.type(PHRASE + "\n")
    t.until("Stored credential")
    assert t.end() == 0 and PHRASE not in t.seen
    assert not (home / STATE / "credentials.key").exists()
    # Nobody is asked where nobody is there.
    r = auth("status", "anthropic")
    assert "missing" in r.out
    assert "DEEPAGENTS_CODE_AUTH_PASSPHRASE is not set" in r.err
    env["DEEPAGENTS_CODE_AUTH_PASSPHRASE"] = "wrong"
    assert "wrong passphrase" in auth("status", "anthropic").err
    env["DEEPAGENTS_CODE_AUTH_PASSPHRASE"] = PHRASE
    assert "stored" in auth("status", "anthropic").out
    assert request_key(model, run, env, KEY)
    del env["DEEPAGENTS_CODE_AUTH_PASSPHRASE"]
    t = terminal("auth", "status", "anthropic")
    t.until("Passphrase of the stored keys: ")
    t.type("wrong\n")
    t.until("Try again: ")
    t.type(PHRASE + "\n")
    t.until("stored")
    assert t.end() == 0 and PHRASE not in t.seen


def test_two_different_passphrases(terminal, auth, home):
    t = terminal("auth", "set", "openai", "--passphrase")
    for words, text in (("not shown): ", KEY), ("New passphrase", "one"),
                        ("Repeat the passphrase: ", "two")):
        t.until(words)
        t.type(text + "\n")
    assert t.end() == 1
    assert "passphrases differ" in t.seen
    assert not (home / STATE / "credentials").exists()


def test_damaged(auth, home, model, run, env):
    auth("set", "anthropic", key=KEY)
    path = home / STATE / "credentials"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    r = auth("status", "anthropic")
    assert "missing" in r.out and "damaged" in r.err and str(path) in r.err
    assert "damaged" in auth("set", "openai", key=KEY, status=1).err
    # The plain variable still works, and the reason is told once.
    server = model({"turns": [{"text": "hi"}], "key": OTHER})
    env["ANTHROPIC_API_KEY"] = OTHER
    r = run("-n", "hi", "-M", "anthropic:m")
    assert r.status == 0 and r.err.count("stored keys are not used") == 1
    assert len(server.requests) == 1


def test_the_old_programs_file(auth, home, model, run, env):
    path = home / STATE / "auth.json"
    path.parent.mkdir(parents=True)
    text = json.dumps({"version": 1, "credentials": {"anthropic": {
        "type": "api_key", "key": KEY, "added_at": "2026-01-01"}}})
    path.write_text(text)
    assert "stored in auth.json" in auth("status", "anthropic").out
    assert request_key(model, run, env, KEY)
    auth("set", "anthropic", key=OTHER)
    assert request_key(model, run, env, OTHER)
    assert "auth.json" in auth("remove", "anthropic").err
    assert path.read_text() == text


def test_many_at_once(dcode, env, home, tmp_path, auth):
    names = ["anthropic", "openai", "groq", "xai", "cohere", "together"]
    started = [subprocess.Popen(
        [dcode, "auth", "set", name], env=env, cwd=tmp_path / "work",
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for name in names]
    for p in started:
        p.stdin.write(KEY.encode())
        p.stdin.close()
    assert [p.wait(120) for p in started] == [0] * len(names)
    rows = {row["provider"]: row["status"] for row in
            json.loads(auth("list", "--json").out)["data"]}
    assert {rows[name] for name in names} == {"stored"}


def test_killed_in_the_middle(dcode, env, home, tmp_path, auth):
    """strace ends it at each of its calls that touch the disk."""
    auth("set", "groq", key=OTHER)
    calls = ["openat", "fchmod", "write", "fsync", "rename"]
    killed = 0
    for call in calls:
        for n in range(1, 40):
            if call in ("openat", "write") and n % 3:
                continue
            p = subprocess.run(
                ["strace", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                 f"inject={call}:signal=KILL:when={n}", dcode, "auth", "set",
                 "openai"], env=dict(env, ASAN_OPTIONS="detect_leaks=0"),
                cwd=tmp_path / "work",
                input=KEY.encode(), capture_output=True, timeout=120,
                check=False)
            if p.returncode == 0:
                break
            killed += 1
            assert "stored" in auth("status", "groq").out
    assert killed >= 5
    auth("set", "openai", key=KEY)
    assert "stored" in auth("status", "openai").out
    left = sorted(p.name for p in (home / STATE).iterdir()
                  if p.name.startswith("credentials"))
    assert left == ["credentials", "credentials.key", "credentials.lock"]


def opens(program, env, cwd, *args):
    trace = cwd / "trace"
    p = subprocess.run(["strace", "-f", "-o", trace, "-e", "trace=openat",
                        program, *args], env=env, cwd=cwd, timeout=60,
                       stdin=subprocess.DEVNULL, capture_output=True,
                       check=False)
    assert p.returncode == 0, p.stderr
    return ".state/credentials" in trace.read_text()


def test_opened_only_where_it_is_needed(dcode_release, env, tmp_path, auth,
                                        model):
    auth("set", "anthropic", key=KEY)
    model({"turns": [{"text": "hi"}], "repeat": True})
    work = tmp_path / "work"
    task = ["-n", "hi", "-M", "anthropic:m"]
    env["DEEPAGENTS_CODE_ANTHROPIC_API_KEY"] = OTHER
    assert not opens(dcode_release, env, work, "--version")
    assert not opens(dcode_release, env, work, "help")
    assert not opens(dcode_release, env, work, *task)
    del env["DEEPAGENTS_CODE_ANTHROPIC_API_KEY"]
    assert opens(dcode_release, env, work, *task)


def test_nobody_reads_it_from_the_process(dcode, env, tmp_path, auth):
    """Neither in the arguments nor in the environment of dcode."""
    p = subprocess.Popen([dcode, "auth", "set", "openai"], env=env,
                         cwd=tmp_path / "work", stdin=subprocess.PIPE)
    p.stdin.write(KEY.encode())
    p.stdin.flush()
    deadline = time.monotonic() + 60
    while fcntl.ioctl(p.stdin, termios.FIONREAD, bytes(4)) != bytes(4):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for name in ("cmdline", "environ"):
        with open(f"/proc/{p.pid}/{name}", "rb") as f:
            assert KEY.encode() not in f.read()
    p.send_signal(signal.SIGINT)
    assert p.wait(60) == 130
    p.stdin.close()
    assert "missing" in auth("status", "openai").out


@pytest.mark.usefixtures("sandbox_at_start")
def test_a_chat_asks_for_the_passphrase_of_a_secret_before_its_screen(
        terminal, config, env, model):
    config("""[network]
allow = ["acme.example"]
[secrets.ACME]
env = "ACME"
hosts = ["acme.example"]
""")
    t = terminal("auth", "set", "secret:ACME", "--passphrase")
    for words, text in (("not shown): ", KEY), ("New passphrase", PHRASE),
                        ("Repeat the passphrase: ", PHRASE)):
        t.until(words)
        t.type(text + "\n")
    assert t.end() == 0
    env["TERM"] = "xterm-256color"
    model([{"text": "done."}])
    t = terminal("-M", "anthropic:m", "--sandbox", "local", "--workspace",
                 "none")
    t.until("Passphrase of the stored keys: ")
    assert "/quit" not in t.seen  # the screen's first row
    t.type(PHRASE + "\n")
    t.until("Local sandbox ready")
    assert t.seen.count("Passphrase") == 1 and PHRASE not in t.seen
