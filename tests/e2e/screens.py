"""screens.py - runs dcode in tmux: sends keys, reads the screen."""
# SPDX-License-Identifier: MIT
import atexit
import os
import shlex
import shutil
import signal
import subprocess
import time

DEADLINE = 30
LINGER = 5
_closed = []  # programs whose terminal has gone: (since when, pid)
_places = []  # folders that were made for a screen only


def _end_lingering(least=LINGER):
    """Kills programs that linger. Under ASan, a program whose terminal was
    closed while it looked for leaks may use a processor for ever."""
    now = time.monotonic()
    for entry in [e for e in _closed if now - e[0] >= least]:
        _closed.remove(entry)
        try:
            with open(f"/proc/{entry[1]}/comm", encoding="utf-8") as comm:
                if comm.read().strip() == "dcode":
                    os.kill(entry[1], signal.SIGKILL)
        except OSError:
            pass  # it has ended


@atexit.register
def _at_exit():
    if _closed:
        time.sleep(LINGER)
        _end_lingering(0)
    for place in _places:
        shutil.rmtree(place, ignore_errors=True)


class Screen:
    """A window of a tmux server of its own."""

    def __init__(self, place, command, env, cwd, columns=80, lines=24):
        if place.name.startswith("dcode-tmux-"):
            _places.append(place)
        self.socket = place / "tmux"
        self.status_file = place / "status"
        env = {**env, "TMUX_TMPDIR": str(place), "SHELL": "/bin/sh"}
        env.pop("TERM")
        # A Ctrl+C behind the end of dcode does not end the shell around it.
        line = "trap : INT; " + " ".join(map(shlex.quote, map(str, command)))
        line += f"; echo $? > {shlex.quote(str(self.status_file))}; "
        line += "while :; do sleep 600; done"
        self.env = env
        (place / "tmux.conf").write_text(
            "set -g status off\nset -g escape-time 10\n"
            "set -g default-terminal tmux-256color\n"
            "set -g history-limit 50000\n")
        self.tmux("-f", place / "tmux.conf", "new-session", "-d", "-c", cwd,
                  "-x", columns, "-y", lines, line)

    def tmux(self, *args):
        done = subprocess.run(
            ["tmux", "-S", str(self.socket), *map(str, args)], env=self.env,
            check=True, capture_output=True, timeout=DEADLINE)
        return done.stdout.decode("utf-8", "replace")

    def text(self, scrollback=False):
        """Returns the screen; with scrollback, everything that was printed."""
        how = ["-S", "-"] if scrollback else []
        return self.tmux("capture-pane", "-p", *how)

    def type(self, text):
        """Types characters; keys() presses keys with names."""
        self.tmux("send-keys", "-l", text)

    def paste(self, text):
        """Pastes as a terminal does (bracketed paste)."""
        self.tmux("set-buffer", "--", text)
        self.tmux("paste-buffer", "-p", "-r")

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def until(self, wanted, scrollback=False, seconds=DEADLINE):
        """Waits for a text, or for a function of the screen to be true."""
        end = time.monotonic() + seconds
        test = wanted if callable(wanted) else lambda s: wanted in s
        while True:
            seen = self.text(scrollback)
            if test(seen):
                return seen
            assert time.monotonic() < end, f"no {wanted!r} in:\n{seen}"
            time.sleep(0.02)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", columns, "-y", lines)

    def pid(self):
        """Returns the process id of the program."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        children = subprocess.run(["pgrep", "-P", shell], check=True,
                                  capture_output=True).stdout.split()
        return int(children[0])

    def status(self):
        """Waits for the end and returns the exit status."""
        end = time.monotonic() + DEADLINE
        while not (self.status_file.exists() and
                   self.status_file.read_text().strip()):
            assert time.monotonic() < end, f"still runs:\n{self.text()}"
            time.sleep(0.02)
        return int(self.status_file.read_text())

    def close(self):
        if not self.status_file.exists():
            try:
                _closed.append((time.monotonic(), self.pid()))
            except (subprocess.SubprocessError, IndexError):
                pass  # it has ended
        _end_lingering()
        subprocess.run(["tmux", "-S", str(self.socket), "kill-server"],
                       env=self.env, capture_output=True, timeout=DEADLINE)


