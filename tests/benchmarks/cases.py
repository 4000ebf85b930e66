"""What is measured: five derivatives, each with the one that a careful person would write by hand.

They are the cases by which source-to-source differentiation is usually shown: an elementary function, a polynomial, a
function with a call, branches and lists, and derivatives of derivatives, which is where compilers of derivatives
explode.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import autograd
import autograd.numpy as anp

from zad_jupyter import grad


def polynomial(x: Any) -> Any:
    return 4 * x**3 + 3 * x**2 + 2 * x + 1


def foo_inner(x: Any) -> Any:
    a = max(x, x**2) * x
    if a > 0:
        return math.prod([a, 2 * a, 3 * a])
    else:
        return sum([a, 2 * a, 3 * a])


def foo(x: Any) -> Any:
    return foo_inner(x) + foo_inner(-x)


# By hand. foo_inner is 6a³ where a > 0 and 6a elsewhere, with a = max(x², x³).


def polynomial_slope(x: float) -> float:
    return 12 * x**2 + 6 * x + 2


def foo_inner_slope(x: float) -> float:
    square = x**2
    a = max(x, square) * x
    slope = 2 * x if x >= square else 3 * square
    if a > 0:
        return 18 * a**2 * slope
    else:
        return 6 * slope


def foo_slope(x: float) -> float:
    return foo_inner_slope(x) - foo_inner_slope(-x)


def sin1(x: float) -> float:
    return math.cos(x)


def sin2(x: float) -> float:
    return -math.sin(x)


def sin3(x: float) -> float:
    return -math.cos(x)


@dataclass(frozen=True)
class Case:
    """One derivative at one point.

    Attributes:
        name: as mathematics writes it.
        f: the function whose gradient is taken by zad: for a higher order it is a derivative itself.
        x: the point.
        by_hand: the derivative of f, written by a person.
        by_autograd: the same derivative by HIPS autograd.
    """

    name: str
    f: Callable[[Any], Any]
    x: float
    by_hand: Callable[[float], float]
    by_autograd: Callable[[float], Any]


CASES = [
    Case("sin'(0.5)", math.sin, 0.5, sin1, autograd.grad(anp.sin)),
    Case("f'(π)", polynomial, math.pi, polynomial_slope, autograd.grad(polynomial)),
    Case("foo'(0.5)", foo, 0.5, foo_slope, autograd.grad(foo)),
    Case("sin''(0.5)", grad(math.sin), 0.5, sin2, autograd.grad(autograd.grad(anp.sin))),
    Case("sin'''(0.5)", grad(grad(math.sin)), 0.5, sin3, autograd.grad(autograd.grad(autograd.grad(anp.sin)))),
]


def check(case: Case, got: Any, who: str) -> None:
    """Refuse to time a wrong answer.

    Raises:
        ValueError: what `who` gave is not the derivative.
    """
    right = case.by_hand(case.x)
    if not math.isclose(float(got), right, rel_tol=1e-12):
        raise ValueError(f"{case.name} by {who} is {got!r}, and should be {right!r}: not timed")
