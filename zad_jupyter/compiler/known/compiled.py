"""Rules, pullbacks and compiled code, met again at a higher order."""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import derive, pullbacks, runtime
from .. import types as T
from ..handlers import Handler, handles
from ..ir import Pos
from ..values import Val, any_active, const, value_of

if TYPE_CHECKING:
    from ..resolve import Resolve


@handles(pullbacks.apply_rule)
def apply_rule(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    call = value_of(args[0])
    if not any_active(args[1:]):
        return None
    given = args[1:]
    words = {name: given.pop() for name in reversed(call.keywords)}
    pair = inf.call(const(call.rule.function), given, words, pos)
    return pair


@handles(pullbacks.apply_pullback)
def apply_pullback(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    if not any_active(args):
        return None
    head, pullback, ybar, *given = args
    result = inf.with_items(inf.call(pullback, [ybar], {}, pos), pos)
    if len(given) == 1 and result.type in T.SCALARS:
        return inf.build((result,), pos=pos)
    whole = result.items is not None and len(result.items) == len(given) and isinstance(result.type, T.TupleType)
    if whole and all(
        item.type in (*T.SCALARS, T.NONE) and value.type in T.SCALARS  # an array's shape is known only when it is there
        for item, value in zip(result.items or (), given, strict=True)
    ):
        return result
    made = inf.emit(pullbacks.checked, [head, result, *given], {}, T.TupleType((T.UNKNOWN,) * len(given)), True, pos)
    op = inf.last_op()
    op.derive = derive.Unchecked(op.args[1])
    return made


@handles(runtime.tick)
def tick(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    return inf.emit(runtime.tick, args, {}, T.NONE, False, pos)


def run_time(function: Callable[..., Any]) -> Handler:
    def handler(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        return inf.at_run_time(const(function), args, {}, pos) if any_active(args) else None

    return handler


handles(runtime.call_forward)(run_time(runtime.call_forward))
handles(runtime.call_back)(run_time(runtime.call_back))


@handles(runtime.make_closure)
def make_closure(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    head = 4  # code, globals, defaults, which cell is the function itself
    active = any_active(args[head:])
    made = inf.emit(runtime.make_closure, args, {}, T.Exact(pytypes.FunctionType), active, pos, pure=True)
    if active:
        op = inf.last_op()
        op.derive = derive.Parts([None] * head + op.args[head:], offset=head)
    return made


@handles(runtime.bound_method)
def bound_method(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    made = inf.emit(runtime.bound_method, args, {}, T.UNKNOWN, args[1].active, pos, pure=True)
    if args[1].active:
        op = inf.last_op()
        op.derive = derive.Same(op.args[1])
    return made


@handles(pullbacks.opted_out)
def opted_out(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    pair = args[0]
    if pair.items is not None or pair.type == T.NONE:
        return const(pair.items is None)
    return inf.emit(pullbacks.opted_out, args, {}, T.BOOL, False, pos, pure=True)
