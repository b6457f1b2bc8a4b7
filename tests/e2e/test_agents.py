"""test_agents.py - -a NAME: whose memory, skills and threads a run has."""
# SPDX-License-Identifier: MIT
import json

from chat_pty import Pty
from clouds import DONE
from lifecycle import call
from test_live_chat import live  # noqa: F401

RUN = ("-n", "hi", "-M", "anthropic:m")


def system(server, n=-1):
    text = server.requests[n]["body"]["system"]
    return text if isinstance(text, str) else "".join(t["text"] for t in text)


def make_agent(home, name, memory="", skill=None):
    folder = home / ".deepagents" / name
    folder.mkdir(parents=True)
    (folder / "AGENTS.md").write_text(memory)
    if skill:
        (folder / "skills" / skill).mkdir(parents=True)
        (folder / "skills" / skill / "SKILL.md").write_text(
            f"---\nname: {skill}\ndescription: Does it.\n---\nDo it.\n")
    return folder


def test_an_agent_has_its_own_memory_and_skills(run, model, home):
    make_agent(home, "agent", "MEMORY-OF-AGENT", "common")
    make_agent(home, "coder", "MEMORY-OF-CODER", "special")
    server = model([DONE])
    assert run(*RUN).status == 0
    assert "MEMORY-OF-AGENT" in system(server)
    assert "**common**" in system(server)
    assert "OF-CODER" not in system(server)
    assert run(*RUN, "-a", "coder").status == 0
    assert "MEMORY-OF-CODER" in system(server)
    assert "**special**" in system(server)
    assert "OF-AGENT" not in system(server)
    assert "**common**" not in system(server)


def test_a_new_agent_is_made_and_told(run, model, home):
    server = model([DONE])
    r = run(*RUN, "-a", "coder")
    assert r.status == 0 and "Created the agent coder" in r.err
    assert (home / ".deepagents" / "coder" / "AGENTS.md").exists()
    assert "Created the agent" not in run(*RUN, "-a", "coder").err
    # What it holds at first is a comment, which no model sees.
    assert "agent_memory" not in system(server)


def test_names_that_lead_elsewhere_are_refused(run, model, home):
    model([DONE])
    for name in ("../x", "a/b", ".state", "", "bin", "-x", "a\nb"):
        r = run(*RUN, f"--agent={name}")
        assert r.status == 2 and "not a valid agent name" in r.err
    outside = home / "outside"
    outside.mkdir()
    make_agent(home, "real")
    (home / ".deepagents" / "link").symlink_to(outside)
    r = run("agents", "reset", "--agent", "link")
    assert r.status == 1 and "not a directory" in r.err and outside.exists()
    assert "link" not in run("agents", "list").out


def test_the_default_is_that_of_the_settings(run, model, home, config):
    make_agent(home, "coder", "MEMORY-OF-CODER")
    server = model([DONE])
    config("[agents]\ndefault = 'coder'\nrecent = 'other'\n")
    assert run(*RUN).status == 0
    assert "MEMORY-OF-CODER" in system(server)
    told = json.loads(run("agents", "list", "--json").out)
    assert told["command"] == "list"  # as in the Python program
    assert [(r["name"], r["is_default"]) for r in told["data"]] == [
        ("coder", True)]
    config("[agents]\ndefault = 'nosuch'\n")
    r = run(*RUN)
    assert r.status == 0 and "unknown agent" in r.err
    assert "MEMORY-OF-CODER" not in system(server)
    config("[agents]\nrecent = 'coder'\n")
    assert run(*RUN).status == 0
    assert "MEMORY-OF-CODER" in system(server)


def test_a_thread_goes_on_with_its_agent(run, model, home):
    make_agent(home, "coder", "MEMORY-OF-CODER")
    server = model([{"text": "one"}, {"text": "two"}, {"text": "three"}])
    assert run(*RUN, "-a", "coder").status == 0
    assert run(*RUN).status == 0
    mine = json.loads(run("threads", "list", "--json", "--agent",
                          "coder").out)["data"]
    assert len(mine) == 1 and mine[0]["agent"] == "coder"
    others = json.loads(run("threads", "list", "--json", "--agent",
                            "agent").out)["data"]
    assert len(others) == 1
    assert "No threads found for agent x." in run(
        "threads", "list", "--agent", "x").out
    r = run(*RUN, "-r", mine[0]["thread_id"])
    assert r.status == 0 and "MEMORY-OF-CODER" in system(server)
    # Bare -r with -a: the last one of that agent.
    r = run(*RUN, "-r", "latest", "-a", "coder")
    assert r.status == 0, r.err
    assert len(server.requests[-1]["body"]["messages"]) == 5


def test_reset_begins_an_agent_anew(run, home):
    folder = make_agent(home, "coder", "OLD", "special")
    make_agent(home, "other", "THEIRS")
    r = run("agents", "reset", "--agent", "coder", "--dry-run")
    assert "Would remove and recreate" in r.out
    assert (folder / "AGENTS.md").read_text() == "OLD"
    r = run("agents", "reset", "--agent", "coder", "--target", "nosuch")
    assert r.status == 1 and "Source agent 'nosuch' not found" in r.err
    assert (folder / "AGENTS.md").read_text() == "OLD"
    r = run("agents", "reset", "--agent", "coder")
    assert r.status == 2 and "Add --yes to delete them without asking" in r.err
    assert (folder / "AGENTS.md").read_text() == "OLD"
    assert run("agents", "reset", "--agent", "coder", "--target",
               "other", "--yes").status == 0
    assert (folder / "AGENTS.md").read_text() == "THEIRS"
    assert not (folder / "skills").exists()
    assert run("agents", "reset", "--agent", "coder", "--yes").status == 0
    assert "THEIRS" not in (folder / "AGENTS.md").read_text()
    r = run("agents", "reset")
    assert r.status == 2 and "needs --agent NAME" in r.err
    r = run("agents", "reset", "--agent", "fresh", "--dry-run")
    assert "Would create" in r.out


def test_reset_asks_at_a_terminal(dcode, env, home, tmp_path):
    folder = make_agent(home, "coder", "OLD", "special")
    for answer, text in ((b"n\r", b"Nothing was deleted"),
                         (b"y\r", b"Removed and recreated")):
        assert (folder / "skills").exists()
        p = Pty([dcode, "agents", "reset", "--agent", "coder"], env, tmp_path)
        p.until(b"skills and subagents? [y/N]")
        p.send(answer)
        p.until(text)
        p.close()
    assert not (folder / "skills").exists()


def test_the_agent_of_a_chat_is_the_next_ones(
        live, config, home, run):  # noqa: F811
    make_agent(home, "coder")
    file = config("# mine\n")

    def chosen():
        return [a["name"] for a in json.loads(
            run("agents", "list", "--json").out)["data"] if a["is_default"]]
    assert run("-a", "coder", *RUN).status != 2  # a task is not remembered
    assert file.read_text() == "# mine\n" and not chosen()
    live([], ("-a", "coder"))
    assert file.read_text().startswith("# mine\n")
    assert chosen() == ["coder"]
    live([], ("-a", "agent"))
    assert "recent = 'agent'" in file.read_text() and not chosen()
    config("[agents]\ndefault = 'agent'\n")
    live([], ("-a", "coder"))
    assert "recent" not in file.read_text()


def test_the_home_of_dcode_is_moved_by_an_export_alone(run, model, env, home,
                                                       tmp_path):
    other = tmp_path / "other"
    (other / "agent").mkdir(parents=True)
    (other / "agent" / "AGENTS.md").write_text("MOVED-MEMORY")
    make_agent(home, "agent", "OLD-MEMORY")
    server = model([DONE])
    # Attack: a repository whose .env leads to settings of its own.
    (tmp_path / "work" / ".env").write_text(f"DEEPAGENTS_HOME={other}\n")
    assert run(*RUN).status == 0
    assert "OLD-MEMORY" in system(server)
    env["DEEPAGENTS_HOME"] = f"{other}/"
    assert run(*RUN).status == 0
    assert "MOVED-MEMORY" in system(server)
    assert (other / ".state" / "dcode.db").exists()
    env["DEEPAGENTS_HOME"] = "other"
    r = run(*RUN)
    assert r.status == 1 and "is not an absolute path" in r.err


def test_what_lies_in_a_moved_home_is_not_written(run, model, env, tmp_path):
    """Attack: with the home in the working directory its config.toml would be
    a file like any other there."""
    env["DEEPAGENTS_HOME"] = str(tmp_path / "work" / "conf")
    model([{"tool_calls": [
        call("write_file", file_path="conf/config.toml", content="x"),
        call("write_file", file_path="other.toml", content="x")]}, DONE])
    r = run(*RUN, "-S", "ls")
    assert r.status == 0, r.err
    assert not (tmp_path / "work" / "conf" / "config.toml").exists()
    assert (tmp_path / "work" / "other.toml").exists()
