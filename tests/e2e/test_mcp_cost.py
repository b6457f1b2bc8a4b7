"""test_mcp_cost.py - what servers, skills and AGENTS.md cost a session."""
# SPDX-License-Identifier: MIT

import pytest

from chat_pty import Pty
from mcp_rig import Mcp, wait_for

SERVERS, SKILLS = 5, 50
CALLS = 450  # of the system, until the first request is sent
KIB = 2048   # of memory, of an idle session


@pytest.fixture
def homes(home, tmp_path):
    """Two environments' parts: nothing in one, the other is full."""
    full = Mcp(home, tmp_path / "work")
    full.own(**{f"s{i}": full.entry() for i in range(SERVERS)})
    agent = home / ".deepagents" / "agent"
    for i in range(SKILLS):
        folder = agent / "skills" / f"skill-{i}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: skill-{i}\ndescription: What number {i} is for.\n"
            "---\n" + "Words of it.\n" * 200)
    (agent / "AGENTS.md").write_text("Words of advice.\n" * 6000)
    (tmp_path / "bare").mkdir()
    return {"bare": tmp_path / "bare", "full": home}, full


@pytest.mark.slow
def test_the_first_request_does_a_bounded_number_of_calls(
        homes, model, run, env, dcode_release, tmp_path):
    homes, mcp = homes
    assert run("mcp", "test").status == 0
    mcp.log.unlink()
    counts = {}

    def count():
        run("-f", "-qq", "-o", out, dcode_release, "-n", "hi", "-M",
            "anthropic:m", program="/usr/bin/strace")
        lines = out.read_text().splitlines()
        at = next(i for i, line in enumerate(lines)
                  if "POST /v1/messages" in line)
        # No program is started for it.
        assert sum("execve(" in line for line in lines[:at]) == 1
        return at
    for name, home in homes.items():
        env["HOME"] = str(home)
        m = model([{"text": "hello"}])
        run("-n", "hi", "-M", "anthropic:m", program=dcode_release)
        out = tmp_path / f"{name}.trace"
        counts[name] = min(count() for _ in range(3))
        # Of those that wait, a busy machine sees more.
        for _ in range(9):
            if counts[name] - counts["bare"] > CALLS:
                counts[name] = min(counts[name], count())
    body = str(m.requests[-1]["body"])
    assert "skill-49" in body and "s4_look" in body
    assert body.count("Words of advice.") > 5000
    assert counts["full"] - counts["bare"] <= CALLS, counts


def test_an_idle_session_holds_little_more(
        homes, model, run, env, dcode_release, tmp_path):
    homes, mcp = homes
    assert run("mcp", "test").status == 0
    mcp.log.unlink()
    env["TERM"] = "xterm-256color"
    held = {}
    for name, home in homes.items():
        m = model([{"text": "hello there"}])
        env["HOME"] = str(home)
        env.update(m.env)
        chat = Pty([dcode_release, "-M", "anthropic:m"], env,
                   tmp_path / "work")
        try:
            chat.until(b"anthropic")
            chat.quiet()
            chat.send(b"hi\r")
            chat.until(b"hello there")
            if name == "full":
                assert wait_for(lambda: len(mcp.received("tools/list"))
                                == SERVERS)
            chat.quiet(1)
            held[name] = chat.memory()
        finally:
            chat.close()
    for what in ("Pss", "Pss_Anon"):
        assert held["full"][what] - held["bare"][what] <= KIB, held
    assert mcp.wait_none_left()[0]
