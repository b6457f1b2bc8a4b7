"""test_chat_copy.py - what an answer shows can be copied from the terminal."""
# SPDX-License-Identifier: MIT
import pytest

from test_live_chat import live  # noqa: F401

# pylint: disable=redefined-outer-name

LINE = "curl " + " ".join(f"-H 'X-{i}: {i}'" for i in range(30)) + " host"
ADDRESS = "https://example.com/" + "/".join(f"part{i}" for i in range(60))
ANSWER = f"""Run:

```sh
{LINE}
```

Then read {ADDRESS} and [the docs](https://docs.example.com/a/b).

The end."""


@pytest.mark.parametrize("columns, lines", [(80, 24), (40, 12), (200, 50)])
def test_code_and_addresses_are_copied_in_one_piece(live, columns, lines):
    s, _ = live({"turns": [{"text": ANSWER}], "by": "count"},
                columns=columns, lines=lines)
    s.type("how?")
    s.keys("Enter")
    s.until("The end.", scrollback=True)
    copied = s.tmux("capture-pane", "-p", "-J", "-S", "-").split("\n")
    assert LINE in copied and ADDRESS in copied
    assert all(len(row) <= columns
               for row in s.text(scrollback=True).split("\n"))


@pytest.mark.parametrize("forced, shown", [
    ("1", "the docs (docs.example.com)"),
    ("0", "the docs (https://docs.example.com/a/b)")])
def test_a_link_shows_its_host_where_the_terminal_opens_it(live, env, forced,
                                                           shown):
    env["FORCE_HYPERLINK"] = forced
    s, _ = live({"turns": [{"text": ANSWER}], "by": "count"})
    s.type("how?")
    s.keys("Enter")
    s.until("The end.", scrollback=True)
    assert shown in s.text(scrollback=True)
