"""The way to a file: the folders in which something is replaced when the file changes, or comes to be another one."""

from __future__ import annotations

import os
from typing import NamedTuple


class Step(NamedTuple):
    """A place where a file is replaced when it changes: its own, or that of a symlink on the way to it."""

    written: str  # the folder, as the path or the link has it
    identity: object  # which folder that is
    real: str  # its real path
    spot: str  # the real path of the file or link in it: what events call it


def way(path: str) -> list[Step]:
    """Follow a path.

    Args:
        path: A file, or a symlink to one; it need not exist.

    Returns:
        A step for each symlink that leads to the file, and the last one for the file itself.
    """
    steps = []
    here = os.path.abspath(path)
    for _ in range(40):  # as many links as Linux follows
        written, name = os.path.split(here)
        real = os.path.realpath(written)
        steps.append(Step(written, identity(written), real, os.path.join(real, name)))
        try:
            here = os.path.join(real, os.readlink(here))
        except OSError:
            break
    return steps


def identity(folder: str) -> object:
    """Which folder this is: (device, inode), or the error's number when there is none."""
    try:
        status = os.stat(folder)
    except OSError as error:
        return error.errno
    return (status.st_dev, status.st_ino)


def stamp(path: str) -> object:
    """What differs when a file has changed, or the error's number when it cannot be looked at."""
    try:
        status = os.stat(path)
    except OSError as error:
        return error.errno
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
