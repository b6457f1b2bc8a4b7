"""test_arriving.py - Markdown is seen as it will look while it arrives."""
# SPDX-License-Identifier: MIT
import pytest

from test_live_chat import live  # noqa: F401

ANSWER = """Some **bold words**, [a link](https://example.org/path) and `code`.

| name | **meaning** | status |
|------|:-----------:|-------:|
| alpha | the *colour* | done |

End.
"""


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_no_mark_of_markdown_is_seen(live, columns, lines):
    s, _ = live([{"text": ANSWER, "token_chars": 2, "chunk_bytes": 120,
                  "chunk_delay_ms": 15}], columns=columns, lines=lines,
                ready="this machine")
    s.type("go")
    s.keys("Enter")
    seen = set()

    def ended(text):
        seen.add(text)
        return "Done in" in text
    end = s.until(ended)
    assert "End." in end and "alpha" in end
    assert len(seen) > 5  # the control: it was seen while it arrived
    for text in seen:
        for mark in "**", "](", "`c", "|--", "| name", "[a":
            assert mark not in text, text
