"""test_base_moves.py - dcode apply and sync at once: no update is lost."""
# SPDX-License-Identifier: MIT
import fcntl
import hashlib
import json
import pathlib
import shutil
import time

import pytest

from lifecycle import execute, wait_for
from test_workspace import DONE, box, local, task, work  # noqa: F401

pytestmark = local


@pytest.fixture
def held(start, env, tmp_path):
    """held(WORD, ...): a dcode whose git waits when one of its words is WORD,
    and a file that lets it go on."""
    def begin(word, *args):
        bin_dir, reached, go = (tmp_path / n for n in ("bin", "at", "go"))
        bin_dir.mkdir()
        (bin_dir / "git").write_text(
            "#!/bin/sh\n"
            f'case " $* " in *" {word} "*) : >{reached}\n'
            f"while [ ! -e {go} ]; do sleep 0.02; done;; esac\n"
            f'exec {shutil.which("git")} "$@"\n')
        (bin_dir / "git").chmod(0o755)
        one = start(*args, env={**env, "PATH": f"{bin_dir}:{env['PATH']}"})
        wait_for(lambda: reached.exists() or one.p.poll() is not None)
        assert reached.exists()
        return one, go
    return begin


@pytest.fixture
def both(task, work):
    """The agent changed one file, the user another since."""
    end = task([execute("echo agent >src/main.c; echo made >made"), DONE],
               "--workspace", "repo", "--keep").wait()
    assert end.status == 0, end.err
    (work / "dos").write_text("local\n")
    return work


def test_an_upload_is_the_agents_work_only_where_it_was_changed(
        task, run, work, tmp_path):
    for name, text in (("data", "data\n"), ("more/a", "a\n"),
                       ("more/b", "b\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    end = task([execute("echo agent >more/b; echo made >made"), DONE],
               "--workspace", "repo", "--keep", "--force",
               "--upload", f"{tmp_path / 'data'}",
               "--upload", f"{tmp_path / 'more'}",
               "--upload", f"{tmp_path / 'data'}:dos").wait()
    assert end.status == 0, end.err
    assert changed(run) == ["made", "more/b"]
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    assert run("sandbox", "exec", name, "--", "echo 2 >data").status == 0
    assert changed(run) == ["data", "made", "more/b"]
    assert run("apply").status == 0
    assert (work / "more/b").read_text() == "agent\n"
    assert (work / "dos").read_bytes() == b"a\r\nb\r\n"
    assert not (work / "more/a").exists()


def test_an_upload_is_lost_only_where_it_was_changed(
        task, home, work, tmp_path):
    (work / ".gitignore").write_text("*.o\n")
    config = home / ".deepagents/config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("[workspace]\nfile_mb = 1\n")
    names = ("kept.o", "changed.o", "lib/a.o", "lib/b.o", "big", "bigger")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name * (400000 if "big" in name else 1))
    end = task([execute("for f in changed.o lib/b.o bigger; do echo >>$f;"
                        " done"), DONE], "--workspace", "repo", "-y", *(
                   word for name in ("kept.o", "changed.o", "lib", "big",
                                     "bigger")
                   for word in ("--upload", f"{tmp_path / name}"))).wait()
    assert end.status == 0, end.err
    lost = [line for line in end.err.splitlines() if "Lost" in line]
    assert len(lost) == 2 and lost[0].startswith(
        "Lost with the sandbox: bigger (2.4 MB) is larger than"), lost
    assert ("2 new files that git ignores: changed.o, lib/ (1 file) ("
            in lost[1])


def test_a_chmod_of_an_upload_is_the_agents_work(task, run, work, tmp_path):
    for name, mode in (("tool", 0o755), ("script", 0o644), ("plain", 0o644),
                       ("dos", 0o644), ("program", 0o755)):
        (tmp_path / name).write_text(f"{name}\n")
        (tmp_path / name).chmod(mode)
    end = task([execute("chmod +x script dos; chmod -x program"), DONE],
               "--workspace", "repo", "--keep", "--force", *(
                   word for name in ("tool", "script", "plain", "dos",
                                     "program")
                   for word in ("--upload", f"{tmp_path / name}"))).wait()
    assert end.status == 0, end.err
    assert changed(run) == ["dos", "program", "script"]
    assert run("apply").status == 0
    assert (work / "script").read_text() == "script\n"
    assert (work / "dos").read_bytes() == b"a\r\nb\r\n"
    modes = [(work / name).stat().st_mode & 0o100
             for name in ("dos", "script", "program")]
    assert modes == [0o100, 0o100, 0]


def test_a_link_that_was_uploaded_is_the_agents_work_only_where_it_changed(
        task, run, work, tmp_path):
    top = tmp_path / "more"
    top.mkdir()
    for name in "abcd":
        (top / f"file-{name}").write_text(f"{name}\n")
        (top / name).symlink_to(f"file-{name}")
    (top / "out").symlink_to("/usr/bin/env")
    end = task([execute("cd more; ln -sfn file-a b; rm c; printf file-c >c;"
                        " rm d; ln -s file-d d"), DONE],
               "--workspace", "repo", "--keep", "--upload", top).wait()
    assert end.status == 0, end.err
    assert changed(run) == ["more/b", "more/c"]
    end = run("apply")
    assert end.status == 0 and "Refused" not in end.err
    assert (work / "more/b").readlink() == pathlib.Path("file-a")
    assert (work / "more/c").read_text() == "file-c"
    assert not (work / "more/a").is_symlink()
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    assert run("sandbox", "exec", name, "--", "ln -sfn /usr/bin/id more/out"
               ).status == 0
    assert "Refused: more/out is a link" in run("apply").err


def test_two_uploads_at_once_do_not_undo_each_others_records(
        task, run, start, work, home, tmp_path):
    assert task([DONE], "--workspace", "repo", "--keep").wait().status == 0
    listing, = (home / ".deepagents/.state/workspaces").glob("*/*.listing")
    uploaded = listing.with_suffix(".uploaded")
    for name in "ab":
        (tmp_path / name).write_text(f"{name}\n")
    line = (f"100644 {hashlib.sha256(b'b' + bytes([10])).hexdigest()} b\n")
    with (listing.parent / "base.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        one = task([DONE, DONE], "-r", "--upload", tmp_path / "a")
        boxes = home / ".deepagents/sandboxes"
        wait_for(lambda: list(boxes.glob("*/workspace/a")))
        time.sleep(0.5)
        assert not uploaded.exists()
        uploaded.write_text(line)
    assert one.wait().status == 0, one.err
    assert {text.split()[2] for text in
            uploaded.read_text().splitlines()} == {"a", "b"}


def changed(run):
    return [f["path"] for f in json.loads(run("diff", "--json").out)["data"][
        "files"]]


def test_a_sync_during_an_apply_stays_in_the_base(both, run, held):
    one, go = held("merge-tree", "apply")
    assert run("sync").status == 0
    go.touch()
    end = one.wait()
    assert end.status == 0, end.err
    assert changed(run) == []
    assert "No local changes to send" in run("sync").err
    assert (both / "src/main.c").read_text() == "agent\n"
    assert (both / "dos").read_text() == "local\n"


def test_an_apply_during_a_sync_stays_in_the_base(both, run, held):
    one, go = held("fast-import", "sync")
    end = run("apply")
    assert end.status == 0, end.err
    assert (both / "made").read_text() == "made\n"
    go.touch()
    end = one.wait()
    assert end.status == 0, end.err
    assert changed(run) == []
    assert "No local changes to send" in run("sync").err


def test_an_undo_takes_no_sync_back_that_came_after_the_apply(both, run):
    assert run("apply").status == 0
    (both / "dos").write_text("newer\n")
    assert run("sync").status == 0
    assert run("apply", "--undo").status == 0
    assert changed(run) == ["made", "src/main.c"]
