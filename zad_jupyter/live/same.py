"""Is it still the same?  Values and code that were made a second time, against what the first time gave."""
from __future__ import annotations

from types import CodeType
from typing import Any

_ATOMS = (int, float, complex, str, bytes, bool, type(None), type(...))
_EXACT = frozenset(_ATOMS)


def same_value(a: Any, b: Any) -> bool:
    """Whether two values are equal, types and signs of zeros included.

    Errs towards no: what cannot be compared, has no equality of its own, or is nested too deeply, is another value.

    >>> same_value([1.0], [1.0]), same_value(0.0, -0.0), same_value(1, True)
    (True, False, False)
    """
    try:
        return _same(a, b, set())
    except Exception:                         # a user's == may raise anything
        return False


def _same(a: Any, b: Any, seen: set[tuple[int, int]]) -> bool:
    """`seen`: the pairs of containers that were met before; one that comes again decides nothing."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, _ATOMS):
        return repr(a) == repr(b)             # repr tells 0.0 from -0.0, and nan is equal to itself
    if type(a) in (tuple, list, dict):
        if (id(a), id(b)) in seen:
            return True
        seen.add((id(a), id(b)))
    if type(a) is dict:                       # the order is part of what one sees of a dict
        items = zip([*a, *a.values()], [*b, *b.values()], strict=True)
        return len(a) == len(b) and all(_same(x, y, seen) for x, y in items)
    if type(a) in (tuple, list):
        if len(a) != len(b):
            return False
        if _EXACT.issuperset(map(type, a)) and _EXACT.issuperset(map(type, b)):       # data can be long
            return repr(a) == repr(b)
        return all(_same(x, y, seen) for x, y in zip(a, b, strict=True))
    if hasattr(a, "dtype") and hasattr(a, "tobytes"):                      # an array's == is no yes or no
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    return bool(a == b)


def interchangeable(a: Any, b: Any) -> bool:
    """Whether nobody could tell which of two equal values he has, but by identity: numbers, texts, tuples of such."""
    if a is b:
        return True
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(interchangeable, a, b))
    return isinstance(a, _ATOMS) and same_value(a, b)


def same_lines(a: CodeType, b: CodeType) -> bool:
    """Whether two code objects that do the same also stand on the same lines, inner functions too."""
    inner = zip(a.co_consts, b.co_consts, strict=True)
    return (a.co_firstlineno == b.co_firstlineno and a.co_linetable == b.co_linetable
            and a.co_filename == b.co_filename and a.co_qualname == b.co_qualname
            and all(same_lines(x, y) for x, y in inner if isinstance(x, CodeType)))
