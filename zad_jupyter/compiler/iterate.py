"""`for` loops: over what, and by what.

A loop over something that derivatives flow through becomes a loop over indices, so that taking an item is an operation
with a rule like any other. A short tuple is unrolled: its items may have different types.
"""

from __future__ import annotations

import operator
import types as pytypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import types as T
from .ir import Atom, Block, Const, For, Stmt, Var
from .source import PACKAGE
from .values import Iterable, Val, any_active, const

if TYPE_CHECKING:
    from .infer import Inference

MAX_UNROLLED = 16


def loop_over(inf: Inference, stmt: For, source: Val) -> None:
    """Read a `for` statement.

    Args:
        inf: the inference that reads it.
        stmt: the statement.
        source: what it iterates over.
    """
    source = inf.with_items(source, stmt.pos)
    items = source.items if source.items is not None and _is_tuple(source) else _known(inf, source)
    if items is not None and len(items) <= MAX_UNROLLED and stmt.stop is None:
        for item in items:
            if inf.dead:
                return
            inf.act.set(stmt.target, item)
            inf.block(stmt.body)
        return
    if isinstance(source.what, Iterable) or any_active([source]):
        by_index(inf, stmt, source)
        return
    over(inf, stmt, source, element_type(inf, source))


def _known(inf: Inference, source: Val) -> tuple[Val, ...] | None:
    """In the code of a shipped rule, every loop over something that is known is unrolled: it is a formula."""
    if not inf.act.function.file.startswith(PACKAGE):
        return None
    if source.items is not None:
        return source.items
    if isinstance(source.atom, Const) and isinstance(source.atom.value, range):
        return tuple(const(i) for i in source.atom.value)
    return None


def _is_tuple(source: Val) -> bool:
    items = source.items or ()
    return isinstance(source.type, T.TupleType) and (
        any_active(items) or len({T.key(i.type) for i in items}) > 1 or any(i.what for i in items)
    )


def over(inf: Inference, stmt: For, source: Val, type_: T.Type) -> None:
    """A loop over something that nothing differentiable flows through."""
    target = Var(stmt.target.name, type_)

    def begin() -> None:
        inf.act.set(stmt.target, Val(target, type_))

    def build(cond: Block, body: Block, test: Atom | None, stop: Var | None) -> Stmt:
        return For(target, inf.atom(source), body, stop, stmt.pos)

    inf.loop(stmt, begin, build)


def element_type(inf: Inference, source: Val) -> T.Type:
    """The type of what comes out of an iterable."""
    if isinstance(source.type, T.ListType):
        return source.type.item
    if isinstance(source.type, T.TupleType):
        joined: T.Type = T.NEVER
        for item in source.type.items:
            joined = T.join(joined, item)
        return joined
    if source.type == T.Exact(range):
        return T.INT
    if source.type == T.STR:
        return T.STR
    if isinstance(source.type, T.ArrayType) and source.type.ndim > 0:
        ndim, dtype = source.type.ndim - 1, source.type.dtype
        return T.ArrayType(dtype, ndim) if ndim else T.Exact(np.dtype(dtype).type)
    return T.UNKNOWN


def by_index(inf: Inference, stmt: For, source: Val) -> None:
    """A loop over indices, for sequences whose items are differentiated."""
    if isinstance(source.what, Iterable) and source.what.strict:
        counts = [length(inf, part, stmt) for part in source.what.parts]
        indices = inf.emit(strict_range, counts, {}, T.Exact(pytypes.GeneratorType), False, stmt.pos)
    else:
        count = length(inf, source, stmt)
        indices = inf.emit(range, [count], {}, T.Exact(range), False, stmt.pos)  # ours, not a call of the user's
    index = Var("i", T.INT)

    def begin() -> None:
        inf.act.set(stmt.target, item(inf, source, Val(index, T.INT), stmt))

    def build(cond: Block, body: Block, test: Atom | None, stop: Var | None) -> Stmt:
        return For(index, inf.atom(indices), body, stop, stmt.pos)

    inf.loop(stmt, begin, build)


def strict_range(*counts: int) -> Iterator[int]:
    """The indices of a strict `zip`, which finds out at its end that the lengths differ."""
    for indices in zip(*map(range, counts), strict=True):
        yield indices[0]


def length(inf: Inference, source: Val, stmt: For) -> Val:
    """How many rounds a loop over a sequence, or a `zip` of some, makes."""
    what = source.what
    if isinstance(what, Iterable):
        counts = [length(inf, part, stmt) for part in (what.parts[:1] if what.kind != "zip" else what.parts)]
        shortest = counts[0]
        for count in counts[1:]:
            shortest = inf.call(const(min), [shortest, count], {}, stmt.pos)
        return shortest
    if source.type is T.UNKNOWN or T.class_of(source.type) not in (list, tuple, np.ndarray, range, str):
        if source.active or source.type is T.UNKNOWN:
            inf.emit(check_sequence, [source], {}, T.NONE, False, stmt.pos)
            return inf.emit(len, [source], {}, T.INT, False, stmt.pos)
        raise inf.unsupported(f"a loop over a {T.name_of(source.type)} beside differentiated values", stmt.pos)
    return inf.call(const(len), [source], {}, stmt.pos)


def item(inf: Inference, source: Val, index: Val, stmt: For) -> Val:
    """The item of a sequence at an index; of a `zip`, a tuple of items."""
    what = source.what
    if not isinstance(what, Iterable):
        return inf.call(const(operator.getitem), [source, index], {}, stmt.pos)
    if what.kind == "zip":
        items = tuple(item(inf, part, index, stmt) for part in what.parts)
    elif what.kind == "enumerate":
        start = what.parts[1] if len(what.parts) > 1 else const(0)
        items = (inf.call(const(operator.add), [index, start], {}, stmt.pos), item(inf, what.parts[0], index, stmt))
    else:
        last = inf.call(const(operator.sub), [length(inf, what.parts[0], stmt), const(1)], {}, stmt.pos)
        return item(inf, what.parts[0], inf.call(const(operator.sub), [last, index], {}, stmt.pos), stmt)
    return Val(None, T.TupleType(tuple(i.type for i in items)), any_active(items), items)


def check_sequence(value: Any) -> None:
    """Only what can be indexed can be looped over here."""
    if not isinstance(value, list | tuple | np.ndarray | range | str):
        raise TypeError(
            f"a loop over a {type(value).__name__} that is differentiated: "
            f"only lists, tuples and arrays can be looped over yet"
        )
