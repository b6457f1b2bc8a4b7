"""test_trust_b1_setup_scripts.py - where a setup script's text can be read."""
# SPDX-License-Identifier: MIT
import base64
import os
import re
import textwrap
import threading
import urllib.parse
import zlib

import pytest

import boxes
import cloud_box
from clouds import DONE, NAMES
from lifecycle import execute

# Tests that run beside have their own: all of /proc is searched for it.
MARKER = f"mArKeRoFtHeScRiPt-{os.getpid()}"
SCRIPT = f"""#!/bin/sh
# {MARKER} {MARKER}
cat "$0" >ran-as
sleep 0.3
echo ok >ran
"""
ENCODED = re.compile(rb"[A-Za-z0-9+/\s]{24,}")


def forms(data, depth=3):
    """The bytes, and what is in them in base64, percent-encoded or packed."""
    yield data
    if b"%" in data:
        yield urllib.parse.unquote_to_bytes(data)
    for at in (data.find(b"\x1f\x8b"), data.find(b"\x78\x9c")):
        if at >= 0:
            try:
                yield zlib.decompressobj(47).decompress(data[at:])
            except zlib.error:
                pass
    for found in ENCODED.findall(data) if depth else ():
        text = re.sub(rb"\s", b"", found)
        for shift in range(4):
            part = text[shift:]
            part = part[:len(part) // 4 * 4]
            if part:
                yield from forms(base64.b64decode(part), depth - 1)


def shows(data):
    return any(MARKER.encode() in form for form in forms(data))


def test_control_every_form_is_recognised():
    text = b"x" + SCRIPT.encode()
    assert shows(text) and shows(urllib.parse.quote(text).encode())
    for shift in range(3):
        assert shows(b"echo " + base64.b64encode(text[shift:]) + b" | sh")
    packer = zlib.compressobj(wbits=31)
    assert shows(b"ab" + packer.compress(text) + packer.flush())
    assert not shows(b"echo nothing " * 40)


class Watch:
    """Argument lists of this machine's processes, again and again."""

    def __init__(self):
        self.found, self.seen, self.on = [], 0, True
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while self.on:
            for name in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{name}/cmdline", "rb") as f:
                        text = f.read()
                except OSError:
                    continue
                self.seen += 1
                if MARKER.encode() in text:
                    self.found.append(text)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.on = False
        self.thread.join()


@pytest.fixture
def arguments(monkeypatch):
    """Those of every process that an emulator starts in a sandbox."""
    seen = []
    spawn = cloud_box.Box.spawn

    def recorded(self, argv, *args, **more):
        seen.append("\0".join(argv).encode(errors="surrogateescape"))
        return spawn(self, argv, *args, **more)
    monkeypatch.setattr(cloud_box.Box, "spawn", recorded)
    return seen


@pytest.fixture
def setup(model, run, tmp_path):
    """setup(provider): runs the script; what a command then sees of it."""
    def go(name):
        (tmp_path / "s.sh").write_text(SCRIPT)
        server = model([execute("cat ran; cksum <ran-as"), DONE])
        with Watch() as watch:
            r = run("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", name,
                    "--sandbox-setup", tmp_path / "s.sh", timeout=90)
        assert r.status == 0, r.err
        told = str(server.requests[-1]["body"]["messages"][-1])
        (tmp_path / "sum").write_text(SCRIPT)
        size = len(SCRIPT.encode())
        assert "ok" in told and f" {size}" in told, told
        assert watch.seen > 100 and not watch.found
    return go


@pytest.mark.parametrize("name", NAMES)
def test_no_request_for_a_command_holds_the_script(vendor, setup, arguments,
                                                   name):
    cloud = vendor(name)
    setup(name)
    assert len(arguments) >= 3
    assert not any(map(shows, arguments))
    # Control: it did travel, and these are the only requests that hold it.
    commands = re.compile(".*/(execute|exec|cmd|process[./].*|spawn)([?]|$)")
    for request in cloud.requests:
        body = request.get("body", "").encode()
        assert not (commands.match(request["line"]) and shows(body))


@pytest.mark.parametrize("files", [True, False])
def test_a_described_service_that_takes_files_gets_it_as_one(
        env, config, setup, arguments, files):
    with boxes.Boxes() as cloud:
        env["BOX_TOKEN"] = boxes.KEY
        config(boxes.config(cloud.url, files=files))
        setup("homemade")
        assert bool(cloud.count("PUT /v1/boxes/[^/]+/file")) == files
        assert cloud.violations == []
    assert len(arguments) >= 3 and not any(map(shows, arguments))


CLASS = '''
import os, subprocess, uuid
LOG = os.environ["ACME_LOG"]

class Box:
    def __init__(self, id):
        self.id = id
    def execute(self, command, *, timeout=None):
        with open(LOG, "ab") as f:
            f.write(command.encode() + b"\\0")
        done = subprocess.run(["sh", "-c", command], capture_output=True)
        return type("R", (), {"output": done.stdout.decode(),
                              "exit_code": done.returncode})

class Files(Box):
    def upload_files(self, files):
        for path, data in files:
            with open(path, "wb") as f:
                f.write(data)
            with open(LOG + ".files", "a") as f:
                f.write(path + "\\n")
        return [None for _ in files]

class Alone:
    kind = Box
    def get_or_create(self, *, sandbox_id=None, **kw):
        return self.kind(sandbox_id or uuid.uuid4().hex)
    def delete(self, *, sandbox_id, **kw):
        pass

class Whole(Alone):
    kind = Files
'''


@pytest.mark.parametrize("kind", ["Alone", "Whole"])
def test_a_class_that_only_executes_gets_it_enciphered(
        env, config, setup, tmp_path, kind):
    """Also its own "sh -c" has an argument list."""
    (tmp_path / "acme.py").write_text(textwrap.dedent(CLASS))
    (tmp_path / "box").mkdir()
    env.update(PYTHONPATH=str(tmp_path), ACME_LOG=str(tmp_path / "log"))
    config("[sandboxes.providers.acme]\n"
           f'class_path = "acme:{kind}"\n'
           f'working_dir = "{tmp_path}/box"\n')
    setup("acme")
    commands = (tmp_path / "log").read_bytes().split(b"\0")
    assert len(commands) >= 4 and not any(map(shows, commands))
    used = (tmp_path / "log.files").exists()
    assert used == (kind == "Whole")
    assert not list(tmp_path.glob("box/dcode-setup*"))
