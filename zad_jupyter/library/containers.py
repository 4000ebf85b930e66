"""Derivatives of taking things out of lists and tuples, and of summing and multiplying them up."""

from __future__ import annotations

import math
import operator
from typing import Any

from .. import cotangents as C
from ..rules import expression_rule, non_differentiable

Sequence = list | tuple

expression_rule(
    operator.getitem, (list, object), lambda xs, i, out, g: (C.scatter(None, xs, i, g), None), layer="shipped"
)
expression_rule(
    operator.getitem,
    (tuple, object),
    lambda xs, i, out, g: (C.gathered(xs, C.scatter(None, xs, i, g)), None),
    layer="shipped",
)
expression_rule(
    operator.getitem, (dict, object), lambda d, k, out, g: (C.scatter(None, d, k, g), None), layer="shipped"
)
expression_rule(sum, (Sequence,), lambda xs, out, g: (spread(xs, g),), layer="shipped")
expression_rule(sum, (Sequence, object), lambda xs, start, out, g: (spread(xs, g), g), layer="shipped")
expression_rule(math.fsum, (Sequence,), lambda xs, out, g: (spread(xs, g),), layer="shipped")
expression_rule(math.prod, (Sequence,), lambda xs, out, g: (others(xs, g),), layer="shipped")
expression_rule(max, (Sequence,), lambda xs, out, g: (chosen(xs, out, g),), layer="shipped")
expression_rule(min, (Sequence,), lambda xs, out, g: (chosen(xs, out, g),), layer="shipped")
expression_rule(operator.add, (list, list), lambda a, b, out, g: (g[: len(a)], g[len(a) :]), layer="shipped")
expression_rule(operator.add, (tuple, tuple), lambda a, b, out, g: (g[: len(a)], g[len(a) :]), layer="shipped")


def like(xs: Any, items: list[Any]) -> Any:
    """The items in a container of the kind of xs."""
    return tuple(items) if isinstance(xs, tuple) else items


def spread(xs: Any, g: Any) -> Any:
    """The cotangent of a sum: the same for every item, brought to its shape."""
    return like(xs, [C.sum_to(g, x) for x in xs])


def others(xs: Any, g: Any) -> Any:
    """The cotangent of a product: for every item the product of all others, without dividing (an item may be 0)."""
    before = [g]
    product = g
    for x in xs:
        product = product * x
        before.append(product)
    after = 1.0
    backwards = []
    for k in range(len(xs)):
        i = len(xs) - 1 - k
        backwards.append(before[i] * after)
        after = after * xs[i]
    return like(xs, [backwards[len(xs) - 1 - k] for k in range(len(xs))])


def place(xs: Any, out: Any) -> int:
    """Where in a sequence its maximum or minimum stands first."""
    return list(xs).index(out)


non_differentiable(place, layer="shipped")


def chosen(xs: Any, out: Any, g: Any) -> Any:
    """The cotangent of a maximum: all for the first item that is it."""
    index = place(xs, out)
    return like(xs, [g if i == index else 0.0 * g for i in range(len(xs))])
