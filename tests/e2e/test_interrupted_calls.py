"""test_interrupted_calls.py - no call fails since a signal interrupted it."""
# SPDX-License-Identifier: MIT
import json

import preload
import pytest

from lifecycle import execute, folders
from test_export import exported, say
from test_workspace import DONE, box, git, local, task, work  # noqa: F401

pytestmark = [local, pytest.mark.usefixtures("sandbox_first")]


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return preload.build(tmp_path_factory, "interrupt_calls")


@pytest.fixture(params=["4", *(pytest.param(str(seed), marks=pytest.mark.long)
                               for seed in range(5, 25))])
def cut(request, library, dcode_release, start, env):
    """cut(*args): dcode, of whose calls a third is interrupted."""
    def go(*args, **how):
        return start(*args, program=dcode_release, env={
            **env, "LD_PRELOAD": str(library),
            "INTERRUPTED": dcode_release.name,
            "SEED": request.param}, **how).wait()
    return go


RUN = ("-n", "go", "-M", "anthropic:m", "--sandbox", "local", "-y",
       "--workspace", "repo")


def test_a_run_in_a_sandbox_and_what_it_brings_back(
        cut, model, work, home, run, box):
    model([execute("echo changed >src/main.c; mkdir t; echo x >t/a; echo hi"),
           DONE])
    end = cut(*RUN, "--apply", "--download", "t:copy", "--json")
    assert end.status == 0, end.err
    assert json.loads(end.out.splitlines()[-1])["text"] == "done."
    assert (work / "src/main.c").read_text() == "changed\n"
    assert (work / "copy/a").read_text() == "x\n"
    assert folders(home) == []
    end = cut("apply", "--undo")
    assert end.status == 0, end.err
    assert (work / "src/main.c").read_text() != "changed\n"


def test_a_kept_sandbox_is_used_and_removed(cut, model, work, home, run, box):
    (work / "src/main.c").write_text("before\n")
    model([execute("echo changed >src/main.c"), DONE])
    assert cut(*RUN, "--keep").status == 0
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    end = cut("sandbox", "exec", name, "--", "cat src/main.c")
    assert end.out == "changed\n", end.err
    (work / "dos").write_text("new\n")
    end = cut("sync")
    assert end.status == 0, end.err
    end = cut("diff")
    assert "+changed" in end.out, end.err
    end = cut("sandbox", "cp", str(work / "dos"), f"{name}:up")
    assert end.status == 0, end.err
    end = cut("sandbox", "cp", f"{name}:up", "-")
    assert end.out == "new\n", end.err
    end = cut("sandbox", "rm", name)
    assert end.status == 0 and "Saved" in end.err, end.err
    assert folders(home) == []


def test_a_thread_from_a_pipe(cut, run, box, tmp_path):
    end = cut("threads", "import", "-", stdin=exported([say("a")] * 50))
    assert end.status == 0, end.err
    assert cut("threads", "list").out.count("\n") >= 1
    end = cut("threads", "export", "latest", "-")
    assert end.status == 0 and len(json.loads(end.out)["messages"]) == 50
