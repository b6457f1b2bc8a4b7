"""apply_room.py - a working tree, and what a sandbox has made of it."""
# SPDX-License-Identifier: MIT
import hashlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import time

LABEL = "dcode-abcdefgh"
THREAD = "01890000-0000-7000-8000-00000000000a"


def git(cwd, *args, env=None, check=True, **how):
    """The user's git, without the settings of the machine."""
    clean = {"PATH": os.environ["PATH"], "HOME": "/nonexistent",
             "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Ann",
             "GIT_AUTHOR_EMAIL": "ann@example.org",
             "GIT_COMMITTER_NAME": "Ann",
             "GIT_COMMITTER_EMAIL": "ann@example.org", **(env or {})}
    done = subprocess.run(["git", *args], cwd=cwd, env=clean, check=check,
                          capture_output=True, **how)
    return done.stdout.decode(errors="surrogateescape")


def tree(top):
    """Every name below top but .git: mode, bytes and time of files."""
    found = {}
    for where, dirs, files in os.walk(os.fsencode(top)):
        if b".git" in dirs:
            dirs.remove(b".git")
        for name in dirs + files:
            path = os.path.join(where, name)
            st = os.lstat(path)
            what = (os.readlink(path) if os.path.islink(path) else
                    b"" if name in dirs else open(path, "rb").read())
            found[os.path.relpath(path, os.fsencode(top))] = (
                st.st_mode, what, 0 if name in dirs else st.st_mtime_ns)
    return found


class Room:
    """root is the user's repository, committed on branch main."""

    def __init__(self, work, home):
        self.root, self.home = work, home
        self.started_in = work  # the thread
        git(work, "init", "-q", "-b", "main")
        self.store = (home / ".deepagents/.state/workspaces" / hashlib.sha256(
            os.fsencode(work.resolve())).hexdigest()[:16])

    def write(self, **files):
        for name, text in files.items():
            path = self.root / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self):
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "first")

    def index(self):
        return (self.root / ".git/index").read_bytes()

    def _store_commit(self, directory, ref, parent=None):
        env = {"GIT_DIR": str(self.store / "git"),
               "GIT_WORK_TREE": str(directory),
               "GIT_INDEX_FILE": str(self.store / "test.index")}
        git(directory, "add", "-A", "-f", ".", env=env)
        oid = git(directory, "write-tree", env=env).strip()
        commit = git(directory, "commit-tree", oid, "-m", "x",
                     *(["-p", parent] if parent else []), env=env).strip()
        git(directory, "update-ref", ref, commit, env=env)
        (self.store / "test.index").unlink()
        return commit

    def _copy(self, to):
        shutil.copytree(self.root, to, symlinks=True,
                        ignore=shutil.ignore_patterns(".git"))

    def send(self, tmp, change):
        """The tree as it is goes in; change(directory) is what the sandbox
        then does to it. The sandbox itself is gone."""
        self.store.mkdir(parents=True, mode=0o700)
        git(tmp, "init", "-q", "--bare", str(self.store / "git"))
        there = pathlib.Path(tmp) / "there"
        self._copy(there)
        self.base = self._store_commit(there, f"refs/dcode/{LABEL}/base")
        lines = sorted(self._line(there, p) for p in there.rglob("*")
                       if p.is_symlink() or p.is_file())
        (self.store / f"{LABEL}.listing").write_text("".join(
            line for _, line in lines))
        change(there)
        self.theirs = self._store_commit(
            there, f"refs/dcode/{LABEL}/sandbox", self.base)
        shutil.rmtree(there)
        self._add_thread()

    @staticmethod
    def _line(top, path):
        name = str(path.relative_to(top))
        link = path.is_symlink()
        data = os.fsencode(os.readlink(path)) if link else path.read_bytes()
        mode = ("120000" if link else
                "100755" if path.stat().st_mode & 0o100 else "100644")
        return (os.fsencode(name),
                f"{mode} {hashlib.sha256(data).hexdigest()} {name}\n")

    def _add_thread(self):
        now = int(time.time() * 1000)
        with sqlite3.connect(self.home / ".deepagents/.state/dcode.db") as db:
            db.execute(
                "INSERT INTO thread(id, created, model, sandbox, cwd,"
                " updated, provider, label, branch, messages)"
                " VALUES(?, ?, 'm', 'x', ?, ?, 'docker', ?, 'main', 1)",
                (THREAD, now, str(self.started_in.resolve()), now, LABEL))

    def ref(self, which):
        return git(self.root, "rev-parse", f"refs/dcode/{LABEL}/{which}",
                   env={"GIT_DIR": str(self.store / "git")}).strip()
