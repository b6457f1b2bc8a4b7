"""manpage.py - a page of cmd/manual as the source of a man page.

Reads the subset of Markdown that the manual uses. Begin reading at
write_page().
"""
# SPDX-License-Identifier: MIT
import re
import textwrap

WIDTH = 78 - 7  # columns of a page of 80 behind the indent of man
HEAD = re.compile(r"# (dcode[a-z.-]*)\((\d)\): (.*)")
ITEM = re.compile(r"( *)(-|\d+\.) +(.*)")
LINK = re.compile(r"\[([^\[\]]+)\]\(([^()\s]+)\)")
SPAN = re.compile(r"(`+)(.+?)\1|\*\*(.+?)\*\*|"
                  r"\[((?:[^\[\]`]|`[^`]*`)+)\]\(([^()\s]+)\)")


def read_head(text):
    """Returns (name, section, summary) from the first line of a page."""
    found = HEAD.fullmatch(text.split("\n", 1)[0])
    if not found:
        raise SystemExit(f"not the first line of a manual page: {text[:60]!r}")
    return found[1], int(found[2]), found[3]


def escape(text, dash="\\-"):
    for char, name in (("\\", "\\e"), ("-", dash), ("'", "\\(aq"),
                       ("`", "\\(ga"), ("^", "\\(ha"), ("~", "\\(ti"),
                       ("\u00a0", "\\ ")):
        text = text.replace(char, name)
    return text


def prose(text):
    text = re.sub(r"\\([\\`*_{}\[\]()#+.!|<>-])", r"\1", text)
    return re.sub(r"(?<=\w)\\-(?=\w)", "-", escape(text)).replace(
        "\\(aq", "'")


class Page:
    """Lines of roff, and what links need to know."""

    def __init__(self, sections):
        self.sections = sections  # {topic: (man page, section)}
        self.lines = []

    def link(self, text, target, before):
        topic = re.fullmatch(r"([a-z-]+)\.md(#.*)?", target)
        if not topic:
            shown = self.inline(text)
            return shown if text == target else f"{shown} ({prose(target)})"
        name, section = self.sections.get(topic[1], ("dcode-" + topic[1], 7))
        page = f"\\fB{escape(name)}\\fR({section})"
        if text in (topic[1], name, f"{name}({section})") and re.search(
                r"(^|[,(] ?|\b(see|in|by|and|or) )$", before, re.I):
            return page
        return f"{self.inline(text)} ({page})"

    def inline(self, text):
        out, at = "", 0
        for found in SPAN.finditer(text):
            out += prose(text[at:found.start()])
            at = found.end()
            if found[2] is not None:
                out += f"\\fB{escape(found[2].strip())}\\fR"
            elif found[3] is not None:
                out += f"\\fB{prose(found[3])}\\fR"
            else:
                out += self.link(found[4], found[5],
                                 text[:found.start()])
        return out + prose(text[at:])

    def text(self, text):
        """Wrapped lines; the first word of none is a request."""
        text = self.inline(text)
        for line in textwrap.wrap(text, 76 if text.isascii() else 60,
                                  break_long_words=False,
                                  break_on_hyphens=False):
            self.lines.append("\\&" + line if line[0] in ".'" else line)

    def add(self, *lines):
        self.lines += lines


def split_row(line):
    cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
    return [c.strip().replace("\\|", "|") for c in cells]


def plain(cell):
    """Returns a cell with about the width that it will have."""
    return re.sub(r"[`*]", "", LINK.sub(r"\1 (dcode-x(7))", cell))


def add_tagged(page, head, rows):
    """Adds each row as its first cell with the others below. The column
    "meaning" comes first."""
    for row in rows:
        tag = page.inline(row[0]) or "\\&"
        page.add(".TP", tag)
        cells = [(n, c) for n, c in zip(head[1:], row[1:]) if c not in "-"]
        if head[-1] == "meaning":
            page.text(row[-1])
            cells = [(n, c) for n, c in cells if n != "meaning"]
            cells = [("", "; ".join(f"{n}: {c}" for n, c in cells))]
        for name, cell in cells:
            if page.lines[-1] != tag:
                page.add(".br")
            page.text(f"{name}: {cell}" if len(head) > 2 and name else cell)


def column_widths(head, rows):
    """Returns the width of each column, or None if they are too wide."""
    wide = [max(len(plain(r[i])) for r in [head, *rows])
            for i in range(len(head))]
    room = WIDTH - 3 * (len(head) - 1)
    if sum(wide) <= room:
        return wide
    last = room - sum(wide[:-1])
    word = max(len(w) for r in rows for w in plain(r[-1]).split() or [""])
    if last >= max(24, word, wide[-1] / 4):
        return wide[:-1] + [last]
    return None


def add_table(page, lines):
    head, rows = split_row(lines[0]), [split_row(r) for r in lines[2:]]
    widths = column_widths(head, rows)
    if not widths:
        add_tagged(page, head, rows)
        return
    formats = " ".join(f"lw({w}n)" for w in widths)
    page.add(".PP", ".TS")
    if any(head):
        page.add(formats.replace("l", "lb"))
    page.add(formats + ".")
    for row in ([head] if any(head) else []) + rows:
        for i, cell in enumerate(row):
            end = "\t" if i + 1 < len(row) else ""
            if len(plain(cell)) > widths[i]:
                page.add("T{")
                page.text(cell)
                page.add("T}" + end)
                continue
            shown = page.inline(cell) or "\\&"
            page.add((shown if shown[0] not in ".'" else "\\&" + shown) + end)
    page.add(".TE")
    page.lines[:] = join_cells(page.lines)


def join_cells(lines):
    """Formats a row of a table on one line, except for text blocks."""
    out = []
    for line in lines:
        if out and out[-1].endswith("\t"):
            out[-1] += line
        else:
            out.append(line)
    return out


def add_code(page, lines):
    page.add(".PP", ".RS 4", ".EX")
    for line in lines:
        line = escape(line.expandtabs(8))
        page.add("\\&" + line if line[:1] in (".", "'") else line)
    page.add(".EE", ".RE")


def add_items(page, lines):
    """A list, of two levels at most."""
    items = []
    for line in lines:
        found = ITEM.match(line)
        if found:
            items.append([len(found[1]) >= 2, found[2], found[3]])
        else:
            items[-1][2] += " " + line.strip()
    deep = False
    for inner, mark, text in items:
        if inner != deep:
            page.add(".RS 4" if inner else ".RE")
        deep = inner
        page.add(".IP \\(bu 2" if mark == "-" else f".IP {mark} 4")
        page.text(text)
    if deep:
        page.add(".RE")


def blocks(text):
    """(kind, lines) of each block."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        line, start = lines[at], at
        at += 1
        if line.startswith("```"):
            while not lines[at].startswith("```"):
                at += 1
            at += 1
            yield "code", lines[start + 1:at - 1]
        elif line.startswith("#"):
            yield "heading", [line]
        elif line.startswith("|"):
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            yield "table", lines[start:at]
        elif ITEM.match(line):
            while at < len(lines) and lines[at].strip() and \
                    not lines[at].startswith(("```", "#")):
                at += 1
            yield "items", lines[start:at]
        elif line.strip():
            while at < len(lines) and lines[at].strip() and not re.match(
                    r"```|#|\||" + ITEM.pattern, lines[at]):
                at += 1
            yield "text", lines[start:at]


def heading_of(line):
    """Returns a section's name in capitals, except for code."""
    parts = line.lstrip("# ").split("`")
    return prose("".join(p if i % 2 else p.upper()
                         for i, p in enumerate(parts)))


def add_body(page, text):
    for kind, lines in blocks(text):
        if kind == "code":
            add_code(page, lines)
        elif kind == "table":
            add_table(page, lines)
        elif kind == "items":
            add_items(page, lines)
        elif kind == "text":
            page.add(".PP")
            page.text(" ".join(lines))
        elif lines[0].startswith("###"):
            page.add(".SS " + prose(lines[0].lstrip("# ").replace("`", "")))
        else:
            page.add(".SH " + heading_of(lines[0]))


def tidy(lines):
    """Removes requests about which mandoc would complain."""
    out = []
    for line in lines:
        if line == ".PP" and out and out[-1].startswith((".SH", ".SS")):
            continue
        out.append(line)
    return out


def write_page(text, sections, version, date, synopsis=(), reference=()):
    """Returns a page as a man page. synopsis and reference: lines of roff to
    insert before the text, and before "Exit status"."""
    name, section, summary = read_head(text)
    body = text.split("\n", 1)[1]
    page = Page(sections)
    page.add(f'.TH {escape(name.upper())} {section} "{date}" '
             f'"dcode {version}" "Manual of dcode"',
             ".nr HY 0", ".nh", ".ad l",
             ".SH NAME", f"{escape(name)} \\- {prose(summary)}",
             *synopsis, ".SH DESCRIPTION")
    at = body.find("\n## Exit status\n") if reference else -1
    add_body(page, body[:at] if at >= 0 else body)
    page.add(*reference)
    if at >= 0:
        add_body(page, body[at:])
    lines = tidy(page.lines)
    if ".TS" in lines:
        lines.insert(0, "'\\\" t")
    return "\n".join(lines) + "\n"
