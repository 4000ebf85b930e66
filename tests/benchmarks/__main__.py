"""`make bench`: what derivatives, look-ups and edits cost on this machine."""

from __future__ import annotations

import platform
import statistics
import sys

from . import edits
from .cases import CASES, Case
from .first import first
from .lookup import many, warm
from .measure import ROUNDS, pin_malloc
from .steady import steady

HEAD = f"{'':12}| {'first call, ms':^18}| {'steady call':^62}"
COLUMNS = (
    f"{'derivative':12}| {'zad':>8} {'autograd':>8} | {'by hand':>9} {'generated':>10} {'gradient()':>11} {'grad()':>9}"
    f" {'in all':>9} {'autograd':>9}"
)
UNITS = f"{'':12}| {'ms':>8} {'ms':>8} | {'µs':>9} {'× by hand':>10} {'+ µs':>11} {'+ µs':>9} {'µs':>9} {'× in all':>9}"


def row(case: Case) -> str:
    cold = f"{first(case, 'zad'):8.1f} {first(case, 'autograd'):8.1f}"
    warm_ = steady(case)
    return (
        f"{case.name:12}| {cold} | {warm_.by_hand * 1e6:9.3f} {warm_.generated:10.2f} {warm_.gradient * 1e6:11.2f}"
        f" {warm_.grad * 1e6:9.2f} {warm_.whole * 1e6:9.2f} {warm_.autograd:9.1f}"
    )


def figure(what: str, found: str, budget: str, kept: bool) -> None:
    """Print a figure with its budget beside it."""
    print(f"  {what:<36} {found:<44} {budget}{'' if kept else '    OVER'}", flush=True)


def doing(what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)


def live() -> None:
    """What following edits costs."""
    print("\nlive:", flush=True)
    doing("saving a rule file 80 times")
    waits = [1e3 * seconds for seconds in edits.saves()]
    p95 = statistics.quantiles(waits, n=20)[-1]
    both = f"p50 {statistics.median(waits):.0f} ms, p95 {p95:.0f} ms"
    figure("save → registry changed", both, "p95 ≤ 150 ms", p95 <= 150)
    cell = 1e3 * edits.unchanged()
    figure("a cell, 350 modules, none changed", f"{cell:.2f} ms", "≤ 0.5 ms", cell <= 0.5)
    doing("reloading a file 200 times beside a list of 5 million elements")
    first_ones, last_ones = edits.reloads()
    ratio = last_ones / first_ones
    times = f"{1e3 * first_ones:.1f} ms the first 20, {1e3 * last_ones:.1f} ms the last"
    figure("200 reloads beside 5 M elements", f"{times}: × {ratio:.2f}", "≤ × 1.2", ratio <= 1.2)
    doing("the same with every allocation counted")
    grown = edits.growth() / 1e6
    figure("memory, from the 20th to the 200th", f"{grown:+.2f} MB", "≤ 1 MB", grown <= 1)
    doing("compiling 10,000 gradients: a minute or two")
    drop = edits.drops()
    took = f"{1e3 * drop.seconds:.1f} ms, {drop.dropped} dropped each time"
    figure("a rule of 10 in 10,000 gradients", took, "≤ 2 ms, exactly 10", drop.seconds <= 0.002)


def main() -> None:
    pinned = "pinned" if pin_malloc() else "not pinned"
    machine = f"Python {platform.python_version()}, {platform.machine()}"
    print(f"{machine}; malloc thresholds {pinned}; medians of {ROUNDS} interleaved rounds\n")
    print(HEAD, COLUMNS, UNITS, "-" * len(COLUMNS), sep="\n")
    for case in CASES:
        print(row(case), flush=True)
    hit, miss = warm()
    print(
        "\n  generated    the compiled derivative without the check in front of it, as a multiple of the one by hand"
        "\n  gradient()   what gradient(f, x) takes on top of that, its check included; grad(): what grad(f) takes"
        "\n  in all       one call of gradient(f, x); autograd's grad(f)(x) is a multiple of it\n"
    )
    print(f"registry: a remembered hit {hit * 1e6:.2f} µs, a remembered miss {miss * 1e6:.2f} µs;", end=" ")
    print(f"1,000 rules on one function, defined and first asked: {many() * 1e3:.0f} ms")
    live()


if __name__ == "__main__":
    main()
