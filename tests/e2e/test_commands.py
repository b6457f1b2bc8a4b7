"""test_commands.py - what a command of the model's finds, and what of it the
model is told."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import re
import signal

import pytest

from clouds import DONE, EXECUTE, results
from lifecycle import (adopt_orphans, call, execute, processes, stat_of,
                       wait_for)

TASK = ("-n", "hi", "-y", "-M", "anthropic:m")
PLACES = [(), ("--sandbox", "local")]
MIXED = "for i in 1 2 3 4; do echo out$i; echo err$i >&2; done"
IN_ORDER = "".join(f"out{i}\nerr{i}\n" for i in (1, 2, 3, 4))


@pytest.mark.parametrize("place", PLACES)
def test_both_streams_come_in_the_order_in_which_they_were_written(
        run, model, place):
    server = model([execute(MIXED)] * 4 + [DONE])
    r = run(*TASK, *place)
    assert r.status == 0, r.err
    assert [t.partition("\n[Command")[0] + "\n" for t in results(server)] \
        == [IN_ORDER] * 4


@pytest.mark.parametrize("name", ["e2b", "langsmith"])
def test_both_streams_of_a_vendor_come_in_order(run, model, vendor, name):
    vendor(name)
    server = model([execute(MIXED), DONE])
    r = run(*TASK, "--sandbox", name)
    assert r.status == 0, r.err
    assert IN_ORDER.strip() in results(server)[0]


def test_streams_that_are_asked_for_apart_stay_apart(run, model):
    model([DONE])
    assert run(*TASK, "--sandbox", "local", "--keep").status == 0
    listed = run("sandbox", "list", "--json").out
    box = json.loads(listed)["data"][0]["id"]
    r = run("sandbox", "exec", box, "echo out; echo err >&2")
    run("sandbox", "rm", box, "--force")
    assert (r.out, r.err) == ("out\n", "err\n")


IDIOMS = ["mkdir {a,b} && echo a b made", "set -o pipefail; false | true || "
          "echo piped", "source /dev/null && echo sourced",
          "[[ abc == a* ]] && echo matched",
          "diff <(echo a) <(echo a) && echo same",
          "ls /no/such &>log || grep -c such log"]


@pytest.mark.parametrize("place", PLACES)
def test_commands_run_in_bash_and_the_prompt_says_so(run, model, place):
    server = model([execute(c) for c in IDIOMS] + [DONE])
    r = run(*TASK, *place)
    assert r.status == 0, r.err
    for told in results(server):
        assert "exit code 0" in told
    assert "Commands run in bash on " in json.dumps(server.requests[0]["body"])
    assert "Commands run in" not in "".join(results(server))


@pytest.mark.parametrize("first", ["execute", "ls"])
@pytest.mark.parametrize("name", ["e2b", "langsmith"])
def test_a_sandbox_tells_its_shell_with_the_first_result(
        run, model, vendor, name, first):
    """Once, and without a request of its own."""
    cloud = vendor(name)
    begin = execute("echo a") if first == "execute" else \
        {"tool_calls": [call("ls", path=".")]}
    server = model([begin, execute("echo b"), execute("echo c"), DONE])
    r = run(*TASK, "--sandbox", name)
    assert r.status == 0, r.err
    told = results(server)
    assert re.search(r"\n\[Commands run in bash on .+, as the user \w+\.\]$",
                     told[0]), told[0]
    assert "Commands run" not in told[1] + told[2]
    assert "Commands run in bash where" in json.dumps(
        server.requests[0]["body"])
    assert "\x1e" not in r.out + "".join(told)
    started = [q for q in cloud.requests if re.search(
        EXECUTE[name], f"{q['method']} {q['path']}")]
    assert len(started) <= 4 + (first == "ls"), started


EDITING = ["git tag -a v1", "git rebase -i HEAD~1", "git commit -a",
           "$EDITOR file", "eval \"$VISUAL file\"", "$SVN_EDITOR$EDITOR file"]


@pytest.mark.parametrize("place", PLACES)
def test_a_command_that_opens_an_editor_ends_at_once_with_a_sentence(
        run, model, env, tmp_path, place):
    env.update(TERM="xterm-256color", EDITOR="vi", VISUAL="vi", PAGER="less",
               GIT_EDITOR="vi", GIT_SEQUENCE_EDITOR="vi", SVN_EDITOR="vi",
               SYSTEMD_EDITOR="vi", GH_PAGER="less")
    begin = ("git init -q . && git config user.email a@b && git config "
             "user.name n && git config core.editor vi && echo 1 >f && "
             "git add f && git commit -qm 1 && git commit -q --allow-empty "
             "-m 2 && git config rebase.autoStash true && echo 2 >f; "
             "echo $TERM $PAGER $GIT_PAGER $GH_PAGER $SYSTEMD_EDITOR")
    server = model([execute(begin)] + [execute(c, timeout=20)
                                       for c in EDITING] + [DONE])
    r = run(*TASK, *place, timeout=60)
    assert r.status == 0, r.err
    told = results(server)
    assert "dumb cat cat\n" in told[0]
    assert len(told) == 1 + len(EDITING)
    for text in told[1:]:
        assert "No-editor-can-be-opened-here" in text
        assert "timed out" not in text


@pytest.mark.parametrize("place", PLACES)
def test_vim_ends_at_once_unless_it_has_commands(run, model, place):
    change = " -c %s/a/b/ -c wq f </dev/null >/dev/null 2>&1; cat f"
    server = model([execute("echo a >f; vim f", timeout=20),
                    execute("vim -R f 2>&1 | tail -c 500", timeout=20),
                    execute(f"vim{change}", timeout=20),
                    execute(f"sed -i s/b/a/ f; vim -es{change}", timeout=20),
                    DONE])
    r = run(*TASK, *place, timeout=100)
    assert r.status == 0, r.err
    told = results(server)
    for text in told[:2]:
        assert "there is no terminal" in text and "timed out" not in text
    assert [text[:1] for text in told[2:]] == ["b", "b"]


def test_a_text_that_is_given_as_an_argument_needs_no_editor(run, model):
    server = model([execute("git init -q . && git -c user.name=n -c "
                            "user.email=a@b commit -qm one --allow-empty && "
                            "git log --format=%s"), DONE])
    assert run(*TASK).status == 0
    assert "one" in results(server)[0]


BAR = ("import sys, time\n"
       "for i in range(2001):\n"
       "    sys.stdout.write('\\r[%-20s] %d/2000' % ('#' * (i // 100), i))\n"
       "    sys.stdout.flush()\n"
       "print()\n"
       "for i in range(101):\n"
       "    if i: sys.stdout.write('\\x1b[2A')\n"
       "    for n in 'ab':\n"
       "        print('\\r\\x1b[2Klayer %s: %d%%' % (n, i), flush=True)\n"
       "print('wrong\\b\\b\\b\\b\\bright')\n")
DRAWN = ("[####################] 2000/2000\nlayer a: 100%\nlayer b: 100%\n"
         "right")


@pytest.mark.parametrize("place", [*PLACES, ("--sandbox", "e2b")])
def test_two_thousand_frames_of_a_progress_bar_are_one_line(
        run, model, vendor, place, tmp_path):
    if "e2b" in place:
        vendor("e2b")
    command = f"cat >bar.py <<'E'\n{BAR}E\npython3 -u bar.py"
    server = model([execute(command), DONE])
    r = run(*TASK, "--json", *place)
    assert r.status == 0, r.err
    told = results(server)[0]
    assert told.startswith(DRAWN + "\n[Command succeeded"), told[:300]
    shown = "".join(e["delta"] for e in map(json.loads, r.out.splitlines())
                    if e["type"] == "tool_output")
    assert shown.startswith("[####################] 2000/2000\n")
    assert len(shown) < 200 and shown.endswith("right\n"), shown
    stored = b"".join(f.read_bytes() for f in
                      (tmp_path / "home/.deepagents").rglob("*.db*"))
    assert b" 2000/2000" in stored and b" 1999/2000" not in stored


def test_a_job_shows_how_far_its_progress_bar_is(run, model):
    """And not how it came there."""
    bar = (r"printf '\r10%%\r20%%\r30%%'; sleep 1; "
           r"printf '\r40%%\r50%%\r60%%\n'")
    server = model([execute(bar, background=True),
                    {"tool_calls": [call("job_output", job=1, wait=0)]},
                    {"tool_calls": [call("job_output", job=1, wait=20)]},
                    DONE])
    r = run(*TASK)
    assert r.status == 0, r.err
    _, first, second = results(server)
    assert "10%" not in first + second and "20%" not in first + second
    assert second.strip().startswith("60%"), second


def wait_for_file(tmp_path, name):
    wait_for(lambda: list(tmp_path.rglob(name)))
    return next(tmp_path.rglob(name))


def carriers(word):
    """Living processes that have the word in their environment."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if word in path.read_bytes() and \
                    stat_of(path.parent.name)[0] not in "ZX":
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_nothing_guards_commands_after_an_orderly_end(run, model):
    model([execute("echo a"), DONE])
    adopt_orphans()
    assert run(*TASK).status == 0
    assert [c for c in processes().values() if "dcode-guard" in c] == []


@pytest.mark.parametrize("background", [False, True])
def test_commands_do_not_outlive_a_kill_of_dcode(start, model, env, tmp_path,
                                                 background):
    """What an earlier command had left running does: its call had ended."""
    word = f"MARK_OF_TEST=k{os.getpid()}{background}"
    env["MARK_OF_TEST"] = word.partition("=")[2]
    adopt_orphans()
    deep = ("(setsid sh -c 'trap : TERM HUP; sleep 600; sleep 600' & ) ; "
            "sleep 600 | cat & echo ready >ready; wait; sleep 600")
    model([execute("MARK_OF_TEST= setsid sleep 601 >/dev/null 2>&1 & "
                   "echo $! >kept"),
           execute(deep, background=background),
           execute("sleep 600"), DONE])
    p = start(*TASK)
    ready = wait_for_file(tmp_path, "ready")
    kept = int((ready.parent / "kept").read_text())
    assert carriers(word.encode())
    p.signal(signal.SIGKILL)
    p.p.wait()
    wait_for(lambda: not carriers(word.encode()), 3)
    assert stat_of(kept)[0] == "S"
    os.kill(kept, 9)


@pytest.mark.parametrize("clear", ["env -i", "exec env -i",
                                   "env -i PATH=/usr/bin:/bin sh -c 'sleep "
                                   "600' & exec env -i"])
def test_a_command_without_its_environment_does_not_outlive_a_kill(
        start, model, tmp_path, clear):
    seconds = f"6{os.getpid():07d}"
    model([execute(f"echo ready >ready; {clear} sleep {seconds}"), DONE])
    adopt_orphans()
    p = start(*TASK)
    wait_for_file(tmp_path, "ready")

    def sleeping():
        return [c for c in processes().values()
                if c.split()[:2] == ["sleep", seconds]]
    wait_for(sleeping)
    p.signal(signal.SIGKILL)
    p.p.wait()
    wait_for(lambda: not sleeping(), 3)


# As users write them: it ends with cd, and so does the profile that it writes.
SETUP = """#!/bin/bash
set -e
mkdir -p "$HOME/project" && cd "$HOME/project"
echo from the setup >made
cat >>"$HOME/.profile" <<'PROFILE'
export MADE_BY=setup
cd "$HOME/project"
PROFILE
echo "last line"
"""


@pytest.mark.parametrize("end", ["chmod 000 .", "rmdir ../d",
                                 "false; cd ."])
def test_a_directory_that_nobody_can_enter_is_no_working_directory(
        run, model, tmp_path, end):
    script = tmp_path / "setup.sh"
    script.write_text(f"mkdir -p $HOME/d; cd $HOME/d; {end}\n")
    server = model([execute("pwd"), DONE])
    r = run(*TASK, "--sandbox", "local", "--sandbox-setup", script)
    assert r.status == 0, r.err
    where = results(server)[0].partition("\n")[0]
    assert where.startswith("/"), where
    assert (where == "/home/user/d") == end.startswith("false")


@pytest.mark.parametrize("name", ["local", "e2b", "langsmith"])
def test_tools_begin_where_the_setup_script_has_ended(
        run, model, vendor, tmp_path, name):
    if name != "local":
        vendor(name)
    script = tmp_path / "setup.sh"
    script.write_text(SETUP)
    server = model([execute("pwd; cat made"),
                    {"tool_calls": [call("read_file", file_path="made")]},
                    {"tool_calls": [call("ls", path=".")]}, DONE])
    r = run(*TASK, "--sandbox", name, "--sandbox-setup", script, "--keep")
    assert r.status == 0, r.err
    told = results(server)
    where = told[0].partition("\n")[0]
    assert where.endswith("/project")
    assert all("from the setup" in t for t in told[:2]), told
    assert "made" in told[2]
    prompt = json.dumps(server.requests[0]["body"]["system"])
    assert where in prompt or f"ended in {where}" in told[0]
    assert f"Tools and commands start in {where}" in r.err
    assert len(server.requests) == 4 and "\x1e" not in r.err
    listed = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert run("sandbox", "exec", listed[0]["id"],
               "pwd").out.strip() == where
    server = model([execute("pwd"), DONE])
    r = run(*TASK, "--sandbox", name, "--sandbox-id", listed[0]["id"])
    assert results(server)[0].startswith(where), r.err
    run("sandbox", "rm", listed[0]["id"], "--force")


@pytest.mark.parametrize("end", [
    "cd sub; exit 0", "trap 'echo bye' EXIT; cd sub",
    "f() { cd sub; }; f; (cd /)", "cd sub\n# no line end"])
@pytest.mark.parametrize("shell", ["#!/bin/bash\n", "#!/bin/sh\n", ""])
def test_a_setup_script_may_end_as_it_likes(run, model, tmp_path, end, shell):
    script = tmp_path / "setup.sh"
    script.write_text(f"{shell}mkdir sub\n{end}")
    server = model([execute("pwd"), DONE])
    r = run(*TASK, "--sandbox", "local", "--sandbox-setup", script)
    assert results(server)[0].startswith("/workspace/sub\n"), r.err


@pytest.mark.parametrize("text", ["echo stays", "cd /tmp; cd - >/dev/null",
                                  "(cd /tmp)"])
def test_a_setup_script_that_ends_where_it_began_changes_nothing(
        run, model, tmp_path, text):
    script = tmp_path / "setup.sh"
    script.write_text(text)
    server = model([execute("pwd"), DONE])
    r = run(*TASK, "--sandbox", "local", "--sandbox-setup", script)
    assert results(server)[0].startswith("/workspace\n"), r.err
    assert "start in" not in r.err
