"""What asking the registry costs: an answer that is remembered, and a function with a thousand rules."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from zad_jupyter.rules import Registry, registry, rrule

from .measure import ROUNDS, Paired, expect, timer


def with_rule(x: Any) -> Any:
    return x


def without_rule(x: Any) -> Any:
    return x


def warm(rounds: int = ROUNDS) -> tuple[float, float]:
    """Seconds for a remembered hit and a remembered "no rule", in the registry with all that ships."""
    with registry.transaction("benchmarks"):
        rrule(with_rule)(_rule_for(float))
    try:
        expect(registry.select(with_rule, (float,)).outcome, "hit")
        expect(registry.select(without_rule, (float,)).outcome, "none")
        times = Paired(
            {
                "hit": timer(registry.select, with_rule, (float,)),
                "miss": timer(registry.select, without_rule, (float,)),
            },
            rounds,
        )
    finally:
        with registry.transaction("benchmarks"):
            pass
    return times.median("hit"), times.median("miss")


def many(count: int = 1000, times: int = 3) -> float:
    """Seconds to define so many rules on one function, one by one, and to ask for one of them."""
    classes = [type(f"C{i}", (), {}) for i in range(count)]
    found = []
    for _ in range(times):
        mine = Registry()
        began = time.perf_counter()
        for cls in classes:
            rrule(with_rule, into=mine)(_rule_for(cls))
        answer = mine.select(with_rule, (classes[count // 2],))
        found.append(time.perf_counter() - began)
        expect(answer.outcome, "hit")
        expect(len(mine.rules(with_rule)), count)
    return statistics.median(found)


def _rule_for(cls: type) -> Callable[..., Any]:
    def rule(x):  # type: ignore[no-untyped-def]
        return x, lambda ybar: ybar

    rule.__annotations__ = {"x": cls}
    return rule
