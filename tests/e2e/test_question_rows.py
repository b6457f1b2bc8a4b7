"""test_question_rows.py - what a question shows in a small window."""
# SPDX-License-Identifier: MIT
import pytest

from test_live_chat import DONE, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name


def ask_choices(n):
    return {"tool_calls": [{"name": "ask_user", "args": {"questions": [{
        "question": "Which colour should the new button have in the end?",
        "type": "multiple_choice",
        "choices": [{"value": f"colour-{i}"} for i in range(n)]}]}}]}


def start(live, turns, columns=40, lines=12):
    s, _ = live([*turns, DONE], columns=columns, lines=lines,
                ready="this machine")
    s.type("go")
    s.keys("Enter")
    return s


def test_choices_that_fit_are_all_shown(live):
    s = start(live, [ask_choices(4)])
    seen = s.until("in your own words")
    assert all(f" {i + 1} colour-{i}\n" in seen for i in range(4))
    assert " of 5" not in seen


def test_a_list_of_choices_that_is_cut_says_where_it_is(live):
    s = start(live, [ask_choices(9)])
    s.until("\n  1-5 of 10\n")
    s.until("selects  Esc declines")
    s.keys("Up")  # it stays at the first one
    s.keys(*["Down"] * 12)
    s.until("\n> in your own words ...\n  6-10 of 10\n")


@pytest.mark.parametrize("columns, lines", [(40, 12), (80, 24)])
def test_the_keys_of_a_question_are_explained(live, columns, lines):
    s = start(live, [execute("touch made")], columns, lines)
    seen = s.until("y yes")
    keys = " ".join(seen[seen.index("y yes"):].split())
    assert keys.startswith("y yes n no w because a always A config e edit")


def test_the_title_of_a_question_is_whole(live):
    two = execute("touch one")["tool_calls"] + execute("touch 2")["tool_calls"]
    s = start(live, [{"tool_calls": two}])
    seen = s.until("y yes")
    assert "execute wants to run on this machine (1 of 2): command:" in \
        " ".join(seen.split())


@pytest.mark.parametrize("columns, lines", [(40, 12), (80, 50), (200, 50)])
def test_a_written_file_takes_few_rows(live, columns, lines):
    text = "".join(f"line-{n}\n" for n in range(100))
    s = start(live, [{"tool_calls": [{"name": "write_file", "args": {
        "file_path": "a.txt", "content": text}}]}], columns, lines)
    seen = s.until(lambda t: "y yes" in t)
    asked = seen[seen.index("write_file wants"):]
    shown = asked.count("line-")
    assert "| +line-0\n" in asked and "| +line-99\n" in asked
    assert "new file (+100): @@ line 1 @@\n" in asked
    assert (4 if lines == 12 else 10) <= shown + 2 <= 11, seen
    assert f"... {100 - shown} rows ..." in asked
    assert "v shows the rest" in asked, seen

@pytest.mark.parametrize("columns, lines", [(40, 12), (80, 24), (200, 50)])
def test_few_rows_show_the_changed_lines_of_an_edit(
        live, tmp_path, columns, lines):
    text = "".join(f"line-{n}\n" for n in range(9))
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work/a.txt").write_text(text)
    s = start(live, [{"tool_calls": [{"name": "edit_file", "args": {
        "file_path": "a.txt", "old_string": "line-4\nline-5\n",
        "new_string": "one\ntwo\n"}}]}], columns, lines)
    seen = s.until(lambda t: "y yes" in t)
    assert "  change (+2 -2): @@ line 2 @@\n" in seen
    assert "5 | -line-4\n6 | -line-5\n5 | +one\n" in seen, seen
    assert ("4 |  line-3\n" in seen) == (lines > 12), seen


@pytest.mark.parametrize("columns, lines", [(40, 12), (80, 24)])
def test_v_shows_the_whole_call_in_the_pager_and_leaves_no_copy(
        live, columns, lines):
    text = "".join(f"line-{n}\n" for n in range(300))
    s = start(live, [{"tool_calls": [{"name": "write_file", "args": {
        "file_path": "a.txt", "content": text}}]}], columns, lines)
    s.until("y yes")
    s.type("v")
    s.until(lambda t: "y yes" not in t)  # less has the screen
    s.type("/line-250\n")
    s.until("line-255\n")
    s.type("q")
    s.until("y yes")
    assert "line-250" not in s.text(True)


def test_without_a_pager_v_prints_the_whole_call(live, env):
    env["PAGER"] = ""
    text = "".join(f"line-{n}\n" for n in range(300))
    s = start(live, [{"tool_calls": [{"name": "write_file", "args": {
        "file_path": "a.txt", "content": text}}]}])
    s.until("y yes")
    s.type("v")
    s.until("line-250\n", True)


@pytest.mark.parametrize("path, shown", [
    ("HERE/src/a.txt", "src/a.txt"), ("HERE", "."), ("HERE/../b", None),
    ("HERE//etc/b", None), ("HERE/~/b", None), ("HEREabouts/b", None)])
def test_a_path_below_the_working_directory_is_short(
        live, tmp_path, path, shown):
    path = path.replace("HERE", str(tmp_path / "work"))
    s = start(live, [{"tool_calls": [{"name": "delete", "args": {
        "file_path": path}}]}], 200, 24)
    seen = s.until(lambda t: "y yes" in t or "\ndone." in t)
    if "y yes" in seen:
        assert f"  file_path: {shown or path}\n" in seen, seen
        s.type("n")
        seen = s.until("Declined.")
    assert f"⏺ delete {shown or path}\n" in seen or \
        f"⏺ delete {shown or path} " in seen, seen


@pytest.mark.parametrize("columns, lines", [(40, 12), (80, 24), (200, 50)])
def test_a_question_names_all_that_a_command_touches(live, columns, lines):
    s = start(live, [execute("make 2>/dev/null; rm -rf ../x && git push"),
                     execute("make")], columns, lines)
    seen = s.until("y yes")
    assert ("touches: deletes (rm), publishes (git push), "
            "paths outside (../x) ") in " ".join(seen.split()), seen
    assert all(len(r) < columns for r in seen.splitlines())
    s.type("y")
    seen = s.until(lambda t: "command: make\n" in t and "y yes" in t)
    assert "touches:" not in seen


def test_in_lines_a_question_names_what_a_command_touches(live):
    s, _ = live([execute("rm made"), DONE], args=["--plain"], ready="/quit")
    s.type("go")
    s.keys("Enter")
    assert "touches: deletes (rm)" in s.until("Allow it?")


def test_the_titles_of_several_calls_are_whole(live):
    calls = [execute(f"touch {n}")["tool_calls"][0] for n in "ab"]
    s = start(live, [{"tool_calls": calls}])
    s.until("t together")
    s.type("t")
    seen = s.until("y yes to all", scrollback=True)
    assert "(1 of 2):" in " ".join(seen.split())
    assert "(2 of 2):" in " ".join(seen.split())
    assert "waiting for your answer" not in seen
