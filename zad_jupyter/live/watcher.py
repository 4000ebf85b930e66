"""Says soon after a save which files are worth a look. It wakes, it never tells the truth: `files` does that.

Folders are watched, not files: most editors save by renaming another file into place. Events come under real paths, so
a file is awaited wherever one is replaced when it changes: the file itself, and each symlink that leads to it. What
makes no event is looked at once a second: that a folder is another one than it was (renamed, re-created, linked
elsewhere), and the files for which there are no events at all. A file written through mmap wakes nobody.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .files import is_remote
from .threads import Bursts, Poller
from .ways import Step, identity, stamp, way

if TYPE_CHECKING:  # imported with the first file: it takes 30 ms, and many sessions watch nothing
    from watchdog.events import FileSystemEvent

Mode = Literal["off", "events", "polling", "mixed"]

WORTH_A_LOOK = {"modified", "closed", "created", "moved", "deleted", "attrib"}


class Watcher:
    """Calls a function when watched files may have changed. All methods may be called from any thread.

    Attributes:
        failure: The last exception that `wake` raised; it has no other consequence.
    """

    def __init__(
        self,
        wake: Callable[[frozenset[str]], object],
        debounce: float = 0.05,
        remote: Callable[[str], bool] = is_remote,
    ) -> None:
        """Make a watcher that watches nothing: it has no threads until the first `add`.

        Args:
            wake: Called from a thread of the watcher with the paths, as they were added, that changed in one burst.
            debounce: A burst has ended when nothing more happens for so many seconds, or after a quarter of a second.
            remote: Tells of a folder whether its file system has no events for what others change.
        """
        self.failure: BaseException | None = None
        self._wake, self._debounce, self._remote = wake, debounce, remote
        # Watchdog calls us holding its own lock, and we call it holding this one: its thread must never wait for it.
        self._lock = threading.RLock()
        self._files: dict[str, _File] = {}
        self._folders: dict[str, _Folder] = {}  # by real path
        self._spots: dict[str, frozenset[str]] = {}  # the real path of a file or link: the watched paths through it
        self._handler: Any = _Handler(self._event)
        self._lost: deque[str] = deque()  # folders whose watch has ended with them
        self._observer: Any = None
        self._refused = ""  # why there is no observer
        self._bursts: Bursts | None = None
        self._poller: Poller | None = None

    def add(self, path: str | os.PathLike[str]) -> None:
        """Watch a file. What happened to it before is not told: look at it after this call.

        Args:
            path: The file, which need not exist. Where events cannot be had it is looked at once a second instead.
        """
        path = os.fspath(path)
        with self._lock:
            if path in self._files:
                return
            if not self._files:
                self._refused = ""
            if self._bursts is None or self._poller is None:
                self._bursts = Bursts(self._fire, self._debounce)
                self._poller = Poller(self._lap)
            self._connect(path)

    def remove(self, path: str | os.PathLike[str]) -> None:
        """Stop watching a file; one that is not watched is no error.

        Args:
            path: As it was given to `add`.
        """
        with self._lock:
            if os.fspath(path) in self._files:
                self._disconnect(os.fspath(path))

    def close(self) -> None:
        """Stop watching, and end all threads. A later `add` starts anew."""
        with self._lock:
            for path in list(self._files):
                self._disconnect(path)
            observer, self._observer, self._refused = self._observer, None, ""
            bursts, self._bursts = self._bursts, None
            poller, self._poller = self._poller, None
        if observer is not None:
            observer.stop()
            observer.join()
        for thread in (bursts, poller):
            if thread is not None:
                thread.close()

    @property
    def mode(self) -> Mode:
        """How changes are seen: "off" when nothing is watched, "events", "polling", or "mixed"."""
        with self._lock:
            seen: set[Mode] = {"polling" if file.obstacle else "events" for file in self._files.values()}
        return "mixed" if len(seen) == 2 else seen.pop() if seen else "off"

    @property
    def why(self) -> str:
        """Which files are looked at once a second and why, a line for each reason; empty when none is."""
        reasons: dict[str, list[str]] = {}
        with self._lock:
            for path, file in self._files.items():
                if file.obstacle:
                    reasons.setdefault(file.obstacle, []).append(os.sep.join(path.split(os.sep)[-2:]))
        lines = []
        for reason, names in reasons.items():
            who = ", ".join(names) if len(names) < 4 else f"{names[0]} and {len(names) - 1} others"
            lines.append(f"{who}: looked at once a second, because {reason}")
        return "\n".join(lines)

    def _connect(self, path: str) -> None:
        """Watch the folders that a file's path leads through. The lock is held."""
        file = self._files[path] = _File(way(path), stamp(path))
        for step in file.way:
            obstacle = self._watch(step, path)
            file.obstacle = file.obstacle or obstacle
            self._spots[step.spot] = self._spots.get(step.spot, frozenset()) | {path}

    def _disconnect(self, path: str) -> None:
        """Release what only this file needs. The lock is held."""
        for step in self._files.pop(path).way:
            others = self._spots.get(step.spot, frozenset()) - {path}
            if others:
                self._spots[step.spot] = others
            else:
                self._spots.pop(step.spot, None)
            folder = self._folders.get(step.real)
            if folder is not None:
                folder.users = folder.users - {path}
                if not folder.users:
                    self._release(step.real)

    def _watch(self, step: Step, path: str) -> str:
        """Watch a folder on behalf of a file; returns what hinders it, or "". The lock is held."""
        real = step.real
        folder = self._folders.get(real)
        if folder is not None and folder.identity != step.identity:
            self._release(real)
        elif folder is not None:
            folder.users = folder.users | {path}
            return ""
        if not isinstance(step.identity, tuple):
            return f"{real} is not there"
        if self._remote(real):
            return f"{real} is on a file system that others change, without events here"
        if not os.access(real, os.R_OK):  # watchdog would take this for success, and stay silent
            return f"{real} cannot be read"
        try:
            watch = self._start().schedule(self._handler, real)
        except (OSError, RuntimeError) as error:
            return getattr(error, "strerror", None) or str(error)
        users = frozenset({path}) if folder is None else folder.users | {path}
        self._folders[real] = _Folder(watch, step.identity, users)
        return ""

    def _release(self, real: str) -> None:
        with contextlib.suppress(KeyError, OSError, RuntimeError):  # its thread may have ended with the folder
            self._observer.unschedule(self._folders.pop(real).watch)

    def _start(self) -> Any:
        """The running observer. Raises OSError when there can be none; that is asked once, until all files are gone."""
        if self._observer is None:
            if self._refused:
                raise OSError(self._refused)
            from watchdog.observers import Observer

            # Without a handler of its own, what watchdog logs from its threads would be printed into some cell.
            logging.getLogger("watchdog").addHandler(_QUIET)
            try:
                observer = Observer()
                observer.start()
            except (OSError, RuntimeError) as error:
                self._refused = getattr(error, "strerror", None) or str(error)
                raise OSError(self._refused) from error
            self._observer = observer
        return self._observer

    def _event(self, event: FileSystemEvent) -> None:
        """In watchdog's thread: takes no lock but the burst's, and never raises."""
        bursts, poller = self._bursts, self._poller
        if event.event_type not in WORTH_A_LOOK or bursts is None or poller is None:
            return
        for name in (event.src_path, getattr(event, "dest_path", "")):
            where = os.fsdecode(name) if name else ""
            bursts.touch(self._spots.get(where, ()))
            folder = self._folders.get(where)
            if folder is not None and event.event_type == "deleted":
                self._lost.append(where)
                bursts.touch(folder.users)
        if event.is_directory and event.event_type in ("created", "moved", "deleted"):
            poller.hurry()  # it may be a folder of ours

    def _fire(self, paths: frozenset[str]) -> None:
        """In the bursts' thread. Connects anew whatever is not: a link may lead elsewhere, a folder may be back."""
        with self._lock:
            cut: set[str] = set()
            while self._lost:
                if (folder := self._folders.get(real := self._lost.popleft())) is not None:
                    cut |= folder.users
                    self._release(real)
            for path in (paths | cut) & self._files.keys():
                file = self._files[path]
                if path in cut or file.obstacle or file.way != way(path):
                    self._disconnect(path)
                    self._connect(path)
            paths = paths & self._files.keys()
        if paths:
            try:
                self._wake(paths)
            except BaseException as error:  # whoever is woken must not end the watching
                self.failure = error

    def _lap(self) -> None:
        """In the poller's thread: finds the folders that became others, and the polled files that changed."""
        with self._lock:
            files, bursts = list(self._files.items()), self._bursts
        identities: dict[str, object] = {}
        changed = []
        for path, file in files:
            for step in file.way:
                if step.written not in identities:
                    identities[step.written] = identity(step.written)
                if identities[step.written] != step.identity:
                    changed.append(path)
            if file.obstacle and (now := stamp(path)) != file.stamp:
                file.stamp = now
                changed.append(path)
        if bursts is not None:
            bursts.touch(changed)


_QUIET = logging.NullHandler()


@dataclass
class _File:
    """How one file is watched."""

    way: list[Step]
    stamp: object
    obstacle: str = ""  # why there are no events


@dataclass
class _Folder:
    """A folder that watchdog watches for us."""

    watch: Any
    identity: object
    users: frozenset[str]  # replaced, never changed: watchdog's thread reads it without a lock


class _Handler:
    """What watchdog wants of a handler, without a call for each kind of event."""

    def __init__(self, dispatch: Callable[[FileSystemEvent], None]) -> None:
        self.dispatch = dispatch
