"""test_copy_stream.py - sandbox cp ID:DIR - writes no name that nobody asked
for, whatever the sandbox's tar says."""
# SPDX-License-Identifier: MIT
import io
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import time

import pytest
from apply_room import git

from test_copy import box, false_tar, name, there  # noqa: F401
from test_copy import every_way, make_odd, tree_of
from test_copy_names import EVIL, HARMLESS, check_tree, fill, is_repository

pytestmark = pytest.mark.usefixtures("sandbox_first")

HOSTILE = pathlib.Path(__file__).parents[1] / "emulators" / "hostile_tar.py"
MB = 1 << 20
local = pytest.mark.parametrize("box", ["local"], indirect=True)


@pytest.fixture
def copy(dcode, env, tmp_path):
    """copy(SOURCE, ...): status, bytes, what was said; in work/."""
    def run_copy(*args, cwd=tmp_path / "work"):
        r = subprocess.run([dcode, "sandbox", "cp", *args, "-"], env=env,
                           cwd=cwd, capture_output=True, timeout=60,
                           check=False)
        return r.returncode, r.stdout, r.stderr.decode(errors="replace")
    return run_copy


@pytest.fixture
def sends(run, name, false_tar, tmp_path, copy):
    """sends(stream): what a copy makes of a tar stream of these bytes."""
    def send(stream, *args, **how):
        (tmp_path / "work" / "h.tar").write_bytes(stream)
        assert run("sandbox", "cp", "h.tar", f"{name}:").status == 0
        (tmp_path / "work" / "h.tar").unlink()
        false_tar("cat /workspace/h.tar")
        return copy(*args, f"{name}:.", **how)
    return send


def tar(*entries, how=tarfile.GNU_FORMAT):
    """A stream of (name, bytes, or "d" or "l TARGET" or "h ORIGINAL")."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=how) as t:
        for path, what in entries:
            info = tarfile.TarInfo(path)
            info.mtime, body = 1234567890, b""
            if isinstance(what, bytes):
                info.size, body = len(what), what
            elif what == "d":
                info.type, info.mode = tarfile.DIRTYPE, 0o755
            else:
                info.type = {"l": tarfile.SYMTYPE,
                             "h": tarfile.LNKTYPE}[what[0]]
                info.linkname = what[2:]
            t.addfile(info, io.BytesIO(body))
    return out.getvalue()


def members(stream):
    """{plain path: TarInfo}; also proves that the stream has its end."""
    assert stream[-1024:] == bytes(1024)
    with tarfile.open(fileobj=io.BytesIO(stream)) as t:
        return {os.path.normpath(m.name): m for m in t}


def unpack(stream, top, *command):
    top.mkdir(exist_ok=True)
    r = subprocess.run([*(command or ("tar",)), "-xpf", "-"], input=stream,
                       cwd=top, capture_output=True, check=False)
    assert r.returncode == 0, r.stderr


@every_way
def test_a_stream_unpacked_in_a_repository_runs_nothing(
        run, copy, name, there, tmp_path):
    work = tmp_path / "work"
    git(work, "init", "-q")
    before = (work / ".git/config").read_bytes()
    there("mkdir -p .git/hooks; echo new >file; "
          f"printf '[core]\\n\\tfsmonitor = touch {work}/RAN\\n' >.git/config")
    status, out, err = copy(f"{name}:.")
    assert status == 0, err
    assert "not copied: .git: git could run" in err
    unpack(out, work)
    git(work, "status")
    assert (work / "file").read_text() == "new\n"
    assert not (work / "RAN").exists()
    assert (work / ".git/config").read_bytes() == before
    status, out, err = copy("--bring", ".git", f"{name}:.")
    assert (status, err) == (0, "")
    unpack(out, work)  # the control: that is how it would run
    git(work, "status")
    assert (work / "RAN").exists()


@local
@pytest.mark.parametrize("command", [("tar",), ("busybox", "tar"),
                                     ("bsdtar",)], ids=" ".join)
def test_a_stream_leaves_out_every_spelling_of_git_at_any_depth(
        copy, there, name, tmp_path, command):
    there(fill("t"))
    status, out, err = copy(f"{name}:t")
    assert status == 0, err
    unpack(out, tmp_path / "out", *command)
    check_tree(tmp_path / "out")
    assert "not copied: .git: git could run" in err
    assert "not copied: dir/.GIT:" in err and "--bring" in err
    assert ".git/config:" not in err  # said once for all in it


@local
def test_a_stream_brings_the_names_that_are_asked_for_alone(
        copy, there, name, tmp_path):
    there(fill("t"))
    out = tmp_path / "out"
    status, stream, err = copy("--bring", ".git", "--bring", "bare",
                               f"{name}:t")
    assert status == 0, err
    unpack(stream, out)
    for asked in (".git/config", "dir/.git/config", "bare/config"):
        assert (out / asked).read_text() == EVIL
    assert (out / "f0/.git").is_file()
    assert is_repository(out / "bare")
    for other in (".GIT", "git~1", ".g\u200cit", "dir/.GIT"):
        assert not (out / other).exists()


@local
def test_a_stream_of_a_repository_itself_needs_the_flag(
        copy, there, name, tmp_path):
    there(fill("t"))
    for i, (source, asked) in enumerate((("t/bare", "bare"),
                                         ("t/bare/.", "bare"))):
        out = tmp_path / f"o{i}"
        status, stream, err = copy(f"{name}:{source}")
        assert status == 0 and "git repository" in err
        unpack(stream, out)
        assert not is_repository(out)
        status, stream, err = copy("--bring", asked, f"{name}:{source}")
        assert (status, err) == (0, "")
        unpack(stream, out)
        assert is_repository(out)


@local
def test_a_stream_completes_no_repository_that_is_begun_here(
        copy, there, name, tmp_path):
    work = tmp_path / "work"
    (work / "d/objects").mkdir(parents=True)
    (work / "d/refs").mkdir()
    there("mkdir d; echo 'ref: refs/heads/x' >d/HEAD; echo x >d/other")
    status, out, err = copy(f"{name}:.")
    assert "d/HEAD: it would make its directory a git" in err
    assert "d/HEAD" not in members(out)
    unpack(out, work)
    assert not is_repository(work / "d")


@local
def test_links_that_are_here_lead_no_stream_into_git(
        copy, there, name, tmp_path):
    work = tmp_path / "work"
    git(work, "init", "-q")
    (work / "lnk").symlink_to(".git/hooks")
    (work / "harmless").symlink_to("..")
    there("mkdir -p lnk/new harmless; echo x >lnk/post-commit; "
          "echo x >lnk/new/x; echo x >harmless/f")
    status, out, err = copy(f"{name}:.")
    assert status == 0, err
    assert "would redirect it into .git" in err
    found = members(out)
    assert not {"lnk/post-commit", "lnk/new/x"} & set(found)
    assert "harmless/f" in found


REPOSITORY = [("HEAD", b"ref: refs/heads/x\n"), ("objects/o", b"x"),
              ("refs/heads/x", b"x"), ("config", EVIL.encode())]


DETOURS = {
    "plain": tar(("a/.git/config", b"x")),
    "dots": tar(("./a/./.git//config", b"x")),
    "case": tar(("a/.GIT", "d"), ("a/.GIT/config", b"x")),
    "link": tar((".git", "l elsewhere"), ("elsewhere", "d")),
    "link-into": tar(("l", "l .git"), ("l/config", b"x")),
    "hard-to-link": tar(("l", "l sub/../.git/hooks"), ("h", "h l"),
                        ("h/x", b"x")),
    "hard-as-git": tar(("x", b"x"), (".git/config", "h x")),
    "hard-into": tar(("x", "h .git/config")),
    "hard-to-hard": tar((".git/config", b"x"), ("x", "h .git/config"),
                        ("y", "h x")),
    "outside": tar(("../.git/config", b"x"), ("/tmp/.git/config", b"x")),
    "long": tar((".git/" + "n" * 250, b"x"),
                ("d/" * 200 + ".git/config", b"x")),
    "pax": tar((".git/config", b"x"), how=tarfile.PAX_FORMAT),
    "two": tar((".git/config", b"x")) + tar(("b/.git/config", b"x")),
    "bare": tar(*[("b/" + n, what) for n, what in REPOSITORY]),
    "bare-by-link": tar(("b", "d"), ("l", "l b"), *[
        ("bl"[i % 2] + "/" + n, what)
        for i, (n, what) in enumerate(REPOSITORY)]),
    "bare-by-hard-link": tar(
        ("b", "d"), ("l", "l b"), ("k", "h l"), ("k/refs", "d"),
        ("k/objects", "d"), ("b/HEAD", b"ref: refs/heads/x\n")),
    "bare-by-link-again": tar(
        ("b", "d"), ("l", "l b"), ("l", "d"), ("l/refs", "d"),
        ("l/objects", "d"), ("b/HEAD", b"ref: refs/heads/x\n")),
    "bare-by-dot": tar(
        ("b", "d"), ("m", "l ."), ("m/b/objects", "d"), ("b/refs", "d"),
        ("b/HEAD", b"ref: refs/heads/x\n")),
    "bare-by-dots": tar(
        ("b/x", "d"), ("b/x/../objects", "d"), ("b/refs", "d"),
        ("b/HEAD", b"ref: refs/heads/x\n")),
    "bare-by-original": tar(
        ("x", b"ref: refs/heads/x\n"), ("b/refs", "d"), ("b/objects", "d"),
        ("b/HEAD", "h x")),
    "common": tar(("o/objects/o", b"x"), ("o/refs/x", b"x"),
                  ("c/HEAD", b"ref: refs/heads/x\n"),
                  ("c/commondir", b"../o\n")),
}


@local
@pytest.mark.parametrize("detour", DETOURS)
@pytest.mark.parametrize("command", [("tar",), ("busybox", "tar")],
                         ids=" ".join)
def test_no_stream_makes_a_repository_by_a_detour(
        sends, tmp_path, detour, command):
    _, out, err = sends(DETOURS[detour] + tar(("good", b"good")))
    assert "not copied" in err
    assert members(out)["good"].size == 4
    top = tmp_path / "out"
    unpack(out, top, *command)
    assert (top / "good").read_bytes() == b"good"
    for where, dirs, files in os.walk(top):
        here = pathlib.Path(where)
        assert not is_repository(here), where
        for n in dirs + files:
            assert n.lower() != ".git", where
            if (here / n).is_symlink():
                assert ".git" not in os.readlink(here / n)
    assert sorted(os.listdir(tmp_path)) == ["home", "out", "work"]


@local
@pytest.mark.parametrize("case, left, stays", [
    ("absolute", "absolute", []), ("dotdot", '".."', []),
    ("dotdot-far", '".."', []),
    ("link-absolute", "l/x: a directory of its path is a link", ["l"]),
    ("link-chain", "a directory of its path is a link", ["a/b/c/l"]),
    ("link-through-good", "l/x: a directory of its path is a link", ["d", "l"]),
    ("hard-absolute", "a file outside", []), ("device", "neither a file", []),
    ("pipe", "neither a file", []),
    ("long", "too long", []), ("plain", None, ["a", "a/f", "a/l"]),
    ("setuid", None, ["s", "t"]),
    ("names", None, ["new\nline", "-rf", "a\\..\\b", "dot/x"])])
@pytest.mark.parametrize("how", ["gnu", "pax"])
def test_hostile_streams_are_written_anew(sends, tmp_path, case, left, stays,
                                          how):
    outside = tmp_path / "outside"
    status, out, err = sends(subprocess.run(
        [sys.executable, HOSTILE, case, outside, how], check=True,
        capture_output=True).stdout)
    assert status == (1 if left else 0), err
    assert not left or left in err
    found = members(out)
    assert "good" in found and set(stays) <= set(found)
    for path, m in found.items():
        assert not path.startswith(("/", "..")) and m.mode & 0o7000 == 0
        assert m.isreg() or m.issym() or m.isdir() or m.islnk()


@local
@pytest.mark.parametrize("stream", [
    b"", b"this is no archive\n" * 1000,
    tar(("good", b"good" * 9999))[:20000],
    tar(("good", b"good")) + b"x" * 512,
    tar(("good", b"good"), ("bad", b""))[:1024] + b"x" * 512],
    ids=["empty", "garbage", "cut", "more", "checksum"])
def test_what_is_no_tar_is_an_error_and_has_no_end(sends, stream):
    status, out, err = sends(stream)
    assert status == 1 and "the archive is broken" in err
    assert out[-1024:] != bytes(1024)


@local
@pytest.mark.parametrize("filter_", ["gzip", "bzip2", "xz", "zstd"])
def test_a_compressed_stream_is_refused(sends, filter_):
    r = subprocess.run([filter_, "-c"], input=tar(("good", bytes(9 * MB))),
                       capture_output=True, check=True)
    status, out, err = sends(r.stdout)
    assert status == 1 and "the archive is broken" in err
    assert out == b""


@local
def test_a_tar_that_fails_leaves_the_stream_without_its_end(
        copy, name, false_tar):
    false_tar("exit 7")
    status, out, err = copy(f"{name}:.")
    assert (status, out) == (1, b"") and "tar ended with status 7" in err
    false_tar("/bin/tar -c /etc/hostname | head -c 1024; exit 7")
    status, out, err = copy(f"{name}:.")
    assert status == 1 and "tar ended with status 7" in err
    assert out[-1024:] != bytes(1024)


def test_odd_names_links_bits_and_times_stay(run, copy, name, there,
                                             tmp_path):
    top = tmp_path / "work" / "odd"
    make_odd(top)
    (top / "out").symlink_to("/usr/bin/python3")
    (top / "hard").hardlink_to(top / "private")
    os.utime(top / "readonly", (1234567890, 1234567890))
    os.utime(top / "empty", (1234567891, 1234567891))
    assert run("sandbox", "cp", "odd", f"{name}:").status == 0
    # Hard links are two files on the way in.
    there("cd odd; rm hard; ln private hard; touch -d @1234567891 empty; "
          "truncate -s 1500000 sparse")
    status, out, err = copy(f"{name}:odd")
    assert (status, err) == (0, "")
    back = tmp_path / "back"
    unpack(out, back)
    (top / "sparse").write_bytes(bytes(1500000))
    assert tree_of(back) == tree_of(top)
    assert (back / "hard").stat().st_nlink == 2
    assert (back / "readonly").stat().st_mtime == 1234567890
    assert (back / "empty").stat().st_mtime == 1234567891


@local
def test_a_stream_goes_into_another_sandbox_as_it_came(
        copy, there, name, dcode, env, tmp_path):
    there("mkdir t; cd t; mkdir -p a/b e; echo 1 >a/b/f; ln a/b/f g; "
          "ln -s /usr/bin/env env; chmod 755 a/b/f")
    _, out, err = copy(f"{name}:t")
    assert err == ""
    r = subprocess.run([dcode, "sandbox", "cp", "-", f"{name}:u/"], input=out,
                       env=env, cwd=tmp_path, capture_output=True,
                       check=False)
    assert (r.returncode, r.stderr) == (0, b"")
    assert there("diff -r --no-dereference t u && echo same") == "same\n"
    assert there("stat -c %h u/g; stat -c %a u/g; ls u/e") == "2\n755\n"


@local
def test_a_sparse_file_is_whole_and_never_beyond_the_limit(
        sends, config, tmp_path):
    def sparse(size):
        with open(tmp_path / "s", "wb") as f:
            f.truncate(size)
            f.seek(size // 2)
            f.write(b"middle")
        r = subprocess.run(["tar", "-cSf", "-", "s"], cwd=tmp_path,
                           check=True, capture_output=True)
        (tmp_path / "s").unlink()
        return r.stdout
    stream = sparse(3 * MB)
    assert len(stream) < MB
    status, out, err = sends(stream)
    assert (status, err) == (0, "")
    unpack(out, tmp_path / "out")
    data = (tmp_path / "out/s").read_bytes()
    assert len(data) == 3 * MB and data[3 * MB // 2:][:6] == b"middle"
    config("[sandboxes]\ncopy_limit = 8\n")
    status, out, err = sends(sparse(1 << 40))
    assert status == 1 and "larger than 8 MiB" in err and len(out) < MB
    config("[sandboxes]\ncopy_limit = 1\n")
    status, out, err = sends(tar(("x/.git/f", bytes(2 * MB))))
    assert status == 1 and "larger than 1 MiB" in err and len(out) < MB


@local
def test_hard_links_to_what_did_not_pass_do_not_pass(sends):
    status, out, err = sends(tar(
        ("d", "d"), ("l", "l d"), ("l/x", b"x"), ("a", "h l/x"),
        ("b", "l .git/config"), ("c", "h b"), ("e", "h c"),
        ("f", b"f"), ("g", "h f"), ("h", "h g")))
    assert status == 1
    assert set(members(out)) == {"d", "l", "f", "g", "h"}
    for gone in "ace":
        assert f"not copied: {gone}: it is a link to a file that is not " \
            "copied" in err


@pytest.fixture
def begin(env, tmp_path, dcode_release):
    """begin(stdout, *args): a copy that runs."""
    runs = []

    def start_copy(stdout, *args):
        runs.append(subprocess.Popen(
            [dcode_release, "sandbox", "cp", *args, "-"], stdout=stdout,
            stderr=subprocess.PIPE, env=env, cwd=tmp_path / "work"))
        return runs[-1]
    yield start_copy
    for p in runs:
        p.kill()
        p.communicate()


@local
def test_a_big_stream_passes_in_little_memory(begin, name, there, tmp_path):
    there("mkdir t; cd t; head -c 60000000 /dev/urandom >big; mkdir d "
          "e; touch $(seq -f d/file%g 4000); ln -s $(seq -f x%g 4000) e")
    most = 0
    with open(tmp_path / "out.tar", "wb") as f:
        p = begin(f, f"{name}:t")
        while p.poll() is None:
            status = pathlib.Path(f"/proc/{p.pid}/status").read_text()
            most = max([most] + [int(line.split()[1]) >> 10
                                 for line in status.splitlines()
                                 if line.startswith("VmHWM:")])
            time.sleep(0.005)
    assert p.returncode == 0
    with tarfile.open(tmp_path / "out.tar") as t:
        assert len(t.getmembers()) == 8004
    print(f"{most} MB")
    assert 0 < most < 40


@local
def test_a_reader_of_a_tree_that_leaves_ends_the_copy(begin, name, there):
    there("mkdir t; head -c 9000000 /dev/zero >t/f")
    p = begin(subprocess.PIPE, f"{name}:t")
    assert p.stdout.read(100)
    p.stdout.close()
    assert p.wait(20) == 141
    assert p.stderr.read() == b""
    p.stdout = None


@local
@pytest.mark.parametrize("script", [
    "sleep 60", "/bin/tar -c /etc/hostname | head -c 1024; sleep 60",
    "/bin/tar -c /dev/null | head -c 512; while :; do /bin/tar -c f; done"])
def test_a_stream_can_be_cancelled(begin, name, there, false_tar, script):
    there("head -c 9000000 /dev/zero >f")
    false_tar(script)
    p = begin(subprocess.PIPE, f"{name}:.")  # nobody reads
    time.sleep(1)
    assert p.poll() is None
    began = time.monotonic()
    p.send_signal(signal.SIGINT)
    assert p.wait(20) == 130 and time.monotonic() - began < 12


@local
def test_the_judgement_of_many_names_takes_no_longer_for_each(sends):
    heads = [(f"x{i * 7919 % 30000}/HEAD", b"") for i in range(30000)]
    began = time.monotonic()
    status, out, err = sends(tar(*heads))
    assert (status, err) == (0, "")
    assert len(members(out)) == 30000
    assert time.monotonic() - began < 40
