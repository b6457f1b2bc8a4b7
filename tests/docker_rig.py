#!/usr/bin/python3
# docker_rig.py - a Docker daemon of our own, as the engine of tests.
# SPDX-License-Identifier: MIT
"""The same as podman_rig.py with Docker's own daemon (package docker.io).

It has to be root's: rig(name) starts either engine, ENGINES are those that
this user can start. In a shell: tests/docker_rig.py run COMMAND...
"""
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.parse

import podman_rig

IMAGE = "dcode-test:latest"
# gVisor without a virtual machine's help. Its own network stack refuses the
# host's namespace; with this it uses the container's, also where that is empty.
GVISOR = {"path": podman_rig.find("runsc") or "runsc",
          "runtimeArgs": ["--platform=ptrace", "--network=host"]}
ENGINES = ["podman"] + (["docker"] if os.geteuid() == 0 else [])


def rig(name):
    return Rig() if name == "docker" else podman_rig.Rig()


def missing():
    """What keeps the rig from working here: a list of sentences."""
    lacks = []
    for program, package in (("dockerd", "docker.io"), ("runc", "runc"),
                             ("runsc", "runsc"),
                             ("busybox", "busybox-static")):
        if not podman_rig.find(program):
            lacks.append(f"{program} is not installed (package {package})")
    if os.geteuid() != 0:
        lacks.append("dockerd has to be started by root")
    return lacks


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("docker", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def request(docker_host, method, path, body=None):
    """One request to any engine: (status, what its JSON says, or bytes)."""
    c = Connection(docker_host.removeprefix("unix://"))
    kind = {"Content-Type": "application/x-tar" if isinstance(body, bytes)
            else "application/json"}
    data = body if body is None or isinstance(body, bytes) \
        else json.dumps(body)
    c.request(method, path, data, kind)
    answer = c.getresponse()
    data = answer.read()
    c.close()
    try:
        return answer.status, json.loads(data)
    except ValueError:
        return answer.status, data


class Rig(podman_rig.Rig):
    service_name = "dockerd"

    def __init__(self):
        super().__init__()
        self.image = IMAGE

    @property
    def docker_host(self):
        return f"unix://{self.root}/docker.sock"

    def request(self, method, path, body=None):
        return request(self.docker_host, method, path, body)

    def start(self):
        lacks = missing()
        if lacks:
            raise RuntimeError("no Docker here: " + "; ".join(lacks))
        self.root = tempfile.mkdtemp(prefix="dcode-dock-")
        settings = pathlib.Path(self.root, "daemon.json")
        settings.write_text(json.dumps({"runtimes": {"runsc": GVISOR}}))
        self.log = open(pathlib.Path(self.root, "service.log"), "wb")
        env = dict(os.environ, PATH=os.environ.get("PATH", "") +
                   ":/usr/sbin:/sbin")
        self.service = subprocess.Popen(
            ["dockerd", "--config-file", settings,
             "--iptables=false", "--ip6tables=false",
             "--bridge=none", "--storage-driver=vfs", "--data-root",
             self.root + "/data", "--exec-root", self.root + "/exec", "-p",
             self.root + "/pid", "-H", self.docker_host], env=env,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            start_new_session=True)
        self.wait()
        query = urllib.parse.urlencode({"fromSrc": "-", "repo": "dcode-test",
                                        "tag": "latest"})
        status, answer = self.request("POST", "/images/create?" + query,
                                      podman_rig.image_tar())
        if status != 200:
            self.stop()
            raise RuntimeError(f"importing the image: {answer}")
        return self

    def containers(self):
        """Names of all containers that there are, running or not."""
        _, found = self.request("GET", "/containers/json?all=true")
        return [c["Names"][0].lstrip("/") for c in found]

    def stop(self):
        if not self.root:
            return
        if self.service and self.service.poll() is None:
            for name in self.containers():
                self.request("DELETE", f"/containers/{name}?force=true")
        if self.service:
            self.end_service()
        self.unmount()
        shutil.rmtree(self.root, ignore_errors=True)
        self.root = None


def main(argv):
    if argv == ["missing"]:
        print("\n".join(missing()) or "nothing is missing")
        return 1 if missing() else 0
    if len(argv) < 2 or argv[0] != "run":
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return podman_rig.run_in(Rig, argv[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
