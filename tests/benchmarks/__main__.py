"""`make bench`: one table of what derivatives and look-ups cost on this machine."""

from __future__ import annotations

import platform

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


def main() -> None:
    pinned = "pinned" if pin_malloc() else "not pinned"
    machine = f"Python {platform.python_version()}, {platform.machine()}"
    print(f"{machine}; malloc thresholds {pinned}; medians of {ROUNDS} interleaved rounds\n")
    print(HEAD, COLUMNS, UNITS, "-" * len(COLUMNS), sep="\n")
    for case in CASES:
        print(row(case), flush=True)
    hit, miss = warm()
    print(
        "\n  generated    the compiled function called directly, as a multiple of the derivative written by hand"
        "\n  gradient()   what gradient(f, x) takes on top of that; grad(): what grad(f), made before, takes"
        "\n  in all       one call of gradient(f, x); autograd's grad(f)(x) is a multiple of it\n"
    )
    print(f"registry: a remembered hit {hit * 1e6:.2f} µs, a remembered miss {miss * 1e6:.2f} µs;", end=" ")
    print(f"1,000 rules on one function, defined and first asked: {many() * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
