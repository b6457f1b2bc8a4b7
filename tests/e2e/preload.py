"""preload.py - libraries of the tests, for LD_PRELOAD."""
# SPDX-License-Identifier: MIT
import pathlib
import subprocess


def build(tmp_path_factory, name):
    """The path of the library made from NAME.c beside this file."""
    library = tmp_path_factory.mktemp(name) / f"{name}.so"
    source = pathlib.Path(__file__).with_name(f"{name}.c")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source,
                    "-ldl"], check=True)
    return library
