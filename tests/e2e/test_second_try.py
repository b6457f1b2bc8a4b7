"""test_second_try.py - what scripts/check makes of a test that passes late."""
# SPDX-License-Identifier: MIT
import os
import subprocess

import pytest

LISTED = "2026-11-23 {} | for this test\n"
PROGRAM = """#!/bin/sh
echo '[       OK ] steady'
if [ -e {state} ]; then
    echo '[       OK ] late'
else
    echo >{state}
    echo '{said}'
    echo '[  FAILED  ] late'
    echo '[  FAILED  ] 1 test(s), listed below:'
    echo '[  FAILED  ] late'
    exit 1
fi
"""
MODULE = """import pathlib
def test_steady(): pass
def test_late():
    state = pathlib.Path({state!r})
    if not state.exists():
        state.touch()
        raise AssertionError({said!r})
"""


class Suite:
    """Files with tests, a list of unsteady ones, and what runs them."""

    def __init__(self, top, place):
        self.top, self.place, self.files = top, place, []
        (place / "unsteady").write_text("# none\n")

    def listed(self, name):
        (self.place / "unsteady").write_text(LISTED.format(name))

    def run(self):
        """(status, the lines that it printed)"""
        env = {k: v for k, v in os.environ.items() if "PYTEST" not in k}
        r = subprocess.run(
            ["sh", *self.command()], cwd=self.place, timeout=60, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            env={**env, "UNSTEADY": str(self.place / "unsteady")})
        return r.returncode, r.stdout.splitlines()


class Units(Suite):
    name = "tests/unit/a0_test:late"

    def add(self, i, said="", state=""):
        path = self.place / f"a{i}_test"
        path.write_text(PROGRAM.format(state=state or f"{path}.ran",
                                       said=said))
        path.chmod(0o755)
        self.files.append(path)

    def command(self):
        return [self.top / "tests" / "run-units.sh", *self.files]


class Pytests(Suite):
    name = "test_a0.py::test_late"

    def add(self, i, said="", state=""):
        path = self.place / f"test_a{i}.py"
        path.write_text(MODULE.format(state=state or f"{path}.ran",
                                      said=said))
        self.files.append(path)

    def command(self):
        return [self.top / "tests" / "run-pytest.sh", "log", *self.files]


@pytest.fixture(params=[Units, Pytests])
def suite(request, top, tmp_path):
    return request.param(top, tmp_path)


def named(lines):
    return [line for line in lines if line.startswith("UNSTEADY: ")]


@pytest.mark.parametrize("pattern", ["{}", "{}*", "t*"])
def test_one_that_is_listed_counts_neither_way(suite, pattern):
    suite.add(0)
    suite.listed(pattern.format(suite.name))
    status, lines = suite.run()
    assert status == 0 and lines[-1].endswith("1 passed, 0 failed"), lines
    assert named(lines) == ["UNSTEADY: " + suite.name]


def test_one_that_is_not_listed_has_failed(suite):
    suite.add(0)
    suite.listed("another")
    status, lines = suite.run()
    assert status == 1 and lines[-1].endswith("1 passed, 1 failed"), lines
    assert named(lines) == ["UNSTEADY: " + suite.name]


def test_one_that_fails_twice_has_failed(suite):
    suite.add(0, state="/dev/null/never")
    suite.listed("t*")
    status, lines = suite.run()
    assert status == 1 and lines[-1].endswith("1 passed, 1 failed"), lines
    assert named(lines) == []


def test_a_finding_of_a_sanitizer_has_no_second_try(suite):
    suite.add(0, "x.c:1: runtime error: x")
    suite.listed("t*")
    status, lines = suite.run()
    assert status == 1 and named(lines) == []


@pytest.mark.parametrize("n", [25, 26])
def test_no_more_than_25_are_tried_again(suite, n):
    for i in range(n):
        suite.add(i)
    suite.listed("t*")
    status, lines = suite.run()
    assert (status, len(named(lines))) == ((0, 25) if n == 25 else (1, 0))
