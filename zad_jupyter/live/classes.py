"""An old class becomes the new one: its bases and attributes, as far as Python allows a class to change."""
from __future__ import annotations

import _abc
import functools
from abc import ABCMeta
from enum import EnumMeta
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from .same import interchangeable
from .translation import Translation

_NOTHING = object()
_KEPT = frozenset({"__dict__", "__weakref__", "__module__", "__slots__", "_abc_impl", "__abstractmethods__"})


def why_not(old: type, new: type, translation: Translation) -> str | None:
    """Why `old` cannot become `new`, or None. Its bases are tried afterwards, by `change_bases`."""
    if isinstance(old, EnumMeta) or isinstance(new, EnumMeta):
        return "the members of an enum are fixed when it is made"
    if translation.of(type(new)) is not type(old):
        return "its metaclass is another"
    if _layout(old) != _layout(new):
        return "its __slots__ are others, and the instances have no room for that"
    if getattr(old, "_fields", None) != getattr(new, "_fields", None) and issubclass(old, tuple):
        return "its fields are others, and the instances are tuples of fixed length"
    return None


def _layout(cls: type) -> tuple[Any, ...]:
    slots = {name for name, value in vars(cls).items() if isinstance(value, MemberDescriptorType)}
    return cls.__basicsize__, cls.__itemsize__, cls.__dictoffset__, cls.__weakrefoffset__, slots


def change_bases(old: type, new: type, translation: Translation) -> str | None:
    """Give `old` the bases of `new`, as their old selves. Returns why that cannot be, or None."""
    bases = tuple(translation.of(base) for base in new.__bases__)
    if len(bases) == len(old.__bases__) and all(a is b for a, b in zip(bases, old.__bases__, strict=True)):
        return None
    try:
        type.__setattr__(old, "__bases__", bases)
    except Exception as error:                # a metaclass's own mro() may raise anything
        return f"Python cannot change its base classes ({error})"
    return None


def change_class(old: type, new: type, translation: Translation) -> None:
    """Give `old` the attributes of `new`, and no others. Its functions were changed before; here they just stay."""
    for name, value in list(vars(new).items()):
        if name in _KEPT or isinstance(value, MemberDescriptorType | GetSetDescriptorType):
            continue
        value = translation.retarget(value)
        have = vars(old).get(name, _NOTHING)
        if not interchangeable(have, value) and not _same_descriptor(have, value):
            type.__setattr__(old, name, value)            # not the metaclass's own, which may have side effects
    for name, value in list(vars(old).items()):
        if name not in vars(new) and name not in _KEPT and not isinstance(value, MemberDescriptorType):
            type.__delattr__(old, name)
    for name in ("__name__", "__qualname__"):
        type.__setattr__(old, name, getattr(new, name))
    if isinstance(old, ABCMeta):
        if "__abstractmethods__" in vars(new):
            type.__setattr__(old, "__abstractmethods__", new.__abstractmethods__)  # type: ignore[attr-defined]
        for reference in _abc._get_dump(new)[0]:          # what the new text registers
            virtual = reference()
            if virtual is not None:
                old.register(translation.of(virtual))
        _abc._reset_caches(old)               # a changed __subclasshook__ answers anew


def _same_descriptor(a: Any, b: Any) -> bool:
    """Whether two descriptors are of one kind and hold the same functions."""
    if type(a) is not type(b):
        return False
    if type(a) in (staticmethod, classmethod):
        return a.__func__ is b.__func__
    if type(a) is property:
        return (a.fget, a.fset, a.fdel, a.__doc__) == (b.fget, b.fset, b.fdel, b.__doc__)
    return type(a) is functools.cached_property and a.func is b.func
