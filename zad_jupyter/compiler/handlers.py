"""What `infer` knows of certain functions: names and attributes, tuples and lists, and zad's own operations.

A handler gets the values of a call and gives the value of its result, or None: then the call is resolved like any other.
"""

from __future__ import annotations

import inspect
import operator
import types as pytypes
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import cotangents as C
from . import derive, pullbacks, runtime
from . import intrinsics as I
from . import types as T
from .expressions import InnerDefinition
from .ir import Const, Pos, Var
from .values import Bound, Closure, Iterable, Val, Words, any_active, const

Handler = Callable[[Any, list[Val], dict[str, Val], Pos | None], Val | None]
_handlers: dict[int, tuple[Any, Handler]] = {}


def handles(*functions: Any) -> Callable[[Handler], Handler]:
    """Register what the compiler knows of some functions."""

    def register(handler: Handler) -> Handler:
        for function in functions:
            _handlers[id(function)] = (function, handler)
        return handler

    return register


def find(f: Any) -> Handler | None:
    found = _handlers.get(id(f))
    return None if found is None else found[1]


_derivatives: list[Any] = [None, lambda f: None]


def set_derivatives(call: Any, kind_of: Any) -> None:
    """How to call what `grad` and its kin make, and how to tell such an object."""
    _derivatives[:] = [call, kind_of]


_pulled: list[Any] = [None]


def set_pulled(call: Any) -> None:
    """How to call the pullback that `pullback` gives inside code that is being read."""
    _pulled[0] = call


def pulled_call(inf: Any, pulled: Any, args: list[Val], pos: Pos | None) -> Val:
    return _pulled[0](inf, pulled, args[0], pos)  # type: ignore[no-any-return]


def derivative_call(inf: Any, f: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    return _derivatives[0](inf, f, args, kwargs, pos)  # type: ignore[no-any-return]


def is_derivative(f: Any) -> bool:
    return _derivatives[1](f) is not None


# -- names


@handles(I.load_global)
def load_global(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    """A global: functions, classes and modules are constants under guard, anything else is read where it stands."""
    name = args[0].atom.value  # type: ignore[union-attr]
    names = inf.act.globals
    if name in names:
        return read_from(inf, names, name, names[name], pos)
    builtins = names.get("__builtins__", __builtins__)
    builtins = builtins if isinstance(builtins, dict) else vars(builtins)
    if name in builtins:
        inf.context.guard_absent(names, name)
        return const(builtins[name])
    inf.context.guard_absent(names, name)
    return inf.fail(NameError(f"name '{name}' is not defined", name=name), pos)  # type: ignore[no-any-return]


def read_from(inf: Any, names: dict[str, Any], name: str, value: Any, pos: Pos | None) -> Val:
    if is_definition(value):
        inf.context.guard_global(names, name, value)
        return const(value)
    inf.context.guard_global_type(names, name, value)
    type_ = guarded_type(value)
    head = Val(Const(runtime.Globals(names)), T.UNKNOWN)
    return inf.emit(operator.getitem, [head, const(name)], {}, type_, False, pos, name=name)  # type: ignore[no-any-return]


def is_definition(value: Any) -> bool:
    """Functions, classes and modules: what code refers to rather than computes with."""
    kinds = (pytypes.FunctionType, pytypes.BuiltinFunctionType, pytypes.ModuleType, type, np.ufunc, pytypes.MethodType,
             pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType)  # fmt: skip
    return isinstance(value, kinds) or type(value).__name__ == "_ArrayFunctionDispatcher"


def guarded_type(value: Any) -> T.Type:
    """As much of a global's type as is checked again before every gradient."""
    type_ = T.type_of(value)
    return T.ListType(T.UNKNOWN) if isinstance(type_, T.ListType) else type_


def read_cell(inf: Any, f: pytypes.FunctionType, name: str, cell: Any, pos: Pos | None) -> Val:
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
    return inf.emit(getattr, [Val(Const(cell), T.UNKNOWN), const("cell_contents")], {}, guarded_type(value), False, pos, name=name)  # type: ignore[no-any-return]


def read_own_cell(inf: Any, f: pytypes.FunctionType, name: str, cell: Any, value: Any, pos: Pos | None) -> Val:
    """A variable that the differentiated function itself closes over: another lambda from the same line has others."""
    index = f.__code__.co_freevars.index(name)
    where = f"f.__closure__[{index}].cell_contents"
    if is_definition(value):
        inf.context.entry.guards.own(where, value)
        return const(value)
    inf.context.entry.guards.own_type(where, value)
    cells = inf.emit(getattr, [Val(inf.context.top[1], T.UNKNOWN), const("__closure__")], {}, T.UNKNOWN, False, pos, pure=True)
    own = inf.emit(operator.getitem, [cells, const(index)], {}, T.UNKNOWN, False, pos, pure=True)
    return inf.emit(getattr, [own, const("cell_contents")], {}, guarded_type(value), False, pos, name=name)  # type: ignore[no-any-return]


@handles(I.make_function)
def make_function(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    inner = args[0].atom.value  # type: ignore[union-attr]
    assert isinstance(inner, InnerDefinition)
    active = any_active(args[1:])
    return Val(None, T.Exact(pytypes.FunctionType), active, None, Closure(inner, inf.act, args[1:], kwargs))


@handles(I.check_bound)
def check_bound(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    value = args[0]
    if isinstance(value.atom, Const) and value.atom.value is not I.UNBOUND:
        return value
    checked = inf.emit(I.check_bound, args, {}, value.type, value.active, pos)
    if value.active:
        inf.last_op().derive = derive.Same(value.atom)  # type: ignore[arg-type]
    return checked  # type: ignore[no-any-return]


@handles(I.delete_name)
def delete_name(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    return Val(Const(I.UNBOUND), T.NEVER, maybe_unbound=True)


# -- attributes

SHAPE_ATTRIBUTES = {"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides", "flags"}


@handles(getattr)
def get_attribute(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    if len(args) != 2 or not isinstance(args[1].atom, Const):
        return None
    owner, name = args[0], args[1].atom.value
    if isinstance(owner.atom, Const) and not isinstance(owner.atom.value, runtime.Globals):
        value = owner.atom.value
        if isinstance(value, pytypes.ModuleType):
            return module_attribute(inf, value, name, pos)
        if isinstance(value, type) and hasattr(value, name) and is_definition(getattr(value, name)):
            inf.context.guard_attribute(value, name, getattr(value, name))
            return const(getattr(value, name))
    cls = T.class_of(owner.type)
    if cls is None or isinstance(owner.type, T.LogType):
        return other_attribute(inf, owner, name, args, pos)
    try:
        static = inspect.getattr_static(cls, name)
    except AttributeError:
        return other_attribute(inf, owner, name, args, pos)
    return class_attribute(inf, owner, cls, name, static, args, pos)


def class_attribute(inf: Any, owner: Val, cls: type, name: str, static: Any, args: list[Val], pos: Pos | None) -> Val | None:
    if isinstance(static, pytypes.FunctionType | pytypes.MethodDescriptorType | pytypes.WrapperDescriptorType):
        inf.context.guard_attribute(cls, name, static)
        return Val(None, T.UNKNOWN, owner.active, None, Bound(static, owner))
    if isinstance(static, staticmethod | classmethod):
        found = getattr(cls, name)
        inf.context.guard_attribute(cls, name, static)
        return const(found)
    if isinstance(static, property) and static.fget is not None:
        inf.context.guard_attribute(cls, name, static)
        return inf.call(const(static.fget), [owner], {}, pos)  # type: ignore[no-any-return]
    if issubclass(cls, np.ndarray | np.generic):
        if name == "T":
            return inf.call(const(np.transpose), [owner], {}, pos)  # type: ignore[no-any-return]
        if name in ("real", "imag"):
            return inf.call(const(getattr(np, name)), [owner], {}, pos)  # type: ignore[no-any-return]
        if name in SHAPE_ATTRIBUTES:
            return inf.emit(getattr, args, {}, shape_type(owner, name), False, pos, pure=True)  # type: ignore[no-any-return]
    return other_attribute(inf, owner, name, args, pos)


def shape_type(owner: Val, name: str) -> T.Type:
    if name == "shape" and isinstance(owner.type, T.ArrayType):
        return T.TupleType((T.INT,) * owner.type.ndim)
    return T.INT if name in ("ndim", "size", "itemsize", "nbytes") else T.UNKNOWN


def other_attribute(inf: Any, owner: Val, name: str, args: list[Val], pos: Pos | None) -> Val | None:
    if not owner.active:
        return inf.emit(getattr, args, {}, T.UNKNOWN, False, pos)  # type: ignore[no-any-return]
    if owner.type is T.UNKNOWN or isinstance(owner.type, T.OptionalType):
        return inf.at_run_time(const(runtime.Attribute.of(name)), [owner], {}, pos)  # type: ignore[no-any-return]
    raise inf.unsupported(f"the attribute `.{name}` of a {T.name_of(owner.type)}", pos)


def module_attribute(inf: Any, module: pytypes.ModuleType, name: str, pos: Pos | None) -> Val:
    try:
        value = getattr(module, name)
    except AttributeError as error:
        return inf.fail(error, pos)  # type: ignore[no-any-return]
    if module.__name__.split(".")[0] in ("numpy", "math", "operator", "builtins", "itertools", "functools", "scipy", "autograd"):
        if isinstance(value, int | float | str) or is_definition(value) or value is None:
            return const(value)
    return read_from(inf, vars(module), name, value, pos)


# -- tuples and lists


@handles(I.build_tuple)
def build_tuple(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    if any(arg.what is not None for arg in args):  # a closure in a tuple stays known until the tuple itself is needed
        return Val(None, T.TupleType(tuple(arg.type for arg in args)), any_active(args), tuple(args))
    return inf.build(tuple(args), I.build_tuple, pos)  # type: ignore[no-any-return]


@handles(I.build_list)
def build_list(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    return inf.build(tuple(args), I.build_list, pos)  # type: ignore[no-any-return]


@handles(I.build_set)
def build_set(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    if any_active(args):
        raise inf.unsupported("a set that holds differentiated values", pos)
    return None


@handles(I.build_dict)
def build_dict(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    """A dict: known key by key until it is needed as a whole."""
    keys = [key.atom.value if isinstance(key.atom, Const) else None for key in args[::2]]
    if all(isinstance(key, str) for key in keys):
        return Val(None, T.Exact(dict), False, None, Words(dict(zip(keys, args[1::2], strict=True))))
    if any_active(args):
        raise inf.unsupported("a dict that holds differentiated values", pos)
    return inf.emit(I.build_dict, args, {}, T.Exact(dict), False, pos)  # type: ignore[no-any-return]


@handles(I.unpack)
def unpack(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    value, count = inf.with_items(args[0], pos), args[1].atom.value  # type: ignore[union-attr]
    if isinstance(value.atom, Const) and type(value.atom.value) is tuple:
        value = Val(None, value.type, False, tuple(const(v) for v in value.atom.value))
    if value.items is not None and len(value.items) == count:
        return value  # type: ignore[no-any-return]
    if isinstance(value.type, T.ArrayType):
        items = tuple(inf.call(const(operator.getitem), [value, const(i)], {}, pos) for i in range(count))
        inf.emit(I.unpack, [value, args[1]], {}, T.UNKNOWN, False, pos)
        return Val(None, T.TupleType(tuple(i.type for i in items)), value.active, items)
    if value.items is not None:
        return inf.emit(I.unpack, [value, args[1]], {}, T.NEVER, False, pos)  # type: ignore[no-any-return]
    item = value.type.item if isinstance(value.type, T.ListType) else T.UNKNOWN
    made = inf.emit(I.unpack, [value, args[1]], {}, T.TupleType((item,) * count), value.active, pos)
    if value.active:
        inf.last_op().derive = derive.Same(value.atom)
    return inf.with_items(made, pos)  # type: ignore[no-any-return]


@handles(I.unpack_star)
def unpack_star(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    value = inf.with_items(args[0], pos)
    before, after = args[1].atom.value, args[2].atom.value  # type: ignore[union-attr]
    if value.items is None or len(value.items) < before + after:
        if value.active:
            raise inf.unsupported("a starred target (`a, *b = …`) for a list of unknown length", pos)
        return None
    end = len(value.items) - after
    middle = inf.build(value.items[before:end], I.build_list, pos)
    items = (*value.items[:before], middle, *value.items[end:])
    return Val(None, T.TupleType(tuple(i.type for i in items)), value.active, items)


@handles(operator.getitem)
def get_item(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    whole, index = args
    if isinstance(whole.atom, Const) and isinstance(index.atom, Const) and type(whole.atom.value) is tuple:
        try:
            return const(whole.atom.value[index.atom.value])
        except Exception:
            return None
    if isinstance(whole.type, T.LogType):
        type_ = whole.type.records[0] if whole.type.records and index.type == T.INT else T.UNKNOWN
        active = any(whole.type.active)
        made = inf.emit(operator.getitem, args, {}, type_, active, pos)
        if active:
            inf.last_op().derive = derive.LogItem(whole.atom, index.atom)  # type: ignore[arg-type]
        return made  # type: ignore[no-any-return]
    if not isinstance(index.atom, Const):
        return None
    if isinstance(whole.type, T.TupleType):
        whole = inf.with_items(whole, pos)
    if whole.items is not None:
        key = index.atom.value
        if isinstance(key, int) and -len(whole.items) <= key < len(whole.items):
            return whole.items[key]
        if isinstance(key, slice):
            kind = I.build_tuple if isinstance(whole.type, T.TupleType) else I.build_list
            return inf.build(whole.items[key], kind, pos)  # type: ignore[no-any-return]
    return None


def converter(kind: Callable[..., Any], build: Callable[..., Any]) -> Handler:
    """`list(x)` and `tuple(x)`: the same items in another container."""

    def handler(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        if len(args) != 1:
            return None
        value = inf.with_items(args[0], pos)
        if value.items is not None:
            return inf.build(value.items, build, pos)  # type: ignore[no-any-return]
        if isinstance(value.type, T.LogType) and value.type.items is not None and inf.out is value.type.block:
            return inf.build(tuple(value.type.items), build, pos)  # type: ignore[no-any-return]
        if isinstance(value.type, T.LogType):
            item = value.type.records[0] if value.type.records else T.NEVER
            active = any(value.type.active)
        elif isinstance(value.type, T.ListType):
            item, active = value.type.item, value.active
        else:
            return None
        type_ = T.ListType(item) if kind is list else T.Exact(tuple)
        made = inf.emit(kind, [value], {}, type_, active, pos, pure=True)
        if active:
            inf.last_op().derive = derive.Same(value.atom)
        return made  # type: ignore[no-any-return]

    return handler


handles(list)(converter(list, I.build_list))
handles(tuple)(converter(tuple, I.build_tuple))


@handles(operator.add)
def joined(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    """Two tuples, or two lists, whose items are known."""
    if len(args) != 2 or args[0].type in T.SCALARS:
        return None
    a, b = (inf.with_items(arg, pos) if isinstance(arg.type, T.TupleType) else arg for arg in args)
    for kind, build in ((T.TupleType, I.build_tuple), (T.ListType, I.build_list)):
        if a.items is not None and b.items is not None and isinstance(a.type, kind) and isinstance(b.type, kind):
            if build is I.build_tuple:
                return build_tuple(inf, [*a.items, *b.items], {}, pos)
            return inf.build((*a.items, *b.items), build, pos)  # type: ignore[no-any-return]
    return None


def several(method: Any, function: Any) -> Handler:
    """A method that takes a shape or axes one by one: the same as its function with a tuple of them."""

    def handler(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        if len(args) > 2 and not kwargs:
            return inf.call(const(function), [args[0], inf.build(tuple(args[1:]), pos=pos)], {}, pos)  # type: ignore[no-any-return]
        return inf.call(const(function), args, kwargs, pos) if len(args) == 2 or function is np.transpose else None  # type: ignore[no-any-return]

    return handler


for _method, _function in ((np.ndarray.reshape, np.reshape), (np.ndarray.transpose, np.transpose)):
    handles(_method)(several(_method, _function))


@handles(len)
def length(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    value = args[0]
    if value.items is not None:
        return const(len(value.items))
    if isinstance(value.type, T.TupleType):
        return const(len(value.type.items))
    if T.class_of(value.type) in (list, np.ndarray, str, tuple):
        return inf.emit(len, args, {}, T.INT, False, pos)  # type: ignore[no-any-return]
    return None


def iterable(kind: str) -> Handler:
    def handler(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        if kwargs or not (any_active(args) or any(isinstance(a.what, Iterable) for a in args)):
            return None
        return Val(None, T.UNKNOWN, True, None, Iterable(kind, args))

    return handler


for _function in (zip, enumerate, reversed):
    handles(_function)(iterable(_function.__name__))


@handles(np.ndim)
def dimensions(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    type_ = args[0].type
    return const(type_.ndim) if isinstance(type_, T.ArrayType) else const(0) if T.is_scalar(type_) else None


@handles(isinstance)
def is_instance(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    cls = T.class_of(args[0].type)
    if cls is None or len(args) != 2 or not isinstance(args[1].atom, Const):
        return None
    kinds = args[1].atom.value
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if all(type(kind) is type for kind in kinds):
        return const(issubclass(cls, kinds))
    return None


def make_log(fn: Callable[..., Any]) -> Handler:
    def handler(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
        type_ = T.LogType()
        if fn is I.new_list:
            type_.items, type_.block = [], inf.out
        return inf.emit(fn, [], {}, type_, inf.select, pos, pure=True, name="log")  # type: ignore[no-any-return]

    return handler


handles(I.new_log)(make_log(I.new_log))
handles(I.new_list)(make_log(I.new_list))


@handles(I.call_star)
def call_star(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    fn, positional, words = args
    positional = inf.with_items(positional, pos)
    if isinstance(positional.atom, Const) and type(positional.atom.value) is tuple:
        positional = Val(None, positional.type, False, tuple(const(v) for v in positional.atom.value))
    values = words.what.values if isinstance(words.what, Words) else None
    if positional.items is None or values is None:
        if not any_active([fn, positional, words, *(values or {}).values()]):
            return inf.emit(I.call_star, args, {}, T.UNKNOWN, False, pos)  # type: ignore[no-any-return]
        raise inf.unsupported("`*args` or `**kwargs` of unknown length in a call", pos)
    return inf.call(fn, list(positional.items), values, pos)  # type: ignore[no-any-return]


# -- exceptions


def raiser(fn: Callable[..., Any]) -> Handler:
    def handler(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
        inf.emit(fn, args, {}, T.NEVER, False, pos)
        inf.dead = True
        return Val(Const(I.UNBOUND), T.NEVER)

    return handler


for _function in (I.raise_, I.reraise, I.fail):
    handles(_function)(raiser(_function))


# -- in-place operators

IMMUTABLE = (int, float, complex, bool, str, bytes, tuple)
SYMBOLS = {
    "add": "+=", "sub": "-=", "mul": "*=", "truediv": "/=", "floordiv": "//=", "mod": "%=", "pow": "**=", "matmul": "@=",
    "and_": "&=", "or_": "|=", "xor": "^=", "lshift": "<<=", "rshift": ">>=",
}  # fmt: skip


def in_place(plain: Callable[..., Any], inplace: Callable[..., Any], symbol: str) -> Handler:
    def handler(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        left = args[0].type
        cls = T.class_of(left)
        if left in T.SCALARS or left is T.NEVER or (cls is not None and (cls in IMMUTABLE or issubclass(cls, np.generic))):
            return inf.call(const(plain), args, {}, pos)  # type: ignore[no-any-return]
        if cls is None:
            return inf.at_run_time(const(inplace), args, {}, pos)  # type: ignore[no-any-return]
        raise inf.unsupported(f"`{symbol}` on a {cls.__name__}, which changes it in place (write `x = x {symbol[:-1]} …`),", pos)

    return handler


for _name, _symbol in SYMBOLS.items():
    _inplace = getattr(operator, "i" + _name.rstrip("_"))
    handles(_inplace)(in_place(getattr(operator, _name), _inplace, _symbol))


# -- cotangents


@handles(C.add)
def add(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
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
        made = inf.emit(operator.add, args, {}, inf.result_type(operator.add, args, {}), any_active(args), pos, pure=True)
    else:
        type_ = T.join(*[t.item if isinstance(t, T.OptionalType) else t for t in (a.type, b.type)])
        both_optional = all(isinstance(t, T.OptionalType) for t in (a.type, b.type))
        made = inf.emit(C.add, args, {}, T.OptionalType(type_) if both_optional and type_ is not T.UNKNOWN else type_,
                        any_active(args), pos, pure=True)  # fmt: skip
    if made.active:
        inf.last_op().derive = derive.Sum([a.atom, b.atom])
    return made  # type: ignore[no-any-return]


@handles(C.finish)
def finish(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
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
    return made  # type: ignore[no-any-return]


@handles(C.sum_to)
def sum_to(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    cotangent, like = args
    if all(t in T.SCALARS for t in (cotangent.type, like.type)):
        return cotangent
    return None


@handles(C.broadcast_like)
def broadcast_like(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    cotangent, like = args
    if all(t in T.SCALARS for t in (cotangent.type, like.type)):
        return cotangent
    return None


@handles(C.add_to_log)
def add_to_log(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    log, cotangents = args
    item = cotangents.type.item if isinstance(cotangents.type, T.ListType) else T.UNKNOWN
    return into_log(inf, C.add_to_log, args, item, cotangents, derive.IntoLog(log.atom, None, cotangents.atom), pos)  # type: ignore[arg-type]


@handles(C.add_at)
def add_at(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    log, index, cotangent = args
    return into_log(inf, C.add_at, args, cotangent.type, cotangent, derive.IntoLog(log.atom, index.atom, cotangent.atom), pos)  # type: ignore[arg-type]


def into_log(inf: Any, fn: Any, args: list[Val], item: T.Type, cotangent: Val, how: Any, pos: Pos | None) -> Val:
    """An operation that adds to a list of cotangents in place."""
    log = args[0]
    if isinstance(log.type, T.LogType):
        log.type.push([item], [cotangent.active])
    done = inf.emit(fn, args, {}, T.NONE, cotangent.active, pos)
    how.cotangent = inf.atom(cotangent)
    if cotangent.active:
        inf.last_op().derive = how
    return done  # type: ignore[no-any-return]


@handles(C.copied_log)
def copied_log(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    log = args[0]
    item = log.type.records[0] if isinstance(log.type, T.LogType) and log.type.records else T.UNKNOWN
    active = log.active if not isinstance(log.type, T.LogType) else any(log.type.active)
    made = inf.emit(C.copied_log, args, {}, T.ListType(item), active, pos, pure=True)
    if active:
        inf.last_op().derive = derive.Same(log.atom)  # type: ignore[arg-type]
    return made  # type: ignore[no-any-return]


@handles(C.seed_like)
def seed_like(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    type_ = args[0].type
    if type_ in (T.FLOAT, T.INT, T.REAL, T.FLOATING):
        return const(1.0)
    return inf.emit(C.seed_like, args, {}, type_ if type_ == T.FLOAT64 else T.UNKNOWN, False, pos, pure=True)  # type: ignore[no-any-return]


@handles(C.own_log)
def own_log(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
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
    return made  # type: ignore[no-any-return]


# -- calls of rules and of compiled code, met again at a higher order


@handles(pullbacks.apply_rule)
def apply_rule(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    call = args[0].atom.value  # type: ignore[union-attr]
    if not any_active(args[1:]):
        return None
    given = args[1:]
    words = {name: given.pop() for name in reversed(call.keywords)}
    pair = inf.call(const(call.rule.function), given, words, pos)
    return pair  # type: ignore[no-any-return]


@handles(pullbacks.apply_pullback)
def apply_pullback(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    if not any_active(args):
        return None
    head, pullback, ybar, *given = args
    result = inf.with_items(inf.call(pullback, [ybar], {}, pos), pos)
    if len(given) == 1 and result.type in T.SCALARS:
        return inf.build((result,), pos=pos)  # type: ignore[no-any-return]
    if result.items is not None and len(result.items) == len(given) and isinstance(result.type, T.TupleType):
        return result  # type: ignore[no-any-return]
    made = inf.emit(pullbacks.checked, [head, result, *given], {}, T.TupleType((T.UNKNOWN,) * len(given)), True, pos)
    inf.last_op().derive = derive.Unchecked(result.atom)
    return made  # type: ignore[no-any-return]


@handles(runtime.tick)
def tick(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    return inf.emit(runtime.tick, args, {}, T.NONE, False, pos)  # type: ignore[no-any-return]


def run_time(function: Callable[..., Any]) -> Handler:
    def handler(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        return inf.at_run_time(const(function), args, {}, pos) if any_active(args) else None  # type: ignore[no-any-return]

    return handler


handles(runtime.call_forward)(run_time(runtime.call_forward))
handles(runtime.call_back)(run_time(runtime.call_back))


@handles(runtime.make_closure)
def make_closure(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    head = 4  # code, globals, defaults, which cell is the function itself
    active = any_active(args[head:])
    made = inf.emit(runtime.make_closure, args, {}, T.Exact(pytypes.FunctionType), active, pos, pure=True)
    if active:
        op = inf.last_op()
        op.derive = derive.Parts([None] * head + op.args[head:], offset=head)
    return made  # type: ignore[no-any-return]


@handles(runtime.bound_method)
def bound_method(inf: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    made = inf.emit(runtime.bound_method, args, {}, T.UNKNOWN, args[1].active, pos, pure=True)
    if args[1].active:
        inf.last_op().derive = derive.Same(args[1].atom)  # type: ignore[arg-type]
    return made  # type: ignore[no-any-return]
