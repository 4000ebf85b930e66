"""When is a new function or class the successor of an old one?

A rule attaches to a function object. But the person who runs a cell again means *the function det*, not the object
it was a minute ago. So an object succeeds another if it is now what the same module-level name means, and it was
written by the same cell or file. Lambdas, inner functions and wrappers never share by name.
"""
from __future__ import annotations

import inspect
import os
import sys
from types import FunctionType
from typing import Any, NamedTuple

from .places import cell_of, is_interactive


class Home(NamedTuple):
    """Where a module-level name was defined: enough to recognise its successor after the object is gone."""

    module: str
    qualname: str
    kind: str                            # "cell" (with an id), "anonymous" (a cell without one) or "file"
    source: str | None                   # the cell's id, or the file
    parameters: tuple[str, ...] | None   # compared where there is no cell id

    def same_name(self, other: Home) -> bool:
        return (self.module, self.qualname) == (other.module, other.qualname)

    def same_source(self, other: Home) -> bool:
        """Whether both were written by the same cell or file."""
        if self.kind != other.kind:
            return False
        return self.parameters == other.parameters if self.kind == "anonymous" else self.source == other.source


def home_of(f: Any) -> Home | None:
    """The home of a module-level function or class; None for everything that never shares by name.

    >>> home_of(home_of).qualname
    'home_of'
    >>> home_of(lambda: 0) is None
    True
    """
    if type(f) is FunctionType:
        if hasattr(f, "__wrapped__"):
            return None
        qualname, code = f.__code__.co_qualname, f.__code__
        parameters: tuple[str, ...] | None = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        filename: str | None = code.co_filename
    elif isinstance(f, type):
        qualname, parameters, filename = f.__qualname__, None, _file_of_class(f)
    else:
        return None
    module = getattr(f, "__module__", None)
    if not isinstance(module, str) or "<" in qualname:
        return None
    cell = cell_of(filename)
    if cell is not None and cell.cell_id is not None:
        return Home(module, qualname, "cell", cell.cell_id, None)
    if filename is None or cell is not None or is_interactive(filename):
        return Home(module, qualname, "anonymous", None, parameters)
    return Home(module, qualname, "file", os.path.realpath(filename), None)


def _file_of_class(cls: type) -> str | None:
    for value in vars(cls).values():
        # A method written in the class body; not one that was generated (dataclasses) or borrowed.
        if isinstance(value, FunctionType) and value.__code__.co_qualname.startswith(cls.__qualname__ + "."):
            return value.__code__.co_filename
    return getattr(sys.modules.get(cls.__module__), "__file__", None)


def is_current(f: Any) -> bool:
    """Whether f is what its module-level name means now."""
    names = f.__code__.co_qualname if type(f) is FunctionType else f.__qualname__
    first, *rest = names.split(".")
    scope: Any = None
    if type(f) is FunctionType:
        scope = f.__globals__.get(first)
    else:
        for namespace in _namespaces(f):
            scope = namespace.get(first)
            if scope is not None:
                break
    for name in rest:
        scope = inspect.getattr_static(scope, name, None)
    return scope is f


def _namespaces(cls: type) -> list[dict[str, Any]]:
    methods = [v for v in vars(cls).values() if isinstance(v, FunctionType)]
    found = [m.__globals__ for m in methods if m.__code__.co_qualname.startswith(cls.__qualname__ + ".")][:1]
    module = sys.modules.get(cls.__module__)
    return found + ([vars(module)] if module is not None else [])


def same_class(a: type, b: type) -> bool:
    """Whether a and b are one class, before and after its cell or file was executed again."""
    if a is b:
        return True
    if a.__name__ != b.__name__ or a.__qualname__ != b.__qualname__ or a.__module__ != b.__module__:
        return False
    home, other = home_of(a), home_of(b)
    if home is None or other is None or not home.same_source(other):
        return False
    return is_current(a) != is_current(b)       # just one of them can be the present one
