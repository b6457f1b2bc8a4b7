"""test_instructions.py - how many instructions a start and a turn take."""
# SPDX-License-Identifier: MIT
import re
import subprocess

import pytest

from lifecycle import execute

# Counted by callgrind on Debian 12 for amd64, with 2 % to spare. A busy machine
# does not change a count, as it does a time.
START = 19_300_000  # with the first answer
TURN = 330_000      # one answer with one command in the sandbox none


@pytest.fixture
def count(dcode_release, env, home, tmp_path, model):
    """count(n): instructions of a run with n commands and an answer."""
    def run(calls):
        server = model([execute(f"true {i}") for i in range(calls)] +
                       [{"text": "done"}])
        r = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             dcode_release, "-n", "go", "-M", "anthropic:m", "-y"],
            cwd=tmp_path / "work", capture_output=True, text=True,
            env={"HOME": str(home), "PATH": "/usr/bin:/bin", **server.env},
            stdin=subprocess.DEVNULL)
        assert r.returncode == 0 and len(server.requests) == calls + 1, r.stderr
        return int(re.search(r"Collected : (\d+)", r.stderr)[1])
    run(0)  # makes the database and its directory
    return run


def test_a_start_and_a_turn_take_no_more_instructions(count):
    # A start takes 1.6 % more if the answer takes longer than 250 ms, as on a
    # busy machine: then it is stored while it arrives.
    start, turn = min(count(0), count(0)), (count(40) - count(10)) / 30
    print(f"start {start:,}, turn {turn:,.0f}")
    assert START / 2 < start <= START
    assert TURN / 2 < turn <= TURN
