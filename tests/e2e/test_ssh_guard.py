"""test_ssh_guard.py - what a host gets of the user's, and what stays on it."""
# SPDX-License-Identifier: MIT
import json
import subprocess

import pytest

from lifecycle import execute, wait_for
from sshd_rig import Rig
from test_ssh import TASK, outputs, ssh, sshd, task  # noqa: F401


@pytest.mark.slow
def test_neither_keys_nor_the_agent_go_to_the_host(
        run, ssh, model, env, tmp_path):  # noqa: F811
    """Whatever SendEnv and ForwardAgent say: ssh itself is the control."""
    agent = tmp_path / "agent"
    model([execute("env >seen"), {"text": "done"}])
    env.update(E2B_API_KEY="key-of-a-vendor", MY_OWN="own",
               DEEPAGENTS_CODE_OPENAI_API_KEY="key-of-a-model")
    other = Rig("AcceptEnv *")
    other.host("sends", other.port, "  ForwardAgent yes\n"
               "  SendEnv *_API_KEY MY_OWN")
    other.config.write_text(other.config.read_text().replace(
        "IdentityAgent none", f"IdentityAgent {agent}"))
    path = tmp_path / "home/.deepagents/config.toml"
    path.write_text('[sandboxes.providers.ssh.params]\nhost = "sends"\n'
                    f'workdir = "{other.home}"\nconfig = "{other.config}"\n')
    with subprocess.Popen(["ssh-agent", "-D", "-a", agent],
                          stdout=subprocess.DEVNULL) as p:
        try:
            wait_for(agent.exists)
            control = subprocess.run(
                ["ssh", "-F", other.config, "sends", "env"], text=True,
                env=env, capture_output=True, check=True).stdout
            r = task(run)
            assert r.status == 0, r.err
            seen = (other.home / "seen").read_text()
        finally:
            p.kill()
            other.close()
    words = ["key-of-a-vendor", "key-of-a-model", env["ANTHROPIC_API_KEY"],
             "SSH_AUTH_SOCK="]
    assert [w for w in words if w not in control] == []
    assert [w for w in words if w in seen] == []
    assert "MY_OWN=own" in seen


def test_a_process_of_another_user_is_left_alone(run, ssh, model):  # noqa: F811
    """Whatever its arguments are: it would keep the sandbox from its end."""
    model([{"text": "done"}])
    assert task(run, "--keep").status == 0
    row = json.loads(run("sandbox", "list", "--json").out)["data"][0]
    words = f"read x; : dcode-exec.{row['label']}"
    with subprocess.Popen(["sh", "-c", f"{words}; read x"], user=65534,
                          stdin=subprocess.PIPE) as p:
        r = run("sandbox", "rm", row["id"], "--force")
        assert p.poll() is None
        p.kill()
    assert r.status == 0, r.err


def far_side(tmp_path, **programs):
    """An sshd whose PATH has these scripts before the usual programs."""
    place = tmp_path / "far"
    place.mkdir()
    for name, text in programs.items():
        (place / name).write_text(f"#!/bin/sh\n{text}\n")
        (place / name).chmod(0o755)
    return Rig(f"SetEnv PATH={place}:/usr/bin:/bin")


@pytest.mark.slow
def test_no_variable_of_a_command_is_an_argument(run, ssh, model,  # noqa: F811
                                                 tmp_path):
    """Other users of the host can read those. The control is what was run."""
    log = tmp_path / "log"
    other = far_side(tmp_path, setsid=f'echo "$@" >>{log}\n'
                     'exec /usr/bin/setsid "$@"')
    (tmp_path / "home/.deepagents/config.toml").write_text(
        '[sandboxes.providers.ssh.params]\nhost = "box"\n'
        f'config = "{other.config}"\n')
    model([execute("echo got=$GIT_TERMINAL_PROMPT"), {"text": "done"}])
    try:
        r = task(run)
    finally:
        other.close()
    assert r.status == 0, r.err
    assert "got=0" in outputs(r)[0]
    assert "echo got=" in log.read_text()
    assert "GIT_TERMINAL_PROMPT=" not in log.read_text()


PODMAN = """echo "$@" >>{log}
case $1 in
ps) echo c1 ;;
run)
    while [ "$1" != the/image ]; do shift; done
    shift
    exec "$@" ;;
esac"""


@pytest.mark.slow
def test_containers_of_killed_commands_go_with_the_sandbox(
        run, ssh, model, tmp_path):  # noqa: F811
    """podman, which would have removed them, is killed, too. A stand-in for
    it says that there is one."""
    log = tmp_path / "log"
    other = far_side(tmp_path, podman=PODMAN.format(log=log))
    (tmp_path / "home/.deepagents/config.toml").write_text(
        '[sandboxes.providers.ssh.params]\nhost = "box"\n'
        f'config = "{other.config}"\nisolate = "podman"\n'
        'image = "the/image"\n')
    model([execute("echo ran; kill -9 $$"), {"text": "done"}])
    try:
        r = task(run)
    finally:
        other.close()
    assert r.status == 0, r.err
    assert "ran" in outputs(r)[0] and "137" in outputs(r)[0]
    calls = log.read_text()
    label = calls.split("--label dcode=")[1].split()[0]
    assert f"ps -aq --filter label=dcode={label}\n" in calls
    assert calls.endswith("rm -f -t 0 c1\n")


@pytest.mark.slow
def test_a_sleep_of_whole_seconds_will_do(start, ssh, model,  # noqa: F811
                                          tmp_path):
    """Output is live, and a time limit ends the command."""
    other = far_side(tmp_path, sleep='case $1 in *.*) exit 1; esac\n'
                     'exec /bin/sleep "$1"')
    (tmp_path / "home/.deepagents/config.toml").write_text(
        '[sandboxes.providers.ssh.params]\nhost = "box"\n'
        f'config = "{other.config}"\n')
    model([execute("echo first; sleep 100", timeout=3), {"text": "done"}])
    try:
        r = start(*TASK)
        line = ""
        while "first" not in line or '"tool_call"' in line:
            line = r.p.stdout.readline()
            assert line
        assert json.loads(line)["type"] == "tool_output", line
        r.wait()
    finally:
        other.close()
    assert r.status == 0, r.err
    assert "timed out" in outputs(r)[0]


def test_what_a_setup_script_exports_goes_with_the_sandbox(
        run, ssh, sshd, model, tmp_path):  # noqa: F811
    """Another sandbox there does not get it."""
    setup = tmp_path / "setup.sh"
    setup.write_text("echo 'export SET_UP=once' >>~/.profile\n")
    model([execute("echo got=$SET_UP; ls -A ~"), {"text": "done"}])
    r = task(run, "--sandbox-setup", setup, "--keep")
    (sshd.home / ".profile").unlink()
    assert r.status == 0, r.err
    assert "got=once" in outputs(r)[0] and ".dcode-env.dc" in outputs(r)[0]
    row = json.loads(run("sandbox", "list", "--json").out)["data"][0]
    model([execute("echo got=$SET_UP."), {"text": "done"}])
    r = task(run)
    assert "got=." in outputs(r)[0]
    assert run("sandbox", "rm", row["id"], "--force").status == 0
    assert list(sshd.home.glob(".dcode*")) == []


def test_what_isolates_has_a_home_of_the_sandboxes_own(
        run, ssh, sshd, model, tmp_path):  # noqa: F811
    """With what the setup script exports; nothing of it is in the user's."""
    ssh(more='isolate = "bwrap"\n')
    setup = tmp_path / "setup.sh"
    setup.write_text("echo 'export SET_UP=once' >>~/.profile\n")
    model([execute("echo got=$SET_UP; echo x >~/mine"),
           execute("cat ~/mine"), {"text": "done"}])
    r = task(run, "--sandbox-setup", setup)
    assert r.status == 0, r.err
    assert "got=once" in outputs(r)[0] and "x" in outputs(r)[1]
    assert list(sshd.home.iterdir()) == []


def test_a_command_reads_no_start_file(run, ssh, sshd,  # noqa: F811
                                       model):
    """Debian's bash does, where it takes itself for the one that sshd began:
    by $SHLVL, which is the positive control."""
    (sshd.home / ".bashrc").write_text("echo a banner\n")
    model([execute("echo one"), execute("env SHLVL=0 bash -c 'echo two'"),
           {"text": "done"}])
    r = task(run)
    (sshd.home / ".bashrc").unlink()
    assert r.status == 0, r.err
    one, two = outputs(r)
    assert "a banner" in two and "two" in two
    assert "one" in one and "a banner" not in one


@pytest.mark.slow
def test_no_network_is_refused_or_kept_to(run, ssh, sshd,  # noqa: F811
                                          model):
    """Also by who goes on in that sandbox; with full: the control."""
    model([{"text": "done"}])
    r = task(run, "--sandbox-network", "none")
    assert r.status == 2 and "cannot control" in r.err
    ssh(more='isolate = "bwrap"\n')
    count = execute("grep -c : /proc/net/dev")
    seen = []
    for network in ("none", "full"):
        model([count, {"text": "done"}])
        r = task(run, "--sandbox-network", network, "--keep")
        assert r.status == 0, r.err
        row = json.loads(run("sandbox", "list", "--json").out)["data"][0]
        model([count, {"text": "done"}])
        again = task(run, "--sandbox-id", row["id"])
        seen.append([int(outputs(x)[0].split()[0]) for x in (r, again)])
        assert run("sandbox", "rm", row["id"], "--force").status == 0
    # Those of other tests come and go beside.
    assert seen[0] == [1, 1] and min(seen[1]) > 1
