"""test_trust_b9_model_addresses.py - where a model's key goes (B9, B18)."""
# SPDX-License-Identifier: MIT
import http.server
import json
import threading

import pytest

KEY = "sk-stored-0123456789"
OPENAI = ("-n", "hi", "-M", "openai:m")


@pytest.fixture
def address(run):
    """Where doctor says that the default model's requests go."""
    def ask():
        r = run("doctor", "--json")
        return next(c["text"].partition(" at ")[2]
                    for c in json.loads(r.out)["data"]["checks"]
                    if c["section"] == "model")
    return ask


@pytest.fixture
def proxy(env):
    """A proxy that notes each request's line and key; env points to it."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append((self.path, self.headers.get("Authorization")))
            self.send_error(400)

        def log_message(self, *_args):
            pass
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,),
                         daemon=True).start()
        for name in "http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy":
            env[name] = f"http://127.0.0.1:{server.server_address[1]}"
        yield seen
        server.shutdown()


def test_a_stored_key_goes_to_no_plain_base_url(run, env, config, address,
                                                model):
    """The variable is somebody else's; with a key of that kind it counts."""
    server = model([{"text": "done"}] * 3)
    plain, other = server.url + "/v1", "http://localhost:1/v1"
    del env["ANTHROPIC_API_KEY"]
    assert address() == plain  # with the exported key
    del env["OPENAI_API_KEY"]
    assert run("auth", "set", "openai", stdin=KEY).status == 0
    assert address() == "https://api.openai.com/v1"
    del env["OPENAI_BASE_URL"]
    env["OPENAI_API_BASE"] = plain
    assert address() == "https://api.openai.com/v1"
    env["OPENAI_BASE_URL"] = plain
    assert run("auth", "set", "openai", "--base-url", other,
               stdin=KEY).status == 0
    assert address() == other
    env["DEEPAGENTS_CODE_OPENAI_API_BASE"] = plain
    assert address() == plain
    assert run(*OPENAI).status == 0
    assert server.requests[-1]["key"] == KEY
    config(f'[models.providers.openai]\nbase_url = "{server.url}/mine"\n')
    assert address() == server.url + "/mine"
    # A key that goes over the stored one brings its own address.
    config("")
    del env["DEEPAGENTS_CODE_OPENAI_API_BASE"]
    env["DEEPAGENTS_CODE_OPENAI_API_KEY"] = "sk-prefixed"
    assert address() == plain
    assert run(*OPENAI).status == 0
    assert server.requests[-1]["key"] == "sk-prefixed"


def test_a_refused_key_is_blamed_on_its_source(run, env, home, tmp_path,
                                               model, vendor):
    model([{"fault": {"status": 401, "times": 99}}])
    config = home / ".deepagents"
    key = env.pop("OPENAI_API_KEY")

    def told():
        r = run(*OPENAI)
        assert r.status == 1 and KEY not in r.err
        return " ".join(r.err.split())
    file = tmp_path / "work" / ".env"
    file.write_text(f"OPENAI_API_KEY={KEY}\n")
    assert f"OPENAI_API_KEY of {file} was refused" in told()
    config.mkdir(mode=0o700, exist_ok=True)
    (config / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    assert f"OPENAI_API_KEY of {config}/.env was refused" in told()
    env["OPENAI_API_KEY"] = key
    assert "Error: OPENAI_API_KEY was refused" in told()
    env["DEEPAGENTS_CODE_OPENAI_BASE_URL"] = env["OPENAI_BASE_URL"]
    assert run("auth", "set", "openai", stdin=KEY).status == 0
    assert "the key stored by dcode auth set, in place of OPENAI_API_KEY " \
        "was refused" in told()
    env["DEEPAGENTS_CODE_OPENAI_API_KEY"] = KEY
    assert "DEEPAGENTS_CODE_OPENAI_API_KEY was refused" in told()
    # A sandbox vendor's too; where both go on at once, the model's answer may
    # end the run before the sandbox's is there.
    vendor("e2b")
    (config / "config.toml").write_text("[sandboxes]\noverlap = false\n")
    assert run("auth", "set", "e2b", stdin=KEY).status == 0
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "e2b")
    assert r.status == 1
    assert "e2b with the key stored by dcode auth set, in place of " \
        "E2B_API_KEY" in " ".join(r.err.split()), r.err
    assert run("auth", "remove", "e2b").status == 0
    assert run("install", "e2b").status == 0


@pytest.mark.parametrize("host", ["127.evil.test", "127.0.0.1.evil.test",
                                  "localhost.evil.test", "10.0.0.1"])
def test_no_key_goes_by_http_to_another_machine(run, env, config, proxy, host):
    env["MINE"] = KEY

    def mine(more=""):
        config(f'[models.providers.mine]\nbase_url = "http://{host}/v1"\n'
               f'api_key_env = "MINE"\n{more}')
        return run("-n", "hi", "-M", "mine:m")
    r = mine()
    assert r.status == 1 and proxy == []
    assert f"refusing to send the key of mine to http://{host}/v1: https is" \
        in r.err and "allow_http = true" in r.err
    assert mine("allow_http = 1\n").status == 2 and proxy == []
    mine("allow_http = true\n")
    assert proxy[0] == (f"http://{host}/v1/chat/completions", f"Bearer {KEY}")
    # Without a key nothing is refused.
    del proxy[:]
    config(f'[models.providers.mine]\nbase_url = "http://{host}/v1"\n')
    run("-n", "hi", "-M", "mine:m")
    assert [key for _, key in proxy[:1]] == [None]


def test_loopback_never_goes_to_a_proxy(run, model, proxy, vendor):
    server = model([{"text": "done"}] * 2)
    cloud = vendor("e2b")
    assert run(*OPENAI).status == 0
    assert run("install", "e2b").status == 0
    assert proxy == [] and server.requests and cloud.requests
