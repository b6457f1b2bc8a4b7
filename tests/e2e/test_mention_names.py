"""test_mention_names.py - @path of any name that Tab completes."""
# SPDX-License-Identifier: MIT
import pytest

from test_live_chat import HELLO, live, prompts  # noqa: F401

# pylint: disable=redefined-outer-name

# A name, and what is typed of it before Tab.
NAMES = {
    "plain.txt": "plai", "app/[id]/page.tsx": "app/[", "my dir/x.tsx": "my",
    "app/(group)/page.tsx": "app/(", "it's.txt": "it'", "k,v.txt": "k,",
    "c#.txt": "c#", "a&b.txt": "a&", "{brace}.txt": "{", "m+n=o.txt": "m+n",
    "~draft.txt": "~dr", "wow!.txt": "wow", "semi;colon": "semi",
    "dollar$HOME": "dollar", "back\\slash": "backs", "c:drive.txt": "c:d",
    'quote"d': "quote", "stop.": "stop", "comma,": "comma", "@at.txt": "@at",
    "*star*": "*st", "<angle>": "<an", "what?": "what", "tick`s": "tick",
    "pipe|d": "pipe", "caret^": "caret", "p%20.txt": "p%", "日本.txt": "日",
    "two  blanks \\ end": "two", "closing)": "closing", "-dash": "-das",
}


@pytest.fixture
def work(tmp_path):
    top = tmp_path / "work"
    for name in NAMES:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"BODY OF {name}.\n")
    return top


def send(s, text, n):
    """Types the message; its answer is the n-th."""
    s.type(text)
    s.keys("Enter")
    s.until(lambda t: t.count("Hello there.") >= n)


def test_what_tab_completes_is_sent(live, work):
    s, server = live(HELLO, lines=50)
    left = {}
    for n, (name, typed) in enumerate(NAMES.items(), 1):
        s.keys("C-l")
        s.type(f"see @{typed}")
        s.until(name)
        for _ in range(name.count("/") + 1 - typed.count("/")):
            s.keys("Tab")  # a directory comes before what is in it
        s.type("now")
        s.keys("Enter")
        s.until(lambda t, n=n: len(server.requests) >= n and "Esc" not in t)
        sent = prompts(server)[-1]
        if f"### {name}\n" not in sent or f"BODY OF {name}." not in sent:
            left[name] = sent
    assert left == {}


def test_odd_names_may_be_typed_without_backslashes(live, work):
    s, server = live(HELLO)
    send(s, "see @app/[id]/page.tsx, @plain.txt; @it's.txt (and @k,v.txt)! "
         "@c#.txt,@{brace}.txt: 'or @wow!.txt'.", 1)
    sent = prompts(server)[0]
    for name in ("app/[id]/page.tsx", "plain.txt", "it's.txt", "k,v.txt",
                 "c#.txt", "{brace}.txt", "wow!.txt"):
        assert f"### {name}\n" in sent, name
    assert "not a readable file" not in s.text(True)


@pytest.mark.slow
def test_what_does_not_go_along_is_said(live, work):
    (work / "large").write_text("words\n" * 60000)
    (work / "binary").write_bytes(b"\0\1\2\xff" * 100)
    (work / "exact").write_text("w" * 1000)
    many = [f"f{i}" for i in range(21)]
    for name in many:
        (work / name).write_text("small\n")
    s, server = live(HELLO, columns=120)
    send(s, "see @large @binary @exact @gone @app please", 1)
    seen = s.text(True)
    assert "@large is larger than 256 KiB: only its name is sent" in seen
    assert "@binary is not a text file: only its name is sent" in seen
    for name in ("gone", "app"):
        assert f"@{name} is not a readable file: sent as text" in seen
    assert "@exact is" not in seen
    assert seen.index("@large is larger") < seen.index("Hello there.")
    assert "words\nwords" not in prompts(server)[0]
    s.keys("C-l")
    send(s, "see " + " ".join(f"@{name}" for name in many), 1)
    s.until("@f20 is sent as text: the limit is 20 files per message")
    assert "### f19\n" in prompts(server)[1]
    assert "### f20\n" not in prompts(server)[1]
