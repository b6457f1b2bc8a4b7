"""test_dial.py - the first connection is begun while libcurl is loaded."""
# SPDX-License-Identifier: MIT
import contextlib
import re
import socket
import subprocess
import threading

import pytest

from lifecycle import wait_for

TASK = ("-n", "hi", "-M", "anthropic:m")


class Door:
    """A port that leads to another one, and counts who came."""

    def __init__(self, port, address="127.0.0.1"):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.server = socket.create_server((address, 0), family=family)
        self.port, self.target = self.server.getsockname()[1], port
        self.came = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near = self.server.accept()[0]
            except OSError:
                return
            self.came += 1
            far = socket.create_connection(("127.0.0.1", self.target))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    def close(self):
        self.server.close()


def pump(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def port_of(server):
    return int(re.search(r":(\d+)", server.env["ANTHROPIC_BASE_URL"])[1])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_request_is_one_connection(run, model, env, host):
    server = model([{"text": "hello"}])
    try:
        door = Door(port_of(server), "::1" if ":" in host else "127.0.0.1")
    except OSError:
        pytest.skip("no IPv6 here")
    env["ANTHROPIC_BASE_URL"] = f"http://{host}:{door.port}"
    r = run(*TASK)
    door.close()
    assert r.status == 0, r.err
    assert "hello" in r.out and len(server.requests) == door.came == 1


def test_it_begins_before_libcurl_is_there(dcode_release, env, home, tmp_path,
                                           model):
    """Which opens some thirty files: the best of three, on a busy machine."""
    model({"turns": [{"text": "hello"}], "repeat": True})

    def is_early():
        trace = tmp_path / "trace"
        subprocess.run(
            ["strace", "-f", "-o", trace, "-e", "trace=openat,connect",
             dcode_release, *TASK], env=env, cwd=tmp_path / "work",
            check=True, capture_output=True, stdin=subprocess.DEVNULL)
        lines = trace.read_text().splitlines()
        first = [i for i, line in enumerate(lines) if "AF_INET" in line][0]
        libraries = [i for i, line in enumerate(lines) if ".so." in line]
        return first < libraries[-1]
    assert any(is_early() for _ in range(3))


def own_address():
    """Of this machine, but not that of the loopback device; or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.99", 9))
        except OSError:
            return None
        return s.getsockname()[0]


@pytest.mark.skipif(not own_address(), reason="no other address here")
def test_where_a_proxy_is_named_nobody_else_is_called(start, model, env):
    """Without it the server is: the control."""
    server = model([])
    address = own_address()
    door, proxy = Door(port_of(server), address), Door(port_of(server))
    env["ANTHROPIC_BASE_URL"] = f"https://{address}:{door.port}"
    try:
        for named in (True, False):
            env.pop("HTTPS_PROXY", None)
            if named:
                env["HTTPS_PROXY"] = f"http://127.0.0.1:{proxy.port}"
            r = start(*TASK)
            wait_for(lambda n=named: (proxy if n else door).came)
            r.signal()
            r.wait()
            assert not named or (proxy.came and not door.came)
    finally:
        door.close()
        proxy.close()
