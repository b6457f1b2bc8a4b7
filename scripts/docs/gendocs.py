#!/usr/bin/python3
"""gendocs.py DCODE DIR - writes the man pages and the shells' completions.

The pages of cmd/manual become man pages; options, commands and completions
come from the program's tables, as `dcode help --json` prints them.
"""
# SPDX-License-Identifier: MIT
import json
import pathlib
import re
import subprocess
import sys
import textwrap

import manpage

TOP = pathlib.Path(__file__).resolve().parents[2]


def load(dcode):
    env = {"HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    out = subprocess.run([dcode, "help", "--json"], env=env, check=True,
                         stdout=subprocess.PIPE).stdout
    return json.loads(out)["data"]


def parts(command):
    """Each (words, subcommand) that a command line can begin with."""
    yield [command["name"]], command
    for sub in command["subcommands"]:
        yield [command["name"], sub["name"]], sub


def spellings(option):
    short = [f"-{option['letter']}"] if option["letter"] else []
    return short + [f"--{option['name']}"]


# --- the man pages ---

def roff(text):
    lines = textwrap.wrap(text.replace("\\", "\\e"), 70,
                          break_on_hyphens=False)
    return "\n".join("\\&" + line if line[0] in ".'" else line
                     for line in lines).replace("-", "\\-")


def man_options(options):
    for option in options:
        value = option["value"]
        if option["value_optional"]:
            value = f"[{value}]"
        names = ", ".join(f"\\fB{roff(s)}\\fR" for s in spellings(option))
        yield ".TP"
        yield names + (f" \\fI{roff(value)}\\fR" if value else "")
        yield roff(option["help"]) + "."


def man_synopsis():
    yield ".SH SYNOPSIS"
    yield from (".B dcode", "[\\fIoptions\\fR]", ".br", ".B dcode",
                "\\fB\\-n\\fR \\fITEXT\\fR [\\fIoptions\\fR]", ".br",
                ".B dcode", "\\fICOMMAND\\fR [\\fIoptions\\fR]")


def man_reference(data):
    yield ".SH OPTIONS"
    yield from man_options(data["options"] + data["run_options"])
    yield ".SH COMMANDS"
    for command in data["commands"]:
        yield from (f".SS dcode {command['name']}",
                    roff(command["summary"]) + ".")
        for words, sub in parts(command):
            if not sub["usage"]:
                continue
            yield from (".PP", f"\\fBdcode {roff(sub['usage'])}\\fR")
            if sub is not command:
                yield from (".br", roff(sub["summary"]) + ".")
            yield from man_options(sub["options"])


def release_date():
    """Returns the newest date of a version in CHANGELOG.md."""
    found = re.search(r"^## \[?\d\S* - (\d{4}-\d\d-\d\d)",
                      (TOP / "CHANGELOG.md").read_text("utf-8"), re.M)
    return found[1] if found else "2026-11-26"


def man_pages(data):
    """(file, text) of each."""
    pages = {p.stem: p.read_text("utf-8")
             for p in sorted((TOP / "cmd" / "manual").glob("*.md"))}
    sections = {topic: manpage.read_head(text)[:2]
                for topic, text in pages.items()}
    for topic, text in pages.items():
        name, section = sections[topic]
        more = {"synopsis": list(man_synopsis()),
                "reference": list(man_reference(data))}
        yield f"{name}.{section}", manpage.write_page(
            text, sections, data["version"], release_date(),
            **more if topic == "dcode" else {})


# --- what a shell can offer for a value ---

def choices(kind, data):
    """Returns words to complete a metavar. None: file names; []: unknown."""
    if kind in ("PATH", "SRC", "DST", "LOCAL[:REMOTE]"):
        return None
    if kind == "COMMAND":
        names = [c["name"] for c in data["commands"]]
        return names + [t["name"] for t in data["topics"]
                        if t["name"] not in names]
    if kind == "TYPE":
        return data["sandboxes"]
    if kind == "SPEC":
        return list(dict.fromkeys(data["known_models"]))
    if kind == "PROVIDER":
        return sorted(data["sandboxes"] + data["models"])
    return [w for w in kind.split("|") if w.islower()] if "|" in kind else []


def positional(sub, data):
    first = sub.get("args", "").strip("[]").split(" ")[0]
    return choices(first.strip("."), data)


def all_options(data):
    rows = list(data["options"])
    for command in data["commands"]:
        for _, sub in parts(command):
            rows += sub["options"]
    return rows


def words_of(options):
    return " ".join(s for o in options for s in spellings(o))


def value_cases(data):
    """Maps each option (all its spellings) to the words of its value."""
    cases = {}
    for option in all_options(data):
        if option["value"]:
            cases.setdefault("|".join(spellings(option)),
                             choices(option["value"], data))
    return cases


# --- bash ---

BASH = r"""# dcode.bash - completion for bash, generated from the tables.

_dcode_options() { # "COMMAND SUBCOMMAND": its own options
	case $1 in
@OPTIONS@
	esac
}

_dcode_subcommands() { # COMMAND
	case $1 in
@SUBCOMMANDS@
	esac
}

_dcode_value() { # OPTION: words for its value, / for files; 1: takes none
	case $1 in
@VALUES@
	*) return 1 ;;
	esac
}

_dcode_argument() { # "COMMAND SUBCOMMAND": words for arguments, / for files
	case $1 in
@ARGUMENTS@
	esac
}

_dcode() {
	local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
	local command='' sub='' words='' i word

	COMPREPLY=()
	[ "$cur" != '=' ] || cur=''
	[ "$option" != '=' ] || option=${COMP_WORDS[COMP_CWORD - 2]}
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		--)
			compopt -o default
			return
			;;
		-*)
			if _dcode_value "$word" >/dev/null; then
				((i++))
				[ "${COMP_WORDS[i]}" != '=' ] || ((i++))
			fi
			;;
		*)
			if [ -z "$command" ]; then
				command=$word
			elif [ -z "$sub" ]; then
				sub=$word
			fi
			;;
		esac
	done
	case " $(_dcode_subcommands "$command") " in
	*" $sub "*) ;;
	*) sub='' ;;
	esac
	if words=$(_dcode_value "$option") && [[ $cur != -* ]]; then
		:
	elif [[ $cur == -* ]]; then
		words="$(_dcode_options '') $(_dcode_options "$command $sub")"
	elif [ -z "$command" ]; then
		words='@COMMANDS@'
	else
		words=$(_dcode_argument "$command $sub")
		[ -n "$sub" ] || words="$words $(_dcode_subcommands "$command")"
	fi
	if [ "$words" = / ]; then
		compopt -o default
	else
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	fi
}
complete -F _dcode dcode
"""


def bash_case(pattern, words):
    text = "/" if words is None else " ".join(words)
    return f"\t{pattern}) echo '{text}' ;;"


def bash(data):
    options = [bash_case("''", words_of(data["options"]).split()),
               bash_case("' '", words_of(data["run_options"]).split())]
    arguments = []
    subs = []
    for command in data["commands"]:
        names = [s["name"] for s in command["subcommands"]]
        if names:
            subs.append(bash_case(command["name"], names))
        for words, sub in parts(command):
            key = f"'{' '.join(words)}{'' if words[1:] else ' '}'"
            if sub["options"]:
                options.append(bash_case(key,
                                         words_of(sub["options"]).split()))
            if positional(sub, data) != []:
                arguments.append(bash_case(key, positional(sub, data)))
    values = [bash_case(k, v) for k, v in value_cases(data).items()]
    text = BASH
    for mark, lines in (("OPTIONS", options), ("SUBCOMMANDS", subs),
                        ("VALUES", values), ("ARGUMENTS", arguments)):
        text = text.replace(f"@{mark}@", "\n".join(lines))
    return text.replace("@COMMANDS@", " ".join(c["name"]
                                               for c in data["commands"]))


# --- zsh ---

def zsh_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_bracket(text):
    for c in "\\[]:":
        text = text.replace(c, "\\" + c)
    return text


def zsh_action(words):
    if words is None:
        return "_files"
    return f"({' '.join(words)})" if words else " "


def zsh_specs(options, data):
    for option in options:
        value = ""
        if option["value"]:
            value = (":" * (1 + option["value_optional"])
                     + zsh_bracket(option["value"]) + ":"
                     + zsh_action(choices(option["value"], data)))
        for name in spellings(option):
            equals = "=" if value and name.startswith("--") else ""
            yield "    " + zsh_quote(
                f"{name}{equals}[{zsh_bracket(option['help'])}]{value}")


def zsh_described(name, rows):
    yield f"  {name}=("
    for row in rows:
        summary = zsh_bracket(row["summary"])
        yield "    " + zsh_quote(f"{row['name']}:{summary}")
    yield "  )"


def zsh(data):
    yield "#compdef dcode"
    yield "# _dcode - completion of dcode for zsh, generated from its tables."
    yield "_dcode() {"
    yield "  local -a global own names"
    yield "  local i command sub"
    yield "  global=("
    yield from zsh_specs(data["options"], data)
    yield "  )"
    yield from zsh_described("names", data["commands"])
    yield "  for ((i = 2; i < CURRENT; i++)); do"
    yield "    case $words[i] in"
    yield f"    {'|'.join(value_cases(data))}) ((i++)) ;;"
    yield "    -*) ;;"
    yield "    *)"
    yield "      if [[ -z $command ]]; then command=$words[i]"
    yield "      elif [[ -z $sub ]]; then sub=$words[i]; fi"
    yield "      ;;"
    yield "    esac"
    yield "  done"
    yield "  case \"$command $sub\" in"
    yield "  ' ')"
    yield "    own=("
    yield from zsh_specs(data["run_options"], data)
    yield "    )"
    yield "    ;;"
    for command in reversed(data["commands"]):
        for words, sub in reversed(list(parts(command))):
            bare = not words[1:]
            yield f"  '{' '.join(words)}{' ' if bare else ''}'*)"
            yield "    own=("
            yield from zsh_specs(sub["options"], data)
            if not (bare and command["subcommands"]):
                action = zsh_action(positional(sub, data))
                yield "      " + zsh_quote("*:argument:" + action)
            yield "    )"
            if bare and command["subcommands"]:
                yield from zsh_described("names", command["subcommands"])
            yield "    ;;"
    yield "  esac"
    yield "  if (( ${own[(I)\\*:*]} )); then"
    yield "    _arguments -S : $global $own"
    yield "  else"
    yield "    _arguments -S : $global $own '*::command:->name'"
    yield "    [[ $state != name ]] || _describe command names"
    yield "  fi"
    yield "}"
    yield '_dcode "$@"'


# --- fish ---

def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_options(when, options, data):
    for option in options:
        line = f"complete -c dcode{when}"
        if option["letter"]:
            line += f" -s {option['letter']}"
        line += f" -l {option['name']} -d {fish_quote(option['help'])}"
        words = choices(option["value"], data) if option["value"] else []
        if option["value"]:
            line += " -r"
        if words:
            line += f" -a {fish_quote(' '.join(words))}"
        yield line + (" -F" if words is None else "")


def fish(data):
    yield "# dcode.fish - completion of dcode for fish, generated from its " \
        "tables."
    yield "complete -c dcode -f"
    yield from fish_options("", data["options"], data)
    yield from fish_options(" -n __fish_use_subcommand",
                            data["run_options"], data)
    for command in data["commands"]:
        yield (f"complete -c dcode -n __fish_use_subcommand -a "
               f"{command['name']} -d {fish_quote(command['summary'])}")
        names = " ".join(s["name"] for s in command["subcommands"])
        for words, sub in parts(command):
            test = f"__fish_seen_subcommand_from {words[0]}"
            if words[1:]:
                test += f"; and __fish_seen_subcommand_from {words[1]}"
            elif names:
                test += f"; and not __fish_seen_subcommand_from {names}"
            when = f" -n {fish_quote(test)}"
            yield from fish_options(when, sub["options"], data)
            found = positional(sub, data)
            if found is None:
                yield f"complete -c dcode{when} -F"
            elif found:
                yield f"complete -c dcode{when} -a " \
                    + fish_quote(" ".join(found))
            if sub is command:
                for row in command["subcommands"]:
                    yield (f"complete -c dcode{when} -a {row['name']} "
                           f"-d {fish_quote(row['summary'])}")


def main():
    dcode, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    data = load(dcode)
    man = folder / "man"
    man.mkdir(parents=True, exist_ok=True)
    for old in man.iterdir():
        old.unlink()
    for name, text in man_pages(data):
        (man / name).write_text(text, "utf-8")
    for name, text in (("dcode.bash", bash(data)),
                       ("_dcode", "\n".join(zsh(data)) + "\n"),
                       ("dcode.fish", "\n".join(fish(data)) + "\n")):
        (folder / name).write_text(text, "utf-8")


main()
