"""test_sandbox.py - sandboxes from the command line: whatever ends a run,
nothing stays but what gc finds."""
# SPDX-License-Identifier: MIT
import json
import os
import signal
import time

import pytest

from model import ModelServer

pytestmark = pytest.mark.usefixtures("sandbox_first")

HUNG = [{"text": "abc", "fault": {"stall_after_bytes": 40}}]


def call(name, **args):
    return {"name": name, "args": args}


@pytest.fixture(params=["local", "docker"])
def box(request, env, config):
    """The provider, configured."""
    if request.param == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\nnetwork = "none"\n')
    yield request.param
    if request.param == "docker" and rig.containers():
        rig.remove_all()


@pytest.fixture
def serve(env):
    """serve(script) -> ModelServer that env points at, default model set."""
    servers = []

    def begin(script, **how):
        servers.append(ModelServer(script, **how).__enter__())
        env.update(servers[-1].env)
        return servers[-1]
    yield begin
    for server in servers:
        server.__exit__()


@pytest.fixture
def rows(run):
    """rows(*options): the data of sandbox list."""
    def read(*options):
        r = run("sandbox", "list", "--json", *options)
        assert r.status == 0, r.err
        answer = json.loads(r.out)
        assert answer["schema_version"] == 1
        assert answer["command"] == "sandbox list"
        return answer["data"]
    return read


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@pytest.fixture
def left(serve, start, rows, box):
    """A sandbox whose dcode was killed: its row."""
    server = serve(HUNG)
    r = start("-n", "hi", "-M", "anthropic:m", "--sandbox", box)
    wait_for(lambda: server.model.received)
    r.p.send_signal(signal.SIGKILL)
    r.p.wait()
    found = rows()
    assert len(found) == 1
    return found[0]


def test_a_run_leaves_nothing(serve, run, rows, box):
    serve([{"tool_calls": [call("execute", command="echo made >x; cat x")]},
           {"expect": ["made"], "text": "done"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", box)
    assert (r.status, r.out) == (0, "done\n"), r.err
    assert f"Starting {box.capitalize()} sandbox..." in r.err
    assert f"✓ {box.capitalize()} sandbox ready: " in r.err
    assert rows() == []
    (row,) = rows("--all")
    assert (row["state"], row["provider"]) == ("gone", box)
    r = run("sandbox", "gc")
    assert (r.status, r.out) == (0, "Nothing to delete.\n")


@pytest.mark.parametrize("number, status", [
    (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_delete_it(serve, start, rows, number, status, box):
    server = serve(HUNG)
    r = start("-n", "hi", "-M", "anthropic:m", "--sandbox", box)
    wait_for(lambda: server.model.received)
    r.signal(number)
    r.wait(15)
    assert r.status == status, r.err
    assert rows() == []
    assert rows("--all")[0]["state"] == "gone"


def test_killed_then_collected(left, run, rows, serve, start, box):
    assert left["state"] == "live" and not left["owner_runs"]
    server = serve(HUNG)
    living = start("-n", "hi", "-M", "anthropic:m", "--sandbox", box)
    wait_for(lambda: server.model.received)
    r = run("sandbox", "gc", "--dry-run", "--json")
    items = json.loads(r.out)["data"]["items"]
    assert [i["label"] for i in items] == [left["label"]]
    assert items[0]["outcome"] == "would remove"
    assert len(rows()) == 2
    r = run("sandbox", "gc", "--json")
    items = json.loads(r.out)["data"]["items"]
    assert r.status == 0
    assert [i["outcome"] for i in items] == ["removed"]
    (row,) = rows()
    assert row["owner_runs"] and row["label"] != left["label"]
    living.signal()
    living.wait(15)
    assert rows() == []


def test_exec(left, run):
    name = left["name"]
    r = run("sandbox", "exec", name, "--", "echo out; echo err >&2; exit 7")
    assert (r.status, r.out, r.err) == (7, "out\n", "err\n")
    r = run("sandbox", "exec", name, "--", "printf", "%s|", "a b", "$HOME",
            "'")
    assert (r.status, r.out) == (0, "a b|$HOME|'|")
    r = run("sandbox", "exec", left["id"], "--", "cat; echo end",
            stdin="some text\n")
    assert (r.status, r.out) == (0, "some text\nend\n")
    r = run("sandbox", "exec", name, "--json", "--", "echo x; exit 3")
    data = json.loads(r.out)["data"]
    assert (r.status, data["exit_status"], data["stdout"]) == (3, 3, "x\n")
    r = run("sandbox", "exec", "nothere1", "--", "true")
    assert r.status == 1 and "unknown sandbox nothere1" in r.err
    r = run("sandbox", "exec", name)
    assert r.status == 2 and "needs ID -- COMMAND..." in r.err


def test_exec_is_live_and_cancelled(left, start):
    r = start("sandbox", "exec", left["name"], "--",
              "echo first; sleep 30; echo second")
    assert r.p.stdout.readline() == "first\n"
    began = time.monotonic()
    r.signal()
    r.wait(10)
    assert r.status == 130 and time.monotonic() - began < 15
    assert "second" not in r.out


def test_info_and_rm(left, run, rows):
    r = run("sandbox", "info", left["name"], "--json")
    data = json.loads(r.out)["data"]
    assert data["label"] == left["label"] and data["ledger"] == "live"
    r = run("sandbox", "info", left["name"])
    assert left["id"][:12] in r.out and "last used by" in r.out
    r = run("sandbox", "rm", "nothere1", left["name"])
    assert r.status == 1 and "nothere1" in r.err
    assert rows() == []
    r = run("sandbox", "rm", left["name"])
    assert r.status == 1 and "is already deleted" in r.err
    r = run("sandbox", "exec", left["name"], "--", "true")
    assert r.status == 1 and "has been deleted" in r.err


def tree_of(top):
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, top)
            if os.path.islink(path):
                found[key] = "-> " + os.readlink(path)
            elif os.path.isdir(path):
                found[key] = "dir"
            else:
                with open(path, "rb") as f:
                    found[key] = (f.read(), os.access(path, os.X_OK))
    return found


def test_copies_files_and_trees(left, run, tmp_path, box):
    name, work = left["name"], tmp_path / "work"
    tree = work / "tree"
    (tree / "a b" / "deep").mkdir(parents=True)
    (tree / "empty").mkdir()
    (tree / "a b" / "it's").write_bytes(bytes(range(256)) * 500)
    (tree / "a b" / "deep" / "run").write_text("#!/bin/sh\n")
    (tree / "a b" / "deep" / "run").chmod(0o755)
    (tree / "none").write_bytes(b"")
    (tree / "link").symlink_to("a b/it's")
    many = 150 if box == "local" else 5  # more than one batch
    for i in range(many):
        (tree / "empty" / f"f{i}").write_text(str(i))
    r = run("sandbox", "cp", "tree", f"{name}:copy", "--json")
    data = json.loads(r.out)["data"]
    assert r.status == 0, r.err
    assert (data["files"], data["links"]) == (many + 3, 1)
    r = run("sandbox", "cp", f"{name}:copy", "back")
    assert (r.status, r.err) == (0, "")
    assert tree_of(work / "back") == tree_of(tree)
    r = run("sandbox", "cp", "tree", f"{name}:copy")  # it exists: into it
    assert r.status == 0
    r = run("sandbox", "exec", name, "--", "ls copy/tree")
    assert "link" in r.out
    r = run("sandbox", "cp", "tree/a b/it's", f"{name}:copy/")
    assert r.status == 0
    r = run("sandbox", "cp", f"{name}:copy/it's", "it")
    assert r.status == 0
    assert (work / "it").read_bytes() == (tree / "a b" / "it's").read_bytes()
    r = run("sandbox", "cp", f"{name}:missing", "x")
    assert r.status == 1 and "missing" in r.err
    r = run("sandbox", "cp", "missing", f"{name}:x")
    assert r.status == 1 and "missing" in r.err


def test_a_copy_never_leaves_its_folder(left, run, tmp_path):
    name, work = left["name"], tmp_path / "work"
    r = run("sandbox", "exec", name, "--",
            "mkdir -p t/s && cd t && ln -s ../.. out && ln -s /etc abs && "
            "ln -s s in && echo x >s/f && printf x >'new\nline'; mkfifo p")
    assert r.status == 0, r.err
    outside = tmp_path / "outside"
    outside.mkdir()
    (work / "t").mkdir()
    (work / "t" / "s").symlink_to(outside)  # ours: must not be followed
    r = run("sandbox", "cp", f"{name}:t/.", "t")
    assert r.status == 1
    assert not list(outside.iterdir())
    assert not os.path.lexists(work / "t" / "out")
    assert not os.path.lexists(work / "t" / "abs")
    r = run("sandbox", "cp", f"{name}:t", "fresh")
    assert tree_of(work / "fresh") == {
        "s": "dir", "s/f": (b"x\n", False), "in": "-> s",
        "new\nline": (b"x", False)}


def write(path, text):
    path.write_text(text)
    return str(path)


def test_setup_receives_values_and_masks_them(serve, run, env, tmp_path, box):
    env["GIT_TOKEN"] = "ghp_0123456789abcdef"
    script = write(tmp_path / "s.sh", "#!/bin/sh\n"
                   "echo \"it is $GIT_TOKEN\" | tee got\n"
                   "for i in 1; do echo \"i=$i\"; done\n"
                   "cat /proc/*/cmdline | tr '\\0' '\\n' |"
                   " grep -c '[g]hp_' || :\n")
    m = serve([{"tool_calls": [call("execute", command="cat got")]},
               {"text": "ok"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", box,
            "--sandbox-setup", script)
    assert r.status == 0, r.err
    assert "✓ Setup complete" in r.err
    assert "it is [masked:GIT_TOKEN]\ni=1\n0\n" in r.err
    assert "ghp_0123456789abcdef" not in r.err + r.out
    assert "ghp_0123456789abcdef" not in json.dumps(
        [q["body"] for q in m.requests])
    assert "[masked:GIT_TOKEN]" in json.dumps(m.requests[-1]["body"])


def test_setup_failures(serve, run, rows, tmp_path, box):
    m = serve([{"text": "never"}])
    script = write(tmp_path / "s.sh", "echo broken; exit 9\n")
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", box,
            "--sandbox-setup", script)
    assert r.status == 1
    assert "broken" in r.err and "Setup script failed (exit 9)" in r.err
    assert "Setup failed - aborting" in r.err
    assert rows() == [] and len(rows("--all")) == 1
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", box,
            "--sandbox-setup", "missing.sh")
    assert r.status == 1 and "Setup script not found: missing.sh" in r.err
    assert len(rows("--all")) == 1
    assert not m.requests


def test_setup_example(serve, run, env, top, box):
    path = top / "tests/data/setup-example.sh"
    env["GIT_TOKEN"] = "ghp_0123456789abcdef"
    env["MODEL_KEY"] = "model-key-value-1"
    look = ("cat $HOME/project/clone.log; "
            "cat $HOME/.profile | base64 | tr -d '\\n'")
    m = serve([{"tool_calls": [call("execute", command=look)]},
               {"text": "ok"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", box,
            "--sandbox-setup", str(path))
    assert r.status == 0, r.err
    assert "found 2 tools, default none" in r.err
    seen = json.dumps(m.requests[-1]["body"])
    assert "cloning with https://x-access-token:[masked:GIT_TOKEN]@" in seen
    assert "ghp_" not in seen and "model-key-value-1" not in seen


def test_attached_is_kept(left, serve, run, rows, tmp_path, box):
    serve([{"tool_calls": [call("execute", command="cat f")]},
           {"expect": ["by setup"], "text": "ok"}])
    script = write(tmp_path / "s.sh", "echo by setup >f\n")
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", box,
            "--sandbox-id", left["id"], "--sandbox-setup", script)
    assert (r.status, r.out) == (0, "ok\n"), r.err
    assert [row["label"] for row in rows()] == [left["label"]]
    r = run("sandbox", "exec", left["name"], "--", "cat f")
    assert r.out == "by setup\n"
