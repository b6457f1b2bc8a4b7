"""test_copy.py - sandbox cp of trees: one stream, whatever is in it."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.usefixtures("sandbox_first")

HOSTILE = pathlib.Path(__file__).parents[1] / "emulators" / "hostile_tar.py"
MB = 1 << 20


@pytest.fixture(params=["local", "docker"])
def box(request, env, config):
    if request.param == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\n')
    elif request.param != "local":
        request.getfixturevalue("vendor")(request.param)
    return request.param


# The last two have no standard input: trees travel through a file there.
every_way = pytest.mark.parametrize("box", ["local", "docker", "e2b", "deno"],
                                    indirect=True)


@pytest.fixture
def name(box, model, start, run):
    """The short name of a sandbox that runs."""
    server = model([{"text": "abc", "fault": {"stall_after_bytes": 40}}])
    r = start("-n", "hi", "-M", "anthropic:m", "--sandbox", box)
    end = time.monotonic() + 20
    while not server.model.received:
        assert time.monotonic() < end, "no request came"
        time.sleep(0.02)
    r.p.send_signal(signal.SIGKILL)
    r.p.wait()
    rows = json.loads(run("sandbox", "list", "--json").out)["data"]
    yield rows[0]["name"]
    assert run("sandbox", "rm", rows[0]["name"]).status == 0


@pytest.fixture
def there(run, name):
    """there(command): its output in the sandbox."""
    def execute(command):
        r = run("sandbox", "exec", name, "--", command)
        assert r.status == 0, r.err
        return r.out
    return execute


@pytest.fixture
def false_tar(there):
    """false_tar(script): the sandbox's tar, from now on. Not for a sh of
    busybox, which runs its own, whatever is in PATH."""
    def install(script):
        path = "$HOME/.local/bin/tar"
        there(f"mkdir -p {os.path.dirname(path)}; rm -f {path}; "
              f"printf '#!/bin/sh\\n%s\\n' '{script}' >{path}; "
              f"chmod 755 {path}")
    return install


def tree_of(top):
    """Names (bytes), contents, targets, bits."""
    found = {}
    top = os.fsencode(top)
    for folder, folders, files in os.walk(top):
        for entry in folders + files:
            path = os.path.join(folder, entry)
            info = os.lstat(path)
            if stat.S_ISLNK(info.st_mode):
                what = os.readlink(path)
            elif stat.S_ISDIR(info.st_mode):
                what = None
            else:
                with open(path, "rb") as f:
                    what = f.read()
            bits = 0 if stat.S_ISLNK(info.st_mode) else info.st_mode & 0o7777
            found[os.path.relpath(path, top)] = (what, oct(bits))
    return found


def test_two_thousand_files(run, name, there, tmp_path, box):
    top = tmp_path / "work" / "many"
    for i in range(2000):
        folder = top / f"d{i % 40}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{i}").write_text(f"{i}\n" * (i % 50))
    up = run("sandbox", "cp", "many", f"{name}:", "--json")
    assert (up.status, up.err) == (0, "")
    assert json.loads(up.out)["data"] == {
        "files": 2000, "directories": 41, "links": 0, "skipped": 0}
    assert there("find many -type f | wc -l").strip() == "2000"
    down = run("sandbox", "cp", f"{name}:many", "back", "--json")
    assert (down.status, down.err) == (0, "")
    assert json.loads(down.out)["data"]["files"] == 2000
    assert tree_of(tmp_path / "work" / "back") == tree_of(top)
    print(f"{box}: up {up.seconds:.2f} s, down {down.seconds:.2f} s")
    assert up.seconds < 20 and down.seconds < 20


def peak(run_):
    """Ends the run; its peak of resident memory in MB."""
    most = 0
    while run_.p.poll() is None:
        try:
            with open(f"/proc/{run_.pid}/status", encoding="ascii") as f:
                for line in f:
                    if line.startswith("VmHWM:"):
                        most = max(most, int(line.split()[1]))
        except OSError:
            pass
        time.sleep(0.005)
    run_.wait()
    return most / 1024


def test_big_file_in_little_memory(start, name, there, tmp_path, box,
                                   dcode_release):
    top = tmp_path / "work" / "big"
    top.mkdir()
    block = os.urandom(MB)
    with open(top / "file", "wb") as f:
        for _ in range(80):
            f.write(block)
    r = start("sandbox", "cp", "big", f"{name}:", program=dcode_release)
    up = peak(r)
    assert (r.status, r.err) == (0, "")
    ours = subprocess.run(["sha256sum", top / "file"], check=True,
                          capture_output=True, text=True).stdout[:64]
    assert there("sha256sum <big/file")[:64] == ours
    s = start("sandbox", "cp", f"{name}:big", "back", program=dcode_release)
    down = peak(s)
    assert (s.status, s.err) == (0, "")
    there("rm -r big")
    theirs = subprocess.run(
        ["sha256sum", tmp_path / "work" / "back" / "file"], check=True,
        capture_output=True, text=True).stdout[:64]
    assert theirs == ours
    print(f"{box}: up {r.seconds:.2f} s {up:.1f} MB, "
          f"down {s.seconds:.2f} s {down:.1f} MB")
    assert 0 < up < 40 and 0 < down < 40


def make_odd(top):
    (top / "a b" / "deep").mkdir(parents=True)
    (top / "empty").mkdir()
    (top / "a b" / "it's").write_bytes(bytes(range(256)))
    (top / "a b" / "deep" / "run").write_text("#!/bin/sh\n")
    (top / "a b" / "deep" / "run").chmod(0o755)
    (top / "private").write_text("x")
    (top / "private").chmod(0o600)
    (top / "readonly").write_text("x")
    (top / "readonly").chmod(0o444)
    (top / "none").write_bytes(b"")
    (top / "link").symlink_to("a b/it's")
    (top / "a b" / "up").symlink_to("../none")
    (top / "dangling").symlink_to("not/there")
    for odd in (b"new\nline", b"\xff\xfe", "ü😀".encode(), b"-rf", b"$(x)",
                b"back\\slash", b"'\"", b" ", b"\x1b[2J", b"n" * 255,
                b"*"):
        with open(os.path.join(os.fsencode(top), odd), "wb") as f:
            f.write(odd)
    deep = top / ("d" * 100) / ("e" * 100) / ("f" * 100)
    deep.mkdir(parents=True)
    (deep / "leaf").write_text("deep")
    (top / "long link").symlink_to("/".join(["d" * 100, "e" * 100, "f" * 100]))


def test_odd_names_links_and_bits(run, name, there, tmp_path):
    top = tmp_path / "work" / "odd"
    make_odd(top)
    r = run("sandbox", "cp", "odd", f"{name}:")
    assert (r.status, r.err) == (0, "")
    assert there("stat -c %a odd/readonly").strip() == "444"
    assert there("readlink 'odd/a b/up'").strip() == "../none"
    r = run("sandbox", "cp", f"{name}:odd", "back")
    assert (r.status, r.err) == (0, "")
    assert tree_of(tmp_path / "work" / "back") == tree_of(top)
    r = run("sandbox", "cp", "odd/.", f"{name}:odd/.")  # over itself
    assert (r.status, r.err) == (0, "")
    r = run("sandbox", "cp", f"{name}:odd/.", "back")
    assert (r.status, r.err) == (0, "")
    assert tree_of(tmp_path / "work" / "back") == tree_of(top)


@every_way
def test_links_out_go_in_but_not_back(run, name, there, tmp_path):
    work = tmp_path / "work"
    (work / "t").mkdir()
    (work / "t" / "abs").symlink_to("/etc/passwd")
    (work / "t" / "up").symlink_to("../../x")
    (work / "t" / "f").write_text("f")
    r = run("sandbox", "cp", "t", f"{name}:")
    assert (r.status, r.err) == (0, "")
    assert there("readlink t/abs; readlink t/up") == "/etc/passwd\n../../x\n"
    r = run("sandbox", "cp", f"{name}:t", "back")
    assert r.status == 1
    assert "not copied: abs: the link leads out of the copy" in r.err
    assert "Error: 2 not copied" in r.err
    assert os.listdir(work / "back") == ["f"]
    assert there("ls -A /tmp | grep dcode-cp || true") == ""


def test_what_cannot_be_copied_is_told(run, name, there, tmp_path, box):
    work = tmp_path / "work"
    (work / "t").mkdir()
    os.mkfifo(work / "t" / "pipe")
    (work / "t" / "x").write_text("file")
    (work / "t" / "y").write_text("file")
    there("mkdir -p t/x/full")
    r = run("sandbox", "cp", "t/.", f"{name}:t")
    assert r.status == 1
    assert "not copied: pipe: it is neither a file" in r.err
    assert "in the sandbox: tar: " in r.err
    if box == "docker":  # busybox
        assert "tar stopped at its first error" in r.err
    else:
        assert "2 not copied" in r.err
        assert there("cat t/y; ls t/x") == "filefull\n"
    there("rm -r t; mkdir t; mkfifo t/p; echo x >t/x; ln t/x t/y")
    r = run("sandbox", "cp", f"{name}:t", "back")
    assert r.status == 1 and "p: it is neither a file" in r.err
    assert sorted(os.listdir(work / "back")) == ["x", "y"]
    assert (work / "back" / "x").stat().st_nlink == 2
    there("rm -r t; mkdir t; cd t; for i in $(seq 300); do mkfifo p$i; done")
    r = run("sandbox", "cp", f"{name}:t", "fifos")
    assert "Error: 300 not copied" in r.err
    assert r.err.count("not copied: p") == 200
    r = run("sandbox", "cp", "t", f"{name}:/proc/nowhere")
    assert r.status == 1 and "125" in r.err


@pytest.mark.parametrize("box", ["local"], indirect=True)
@pytest.mark.parametrize("case", [
    "absolute", "dotdot-far", "link-absolute", "link-to-file", "link-chain",
    "hard-absolute", "hard-far", "planted", "device"])
def test_hostile_tar(run, name, false_tar, tmp_path, case):
    outside, work = tmp_path / "outside", tmp_path / "work"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (work / "back").mkdir()
    (work / "back" / "planted").symlink_to(outside)
    (work / "h.tar").write_bytes(subprocess.run(
        [sys.executable, HOSTILE, case, outside], check=True,
        capture_output=True).stdout)
    assert run("sandbox", "cp", "h.tar", f"{name}:").status == 0
    false_tar("cat /workspace/h.tar")
    r = run("sandbox", "cp", f"{name}:.", "back")
    assert r.status == 1 and "not copied" in r.err
    assert (work / "back" / "good").read_text() == "good"
    assert os.listdir(outside) == ["secret"]
    assert (outside / "secret").read_text() == "secret"
    assert sorted(os.listdir(tmp_path)) == ["home", "outside", "work"]


@pytest.mark.parametrize("box", ["local"], indirect=True)
def test_tar_that_fails(run, start, name, false_tar, tmp_path):
    work = tmp_path / "work"
    (work / "t").mkdir()
    (work / "t" / "f").write_bytes(os.urandom(5 * MB))
    false_tar("exit 7")
    r = run("sandbox", "cp", "t", f"{name}:")
    assert r.status == 1 and "tar ended with status 7" in r.err
    r = run("sandbox", "cp", f"{name}:.", "b1")
    assert r.status == 1 and "tar ended with status 7" in r.err
    false_tar("echo this is no archive; head -c 9000000 /dev/zero")
    r = run("sandbox", "cp", f"{name}:.", "b2")
    assert r.status == 1 and "the archive is broken" in r.err
    false_tar("while :; do echo x: denied >&2; done")
    r = start("sandbox", "cp", "t", f"{name}:")
    time.sleep(1)
    r.signal()
    r.wait(10)
    assert r.status == 130 and r.err.count("denied") == 200
    false_tar("sleep 60")
    for args in (("t", f"{name}:"), (f"{name}:.", "b3")):
        r = start("sandbox", "cp", *args)
        time.sleep(1)
        began = time.monotonic()
        r.signal()
        r.wait(10)
        assert r.status == 130 and time.monotonic() - began < 12


@every_way
def test_planted_links_are_not_followed(run, name, there, tmp_path):
    outside, work = tmp_path / "outside", tmp_path / "work"
    outside.mkdir()
    (work / "back").mkdir()
    (work / "back" / "s").symlink_to(outside)  # ours
    (work / "back" / "f").symlink_to(outside / "new")
    there("mkdir -p t/s t/d; echo x >t/s/f; echo x >t/f; echo x >t/d/f")
    r = run("sandbox", "cp", f"{name}:t/.", "back")
    assert r.status == 1 and "not copied: s" in r.err
    assert not list(outside.iterdir())
    assert tree_of(work / "back") == {
        b"s": (os.fsencode(outside), "0o0"), b"d": (None, "0o755"),
        b"f": (b"x\n", "0o644"), b"d/f": (b"x\n", "0o644")}


@pytest.mark.parametrize("box", ["docker"], indirect=True)
def test_cancelled_upload_leaves_nothing(start, name, there, tmp_path):
    with open(tmp_path / "work" / "huge", "wb") as f:
        f.truncate(3000 * MB)
    r = start("sandbox", "cp", "huge", f"{name}:")
    end = time.monotonic() + 20
    while "huge" not in there("ls -A; ls -A | sed s/.*dcode.*/huge/"):
        assert time.monotonic() < end and r.p.poll() is None
    began = time.monotonic()
    r.signal()
    r.wait(10)
    assert r.status == 130 and time.monotonic() - began < 12
    assert there("ls -A") == ""
