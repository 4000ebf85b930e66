"""Derivatives of what reverse code itself is made of: all of it is linear, so each rule sends its cotangent on."""

from __future__ import annotations

from .. import cotangents as C
from ..compiler import pullbacks, runtime
from ..rules import expression_rule, non_differentiable

expression_rule(C.sum_to, (object, object), lambda c, like, out, g: (C.broadcast_like(g, c), None), layer="shipped")
expression_rule(C.broadcast_like, (object, object), lambda c, like, out, g: (C.sum_to(g, c), None), layer="shipped")
expression_rule(C.real_part, (object,), lambda c, out, g: (C.real_part(g),), layer="shipped")
expression_rule(C.scatter, (object, object, object, object),
                lambda b, x, i, c, out, g: (g, None, None, C.picked(g, i)), layer="shipped")  # fmt: skip
expression_rule(C.picked, (object, object), lambda b, i, out, g: (C.scatter(None, b, i, g), None), layer="shipped")
expression_rule(C.gathered, (object, object), lambda x, b, out, g: (None, g), layer="shipped")
expression_rule(
    C.only_item, (object, object, object), lambda n, i, c, out, g: (None, None, C.picked(g, i)), layer="shipped"
)
expression_rule(
    pullbacks.as_returned,
    (object, object),
    lambda r, c, out, g: (None, pullbacks.as_returned_back(r, g)),
    layer="shipped",
)
non_differentiable(C.zero_like, C.seed_like, runtime.tick, layer="shipped")
