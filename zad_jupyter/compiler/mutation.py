"""What changes an object in place: refused, for the values that reverse code has saved would change with it.

A derivative needs values as they were when they were used. Until saved values are copied where that is necessary, a
function that changes arrays or containers in place is refused rather than differentiated wrongly.
"""

from __future__ import annotations

import ast
import types as pytypes
from functools import lru_cache
from typing import Any

import numpy as np

from . import source
from . import types as T
from .scope import parameter_names
from .values import Val

METHODS: dict[type, set[str]] = {
    list: {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"},
    dict: {"update", "pop", "popitem", "clear", "setdefault"},
    set: {"add", "discard", "remove", "pop", "clear", "update"},
    np.ndarray: {"sort", "fill", "put", "partition", "resize", "byteswap", "itemset", "setfield", "setflags"},
}  # fmt: skip
IN_PLACE = {getattr(cls, name) for cls, names in METHODS.items() for name in names if hasattr(cls, name)}
FUNCTIONS = {np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}
NAMES = set().union(*METHODS.values()) | {"shuffle"}


FRAMES = {eval, exec, globals, locals, vars, dir, compile}


def changes(f: Any, args: list[Val], kwargs: dict[str, Val]) -> str:
    """What a call changes in place, in words, or nothing."""
    if (
        isinstance(f, pytypes.MethodDescriptorType | pytypes.BuiltinFunctionType)
        or type(f).__name__ == "_ArrayFunctionDispatcher"
    ):
        if f in IN_PLACE:
            return f"`.{f.__name__}()`, which changes {_article(f)} in place"
        if f in FUNCTIONS:
            return f"`np.{f.__name__}`, which changes an array in place"
    if isinstance(f, pytypes.BuiltinFunctionType) and f in FRAMES and len(args) < 2:
        return f"`{f.__name__}`, which looks at the function that it stands in,"
    if "out" in kwargs and not isinstance(f, pytypes.FunctionType) and kwargs["out"].type != T.NONE:
        return "`out=`, which changes an array in place"
    if isinstance(f, np.ufunc) and len(args) > f.nin:
        return "an output argument, which changes an array in place"
    return ""


def _article(f: Any) -> str:
    name: str = getattr(getattr(f, "__objclass__", None), "__name__", "object")
    return "an array" if name == "ndarray" else f"a {name}"


def may_change_arguments(f: pytypes.FunctionType, args: list[Val]) -> bool:
    """Whether a function that is only called, not differentiated, might change one of its arguments in place."""
    if not any(_changeable(arg) for arg in args):
        return False
    return _assigns(f.__code__)


def _changeable(value: Val) -> bool:
    cls = T.class_of(value.type)
    return value.type not in T.SCALARS and (cls is None or issubclass(cls, list | dict | set | np.ndarray))


@lru_cache(maxsize=1024)
def _assigns(code: pytypes.CodeType) -> bool:
    try:
        node = source.definition(code)
    except source.SourceError:
        return False
    parameters = parameter_names(node.args)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Subscript | ast.Attribute) and isinstance(inner.ctx, ast.Store | ast.Del):
            return True
        if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name) and inner.target.id in parameters:
            return True
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in NAMES:
            return True
        if isinstance(inner, ast.keyword) and inner.arg == "out":
            return True
    return False
