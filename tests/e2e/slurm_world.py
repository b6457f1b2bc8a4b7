"""slurm_world.py - one test's part of a cluster: params, programs, no rest."""
# SPDX-License-Identifier: MIT
import glob
import pathlib
import re
import shutil

from lifecycle import wait_for

PROGRAMS = ("sbatch", "srun", "squeue", "scancel")

# Stands before one of Slurm's programs in PATH. An answer of sbatch, squeue or
# scancel is one piece, one of srun's stream is a read of it in one direction;
# the piece of the number "at", or the first of the program of that name, is
# spoiled as "way" says.
WRAPPER = '''#!/usr/bin/python3
import fcntl, os, select, subprocess, sys
ROOT, PROGRAM, NAME = {root!r}, {program!r}, {name!r}

def number(what):
    """Counts this piece; how it is to be spoiled, or None."""
    open(ROOT + "/pieces", "a").write(NAME + " " + what + "\\n")
    with open(ROOT + "/count", "r+") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        n = int(f.read() or 0) + 1
        f.seek(0)
        f.write(str(n))
    at, way = open(ROOT + "/spoil").read().split()
    first = at == NAME and not os.path.getsize(ROOT + "/spoiled")
    if first or at == str(n):
        open(ROOT + "/spoiled", "a").write(NAME + " " + way + "\\n")
        return way
    return None

def quick():
    way = number("all")
    if way == "cut":
        sys.exit(1)
    r = subprocess.run([PROGRAM, *sys.argv[1:]], stdin=sys.stdin,
                       capture_output=True)
    if way == "lost":
        sys.exit(1)
    if way == "damaged":
        r.stdout = r.stdout[:len(r.stdout) // 2]
    os.write(1, r.stdout)
    os.write(2, r.stderr)
    sys.exit(r.returncode)

def stream():
    p = subprocess.Popen([PROGRAM, *sys.argv[1:]], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
    to = {{0: p.stdin.fileno(), p.stdout.fileno(): 1}}
    while to:
        for fd in select.select(list(to), [], [])[0]:
            data = os.read(fd, 65536)
            way = number("back" if fd else "out") if data else None
            if way == "cut":
                p.kill()
                sys.exit(137)
            if way == "damaged":
                data = bytes(b ^ 1 if b > 64 else b for b in data)
            try:
                if data:
                    os.write(to[fd], data)
            except OSError:
                data = b""
            if way == "lost":
                p.kill()
                sys.exit(137)
            if not data:
                target = to.pop(fd)
                if target != 1:
                    p.stdin.close()
                else:
                    sys.exit(p.wait())

stream() if NAME == "srun" else quick()
'''


class World:
    """The cluster, as one test has set it up."""

    def __init__(self, rig, env, config, tmp_path):
        self.rig, self.env, self.tmp = rig, env, tmp_path
        self.root = tmp_path / "jobs"
        self.root.mkdir()
        self.config = config
        env.update(rig.env)
        self.params()

    def params(self, text="", root=True, more=""):
        own = f'root = "{self.root}"\n' if root else ""
        self.config(f"[sandboxes.providers.slurm.params]\n{own}{text}{more}")

    def controls(self):
        """What the jobs of this cluster have in /tmp; a job is called as its
        sandbox is."""
        names = {j["name"] for j in self.rig.jobs(every=True)}
        return [p for p in glob.glob("/tmp/.dcode-*") if
                re.sub("^/tmp/[.](dcode-(exec|jobs)[.])?", "", p) in names]

    def left(self):
        """Jobs, processes of jobs and directories."""
        found = [f"job {j['job_id']} {j['job_state']}"
                 for j in self.rig.jobs()]
        found += [f"{pid} {c}" for pid, c in self.rig.processes().items()]
        # root itself goes with the last sandbox in it
        found += [str(p) for p in self.root.glob("*")]
        return found + self.controls()

    def nothing_left(self, seconds=15):
        try:
            wait_for(lambda: not self.left(), seconds)
        except AssertionError as late:
            raise AssertionError(f"left: {self.left()}") from late

    def job(self, *states):
        """The only job there is, once it is in one of these states."""
        def found():
            jobs = [j for j in self.rig.jobs(every=True)
                    if j["job_state"] in states]
            return jobs[-1] if jobs else None
        wait_for(found, 30)
        return found()

    def wrap(self):
        """Puts programs of ours before Slurm's."""
        folder = self.tmp / "wrapped"
        (folder / "bin").mkdir(parents=True)
        for name in PROGRAMS:
            path = folder / "bin" / name
            path.write_text(WRAPPER.format(
                root=str(folder), program=shutil.which(name), name=name))
            path.chmod(0o755)
        self.env["PATH"] = f"{folder}/bin:" + self.env["PATH"]
        self.folder = folder
        self.spoil(0, "none")

    def spoil(self, at, way):
        (self.folder / "spoil").write_text(f"{at} {way}")
        (self.folder / "count").write_text("0")
        (self.folder / "spoiled").write_text("")

    @property
    def spoiled(self):
        return (self.folder / "spoiled").read_text()

    @property
    def pieces(self):
        return int((self.folder / "count").read_text())

    def end(self):
        self.rig.remove_all()
        self.nothing_left()


def secrets_in(directory, words):
    """Which of these words are in a file below it."""
    found = set()
    for path in pathlib.Path(directory).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found |= {w for w in words if w.encode() in data}
    return found


