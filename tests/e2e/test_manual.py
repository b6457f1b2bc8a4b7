"""test_manual.py - dcode help TOPIC, and what each page has to look like."""
# SPDX-License-Identifier: MIT
import json
import pathlib
import re
import tempfile

import pytest

from screens import Screen
from slash_chat import begin, on_screen, talk  # talk is a fixture

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((TOP / "cmd" / "manual").glob("*.md"))
GENERATED = {"toml"}
FIRST = r"# (dcode[a-z.-]*)\(([157])\): ([a-z].*[^.])"
LESS_END = "(END)"


@pytest.fixture
def terminal(dcode, env, home, tmp_path):
    """terminal(words..., PAGER=...) -> a Screen with that command of dcode."""
    screens = []

    def begin_screen(*words, lines=24, columns=80, **more):
        place = pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-"))
        screens.append(Screen(place, [dcode, *words], {**env, **more},
                              tmp_path / "work", lines=lines,
                              columns=columns))
        return screens[-1]
    yield begin_screen
    for s in screens:
        s.close()


# --- dcode help ---

@pytest.mark.parametrize("columns", [40, 64])
@pytest.mark.parametrize("words", [["--help"], ["sandbox", "--help"],
                                   ["--sandbox", "dockr", "-n", "x"]])
def test_help_and_errors_end_rows_between_words(
        terminal, run, words, columns):
    s = terminal(*words, columns=columns)
    assert s.status() == (2 if "-n" in words else 0)
    piped = run(*words)
    whole = set((piped.out + piped.err).split())
    long = " ".join(w for w in whole if len(w) > columns - 10)
    seen = s.text(True).split()
    assert len(seen) > 30
    assert not [w for w in seen if w not in whole and w not in long]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_each_topic_is_printed_plainly_into_a_pipe(run, page):
    r = run("help", page.stem)
    assert (r.status, r.err) == (0, "") and "\x1b" not in r.out
    assert page.read_text().split("\n")[0][2:] in r.out
    for heading in re.findall("^## ([A-Za-z ]+)$", page.read_text(), re.M):
        assert f"\n{heading.upper()}\n" in r.out
    assert ".md)" not in r.out


def test_links_are_commands_and_code_is_indented(run):
    out = run("help", "models").out
    assert "auth (dcode help auth)" in " ".join(out.split())
    assert "\n    dcode models list sonnet\n" in out
    assert "](auth.md)" in (TOP / "cmd/manual/models.md").read_text()


def test_an_escaped_bar_of_a_table_is_a_bar(run):
    assert r"`/queue [clear\|drop N]`" in (
        TOP / "cmd/manual/chat.md").read_text()
    assert "/queue [clear|drop N] " in run("help", "chat").out
    for page in PAGES:
        assert r"\|" not in run("help", page.stem).out


def test_a_topic_that_is_a_command_too_begins_with_its_usage(run):
    out = run("help", "skills").out
    assert out.startswith("usage: dcode skills list")
    assert out.index("usage:") < out.index("dcode-skills(7): ")
    assert "dcode-skills(7)" not in run("help", "skills", "list").out
    assert "dcode-skills(7)" not in run("skills", "--help").out


def test_a_command_whose_page_has_another_name_says_where_it_is(run):
    assert "dcode help sandboxes" in run("help", "sandbox").out
    assert "dcode help apply" in run("help", "diff").out


@pytest.mark.parametrize("word", ["dcode-docker", "dcode-docker(7)"])
def test_the_name_of_a_man_page_is_a_topic(run, word):
    assert run("help", word).out == run("help", "docker").out


def test_an_unknown_topic_names_the_nearest_and_lists_all(run):
    r = run("help", "modls")
    assert r.status == 2 and r.out == ""
    assert "unknown command or topic 'modls'; did you mean 'models'?" in r.err
    for page in PAGES:
        assert re.search(rf"\b{page.stem}\b", r.err)
    assert "did you mean" not in run("help", "xylophone").err
    assert "unexpected argument: x" in run("help", "docker", "x").err


def test_a_topic_in_place_of_a_command_is_answered_with_its_page(run):
    r = run("workspace")
    assert r.status == 2 and "dcode help workspace" in r.err


def test_help_lists_the_topics_each_with_its_line(run):
    out = run("help").out.split("\nTopics (dcode help TOPIC):\n")[1]
    told = json.loads(run("help", "--json").out)["data"]["topics"]
    assert [t["name"] for t in told] == [p.stem for p in PAGES]
    for topic, page in zip(told, PAGES):
        name, section, summary = re.fullmatch(
            FIRST, page.read_text().split("\n")[0]).groups()
        assert (topic["section"], topic["summary"]) == (int(section), summary)
        assert re.search(rf"^  {topic['name']} +{re.escape(summary[:40])}",
                         out, re.M)


def test_a_page_as_data_is_its_markdown(run):
    page = TOP / "cmd/manual/docker.md"
    data = json.loads(run("help", "docker", "--json").out)["data"]
    assert data["text"] == page.read_text() and data["section"] == 7


# --- errors name the page that helps ---

@pytest.mark.parametrize("words, topic", [
    (["-M", "nosuch", "-n", "x"], "models"),
    (["-M", "foo:bar", "-n", "x"], "models"),
    (["models", "test", "nosuch"], "models"),
    (["-n", "x"], "auth"),
    (["--sandbox", "dokcer", "-n", "x"], "sandboxes"),
    (["--sandbox", "e2b", "-M", "ollama:x", "-n", "x"], "cloud"),
    (["skills", "info", "nosuch"], "skills"),
    (["--acp"], "from-python")])
def test_an_error_names_the_page_that_helps(run, words, topic):
    r = run(*words)
    assert r.status != 0 and f"\nMore: dcode help {topic}\n" in r.err
    assert (TOP / "cmd" / "manual" / f"{topic}.md").exists()


@pytest.mark.parametrize("file, topic", [
    ("config.toml", "toml"), ("hooks.json", "hooks")])
def test_a_broken_file_names_the_page_about_it(run, config, env, file, topic):
    env["ANTHROPIC_API_KEY"] = "k"
    config("").with_name(file).write_text("{")
    r = run("-n", "x")
    assert r.status == 2 and f"\nMore: dcode help {topic}\n" in r.err


def test_an_error_as_data_has_its_topic(run):
    out = json.loads(run("skills", "info", "nosuch", "--json").out)
    assert out["error"]["topic"] == "skills"


# --- the pager ---

def test_less_shows_a_long_page_and_leaves_with_success(terminal):
    s = terminal("help", "docker")
    s.until("dcode-docker(7)")
    s.keys("G")
    s.until(LESS_END)
    s.keys("q")
    assert s.status() == 0


def test_a_page_left_at_its_begin_is_no_error(terminal):
    s = terminal("help", "chat", lines=10)
    s.until("dcode-chat(7)")
    s.keys("q")
    assert s.status() == 0


def test_ctrl_c_is_the_pagers(terminal):
    s = terminal("help", "docker")
    s.until("dcode-docker(7)")
    s.keys("C-c")
    s.keys("C-c")
    s.keys("C-c")
    s.keys("G")
    s.until(LESS_END)
    s.keys("q")
    assert s.status() == 0


def test_headings_are_bold_in_less(terminal):
    s = terminal("help", "docker")
    s.until("EXAMPLES")
    shown = s.tmux("capture-pane", "-p", "-e")
    assert re.search(r"\x1b\[[0-9;]*1m[^\n]*EXAMPLES", shown)
    s.keys("q")
    assert s.status() == 0


def test_another_pager_gets_the_page_without_escape_codes(terminal, tmp_path):
    taken = tmp_path / "taken"
    s = terminal("help", "docker", PAGER=f"cat > {taken}")
    assert s.status() == 0
    text = taken.read_text()
    assert "dcode-docker(7)" in text and "\x1b" not in text


@pytest.mark.parametrize("pager", ["", "/no/such/pager"])
def test_without_a_pager_the_page_is_printed(terminal, pager):
    s = terminal("help", "docker", PAGER=pager)
    assert s.status() == 0
    seen = s.text(scrollback=True)
    assert "dcode-docker(7)" in seen and "SEE ALSO" in seen


# --- /help TOPIC ---

def test_the_chat_shows_a_page(talk):
    c = begin(talk, lines=300)
    c.say("/help docker", "dcode-docker(7)")
    c.until(lambda t: "EXAMPLES" in t and "/help sandboxes" in t)
    c.say("/help modls", "did you mean 'models'?")
    c.say("/help effort", "/effort [LEVEL]")
    assert not c.server.requests


@on_screen
def test_a_page_longer_than_the_screen_goes_to_the_pager(
        talk, env, tmp_path):
    taken = tmp_path / "taken"
    env["PAGER"] = f"sh -c 'cp \"$0\" {taken}'"
    c = begin(talk)
    c.say("/help models")
    c.until(lambda _: taken.exists() and "SEE ALSO" in taken.read_text())
    assert taken.read_text().startswith("dcode-models(7)")
    assert "\x1b" not in taken.read_text()


@on_screen
def test_tab_completes_a_topic_in_the_chat(talk):
    c = begin(talk)
    c.type("/help dock")
    c.until("run the tools in a container")
    c.keys("Tab")
    c.until("/help docker")


# --- what a page has to look like ---

@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_a_page_has_the_agreed_form(page):
    lines = page.read_text().splitlines()
    name, section, _ = re.fullmatch(FIRST, lines[0]).groups()
    assert name == {"dcode": "dcode", "toml": "dcode.toml"}.get(
        page.stem, "dcode-" + page.stem)
    assert lines[1] == "" and not lines[2].startswith("#")
    # the file is config.toml; dcode.toml(5) is only the name of its page
    assert not any("dcode.toml" in line for line in lines[1:])
    assert len(lines) <= 250 or page.stem in GENERATED
    order = [s for s in ("## Environment", "## Files", "## Exit status",
                         "## Limits", "## See also") if s in lines]
    at = [lines.index(s) for s in order if s != "## Exit status"]
    assert at == sorted(at)
    assert page.read_text().endswith("\n")
