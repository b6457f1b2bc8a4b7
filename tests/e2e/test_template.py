"""test_template.py - a REST service that config.toml describes to dcode."""
# SPDX-License-Identifier: MIT
import json
import os
import time

import pytest

import boxes
from lifecycle import contract


@pytest.fixture
def service(env, config):
    """service(**options): a running service that config.toml describes."""
    running = []

    def begin(shell="", files=True, within="127.0.0.1", **options):
        running.append(boxes.Boxes(**options).__enter__())
        env["BOX_TOKEN"] = boxes.KEY
        told = {k: options[k] for k in ("base64", "own", "stream", "raw",
                                        "array") if k in options}
        config(boxes.config(running[-1].url, shell=shell, files=files,
                            within=within, **told))
        return running[-1]
    yield begin
    for one in running:
        one.__exit__()
        assert one.violations == []


def test_contract(run, service):
    cloud = service(base64=True)
    _, checks = contract(run, "homemade", "--quick")
    assert cloud.left() == []
    for check in ("create", "remove", "nothing left", "list by label"):
        assert checks[check]["status"] == "ok", checks[check]
    assert cloud.count("PUT /v1/boxes/[^/]+/file") > 0


@pytest.mark.long  # slow
def test_contract_with_commands_alone(run, service):
    """No files, no list, numbers for ids, and a shell around the command."""
    cloud = service(files=False, numbers=True,
                    shell="env LANG=C sh -c {command}")
    contract(run, "homemade", "--quick")
    assert cloud.left() == []
    assert not cloud.count(".*/file")


@pytest.mark.long  # slow
@pytest.mark.parametrize("base64", [False, True])
def test_whole_contract(run, service, base64):
    service(base64=base64)
    contract(run, "homemade")


@pytest.mark.parametrize("how", [
    {}, {"base64": True}, {"files": False, "numbers": True,
                           "shell": "env LANG=C sh -c {command}"},
    {"array": True}, {"raw": True}, {"stream": "sse"}, {"stream": "ndjson"},
    {"own": True}, {"own": True, "stream": "sse", "array": True}])
def test_a_task(run, service, model, how):
    cloud = service(**how)
    model([{"tool_calls": [
        {"name": "write_file", "args": {"path": "a.txt", "content": "x\n"}},
        {"name": "execute", "args": {"command": "cat a.txt; pwd; exit 3"}}]},
        {"text": "done"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade", "--json",
            "--sandbox-snapshot-name", "s1")
    assert r.status == 0, r.err
    assert "/srv/work" in r.out and "exit code 3" in r.out
    assert boxes.KEY not in r.out + r.err
    assert cloud.left() == []
    made = json.loads(cloud.requests[0]["body"])
    assert (made["image"], made["size"]) == ("debian", "s-2")
    assert made["snapshot"] == "s1" and made["name"].startswith("dcode-")
    # Quick commands: one request each (and what the start needs: two to see
    # whether a process outlives the request that left it).
    where = "/own/" if how.get("own") else "/v1/boxes/"
    assert 0 < cloud.count(f"POST {where}[^/]+/run") <= 6
    assert cloud.count("POST .*/run") == cloud.count(f"POST {where}[^/]+/run")


def test_wrong_key_and_errors(run, service, env, model):
    cloud = service()
    model([{"text": "hi"}])
    task = ["-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade"]
    env["BOX_TOKEN"] = "wrong-key-0123456789"
    r = run(*task)
    assert r.status == 1 and "401" in r.err and "wrong key" in r.err
    assert "wrong-key-0123456789" not in r.err
    env.pop("BOX_TOKEN")
    before = len(cloud.requests)
    r = run(*task)
    assert r.status == 1 and "BOX_TOKEN is not set" in r.err
    assert len(cloud.requests) == before
    assert cloud.left() == []


@pytest.mark.parametrize("body, words", [
    ({"box": {}}, "no sandbox id at the JSON pointer /box/id"),
    ({"box": {"id": {"a": 1}}}, "no sandbox id"), ([], "no sandbox id"),
    ({"box": {"id": "a\nb"}}, "no sandbox id"),
    ({"box": {"id": ".."}}, "no sandbox id"),
    ({"box": {"id": "."}}, "no sandbox id"),
    ({"box": {"id": ""}}, "no sandbox id"),
    ({"box": {"id": "x" * 600}}, "no sandbox id")])
def test_odd_ids(run, service, model, body, words):
    cloud = service()
    model([{"text": "hi"}])
    cloud.fault("POST /v1/boxes$", status=200, body=body)
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade")
    assert r.status == 1 and words in r.err, r.err


@pytest.mark.parametrize("id", ["..", ".", "../../admin", "%2e%2e", "a?b=c",
                                "a#b", "a/../b", "x\\y", "é", "a&b;c'd\"e"])
def test_an_id_stays_in_its_place(run, service, model, id):
    """What the service calls its box does not change which address is used."""
    cloud = service()
    model([{"text": "hi"}])
    cloud.fault("POST /v1/boxes$", status=200, body={"box": {"id": id}})
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade")
    assert r.status == 1
    for request in cloud.requests:
        parts = request["line"].split(" ")[1].split("?")[0].split("/")
        assert parts[:3] == ["", "v1", "boxes"] and len(parts) <= 5
        assert "?" not in request["line"] or "owner=" in request["line"]


@pytest.mark.parametrize("change, words", [
    (("id = \"/box/id\"", "id = \"box/id\""), "must be a JSON pointer"),
    (("{label}", "{lable}"), "{lable} is unknown here"),
    (("{label}", "{path}"), "{path} is unknown here"),
    (("{label}", "{label"), "not well formed"),
    (("{label}", "}"), "not well formed"),
    (("is = [\"up\"]", "is = \"up\""), "must be an array of strings"),
    (("[\"broken\"]", "[1]"), "must be an array of strings"),
    (("path = \"/boxes\"", "path = \"boxes\""), "must begin with /"),
    (("path = \"/boxes\"", "path = 3"), "must be a string"),
    (("path = \"/boxes\"", "colour = 3"), "colour is unknown"),
    (("X-Team", "\"X Team\""), "is not a header name"),
    (("output = ", "method = \"TRACE\"\noutput = "), "must be GET, POST"),
    (("output = ", "shell = \"sh -c '{command}'\"\noutput = "),
     "inside quotes"),
    (("output = ", "shell = \"x `y` {command}\"\noutput = "), "backquotes"),
    (("base = ", "bass = "), "bass is unknown"),
    (("[sandboxes.providers.homemade.http.delete]",
      "[sandboxes.providers.homemade.http.remove]"), "remove is unknown")])
def test_mistakes_in_the_table(run, service, config, tmp_path, change, words):
    cloud = service()
    text = boxes.config(cloud.url)
    assert change[0] in text
    config(text.replace(*change, 1))
    r = run("provider", "list", "-v")
    assert words in r.err and "config.toml:" in r.err, r.err
    assert "homemade" not in r.out
    config(text)
    r = run("provider", "list", "-v")
    assert r.err == "" and "homemade" in r.out


def test_where_a_key_may_go(run, config, env, tmp_path):
    env["BOX_TOKEN"] = boxes.KEY
    for base in ("http://example.org", "ftp://localhost", "https://a@b",
                 "https://x/?q", "localhost"):
        config(boxes.config(base))
        r = run("provider", "list", "-v")
        assert "refusing to send a key to this address" in \
            " ".join(r.out.split()), r.out
    # A project's .env does not choose it, the user does.
    config(boxes.config("x").replace('"x/v1"', '"https://${REGION}/v1"'))
    (tmp_path / "work" / ".env").write_text("REGION=evil.example\n")
    r = run("provider", "list", "-v")
    assert "REGION is not set" in " ".join(r.out.split())
    env["REGION"] = "good.example"
    assert "https://good.example/v1" in run("provider", "list", "-v").out


def test_slow_and_broken_boxes(run, service, model):
    cloud = service()
    model([{"text": "hi"}])
    cloud.fault("GET /v1/boxes/[^/]+$", status=200,
                body={"box": {"state": "broken"}})
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade")
    assert r.status == 1 and "in the state 'broken'" in r.err
    assert cloud.left() == []  # it was deleted


def test_faults_in_between(run, service, model):
    """503, 429 and a cut: asked again, and run once."""
    cloud = service()
    cloud.fault("POST /v1/boxes/[^/]+/run", nth=2, status=503)
    cloud.fault("POST /v1/boxes/[^/]+/run", nth=3, status=429)
    cloud.fault("POST /v1/boxes/[^/]+/run", nth=4, truncate=10)
    cloud.fault("DELETE /v1/boxes/", status=503)
    model([{"tool_calls": [{"name": "execute", "args": {
        "command": "echo once >>count; cat count"}}]}, {"text": "done"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade", "--json",
            timeout=120)
    assert r.status == 0, r.err
    assert r.out.count("once\\n") >= 1 and "once\\nonce" not in r.out
    assert cloud.left() == []


def test_a_stored_key(run, service, env, model):
    cloud = service()
    server = model([{"text": "hi"}])
    key = env.pop("BOX_TOKEN")
    r = run("install", "homemade")
    assert r.status == 1 and "BOX_TOKEN is not set" in r.out
    r = run("auth", "set", "homemade", stdin=key)
    assert r.status == 0, r.err
    assert "stored" in run("auth", "status", "homemade").out
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade")
    assert r.status == 0 and len(server.requests) == 1, r.err
    assert cloud.left() == []


def test_install(run, service):
    service()
    began = time.monotonic()
    r = run("install", "homemade")
    assert r.status == 0, r.out
    assert "comes from" in r.out and "answered in" in r.out
    assert time.monotonic() - began < 100


RUNS = "POST .*/run"


def kept(cloud, run, model):
    """A box that dcode made and kept; its id."""
    model([{"text": "done"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade", "--keep")
    assert r.status == 0, r.err
    cloud.forget()
    return next(iter(cloud.boxes))


def test_a_command_is_one_request(run, service, model):
    """Also of a dcode that was started for it: whether processes outlive a
    call is known from the first run."""
    cloud = service()
    box = kept(cloud, run, model)
    for _ in range(3):
        r = run("sandbox", "exec", box, "--", "echo", "hi")
        assert (r.status, r.out) == (0, "hi\n"), r.err
    assert [q["line"].split()[1].split("/")[-1] for q in cloud.requests] == \
        ["run"] * 3


def test_a_description_says_that_processes_outlive_a_call(
        run, service, config, home, model):
    cloud = service()
    text = (home / ".deepagents/config.toml").read_text()
    config(text.replace("output = ", "outlives = true\noutput = "))
    server = model([{"tool_calls": [{"name": "execute", "args": {
        "command": "echo hi"}}]}, {"text": "done"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade", "-y")
    assert r.status == 0 and len(server.requests) == 2, r.err
    # The command, and at the end the removal of what it left.
    runs = [q["body"] for q in cloud.requests if q["line"].endswith("/run")]
    assert ["s_op=start" in str(b) for b in runs] == [True, False]


def test_one_that_is_not_ready_yet_is_asked_again(run, service, model):
    """The command of a dcode that did not ask before runs once."""
    cloud = service()
    box = kept(cloud, run, model)
    cloud.fault(RUNS, status=409, body={"message": "booting"})
    r = run("sandbox", "exec", box, "--", "sh", "-c", "echo x >>n; cat n")
    assert (r.status, r.out) == (0, "x\n"), r.err
    assert cloud.count("GET /v1/boxes/[^/]+$") == 1
    r = run("sandbox", "exec", "--sandbox", "homemade", "nowhere", "--", "true")
    assert r.status != 0 and "nowhere" in r.err


@pytest.mark.parametrize("stream", ["sse", "ndjson"])
def test_a_stream_that_was_cut_is_asked_for_again(run, service, model, stream):
    cloud = service(stream=stream)
    server = model([{"tool_calls": [{"name": "execute", "args": {
        "command": "echo x >>n; seq 3000; cat n"}}]}, {"text": "done"}])
    cloud.fault(RUNS, nth=3, truncate=2000)
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade", "-y")
    assert r.status == 0, r.err
    told = json.dumps(server.requests[1]["body"])
    assert "2999\\n3000\\nx\\n" in told and "x\\nx" not in told
    assert cloud.count(RUNS) == 5  # two to see, two to run, one to clean up


@pytest.mark.parametrize("server", [
    "https://evil.example", "http://127.0.0.1.evil.example",
    "https://127.0.0.1@evil.example", "https://x127.0.0.1", "ftp://127.0.0.1",
    "file:///etc", "", 3])
def test_the_key_goes_to_hosts_of_the_description_only(run, service, model,
                                                       server):
    """The control is test_a_task with a server of its own."""
    cloud = service(own=True)
    cloud.fault("POST /v1/boxes$", status=201, body={
        "box": {"id": "b1", "server": server, "token": "t"}})
    cloud.fault("GET /v1/boxes/b1$", status=200, times=None, body={
        "box": {"state": "up", "server": server, "token": "t"}})
    model([{"text": "hi"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade")
    assert r.status == 1, r.err
    assert "not a host of create.within" in " ".join(r.err.split()), r.err
    assert cloud.count(RUNS) == 0


def test_a_suffix_is_a_whole_name(run, service, model):
    cloud = service(own=True, within="0.0.1")
    model([{"text": "hi"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade")
    assert r.status == 0 and cloud.count(RUNS) > 0, r.err
    cloud = service(own=True, within="7.0.0.1")
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", "homemade")
    assert r.status == 1 and cloud.count(RUNS) == 0, r.err


def test_the_own_server_is_found_again(run, service, model):
    """Attached to, from the answer of ready; the token is never shown."""
    cloud = service(own=True)
    box = kept(cloud, run, model)
    r = run("sandbox", "exec", box, "--", "echo", "hi")
    assert (r.status, r.out) == (0, "hi\n"), r.err
    assert cloud.count("POST /own/") == 1
    assert cloud.boxes[box].token not in r.err + r.out
