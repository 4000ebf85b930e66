"""The sums of reverse code: additions that know what absent cotangents are."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ... import cotangents as C
from .. import derive
from .. import intrinsics as I
from .. import types as T
from ..handlers import handles
from ..ir import Pos
from ..values import Val, any_active, const

if TYPE_CHECKING:
    from ..resolve import Resolve


@handles(C.add)
def add(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    a, b = args
    for value, other in ((a, b), (b, a)):
        if value.type == T.NONE:
            return other
    if a.items is not None and b.items is not None and len(a.items) == len(b.items) and a.type is not T.UNKNOWN:
        items = tuple(add(inf, [x, y], {}, pos) for x, y in zip(a.items, b.items, strict=True))
        return Val(None, T.TupleType(tuple(i.type for i in items)), any_active(items), items) if isinstance(a.type, T.TupleType) else (
            inf.build(items, I.build_list, pos))  # fmt: skip
    plain = all(t in T.SCALARS or isinstance(t, T.ArrayType) for t in (a.type, b.type))
    if plain:
        made = inf.emit(
            operator.add, args, {}, inf.result_type(operator.add, args, {}), any_active(args), pos, pure=True
        )
    else:
        type_ = T.join(*[t.item if isinstance(t, T.OptionalType) else t for t in (a.type, b.type)])
        both_optional = all(isinstance(t, T.OptionalType) for t in (a.type, b.type))
        made = inf.emit(C.add, args, {}, T.OptionalType(type_) if both_optional and type_ is not T.UNKNOWN else type_,
                        any_active(args), pos, pure=True)  # fmt: skip
    if made.active:
        inf.last_op().derive = derive.Sum([a.atom, b.atom])
    return made


@handles(C.finish)
def finish(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    value, cotangent = args
    if T.is_scalar(value.type):
        if cotangent.type == T.NONE:
            return const(0.0)
        if cotangent.type in (T.FLOAT, T.FLOAT64, T.FLOATING):
            return cotangent
    type_ = value.type if isinstance(value.type, T.ArrayType) and value.type.dtype in "fd" else T.UNKNOWN
    if T.is_scalar(value.type):
        type_ = T.FLOAT if cotangent.type == T.NONE else T.UNKNOWN
    made = inf.emit(C.finish, args, {}, type_, cotangent.active, pos, pure=True)
    if cotangent.active:
        inf.last_op().derive = derive.Same(cotangent.atom)  # type: ignore[arg-type]
    return made


@handles(C.sum_to)
def sum_to(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    cotangent, like = args
    if all(t in T.SCALARS for t in (cotangent.type, like.type)):
        return cotangent
    return None


@handles(C.broadcast_like)
def broadcast_like(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    cotangent, like = args
    if all(t in T.SCALARS for t in (cotangent.type, like.type)):
        return cotangent
    return None


@handles(C.add_to_log)
def add_to_log(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    log, cotangents = args
    item = cotangents.type.item if isinstance(cotangents.type, T.ListType) else T.UNKNOWN
    return into_log(inf, C.add_to_log, args, item, cotangents, derive.IntoLog(log.atom, None, cotangents.atom), pos)  # type: ignore[arg-type]


@handles(C.add_at)
def add_at(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    log, index, cotangent = args
    return into_log(
        inf, C.add_at, args, cotangent.type, cotangent, derive.IntoLog(log.atom, index.atom, cotangent.atom), pos
    )  # type: ignore[arg-type]


def into_log(inf: Resolve, fn: Any, args: list[Val], item: T.Type, cotangent: Val, how: Any, pos: Pos | None) -> Val:
    """An operation that adds to a list of cotangents in place."""
    log = args[0]
    if isinstance(log.type, T.LogType):
        log.type.push([item], [cotangent.active])
    done = inf.emit(fn, args, {}, T.NONE, cotangent.active, pos)
    how.cotangent = inf.atom(cotangent)
    if cotangent.active:
        inf.last_op().derive = how
    return done


@handles(C.copied_log)
def copied_log(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    log = args[0]
    item = log.type.records[0] if isinstance(log.type, T.LogType) and log.type.records else T.UNKNOWN
    active = log.active if not isinstance(log.type, T.LogType) else any(log.type.active)
    made = inf.emit(C.copied_log, args, {}, T.ListType(item), active, pos, pure=True)
    if active:
        inf.last_op().derive = derive.Same(log.atom)  # type: ignore[arg-type]
    return made


@handles(C.seed_like)
def seed_like(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    type_ = args[0].type
    if type_ in (T.FLOAT, T.INT, T.REAL, T.FLOATING):
        return const(1.0)
    return inf.emit(C.seed_like, args, {}, type_ if type_ == T.FLOAT64 else T.UNKNOWN, False, pos, pure=True)


@handles(C.own_log)
def own_log(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    cotangent, log = args
    type_ = T.LogType()
    if isinstance(cotangent.type, T.LogType):
        type_ = cotangent.type
    elif isinstance(cotangent.type, T.ListType):
        type_.push([cotangent.type.item], [cotangent.active])
    elif cotangent.type == T.NONE:
        type_.push([T.NONE], [False])
    made = inf.emit(C.own_log, args, {}, type_, inf.select, pos, pure=True, name="log")
    if cotangent.active:
        inf.last_op().derive = derive.Same(cotangent.atom)  # type: ignore[arg-type]
    return made
