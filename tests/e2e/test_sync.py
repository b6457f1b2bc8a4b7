"""test_sync.py - what changed here goes into the sandbox."""
# SPDX-License-Identifier: MIT
import json
import os

import pytest

from lifecycle import execute
from test_workspace import DONE, box, local, task, work  # noqa: F401


def test_sync_sends_what_changed_and_keeps_what_both_changed(
        task, run, work, box):
    r = task([execute("echo agent >src/main.c; chmod 644 run.sh"), DONE],
             "--workspace", "repo", "--keep").wait()
    assert r.status == 0, r.err
    assert json.loads(run("sync", "--json").out)["data"] == {
        "sent": [], "deleted": [], "kept": [], "held": [], "bytes": 0}
    (work / "src" / "main.c").write_text("local\n")
    (work / "dos").write_bytes(b"c\r\n")
    (work / "link").unlink()
    (work / "added").mkdir()
    (work / "added" / "file").write_text("added\n")
    r = run("sync", "--json")
    assert r.status == 1, r.err
    data = json.loads(r.out)["data"]
    assert data["sent"] == ["added/file", "dos"]
    assert data["deleted"] == ["link"]
    assert data["kept"] == ["src/main.c"]
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    look = ("cat src/main.c added/file dos; ls -A link;"
            " [ -x run.sh ] || echo plain")
    said = run("sandbox", "exec", name, "--", look).out
    assert said.startswith("agent\nadded\nc") and said.endswith("plain\n")
    r = run("sync", "--force")
    assert r.status == 0 and "src/main.c" in r.err, r.err
    assert run("sandbox", "exec", name, "--", "cat src/main.c").out == (
        "local\n")
    assert run("sandbox", "rm", name).status == 0


@local
def test_what_an_emptied_directory_has_lost_is_called_deleted(
        task, run, start, work):
    r = task([execute("true"), DONE, DONE], "--workspace", "repo",
             "--keep").wait()
    assert r.status == 0, r.err
    (work / "dos").unlink()
    (work / "run.sh").unlink()
    (work / "src" / "main.c").write_text("later\n")
    r = run("sync")
    assert r.status == 0, r.err
    assert "  dos (deleted)\n" in r.err and "  run.sh (deleted)\n" in r.err
    assert "  src/main.c\n" in r.err
    assert "✓ 1 file sent, 2 deleted in the sandbox; none differ" in r.err
    (work / "src" / "main.c").unlink()
    r = start("-r", "-n", "go on", cwd=work).wait()
    assert r.status == 0 and "Deleted in the sandbox too: 1 file" in r.err
    assert "Sent your changes" not in r.err
    run("sandbox", "gc")


@pytest.mark.parametrize("box", ["docker"], indirect=True)
def test_sync_of_many_files_takes_few_processes_there(
        task, run, work, box):
    many = [work / "many" / f"{n} \\ {n}" for n in range(10)]
    many += [work / "many" / str(n) for n in range(190)]
    many[0].parent.mkdir()
    for path in many:
        path.write_text("before\n")
    r = task([execute("echo agent >many/7"), DONE], "--workspace", "repo",
             "--keep").wait()
    assert r.status == 0, r.err
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]

    def newest():
        return int(run("sandbox", "exec", name, "--", "echo $$").out)
    for path in many[:150]:
        path.write_text("later\n")
    for path in many[150:]:
        path.unlink()
    before = newest()
    data = json.loads(run("sync", "--json").out)["data"]
    after = newest()
    assert data["kept"] == ["many/7"]
    assert len(data["sent"]) == 149 and len(data["deleted"]) == 50
    assert 0 < after - before < 150, (before, after)
    assert run("diff", "--name-only").out == "many/7\n"
    run("sandbox", "rm", name)


@local
def test_sync_sends_files_and_directories_that_changed_places(
        task, run, work):
    (work / "d").mkdir()
    (work / "d" / "in").write_text("x")
    r = task([execute("true"), DONE], "--workspace", "repo", "--keep").wait()
    assert r.status == 0, r.err
    (work / "d" / "in").unlink()
    (work / "d").rmdir()
    (work / "d").write_text("a file now\n")
    (work / "dos").unlink()
    (work / "dos").mkdir()
    (work / "dos" / "in").write_text("a directory now\n")
    r = run("sync")
    assert r.status == 0, r.err
    assert "✓ 2 files sent, 2 deleted in the sandbox; none differ" in r.err
    assert "Nothing has changed in the sandbox" in run("diff").err
    run("sandbox", "gc")


@local
def test_sync_with_force_does_not_advise_force_over_a_directory(
        task, run, work):
    r = task([execute("rm dos; mkdir dos; echo x >dos/x"), DONE],
             "--workspace", "repo", "--keep").wait()
    assert r.status == 0, r.err
    (work / "dos").write_text("local\n")
    r = run("sync")
    assert r.status == 1 and "--force sends yours" in r.err
    r = run("sync", "--force")
    assert r.status == 1 and "cannot replace what the sandbox has at" in r.err
    assert "--force" not in r.err
    run("sandbox", "gc")


# In place of ln, mv and rm: changes what they are told of, each file once.
MEDDLER = r"""#!/bin/sh
PATH=/bin:/usr/bin
told() {
	case " $all " in
	*"/many/$1 "*) mkdir "$HOME/did-$1" ;;
	*) false ;;
	esac
}
all=$*
case ${0##*/} in
ln)
	ln "$@" && told moved && echo moved >many/x && mv many/x many/moved
	exit ;;
mv)
	told added && echo new >>many/added
	told same && echo same >>many/same
	told mode && chmod 755 many/mode ;;
rm) told gone && echo more >>many/gone ;;
esac
"""


@local
def test_what_the_agent_writes_while_a_sync_replaces_files_stays(
        task, run, work):
    many = [work / "many" / str(n) for n in range(100)]
    named = [work / "many" / x for x in ("moved", "same", "gone", "mode")]
    many[0].parent.mkdir()
    for path in many + named:
        path.write_text("before\n")
    r = task([execute("true"), DONE], "--workspace", "repo", "--keep").wait()
    assert r.status == 0, r.err
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    put = ("bin=$HOME/.local/bin; mkdir -p $bin; for x in ln mv rm; do\n"
           f"cat >$bin/$x <<'EOF'\n{MEDDLER}exec \"${{0##*/}}\" \"$@\"\nEOF\n"
           "chmod 755 $bin/$x; done; command -v mv")
    assert "/.local/bin/mv" in run("sandbox", "exec", name, "--", put).out
    for path in many + named + [work / "many" / "added"]:
        path.write_text("later\n")
    (work / "many" / "gone").unlink()
    data = json.loads(run("sync", "--json").out)["data"]
    assert sorted(data["kept"]) == [
        f"many/{x}" for x in ("added", "gone", "mode", "moved", "same")]
    assert data["deleted"] == [] and len(data["sent"]) == 100
    said = run("sandbox", "exec", name, "--", "rm -f $HOME/.local/bin/*;"
               "cd many && cat moved same gone added mode && ls | wc -l").out
    assert said == "moved\nbefore\nsame\nbefore\nmore\nnew\nbefore\n105\n"
    run("sandbox", "rm", name)


@local
def test_a_sync_removes_what_one_that_was_killed_has_left(task, run, work):
    r = task([execute("true"), DONE], "--workspace", "repo", "--keep").wait()
    assert r.status == 0, r.err
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    left = ("for d in .git $HOME/.dcode/workspace; do"
            " [ $d = .git ] && x=dcode- || x=; mkdir -p $d/${x}sync-99999999-x"
            " $d/${x}sync-1-x; ln dos $d/${x}sync-99999999-x/dos; done;")
    look = "ls -d .git/dcode-sync-* $HOME/.dcode/workspace/sync-*"
    said = run("sandbox", "exec", name, "--", left + look).out
    assert said.count("99999999") == 2 and said.count("sync-1-x") == 2, said
    assert "Nothing has changed in the sandbox" in run("diff").err
    (work / "dos").write_text("later\n")
    assert run("sync").status == 0
    said = run("sandbox", "exec", name, "--", look).out
    assert "99999999" not in said and said.count("sync-1-x") == 2, said
    run("sandbox", "rm", name)
