"""Derivatives of arithmetic and of `math`: each rule a line, partial derivatives as expressions.

The formulas are those of any table of derivatives (Abramowitz & Stegun, chapters 4 and 6).
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from numbers import Number, Real
from typing import Any

import numpy as np

from ..rules import expression_rule, non_differentiable, scalar_rule

SCALAR = Number | bool | np.bool_  # `x * (x > 0)`: a bool is no Number to us, but arithmetic takes it for one


def rule(f: Callable[..., Any], *partials: Callable[..., Any] | None) -> None:
    scalar_rule(f, *partials, types=(SCALAR,) * len(partials), layer="shipped")


rule(operator.add, lambda a, b, out: 1.0, lambda a, b, out: 1.0)
rule(operator.sub, lambda a, b, out: 1.0, lambda a, b, out: -1.0)
rule(operator.mul, lambda a, b, out: b, lambda a, b, out: a)
rule(operator.truediv, lambda a, b, out: 1.0 / b, lambda a, b, out: -out / b)
rule(operator.pow, lambda a, b, out: power_slope(a, b), lambda a, b, out: power_rise(a, b, out))
rule(operator.neg, lambda a, out: -1.0)
rule(operator.pos, lambda a, out: 1.0)
rule(operator.mod, lambda a, b, out: 1.0, lambda a, b, out: -(a // b))
scalar_rule(abs, lambda a, out: sign(a), types=(Real,), layer="shipped")
scalar_rule(abs, lambda a, out: a.conjugate() / out, types=(complex | np.complexfloating,), layer="shipped")
rule(float, lambda x, out: 1.0)
rule(math.fabs, lambda x, out: sign(x))

rule(math.sin, lambda x, out: math.cos(x))
rule(math.cos, lambda x, out: -math.sin(x))
rule(math.tan, lambda x, out: 1.0 + out * out)
rule(math.asin, lambda x, out: 1.0 / math.sqrt(1.0 - x * x))
rule(math.acos, lambda x, out: -1.0 / math.sqrt(1.0 - x * x))
rule(math.atan, lambda x, out: 1.0 / (1.0 + x * x))
rule(math.atan2, lambda y, x, out: x / (x * x + y * y), lambda y, x, out: -y / (x * x + y * y))
rule(math.sinh, lambda x, out: math.cosh(x))
rule(math.cosh, lambda x, out: math.sinh(x))
rule(math.tanh, lambda x, out: 1.0 - out * out)
rule(math.asinh, lambda x, out: 1.0 / math.sqrt(x * x + 1.0))
rule(math.acosh, lambda x, out: 1.0 / math.sqrt(x * x - 1.0))
rule(math.atanh, lambda x, out: 1.0 / (1.0 - x * x))
rule(math.exp, lambda x, out: out)
rule(math.expm1, lambda x, out: out + 1.0)
rule(math.exp2, lambda x, out: out * 0.6931471805599453)
rule(math.log1p, lambda x, out: 1.0 / (1.0 + x))
rule(math.log2, lambda x, out: 1.4426950408889634 / x)
rule(math.log10, lambda x, out: 0.4342944819032518 / x)
rule(math.log, lambda x, out: 1.0 / x)
rule(math.log, lambda x, base, out: 1.0 / (x * math.log(base)), lambda x, base, out: -out / (base * math.log(base)))
rule(math.sqrt, lambda x, out: 0.5 / out)
rule(math.cbrt, lambda x, out: 1.0 / (3.0 * out * out))
rule(math.pow, lambda a, b, out: power_slope(a, b), lambda a, b, out: power_rise(a, b, out))
rule(math.hypot, lambda x, y, out: x / out, lambda x, y, out: y / out)
rule(math.fmod, lambda a, b, out: 1.0, lambda a, b, out: -(a - out) / b)
rule(math.copysign, lambda a, b, out: sign(a) * sign(out), lambda a, b, out: 0.0)
rule(math.degrees, lambda x, out: 57.29577951308232)
rule(math.radians, lambda x, out: 0.017453292519943295)
rule(math.erf, lambda x, out: 1.1283791670955126 * math.exp(-x * x))
rule(math.erfc, lambda x, out: -1.1283791670955126 * math.exp(-x * x))
rule(math.ldexp, lambda x, n, out: 2.0**n, None)
# Python's max and min give their first argument at a tie.
expression_rule(max, (Number, Number), lambda a, b, out, g: (g * (a >= b), g * (a < b)), layer="shipped")
expression_rule(min, (Number, Number), lambda a, b, out, g: (g * (a <= b), g * (a > b)), layer="shipped")

non_differentiable(
    math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose, math.gcd, math.factorial,
    math.comb, math.perm, math.isqrt, operator.floordiv, operator.lt, operator.le, operator.gt,
    operator.ge, operator.eq, operator.ne, operator.not_, operator.is_, operator.is_not, operator.contains,
    operator.and_, operator.or_, operator.xor, operator.invert, operator.index, int, round, bool, str, repr, format,
    print, isinstance, len, type, id, hash, callable, hasattr, issubclass, any, all, range, builtins.ascii, slice,
    operator.truth, str.__mod__, str.format, str.format_map, str.join,
    layer="shipped",
)  # fmt: skip


def sign(x: Any) -> float:
    """The slope of |x|; 0 at 0, midway between the slopes on either side."""
    return 1.0 if x > 0 else -1.0 if x < 0 else 0.0


def power_slope(a: Any, b: Any) -> Any:
    """The derivative of a**b with respect to a, also where a is 0."""
    if b == 0:
        return 0.0
    return b * a ** (b - 1)


def power_rise(a: Any, b: Any, out: Any) -> Any:
    """The derivative of a**b with respect to b; 0 at a = 0, where it is the limit from above."""
    if a == 0:
        return 0.0
    return out * log(a)


def log(a: Any) -> Any:
    """The real logarithm where there is one."""
    return math.log(a)
