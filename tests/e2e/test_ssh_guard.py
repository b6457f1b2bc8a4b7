"""test_ssh_guard.py - what a host gets of the user's, and what stays on it."""
# SPDX-License-Identifier: MIT
import json
import subprocess

from lifecycle import execute, wait_for
from sshd_rig import Rig
from test_ssh import outputs, ssh, sshd, task  # noqa: F401


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
