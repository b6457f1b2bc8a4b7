"""test_scope.py - [sandboxes] scope: threads that share a sandbox."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import signal
import sqlite3
import time

import pytest

from apply_room import git
from clouds import results
from lifecycle import execute, wait_for

HOURS_8 = 8 * 3600


class Shared:
    def __init__(self, run, start, model, kind, home, tmp_path):
        self.run, self.start, self.model = run, start, model
        self.kind, self.home, self.tmp_path = kind, home, tmp_path

    def options(self, *more):
        return ("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", self.kind,
                *more)

    def say(self, command, *more, status=0, **how):
        """Runs a new thread with one command; returns its result, stderr."""
        server = self.model([execute(command), {"text": "done"}])
        r = self.run(*self.options(*more), **how)
        assert r.status == status, r.err
        return results(server)[0] if status == 0 else "", r.err

    def rows(self):
        r = self.run("sandbox", "list", "--json")
        return json.loads(r.out)["data"]

    def change(self, sql):
        path = next(pathlib.Path(self.home, ".deepagents").rglob("*.db"))
        with sqlite3.connect(path) as db:
            db.execute(sql)

    def gc(self):
        r = self.run("sandbox", "gc", "--json")
        return [i["outcome"] for i in json.loads(r.out)["data"]["items"]]


@pytest.fixture(params=["local", "docker"])
def shared(request, run, start, model, env, config, home, tmp_path):
    """shared(scope): a Shared with that setting."""
    tables = ""
    if request.param == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        tables = ("[sandboxes.providers.docker.params]\n"
                  f'image = "{rig.image}"\nnetwork = "none"\n')

    def begin(scope, more=""):
        config(f'[sandboxes]\nscope = "{scope}"\n{more}\n{tables}')
        return Shared(run, start, model, request.param, home, tmp_path)
    yield begin
    for row in json.loads(run("sandbox", "list", "--json").out)["data"]:
        run("sandbox", "rm", "--force", row["label"])


def test_threads_of_a_directory_share_a_sandbox_for_eight_hours(shared):
    s = shared("directory")
    s.say("echo one >~/f")
    kept, = s.rows()
    told, said = s.say("cat ~/f; echo two >>~/f")
    assert told.startswith("one") and "share" in said
    assert [r["label"] for r in s.rows()] == [kept["label"]]
    assert s.say("cat ~/f")[0].startswith("one\ntwo")
    ends = s.rows()[0]["ends"]
    assert abs(ends - time.time() - HOURS_8) < 120
    assert s.gc() == []
    s.change(f"UPDATE ledger SET ends={int(time.time()) - 1}")
    assert "no f" in s.say("cat ~/f || echo no f")[0]
    assert s.gc() == ["removed"]
    assert len(s.rows()) == 1 and s.rows()[0]["label"] != kept["label"]


def test_keep_for_says_how_long_it_stays(shared):
    s = shared("directory", "keep_for = 5000")
    s.say("true")
    assert abs(s.rows()[0]["ends"] - time.time() - 5000) < 120


def test_each_directory_has_its_own(shared):
    s = shared("directory")
    s.say("echo one >~/f")
    other = s.tmp_path / "other"
    other.mkdir()
    assert "no f" in s.say("cat ~/f || echo no f", cwd=other)[0]
    assert len(s.rows()) == 2


def test_by_default_no_thread_shares(shared):
    s = shared("thread")
    s.say("echo one >~/f")
    assert s.rows() == []
    assert "no f" in s.say("cat ~/f || echo no f")[0]


def test_an_agent_has_one_for_all_directories(shared):
    s = shared("agent")
    s.say("echo one >~/f")
    other = s.tmp_path / "other"
    other.mkdir()
    assert s.say("cat ~/f", cwd=other)[0].startswith("one")
    assert len(s.rows()) == 1
    assert "no f" in s.say("cat ~/f || echo no f", "-a", "second")[0]


def test_an_agents_sandbox_gets_no_tree(shared):
    s = shared("agent")
    git(s.tmp_path / "work", "init", "-q")
    _, said = s.say("true", "--workspace", "repo", status=2)
    assert "exclude each other" in said
    assert s.rows() == []


def test_another_value_is_an_error(shared):
    s = shared("everybody")
    _, said = s.say("true", status=1)
    assert "use thread, directory or agent" in said


def working(s):
    """Starts a run that works in the shared sandbox until it is killed."""
    s.model([execute("echo one >~/f; sleep 60"), {"text": "done"}])
    r = s.start(*s.options())
    wait_for(lambda: any(row["state"] == "live" for row in s.rows()))
    return r


def test_while_one_works_a_second_run_makes_its_own(shared):
    s = shared("directory")
    first = working(s)
    label = s.rows()[0]["label"]
    told, said = s.say("cat ~/f || echo no f")
    assert "no f" in told
    assert f"in use by the dcode with process id {first.pid}" in said
    assert [r["label"] for r in s.rows()] == [label]
    first.signal(signal.SIGTERM)
    first.wait()
    assert s.say("cat ~/f")[0].startswith("one")


def kill(r):
    os.kill(r.pid, signal.SIGKILL)
    r.p.communicate()


def test_what_a_killed_dcode_left_is_deleted_or_used_again(shared):
    s = shared("directory")
    kill(working(s))
    assert s.gc() == ["removed"] and s.rows() == []
    s.say("echo kept >~/g")
    label = s.rows()[0]["label"]
    kill(working(s))
    assert s.gc() == []  # its eight hours are not over
    assert s.say("cat ~/g")[0].startswith("kept")
    assert [r["label"] for r in s.rows()] == [label]


def test_a_directorys_tree_is_brought_up_to_date(shared):
    s = shared("directory")
    work = s.tmp_path / "work"
    git(work, "init", "-q")
    (work / "a").write_text("one\n")
    git(work, "add", ".")
    git(work, "commit", "-qm", "x")
    assert s.say("cat a", "--workspace", "repo")[0].startswith("one")
    (work / "a").write_text("two\n")
    assert s.say("cat a", "--workspace", "repo")[0].startswith("two")


def test_on_exit_delete_ends_it(shared):
    s = shared("directory")
    s.say("echo one >~/f")
    s.say("true", "--on-exit", "delete")
    assert s.rows() == []


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_chat_is_offered_its_own(shared, terminal, answer):
    s = shared("directory")
    first = working(s)
    label = s.rows()[0]["label"]
    t = terminal("-M", "anthropic:m", "--sandbox", s.kind, "--plain")
    t.until("for this thread alone")
    t.type(answer + "\n")
    if answer == "y":
        wait_for(lambda: len(s.rows()) == 2)
    else:
        t.until("is in use by the dcode")
    assert label in [r["label"] for r in s.rows()]
    first.signal(signal.SIGTERM)
    first.wait()
