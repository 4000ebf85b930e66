"""Waiting for what a watcher tells, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


class Woken:
    """What a watcher told, and when."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, frozenset[str]]] = []

    def __call__(self, paths: frozenset[str]) -> None:
        self.calls.append((time.monotonic(), paths))

    def by(self, path: Path, action: Callable[[], object], within: float = 1.0) -> float:
        """Do something, and return after how many seconds the path was told; fails when it is not."""
        self.calls.clear()
        start = time.monotonic()
        action()
        until(lambda: any(str(path) in paths for _, paths in self.calls), within)
        return next(at for at, paths in self.calls if str(path) in paths) - start

    def quiet(self) -> None:
        """Wait until nothing was told for longer than any burst lasts."""
        while True:
            before = len(self.calls)
            time.sleep(0.35)
            if len(self.calls) == before:
                break
        self.calls.clear()


def until(condition: Callable[[], bool], within: float = 3.0) -> None:
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, f"not within {within} s"
        time.sleep(0.002)
