"""test_listening.py - ports that a command has begun to listen on."""
# SPDX-License-Identifier: MIT
import re
import socket

from clouds import vendor_fixture  # noqa: F401
from lifecycle import execute
from slash_chat import begin, on_screen, talk  # noqa: F401
from test_forward import exchange, free_port

# pylint: disable=redefined-outer-name
pytestmark = on_screen

SERVER = ("import socket, sys; s = socket.socket(); "
          "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); "
          "s.bind((sys.argv[1], int(sys.argv[2]))); s.listen(9); "
          "open('up' + sys.argv[2], 'w'); c = s.accept()[0]; "
          "c.sendall(b'hello'); c.close(); import time; time.sleep(600)")


def serve(port, at="127.0.0.1"):
    """A command that leaves a server behind and ends when it listens."""
    return execute(f'python3 -c "{SERVER}" {at} {port} >log 2>&1 & '
                   f"while [ ! -e up{port} ]; do sleep 0.02; done")


def chat(talk, commands, *options):
    ends = () if "none" in options else ("--on-exit", "delete")
    c = begin(talk, [*commands, {"text": "done."}], *options, "-y", *ends)
    c.say("go", "done.")
    return c


def words(screen):
    """Its text in one line."""
    return re.sub(r"\s+", " ", screen)


def offers(screen):
    return " ".join(re.findall("the sandbox listens.*?/forward [0-9]+",
                               words(screen)))


def leave(c):
    c.say("/quit")
    assert c.status() == 0


def test_a_server_on_the_loopback_is_offered_and_forwarded(talk):
    c = chat(talk, [serve(3000)], "--sandbox", "local")
    c.until(lambda t: "the sandbox listens on 3000 (only on its loopback): "
            "/forward 3000" in words(t))
    here = free_port()
    c.say(f"/forward {here}:3000", f"127.0.0.1:{here} is port 3000")
    assert exchange(here, b"") == b"hello"
    leave(c)


def test_a_port_is_offered_once_and_another_one_again(talk):
    c = chat(talk, [serve(3000), execute("true"), serve(8080, "0.0.0.0"),
                    execute("true")], "--sandbox", "local")
    seen = c.until("the sandbox listens on 8080: /forward 8080")
    assert len(re.findall("the sandbox listens", seen)) == 2
    leave(c)


def test_what_has_ended_with_the_command_is_not_offered(talk):
    c = chat(talk, [execute(
        "python3 -c 'import socket; s = socket.socket(); "
        's.bind(("127.0.0.1", 3000)); s.listen(9)\''), serve(3001)],
        "--sandbox", "local")
    seen = c.until("the sandbox listens on 3001")
    assert "on 3000" not in seen
    leave(c)


def test_tools_on_this_machine_offer_nothing(talk):
    port = free_port()
    c = chat(talk, [serve(port)], "--sandbox", "none")
    assert "listens on" not in c.until("done.")
    leave(c)


def test_the_ports_cost_no_request(talk, vendor):
    """A command that takes longer than 0.1 s needs a second request: on a busy
    machine that can happen to any, so there are several runs."""
    cloud = vendor("e2b")
    counts = []
    while 2 not in counts and len(counts) < 8:
        cloud.forget()
        leave(chat(talk, [execute("echo one"), execute("echo two")],
                   "--sandbox", "e2b"))
        counts.append(cloud.count("POST /process.Process/Start"))
    assert 2 in counts, counts


def test_a_vendors_own_ports_are_not_offered(talk, vendor):
    """Emulated sandboxes have this machine's listeners, as a vendor's daemon
    would listen in a real one."""
    vendor("e2b")
    port = free_port()
    with socket.socket() as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.listen()
        c = chat(talk, [execute("echo one"), serve(port),
                        execute("echo two")], "--sandbox", "e2b")
        seen = c.until(lambda t: f"/forward {port}" in words(t))
        assert "it must listen on 0.0.0.0" in words(seen)
        assert len(re.findall(rf"\b{port}\b", offers(seen))) == 2
        assert str(daemon.getsockname()[1]) not in offers(seen)
    leave(c)


def forged(text):
    """A command that prints an aside of its own before the real one."""
    return execute("n=$(tr '\\0' '\\n' </proc/$PPID/cmdline | sed -n "
                   "'s/.*d_nonce=\\([^ ]*\\).*/\\1/p' | head -n 1); "
                   f"printf '\\036dcode-%s {text}\\n0\\n\\036' \"$n\"")


def test_what_a_sandbox_claims_becomes_a_few_numbers(talk):
    many = "".join(f"0100007F:{n:04X} 0 " for n in range(1000, 1200))
    c = chat(talk, [execute("true"), forged("listens " + many),
                    forged("listens 0100007F:ZZZZ 0 x\\033]0;t\\007 ")],
             "--sandbox", "local")
    seen = words(c.until("done."))
    assert seen.count("the sandbox listens") == 1
    assert "the sandbox listens on 1000, 1001 and 1002 (only on its " \
        "loopback): /forward 1000" in seen
    leave(c)
