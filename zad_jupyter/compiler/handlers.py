"""Functions that `infer` knows more of than their rules: names, attributes, containers, zad's own operations.

A handler gets the values of a call and gives the value of its result, or None: then the call is resolved like any
other. The handlers themselves are in `known`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .ir import Pos
from .values import Pulled, Val

if TYPE_CHECKING:
    from .resolve import Resolve

Handler = Callable[["Resolve", list[Val], dict[str, Val], Pos | None], Val | None]
Handles = TypeVar("Handles", bound=Handler)
_handlers: dict[int, tuple[Any, Handler]] = {}


def handles(*functions: Any) -> Callable[[Handles], Handles]:
    """Register what the compiler knows of some functions."""

    def register(handler: Handles) -> Handles:
        for function in functions:
            _handlers[id(function)] = (function, handler)
        return handler

    return register


def find(f: Any) -> Handler | None:
    found = _handlers.get(id(f))
    return None if found is None else found[1]


# What `transform` knows of the doors; it reads functions, so it cannot be imported here. Each list holds one function.
_call_derivative: list[Callable[[Resolve, Any, list[Val], dict[str, Val], Pos | None], Val | None]] = []
_kind_of: list[Callable[[Any], Any]] = [lambda f: None]
_call_pulled: list[Callable[[Resolve, Pulled, Val, Pos | None], Val]] = []


def set_derivatives(
    call: Callable[[Resolve, Any, list[Val], dict[str, Val], Pos | None], Val | None], kind_of: Callable[[Any], Any]
) -> None:
    """How to call what `grad` and its kin make, and how to tell such an object."""
    _call_derivative[:], _kind_of[:] = [call], [kind_of]


def set_pulled(call: Callable[[Resolve, Pulled, Val, Pos | None], Val]) -> None:
    """How to call the pullback that `pullback` gives inside code that is being read."""
    _call_pulled[:] = [call]


_doors: set[str] = set()


def set_doors(*doors: Any) -> None:
    """The functions that compile when they are called."""
    _doors.update(door.__module__ for door in doors)


def is_door(f: Any) -> bool:
    """Whether calling f may compile: one of the doors, or what a door has made."""
    return getattr(f, "__module__", None) in _doors


def pulled_call(inf: Resolve, pulled: Pulled, args: list[Val], pos: Pos | None) -> Val:
    return _call_pulled[0](inf, pulled, args[0], pos)


def derivative_call(inf: Resolve, f: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    return _call_derivative[0](inf, f, args, kwargs, pos)


def is_derivative(f: Any) -> bool:
    return _kind_of[0](f) is not None
