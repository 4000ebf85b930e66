"""Attributes: of modules and classes, methods, and the shape of arrays."""

from __future__ import annotations

import inspect
import types as pytypes
from typing import TYPE_CHECKING, Any

import numpy as np

from ...rules.errors import UnsupportedError
from .. import runtime
from .. import types as T
from ..handlers import handles
from ..ir import Const, Pos
from ..values import Bound, Val, const
from .names import is_definition, read_from

if TYPE_CHECKING:
    from ..resolve import Resolve


# Modules whose own names nobody changes: they are constants without a guard.
LIBRARIES = {"numpy", "math", "operator", "builtins", "itertools", "functools", "scipy", "autograd"}
SHAPE_ATTRIBUTES = {"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides", "flags"}


@handles(getattr)
def get_attribute(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    if len(args) != 2 or not isinstance(args[1].atom, Const):
        return None
    owner, name = args[0], args[1].atom.value
    if isinstance(owner.atom, Const) and not isinstance(owner.atom.value, runtime.Globals):
        value = owner.atom.value
        if isinstance(value, pytypes.ModuleType):
            return module_attribute(inf, value, name, pos)
        if isinstance(value, type) and hasattr(value, name) and is_definition(getattr(value, name)):
            inf.context.guard_attribute(value, name, inspect.getattr_static(value, name))
            return const(getattr(value, name))
    cls = T.class_of(owner.type)
    if cls is None or isinstance(owner.type, T.LogType):
        return other_attribute(inf, owner, name, args, pos)
    try:
        static = inspect.getattr_static(cls, name)
    except AttributeError:
        if cls in (float, int, complex, np.ndarray, tuple, list, dict):  # Python's own error
            return inf.emit(getattr, args, {}, T.UNKNOWN, False, pos)
        return other_attribute(inf, owner, name, args, pos)
    return class_attribute(inf, owner, cls, name, static, args, pos)


def class_attribute(
    inf: Resolve, owner: Val, cls: type, name: str, static: Any, args: list[Val], pos: Pos | None
) -> Val | None:
    if isinstance(static, pytypes.FunctionType | pytypes.MethodDescriptorType | pytypes.WrapperDescriptorType):
        inf.context.guard_attribute(cls, name, static)
        if isinstance(static, pytypes.FunctionType) and getattr(cls, "__dictoffset__", False):
            own = own_attribute(inf, owner, name, static, pos)
            if own is not None:
                return own
        return Val(None, T.UNKNOWN, owner.active, None, Bound(static, owner))
    if isinstance(static, staticmethod | classmethod):
        found = getattr(cls, name)
        inf.context.guard_attribute(cls, name, static)
        return const(found)
    if isinstance(static, property) and static.fget is not None:
        inf.context.guard_attribute(cls, name, static)
        return inf.call(const(static.fget), [owner], {}, pos)
    if issubclass(cls, np.ndarray | np.generic):
        if name == "T":
            return inf.call(const(np.transpose), [owner], {}, pos)
        if name in ("real", "imag"):
            return inf.call(const(getattr(np, name)), [owner], {}, pos)
        if name in SHAPE_ATTRIBUTES:
            return inf.emit(getattr, args, {}, shape_type(owner, name), False, pos, pure=True)
    return other_attribute(inf, owner, name, args, pos)


def own_attribute(inf: Resolve, owner: Val, name: str, static: Any, pos: Pos | None) -> Val | None:
    """An object may have an attribute of its own in the place of a method of its class."""
    if isinstance(owner.atom, Const):
        names = getattr(owner.atom.value, "__dict__", None)
        if type(names) is dict and name in names:
            return read_from(inf, names, name, names[name], pos)
        if type(names) is dict:
            inf.context.guard_absent(names, name)
            return None
    inf.emit(check_method, [owner, const(name), const(static)], {}, T.NONE, False, pos)
    return None


def check_method(owner: Any, name: str, method: Any) -> None:
    """Raises UnsupportedError when `owner.name` is not the method of its class."""
    if getattr(getattr(owner, name), "__func__", None) is not method:
        raise UnsupportedError(
            f"`.{name}` of this {type(owner).__name__} is an attribute of the object itself, in the place of the "
            f"method of its class: that cannot be differentiated yet. Give it another name, or use a subclass."
        )


def shape_type(owner: Val, name: str) -> T.Type:
    if name == "shape" and isinstance(owner.type, T.ArrayType):
        return T.TupleType((T.INT,) * owner.type.ndim)
    return T.INT if name in ("ndim", "size", "itemsize", "nbytes") else T.UNKNOWN


def other_attribute(inf: Resolve, owner: Val, name: str, args: list[Val], pos: Pos | None) -> Val | None:
    if not owner.active:
        return inf.emit(getattr, args, {}, T.UNKNOWN, False, pos)
    if owner.type is T.UNKNOWN or isinstance(owner.type, T.OptionalType):
        return inf.at_run_time(const(runtime.Attribute.of(name)), [owner], {}, pos)
    raise inf.unsupported(f"the attribute `.{name}` of a {T.name_of(owner.type)}", pos)


def module_attribute(inf: Resolve, module: pytypes.ModuleType, name: str, pos: Pos | None) -> Val:
    try:
        value = getattr(module, name)
    except AttributeError as error:
        inf.context.guard_absent(vars(module), name)
        return inf.fail(error, pos)
    fixed = isinstance(value, int | float | str) or is_definition(value) or value is None
    if fixed and module.__name__.split(".")[0] in LIBRARIES:
        return const(value)
    return read_from(inf, vars(module), name, value, pos)
