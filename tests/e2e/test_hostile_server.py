"""test_hostile_server.py - a vendor's server whose bytes have no end."""
# SPDX-License-Identifier: MIT
import json
import os
import socket
import subprocess
import sys
import threading
import zlib

import pytest

MOST_MB = 160  # of the whole run, whatever is sent
MOST_SENT = 1 << 30
OK = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
      b"Connection: close\r\n")


def event(kind, **members):
    return (f"event: {kind}\ndata: "
            f"{json.dumps(dict(members, type=kind))}\n\n").encode()


def opened(index, **block):
    return event("content_block_start", index=index, content_block=block)


def delta(index, **what):
    return event("content_block_delta", index=index, delta=what)


def closed(index):
    return event("content_block_stop", index=index)


START = OK + b"\r\n" + event("message_start", message={
    "id": "m", "type": "message", "role": "assistant", "content": [],
    "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}})
END = event("message_delta", delta={"stop_reason": "end_turn"},
            usage={"output_tokens": 1}) + event("message_stop")
LONG = "y" * 60000
MEASURE = """
import os, sys
pid = os.fork() or os.execv(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(pid, 0)
open(sys.argv[1], "w").write("%d %d" % (status, usage.ru_maxrss))
"""


def endless(head, piece):
    yield head
    for _ in range(MOST_SENT // len(piece)):
        yield piece


def bomb(status):
    z = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield (b"HTTP/1.1 " + status + b"\r\nContent-Type: text/event-stream\r\n"
           b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n")
    for _ in range(1000):
        yield z.compress(b"data: x\n" * (1 << 17))


def calls(n):
    yield START
    for i in range(n):
        yield (opened(i, type="tool_use", id="same", name="ls", input={}) +
               closed(i))
    yield END


CASES = {
    "headers": lambda: endless(b"HTTP/1.1 200 OK\r\n",
                               b"X-A: " + LONG.encode() + b"\r\n"),
    "one header": lambda: endless(b"HTTP/1.1 200 OK\r\nX: ", LONG.encode()),
    "status line": lambda: endless(b"HTTP/1.1 200 ", LONG.encode()),
    "100s": lambda: endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2000),
    "line": lambda: endless(OK + b"\r\ndata: ", LONG.encode()),
    "lines": lambda: endless(OK + b"\r\n", b"data: cccc\n" * 10000),
    "text": lambda: endless(START + opened(0, type="text", text=""),
                            delta(0, type="text_delta", text=LONG)),
    "thinking": lambda: endless(
        START + opened(0, type="thinking", thinking=""),
        delta(0, type="thinking_delta", thinking=LONG)),
    "arguments": lambda: endless(
        START + opened(0, type="tool_use", id="a", name="ls", input={}),
        delta(0, type="input_json_delta", partial_json=LONG)),
    "calls": lambda: calls(1000000),
    "error body": lambda: endless(
        b"HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\n"
        b"Connection: close\r\n\r\n", b"{\x1b]0;x" * 8000),
    "gzip": lambda: bomb(b"200 OK"),
    "gzip error": lambda: bomb(b"400 Bad"),
    "nesting": lambda: iter([START + b"data: " + b"[" * 1000000 + b"\n\n"]),
}


class Server:
    """Answers one request after another with what answer() yields."""

    def __init__(self, answer):
        self.answer = answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            with conn:
                try:
                    self.one(conn)
                except OSError:
                    pass  # it had enough

    def one(self, conn):
        conn.settimeout(30)
        got = b""
        while b"\r\n\r\n" not in got:
            got += conn.recv(65536)
        head, body = got.lower().split(b"\r\n\r\n", 1)
        left = int(head.split(b"content-length:")[1].split()[0]) - len(body)
        while left > 0:
            left -= len(conn.recv(65536))
        for piece in self.answer():
            conn.sendall(piece)


@pytest.fixture
def measured(dcode_release, env, tmp_path):
    """measured(answer) -> (status, standard error, megabytes at most)."""
    servers = []

    def go(answer):
        servers.append(Server(answer))
        env.update(ANTHROPIC_BASE_URL=servers[-1].url,
                   ANTHROPIC_API_KEY="key-of-a-test")
        # A process begins with the peak of the one that it was forked from:
        # a small one stands between it and the tests.
        with open(tmp_path / "err", "wb") as err:
            subprocess.run(
                [sys.executable, "-c", MEASURE, tmp_path / "peak",
                 dcode_release, "-n", "x", "-M", "anthropic:m",
                 "--max-retries", "0", "--timeout", "60"], env=env,
                cwd=tmp_path, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=err, check=True)
        status, peak = (tmp_path / "peak").read_text().split()
        return (os.waitstatus_to_exitcode(int(status)),
                (tmp_path / "err").read_bytes(), int(peak) / 1024)
    yield go
    for server in servers:
        server.listener.close()


@pytest.mark.parametrize("case", CASES)
def test_nothing_without_an_end_is_taken(measured, case):
    status, err, megabytes = measured(CASES[case])
    assert status == 1, err[-500:]
    assert b"Error: " in err and b"\x1b" not in err
    assert megabytes < MOST_MB


def test_a_long_answer_is_taken(measured):
    """The same parts in a sane number."""
    status, err, megabytes = measured(lambda: iter(
        [START, opened(0, type="text", text="")] +
        [delta(0, type="text_delta", text=LONG)] * 20 + [closed(0), END]))
    assert status == 0, err[-500:]
    assert megabytes < MOST_MB
