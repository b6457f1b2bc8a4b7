"""test_move.py - a thread goes to another sandbox with its work."""
# SPDX-License-Identifier: MIT
import json
import os
import random
import shlex
import subprocess

import pytest

import slash_chat
from clouds import vendor_fixture  # noqa: F401 (a fixture)
from lifecycle import folders
from slash_chat import on_screen, talk  # noqa: F401 (a fixture)
from test_lifecycle_kill import KILLED, kill_at, moments  # noqa: F401
from test_undo import (  # noqa: F401 (a fixture)
    LOOK, SENT, begin, execute, go, prompt, tree, turns)

EDIT = ("printf 'two\\n' >a.c; rm link; chmod -x run.sh; mkdir -p d; "
        "echo new >'d/a b'; ln -s ../a.c d/l; echo x >d/x; chmod +x d/x")
EDITED = ["a.c 644 two", "d/a b 644 new", "d/l -> ../a.c", "d/x 755 x",
          "run.sh 644 run"]


lines = pytest.mark.parametrize("talk", ["lines"], indirect=True)


def boxes(run):
    """Provider and name of each sandbox that exists."""
    rows = json.loads(run("sandbox", "list", "--json").out)["data"]
    return {r["provider"]: r["name"] for r in rows}


def look(run, name):
    r = run("sandbox", "exec", name, "--", LOOK)
    assert r.status == 0, r.err
    return r.out.splitlines()


def thread(run):
    (one,) = json.loads(run("threads", "list", "--json").out)["data"]
    return one


@on_screen
def test_a_thread_moves_with_its_files(talk, tree, vendor, run):
    vendor("e2b")
    c = begin(talk, EDIT, "cat a.c")
    go(c, 1)
    before = look(run, boxes(run)["local"])
    diff = run("diff").out
    c.say("/move e2b", "Move this thread to e2b? [y/N]")
    c.until("6 changed files of the local sandbox")
    c.say("y", "on the same files")
    go(c, 2)
    asked = prompt(c, "go 2")
    assert "were moved there as they were" in asked
    place = boxes(run)
    assert set(place) == {"local", "e2b"}  # --on-exit keep
    assert look(run, place["e2b"]) == before == EDITED
    assert thread(run)["sandbox"]["provider"] == "e2b"
    assert run("diff").out == diff
    c.keys("C-d")
    assert c.status() == 0


@lines
def test_no_leaves_the_thread_where_it_is(talk, tree, vendor, run):
    cloud = vendor("e2b")
    c = begin(talk, EDIT)
    go(c, 1)
    c.say("/move e2b", "[y/N]")
    c.say("n")
    c.say("/sandbox status", "provider   local")
    assert set(boxes(run)) == {"local"}
    assert not [r for r in cloud.requests if r["method"] == "POST"]


def kept(talk, tree, *commands):
    """A thread whose sandbox is kept after its chat."""
    c = begin(talk, *(commands or (EDIT,)))
    for n in range(1, 1 + len(commands or (EDIT,))):
        go(c, n)
    c.keys("C-d")
    assert c.status() == 0


@lines
def test_a_thread_is_moved_between_two_chats(talk, tree, vendor, run):
    vendor("e2b")
    kept(talk, tree)
    diff = run("diff").out
    r = run("move", "--sandbox", "e2b", "--yes", "--json")
    assert r.status == 0, r.err
    said = json.loads(r.out)["data"]
    place = boxes(run)
    assert (said["files"], said["provider"]) == (6, "e2b")
    assert place == {"local": said["from"], "e2b": said["sandbox"]}
    assert look(run, place["e2b"]) == EDITED
    assert run("diff").out == diff
    assert thread(run)["sandbox"]["provider"] == "e2b"
    r = run("move", "--sandbox", "local", "--yes")
    assert r.status == 0, r.err
    assert f"dcode sandbox rm {place['e2b']}" in r.out + r.err
    assert run("sandbox", "rm", place["e2b"]).status == 0
    assert len(json.loads(run("sandbox", "list", "--json").out)["data"]) == 2
    assert "e2b" not in boxes(run)
    assert run("diff").out == diff
    assert run("apply").status == 0
    assert (tree / "d" / "x").read_text() == "x\n"
    assert not (tree / "link").is_symlink()
    assert run("undo").status == 0, "the checkpoints went along"


@pytest.fixture
def settings(monkeypatch):
    """Adds to the settings of the chat that is opened next."""
    other = slash_chat.OTHER
    return lambda text: monkeypatch.setattr(slash_chat, "OTHER",
                                            text + "\n" + other)


@lines
def test_a_new_sandbox_that_gets_no_copy_ends_the_move(
        talk, tree, run, rig, env, tmp_path, settings, request):
    request.addfinalizer(rig.remove_all)
    env["DOCKER_HOST"] = rig.docker_host
    (tmp_path / "cache").mkdir()
    settings("[sandboxes.providers.docker.params]\n"
             f'image = "{rig.image}"\nnetwork = "none"\n'
             f'mounts = ["{tmp_path}/cache:/cache"]')
    c = begin(talk, EDIT)
    go(c, 1)
    c.say("/move docker", "[y/N]")
    seen = c.say("y", 'add ":ro" to it')
    assert "no copy of your files" in " ".join(seen.split())
    assert "on the same files" not in seen
    c.say("/sandbox status", "provider   local")
    place = boxes(run)
    assert set(place) == {"local"}
    assert look(run, place["local"]) == EDITED
    c.keys("C-d")
    assert c.status() == 0
    r = run("move", "--sandbox", "docker", "--yes")
    assert r.status == 1 and "add \":ro\" to it" in r.err
    assert boxes(run) == place
    assert thread(run)["sandbox"]["provider"] == "local"


@lines
def test_a_sandbox_that_threads_share_is_not_overwritten(
        talk, tree, vendor, run, settings):
    vendor("e2b")
    settings('[sandboxes]\nscope = "directory"')
    one = talk(turns("echo other >a.c"), "--sandbox", "e2b", "--workspace",
               "repo", "-y", "-M", "anthropic:m", columns=100, lines=50)
    go(one, 1)
    one.keys("C-d")
    assert one.status() == 0
    shared = boxes(run)["e2b"]
    c = begin(talk, EDIT)
    go(c, 1)
    c.say("/move e2b", "[y/N]")
    c.say("y", "on the same files")
    rows = json.loads(run("sandbox", "list", "--json").out)["data"]
    (new,) = [r["name"] for r in rows
              if r["provider"] == "e2b" and r["name"] != shared]
    assert look(run, new) == EDITED
    assert "a.c 644 other" in look(run, shared)


SECRETS = ("echo K=abcdefgh >.env; echo k >id_rsa; mkdir -p .aws; "
           "echo x >.aws/config; echo '-----BEGIN RSA PRIVATE KEY-----' >t; "
           "echo new >n")
HELD = [".env (a file of secrets)", "id_rsa (a key)", ".aws/config (AWS",
        "t (a private key)"]


@lines
@pytest.mark.parametrize("takes", [False, True], ids=["left", "taken"])
def test_files_that_may_hold_secrets_are_named_and_stay(
        talk, tree, vendor, run, takes):
    vendor("e2b")
    c = begin(talk, SECRETS, "echo more >>n")
    go(c, 1)
    c.say("/move e2b", "Move this thread to e2b? [y/N]")
    seen = c.say("y", "Send them to e2b, too? [y/N]")
    for name in HELD:
        assert name in seen
    assert "\n  n (" not in seen
    seen = c.say("y" if takes else "n", "on the same files")
    assert ("Left in the old sandbox, of local:" in seen) == (not takes)
    place = boxes(run)
    names = {line.split()[0] for line in look(run, place["e2b"])}
    held = {".env", "id_rsa", ".aws/config", "t"}
    assert names & held == (held if takes else set()) and "n" in names
    assert held < {line.split()[0] for line in look(run, place["local"])}
    assert (".env" in run("diff").out) == takes
    go(c, 2)
    c.say("/undo", "Undid turn 2")
    names = {line.split()[0] for line in look(run, place["e2b"])}
    assert names & held == (held if takes else set()) and "n" in names
    c.keys("C-d")
    assert c.status() == 0


@lines
def test_what_include_sent_once_is_asked_about_anew(
        talk, tree, vendor, run):
    vendor("e2b")
    (tree / ".env").write_text("K=abcdefgh\n")
    c = talk(turns(EDIT), *SENT, "--include", ".env", columns=100, lines=50)
    go(c, 1)
    c.keys("C-d")
    assert c.status() == 0
    r = run("move", "--sandbox", "e2b", "--yes")
    assert r.status == 2 and "1 file of the sandbox may hold secrets" in r.err
    assert "  .env (a file of secrets)" in r.err and "--include" in r.err
    assert set(boxes(run)) == {"local"}
    c = talk(turns("true"), "-r", thread(run)["thread_id"], "-y", columns=100,
             lines=50)
    c.say("/move e2b", "Move this thread to e2b? [y/N]")
    c.say("y", "too? [y/N]")
    c.say("n", "on the same files")
    c.keys("C-d")
    assert c.status() == 0
    assert ".env" not in run("diff").out
    assert run("apply").status == 0
    assert (tree / ".env").exists() and (tree / "d" / "x").exists()
    r = run("move", "--sandbox", "local", "--yes", "--include", ".env")
    assert r.status == 0, r.err
    assert ".env" not in run("diff").out


@lines
def test_the_new_sandbox_ends_as_the_old_one_would(talk, tree, vendor, run):
    vendor("e2b")
    c = talk(turns(EDIT), "--sandbox", "local", "--workspace", "repo", "-y",
             "-M", "anthropic:m", columns=100, lines=50)
    go(c, 1)
    c.say("/sandbox on-exit keep", "keep")
    c.say("/move e2b", "[y/N]")
    c.say("y", "on the same files")
    c.keys("C-d")
    assert c.status() == 0
    assert set(boxes(run)) == {"local", "e2b"}
    assert thread(run)["sandbox"]["provider"] == "e2b"


@lines
def test_a_file_that_differs_is_named_and_the_thread_stays(
        talk, tree, vendor, run):
    vendor("e2b")
    busy = "while :; do date +%N >a.c; sleep 0.01; done"
    job = {"tool_calls": [{"name": "execute", "args": {
        "command": busy, "background": True}}]}
    c = talk({"turns": [job, {"text": "done 1."}], "by": "count"},
             "--sandbox", "local", "--workspace", "repo", "--on-exit",
             "delete", "-y", "-M", "anthropic:m")
    go(c, 1)
    c.say("/move e2b", "[y/N]")
    c.say("y", "a.c is not the same in the new sandbox")
    c.say("/sandbox status", "provider   local")
    assert set(boxes(run)) == {"local"}


@lines
def test_a_setup_that_fails_leaves_the_thread_where_it_was(
        talk, tree, vendor, run, tmp_path, home):
    vendor("e2b")
    kept(talk, tree)
    diff, place = run("diff").out, boxes(run)
    script = tmp_path / "setup.sh"
    how = ("move", "--sandbox", "e2b", "--yes", "--sandbox-setup",
           str(script))
    script.write_text("exit 3\n")
    r = run(*how)
    assert r.status == 1 and "the thread was not moved: Setup failed" in r.err
    assert boxes(run) == place and run("diff").out == diff
    assert not list(home.rglob("*.patch")), "nothing was lost"
    script.write_text("echo from setup >made\n")
    r = run(*how)
    assert r.status == 0, r.err
    assert "+from setup" in run("diff").out


@lines
@pytest.mark.parametrize("flags,said", [
    (("--workspace", "none"), "has no copy of this directory"),
    (("--workspace", "bind"), "uses your directory itself"),
], ids=["empty", "bind"])
def test_what_dcode_cannot_know_is_not_moved(talk, tree, vendor, run, flags,
                                             said):
    vendor("e2b")
    c = talk(turns("echo x >new"), "--sandbox", "local", *flags, "--on-exit",
             "delete", "-y", "-M", "anthropic:m")
    go(c, 1)
    seen = c.say("/move e2b", "continues in another")
    assert said in " ".join(seen.split())
    assert set(boxes(run)) == {"local"}


@lines
def test_a_provider_that_cannot_work_is_named_before_anything_starts(
        talk, tree, run, env):
    c = begin(talk, EDIT)
    go(c, 1)
    c.say("/move nobody", "Unknown sandbox provider")
    assert "E2B_API_KEY" not in env
    c.say("/move e2b", "E2B_API_KEY")
    c.keys("C-d")
    assert c.status() == 0
    for where in ("e2b", "nobody", "none"):
        r = run("move", "--sandbox", where, "--yes")
        assert r.status and "compared" not in r.err
    r = run("move", "--sandbox", "local")
    assert r.status == 2 and "--yes" in r.err
    assert set(boxes(run)) == {"local"}


@lines
def test_a_move_to_this_machine_applies_the_changes_first(talk, tree, run):
    c = begin(talk, EDIT)
    go(c, 1)
    c.say("/move none", "[y/N]")
    c.say("n")
    assert (tree / "a.c").read_text() == "one\n"
    c.say("/move none", "[y/N]", times=2)
    c.say("y", "now run on this machine")
    assert (tree / "a.c").read_text() == "two\n"
    assert (tree / "d" / "l").is_symlink()
    assert "continue:" not in c.text(True)
    c.say("/sandbox", "Tools run on this machine")
    c.say("what now?")
    c.until(lambda _: len(c.server.requests) > 2)
    asked = prompt(c, "what now?")
    assert "were applied here" in asked and "are not here" not in asked


@lines
def test_a_move_here_creates_no_sandbox_to_leave_it(talk, tree, vendor):
    cloud = vendor("e2b")
    c = talk(turns("true"), "--sandbox", "e2b", "--workspace", "none", "-y",
             "-M", "anthropic:m", columns=100, lines=50)
    c.say("/move none", "[y/N]")
    c.say("y", "now run on this machine")
    assert not [r for r in cloud.requests if r["method"] == "POST"]


@lines
def test_the_model_is_told_of_an_undo_after_a_move(talk, tree, vendor):
    vendor("e2b")
    c = begin(talk, EDIT, "echo x >>a.c", "cat a.c")
    go(c, 1)
    go(c, 2)
    c.say("/undo", "Undid turn 2")
    c.say("/move e2b", "[y/N]")
    c.say("y", "on the same files")
    assert "continue:" not in c.text(True)
    go(c, 3)
    asked = prompt(c, "go 3")
    assert "were moved there" in asked and "undone the changes" in asked


def wild(seed):
    """Shell commands that change a tree at random."""
    rng = random.Random(seed)
    names = ["a.c", "run.sh", "link", "d/e/f", "d/g", "sp ace", "-dash",
             "\u00e4\u00f6", "q'uote", "new\nline", "d/back\\slash", "e"]
    lines = []
    for _ in range(40):
        name = shlex.quote(f"./{rng.choice(names)}")
        kind = rng.randrange(6)
        text = shlex.quote(str(rng.random()) * rng.randrange(1, 400))
        lines.append([
            f"rm -rf {name}", f"printf %s {text} >{name}",
            f"head -c {rng.randrange(70000)} /dev/urandom >{name}",
            f"ln -sfn {text[:40].split(chr(39))[0] or 'x'} {name}",
            f"chmod +x {name}", f": >{name}"][kind])
    return "mkdir -p d/e; { " + "; ".join(lines) + "; } 2>/dev/null; true"


SUMS = r"""all() { find . -name '.?*' -prune -o "$@" -print0 | sort -z; }
all -type f | xargs -0 -n 1 sh -c 'echo "$0"; sha256sum <"$0"'
all -type f -perm -100 | xargs -0 -n 1 echo
all -type l | xargs -0 -n 1 sh -c 'echo "$0"; readlink "$0"'"""
PAIRS = [("local", "docker"), ("docker", "e2b"), ("e2b", "local"),
         ("local", "daytona"), ("daytona", "modal"), ("modal", "docker"),
         ("runloop", "local"), ("local", "vercel"), ("vercel", "langsmith"),
         ("langsmith", "runloop"), ("local", "deno"), ("deno", "e2b"),
         ("agentcore", "local"), ("local", "local")]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_any_tree_is_the_same_in_the_new_sandbox(
        pair, run, tree, model, env, config, request, vendor):
    for one in set(pair):
        if one == "docker":
            rig = request.getfixturevalue("rig")
            request.addfinalizer(rig.remove_all)
            env["DOCKER_HOST"] = rig.docker_host
            config("[sandboxes.providers.docker.params]\n"
                   f'image = "{rig.image}"\n')
        elif one != "local":
            vendor(one)
    seed = os.urandom(4).hex()
    model({"turns": [execute(wild(seed)), {"text": "done"}], "by": "count"})
    r = run("-n", "go", "--sandbox", pair[0], "--workspace", "repo", "--keep",
            "-y", "-M", "anthropic:m")
    assert r.status == 0, r.err
    (old,) = json.loads(run("sandbox", "list", "--json").out)["data"]
    before = run("sandbox", "exec", old["name"], "--", SUMS).out
    assert "./run.sh" in before or "./d" in before, seed
    r = run("move", "--sandbox", pair[1], "--yes", "--json")
    assert r.status == 0, (seed, r.err)
    new = json.loads(r.out)["data"]["sandbox"]
    assert run("sandbox", "exec", new, "--", SUMS).out == before, seed
    for name in (old["name"], new):
        assert run("sandbox", "rm", name).status == 0


def test_a_killed_move_leaves_the_thread_in_one_place(
        kill_at, run, tree, model, env, dcode, home, tmp_path):
    model({"turns": [execute(EDIT), {"text": "done"}], "by": "count"})
    r = run("-n", "go", "--sandbox", "local", "--workspace", "repo", "--keep",
            "-y", "-M", "anthropic:m")
    assert r.status == 0, r.err
    diff = run("diff").out
    count = tmp_path / "count"

    def go_on(n):
        return subprocess.run(
            [kill_at, str(n), count, dcode, "move", "--sandbox", "local",
             "--yes"], env=env, cwd=tree, check=False,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    assert go_on(0).returncode == 0
    for n in moments(int(count.read_text()), 12):
        assert go_on(n).returncode in (0, KILLED)
        place = thread(run)["sandbox"]
        assert run("diff").out == diff, n
        assert run("sandbox", "gc").status == 0, n
        assert run("diff").out == diff, n
        rows = json.loads(run("sandbox", "list", "--json").out)["data"]
        assert place["id"] in [r["id"] for r in rows], n
        assert len(folders(home)) == len(rows), n


@lines
@pytest.mark.parametrize("second, sends", [
    ("echo KEY=sEcReTvTwo >.env; echo 2 >n", "n"), ("rm .env; echo 2 >n", "")])
def test_undo_after_a_move_sends_no_secret_that_was_left(
        talk, tree, vendor, run, second, sends):
    vendor("e2b")
    c = begin(talk, "echo KEY=sEcReTvOne >.env; echo 1 >n", second, "true")
    go(c, 1)
    go(c, 2)
    c.say("/move e2b", "Move this thread to e2b? [y/N]")
    c.say("y", "too? [y/N]" if sends else "on the same files")
    if sends:
        c.say(sends, "on the same files")
    assert "Undo of earlier turns stays with the old" in c.text(True)
    c.say("/undo", "othing")
    assert ".env" not in look(run, boxes(run)["e2b"])
