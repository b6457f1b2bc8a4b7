"""test_tree_compressed.py - a large tree is compressed on a slow way."""
# SPDX-License-Identifier: MIT
import hashlib
import os
import pathlib

import pytest

from bench.tree_in import Relay, fill
from clouds import elsewhere, results

SIZE = 24 << 20
SUM = {"tool_calls": [{"name": "execute", "args": {
    "command": "LC_ALL=C; export LC_ALL; cat d*/* | sha256sum"}}]}


@pytest.mark.parametrize("text", [True, False])
def test_a_slow_way_is_measured_and_gets_less(
        vendor, model, env, run, tmp_path, text):
    cloud = vendor("e2b")
    relay = Relay(cloud.port, 4e6)
    elsewhere(env, relay.url)
    work = tmp_path / "work"
    fill(work, 60, SIZE)
    for path in [] if text else work.glob("d*/*"):  # the control
        path.write_bytes(os.urandom(SIZE // 60))
    whole = hashlib.sha256()
    for path in sorted(work.glob("d*/*")):
        whole.update(pathlib.Path(path).read_bytes())
    server = model([SUM, {"text": "done."}])
    r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "e2b",
            "--workspace", "repo", timeout=120)
    assert r.status == 0, r.err
    assert whole.hexdigest() in results(server)[-1]
    if text:
        assert relay.passed < 0.8 * SIZE
    else:
        assert relay.passed > 0.95 * SIZE
