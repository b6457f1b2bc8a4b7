"""test_threat_model.py - THREAT_MODEL.md names what is there."""
# SPDX-License-Identifier: MIT
import re

import pytest

CELL = 300  # characters that a reader takes in at once


@pytest.fixture(scope="module", name="entries")
def fixture_entries(top):
    """[(number, title, text)]"""
    text = (top / "THREAT_MODEL.md").read_text()
    found = re.findall(r"^### (\d+)\. (.+)\n((?:(?!^##).*\n)*)", text, re.M)
    assert len(found) > 40
    return [(int(number), title, body) for number, title, body in found]


def test_entries_are_numbered_in_order(entries):
    assert [n for n, _, _ in entries] == list(range(1, len(entries) + 1))
    for _, _, body in entries:
        for other in re.findall(r"\bentry (\d+)", body):
            assert 1 <= int(other) <= len(entries)


def test_each_entry_has_rules_a_place_and_a_test(entries):
    for number, title, body in entries:
        assert re.search(r"^- ", body, re.M), (number, title)
        assert re.search(r"^Enforced in: `", body, re.M), (number, title)
        assert re.search(r"^Tests:\n`", body, re.M), (number, title)


def test_each_file_and_test_that_is_named_exists(entries, top):
    named = set()
    for number, _, body in entries:
        named |= {(number, *path) for path in re.findall(
            r"`([\w/-]+\.(?:c|h|py|sh))(?:::(\w+))?`", body)}
    assert len(named) > 150
    for number, path, test in sorted(named):
        if test:
            begin, place = (("def ", "tests/e2e") if path.endswith(".py")
                            else ("static void ", "tests/unit"))
            source = (top / place / path).read_text()
            assert f"\n{begin}{test}(" in source, (number, path, test)
        else:
            assert (top / path).is_file(), (number, path)


def test_no_paragraph_or_cell_is_too_long_to_read(top):
    text = (top / "THREAT_MODEL.md").read_text()
    for line in text.splitlines():
        if line.startswith("|"):
            assert max(map(len, line.split("|"))) <= CELL, line
    for block in re.split(r"\n\n|\n(?=- )", text):
        if not block.startswith(("Tests:", "Enforced in: ")):
            assert len(block) <= 2 * CELL, block
