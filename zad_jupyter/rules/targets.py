"""The functions that rules are for: held weakly, and found again by their names.

A `Handle` stands for one target in the registry. It holds functions and classes weakly, so that a rule keeps nothing
alive; what refuses weak references (ufuncs, slot wrappers) strongly; a bound method as (function, self). When a cell
redefines a function, the same handle is moved to the successor, and the rules with it.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

from .succession import Home, home_of


def reference(f: Any) -> Callable[[], Any]:
    """A function that gives f, or None when f is gone; weak if f allows it."""
    if type(f) is MethodType:
        function, owner = reference(f.__func__), reference(f.__self__)

        def bound() -> Any:
            a, b = function(), owner()
            return None if a is None or b is None else MethodType(a, b)
        return bound
    try:
        return weakref.ref(f)
    except TypeError:
        return lambda: f


def identity(f: Any) -> Any:
    """What f is found by: its id; of a bound method, which is a new object each time, those of its two parts."""
    return (id(f.__func__), id(f.__self__)) if type(f) is MethodType else id(f)


def is_same(f: Any, g: Any) -> bool:
    """Whether f and g are one callable."""
    if type(f) is MethodType and type(g) is MethodType:
        return f.__func__ is g.__func__ and f.__self__ is g.__self__
    return f is g


def display_name(f: Any) -> str:
    """What people call f: "det", "Quad.area", "np.sin", "math.sin"; operators go by their bare name.

    >>> import operator, math
    >>> display_name(operator.mul), display_name(math.sin), display_name(str.join)
    ('mul', 'math.sin', 'str.join')
    """
    if f is None:
        return "a function that is gone"
    if type(f) is MethodType:
        return f"{type(f.__self__).__name__}.{f.__func__.__name__}" if not isinstance(f.__self__, type) \
            else f"{f.__self__.__name__}.{f.__func__.__name__}"
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None)
    if not isinstance(name, str):
        return f"{type(f).__name__} object"
    name = name.rpartition("<locals>.")[2]
    module = getattr(f, "__module__", None) or ""
    if not isinstance(f, FunctionType | type) and getattr(f, "__objclass__", None) is None:
        if module.partition(".")[0] == "numpy" or type(f).__module__.partition(".")[0] == "numpy":
            sub = module.removeprefix("numpy").lstrip(".")
            return f"np.{sub}.{name}" if sub and not sub.startswith("_") else f"np.{name}"
        if type(f) is BuiltinFunctionType and module not in ("", "builtins", "operator", "_operator"):
            return f"{module.lstrip('_')}.{name}"
    return name


class Handle:
    """A target of rules, through all its redefinitions.

    Attributes:
        name: what people call it.
        home: where its name is defined; None if it shares with nobody by name.
        code: the code it had when the rules were written, for functions.
    """

    __slots__ = ("code", "current", "home", "name", "older")

    def __init__(self, f: Any) -> None:
        self.older: list[Callable[[], Any]] = []
        self.move(f)

    def move(self, f: Any) -> None:
        """Stand for f from now on."""
        self.current = reference(f)
        self.name = display_name(f)
        self.home: Home | None = home_of(f)
        self.code: CodeType | None = f.__code__ if type(f) is FunctionType else None

    def get(self) -> Any:
        """The target, or None when it is gone."""
        return self.current()

    def __repr__(self) -> str:
        return f"<handle of {self.name}>"
