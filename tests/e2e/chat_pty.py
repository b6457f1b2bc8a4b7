"""chat_pty.py - runs programs in a pseudo-terminal, with a model."""
# SPDX-License-Identifier: MIT
import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import tty
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
DEADLINE = 15


class Pty:
    """A program in a terminal of its own: what it has written, and when."""

    def __init__(self, argv, env, cwd, columns=80, lines=24):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))
        self.seen, self.cwd = bytearray(), pathlib.Path(cwd)
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            list(map(str, argv)), stdin=slave, stdout=slave, stderr=slave,
            env=env, cwd=cwd, start_new_session=True, close_fds=True)
        os.close(slave)
        os.set_blocking(self.master, False)

    def read(self, seconds=0.0):
        """Returns what arrives within that time; b"" if nothing does."""
        if not select.select([self.master], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self.master, 1 << 20)
        except OSError:
            return b""
        self.seen += data
        return data

    def send(self, keys):
        os.write(self.master, keys)

    def until(self, wanted, start=0, seconds=DEADLINE):
        """Waits for the bytes after position start. Returns the time."""
        end = time.monotonic() + seconds
        while self.seen.find(wanted, start) < 0:
            if time.monotonic() > end:
                raise TimeoutError(f"no {wanted!r} in "
                                   f"{bytes(self.seen[start:][-2000:])!r}")
            self.read(0.5)
        return time.monotonic()

    def quiet(self, seconds=0.2):
        """Waits until nothing has arrived for so long."""
        while self.read(seconds):
            pass

    def send_all(self, data, done):
        """Writes as fast as the terminal reads. Returns the time until done is
        seen."""
        start, at, began = len(self.seen), 0, time.monotonic()
        view = memoryview(data)
        while self.seen.find(done, start) < 0:
            if time.monotonic() > began + DEADLINE:
                raise TimeoutError(f"{at} of {len(data)} bytes sent")
            ready = select.select([self.master],
                                  [self.master] if at < len(data) else [],
                                  [], 1)
            if ready[0]:
                self.read()
            if ready[1]:
                at += os.write(self.master, view[at:at + 65536])
        return time.monotonic() - began

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))

    def memory(self):
        """Memory of the program alone in KiB: {"Pss": n, ...}."""
        text = pathlib.Path(
            f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return {line.split(":")[0]: int(line.split()[1])
                for line in text.splitlines()[1:]}

    def cpu(self):
        """CPU seconds of the program alone, user and system."""
        stat = pathlib.Path(f"/proc/{self.process.pid}/schedstat")
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            total += int((task / stat.name).read_text().split()[0])
        return total / 1e9

    def wake_ups(self):
        """How often its threads have gone to sleep so far."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            text = (task / "status").read_text()
            total += int(text.split("voluntary_ctxt_switches:")[1].split()[0])
        return total

    def close(self):
        """Ends the program if it still runs. May be called again."""
        if self.master < 0:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 10
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.01)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        self.master = -1


class Model:
    """The model emulator, in a process of its own."""

    def __init__(self, place):
        self.place = pathlib.Path(place)
        script = self.place / "script.json"
        port = self.place / "port"
        script.write_text("[]")
        self.process = subprocess.Popen(
            [sys.executable, str(TOP / "tests/emulators/model.py"),
             "--script", str(script), "--port-file", str(port)])
        end = time.monotonic() + DEADLINE
        while not port.exists() and time.monotonic() < end:
            time.sleep(0.02)
        self.url = f"http://127.0.0.1:{port.read_text().strip()}"

    def script(self, turns, **more):
        spec = {"turns": turns, "repeat": True, "check": False, **more}
        urllib.request.urlopen(urllib.request.Request(
            self.url + "/_script", json.dumps(spec).encode(),
            {"Content-Type": "application/json"}), timeout=10).read()

    def state(self):
        with urllib.request.urlopen(self.url + "/_state", timeout=10) as f:
            return json.load(f)

    def env(self):
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "sk-a",
                "OPENAI_BASE_URL": self.url + "/v1", "OPENAI_API_KEY": "sk-o"}

    def close(self):
        self.process.kill()
        self.process.wait()


PROSE = """## Part {n}: reading the input

The parser of part {n} reads **one line** at a time and keeps `{n}` of them in
a ring. What it cannot take goes back to the caller, who decides *when* to ask
again; see [the notes](https://example.org/notes/{n}) for the reasons.

- first, the header of {n} bytes is checked,
- then the body is split at each `\\n`,
  with care for what was cut,
- last, the sum is compared.

```c
static int take_{n}(struct ring *r, const char *line)
{{
	for (size_t i = 0; i < r->n; i++) /* from the oldest */
		if (!strcmp(r->lines[i], line))
			return {n};
	return ring_add(r, line, "part {n}");
}}
```

| field | bytes | meaning |
|-------|------:|---------|
| magic | 4 | always `{n}` |
| sum | 8 | of the body |

"""


def markdown(tokens, size=4):
    """Returns Markdown of so many tokens of so many characters."""
    text, n = "", 0
    while len(text) < tokens * size:
        n += 1
        text += PROSE.format(n=n)
    return text[:tokens * size]


def env_of(home, model):
    keep = ("PATH", "LANG", "TZ")
    env = {k: os.environ[k] for k in keep if k in os.environ}
    return {**env, "HOME": str(home), "TERM": "xterm-256color",
            **model.env()}


def open_raw(argv, env, cwd):
    """Starts a bare program. The terminal is raw before it reads."""
    p = Pty(argv, env, cwd)
    tty.setraw(p.master)
    p.until(b"ready")
    return p
