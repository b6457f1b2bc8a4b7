"""test_trust_b3_reading.py - what reading tools may see on this machine."""
# SPDX-License-Identifier: MIT
import json

import pytest

from test_hostile_chat import chat  # noqa: F401 (a fixture)

DONE = {"text": "done."}
ASKS = "Allow it? [y/N] "
SECRET = "hunter2-of-the-user"


def call(tool, **args):
    return {"tool_calls": [{"name": tool, "args": args}]}


@pytest.fixture
def task(model, run, tmp_path):
    """task(turn, *flags) -> the run, the text of the call's result."""
    def go(*turns, flags=(), cwd=None):
        server = model([*turns, DONE])
        r = run("-n", "go", "-M", "anthropic:m", *flags, cwd=cwd)
        assert r.status == 0, r.err
        last = server.requests[-1]["body"]["messages"][-1]["content"]
        return r, "\n".join(str(p.get("content")) for p in last)
    return go


@pytest.fixture
def outside(home, tmp_path):
    """A file outside the directory, and links to it and to its folder."""
    (home / "data").mkdir()
    (home / "data" / "f").write_text(SECRET + "\n")
    (tmp_path / "work" / "link").symlink_to(home / "data" / "f")
    (tmp_path / "work" / "dir").symlink_to(home / "data")
    return home / "data"


WAYS = {
    "read": lambda d: call("read_file", file_path=str(d / "f")),
    "link": lambda d: call("read_file", file_path="link"),
    "parent": lambda d: call("read_file", file_path="dir/f"),
    "ls": lambda d: call("ls", path="dir"),
    "glob": lambda d: call("glob", pattern="*", path=str(d)),
    "grep": lambda d: call("grep", pattern="hunter", path="dir",
                           output_mode="content"),
    "grep file": lambda d: call("grep", pattern="hunter", path="link",
                                output_mode="content"),
    "root": lambda d: call("read_file", file_path=f"/proc/self/root{d}/f"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_run_reads_its_directory_alone(task, outside, way):
    _, result = task(WAYS[way](outside))
    assert SECRET not in result and "/f" not in result.split("is outside")[-1]
    assert "outside the working directory" in result
    # and the same is seen where the user said so
    _, result = task(WAYS[way](outside), flags=("-y",))
    assert SECRET in result or "data/f" in result


@pytest.mark.parametrize("args", [
    ("glob", {"pattern": "../**"}), ("glob", {"pattern": "/etc/pass*"}),
    ("glob", {"pattern": "dir/*"}), ("grep", {"pattern": "hunter",
                                             "glob": "../home/**"}),
    ("grep", {"pattern": "hunter", "output_mode": "content"})])
def test_patterns_do_not_lead_out(task, outside, args):
    _, result = task(call(args[0], **args[1]))
    assert SECRET not in result and "passwd" not in result
    assert "data/f" not in result and "dir/f" not in result


def test_a_listed_command_reads_what_it_reads(task, outside):
    _, result = task(call("execute", command=f"cat {outside}/f"),
                     flags=("-S", "cat"))
    assert SECRET in result


def test_the_directory_itself_is_read_unasked(task, tmp_path):
    (tmp_path / "work" / "a").write_text("mine\n")
    (tmp_path / "work" / "b").symlink_to("a")
    _, result = task(call("read_file", file_path="b"))
    assert "mine" in result


@pytest.mark.parametrize("answer", ["y", "n"])
def test_the_chat_asks(chat, outside, answer):  # noqa: F811
    t, server = chat([call("read_file", file_path="link"), DONE])
    t.type("go\r")
    asked = t.until(ASKS).replace("\r\n    ", "")
    assert "wants to read outside the working directory" in asked
    assert f"acts on: {outside}/f" in asked
    t.type(answer + "\r")
    t.until("done.")
    assert (SECRET in json.dumps(server.requests[-1]["body"])) == \
        (answer == "y")


def test_each_of_several_calls_is_asked_about(
        chat, outside, tmp_path):  # noqa: F811
    (tmp_path / "work" / "mine").write_text("mine\n")
    t, server = chat([{"tool_calls": [
        {"name": "read_file", "args": {"file_path": "mine"}},
        {"name": "read_file", "args": {"file_path": "link"}},
        {"name": "ls", "args": {"path": str(outside)}}]}, DONE])
    t.type("go\r")
    t.until(ASKS)
    t.type("n\r")
    t.until(ASKS)
    t.type("y\r")
    t.until("done.")
    results = json.dumps(server.requests[-1]["body"]["messages"][-1])
    assert "mine" in results and SECRET not in results
    assert "data/f" in results and "rejected" in results


@pytest.mark.parametrize("name", [
    ".state/credentials.key", ".env", ".env.old", "agent/.env"])
@pytest.mark.parametrize("way", ["read_file", "grep", "link"])
def test_keys_of_the_user_are_never_read(task, home, tmp_path, name, way):
    path = home / ".deepagents" / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(f"X={SECRET}\n")
    (tmp_path / "work" / "link").symlink_to(path)
    turn = {"read_file": call("read_file", file_path=str(path)),
            "link": call("read_file", file_path="link"),
            "grep": call("grep", pattern="X=", path=str(path),
                         output_mode="content")}[way]
    for flags in ((), ("-y",), ("-S", "all")):
        _, result = task(turn, flags=flags)
        assert SECRET not in result and "no tool may read it" in result


def test_a_search_from_above_leaves_keys_out(task, home):
    state = home / ".deepagents" / ".state"
    state.mkdir(parents=True, mode=0o700)
    (state / "k").write_text(f"X={SECRET}\n")
    (home / ".deepagents" / ".env").write_text(f"X={SECRET}\n")
    (home / "seen").write_text("X=1\n")
    for turn in (call("grep", pattern="X=", output_mode="content"),
                 call("glob", pattern="**/*"), call("glob", pattern=".env"),
                 call("glob", pattern="**/.state/*")):
        _, result = task(turn, cwd=home)
        assert SECRET not in result and ".state/k" not in result
        assert ".deepagents/.env" not in result
    _, result = task(call("grep", pattern="X="), cwd=home)
    assert "seen" in result


def test_large_results_are_of_this_thread(task):
    """Another run of the same calls has its own, and cannot read this."""
    big = {"tool_calls": [{"name": "execute", "id": "call_1",
                           "args": {"command": "seq 1 30000"}}]}
    paths = []
    for _ in range(2):
        _, result = task(big, flags=("-S", "seq"))
        paths.append(result.split("at this path: ")[1].split("\n")[0])
    assert paths[0] != paths[1]
    _, result = task(call("read_file", file_path=paths[0]))
    assert "outside the working directory" in result


def test_the_own_large_results_are_read_unasked(chat):  # noqa: F811
    t, server = chat([call("execute", command="seq 1 30000"), DONE])
    t.type("go\r")
    t.until(ASKS)
    t.type("y\r")
    t.until("done.")
    body = json.dumps(server.requests[-1]["body"])
    path = body.split("at this path: ")[1].split("\\n")[0]
    assert path.endswith("-1") and "call" not in path
    server.model.script.turns += [
        call("read_file", file_path=path, offset=29990), {"text": "read."}]
    t.type("more\r")
    assert "Allow" not in t.until("read.")
    assert "29999" in json.dumps(server.requests[-1]["body"])


def test_a_secret_that_another_one_shadows_is_masked(task, home, env):
    env["ACME_TOKEN"] = "exported-token-1"
    env["DEEPAGENTS_CODE_DAYTONA_JWT_TOKEN"] = "prefixed-jwt-22"
    path = home / ".deepagents" / ".env"
    path.parent.mkdir(mode=0o700)
    path.write_text("ACME_TOKEN=shadowed-token-3\nNOTE=not-a-secret-at-all\n"
                    "DAYTONA_JWT_TOKEN=plain-jwt-4444\n")
    _, result = task(call("execute", command=f"cat {path}; echo "
                          "exported-token-1 prefixed-jwt-22"), flags=("-y",))
    assert "not-a-secret-at-all" in result  # the control
    assert "[masked:ACME_TOKEN]" in result
    for secret in ("exported-token-1", "shadowed-token-3", "plain-jwt-4444",
                   "prefixed-jwt-22"):
        assert secret not in result
