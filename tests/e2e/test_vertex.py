"""test_vertex.py - what only Vertex AI has: projects, places and tokens."""
# SPDX-License-Identifier: MIT
import contextlib
import pathlib
import time

import pytest

import raw_http as raw
from raw_http import RawServer, gemini, whole

GEMINI = "google_vertexai:gemini-3.1-pro-preview"
CLAUDE = "vertex:claude-opus-5"
PATH = "/v1/projects/my-app/locations/{}/publishers/{}/models/{}"
CALL = [{"name": "execute", "args": {"command": "true"}}] * 2


def gcloud(folder, *lines):
    """A program of that name, which says when and where it was run."""
    folder.mkdir(exist_ok=True)
    path = folder / "gcloud"
    path.write_text("\n".join([
        "#!/bin/sh", f'echo "$PWD $*" >>{folder}/asked', *lines]) + "\n")
    path.chmod(0o755)
    return path


def asked(folder):
    path = folder / "asked"
    return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def bin_(tmp_path, env):
    """A folder in front of PATH with a gcloud that prints a token."""
    folder = tmp_path / "bin"
    gcloud(folder, "echo ya29.from-gcloud")
    env["PATH"] = f"{folder}:{env['PATH']}"
    return folder


@pytest.fixture
def model(model, env):
    """The same, for this vendor too."""
    def begin(script):
        server = model(script)
        env.update(GOOGLE_VERTEX_BASE_URL=server.url,
                   GOOGLE_CLOUD_PROJECT="my-app")
        return server
    return begin


@pytest.fixture
def serve(env):
    servers = []

    def begin(*answers):
        servers.append(RawServer(*answers))
        env.update(GOOGLE_CLOUD_PROJECT="my-app", GOOGLE_VERTEX_BASE_URL=
                   f"http://127.0.0.1:{servers[-1].port}")
        return servers[-1]
    yield begin
    for server in servers:
        server.__exit__()


@pytest.mark.parametrize("spec, more, path", [
    (GEMINI, {}, PATH.format("global", "google", "gemini-3.1-pro-preview")),
    (GEMINI, {"GOOGLE_CLOUD_LOCATION": "us-central1"},
     PATH.format("us-central1", "google", "gemini-3.1-pro-preview")),
    (CLAUDE, {"CLOUD_ML_REGION": "europe-west1"},
     PATH.format("europe-west1", "anthropic", "claude-opus-5"))])
def test_calls_and_results_go_as_vertex_has_them(model, run, env, spec, more,
                                                 path):
    server = model({"turns": [{"thinking": "hm", "tool_calls": CALL},
                              {"text": "Hello."}], "key": "ya29.mine"})
    env.update(more, GOOGLE_OAUTH_ACCESS_TOKEN="ya29.mine")
    r = run("-n", "hi", "-y", "-M", spec)
    assert (r.status, r.out) == (0, "Hello.\n"), r.err
    # the emulator refuses ids of Gemini's calls, and what Claude's lack
    assert server.violations == []
    assert [q["path"].partition(":")[0] for q in server.requests] == [path] * 2
    assert "ya29" not in r.err


def test_a_thread_goes_on_at_vertex_with_other_vendors_calls(model, run, env):
    server = model([{"tool_calls": CALL}, {"text": "one"}, {"text": "two"}])
    env["GOOGLE_OAUTH_ACCESS_TOKEN"] = "ya29.mine"
    assert run("-n", "hi", "-y", "-M", "anthropic:m").out == "one\n"
    r = run("-n", "more", "-r", "-M", GEMINI)
    assert (r.status, r.out) == (0, "two\n"), r.err
    assert server.violations == []


def test_gcloud_is_asked_once_for_many_requests(model, run, bin_):
    server = model({"turns": [{"tool_calls": CALL}, {"tool_calls": CALL},
                              {"text": "Hello."}], "key": "ya29.from-gcloud"})
    r = run("-n", "hi", "-y", "-M", GEMINI)
    assert (r.status, r.out) == (0, "Hello.\n"), r.err
    assert len(server.requests) == 3
    # not in the directory that dcode was started in
    assert asked(bin_) == ["/ auth print-access-token"]


def test_a_refused_token_is_asked_for_again_once(serve, run, bin_):
    expired = raw.refused("401 Unauthorized", "Request had invalid "
                          "authentication credentials.")
    gcloud(bin_, f"echo ya29.number-$(wc -l <{bin_}/asked)")
    s = serve(expired, whole(gemini("ok")))
    r = run("-n", "hi", "-M", GEMINI)
    assert (r.status, r.out) == (0, "ok\n"), r.err
    assert [q.headers["authorization"] for q in s.requests] == [
        "Bearer ya29.number-1", "Bearer ya29.number-2"]
    s = serve(expired)
    r = run("-n", "hi", "-M", GEMINI)
    assert r.status == 1 and len(s.requests) == 2
    assert "gcloud auth login" in r.err and "ya29" not in r.err


def test_the_users_own_token_is_not_replaced(serve, run, env, bin_):
    s = serve(raw.refused("401 Unauthorized", "no"))
    env["GOOGLE_OAUTH_ACCESS_TOKEN"] = "ya29.mine"
    r = run("-n", "hi", "-M", GEMINI)
    assert r.status == 1 and len(s.requests) == 1
    assert "GOOGLE_OAUTH_ACCESS_TOKEN was refused" in r.err
    assert asked(bin_) == []


@pytest.mark.parametrize("lines, words", [
    (["exit 1"], "exited with status 1"),
    (["true"], "no access token"),
    (["echo two words"], "no access token"),
    (["head -c 100000 /dev/zero | tr '\\0' x"], "its output")])
def test_a_gcloud_that_fails_is_named(serve, run, bin_, lines, words):
    gcloud(bin_, *lines)
    s = serve(whole(gemini("ok")))
    r = run("-n", "hi", "-M", GEMINI)
    assert r.status == 1 and s.requests == []
    assert "gcloud auth print-access-token: " in r.err and words in r.err


def test_a_gcloud_that_hangs_can_be_interrupted(serve, start, bin_):
    gcloud(bin_, "sleep 1000 & echo $! >$0.child; wait")
    serve(whole(gemini("ok")))
    p = start("-n", "hi", "-M", GEMINI)
    child = pathlib.Path(f"{bin_}/gcloud.child")
    end = time.monotonic() + 30
    while not (child.exists() and child.read_text().strip()):
        assert time.monotonic() < end
        time.sleep(0.02)
    p.signal()
    assert p.wait().status == 130
    # what it has started is gone too; the dead have no command line
    line = pathlib.Path(f"/proc/{int(child.read_text())}/cmdline")
    with contextlib.suppress(OSError):
        while b"1000" in line.read_bytes():
            assert time.monotonic() < end
            time.sleep(0.02)


def test_without_token_and_gcloud_it_says_what_to_do(run, env, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    env.update(GOOGLE_CLOUD_PROJECT="my-app", PATH=str(empty))
    r = run("-n", "hi", "-M", GEMINI)
    assert r.status == 1
    assert "GOOGLE_OAUTH_ACCESS_TOKEN is not set, and gcloud" in \
        r.err


def test_a_repository_chooses_neither_project_nor_token_nor_program(
        model, run, env, bin_, tmp_path):
    """Attack: a cloned .env makes the conversation another's to read."""
    server = model({"turns": [{"text": "ok"}] * 2, "by": "count"})
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    gcloud(work, "echo ya29.evil")
    (work / ".env").write_text(
        "GOOGLE_OAUTH_ACCESS_TOKEN=ya29.evil\nGOOGLE_CLOUD_PROJECT=evil\n"
        "GOOGLE_CLOUD_LOCATION=evil\nCLOUDSDK_CONFIG=/evil\n"
        f"PATH={work}\n")
    gcloud(bin_, f'echo "[$CLOUDSDK_CONFIG]" >>{bin_}/saw',
           "echo ya29.from-gcloud")
    r = run("-n", "hi", "-M", GEMINI)
    assert (r.status, r.out) == (0, "ok\n"), r.err
    assert "/my-app/locations/global/" in server.requests[0]["path"]
    assert server.requests[0]["key"] == "ya29.from-gcloud"
    assert (bin_ / "saw").read_text() == "[]\n" and asked(work) == []
    # the control: the user's own file does
    (pathlib.Path(env["HOME"]) / ".deepagents").mkdir(exist_ok=True)
    (pathlib.Path(env["HOME"]) / ".deepagents" / ".env").write_text(
        "GOOGLE_OAUTH_ACCESS_TOKEN=ya29.user\n")
    assert run("-n", "hi", "-M", GEMINI).out == "ok\n"
    assert server.requests[1]["key"] == "ya29.user"


def test_install_finds_it_ready_where_gcloud_is(run, env, bin_, tmp_path):
    r = run("install", "vertex")
    assert r.status == 0 and f"access token from {bin_}/gcloud" in r.out
    assert "gcloud auth login" in r.out and asked(bin_) == []
    all_of_them = run("install", "all-providers").out
    assert "google_vertexai: access token from" in all_of_them
    # the control: not from the current directory, as for requests
    (bin_ / "gcloud").rename(tmp_path / "work" / "gcloud")
    env["PATH"] = f".::{bin_}"
    r = run("install", "vertex")
    assert r.status == 1 and "is not ready" in r.out
    assert "install the Google Cloud CLI" in r.out
    assert asked(bin_) == []
