"""test_sdk_markdown.py - markdownlint has nothing to say of our documents."""
# SPDX-License-Identifier: MIT
import subprocess

import sdk


def lint(top, *files):
    node = sdk.node_of(top)
    return subprocess.run([node, top / "tests/sdk/markdownlint.mjs", *files],
                          stdout=subprocess.PIPE, text=True, check=False,
                          timeout=120)


def test_readme_and_manual_pass_markdownlint(top):
    pages = sorted((top / "cmd" / "manual").glob("*.md"))
    r = lint(top, top / "README.md", *pages)
    assert len(pages) > 20 and (r.returncode, r.stdout) == (0, "")


def test_a_list_without_a_blank_line_around_it_is_found(top, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Page\n\nText.\n- item\n")
    r = lint(top, page)
    assert r.returncode == 1 and "page.md:4: MD032" in r.stdout
