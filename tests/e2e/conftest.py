"""conftest.py - fixtures of the end-to-end tests: a home, the program."""
# SPDX-License-Identifier: MIT
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import zlib

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))
sys.path.insert(0, str(TOP / "tests" / "emulators"))
from clouds import vendor_fixture  # noqa: E402,F401
from docker_rig import ENGINES  # noqa: E402
from terminal import Terminal  # noqa: E402

SANITIZER = re.compile(
    r"ERROR: (Address|Leak|Thread|Undefined)|WARNING: ThreadSan|"
    r"runtime error: ")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "long: minutes, or of little news: in `make soak` only")
    config.addinivalue_line(
        "markers", "slow: seconds of a processor: sampled, see Sample")
    config.addinivalue_line(
        "markers", "every: none of its cases is left out by Sample")


class Sample:
    """Selects the tests that a push runs.

    DCODE_TEST_SAMPLE=SEED:N runs one in N of the cases of a parametrised test,
    one in N of the tests marked slow, and a quarter of the others, but all
    tests about security (GUARDS). One file in N runs under the sanitizers, the
    others with the release. SEED is the commit, so each push runs another
    sample. `make soak` runs everything under the sanitizers.
    """

    GUARDS = ("test_trust", "test_guard", "test_restrictions", "test_hooks",
              "test_approvals", "test_half_written", "test_apply", "test_keep",
              "test_readme")

    def __init__(self, text):
        seed, of = text.split(":")
        self.seed, self.of = seed, int(of)

    def rank(self, name):
        return zlib.crc32(f"{self.seed} {name}".encode())

    def has(self, name):
        return self.rank(name) % self.of == 0

    def takes(self, item, name):
        if item.get_closest_marker("slow"):
            return self.has(name)
        return item.path.name.startswith(self.GUARDS) or \
            self.rank(name) % 4 == 0

    def left_out(self, items):
        cases = collections.defaultdict(list)
        for item in items:
            cases[item.nodeid.partition("[")[0]].append(item)
        for name, each in cases.items():
            if each[0].get_closest_marker("every"):
                continue
            if len(each) == 1:
                if not self.takes(each[0], name):
                    yield each[0]
                continue
            each.sort(key=lambda item: self.rank(item.nodeid))
            yield from each[-(-len(each) // self.of):]


SAMPLE = os.environ.get("DCODE_TEST_SAMPLE")
SAMPLE = Sample(SAMPLE) if SAMPLE else None


# Files with tests of ten seconds and more. They start first, because the run
# would wait for one that starts last.
LONGEST = ("test_provider_test", "test_lifecycle_kill", "test_torture",
           "test_copy", "test_cut_connections", "test_lifecycle_engine",
           "test_lifecycle_signals", "test_lifecycle_exec", "test_install",
           "test_chat_kill", "test_apply_kill", "test_base_commit",
           "test_trust_b11", "test_trust_b13", "test_providers",
           "test_trust_c6", "test_docs")


def pytest_make_parametrize_id(val):
    """Shortens long ids. A test's name is in the environment of its processes,
    where a string has at most 128 KiB."""
    if isinstance(val, (str, bytes)) and len(val) > 1000:
        return f"{len(val)}-long"
    return None


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: not item.path.name.startswith(LONGEST))
    if os.environ.get("DCODE_TEST_LONG"):
        return
    left = {i for i in items if i.get_closest_marker("long")}
    if SAMPLE:
        left.update(SAMPLE.left_out([i for i in items if i not in left]))
    if left:
        items[:] = [i for i in items if i not in left]
        config.hook.pytest_deselected(items=list(left))


# A test that hangs blocks its worker, and CI's time limit does not say which
# one it was. The slowest test takes 47 s on a busy machine.
LIMIT_S = 240


def give_up(number, frame):
    pytest.fail(f"still running after {LIMIT_S} s")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    if os.environ.get("DCODE_TEST_LONG"):
        yield
        return
    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S, 60)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def program(variable, fallback):
    path = pathlib.Path(os.environ.get(variable, TOP / fallback))
    assert os.access(path, os.X_OK), f"{path} is not built: run make"
    return path.resolve()


@pytest.fixture(scope="session")
def top():
    return TOP


@pytest.fixture(scope="module")
def dcode(request):
    """The program under test. In scripts/check: the sanitized one, or in a
    sample the release for most files."""
    if SAMPLE and not SAMPLE.has(request.path.name):
        return program("DCODE_RELEASE", "dcode")
    return program("DCODE", "dcode")


@pytest.fixture(scope="session")
def dcode_release():
    """The release, for tests that measure time, memory or system calls."""
    return program("DCODE_RELEASE", "dcode")


@pytest.fixture
def home(tmp_path):
    """HOME of the test; dcode starts in the directory `work` beside it."""
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path / "home"


@pytest.fixture
def config(home):
    """config(text): writes ~/.deepagents/config.toml."""
    def write(text):
        path = home / ".deepagents" / "config.toml"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_text(text)
        return path
    return write


@pytest.fixture
def env(home):
    """The environment: only PATH is the caller's. Change it before run()."""
    return {
        "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
        "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb",
        "ASAN_OPTIONS": "exitcode=99", "UBSAN_OPTIONS": "exitcode=99",
        "TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", "exitcode=99"),
    }


@pytest.fixture
def sandbox_first(env):
    """The first request to the model waits for the sandbox."""
    env["DEEPAGENTS_CODE_SANDBOX_OVERLAP"] = "false"


@pytest.fixture
def sandbox_at_start(env):
    """A chat creates its sandbox at once, not at the first tool call."""
    env["DEEPAGENTS_CODE_SANDBOX_CREATE"] = "start"


def heed_signals():
    """Restores signals that a job in a shell's background ignores. dcode
    would inherit that."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Run:
    """A started dcode: start(), then wait() or signal()."""

    def __init__(self, command, env, cwd, stdin, user=None):
        self.began = time.monotonic()
        self.p = subprocess.Popen(
            [str(c) for c in command], env=env, cwd=cwd, text=True,
            encoding="utf-8", errors="surrogateescape", stdin=subprocess.PIPE
            if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, preexec_fn=heed_signals, user=user,
            group=user, extra_groups=None if user is None else [])
        self.stdin, self.status = stdin, None
        self.out = self.err = ""

    @property
    def pid(self):
        return self.p.pid

    def signal(self, number=signal.SIGINT):
        self.p.send_signal(number)

    def wait(self, timeout=60):
        """Waits for the end; sets .status, .out, .err, .seconds. A report of
        a sanitizer or a program that does not end fails the test."""
        try:
            self.out, self.err = self.p.communicate(self.stdin, timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            self.out, self.err = self.p.communicate()
            pytest.fail(f"did not end within {timeout} s\n{self.err[-4000:]}")
        self.status = self.p.returncode
        self.seconds = time.monotonic() - self.began
        assert not SANITIZER.search(self.err), self.err[-6000:]
        return self

    def kill(self):
        """Kills it and its processes, which have a session of their own."""
        try:
            os.killpg(self.p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


@pytest.fixture
def start(dcode, env, tmp_path):
    """start(*args, stdin=None, cwd=..., env=..., program=...) -> Run."""
    runs = []

    def begin(*args, stdin=None, cwd=None, env=env, program=dcode):
        (tmp_path / "work").mkdir(exist_ok=True)
        runs.append(Run([program, *args], env, cwd or tmp_path / "work",
                        stdin))
        return runs[-1]
    yield begin
    for run in runs:
        if run.p.poll() is None:
            run.kill()
            run.p.communicate()


@pytest.fixture
def terminal(dcode, env, tmp_path):
    """terminal(*args) -> a Terminal in which dcode runs."""
    open_ones = []

    def begin(*args):
        (tmp_path / "work").mkdir(exist_ok=True)
        open_ones.append(Terminal([str(dcode), *args], env,
                                  tmp_path / "work"))
        return open_ones[-1]
    yield begin
    for t in open_ones:
        t.close()


@pytest.fixture
def run(start):
    """run(*args, timeout=60, ...) -> a Run that has ended."""
    def to_end(*args, timeout=60, **how):
        return start(*args, **how).wait(timeout)
    return to_end


@pytest.fixture
def model(env):
    """model(script, **how) -> a running ModelServer that env points to."""
    from model import ModelServer
    servers = []

    def serve(script, **how):
        servers.append(ModelServer(script, **how).__enter__())
        env.update(servers[-1].env)
        return servers[-1]
    yield serve
    for server in servers:
        server.__exit__()


@pytest.fixture(scope="session")
def rig():
    """A Podman of the tests: rig.docker_host, rig.image, rig.containers()."""
    from podman_rig import Rig
    with Rig() as engine:
        yield engine


@pytest.fixture(scope="session")
def docker_rig():
    """A Docker daemon of the tests, with the same members."""
    from docker_rig import Rig
    with Rig() as engine:
        yield engine


@pytest.fixture(scope="session")
def slurm_rig():
    """A Slurm cluster of the tests: see tests/slurm_rig.py."""
    from slurm_rig import Rig
    with Rig() as cluster:
        yield cluster


@pytest.fixture
def slurm(slurm_rig, env, config, tmp_path):
    """The cluster, set up for this test. The test must leave nothing there."""
    from slurm_world import World
    world = World(slurm_rig, env, config, tmp_path)
    yield world
    world.end()


@pytest.fixture(scope="session", params=ENGINES)
def each_rig(request):
    """Podman, then Docker (if the tests run as root)."""
    return request.getfixturevalue(
        "docker_rig" if request.param == "docker" else "rig")
