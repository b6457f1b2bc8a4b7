"""test_not_sent.py - what of a tree is not sent is listed, name by name."""
# SPDX-License-Identifier: MIT
import pytest

from lifecycle import execute
from test_workspace import DONE, box, git, task, work  # noqa: F401


@pytest.mark.parametrize("box", ["local"], indirect=True)
@pytest.mark.parametrize("number", [3, 12, 1005])
def test_each_file_that_is_not_sent_is_listed(task, work, home, number):
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
    said = (work / "said").read_text().splitlines()
    assert "1: a private key" in said
    assert any(line.endswith(": a file of secrets") for line in said)
