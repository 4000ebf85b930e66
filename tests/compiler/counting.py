"""How much is compiled, and rules that are easily recognised."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zad_jupyter import registry, rrule


def compilations() -> int:
    return registry.statistics()["compilations"]


@contextmanager
def compiling(at_least: int = 0, at_most: int = 10**6) -> Iterator[None]:
    before = compilations()
    yield
    made = compilations() - before
    assert at_least <= made <= at_most, f"{made} compilations"


@contextmanager
def nothing_compiled() -> Iterator[None]:
    with compiling(0, 0):
        yield


def a_rule(f: Any, slope: float, **annotations: Any) -> Any:
    """A rule for a function of one number, with any slope: wrong ones are easily recognised."""

    def rule(x):
        return f(x), lambda ybar: ybar * slope

    rule.__annotations__ = annotations
    return rrule(f)(rule)
