"""test_trust_b8_gc.py - gc finds what a provider's program made in a create
that was cut, without being told in config.toml that it can list."""
# SPDX-License-Identifier: MIT
import json
import os
import time

import pytest

PROGRAM = """\
#!/usr/bin/python3
import json, os, pathlib, sys, time
root = pathlib.Path(os.path.expanduser("~/boxes"))
for line in sys.stdin:
    m = json.loads(line)
    p, result = m.get("params"), {}
    (root / "asked").open("a").write(m["method"] + "\\n")
    if m["method"] == "initialize":
        result = {"protocol": 1, "capabilities": CAPABILITIES}
    elif m["method"] == "create":
        box = {"id": "b1", "label": p["label"], "owner": p["owner"]}
        (root / "b1").write_text(json.dumps(box))
        time.sleep(1000)
    elif m["method"] == "list":
        result = {"sandboxes": [json.loads(f.read_text())
                                for f in root.glob("b*")]}
    elif m["method"] == "delete":
        (root / p["sandbox"]).unlink()
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"],
                          "result": result}), flush=True)
"""


@pytest.fixture
def cut(home, config, model, start):
    """cut(can, line): a run that is killed in the middle of a create."""
    boxes = home / "boxes"
    boxes.mkdir()

    def go(can, line=""):
        program = home / "acme"
        program.write_text(PROGRAM.replace("CAPABILITIES", repr(can)))
        program.chmod(0o755)
        config('[sandboxes.providers.acme]\n'
               f'command = ["{program}"]\n{line}\n')
        model([{"text": "never"}])
        r = start("-n", "x", "-M", "anthropic:m", "--sandbox", "acme")
        end = time.monotonic() + 60
        while not (boxes / "b1").exists():
            assert time.monotonic() < end and r.p.poll() is None
            time.sleep(0.01)
        r.kill()
        r.p.communicate()
        (boxes / "asked").unlink()
        return boxes
    return go


def rows(run):
    return json.loads(run("sandbox", "list", "--json").out)["data"]


@pytest.mark.parametrize("line", ["", "supports_list = true"])
def test_gc_asks_a_program_whether_it_lists(run, cut, line):
    """With supports_list it did before: the control."""
    boxes = cut(["list"], line)
    assert [row["provider"] for row in rows(run)] == ["acme"]
    r = run("sandbox", "gc", "--dry-run")
    assert r.status == 0 and "b1" in r.out, (r.out, r.err)
    assert (boxes / "b1").exists()
    r = run("sandbox", "gc")
    assert r.status == 0, (r.out, r.err)
    assert not (boxes / "b1").exists()
    assert rows(run) == []


def test_one_that_cannot_list_keeps_its_row(run, cut):
    boxes = cut(["attach"])
    r = run("sandbox", "gc")
    assert r.status == 1 and "the provider cannot list" in r.out, r.out
    assert (boxes / "b1").exists() and rows(run)
    assert "list" not in (boxes / "asked").read_text()


def test_one_that_the_ledger_does_not_know_is_asked_when_it_is_named(
        run, cut, home):
    boxes = cut(["list"])
    for file in (home / ".deepagents/.state").glob("dcode.db*"):
        os.rename(file, str(file) + ".lost")
    assert run("sandbox", "gc").status == 0
    assert not (boxes / "asked").exists()
    assert run("sandbox", "gc", "--sandbox", "acme").status == 0
    assert (boxes / "asked").read_text().split()[:2] == [
        "initialize", "list"]
