"""test_trust_a2_programs.py - nothing of the directory dcode is started in
runs, and no variable of a project's .env reaches a program."""
# SPDX-License-Identifier: MIT
import json
import os
import subprocess
import sysconfig
import textwrap

import pytest

from agentcore import ID, SECRET
from clouds import DONE, task_of
from test_agentcore_keys import aws  # noqa: F401 (a fixture)
from test_install import wheel

PYTHON = "/usr/bin/python3"
LOUD = ("KUBECONFIG", "DOTNET_STARTUP_HOOKS", "CONTAINERS_CONF", "LUA_INIT",
        "PIP_CONFIG_FILE", "GOFLAGS", "PERL5OPT", "RUBYOPT")
PROVIDER = """\
#!/usr/bin/python3
import json, os, subprocess, sys
seen = {"cwd": os.getcwd(), "env": dict(os.environ), "argv0": sys.argv[0]}
subprocess.run("git --version; true", shell=True, stdout=2)
open(os.path.expanduser("~/seen"), "w").write(json.dumps(seen))
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"],
                          "result": {"protocol": 1, "id": "b1"}}), flush=True)
"""
CLASS = """\
import os, json
try:
    import extra
    found = extra.__file__
except ImportError:
    found = None


class Box:
    def __init__(self):
        seen = {"cwd": os.getcwd(), "extra": found}
        open(os.path.expanduser("~/seen"), "w").write(json.dumps(seen))
        raise ValueError("seen")
"""


@pytest.fixture(autouse=True)
def debian(env):
    env["PATH"] = "/usr/bin:/bin"


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def work(home, tmp_path):
    """A repository with a trap under each name that something looks for;
    whatever runs of it leaves the file tmp_path/ran."""
    work = tmp_path / "work"
    ran = tmp_path / "ran"
    for name in ("bwrap", "python3", "git", "sh", "cp", "docker", "env",
                 "acme-provider", "bin/acme-provider", "dcode-sandbox-acme",
                 "python/bin/python3", ".venv/bin/python3"):
        program(work / name, f"#!/bin/sh\necho {name} >>{ran}\nexit 1\n")
    trap = (f"import posix\nf = posix.open({str(ran)!r}, 1089, 420)\n"
            "posix.write(f, __name__.encode())\n")
    version = "python" + sysconfig.get_python_version()
    for name in ("pip/__init__.py", "pip/__main__.py", "venv/__init__.py",
                 "venv/__main__.py", "encodings/__init__.py", "site.py",
                 "io.py", "json.py", "acme.py", "extra.py",
                 "sitecustomize.py", "usercustomize.py",
                 f"lib/{version}/encodings/__init__.py",
                 f"lib/{version}/os.py", f"lib/{version}/site.py"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(trap)
    (work / "pip.conf").write_text("[global]\ntarget = /nowhere\n")
    (work / "setup.cfg").write_text("[install]\nprefix = /nowhere\n")
    return work


def platlibdir(work):
    """What makes a Python below /usr take its encodings from work/lib."""
    return os.path.relpath(work / "lib", "/usr")


def seen(home):
    return json.loads((home / "seen").read_text())


def test_the_traps_work(work, tmp_path):
    """The control: what the other tests would see."""
    ran = tmp_path / "ran"
    for command, more in (
            ([PYTHON, "-m", "pip"], {}),
            ([PYTHON, "-c", ""], {"PYTHONPLATLIBDIR": platlibdir(work)}),
            ([PYTHON, "-c", "import acme"], {"PYTHONPATH": ":/nowhere"}),
            (["/bin/sh", "-c", "git"], {"PATH": ":/usr/bin"})):
        subprocess.run(command, cwd=work, env={"PATH": "/usr/bin", **more},
                       check=False, capture_output=True, timeout=60)
        assert ran.exists(), command
        ran.unlink()


def test_install_runs_the_pip_of_the_interpreter(run, work, home, tmp_path):
    r = run("install", str(wheel(tmp_path)), "--package", "--yes",
            "--offline")
    assert r.status == 0, r.err
    assert "Provider 'acme'" in r.out
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["acme_box-1.0-py3-none-any.whl",
                                  "./acme_box-1.0-py3-none-any.whl",
                                  "sub/../acme_box-1.0-py3-none-any.whl"])
def test_install_of_a_relative_path_is_of_the_users_directory(
        run, work, tmp_path, name):
    (work / "sub").mkdir()
    wheel(work)
    r = run("install", name, "--package", "--yes", "--offline")
    assert r.status == 0, r.err
    assert "Provider 'acme'" in r.out
    assert not (tmp_path / "ran").exists()


def test_a_python_provider_runs_none_of_its_encodings(run, work, home, config,
                                                      tmp_path):
    (work / ".env").write_text(f"PYTHONPLATLIBDIR={platlibdir(work)}\n")
    good = program(home / "good" / "box.py", CLASS).parent
    site = home / ".deepagents/python/site-packages"
    site.mkdir(parents=True)
    (site / "box.py").symlink_to(good / "box.py")
    config('[sandboxes.providers.acme]\nclass_path = "box:Box"\n')
    r = run("install", "acme")
    assert "ValueError" in r.out or "seen" in r.out, (r.out, r.err)
    assert seen(home) == {"cwd": "/", "extra": None}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("place", ["PYTHONPATH", "VIRTUAL_ENV", "user site",
                                   "zip"])
def test_isolation_takes_nothing_of_the_users_away(run, work, home, config,
                                                   env, tmp_path, place):
    version = "python" + sysconfig.get_python_version()
    mine = home / "mine"
    sites = {"PYTHONPATH": mine, "zip": mine,
             "VIRTUAL_ENV": mine / "lib" / version / "site-packages",
             "user site":
                 home / ".local/lib" / version / "site-packages"}
    site = sites[place]
    program(site / "box.py", CLASS)
    (site / "extra.py").write_text("")
    if place == "zip":
        subprocess.run([PYTHON, "-m", "zipfile", "-c", home / "m.zip",
                        "box.py", "extra.py"], cwd=mine, check=True,
                       timeout=60)
        site = home / "m.zip"
    if place in ("PYTHONPATH", "zip"):
        env["PYTHONPATH"] = f":lib:{site}:."
    if place == "VIRTUAL_ENV":
        env["VIRTUAL_ENV"] = str(mine)
    config('[sandboxes.providers.acme]\nclass_path = "box:Box"\n')
    r = run("install", "acme")
    assert (home / "seen").exists(), (r.out, r.err)
    assert seen(home) == {"cwd": "/", "extra": str(site / "extra.py")}
    assert not (tmp_path / "ran").exists()


def test_a_provider_gets_what_was_exported_and_its_credentials(
        run, work, home, config, env, tmp_path):
    command = program(home / "acme", PROVIDER)
    lines = "".join(f"{name}={work}\n" for name in LOUD)
    (work / ".env").write_text(lines + "ACME_API_KEY=of-the-project\n")
    env.update(EXPORTED="yes", KUBECONFIG="/of/the/user")
    (home / ".deepagents").mkdir(exist_ok=True)
    (home / ".deepagents/.env").write_text("ACME_TOKEN=mine\nOTHER=mine\n")
    config(f'[sandboxes.providers.acme]\ncommand = ["{command}"]\n'
           'credentials = ["ACME_TOKEN"]\n')
    run("install", "acme")
    got = seen(home)["env"]
    assert got.pop("KUBECONFIG") == "/of/the/user"
    assert got.pop("EXPORTED") == "yes"
    assert got.pop("ACME_TOKEN") == "mine"
    assert not set(got) & {*LOUD, "ACME_API_KEY", "OTHER"}, got
    assert seen(home)["cwd"] == "/"


@pytest.mark.parametrize("name", ["bin/acme-provider", "./bin/acme-provider",
                                  "../.deepagents/bin/acme-provider"])
def test_a_relative_command_is_of_the_configs_directory(
        run, work, home, config, tmp_path, name):
    place = home / ".deepagents"
    program(place / "bin/acme-provider", PROVIDER)
    config(f'[sandboxes.providers.acme]\ncommand = ["{name}"]\n')
    r = run("install", "acme")
    assert (home / "seen").exists(), (r.out, r.err)
    assert os.path.realpath(seen(home)["argv0"]) == \
        str(place / "bin/acme-provider")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("path", [":/usr/bin:/bin", "/usr/bin::/bin",
                                  "bin:.:/usr/bin:/bin"])
def test_relative_entries_of_path_are_ignored(run, work, home, config, env,
                                              tmp_path, path):
    """By dcode, and by what it starts: the provider calls git."""
    env["PATH"] = path
    config('[sandboxes.providers.acme]\ncommand = ["acme-provider"]\n')
    r = run("install", "acme")
    assert "program not found: acme-provider" in r.out + r.err
    mine = program(home / "mine/acme-provider", PROVIDER).parent
    env["PATH"] += f":{mine}"
    r = run("install", "acme")
    assert (home / "seen").exists(), (r.out, r.err)
    assert seen(home)["env"]["PATH"] == f"/usr/bin:/bin:{mine}"
    assert not (tmp_path / "ran").exists()


def key_program(home):
    return program(home / "key", textwrap.dedent(f"""\
        #!/bin/sh
        pwd >~/seen
        env >>~/seen
        git --version >/dev/null
        echo '{{"Version":1,"AccessKeyId":"{ID}",'
        echo '"SecretAccessKey":"{SECRET}"}}'
        """))


def test_credential_process_has_nothing_of_the_project(
        run, aws, model, work, home, env, tmp_path):  # noqa: F811
    cloud = aws()
    for name in [n for n in env if n.startswith("AWS_") and "URL" not in n]:
        del env[name]
    cloud.keys = {ID: (SECRET, None)}
    (home / "aws").write_text(
        f"[default]\ncredential_process = {key_program(home)}\n")
    env.update(AWS_EC2_METADATA_DISABLED="true", EXPORTED="yes",
               AWS_CONFIG_FILE=str(home / "aws"))
    env["PATH"] = ":" + env["PATH"]
    (work / ".env").write_text("".join(f"{name}=x\n" for name in LOUD))
    model([DONE])
    r = task_of(run, "agentcore")()
    assert r.status == 0, r.err
    got = (home / "seen").read_text().split("\n")
    assert got[0] == "/" and "EXPORTED=yes" in got
    assert not [x for x in got if x.split("=")[0] in LOUD]
    assert not (tmp_path / "ran").exists()
    # A relative file would be the repository's.
    (work / "conf").write_text((home / "aws").read_text())
    env["AWS_CONFIG_FILE"] = "conf"
    r = task_of(run, "agentcore")()
    assert r.status == 1
    assert "AWS_CONFIG_FILE is a relative path" in r.err


def opened(trace, work, *, thread=False):
    """Files below work that were opened or run, relative to it; a run's
    thread is listed with its branch, which .git/HEAD names, and its model is
    told of skills: text, as AGENTS.md is."""
    found = set()
    for line in trace.read_text(errors="replace").splitlines():
        if f"AT_FDCWD<{work}>" in line or f"{work}/" in line:
            name = line.partition('"')[2].partition('"')[0]
            path = os.path.normpath(os.path.join(str(work), name))
            if path.startswith(f"{work}/"):
                found.add(os.path.relpath(path, work))
    read = {".env", "AGENTS.md", ".deepagents/AGENTS.md"}
    if thread:
        read |= {".git", ".git/HEAD", ".deepagents/skills", ".agents/skills",
                 ".claude/skills"}
    return found - read


@pytest.mark.parametrize("args", [
    ("install", "{wheel}", "--package", "--yes", "--offline"),
    ("install", "all-sandboxes", "--offline"), ("install", "local"),
    ("uninstall", "acme", "--yes"), ("provider", "list"), ("doctor",),
    ("install", "program"),
    ("install", "class"),
    ("provider", "test", "local", "--quick", "--only", "exit"),
    ("install", "service"),
    ("sandbox", "list", "--all"), ("sandbox", "gc"),
    ("-n", "x", "--sandbox", "program"),
], ids=lambda args: "-".join(args[:3]))
def test_no_file_of_the_directory_is_opened(dcode_release, work, home, config,
                                            env, model, tmp_path, args):
    model([{"text": "done."}])
    program(home / "program", PROVIDER)
    site = home / ".deepagents/python/site-packages"
    site.mkdir(parents=True)
    (site / "box.py").write_text(CLASS)
    config(textwrap.dedent(f"""\
        [models]
        default = "anthropic:m"
        [sandboxes.providers.program]
        command = ["{home}/program"]
        [sandboxes.providers.class]
        class_path = "box:Box"
        [sandboxes.providers.service.http]
        base = "http://127.0.0.1:9"
        create = {{ path = "/boxes", id = "/id" }}
        execute = {{ path = "/run", output = "/out", exit_code = "/code" }}
        delete = {{ path = "/boxes/{{id}}" }}
        """))
    env.update(PATH=f":{env['PATH']}:.", PYTHONPATH=":.")
    (work / ".env").write_text(f"PYTHONPLATLIBDIR={platlibdir(work)}\n")
    args = [a.format(wheel=wheel(tmp_path)) for a in args]
    trace = tmp_path / "trace"
    strace(trace, [dcode_release, *args], env, work)
    assert str(dcode_release) in trace.read_text()
    assert opened(trace, work, thread="-n" in args) == set()
    assert not (tmp_path / "ran").exists()


def strace(trace, command, env, cwd):
    subprocess.run(
        ["strace", "-f", "-y", "-s", "4096", "-o", trace, "-e",
         "trace=execve,execveat,open,openat,openat2", *command],
        env=env, cwd=cwd, check=False, capture_output=True, timeout=120,
        stdin=subprocess.DEVNULL)


def test_what_the_user_asks_for_runs_in_his_directory(
        dcode_release, work, env, model, tmp_path):
    """The control: there the trace does show the repository's files."""
    model([{"tool_calls": [{"name": "execute", "args": {
        "command": "pwd >pwd; ./acme-provider; test -z \"$GOFLAGS\""}}]},
        {"text": "done."}])
    (work / ".env").write_text("GOFLAGS=x\n")
    trace = tmp_path / "trace"
    strace(trace, [dcode_release, "-n", "x", "-M", "anthropic:m", "-y"], env,
           work)
    assert (work / "pwd").read_text() == f"{work}\n"
    assert (tmp_path / "ran").exists()
    assert {"pwd", "acme-provider"} <= opened(trace, work)
