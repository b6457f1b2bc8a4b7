"""test_skills.py - SKILL.md folders: named, sent when used, called by name."""
# SPDX-License-Identifier: MIT
import json
import os
import random
import re

import pytest

from clouds import DONE, EXECUTE, UPLOAD, results
from lifecycle import call, execute
from slash_chat import HELLO, begin, talk  # noqa: F401 (a fixture)
from test_media import PNG

ROOT = "/tmp/dcode-skills"
RUN = ("-n", "hi", "-M", "anthropic:m")


def make_skill(place, name, description="Does it.", body="Do it.\n", **files):
    folder = place / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: {description}\n---\n{body}")
    for path, text in files.items():
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def own(home):
    return home / ".deepagents" / "agent" / "skills"


def system(server, n=0):
    text = server.requests[n]["body"]["system"]
    return text if isinstance(text, str) else "".join(t["text"] for t in text)


def read(path):
    return {"tool_calls": [call("read_file", file_path=path)]}


def test_a_skill_is_sent_when_it_is_first_used(run, model, own):
    folder = make_skill(own, "greet", data="the data\n")
    (folder / "say.sh").write_text("#!/bin/sh\necho said by $0\n")
    (folder / "say.sh").chmod(0o755)
    (folder / "same").symlink_to("data")
    make_skill(own, "other")
    server = model([
        execute(f"ls {ROOT[:5]}dcode-sk*; echo $?"),
        read(f"{ROOT}/greet/SKILL.md"),
        execute(f"{ROOT}/greet/say.sh; cat {ROOT}/greet/same; ls {ROOT}"),
        DONE])
    r = run(*RUN, "--sandbox", "local", "-y")
    assert r.status == 0, r.err
    before, text, used = results(server)
    assert "No such file" in before
    assert "Do it." in text
    assert f"said by {ROOT}/greet/say.sh" in used and "the data" in used
    assert r.err.count("Sent the skill greet to the sandbox: 4 files") == 1
    assert f"`{ROOT}/greet/SKILL.md`" in system(server)
    # A listing of all of them is one of all.
    assert "other" in used


def test_no_skill_no_word_of_them(run, model):
    server = model([DONE])
    assert run(*RUN).status == 0
    assert "Skill" not in system(server) and "SKILL" not in system(server)


def test_secrets_and_what_lies_outside_are_not_sent(run, model, own, home):
    (home / "private").write_text("PRIVATE-OF-THE-USER\n")
    folder = make_skill(own, "greet", data="fine\n")
    (folder / ".env").write_text("A=SECRET-OF-ENV\n")
    (folder / "note").write_text(
        "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n")
    (folder / "out").symlink_to(home / "private")
    (folder / "dir").symlink_to(home)
    os.mkfifo(folder / "pipe")
    server = model([execute(f"cd {ROOT}/greet && ls -A && cat data"), DONE])
    r = run(*RUN, "--sandbox", "local", "-y")
    assert r.status == 0, r.err
    names = set(results(server)[0].split())
    assert {"SKILL.md", "data", "fine"} <= names
    assert not names & {".env", "note", "out", "dir", "pipe"}
    for name in (".env", "note", "out", "dir", "pipe"):
        assert f"skill greet: {name} is not sent: " in r.err


@pytest.mark.parametrize("name", ["e2b", "daytona"])
def test_a_skill_takes_one_request_and_a_large_one_four(
        vendor, run, model, own, name):
    cloud = vendor(name)
    make_skill(own, "small", **{f"f{i}": "x" * 200 for i in range(20)})
    large = make_skill(own, "large")
    (large / "noise").write_bytes(random.Random(1).randbytes(3 << 20))

    def requests(path):
        begun = len(cloud.requests)
        server = model([read(path), DONE])
        r = run(*RUN, "--sandbox", name, "-y")
        assert r.status == 0, r.err
        acts = f"{EXECUTE[name]}|{UPLOAD[name]}"
        count = sum(bool(re.match(acts, f"{q['method']} {q['path']}"))
                    for q in cloud.requests[begun:])
        return count, results(server)[0]

    plain, _ = requests("/etc/hostname")
    small, text = requests(f"{ROOT}/small/SKILL.md")
    assert small == plain + 1 and "Do it." in text
    large, text = requests(f"{ROOT}/large/SKILL.md")
    assert large <= plain + 4 and "Do it." in text
    assert not cloud.violations


def test_a_root_that_is_a_link_gets_nothing(run, model, own):
    """Attack: a command of an earlier turn puts a link there that leads into
    a directory of the user's that is bound into the sandbox."""
    make_skill(own, "greet")
    server = model([execute(f"mkdir d; ln -s $PWD/d {ROOT[:5]}dcode-''skills"),
                    execute(f"ls -A d; cat {ROOT}/greet/SKILL.md"), DONE])
    r = run(*RUN, "--sandbox", "local", "-y")
    assert r.status == 0, r.err
    told = results(server)[1]
    assert "could not be sent to the sandbox" in told
    assert "No such file" in told and "greet" not in os.listdir(own.parent)
    assert "link_loop" in r.err


def test_on_this_machine_they_are_read_where_they_are(run, model, own, home):
    folder = make_skill(own, "greet")
    (folder / ".env").write_text("A=SECRET\n")
    (home / "other").write_text("OTHER\n")
    server = model([{"tool_calls": [
        call("read_file", file_path=str(p)) for p in (
            folder / "SKILL.md", folder / ".env", home / "other")]}, DONE])
    r = run(*RUN)
    assert r.status == 0, r.err
    text, env, other = results(server)
    assert "Do it." in text and "SECRET" not in env and "OTHER" not in other
    assert f"`{folder}/SKILL.md`" in system(server)


def test_the_system_text_is_the_same_each_time(run, model, own):
    for name in ("b", "a", "c"):
        make_skill(own, name)
    server = model([DONE])
    assert run(*RUN).status == 0
    assert run(*RUN).status == 0
    assert system(server, 0) == system(server, 1)
    assert system(server).index("**a**") < system(server).index("**b**")


def prompt(server):
    content = server.requests[-1]["body"]["messages"][0]["content"]
    return content if isinstance(content, str) else "".join(
        p.get("text", "") for p in content)


def test_a_task_begins_with_a_skill(run, model, own, tmp_path):
    make_skill(own, "greet", body="Say hello. @secret.png\n")
    (tmp_path / "work" / "secret.png").write_bytes(PNG)
    server = model([DONE])
    r = run("-s", "greet", "-n", "to Bob", "-M", "anthropic:m")
    assert r.status == 0, r.err
    text = prompt(server)
    assert "the skill `greet`" in text and "Say hello." in text
    assert text.endswith("**User request:** to Bob")
    # What the skill's text names is not attached; control: what is typed is.
    assert "Referenced Files" not in text
    run("-s", "greet", "-n", "to @secret.png", "-M", "anthropic:m")
    assert "Referenced Files" in prompt(server)


def test_an_unknown_skill_is_told_before_anything_is_made(run, model, own):
    make_skill(own, "greet")
    server = model([DONE])
    r = run("-s", "nosuch", *RUN, "--sandbox", "local")
    assert r.status == 1 and "Skill not found: nosuch" in r.err
    assert "Available: greet" in r.err and "Starting" not in r.err
    assert not server.requests
    make_skill(own, "void", body="\n")
    assert "has an empty SKILL.md" in run("-s", "void", *RUN).err


def test_a_projects_skill_in_place_of_the_users_is_told(run, model, own,
                                                        tmp_path):
    make_skill(own, "greet", body="MINE\n")
    make_skill(tmp_path / "work" / ".deepagents" / "skills", "greet",
               body="THEIRS\n")
    server = model([DONE])
    r = run("-s", "greet", *RUN)
    assert "THEIRS" in prompt(server)
    assert "the skill greet comes from this project" in r.err


def test_a_hostile_project(run, model, home, tmp_path):
    """Links, names with escapes: named, cleaned and without effect."""
    place = tmp_path / "work" / ".claude" / "skills"
    (home / "notes").mkdir()
    make_skill(home, "notes", description="NOTES-OF-THE-USER")
    make_skill(place, "good", description='"A \\e]0;owned\\a\\u202eB"')
    (place / "out").symlink_to(home / "notes")
    (place / "x\x1b[2Jy").mkdir()
    (place / "x\x1b[2Jy" / "SKILL.md").write_text("no\n")
    (place / "big").mkdir()
    with open(place / "big" / "SKILL.md", "w") as f:
        f.truncate(11 << 20)
    os.mkfifo(place / "good" / "pipe")
    (place / "fifo").mkdir()
    os.mkfifo(place / "fifo" / "SKILL.md")
    server = model([DONE])
    r = run(*RUN, timeout=20)
    assert r.status == 0, r.err
    assert "- **good**: A B\n" in system(server)
    assert "NOTES-OF-THE-USER" not in json.dumps(server.requests[0]["body"])
    assert "\x1b" not in r.err and "\u202e" not in r.err
    for why in ("outside of the project", "no front matter",
                "larger than 10 MiB", "not a regular file"):
        assert why in r.err
    listed = run("skills", "list")
    assert listed.status == 0 and "good: A B" in listed.out


def test_commands(run, home, own, tmp_path):
    assert "No skills found" in run("skills", "list").out
    assert run("skills", "create", "my-skill").status == 0
    text = (own / "my-skill" / "SKILL.md").read_text()
    assert text.startswith("---\nname: my-skill\n")
    r = run("skills", "create", "my-skill")
    assert r.status == 1 and "already exists" in r.err
    for name, why in (("My", "must be lowercase"), ("a/b", "path components"),
                      ("", "cannot be empty"), ("a" * 65, "cannot exceed")):
        r = run("skills", "create", name)
        assert r.status == 2 and why in r.err, name
    assert run("skills", "create", "theirs", "--project").status == 0
    listed = json.loads(run("skills", "list", "--json").out)
    assert listed["command"] == "skills list"
    assert [(s["name"], s["source"]) for s in listed["data"]] == [
        ("my-skill", "user"), ("theirs", "project")]
    only = json.loads(run("skills", "list", "--json", "--project").out)
    assert [s["name"] for s in only["data"]] == ["theirs"]
    (own / "my-skill" / "helper.sh").write_text("x")
    info = json.loads(run("skills", "info", "my-skill", "--json").out)["data"]
    assert info["files"] == ["helper.sh"] and "## Steps" in info["content"]
    assert "helper.sh" in run("skills", "info", "my-skill").out
    r = run("skills", "info", "nosuch")
    assert r.status == 1 and "Available: my-skill, theirs" in r.err
    assert "Would delete" in run("skills", "delete", "my-skill",
                                 "--dry-run").out
    r = run("skills", "delete", "my-skill")
    assert r.status == 2 and "--force" in r.err
    assert (own / "my-skill").exists()
    assert run("skills", "delete", "my-skill", "-f").status == 0
    assert not (own / "my-skill").exists()


def test_a_skill_that_is_a_link_is_not_deleted(run, own, home, config):
    make_skill(home / "dev", "mine")
    own.mkdir(parents=True)
    (own / "mine").symlink_to(home / "dev" / "mine")
    config('[skills]\nextra_allowed_dirs = ["~/dev"]\n')
    assert "mine" in run("skills", "list").out
    r = run("skills", "delete", "mine", "--force")
    assert r.status == 1 and "only links to the skill in" in r.err
    assert (home / "dev" / "mine" / "SKILL.md").exists()


def test_a_chat_calls_a_skill(talk, own, tmp_path):
    make_skill(own, "greet", body="Say hello. @f.txt\n")
    (tmp_path / "work" / "f.txt").write_text("TEXT-OF-F\n")
    c = begin(talk, HELLO)
    said = c.ask("/skill:greet to Bob")[0]
    assert "Say hello." in said and said.endswith("**User request:** to Bob")
    c.until("Hello there.")
    said = c.ask("/skill:greet see @f.txt now")[1]
    assert "TEXT-OF-F" in said
    c.until(lambda t: t.count("Hello there.") == 2)
    c.say("/skill:nosuch", "Skill not found: nosuch")
    c.say("/skills", "greet: Does it.")


def test_a_built_in_skill_is_called_by_its_name_and_not_listed_before(
        talk, run, home):
    c = begin(talk, [{"text": "kept."}, {"text": "made."}, {"text": "own."}])
    assert "skill-creator" not in json.dumps(c.server.requests)
    text, = c.ask("/remember only the tests")
    assert "I call the skill `remember`" in text and "AGENTS.md" in text
    assert text.endswith("**User request:** only the tests")
    assert "skill-creator" not in json.dumps(c.server.requests[0]["body"])
    text, = c.ask("/skill-creator")[-1:]
    assert "I call the skill `skill-creator`" in text
    out = run("skills", "list").out
    assert "Built-in skills" in out and "  remember: " in out
    r = run("skills", "delete", "remember", "-f")
    assert r.status == 1 and "remember is built in" in r.err
    # The user's own of that name goes before it.
    skill = home / ".deepagents" / "agent" / "skills" / "remember"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: remember\ndescription: Mine.\n---\nMY-OWN-WORDS\n")
    c.say("/reload", "AGENTS.md")
    assert "MY-OWN-WORDS" in c.ask("/remember")[-1]
