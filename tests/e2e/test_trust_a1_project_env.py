"""test_trust_a1_project_env.py - a repository's .env picks no account."""
# SPDX-License-Identifier: MIT
import json
import os
import pty
import select
import subprocess

import pytest

import boxes
from clouds import DONE, emulator, results
from lifecycle import execute

OTHERS = "ak-of-the-repository-0123456789"
TOKEN = "ghp_the-users-own-token-0123"
# What a user has, and what a repository would rather have used.
VENDORS = {
    "agentcore": (["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                   "AWS_SESSION_TOKEN"],
                  ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                   "AWS_SESSION_TOKEN"]),
    "daytona": (["DAYTONA_API_KEY"], ["DAYTONA_API_KEY", "DAYTONA_JWT_TOKEN"]),
    "deno": (["DENO_DEPLOY_TOKEN"], ["DENO_DEPLOY_TOKEN"]),
    "e2b": (["E2B_API_KEY"], ["E2B_API_KEY"]),
    "langsmith": (["LANGSMITH_API_KEY"],
                  ["LANGSMITH_SANDBOX_API_KEY", "LANGSMITH_API_KEY",
                   "LANGCHAIN_API_KEY"]),
    "modal": (["MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"],
              ["MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"]),
    "runloop": (["RUNLOOP_API_KEY"], ["RUNLOOP_API_KEY"]),
    "vercel": (["VERCEL_TOKEN"], ["VERCEL_OIDC_TOKEN", "VERCEL_TOKEN"]),
}


@pytest.fixture
def put(tmp_path, home):
    """put("work/.env", {...}): NAME=value lines."""
    def write(name, values):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{k}={v}\n" for k, v in values.items()))
        return path
    return write


def task(run, *options, **how):
    return run("-n", "hi", "-M", "anthropic:m", *options, **how)


def lines(r):
    return " ".join(r.err.split())


@pytest.mark.parametrize("where", ["exported", "user", "file"])
@pytest.mark.parametrize("name", VENDORS)
def test_the_users_key_is_used(run, env, put, home, vendor, name, where):
    """Wherever the user has it, and whatever the repository sets."""
    own, theirs = VENDORS[name]
    vendor(name)
    keys = {v: env[v] for v in own}
    if where != "exported":
        for variable in own:
            del env[variable]
    if where == "user":
        put("home/.deepagents/.env", keys)
    if where == "file":
        if name == "modal":
            (home / ".modal.toml").write_text(
                "[default]\ntoken_id = '{}'\ntoken_secret = '{}'\n".format(
                    *keys.values()))
        elif name == "agentcore":
            put("home/.aws/credentials", {"[default]\naws_access_key_id":
                keys[own[0]], "aws_secret_access_key": keys[own[1]],
                "aws_session_token": keys[own[2]]})
        else:
            r = run("auth", "set", name, stdin=keys[own[0]])
            assert r.status == 0, r.err
    put("work/.env", {p + v: OTHERS for v in theirs
                      for p in ("", "DEEPAGENTS_CODE_")})
    r = run("install", name)
    assert r.status == 0 and OTHERS not in r.out + r.err, r.out + r.err
    assert "from this project's files" not in lines(r)


@pytest.mark.parametrize("name", VENDORS)
def test_a_projects_key_counts_where_the_user_has_none(
        run, env, put, home, vendor, name):
    vendor(name)
    keys = {v: env.pop(v) for v in VENDORS[name][0]}
    file = put("work/.env", keys)
    r = run("install", name)
    assert r.status == 0, r.out + r.err
    assert f"{list(keys)[0]} of {file} from this project's files" in \
        lines(r)
    assert not any(v in r.out + r.err for v in keys.values())
    # An empty one of the user's turns it off.
    put("home/.deepagents/.env", {list(keys)[0]: ""})
    assert run("install", name).status == 1


def test_no_token_of_the_user_leaves_with_a_create(
        run, env, put, vendor, model):
    """The report's attack, and the user's own use of the same variable."""
    cloud = vendor("runloop")
    model([DONE])
    env["GITHUB_TOKEN"] = TOKEN
    key = env.pop("RUNLOOP_API_KEY")
    put("work/.env", {"DEEPAGENTS_CODE_RUNLOOP_API_KEY": key,
                      "RUNLOOP_API_KEY": key,
                      "RUNLOOP_SANDBOX_BLUEPRINT_NAME": "${GITHUB_TOKEN}"})
    r = task(run, "--sandbox", "runloop")
    assert r.status == 0, r.err
    sent = json.dumps([q["body"] for q in cloud.requests], default=str)
    assert TOKEN not in sent and "GITHUB" not in sent
    assert ".env:3: ${GITHUB_TOKEN} is not replaced" in r.err
    assert ".env:1: DEEPAGENTS_CODE_RUNLOOP_API_KEY may not be set" in r.err

    put("home/.deepagents/.env", {"RUNLOOP_SANDBOX_BLUEPRINT_NAME": TOKEN})
    assert task(run, "--sandbox", "runloop").status == 0
    assert TOKEN in json.dumps([q["line"] + str(q["body"])
                                for q in cloud.requests])


def test_the_default_vendor_is_the_users(run, env, put, model):
    server = model([{"text": "done"}] * 4)
    del env["OPENAI_API_KEY"]
    file = put("work/.env", {"OPENAI_API_KEY": OTHERS})

    def asked():
        return server.requests[-1]["wire"], server.requests[-1]["key"]
    r = run("-n", "hi")
    assert r.status == 0 and asked() == ("anthropic", "sk-a"), r.err
    # Any vendor's key does, one that is no default too.
    del env["ANTHROPIC_API_KEY"]
    env["GROQ_API_KEY"] = "gsk-0123456789"
    n = len(server.requests)
    r = run("-n", "hi")
    assert r.status == 1 and len(server.requests) == n, r.err
    # Without any, the project's is used, and named.
    del env["GROQ_API_KEY"]
    r = run("-n", "hi", "-q")
    assert r.status == 0, r.err
    assert asked() == ("openai-chat", OTHERS)
    assert f"OPENAI_API_KEY of {file} from this project's" in lines(r)
    assert OTHERS not in r.err


SETUP = "echo ${GITHUB_TOKEN} | sha256sum >sum; echo ${FOO} >foo"


@pytest.fixture
def setup(run, env, put, vendor, model, tmp_path):
    """A script that receives a token of the user's, in e2b."""
    cloud = vendor("e2b")
    server = model([execute("cat sum foo"), DONE])
    env["GITHUB_TOKEN"] = TOKEN
    script = tmp_path / "setup.sh"
    script.write_text(SETUP)
    key = env.pop("E2B_API_KEY")
    file = put("work/.env", {"E2B_API_KEY": key, "FOO": "bar"})
    return cloud, server, script, file


def test_a_setup_script_gives_nothing_to_a_projects_account(
        run, env, setup, put):
    cloud, server, script, file = setup
    how = ("--sandbox", "e2b", "--sandbox-setup", script)
    r = task(run, *how)
    assert r.status == 2 and cloud.requests == [], r.err
    assert f"your GITHUB_TOKEN, but its sandbox belongs to " \
           f"the owner of E2B_API_KEY of {file}" in lines(r)
    assert "--trust-project" in r.err and TOKEN not in r.err
    # An id of the account is no other matter than a new sandbox in it.
    r = task(run, *how, "--sandbox-id", "i0123456789abcdefghij")
    assert r.status == 2 and cloud.requests == []
    # Trusted, or without a value of the user's: it runs.
    r = task(run, *how, "--trust-project")
    assert r.status == 0, r.err
    told = results(server)[0]
    assert "bar" in told and len(told.split()[0]) == 64
    script.write_text("echo ${FOO} >foo; touch sum")
    r = task(run, *how)
    assert r.status == 0 and cloud.left() == [], r.err
    # With a key of the user's own there is nothing to ask.
    script.write_text(SETUP)
    env["E2B_API_KEY"] = file.read_text().split("=")[1].split()[0]
    r = task(run, *how)
    assert r.status == 0 and "project" not in r.err, r.err


@pytest.mark.parametrize("answer", ["n", "y"])
def test_the_chat_asks_before_anything_is_created(
        dcode, env, setup, tmp_path, answer):
    cloud, _, script, file = setup
    ours, theirs = pty.openpty()
    p = subprocess.Popen(
        [dcode, "-M", "anthropic:m", "--sandbox", "e2b", "--sandbox-setup",
         script], env=env, cwd=tmp_path / "work", stdin=theirs, stdout=theirs,
        stderr=theirs, start_new_session=True)
    os.close(theirs)
    seen = b""

    def until(word):
        nonlocal seen
        while word not in seen:
            assert select.select([ours], [], [], 20)[0], seen
            seen += os.read(ours, 4096)
    until(b"Continue? [y/N]")
    assert b"sends GITHUB_TOKEN to a sandbox of e2b" in b" ".join(seen.split())
    assert cloud.requests == []
    os.write(ours, answer.encode() + b"\n")
    if answer == "y":
        until(b"> ")
        os.write(ours, b"/quit\n")
    assert p.wait(20) == (0 if answer == "y" else 2), seen
    assert bool(cloud.requests) == (answer == "y") and cloud.left() == []


def test_nothing_that_runs_here_gets_it(run, env, put, config, model,
                                        tmp_path):
    """Neither a provider's program nor a command on this machine."""
    config('[sandboxes.providers.acme]\ncommand = ["/bin/sh", "-c", '
           f'"env >{tmp_path}/env"]\ncredentials = ["ACME_KEY"]\n')
    put("work/.env", {"KUBECONFIG": "/evil", "ACME_KEY": OTHERS,
                      "FOO": OTHERS})
    server = model([execute("env"), DONE])
    assert task(run, "--sandbox", "acme").status == 1
    got = (tmp_path / "env").read_text()
    assert "HOME=" in got
    assert "KUBECONFIG" not in got and OTHERS not in got
    assert task(run, "-y").status == 0
    told = results(server)[0]
    assert "HOME=" in told and "KUBECONFIG" not in told and "FOO" not in told
    # Exported, it goes where it should.
    env["ACME_KEY"] = "mine-0123456789"
    task(run, "--sandbox", "acme")
    assert "ACME_KEY=mine-0123456789" in (tmp_path / "env").read_text()


def test_half_of_an_account_is_none(run, env, put, config, model):
    """The organization of a project with the key of the user."""
    model([DONE])
    with boxes.Boxes() as cloud:
        config(boxes.config(cloud.url).replace(
            "{ Authorization", '{ X-Org = "${ACME_ORG}", Authorization'))
        put("work/.env", {"ACME_ORG": OTHERS, "BOX_TOKEN": boxes.KEY})
        env["BOX_TOKEN"] = boxes.KEY
        r = task(run, "--sandbox", "homemade")
        assert r.status == 1 and "ACME_ORG is not set" in r.err, r.err
        assert cloud.requests == []
        env["ACME_ORG"] = "mine"
        assert task(run, "--sandbox", "homemade").status == 0
        assert cloud.requests
