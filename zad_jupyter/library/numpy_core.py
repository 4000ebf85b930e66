"""Expression rules for the hot part of NumPy: arithmetic, elementary functions, sums, products, indexing, shapes.

Written as one would write a derivative by hand, because this is what the generated code consists of. Everything else
of NumPy comes from autograd's table (`autograd_bridge`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..cotangents import scatter, sum_to
from ..rules import expression_rule, non_differentiable, registry, scalar_rule
from .scalars import SCALAR

Array = np.ndarray | SCALAR


def both(f: Callable[..., Any], cotangents: Callable[..., Any]) -> None:
    """A function of two arrays or numbers that broadcasts."""
    expression_rule(f, (Array, Array), cotangents, layer="shipped")


def each(f: Callable[..., Any], slope: Callable[..., Any]) -> None:
    """A function of one array, element by element."""
    scalar_rule(f, slope, types=(Array,), layer="shipped")


for _operator, _ufunc in (
    (operator.add, np.add), (operator.sub, np.subtract), (operator.mul, np.multiply),
    (operator.truediv, np.true_divide), (operator.pow, np.power), (operator.matmul, np.matmul),
    (operator.neg, np.negative), (operator.pos, np.positive), (operator.mod, np.remainder),
    (operator.floordiv, np.floor_divide), (operator.gt, np.greater), (operator.lt, np.less),
    (operator.ge, np.greater_equal), (operator.le, np.less_equal), (operator.eq, np.equal),
    (operator.ne, np.not_equal), (abs, np.absolute),
):  # fmt: skip
    registry.alias(_ufunc, _operator)

both(operator.add, lambda a, b, out, g: (sum_to(g, a), sum_to(g, b)))
both(operator.sub, lambda a, b, out, g: (sum_to(g, a), sum_to(-g, b)))
both(operator.mul, lambda a, b, out, g: (sum_to(g * b, a), sum_to(g * a, b)))
both(operator.truediv, lambda a, b, out, g: (sum_to(g / b, a), sum_to(-g * out / b, b)))
both(operator.pow, lambda a, b, out, g: (sum_to(g * slope(a, b), a), sum_to(g * rise(a, b, out), b)))
both(operator.mod, lambda a, b, out, g: (sum_to(g, a), sum_to(-g * np.floor_divide(a, b), b)))
both(np.maximum, lambda a, b, out, g: (sum_to(g * share(a, b, out), a), sum_to(g * share(b, a, out), b)))
both(np.minimum, lambda a, b, out, g: (sum_to(g * share(a, b, out), a), sum_to(g * share(b, a, out), b)))
both(np.arctan2, lambda a, b, out, g: (sum_to(g * b / (a * a + b * b), a), sum_to(-g * a / (a * a + b * b), b)))
both(np.hypot, lambda a, b, out, g: (sum_to(g * a / out, a), sum_to(g * b / out, b)))
both(np.logaddexp, lambda a, b, out, g: (sum_to(g * np.exp(a - out), a), sum_to(g * np.exp(b - out), b)))
expression_rule(operator.neg, (np.ndarray,), lambda a, out, g: (-g,), layer="shipped")
expression_rule(operator.pos, (np.ndarray,), lambda a, out, g: (g,), layer="shipped")
each(np.square, lambda x, out: 2.0 * x)
scalar_rule(abs, lambda x, out: phase(x, out), types=(np.ndarray,), layer="shipped")
each(np.fabs, lambda x, out: np.sign(x))
each(np.exp, lambda x, out: out)
each(np.expm1, lambda x, out: out + 1.0)
each(np.exp2, lambda x, out: out * 0.6931471805599453)
each(np.log, lambda x, out: 1.0 / x)
each(np.log2, lambda x, out: 1.4426950408889634 / x)
each(np.log10, lambda x, out: 0.4342944819032518 / x)
each(np.log1p, lambda x, out: 1.0 / (1.0 + x))
each(np.sqrt, lambda x, out: 0.5 / out)
each(np.cbrt, lambda x, out: 1.0 / (3.0 * out * out))
each(np.reciprocal, lambda x, out: -out * out)
each(np.sin, lambda x, out: np.cos(x))
each(np.cos, lambda x, out: -np.sin(x))
each(np.tan, lambda x, out: 1.0 + out * out)
each(np.arcsin, lambda x, out: 1.0 / np.sqrt(1.0 - x * x))
each(np.arccos, lambda x, out: -1.0 / np.sqrt(1.0 - x * x))
each(np.arctan, lambda x, out: 1.0 / (1.0 + x * x))
each(np.sinh, lambda x, out: np.cosh(x))
each(np.cosh, lambda x, out: np.sinh(x))
each(np.tanh, lambda x, out: 1.0 - out * out)
each(np.arcsinh, lambda x, out: 1.0 / np.sqrt(x * x + 1.0))
each(np.arccosh, lambda x, out: 1.0 / np.sqrt(x * x - 1.0))
each(np.arctanh, lambda x, out: 1.0 / (1.0 - x * x))
each(np.float64, lambda x, out: 1.0)


def reduction(f: Callable[..., Any], method: Any, cotangent: Callable[..., Any]) -> None:
    """A function along axes, with its method of the same name."""
    registry.alias(method, f)
    expression_rule(f, (Array, object, object), cotangent, defaults={"axis": None, "keepdims": False}, layer="shipped")


reduction(np.sum, np.ndarray.sum, lambda x, axis, keepdims, out, g: (unreduced(g, x, axis, keepdims), None, None))
reduction(
    np.mean,
    np.ndarray.mean,
    lambda x, axis, keepdims, out, g: (unreduced(g, x, axis, keepdims) * (np.size(out) / np.size(x)), None, None),
)
_function: Any  # functions and methods of NumPy, in this loop and those below
_method: Any
for _function, _method, _cotangent in (
    (
        np.var,
        np.ndarray.var,
        lambda x, axis, dtype, out_, ddof, keepdims, out, g: (
            spread_out(g, x, axis, ddof, keepdims), None, None, None, None, None,
        ),
    ),
    (
        np.std,
        np.ndarray.std,
        lambda x, axis, dtype, out_, ddof, keepdims, out, g: (
            spread_out(halved(g, out), x, axis, ddof, keepdims), None, None, None, None, None,
        ),
    ),
):  # fmt: skip
    registry.alias(_method, _function)
    expression_rule(
        _function,
        (Array, object, None, None, object, object),
        _cotangent,
        defaults={"axis": None, "dtype": None, "out_": None, "ddof": 0, "keepdims": False},
        layer="shipped",
    )
reduction(
    np.prod,
    np.ndarray.prod,
    lambda x, axis, keepdims, out, g: (
        unreduced(g, x, axis, keepdims) * other_factors(x, axis, keepdims, out), None, None,
    ),
)  # fmt: skip
reduction(np.max, np.ndarray.max, lambda x, axis, keepdims, out, g: (extreme(g, x, out, axis, keepdims), None, None))
reduction(np.min, np.ndarray.min, lambda x, axis, keepdims, out, g: (extreme(g, x, out, axis, keepdims), None, None))

expression_rule(
    np.dot, (np.ndarray, np.ndarray), lambda a, b, out, g: (dot_left(g, a, b), dot_right(g, a, b)), layer="shipped"
)
expression_rule(
    operator.matmul, (np.ndarray, np.ndarray), lambda a, b, out, g: (left(g, a, b), right(g, a, b)), layer="shipped"
)
both(np.dot, lambda a, b, out, g: (sum_to(g * b, a), sum_to(g * a, b)))
registry.alias(np.ndarray.dot, np.dot)
expression_rule(
    np.outer,
    (np.ndarray, np.ndarray),
    lambda a, b, out, g: (
        np.reshape(np.dot(g, np.ravel(b)), np.shape(a)), np.reshape(np.dot(np.ravel(a), g), np.shape(b)),
    ),
    layer="shipped",
)

expression_rule(
    operator.getitem, (np.ndarray, object), lambda x, i, out, g: (scatter(None, x, i, g), None), layer="shipped"
)
expression_rule(
    np.reshape, (Array, object), lambda x, shape, out, g: (np.reshape(g, np.shape(x)), None), layer="shipped"
)
expression_rule(np.ravel, (Array,), lambda x, out, g: (np.reshape(g, np.shape(x)),), layer="shipped")
expression_rule(np.ndarray.flatten, (np.ndarray,), lambda x, out, g: (np.reshape(g, np.shape(x)),), layer="shipped")
expression_rule(
    np.squeeze,
    (Array, object),
    lambda x, axis, out, g: (np.reshape(g, np.shape(x)), None),
    defaults={"axis": None},
    layer="shipped",
)
expression_rule(
    np.expand_dims, (Array, object), lambda x, axis, out, g: (np.reshape(g, np.shape(x)), None), layer="shipped"
)
expression_rule(
    np.transpose,
    (Array, object),
    lambda x, axes, out, g: (untransposed(g, axes), None),
    defaults={"axes": None},
    layer="shipped",
)
expression_rule(
    np.flip, (Array, object), lambda x, axis, out, g: (np.flip(g, axis), None), defaults={"axis": None}, layer="shipped"
)
expression_rule(np.broadcast_to, (Array, object), lambda x, shape, out, g: (sum_to(g, x), None), layer="shipped")
expression_rule(
    np.where,
    (object, Array, Array),
    lambda c, x, y, out, g: (None, sum_to(np.where(c, g, 0.0), x), sum_to(np.where(c, 0.0, g), y)),
    layer="shipped",
)
expression_rule(
    np.clip,
    (Array, object, object),
    lambda x, a_min, a_max, out, g: (
        sum_to(g * within(x, a_min, a_max), x), sum_to(g * below(x, a_min), a_min), sum_to(g * above(x, a_max), a_max),
    ),
    defaults={"a_min": None, "a_max": None},
    layer="shipped",
)  # fmt: skip
expression_rule(  # the method has other names for its bounds; NumPy before 2.1 does not know them in the function
    np.ndarray.clip,
    (np.ndarray, object, object),
    lambda x, min, max, out, g: (
        sum_to(g * within(x, min, max), x), sum_to(g * below(x, min), min), sum_to(g * above(x, max), max),
    ),
    defaults={"min": None, "max": None},
    layer="shipped",
)  # fmt: skip
expression_rule(np.full_like, (Array, Array), lambda x, value, out, g: (None, sum_to(g, value)), layer="shipped")
expression_rule(
    np.concatenate,
    (list | tuple, object),
    lambda xs, axis, out, g: (pieces(g, xs, axis), None),
    defaults={"axis": 0},
    layer="shipped",
)
expression_rule(
    np.stack,
    (list | tuple, object),
    lambda xs, axis, out, g: (layers(g, xs, axis), None),
    defaults={"axis": 0},
    layer="shipped",
)
for _function in (np.array, np.asarray):
    expression_rule(_function, (object,), lambda xs, out, g: (unpacked(g, xs),), layer="shipped")
expression_rule(np.copy, (Array,), lambda x, out, g: (g,), layer="shipped")
expression_rule(
    np.cumsum,
    (np.ndarray, object),
    lambda x, axis, out, g: (uncumulated(g, x, axis), None),
    defaults={"axis": None},
    layer="shipped",
)
expression_rule(
    np.cumprod,
    (np.ndarray, object),
    lambda x, axis, out, g: (products_after(g, x, out, axis), None),
    defaults={"axis": None},
    layer="shipped",
)
expression_rule(np.real, (Array,), lambda x, out, g: (g,), layer="shipped")
expression_rule(np.ndarray.astype, (np.ndarray, object), lambda x, dtype, out, g: (g, None), layer="shipped")
expression_rule(np.ndarray.item, (np.ndarray,), lambda x, out, g: (np.reshape(g, np.shape(x)),), layer="shipped")
for _method, _function in (
    (np.ndarray.ravel, np.ravel), (np.ndarray.squeeze, np.squeeze),
    (np.ndarray.copy, np.copy), (np.ndarray.cumsum, np.cumsum), (np.ndarray.cumprod, np.cumprod),
    (np.ndarray.transpose, np.transpose),
    (np.ndarray.reshape, np.reshape), (np.ndarray.__getitem__, operator.getitem),
):  # fmt: skip
    registry.alias(_method, _function)

non_differentiable(
    np.argmax, np.argmin, np.argsort, np.sign, np.floor, np.ceil, np.rint, np.round, np.trunc, np.shape, np.ndim,
    np.size, np.isnan, np.isfinite, np.isinf, np.zeros_like, np.ones_like, np.empty_like, np.allclose,
    np.array_equal, np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.nonzero, np.any, np.all,
    np.count_nonzero, np.isclose, np.searchsorted, np.result_type, np.iscomplexobj, np.heaviside,
    np.ndarray.argmax, np.ndarray.argmin, np.ndarray.any, np.ndarray.all, layer="shipped",
)  # fmt: skip


def slope(a: Any, b: Any) -> Any:
    """The derivative of a**b with respect to a, also where a or b is 0."""
    return (
        np.where(np.equal(b, 0), 0.0, b * np.power(a, np.where(np.equal(b, 0), 1.0, b - 1.0)))
        if np.ndim(b)
        else plain_slope(a, b)
    )


def plain_slope(a: Any, b: Any) -> Any:
    """The same for one exponent: the usual case."""
    if b == 2:
        return 2.0 * a
    return b * a ** (b - 1) if b != 0 else 0.0 * a


def rise(a: Any, b: Any, out: Any) -> Any:
    """The derivative of a**b with respect to b; 0 where a is 0."""
    return out * np.log(np.where(np.equal(a, 0), 1.0, a))


def share(a: Any, b: Any, out: Any) -> Any:
    """Which part of the cotangent of an elementwise maximum goes to a: at ties, half."""
    return (a == out) / (1.0 + (a == b))


def phase(x: Any, out: Any) -> Any:
    """The slope of |x|: the sign of a real number, the conjugate of a complex one's direction."""
    return np.conj(x) / np.where(np.equal(out, 0.0), 1.0, out) if np.iscomplexobj(x) else np.sign(x)


def unreduced(g: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """A cotangent stretched again along the axes that a reduction has summed away."""
    if np.ndim(x) == 0:
        return np.reshape(g, ())[()]
    if axis is None or keepdims:
        return np.broadcast_to(np.reshape(g, (1,) * np.ndim(x)) if axis is None else g, np.shape(x))
    return np.broadcast_to(np.expand_dims(g, axis), np.shape(x))


def halved(g: Any, out: Any) -> Any:
    """From the cotangent of a standard deviation to that of its square; 0 where there is no deviation."""
    return np.where(np.equal(out, 0.0), 0.0, g / (2.0 * np.where(np.equal(out, 0.0), 1.0, out)))


def spread_out(g: Any, x: Any, axis: Any, ddof: Any, keepdims: Any) -> Any:
    """The cotangent of a variance."""
    centre = np.mean(x, axis=axis, keepdims=True)
    count = np.size(x) / np.size(centre)
    return unreduced(g, x, axis, keepdims) * (x - centre) * (2.0 / (count - ddof))


def extreme(g: Any, x: Any, out: Any, axis: Any, keepdims: Any) -> Any:
    """The cotangent of a maximum or minimum: shared equally among the elements that attain it."""
    chosen = x == unreduced(out, x, axis, keepdims)
    return unreduced(g, x, axis, keepdims) * chosen / np.sum(chosen, axis=axis, keepdims=True)


def other_factors(x: Any, axis: Any, keepdims: Any, out: Any) -> Any:
    """For each element of a product the product of all others; without dividing, where an element is 0."""
    if np.all(x):
        return unreduced(out, x, axis, keepdims) / x
    if axis is None:
        flat = np.reshape(x, (-1,))
        return np.reshape(np.prod(np.where(np.eye(np.size(x), dtype=bool), 1.0, flat), axis=1), np.shape(x))
    rows = np.moveaxis(x, axis, -1)
    ones = np.eye(np.shape(rows)[-1], dtype=bool)
    return np.moveaxis(np.prod(np.where(ones, 1.0, np.expand_dims(rows, -2)), axis=-1), -1, axis)


def within(x: Any, low: Any, high: Any) -> Any:
    """Where np.clip leaves x as it is."""
    if low is None:
        return x <= high
    if high is None:
        return x >= low
    return (x >= low) & (x <= high)


def below(x: Any, low: Any) -> Any:
    """Where np.clip gives the lower bound."""
    return 0.0 if low is None else x < low


def above(x: Any, high: Any) -> Any:
    """Where np.clip gives the upper bound."""
    return 0.0 if high is None else x > high


def left(g: Any, a: Any, b: Any) -> Any:
    """The cotangent of a in a @ b."""
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return g @ b.T
    if np.ndim(b) == 1:
        return g * b if np.ndim(a) == 1 else g[..., None] * b
    if np.ndim(a) == 1:
        return sum_to((b @ g[..., None])[..., 0], a)
    return sum_to(g @ np.swapaxes(b, -1, -2), a)


def right(g: Any, a: Any, b: Any) -> Any:
    """The cotangent of b in a @ b."""
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return a.T @ g
    if np.ndim(a) == 1:
        return g * a if np.ndim(b) == 1 else sum_to(a[:, None] * g[..., None, :], b)
    if np.ndim(b) == 1:
        return sum_to((np.swapaxes(a, -1, -2) @ g[..., None])[..., 0], b)
    return sum_to(np.swapaxes(a, -1, -2) @ g, b)


def untransposed(g: Any, axes: Any) -> Any:
    """A transpose turned back."""
    return np.transpose(g) if axes is None else np.transpose(g, inverse(axes))


def inverse(axes: Any) -> Any:
    """The order of axes that undoes another; negative axes count from the end."""
    order = [axes] if isinstance(axes, int) else list(axes)
    return np.argsort([axis % len(order) for axis in order])


def dot_left(g: Any, a: Any, b: Any) -> Any:
    """The cotangent of a in np.dot(a, b), which contracts the last axis of a with the last but one of b."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return sum_to(g * b, a)
    if np.ndim(b) <= 2:
        return left(g, a, b)
    moved = np.moveaxis(b, -2, -1)
    return np.tensordot(g, moved, (tuple(range(np.ndim(a) - 1, np.ndim(g))), tuple(range(np.ndim(b) - 1))))


def dot_right(g: Any, a: Any, b: Any) -> Any:
    """The cotangent of b in np.dot(a, b)."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return sum_to(g * a, b)
    if np.ndim(a) <= 2 and np.ndim(b) <= 2:
        return right(g, a, b)
    rows = tuple(range(np.ndim(a) - 1))
    product = np.tensordot(a, g, (rows, rows))
    return product if np.ndim(b) == 1 else np.moveaxis(product, 0, -2)


def pieces(g: Any, xs: Any, axis: Any) -> Any:
    """The cotangent of a concatenation, cut up again."""
    if axis is None:
        flat = np.split(np.ravel(g), np.cumsum([np.size(x) for x in xs])[:-1])
        # the compiler reads this line when it is differentiated, and follows `zip` only without keywords
        parts = [np.reshape(part, np.shape(x)) for part, x in zip(flat, xs)]  # noqa: B905
    else:
        parts = np.split(g, np.cumsum([np.shape(x)[axis] for x in xs])[:-1], axis=axis)
    return tuple(parts) if isinstance(xs, tuple) else list(parts)


def layers(g: Any, xs: Any, axis: Any) -> Any:
    """The cotangent of a stack, layer by layer."""
    moved = np.moveaxis(g, axis, 0)
    parts = [moved[i] for i in range(len(xs))]
    return tuple(parts) if isinstance(xs, tuple) else parts


def unpacked(g: Any, xs: Any) -> Any:
    """The cotangent of an array that was made of nested lists."""
    if isinstance(xs, list):
        return [unpacked(g[i], xs[i]) for i in range(len(xs))]
    if isinstance(xs, tuple):
        return tuple([unpacked(g[i], xs[i]) for i in range(len(xs))])
    return g


def uncumulated(g: Any, x: Any, axis: Any) -> Any:
    """The cotangent of a cumulative sum: cumulated from the other end."""
    if axis is None:
        return np.reshape(np.cumsum(np.ravel(g)[::-1])[::-1], np.shape(x))
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


def products_after(g: Any, x: Any, out: Any, axis: Any) -> Any:
    """The cotangent of a cumulative product, without dividing: an element may be 0."""
    flat = np.ravel(x) if axis is None else np.moveaxis(x, axis, 0)
    cotangent = np.reshape(g, np.shape(flat)) if axis is None else np.moveaxis(g, axis, 0)
    rows = []
    for i in range(np.shape(flat)[0]):
        before = np.prod(flat[:i], axis=0)
        after = np.concatenate([np.ones_like(flat[:1]), np.cumprod(flat[i + 1 :], axis=0)])
        rows.append(before * np.sum(cotangent[i:] * after, axis=0))
    stacked = np.stack(rows) if rows else np.zeros_like(flat)
    return np.reshape(stacked, np.shape(x)) if axis is None else np.moveaxis(stacked, 0, axis)
