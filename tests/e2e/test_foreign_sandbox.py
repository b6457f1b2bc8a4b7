"""test_foreign_sandbox.py - one that dcode did not make, and a loose chat."""
# SPDX-License-Identifier: MIT
import pytest

from slash_chat import begin, talk  # noqa: F401 (a fixture)
from test_live_chat import live  # noqa: F401 (a fixture)

# pylint: disable=redefined-outer-name

MAKE = {"tool_calls": [{"name": "execute",
                        "args": {"command": "echo x > made"}}]}
QUESTION = "Run calls in it without asking? [y/N]"


@pytest.fixture
def foreign(run, home):
    """The id of a sandbox that the ledger has forgotten."""
    made = run("sandbox", "create", "--sandbox", "local")
    assert made.status == 0, made.err
    for name in (home / ".deepagents" / ".state").glob("dcode.db*"):
        name.unlink()
    return made.out.strip()


def allow_all(chat):
    chat.say("/yolo", "Allow it? [y/N]")
    chat.say("y", "The mode is yolo.")


@pytest.mark.parametrize("how", ["flag", "mode"])
@pytest.mark.parametrize("answer", ["n", "y"])
def test_a_no_for_the_place_of_a_switch_holds_in_a_chat_that_asks_nothing(
        talk, foreign, how, answer):
    c = begin(talk, {"turns": [MAKE, {"text": "First."}, MAKE,
                               {"text": "Second."}], "by": "count"},
              "--sandbox", "local", "--workspace", "none", "--on-exit",
              "delete", *(["-y"] if how == "flag" else []))
    if how == "mode":
        allow_all(c)
    c.say("go", "First.")
    c.say(f"/sandbox switch local {foreign}", QUESTION)
    c.say(answer, "now run in a sandbox of local")
    c.say("go on")
    seen = c.until(lambda t: "Second." in t or "y yes" in t or
                   "Allow it?" in t.split(QUESTION)[1])
    assert ("Second." in seen) == (answer == "y")
    assert ("dcode now asks about each call." in seen) == (answer == "n")


@pytest.mark.parametrize("answer", ["n", "y"])
def test_a_no_at_the_start_holds_against_the_flag_yolo(live, foreign, answer):
    s, _ = live([MAKE, {"text": "done."}], ready=QUESTION,
                args=["--sandbox", "local", "--workspace", "none",
                      "--sandbox-id", foreign, "--yolo"])
    s.type(answer)
    s.keys("Enter")
    if answer == "y":  # the control: the mode is asked about then
        s.until("Allow it? [y/N]")
        return
    seen = s.until("\u276f")
    assert "Allow it?" not in seen
    s.until(lambda t: "manual" in t.strip().splitlines()[-1])
