"""The watcher's two threads: one gathers what happens in quick succession, one does something every second.

There are two because a stat may hang with the server of its file system, and a `wake` may take its time.
Both are daemons, and neither ever prints.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection

LONGEST_BURST = 0.25


class Bursts:
    """Gathers what happens in quick succession, and tells it once, in a thread of its own.

    Args:
        fire: Called with all that was touched in one burst; must not raise.
        debounce: A burst has ended when nothing is touched for so many seconds, or after a quarter of a second.
    """

    def __init__(self, fire: Callable[[frozenset[str]], None], debounce: float) -> None:
        self._fire, self._debounce = fire, debounce
        self._ready = threading.Condition()
        self._pending: set[str] = set()
        self._first = self._last = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="zad-watcher", daemon=True)
        self._thread.start()

    def touch(self, paths: Collection[str]) -> None:
        """Something happened to these paths; from any thread, and holding it up for no longer than a set's update."""
        if paths:
            with self._ready:
                self._last = time.monotonic()
                if not self._pending:
                    self._first = self._last
                    self._ready.notify()
                self._pending.update(paths)

    def close(self) -> None:
        """End the thread; what is pending is dropped."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        _join(self._thread)

    def _run(self) -> None:
        while True:
            with self._ready:
                while not self._closed and (left := self._left()) != 0:
                    self._ready.wait(left)
                if self._closed:
                    return
                paths = frozenset(self._pending)
                self._pending.clear()
            self._fire(paths)

    def _left(self) -> float | None:
        """The seconds until the burst has ended; None when there is none."""
        if not self._pending:
            return None
        return max(0.0, min(self._last + self._debounce, self._first + LONGEST_BURST) - time.monotonic())


class Poller:
    """Does something at regular intervals, or sooner on demand, in a thread of its own.

    Args:
        lap: What to do; must not raise.
        interval: The seconds between two laps.
    """

    def __init__(self, lap: Callable[[], None], interval: float = 1.0) -> None:
        self._lap, self._interval = lap, interval
        self._next = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="zad-poller", daemon=True)
        self._thread.start()

    def hurry(self) -> None:
        """Begin the next lap now."""
        self._next.set()

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._next.set()
        _join(self._thread)

    def _run(self) -> None:
        while True:
            self._next.wait(self._interval)
            self._next.clear()
            if self._closed:
                return
            self._lap()


def _join(thread: threading.Thread) -> None:
    """Wait for a thread to end, though not for ever: it may be inside a `wake` that waits for us, or a hung stat."""
    if thread is not threading.current_thread():
        thread.join(timeout=2)
