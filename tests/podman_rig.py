#!/usr/bin/python3
# podman_rig.py - a Podman service of our own, as the Docker engine of tests.
# SPDX-License-Identifier: MIT
"""A real engine without systemd, root's settings or a registry.

In a test:   with Rig() as rig: ... rig.docker_host, rig.image ...
In a shell:  tests/podman_rig.py run COMMAND...   (DOCKER_HOST is set for it,
             and DCODE_TEST_IMAGE)
             tests/podman_rig.py missing          (prints what it would need)

Everything lives in one temporary directory, also the image, which is made of
busybox (package busybox-static); nothing under /etc or /var/lib is written.
"""
import contextlib
import io
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time

IMAGE = "localhost/dcode-test:latest"

CONTAINERS_CONF = """[containers]
cgroups = "{cgroups}"
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "host"
[engine]
runtime = "{runtime}"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{root}/tmp"
volume_path = "{root}/volumes"
static_dir = "{root}/libpod"
network_config_dir = "{root}/networks"
[network]
network_config_dir = "{root}/networks"
"""

STORAGE_CONF = """[storage]
driver = "vfs"
graphroot = "{root}/storage"
rootless_storage_path = "{root}/storage"
runroot = "{root}/run"
"""

POLICY = '{"default":[{"type":"insecureAcceptAnything"}]}\n'


def runtime():
    """runc refuses to run without cgroups, which an ordinary user has none of
    where they are unified (v2) and nobody delegates; crun refuses the hybrid
    of v1 and v2. Seen with runc 1.1.5 and crun 1.8.1."""
    unified = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    return "crun" if os.geteuid() != 0 and unified else "runc"


def missing():
    """What keeps the rig from working here: a list of sentences."""
    lacks = []
    for program, package in (("podman", "podman"), (runtime(), runtime()),
                             ("busybox", "busybox-static")):
        if not find(program):
            lacks.append(f"{program} is not installed (package {package})")
    if find("busybox") and not is_static(find("busybox")):
        lacks.append("busybox is not static (package busybox-static)")
    if os.geteuid() != 0:
        if not find("newuidmap"):
            lacks.append("newuidmap is not installed (package uidmap)")
        if not has_subuids():
            lacks.append("this user has no lines in /etc/subuid and "
                         "/etc/subgid")
    return lacks


def find(program):
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin"
    return shutil.which(program, path=path)


def is_static(program):
    with open(program, "rb") as f:
        return b"ld-linux" not in f.read(8192)


def has_subuids():
    import getpass
    names = (getpass.getuser(), str(os.getuid()))
    for file in ("/etc/subuid", "/etc/subgid"):
        try:
            lines = pathlib.Path(file).read_text().splitlines()
        except OSError:
            return False
        if not any(line.split(":")[0] in names for line in lines):
            return False
    return True


def image_tar():
    """A root directory of busybox alone, as a tar file in memory."""
    busybox = find("busybox")
    out = io.BytesIO()
    names = subprocess.run([busybox, "--list"], capture_output=True,
                           check=True, text=True).stdout.split()
    files = {
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"
                      "user:x:1000:1000:user:/home/user:/bin/sh\n",
        "etc/group": "root:x:0:\nuser:x:1000:\n",
    }
    with tarfile.open(fileobj=out, mode="w") as tar:
        def add(name, kind, **fields):
            info = tarfile.TarInfo(name)
            info.type = kind
            info.mode = fields.pop("mode", 0o755)
            data = fields.pop("data", b"")
            info.size = len(data)
            for key, value in fields.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(data))

        for folder in ("bin", "etc", "proc", "sys", "dev", "root", "home"):
            add(folder, tarfile.DIRTYPE)
        add("home/user", tarfile.DIRTYPE, uid=1000, gid=1000)
        add("tmp", tarfile.DIRTYPE, mode=0o1777)
        add("bin/busybox", tarfile.REGTYPE,
            data=pathlib.Path(busybox).read_bytes())
        for name in names:
            if name != "busybox":
                add("bin/" + name, tarfile.SYMTYPE, linkname="busybox")
        for name, text in files.items():
            add(name, tarfile.REGTYPE, mode=0o644, data=text.encode())
    return out.getvalue()


class Rig:
    service_name = "podman system service"

    def __init__(self):
        self.root = None
        self.service = None
        self.image = IMAGE

    @property
    def docker_host(self):
        return f"unix://{self.root}/podman.sock"

    def environ(self):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("DOCKER_", "CONTAINER_", "NOTIFY_"))}
        env.update(CONTAINERS_CONF=f"{self.root}/containers.conf",
                   CONTAINERS_STORAGE_CONF=f"{self.root}/storage.conf",
                   XDG_RUNTIME_DIR=f"{self.root}/xdg",
                   TMPDIR=f"{self.root}/scratch",
                   PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if os.geteuid() != 0:
            env["HOME"] = f"{self.root}/home"
            env["XDG_DATA_HOME"] = f"{self.root}/home/data"
            env["XDG_CONFIG_HOME"] = f"{self.root}/home/config"
        return env

    def podman(self, *args, **kwargs):
        kwargs.setdefault("check", True)
        return subprocess.run(["podman", *args], env=self.environ(),
                              capture_output=True, timeout=120, **kwargs)

    def start(self):
        lacks = missing()
        if lacks:
            raise RuntimeError("no Podman here: " + "; ".join(lacks))
        # Short: a unix socket's path has 107 bytes.
        self.root = tempfile.mkdtemp(prefix="dcode-rig-")
        root = pathlib.Path(self.root)
        for name in ("xdg", "scratch", "tmp", "home", "networks"):
            (root / name).mkdir(mode=0o700)
        (root / "containers.conf").write_text(CONTAINERS_CONF.format(
            root=root, runtime=runtime(), cgroups="disabled"
            if runtime() == "crun" else "enabled"))
        (root / "storage.conf").write_text(STORAGE_CONF.format(root=root))
        (root / "policy.json").write_text(POLICY)
        done = self.podman("import", "-", IMAGE, input=image_tar(),
                           check=False)
        if done.returncode:
            text = done.stderr.decode(errors="replace")
            self.stop()
            raise RuntimeError("podman import: " + text)
        self.log = open(root / "service.log", "wb")
        self.service = subprocess.Popen(
            ["podman", "system", "service", "--time=0", self.docker_host],
            env=self.environ(), stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, start_new_session=True)
        self.wait()
        return self

    def wait(self):
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with contextlib.closing(socket.socket(socket.AF_UNIX)) as s:
                try:
                    s.connect(self.docker_host.removeprefix("unix://"))
                    return
                except OSError:
                    pass
            if self.service.poll() is not None:
                break
            time.sleep(0.02)
        text = pathlib.Path(self.root, "service.log").read_text()
        self.stop()
        raise RuntimeError(f"{self.service_name}: {text}")

    def containers(self):
        """Names of all containers that there are, running or not."""
        out = self.podman("ps", "-a", "--format", "{{.Names}}").stdout
        return out.decode().split()

    def remove_all(self):
        self.podman("rm", "-a", "-f", "-t", "0", check=False)

    def stop(self):
        if not self.root:
            return
        self.remove_all()
        if self.service:
            self.end_service()
        self.unmount()
        if os.geteuid() != 0:
            self.podman("unshare", "rm", "-rf", self.root + "/storage",
                        check=False)
        shutil.rmtree(self.root, ignore_errors=True)
        self.root = None

    def end_service(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.service.pid, signal.SIGTERM)
        try:
            self.service.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.service.pid, signal.SIGKILL)
            self.service.wait()
        self.service = None
        self.log.close()

    def unmount(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            points = [line.split()[4] for line in f]
        for point in sorted(points, key=len, reverse=True):
            if point.startswith(self.root + "/"):
                subprocess.run(["umount", "-l", point], check=False,
                               capture_output=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


def run_in(rig_class, command):
    """The status of a command that has DOCKER_HOST and DCODE_TEST_IMAGE."""
    try:
        with rig_class() as rig:
            env = dict(os.environ, DOCKER_HOST=rig.docker_host,
                       DCODE_TEST_IMAGE=rig.image)
            return subprocess.run(command, env=env, check=False).returncode
    except RuntimeError as error:
        print("rig:", error, file=sys.stderr)
        return 125


def main(argv):
    if argv == ["missing"]:
        lacks = missing()
        print("\n".join(lacks) or "nothing is missing")
        return 1 if lacks else 0
    if len(argv) < 2 or argv[0] != "run":
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return run_in(Rig, argv[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
