"""test_guards_refuse.py - a hook that cannot run refuses, or is said once."""
# SPDX-License-Identifier: MIT
import json
import os

import pytest

from broken_files import NO_FILES, put_no_file
from test_hooks import (DONE, HOW, TOUCH, hook, note,  # noqa: F401
                        told, work, write)
from test_live_chat import live  # noqa: F401

# pylint: disable=redefined-outer-name

MISSING = {
    "argv": {"hooks": [{"type": "command", "argv": ["no-such-program"]}]},
    "argv path": {"hooks": [{"type": "command", "argv": ["/no/such"]}]},
    "name": hook("no-such-program --check"),
    "path": hook("/no/such/program"),
    "last": hook("cd / && no-such-program"),
    "interpreter": hook("{home}/bad-interpreter"),
    "mode": hook("{home}/not-executable"),
}
GUARDS = ("PreToolUse", "PermissionRequest", "UserPromptSubmit")


def place(home, what):
    (home / "bad-interpreter").write_text("#!/no/such/sh\n")
    (home / "bad-interpreter").chmod(0o755)
    (home / "not-executable").write_text("true\n")
    return json.loads(json.dumps(what).replace("{home}", str(home)))


@pytest.mark.parametrize("how", MISSING)
@pytest.mark.parametrize("event", GUARDS)
def test_a_guard_whose_program_is_missing_refuses(
        write, work, home, model, run, event, how):
    write(**{event: [place(home, MISSING[how])]})
    server = model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert "could not run" in body_or_error(server, r)
    check_refused(work, server, r, event)


def check_refused(work, server, r, event):
    """The call did not run; a refused prompt did not reach the model."""
    assert not (work / "log").exists()
    if event == "UserPromptSubmit":
        assert r.status != 0 and not server.requests
    else:
        assert r.status in (0, 4), r.err


def body_or_error(server, r):
    return r.err + "".join(json.dumps(q["body"]) for q in server.requests)


@pytest.mark.parametrize("event", GUARDS)
def test_a_guard_that_is_there_lets_a_call_through(write, work, model, run,
                                                   event):
    write(**{event: [hook("true"), {"hooks": [
        {"type": "command", "argv": ["true"]}]}]})
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and (work / "log").exists(), r.err


@pytest.mark.parametrize("event", GUARDS)
def test_a_guard_that_is_too_slow_refuses(write, work, model, run, event):
    write(**{event: [hook("sleep 9", timeout=0.4)]})
    server = model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert "it took longer than 0.4 s (timeout)" in body_or_error(server, r)
    check_refused(work, server, r, event)


@pytest.mark.parametrize("event", ["SessionStart", "PostToolUse", "Stop",
                                   "SessionEnd"])
def test_another_hook_that_is_too_slow_is_a_line(write, work, model, run,
                                                 event):
    write(**{event: [hook("sleep 9", timeout=0.4)]})
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and (work / "log").exists()
    assert "it took longer than 0.4 s (timeout)" in r.err


@pytest.mark.parametrize("how", ["exit 3", "kill -9 $$", "echo no json"])
def test_a_guard_that_ran_and_failed_otherwise_is_a_line(write, work, model,
                                                         run, how):
    write(PreToolUse=[hook(how, timeout=0.4)])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and (work / "log").exists()
    assert "hook PreToolUse" in r.err


def test_a_missing_program_elsewhere_is_one_warning(write, work, model, run):
    events = ("SessionStart", "PostToolUse", "Stop", "SessionEnd")
    write(**{e: [hook("no-such-program")] for e in events})
    model([TOUCH, TOUCH, TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and (work / "log").read_text() == "ran\n" * 3
    for event in events:
        assert r.err.count(f"hook {event} ") == 1, r.err


@pytest.mark.parametrize("entry", [
    hook("true", "["), hook("true", timeout=-1), hook("true", timeout="x"),
    {"hooks": [{"type": "http", "url": "http://127.0.0.1:9"}]},
    {"hooks": [{"type": "command"}]}, {"hooks": [{"argv": []}]},
    {"hooks": "true"}, {"matcher": 5, "hooks": []}, "true"])
def test_a_guard_that_cannot_be_read_refuses(write, work, model, run, entry):
    write(PreToolUse=[entry])
    server = model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert not (work / "log").exists(), r.err
    assert "so everything that it guards is refused" in r.err
    assert "hooks.json" in body_or_error(server, r)


@pytest.mark.parametrize("name, refuses", [
    ("PreToolUes", True), ("preToolUse", True), ("PermissionRequests", True),
    ("UserPromtSubmit", True), ("TeammateIdle", False),
    ("PostToolUSe", False)])
def test_a_guard_whose_event_is_misspelled_refuses(write, work, model, run,
                                                   name, refuses):
    write(**{name: [hook("true")]})
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert f"unknown event '{name}'" in r.err
    assert (work / "log").exists() is not refuses, r.err
    assert ("its event name is misspelled" in r.err) is refuses


def test_a_broken_guard_refuses_only_what_it_would_have_judged(
        write, work, model, run):
    write(PreToolUse=[hook("true", "Write", timeout=-1)])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and (work / "log").exists(), r.err


FIRST_WORDS = ["./check.sh", "scripts/check.sh", "A=1 ./check.sh",
               "'./check.sh' --all", "exec ./check.sh", "( ./check.sh )",
               "env X=1 ./check.sh", "$(pwd)/check.sh", "`pwd`/check.sh",
               "$PWD/check.sh", "true && ./check.sh", "true; ./check.sh",
               "if true; then ./check.sh; fi", "while ./check.sh; do :; done",
               "f() { ./check.sh; }; f", "x=$(./check.sh)",
               "echo \"a `./check.sh`\"", "case x in x) ./check.sh;; esac",
               "cd . && ./check.sh", "cd \"$PWD\" && sh check.sh",
               "eval ./check.sh", "trap ./check.sh EXIT",
               "true \\\n&& \\\n./check.sh", "cat <(./check.sh)",
               "sudo -u ann ./check.sh", "su -c ./check.sh",
               "taskset -c 0 ./check.sh", "timeout -s KILL 9 ./check.sh",
               "env -u A -S 'B=1 ./check.sh'", "flock /tmp/l -c ./check.sh",
               "echo a | xargs -n 1 ./check.sh",
               "find . -maxdepth 0 -exec ./check.sh {} +",
               "setpriv --no-new-privs ./check.sh"]


@pytest.mark.parametrize("words", FIRST_WORDS)
def test_the_users_own_hooks_name_no_program_of_the_repository(
        write, work, model, run, words):
    for name in ("check.sh", "scripts/check.sh"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("#!/bin/sh\necho ran >>~/theirs\n")
        (work / name).chmod(0o755)
    write(PreToolUse=[hook(words)], PostToolUse=[hook(words)])
    server = model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert not (work.parent / "home/theirs").exists()
    assert not (work / "log").exists(), r.err
    assert "absolute path" in r.err and "absolute" in body_or_error(server, r)


SCRIPTS = ["bash ./check.sh", "sh check.sh", "bash -eu -o pipefail check.sh",
           "env -i bash ./check.sh", "timeout 9 sh ./check.sh",
           ". ./check.sh", "sh <check.sh", "sh -c ./check.sh",
           "sh -c 'exec sh check.sh'", "/bin/sh 2>/dev/null ./check.sh",
           "python3 check.py", "python3 -W ignore -u ./check.py",
           "A=1 python3 \"$PWD/check.py\"", "awk -f check.awk",
           "perl -MTime::HiRes ./check.pl", "sh -s <check.sh",
           "python3 - <check.py", "true && sh check.sh",
           "PATH=.:$PATH check.sh",
           "export PATH=\"$PWD\"; check.sh",
           "BASH_ENV=./check.sh bash -c true",
           "PYTHONPATH=. python3 ~/a.py", "perl -I. ~/a.pl",
           "sed -f check.sed", "sudo -u ann sh check.sh",
           "cat check.sh | sh", "(cat check.sh) | env -i sh -s a",
           "sed -n p check.sh | tee /dev/null | bash", "<check.sh sh",
           "$(cat check.sh)", "eval \"$(cat check.sh)\"",
           "sh -c \"$(cat check.sh)\"", ". /dev/stdin <check.sh",
           "cat /dev/null; sh <<E\n. ./check.sh\nE",
           "sh <<<\"$(cat check.sh)\"", "python3 -c \"$(cat check.py)\"",
           "x=$(cat check.sh); eval \"$x\"", "set -- ./check.sh; \"$@\"",
           "echo ./check.sh | xargs sh", "echo ./check.sh | sh",
           "find . -name check.sh -exec {} \\;", "(cd /); ./check.sh",
           "sh /proc/self/cwd/check.sh", "cd /; cd -; sh check.sh",
           "cd /no/such; ./check.sh", "bash --rcfile check.sh -i </dev/null",
           "cat <<E\nx\nE\nsh check.sh", "$SHELL check.sh",
           "sh -c 'sh -c \"sh -c \\\"sh check.sh\\\"\"'"]


@pytest.mark.parametrize("words", SCRIPTS)
def test_the_users_own_hooks_name_no_script_of_the_repository(
        write, work, model, run, words):
    shell, here = "echo ran >>~/theirs\n", "open('../home/theirs', 'w')\n"
    for name, text in (("sh", shell), ("py", here),
                       ("awk", 'BEGIN { print >"../home/theirs" }'),
                       ("pl", "open F, '>../home/theirs';")):
        (work / f"check.{name}").write_text(text)
        (work / f"check.{name}").chmod(0o755)
    write(PreToolUse=[hook(words)], PostToolUse=[hook(words)])
    server = model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert not (work.parent / "home/theirs").exists()
    assert not (work / "log").exists(), r.err
    assert "absolute path" in r.err and "absolute" in body_or_error(server, r)


@pytest.mark.parametrize("words", [
    "sh ~/check.sh ./a", "python3 -u ~/check.py ./b", "cat ./x; true",
    "grep -r x ./a; true", "sh -c 'cat ./x; true'", "bash -n ./check.sh",
    "sh -ec 'true' ./x", "python3 -c 'import sys' ./x", "true <./check.sh",
    "cd / && sh $HOME/check.sh", "awk '{ print }' ./check.sh",
    "python3 <<E\nprint()\nE", "echo 'sh ./check.sh'",
    "sh 2>/dev/null $HOME/check.sh", "perl -e 1 ./x", "env -i A=b/c true",
    "timeout -k 1 9 cat ./x; true", "nice -n 5 grep -r x ./a; true",
    "echo a | xargs -n 1 cat; true", "find . -name ./x; true",
    "cd $HOME && ./check.sh", "PATH=/usr/bin:$PATH true", "true # ; ./x",
    "PATH=\"$HOME/bin:$PATH\" sh ~/check.sh", "sed -e s,a,./b, ./check.sh",
    "if [ -e ./x ]; then cat ./x; fi", "x=$(cat ./x); true",
    "true | python3 - ./x", "true | bash -s ./x", "echo true | sh",
    "cat ~/check.sh | sh", "sh -c \"$(cat ~/check.sh)\"",
    "x=$(cat); echo \"$x\" | grep -q x ./a; true",
    "sh ~/check.sh <./check.sh", "cat <<E\n{ \"a\": \"./x\" }\nE",
    "cd ~ || exit 1; ./check.sh", "while read -r l; do :; done <./check.sh",
    "xargs cat <./check.sh; true"])
def test_what_a_hook_only_reads_may_be_relative(write, work, home, model, run,
                                                words):
    for name, text in (("check.sh", "true\n"), ("check.py", "\n")):
        (work / name).write_text(text)
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    write(PreToolUse=[hook(words)])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and (work / "log").exists(), r.err


@pytest.mark.parametrize("argv, runs", [
    (["bash", "./check.sh"], False), (["/usr/bin/env", "sh", "x.sh"], False),
    (["sh", "-c", "sh ./check.sh"], False), (["cat", "./check.sh"], True),
    (["sh", "~/check.sh"], False), (["sh", "-c", "sh ~/check.sh"], True)])
def test_a_script_in_argv_is_absolute_too(write, work, home, model, run, argv,
                                          runs):
    (work / "~").mkdir()  # no shell expands it
    (home / "check.sh").write_text("true\n")
    for script in work / "check.sh", work / "~/check.sh":
        script.write_text("echo ran >>~/theirs\n")
    write(PreToolUse=[{"hooks": [{"type": "command", "argv": argv}]}])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert (work / "log").exists() == runs, r.err
    assert ("absolute path" in r.err) != runs


@pytest.mark.parametrize("words", [
    "'~/check.sh'", '"~/check.sh"', "sh '~/check.sh'", r"sh \~/check.sh",
    "sh ~'/check.sh'", "sh '$HOME/check.sh'", r"sh \$HOME/check.sh",
    "sh <'~/check.sh'", "sh -c \"sh '~/check.sh'\""])
def test_a_quoted_home_is_a_directory_of_the_repository(
        write, work, model, run, words):
    for home in "~", "$HOME":  # no shell expands them
        (work / home).mkdir()
        (work / home / "check.sh").write_text("#!/bin/sh\ntouch ran\n")
        (work / home / "check.sh").chmod(0o755)
    write(PreToolUse=[hook(words)])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert not (work / "ran").exists() and not (work / "log").exists()
    assert "absolute path" in r.err


@pytest.mark.parametrize("words", ["{home}/check.sh", "~/check.sh",
                                   "$HOME/check.sh", "\"${{HOME}}/check.sh\"",
                                   "A=./b {home}/check.sh", "cat ./x; true",
                                   "exec ~/check.sh", "sh -c '~/check.sh'",
                                   "sh -c 'sh \"$HOME/check.sh\"'"])
def test_absolute_first_words_run_in_the_session_directory(
        write, work, home, model, run, words):
    (home / "check.sh").write_text("#!/bin/sh\npwd >>~/mine\n")
    (home / "check.sh").chmod(0o755)
    write(PreToolUse=[hook(words.format(home=home))])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and (work / "log").exists(), r.err
    if "check.sh" in words:
        assert (home / "mine").read_text() == f"{work}\n"


def test_argv_of_the_users_own_is_absolute_too(write, work, model, run):
    (work / "check.sh").write_text("#!/bin/sh\necho >>~/theirs\n")
    (work / "check.sh").chmod(0o755)
    write(PreToolUse=[{"hooks": [{"type": "command",
                                  "argv": ["./check.sh"]}]}])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert not (work / "log").exists() and "absolute path" in r.err
    assert not (work.parent / "home/theirs").exists()


def test_hooks_of_an_allowed_project_keep_relative_programs(write, work, model,
                                                            run):
    (work / "check.sh").write_text("#!/bin/sh\npwd >here\n")
    (work / "check.sh").chmod(0o755)
    write(True, PreToolUse=[hook("./check.sh")])
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW, "--trust-project-hooks")
    assert r.status == 0 and (work / "log").exists(), r.err
    assert (work / "here").read_text() == f"{work}\n"


# ---- files ----

def unreadable(path, how):
    if how == "mode":
        path.chmod(0)
    elif not put_no_file(path, how):
        path.write_text({"json": '{"hooks": {"PreToolUse": [}',
                         "cut": path.read_text()[:-9], "empty": "",
                         "list": "[]", "no hooks": '{"PreToolUse": []}',
                         "wrong": '{"hooks": []}',
                         "large": " " * (1 << 20) + path.read_text()}[how])


HOW_UNREADABLE = [*NO_FILES, "json", "cut", "empty", "list", "no hooks",
                  "wrong", "large"]
if os.geteuid() != 0:  # root reads everything
    HOW_UNREADABLE.append("mode")


@pytest.mark.parametrize("how", HOW_UNREADABLE)
def test_an_unreadable_file_of_the_users_ends_a_run(write, work, model, run,
                                                    how):
    path = write(PreToolUse=[hook("exit 2")])
    unreadable(path, how)
    server = model([TOUCH, DONE])
    for json_too in ([], ["--output-format", "stream-json"]):
        r = run("-n", "x", *HOW, *json_too)
        assert r.status == 2 and "hooks.json" in r.err, (how, r.err)
        assert not server.requests and not (work / "log").exists()
    r = run("-q", stdin="x", *HOW)  # piped
    assert r.status == 2 and not server.requests, r.err


@pytest.mark.parametrize("how", ["json", "fifo", "dangling"])
def test_an_unreadable_file_of_a_project_ends_a_run_once_it_was_allowed(
        write, work, model, run, how, live):
    path = write(True, PreToolUse=[hook("true")])
    server = model([TOUCH, DONE])
    s, _ = live([DONE], args=["--plain"], ready="[y/N]")
    s.type("y")
    s.keys("Enter")
    s.until("/quit")
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0
    unreadable(path, how)
    server = model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 2 and "hooks.json" in r.err, r.err
    assert not server.requests


@pytest.mark.parametrize("how", ["json", "fifo", "directory", "dangling"])
def test_that_of_another_project_is_a_warning(write, work, model, run, how):
    path = write(True, PreToolUse=[hook("true")])
    unreadable(path, how)
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW)
    assert r.status == 0 and (work / "log").exists(), r.err
    assert "hooks.json" in r.err
    model([TOUCH, DONE])
    r = run("-n", "x", *HOW, "--trust-project-hooks")
    assert r.status == 2


@pytest.mark.parametrize("args", [[], ["--plain"]], ids=["screen", "lines"])
@pytest.mark.parametrize("answer", ["y", "n"])
def test_the_chat_asks_whether_to_go_on_without_it(write, work, live, answer,
                                                   args):
    unreadable(write(PreToolUse=[hook("exit 2")]), "json")
    s, _ = live([DONE], args=args, ready="Continue without this file? [y/N]")
    s.type(answer)
    s.keys("Enter")
    if answer == "y":
        s.until("/quit")
        s.type("/quit")
        s.keys("Enter")
    assert s.status() == (0 if answer == "y" else 2)


def test_an_empty_object_is_no_hooks(write, work, model, run):
    path = write()
    for text in ("{}", '{"hooks": {}}'):
        path.write_text(text)
        model([TOUCH, DONE])
        assert run("-n", "x", *HOW).status == 0


def test_a_reload_keeps_the_hooks_that_there_were(write, work, live):
    path = write(PreToolUse=[hook(note(work))])
    s, server = live([TOUCH, DONE], args=["--plain", "-y"], ready="/quit")
    unreadable(path, "json")
    s.type("/reload")
    s.keys("Enter")
    s.until("Continue without this file? [y/N]")
    s.type("n")
    s.keys("Enter")
    s.until("settings are unchanged")
    s.type("go")
    s.keys("Enter")
    s.until("done.")
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0
    assert [e["tool_name"] for e in told(work)] == ["Bash"]
    assert server.requests


# ---- runners ----

@pytest.mark.parametrize("words, name", [
    ("npx -y prettier --check .", "npx"), ("python3 -m checks", "python3 -m"),
    ("exec make lint", "make"), ("timeout 9 uvx tool", "uvx"),
    ("/usr/bin/npm test", "npm"), ("python3 -Im checks", "python3 -m"),
    ("sh -c 'npx x'", "npx"), ("python3 -c 'import checks'", "python3 -c"),
    ("timeout 9 python3 -Bc 'import checks'", "python3 -c"),
    ("node -e 'require(\"x\")'", "node -e"), ("vim -es -S x", "vim")])
def test_runners_are_named_at_the_start(write, work, model, run, words, name):
    write(PostToolUse=[hook(words)])
    model([DONE])
    r = run("-n", "x", *HOW)
    assert f"hooks.json run {name}, which may load code from {work}" in r.err
    assert "run " not in run("-n", "x", "-q", *HOW).err


def test_other_programs_are_not_named(write, work, model, run):
    write(PostToolUse=[hook("python3 ~/check.py -v; cat makefile"),
                       hook("python3 -I -c 'import sys'; sh -c true")])
    model([DONE])
    assert "may load code" not in run("-n", "x", *HOW).err


@pytest.mark.parametrize("words, named", [("make lint", False),
                                          ("sh ./check.sh", True)])
def test_an_allowed_hook_that_names_no_file_says_so(write, work, model, run,
                                                    live, words, named):
    (work / "check.sh").write_text("true\n")
    (work / "Makefile").write_text("lint:\n\ttrue\n")
    write(True, PostToolUse=[hook(words)])
    model([DONE])
    r = run("-n", "x", *HOW, "--trust-project-hooks")
    said = "does not ask again when project files change"
    assert (said in r.err) != named, r.err
    s, _ = live([DONE], args=["--plain"], ready="[y/N]")
    assert (said in " ".join(s.text().split())) != named
    s.type("n")
    s.keys("Enter")
    s.until("/quit")
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0
