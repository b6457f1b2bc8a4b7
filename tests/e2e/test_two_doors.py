"""test_two_doors.py - one secret comes in by every way and leaves by none."""
# SPDX-License-Identifier: MIT
import json
import shlex
import subprocess

import pytest

from clouds import call
from mcp_rig import Mcp
from test_hooks import DONE, hook, say
from test_live_chat import live  # noqa: F401
from test_web import site  # noqa: F401

# pylint: disable=redefined-outer-name

SECRET = "tok-5ecre7-of-the-vault"
CORE = "5ecre7"  # in no other text
MASKED = "[masked:SOME_API_KEY]"
HOW = ("-y", "-M", "anthropic:m", "--sandbox", "none")


@pytest.fixture
def place(home, env):
    """The working directory; a key of another vendor is the secret."""
    env["SOME_API_KEY"] = SECRET
    work = home.parent / "work"
    work.mkdir(exist_ok=True)
    (work / "key").write_text(SECRET)
    (work / "page.txt").write_text(f"way-file:{SECRET}\n")
    (work / ("way-name:" + SECRET)).write_text("x\n")
    top = home / ".deepagents"
    top.mkdir(exist_ok=True, mode=0o700)
    (top / "config.toml").write_text(
        "[web]\nallow_private = true\n[models.providers.mine]\n"
        "base_url = \"http://x/\"\napi_key_env = \"SOME_API_KEY\"\n")
    return work


def shell(way, command):
    return call("execute", command=f"printf way-{way}:; {command}")


def answers(place, site):
    """What the model does: no text of its own holds the secret."""
    return [
        {"tool_calls": [
            shell("stdout", "cat key"),
            shell("stderr", "cat key >&2; exit 3"),
            shell("pieces", "head -c 7 key; sleep .3; tail -c +8 key"),
            shell("both", "head -c 7 key; sleep .3; tail -c +8 key >&2"),
            shell("escape", "head -c 7 key; printf '\\033[1m';"
                            "tail -c +8 key"),
            shell("base64", "base64 -w 0 key")]},
        {"tool_calls": [
            call("read_file", file_path="page.txt"),
            call("grep", pattern="way-file", output_mode="content"),
            call("ls", path=str(place)),
            call("glob", pattern="way-*"),
            call("edit_file", file_path="page.txt", old_string="way-file",
                 new_string="way-edit")]},
        {"tool_calls": [
            call("execute", command="printf way-job:; cat key",
                 background=True)]},
        {"tool_calls": [call("job_output", job=1, wait=30)]},
        {"tool_calls": [
            call("srv_env"), call("fetch_url", url=site.url + "/key"),
            call("execute", command="true refused"),
            call("execute", command="true changed")]},
        {"tool_calls": [{"name": "task", "args": {
            "description": "the child's order",
            "subagent_type": "general-purpose"}}]},
        DONE, DONE]


def hooks(place, home):
    """Hooks whose every answer holds the secret."""
    def told(text, **more):
        return {"hookSpecificOutput": {"hookEventName": text, **more}}

    def cat(answer):
        path = place.parent / f"answer{len(list(place.parent.iterdir()))}"
        path.write_text(json.dumps(answer))
        return hook(f"cat {shlex.quote(str(path))}")

    def only(word, answer):
        group = cat(answer)
        one = group["hooks"][0]
        one["command"] = f"if grep -q 'true {word}'; then {one['command']}; fi"
        return group

    once = place.parent / "once"
    stop = hook(f"test -e {once} || {{ : >{once}; printf way-stop: >&2; "
                f"cat {place}/key >&2; exit 2; }}")
    transcript = hook("python3 -c 'import json, sys; print(open(json.load("
                      "sys.stdin)[\"transcript_path\"]).read(), "
                      f"file=open(\"{place.parent}/transcript\", \"w\"))'")
    after = hook(f"cat >>{place.parent}/told")
    after["hooks"].append(cat(told(
        "PostToolUse", additionalContext="way-after:" + SECRET))["hooks"][0])
    (home / ".deepagents" / "hooks.json").write_text(json.dumps({"hooks": {
        "SessionStart": [hook(f"printf way-start:; cat {place}/key")],
        "UserPromptSubmit": [cat({"systemMessage": "way-notice:" + SECRET,
                                  **told("UserPromptSubmit",
                                         additionalContext="way-prompt-hook:"
                                         + SECRET)})],
        "PreToolUse": [
            only("refused", told(
                "PreToolUse", permissionDecision="deny",
                permissionDecisionReason="way-deny:" + SECRET)),
            only("changed", told(
                "PreToolUse", updatedInput={
                    "command": "echo way-input:" + SECRET}))],
        "PostToolUse": [after],
        "Stop": [stop, transcript]}}))


def leaks(what):
    """Each text of these that holds the secret, with what is around it."""
    return {name: text[max(0, text.find(CORE) - 200):][:300]
            for name, text in what.items() if CORE in text}


def files(home):
    """All that dcode has written in the home directory."""
    state = home / ".deepagents" / ".state"
    found = {str(p): p.read_bytes().decode("latin-1")
             for p in state.rglob("*") if p.is_file()}
    assert any(p.endswith(".db") for p in found)
    return found


INWARDS = ("prompt", "stdin", "stdout", "stderr", "pieces", "both",
           "escape", "file", "name", "job", "mcp", "web", "start",
           "prompt-hook", "deny", "input", "after", "stop", "child")


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_secret_that_comes_in_by_any_way_leaves_by_none(
        run, model, home, env, place, site, form):
    site.server.RequestHandlerClass.get_key = lambda self: self.send(
        200, f"way-web:{SECRET}".encode(), Content_Type="text/plain")
    rig = Mcp(home, place)
    rig.own(srv=rig.entry(WAY="way-mcp:" + SECRET))
    hooks(place, home)
    server = model({"turns": answers(place, site), "talks": {
        "the child's order": [{"tool_calls": [shell("child", "cat key")]},
                              DONE]}})
    r = run("-n", f"way-prompt:{SECRET}", *HOW,
            *(("--json",) if form == "json" else ()),
            stdin=f"way-stdin:{SECRET}")
    assert r.status == 0, r.err
    sent = json.dumps([q["body"] for q in server.requests])
    (place.parent / "page").mkdir()
    export = place.parent / "page"
    rows = {
        "show": run("threads", "show", "latest"),
        "show --json": run("threads", "show", "latest", "--json"),
        "list": run("threads", "list"),
        "export": run("threads", "export", "latest", str(export / "x.json")),
        "html": run("threads", "export", "latest", "--html",
                    str(export / "x.html"))}
    for name, each in rows.items():
        assert each.status == 0, (name, each.err)
    told = [json.loads(line) for line in
            (place.parent / "told").read_text().replace("}{", "}\n{")
            .splitlines()]
    out = {"model": sent, "stdout": r.out, "stderr": r.err,
           "transcript": (place.parent / "transcript").read_text(),
           "hooks": json.dumps([t["tool_response"] for t in told]),
           **{n: each.out + each.err for n, each in rows.items()},
           **{p.name: p.read_text() for p in export.iterdir()},
           **files(home)}
    assert not leaks(out)
    for way in INWARDS:  # the control: each has come, and is seen masked
        assert f"way-{way}:[masked:" in sent, way
    shown = r.out if form == "json" else r.err
    assert "way-notice:" + MASKED in shown
    if form == "json":
        for way in ("stdout", "file", "job", "web", "deny", "input"):
            assert f"way-{way}:{MASKED}" in r.out, way
    for name in ("transcript", "hooks", "show --json", "x.json", "x.html"):
        assert "way-stdout:" + MASKED in out[name], name


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_server_that_repeats_the_secret_is_not_printed(
        run, model, home, place, form):
    model([{"text": "x", "fault": {"status": 400, "body": {
        "type": "error", "error": {"type": "invalid_request_error",
                                   "message": f"way-server:{SECRET}"}}}}])
    r = run("-n", "go", *HOW, *(("--json",) if form == "json" else ()))
    assert r.status == 1
    assert "way-server:" + MASKED in r.err
    if form == "json":
        assert "way-server:" + MASKED in r.out
    assert not leaks({"out": r.out, "err": r.err, **files(home)})


def test_what_a_command_line_names_is_masked_on_stderr(run, place, env):
    """Neither of these is the model's or a tool's: errors and warnings."""
    for args in (("threads", "show", SECRET),
                 ("sandbox", "rm", SECRET),
                 ("skills", "info", SECRET),
                 ("-n", "go", "-M", "anthropic:m", "--sandbox", SECRET)):
        r = run(*args)
        assert r.status and MASKED in r.err + r.out, (args, r.err)
        assert not leaks({"out": r.out, "err": r.err}), args


@pytest.mark.parametrize("plain", [False, True], ids=["screen", "lines"])
def test_a_chat_shows_none(live, home, env, place, plain):
    s, server = live([{"tool_calls": [shell("stdout", "cat key")]}, DONE],
                     args=["-y", "--sandbox", "none"] +
                     (["--plain"] if plain else []))
    s.type("!printf way-own:; cat key")
    s.keys("Enter")
    s.until("way-own:" + MASKED)
    (place / "mention").write_text(f"way-mention:{SECRET}\n")
    s.type("see @mention ")
    s.keys("Enter")
    s.until("done.")
    sent = json.dumps([q["body"] for q in server.requests])
    for way in ("own", "stdout", "mention"):
        assert f"way-{way}:{MASKED}" in sent, way
    assert not leaks({"screen": s.text(True), "model": sent, **files(home)})
