"""test_sdk_terminal.py - the screen in @xterm/headless, and hostile text."""
# SPDX-License-Identifier: MIT
import json
import random
import subprocess
import time
import unicodedata

import pytest

import sdk
import terminals

SIZES = [(40, 20), (80, 24), (200, 50)]
# Emulators that wrap rows at a resize, and one that cuts them.
KINDS = {
    "wraps": ({}, {"TERM_PROGRAM": "vscode"}),
    "cuts": ({"windowsPty": {"backend": "winpty", "buildNumber": 19000}},
             {"XTERM_VERSION": "XTerm(379)"}),
}


@pytest.fixture(scope="session")
def screen_play(tmp_path_factory):
    return terminals.build(tmp_path_factory.mktemp("screen"))


@pytest.fixture
def xterm(screen_play, tmp_path):
    opened = []

    def start(size, kind="wraps"):
        node = sdk.node_of(terminals.TOP)
        options, env = KINDS[kind]
        opened.append(terminals.Xterm(screen_play, tmp_path / "xterm", size,
                                      node, options, env))
        return opened[0]
    yield start
    for t in opened:
        t.close()


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_screen_and_scrollback_are_what_was_printed(xterm, size):
    t = xterm(size)
    for i in range(100):
        t.print(f"row {i} " + "漢x" * i)
        t.set_live([f"> {i}", "status"], (0, 3))
        t.flush()
    t.check()
    assert "2" not in t.dump()["erased"] and "3" not in t.dump()["erased"]


@pytest.mark.parametrize("seed", range(6))
def test_resizes_lose_no_row_and_double_none(xterm, seed):
    terminals.play(xterm(SIZES[seed % 3]), random.Random(seed), 25)


def test_resizes_to_few_lines_lose_no_row_and_double_none(xterm):
    terminals.play(xterm((80, 24)), random.Random(7), 40, low=True)


def test_resize_of_a_terminal_that_cuts_rows_keeps_the_transcript(xterm):
    t = xterm((80, 24), "cuts")
    for i in range(60):
        t.print(f"row {i}")
    for columns in (40, 79, 30, 120):
        t.set_live(["a" * 70, "> " + "b" * 60, "c" * 50], (1, 10))
        t.flush()
        t.check()
        t.resize(columns, 24)
        t.check()


def hostile(r):
    """Bytes that would do harm if they came through."""
    pieces = [b"\x1b]0;owned\x07", b"\x1b]52;c;QUJD\x07", b"\x1b[6n",
              b"\x1b[c", b"\x1b[>c", b"\x1b]10;?\x1b\\", b"\x1bP$qm\x1b\\",
              b"\x1b[?1049h", b"\x1b[?1000h", b"\x1b[?25l", b"\x1b[2J",
              b"\x1b[H", b"\x1b7", b"\x1bc", b"\x9b5n", b"\xc2\x9b6n",
              b"\xc2\x9d0;x\x07", b"\x05", b"\x07", b"\x08", b"\r", b"\x0e",
              b"\x1b(0", b"\x1b[5m", b"\x1b]8;;http://x\x1b\\", b"\x1b[!p",
              b"\x1b_Gx\x1b\\", b"\x1b[4h", b"\x1b[10;20r", b"\x1b[?7l"]
    made = b""
    for _ in range(r.randrange(1, 6)):
        if r.random() < 0.5:
            made += r.choice(pieces)
        else:
            made += r.randbytes(r.randrange(1, 12))
        if r.random() < 0.3:
            made = made[:r.randrange(len(made) + 1)]
    return made or b"\x1b"


def state(dump):
    return [dump[k] for k in ("titles", "answers", "bells", "osc", "type",
                              "modes")]


def test_hostile_bytes_change_nothing_but_our_cells(xterm):
    t, r = xterm((80, 24)), random.Random(11)
    t.set_live(["> typed", "status"], (0, 3))
    t.flush()
    before = state(t.dump())
    for _ in range(100):
        many = b"\n".join(hostile(r) for _ in range(95))
        t.do("hex " + many.hex())
        for _ in range(5):
            t.do("hexlive " + hostile(r).hex())
        t.flush()
    t.set_live(["> typed", "status"], (0, 3))
    t.flush()
    after = t.dump()
    assert state(after) == before
    rows = [text.rstrip() for text, _ in after["lines"]]
    while not rows[-1]:
        rows.pop()
    assert rows[-2:] == ["> typed", "status"]
    # The positive control: the emulator does see what is sent as it is.
    t.ask("write", "G11dMDtvd25lZAcbWzZu")  # OSC 0;owned BEL, CSI 6n
    assert state(t.dump()) != before


# Runs in tmux: writes each character and asks where the cursor is.
PROBE = """
import json, os, re, sys, tty
tty.setraw(0)
found, held = [], b""
for c in json.load(open(sys.argv[1])):
    os.write(1, ("\\r\\x1b[K" + chr(c) + "\\x1b[6n").encode())
    while not (m := re.search(rb"\\x1b\\[\\d+;(\\d+)R", held)):
        held += os.read(0, 1000)
    found.append(int(m[1]) - 1)
    held = held[m.end():]
json.dump(found, open(sys.argv[1] + ".new", "w"))
os.rename(sys.argv[1] + ".new", sys.argv[1] + ".widths")
"""


def widths_in_tmux(folder, points):
    (folder / "points").write_text(json.dumps(points))
    (folder / "probe.py").write_text(PROBE)
    tmux = ["tmux", "-S", folder / "socket", "-f", "/dev/null"]
    subprocess.run([*tmux, "new-session", "-d", "-x", "80", "-y", "24",
                    f"/usr/bin/python3 {folder}/probe.py {folder}/points"],
                   check=True, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin"})
    found = folder / "points.widths"
    end = time.monotonic() + 120
    while not found.exists() and time.monotonic() < end:
        time.sleep(0.1)
    subprocess.run([*tmux, "kill-server"], check=False,
                   stderr=subprocess.DEVNULL)
    return json.loads(found.read_text())


def test_width_is_that_of_tmux_and_xterm_where_they_agree(
        xterm, screen_play, tmp_path):
    points = [c for c in range(0xA0, 0x20000) if unicodedata.category(chr(c))
              not in ("Cn", "Cs", "Cc", "Co")]
    points = sorted(random.Random(5).sample(points, 4000))
    theirs = zip(xterm((80, 24)).ask("widths", points),
                 widths_in_tmux(tmp_path, points))
    ours = subprocess.run([screen_play], text=True, check=True,
                          input="".join(chr(c) + "\n" for c in points),
                          stdout=subprocess.PIPE).stdout.split()
    wrong, agreed = [], 0
    for c, (x, t), o in zip(points, theirs, ours):
        agreed += x == t
        if x == t != int(o):
            wrong.append(f"U+{c:04X} is {o}, should be {t}")
    assert not wrong
    assert agreed > 3500
