"""test_shell.py - a shell in a sandbox, on the user's terminal."""
# SPDX-License-Identifier: MIT
import os
import pathlib
import queue
import re
import signal
import subprocess
import tempfile
import termios
import time

import pytest
from clouds import NAMES
from screens import Screen
from slash_chat import HELLO, begin, on_screen, talk  # noqa: F401
from sshd_rig import Rig
from terminal import Terminal

# What must be off at the end of every shell, as xterm's ctlseqs name it.
ENDS = [f"\x1b[?{n}l" for n in (1000, 1002, 1003, 1006, 1004, 2004, 1)]
PROMPT = "there> "


class Place:
    """Where a shell can be opened: the id of a sandbox."""

    def __init__(self, name):
        self.name = name


@pytest.fixture
def local(run):
    done = run("sandbox", "create", "--sandbox", "local")
    assert done.status == 0, done.err
    yield Place(done.out.strip())
    assert run("sandbox", "rm", "--force", done.out.strip()).status == 0


@pytest.fixture
def docker(run, config, rig, env):
    env["DOCKER_HOST"] = rig.docker_host
    config("[sandboxes.providers.docker.params]\n"
           f'image = "{rig.image}"\n')
    done = run("sandbox", "create", "--sandbox", "docker")
    assert done.status == 0, done.err
    yield Place(done.out.strip())
    assert run("sandbox", "rm", "--force", done.out.strip()).status == 0


@pytest.fixture
def ssh(run, config):
    rig = Rig()
    config("[sandboxes.providers.ssh.params]\nhost = \"box\"\n"
           f'config = "{rig.config}"\n')
    done = run("sandbox", "create", "--sandbox", "ssh")
    assert done.status == 0, done.err
    place = Place(done.out.strip())
    place.rig = rig
    yield place
    assert run("sandbox", "rm", "--force", place.name).status == 0
    rig.close()


@pytest.fixture
def in_slurm(run, slurm):
    done = run("sandbox", "create", "--sandbox", "slurm")
    assert done.status == 0, done.err
    yield Place(done.out.strip())
    assert run("sandbox", "rm", "--force", done.out.strip()).status == 0


@pytest.fixture(params=["local", "docker", "ssh", "in_slurm", *NAMES])
def place(request):
    if request.param in NAMES:
        return request.getfixturevalue("cloud")(request.param)
    return request.getfixturevalue(request.param)


@pytest.fixture
def cloud(run, vendor):
    """cloud(vendor's name): a sandbox in its emulator."""
    ids = []

    def begin(name):
        there = vendor(name)
        done = run("sandbox", "create", "--sandbox", name)
        assert done.status == 0, done.err
        ids.append(done.out.strip())
        place = Place(ids[0])
        place.vendor = there
        return place
    yield begin
    for id in ids:
        assert run("sandbox", "rm", "--force", id).status == 0


@pytest.fixture
def shell(dcode, env, tmp_path):
    """shell(name) -> a Terminal with a shell at the prompt PROMPT."""
    open_ones = []
    env["TERM"] = "xterm-256color"

    def begin(name, ready=True):
        t = Terminal([str(dcode), "sandbox", "shell", name], env,
                     tmp_path / "work")
        open_ones.append(t)
        if ready:
            ask_prompt(t)
        return t
    yield begin
    for t in open_ones:
        t.close()


def ask_prompt(t):
    """Types until a shell answers: it may drop what came before it ran."""
    end = time.monotonic() + 30
    while PROMPT + "\n" not in t.text.replace("\r", ""):
        assert time.monotonic() < end, t.text
        t.type(f"PS1='{PROMPT[:3]}''{PROMPT[3:]}'; echo '{PROMPT[:3]}"
               f"''{PROMPT[3:]}'\r")
        stop = time.monotonic() + 2
        while (time.monotonic() < stop and
               PROMPT + "\n" not in t.text.replace("\r", "")):
            assert t.read(stop) is not False, t.text
    t.until(PROMPT + "\r\n")
    t.until(PROMPT)


def do(t, line):
    """Types a line; its echo and what it prints."""
    do.times += 1
    t.type(f"{line}\recho 'end''{do.times}'\r")
    said = t.until(f"end{do.times}\r\n")
    t.until(PROMPT)
    return re.sub(r"\x1b\[\?2004[hl]|\r", "", said)


do.times = 0


def test_it_is_a_terminal_of_the_users_size(shell, run, place):
    t = shell(place.name)
    assert "24 80\n" in do(t, "stty size")
    t.resize(132, 40)
    end = time.monotonic() + 20
    while "40 132\n" not in do(t, "stty size"):
        assert time.monotonic() < end
    assert "xterm-256color\n" in do(t, "echo $TERM")
    there = run("sandbox", "exec", place.name, "pwd; id -u").out.split()
    assert all(word in do(t, "pwd; id -u").split() for word in there)
    do(t, "echo kept > of-shell")
    t.type("exit 7\r")
    assert t.end() == 7
    for mode in ENDS:
        assert mode in t.seen
    assert run("sandbox", "exec", place.name, "cat of-shell").out == "kept\n"


def test_keys_send_signals(shell, place):
    t = shell(place.name)
    # A program that prints is in front; before, the key would be the shell's.
    t.type("sh -c 'echo run''ning; exec sleep 999'\r")
    t.until("running\r\n")
    t.type("\x03")
    t.until(PROMPT)
    assert "back\n" in do(t, "echo back")  # not after 999 s
    t.type("sh -c 'echo run''ning; exec sleep 998'\r")
    t.until("running\r\n")
    t.type("\x1a")
    t.until("topped")
    t.until(PROMPT)
    assert "sleep 998" in do(t, "jobs")
    do(t, "kill -9 %1")
    t.type("exit\rexit\r")  # the first may warn of the job
    t.end()


def test_a_tilde_after_enter_is_an_escape(shell, place):
    t = shell(place.name)
    assert "~x\n" in do(t, "echo ~x")
    assert "~y: " in do(t, "~~y")
    t.type("sleep 997\r")
    t.until("997\r\n")
    t.type("~?")
    t.until("suspends dcode")
    t.type("\r~.")
    assert t.end() == 255
    for mode in ENDS:
        assert mode in t.seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_restores_the_terminal(shell, local, number):
    t = shell(local.name)
    before = t.modes()
    t.type("printf '\\033[?1049h\\033[?1000h'; sleep 996\r")
    t.until("\x1b[?1000h")
    assert t.modes() == before
    os.kill(t.pid, number)
    assert t.end() == 128 + number
    assert "\x1b[?1049l" in t.seen and "\x1b[?1000l" in t.seen


@pytest.mark.parametrize("how", ["escape", "signal"])
def test_a_suspended_shell_goes_on(dcode, env, tmp_path, local, how):
    """Raw mode is off while dcode is suspended, and back after it."""
    env.update(TERM="xterm-256color", PS1="here> ", HISTFILE="")
    t = Terminal(["/bin/bash", "--norc", "--noediting", "-i"], env,
                 tmp_path / "work")
    try:
        t.until("here> ")
        t.type(f"{dcode} sandbox shell {local.name}\n")
        ask_prompt(t)
        raw = t.modes()
        do(t, "printf '\\033[?1000h'")
        if how == "escape":
            t.type("\r~\x1a")
        else:
            found = subprocess.run(["pgrep", "-P", str(t.pid)], check=True,
                                   capture_output=True).stdout
            os.kill(int(found), signal.SIGTSTP)
        assert "\x1b[?1000l" in t.until("Stopped")
        t.until("here> ")
        assert t.modes()[3] & termios.ICANON
        t.type("fg\n")
        t.until("fg\r\n")
        t.wait(0.5)
        assert t.modes() == raw
        assert "goes on\n" in do(t, "echo goes on")
        t.type("exit 3\r")
        t.until("here> ")
        t.type("echo status $?\n")
        t.until("status 3")
    finally:
        t.close()


HOSTILE = [
    ("clipboard", r"\033]52;c;aGVsbG8=\007"),
    ("title", r"\033]0;title\033\\"),
    ("cwd", r"\033]7;file://x/y\007"),
    ("link", r"\033]8;;http://x\033\\"),
    ("colour query", r"\033]11;?\033\\"),
    ("attributes", r"\033[c"),
    ("more attributes", r"\033[>c"),
    ("position", r"\033[6n"),
    ("mode query", r"\033[?2004$p"),
    ("window", r"\033[21t"),
    ("print", r"\033[5i"),
    ("settings", r"\033P$qm\033\\"),
    ("version", r"\033[>q"),
    ("keyboard", r"\033[>1u"),
    ("identify", r"\033Z"),
    ("answerback", r"\005"),
    ("full reset", r"\033c"),
    ("scrollback", r"\033[3J"),
    ("8-bit control", r"\302\23352;c;aGVsbG8=\302\234"),
    ("charset", r"\033%%@"),
    ("mouse report", r"\033[1;2;3;4;5T"),
    ("checksum", r"\033[1;1;1;1;1;1*y"),
]


@pytest.mark.parametrize("what, text", HOSTILE, ids=[h[0] for h in HOSTILE])
def test_what_a_terminal_would_answer_or_obey_is_removed(
        shell, local, what, text):
    t = shell(local.name)
    said = do(t, f"printf '<{text}>\\n\\033[31mred\\033[m'")
    said = said[said.rindex("<"):]
    raw = text.replace("%%", "%").encode().decode("unicode_escape")
    if what == "full reset":
        assert said.startswith("<\x1b[!p\x1b[?7h\x1b[H\x1b[2J>")
        return
    assert raw not in said
    assert re.match(r"<[^\x00-\x08\x0e-\x1f\x7f-\x9f]*>\n"
                    r"\x1b\[31mred\x1b\[m", said), repr(said)


@pytest.fixture
def in_tmux(dcode, env, tmp_path):
    open_ones = []

    def begin(name, **size):
        where = pathlib.Path(tempfile.mkdtemp(prefix="dcode-tmux-"))
        s = Screen(where, [dcode, "sandbox", "shell", name], env,
                   tmp_path / "work", **size)
        open_ones.append(s)
        return s
    yield begin
    for s in open_ones:
        s.close()


def at_prompt(seen):
    return re.search(r"[$#] *$", seen.rstrip())


def test_full_screen_programs_work(in_tmux, place):
    s = in_tmux(place.name)
    s.until(at_prompt)
    s.type("seq 300 > n; vi n")
    s.keys("Enter")
    s.until(lambda seen: "\n20\n" in seen and "$" not in seen)
    s.keys("G")
    s.until("\n300\n")
    s.resize(60, 40)
    s.until(lambda seen: len(seen.rstrip().splitlines()) == 40)
    s.type("oadded")
    s.keys("Escape")
    s.until(lambda seen: "INSERT" not in seen and "\nI n" not in seen)
    s.type(":wq")
    s.keys("Enter")
    s.until(at_prompt)
    s.type("clear; tail -n1 n")
    s.keys("Enter")
    s.until(lambda seen: "added\n" in seen and at_prompt(seen))
    s.type("clear; less n")
    s.keys("Enter")
    s.until(lambda seen: "\n30\n" in seen)
    s.keys("q")
    s.until(at_prompt)
    s.type("clear; top")
    s.keys("Enter")
    s.until(lambda seen: "PID" in seen and "CPU" in seen.upper())
    s.keys("q")
    s.until(at_prompt)
    s.type("exit 5")
    s.keys("Enter")
    assert s.status() == 5


def test_the_alternate_screen_is_left_when_the_shell_is_cut(in_tmux, local):
    s = in_tmux(local.name)
    s.until(at_prompt)
    s.type("echo marker; seq 99 | less")
    s.keys("Enter")
    s.until(lambda seen: "marker" not in seen and "20" in seen)
    assert s.tmux("display-message", "-p", "#{alternate_on}").strip() == "1"
    os.kill(s.pid(), signal.SIGTERM)
    assert s.status() == 128 + signal.SIGTERM
    s.until("marker")
    assert s.tmux("display-message", "-p", "#{alternate_on}").strip() == "0"


def test_a_lost_connection_restores_the_terminal(shell, ssh):
    t = shell(ssh.name)
    before = t.modes()
    do(t, "printf '\\033[?1000h'")
    ssh.rig.stop(sessions=True)
    assert t.end() == 1
    assert "\x1b[?1000l" in t.seen
    assert "the connection was lost" in t.seen
    assert before[3] & termios.ECHO == 0
    ssh.rig.start()


@pytest.mark.parametrize("name", NAMES)
def test_a_left_shell_leaves_nothing(shell, cloud, name):
    place = cloud(name)
    t = shell(place.name)
    t.type("sleep 995\r")
    t.until("995\r\n")
    t.type("\r~.")
    assert t.end() == 255
    box = box_of(place)
    end = time.monotonic() + 30
    while any("sleep 995" in p or "script" in p
              for p in box.processes_left()):
        assert time.monotonic() < end, box.processes_left()
        time.sleep(0.1)
    left = box.shell("ls -d /tmp/.dcode-shell.* $HOME/.dcode-shell.*")[1]
    assert left == b""


def cut_e2b(vendor):
    kept, = vendor.boxes.values()
    for running in list(kept.running.values()):
        running.cut()


def cut_daytona(vendor):
    kept, = vendor.boxes.values()
    for terminal in list(kept.terminals.values()):
        terminal.cut()


def await_same_shell(t, end):
    """Types until the shell that has set kept=$$ answers."""
    while "same shell\n" not in t.text.replace("\r", ""):
        assert time.monotonic() < end, t.text
        t.type("[ $kept = $$ ] && echo same' 'shell\r")
        stop = time.monotonic() + 2
        while time.monotonic() < stop and "same shell\r" not in t.text:
            assert t.read(stop) is not False, t.text


CUTS = {"e2b": cut_e2b, "daytona": cut_daytona}


@pytest.mark.parametrize("name", CUTS)
def test_a_lost_connection_comes_back(shell, cloud, name):
    place = cloud(name)
    t = shell(place.name)
    do(t, "kept=$$")
    CUTS[name](place.vendor)
    t.until("the connection was lost; connecting again")
    t.resize(90, 20)
    end = time.monotonic() + 60
    await_same_shell(t, end)
    t.wait(1)
    while "20 90\n" not in do(t, "stty size"):
        assert time.monotonic() < end
    t.type("exit 8\r")
    assert t.end() == 8


def test_a_daytona_shell_whose_answer_was_lost_is_ended(cloud, shell):
    place = cloud("daytona")
    place.vendor.fault("POST .*/process/pty$", times=9, truncate=1)
    t = shell(place.name, ready=False)
    assert t.end() != 0
    kept, = place.vendor.boxes.values()
    assert not kept.terminals


@pytest.mark.parametrize("name", ["langsmith", "runloop", "vercel"])
def test_a_shell_outlives_lost_requests(shell, cloud, name):
    place = cloud(name)
    t = shell(place.name)
    do(t, "kept=$$")
    place.vendor.fault(".*", times=4, drop=True)
    end = time.monotonic() + 60
    await_same_shell(t, end)
    t.type("exit 9\r")
    assert t.end() == 9


def box_of(place):
    """The box of the emulator's only sandbox."""
    kept, = place.vendor.boxes.values()
    return kept.box


@pytest.mark.parametrize("lacks", [("script",), ("script", "python3")])
def test_what_makes_the_terminal(shell, cloud, lacks):
    place = cloud("vercel")
    box_of(place).shell("mkdir /tmp/programs; ln -s /usr/bin/* /tmp/programs;"
                        f" cd /tmp/programs; rm {' '.join(lacks)}")
    box_of(place).env["PATH"] = "/tmp/programs"
    t = shell(place.name, ready="python3" not in lacks)
    if "python3" in lacks:
        assert t.end() == 2
        assert "no program in the sandbox can make a terminal" in t.seen
        assert "Install python3" in t.seen
        return
    t.resize(100, 30)
    end = time.monotonic() + 20
    while "30 100\n" not in do(t, "stty size"):
        assert time.monotonic() < end
    assert "/tmp/programs\n" in do(t, "echo $PATH")
    t.type("exit 6\r")
    assert t.end() == 6


@pytest.fixture
def script(tmp_path):
    """script(verb, variables) -> scripts/sandbox/shell.sh, running, where no
    program tells the terminal's name and each sleep is one line of a file."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for program in pathlib.Path("/usr/bin").iterdir():
        if program.name not in ("tty", "sleep"):
            (programs / program.name).symlink_to(program)
    (programs / "sleep").write_text("#!/bin/sh\necho >>$slept\n")
    (programs / "sleep").chmod(0o755)
    source = pathlib.Path(__file__).parents[2] / "scripts/sandbox/shell.sh"

    def begin(verb, variables):
        return subprocess.Popen(
            ["timeout", "60", "/bin/sh", "-c", f"s_do={verb}\n{variables}\n"
             + source.read_text()], stdout=subprocess.PIPE, text=True,
            env={"PATH": str(programs), "HOME": str(tmp_path),
                 "slept": str(tmp_path / "slept")})
    return begin


def test_keys_do_not_wait_for_a_terminal_whose_name_is_unknown(
        script, tmp_path):
    nonce = os.urandom(8).hex()
    keys = "text() { echo exit 6; }\ns_nonce="
    with script("begin", f"s_nonce={nonce} s_rows=24 s_columns=80\n"
                "s_command='echo begun; exec sh'") as shell_there:
        assert shell_there.stdout.readline() == "begun\n"
        with script("keys", keys + nonce) as sent:
            assert sent.wait(30) == 0
        assert shell_there.wait(30) == 6
    assert not (tmp_path / "slept").exists()
    # the control: it waits for a terminal that does not come
    with script("keys", keys + "x" + nonce) as sent:
        assert sent.wait(30) == 1
    assert (tmp_path / "slept").read_text() == 50 * "\n"


def test_keys_that_the_sandbox_does_not_take_are_said(shell, cloud):
    place = cloud("vercel")
    t = shell(place.name)
    assert "typed\n" in do(t, "echo typed")
    assert "keys were lost" not in t.seen
    box_of(place).shell("rm /tmp/.dcode-shell.*/in")
    t.type("echo more\r")
    t.until("dcode: keys were lost")
    t.type("\r~.")
    assert t.end() == 255


def test_a_server_that_closes_each_connection_is_not_asked_for_ever(
        shell, cloud):
    """Since the first loss, until the shell prints again, a minute runs: one
    message, not one for each connection."""
    place = cloud("e2b")
    t = shell(place.name)
    kept, = place.vendor.boxes.values()
    running, = kept.running.values()
    real, closes = running.listen, [1, 2, 3]

    def listen():
        if not closes:
            return real()
        closes.pop()
        none = queue.Queue()
        none.put(None)  # the stream ends behind its start
        return none
    running.listen = listen
    do(t, "kept=$$")
    cut_e2b(place.vendor)
    await_same_shell(t, time.monotonic() + 60)
    assert not closes
    assert t.seen.count("the connection was lost") == 1
    t.type("exit 8\r")
    assert t.end() == 8


def test_without_a_terminal_it_is_refused(run, local):
    done = run("sandbox", "shell", local.name)
    assert done.status == 2 and "a shell needs a terminal" in done.err
    assert "dcode sandbox exec" in done.err


@on_screen
def test_the_chat_lends_its_screen_and_tells_the_model(talk, home):
    c = begin(talk, HELLO, "--sandbox", "local", "-y", "--on-exit", "delete")
    c.say("hello", "Hello there.")
    c.type("/shell")
    c.keys("Enter")
    c.until(at_prompt)
    c.type("clear; echo made > by-hand; stty -a | head -n1; seq 200 | less")
    c.keys("Enter")
    c.until(lambda seen: "Hello there." not in seen and "\n20\n" in seen)
    c.resize(100, 30)
    c.until(lambda seen: "\n29\n" in seen)
    c.keys("q")
    c.until(at_prompt)
    c.type("exit 4")
    c.keys("Enter")
    c.until("The shell ended with status 4")
    asked = c.ask("what now?")
    assert re.fullmatch(r"\[The user worked in a shell in the sandbox for "
                        r"\d+ s; changed: by-hand\]\n\nwhat now\?", asked[-1])
    c.until(lambda seen: seen.count("Hello there.") >= 1)
    assert c.ask("again")[-1] == "again"
    c.say("/quit")
    assert c.status() == 0


@on_screen
def test_without_a_sandbox_the_chat_opens_no_shell(talk):
    c = begin(talk, HELLO, "--sandbox", "none")
    c.say("/shell", "use a shell of your own")
