"""test_trust_a5_setuid.py - no command makes a setuid or setgid file."""
# SPDX-License-Identifier: MIT
import json

# Every call that gives a file its mode, by number (x86_64; the others have
# none of the first group), with an innocent mode beside it.
PROGRAM = r'''
import ctypes, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
at = -100
def call(number, *args):
    args = [ctypes.c_char_p(a) if isinstance(a, bytes) else
            ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *args)
    return "ok" if got >= 0 else os.strerror(ctypes.get_errno())
x86 = platform.machine() == "x86_64"
n = dict(fchmod=91, fchmodat=268, mknodat=259, openat=257, openat2=437,
         fchmodat2=452, uring=425) if x86 else dict(
         fchmod=52, fchmodat=53, mknodat=33, openat=56, openat2=437,
         fchmodat2=452, uring=425)
open("f", "w").close()
f = os.open("f", os.O_RDWR)
C, T = os.O_CREAT | os.O_WRONLY, os.O_TMPFILE | os.O_WRONLY
def ways(bits, tag):
    mode, name = 0o755 | bits, lambda s: (s + tag).encode()
    yield "fchmod", call(n["fchmod"], f, mode)
    yield "fchmodat", call(n["fchmodat"], at, b"f", mode)
    yield "fchmodat2", call(n["fchmodat2"], at, b"f", mode, 0)
    yield "mknodat", call(n["mknodat"], at, name("a"), 0o100000 | mode, 0)
    yield "openat", call(n["openat"], at, name("b"), C, mode)
    yield "tmpfile", call(n["openat"], at, b".", T, mode)
    if x86:
        yield "chmod", call(90, b"f", mode)
        yield "creat", call(85, name("c"), mode)
        yield "mknod", call(133, name("d"), 0o100000 | mode, 0)
        yield "open", call(2, name("e"), C, mode)
for bits, tag in ((0, "0"), (0o4000, "u"), (0o2000, "g"), (0o6000, "b")):
    for way, said in ways(bits, tag):
        print(tag, way, said, sep=":")
print("plain", "open", call(n["openat"], at, b"f", os.O_RDONLY, 0o6000),
      sep=":")
print("2", "openat2", call(n["openat2"], at, b"f", b"\0" * 24, 24), sep=":")
print("r", "uring", call(n["uring"], 4, b"\0" * 120), sep=":")
'''


def test_no_call_makes_a_setuid_file(run, model, tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "setup.sh").write_text(
        "cat >p.py <<'END'\n" + PROGRAM + "END\n")
    model([{"tool_calls": [{"name": "execute", "args": {"command": c}}]}
           for c in ("python3 p.py", "find . -perm /6000; ls",
                     "mkdir -m 2755 d; cp /bin/true t && chmod 4755 t")]
          + [{"text": "done"}])
    r = run("-n", "x", "-M", "anthropic:m", "--json", "--sandbox", "local",
            "--sandbox-setup", "setup.sh")
    events = [json.loads(line) for line in r.out.splitlines()]
    out = [e["content"] for e in events if e["type"] == "tool_result"]
    said = [line.split(":") for line in out[0].splitlines() if ":" in line]
    assert len(said) >= 27, out[0]
    for tag, way, what in said:
        if way == "openat2":
            assert what == "Function not implemented"
        elif tag in ("0", "plain"):  # the control: without the bits
            assert what == "ok" or way == "fchmodat2", (way, what)
        else:
            assert what == "Operation not permitted", (tag, way, what)
    assert "./" not in out[1] and "f" in out[1].split(), out[1]
    assert "chmod" in out[2] and "not permitted" in out[2]
