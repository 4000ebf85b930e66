"""Which generation of the rules does a running gradient ask? The one that was current when it started.

Rules may change while a gradient runs: in another thread, or by its own code. What was compiled before it started is
of one generation anyway. What asks while it runs (a call site that chooses at run time, a rule that calls `pullback`,
a gradient within) asks the generation of the scope that the outermost gradient has opened; a pullback keeps its own.
Gradients that ask nothing open no scope and pay nothing.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from ..rules import Generation, registry


class _Local(threading.local):
    generation: Generation | None = None


_local = _Local()
_open: list[Generation] = []  # of the scopes that are open, in any thread


def generation() -> Generation:
    """The generation that is to be asked here and now."""
    found = _local.generation
    return registry.snapshot() if found is None else found


class Scope:
    """A `with` block in which one generation is asked: the given one, else that of the scope around it, else today's.

    >>> with Scope() as outer, Scope() as inner:
    ...     inner is outer
    True
    """

    __slots__ = ("given", "outer", "own")

    def __init__(self, given: Generation | None = None) -> None:
        self.given = given

    def __enter__(self) -> Generation:
        outer = self.outer = _local.generation
        if self.given is None and outer is not None:
            self.own = None
            return outer
        self.own = now = self.given or registry.snapshot()
        _open.append(now)
        while self.given is None and registry.snapshot() is not now:  # changed before others could see this scope
            _open.remove(now)
            self.own = now = registry.snapshot()
            _open.append(now)
        _local.generation = now
        return now

    def __exit__(self, *error: object) -> None:
        _local.generation = self.outer
        if self.own is not None:
            _open.remove(self.own)


def anybody() -> bool:
    """Whether a gradient is running somewhere that may ask for rules."""
    return bool(_open)


def others_behind() -> bool:
    """Whether a gradient is running somewhere that asks an older generation than today's."""
    now = registry.snapshot()
    return any(scope is not now for scope in tuple(_open))


_private: weakref.WeakKeyDictionary[Generation, dict[str, Any]] = weakref.WeakKeyDictionary()


def private(of: Generation) -> dict[str, Any]:
    """A place for what is compiled for a generation that is no longer today's: it goes with it."""
    return _private.setdefault(of, {})
