"""test_install.py - dcode install: ready or not, and what others made."""
# SPDX-License-Identifier: MIT
import base64
import hashlib
import json
import os
import signal
import stat
import time
import zipfile

import pytest

from daytona import Daytona

LOG = ".deepagents/.state/install.log"
SITE = ".deepagents/python/site-packages"
PROGRAM = "#!/bin/sh\nexec cat\n"


@pytest.fixture(autouse=True)
def debian(env):
    """The system's own Python, with its pip and setuptools."""
    env["PATH"] = "/usr/bin:/bin:/usr/sbin:/sbin"


@pytest.fixture
def install(run):
    def go(*args, status=0, **how):
        r = run("install", *args, **how)
        assert r.status == status, (r.out, r.err)
        return r
    return go


def wheel(folder, name="acme_box", version="1.0", provider="acme",
          files=None, needs=None):
    """A wheel that publishes a provider, made by hand."""
    files = dict(files or {f"{name}/__init__.py": "class Box:\n    pass\n"})
    info = f"{name}-{version}.dist-info"
    files[f"{info}/METADATA"] = \
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    if needs:
        files[f"{info}/METADATA"] += f"Requires-Dist: {needs}\n"
    files[f"{info}/WHEEL"] = \
        "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/entry_points.txt"] = \
        f"[deepagents_code.sandbox_providers]\n{provider} = {name}:Box\n"
    record = "".join(
        "%s,sha256=%s,%d\n" % (path, base64.urlsafe_b64encode(
            hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode(),
            len(text)) for path, text in files.items())
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as z:
        for at, text in files.items():
            z.writestr(at, text)
    return path


def tree(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*")
                  if "__pycache__" not in str(p)) if folder.exists() else []


def providers(run):
    return [row["name"] for row in
            json.loads(run("provider", "list", "--json").out)["data"]]


def test_a_vendor(install, env):
    with Daytona() as cloud:
        r = install("daytona", status=1)
        assert "'daytona' is built in" in r.out
        assert "DAYTONA_API_KEY" in r.out and "app.daytona.io" in r.out
        assert "dcode auth set daytona" in r.out
        assert not cloud.requests
        env.update(cloud.env)
        r = install("daytona", "--offline")
        assert "DAYTONA_API_KEY: env" in r.out and not cloud.requests
        r = install("daytona")
        assert "answered in" in r.out
        assert "dcode --sandbox daytona" in r.out
        assert len(cloud.requests) == 1 and cloud.violations == []
        env["DAYTONA_API_KEY"] = "dtn_wrong_0123456789"
        r = install("daytona", status=1)
        assert "401" in r.out and "dtn_wrong" not in r.out + r.err
        data = json.loads(install("daytona", "--json", status=1).out)["data"]
        assert (data["ready"], data["verified"]) == (False, False)


def test_the_key_is_asked_for(terminal, env):  # noqa: F811
    with Daytona() as cloud:
        env.update(cloud.env)
        key = env.pop("DAYTONA_API_KEY")
        t = terminal("install", "daytona")
        t.until("API key for daytona (not shown): ")
        t.type(key + "\n")
        t.until("is ready")
        assert t.end() == 0
        assert key not in t.seen and len(cloud.requests) == 1
        t = terminal("--install", "daytona")
        t.until("DAYTONA_API_KEY: stored")
        assert t.end() == 0


@pytest.mark.long  # slow
def test_a_vendor_that_is_not_there(install, env):
    env["DAYTONA_API_KEY"] = "dtn_" + "0" * 64
    env["DAYTONA_API_URL"] = "http://127.0.0.1:9/api"
    r = install("daytona", status=1)
    assert "not ready" in r.out and r.seconds < 100


def test_helpers(install, env):
    assert "'local' is ready" in install("local").out
    env["DOCKER_HOST"] = "unix:///nonexistent.sock"
    assert "/nonexistent.sock" in install("docker", status=1).out
    env["PATH"] = "/nonexistent"
    assert "bubblewrap (bwrap) is not installed" in \
        install("local", status=1).out


def test_all(install, env):
    env["DOCKER_HOST"] = "unix:///nonexistent.sock"
    r = install("all-sandboxes", "--offline", status=1)
    assert "'local' is ready" in r.out and "'e2b' is not ready" in r.out
    assert "sandbox providers are ready" in r.out
    rows = json.loads(install("all-sandboxes", "--offline", "--json",
                              status=1).out)["data"]
    ready = {row["name"]: row["ready"] for row in rows}
    assert ready["local"] and not ready["runloop"] and "none" not in ready


def test_a_model(install, env):
    assert "OPENAI_API_KEY is not set" in install("openai", status=1).out
    env["GOOGLE_API_KEY"] = "AIza0123456789"
    assert "'google_genai' is ready" in install("google-genai").out


def test_wrong_use(install, run):
    r = install(status=2)
    assert "usage: dcode install" in r.err and "needs PROVIDER" in r.err
    r = install("nope", status=2)
    assert "'nope' is not a known extra." in r.err
    assert "Known extras:" in r.err and "--package" in r.err
    assert "Invalid extra name 'a b'" in install("a b", status=2).err
    assert "Invalid extra name" in install("a\x1b[31m", status=2).err
    r = run("--package")
    assert r.status == 2
    assert "--package is an option of dcode install" in r.err
    assert run("--yes", "-n", "x").status == 2
    assert run("config", "--offline").status == 2
    r = run("uninstall", "nope", "--yes")
    assert r.status == 1 and "'nope' is not installed" in r.err
    assert run("uninstall", "nope").status == 2
    for name in ("--index-url=x", "-rfile"):
        assert run("install", "--package", "--", name, "--yes").status == 2
    for name in ("https://example.org/x.whl", "a;b", "a b", "a\nb"):
        assert run("install", name, "--package", "--yes").status == 2


def refused(install, site, path):
    """An installation that fails, and changes nothing."""
    before = tree(site)
    r = install(str(path), "--package", "--yes", "--offline", status=1)
    assert "Install failed: " in r.err and "Log: " in r.err
    assert "Run manually: " in r.err
    assert tree(site) == before
    assert not list(site.parent.glob(".install*"))


@pytest.mark.slow
def test_wheels(install, run, home, tmp_path):
    site = home / SITE
    path = wheel(tmp_path)
    r = install(str(path), "--package", status=2)
    assert "runs third-party code" in r.err
    assert "Refusing package install in non-interactive mode." in r.err
    assert tree(site.parent) == []
    r = install(str(path), "--package", "--yes", "--offline")
    assert "Install log: tail -f " + str(home / LOG) in r.err
    assert "Installed package" in r.out
    assert "Provider 'acme': dcode --sandbox acme" in r.out
    assert "acme" in providers(run)
    assert stat.S_IMODE(os.stat(home / LOG).st_mode) == 0o600
    assert "pip install" in (home / LOG).read_text()
    # What cannot be read, and what needs what is not there.
    broken = tmp_path / "broken-1.0-py3-none-any.whl"
    broken.write_bytes(b"PK no wheel")
    refused(install, site, broken)
    refused(install, site, wheel(tmp_path, "needy_box", provider="needy",
                                 needs="nowhere-to-be-found"))
    # A newer version takes the older one's place; others stay. What a killed
    # run left goes.
    other = wheel(tmp_path, "other_box", provider="other")
    (site.parent / ".install-1" / "x").mkdir(parents=True)
    r = install(str(other), "--package", "--yes", "--offline")
    assert "'other'" in r.out and "'acme'" not in r.out
    assert not (site.parent / ".install-1").exists()
    newer = wheel(tmp_path, version="2.0", files={
        "acme_box/new.py": "class Box:\n    version = 2\n"})
    install(str(newer), "--package", "--yes", "--offline")
    assert {"acme", "other"} < set(providers(run))
    names = tree(site)
    assert "acme_box-2.0.dist-info" in names and "acme_box/new.py" in names
    assert "acme_box-1.0.dist-info" not in names
    assert "acme_box/__init__.py" not in names
    # A RECORD that names files elsewhere does not remove them.
    victim = tmp_path / "victim"
    victim.write_text("x")
    record = site / "acme_box-2.0.dist-info/RECORD"
    record.write_text(record.read_text() + f"{victim},,\n"
                      "../../../../victim,,\nacme_box/../../x,,\n")
    r = run("uninstall", "acme", "--yes")
    assert r.status == 0 and "Uninstalled 'acme'." in r.out
    assert victim.exists()
    assert "acme" not in providers(run) and "other" in providers(run)
    assert not [n for n in tree(site) if n.startswith("acme")]
    assert run("uninstall", "Other.Box", "--yes").status == 0
    assert "other" not in providers(run)


@pytest.mark.long  # slow
def test_a_python_without_pip(install, env, tmp_path):
    """A virtual environment is made for its pip, and is gone afterwards."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python3"
    python.write_text("#!/bin/sh\n[ \"$3\" = 'import pip' ] && exit 1\n"
                      "exec /usr/bin/python3 \"$@\"\n")
    python.chmod(0o755)
    env["PATH"] = f"{tmp_path}/bin:" + env["PATH"]
    r = install(str(wheel(tmp_path)), "--package", "--yes", "--offline")
    assert "Provider 'acme'" in r.out


@pytest.mark.slow
def test_a_folder(install, run, tmp_path):
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "folder_box.py").write_text("class Box:\n    pass\n")
    (folder / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='folder-box', version='1',"
        "py_modules=['folder_box'], entry_points={"
        "'deepagents_code.sandbox_providers': ['folder = folder_box:Box']})")
    r = install(str(folder), "--package", "--yes", "--offline")
    assert "Provider 'folder'" in r.out
    assert "folder" in providers(run)


def test_cancelled(start, home, tmp_path, env):
    """Ctrl-C in the middle of pip: nothing of it is left."""
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "python3"
    fake.write_text("#!/bin/sh\ncase $* in *install*) touch '%s'; "
                    "sleep 600 & wait;; esac\n" % (tmp_path / "begun"))
    fake.chmod(0o755)
    env["PATH"] = f"{tmp_path}/bin:" + env["PATH"]
    run = start("install", str(wheel(tmp_path)), "--package", "--yes",
                "--offline")
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    second = start("install", "x", "--package", "--yes", "--offline").wait()
    assert second.status == 1 and "another dcode install" in second.err
    run.signal(signal.SIGINT)
    run.wait()
    assert run.status == 130
    assert tree(home / ".deepagents/python") == []


def test_an_executable(install, run, home, tmp_path):
    path = tmp_path / "mybox.sh"
    path.write_text(PROGRAM)
    assert "nor executable" in install(str(path), "--package", "--yes",
                                       status=2).err
    path.chmod(0o755)
    r = install(str(path), "--package", "--yes")
    assert "Provider 'mybox': dcode --sandbox mybox" in r.out
    at = home / ".deepagents/providers/dcode-sandbox-mybox"
    assert at.read_text() == PROGRAM and os.access(at, os.X_OK)
    assert "mybox" in providers(run)
    path.write_text(PROGRAM + "# 2\n")
    install(str(path), "--package", "--yes")
    assert at.read_text().endswith("# 2\n")
    assert run("uninstall", "mybox", "--yes").status == 0
    assert not at.exists() and "mybox" not in providers(run)
    bad = tmp_path / "none"
    bad.write_text(PROGRAM)
    bad.chmod(0o755)
    assert "not a valid provider name" in \
        install(str(bad), "--package", "--yes", status=2).err


def test_a_folder_with_an_executable(install, run, home, tmp_path):
    folder = tmp_path / "dcode-sandbox-big"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "data").write_text("x")
    assert "it needs a pyproject.toml, a setup.py" in \
        install(str(folder), "--package", "--yes", status=2).err
    program = folder / "dcode-sandbox-big"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    r = install(str(folder), "--package", "--yes")
    assert "'big'" in r.out and "big" in providers(run)
    assert (home / ".deepagents/providers/dcode-sandbox-big/lib/data").exists()
    assert run("uninstall", "big", "--yes").status == 0
    assert "big" not in providers(run)


def program(folder, name="mybox.sh"):
    path = folder / name
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return path


def test_it_asks_first(terminal, home, tmp_path):  # noqa: F811
    path = program(tmp_path)
    at = home / ".deepagents/providers/dcode-sandbox-mybox"
    for answer, status in (("n\n", 1), ("\x03", 130), ("\x04", 130),
                           ("y\n", 0)):
        t = terminal("install", str(path), "--package")
        t.until("[y/N] ")
        t.type(answer)
        assert t.end() == status
        assert at.exists() == (status == 0)


def test_in_the_chat(terminal, env, model, tmp_path):  # noqa: F811
    model({"turns": [{"text": "Hello."}], "repeat": True})
    t = terminal("-M", "anthropic:m")
    t.until("> ")
    t.type("/install\n")
    t.until("install needs PROVIDER\r\n\r\n> ")
    t.type("/install nope\n")
    t.until("--package\r\n\r\n> ")
    t.type("/install local\n")
    t.until("--sandbox local\r\n\r\n> ")
    t.type(f"/install {program(tmp_path)} --package --yes --offline\n")
    t.until("--sandbox mybox\r\n\r\n> ", 60)
    t.type("/quit\n")
    assert t.end() == 0
