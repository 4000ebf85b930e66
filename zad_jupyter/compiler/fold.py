"""Arithmetic that needs no code: of constants, with the number one, and questions that the types already answer."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from . import types as T
from .ir import Const
from .values import Val, const

FOLDABLE: dict[Callable[..., Any], int] = {
    operator.add: 2, operator.sub: 2, operator.mul: 2, operator.truediv: 2, operator.pow: 2, operator.neg: 1,
    operator.floordiv: 2, operator.mod: 2, operator.lt: 2, operator.le: 2, operator.gt: 2, operator.ge: 2,
    operator.eq: 2, operator.ne: 2, operator.not_: 1,
}  # fmt: skip
PLAIN = (int, float, bool)
FLOATS = (T.FLOAT, T.FLOAT64, T.FLOATING)


def fold(f: Any, args: list[Val], kwargs: dict[str, Val]) -> Val | None:
    """The value of a call that needs no code, or None."""
    if kwargs:
        return None
    if f is operator.is_ or f is operator.is_not:
        return _identity(args, f is operator.is_)
    if f is range and all(isinstance(arg.atom, Const) and type(arg.atom.value) is int for arg in args):
        numbers = range(*[arg.atom.value for arg in args if isinstance(arg.atom, Const)])
        return const(numbers) if len(numbers) <= 32 else None
    try:
        count = FOLDABLE.get(f)
    except TypeError:
        return None
    if count != len(args):
        return None
    known = [arg.atom.value for arg in args if isinstance(arg.atom, Const) and type(arg.atom.value) in PLAIN]
    if len(known) == count:
        try:
            result = f(*known)
        except Exception:  # the user's code will raise it where it belongs
            return None
        return const(result) if type(result) in PLAIN and abs(result) < 1 << 64 else None
    return _with_one(f, args)


def _with_one(f: Any, args: list[Val]) -> Val | None:
    """x*1.0, x**1 and x/1.0 are x, where x is a float already: with an int they would make a float of it."""
    if len(args) != 2:
        return None
    a, b = args
    if f is operator.mul:
        if _is(a, 1) and b.type in FLOATS:
            return b
        if _is(b, 1) and a.type in FLOATS:
            return a
    elif f is operator.pow or f is operator.truediv:
        if _is(b, 1) and a.type in FLOATS:
            return a
        if f is operator.pow and _is(b, 0) and a.type == T.FLOAT:
            return const(1.0)
    return None


def product(f: Any, args: list[Val]) -> tuple[float, Val] | None:
    """The constant and the float of a multiplication by a constant, in either order."""
    if f is not operator.mul or len(args) != 2:
        return None
    for a, b in (args, args[::-1]):
        if isinstance(a.atom, Const) and type(a.atom.value) in (int, float) and b.type == T.FLOAT and b.atom:
            return (float(a.atom.value), b) if not isinstance(b.atom, Const) and abs(a.atom.value) < 1 << 53 else None
    return None


def exactly(a: float, b: float) -> float | None:
    """One factor for `a * (b * x)`, where it gives the same bits for every float x.

    A power of two rounds nothing; nor does a whole number among the smallest floats, whose last digits a later power
    of two would make visible. What overflows on the way overflows in the end, if no factor makes it smaller again.
    """
    once = _is_power_of_two(b) or (_is_power_of_two(a) and b.is_integer())
    return a * b if once and min(abs(a), abs(b)) >= 1 and math.isfinite(a * b) else None


def _is_power_of_two(number: float) -> bool:
    return abs(math.frexp(number)[0]) == 0.5


def _is(value: Val, number: int) -> bool:
    atom = value.atom
    return isinstance(atom, Const) and type(atom.value) in (int, float) and bool(atom.value == number)


def _identity(args: list[Val], positive: bool) -> Val | None:
    """`x is None`, where the type of x says it."""
    a, b = args
    if isinstance(a.atom, Const) and isinstance(b.atom, Const):
        return const((a.atom.value is b.atom.value) is positive)
    if not (isinstance(b.atom, Const) and b.atom.value is None):
        return None
    if a.items is not None or (T.class_of(a.type) is not None or a.type in T.SCALARS):
        return const((a.type == T.NONE) is positive)
    return None
