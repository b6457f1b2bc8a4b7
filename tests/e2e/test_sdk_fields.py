"""test_sdk_fields.py - dcode's requests, field by field beside the SDKs'."""
# SPDX-License-Identifier: MIT
import copy
import tomllib

import pytest

import sdk_traffic as traffic


def listed(top, name):
    """{operation: {difference: reason}}"""
    path = top / "tests" / "sdk" / "differences.toml"
    return tomllib.loads(path.read_text()).get(name, {})


def unlisted(found, known):
    return [f"{name}: {line}" for name, lines in sorted(found.items())
            for line in sorted(lines)
            if not {**known.get("*", {}), **known.get(name, {})}.get(line)]


@pytest.mark.parametrize("name", ["agentcore", "daytona", "deno", "e2b",
                                  "runloop", "vercel", "langsmith"])
def test_fields(top, name, model, start, run, env, tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    with traffic.emulator(name) as cloud:
        theirs = traffic.summary(cloud, traffic.official(top, name, cloud))
    with traffic.emulator(name) as cloud:
        sent = traffic.work(cloud, name, model, start, run, env,
                            tmp_path / "work")
        ours = traffic.summary(cloud, sent)
        found = traffic.compare(ours, theirs)
        # the control: each with one more header
        spoilt = copy.deepcopy(sent)
        for request in spoilt:
            request["headers"]["X-Odd"] = "1"
        odd = traffic.compare(traffic.summary(cloud, spoilt), theirs)
    for o in sorted(found):
        print(f"[{name}.\"{o}\"]", *(f'"{d}" = ""' for d in sorted(found[o])),
              sep="\n")
    known = listed(top, name)
    assert any("+header.x-odd" in lines for lines in odd.values())
    assert unlisted(found, known) == []
    stale = [f"{o}: {d}" for o, lines in known.items() for d in lines
             if d not in (set().union(*found.values()) if o == "*" else
                          found.get(o, ()))]
    assert stale == []
