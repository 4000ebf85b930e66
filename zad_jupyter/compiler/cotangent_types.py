"""Types of what the functions in `cotangents` give: known from the types of the values that cotangents belong to."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import cotangents as C
from . import types as T


def cotangent_of(type_: T.Type) -> T.Type:
    """The type of a value's cotangent, None where it may be absent."""
    if type_ in (T.FLOAT, T.INT):
        return T.FLOAT
    if type_ in (T.REAL, T.FLOATING):
        return T.FLOATING
    if T.is_scalar(type_):
        return type_
    if isinstance(type_, T.ArrayType):
        return type_ if type_.dtype in "fdFD" else T.ArrayType("d", type_.ndim)
    return T.UNKNOWN


def optional(type_: T.Type) -> T.Type:
    return type_ if type_ is T.UNKNOWN else T.OptionalType(type_)


def stripped(type_: T.Type) -> T.Type:
    return type_.item if isinstance(type_, T.OptionalType) else type_


def cotangent_type(f: Any, args: list[T.Type]) -> T.Type:
    """The type that one of zad's own functions gives."""
    if f is C.scatter:
        container, cotangent = args[1], args[3]
        if isinstance(container, T.ArrayType):
            return cotangent_of(container)
        item = stripped(cotangent)
        if isinstance(args[0], T.ListType):
            item = T.join(item, stripped(args[0].item))
        if isinstance(container, T.ListType | T.TupleType) or T.class_of(container) in (list, tuple):
            return T.ListType(optional(item))
        return T.UNKNOWN
    if f is C.gathered:
        buffer = stripped(args[1])
        if isinstance(args[0], T.TupleType) and isinstance(buffer, T.ListType):
            whole: T.Type = T.TupleType((buffer.item,) * len(args[0].items))
            return T.OptionalType(whole) if isinstance(args[1], T.OptionalType) else whole
        return args[1] if isinstance(args[0], T.ArrayType | T.ListType) else T.UNKNOWN
    if f is C.picked:
        buffer = stripped(args[0])
        if isinstance(buffer, T.ListType) and args[1] == T.INT:
            return optional(stripped(buffer.item))
        return T.UNKNOWN
    if f is C.real_part:
        return (
            args[0]
            if args[0] in (T.FLOAT, T.FLOAT64, T.FLOATING)
            or (isinstance(args[0], T.ArrayType) and args[0].dtype in "fd")
            else T.UNKNOWN
        )
    if f is C.sum_to or f is C.broadcast_like:
        return resized(args[0], args[1])
    return T.UNKNOWN


def resized(cotangent: T.Type, like: T.Type) -> T.Type:
    """A cotangent that has been brought to the shape of `like`."""
    dtype = (
        cotangent.dtype if isinstance(cotangent, T.ArrayType) else "d" if cotangent in (T.FLOAT, T.FLOAT64) else None
    )
    if dtype is None:
        return T.UNKNOWN
    if isinstance(like, T.ArrayType):
        return T.ArrayType(dtype, like.ndim)
    if T.is_scalar(like):
        return T.Exact(np.dtype(dtype).type) if isinstance(cotangent, T.ArrayType) else cotangent
    return T.UNKNOWN
