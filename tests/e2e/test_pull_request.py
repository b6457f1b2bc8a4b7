"""test_pull_request.py - dcode apply --push --pr, at GitHub and GitLab."""
# SPDX-License-Identifier: MIT
import json

import pytest
from apply_room import git
from credentials import credentials
from git_servers import TOKEN
from push_world import branches, room, site, work  # noqa: F401

# pylint: disable=redefined-outer-name

HEAD = {"github": "head", "gitlab": "source_branch"}
TEXT = {"github": "body", "gitlab": "description"}
BASE = {"github": "base", "gitlab": "target_branch"}
VARIABLE = {"github": "GH_ENTERPRISE_TOKEN", "gitlab": "GITLAB_TOKEN"}


@pytest.fixture(params=["github", "gitlab"])
def kind(request):
    return request.param


@pytest.fixture
def bare(site, room, config, env, kind):
    """The repository at a server of this kind, which the user has listed."""
    made = site.repository("ann/r.git", room.root)
    git(room.root, "remote", "add", "origin", site.url("ann/r.git"))
    config(f'[push]\n{kind} = ["{site.host}"]\n')
    env["SSL_CERT_FILE"] = str(site.cert)
    env[VARIABLE[kind]] = TOKEN
    return made


def test_a_request_is_opened_with_title_and_text_of_the_thread(
        run, bare, work, site, kind):
    work()
    done = run("apply", "--push", "--pr", "--branch", "fix", "--json")
    assert done.status == 0, done.err
    made, = site.forge.opened
    assert made["title"] == "Fix the Parser: now"
    assert made[TEXT[kind]] == "done."
    assert made[HEAD[kind]] == "fix" and made[BASE[kind]] == "main"
    url = json.loads(done.out)["data"]["push"]["request"]
    assert url.startswith(f"https://{site.host}/ann/r/") and url.endswith("/1")
    assert branches(bare) == ["fix", "main"] and TOKEN not in done.err


def test_an_open_request_is_named_and_gets_the_branch(
        run, bare, work, site, kind):
    site.forge.opened.append({HEAD[kind]: "fix"})
    work()
    done = run("apply", "--push", "--pr", "--branch", "fix")
    assert done.status == 0 and "It is in the open request https" in done.err
    assert len(site.forge.opened) == 1 and "fix" in branches(bare)


def test_a_request_can_follow_a_push(run, bare, work, site):
    work()
    assert run("apply", "--push", "--branch", "fix").status == 0
    done = run("apply", "--push", "--pr", "--branch", "fix")
    assert done.status == 0 and "Opened https://" in done.err, done.err
    assert len(site.forge.opened) == 1


def test_without_a_token_nothing_is_pushed(
        run, bare, work, site, env, kind, tmp_path):
    work()
    del env[VARIABLE[kind]]
    asked = len(site.requests)
    done = run("apply", "--push", "--pr", "--branch", "fix")
    assert done.status == 1 and "no token for localhost" in done.err, done.err
    assert branches(bare) == ["main"]
    assert not [r for r in site.requests[asked:] if "/api/" in r]
    name = {"github": "gh", "gitlab": "glab"}[kind]
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / name
    program.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/asked\n'
                       f"echo {TOKEN}\n")
    program.chmod(0o755)
    env["PATH"] = f"{tmp_path}/bin:{env['PATH']}"
    assert run("apply", "--push", "--pr", "--branch", "fix").status == 0
    assert site.host in (tmp_path / "asked").read_text()
    assert len(site.forge.opened) == 1


def test_a_token_goes_to_no_server_that_the_user_has_not_listed(
        run, bare, work, site, config):
    work()
    config("[push]\n")
    asked = len(site.requests)
    done = run("apply", "--push", "--pr", "--branch", "fix")
    assert done.status == 2 and "not a known GitHub or GitLab" in done.err
    assert not [r for r in site.requests[asked:] if "/api/" in r]
    assert branches(bare) == ["main"]


def test_a_token_of_the_projects_env_does_not_count(
        run, room, bare, work, env, kind, site):
    work()
    del env[VARIABLE[kind]]
    (room.root / ".env").write_text(f"{VARIABLE[kind]}={TOKEN}\n")
    done = run("apply", "--push", "--pr", "--branch", "fix")
    assert done.status == 1 and "no token for" in done.err
    assert not site.forge.opened


def test_a_refused_token_ends_it_before_the_push(run, bare, work, env, kind):
    work()
    env[VARIABLE[kind]] = "another-token-0123456789"
    done = run("apply", "--push", "--pr", "--branch", "fix")
    assert done.status == 1 and "Bad credentials" in done.err, done.err
    assert branches(bare) == ["main"]


@pytest.mark.parametrize("answer", ["n", "y", "e"])
def test_title_and_text_are_shown_and_can_be_edited(
        terminal, bare, work, site, env, tmp_path, kind, answer):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "My title\\n\\nMy text\\n" >"$1"\n')
    editor.chmod(0o755)
    env["VISUAL"] = str(editor)
    work()
    t = terminal("apply", "--push", "--pr", "--branch", "fix")
    shown = t.until("Push and open it? [y/N/e] ")
    assert "request into main:" in shown and "Fix the Parser: now" in shown
    t.type(f"{answer}\n")
    if answer == "e":
        assert "My title" in t.until("Push and open it? [y/N/e] ")
        t.type("y\n")
    t.until("not pushed" if answer == "n" else "Opened https://")
    t.end()
    titles = [made["title"] for made in site.forge.opened]
    assert titles == {"n": [], "y": ["Fix the Parser: now"],
                      "e": ["My title"]}[answer]
    if answer == "e":
        assert site.forge.opened[0][TEXT[kind]] == "My text"


def test_a_secret_in_the_answer_is_masked_in_the_request(
        run, bare, site, kind, model):
    secret = next(c for c in credentials() if c.kind == "GitHub token")
    model([{"tool_calls": [{"name": "write_file", "args": {
        "file_path": "made", "content": "x\n"}}]},
        {"text": f"Done with {secret.text}"}])
    assert run("-n", "go", "-M", "anthropic:m", "-y", "--sandbox", "local",
               "--workspace", "repo").status == 0
    assert run("apply", "--push", "--pr", "--branch", "fix").status == 0
    text = site.forge.opened[0][TEXT[kind]]
    assert secret.hidden not in text and "masked:GitHub token" in text


def test_pr_needs_push(run, room):
    done = run("apply", "--pr")
    assert done.status == 2 and "--pr needs --push" in done.err
