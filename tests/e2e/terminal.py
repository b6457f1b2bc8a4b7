"""terminal.py - a program at a pseudo-terminal, read up to awaited words."""
# SPDX-License-Identifier: MIT
import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


class Terminal:
    """A program at a terminal of its own.

    seen is all that it wrote; text is the part of it behind the last word
    that until() found. How the output is cut into reads makes no difference.
    """

    def __init__(self, command, env, cwd):
        self.seen = self.text = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            termios.tcsetwinsize(0, (24, 80))
            os.chdir(cwd)
            os.execve(command[0], list(map(str, command)), env)

    def resize(self, columns, lines):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))

    def modes(self):
        """The terminal's modes, without the characters."""
        return termios.tcgetattr(self.fd)[:4]

    def state(self):
        """The program's state as a letter: T is stopped."""
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0]

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, end):
        """Waits for more until end; False when the program has closed it.

        None when nothing came in time.
        """
        left = max(0, end - time.monotonic())
        if not select.select([self.fd], [], [], left)[0]:
            return None
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        more = self.decoder.decode(data)
        self.seen += more
        self.text += more
        return bool(data)

    def until(self, word, seconds=20):
        """Waits for word behind the one before; the text up to its end."""
        end = time.monotonic() + seconds
        while word not in self.text:
            came = self.read(end)
            assert came is not None, f"no {word!r} in {self.text!r}"
            assert came, f"ended without {word!r}: {self.text!r}"
        before, _, self.text = self.text.partition(word)
        return before + word

    def wait(self, seconds):
        """What is not awaited yet, and what comes in this time."""
        end = time.monotonic() + seconds
        while self.read(end):
            pass
        got, self.text = self.text, ""
        return got

    def end(self, seconds=30):
        """Reads to the end; the exit status."""
        end = time.monotonic() + seconds
        while came := self.read(end):
            pass
        assert came is False, f"did not end: {self.text!r}"
        return self.hang_up()

    def hang_up(self):
        """Closes the terminal; the exit status."""
        os.close(self.fd)
        self.fd = -1
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def leave(self):
        """/quit; the question what becomes of the sandbox may follow."""
        self.type("/quit\n")
        end = time.monotonic() + 30
        while self.read(end):
            if "keep it?" in self.text:
                self.type("d\n")
                break
        return self.end()

    def close(self):
        """Kills it if it has not ended."""
        if self.fd >= 0:
            os.kill(self.pid, signal.SIGKILL)
            self.hang_up()
