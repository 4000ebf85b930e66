"""May code ask the registry while it runs? If so, it needs a scope (`running`)."""

from __future__ import annotations

import types as pytypes
from typing import Any

from . import handlers, pullbacks, runtime
from .ir import Block, Const, Op, walk


def asks(body: Block) -> bool:
    """Whether some call in generated code chooses at run time, or runs code of the user's: that may do anything."""
    return any(isinstance(stmt, Op) and _asks(stmt) for stmt in walk(body))


def _asks(op: Op) -> bool:
    if not isinstance(op.fn, Const):
        return True
    f = op.fn.value
    if f is pullbacks.apply_rule:
        [call] = [arg.value for arg in op.args[:1] if isinstance(arg, Const)]
        return bool(call.rule.layer == "user")
    constants = [arg.value for arg in (*op.args, *op.kwargs.values()) if isinstance(arg, Const)]
    return f is runtime.call_forward or any(_is_users(value) for value in (f, *constants))


def _is_users(value: Any) -> bool:
    """Whether calling it may run a person's code: their functions and classes, and derivatives of such."""
    if isinstance(value, pytypes.MethodType):
        value = value.__func__
    if handlers.is_door(value):
        return True
    generated = str(getattr(value, "__module__", "")).startswith("zad ")
    return isinstance(value, pytypes.FunctionType | type) and runtime.is_readable(value) and not generated
