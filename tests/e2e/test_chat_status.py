"""test_chat_status.py - what the line below the editor says, and when."""
# SPDX-License-Identifier: MIT
import re

import pytest

from test_live_chat import DONE, HELLO, execute, live  # noqa: F401


def line_of(text):
    """The last row of the screen that says something."""
    return [row for row in text.splitlines() if row.strip()][-1]


def status(screen, wanted, seconds=30):
    return line_of(screen.until(lambda t: wanted in line_of(t),
                                seconds=seconds))


@pytest.fixture
def work(tmp_path):
    tree = tmp_path / "work"
    (tree / ".git").mkdir(parents=True)
    (tree / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    return tree


def test_model_mode_place_directory_and_branch_are_named(live, work):
    s, _ = live(HELLO, columns=200)
    seen = status(s, "topic")
    parts = seen.split(" \u00b7 ")
    assert parts[:-1] == [
        "manual", "m", "this machine", str(work), "topic"]
    assert re.fullmatch(r"context \d\.\dK", parts[-1])


@pytest.mark.parametrize("columns, wanted", [
    (80, "manual (no questions)"), (30, "no questions \u00b7 ")])
def test_the_mode_is_named_in_a_sandbox_too(live, columns, wanted):
    s, _ = live([DONE], args=["--sandbox", "local"], columns=columns,
                ready="tools in")
    s.type("go")
    s.keys("Enter")
    s.until("done.")
    assert status(s, wanted).startswith(wanted)
    s.keys("BTab", "BTab")
    assert status(s, "plan").startswith("plan \u00b7 ")


def test_forty_columns_hold_model_and_cost_of_a_chat_in_a_sandbox(live):
    s, _ = live([{"text": "done.", "usage": {"input": 9, "output": 3}}],
                args=["--sandbox", "local", "-M", "anthropic:claude-opus-5"],
                columns=40, ready="tools in")
    s.type("go")
    s.keys("Enter")
    assert status(s, "$") == "no questions \u00b7 opus-5 \u00b7 " \
        "<$0.01 \u00b7 ctx 0%"


def test_a_hint_that_is_cut_ends_in_a_sign(live):
    s, _ = live(HELLO, columns=30, lines=20, ready="\u276f")
    s.type("xyz")
    s.keys("Up")
    assert status(s, "No older") == "No older message contains thi\u2026"


def test_the_branch_is_read_again_after_each_turn(live, work):
    s, _ = live([execute(f"printf 'ref: refs/heads/next' > "
                         f"{work}/.git/HEAD"), DONE], columns=200,
                args=["-y"])
    assert "topic" in status(s, "topic")
    s.type("go")
    s.keys("Enter")
    assert "topic" not in status(s, "next")


def test_tokens_and_the_percentage_of_a_known_window(live, home, work):
    (home / ".deepagents").mkdir(exist_ok=True)
    config = home / ".deepagents" / "config.toml"
    config.write_text("[models.providers.anthropic.profile]\n"
                      "max_input_tokens = 100000\n")
    turn = {"text": "Hello there.",
            "usage": {"input": 48000, "output": 2000}}
    s, _ = live([turn], columns=200)
    s.type("hi")
    s.keys("Enter")
    assert "context 50.0K, 50% \u00b7 48.0K in, 2.0K out" in status(s, "50%")


def test_a_model_of_its_own_window_takes_precedence(live, home, work):
    (home / ".deepagents").mkdir(exist_ok=True)
    config = home / ".deepagents" / "config.toml"
    config.write_text("[models.providers.anthropic.profile]\n"
                      "max_input_tokens = 1000\n"
                      "[models.providers.anthropic.profile.m]\n"
                      "max_input_tokens = 5000\n")
    turn = {"text": "Hello there.",
            "usage": {"input": 480, "output": 20}}
    s, _ = live([turn], columns=200)
    s.type("hi")
    s.keys("Enter")
    assert "context 500 tokens, 10%" in status(s, " 10%")


def test_the_user_chooses_and_orders_the_parts(live, work, config):
    config('[ui]\nstatus_line = ["branch", "model"]\n')
    s, _ = live(HELLO, columns=200, ready="topic")
    assert status(s, "topic \u00b7").strip() == "topic \u00b7 m"


def test_an_unknown_part_of_the_line_is_an_error(live, work, config):
    config('[ui]\nstatus_line = ["model", "clock"]\n')
    s, _ = live(HELLO, columns=200, ready="unknown part")
    seen = s.until("context, tokens.")
    assert '[ui] status_line: unknown part: "clock"' in seen
    assert s.status() != 0


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_a_narrow_line_keeps_what_matters_most(live, work, columns):
    s, _ = live(HELLO, columns=columns, ready="manual")
    seen = status(s, "manual")
    assert len(seen) <= columns
    assert seen.startswith("manual \u00b7 m")
    assert (re.search(r"(ctx|context) 3.", seen) is None) == (columns < 30)
    assert ("topic" in seen and "this machine" in seen) == (columns > 40)


PRICED = {"text": "Hello there.", "usage": {"input": 90000, "output": 900}}


@pytest.mark.parametrize("columns, parts", [
    (200, ["yolo", "claude-opus-5", "this machine", "<work>",
           "topic", "$0.47", "context 90.9K, 9%", "90.0K in, 900 out"]),
    (80, ["yolo", "claude-opus-5", "this machine", "work", "topic", "$0.47",
          "ctx 9%"]),
    (40, ["yolo", "claude-opus-5", "$0.47", "ctx 9%"]),
    (30, ["yolo", "opus-5", "$0.47", "ctx 9%"])])
def test_context_and_cost_stay_longer_than_the_place(
        live, work, columns, parts):
    s, _ = live([PRICED], args=["-y", "-M", "anthropic:claude-opus-5"],
                columns=columns, ready="yolo")
    s.type("hi")
    s.keys("Enter")
    seen = status(s, "9%").split(" \u00b7 ")
    assert seen[:4] == [p.replace("<work>", str(work)) for p in parts[:4]]
    assert sorted(set(parts[4:]) - set(seen)) == []


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_context_is_estimated_before_an_answer(live, work, columns):
    args = ["-y", "-M", "anthropic:claude-opus-5"]
    s, _ = live([{**PRICED, "text": "word " * 60000, "token_chars": 9999}],
                args=args, columns=columns, ready="yolo")
    assert re.search(r"(ctx|context \d\.\dK,) 0%", status(s, "0%"))
    s.type("hi")
    s.keys("Enter")
    s.until("Done in")
    s.close()
    s, _ = live([PRICED], args=[*args, "-r"], columns=columns, ready="yolo")
    assert re.search(r"(ctx|context \d+\.\dK,) [5-9]%|1\d%", status(s, "%"))


def test_a_sandbox_is_named_with_its_id(live, work, config):
    config('[sandboxes]\ncreate = "start"\n')
    s, _ = live(HELLO, args=["--sandbox", "local", "--workspace", "none"],
                columns=120)
    seen = status(s, "local ")
    assert "starting" not in seen and "this machine" not in seen
    assert "manual (no questions)" in seen  # nothing is asked about there


@pytest.mark.usefixtures("sandbox_at_start")
def test_the_time_left_is_said_where_the_vendor_ends_the_sandbox(
        live, vendor, work):
    vendor("modal")
    s, _ = live(HELLO, args=["--sandbox", "modal", "--workspace", "none"],
                columns=160)
    assert re.search(r"modal \S+, \d+ (h|min) left", status(s, "modal "))


@pytest.mark.usefixtures("sandbox_at_start")
def test_none_is_said_where_its_life_is_extended(live, vendor, work):
    vendor("daytona")
    s, _ = live(HELLO, args=["--sandbox", "daytona", "--workspace", "none"],
                columns=160)
    assert "left" not in status(s, "daytona ")
