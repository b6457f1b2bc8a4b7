"""test_redaction.py - what looks like a credential is masked in tool results,
whatever tool they come from."""
# SPDX-License-Identifier: MIT
import itertools
import json
import os
import pathlib
import re
import sqlite3
import subprocess

import pytest

from credentials import credentials, github

TOP = pathlib.Path(__file__).resolve().parents[2]
HELLO = {"text": "done"}
M = ("-M", "anthropic:m", "--sandbox", "none", "--yolo")


def call(tool, **args):
    return {"tool_calls": [{"name": tool, "args": args}]}


def sent(server):
    return json.dumps([r["body"] for r in server.requests],
                      ensure_ascii=False)


def stored(home):
    return b"".join(path.read_bytes() for path in
                    (home / ".deepagents" / ".state").rglob("*")
                    if path.is_file())


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    return tmp_path / "work"


@pytest.mark.parametrize("way", ["execute", "read_file", "grep"])
def test_no_form_reaches_the_model_the_store_or_the_output(
        run, model, work, home, way):
    planted = credentials()
    (work / "out.txt").write_text("".join(
        f"line {i}: {c.text}\n" for i, c in enumerate(planted)))
    args = {"execute": {"command": "cat out.txt"},
            "read_file": {"file_path": "out.txt"},
            "grep": {"pattern": "line", "path": "out.txt",
                     "output_mode": "content"}}[way]
    if way == "grep":  # shows the first line of a key alone
        planted = [c for c in planted if "\n" not in c.token]
    server = model([call(way, **args), HELLO])
    r = run("-n", "look", "--json", *M)
    assert r.status == 0, r.err
    seen = sent(server)
    for c in planted:
        for part in c.hidden.split():
            if len(part) >= 8:
                assert part not in seen, (c.kind, part)
                assert part not in r.out + r.err, (c.kind, part)
                assert part.encode() not in stored(home), (c.kind, part)
        assert f"[masked:{c.kind}]" in seen, c.kind


def test_a_secret_in_the_prompt_is_masked_too(run, model, home):
    token, server = github(), model([HELLO])
    r = run("-n", f"my token is {token}, use it", *M)
    assert r.status == 0 and "masked" in r.err, r.err
    assert token not in sent(server)
    assert "ghp_…[masked:GitHub token]" in sent(server)
    assert token.encode() not in stored(home)


def test_a_kind_can_be_turned_off(run, model, work, config):
    token = github()
    (work / "f").write_text(token)
    config('[redact]\nkinds_off = ["github TOKEN"]\n')
    server = model([call("read_file", file_path="f"), HELLO])
    assert run("-n", "look", *M).status == 0
    assert token in sent(server)


def test_an_own_pattern_is_masked(run, model, work, config):
    value = "acme" + "_" + "Zk3" * 10
    (work / "f").write_text(f"a {value}\n{value}x")
    config('[redact]\npatterns = ["acme_[A-Za-z0-9]{30}"]\n')
    server = model([call("execute", command="cat f"), HELLO])
    assert run("-n", "look", *M).status == 0
    assert "a acme_…[masked:own pattern]" in sent(server)
    assert value + "x" in sent(server)


@pytest.mark.parametrize("line, why", [
    ('patterns = ["acme_[A-Z"]', "cannot be read"),
    ('patterns = ["ac[A-Z]{20}"]', "at least 3 characters"),
    ('patterns = ["acme_[A-Z]{3}"]', "at least 8 characters"),
    ('patterns = [3]', "must be a list of strings"),
    ('kinds_off = ["Gitub token"]', "no kind is called"),
])
def test_a_broken_setting_ends_the_run(run, model, config, line, why):
    config(f"[redact]\n{line}\n")
    server = model([HELLO])
    r = run("-n", "look", *M)
    assert r.status == 2 and why in r.err, r.err
    assert "config.toml" in r.err
    assert not server.requests


def test_the_manual_lists_each_kind():
    page = (TOP / "cmd/manual/redaction.md").read_text("utf-8")
    table = page.split("## Kinds")[1].split("\n\n")[1]
    listed = [kind.strip() for row in table.splitlines()[2:]
              for kind in row.split("|")[2].split(",")]
    assert sorted(listed) == sorted({c.kind for c in credentials()})


def test_what_was_masked_is_said_once_to_the_model_and_the_user(
        run, model, work):
    (work / "f").write_text(f"{github()}\n{github()}\n")
    server = model([call("read_file", file_path="f"), HELLO])
    r = run("-n", "look", *M)
    assert r.err.count("masked in the result of read_file: 2 GitHub tokens"
                       ) == 1, r.err
    assert sent(server).count("[masked: 2 GitHub tokens]") == 1


def test_nothing_is_said_about_a_mask_that_is_only_a_text(run, model, work):
    (work / "f").write_text("ghp_…[masked:GitHub token]\n")
    server = model([call("read_file", file_path="f"), HELLO])
    r = run("-n", "look", *M)
    assert "masked" not in r.err
    assert "[masked: " not in sent(server)


MASK = "ghp_…[masked:GitHub token]"


@pytest.mark.parametrize("tool, args", [
    ("write_file", {"file_path": "f", "content": f"a=1\nt={MASK}\n"}),
    ("edit_file", {"file_path": "f", "old_string": "a=0",
                   "new_string": f"a=1\nt={MASK}"}),
    ("edit_file", {"file_path": "f", "old_string": f"t={MASK}",
                   "new_string": "t=1"}),
])
def test_a_mask_is_not_written_over_the_credential(
        run, model, work, tool, args):
    text = f"a=0\nt={github()}\n"
    (work / "f").write_text(text)
    server = model([call("read_file", file_path="f"), call(tool, **args),
                    call("edit_file", file_path="f", old_string="a=0",
                         new_string="a=2"), HELLO])
    assert run("-n", "look", *M).status == 0
    assert "nothing was written" in sent(server)
    assert (work / "f").read_text() == text.replace("a=0", "a=2")


def test_a_mask_of_an_earlier_run_of_the_thread_is_refused_too(
        run, model, work):
    text = f"t={github()}\n"
    (work / "f").write_text(text)
    write = call("write_file", file_path="f", content=f"t={MASK}\n")
    server = model([call("read_file", file_path="f"), HELLO, write, HELLO])
    run("-n", "look", *M)
    run("-n", "go on", "-r", "latest", *M)
    assert "nothing was written" in sent(server)
    assert (work / "f").read_text() == text


def test_such_a_text_of_another_origin_is_written(run, model, work):
    write = call("write_file", file_path="f", content=f"see {MASK}\n")
    model([write, HELLO])
    assert run("-n", "look", *M).status == 0
    assert MASK in (work / "f").read_text()


# --- dcode threads scan ---

def test_a_scan_names_place_and_kind_but_never_the_value(
        run, model, work, config):
    token = github()
    (work / "f").write_text(f"{token}\n{token}\n")
    config('[redact]\nkinds_off = ["all"]\n')
    model([call("read_file", file_path="f"), HELLO, HELLO])
    assert run("-n", "look", *M).status == 0
    assert run("-n", f"again {token}", "-r", "latest", *M).status == 0
    assert run("threads", "scan").status == 0
    config("")
    r = run("threads", "scan")
    assert r.status == 3 and token not in r.out
    assert "turn 1  result of read_file: 2 GitHub tokens\n" in r.out
    assert "turn 2  prompt: 1 GitHub token\n" in r.out
    r = run("threads", "scan", "--json")
    data = json.loads(r.out)["data"]
    assert r.status == 3 and token not in r.out and data["threads"] == 1
    assert [(p["turn"], p["where"], p["found"]) for p in data["places"]] == [
        (1, "result", "2 GitHub tokens"), (2, "prompt", "1 GitHub token")]


def test_a_scan_counts_known_values_and_not_what_is_masked(
        run, model, work, env):
    (work / "f").write_text(f"{github()}\nhunter2-of-the-vault\n")
    model([call("read_file", file_path="f"), HELLO])
    assert run("-n", "look", *M).status == 0
    env["SOME_API_KEY"] = "hunter2-of-the-vault"
    r = run("threads", "scan")
    assert r.status == 3
    assert "result of read_file: 1 known value\n" in r.out


# --- dcode bug-report ---

def test_a_bug_report_has_no_planted_credential(
        run, model, work, config, env, home):
    known = "hunter2-of-the-vault"
    planted = [c for c in credentials() if "\n" not in c.token]
    (work / "f").write_text("\n".join(c.text for c in planted))
    config('[redact]\nkinds_off = ["all"]\n')
    model([call("read_file", file_path="f"), HELLO])
    assert run("-n", f"look {planted[5].text}", *M).status == 0
    rows = "\n".join(f"k{i} = {json.dumps(c.text)}"
                     for i, c in enumerate(planted))
    config('[redact]\nkinds_off = ["all"]\n'
           "[sandboxes.providers.mine]\n"
           f'command = ["/no/{planted[11].text}", "--key", "{known}"]\n'
           "[models]\n"
           f'default = "anthropic:{planted[9].text}"\nrecent = "{known}"\n'
           f"[unknown]\n{rows}\n")
    log = home / ".deepagents/.state/install.log"
    log.write_text("\n".join(c.text for c in planted[-15:]) + f"\n{known}\n")
    env.update(SOME_API_KEY=known, TERM_PROGRAM=planted[13].text,
               LC_CTYPE=planted[14].text)
    r = run("bug-report", "report.txt")
    assert r.status == 0 and r.out == "report.txt\n", r.err
    report = work / "report.txt"
    assert report.stat().st_mode & 0o777 == 0o600
    text = report.read_text()
    for c in planted:
        assert c.hidden not in text, c.kind
    assert known not in text
    assert text.count("masked:") > 20
    for part in ("dcode 0.", "Linux", "TERM=", "program platform",
                 "models.default", "assistant: text", "tool: result"):
        assert part in text, part
    assert "done" not in text and "look" not in text
    assert "Nothing was sent" in r.err


def internet(program, env, work, *args):
    """The calls with which a run could reach the network."""
    trace = work.parent / "trace"
    done = subprocess.run(
        ["strace", "-f", "-o", trace, "-e", "trace=network", program, *args],
        env=env, cwd=work, capture_output=True, text=True, timeout=120,
        stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in trace.read_text().splitlines()
            if "AF_INET" in line]


def test_a_bug_report_uses_no_network(dcode_release, env, work, model, config):
    """The control is a run, whose request the trace does show."""
    config('[models]\ndefault = "anthropic:m"\n')
    server = model([HELLO])
    assert internet(dcode_release, env, work, "-n", "hi", *M)
    sent_before = len(server.requests)
    assert internet(dcode_release, env, work, "bug-report", "report.txt") == []
    assert (work / "report.txt").exists()
    assert len(server.requests) == sent_before


def test_a_bug_report_replaces_no_file(run, work):
    (work / "f").write_text("mine")
    r = run("bug-report", "f")
    assert r.status == 1 and (work / "f").read_text() == "mine"


# --- ordinary sources ---

def sources():
    """Some of this machine's own headers, modules and documents."""
    for top, pattern in (("/usr/include", "*.h"), (os.__file__, "*.py"),
                         ("/usr/share/doc", "copyright"),
                         (TOP / "src", "*.c"), (TOP / "cmd", "*.md")):
        top = pathlib.Path(top)
        top = top.parent if top.is_file() else top
        yield from itertools.islice(sorted(top.rglob(pattern)), 1200)


def test_ordinary_sources_have_no_hits_but_exact_forms(run, model, home):
    """They are read through a thread, whose scan counts."""
    text = b"\n".join(path.read_bytes() for path in sources()
                      if path.is_file() and path.stat().st_size < 1 << 20)
    whole = text.decode("utf-8", "ignore").replace("\0", "")
    assert len(whole) > 5_000_000
    model([HELLO])
    assert run("-n", "hi", *M).status == 0
    with sqlite3.connect(home / ".deepagents/.state/dcode.db") as db:
        (number, row), = db.execute(
            "SELECT no, body FROM message ORDER BY no LIMIT 1")
        message = json.loads(row)
        message["parts"][0]["text"] = whole
        db.execute("UPDATE message SET body = ? WHERE no = ?",
                   (json.dumps(message), number))
    r = run("threads", "scan")
    found = re.findall(r"(\d+) ([a-zA-Z][a-zA-Z ]*?)s?[,\n]", r.out)
    print(found)
    # Samples in the modules' own texts, which a place alone makes a hit; and
    # the values of this test's environment.
    places = {"URL password", "cookie", "authorization header",
              "curl password", "known value"}
    assert {kind for _, kind in found} <= places, found
    assert sum(int(n) for n, _ in found) <= 12, found


@pytest.mark.parametrize("path, masked", [
    ("fix/a/f", False), ("other/f", True), ("fix/../other/f", True)])
def test_files_of_paths_off_are_read_as_they_are(
        run, model, work, config, path, masked):
    token = github()
    for folder in ("fix/a", "other"):
        (work / folder).mkdir(parents=True)
        (work / folder / "f").write_text(token)
    config('[redact]\npaths_off = ["fix/*"]\n')
    server = model([call("read_file", file_path=path),
                    call("execute", command="cat fix/a/f"), HELLO])
    r = run("-n", "look", *M)
    assert r.status == 0 and MASK in sent(server)
    assert (token in sent(server)) != masked
