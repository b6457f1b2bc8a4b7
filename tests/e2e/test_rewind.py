"""test_rewind.py - /rewind goes back to before an earlier prompt."""
# SPDX-License-Identifier: MIT
import json

from slash_chat import (  # noqa: F401 (a fixture)
    begin, on_screen, talk)

ANSWERS = {"turns": [{"text": f"Answer {n}."} for n in range(9)],
           "by": "count"}


def three(talk, *args):
    c = begin(talk, ANSWERS, *args)
    for n, what in enumerate(("apples", "pears", "plums")):
        c.say(f"about {what}", f"Answer {n}.")
    return c


def stored(run):
    """{id: number of prompts} of the threads."""
    doc = json.loads(run("threads", "list", "--json").out)
    return {t["thread_id"]: t["turns"] for t in doc["data"]}


def choose(c, word, wanted="Went back to before this prompt"):
    c.say("/rewind", "Go back to before a prompt")
    c.until("about plums")
    return c.say(word, wanted)


def test_the_thread_forks_before_the_chosen_prompt(talk, run):
    c = three(talk)
    (old,) = stored(run)
    seen = choose(c, "pears")
    assert f"/resume{old}" in "".join(seen.split())
    assert "Files stay as they are now." in seen
    if c.screen:
        c.until("❯ about pears\n")
        c.keys("C-u")
    else:
        c.until("The prompt was:\nabout pears\n")
    assert c.ask("about cherries") == ["about apples", "about cherries"]
    c.until("Answer 3.")
    (new,) = set(stored(run)) - {old}
    assert stored(run) == {old: 3, new: 2}
    c.say(f"/resume {old}", "Resumed thread")
    assert c.ask("more")[:3] == ["about apples", "about pears", "about plums"]


@on_screen
def test_two_escapes_at_an_empty_prompt_list_the_prompts(talk):
    c = three(talk)
    c.type("x")
    c.keys("Escape", "Escape", "BSpace")
    c.keys("Escape")
    c.until("Esc again goes back")
    c.type("y")
    c.until(lambda t: "Esc again" not in t)
    c.keys("BSpace", "Escape")
    assert "Go back to" not in c.until("Esc again goes back")
    c.keys("Escape")
    seen = c.until("keeps the 4 messages before it, leaves out 2")
    assert (seen.index("  about plums") < seen.index("  about pears\n")
            < seen.index("  about apples"))
    c.keys("Down", "Enter")
    c.until("❯ about pears\n")


@on_screen
def test_escape_that_stops_a_turn_lists_nothing(talk):
    c = begin(talk, {"turns": [{"text": "word " * 400, "chunk_bytes": 100,
                                "chunk_delay_ms": 200}], "by": "count"})
    c.say("go on", "word word")
    c.keys("Escape")
    c.until("Interrupted")
    c.keys("Escape")
    assert "Go back to" not in c.until("Esc again goes back")


def test_the_first_prompt_leads_to_an_empty_thread(talk, run):
    c = three(talk)
    choose(c, "apples")
    if c.screen:
        c.until("❯ about apples\n")
        c.keys("C-u")
    assert c.ask("about cherries") == ["about cherries"]


def test_a_copy_that_is_left_as_it_is_leaves_nothing_behind(talk, run):
    c = three(talk)
    (old,) = stored(run)
    choose(c, "plums")
    if c.screen:
        c.keys("C-u")
    c.say("/resume latest", "Resumed thread")
    assert set(stored(run)) == {old}
    c.until(lambda t: t.count("Previous thread:") == 1)


def test_a_prompt_before_a_compaction_can_be_gone_back_to(talk):
    c = begin(talk, {"turns": [{"text": "word " * 9000 + "Answer 0."}] +
                     ANSWERS["turns"][1:], "by": "count"})
    for n, what in enumerate(("apples", "pears", "plums")):
        c.say(f"about {what}", f"Answer {n}.")
    c.say("/compact", "Context: about ")
    choose(c, "plums")
    if c.screen:
        c.until("❯ about plums\n")
        c.keys("C-u")
    assert c.ask("more") == ["about apples", "about pears", "more"]


def test_a_thread_without_prompts_has_nothing_to_go_back_to(talk):
    c = begin(talk)
    c.say("/rewind", "This thread has no prompt to go back to.")
    c.say("/rewind 2", "/rewind takes no argument")


@on_screen
def test_hooks_see_the_copy_as_a_session_of_its_own(talk, home, tmp_path):
    log = tmp_path / "log"
    hook = {"hooks": [{"type": "command",
                       "command": f"cat >> {log}; echo >> {log}"}]}
    (home / ".deepagents").mkdir()
    (home / ".deepagents" / "hooks.json").write_text(json.dumps(
        {"hooks": {"SessionStart": [hook], "SessionEnd": [hook]}}))
    c = three(talk)
    choose(c, "pears")
    c.until("❯ about pears\n")
    seen = [json.loads(line) for line in log.read_text().splitlines() if line]
    assert [s["hook_event_name"] for s in seen] == [
        "SessionStart", "SessionEnd", "SessionStart"]
    assert seen[0]["session_id"] == seen[1]["session_id"]
    assert seen[1]["session_id"] != seen[2]["session_id"]
    assert seen[2]["source"] == "resume"
