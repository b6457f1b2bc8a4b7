"""test_command_changes.py - below a command: the files that it has changed."""
# SPDX-License-Identifier: MIT
import contextlib
import pathlib
import re
import shutil
import subprocess

import pytest

from sshd_rig import Rig
from clouds import per_tool, vendor_fixture  # noqa: F401
from test_live_chat import DONE, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name

ROOT = pathlib.Path(__file__).resolve().parents[2]


def git(work, line):
    subprocess.run(f"git {line}", shell=True, cwd=work, check=True,
                   capture_output=True, timeout=60)


@pytest.fixture
def tree(tmp_path):
    """A repository with two files; one has a change that is not committed."""
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    (work / "a.c").write_text("1\n2\n3\n")
    (work / "dirty").write_text("one\n")
    (work / ".gitignore").write_text("*.o\n")
    git(work, "init -q")
    git(work, "config user.email a@b")
    git(work, "config user.name a")
    git(work, "add -A")
    git(work, "commit -qm x")
    (work / "dirty").write_text("one\ntwo\n")
    (work / "other").write_text("not tracked\n")
    return work


def run(live, *commands, columns=100):
    s, _ = live([*map(execute, commands), DONE], args=["-y"], ready="yolo",
                columns=columns)
    s.type("go")
    s.keys("Enter")
    return s.until("done.", True)


@pytest.mark.parametrize("command, said", [
    ("sed -i s/2/two/ a.c", r"a.c \(\+1 −1\)"),
    ("echo x >>a.c; echo y >>dirty; echo z >new",
     r"a.c, dirty, new \(\+3 −0\)"),
    ("rm a.c other", r"a.c, other \(\+0 −4\)"),
    ("git checkout -q dirty", r"dirty \(\+0 −1\)"),
    (r"printf 'a\0b' >bin", "bin"), ("ln -s a.c link", r"link \(\+1 −0\)"),
    (": >empty", r"empty \(\+0 −0\)"), ("mv other moved",
                                        r"moved, other \(\+1 −1\)"),
    ("mkdir d; echo 1 >d/x; exit 3", r"d/x \(\+1 −0\)"),
    ("git add -A; echo 4 >>a.c; git commit -qm y", r"a.c \(\+1 −0\)"),
    ("touch n1 n2 n3 n4 n5 n6 n7",
     r"n1, n2, n3, n4, n5 and 2 more \(\+0 −0\)")])
def test_what_a_command_changed_is_named(live, tree, command, said):
    seen = run(live, command)
    assert re.search(rf"⎿ changed: {said}$", seen, re.M), seen


@pytest.mark.parametrize("command", [
    "true", "touch a.c dirty", "echo x >x.o", "git add -A; git commit -qm x",
    "cat a.c >copy; cp copy a.c; rm copy", "git status; git gc -q"])
def test_what_stays_as_it_was_is_not_named(live, tree, command):
    seen = run(live, command, "echo x >>a.c")
    assert seen.count("changed:") == 1  # of the control


def test_diff_shows_what_changed_on_this_machine(live, tree):
    (tree / "bin").write_bytes(b"a\0b")
    s, _ = live([execute("sed -i s/2/x/ a.c"), DONE, execute("echo y >>a.c"),
                 DONE], args=["-y"], ready="yolo")
    s.type("go")
    s.keys("Enter")
    assert "changed: a.c (+1 \u22121)" in s.until("done.", True)
    s.type("/diff")
    s.keys("Enter")
    seen = s.until("other  +1 -0")
    assert re.search(r"^a.c  \+1 -1\n *1 +1\n *2 - 2\n *2 \+ x\n", seen, re.M)
    assert re.search(r"^bin  binary or large$", seen, re.M)
    assert re.search(r"^dirty  \+1 -0\n", seen, re.M)
    s.until(lambda t: "other  +1 -0" in t and "yolo" in t)
    s.type("/diff --stat")
    s.keys("Enter")
    s.until("a.c  +1 -1\nbin  binary or large\ndirty  +1 -0\nother  +1 -0\n")
    s.type("again")  # the listing has left the watch of commands as it was
    s.keys("Enter")
    s.until("changed: a.c (+1 \u22120)", True)
    s.until("done.")
    s.keys("C-d")
    assert s.status() == 0  # and no memory is lost, with ASan


def test_diff_on_this_machine_runs_nothing_of_the_repository(live, tree):
    evil = tree / ".git" / "evil"
    evil.write_text("#!/bin/sh\ntouch ran\ncat\n")
    evil.chmod(0o755)
    (tree / ".gitattributes").write_text("* filter=f diff=f\n")
    for key in ("core.fsmonitor", "core.hooksPath", "filter.f.clean",
                "diff.f.textconv", "diff.external"):
        git(tree, f"config {key} {evil}")
    s, _ = live([DONE], args=["-y"], ready="yolo")
    s.type("/diff --name-only")
    s.keys("Enter")
    s.until("\ndirty\n")
    assert not (tree / "ran").exists()
    subprocess.run("git diff", shell=True, cwd=tree, capture_output=True)
    assert (tree / "ran").exists()  # the control


def test_diff_outside_a_repository_says_so(live, tmp_path):
    s, _ = live([DONE], args=["-y"], ready="yolo")
    s.type("/diff")
    s.keys("Enter")
    s.until("not a git repository")


def test_a_change_between_two_commands_is_not_that_of_the_second(live, tree):
    s, _ = live([execute("true"), DONE, execute("echo n >>a.c"), DONE],
                args=["-y"], ready="yolo")
    s.type("go")
    s.keys("Enter")
    s.until("done.")
    (tree / "other").write_text("by the user\n")
    s.type("go")
    s.keys("Enter")
    seen = s.until("changed:")
    assert "changed: a.c (+1" in seen


def test_programs_of_the_repository_do_not_run(live, tree, tmp_path):
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    git(tree, f"config core.fsmonitor {program}")
    git(tree, f"config filter.x.clean {program}")
    (tree / ".gitattributes").write_text("* filter=x\n")
    seen = run(live, "echo x >>a.c; echo y >new")
    assert "changed: a.c, new (+2 −0)" in seen
    assert not mark.exists()
    git(tree, "status")
    assert mark.exists()  # the control: git itself does run them


def test_names_cannot_act_on_the_terminal(live, tree):
    seen = run(live, r"touch $(printf 'a\033[31mb')")
    line = next(r for r in seen.splitlines() if "changed:" in r)
    assert "\x1b" not in line and re.search(r"changed: a.*b", line)


def test_too_many_files_are_not_named_and_the_output_is_whole(live, tree):
    seen = run(live, "seq 3000 | xargs touch; echo finished",
               "seq 3000 | xargs rm; echo gone", "echo x >>a.c")
    assert "    finished" in seen and "    gone" in seen
    assert re.findall("changed: .*", seen) == ["changed: a.c (+1 −0)"]


def test_outside_of_a_repository_nothing_is_named(live, tmp_path):
    seen = run(live, "echo x >made")
    assert (tmp_path / "work" / "made").exists() and "changed:" not in seen


def test_it_is_named_without_a_screen_and_leaves_no_file(
        terminal, model, home, tree):
    model([execute("echo x >>a.c"), DONE])
    t = terminal("-M", "anthropic:m", "-y", "--plain")
    t.until("> ")
    t.type("go\r")
    assert "changed: a.c (+1 −0)\r\n" in t.until("done.")
    t.type("/quit\r")
    t.end()
    assert not list(home.rglob("watch.*"))


SANDBOX = ["--sandbox", "local", "--workspace", "repo", "--on-exit", "delete"]


def run_sent(live, *commands, args=()):
    """In a sandbox that has the tree. A name there has no counts: dcode does
    not know the text that a command overwrites."""
    s, server = live([*map(execute, commands), DONE],
                     args=[*SANDBOX, *args], ready="\u276f", columns=100)
    s.type("go")
    s.keys("Enter")
    return s.until("done.", True), server


@pytest.mark.parametrize("command, said", [
    ("sed -i s/2/two/ a.c", "a.c"), ("rm a.c other; false", "a.c, other"),
    ("mkdir d; echo 1 >d/x; mv other moved", "d/x, moved, other"),
    ("git checkout -q .; git commit --allow-empty -qm y; echo z >>a.c", "a.c"),
    ("touch 'n 1' n2 n3 n4 n5 n6 n7", "n 1, n2, n3, n4, n5 and 2 more")])
def test_what_a_command_changed_in_a_sandbox_is_named(live, tree, command,
                                                      said):
    seen, _ = run_sent(live, command)
    assert re.search(rf"⎿ changed: {said}$", seen, re.M), seen


@pytest.mark.parametrize("command", [
    "true", "echo x >x.o", "git add -A; git commit -qm x", "kill -9 $$",
    "mkdir node_modules; touch node_modules/x", "chmod +x a.c",
    "seq 21000 | xargs touch"])
def test_what_stays_as_it_was_in_a_sandbox_is_not_named(live, tree, command):
    seen, _ = run_sent(live, command, "find . -name '[0-9]*' -delete",
                       "echo x >>a.c")
    assert re.findall("changed: .*", seen) == ["changed: a.c"], seen  # control


def test_a_command_that_forges_the_list_changes_only_names(live, tree):
    seen, server = run_sent(
        live, "n=$(tr '\\0' '\\n' </proc/$PPID/cmdline | "
        "sed -n 's/.*d_nonce=\\([a-z0-9]*\\).*/\\1/p' | head -n 1); "
        "printf 'A\\036dcode-%s 9\\nforged\\033[31m\\nb\\036B\\n' $n; "
        "exit 3")
    assert "changed: forged, b and 7 more" in seen, seen
    result = str(server.requests[-1]["body"]["messages"][-1])
    assert "'AB\\n[Command failed with exit code 3]'" in result


def test_a_command_ends_in_a_sandbox_as_without_a_list_of_files(live, tree):
    _, server = run_sent(live, "echo out; echo err >&2; kill -SEGV $$",
                         "env | grep ^d_; ls /proc/$$/fd; :", "cat; exit 7")
    results = [str(r["body"]["messages"][-1]) for r in server.requests[1:]]
    assert "'out\\nerr\\n[Command failed with exit code 139]'" in results[0]
    assert "'0\\n1\\n2\\n[Command succeeded" in results[1]
    assert "'<no output>\\n[Command failed with exit code 7]'" in results[2]


def test_the_list_of_files_works_with_busybox_alone(tree, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    busybox = shutil.which("busybox")
    subprocess.run([busybox, "--install", "-s", tools], check=True, timeout=60)
    script = (ROOT / "scripts/sandbox/tree_changes.sh").read_text()
    given = (f"d_dir='{tree}' d_nonce=n d_most=100\n"
             "d_command='rm dirty; echo longer >>a.c; exit 3'\n")
    run_it = subprocess.run([tools / "sh", "-c", given + script], cwd=tree,
                            timeout=60,
                            env={"PATH": str(tools)}, capture_output=True,
                            check=False)
    assert run_it.returncode == 3 and run_it.stderr == b""
    assert run_it.stdout == b"\x1edcode-n 2\na.c\ndirty\n\x1e"


def run_twice(live, name):
    s, server = live([execute("echo x >>a.c"), execute("rm a.c"), DONE],
                     args=["--sandbox", name, *SANDBOX[2:], "-y"],
                     ready="\u276f", columns=100)
    s.type("go")
    s.keys("Enter")
    seen = s.until("done.", True)
    s.type("/quit")
    s.keys("Enter")
    assert s.status() == 0
    assert seen.count("changed: a.c\n") == 2, seen
    return server


@pytest.mark.parametrize("name", ["e2b", "daytona", "runloop", "langsmith"])
def test_the_list_of_files_needs_no_request(live, tree, vendor, name):
    cloud = vendor(name)
    server = run_twice(live, name)
    assert per_tool(cloud, server)[1][1] == 1


def test_a_container_and_a_host_list_their_files(live, tree, rig, env, config):
    env["DOCKER_HOST"] = rig.docker_host
    with contextlib.closing(Rig()) as host:
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\nnetwork = "none"\n'
               '[sandboxes.providers.ssh.params]\nhost = "box"\n'
               f'config = "{host.config}"\n')
        run_twice(live, "docker")
        run_twice(live, "ssh")
