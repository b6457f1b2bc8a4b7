"""test_trust_c12_shell_variables.py - what a setup script leaves in ~/.bashrc
and ~/.profile is there in every later command."""
# SPDX-License-Identifier: MIT
import json

import pytest

from clouds import DONE, NAMES, per_tool, results
from lifecycle import execute, wait_for

pytestmark = pytest.mark.usefixtures("sandbox_first")

SECRET = "s3cr3t-T0ken-0123456789"
SCRIPT = """#!/bin/sh
set -e
mkdir -p "$HOME/tools"
printf '#!/bin/sh\\necho tool ran\\n' >"$HOME/tools/my-tool"
chmod 755 "$HOME/tools/my-tool"
# Debian's skeleton
cat >>"$HOME/.bashrc" <<'RC'
case $- in *i*) ;; *) return ;; esac
RC
cat >>"$HOME/.profile" <<'RC'
if [ -n "$BASH_VERSION" ]; then . "$HOME/.bashrc"; fi
cd /
RC
echo 'export FOO=bar' >>"$HOME/.bashrc"
echo 'PATH=$PATH:$HOME/tools' >>"$HOME/.bashrc"
echo 'export COUNT=x$COUNT' >>"$HOME/.bashrc"
echo 'export API_TOKEN="${API_TOKEN}"' >>"$HOME/.profile"
"""
LOOK = ('echo "[$FOO] [$COUNT] [$API_TOKEN] ${#API_TOKEN}"; my-tool; pwd; '
        'sh -c "echo again $FOO"')


def sandbox_of(name, request, env, config):
    """Ready for `--sandbox name`; the emulator, where there is one."""
    if name == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\nnetwork = "none"\n')
    elif name != "local":
        return request.getfixturevalue("vendor")(name)
    return None


@pytest.fixture
def look(model, run, env, tmp_path):
    """look(provider, script, command...): what the commands printed."""
    def go(name, script, *commands, **how):
        (tmp_path / "s.sh").write_text(script)
        go.server = model([execute(c) for c in commands] + [DONE])
        go.run = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name,
                     "--sandbox-setup", tmp_path / "s.sh",
                     *how.get("options", ()), timeout=90)
        assert go.run.status == 0, go.run.err
        return results(go.server)
    env["API_TOKEN"] = SECRET
    return go


@pytest.mark.parametrize("name", ["local", "docker", *NAMES])
def test_variables_and_path_are_there(request, env, config, look, name):
    cloud = sandbox_of(name, request, env, config)
    told = look(name, SCRIPT, LOOK, LOOK)
    for text in told:
        assert f"[bar] [x] [[masked:API_TOKEN]] {len(SECRET)}\n" in text
        assert "tool ran\n" in text and "again bar" in text
    everything = look.run.out + look.run.err + json.dumps(
        [q["body"] for q in look.server.requests])
    assert SECRET not in everything
    if cloud:  # modal starts a command and reads it; deno has one socket
        wanted = {"modal": 2, "deno": 0}.get(name, 1)
        assert per_tool(cloud, look.server)[1] == [wanted] * 2


def test_without_a_script_nothing_is_read_or_asked(request, env, config,
                                                   model, run):
    cloud = sandbox_of("daytona", request, env, config)
    server = model([execute("echo 'export FOO=bar' >>~/.bashrc; ls -A ~"),
                    execute("echo [$FOO]; ls -A ~ | grep env"), DONE])
    r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "daytona")
    assert r.status == 0, r.err
    assert "[]" in results(server)[1]
    assert ".dcode-env" not in "".join(results(server))
    assert per_tool(cloud, server)[1] == [1, 1]


NASTY = r"""
cat >"$HOME/.bashrc" <<'RC'
echo printed; echo error >&2
read -r line
exec no-such-shell
MULTI="a
export EVIL=1
it's \"quoted\" \$x \\"
PS1=no TERM=no
readonly RO=ro
RC
cat >"$HOME/.profile" <<'RC'
export FIRST=1
trap 'echo trapped' EXIT
set -e
false
export NEVER=1
RC
echo 'export LAST=1; exit 7' >"$HOME/.bash_profile"
"""


@pytest.mark.parametrize("name", ["local", "docker"])
def test_files_that_print_read_exec_exit_and_trap(request, env, config, look,
                                                  name):
    """docker's image has no bash, local has."""
    sandbox_of(name, request, env, config)
    told = look(name, NASTY, "printf '%s\\n' \"$MULTI\" "
                '"<$RO$FIRST$LAST$NEVER$EVIL>"; echo "[$PS1$TERM]"',
                "ls -A ~")
    assert "a\nexport EVIL=1\nit's \"quoted\" $x \\\n<ro11>\n" in told[0]
    assert "[no" not in told[0] and "no]" not in told[0]
    assert sorted(f for f in told[1].split() if "dcode" in f) == [".dcode-env"]


def test_a_file_that_never_ends_is_left_after_ten_seconds(look):
    told = look("local", """
echo 'export A=1; while :; do sleep 0.1; done' >>"$HOME/.bashrc"
echo 'export B=2' >>"$HOME/.profile"
""", 'echo "[$A$B]"; ps ax 2>/dev/null | grep -c "[s]leep 0.1"')
    assert "[12]" in told[0]


def test_later_runs_in_the_same_sandbox_have_them(vendor, look, model, run,
                                                  start):
    """By --sandbox-id after the setup, and with sandbox exec."""
    cloud = vendor("daytona")
    server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
    other = start("-n", "hi", "-M", "anthropic:m", "--sandbox", "daytona")
    wait_for(lambda: server.model.received)
    (row,) = json.loads(run("sandbox", "list", "--json").out)["data"]
    options = ("--sandbox-id", row["id"])
    look("daytona", SCRIPT, LOOK, options=options)
    r = run("sandbox", "exec", row["name"], "--", 'echo "[$FOO]"; my-tool')
    assert r.out == "[bar]\ntool ran\n", r.err
    server = model([execute('echo "[$FOO] [$COUNT]"'), DONE])
    r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "daytona",
            *options)
    assert r.status == 0 and "[bar] [x]" in results(server)[0]
    other.signal()
    other.wait(20)
    assert cloud.left() == []
