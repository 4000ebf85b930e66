"""What a derivative costs once it is compiled: the generated code alone, and the doors on top of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zad_jupyter import grad, gradient
from zad_jupyter.compiler.doors import entry_for

from .cases import Case, check
from .measure import ROUNDS, Paired, timer


@dataclass(frozen=True)
class Steady:
    """One row, in seconds and ratios.

    Attributes:
        by_hand: a call of the derivative written by hand.
        generated: the generated derivative without the check in front of it, as a multiple of `by_hand`.
        gradient, grad: what `gradient(f, x)` and `grad(f)(x)` take more than that.
        whole: `gradient(f, x)`.
        autograd: as a multiple of `whole`.
    """

    by_hand: float
    generated: float
    gradient: float
    grad: float
    whole: float
    autograd: float


def bare(case: Case) -> Callable[..., Any]:
    """The generated function without its check: what the compiler has made of the derivative."""
    made = entry_for(case.f, (case.x,), {}).code[-1]
    names = dict(made.function.__globals__)
    exec(made.derivative, names)
    return names[made.function.__name__]


def steady(case: Case, rounds: int = ROUNDS) -> Steady:
    """Time one case. Every contender's answer is checked first."""
    derivative = grad(case.f)
    check(case, gradient(case.f, case.x)[0], "gradient")
    check(case, derivative(case.x), "grad")
    check(case, case.by_autograd(case.x), "autograd")
    run = bare(case)
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
