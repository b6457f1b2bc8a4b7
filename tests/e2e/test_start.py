"""test_start.py - what dcode loads before it has anything to do."""
# SPDX-License-Identifier: MIT
import subprocess

import pytest


def opened(program, env, cwd, *args):
    """Names of the shared libraries that a run opened."""
    trace = cwd / "trace"
    done = subprocess.run(
        ["strace", "-f", "-o", trace, "-e", "trace=open,openat", program,
         *args], env=env, cwd=cwd, capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL, check=False)
    lines = trace.read_text().splitlines()
    return done, {line.split('"')[1].rsplit("/", 1)[-1] for line in lines
                  if ".so" in line and "= -1" not in line}


@pytest.mark.parametrize("command", ["--version", "help", "config", "--help"])
def test_light_commands_load_no_libcurl(dcode_release, env, home, tmp_path,
                                        command):
    done, names = opened(dcode_release, env, tmp_path / "work", command)
    assert done.returncode == 0, done.stderr
    assert "libc.so.6" in names
    assert not [n for n in names if n.startswith(("libcurl", "libarchive"))]


def test_a_run_loads_libcurl(dcode_release, env, home, tmp_path, model):
    """The control: strace does see it where it is loaded."""
    server = model([{"text": "hello"}])
    done, names = opened(dcode_release, env, tmp_path / "work", "-n", "hi",
                         "-M", "openai:m")
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 1
    assert "libcurl.so.4" in names
