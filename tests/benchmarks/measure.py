"""Fair comparisons: contenders take turns in one process, and every round gives one ratio.

A laptop changes its speed while one measures. Times that were taken one after the other cannot be compared; times of
the same round can. So a batch of each contender is run in every round, in changing order, and what is reported is the
median, over the rounds, of ratios and differences within a round.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import timeit
from collections.abc import Callable
from typing import Any

BATCH = 0.003  # seconds: long against the clock's resolution, short against a change of the processor's speed
ROUNDS = 40

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD in malloc.h


def pin_malloc(size: int = 1 << 28) -> bool:
    """Keep glibc from moving its thresholds while we measure: what is freed stays with the process.

    Returns:
        Whether this C library has such thresholds and took them.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(what, size) == 1 for what in (_TRIM_THRESHOLD, _MMAP_THRESHOLD))


def timer(call: Callable[..., Any], *args: Any) -> timeit.Timer:
    """A timer of call(*args), without a function of its own in between."""
    names = {f"a{i}": arg for i, arg in enumerate(args)}
    return timeit.Timer(f"call({', '.join(names)})", globals={"call": call, **names})


class Paired:
    """Seconds per call of several contenders, round by round.

    >>> times = Paired({"short": timer(len, [1]), "long": timer(sorted, list(range(100, 0, -1)))}, rounds=5)
    >>> times.ratio("long", "short") > 1
    True
    """

    def __init__(self, contenders: dict[str, timeit.Timer], rounds: int = ROUNDS, batch: float = BATCH) -> None:
        counts = {name: _count(contender, batch) for name, contender in contenders.items()}
        self.seconds: dict[str, list[float]] = {name: [] for name in contenders}
        order = list(contenders)
        for _ in range(rounds):
            for name in order:
                self.seconds[name].append(contenders[name].timeit(counts[name]) / counts[name])
            order = order[1:] + order[:1]

    def median(self, name: str) -> float:
        """The median time of one call, in seconds."""
        return statistics.median(self.seconds[name])

    def ratio(self, name: str, to: str) -> float:
        """The median of the rounds' ratios."""
        return statistics.median(a / b for a, b in zip(self.seconds[name], self.seconds[to], strict=True))

    def difference(self, name: str, less: str) -> float:
        """The median of the rounds' differences, in seconds."""
        return statistics.median(a - b for a, b in zip(self.seconds[name], self.seconds[less], strict=True))


def _count(contender: timeit.Timer, batch: float) -> int:
    """How many calls fill a batch. The calls made to find out also warm everything up."""
    count = 1
    while (took := contender.timeit(count)) < batch / 4:
        count *= 2
    return max(1, round(count * batch / took))


def expect(got: Any, right: Any) -> None:
    """What gives a wrong answer is not timed."""
    if got != right:
        raise ValueError(f"expected {right!r}, got {got!r}: not timed")
