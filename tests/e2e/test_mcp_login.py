"""test_mcp_login.py - logging in to MCP servers by OAuth."""
# SPDX-License-Identifier: MIT
import contextlib
import json
import pathlib
import signal
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from mcp_rig import Mcp, calls, results, wait_for
from oauth_http import ISSUER, RESOURCE, OAuthHttp
from sdk import node_of
from terminal import Terminal

BROWSER = pathlib.Path(__file__).resolve().parents[1] / "emulators" / \
    "browser.py"


@pytest.fixture
def mcp(home, tmp_path):
    return Mcp(home, tmp_path / "work")


class Secured:
    """tests/sdk/oauth.mjs: .resource, .issuer, .lines()."""

    def __init__(self, top, tmp_path, **env):
        self.log = tmp_path / f"oauth{len(list(tmp_path.glob('oauth*')))}"
        with open(self.log, "w", encoding="utf-8") as out:
            self.p = subprocess.Popen(
                [node_of(top), top / "tests" / "sdk" / "oauth.mjs"], env=env,
                stdin=subprocess.PIPE, stdout=out, stderr=subprocess.DEVNULL)

    def begin(self):
        assert wait_for(lambda: "issuer" in self.log.read_text()), \
            self.log.read_text()
        self.__dict__.update(json.loads(next(
            line for line in self.lines() if line.startswith("{"))))
        return self

    def lines(self):
        return self.log.read_text().splitlines()

    def count(self, words):
        return sum(words in line for line in self.lines())

    def revoke(self):
        """Refuses every access token that was shown so far."""
        before = self.count("revoked")
        self.p.stdin.write(b"revoke\n")
        self.p.stdin.flush()
        assert wait_for(lambda: self.count("revoked") > before)


@pytest.fixture
def secured(top, tmp_path):
    with contextlib.ExitStack() as stack:
        def serve(**env):
            s = Secured(top, tmp_path, **env)
            stack.callback(s.p.wait)
            stack.callback(s.p.kill)
            return s.begin()
        yield serve


@pytest.fixture
def serve():
    with contextlib.ExitStack() as stack:
        yield lambda **what: stack.enter_context(OAuthHttp(**what))


def login(run, env, *words, **how):
    env["BROWSER"] = str(BROWSER)
    return run("mcp", "login", *words, **how)


def task(run, *flags, **how):
    return run("-n", "hi", "-M", "anthropic:m", *flags, **how)


@pytest.mark.slow
def test_a_login_is_used_renewed_and_forgotten(
        mcp, secured, model, run, env, home):
    s = secured()
    mcp.own(sec={"url": s.resource})
    m = model(calls("sec_who"))
    r = task(run)
    line = [w for w in r.err.splitlines() if "MCP server sec" in w]
    assert len(line) == 1 and "dcode mcp login sec" in line[0]
    r = login(run, env, "sec")
    assert r.status == 0 and "Logged in to sec." in r.out, r.err
    assert s.count("token authorization_code given") == 1
    assert run("mcp", "login").out == "sec: logged in\n"
    m = model(calls("sec_who"))
    assert task(run).status == 0 and results(m) == [f"for {s.resource}"]
    assert s.count("token refresh_token") == 0
    # Refused once, it is renewed; twice: the refresh token rotates.
    for n in (1, 2):
        s.revoke()
        m = model(calls("sec_who"))
        assert task(run).status == 0
        assert results(m) == [f"for {s.resource}"]
        assert s.count("token refresh_token given") == n
    stored = b"".join(p.read_bytes() for p in
                      (home / ".deepagents").rglob("*") if p.is_file())
    assert b"eyJ" not in stored and b"refresh" not in stored
    assert run("mcp", "logout", "sec").status == 0
    assert "dcode mcp login sec" in run("mcp", "test").out
    assert "No login" in run("mcp", "logout", "sec").out


def test_a_token_that_ends_soon_is_renewed_first(
        mcp, secured, model, run, env):
    s = secured(TTL="20")
    mcp.own(sec={"type": "http", "url": s.resource, "auth": "oauth"})
    assert login(run, env, "sec").status == 0
    m = model(calls("sec_who"))
    assert task(run).status == 0 and results(m) == [f"for {s.resource}"]
    assert s.count("token refresh_token given") >= 1
    assert s.count("invalid") == 0


def test_a_logout_is_not_undone_by_a_run_that_renews(
        mcp, secured, model, run, env, dcode):
    s = secured(TTL="20")  # each request renews it first
    mcp.own(sec={"url": s.resource})
    assert login(run, env, "sec").status == 0
    m = model([{"tool_calls": [{"name": "execute", "args": {
        "command": f"{dcode} mcp logout sec"}}]}, *calls("sec_who")])
    r = task(run, "-y")
    assert r.status == 0, r.err
    said = results(m)
    assert "Deleted the login to sec." in said[0]
    assert "dcode mcp login sec" in said[1]
    assert run("mcp", "login").out == "sec: not logged in\n"


@pytest.mark.slow
def test_a_login_is_renewed_under_a_passphrase_that_was_typed(
        mcp, secured, run, env, dcode, tmp_path):
    s = secured()
    mcp.own(sec={"url": s.resource})
    env["BROWSER"] = str(BROWSER)

    def at_terminal(words, *answers):
        t = Terminal([str(dcode), *words], env, tmp_path / "work")
        try:
            for wanted, answer in answers:
                t.until(wanted)
                if answer:
                    t.type(answer + "\n")
        finally:
            t.close()
    phrase = "correct horse battery"
    at_terminal(["auth", "set", "anthropic", "--passphrase"],
                ("not shown): ", "sk-0123456789"), ("New passphrase", phrase),
                ("Repeat the passphrase: ", phrase), ("Stored credential", ""))
    at_terminal(["mcp", "login", "sec"], ("Passphrase of the", phrase),
                ("Logged in to sec.", ""))
    env["DEEPAGENTS_CODE_AUTH_PASSPHRASE"] = phrase
    assert run("mcp", "test").status == 0
    del env["DEEPAGENTS_CODE_AUTH_PASSPHRASE"]
    s.revoke()
    # Typed once: what is renewed on another thread is sealed with it.
    at_terminal(["mcp", "test"], ("Passphrase of the", phrase),
                ("sec: ready", ""))
    assert s.count("token refresh_token given") == 1
    env["DEEPAGENTS_CODE_AUTH_PASSPHRASE"] = phrase
    assert run("mcp", "test").status == 0
    assert s.count("token refresh_token given") == 1


def test_a_server_that_begins_without_a_login_can_have_one(
        mcp, serve, run, env):
    s = serve(open=True)
    mcp.own(srv={"url": s.url})
    r = login(run, env, "srv")
    assert r.status == 1 and "does not ask for a login" in r.err
    mcp.own(srv={"url": s.url, "auth": "oauth"})
    assert login(run, env, "srv").status == 0


@pytest.mark.slow
def test_two_at_once_renew_a_login_one_after_the_other(
        mcp, secured, run, start, env):
    s = secured()
    mcp.own(sec={"url": s.resource})
    assert login(run, env, "sec").status == 0
    assert run("mcp", "test").status == 0
    s.revoke()
    for r in [start("mcp", "test") for _ in range(4)]:
        r.wait()
        assert r.status == 0, r.out
    assert s.count("token refresh_token given") == 1
    assert s.count("invalid_grant") == 0


class Waiting:
    """dcode mcp login NAME --no-browser, once it waits: .url, .callback."""

    def __init__(self, dcode, env, cwd, *words):
        self.p = subprocess.Popen(
            [dcode, "mcp", "login", "--no-browser", *words], env=env, cwd=cwd,
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.url = ""
        while not self.url.startswith("http"):
            self.url = self.p.stderr.readline().strip()
            assert self.p.poll() is None or self.url
        q = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.url).query))
        self.callback, self.state = q["redirect_uri"], q["state"]

    def paste(self, *lines):
        self.p.stdin.write("".join(line + "\n" for line in lines))
        self.p.stdin.flush()

    def visit(self, query, **headers):
        """The status of the answer that a browser gets."""
        try:
            return urllib.request.urlopen(urllib.request.Request(
                f"{self.callback}?{query}", headers=headers)).status
        except urllib.error.HTTPError as e:
            return e.code

    def end(self):
        out, err = self.p.communicate(timeout=60)
        return self.p.returncode, out, err


@pytest.fixture
def waiting(dcode, env, home, tmp_path):
    begun = []

    def begin(*words):
        begun.append(Waiting(dcode, env, tmp_path / "work", *words))
        return begun[-1]
    yield begin
    for w in begun:
        if w.p.poll() is None:
            w.p.kill()
            w.p.communicate()


def test_the_address_that_a_browser_elsewhere_ended_at_is_pasted(
        mcp, secured, waiting, env, tmp_path):
    s = secured()
    mcp.own(sec={"url": s.resource})
    w = waiting("sec")
    subprocess.run([BROWSER, w.url], check=True,
                   env={**env, "SAVE": str(tmp_path / "ended")})
    w.paste("", "http://127.0.0.1/callback?code=x&state=y",
            "  " + (tmp_path / "ended").read_text())
    status, out, err = w.end()
    assert status == 0 and "Logged in to sec." in out, err
    assert "This is not the answer to this login." in err


def test_a_bare_code_is_pasted(mcp, serve, waiting, run):
    s = serve()
    mcp.own(srv={"url": s.url})
    w = waiting("srv")
    w.paste("a-code")
    assert w.end()[0] == 0
    form = dict(urllib.parse.parse_qsl(dict(s.bodies)["/token"].decode()))
    assert form["code"] == "a-code" and form["resource"] == s.url
    assert form["redirect_uri"] == w.callback and form["code_verifier"]
    assert run("mcp", "test").status == 0


def test_what_others_send_to_the_port_changes_nothing(mcp, serve, waiting):
    s = serve()
    mcp.own(srv={"url": s.url})
    w = waiting("srv")
    spare = [socket.create_connection(("127.0.0.1", int(
        w.callback.split(":")[2].split("/")[0]))) for _ in range(20)]
    assert w.visit("code=evil&state=guess") == 400
    assert w.visit("error=access_denied") == 400
    assert w.visit(f"state={w.state}") == 400
    assert w.visit(f"code=evil&state={w.state}", Host="evil.example") == 404
    assert not [b for path, b in s.bodies if path == "/token"]
    assert w.visit(f"code=good&state={w.state}") == 200
    status, _, err = w.end()
    assert status == 0, err
    assert b"code=good" in dict(s.bodies)["/token"]
    for c in spare:
        c.close()


def test_a_login_can_be_given_up(mcp, serve, waiting, home):
    s = serve()
    mcp.own(srv={"url": s.url})
    w = waiting("srv")
    w.p.send_signal(signal.SIGINT)
    assert w.end()[0] == 130
    assert not (home / ".deepagents" / ".state" / "credentials").exists()


def test_a_token_goes_to_no_other_address(mcp, serve, run, env, model):
    s, other = serve(), serve()
    mcp.own(srv={"url": s.url})
    assert login(run, env, "srv").status == 0
    assert run("mcp", "test").status == 0
    # Another server of this name: of the user's own, and of a repository.
    mcp.own(srv={"url": other.url})
    assert run("mcp", "test").status == 1
    mcp.own()
    mcp.project(srv={"url": other.url})
    model([{"text": "done"}])
    task(run, "--trust-project-mcp")
    assert other.bodies and "Authorization" not in other.seen
    mcp.own(srv={"url": s.url + "/"})  # a path that is another
    assert run("mcp", "test").status == 1


def test_a_server_of_the_project_gets_no_login_before_it_is_trusted(
        mcp, serve, run, env):
    s = serve()
    mcp.project(srv={"url": s.url})
    r = login(run, env, "srv")
    assert r.status != 0 and not s.paths


def far(path):
    return f"https://169.254.169.254/{path}"


def challenge(url):
    return {"challenge": f'Bearer resource_metadata="{url}"'}


# What is wrong, and what is said of it.
HOSTILE = {
    "file": (challenge("file:///etc/passwd"), "not an http or https address"),
    "script": ({"issuer": {"authorization_endpoint": "javascript:alert(1)"}},
               "not an http or https address"),
    "plain": (challenge("http://example.org/x"), "https is required"),
    "cloud": (challenge(far("x")), "link-local, metadata"),
    "number": (challenge("http://2130706433/x"), "not an http or https"),
    "user": (challenge("https://u:p@127.0.0.1/x"), "not an http or https"),
    "moved": (challenge("BASE/nowhere"), "but there is none"),
    "resource": ({"resource": {"resource": "https://example.org/mcp"}},
                 "another resource"),
    "sibling": ({"resource": {"resource": "BASE/mc"}}, "another resource"),
    "nobody": ({"resource": {"authorization_servers": None}},
               "names no authorization server"),
    "issuer_at": ({"resource": {"authorization_servers": [far("")]}},
                  "link-local, metadata"),
    "mix_up": ({"issuer": {"issuer": "https://example.org"}},
               "belongs to another one"),
    "iss": ({"iss": "https://example.org"}, "as its issuer"),
    "no_iss": ({"issuer": {"authorization_response_iss_parameter_supported":
                           True}}, "as its issuer"),
    "no_pkce": ({"issuer": {"code_challenge_methods_supported": ["plain"]}},
                "PKCE"),
    "token_at": ({"issuer": {"token_endpoint": far("token")}},
                 "link-local, metadata"),
    "token_plain": ({"issuer": {"token_endpoint": "http://example.org/t"}},
                    "https is required"),
    "register_at": ({"issuer": {"registration_endpoint": far("r")}},
                    "link-local, metadata"),
    "loop": ({"redirect": {RESOURCE: RESOURCE}}, "redirects are not followed"),
    "loop2": ({"redirect": {"/token": "/token"}}, "redirects are not followed"),
    "endless": ({"endless": {RESOURCE}}, "larger than"),
    "endless2": ({"endless": {"/token"}}, "larger than"),
    "hangs": ({"hang": {ISSUER}}, "no answer within 3 s"),
    "hangs2": ({"hang": {"/token"}}, "no answer within 3 s"),
    "html": ({"raw": {RESOURCE: b"<html>\x1b[31m"}}, "not a JSON object"),
    "refused": ({"token": (400, {"error": "invalid_grant",
                                 "error_description": "x\x1b[2Jy"})},
                "invalid_grant"),
    "mac": ({"token": (200, {"access_token": "t", "token_type": "mac"})},
            "another type than Bearer"),
    "lines": ({"token": (200, {"access_token": "a\r\nX: y",
                               "token_type": "bearer"})},
              "no usable access_token"),
    "long": ({"token": (200, {"access_token": "a" * 9000,
                              "token_type": "bearer"})},
             "no usable access_token"),
    "no_token": ({"token": (200, [])}, "no usable access_token"),
}


@pytest.mark.slow
def test_hostile_logins_end_in_a_clear_error(
        mcp, serve, start, run, env, config, home):
    config("[mcp]\nstartup_timeout = 3\n")
    servers = {name: serve(**what) for name, (what, _) in HOSTILE.items()}
    mcp.own(**{name: {"url": s.url} for name, s in servers.items()})
    env["BROWSER"] = str(BROWSER)
    names = list(HOSTILE)
    for some in [names[i:i + 6] for i in range(0, len(names), 6)]:
        for r, name in [(start("mcp", "login", n), n) for n in some]:
            r.wait(40)
            assert r.status == 1, (name, r.out)
            said = r.err[r.err.index("Error: "):]
            assert HOSTILE[name][1] in said, (name, said)
            assert "\x1b" not in r.err and r.seconds < 20, (name, r.seconds)
    assert "/register" not in servers["script"].paths
    assert not (home / ".deepagents" / ".state" / "credentials").exists()
    assert run("mcp", "login").out.count("not logged in") == len(names)


def test_a_client_that_is_registered_needs_no_registration(
        mcp, secured, model, run, env):
    s = secured(CLIENT="mine")
    mcp.own(sec={"url": s.resource})
    r = login(run, env, "sec")
    assert r.status == 1 and "register" in r.err and "clientId" in r.err
    env["THE_SECRET"] = "a secret:with/odd+parts"
    mcp.own(sec={"url": s.resource, "oauth": {
        "clientId": "mine", "clientSecret": "${THE_SECRET}"}})
    r = login(run, env, "sec")
    assert r.status == 0, r.err
    for renewed in (0, 1):
        m = model(calls("sec_who"))
        assert task(run).status == 0 and results(m) == [f"for {s.resource}"]
        assert s.count("token refresh_token given") == renewed
        s.revoke()


def test_a_no_of_the_user_is_told(mcp, secured, run, env):
    s = secured(DENY="1")
    mcp.own(sec={"url": s.resource})
    r = login(run, env, "sec")
    assert r.status == 1
    assert "refused: access_denied: the user said no" in r.err
