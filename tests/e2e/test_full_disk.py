"""test_full_disk.py - a full disk, a dead proxy: the reason and a way out."""
# SPDX-License-Identifier: MIT
import subprocess

import pytest

from clouds import call

M = ("-M", "anthropic:m")


@pytest.fixture
def small_disk():
    """small_disk(path): a disk of 256 KB there, which is full."""
    mounted = []

    def mount(path):
        path.mkdir(exist_ok=True)
        r = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none",
                            path], capture_output=True, check=False)
        if r.returncode:
            pytest.skip("mounting needs root")
        mounted.append(path)
        with open(path / "filler", "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 4096)
            except OSError:
                pass
    yield mount
    for path in mounted:
        subprocess.run(["umount", "-l", path], check=False)


def test_a_full_disk_of_the_threads_is_named_with_a_way_out(
        run, model, home, small_disk):
    small_disk(home / ".deepagents")
    model([{"text": "done"}])
    r = run("-n", "go", *M, "--sandbox", "none")
    assert "no longer stored: database " in r.err
    assert "No space left on device. Free some space" in r.err
    r = run("threads", "list")
    assert r.status == 1
    assert "No space left on device\nFree some space" in r.err
    (home / ".deepagents/filler").unlink()
    assert run("threads", "list").status == 0


def test_a_full_disk_of_the_files_is_the_reason_of_the_tool(
        run, model, tmp_path, small_disk):
    small_disk(tmp_path / "work")
    server = model([{"tool_calls": [call("write_file", file_path="f",
                                         content="x" * 100000)]},
                    {"text": "done"}])
    r = run("-n", "go", "-y", *M, "--sandbox", "none", cwd=tmp_path / "work")
    assert r.status == 0, r.err
    text = str(server.requests[-1]["body"]["messages"][-1])
    assert "No space left on device" in text
    assert not (tmp_path / "work/f").exists()


@pytest.mark.parametrize("proxy, shown", [
    ("http://user:word@127.0.0.1:9", "127.0.0.1:9"),
    ("http://proxy.invalid:3128", "proxy.invalid:3128")])
def test_a_dead_proxy_is_named_with_its_variable(run, model, env, proxy,
                                                 shown):
    model([{"text": "done"}])
    env["HTTPS_PROXY"] = proxy
    env["ANTHROPIC_BASE_URL"] = "https://models.example.com"
    r = run("-n", "go", *M, "--sandbox", "none", "--max-retries", "0")
    assert r.status != 0 and "word" not in r.err
    assert "HTTPS_PROXY names the proxy " in r.err and shown in r.err
    env["NO_PROXY"] = "other.com"
    r = run("-n", "go", *M, "--sandbox", "none", "--max-retries", "0")
    assert r.status != 0 and "names the proxy" in r.err
    for proxy, exempt in (("", ""), (proxy, "x, .Example.com")):
        env.update(HTTPS_PROXY=proxy, NO_PROXY=exempt)
        r = run("-n", "go", *M, "--sandbox", "none", "--max-retries", "0")
        assert r.status != 0 and "names the proxy" not in r.err


def test_a_dead_proxy_before_an_engine_is_named(run, env):
    env.update(DOCKER_HOST="tcp://engine.example.com:2375",
               http_proxy="http://127.0.0.1:9")
    r = run("sandbox", "list", "--sandbox", "docker")
    assert r.status == 1 and "http_proxy names the proxy http://127." in r.err
    env["http_proxy"] = ""  # the control
    r = run("sandbox", "list", "--sandbox", "docker")
    assert r.status == 1 and "Start the engine there" in r.err


def test_a_failed_check_of_a_model_names_the_proxy(run, env):
    env.update(ANTHROPIC_API_KEY="sk-ant-0123456789",
               https_proxy="http://127.0.0.1:9")
    r = run("models", "test", "anthropic:claude-opus-5")
    assert r.status == 1
    assert "https_proxy names the proxy http://127.0.0.1:9" in r.out


@pytest.mark.parametrize("args", [("auth", "set", "openai"),
                                  ("skills", "create", "foo")])
def test_a_full_disk_of_another_file_has_a_way_out_too(run, home, small_disk,
                                                       args):
    small_disk(home / ".deepagents")
    r = run(*args, stdin="sk-0123456789")
    assert r.status == 1
    assert "No space left on device\nFree some space" in r.err
    (home / ".deepagents/filler").unlink()
    assert run(*args, stdin="sk-0123456789").status == 0


@pytest.mark.parametrize("what, number, way_out", [
    ("fsync", "EDQUOT", "Disk quota exceeded\nDelete files, or ask for a "
     "higher limit (quota -s"),
    ("flock", "ENOLCK", "No locks available\nIts file system does not support "
     "locks"),
    ("rename,renameat2", "EROFS", "Read-only file system\nIts file system is "
     "mounted read-only")])
def test_the_reason_is_the_systems_own(dcode_release, run, what, number,
                                       way_out):
    args = ("-f", "-qq", "-o", "/dev/null", "-e", f"inject={what}:error="
            f"{number}", str(dcode_release), "auth", "set", "openai")
    r = run(*args, program="/usr/bin/strace", stdin="sk-0123456789")
    assert r.status == 1 and way_out in r.err, r.err
