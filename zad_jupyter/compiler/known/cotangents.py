"""The sums of reverse code: additions that know what absent cotangents are."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ... import cotangents as C
from .. import derive
from .. import intrinsics as I
from .. import types as T
from ..handlers import handles
from ..ir import Pos, Var
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
        if isinstance(a.type, T.TupleType):
            return Val(None, T.TupleType(tuple(i.type for i in items)), any_active(items), items)
        return inf.build(items, I.build_list, pos)
    plain = all(t in T.SCALARS or isinstance(t, T.ArrayType) for t in (a.type, b.type))
    if plain:
        made = inf.emit(
            operator.add, args, {}, inf.result_type(operator.add, args, {}), any_active(args), pos, pure=True
        )
    else:
        type_ = T.join(*[t.item if isinstance(t, T.OptionalType) else t for t in (a.type, b.type)])
        both_optional = all(isinstance(t, T.OptionalType) for t in (a.type, b.type))
        if both_optional and type_ is not T.UNKNOWN:
            type_ = T.OptionalType(type_)
        made = inf.emit(C.add, args, {}, type_, any_active(args), pos, pure=True)
    if made.active:
        op = inf.last_op()
        op.derive = derive.Sum(op.args)
    return made


@handles(C.finish)
def finish(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    value, cotangent = args
    if T.is_scalar(value.type):
        if cotangent.type == T.NONE:
            return const(0.0)
        if cotangent.type in (T.FLOAT, T.FLOAT64, T.FLOATING):
            return cotangent
    type_: T.Type = value.type if isinstance(value.type, T.ArrayType) and value.type.dtype in "fd" else T.UNKNOWN
    if T.is_scalar(value.type):
        type_ = T.FLOAT if cotangent.type == T.NONE else T.UNKNOWN
    made = inf.emit(C.finish, args, {}, type_, cotangent.active, pos, pure=True)
    if cotangent.active:
        op = inf.last_op()
        op.derive = derive.Same(op.args[1])
    return made


@handles(C.sum_to, C.broadcast_like)
def resized(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    """Among numbers there is no shape to bring a cotangent to."""
    return args[0] if all(arg.type in T.SCALARS for arg in args) else None


@handles(C.add_to_log)
def add_to_log(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    cotangents = args[1]
    item = cotangents.type.item if isinstance(cotangents.type, T.ListType) else T.UNKNOWN
    return into_log(inf, C.add_to_log, args, item, pos)


@handles(C.add_at)
def add_at(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    return into_log(inf, C.add_at, args, args[2].type, pos)


def into_log(inf: Resolve, fn: Any, args: list[Val], item: T.Type, pos: Pos | None) -> Val:
    """An operation that adds to a list of cotangents in place: `fn(log, [index,] cotangent)`."""
    log, cotangent = args[0], args[-1]
    if isinstance(log.type, T.LogType):
        log.type.push([item], [cotangent.active])
    done = inf.emit(fn, args, {}, T.NONE, cotangent.active, pos)
    if cotangent.active:
        op = inf.last_op()
        where, *index, added = op.args
        assert isinstance(where, Var)
        op.derive = derive.IntoLog(where, index[0] if index else None, added)
    return done


@handles(C.copied_log)
def copied_log(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    log = args[0]
    item = log.type.records[0] if isinstance(log.type, T.LogType) and log.type.records else T.UNKNOWN
    active = log.active if not isinstance(log.type, T.LogType) else any(log.type.active)
    made = inf.emit(C.copied_log, args, {}, T.ListType(item), active, pos, pure=True)
    if active:
        op = inf.last_op()
        op.derive = derive.Same(op.args[0])
    return made


@handles(C.seed_like)
def seed_like(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    type_ = args[0].type
    if type_ in (T.FLOAT, T.INT, T.REAL, T.FLOATING):
        return const(1.0)
    return inf.emit(C.seed_like, args, {}, type_ if type_ == T.FLOAT64 else T.UNKNOWN, False, pos, pure=True)


@handles(C.own_log)
def own_log(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    cotangent = args[0]
    type_ = T.LogType()
    if isinstance(cotangent.type, T.LogType):
        type_ = cotangent.type
    elif isinstance(cotangent.type, T.ListType):
        type_.push([cotangent.type.item], [cotangent.active])
    elif cotangent.type == T.NONE:
        type_.push([T.NONE], [False])
    made = inf.emit(C.own_log, args, {}, type_, inf.select, pos, pure=True, name="log")
    if cotangent.active:
        op = inf.last_op()
        op.derive = derive.Same(op.args[0])
    return made


@handles(C.distinct)
def distinct(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    """Nothing to do among numbers; inside differentiated code nobody can change what is handed on."""
    whole = args[0]
    if inf.select or (
        whole.items is not None and all(item.type in T.SCALARS or item.type == T.NONE for item in whole.items)
    ):
        return whole
    made = inf.emit(C.distinct, args, {}, whole.type, False, pos, pure=True)
    return made
