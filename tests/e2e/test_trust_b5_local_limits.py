"""test_trust_b5_local_limits.py - memory and disk of a local sandbox bind."""
# SPDX-License-Identifier: MIT
import json
import os
import time

import pytest

RUN = ("-n", "x", "-M", "anthropic:m", "--json", "--sandbox", "local", "-y")
PARAMS = "[sandboxes.providers.local.params]\n"
SHARED = """python3 -c '
import mmap
m = mmap.mmap(-1, %d << 20)
for i in range(0, len(m), 4096): m[i] = 1
print("filled")'"""


@pytest.fixture
def box(run, model, dcode_release):
    """The release: a sanitizer needs more memory than these limits."""
    def go(*commands):
        model([{"tool_calls": [{"name": "execute", "args": {"command": c}}]}
               for c in commands] + [{"text": "done"}])
        r = run(*RUN, program=dcode_release)
        assert r.status == 0, r.err + r.out
        events = [json.loads(line) for line in r.out.splitlines()]
        return [e["content"] for e in events if e["type"] == "tool_result"]
    return go


def test_memory_binds_what_is_kept_in_memory(box, config):
    config(PARAMS + 'memory = "256m"\n')
    out = box(*(f"head -c {n}m /dev/zero >{d}/f && echo written;"
                f" stat -c %s {d}/f; rm -f {d}/f"
                for d in ("/tmp", "/dev/shm") for n in (100, 200)))
    assert "written" in out[0] and "written" in out[2]  # the control
    for text in (out[1], out[3]):
        assert "No space left" in text and "written" not in text


def test_memory_binds_shared_mappings_where_doctor_says_so(box, config, run):
    config(PARAMS + 'memory = "256m"\n')
    checks = json.loads(run("doctor", "--json").out)["data"]["checks"]
    line = next(str(c) for c in checks if "local limits" in str(c))
    assert "disk: watched" in line and "/tmp" in line
    out = box(SHARED % 100, SHARED % 400)
    assert "filled" in out[0]  # the control
    if "no control group" in line:
        assert "filled" in out[1]  # as doctor says
        return
    assert "filled" not in out[1] and "137" in out[1], out[1]


@pytest.mark.parametrize("workspace", ["private", "bind"])
def test_the_command_that_fills_the_workspace_is_killed(
        box, config, tmp_path, workspace):
    (tmp_path / "work").mkdir(exist_ok=True)
    config(PARAMS + f'disk = "64m"\nworkspace = "{workspace}"\n')
    began = time.monotonic()
    out = box("head -c 30m /dev/zero >a; sleep 1; echo kept",
              "head -c 100m /dev/zero >b; sleep 30; echo survived",
              "rm b; sleep 1; echo cleaned")
    assert "kept" in out[0] and "cleaned" in out[2]  # the control
    assert "survived" not in out[1] and "disk" in out[1], out[1]
    assert "137" in out[1] and time.monotonic() - began < 25


def test_no_control_group_stays(box, config):
    def groups():
        return {os.path.join(top, d) for top, dirs, _ in
                os.walk("/sys/fs/cgroup") for d in dirs
                if d.startswith("dcode-")}
    before = groups()
    config(PARAMS + 'memory = "256m"\n')
    assert "hi" in box("echo hi")[0]
    new = groups() - before  # another test's, at most, which end soon
    end = time.monotonic() + 30
    while new and time.monotonic() < end:
        time.sleep(0.2)
        new &= groups()
    assert not new
