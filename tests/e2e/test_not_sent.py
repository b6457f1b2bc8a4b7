"""test_not_sent.py - what of a tree is not sent is listed, name by name."""
# SPDX-License-Identifier: MIT
import pytest

from lifecycle import execute
from test_workspace import DONE, box, git, task, work  # noqa: F401


@pytest.mark.parametrize("box", ["local"], indirect=True)
@pytest.mark.parametrize("number,swept", [
    (3, []), (12, []), (1005, [("sandbox", "gc")]),
    (1004, [("threads", "delete", "latest")]),
    (1003, [("threads", "prune", "--keep", "0")])])
def test_each_file_that_is_not_sent_is_listed(
        task, run, work, home, number, swept):
    for i in range(number):
        (work / f".env.n{i:04}").write_text("x")
    (work / "putty").write_text("PuTTY-User-Key-File-3: ssh-rsa\n")
    end = task([execute("git log -1 --format=%B >said"), DONE],
               "--workspace", "repo", "-y", "--apply").wait()
    assert end.status == 0, end.err
    for i in range(min(number, 998)):
        assert f".env.n{i:04} (a file of secrets)" in end.err
    files = list((home / ".deepagents").rglob("*.unsent"))
    assert len(files) == (number > 1000)
    for path in files:
        assert str(path) in end.err
        assert len(path.read_text().splitlines()) >= number + 1
    assert run("threads", "prune", "--keep", "5", "--dry-run").status == 0
    assert [p for p in files if p.exists()] == files
    for args in swept:
        assert run(*args).status == 0
    assert not list((home / ".deepagents").rglob("*.unsent"))
    said = (work / "said").read_text().splitlines()
    assert "1: a private key" in said
    assert any(line.endswith(": a file of secrets") for line in said)


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_the_list_of_a_kept_sandbox_stays_until_that_is_deleted(
        task, run, work, home):
    for i in range(1005):
        (work / f".env.n{i:04}").write_text("x")
    end = task([DONE], "--workspace", "repo", "--keep").wait()
    assert end.status == 0, end.err
    path, = (home / ".deepagents").rglob("*.unsent")
    assert run("sandbox", "gc").status == 0 and path.exists()
    assert run("sandbox", "rm", path.stem).status == 0
    assert not path.exists()


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_the_base_says_one_file_was_not_sent_and_several_were(task, work):
    for name in ".env", "id_rsa", ".netrc":
        (work / name).unlink(missing_ok=True)
    for said in "was", "were":
        (work / f".env.{said}").write_text("x")
        end = task([execute("git log -1 --format=%B >said"), DONE],
                   "--workspace", "repo", "-y", "--apply").wait()
        assert end.status == 0, end.err
        line = next(x for x in (work / "said").read_text().splitlines()
                    if x.endswith(" not sent."))
        assert line.endswith(f" {said} not sent."), line
        assert line.startswith("1 ") == (said == "was")
