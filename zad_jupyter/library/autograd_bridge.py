"""NumPy's other derivatives: the table of HIPS autograd, as rules of ours.

Every entry of `autograd.core.primitive_vjps` becomes a shipped rule for NumPy's own function. Its pullback calls
autograd's formula directly; when that pullback is differentiated in turn, autograd's tracer gives the derivative of the
formula, to any order, since the formulas are written in functions of the same table.

Maclaurin, Duvenaud, Adams: Autograd: effortless gradients in NumPy (2015); https://github.com/HIPS/autograd (MIT).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.core import SparseObject, make_vjp, primitive_vjps, vspace
from autograd.numpy import fft as _fft
from autograd.numpy import linalg as _linalg

from ..compiler.mutation import IN_PLACE
from ..rules import expression_rule, registry, rrule
from ..rules.errors import UnsupportedError
from . import numpy_core, scalars

REFUSED = {"where", "initial", "out", "casting", "subok", "signature"}  # its formulas would pass over these
OURS = (numpy_core, scalars)  # come first: a ufunc with rules of ours has no need of the bridge
_TABLES = (anp, _fft, _linalg)  # imported for the rules that they put into the table


class Formula:
    """A function that autograd can trace: one of its primitives with fixed keywords, or the vjp of such a function."""

    def __init__(
        self, name: str, plain: Callable[..., Any], traced: Callable[..., Any], kwargs: dict[str, Any]
    ) -> None:
        self.name = name
        self.plain = plain
        self.traced = traced
        self.kwargs = kwargs

    def vjp(self, ybar: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The cotangents of the arguments, by the table directly; None where there is none."""
        wanted = tuple(i for i, arg in enumerate(args) if is_inexact(arg))
        value = self.plain(*args, **self.kwargs)
        found: list[Any] = [None] * len(args)
        for i in wanted:
            try:
                part = primitive_vjps[self.traced]((i,), value, args, self.kwargs)(ybar)
            except NotImplementedError:
                found[i] = NotImplemented
                continue
            found[i] = dense(next(iter(part)), args[i])
        return tuple(found)


def is_inexact(value: Any) -> bool:
    """Whether something can have a cotangent here."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "fc"
    if isinstance(value, list | tuple):
        return any(is_inexact(item) for item in value)
    return isinstance(value, float | complex)


def dense(cotangent: Any, value: Any) -> Any:
    """A cotangent as an array of the value's shape."""
    if isinstance(cotangent, SparseObject):
        return vspace(value).mut_add(None, cotangent)
    return cotangent


def lifted(value: Any) -> Any:
    """Numbers as NumPy's, so that 0.0 ** -1 is inf and not an error; subclasses of ndarray as plain arrays."""
    if type(value) is float:
        return np.float64(value)
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
        return np.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(lifted(item) for item in value)
    return value


expression_rule(lifted, (object,), lambda value, out, g: (g,), layer="shipped")


def apply_vjp(formula: Formula, ybar: Any, *args: Any) -> tuple[Any, ...]:
    """The cotangents of a formula's arguments: the pullback, as a function that has a rule itself."""
    return formula.vjp(ybar, args)


@rrule(apply_vjp, layer="shipped")
def _(formula: Any, ybar: object, *args: object) -> Any:
    value = formula.vjp(ybar, args)

    def pullback(bars: Any) -> Any:
        return (None, *second_order(formula, ybar, args, bars))

    return value, pullback


def second_order(formula: Formula, ybar: Any, args: tuple[Any, ...], bars: Any) -> tuple[Any, ...]:
    """The cotangents of ybar and of the arguments, when those of the arguments' cotangents are `bars`."""
    places = [i for i, bar in enumerate(bars) if bar is not None and is_inexact(args[i])]
    active = [-1, *[i for i, arg in enumerate(args) if is_inexact(arg)]]
    total: list[Any] = [None] * (len(args) + 1)

    def cotangents(values: tuple[Any, ...]) -> Any:
        now = list(args)
        for position, value in zip(active[1:], values[1:], strict=True):
            now[position] = value
        back, _ = make_vjp(
            lambda some: formula.traced(*_with(now, places, some), **formula.kwargs), tuple(now[i] for i in places)
        )
        return back(values[0])

    if places:
        back, _ = make_vjp(cotangents, (lifted(ybar), *[lifted(args[i]) for i in active[1:]]))
        for position, part in zip(active, back(tuple(lifted(bars[i]) for i in places)), strict=True):
            total[position + 1] = part
    return tuple(total)


def _with(values: list[Any], places: list[int], some: Any) -> list[Any]:
    changed = list(values)
    for place, value in zip(places, some, strict=True):
        changed[place] = value
    return changed


def bridge(traced: Any) -> None:
    """One function of autograd's table as a rule for the NumPy function that it wraps."""
    plain = traced.fun

    @rrule(plain, layer="shipped")
    def _(*args: object, **kwargs: object) -> Any:
        refused = sorted(kwargs.keys() & REFUSED)
        if refused:
            raise UnsupportedError(
                f"np.{plain.__name__}(…, {refused[0]}=…) cannot be differentiated yet: autograd's formula does not "
                f"know `{refused[0]}`. Write it without, for instance with np.where."
            )
        formula = Formula(plain.__name__, plain, traced, kwargs)
        given = tuple([lifted(arg) for arg in args])

        def pullback(ybar: Any) -> Any:
            return apply_vjp(formula, ybar, *given)

        return plain(*args, **kwargs), pullback


def covered() -> list[Any]:
    """The autograd primitives whose NumPy functions have no rule of ours that would make the bridge unreachable."""
    return [traced for traced in primitive_vjps if hasattr(traced, "fun") and _belongs_to_numpy(traced.fun)]


def _belongs_to_numpy(f: Any) -> bool:
    module = getattr(f, "__module__", None) or ""
    return isinstance(f, np.ufunc) or module.split(".")[0] == "numpy"


def share_with_methods() -> None:
    """A method of ndarray with the name of a NumPy function shares its rules: `x.prod()` and `np.prod(x)`."""
    for name in dir(np.ndarray):
        method, function = getattr(np.ndarray, name), getattr(np, name, None)
        if (
            not name.startswith("_")
            and method not in IN_PLACE
            and callable(method)
            and function is not None
            and not registry.rules(method)
            and registry.rules(function)
        ):
            registry.alias(method, function)


for _traced in covered():
    if not registry.rules(_traced.fun) or not isinstance(_traced.fun, np.ufunc):
        bridge(_traced)
share_with_methods()
