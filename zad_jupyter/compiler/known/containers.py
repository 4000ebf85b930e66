"""Tuples and lists: known item by item as long as nobody can change them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import derive
from .. import intrinsics as I
from .. import types as T
from ..handlers import Handler, handles
from ..ir import Const, Pos, Var
from ..iterate import MAX_UNROLLED
from ..select import ask
from ..values import Iterable, Val, Words, any_active, const, value_of

if TYPE_CHECKING:
    from ..resolve import Resolve


@handles(I.build_tuple)
def build_tuple(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    if any(arg.what is not None for arg in args):  # a closure in a tuple stays known until the tuple itself is needed
        return Val(None, T.TupleType(tuple(arg.type for arg in args)), any_active(args), tuple(args))
    return inf.build(tuple(args), I.build_tuple, pos)


@handles(I.build_list)
def build_list(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    return inf.build(tuple(args), I.build_list, pos)


@handles(I.build_set)
def build_set(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    if any_active(args):
        raise inf.unsupported("a set that holds differentiated values", pos)
    return None


@handles(I.build_dict)
def build_dict(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    """A dict: known key by key until it is needed as a whole."""
    keys = [key.atom.value for key in args[::2] if isinstance(key.atom, Const) and isinstance(key.atom.value, str)]
    if len(keys) == len(args) // 2:
        return Val(None, T.Exact(dict), False, None, Words(dict(zip(keys, args[1::2], strict=True))))
    if any_active(args):
        raise inf.unsupported("a dict that holds differentiated values", pos)
    return inf.emit(I.build_dict, args, {}, T.Exact(dict), False, pos)


@handles(I.unpack)
def unpack(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    value, count = inf.with_items(args[0], pos), value_of(args[1])
    if isinstance(value.atom, Const) and type(value.atom.value) is tuple:
        value = Val(None, value.type, False, tuple(const(v) for v in value.atom.value))
    if value.items is not None and len(value.items) == count:
        return value
    if isinstance(value.type, T.ArrayType):
        items = tuple(inf.call(const(operator.getitem), [value, const(i)], {}, pos) for i in range(count))
        inf.emit(I.unpack, [value, args[1]], {}, T.UNKNOWN, False, pos)
        return Val(None, T.TupleType(tuple(i.type for i in items)), value.active, items)
    if value.items is not None:
        return inf.emit(I.unpack, [value, args[1]], {}, T.NEVER, False, pos)
    item = value.type.item if isinstance(value.type, T.ListType) else T.UNKNOWN
    made = inf.emit(I.unpack, [value, args[1]], {}, T.TupleType((item,) * count), value.active, pos)
    if value.active:
        op = inf.last_op()
        op.derive = derive.Same(op.args[0])
    return inf.with_items(made, pos)


@handles(I.unpack_star)
def unpack_star(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    value = inf.with_items(args[0], pos)
    before, after = value_of(args[1]), value_of(args[2])
    if value.items is None or len(value.items) < before + after:
        if value.active:
            raise inf.unsupported("a starred target (`a, *b = …`) for a list of unknown length", pos)
        return None
    end = len(value.items) - after
    middle = inf.build(value.items[before:end], I.build_list, pos)
    items = (*value.items[:before], middle, *value.items[end:])
    return Val(None, T.TupleType(tuple(i.type for i in items)), value.active, items)


@handles(operator.getitem)
def get_item(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
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
            op = inf.last_op()
            log, place = op.args
            assert isinstance(log, Var)
            op.derive = derive.LogItem(log, place)
        return made
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
            return inf.build(whole.items[key], kind, pos)
    return None


def converter(kind: Callable[..., Any], build: Callable[..., Any]) -> Handler:
    """`list(x)` and `tuple(x)`: the same items in another container."""

    def handler(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        if len(args) != 1:
            return None
        value = inf.with_items(args[0], pos)
        if value.items is not None:
            return inf.build(value.items, build, pos)
        if isinstance(value.type, T.LogType) and value.type.items is not None and inf.out is value.type.block:
            return inf.build(tuple(value.type.items), build, pos)
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
            op = inf.last_op()
            op.derive = derive.Same(op.args[0])
        return made

    return handler


handles(list)(converter(list, I.build_list))
handles(tuple)(converter(tuple, I.build_tuple))


@handles(operator.add)
def joined(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    """Two tuples, or two lists, whose items are known."""
    if len(args) != 2 or args[0].type in T.SCALARS:
        return None
    a, b = (inf.with_items(arg, pos) if isinstance(arg.type, T.TupleType) else arg for arg in args)
    for kind, build in ((T.TupleType, I.build_tuple), (T.ListType, I.build_list)):
        if a.items is not None and b.items is not None and isinstance(a.type, kind) and isinstance(b.type, kind):
            if build is I.build_tuple:
                return build_tuple(inf, [*a.items, *b.items], {}, pos)
            return inf.build((*a.items, *b.items), build, pos)
    return None


def several(method: Any, function: Any) -> Handler:
    """A method that takes a shape or axes one by one: the same as its function with a tuple of them."""

    def handler(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        if len(args) > 2 and not kwargs:
            return inf.call(const(function), [args[0], inf.build(tuple(args[1:]), pos=pos)], {}, pos)
        return inf.call(const(function), args, kwargs, pos) if len(args) == 2 or function is np.transpose else None

    return handler


for _method, _function in ((np.ndarray.reshape, np.reshape), (np.ndarray.transpose, np.transpose)):
    handles(_method)(several(_method, _function))


@handles(len)
def length(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    value = args[0]
    if value.items is not None:
        return const(len(value.items))
    if isinstance(value.type, T.TupleType):
        return const(len(value.type.items))
    if T.class_of(value.type) in (list, np.ndarray, str, tuple):
        return inf.emit(len, args, {}, T.INT, False, pos)
    return None


def iterable(kind: str) -> Handler:
    def handler(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        strict = kind == "zip" and kwargs.keys() == {"strict"} and isinstance(kwargs["strict"].atom, Const)
        if (kwargs and not strict) or not (any_active(args) or any(isinstance(a.what, Iterable) for a in args)):
            return None
        return Val(None, T.UNKNOWN, True, None, Iterable(kind, args, strict and bool(value_of(kwargs["strict"]))))

    return handler


for _kind in (zip, enumerate, reversed):
    handles(_kind)(iterable(_kind.__name__))


@handles(sum)
def sum_of_anything(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    """A sum of things that are no numbers is what its `+` say: those of lists, or of a person's own class."""
    if kwargs or not args or not any_active(args):
        return None
    items = inf.with_items(args[0], pos).items
    if items is None or len(items) > MAX_UNROLLED:
        return None
    total = args[1] if len(args) > 1 else const(0)
    if all(T.is_scalar(v.type) or v.type is T.UNKNOWN or isinstance(v.type, T.ArrayType) for v in (total, *items)):
        return None
    answer = ask(inf.context, sum, args, kwargs)
    if answer is None or answer.outcome != "hit" or answer.rule.layer != "shipped":
        return None
    for item in items:
        total = inf.call(const(operator.add), [total, item], {}, pos)
    return total


@handles(np.ndim)
def dimensions(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    type_ = args[0].type
    return const(type_.ndim) if isinstance(type_, T.ArrayType) else const(0) if T.is_scalar(type_) else None


@handles(isinstance)
def is_instance(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    cls = T.class_of(args[0].type)
    if cls is None or len(args) != 2 or not isinstance(args[1].atom, Const):
        return None
    kinds = args[1].atom.value
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if all(type(kind) is type for kind in kinds):
        return const(issubclass(cls, kinds))
    return None


def make_log(fn: Callable[..., Any]) -> Handler:
    def handler(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
        type_ = T.LogType()
        if fn is I.new_list:
            type_.items, type_.block = [], inf.out
        return inf.emit(fn, [], {}, type_, inf.select, pos, pure=True, name="log")

    return handler


handles(I.new_log)(make_log(I.new_log))
handles(I.new_list)(make_log(I.new_list))


@handles(I.call_star)
def call_star(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    fn, positional, words = args
    positional = inf.with_items(positional, pos)
    if isinstance(positional.atom, Const) and type(positional.atom.value) is tuple:
        positional = Val(None, positional.type, False, tuple(const(v) for v in positional.atom.value))
    values = words.what.values if isinstance(words.what, Words) else None
    if positional.items is None or values is None:
        if not any_active([fn, positional, words, *(values or {}).values()]):
            return inf.emit(I.call_star, args, {}, T.UNKNOWN, False, pos)
        raise inf.unsupported("`*args` or `**kwargs` of unknown length in a call", pos)
    return inf.call(fn, list(positional.items), values, pos)


def extremum(function: Any) -> Handler:
    """`max(a, b, c)` is `max(max(a, b), c)`."""

    def handler(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        if len(args) < 3 or kwargs:
            return None
        return inf.call(const(function), [inf.call(const(function), args[:-1], {}, pos), args[-1]], {}, pos)

    return handler


handles(max)(extremum(max))
handles(min)(extremum(min))


@handles(pow)
def power(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    return inf.call(const(operator.pow), args, {}, pos) if len(args) == 2 and not kwargs else None


@handles(operator.mul)
def repeated(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    """A tuple or a list, so many times."""
    whole, count = (
        args if len(args) == 2 and args[0].items is not None else args[::-1] if len(args) == 2 else (None, None)
    )
    if whole is None or count is None or whole.items is None or not isinstance(count.atom, Const):
        return None
    if type(count.atom.value) is not int or count.atom.value * len(whole.items) > 64:
        return None
    build = I.build_tuple if isinstance(whole.type, T.TupleType) else I.build_list
    return inf.build(whole.items * count.atom.value, build, pos)
