#!/usr/bin/python3
"""gentoml.py DCODE PAGE - writes the section "Keys" of cmd/manual/toml.md.

All of it comes from the rows that parse config.toml, as `dcode help toml
--json` prints them; the page's other sections stay as they are.
"""
# SPDX-License-Identifier: MIT
import json
import pathlib
import re
import subprocess
import sys
import textwrap

BEGIN = "## Keys\n"
END = re.compile(r"^## (?!Keys$)", re.M)
NAMES = {"models.providers.NAME": "models.providers.mine",
         "models.providers.NAME.profile": "models.providers.mine.profile",
         "retries.NAME": "retries.anthropic",
         "sandboxes.providers.NAME": "sandboxes.providers.acme"}
# A provider is either a program or a class: leave the latter out of examples.
OTHER = {"class_path", "package"}
LONG = 26  # letters of a default that a cell can have


def load(dcode):
    env = {"HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    out = subprocess.run([dcode, "help", "toml", "--json"], env=env,
                         check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["data"]["settings"]


def tables(settings):
    """{table: its rows}, each after the table that it is part of."""
    found = {}
    for row in settings:
        table, _, key = row["key"].rpartition(".")
        found.setdefault(table, []).append({**row, "key": key})
    for table in found:
        found[table] = [r for r in found[table]
                        if r["type"] != "table" or r["example"]
                        or r["key"] in ("http", "params")]
    part = [t for t in found if "NAME" in t or t == "limits"]
    order = [""]
    for table in found:
        if not table or table in part \
                or table.startswith("sandboxes.providers."):
            continue
        order.append(table)
        order += [t for t in part if t.startswith(table + ".")]
    order += [t for t in found if t not in order]
    return {t: [r for r in found[t]
                if f"{t}.{r['key']}".lstrip(".") not in found]
            for t in order}


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def meaning(row):
    text = row["help"]
    if len(row["default"]) > LONG:
        text += f"; default: `{row['default']}`"
    if row["env"]:
        text += f"; variable `{row['env']}`"
    return cell(re.sub(r"(?<![`\w])(\*\.example\.\w+|\S+/\*|\S+:\*)", r"`\1`",
                       text))


def kind(row):
    return row["type"] + (f", {row['unit']}" if row["unit"] else "")


def add_table(table, rows):
    yield f"### {'`[' + table + ']`' if table else 'Before any table'}\n"
    yield "| key | type | default | meaning |\n| --- | --- | --- | --- |"
    for row in rows:
        shown = row["default"]
        shown = f"`{cell(shown)}`" if 0 < len(shown) <= LONG else "-"
        yield f"| `{row['key']}` | {kind(row)} | {shown} | {meaning(row)} |"
    yield ""


def assignment(row):
    line = f"{row['key']} = {row['example'] or row['default']}"
    return line if len(line) < 76 else textwrap.fill(
        line, 76, subsequent_indent=" " * (line.index("[") + 1),
        break_on_hyphens=False, break_long_words=False)


def add_example(table, rows):
    lines = [assignment(r) for r in rows if r["example"] or r["default"]]
    if lines:
        head = [f"[{NAMES.get(table, table)}]"] if table else []
        yield "\n".join(["```toml", *head, *lines, "```", ""])


def reference(settings):
    for table, rows in tables(settings).items():
        if not rows:
            continue
        yield from add_table(table, rows)
        other = [r for r in rows if r["key"] in OTHER
                 and table == "sandboxes.providers.NAME"]
        yield from add_example(table, [r for r in rows if r not in other])
        yield from add_example(table, other)


def main():
    dcode, page = sys.argv[1], pathlib.Path(sys.argv[2])
    text = page.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    end = END.search(rest)
    page.write_text(before + BEGIN + "\n" + "\n".join(
        reference(load(dcode))) + "\n" + rest[end.start():], "utf-8")


main()
