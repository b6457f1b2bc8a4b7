"""test_services.py - the descriptions of services that come with dcode."""
# SPDX-License-Identifier: MIT
import re
import signal

import pytest

import services
from lifecycle import wait_for

each = pytest.mark.parametrize("name", services.ALL)


def test_every_description_has_an_emulator(top):
    files = {p.stem for p in (top / "providers/services").glob("*.toml")}
    assert files == set(services.ALL)


@each
def test_a_description_says_where_it_is_from(top, name):
    head = (top / f"providers/services/{name}.toml").read_text()
    head = head[:head.index("[")]
    assert "Source: " in head and re.search(r"read 20\d\d-\d\d-\d\d", head)


@pytest.fixture
def service(env, config, top):
    running = []

    def begin(name):
        running.append(services.ALL[name]().__enter__())
        env.update(running[-1].env)
        config(running[-1].describe(top))
        return running[-1]
    yield begin
    for one in running:
        one.__exit__()
        assert one.violations == []


@each
def test_a_task(service, run, model, name):
    """Files, output, an exit status, and nothing is left."""
    cloud = service(name)
    big = "0123456789abcde\n" * 8192
    server = model([{"tool_calls": [
        {"name": "write_file", "args": {"file_path": "a.txt", "content": big}},
        {"name": "execute", "args": {
            "command": "wc -c <a.txt; pwd; exit 3"}}]}, {"text": "done"}])
    r = run("-n", "hi", "-M", "anthropic:m", "--sandbox", name, "-y")
    assert r.status == 0, r.err
    told = str(server.requests[1]["body"]["messages"])
    assert "131072" in told and cloud.workdir in told
    assert "exit code 3" in told
    assert cloud.left() == []
    assert services.KEY not in r.out + r.err


@each
def test_what_a_crash_left_is_found(service, start, run, model, name):
    cloud = service(name)
    model([{"tool_calls": [{"name": "execute", "args": {
        "command": "sleep 100"}}]}, {"text": "done"}])
    p = start("-n", "hi", "-M", "anthropic:m", "--sandbox", name, "-y")
    wait_for(lambda: cloud.count("POST .*exec") > 2)
    p.signal(signal.SIGKILL)
    p.p.wait()
    assert len(cloud.left()) == 1
    r = run("sandbox", "gc")
    assert r.status == 0, r.err
    assert cloud.left() == []
    assert cloud.count("GET .*") > 0
