"""What a derivative costs once it is compiled: the generated code alone, and the doors on top of it."""

from __future__ import annotations

from dataclasses import dataclass

from zad_jupyter import grad, gradient
from zad_jupyter.compiler.doors import entry_for

from .cases import Case, check
from .measure import ROUNDS, Paired, timer


@dataclass(frozen=True)
class Steady:
    """One row, in seconds and ratios.

    Attributes:
        by_hand: a call of the derivative written by hand.
        generated: the generated function, as a multiple of `by_hand`.
        gradient, grad: what `gradient(f, x)` and `grad(f)(x)` take more than the generated function.
        whole: `gradient(f, x)`.
        autograd: as a multiple of `whole`.
    """

    by_hand: float
    generated: float
    gradient: float
    grad: float
    whole: float
    autograd: float


def steady(case: Case, rounds: int = ROUNDS) -> Steady:
    """Time one case. Every contender's answer is checked first."""
    derivative = grad(case.f)
    check(case, gradient(case.f, case.x)[0], "gradient")
    check(case, derivative(case.x), "grad")
    check(case, case.by_autograd(case.x), "autograd")
    run = entry_for(case.f, (case.x,), {}).run
    check(case, run(case.f, case.x)[0], "the generated code")
    times = Paired(
        {
            "by hand": timer(case.by_hand, case.x),
            "generated": timer(run, case.f, case.x),
            "gradient": timer(gradient, case.f, case.x),
            "grad": timer(derivative, case.x),
            "autograd": timer(case.by_autograd, case.x),
        },
        rounds,
    )
    return Steady(
        times.median("by hand"),
        times.ratio("generated", "by hand"),
        times.difference("gradient", "generated"),
        times.difference("grad", "generated"),
        times.median("gradient"),
        times.ratio("autograd", "gradient"),
    )
