"""test_trust_b16_copies.py - sandbox cp: ceilings, streams and odd names; a
snapshot replaces none unasked."""
# SPDX-License-Identifier: MIT
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile

import pytest

from lifecycle import wait_for

pytestmark = pytest.mark.usefixtures("sandbox_first")

MB = 1 << 20


@pytest.fixture
def keep(model, start, run):
    """keep(provider): the id of a sandbox whose run was killed."""
    names = []

    def begin(provider):
        server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
        r = start("-n", "hi", "-M", "anthropic:m", "--sandbox", provider)
        wait_for(lambda: server.model.received)
        r.kill()
        r.p.wait()
        rows = json.loads(run("sandbox", "list", "--json").out)["data"]
        names.append(rows[0]["name"])
        return names[-1]
    yield begin
    for name in names:
        run("sandbox", "rm", "--force", name)


@pytest.fixture(params=["local", "e2b"])
def name(request, keep, vendor):
    """With a tar and its bytes, and file by file."""
    if request.param == "e2b":
        vendor("e2b")
    return keep(request.param)


def execute(run, name, command):
    r = run("sandbox", "exec", name, "--", command)
    assert r.status == 0, r.err
    return r.out


def size_of(top):
    return int(subprocess.run(["du", "-sm", top], check=True, text=True,
                              capture_output=True).stdout.split()[0])


def test_what_does_not_end_ends_at_the_limit(run, config, keep,
                                                   tmp_path):
    config("[sandboxes]\ncopy_limit = 8\n")
    name = keep("local")
    work = tmp_path / "work"
    execute(run, name, "mkdir t u; head -c 5000000 /dev/urandom >t/f; "
            "head -c 20000000 /dev/zero >large; mkdir -p ~/.local/bin; "
            "printf '%s\\n' '#!/bin/sh' 'exec cat h /dev/zero' "
            ">~/.local/bin/tar")
    ok = run("sandbox", "cp", f"{name}:t", "ok")
    assert (ok.status, ok.err) == (0, "")
    (work / "h").write_bytes(tar_of({"good": b"good"})[:1024])
    assert run("sandbox", "cp", "h", f"{name}:u/h").status == 0
    execute(run, name, "chmod 755 ~/.local/bin/tar")
    for source, target in (("large", "a"), ("u", "b")):
        r = run("sandbox", "cp", f"{name}:{source}", target)
        assert r.status == 1
        assert "larger than 8 MiB (sandboxes.copy_limit)" in r.err
        assert "config.toml" in r.err
    assert (work / "b" / "good").read_bytes() == b"good"
    assert not (work / "a").exists()
    r = run("sandbox", "cp", f"{name}:large", "-")
    assert r.status == 1 and len(r.out) <= 8 * MB
    assert size_of(work) < 16


def test_a_copy_leaves_others_some_room_on_the_disk(run, keep, tmp_path,
                                                    dcode, env):
    name = keep("local")
    execute(run, name, "mkdir t u; head -c 9000000 /dev/zero >t/f; "
            "for i in 1 2 3 4 5 6; do cp t/f u/$i; done; cat u/* >v")
    small = tmp_path / "small"
    small.mkdir()

    def copy(source):
        return subprocess.run(
            ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
             'mount -t tmpfs -o size=40m none "$1" || exit 99; '
             '"$2" sandbox cp "$3" "$1/copy"; s=$?; '
             'df -m --output=avail "$1" | tail -1; exit $s',
             "sh", small, dcode, f"{name}:{source}"],
            env=env, cwd=tmp_path / "work", text=True, capture_output=True,
            timeout=60, check=False)
    r = copy("t")
    assert (r.returncode, r.stderr) == (0, "")
    for source in ("u", "v"):
        r = copy(source)
        assert r.returncode == 1, r.stderr
        assert "no room for the copy" in r.stderr
        assert int(r.stdout) >= 2


def tar_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, data in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def pipe(dcode, env, cwd, *args, data=b""):
    r = subprocess.run([dcode, "sandbox", "cp", *args], input=data, env=env,
                       cwd=cwd, capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout, r.stderr


def test_a_dash_is_a_stream_of_bytes_or_of_a_tar(run, name, dcode, env,
                                                 tmp_path):
    work = tmp_path / "work"
    data = bytes(range(256)) * 5000

    def cp(*args, **how):
        return pipe(dcode, env, work, *args, **how)
    assert cp("-", f"{name}:bytes", data=data) == (0, b"", b"")
    assert cp(f"{name}:bytes", "-") == (0, data, b"")
    tree = {"a": b"1", "d/b c": data, "d/new\nline": b"2"}
    execute(run, name, "mkdir there")
    for target in ("there", "new/"):
        assert cp("-", f"{name}:{target}", data=tar_of(tree)) == (0, b"", b"")
        status, out, err = cp(f"{name}:{target}", "-")
        assert (status, err) == (0, b"")
        with tarfile.open(fileobj=io.BytesIO(out)) as tar:
            assert {os.path.normpath(m.name): tar.extractfile(m).read()
                    for m in tar if m.isreg()} == tree
    assert list(work.iterdir()) == []
    status, _, err = cp(f"{name}:none", "-")
    assert status == 1 and b"not found in the sandbox" in err
    r = run("sandbox", "cp", "--json", f"{name}:bytes", "-")
    assert r.status == 2 and "--json" in r.err


def test_a_reader_that_leaves_ends_the_copy(run, keep, start):
    name = keep("local")
    execute(run, name, "head -c 3000000 /dev/zero >f")
    r = start("sandbox", "cp", f"{name}:f", "-")
    r.p.stdout.close()
    r.p.wait(20)
    assert r.p.returncode == 141
    r.p.stdout = open(os.devnull, encoding="ascii")


def test_newlines_in_names_travel_both_ways(run, name, tmp_path):
    top = tmp_path / "work" / "odd"
    (top / "dir\nx").mkdir(parents=True)
    for odd in ("a\nb", "\n", "c\n", "dir\nx/in\nside", "back\\n", "?"):
        (top / odd).write_text(odd)
    (top / "link\n").symlink_to("a\nb")
    (top / "ends").symlink_to("c\n")
    r = run("sandbox", "cp", "odd", f"{name}:")
    assert (r.status, r.err) == (0, "")
    assert execute(run, name, "cat 'odd/a\nb'") == "a\nb"
    r = run("sandbox", "cp", f"{name}:odd", "back")
    assert (r.status, r.err) == (0, "")
    subprocess.run(["diff", "-r", "--no-dereference", top,
                    tmp_path / "work" / "back"], check=True)


@pytest.mark.parametrize("provider", ["local", "docker"])
def test_a_snapshot_replaces_none_unasked(request, run, keep, config, env,
                                          model, provider):
    if provider == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        config(f'[sandboxes.providers.docker.params]\nimage = "{rig.image}"\n')
    name = keep(provider)
    execute(run, name, "echo first >f")
    assert run("sandbox", "snapshot", name, "kept").status == 0
    execute(run, name, "echo second >f")
    r = run("sandbox", "snapshot", name, "kept")
    assert r.status == 2 and "'kept' already" in r.err and "--force" in r.err

    def content():
        server = model([{"tool_calls": [{"name": "execute", "args": {
            "command": "cat f"}}]}, {"text": "ok"}])
        r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", provider,
                "--sandbox-snapshot-name", "kept")
        assert r.status == 0, r.err
        return server.model.requests[-1]
    assert "first" in json.dumps(content(), default=str)
    assert run("sandbox", "snapshot", name, "kept", "--force").status == 0
    assert "second" in json.dumps(content(), default=str)
