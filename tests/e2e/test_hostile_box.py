"""test_hostile_box.py - a local sandbox whose commands mean harm."""
# SPDX-License-Identifier: MIT
import ctypes
import json
import os
import socket
import subprocess

import pytest

BIND = '[sandboxes.providers.local.params]\nworkspace = "bind"\n'


def call(command, **more):
    return {"name": "execute", "args": {"command": command, **more}}


def results(run):
    events = [json.loads(line) for line in run.out.splitlines()]
    return [e["content"] for e in events if e["type"] == "tool_result"]


@pytest.fixture
def box(run, model):
    """box(*commands) -> what each printed, in one local sandbox."""
    def go(*commands, turns=None, **how):
        model([{"tool_calls": [call(c)]} for c in commands] +
              [{"text": "done"}])
        r = run("-n", "x", "-M", "anthropic:m", "--json", "--sandbox",
                "local", *how.pop("args", ()), **how)
        assert r.status == 0, r.err + r.out
        return results(r)
    return go


@pytest.mark.parametrize("place", [
    "/proc", "/proc/self", "/sys", "/sys/kernel", "/dev", "/etc", "/usr",
    "/run", "/tmp", "/dev/shm", "/"])
def test_the_systems_places_are_not_bound(run, model, config, place):
    config(BIND)
    server = model([{"text": "done"}])
    r = run("-n", "x", "-M", "anthropic:m", "--sandbox", "local", cwd=place)
    assert r.status == 1 and "refusing to bind" in r.err, r.err
    assert not server.requests


def test_a_project_is_bound(box, config, tmp_path):
    config(BIND)
    (tmp_path / "work").mkdir(exist_ok=True)
    assert "exit code 0" in box("touch here", args=("-y",))[0]
    assert (tmp_path / "work" / "here").exists()


@pytest.mark.usefixtures("sandbox_first")
def test_a_bound_directory_is_not_swapped_for_a_link(run, start, model,
                                                     config, tmp_path):
    """One sandbox that has the parent cannot redirect another."""
    config(BIND)
    work, secret = tmp_path / "work" / "sub", tmp_path / "secret"
    work.mkdir(parents=True)
    secret.mkdir()
    (secret / "f").write_text("of the host")
    server = model([{"text": "x", "fault": {"stall_after_bytes": 0}}])
    r = start("-n", "x", "-M", "anthropic:m", "--sandbox", "local", cwd=work)
    while not server.model.received:
        assert r.p.poll() is None
    r.kill()
    r.p.wait()
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    assert run("sandbox", "exec", name, "--", "true").status == 0
    work.rename(tmp_path / "moved")
    work.symlink_to(secret)
    r = run("sandbox", "exec", name, "--", "cat f")
    assert r.status == 1 and "link" in r.err and not r.out


@pytest.mark.usefixtures("sandbox_first")
def test_links_of_a_copy_do_not_add_up(run, start, model, tmp_path):
    """Each stays inside by its letters; together they would lead out."""
    server = model([{"text": "x", "fault": {"stall_after_bytes": 0}}])
    r = start("-n", "x", "-M", "anthropic:m", "--sandbox", "local")
    while not server.model.received:
        assert r.p.poll() is None
    r.kill()
    r.p.wait()
    name = json.loads(run("sandbox", "list", "--json").out)["data"][0]["name"]
    assert run("sandbox", "exec", name, "--",
               "mkdir -p t/a/b/c && cd t && ln -s ../../.. a/b/c/up &&"
               " ln -s a/b/c/up/../secret out && ln -s b/f a/good &&"
               " ln -s ../../../a/good a/b/c/too && echo x >a/b/f"
               ).status == 0
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "secret").write_text("of the host")
    r = run("sandbox", "cp", f"{name}:t", "copy")
    copy = tmp_path / "work" / "copy"
    assert not os.path.lexists(copy / "out") and "leads out" in r.err
    assert (copy / "a" / "b" / "c" / "too").read_text() == "x\n"
    for top, dirs, files in os.walk(copy):
        for entry in dirs + files:
            assert os.path.realpath(os.path.join(top, entry)).startswith(
                str(copy.resolve()))


def test_nothing_of_ours_is_open_inside(box):
    out = box("ls -l /proc/self/fd | grep -o '[0-9]* -> .*';"
              "python3 -c 'import os; print([f for f in range(3, 200)"
              " if os.path.lexists(f\"/proc/self/fd/{f}\")][:0])'",
              "exec 9</etc/passwd; ls /proc/self/fd")
    first = [line for line in out[0].splitlines() if " -> " in line]
    numbers = {int(line.split(" ")[0]) for line in first}
    assert numbers <= {0, 1, 2, 3}, out[0]  # 3: ls reads the directory
    assert "9" in out[1].split()  # it would have been seen


def test_processes_outside_are_out_of_reach(box):
    outside = os.getpid()
    out = box(
        "for p in 1 $PPID; do for f in root cwd exe fd/3 environ mem maps; do"
        " [ $p = 1 ] && cat /proc/$p/$f >/dev/null 2>&1 && echo open $p $f;"
        " done; done; readlink /proc/1/root /proc/$PPID/root; echo end",
        "python3 -c 'import ctypes as c, os\n"
        "l = c.CDLL(None, use_errno=True)\n"
        "for p in 1, os.getppid():\n"
        " print(l.ptrace(16, p, 0, 0), l.process_vm_readv(p, 0, 0, 0, 0, 0))'",
        "sleep 9 & readlink /proc/$!/root",  # the control
        f"ls -d /proc/{outside} 2>&1; ls -d /proc/[0-9]* | wc -l")
    assert out[0].startswith("end"), out[0]
    assert "0" not in out[1].splitlines()[0].split()[:1], out[1]
    assert out[2].startswith("/\n")
    assert "No such file" in out[3]


def test_a_stopped_or_killed_helper_does_not_stop_us(box):
    """The parent of a command is ours; its signals must not cost us more
    than the command."""
    out = box("kill -9 $PPID; sleep 60", "echo still", )
    assert "exit code" in out[0] and "still" in out[1]


def test_timeouts_hold_with_a_stopped_helper(run, model):
    model([{"tool_calls": [call("kill -STOP $PPID; sleep 955.3",
                                timeout=1)]},
           {"tool_calls": [call("echo next")]}, {"text": "done"}])
    r = run("-n", "x", "-M", "anthropic:m", "--json", "--sandbox", "local",
            timeout=30)
    assert "timed out" in results(r)[0]
    assert not os.popen("pgrep -f 'sleep 955[.]3'").read()


def test_a_secret_in_halves(run, model, env, tmp_path):
    """Written to both streams in turn it would be whole in the result."""
    env["MY_TOKEN"] = "tok-5ecre7-value"
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "s.sh").write_text("echo ${MY_TOKEN} >f\n")
    server = model([
        {"tool_calls": [
            call("printf tok-5e; sleep .2; printf cre7 >&2; sleep .2;"
                 "echo -value"),
            call("cat f; cat f >&2; base64 f; echo plain-value"),
            call("printf 'tok-5e\\033[0mcre7\\033[1m-value'"),
            call("cat /tok-5ecre7-value; cd /tok-5ecre7-value"),
            {"name": "ls", "args": {"path": "/tok-5ecre7-value"}},
            {"name": "read_file", "args": {"file_path": "f"}},
            {"name": "grep", "args": {"pattern": "tok"}}]},
        {"text": "it is tok-5ecre7-value"}])
    r = run("-n", "x", "-M", "anthropic:m", "--json", "--sandbox", "local",
            "--sandbox-setup", "s.sh")
    shown = results(r)
    assert "plain-value" in shown[1]  # the control
    for text in shown:
        assert "5ecre7" not in text, text
    body = json.dumps(server.requests[-1]["body"]["messages"][2:])
    assert "5ecre7" not in body
    for path in (tmp_path / "home").rglob("*"):
        if path.is_file() and path.name.startswith("dcode.db"):
            for message in shown:
                assert "5ecre7" not in message


def landlock():
    """The kernel's Landlock ABI; 0 without."""
    libc = ctypes.CDLL(None)
    return max(0, libc.syscall(444, None, 0, 1))


def test_abstract_sockets_of_the_host(box, config):
    """They are in the network namespace, which is the host's here. Landlock
    keeps them out of reach from ABI 6 on; dcode-local(7) says so."""
    config('[sandboxes.providers.local.params]\nnetwork = "full"\n')
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0dcode-test-{os.getpid()}")
        server.listen(1)
        out = box("python3 -c 'import socket as s\n"
                  "a, b, c = (s.socket(s.AF_UNIX) for _ in range(3))\n"
                  "a.bind(\"\\0inside\"); a.listen(1)\n"
                  "b.connect(\"\\0inside\"); print(\"inside\", flush=True)\n"
                  f"c.connect(\"\\0dcode-test-{os.getpid()}\")'",
                  "mkdir d && echo x >f && mv f d/ && ln d/f g && cat g")
    assert "inside" in out[0], out
    refused = "Operation not permitted" in out[0]
    assert refused == (landlock() >= 6), out
    assert out[1].startswith("x\n")  # nothing else is lost


def test_deep_trees_go(box, home):
    """Too deep for one open file per level."""
    left = home / ".deepagents" / "sandboxes"
    try:
        out = box("python3 -c 'import os\n"
                  "for i in range(1500): os.mkdir(\"d\"); os.chdir(\"d\")\n"
                  "os.chmod(\".\", 0); print(\"made\")'")
        assert "made" in out[0]
        assert not left.exists() or not list(left.iterdir())
    finally:  # pytest itself cannot remove so deep a tree
        subprocess.run(["rm", "-rf", str(left)], check=False)
