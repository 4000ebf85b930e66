"""Functions that `infer` knows more of than their rules: names, attributes, containers, zad's own operations.

A handler gets the values of a call and gives the value of its result, or None: then the call is resolved like any
other. The handlers themselves are in `known`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .ir import Pos
from .values import Val

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
