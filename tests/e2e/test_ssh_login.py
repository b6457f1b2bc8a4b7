"""test_ssh_login.py - hosts whose logins are not what dcode hopes for."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import pwd
import shutil

import pytest

import sshd_rig
from lifecycle import execute
from sshd_rig import Rig
from test_ssh import TASK, left, outputs, task

RUNS = 'exec sh -c "$SSH_ORIGINAL_COMMAND"'


@pytest.fixture(scope="module")
def rig():
    """login() writes what sshd runs for each login."""
    r = Rig.__new__(Rig)
    whole = sshd_rig.CONF
    sshd_rig.CONF = whole.split("ForceCommand")[0] + \
        "ForceCommand exec {dir}/login\n"
    try:
        r.__init__()
    finally:
        sshd_rig.CONF = whole
    yield r
    r.close()


@pytest.fixture
def login(rig, config, run):
    config('[sandboxes.providers.ssh.params]\nhost = "box"\n'
           f'config = "{rig.config}"\n')

    def write(*lines):
        path = rig.dir / "login"
        path.unlink(missing_ok=True)
        path.write_text("\n".join([
            "#!/bin/sh", f"export HOME='{rig.home}'", "cd", *lines, ""]))
        path.chmod(0o755)
    yield write
    rows = json.loads(run("sandbox", "list", "--all", "--json").out)["data"]
    assert left(rig, [row["label"] for row in rows]) == []


REFUSALS = {
    "prints and ends": (["echo This account is for git only.", "exit 1"],
                        "This account is for git only."),
    "complains and ends": (["echo Expired. >&2", "exit 7"], "Expired."),
    "ends": (["exit 0"], "ssh exited with status 0"),
    "echoes": (["exec cat"], "not a shell"),
    "prints without end": (["exec cat /dev/zero"], "it sent unexpected output"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_login_that_runs_no_shell_is_told_as_it_is(run, login, model, name):
    lines, words = REFUSALS[name]
    login(*lines)
    model([{"text": "done"}])
    r = task(run)
    assert r.status == 1 and words in r.err, r.err
    assert "cannot log in" not in r.err and "Cleanup failed" not in r.err
    assert "ssh box date" in r.err or "connection to box" in r.err
    rows = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert rows == []


def test_a_login_that_the_end_of_the_run_cuts_off_leaves_nothing(
        run, login, model):
    """The model fails first, while the sandbox waits for the login."""
    login("sleep 1", "exit 1")
    model([])
    r = task(run)
    assert r.status == 1 and "script: no turn" in r.err, r.err
    assert "Cleanup failed" not in r.err
    rows = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert rows == []


@pytest.mark.slow
def test_start_files_may_print(run, login, model):
    login("yes out | head -n 1000", "yes err | head -n 1000 >&2",
          "printf 'no end of line'", RUNS)
    model([execute("echo ran"), {"text": "done"}])
    r = task(run)
    assert r.status == 0, r.err
    assert outputs(r)[0].startswith("ran\n")


@pytest.mark.parametrize("host, works", [
    ("{user}@127.0.0.1:{port}", False), ("ssh://{user}@[::1]:{port}", False),
    ("[::1]", False), ("ssh://{user}@127.0.0.1:{port}", True)])
def test_how_a_port_is_written_is_told(run, login, model, rig, host, works):
    login(RUNS)
    rig.host("127.0.0.1", rig.port)
    model([execute("echo ran"), {"text": "done"}])
    r = run(*TASK, "--sandbox-id", host.format(user=rig.user, port=rig.port))
    if works:
        assert r.status == 0 and "ran" in outputs(r)[0], r.err
    else:
        assert r.status == 1 and "ssh://user@name:port" in r.err, r.err


@pytest.mark.parametrize("missing", ["dd", "mkfifo", "base64"])
def test_a_program_that_a_host_lacks_is_named(run, login, model, rig, missing):
    place = rig.dir / f"no-{missing}"
    place.mkdir()
    for name in ("cat", "date", "dd", "grep", "head", "id", "mkdir", "mkfifo",
                 "mv", "rm", "sh", "sleep", "tail", "wc"):
        if name != missing:
            (place / name).symlink_to(shutil.which(name))
    login(f"PATH={place}", RUNS)
    model([{"text": "done"}])
    r = task(run)
    assert r.status == 1 and f"its PATH has no program {missing}" in r.err


@pytest.mark.parametrize("line", ["unset HOME", "HOME=", "HOME=."])
def test_a_login_without_a_home_has_its_users(run, login, model, line):
    login(line, RUNS)
    model([execute("pwd"), {"text": "done"}])
    r = run(*TASK, "--sandbox-id", "box")
    assert r.status == 0, r.err
    own = pathlib.Path(pwd.getpwuid(os.geteuid()).pw_dir).resolve()
    assert outputs(r)[0].split("\n")[0] == str(own)


def test_a_home_that_is_no_path_is_refused(run, login, model, rig):
    """Before anything is made."""
    name = rig.dir / "id"
    name.write_text("#!/bin/sh\necho 'nobody at all'\n")
    name.chmod(0o755)
    (rig.dir / "a\nb").mkdir()
    for home in ("HOME=.", f"HOME='{rig.dir}/a\nb'"):
        login(f"PATH={rig.dir}:$PATH", home, "cd \"$HOME\"", RUNS)
        model([{"text": "done"}])
        r = task(run)
        assert r.status == 1 and "HOME on box is not an" in r.err, r.err
    assert list((rig.dir / "a\nb").iterdir()) == []


@pytest.mark.parametrize("name", ["a  b", "it's \"q\" $x `y`", "höme-日本",
                                  "h*me[a]?", "back\\nslash\\"])
def test_a_home_may_have_any_other_name(run, login, model, rig, name):
    home = rig.dir / name
    home.mkdir()
    word = str(home).replace("'", "'\\''")
    login(f"HOME='{word}'", "cd \"$HOME\"", RUNS)
    model([execute("pwd; echo a >b; cat b"), {"text": "done"}])
    r = task(run)
    assert r.status == 0, r.err
    assert outputs(r)[0].startswith(f"{home}/dcode/dcode-")
    assert list(home.iterdir()) == []
