"""test_frames.py - what the chat writes to a terminal, and how often it wakes.

Counts of system calls: the load of the machine does not change them."""
# SPDX-License-Identifier: MIT
import re
import signal
import subprocess
import time

import pytest

from chat_pty import Pty, markdown

BEGIN, END = b"\x1b[?2026h", b"\x1b[?2026l"


@pytest.fixture
def chat(dcode_release, env, tmp_path, model):
    """chat(script, tracer) -> the program at its prompt."""
    opened = []

    def start(script, tracer=(), **size):
        opened.append(model(script))
        (tmp_path / "work").mkdir(exist_ok=True)
        p = Pty([*tracer, dcode_release, "-M", "anthropic:m", "-y"],
                {**env, "TERM": "xterm-256color"}, tmp_path / "work", **size)
        p.server = opened[0]
        opened.append(p)
        p.until(b"anthropic:m")
        p.quiet()
        return p
    yield start
    for p in opened[1:]:
        p.close()


@pytest.fixture
def trace(tmp_path):
    """trace(pid, calls, seconds, meanwhile) -> the lines of strace."""
    def run(p, calls, meanwhile):
        log = tmp_path / "trace"
        tracer = subprocess.Popen(
            ["strace", "-f", "-e", "trace=" + calls, "-o", log, "-p",
             str(p.process.pid)], stderr=subprocess.PIPE)
        tracer.stderr.readline()  # "attached"
        time.sleep(0.3)
        meanwhile()
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()
        return [line for line in log.read_text().splitlines()
                if "resumed>" not in line]
    return run


def read_for(p, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        p.read(0.05)


def writes(log):
    """(bytes, what write() returned) of each."""
    pattern = re.compile(r'write\(\d+, "((?:\\x[0-9a-f]{2})*)", \d+\)? *'
                         r'(?:= (-?\d+)|<unfinished)')
    for line in log.read_text().splitlines():
        if m := pattern.search(line):
            yield bytes.fromhex(m[1].replace("\\x", "")), m[2]


def test_each_frame_is_one_write_in_a_synchronized_update(chat, tmp_path):
    log = tmp_path / "writes"
    p = chat([{"thinking": "let me see " * 50, "text": markdown(1500),
               "chunk_bytes": 4000, "chunk_delay_ms": 5,
               "tool_calls": [{"name": "execute", "args": {
                   "command": "seq 100; sleep 0.3"}}]},
              {"text": "The end."}],
             ["strace", "-f", "-xx", "-s", "1000000", "-e", "trace=write",
              "-o", log])
    p.send(b"go\r")
    p.until(b"Esc stops it")
    for columns in (40, 120, 80):
        p.resize(columns, 24)
        read_for(p, 0.2)
    p.send(b"draft\x1b[200~pasted\r\x1b[201~")
    p.until(b"The end.")
    p.quiet()
    p.send(b"\x03\x04")
    p.until(b"dcode -r")
    p.process.wait(20)
    sent = list(writes(log))
    frames = [(data, n) for data, n in sent if BEGIN in data]
    drawn = b"".join(data for data, _ in frames)
    for text in (b"Esc stops it", b"draft", b"The end."):
        assert text in drawn
    for data, n in frames:
        assert data.startswith(BEGIN) and data.endswith(END)
        assert data.count(BEGIN) == data.count(END) == 1
        assert n in (None, str(len(data)))
    for clear in (b"\x1b[2J", b"\x1b[3J", b"\x1bc", b"\x1b[?1049h"):
        assert clear not in b"".join(data for data, _ in sent)


def test_nothing_wakes_an_idle_chat(chat, trace):
    p = chat([{"text": "Hello there."}])
    p.send(b"hi\r")
    p.until(b"Hello there.")
    read_for(p, 1)
    calls = trace(p, "all", lambda: read_for(p, 4))
    assert len([c for c in calls if "restart_syscall" not in c]) <= 4, calls
    # The positive control.
    assert len(trace(p, "all", lambda: (p.send(b"x"), read_for(p, 1)))) > 4


def test_a_stream_wakes_the_screen_for_frames_and_not_for_tokens(chat, trace):
    p = chat([{"text": markdown(20000) + "\n\nThe end.",
               "chunk_bytes": 2000}])

    def stream():
        p.send(b"go\r")
        p.until(b"The end.")
    main = str(p.process.pid)
    polls = [c for c in trace(p, "poll", stream) if c.split()[0] == main]
    frames = p.seen.count(BEGIN)
    assert 3 < len(polls) < 4 * frames + 500, (len(polls), frames)


def test_a_terminal_that_reads_nothing_is_waited_for(chat, trace):
    p = chat([{"text": markdown(20000) + "\n\nThe end."}])

    def stall():
        p.send(b"go\r")
        time.sleep(2)
    main = str(p.process.pid)
    polls = [c for c in trace(p, "poll", stall) if c.split()[0] == main]
    assert len(polls) < 250, len(polls)
    p.until(b"The end.")


@pytest.mark.parametrize("line", [
    b"The quick brown fox jumps over the lazy dog, \tagain and again.\n",
    "ein Käse, 漢字 und \U0001f600\n".encode(), b"\n", b"no line end "],
    ids=["ascii", "wide", "empty", "one"])
def test_a_paste_of_ten_megabytes_reaches_the_model_exactly(chat, line):
    p = chat([{"text": "Hello there."}])
    text = b"a" + line * (10_000_000 // len(line)) + b"z"
    p.send_all(b"\x1b[200~" + text + b"\x1b[201~", b" MB]")
    p.send(b"\r")
    p.until(b"Hello there.")
    message = p.server.requests[0]["body"]["messages"][0]["content"]
    assert message[0]["text"].encode() == text
