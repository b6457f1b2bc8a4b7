"""test_providers.py - programs and Python classes as sandbox providers."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import shutil
import signal
import subprocess
import textwrap
import time

import pytest

from lifecycle import contract, wait_for

LONG = os.environ.get("DCODE_TEST_LONG")
SECRET = "sk-acme-0123456789abcdef"

# A class as packages publish it: what it inherits is not installed here.
CLASS = '''
import asyncio, os, shutil, subprocess, time, uuid
from deepagents.backends.protocol import (
    ExecuteResponse, FileDownloadResponse, FileUploadResponse, GrepResult)
from deepagents.backends.sandbox import BaseSandbox
from deepagents_code.integrations.sandbox_provider import (
    SandboxInstallHint, SandboxNotFoundError, SandboxProvider,
    SandboxProviderMetadata)

ROOT = os.environ["ACME_ROOT"]

class AcmeSandbox(BaseSandbox):
    def __init__(self, path):
        self.path = path

    @property
    def id(self):
        return os.path.basename(self.path)

    def execute(self, command, *, timeout=None):
        print("a word on standard output")
        os.system("echo and one of a program")
        done = subprocess.run(
            ["sh", "-c", command], cwd=self.path, timeout=timeout,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return ExecuteResponse(output=done.stdout.decode(),
                               exit_code=done.returncode, truncated=False)

    def upload_files(self, files):
        return [FileUploadResponse(path=path) for path, _ in files]

    def download_files(self, paths):
        return [FileDownloadResponse(path=path) for path in paths]

class AcmeProvider(SandboxProvider):
    @property
    def metadata(self):
        return SandboxProviderMetadata(
            name="acme", working_dir=os.environ["ACME_WORK"],
            supports_sandbox_id=True,
            install=SandboxInstallHint(kind="package", name="acme-dcode"),
            supports_snapshot_name=True, backend_module="acme")

    def get_or_create(self, *, sandbox_id=None, size="small", snapshot=None,
                      **kwargs):
        if kwargs:
            raise TypeError(f"unexpected: {sorted(kwargs)}")
        if size == "huge":
            raise ValueError("there is no size 'huge'")
        if size == "leak":
            raise RuntimeError("\\x1b[31mkey " + os.environ["ACME_API_KEY"])
        path = os.path.join(ROOT, sandbox_id or uuid.uuid4().hex)
        if sandbox_id and not os.path.isdir(path):
            raise SandboxNotFoundError(sandbox_id)
        os.makedirs(path, exist_ok=True)
        if snapshot:
            with open(os.path.join(path, "snapshot"), "w") as f:
                f.write(snapshot)
        return AcmeSandbox(path)

    def delete(self, *, sandbox_id, **kwargs):
        path = os.path.join(ROOT, sandbox_id)
        if not os.path.isdir(path):
            raise SandboxNotFoundError(sandbox_id)
        shutil.rmtree(path)

class Honest(AcmeProvider):
    """Its own upload_files() does what it says; the other one's does not."""

    class Box(AcmeSandbox):
        def upload_files(self, files):
            for path, data in files:
                with open(path, "wb") as f:
                    f.write(data)
                with open(os.path.join(ROOT, "used"), "a") as f:
                    f.write(f"{path} {len(data)}\\n")
            return super().upload_files(files)

    def get_or_create(self, *, sandbox_id=None, **kwargs):
        return self.Box(super().get_or_create(sandbox_id=sandbox_id).path)

class Listing(AcmeProvider):
    """Lists by pages, and keeps the label that it is given."""

    def get_or_create(self, *, sandbox_id=None, label=None, owner=None):
        made = super().get_or_create(sandbox_id=sandbox_id)
        if label:
            with open(os.path.join(made.path, "label"), "w") as f:
                f.write(f"{label} {owner}")
        if os.path.exists(os.path.join(ROOT, "..", "cut")):
            time.sleep(300)
        return made

    def list(self, *, cursor=None, **kwargs):
        names = sorted(os.listdir(ROOT))
        at = int(cursor or 0)
        with open(os.path.join(ROOT, "..", "listed"), "a") as f:
            f.write(f"{at}\\n")
        return {"items": [self.item(n) for n in names[at:at + 1]],
                "cursor": str(at + 1) if at + 1 < len(names) else None}

    def item(self, name):
        path = os.path.join(ROOT, name, "label")
        label, owner = open(path).read().split() \
            if os.path.exists(path) else ("", "")
        return {"sandbox_id": name, "metadata": {
            "label": label, "owner": owner, "status": "running",
            "created_at": "2026-11-26T10:00:00Z"}}

class ListingAll(Listing):
    """Its list() takes nothing and gives all at once."""

    def list(self):
        return [self.item(n) for n in sorted(os.listdir(ROOT))]

class ListingIds(Listing):
    """No label can be given to it: ids are all that it lists."""

    def get_or_create(self, *, sandbox_id=None, **kwargs):
        return super().get_or_create(sandbox_id=sandbox_id)

    async def alist(self, *, cursor=None, **kwargs):
        return Listing.list(self, cursor=cursor)

    def list(self, *, cursor=None, **kwargs):
        raise NotImplementedError

class Bare:
    """Async, no base class, no metadata, and nothing but execute."""

    class Box:
        def __init__(self, path):
            self.id, self.path = os.path.basename(path), path

        async def aexecute(self, command):
            p = await asyncio.create_subprocess_exec(
                "sh", "-c", command, cwd=self.path,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT)
            out, _ = await p.communicate()
            return {"output": out.decode(), "exit_code": p.returncode}

    async def get_or_create(self, *, sandbox_id=None):
        path = os.path.join(ROOT, sandbox_id or uuid.uuid4().hex)
        if not sandbox_id:
            os.makedirs(path)
        os.stat(path)
        return self.Box(path)

    async def delete(self, *, sandbox_id):
        shutil.rmtree(os.path.join(ROOT, sandbox_id), ignore_errors=True)
'''


@pytest.fixture
def acme(home, env):
    """A package in the private environment; returns where its boxes are."""
    site = home / ".deepagents/python/lib/python3.99/site-packages"
    info = site / "acme_dcode-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "acme.py").write_text(CLASS)
    (info / "entry_points.txt").write_text(
        "[console_scripts]\nx = y:z\n\n[deepagents_code.sandbox_providers]\n"
        "# a comment\nacme = acme:AcmeProvider [extra]\nbad name = a:b\n")
    boxes = home / "boxes"
    boxes.mkdir()
    (home / "space").mkdir()
    env.update(ACME_ROOT=str(boxes), ACME_WORK=str(home / "space"),
               ACME_API_KEY=SECRET)
    return boxes


def example(top, home, name, file):
    place = home / ".deepagents/providers" / f"dcode-sandbox-{name}"
    place.parent.mkdir(parents=True, exist_ok=True)
    source = top / "providers/examples" / file
    if file.endswith(".c"):
        subprocess.run(
            ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-o",
             place, source, "-lcjson", "-pthread"], check=True, timeout=120)
    else:
        shutil.copy(source, place)
        place.chmod(0o755)


def quick(run, name, *options):
    """The contract, without its slow checks but for the long test."""
    return contract(run, name, *([] if LONG else ["--quick"]), *options)


@pytest.mark.slow
def test_python_example(top, home, run, config):
    example(top, home, "directories", "plain_directories.py")
    root = home / "boxes"
    config(f'[sandboxes.providers.directories]\nparams.root = "{root}"\n')
    data, checks = quick(run, "directories")
    assert data["capabilities"] == ["attach", "snapshot", "live-output",
                                    "list"]
    for name in ("attach by id", "list by label", "info", "extend"):
        assert checks[name]["status"] == "ok", name
    assert list(root.iterdir()) == []
    listed = json.loads(run("provider", "list", "--json").out)["data"]
    mine = [p for p in listed if p["name"] == "directories"]
    assert mine[0]["ready"] and mine[0]["origin"].endswith(
        "providers/dcode-sandbox-directories")


@pytest.mark.long  # tasks are run in it
def test_class_of_a_package(run, acme):
    """Published by an entry point; the host calls it as it is."""
    _, checks = quick(run, "acme")
    assert checks["attach by id"]["status"] == "ok"
    assert checks["list by label"]["status"] == "n/a"
    assert list(acme.iterdir()) == []


@pytest.mark.slow
def test_bare_async_class(run, acme, config):
    config('[sandboxes.providers.bare]\nclass_path = "acme:Bare"\n'
           'working_dir = "/no/such/place"\n')
    quick(run, "bare")
    assert list(acme.iterdir()) == []


LISTS = pytest.mark.parametrize("name", ["Listing", "ListingIds"])


@pytest.mark.parametrize("name", ["Listing", "ListingIds", "ListingAll"])
def test_a_class_lists_its_sandboxes(run, acme, config, model, name):
    """Ours by label, or by the id that the ledger knows; others only with
    --all."""
    config(f'[sandboxes.providers.x]\nclass_path = "acme:{name}"\n')
    model([{"text": "done"}])
    r = task(run, "--sandbox", "x", "--keep")
    assert r.status == 0, r.err
    kept, = (p.name for p in acme.iterdir())
    (acme / "a-foreign-one").mkdir()
    (acme / "z-foreign-one").mkdir()
    shown = json.loads(run("sandbox", "list", "--sandbox", "x",
                           "--json").out)["data"]
    assert [s["id"] for s in shown] == [kept]
    assert shown[0]["label"].startswith("dcode-")
    assert shown[0]["state"] == "running"
    assert shown[0]["created"] == 1795687200
    if name != "ListingAll":
        assert (acme / "../listed").read_text().split() == ["0", "1", "2"]
    shown = json.loads(run("sandbox", "list", "--sandbox", "x", "--all",
                           "--json").out)["data"]
    wanted = {kept} if name != "ListingIds" else \
        {kept, "a-foreign-one", "z-foreign-one"}
    assert wanted <= {s["id"] for s in shown}


@LISTS
def test_gc_asks_a_class_for_a_create_that_was_cut(start, run, acme, config,
                                                   model, name):
    """Found by its label and deleted; without labels the ids are named."""
    config(f'[sandboxes.providers.x]\nclass_path = "acme:{name}"\n')
    model([{"text": "done"}])
    (acme / "../cut").touch()
    p = task(start, "--sandbox", "x")
    wait_for(lambda: list(acme.iterdir()))
    p.signal(signal.SIGKILL)
    p.p.wait()
    made, = (p.name for p in acme.iterdir())
    (acme / "foreign").mkdir()
    (acme / "../cut").unlink()
    r = run("sandbox", "gc")
    if name == "Listing":
        assert r.status == 0, r.err
        assert [p.name for p in acme.iterdir()] == ["foreign"]
        assert json.loads(run("sandbox", "list", "--json").out)["data"] == []
    else:
        assert r.status == 1
        assert made in r.out + r.err and "foreign" in r.out + r.err
        assert len(list(acme.iterdir())) == 2


@pytest.mark.parametrize("name", ["Honest", "AcmeProvider"])
def test_large_upload(run, acme, config, tmp_path, name):
    """The backend's own way brings it, or does not: then commands do."""
    config(f'[sandboxes.providers.x]\nclass_path = "acme:{name}"\n')
    (acme / "box").mkdir()
    data = os.urandom(200000)
    (tmp_path / "work/big").write_bytes(data)
    place = acme / "box/new/big"
    r = run("sandbox", "cp", "--sandbox", "x", "big", f"box:{place}")
    assert r.status == 0, r.err
    assert place.read_bytes() == data
    used = acme / "used"
    assert used.exists() == (name == "Honest")
    if used.exists():
        path, size = used.read_text().split()
        assert size == "200000" and not os.path.exists(path)


def task(run, *args, **how):
    return run("-n", "say hi", "-M", "openai:m", *args, **how)


def test_run_in_a_class(run, acme, model):
    """A whole task: the tool's command runs there, and it is deleted."""
    server = model([
        {"tool_calls": [{"name": "execute", "args": {
            "command": "cat ../boxes/*/snapshot"}}]},
        {"text": "done"}])
    r = task(run, "--sandbox", "acme", "--sandbox-snapshot-name", "snap1",
             "-S", "all")
    assert r.status == 0, r.err
    assert "snap1" in json.dumps(server.requests[1]["body"])
    assert list(acme.iterdir()) == []


@pytest.mark.parametrize("how, words, status", [
    ({"size": "huge"}, "Invalid sandbox configuration: there is no size", 1),
    ({"size": "leak"}, "RuntimeError: key [masked:ACME_API_KEY]", 1),
    ({"wrong": 1}, "unexpected: ['wrong']", 1),
])
def test_what_a_class_raises(run, acme, config, model, how, words, status):
    model([{"text": "never"}])
    key, value = next(iter(how.items()))
    config("[sandboxes.providers.acme.params]\n"
           f"{key} = {json.dumps(value)}\n")
    r = task(run, "--sandbox", "acme")
    assert r.status == status and words in r.err, r.err
    assert SECRET not in r.out + r.err and "\x1b" not in r.out + r.err
    assert list(acme.iterdir()) == []


def test_missing_module(run, acme, config, model):
    model([{"text": "never"}])
    config('[sandboxes.providers.gone]\nclass_path = "no.such:Class"\n'
           'package = "acme-dcode"\n')
    r = task(run, "--sandbox", "gone")
    assert r.status == 1 and "No module named 'no'" in r.err
    assert "dcode install acme-dcode --package" in r.err
    # Nothing was made: nothing is left to be looked for.
    assert "Cleanup" not in r.err
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []


def test_no_sandbox_of_that_id(run, acme, model):
    model([{"text": "never"}])
    r = task(run, "--sandbox", "acme", "--sandbox-id", "nowhere")
    assert r.status == 1 and "no such sandbox: nowhere" in r.err


def test_modules_of_the_project_are_not_run(run, acme, config, tmp_path,
                                            model):
    """The control is test_class_of_a_package: the same name, elsewhere."""
    model([{"text": "never"}])
    for name in ("acme2", "json", "asyncio"):
        (tmp_path / "work" / f"{name}.py").write_text(
            f"open({str(tmp_path / 'ran')!r}, 'w')\n" + CLASS)
    config('[sandboxes.providers.x]\nclass_path = "acme2:AcmeProvider"\n')
    r = task(run, "--sandbox", "x")
    assert r.status == 1 and "No module named 'acme2'" in r.err
    assert not (tmp_path / "ran").exists()


def test_unknown_name(run, acme, model):
    model([{"text": "never"}])
    r = task(run, "--sandbox", "acmee")
    assert r.status == 2
    assert textwrap.dedent("""\
        rror: Unknown sandbox provider 'acmee'. Did you mean acme?
        Available providers: acme, """) in r.err
    assert r.err.endswith(
        "\nTo add one of a package: dcode install PACKAGE --package. To add "
        "one of your own: [sandboxes.providers.acmee] in "
        "~/.deepagents/config.toml.\nMore: dcode help sandboxes\n")


def test_on_path_and_on_list(run, env, tmp_path):
    place = tmp_path / "bin"
    place.mkdir()
    program = place / "dcode-sandbox-found"
    program.write_text("#!/bin/sh\necho 'licence expired' >&2\nexit 3\n")
    program.chmod(0o755)
    env["PATH"] = f"{place}:{env['PATH']}"
    r = run("provider", "list", "-v")
    assert f"from: {program}" in r.out
    assert "found" in run("doctor", "-v").out
    r = run("provider", "test", "found", "--quick")
    assert "exited with status 3; it said: licence expired" in r.out
    assert r.status == 1


KEYS = """\
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        names = ("ACME_API_KEY", "ACME_SECRET", "OPENAI_API_KEY",
                 "E2B_API_KEY")
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {
            "code": -32000, "message": "has " + " ".join(
                str(len(os.environ.get(name, ""))) for name in names)}}),
            flush=True)
"""


def keyed(home, name):
    program = home / ".deepagents/providers" / f"dcode-sandbox-{name}"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/usr/bin/env python3\n" + KEYS)
    program.chmod(0o755)


def test_stored_keys_that_it_names(run, home, env, config):
    """Those of its entry, and no other; as strong as a built-in's."""
    def has(name="acme"):
        out = run("provider", "test", name, "--quick").out
        return out.partition("has ")[2].split("\n")[0].split()

    keyed(home, "acme")
    keyed(home, "e2b")
    for name, key in (("openai", "k" * 30), ("e2b", "k" * 40)):
        assert run("auth", "set", name, stdin=key).status == 0
    assert has() == ["0"] * 4
    config('[sandboxes.providers.acme]\n'
           'credentials = ["ACME_API_KEY", "ACME_SECRET"]\n')
    r = run("install", "acme", "--offline")
    assert r.status == 1 and "ACME_API_KEY is not set" in r.out
    assert "dcode auth set acme.acme_secret\n" in r.out
    r = run("auth", "set", "acme", stdin=f"{'k' * 10}\n{'k' * 20}\n")
    assert r.status == 0, r.err
    assert has() == ["10", "20", "0", "0"]
    env.update(ACME_API_KEY="k" * 8, DEEPAGENTS_CODE_ACME_SECRET="k" * 9)
    assert has() == ["10", "9", "0", "0"]
    # One of a built-in's name has its key.
    assert has("e2b") == ["8", "0", "0", "40"]


def test_settings_of_one_on_path(run, env, home, config, tmp_path):
    """And one that only executes is ready."""
    place = tmp_path / "bin"
    place.mkdir()
    program = place / "dcode-sandbox-few"
    program.write_text("""#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m and m["method"] == "initialize":
        assert m["params"]["params"] == {"size": 3}, m
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"],
                          "result": {"protocol": 1}}), flush=True)
    elif "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {
            "code": -32601, "message": "no"}}), flush=True)
""")
    program.chmod(0o755)
    env["PATH"] = f"{place}:{env['PATH']}"
    config("[sandboxes.providers.few]\nparams = { size = 3 }\n")
    r = run("install", "few")
    assert r.status == 0, (r.out, r.err)
    assert "'few' is ready" in r.out and "skipped" not in r.err
    config("[sandboxes.providers.few]\nparams = { size = 4 }\n")
    r = run("install", "few")
    assert r.status == 1 and "AssertionError" in r.out
    config("[sandboxes.providers.fewer]\nparams = { size = 4 }\n")
    assert "skipped" in run("install", "few", "--offline").err


def test_crash_leaves_a_row(run, home, config, model):
    """What it made before it died is told, and cleaned up by its id."""
    model([{"text": "never"}])
    script = home / "half.py"
    script.write_text(textwrap.dedent("""\
        import json, os, sys
        for line in sys.stdin:
            m = json.loads(line)
            if m["method"] == "create":
                os._exit(9)
            print(json.dumps({"jsonrpc": "2.0", "id": m["id"],
                              "result": {"protocol": 1}}), flush=True)
        """))
    config('[sandboxes.providers.half]\n'
           f'command = ["python3", "{script}"]\n')
    r = task(run, "--sandbox", "half")
    assert r.status == 1 and "exited with status 9" in r.err
    listed = json.loads(run("sandbox", "list", "--json").out)["data"]
    assert [row["provider"] for row in listed] == ["half"]


def processes(dcode, env, cwd, *args):
    """Programs that a run started, besides itself."""
    trace = cwd / "trace"
    done = subprocess.run(
        ["strace", "-f", "-o", trace, "-e",
         "trace=execve,execveat,fork,vfork,clone,clone3", dcode, *args],
        env=env, cwd=cwd, capture_output=True, text=True, timeout=120,
        stdin=subprocess.DEVNULL, check=False)
    lines = [x for x in trace.read_text().splitlines() if "exited" not in x]
    started = [x for x in lines if "execve" in x and " = 0" in x
               or "fork(" in x
               or "clone" in x and "CLONE_THREAD" not in x]
    return done, started[1:]


def test_discovery_starts_nothing(dcode_release, env, home, acme, tmp_path,
                                  model):
    model([{"text": "hello"}])
    site = next((home / ".deepagents/python/lib").iterdir()) / "site-packages"
    for i in range(20):
        info = site / f"p{i}-1.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text(
            f"[deepagents_code.sandbox_providers]\np{i} = acme:Bare\n")
    env["DAYTONA_API_KEY"] = "dtn_0123456789abcdef"
    env["DAYTONA_API_URL"] = "http://127.0.0.1:9"
    work = tmp_path / "work"
    for args in (["--version"], ["provider", "list"],
                 ["-n", "x", "-M", "openai:m", "--sandbox", "daytona",
                  "--timeout", "2"]):
        done, started = processes(dcode_release, env, work, *args)
        assert started == [], (args, started)
        assert args[0] != "provider" or "p19" in done.stdout
    # The control, in a trace whose lines are split where threads meet.
    done, started = processes(dcode_release, env, work, "-n", "x", "-M",
                              "openai:m", "--sandbox", "p7")
    assert done.returncode == 0, done.stderr
    assert started != [] and "python3" in (work / "trace").read_text()


def test_its_processes_end_with_dcode(run, home, config, start, model):
    """Also those that it started, when dcode itself is killed."""
    pids = home / "pids"
    script = home / "busy.py"
    script.write_text(textwrap.dedent(f"""\
        import json, os, subprocess, sys, time
        child = subprocess.Popen(["sleep", "1000"])
        open({str(pids)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}\\n")
        for line in sys.stdin:
            m = json.loads(line)
            if m["method"] == "initialize":
                print(json.dumps({{"jsonrpc": "2.0", "id": m["id"],
                                  "result": {{"protocol": 1}}}}), flush=True)
        """))
    config('[sandboxes.providers.busy]\n'
           f'command = ["python3", "{script}"]\n')
    model([{"text": "never"}])
    r = start("-n", "x", "-M", "openai:m", "--sandbox", "busy")
    until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    r.signal()
    r.wait()
    assert r.status == 130
    for pid in pids.read_text().split():
        until(lambda pid=pid: not alive(pid))


def alive(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rsplit(")", 1)[1].split()[0] != "Z"


def until(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
