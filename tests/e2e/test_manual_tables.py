"""test_manual_tables.py - the tables of the manual have the rows of the tables
in the code: slash commands, keys, answers, exit statuses, events."""
# SPDX-License-Identifier: MIT
import json
import pathlib
import re
import subprocess

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
    rows = source("cmd/slash_table.c")
    have = set(re.findall(r'\.name = "(/[^"]+)"', rows))
    for aliases in re.findall(r'\.aliases = "([^"]+)"', rows):
        have |= set(aliases.split())
    told = {w.split()[0] for cell in first_cells(page("chat"), "## Commands")
            for w in words(cell)}
    assert len(have) > 40 and told == have | BUILT_IN_SKILLS


def test_chat_says_which_commands_work_at_once():
    rows = re.split(r"\{ \.name", source("cmd/slash_table.c"))[1:]
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


def test_keys_has_every_key_of_the_editor():
    bindings = re.findall(
        r"\{ KEY_(\w+), (?:'(.)'|0), (0|KEY_[A-Z_ |]+), EDITOR",
        source("src/editor/editor.c"))
    have = {key_of("ESC" if n == "ESCAPE" else n, c, m)
            for n, c, m in bindings}
    told = {w for cell in first_cells(page("keys"), "## Keys")
            for w in words(cell)}
    assert len(have) > 50 and told == have | {"\\` Enter"}


def test_chat_has_every_answer_to_a_question():
    have = set(re.findall(r'", \'(\w)\', (?:true|false)',
                          source("cmd/chat/ask_screen.c")))
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
    code = source("src/ui/streams.c")
    have = set(re.findall(r'(?:start_event|write_delta)\(e, "(\w+)"', code))
    have |= {"tool_output", "tool_result"}
    told = {w for cell in first_cells(page("events"), "## Events")
            for w in words(cell)}
    assert told == have
    said = re.search(r"\| `status` \| (.*?) \|", page("events"))[1]
    for status in re.findall(r'"(\w+)"', re.search(
            r"status: (.*?)\.\s", source("src/ui/streams.h"), re.S)[1]):
        assert f"`{status}`" in said


def test_events_has_every_field_of_a_result(run, model):
    model([{"text": "Done."}])
    last = json.loads(run("-n", "hello", "--json").out.splitlines()[-1])
    told = {w for cell in first_cells(page("events"), "## The result")
            for w in words(cell)}
    assert set(last) - {"type"} <= told and len(last) > 12


# --- options ---

OF_OTHERS = {"--now", "--region", "--format", "--export", "--clusters",
             # of systemctl, an example, AWS, Slurm, bash and gh
             "--reservation", "--rcfile", "--hostname", "--overlap"}
GENERATED = {"output-format", "help", "version"}  # in OPTIONS of dcode(1)


def options_of(run):
    data = json.loads(run("help", "--json").out)["data"]
    own = [s["options"] for c in data["commands"]
           for s in [c, *c["subcommands"]]]
    return data["options"] + data["run_options"], [o for s in own for o in s]


def test_the_manual_has_every_option_of_a_run_and_no_unknown_one(run):
    of_run, of_commands = options_of(run)
    text = "\n".join(p.read_text()
                     for p in (TOP / "cmd/manual").glob("*.md"))
    told = set(re.findall(r"(?<![\w-])--?[A-Za-z][a-z-]*", text))
    for option in of_run:
        names = {"--" + option["name"], "-" + option["letter"]}
        assert names & told or option["name"] in GENERATED, option["name"]
    have = {"--" + o["name"] for o in of_run + of_commands}
    have |= {"--" + n for n in re.findall(r'\{ "([a-z-]+)", [0\']',
                                          source("cmd/reference.c"))}
    assert {t for t in told if t[:2] == "--"} - have <= OF_OTHERS


# --- config.toml ---

def settings(run):
    return json.loads(run("help", "toml", "--json").out)["data"]["settings"]


def keys_of(run, table):
    return {s["key"].rpartition(".")[2] for s in settings(run)
            if s["key"].rpartition(".")[0] == table}


def test_the_page_of_config_toml_is_what_its_rows_say(run, dcode, tmp_path):
    """make manual writes it."""
    copy = tmp_path / "toml.md"
    copy.write_text(page("toml"))
    subprocess.run(["/usr/bin/python3", TOP / "scripts/docs/gentoml.py",
                    dcode, copy], check=True)
    assert copy.read_text() == page("toml"), "run make manual"
    for row in settings(run):
        table, _, key = row["key"].rpartition(".")
        heading = f"### `[{table}]`" if table else "### Before any table"
        if row["type"] != "table":
            section = page("toml").split(heading + "\n")[1].split("###")[0]
            assert f"\n| `{key}` | {row['type']}" in section
            assert row["example"] or row["default"], row["key"]
            assert f"\n{key} = " in section, row["key"]
        assert row["unit"] or row["type"] != "integer", row["key"]


def test_each_key_within_a_table_that_is_read_has_a_row(run):
    """What code looks for in a table of config.toml by its name."""
    entry = keys_of(run, "sandboxes.providers.NAME")
    rows = source("providers/external/provider_config.c")
    rows = rows.split("} keys[] = {")[1].split("};")[0]
    assert set(re.findall(r'\{ "(\w+)"', rows)) == entry
    rows = source("src/model/catalog.c").split("} profile_rows[] = {")[1]
    assert set(re.findall(r'\{ "(\w+)"', rows.split("};")[0])) \
        == keys_of(run, "models.providers.NAME.profile")
    code = "".join(p.read_text() for p in (TOP / "src/model").rglob("*.c"))
    code += source("cmd/session/money.c") + source("providers/registry.c")
    read = set(re.findall(r'endpoint_\w+\(p,\s+"(\w+)"', code))
    read |= set(re.findall(r'toml_get\([\w.\->&\[\]]+, "(\w+)"\)', code))
    known = entry | keys_of(run, "models.providers.NAME") \
        | keys_of(run, "limits") | keys_of(run, "retries.NAME")
    assert len(read) > 8 and read <= known


def test_each_setting_that_is_read_by_its_key_has_a_row(run):
    code = "".join(p.read_text() for top in ("src", "cmd", "config")
                   for p in (TOP / top).rglob("*.c"))
    read = set(re.findall(r'settings_(?:string|int|bool|list|toml|directory)'
                          r'\([^;"]*?NULL,\s*"([a-z_.]+)"', code))
    rows = {s["key"] for s in settings(run)}
    assert len(read) > 20 and read <= rows
