"""When does a class override what a shipped rule stands for?

A shipped rule for `operator.mul` knows what ndarray's `__mul__` does. It knows nothing about the `__mul__` that a
subclass has written for itself, so for that class it is no candidate. The same goes for `__array_ufunc__` and
`__array_function__`, and for a method that shares a table with a NumPy function. Rules of the user have no such limits.
"""
from __future__ import annotations

from types import BuiltinFunctionType, ClassMethodDescriptorType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

_BINARY = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor")
_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_BUILTINS = {"abs", "len", "round", "iter", "next", "bool", "int", "float", "complex", "hash", "reversed", "divmod",
             "floor", "ceil", "trunc", "repr", "str"}
# What a method of C refines (float64's `__mul__` under float's) computes the same thing: no override.
_OF_C = (WrapperDescriptorType, MethodDescriptorType, ClassMethodDescriptorType, BuiltinFunctionType)

Names = dict[int | None, frozenset[str]]         # by position of the argument; None: at every position


def stands_for(targets: tuple[Any, ...]) -> Names:
    """The special attributes that these functions (sharing one table) go by, for each argument."""
    names: dict[int | None, set[str]] = {}
    for target in targets:
        module, name = getattr(target, "__module__", None), getattr(target, "__name__", "")
        kind = type(target)
        if kind.__module__.partition(".")[0] == "numpy" or str(module).partition(".")[0] == "numpy":
            names.setdefault(None, set()).update(
                {"__array_ufunc__"} if kind.__name__ == "ufunc" else {"__array_ufunc__", "__array_function__"})
        if isinstance(target, WrapperDescriptorType | MethodDescriptorType):
            names.setdefault(0, set()).add(name)
        elif module in ("_operator", "operator"):
            _operator_names(name.strip("_"), names)
        elif name in _BUILTINS and module in ("builtins", "math"):
            names.setdefault(0, set()).add(f"__{name}__")
    return {position: frozenset(found) for position, found in names.items()}


def _operator_names(name: str, names: dict[int | None, set[str]]) -> None:
    names.setdefault(None, set()).add("__array_ufunc__")
    first, second = names.setdefault(0, set()), names.setdefault(1, set())
    first.add(f"__{name}__")
    plain = name[1:] if name.startswith("i") and name[1:] in _BINARY else name
    if plain in _BINARY:
        first.add(f"__{plain}__")
        second.add(f"__r{plain}__")
    elif name in _REFLECTED:
        second.add(f"__{_REFLECTED[name]}__")


def overridden(names: Names, position: int | None, cls: type, annotated: type) -> str | None:
    """The attribute by which `cls` overrides, below `annotated`, what the rule stands for; None if it does not."""
    for name in sorted(names.get(None, frozenset()) | (names.get(position, frozenset()) if position is not None
                                                       else frozenset())):
        for base in cls.__mro__:
            if name in vars(base):
                value = vars(base)[name]
                if not issubclass(annotated, base) and not isinstance(value, _OF_C):
                    return name
                break
    return None
