"""Names: globals and cells, constants under guard or read where they stand; inner functions."""

from __future__ import annotations

import operator
import types as pytypes
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import derive, handlers, runtime
from .. import intrinsics as I
from .. import types as T
from ..expressions import InnerDefinition
from ..handlers import handles
from ..ir import Const, Pos
from ..values import Closure, Val, any_active, const, value_of

if TYPE_CHECKING:
    from ..resolve import Resolve


@handles(I.load_global)
def load_global(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    """A global: functions, classes and modules are constants under guard, anything else is read where it stands."""
    name = value_of(args[0])
    names = inf.act.globals
    if name in names:
        return read_from(inf, names, name, names[name], pos)
    builtins = names.get("__builtins__", __builtins__)
    builtins = builtins if isinstance(builtins, dict) else vars(builtins)
    if name in builtins:
        inf.context.guard_absent(names, name)
        return const(builtins[name])
    inf.context.guard_absent(names, name)
    return inf.fail(NameError(f"name '{name}' is not defined", name=name), pos)


def read_from(inf: Resolve, names: dict[str, Any], name: str, value: Any, pos: Pos | None) -> Val:
    if is_definition(value):
        inf.context.guard_global(names, name, value)
        return const(value)
    inf.context.guard_global_type(names, name, value)
    type_ = guarded_type(value)
    head = Val(Const(runtime.Globals(names)), T.UNKNOWN)
    return inf.emit(operator.getitem, [head, const(name)], {}, type_, False, pos, name=name)


def is_definition(value: Any) -> bool:
    """Functions, classes and modules: what code refers to rather than computes with."""
    kinds = (pytypes.FunctionType, pytypes.BuiltinFunctionType, pytypes.ModuleType, type, np.ufunc, pytypes.MethodType,
             pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType)  # fmt: skip
    return (
        handlers.is_derivative(value) or isinstance(value, kinds) or type(value).__name__ == "_ArrayFunctionDispatcher"
    )


def guarded_type(value: Any) -> T.Type:
    """As much of a global's type as is checked again before every gradient."""
    type_ = T.type_of(value)
    return T.ListType(T.UNKNOWN) if isinstance(type_, T.ListType) else type_


def read_cell(inf: Resolve, f: pytypes.FunctionType, name: str, cell: Any, pos: Pos | None) -> Val:
    """A variable of an enclosing function, of a function that exists already."""
    try:
        value = cell.cell_contents
    except ValueError:
        return Val(Const(I.UNBOUND), T.NEVER, maybe_unbound=True)
    if inf.context.is_top(f):
        return read_own_cell(inf, f, name, cell, value, pos)
    if is_definition(value):
        inf.context.guard_cell(cell, value)
        return const(value)
    inf.context.guard_cell_type(cell, value)
    return inf.emit(
        getattr, [Val(Const(cell), T.UNKNOWN), const("cell_contents")], {}, guarded_type(value), False, pos, name=name
    )


def read_own_cell(inf: Resolve, f: pytypes.FunctionType, name: str, cell: Any, value: Any, pos: Pos | None) -> Val:
    """A variable that the differentiated function itself closes over: another lambda from the same line has others."""
    index = f.__code__.co_freevars.index(name)
    top = inf.context.top
    assert top is not None
    where = f"{top.path}.__closure__[{index}].cell_contents"
    if is_definition(value):
        inf.context.entry.guards.own(where, value)
        return const(value)
    inf.context.entry.guards.own_type(where, value)
    holder = Val(top.param, T.UNKNOWN)
    for _ in range(top.depth):
        holder = inf.emit(getattr, [holder, const("f")], {}, T.UNKNOWN, False, pos, pure=True)
    cells = inf.emit(getattr, [holder, const("__closure__")], {}, T.UNKNOWN, False, pos, pure=True)
    own = inf.emit(operator.getitem, [cells, const(index)], {}, T.UNKNOWN, False, pos, pure=True)
    return inf.emit(getattr, [own, const("cell_contents")], {}, guarded_type(value), False, pos, name=name)


@handles(I.make_function)
def make_function(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    inner = value_of(args[0])
    assert isinstance(inner, InnerDefinition)
    active = any_active(args[1:])
    return Val(None, T.Exact(pytypes.FunctionType), active, None, Closure(inner, inf.act, args[1:], kwargs))


@handles(I.check_bound)
def check_bound(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    value = args[0]
    if isinstance(value.atom, Const) and value.atom.value is not I.UNBOUND:
        return value
    checked = inf.emit(I.check_bound, args, {}, value.type, value.active, pos)
    if value.active:
        op = inf.last_op()
        op.derive = derive.Same(op.args[0])
    return checked
