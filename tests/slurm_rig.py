#!/usr/bin/python3
# slurm_rig.py - a Slurm cluster of three nodes on this machine, for tests.
# SPDX-License-Identifier: MIT
"""A real controller, three node daemons and munge (packages slurm-wlm, munge).

In a test:   with Rig() as rig: ... rig.env, rig.jobs(), rig.down("n1") ...
In a shell:  tests/slurm_rig.py run COMMAND...   (SLURM_CONF is set for it)
             tests/slurm_rig.py missing          (prints what it would need)

Everything lives in one temporary directory; no daemon of the system is used.
Partitions: main (all nodes), short (two minutes at most), low and high, of
which high preempts low. n2 has the feature "fast", n3 a GPU of its own.
Processes are tracked as by linuxproc, where a setsid child outlives its job.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import podman_rig

NODES = ("n1", "n2", "n3")
PROGRAMS = (("slurmctld", "slurm-wlm"), ("slurmd", "slurm-wlm"),
            ("sbatch", "slurm-wlm"), ("srun", "slurm-wlm"),
            ("munged", "munge"))

CONF = """ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={root}/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool.%n
SlurmctldPidFile={root}/c.pid
SlurmdPidFile={root}/%n.pid
SlurmctldLogFile={root}/control.log
SlurmdLogFile={root}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=5
KillWait=2
InactiveLimit=0
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1
"""


def missing():
    """What keeps the rig from working here: a list of sentences."""
    lacks = [f"{program} is not installed (package {package})"
             for program, package in PROGRAMS if not podman_rig.find(program)]
    if os.geteuid() != 0:
        lacks.append("slurmd has to be started by root")
    return lacks


def free_ports(n):
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(n)]
        for s in found:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in found]


class Rig:
    def __init__(self):
        self.root, self.daemons = None, {}

    @property
    def env(self):
        """What a program needs to talk to this cluster."""
        return {"SLURM_CONF": f"{self.root}/slurm.conf"}

    def environ(self):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("SLURM_", "SBATCH_", "SQUEUE_"))}
        env.update(self.env, PATH=os.environ.get("PATH", "") +
                   ":/usr/sbin:/sbin")
        return env

    def call(self, *args, check=True):
        return subprocess.run(args, env=self.environ(), text=True, cwd="/",
                              capture_output=True, timeout=60, check=check)

    def configure(self):
        root, host = self.root, socket.gethostname().split(".")[0]
        control, *ports = free_ports(1 + len(NODES))
        text = CONF.format(root=root, host=host, control=control)
        for name, port in zip(NODES, ports):
            more = {"n2": " Feature=fast", "n3": " Gres=gpu:1"}.get(name, "")
            text += (f"NodeName={name} NodeHostname={host} "
                     f"NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=4000"
                     f"{more} State=UNKNOWN\n")
        text += ("PartitionName=main Nodes=ALL Default=YES State=UP "
                 "PriorityTier=1\n"
                 "PartitionName=short Nodes=ALL MaxTime=2 State=UP "
                 "PriorityTier=1\n"
                 "PartitionName=low Nodes=n1 State=UP PriorityTier=1\n"
                 "PartitionName=high Nodes=n1 State=UP PriorityTier=9\n")
        pathlib.Path(root, "slurm.conf").write_text(text)
        pathlib.Path(root, "gres.conf").write_text(
            f"NodeName=n3 Name=gpu Count=1 File={root}/gpu0\n")
        pathlib.Path(root, "gpu0").touch()
        pathlib.Path(root, "state").mkdir()
        key = pathlib.Path(root, "key")
        key.touch(0o400)
        key.write_bytes(os.urandom(128))

    def spawn(self, name, *command):
        log = open(pathlib.Path(self.root, f"{name}.out"), "ab")
        self.daemons[name] = subprocess.Popen(
            command, env=self.environ(), cwd="/", stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, start_new_session=True)
        log.close()

    def start_control(self):
        self.spawn("control", "slurmctld", "-D", "-i", "-f",
                   f"{self.root}/slurm.conf")

    def start_node(self, name):
        self.spawn(name, "slurmd", "-D", "-N", name, "-f",
                   f"{self.root}/slurm.conf")

    def start(self):
        lacks = missing()
        if lacks:
            raise RuntimeError("no Slurm here: " + "; ".join(lacks))
        self.root = tempfile.mkdtemp(prefix="dcode-slurm-")
        os.chmod(self.root, 0o755)
        self.configure()
        d = self.root
        self.spawn("munge", "munged", "-F", "-f", f"--socket={d}/munge",
                   f"--key-file={d}/key", f"--pid-file={d}/m.pid",
                   f"--log-file={d}/m.log", f"--seed-file={d}/seed")
        self.wait("munged", lambda: os.path.exists(f"{d}/munge"))
        self.start_control()
        for name in NODES:
            self.start_node(name)
        self.wait("the nodes", lambda: self.nodes() ==
                  {name: "idle" for name in NODES})
        return self

    def wait(self, what, ready, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if ready():
                return
            time.sleep(0.05)
        logs = "".join(f"{p}:\n{p.read_text(errors='replace')[-2000:]}\n"
                       for p in pathlib.Path(self.root).glob("*.log"))
        self.stop()
        raise RuntimeError(f"{what}: not ready after {seconds} s\n{logs}")

    def nodes(self):
        """The state of each node by its name."""
        r = self.call("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T",
                      check=False)
        return dict(line.split() for line in r.stdout.splitlines())

    def jobs(self, every=False):
        """What squeue tells of the jobs that have not ended, or of all."""
        r = self.call("squeue", "--json", *(["-t", "all"] if every else []))
        active = ("PENDING", "RUNNING", "COMPLETING", "SUSPENDED",
                  "CONFIGURING")
        return [j for j in json.loads(r.stdout)["jobs"]
                if every or j["job_state"] in active]

    def set_node(self, name, state):
        self.call("scontrol", "update", f"nodename={name}", f"state={state}",
                  *(["reason=test"] if state == "down" else []),
                  check=state == "down")

    def each_process(self):
        """Those of jobs of this cluster: pid, environment, command."""
        for p in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (p / "environ").read_bytes().split(b"\0")
                if (f"SLURM_CONF={self.root}/slurm.conf".encode() in words and
                        any(w.startswith(b"SLURM_JOB_ID=") for w in words)):
                    yield (int(p.name), b"\n".join(words).decode(
                        errors="replace"), (p / "cmdline").read_bytes()
                        .replace(b"\0", b" ").decode(errors="replace"))

    def processes(self):
        return {pid: command for pid, _, command in self.each_process()}

    def environs(self):
        return [environ for _, environ, _ in self.each_process()]

    def remove_all(self):
        for job in self.jobs():
            self.call("scancel", str(job["job_id"]), check=False)
        until = time.monotonic() + 30
        while self.jobs() and time.monotonic() < until:
            time.sleep(0.1)

    def stop(self):
        if not self.root:
            return
        if "control" in self.daemons and \
                self.daemons["control"].poll() is None:
            with contextlib.suppress(subprocess.SubprocessError, ValueError):
                self.remove_all()
        for name in (*NODES, "control", "munge"):
            self.end(name)
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.root, ignore_errors=True)
        self.root = None

    def end(self, name, number=signal.SIGTERM):
        """Ends one daemon: a node's jobs go on."""
        daemon = self.daemons.pop(name, None)
        if not daemon:
            return
        daemon.send_signal(number)
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


def main(argv):
    if argv == ["missing"]:
        print("\n".join(missing()) or "nothing is missing")
        return 1 if missing() else 0
    if len(argv) < 2 or argv[0] != "run":
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with Rig() as rig:
            return subprocess.run(argv[1:], env=rig.environ(),
                                  check=False).returncode
    except RuntimeError as error:
        print("rig:", error, file=sys.stderr)
        return 125


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
