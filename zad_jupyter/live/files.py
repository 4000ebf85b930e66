"""Is a file's content another than the one in force? Asked of the file itself, at the cost of one stat when it is not.

A stat that is equal proves an equal content, except for a file that was modified just before it was read: the next
write may fall into the same tick of the file system's clock. Such a file ("racily clean", as git calls it) is hashed
again at each look, until it has been left alone for longer than any clock's tick. A modification time proves nothing by
itself: checkouts and archives set it back. The time of the inode's last change cannot be set.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Literal

Verdict = Literal["same", "changed", "gone", "unreadable"]
Stamp = tuple[int, int, int, int, int]

RACY = 2_000_000_000  # ns; the coarsest clock in use is FAT's, of two seconds
GONE = {errno.ENOENT, errno.ENOTDIR}
REMOTE = {"9p", "afs", "ceph", "cifs", "coda", "fuse", "lustre", "ncpfs", "nfs", "nfs4", "vboxsf", "virtiofs"}


class WatchedFile:
    """A file, and the content of it that is in force.

    Attributes:
        path: The path as it was given. It is followed anew at each look: a symlink may point elsewhere by then.
        digest: The hash of the content in force; None when there is none yet.
        error: Why the last look or read failed; None when it did not, or when the file is gone.
    """

    __slots__ = ("_forced", "_seen", "_stamp", "digest", "error", "path")

    def __init__(self, path: str | os.PathLike[str], content: bytes | None = None) -> None:
        """Remember a file and its content.

        Args:
            path: The path as the user knows it.
            content: The content in force; None reads it now. A file that cannot be read now has no content in force,
                and looks changed as soon as it can be.
        """
        self.path = os.fspath(path)
        self.error: OSError | None = None
        self._forced = False
        self._stamp: Stamp | None = None  # what os.stat said of `_seen`; None asks for a read
        self._seen: bytes | None = None  # the digest of what was read last
        self.digest: bytes | None = None
        if content is not None:
            self.accept(content)
            return
        try:
            self.accept(self._read())
        except OSError as error:
            self._failed(error)

    def look(self) -> Verdict:
        """Compare the file with the content in force.

        Returns:
            "same" or "changed"; "gone" when there is no such file; "unreadable" for any other failure, which is then
            in `error` and says nothing about the content.
        """
        try:
            status = os.stat(self.path)
            if self._stamp is None or self._stamp != _stamp(status):
                self._read(status)
        except OSError as error:
            return self._failed(error)
        self.error = None
        return "same" if self._seen == self.digest else "changed"

    def force(self) -> None:
        """Make the next look read the file, whatever its stat says. May be called from any thread."""
        self._forced = True
        self._stamp = None

    def accept(self, content: bytes) -> None:
        """Put a content in force.

        Args:
            content: What was read of the file, now or earlier.
        """
        self.digest = _hash(content)

    def read_stable(self, wait: float = 0.05, deadline: float = 1.0) -> bytes | None:
        """Read the file when nobody is writing it: an in-place save can be read empty, or half.

        Args:
            wait: The content counts when two reads this many seconds apart agree. A file whose inode has not changed
                for twice as long is not waited for.
            deadline: Give up after this many seconds.

        Returns:
            The content, which is not yet in force; None when it did not settle, or could not be read (see `error`).
        """
        end = time.monotonic() + deadline
        previous: tuple[Stamp, bytes] | None = None
        while True:
            try:
                status = os.stat(self.path)
                current = _stamp(status), self._read(status)
                self.error = None
                quiet = time.time() - status.st_ctime > 2 * wait
                if current == previous or (quiet and current == (_stamp(os.stat(self.path)), self._read())):
                    return current[1]
            except OSError as error:
                if self._failed(error) == "unreadable":
                    return None
                current = None  # an editor may be between its two renames
            previous = current
            if time.monotonic() + wait > end:
                return None
            time.sleep(wait)

    def _read(self, status: os.stat_result | None = None) -> bytes:
        """Read and hash the file; `status`, when given, was taken just before."""
        self._forced = False
        status = status or os.stat(self.path)
        if not stat.S_ISREG(status.st_mode):  # opening a named pipe would wait for its writer
            raise OSError(errno.EINVAL, "not a regular file", self.path)
        now = time.time_ns()
        with open(self.path, "rb", buffering=0) as file:
            content = file.readall()
        self._seen = _hash(content)
        racy = status.st_ctime_ns > now - RACY or abs(status.st_mtime_ns - now) < RACY
        self._stamp = None if racy else _stamp(status)
        if self._forced:  # while we were reading; asked after the stamp is kept, or `force` could be overwritten
            self._stamp = None
        return content

    def _failed(self, error: OSError) -> Verdict:
        self._stamp = None
        gone = error.errno in GONE
        self.error = None if gone else error
        return "gone" if gone else "unreadable"


def dirty(files: Iterable[WatchedFile]) -> list[WatchedFile]:
    """Look at many files.

    Args:
        files: The files to look at.

    Returns:
        Those that do not look the same, in the order given.
    """
    found = []
    look_at = os.stat
    for file in files:
        try:  # what `look` does first, without the call: this loop runs before every cell
            s = look_at(file.path)
            if (s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) == file._stamp and (
                file._seen == file.digest
            ):
                continue
        except OSError:
            pass
        if file.look() != "same":
            found.append(file)
    return found


def is_remote(path: str | os.PathLike[str], mounts: str | os.PathLike[str] = "/proc/self/mountinfo") -> bool:
    """Tell whether a path is on a file system whose changes can come from elsewhere, so that no event tells of them.

    Args:
        path: A file or folder; it need not exist.
        mounts: The kernel's table of mounts, as proc(5) describes it.

    Returns:
        True for network and user-space file systems; False for all others, and where there is no such table.
    """
    where = os.path.realpath(path)
    longest, kind = "", ""
    try:
        table = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    for line in table.splitlines():
        left, _, right = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), left.split(" ")[4])
        inside = where == point or where.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(longest):  # of two mounts on one point, the later one hides the other
            longest, kind = point, right.split(" ")[0]
    return kind in REMOTE or kind.startswith(("fuse.", "smb"))


def _hash(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


def _stamp(status: os.stat_result) -> Stamp:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
