"""broken_files.py - what stands where a file is expected."""
# SPDX-License-Identifier: MIT
import os

NO_FILES = ["fifo", "directory", "dangling"]


def put_no_file(path, how):
    """One of NO_FILES in the place of path; False: that is not one."""
    if how not in NO_FILES:
        return False
    path.unlink()
    if how == "fifo":
        os.mkfifo(path)
    elif how == "directory":
        path.mkdir()
    else:
        path.symlink_to(f"/no/such/{path.name}")
    return True
