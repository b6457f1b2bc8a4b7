"""test_lifecycle_setup.py - nasty setup scripts: what they get, what stays."""
# SPDX-License-Identifier: MIT
import base64
import json
import os
import subprocess
import threading

import pytest

from lifecycle import call, execute

SECRET = "s3cr3t/Val+ue==~0123456789"
BASE = ("-M", "anthropic:m", "--sandbox")


@pytest.fixture(params=["local", "docker"])
def kind(request, env, config):
    if request.param == "docker":
        rig = request.getfixturevalue("rig")
        env["DOCKER_HOST"] = rig.docker_host
        config("[sandboxes.providers.docker.params]\n"
               f'image = "{rig.image}"\nnetwork = "none"\n')
    return request.param


class Outcome:
    def __init__(self, run, said):
        self.status, self.out, self.err = run.status, run.out, run.err
        self.said = said  # what the model was told


@pytest.fixture
def setup(model, run, env, kind, tmp_path):
    """setup(script, look): runs it, then `look` in the same sandbox."""
    env["API_TOKEN"] = SECRET
    env["PLAIN_NAME"] = "plain value"

    def begin(script, look="sed s/plain.value/received/g out", *options):
        path = tmp_path / "setup script.sh"
        path.write_bytes(script if isinstance(script, bytes)
                         else script.encode())
        server = model([execute(look), {"text": "done"}])
        r = run("-n", "hi", *BASE, kind, "--sandbox-setup", path, *options)
        told = ""
        if len(server.requests) > 1:
            last = server.requests[-1]["body"]["messages"][-1]["content"]
            told = json.dumps(last)
            for part in last:
                if part.get("type") == "tool_result":
                    told = part["content"] if isinstance(
                        part["content"], str) else part["content"][0]["text"]
        told = told.partition("\n[Command")[0].strip()
        everything = r.out + r.err + json.dumps(
            [q["body"] for q in server.requests])
        assert SECRET not in everything
        return Outcome(r, told)
    return begin


REPLACED = [
    ("echo ${PLAIN_NAME} >out", "received"),
    ("echo $<PLAIN_NAME> >out", "received"),
    ("echo '$PLAIN_NAME' >out", "received"),
    ("echo \"a${PLAIN_NAME}b\" >out", "areceivedb"),
    ("cat >out <<'EOF'\n$PLAIN_NAME ${PLAIN_NAME} $<PLAIN_NAME>\nEOF",
     "received received received"),
    ("# sets $PLAIN_NAME\necho ok$PLAIN_NAME >out", "okreceived"),
    ("# PLAIN_NAME=x is a comment\necho $PLAIN_NAME >out", "received"),
    ("PLAIN_NAME=own; echo $PLAIN_NAME >out", "own"),
    ("PLAIN_NAME=own; echo ${PLAIN_NAME} >out", "received"),
    ("export PLAIN_NAME=own\necho $PLAIN_NAME >out", "own"),
    ("echo own | { read -r PLAIN_NAME; echo $PLAIN_NAME; } >out", "own"),
    ("for PLAIN_NAME in 1 2; do echo $PLAIN_NAME; done >out", "1\n2"),
    ("for PLAIN_NAME\ndo :; done; echo [$PLAIN_NAME] >out", "[]"),
    ("echo $((PLAIN_NAME = 3)) $PLAIN_NAME >out", "3 3"),
    ("echo [$UNSET_NAME] [${UNSET_NAME:-d}] >out", "[] [d]"),
    ("echo ${PLAIN_NAME:-d} >out", "d"),
    ("set -- one; echo $1 $# ${1} >out", "one 1 one"),
    ("test $$ -gt 0 && echo pid >out", "pid"),
    ("echo $(echo sub) `echo tick` >out", "sub tick"),
    ("test \"$HOME\" != \"%HOME%\" && echo its own >out", "its own"),
    ("test \"${HOME}\" != \"%HOME%\" && test \"$<HOME>\" != \"%HOME%\""
     " && echo its own >out", "its own"),
    ("echo crlf >out\r\necho two >>out", None),
    ("printf end >out", "end"),
    ("while IFS= read -r l; do echo \"$l\"; done <<X >out\na $PLAIN_NAME\nX",
     "a received"),
]


def test_what_is_replaced(setup, env):
    """All in one sandbox's life each would take long: one script, many
    subshells with a directory of their own."""
    parts = ["mkdir -p d && cd d && top=$PWD\n"]
    for i, (text, _) in enumerate(REPLACED):
        text = text.replace("%HOME%", env["HOME"])
        if "PLAIN_NAME" in text.replace("$PLAIN_NAME", "").replace(
                "{PLAIN_NAME", "").replace("<PLAIN_NAME", "") or \
                "\r" in text:
            continue  # these change what the others mean
        parts.append(f"mkdir c{i} && cd c{i} && (\n{text}\n)\ncd $top\n")
    r = setup("".join(parts), "cd d; for f in c*; do echo \"<$f>\"; "
              "sed s/plain.value/received/g $f/out; echo; done")
    assert r.status == 0, r.err
    for i, (text, wanted) in enumerate(REPLACED):
        if f"<c{i}>" in r.said:
            got = r.said.split(f"<c{i}>\n")[1].split("\n<c")[0]
            assert got.strip() == wanted, text


@pytest.mark.parametrize("text, wanted", [
    row for row in REPLACED if row[1] and "PLAIN_NAME" in row[0].replace(
        "$PLAIN_NAME", "").replace("{PLAIN_NAME", "").replace(
        "<PLAIN_NAME", "")])
def test_what_the_script_assigns(setup, text, wanted):
    r = setup(text)
    assert r.status == 0, r.err
    assert r.said == wanted


INTERPRETERS = [
    "#!/bin/sh -e\nfalse || true\necho yes >out\n",
    "#!/bin/sh\r\necho yes >out\r\n",
    "#!/usr/bin/env sh\necho yes >out\n",
    "#!/usr/bin/env -S sh -e\necho yes >out\n",
    "#! /bin/sh\necho yes >out",
    "#!/no/such/interpreter --flag\necho yes >out\n",
    "#!/no/such/bash -e\necho yes >out\n",
    "#!\necho yes >out\n",
    "echo yes >out",
    "\n\n#!/bin/false\necho yes >out\n",
    "#!/bin/sh\ncat >in; echo \"yes$(cat in)\" >out\n",
    "#!/bin/sh\nread -r x; echo \"yes$x\" >out\n",
    "#!/bin/sh\necho yes >out\nexit 0\n\x00\xff\xfe junk \x00\n",
    "echo yes >out\n" + "# " + "x" * 900_000 + "\n",
    "echo yes >out\nexit\n" + "y" * 900_000,
]


@pytest.mark.parametrize("script", INTERPRETERS,
                         ids=[str(i) for i in range(len(INTERPRETERS))])
def test_interpreters(setup, script):
    r = setup(script.encode("latin-1"), "cat out; find / -xdev -name "
              "'dcode-setup*' 2>/dev/null | sed 's/^/LEFT /'")
    assert r.status == 0, r.err
    assert r.said == "yes"


def test_python(setup, kind):
    if kind != "local":
        script = "#!/usr/bin/env python3\nprintf no-python >out\n"
        assert setup(script).said.startswith("no-python")
        return
    r = setup("#!/usr/bin/env python3\nimport sys\n"
              "open('out', 'w').write('py ' + '''$PLAIN_NAME''')\n")
    assert r.status == 0 and r.said.startswith("py received"), r.err


@pytest.mark.parametrize("script, status", [
    ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143),
    ("nosuchcommand-at-all", 127), ("set -u; echo $UNSET_X", None),
    ("if then", None), ("#!/bin/sh -e\nfalse\necho not here", 1)])
def test_failures_delete_it(setup, run, kind, script, status):
    r = setup(script)
    assert r.status == 1
    assert "Setup failed - aborting" in r.err
    if status is not None:
        assert f"(exit {status})" in r.err
    rows = run("sandbox", "list", "--json")
    assert json.loads(rows.out)["data"] == []


def hidden_forms():
    raw = SECRET.encode()
    return {
        "plain": SECRET,
        "base64": base64.b64encode(raw).decode(),
        "base64 shifted": base64.b64encode(b"x" + raw).decode()[4:-4],
        "hex": raw.hex(),
        "url": SECRET.replace("/", "%2F").replace("+", "%2B").replace(
            "=", "%3D").replace("~", "~"),
    }


def test_secrets_of_a_failure_are_hidden(setup):
    split = "\n".join(
        f"printf '%s' '{c}'; sleep 0.01" for c in SECRET)
    r = setup(
        "echo plain: '$API_TOKEN'\n"
        "printf 'b64: '; printf %s '${API_TOKEN}' | base64\n"
        "printf 'shifted: '; printf x%s '${API_TOKEN}' | base64\n"
        "printf 'hex: '; printf %s '$<API_TOKEN>' | od -An -tx1 -v | "
        "tr -d ' \\n'; echo\n"
        "echo 'err $API_TOKEN' >&2\n" + split + "\necho; exit 5\n")
    assert r.status == 1 and "(exit 5)" in r.err
    shown = r.err.replace("\n", "")
    for name, text in hidden_forms().items():
        assert text not in r.err, f"{name}: {r.err}"
    assert SECRET not in shown
    assert r.err.count("[masked:API_TOKEN]") >= 4


class Watch:
    """Looks at every command line on this machine while something runs."""

    def __init__(self, words):
        self.words = [w.encode() for w in words]
        self.found, self.seen, self.on = [], 0, True
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while self.on:
            for name in os.listdir("/proc"):
                if not name.isdigit():
                    continue
                for file in ("cmdline",):
                    try:
                        with open(f"/proc/{name}/{file}", "rb") as f:
                            text = f.read()
                    except OSError:
                        continue
                    self.seen += 1
                    if any(w in text for w in self.words):
                        self.found.append(text)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.on = False
        self.thread.join()


def test_text_is_in_no_argument_list(setup, kind, tmp_path):
    marker = "mArKeR" + "Word77"
    with Watch([marker, SECRET]) as watch:
        r = setup(f"# {marker}\nX='$API_TOKEN'\n"
                  "for i in 1 2 3 4 5 6 7 8; do sleep 0.1; "
                  "cat /proc/[0-9]*/cmdline; done | tr '\\0' '\\n' | "
                  f"grep -c -e '[m]ArKeRWord' >out; true\n")
    assert r.status == 0 and r.said.startswith("0"), r.err + r.said
    assert watch.seen > 100
    assert not watch.found
    with Watch([marker]) as control:
        subprocess.run(["sh", "-c", "sleep 0.3; : " + marker], check=True)
    assert control.found


def test_missing_script_creates_nothing(run, model, kind, tmp_path, home):
    server = model([{"text": "never"}])
    r = run("-n", "hi", *BASE, kind, "--sandbox-setup", "no such file")
    assert r.status == 1
    assert "Setup script not found: no such file" in r.err
    assert "Starting" not in r.err and not server.requests
    r = run("sandbox", "list", "--all", "--json")
    assert json.loads(r.out)["data"] == []
    r = run("-n", "hi", *BASE, kind, "--sandbox-setup", tmp_path)
    assert r.status == 1 and "Starting" not in r.err


def test_short_values_are_mentioned_once(setup, env):
    env["SHORT_ONE"] = "abc"
    r = setup("echo $SHORT_ONE ${SHORT_ONE} $<SHORT_ONE> >out")
    assert r.status == 0 and r.said.startswith("abc abc abc")
    assert r.err.count("SHORT_ONE") == 1
