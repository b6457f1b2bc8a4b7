"""test_secrets_containers.py - secrets in containers of Docker and Podman: what
the image or a command has put in the way of the certificates, containers that
are restarted, and those that another dcode guards."""
# SPDX-License-Identifier: MIT
import contextlib
import time

import pytest

import docker_rig
import test_egress
from lifecycle import wait_for
from test_egress import fixture_world  # noqa: F401
from test_secrets import (CONFIG, CURL, HOST, NOWHERE, VALUE, Place, scan,
                          write_config)

ASK = CURL + f'-H "Authorization: Bearer $TOKEN" https://{HOST}/; true'
SYSTEM = "/etc/ssl/certs/ca-certificates.crt"
PROGRAMS = ["/usr:/usr:ro", "/lib:/lib:ro", "/lib64:/lib64:ro"]


def params(rig, mounts):
    return ("[sandboxes.providers.docker.params]\n"
            f'image = "{rig.image}"\nmounts = {PROGRAMS + mounts}\n')


@pytest.fixture(name="made", params=docker_rig.ENGINES)
def fixture_made(request, world, dcode, env, home, tmp_path):
    """made(config, mounts) -> a Place in a container, and .rig."""
    with contextlib.ExitStack() as stack:
        rig = stack.enter_context(docker_rig.rig(request.param))

        def make(config=CONFIG, mounts=()):
            write_config(home, config + params(rig, list(mounts)))
            place = Place(world, dcode, {**env, "DOCKER_HOST": rig.docker_host},
                          home, tmp_path / "work", "docker")
            place.rig, place.config = rig, config
            stack.callback(place.box.run, "sandbox", "rm", "--force",
                           place.box.id)
            return place
        yield make


# name: what a command leaves there
HOSTILE = {
    "FIFO": "rm -f {0}; mkfifo {0}",
    "link": "rm -f {0}; ln -s /workspace/linked {0}; echo mine > "
            "/workspace/linked",
    "dangling link": "rm -f {0}; ln -s /nowhere/at/all {0}",
    "link to a FIFO": "rm -f {0}; mkfifo /workspace/fifo; ln -s "
                      "/workspace/fifo {0}",
    "file of another user": "rm -f {0}; echo mine > {0}; chown 1234 {0}",
    "second name": "rm -f {0}; echo mine > /workspace/linked; "
                   "ln /workspace/linked {0}",
}


@pytest.mark.every
def test_what_stands_in_the_way_is_not_written_through(made):
    place = made()
    assert "REACHED" in place.do(ASK)
    assert VALUE in place.heads()
    for name, command in HOSTILE.items():
        for path in ("/etc/dcode-trust.pem", SYSTEM):
            place.do(f"mkdir -p {SYSTEM.rsplit('/', 1)[0]}; "
                     + command.format(path))
            before = time.monotonic()
            said = place.do(ASK + "; cat /workspace/linked 2>/dev/null")
            assert time.monotonic() - before < 20, name
            assert "REACHED" in said, f"{name} {path}: {said}"
            assert "BEGIN CERTIFICATE" not in said, f"{name} {path}"
            place.do(f"rm -rf {path} /workspace/*")


def test_the_value_is_in_no_memory_of_the_container(made):
    place = made()
    assert NOWHERE in scan(place)
    assert VALUE in place.heads()


def test_a_directory_in_the_way_is_an_error(made):
    place = made()
    place.do("rm /etc/dcode-trust.pem; mkdir /etc/dcode-trust.pem")
    said = place.do("true")
    assert "writing /etc/dcode-trust.pem in the container: Is a dir" in said


def test_the_system_file_has_the_authority_of_this_run_once(made):
    place = made()
    place.do(f"mkdir -p /etc/ssl/certs; echo before > {SYSTEM}")
    for _ in range(3):
        said = place.do(f"cat {SYSTEM}; echo; env | grep -c CURL_CA")
        assert said.startswith("before\n")
        assert said.count("BEGIN CERTIFICATE") == 1
    # it is the one that a program needs
    said = place.do(CURL + f"--cacert {SYSTEM} https://{HOST}/")
    assert "REACHED" in said


def test_files_of_this_machine_get_no_authority(made, tmp_path):
    host = tmp_path / "host-ssl"
    (host / "certs").mkdir(parents=True)
    (host / "certs/ca-certificates.crt").write_text("of this machine\n")
    place = made(mounts=[f"{host}:/etc/ssl"])
    assert "REACHED" in place.do(ASK)
    assert (host / "certs/ca-certificates.crt").read_text() == \
        "of this machine\n"


def test_a_mounted_etc_is_refused(made, tmp_path):
    host = tmp_path / "host-etc"
    host.mkdir()
    with pytest.raises(AssertionError, match="refusing to write "
                       "/etc/dcode-trust.pem: /etc is a directory of this"):
        made(mounts=[f"{host}:/etc"])
    assert not list(host.glob("*trust*"))


def test_a_container_without_a_proxy_has_no_placeholder(made):
    place = made(config="")
    write_config(place.box.home, CONFIG[CONFIG.index("[secrets"):]
                 + params(place.rig, []))
    said = place.do("env; echo end")
    assert "end" in said
    assert "TOKEN=" not in said and "CURL_CA_BUNDLE" not in said


@contextlib.contextmanager
def guarded_by_another(place, shared):
    """Another dcode guards the container, for as long as this lasts. shared is
    mounted at /shared. Yields a function that ends it and gives its output."""
    p = place.box.start("touch /shared/up; while [ ! -e /shared/go ]; do "
                        "sleep 0.1; done; " + ASK)

    def end():
        (shared / "go").touch()
        return p.communicate(timeout=60)[0]
    try:
        # No command of ours may be first: it would be the guard.
        wait_for((shared / "up").exists, seconds=60)
        yield end
    finally:
        end()


def open_to_all(folder):
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def test_another_dcode_gives_no_placeholders(made, tmp_path):
    shared = open_to_all(tmp_path / "shared")
    place = made(mounts=[f"{shared}:/shared"])
    said = place.do("env")  # the control
    assert "TOKEN=ghp_" in said and "CURL_CA_BUNDLE" in said
    with guarded_by_another(place, shared) as end:
        said = place.do("env; echo end")
        assert "end" in said
        assert "TOKEN=" not in said and "CURL_CA_BUNDLE" not in said
        assert "REACHED" in end()
    assert place.heads().count(VALUE) == 1


def test_when_the_other_dcode_ends_the_next_command_is_guarded_again(
        made, tmp_path):
    shared = open_to_all(tmp_path / "shared")
    place = made(mounts=[f"{shared}:/shared"])
    with guarded_by_another(place, shared) as end:
        s = test_egress.screen(place.box, "--sandbox", "docker",
                               "--sandbox-id", place.box.id)
        try:
            s.until("tools in")

            def say(line, wanted):
                s.type(line)
                s.keys("Enter")
                s.until(wanted)
            say("!env | grep -c ^TOKEN=; echo o''ther", "other")
            assert "REACHED" in end()
            assert place.heads().count(VALUE) == 1
            say(f"!{ASK}; echo a''gain", "again")
            assert place.heads().count(VALUE) == 2
        finally:
            s.close()


def restart(place, name):
    status, _ = docker_rig.request(place.rig.docker_host, "POST",
                                   f"/containers/{name}/restart?t=0")
    assert status in (200, 204)


@contextlib.contextmanager
def attached(place, *flags):
    """say(line, wanted) in a chat with the place's container, or with flags, in
    one with a container of its own."""
    s = test_egress.screen(place.box, "--sandbox", "docker", *(
        flags or ("--sandbox-id", place.box.id)))

    def say(line, wanted=""):
        s.type(line)
        s.keys("Enter")
        s.until(wanted)
    say.until = s.until
    try:
        s.until("tools in")
        yield say
    finally:
        s.close()


BLOCK = "rm -rf /etc/dcode-trust.pem; mkdir /etc/dcode-trust.pem; "
FAILED = "dcode could not connect this container"
TOKENS = "echo tokens: $(env | grep -c ^TOKEN=)"


def repair(place, say):
    """A command still runs, and removes the cause: then there is a network."""
    say(f"!{TOKENS}", "tokens: 0")
    say("!rmdir /etc/dcode-trust.pem; echo r''epaired", "repaired")
    say(f"!{ASK}; echo thr''ough", "through")
    assert place.heads().count(VALUE) == 1


def test_a_take_over_that_fails_is_said_and_tried_again(made, tmp_path):
    shared = open_to_all(tmp_path / "shared")
    place = made(mounts=[f"{shared}:/shared"])
    with guarded_by_another(place, shared) as end, attached(place) as say:
        say(f"!{BLOCK} touch /shared/blocked; until [ -e /shared/free ]; do "
            "sleep 0.1; done")
        wait_for((shared / "blocked").exists, seconds=60)
        end()
        (shared / "free").touch()
        say.until(FAILED)
        repair(place, say)


def test_a_failed_opening_after_a_restart_is_said_and_tried_again(made):
    place = made()
    with attached(place) as say:
        say(f"!{BLOCK} {TOKENS}", "tokens: 1")
        restart(place, place.box.id)
        say("!echo st''ill", FAILED)
        repair(place, say)


# Takes the port of the proxy's DNS server between two proxies, as another
# dcode can.
TAKER = """import os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while not os.path.exists("/shared/taken"):
    try:
        s.bind(("127.0.0.1", 53))
        open("/shared/taken", "w").close()
    except OSError:
        pass
while not os.path.exists("/shared/go"):
    time.sleep(0.1)
s.close()
open("/shared/gone", "w").close()
"""


def test_a_dcode_that_loses_the_way_in_a_change_takes_it_again(made, tmp_path):
    shared = open_to_all(tmp_path / "shared")
    (shared / "taker.py").write_text(TAKER)
    place = made(mounts=[f"{shared}:/shared"])
    with attached(place, "--on-exit", "delete") as say:
        # with a program on port 3000 each change fails
        say("!setsid python3 -m http.server 3000 >/dev/null 2>&1 & "
            "setsid python3 /shared/taker.py >/dev/null 2>&1 & "
            f"until {CURL} 127.0.0.1:3000 >/dev/null; do sleep 0.1; done; "
            + TOKENS,
            "tokens: 1")

        def change():
            say("/network allow bad.example:3000", "uses a port of")
            return (shared / "taken").exists()
        wait_for(change, seconds=60)
        say(f"!{TOKENS}", "tokens: 0")
        (shared / "go").touch()
        wait_for((shared / "gone").exists, seconds=60)
        say(f"!{ASK}; echo thr''ough", "through")
        assert place.heads().count(VALUE) == 1


def test_a_restart_by_somebody_else_keeps_the_list_in_force(made):
    place = made()
    box = place.box
    before = set(place.rig.containers())
    s = test_egress.screen(box, "--sandbox", "docker", "--on-exit", "keep")
    try:
        s.until("tools in")
        name, = set(place.rig.containers()) - before

        def say(line, wanted):
            s.type(line)
            s.keys("Enter")
            s.until(wanted)
        reach = f"!{CURL} http://evil-good.example/"
        say(reach, "evil-good.example refused")
        say("/network allow evil-good.example", "may now reach")
        say(reach + " && echo o''nce", "once")
        restart(place, name)
        say(reach + " && echo a''gain", "again")
        say(f"!{ASK} && echo w''ith", "with")
        assert VALUE in place.heads()
        # one that attaches reads what the container may reach now
        box.env["ANTHROPIC_API_KEY"] = "k"
        r = box.run("-n", "x", "--sandbox", "docker", "--sandbox-id", name,
                    "-M", "anthropic:m")
        assert "the sandbox may reach evil-good.example" in r.stderr
    finally:
        s.close()
        for name in set(place.rig.containers()) - before:
            # the chat may still be ending
            wait_for(lambda one=name: not box.run(
                "sandbox", "rm", "--force", one).returncode)
    assert not list((box.home / ".deepagents/.state/container-networks").glob(
        "*"))
