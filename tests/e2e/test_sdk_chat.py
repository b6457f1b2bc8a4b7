"""test_sdk_chat.py - sessions of the chat in @xterm/headless and in tmux."""
# SPDX-License-Identifier: MIT
import os
import pathlib
import random
import re
import shlex
import tempfile
import time

import pytest

import sdk
import terminals
from screens import Screen
from test_sdk_terminal import KINDS, hostile, state

SIZES = [(40, 20), (80, 24), (200, 50)]
# make soak: all of them; CI: a sample.
LONG = os.environ.get("DCODE_TEST_LONG")
RESIZES, HOSTILE = (50, 10000) if LONG else (10, 1000)
STRINGS = 100  # in a turn
WIDTHS, HEIGHTS = [30, 40, 41, 79, 80, 120, 200], [20, 24, 30, 50]


def words(first, n, wide=False):
    """Words that occur once in a session; w0012 and so on."""
    return " ".join(f"w{i:04d}" + ("漢字" if wide and i % 5 == 0 else "")
                    for i in range(first, first + n))


def answer(first, wide):
    """Markdown of each kind, of 200 numbered words."""
    parts = iter(range(first, first + 200, 20))

    def lines(form, each):
        at = next(parts)
        return "".join(form.format(words(i, each, wide))
                       for i in range(at, at + 20, each))
    return "\n\n".join([
        words(next(parts), 20, wide), "## " + words(next(parts), 20),
        lines("- {}\n", 5), "```c\n" + lines("{};\n", 4) + "```",
        "| a |\n|---|\n" + lines("| {} |\n", 2),
        lines("> {}\n", 10), *(words(i, 20, wide) for i in parts)])


def call(command):
    return {"name": "execute", "args": {"command": command}}


def session(wide):
    """Thinking, several calls at once, failures, an answer that takes long."""
    return {"turns": [
        {"thinking": "first I look " * 30, "text": answer(0, wide),
         "tool_calls": [call("seq 300; echo end"), call("sleep 0.3")]},
        {"text": answer(200, wide),
         "tool_calls": [call("printf 'a\\033[31mb\\n'; false")]},
        {"text": answer(400, wide)},
        {"text": answer(600, wide), "chunk_bytes": 1000,
         "chunk_delay_ms": 30},
    ], "by": "count"}


def stalled(wide, r):
    """Answers that stop somewhere, until they are interrupted."""
    return {"turns": [
        {"thinking": "I wonder " * 50, "text": answer(200 * i, wide),
         "chunk_bytes": r.randrange(25000, 45000), "chunk_delay_ms": 600000}
        for i in range(50)], "by": "count"}


class Chat(terminals.Xterm):
    """dcode at a pty whose other end is the emulator."""

    def __init__(self, argv, cwd, size, node, kind, env):
        self.node, self.size = node, size
        self.options, more = KINDS[kind]
        self.more = {**env, **more, "TERM": "xterm-256color"}
        self.frames, self.replies = b"", -1
        self.start(["/bin/sh", "-c", "cd " + shlex.quote(str(cwd)) +
                    " && exec " + shlex.join(map(str, argv))])

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def text(self):
        return "\n".join(self.held())

    def until(self, wanted, seconds=40):
        end = time.monotonic() + seconds
        test = wanted if callable(wanted) else lambda text: wanted in text
        while not test(self.text()):
            assert time.monotonic() < end, f"no {wanted} in {self.text()}"

    def settle(self):
        end = time.monotonic() + 0.5  # a stream never rests
        while self.serve(0.06) and time.monotonic() < end:
            pass

    def resize_terminal(self, columns, lines):
        self.ask("resize", columns, lines)
        self.set_size(columns, lines)

    def resize(self, columns, lines):
        """A frame that is on its way meanwhile would be of the old size, and
        stand wrong: no program can know. So right behind one."""
        self.size = (columns, lines)
        while not self.serve(0.2):
            pass
        while self.serve(0.005):
            pass
        self.resize_terminal(columns, lines)


class TmuxChat:
    """The same in tmux."""

    def __init__(self, argv, cwd, size, env):
        place = pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-"))
        self.screen = Screen(place, argv, env, cwd, *size)
        self.type = self.screen.type
        self.close = self.screen.close

    def until(self, wanted):
        test = wanted if callable(wanted) else lambda text: wanted in text
        self.screen.until(lambda _: test(self.text()))

    def text(self):
        return self.screen.tmux("capture-pane", "-p", "-J", "-S", "-")

    def type(self, keys):
        for line in keys.splitlines(True):
            self.screen.type(line.rstrip("\r"))
            if line.endswith("\r"):
                self.screen.keys("Enter")

    def resize(self, columns, lines):
        self.size = columns, lines
        self.screen.resize(columns, lines)
        time.sleep(0.35)  # tmux tells of it 250 ms later


@pytest.fixture
def chat(dcode, env, tmp_path, model):
    opened = []

    def start(size, kind, turns):
        model(turns)
        (tmp_path / "work").mkdir(exist_ok=True)
        argv = [dcode, "-M", "anthropic:m", "-y"]
        if kind == "tmux":
            c = TmuxChat(argv, tmp_path / "work", size, env)
        else:
            c = Chat(argv, tmp_path / "work", size,
                     sdk.node_of(terminals.TOP), kind, env)
        opened.append(c)
        c.until("anthropic:m")
        return c
    yield start
    for c in opened:
        c.close()


def found(text):
    return re.findall(r"w\d{4}", text)


def whole(n):
    return [f"w{i:04d}" for i in range(n)]


@pytest.mark.parametrize("kind", ["wraps", "tmux"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_session_is_on_the_screen_and_in_the_scrollback_once(
        chat, size, kind):
    c = chat(size, kind, session(kind != "tmux"))
    c.type("first\r")
    c.until("w0599")
    c.type("second\r")
    c.until("w0600")
    c.type("queued\r")
    c.type("draft")
    c.until("+ queued")
    c.until("w0799")
    c.type("\x1b")  # takes back what waits
    c.until("queued\n")
    text = c.text()
    assert found(text) == whole(800)
    assert text.count("draft") == text.count("second") == 1
    if kind != "tmux":
        assert not {2, 3} & set(c.dump()["erased"])
        c.ask("write", "G1sySg==")  # CSI 2 J, the positive control
        assert 2 in c.dump()["erased"]


def parts(text):
    """Of each answer the words that are there must be its first ones."""
    seen = found(text)
    for first in range(0, 10000, 200):
        own = [w for w in seen if first <= int(w[1:]) < first + 200]
        assert own == [f"w{first + i:04d}" for i in range(len(own))], text
    assert seen == sorted(seen)
    return len(seen)


@pytest.mark.parametrize("kind", ["wraps", "tmux"])
@pytest.mark.parametrize("seed", range(3))
def test_resizes_of_a_chat_that_works_lose_nothing_and_double_nothing(
        chat, seed, kind):
    r = random.Random(seed)
    c = chat(SIZES[seed], kind, stalled(kind != "tmux", r))
    for turn in range(RESIZES // 5):
        c.type(f"turn{turn}\r")
        c.until(f"w{200 * turn:04d}")
        c.type(f"draft{turn}")
        c.until(f"draft{turn}")
        n = parts(c.text())
        for _ in range(5):
            c.resize(r.choice(WIDTHS), r.choice(HEIGHTS))
            c.until("answering")
            text = c.text()
            assert n <= (n := parts(text)) + 60  # of a table that is hidden
            assert text.count(f"draft{turn}") == 1, text
            assert text.count("answering") == 1, text
        c.type("\x03")
        c.until(lambda text: text.count("Interrupted") > turn)
        c.type("\x15")


def hostile_turns(work, r, n):
    """Each string as text and thinking of the model, as output of a tool, as
    a file's name in a listing and in an error, and as an error of the model's
    vendor."""
    turns = []
    for i in range(n):
        raw = [hostile(r) for _ in range(STRINGS)]
        shown = "\n".join(s.decode("latin-1") for s in raw) + \
            b"\n".join(raw).decode("utf-8", "ignore")
        shown = shown.replace("\0", "\x01")
        (work / f"names{i}").mkdir()
        (work / f"out{i}").write_bytes(b"\n".join(raw))
        for s in raw:
            name = b"n" + s.replace(b"/", b"").replace(b"\0", b"")[:200]
            (work / f"names{i}" / os.fsdecode(name)).write_bytes(b"")
        names = [f"{work}/names{i}/" + s.decode("latin-1").replace("\0", "")
                 for s in raw[:3]]
        turns += [
            {"thinking": shown[:500], "text": shown, "tool_calls": [
                call(f"cat out{i}; cat out{i} >&2"), call(f"ls -a names{i}"),
                {"name": "ls", "args": {"path": f"{work}/names{i}"}},
                *({"name": "read_file", "args": {"file_path": p}}
                  for p in names)]},
            {"text": f"end{i}.", "fault": {
                "status": 400, "body": {"type": "error", "error": {
                    "type": "invalid_request_error", "message": shown}}}}]
    return {"turns": turns, "by": "count"}


def foreign_state(dump):
    """Without the titles that dcode itself sets: of the directory, work."""
    own = re.compile("(. )?work(: [a-z]+)?")
    titles = [t for t in dump["titles"] if not own.fullmatch(t)]
    osc = [o for o in dump["osc"] if o[0] != 2 or not own.fullmatch(o[1])]
    return state({**dump, "titles": titles, "osc": osc})


@pytest.mark.parametrize("kind", ["wraps"])
def test_hostile_bytes_of_any_source_change_nothing_but_our_cells(
        chat, tmp_path, kind):
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    n = HOSTILE // STRINGS
    c = chat((80, 24), kind, hostile_turns(work, random.Random(7), n))
    before = foreign_state(c.dump())
    for i in range(n):
        c.type(f"begin{i}.\r")
        c.until(lambda text: text.count("HTTP 400") > i and
                "Esc stops" not in text)
        c.type("\x0f")  # Ctrl+O: what the newest call has said
        c.until("Esc leaves")
        c.type("\x1b")  # the list stays until then
        c.until(lambda text: "Esc leaves" not in text)
        c.type(f"again{i}.\r")
        c.until(f"end{i}.")
    c.type("draft")
    c.until("draft")
    after = c.dump()
    assert foreign_state(after) == before
    text = c.text()
    for i in range(n):
        at = [text.find(f"{w}{i}.") for w in ("begin", "again", "end")]
        assert -1 not in at and at == sorted(at)
    assert re.search("\u276f draft\n[^\n]* m [^\n]*\\s*$", text)
    # The positive control: the emulator does see what is sent as it is.
    c.ask("write", "G11dMDtvd25lZAcbWzZu")  # OSC 0;owned BEL, CSI 6n
    assert foreign_state(c.dump()) != before
