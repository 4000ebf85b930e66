"""Operations without effect: when one may be dropped, and when two of them are the same.

What can fail is not dropped, though nobody needs its result: users must see every error that their code raises.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from . import types as T
from .ir import Const
from .values import Val

TOTAL = {
    operator.add, operator.sub, operator.mul, operator.neg, operator.pos, abs, operator.lt, operator.le, operator.gt,
    operator.ge, max, min, operator.eq, operator.ne, operator.not_, operator.is_, operator.is_not, float, isinstance,
    bool,
}  # fmt: skip
TOTAL_ARRAY = {np.sum, np.shape, np.ndim, np.transpose, np.size}
INEXACT = (T.FLOAT, T.FLOAT64, T.FLOATING, T.REAL)


def never_raises(f: Any, args: list[Val], type_: T.Type) -> bool:
    """Whether an operation may be dropped when nobody needs its result: it has no effect and cannot fail."""
    types = [arg.type for arg in args]
    if all(t in T.SCALARS or t in (T.BOOL, T.NONE) for t in types):
        return f in TOTAL and (f not in (float,) or T.INT not in types)
    if f in (operator.is_, operator.is_not):
        return True
    if f in (sum, math.prod) and len(args) == 1 and isinstance(args[0].type, T.ListType | T.TupleType):
        inside = [item.type for item in args[0].items or ()] or [getattr(args[0].type, "item", T.UNKNOWN)]
        return all(t in INEXACT for t in inside)
    arrays = [t for t in types if isinstance(t, T.ArrayType)]
    if len(arrays) == 1 and all(t in T.SCALARS or t in arrays for t in types) and arrays[0].dtype in "fdFD":
        return (
            isinstance(f, np.ufunc)
            or f in TOTAL
            or f in (operator.truediv, operator.pow)
            or (f in TOTAL_ARRAY and len(args) == 1)
        )
    return False


def question_of(f: Any, args: list[Val], kwargs: dict[str, Val]) -> Any:
    """What makes two pure operations the same, or None if they cannot be compared."""
    if kwargs:
        return None
    parts: list[Any] = []
    for arg in args:
        atom = arg.atom
        if isinstance(atom, Const):
            if not isinstance(atom.value, int | float | str | bool | type(None)):
                return None
            parts.append((type(atom.value), repr(atom.value)))
        elif atom is None or arg.type not in T.SCALARS:
            return None
        else:
            parts.append(atom)
    return (f, *parts)
