"""Whole functions reversed: forward and reverse in one, for a gradient, or as two, for a callee."""

from __future__ import annotations

import operator

from .. import cotangents as C
from . import intrinsics as I
from . import types as T
from .ir import Atom, Block, Const, Function, Op, Var, defined_in, used_in
from .reverse import Reverser
from .simplify import drop_dead


def joint(function: Function, wanted: list[Var | None], seed: Atom | None = None) -> Function:
    """A function that runs forward and then backward: gives the value and the cotangents of the wanted parameters.

    Args:
        function: resolved by `infer`.
        wanted: for each cotangent to give, the parameter; None gives None.
        seed: the cotangent of the result, 1 if absent.
    """
    rev = Reverser(function)
    result = function.result
    if isinstance(result, Var) and result.active:
        one: Atom = seed or (
            Const(1.0) if result.type in (T.FLOAT, T.INT, T.REAL, T.FLOATING) else rev.emit(C.seed_like, result)
        )
        rev.add(result, one)
    forward = rev.block(function.body)
    given = [finished(rev, var) for var in wanted]
    grads = rev.emit(I.build_tuple, *given)
    if sum(var is not None and not T.is_scalar(var.type) for var in wanted) or len(wanted) > 1:
        grads = rev.emit(C.distinct, grads, *[var for var in wanted if var is not None and not T.is_scalar(var.type)])
    pair = rev.emit(I.build_tuple, result, grads)
    return Function(function.name, function.params, forward + rev.out, pair, function.file, function.line)


def finished(rev: Reverser, var: Var | None) -> Atom:
    """A parameter's cotangent as a user gets it."""
    if var is None:
        return Const(None)
    got = rev.take(var) if var.active else None
    return rev.emit(C.finish, var, got[0] if got is not None else Const(None))


def split(function: Function, inputs: list[Var]) -> tuple[Function, Function]:
    """Forward, which gives the value and what must be kept, and reverse, which takes what was kept and a cotangent.

    Args:
        function: resolved by `infer`.
        inputs: the parameters whose cotangents reverse gives, as a tuple in this order.
    """
    rev = Reverser(function)
    seed = Var("seed_bar")
    if isinstance(function.result, Var) and function.result.active:
        rev.add(function.result, seed)
    forward = rev.block(function.body)
    given: list[Atom] = []
    for var in inputs:
        got = rev.take(var) if var.active else None
        given.append(Const(None) if got is None else got[0])
    grads = rev.emit(I.build_tuple, *given)
    body = drop_dead(rev.out, {grads})
    made = {**dict.fromkeys(function.params), **defined_in(forward)}
    bars = set(rev.bars.values())
    needed = [var for var in used_in(body) if var in made and var not in bars and var is not seed]
    kept, y = Var("kept"), Var("out")
    forward = [
        *forward,
        Op(kept, Const(I.build_tuple), list(needed), {}, None),
        Op(y, Const(I.build_tuple), [function.result, kept], {}, None),
    ]
    saved = Var("saved")
    unpacking: Block = [Op(var, Const(operator.getitem), [saved, Const(i)], {}, None) for i, var in enumerate(needed)]
    return (
        Function(function.name, function.params, forward, y, function.file, function.line),
        Function(function.name, [saved, seed], unpacking + body, grads, function.file, function.line),
    )
