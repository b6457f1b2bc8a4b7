"""test_manual_tables.py - the tables of the manual have the rows of the tables
in the code: slash commands, keys, answers, exit statuses, events."""
# SPDX-License-Identifier: MIT
import json
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILT_IN_SKILLS = {"/skill:NAME", "/remember", "/skill-creator"}
NAMED = {"PAGE_UP": "Page Up", "PAGE_DOWN": "Page Down"}
SHIFTED = {"Ctrl+Shift+-": "Ctrl+-", "Ctrl+Shift+_": "Ctrl+_",
           "Alt+Shift+-": "Alt+-", "Alt+Shift+_": "Alt+_"}


def page(name):
    return (TOP / f"cmd/manual/{name}.md").read_text()


def source(name):
    return (TOP / name).read_text()


def first_cells(text, heading):
    """The first cell of each row of the table under this heading."""
    section = text.split(f"\n{heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \|", section.replace("\\|", "/"), re.M)
    return [r for r in rows[1:] if not re.fullmatch(r"-+", r)]


def words(cell):
    return [w.strip(" `") for w in cell.split(", ")]


def test_chat_has_every_slash_command_and_no_other():
    rows = source("cmd/slash/table.c")
    have = set(re.findall(r'\.name = "(/[^"]+)"', rows))
    for aliases in re.findall(r'\.aliases = "([^"]+)"', rows):
        have |= set(aliases.split())
    told = {w.split()[0] for cell in first_cells(page("chat"), "## Commands")
            for w in words(cell)}
    assert len(have) > 40 and told == have | BUILT_IN_SKILLS


def test_chat_says_which_commands_work_at_once():
    rows = re.split(r"\{ \.name", source("cmd/slash/table.c"))[1:]
    have = {re.search(r'"(/[^"]+)"', r)[1] for r in rows if ".show" in r}
    said = re.search(r"([^.]*)work at once while", page("chat"))[1]
    assert set(re.findall(r"`(/[a-z]+)`", said)) >= have | {"/quit"}


def key_of(name, char, mods):
    key = NAMED.get(name, name.capitalize())
    if name == "CHAR":
        key = char.upper() if char.isalpha() else char
    held = "".join(m.capitalize() + "+" for m in ("CTRL", "ALT", "SHIFT")
                   if f"KEY_{m}" in mods)
    return SHIFTED.get(held + key, held + key)


def test_chat_has_every_key_of_the_editor():
    bindings = re.findall(
        r"\{ KEY_(\w+), (?:'(.)'|0), (0|KEY_[A-Z_ |]+), EDITOR",
        source("src/editor/editor_keys.c"))
    have = {key_of("ESC" if n == "ESCAPE" else n, c, m)
            for n, c, m in bindings}
    told = {w for cell in first_cells(page("chat"), "## Keys")
            for w in words(cell)}
    assert len(have) > 50 and told == have | {"\\` Enter"}


def test_chat_has_every_answer_to_a_question():
    have = set(re.findall(r'", \'(\w)\', (?:true|false)',
                          source("cmd/chat/dialog.c")))
    told = {w for cell in first_cells(page("chat"), "## Answer a question")
            for w in words(cell)}
    assert len(have) > 7 and have <= told


def test_dcode_has_every_exit_status_of_the_help(run):
    told = set(first_cells(page("dcode"), "## Exit status"))
    out = run("--help").out.split("Exit status: ")[1]
    have = set(re.findall(r"\b\d+\b", out.split("Configuration")[0]))
    assert len(have) > 10
    assert {s.split("+")[0] for s in told} == have


def test_events_has_every_event_and_status():
    code = source("src/ui/events.c")
    have = set(re.findall(r'(?:begin|delta)\(e, "(\w+)"', code))
    have |= {"tool_output", "tool_result"}
    told = {w for cell in first_cells(page("events"), "## Events")
            for w in words(cell)}
    assert told == have
    said = re.search(r"\| `status` \| (.*?) \|", page("events"))[1]
    for status in re.findall(r'"(\w+)"', re.search(
            r"status: (.*?)\. -1", source("src/ui/events.h"), re.S)[1]):
        assert f"`{status}`" in said


def test_events_has_every_field_of_a_result(run, model):
    model([{"text": "Done."}])
    last = json.loads(run("-n", "hello", "--json").out.splitlines()[-1])
    told = {w for cell in first_cells(page("events"), "## The result")
            for w in words(cell)}
    assert set(last) - {"type"} <= told and len(last) > 12
