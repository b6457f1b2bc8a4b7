"""push_world.py - a repository, its server, and a sandbox's work in it."""
# SPDX-License-Identifier: MIT
import pytest
from apply_room import Room, git
from git_servers import Https


@pytest.fixture
def site(tmp_path, home):
    (tmp_path / "site").mkdir()
    made = Https(tmp_path / "site")
    made.accept(home)
    yield made
    made.close()


@pytest.fixture
def room(run, home, tmp_path):
    assert run("threads", "list").status == 0
    made = Room(tmp_path / "work", home)
    made.write(a="one\n", dir__b="two\n")
    made.commit()
    return made


@pytest.fixture
def bare(site, room):
    """The repository at the server, which the user's remote origin names."""
    made = site.repository("r.git", room.root)
    git(room.root, "remote", "add", "origin", site.url("r.git"))
    return made


@pytest.fixture
def work(run, model, room):
    """work(**files): a sandbox makes these files, and is deleted."""
    def go(**files):
        files = files or {"made": "by the agent\n"}
        model([{"tool_calls": [{"name": "write_file", "args": {
            "file_path": name.replace("__", "/"), "content": text}}]}
            for name, text in files.items()] + [{"text": "done."}])
        done = run("-n", "Fix the Parser: now", "-M", "anthropic:m",
                   "--sandbox", "local", "-y", "--workspace", "repo")
        assert done.status == 0, done.err
    return go


def branches(bare):
    return git(bare, "for-each-ref", "--format=%(refname:short)",
               "refs/heads").split()
