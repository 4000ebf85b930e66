"""What compiled code refers to, and whether it is still there: functions, their code, globals, cells, attributes.

Each guard is one expression that generated code checks before it runs. Values are not guarded, only what they are: a
global number is read where the source reads it, and only its type is promised.
"""

from __future__ import annotations

import inspect
import types as pytypes
from collections.abc import Callable
from typing import Any

from . import types as T


def matches(value: Any, type_: T.Type) -> bool:
    """Whether a value keeps the promise that was made of it."""
    if isinstance(type_, T.ListType):
        return type(value) is list
    return T.type_of(value) == type_


def static_attribute(cls: type, name: str) -> Any:
    """An attribute of a class as it is written there, or None."""
    return inspect.getattr_static(cls, name, None)


class Guards:
    """A set of conditions, as text for generated code and as something to check from outside."""

    def __init__(self) -> None:
        self.parts: dict[Any, tuple[str, tuple[Any, ...]]] = {}
        self._check: Callable[[Any], bool] | None = None

    def add(self, key: Any, text: str, *values: Any) -> None:
        """A condition: `text` with {0}, {1}, … for the values it speaks of."""
        if key not in self.parts:
            self.parts[key] = (text, values)
            self._check = None

    def function(self, f: pytypes.FunctionType) -> None:
        self.add(("code", id(f)), "{0}.__code__ is {1}", f, f.__code__)
        if f.__defaults__ is not None:
            self.add(("defaults", id(f)), "{0}.__defaults__ is {1}", f, f.__defaults__)
        if f.__kwdefaults__:
            self.add(("kwdefaults", id(f)), "{0}.__kwdefaults__ == {1}", f, dict(f.__kwdefaults__))

    def item(self, names: dict[str, Any], name: str, value: Any) -> None:
        self.add(("item", id(names), name), "{0}[" + repr(name) + "] is {1}", names, value)

    def item_type(self, names: dict[str, Any], name: str, value: Any) -> None:
        self._type(("item type", id(names), name), "{0}[" + repr(name) + "]", names, value)

    def absent(self, names: dict[str, Any], name: str) -> None:
        self.add(("absent", id(names), name), repr(name) + " not in {0}", names)

    def cell(self, cell: Any, value: Any) -> None:
        self.add(("cell", id(cell)), "{0}.cell_contents is {1}", cell, value)

    def cell_type(self, cell: Any, value: Any) -> None:
        self._type(("cell type", id(cell)), "{0}.cell_contents", cell, value)

    def attribute(self, cls: type, name: str, value: Any) -> None:
        self.add(("attribute", id(cls), name), "{1}({0}, " + repr(name) + ") is {2}", cls, static_attribute, value)

    def own(self, where: str, value: Any) -> None:
        """Something of the differentiated function itself, which generated code knows as `f`."""
        self.add(("own", where), where + " is {0}", value)

    def own_type(self, where: str, value: Any) -> None:
        type_ = T.type_of(value)
        if isinstance(type_, T.Exact):
            self.add(("own", where), "type(" + where + ") is {0}", type_.cls)
        else:
            promise = T.ListType(T.UNKNOWN) if isinstance(type_, T.ListType) else type_
            self.add(("own", where), "{0}(" + where + ", {1})", matches, promise)

    def _type(self, key: Any, text: str, where: Any, value: Any) -> None:
        type_ = T.type_of(value)
        if isinstance(type_, T.Exact):
            self.add(key, "type(" + text + ") is {1}", where, type_.cls)
        else:
            promise = T.ListType(T.UNKNOWN) if isinstance(type_, T.ListType) else type_
            self.add(key, "{1}(" + text + ", {2})", where, matches, promise)

    def translate(self, now: Callable[[Any], Any]) -> None:
        """Speak of what some values have become."""
        self.parts = {key: (text, tuple(now(value) for value in values)) for key, (text, values) in self.parts.items()}
        self._check = None

    def texts(self, constant: Callable[[Any], str]) -> list[str]:
        """The conditions as Python expressions; `constant` gives a name to a value."""
        return [text.format(*[constant(value) for value in values]) for text, values in self.parts.values()]

    def hold(self, f: Any = None) -> bool:
        """Check all conditions now; `f` is the differentiated function, for those that speak of it."""
        if not self.parts:
            return True
        if self._check is None:
            namespace: dict[str, Any] = {}

            def constant(value: Any) -> str:
                name = f"v{len(namespace)}"
                namespace[name] = value
                return name

            source = " and ".join(self.texts(constant))
            self._check = eval(f"lambda f: {source}", namespace)
        try:
            return bool(self._check(f))
        except (KeyError, ValueError, AttributeError, TypeError):
            return False
