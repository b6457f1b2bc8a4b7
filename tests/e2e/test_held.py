"""test_held.py - the far end of a held stream, when the near one is gone."""
# SPDX-License-Identifier: MIT
import os
import pathlib
import select
import signal
import subprocess

import pytest

from lifecycle import wait_for

SCRIPTS = pathlib.Path(__file__).parents[2] / "scripts" / "sandbox"


def of_session(session):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(fields[3]) == session:
            found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize("n", [1, 3])
def test_requests_under_way_end_when_nobody_reads(n, tmp_path):
    """Whoever had the lock of the stream gives it back when writing fails."""
    # pylint: disable-next=consider-using-with
    loop = subprocess.Popen(["sh"], stdin=subprocess.PIPE, bufsize=0,
                            stdout=subprocess.PIPE, start_new_session=True,
                            stderr=subprocess.DEVNULL)
    text = "held_nonce=abc\n" + (SCRIPTS / "held.sh").read_text()
    loop.stdin.write((text + "held_loop; exit\n").encode())
    while b"ready" not in loop.stdout.readline():
        pass
    for i in range(n):
        body = f"until [ -e {tmp_path}/go ]; do sleep 0.1; done; echo x\n"
        loop.stdin.write(f"r{i} t {len(body)} 1\n{body}".encode())
    wait_for(lambda: len(of_session(loop.pid)) > 2 * n)
    loop.stdout.close()
    loop.stdin.close()
    (tmp_path / "go").touch()
    try:
        loop.wait(20)
        wait_for(lambda: not of_session(loop.pid))
    finally:
        for pid in of_session(loop.pid):
            os.kill(pid, signal.SIGKILL)


def test_a_door_of_another_users_gets_nothing(tmp_path):
    """Whoever knows a job's name makes it first; the control is our own."""
    control = tmp_path / "control"
    control.mkdir()
    control.chmod(0o777)
    os.mkfifo(control / "door")
    (tmp_path / "sleep").write_text("#!/bin/sh\n")  # at once
    (tmp_path / "sleep").chmod(0o755)
    text = (SCRIPTS / "slurm_step.sh").read_text()
    env = dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}")
    for owner in (65534, 0):
        os.chown(control / "door", owner, owner)
        door = os.open(control / "door", os.O_RDWR | os.O_NONBLOCK)
        # pylint: disable-next=consider-using-with
        step = subprocess.Popen(
            ["sh", "-c", f"b_control={control}\nheld_nonce=a{owner}\n{text}"],
            stdin=subprocess.PIPE, env=env, start_new_session=True,
            stderr=subprocess.DEVNULL)
        try:
            if owner:
                assert step.wait(60) == 3
            else:
                assert select.select([door], [], [], 60)[0]
                assert os.read(door, 99) == b"a0\n"
            assert (control / f"a{owner}.in").exists() is not bool(owner)
        finally:
            for pid in of_session(step.pid):
                os.kill(pid, signal.SIGKILL)
            step.wait()
            os.close(door)


@pytest.mark.parametrize("has_sleep", [True, False])
def test_who_cannot_wait_ends_and_takes_no_processor(tmp_path, has_sleep):
    text = (SCRIPTS / "supervise_lib.sh").read_text()
    r = subprocess.run(["/bin/sh", "-c", text + "\ns_nap 0.1; echo waited"],
                       env={"PATH": "/bin" if has_sleep else str(tmp_path)},
                       capture_output=True, text=True, check=False)
    assert (r.returncode, r.stdout) == ((0, "waited\n") if has_sleep
                                        else (127, ""))
