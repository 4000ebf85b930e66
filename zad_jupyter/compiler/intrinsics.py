"""The few operations of the small language that are not anybody's library function.

Each is an ordinary Python callable that does what it says, so generated code can call it and a reader can step into
it; `emit` prints most of them as the syntax they stand for.
"""

from __future__ import annotations

from typing import Any


class Unbound:
    """What a name holds while it is not bound."""

    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND = Unbound()


def build_tuple(*items: Any) -> tuple[Any, ...]:
    return items


def build_list(*items: Any) -> list[Any]:
    return list(items)


def build_set(*items: Any) -> set[Any]:
    return set(items)


def build_dict(*items: Any) -> dict[Any, Any]:
    """Keys and values in turn."""
    return dict(zip(items[::2], items[1::2], strict=True))


def build_string(*parts: Any) -> str:
    return "".join(parts)


def new_log() -> list[Any]:
    """An empty list that only this code knows: grown by `Push`, read backwards by `Rewind`."""
    return []


def unpack(value: Any, count: int) -> tuple[Any, ...]:
    """The items on the right of `a, b = value`, with Python's own errors when their number is wrong."""
    items = tuple(value)
    if len(items) > count:
        raise ValueError(f"too many values to unpack (expected {count})")
    if len(items) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(items)})")
    return items


def unpack_star(value: Any, before: int, after: int) -> tuple[Any, ...]:
    """The items on the right of `a, *b, c = value`; the starred ones come as a list."""
    items = list(value)
    if len(items) < before + after:
        raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(items)})")
    end = len(items) - after
    return (*items[:before], items[before:end], *items[end:])


def load_global(name: str) -> Any:
    """The global or builtin of that name; `infer` knows in which module."""
    raise NotImplementedError("load_global is resolved when a function is compiled")


def make_function(definition: Any, *defaults: Any) -> Any:
    """An inner `def` or a `lambda`; `infer` knows its closure."""
    raise NotImplementedError("make_function is resolved when a function is compiled")


def call_star(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with `*args` or `**kwargs` in it."""
    return function(*args, **kwargs)


def check_bound(value: Any, name: str) -> Any:
    """Python's error for a local name that is read before it is bound."""
    if value is UNBOUND:
        raise UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")
    return value


def raise_(exception: Any, cause: Any = UNBOUND) -> None:
    if cause is UNBOUND:
        raise exception
    raise exception from cause


def reraise() -> None:
    """A bare `raise`; printed as that statement, never called."""
    raise RuntimeError("No active exception to reraise")


def fail(error: BaseException) -> None:
    """Raise an error that was found when compiling, at the moment the user's code gets there."""
    raise error.with_traceback(None)


def import_module(name: str, fromlist: tuple[str, ...], level: int) -> Any:
    return __import__(name, {}, {}, fromlist, level)


def new_list() -> list[Any]:
    """The empty list that a user's function grows by `append` and that nothing else can reach."""
    return []
