"""test_docs.py - every command of README.md and of the manual works as it is
printed there: docs_world.py says how, and what stands in for the world."""
# SPDX-License-Identifier: MIT
import pytest

import sshd_rig
from clouds import emulator
from docs_pages import blocks_of, pages
from docs_world import VENDORS, World, failures, script


@pytest.fixture
def docker(request):
    """Podman, with the image that dcode takes unless told otherwise."""
    def begin(world):
        rig = request.getfixturevalue("rig")
        rig.podman("tag", rig.image, "docker.io/library/python:3")
        world.env["DOCKER_HOST"] = rig.docker_host
    yield begin


@pytest.fixture
def ssh():
    running = []

    def begin(world):
        running.append(sshd_rig.Rig())
        world.configure("[sandboxes.providers.ssh.params]\nhost = \"box\"\n"
                        f"config = \"{running[0].config}\"\n")
    yield begin
    for one in running:
        one.close()


@pytest.fixture
def slurm_cluster(request, tmp_path):
    """Not the fixture slurm, which writes all of config.toml."""
    def begin(world):
        cluster = request.getfixturevalue("slurm_rig")
        world.env.update(cluster.env)
        (tmp_path / "jobs").mkdir()
        world.configure("[sandboxes.providers.slurm.params]\n"
                        f"root = \"{tmp_path}/jobs\"\n")
    yield begin


@pytest.fixture
def clouds():
    running = []

    def begin(world, name, with_keys):
        running.append(emulator(name).__enter__())
        world.use_vendor(name, running[-1].env, with_keys)
    yield begin
    for one in running:
        one.__exit__()


@pytest.fixture
def world(dcode_release, tmp_path, docker, ssh, slurm_cluster, clouds):
    """world(path) -> a World with what the commands of that page need."""
    from model import ModelServer
    made = []

    def make(path):
        (tmp_path / "world").mkdir()
        here = World(tmp_path / "world", dcode_release)
        server = ModelServer(script()).__enter__()
        made.append((here, server))
        is_readme = path.name == "README.md"
        here.use_model(server, not is_readme)
        said = "".join(b.text for b in blocks_of(path.read_text())
                       if b.language == "sh")
        for name, begin in (("docker", docker), ("ssh", ssh),
                            ("slurm", slurm_cluster)):
            if name in said:
                begin(here)
        for name in VENDORS:
            if name in said:
                clouds(here, name, not is_readme)
        if is_readme:
            here.cwd = path.parent
        else:
            here.begin_in_project()
        return here
    yield make
    for here, server in made:
        here.end()
        server.__exit__()


@pytest.mark.every
@pytest.mark.parametrize("path", pages(), ids=lambda p: p.stem)
def test_what_a_page_shows_works(path, world):
    wrong = failures(path, world(path))
    assert not wrong, "\n" + "\n".join(wrong)


WRONG = """# A page

```sh
dcode -n "explain src/app.py"
dcode -n "explain" --no-such-flag
cd ~/project && dcode sandbox lst
false \\
  || (exit 3)   # exit status 3
(exit 4)
```

Use `dcode threads show --nothing`, `dcode nothing` or `dcode help nowhere`.
[No page](gone.md)

```toml
[sandboxes.providers.docker.params]
cpus = 2
```

```json
{ "a": 1, }
```

```console
$ dcode apply --nowhere
```

```yaml
steps: [ {run: "dcode -n hi --nope"} ]
```
"""


def test_a_wrong_page_fails_with_each_of_its_lines(tmp_path, world):
    page = tmp_path / "wrong.md"
    page.write_text(WRONG)
    wrong = failures(page, world(page))
    lines = [int(w.split(":")[1]) for w in wrong]
    assert lines == [5, 6, 9, 12, 12, 12, 13, 16, 21, 25, 29], "\n".join(wrong)
