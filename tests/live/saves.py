"""Saving a file, in the ways in which editors and tools do it. Each takes the file and its new text."""

from __future__ import annotations

import mmap
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Save = Callable[[Path, str], None]


def in_place(path: Path, text: str) -> None:
    """As nano and most scripts do."""
    path.write_text(text)


def by_replace(path: Path, text: str) -> None:
    """A temporary file in the same folder takes the file's place: JupyterLab, PyCharm, sed -i."""
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_text(text)
    os.replace(beside, path)


def from_elsewhere(path: Path, text: str) -> None:
    """A temporary file from another folder takes the file's place: mv from a build folder, some sync tools."""
    with tempfile.TemporaryDirectory(dir=path.parent.parent) as folder:
        other = Path(folder) / path.name
        other.write_text(text)
        os.replace(other, path)


def vim(path: Path, text: str) -> None:
    """The file becomes the backup, and a new one is written: vim with `backupcopy=no`."""
    backup = path.with_name(path.name + "~")
    os.rename(path, backup)
    path.write_text(text)
    backup.unlink()


def truncate_then_write(path: Path, text: str) -> None:
    """In place, with a pause in which the file is empty."""
    with path.open("w") as file:
        file.flush()
        time.sleep(0.02)
        file.write(text)


def mmapped(path: Path, text: str) -> None:
    """Through memory; the text must be as long as the one before. Makes no event."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[:] = text.encode()
        memory.flush()


def older_mtime(path: Path, text: str) -> None:
    """An older version is put in its place with its own time: rsync, tar, backups."""
    by_replace(path, text)
    hour_ago = time.time() - 3600
    os.utime(path, (hour_ago, hour_ago))


def same_stat(path: Path, text: str) -> None:
    """In place and with the modification time set back; the text must be as long as the one before."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


ALL: dict[str, Save] = {
    save.__name__: save
    for save in (in_place, by_replace, from_elsewhere, vim, truncate_then_write, mmapped, older_mtime, same_stat)
}
EVENTS = {name: save for name, save in ALL.items() if name != "mmapped"}  # those that make events
OLD, NEW = "rule = 1\n", "rule = 2\n"
