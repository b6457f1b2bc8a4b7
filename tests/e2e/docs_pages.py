"""docs_pages.py - reads the blocks of a Markdown page, and checks them without
running anything."""
# SPDX-License-Identifier: MIT
import dataclasses
import json
import pathlib
import re
import shlex
import subprocess

import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
INCOMPLETE = re.compile(r"unexpected (EOF|end of file)|"
                        r"delimited by end-of-file")
INLINE = re.compile(r"`(dcode [^`]*)`")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
STATUS = re.compile(r"#.*\b(?:exit )?status (\d+)")


def pages():
    manual = sorted((TOP / "cmd/manual").glob("*.md"))
    return [TOP / "README.md", *manual]


@dataclasses.dataclass
class Block:
    language: str
    line: int  # of its first line of text
    text: str


@dataclasses.dataclass
class Command:
    line: int
    text: str

    @property
    def statuses(self):
        """Returns the documented exit statuses; 141: `| head`."""
        said = STATUS.search(self.text)
        return {int(said[1])} if said else {0, 141}

    @property
    def is_privileged(self):
        return re.search(r"\bsudo\b", self.text) is not None


def blocks_of(text):
    found, block, fence = [], None, ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r" *(`{3,})(\w*)", line)
        if block and line.strip() == fence:
            found.append(block)
            block = None
        elif block:
            block.text += line + "\n"
        elif mark:
            fence = mark[1]
            block = Block(mark[2], number + 1, "")
    return found


def shell_error(text):
    return subprocess.run(["bash", "-n"], input=text, text=True, check=False,
                          capture_output=True).stderr


def commands_of(block):
    """Returns each complete shell command, with its here-document."""
    found, lines, first = [], [], 0
    for number, line in enumerate(block.text.splitlines(), block.line):
        if not lines and re.match(r"\s*(#.*)?$", line):
            continue
        first = first if lines else number
        lines.append(line)
        text = "\n".join(lines)
        if not line.endswith("\\") and not INCOMPLETE.search(
                shell_error(text + "\n")):
            found.append(Command(first, text))
            lines = []
    if lines:
        found.append(Command(first, "\n".join(lines)))
    return found


def session_of(block):
    """Returns the commands of a console block, which follow "$ "."""
    found, more = [], False
    for number, line in enumerate(block.text.splitlines(), block.line):
        if more:
            found[-1].text += "\n" + line
        elif line.startswith("$ "):
            found.append(Command(number, line[2:]))
        else:
            continue
        more = line.endswith("\\")
    return found


class Tables:
    """The options and commands of the dcode under test."""

    def __init__(self, dcode):
        out = subprocess.run([dcode, "help", "--json"], check=True,
                             stdout=subprocess.PIPE).stdout
        data = json.loads(out)["data"]
        self.run = self.flags(data["options"] + data["run_options"])
        self.topics = {topic["name"] for topic in data["topics"]}
        self.commands = {c["name"]: c for c in data["commands"]}

    @staticmethod
    def flags(options):
        return ({"--" + o["name"] for o in options} |
                {"-" + o["letter"] for o in options if o["letter"]})

    def known(self, words):
        """Returns the flags of a command; None: unknown command."""
        if not words or words[0].startswith("-"):
            return self.run
        command = self.commands.get(words[0])
        if command is None:
            return None
        flags = self.flags(command["options"]) | {"--help", "-h"}
        named = [s for s in command["subcommands"] if s["name"] in words[1:2]]
        for sub in named or command["subcommands"]:
            flags |= self.flags(sub["options"])
        return flags

    def wrong(self, words):
        """Returns what is wrong with the arguments of dcode, or None."""
        flags = self.known(words)
        if flags is None:
            return f"there is no command '{words[0]}'"
        named = words[1:2] if words[:1] == ["help"] else []
        if re.fullmatch("[a-z-]+", "".join(named)) and \
                not named[0].startswith("-") and \
                named[0] not in self.topics | set(self.commands):
            return f"there is no topic '{named[0]}'"
        for word in words:
            if word == "--":
                break
            flag = word.split("=")[0]
            if re.fullmatch(r"--[a-z][a-z-]*|-[a-zA-Z]", flag) \
                    and flag not in flags:
                return f"dcode {words[0]} has no {flag}"
        return None


def calls_of(line):
    """Returns the arguments of each dcode in a command line."""
    lexer = shlex.shlex(line.replace("\\\n", " "), posix=True,
                        punctuation_chars=True)
    lexer.whitespace_split = True
    calls, words, at_start = [], None, True
    for word in lexer:
        if re.fullmatch(r"[|&;()]+", word):
            words, at_start = None, True
        elif re.fullmatch(r"[<>]+&?", word):
            words = None
        elif words is not None:
            words.append(word)
        elif at_start and not re.match(r"\w+=", word):
            at_start = False
            if word == "dcode":
                words = []
                calls.append(words)
    return calls


def wrong_command(tables, command):
    """Checks syntax and flags of a command that is not run."""
    text = shell_error(command.text + "\n").strip()
    if text:
        return text
    for words in calls_of(command.text):
        wrong = tables.wrong(words)
        if wrong:
            return wrong
    return None


def wrong_inline(tables, code):
    """Checks `dcode ...` in a sentence; it may have [brackets] and a|b."""
    words = re.sub(r"[\[\]()]", " ", re.split(r" \\?[|] ", code)[0]).split()[1:]
    if not words or not re.fullmatch(r"-.*|[a-z]+", words[0]):
        return None
    return tables.wrong(words)


def steps_of(value):
    """Returns the shell text of each step of a workflow."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key == "run" and isinstance(member, str):
                yield member
            else:
                yield from steps_of(member)
    elif isinstance(value, list):
        for member in value:
            yield from steps_of(member)


def wrong_data(tables, block):
    try:
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            for text in steps_of(yaml.safe_load(block.text)):
                for command in commands_of(Block("sh", block.line, text)):
                    wrong = wrong_command(tables, command)
                    if wrong:
                        return wrong
        elif block.language == "python":
            compile(block.text, "page", "exec")
    except (ValueError, SyntaxError, yaml.YAMLError) as error:
        return str(error)
    return None


def leads_somewhere(path, target):
    return re.match(r"https?:|mailto:", target) or \
        (path.parent / target).exists()


def wrong_text(path, tables):
    """Returns (line, error) for everything that is not run."""
    text = path.read_text()
    for block in blocks_of(text):
        wrong = wrong_data(tables, block)
        if wrong:
            yield block.line, wrong
        for command in (session_of(block) if block.language == "console"
                        else []):
            wrong = wrong_command(tables, command)
            if wrong:
                yield command.line, wrong
    prose = re.sub(r"^ *```.*?^ *```$", lambda m: "\n" * m[0].count("\n"),
                   text, flags=re.M | re.S)
    for number, line in enumerate(prose.splitlines(), 1):
        for code in INLINE.findall(line):
            wrong = wrong_inline(tables, code)
            if wrong and path.stem != "from-python":  # names what is missing
                yield number, f"`{code}`: {wrong}"
        for target in LINK.findall(line):
            if not leads_somewhere(path, target):
                yield number, f"the link leads nowhere: {target}"
