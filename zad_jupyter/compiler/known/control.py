"""Exceptions, and operators that change their left side in place."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import intrinsics as I
from .. import types as T
from ..handlers import Handler, handles
from ..ir import Const, Pos
from ..values import Val, const

if TYPE_CHECKING:
    from ..resolve import Resolve


def raiser(fn: Callable[..., Any]) -> Handler:
    def handler(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
        inf.emit(fn, args, {}, T.NEVER, False, pos)
        inf.dead = True
        return Val(Const(I.UNBOUND), T.NEVER)

    return handler


for _function in (I.raise_, I.reraise, I.fail):
    handles(_function)(raiser(_function))


# -- in-place operators

IMMUTABLE = (int, float, complex, bool, str, bytes, tuple)
SYMBOLS = {
    "add": "+=", "sub": "-=", "mul": "*=", "truediv": "/=", "floordiv": "//=", "mod": "%=", "pow": "**=",
    "matmul": "@=", "and_": "&=", "or_": "|=", "xor": "^=", "lshift": "<<=", "rshift": ">>=",
}  # fmt: skip


def in_place(plain: Callable[..., Any], inplace: Callable[..., Any], symbol: str) -> Handler:
    def handler(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        left = args[0].type
        cls = T.class_of(left)
        if (
            left in T.SCALARS
            or left is T.NEVER
            or (cls is not None and (cls in IMMUTABLE or issubclass(cls, np.generic)))
        ):
            return inf.call(const(plain), args, {}, pos)
        if cls is None:
            return inf.at_run_time(const(inplace), args, {}, pos)
        raise inf.unsupported(
            f"`{symbol}` on a {cls.__name__}, which changes it in place (write `x = x {symbol[:-1]} …`),", pos
        )

    return handler


for _name, _symbol in SYMBOLS.items():
    _inplace = getattr(operator, "i" + _name.rstrip("_"))
    handles(_inplace)(in_place(getattr(operator, _name), _inplace, _symbol))
