"""Errors as the user's own: every frame of generated code becomes the line of the user's source that it stands for.

An inlined call becomes as many frames as the user wrote calls. Frames of zad itself are left out: a person looks for
their mistake in their own lines.
"""

from __future__ import annotations

import types as pytypes
from typing import Any

from . import generated
from .ir import Pos
from .source import PACKAGE


def for_user(error: BaseException) -> BaseException:
    """The same error, with a traceback that shows the user's lines only; so have the errors behind it."""
    seen: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is not None and not any(one is other for other in seen):
            seen.append(one)
            _rebuild(one)
            todo += [one.__cause__, one.__context__]
    return error


def _rebuild(error: BaseException) -> None:
    frames: list[Any] = []
    tb = error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        made = generated.find(code.co_filename)
        if made is not None:
            frames += _user_frames(made.position(code, tb.tb_lasti))
        elif not code.co_filename.startswith(PACKAGE):
            frames.append(tb)
        tb = tb.tb_next
    rebuilt: pytypes.TracebackType | None = None
    for frame in reversed(frames):
        rebuilt = pytypes.TracebackType(rebuilt, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    error.__traceback__ = rebuilt


def _user_frames(pos: Pos | None) -> list[Any]:
    """One frame for each call through which inlined code was reached, the outermost first."""
    found = []
    while pos is not None:
        made = _frame(pos)
        if made is not None:
            found.append(made)
        pos = pos.caller
    return found[::-1]


def _frame(pos: Pos) -> Any:
    """A real traceback entry that points at a place in the user's source."""
    if pos.file.startswith(PACKAGE) or pos.file.startswith("<zad"):
        return None
    code = compile("\n" * (pos.line - 1) + "raise error", pos.file, "exec")
    code = code.replace(co_name=pos.function, co_qualname=pos.function)
    try:
        exec(code, {"error": _Marker()})
    except _Marker as marker:
        tb = marker.__traceback__
        return None if tb is None else tb.tb_next
    return None


class _Marker(Exception):
    pass
