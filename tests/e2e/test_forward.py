"""test_forward.py - ports of a sandbox on 127.0.0.1 of the user's machine."""
# SPDX-License-Identifier: MIT
import concurrent.futures
import hashlib
import http.client
import http.server
import os
import pathlib
import re
import shutil
import socket
import socketserver
import subprocess
import threading
import time
import urllib.request

import pytest
from slash_chat import begin, on_screen, talk  # noqa: F401
from preview import Front
from sshd_rig import Rig, free_port

TOP = pathlib.Path(__file__).resolve().parents[2]
# A server for a sandbox that has python3. Each connection gets its line first;
# what is sent comes back, and at the end of that a last line.
SERVER = r"""
import os, socket, sys, threading, time
def serve(c):
    c.sendall(b"hello\n")
    while True:
        b = c.recv(65536)
        if not b:
            break
        c.sendall(b)
    c.sendall(b"\nbye\n")
    c.close()
def web(c):
    head = b""
    while b"\r\n\r\n" not in head:
        head += c.recv(65536)
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    for i in range(3):
        c.sendall(b"data: %d\n\n" % i)
        time.sleep(0.4)
    c.close()
def listen(port, each, family=socket.AF_INET, at="127.0.0.1"):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((at, port))
    s.listen(100)
    def go():
        while True:
            threading.Thread(target=each, args=(s.accept()[0],),
                             daemon=True).start()
    threading.Thread(target=go, daemon=True).start()
listen(7001, serve)
listen(7002, web)
try:
    listen(7003, serve, socket.AF_INET6, "::1")
except OSError:
    pass
open("ready", "w").close()
time.sleep(600)
"""


class Forward:
    """dcode sandbox forward, until close(). ports: {sandbox's: here}."""

    def __init__(self, start, *args):
        self.run = start("sandbox", "forward", *map(str, args))
        self.ports = {}
        wanted = len(args) - 1

        def read():
            for line in self.run.p.stdout:
                found = re.match(
                    r"http://127\.0\.0\.1:(\d+) is port (\d+) ", line)
                self.ports[int(found[2])] = int(found[1])
                if len(self.ports) == wanted:
                    return
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        reader.join(60)
        assert len(self.ports) == wanted

    def close(self):
        self.run.signal()
        self.run.wait(30)
        return self.run


def connect(port):
    s = socket.create_connection(("127.0.0.1", port), 10)
    s.settimeout(60)
    return s


def read_all(s):
    parts = []
    while True:
        part = s.recv(1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def exchange(port, data):
    """Sends data and its end; everything that comes back."""
    with connect(port) as s:
        def send():
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        try:
            return read_all(s)
        except ConnectionResetError:  # there was no server
            return b""
        finally:
            sender.join(60)


def http_get(port, host, path="/"):
    with connect(port) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\n{host}\r\n".encode())
        return read_all(s)


@pytest.fixture
def box(run, start, home, tmp_path):
    """The id of a local sandbox in which SERVER runs."""
    done = run("sandbox", "create", "--sandbox", "local")
    assert done.status == 0, done.err
    name = done.out.strip()
    place = home / ".deepagents" / "sandboxes" / name / "workspace"
    (place / "server.py").write_text(SERVER)
    server = start("sandbox", "exec", name, "python3 server.py")
    deadline = time.monotonic() + 30
    while not (place / "ready").exists():
        assert server.p.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    yield name
    server.signal()
    server.wait(30)
    assert run("sandbox", "rm", "--force", name).status == 0


@pytest.fixture
def forward(start):
    open_ones = []

    def go(*args):
        open_ones.append(Forward(start, *args))
        return open_ones[-1]
    yield go
    for f in open_ones:
        if f.run.p.poll() is None:
            f.close()


def test_bytes_pass_exactly_in_both_directions_and_end_separately(
        forward, box):
    f = forward(box, 7001)
    data = os.urandom(1 << 20) * 100
    back = exchange(f.ports[7001], data)
    assert len(back) == len(data) + 11
    assert hashlib.sha256(back[6:-5]).digest() == \
        hashlib.sha256(data).digest()
    assert f.close().status == 0


def test_fifty_connections_at_once(forward, box):
    port = forward(box, 7001).ports[7001]
    held = [connect(port) for _ in range(50)]
    for s in held:
        assert s.recv(6) == b"hello\n"  # all of them are served
    for i, s in enumerate(held):
        s.sendall(b"%d" % i)
    for i, s in enumerate(held):
        assert s.recv(10) == b"%d" % i
        s.close()


def test_a_server_on_ipv6_alone_is_reached(forward, box):
    if not pathlib.Path("/proc/sys/net/ipv6").exists():
        pytest.skip("this machine has no IPv6")
    assert exchange(forward(box, 7003).ports[7003], b"x") == \
        b"hello\nx\nbye\n"


def test_events_are_not_held_back(forward, box):
    check_events(forward(box, 7002).ports[7002])


def check_events(port):
    with connect(port) as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        at = []
        seen = b""
        while len(at) < 3:
            seen += s.recv(4096)
            while seen.count(b"data:") > len(at):
                at.append(time.monotonic())
    assert at[1] - at[0] > 0.2 and at[2] - at[1] > 0.2


@pytest.mark.parametrize("host", [
    "Host: evil.example\r\n", "", "Host: localhost.evil.example\r\n",
    "Host: 127.0.0.1.evil.example\r\n", "Host: localhost\r\nHost: e.test\r\n",
    "Host: evil.example\r\nHost: localhost\r\n", "HOST : evil.example\r\n",
    "X: y\r\nhost:evil.example:{}\r\n", "Host: localhost:80:80\r\n",
    "Host: 127.0.0.2\r\n", "Host: localhost@evil.example\r\n"])
def test_a_page_of_another_host_gets_nothing(forward, box, host):
    """DNS rebinding: a name of the attacker leads to 127.0.0.1."""
    port = forward(box, 7002).ports[7002]
    back = http_get(port, host.format(port))
    assert back.startswith(b"HTTP/1.1 403 ") and b"data:" not in back
    for good in ("localhost", "127.0.0.1", "[::1]", "LOCALHOST"):
        for end in ("", f":{port}"):
            assert b"data: 2" in http_get(port, f"Host: {good}{end}\r\n")


@pytest.mark.parametrize("head", [
    "A" * 5000 + " / HTTP/1.1", "GET /" + "x" * 20000 + " HTTP/1.1",
    "GET / HTTP/1.1\r\nX: " + "y" * 30000])
def test_a_long_head_is_no_way_around(forward, box, head):
    port = forward(box, 7002).ports[7002]
    for host, ok in (("evil.example", False), ("localhost", True)):
        with connect(port) as s:
            s.sendall(f"{head}\r\nHost: {host}\r\n\r\n".encode())
            assert (b"data: 2" in read_all(s)) == ok
    with connect(port) as s:
        s.sendall(b"GET / HTTP/1.1\r\nX: " + b"y" * 70000)
        try:
            assert b"data:" not in read_all(s)
        except ConnectionResetError:
            pass


def test_a_client_that_sends_a_word_and_waits_is_served(forward, box):
    with connect(forward(box, 7001).ports[7001]) as s:
        assert s.recv(6) == b"hello\n"
        s.sendall(b"word")
        assert s.recv(4) == b"word"


def test_a_head_in_pieces_is_checked_whole(forward, box):
    port = forward(box, 7002).ports[7002]
    for host, ok in (("evil.example", False), ("localhost", True)):
        with connect(port) as s:
            for c in f"POST / HTTP/1.1\r\nHost: {host}\r\n\r\n":
                s.sendall(c.encode())
            assert (b"data: 2" in read_all(s)) == ok


def test_a_port_without_a_server_is_said_and_others_go_on(forward, box):
    f = forward(box, 7009, 7001)
    assert exchange(f.ports[7009], b"x") == b""
    assert exchange(f.ports[7001], b"x") == b"hello\nx\nbye\n"
    assert "nothing listens on port 7009 in the sandbox" in f.close().err


def test_a_local_port_in_use(forward, run, box):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        used = s.getsockname()[1]
        done = run("sandbox", "forward", box, f"{used}:7001")
        assert done.status == 1 and "already in use" in done.err
        assert "Choose another port: LOCAL:7001" in done.err
        # without LOCAL the number is only a wish
        assert forward(box, used).ports[used] != used


@pytest.mark.parametrize("port", ["0", "65536", "x", "1:2:3", ":7", "7:",
                                  "-1", "7001:x"])
def test_what_is_no_port_is_refused(run, box, port):
    done = run("sandbox", "forward", box, "--", port)
    assert done.status == 2 and "not a port" in done.err


def test_only_this_machine_can_connect(forward, box):
    port = forward(box, 7001).ports[7001]
    listed = subprocess.run(["ss", "-Hltn", f"sport = :{port}"],
                            capture_output=True, text=True, check=True).stdout
    assert f"127.0.0.1:{port}" in listed and len(listed.splitlines()) == 1


@on_screen
def test_the_chat_forwards_while_the_agent_works_and_ends_with_it(
        talk, home):
    c = begin(talk, [{"tool_calls": [
        {"name": "write_file", "args": {"file_path": "server.py",
                                        "content": SERVER}},
        {"name": "execute", "args": {"command": "python3 server.py"}}]},
        {"text": "done."}], "--sandbox", "local", "-y", "--on-exit", "delete")
    c.say("/forward", "No port of the sandbox is forwarded")
    c.say("serve")
    place = home / ".deepagents" / "sandboxes"
    c.until(lambda _: list(place.glob("*/workspace/ready")))
    here = free_port()
    c.say(f"/forward {here}:7001", f"127.0.0.1:{here} is port 7001")
    assert exchange(here, b"x") == b"hello\nx\nbye\n"
    c.say("/forward stop 7001", "Port 7001 is closed")
    with pytest.raises(OSError):
        connect(here)
    c.say(f"/forward {here}:7001", f"127.0.0.1:{here} is port 7001", times=2)
    held = connect(here)
    assert held.recv(6) == b"hello\n"
    c.keys("C-c")
    c.say("/quit")
    assert c.status() == 0
    with pytest.raises(OSError):
        connect(here)


def test_without_a_sandbox_nothing_is_to_be_forwarded(talk):
    c = begin(talk, [], "--sandbox", "none")
    c.say("/forward 80", "Tools run on this machine")


# Engines and hosts.

def hello(port, text=b"some bytes"):
    return exchange(port, text)


class Through(socketserver.ThreadingTCPServer):
    """The engine's socket at a TCP port, as on another machine."""
    daemon_threads = True

    def __init__(self, path):
        self.path = path
        super().__init__(("127.0.0.1", 0), None)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.path)

            def copy(a, b):
                try:
                    while part := a.recv(1 << 16):
                        b.sendall(part)
                    b.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
            back = threading.Thread(target=copy, args=(s, request),
                                    daemon=True)
            back.start()
            copy(request, s)
            back.join()


@pytest.fixture
def way(request, each_rig, env):
    """How the engine is reached: its socket, or a port as if it were far."""
    env["DOCKER_HOST"] = each_rig.docker_host
    if request.param == "command":
        far = Through(each_rig.docker_host.removeprefix("unix://"))
        env["DOCKER_HOST"] = f"tcp://127.0.0.1:{far.server_address[1]}"
    return request.param


@pytest.fixture
def container(each_rig, way, run, start, config):
    """The id of a container in which busybox gives back what it gets."""
    config("[sandboxes.providers.docker.params]\n"
           f'image = "{each_rig.image}"\n')
    done = run("sandbox", "create", "--sandbox", "docker")
    assert done.status == 0, done.err
    name = done.out.strip()
    server = start("sandbox", "exec", name,
                   "while :; do nc -l -p 7001 -e cat; done")
    deadline = time.monotonic() + 30
    while " 0A " not in run("sandbox", "exec", name,
                            "cat /proc/net/tcp*").out:
        assert server.p.poll() is None and time.monotonic() < deadline
    yield name
    server.signal()
    server.wait(60)
    assert run("sandbox", "rm", "--force", name).status == 0


@pytest.mark.parametrize("way", ["namespace", "command"], indirect=True)
def test_a_container(forward, run, container, way):
    f = forward(container, 7001, 7005)
    data = os.urandom(3 << 20)
    assert exchange(f.ports[7001], data) == data
    assert exchange(f.ports[7001], b"again") == b"again"
    back = exchange(f.ports[7005], b"x")
    done = f.close()
    assert back == b"" and done.status == 0
    assert ("nothing listens" in done.err) == (way == "namespace")
    left = run("sandbox", "exec", container, "ps").out
    assert "nc 127.0.0.1" not in left


@pytest.mark.parametrize("programs, start_line", [
    (["python3"], "framed"), (["perl"], "framed"), (["nc"], "raw"),
    (["busybox"], "raw"), (["bash", "cat"], "raw"), ([], "none")])
def test_what_a_container_may_have(tmp_path, programs, start_line):
    """scripts/sandbox/relay.sh with each program that it can use."""
    class Echo(socketserver.BaseRequestHandler):
        def handle(self):
            while part := self.request.recv(1 << 16):
                self.request.sendall(part)

    echo = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo)
    echo.daemon_threads = True
    threading.Thread(target=echo.serve_forever, daemon=True).start()
    (tmp_path / "bin").mkdir()
    for name in programs:
        found = shutil.which("busybox" if name == "nc" else name,
                             path="/usr/bin:/bin")
        (tmp_path / "bin" / name).symlink_to(found)
    port = echo.server_address[1]
    p = subprocess.Popen(
        ["/bin/sh", "-c", f"d_port={port}\n"
         + (TOP / "scripts/sandbox/relay.sh").read_text()],
        env={"PATH": str(tmp_path / "bin")}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE)
    assert p.stdout.readline().decode().strip() == start_line
    if not programs:
        assert p.wait(10) == 0
        return
    data = os.urandom(2 << 20)

    def send():
        p.stdin.write(data)
        p.stdin.flush()
        if programs[0] != "bash":
            p.stdin.close()
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    back = b""
    while len(back) < len(data):
        if start_line == "framed":
            n = int(p.stdout.readline())
            back += p.stdout.read(n)
        else:
            part = os.read(p.stdout.fileno(), 1 << 16)
            assert part
            back += part
    assert back == data
    if start_line == "framed":
        assert p.stdout.readline() == b"0\n"
    sender.join(30)
    if not p.stdin.closed:
        p.stdin.close()
    assert p.wait(30) in (0, 143)
    echo.shutdown()


def test_a_host_by_ssh(forward, run, config, env, tmp_path):
    class Echo(socketserver.BaseRequestHandler):
        def handle(self):
            while part := self.request.recv(1 << 16):
                self.request.sendall(part)
            self.request.sendall(b"end")

    echo = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo)
    echo.daemon_threads = True
    threading.Thread(target=echo.serve_forever, daemon=True).start()
    there = echo.server_address[1]
    rig = Rig()
    try:
        config("[sandboxes.providers.ssh.params]\nhost = \"box\"\n"
               f'config = "{rig.config}"\n')
        done = run("sandbox", "create", "--sandbox", "ssh")
        assert done.status == 0, done.err
        name = done.out.strip()
        here, unused, other = free_port(), free_port(), free_port()
        f = forward(name, f"{here}:{there}", f"{other}:{unused}")
        data = os.urandom(5 << 20)
        assert exchange(here, data) == data + b"end"
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert set(pool.map(hello, [here] * 4)) == {b"some bytesend"}
        assert exchange(other, b"x") == b""
        done = f.close()
        assert done.status == 0 and "onnection refused" in done.err
        assert run("sandbox", "rm", name).status == 0
    finally:
        rig.close()
        echo.shutdown()


def test_a_job_of_slurm(slurm, forward, run, tmp_path):
    done = run("sandbox", "create", "--sandbox", "slurm")
    assert done.status == 0, done.err
    name = done.out.strip()
    server, ports = start_server(tmp_path)  # the rig's node is this machine
    try:
        here, unused = free_port(), free_port()
        f = forward(name, ports[7001], f"{here}:{unused}")
        there = f.ports[ports[7001]]
        data = os.urandom(1 << 20) * 100
        back = exchange(there, data)
        assert len(back) == len(data) + 11
        assert hashlib.sha256(back[6:-5]).digest() == \
            hashlib.sha256(data).digest()
        assert exchange(here, b"x") == b""
        done = f.close()
        assert done.status == 0 and "nothing listens on port" in done.err
    finally:
        server.kill()
        server.wait()
        assert run("sandbox", "rm", name).status == 0


def test_fifty_connections_to_a_job_of_slurm(
        slurm, forward, run, tmp_path):
    """Each is a step of the job."""
    done = run("sandbox", "create", "--sandbox", "slurm")
    assert done.status == 0, done.err
    name = done.out.strip()
    server, ports = start_server(tmp_path)
    f = forward(name, ports[7001], ports[7002])
    try:
        held = [connect(f.ports[ports[7001]]) for _ in range(50)]
        for s in held:
            assert s.recv(6) == b"hello\n"
        for i, s in enumerate(held):
            s.sendall(b"%d" % i)
        for i, s in enumerate(held):
            assert s.recv(10) == b"%d" % i
            s.close()
        check_events(f.ports[ports[7002]])
    finally:
        done = f.close()
        print(done.err)
        server.kill()
        server.wait()
        assert run("sandbox", "rm", name).status == 0
    assert done.status == 0


# Vendors: HTTP to an address of theirs, with a token.

GO = threading.Event()


class Page(http.server.BaseHTTPRequestHandler):
    """Stands for a server in an emulated sandbox."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        if self.path == "/events":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: "
                             b"text/event-stream\r\n\r\ndata: first\n\n")
            GO.wait(60)
            self.wfile.write(b"data: second\n\n")
            self.close_connection = True
            return
        if self.headers.get("Upgrade"):
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\n"
                             b"Connection: Upgrade\r\nUpgrade: websocket"
                             b"\r\n\r\n")
            self.wfile.flush()
            while part := self.connection.recv(1 << 16):
                self.connection.sendall(b"<" + part + b">")
            self.close_connection = True
            return
        body = f"{self.path} {sorted(self.headers.items())}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def fronted(name, cloud, env, folder):
    """The vendor at host names, of which each port has one."""
    front = Front(cloud, name, folder)
    env["SSL_CERT_FILE"] = front.cert
    if name == "e2b":
        del env["E2B_API_URL"], env["E2B_SANDBOX_URL"]
        env["E2B_DOMAIN"] = front.zone
    else:
        env["RUNLOOP_BASE_URL"] = f"https://api.{front.zone}"
    return front


@pytest.fixture
def page():
    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128
    page = Server(("127.0.0.1", 0), Page)
    GO.clear()
    threading.Thread(target=page.serve_forever, daemon=True).start()
    yield page.server_address[1]
    page.shutdown()


@pytest.fixture(params=["daytona", "langsmith", "e2b", "modal", "runloop"])
def far(request, run, vendor, forward, env, tmp_path, page):
    """(here, cloud): a forward to Page in a vendor's sandbox."""
    cloud = vendor(request.param)
    front = None
    if request.param in ("e2b", "runloop"):
        front = fronted(request.param, cloud, env, tmp_path)
    done = run("sandbox", "create", "--sandbox", request.param)
    assert done.status == 0, done.err
    name = done.out.strip()
    here = free_port()
    f = forward(name, f"{here}:{page}")
    yield here, cloud
    done = f.close()
    assert done.status == 0
    for preview in cloud.previews:
        secret = preview.token.removeprefix("Bearer ")
        assert secret and secret not in done.out + done.err
    assert run("sandbox", "rm", name).status == 0
    if front:
        front.close()


def test_a_vendors_address_is_reached_with_its_token(far):
    here, cloud = far
    get = urllib.request.urlopen
    for path in ("/", "/a?b=c%20d", "/" + "x" * 5000):
        answer = get(f"http://127.0.0.1:{here}{path}", timeout=30).read()
        assert answer.startswith(path.encode())
    body = os.urandom(3 << 20)
    assert get(f"http://localhost:{here}/", body, timeout=30).read() == body
    assert len(cloud.previews) == 1  # one request of the vendor's API
    preview, = cloud.previews
    assert all("Connection: close" in head for head in preview.heads)


def test_a_clients_token_and_connection_headers_do_not_pass(far):
    here, cloud = far
    c = http.client.HTTPConnection("127.0.0.1", here, timeout=30)
    c.request("GET", "/", headers={
        "Connection": "keep-alive", "Keep-Alive": "9", "Accept": "a/b",
        "X-Daytona-Preview-Token": "mine", "authorization": "mine",
        "E2B-Traffic-Access-Token": "mine",
        "x-runloop-tunnel-authorization": "mine",
        "x-langsmith-sandbox-service-token": "mine"})
    answer = c.getresponse()
    assert answer.status == 200
    preview, = cloud.previews
    lines = preview.heads[0].lower().splitlines()
    assert "a/b" in answer.read().decode()
    assert not [n for n in lines if n.startswith("keep-alive")]
    assert [n for n in lines if n.startswith("connection")] == \
        ["connection: close"]
    mine = [n for n in lines if n.startswith(preview.header.lower() + ":")]
    assert mine == [f"{preview.header}: {preview.token}".lower()]


def test_a_websocket_passes_a_vendor(far):
    here, _ = far
    with connect(here) as s:
        s.sendall(b"GET /ws HTTP/1.1\r\nHost: localhost\r\n"
                  b"Connection: keep-alive, Upgrade\r\n"
                  b"Upgrade: websocket\r\n\r\n")
        seen = b""
        while b"\r\n\r\n" not in seen:
            seen += s.recv(4096)
        for word in (b"one", b"two"):
            s.sendall(word)
            seen = b""
            while seen != b"<" + word + b">":
                part = s.recv(4096)
                assert part
                seen += part


def test_a_foreign_host_and_other_protocols_do_not_reach_a_vendor(far):
    here, cloud = far
    assert http_get(here, "Host: evil.example\r\n").startswith(
        b"HTTP/1.1 403 ")
    with connect(here) as s:
        s.sendall(b"\0binary\r\n\r\n")
        assert s.recv(100) == b""
    with connect(here) as s:
        s.sendall(b"GET http://evil.example/ HTTP/1.1\r\n"
                  b"Host: localhost\r\n\r\n")
        assert s.recv(100) == b""
    assert cloud.previews == []
    assert b" 200 " in http_get(here, "Host: localhost\r\n")[:20]


def test_a_hundred_megabytes_pass_a_vendor_exactly(far):
    here, _ = far
    body = os.urandom(1 << 20) * 100
    back = urllib.request.urlopen(f"http://localhost:{here}/", body,
                                  timeout=300).read()
    assert len(back) == len(body)
    assert hashlib.sha256(back).digest() == hashlib.sha256(body).digest()


def test_events_pass_a_vendor_at_once_for_fifty_clients(far):
    """The page sends the second event when all clients have the first."""
    here, cloud = far
    held = []
    for _ in range(50):
        held.append(connect(here))
        held[-1].sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for word in (b"data: first\n\n", b"data: second\n\n"):
        for s in held:
            seen = b""
            while not seen.endswith(word):
                part = s.recv(4096)
                assert part
                seen += part
        GO.set()
    for s in held:
        s.close()
    assert len(cloud.previews) == 1


# Deno: a process for each connection.

@pytest.fixture
def deno_box(run, vendor, start, tmp_path):
    """(id, cloud, ports): a sandbox, and where SERVER listens for it."""
    cloud = vendor("deno")
    server, ports = start_server(tmp_path)
    done = run("sandbox", "create", "--sandbox", "deno")
    assert done.status == 0, done.err
    yield done.out.strip(), cloud, ports
    assert run("sandbox", "rm", "--force", done.out.strip()).status == 0
    server.kill()
    server.wait()


def start_server(folder):
    """SERVER on this machine, where emulated sandboxes run, at ports that
    nobody else has: {7001: ..., 7002: ...}."""
    ports = {n: free_port() for n in (7001, 7002, 7003)}
    text = re.sub(r"700\d", lambda m: str(ports[int(m[0])]), SERVER)
    p = subprocess.Popen(["/usr/bin/python3", "-c", text], cwd=folder)
    deadline = time.monotonic() + 30
    while not (folder / "ready").exists():
        assert p.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return p, ports


def left_over(cloud):
    kept, = cloud.boxes.values()
    return [p for p in kept.__dict__.get("processes", {}).values()
            if p.status is None]


def test_deno_passes_bytes_both_ways_and_their_ends(forward, deno_box):
    name, cloud, ports = deno_box
    here = free_port()  # emulated sandboxes share this machine's ports
    there = ports[7001]
    f = forward(name, there, f"{here}:{free_port()}")
    data = os.urandom(1 << 20) * 100
    back = exchange(f.ports[there], data)
    assert len(back) == len(data) + 11
    assert hashlib.sha256(back[6:-5]).digest() == \
        hashlib.sha256(data).digest()
    assert exchange(here, b"x") == b""
    assert "nothing listens on port" in f.close().err
    wait_for(lambda: not left_over(cloud))


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_deno_serves_fifty_connections_and_ends_their_processes(
        forward, deno_box):
    name, cloud, ports = deno_box
    f = forward(name, ports[7001])
    held = [connect(f.ports[ports[7001]]) for _ in range(50)]
    for s in held:
        assert s.recv(6) == b"hello\n"
    for i, s in enumerate(held):
        s.sendall(b"%d" % i)
    for i, s in enumerate(held):
        assert s.recv(10) == b"%d" % i
    assert len(left_over(cloud)) == 50
    assert f.close().status == 0  # with all of them open
    wait_for(lambda: not left_over(cloud))


def test_deno_does_not_hold_events_back(forward, deno_box):
    name, _, ports = deno_box
    check_events(forward(name, ports[7002]).ports[ports[7002]])


def test_a_client_that_does_not_read_stops_no_command(
        run, forward, deno_box):
    name, _, ports = deno_box
    port = forward(name, ports[7001]).ports[ports[7001]]
    with connect(port) as s:
        s.setblocking(False)
        data, quiet = bytes(1 << 16), 0
        while quiet < 50:  # until all buffers on the way are full
            try:
                s.send(data)
                quiet = 0
            except BlockingIOError:
                quiet += 1
                time.sleep(0.02)
        done = run("sandbox", "exec", name, "echo", "works")
        assert done.out == "works\n"
        assert exchange(port, b"x") == b"hello\nx\nbye\n"
