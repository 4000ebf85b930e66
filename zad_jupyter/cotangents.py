"""Cotangents as values: zero, sum, and the place where one came from.

`None` is the zero that has no shape yet. It is used wherever a zero would have to be built only to be added to
something; `finish` turns it into a real zero before a user sees it.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def add(a: Any, b: Any) -> Any:
    """The sum of two cotangents of one value.

    >>> add(None, 2.0), add([1.0, None], [1.0, 3.0])
    (2.0, [2.0, 3.0])
    """
    if a is None:
        return b
    if b is None:
        return a
    kind = type(a)
    if kind is tuple or kind is list:
        return kind([add(x, y) for x, y in zip(a, b, strict=True)])
    if kind is dict:
        return {key: add(a.get(key), b.get(key)) for key in {**a, **b}}
    return a + b


def zero_like(value: Any) -> Any:
    """The zero cotangent of a value, of its shape; None where there is nothing to differentiate.

    >>> zero_like(3), zero_like([1.0, "a"])
    (0.0, [0.0, None])
    """
    kind = type(value)
    if kind is float or kind is int:
        return 0.0
    if kind is bool or kind is str or value is None:
        return None
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "fc":
            return np.zeros_like(value)
        return np.zeros(value.shape) if value.dtype.kind in "iu" else None
    if isinstance(value, np.inexact):
        return kind(0)
    if isinstance(value, np.integer | int | float):
        return 0.0
    if isinstance(value, complex):
        return 0j
    if kind is tuple or kind is list:
        return kind([zero_like(item) for item in value])
    if kind is dict:
        return {key: zero_like(item) for key, item in value.items()}
    return None


def finish(value: Any, cotangent: Any) -> Any:
    """A cotangent as a user gets it: real zeros for None, the structure of the value it belongs to.

    >>> finish((1.0, [2.0, 3.0]), (None, [1.0, None]))
    (0.0, [1.0, 0.0])
    """
    if cotangent is None:
        return zero_like(value)
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([finish(item, part) for item, part in zip(value, cotangent, strict=True)])
    if kind is dict:
        return {key: finish(item, cotangent.get(key)) for key, item in value.items()}
    if kind is bool:
        return None
    if kind is np.ndarray:
        if value.dtype.kind == "b":
            return None
        if type(cotangent) is not np.ndarray or cotangent.shape != value.shape:
            cotangent = broadcast_like(cotangent, value)
        if cotangent.dtype != value.dtype and value.dtype.kind in "f":
            return cotangent.real.astype(value.dtype)
        if cotangent.base is not None or not cotangent.flags.writeable:
            return cotangent.copy()  # a view of something: the user may change what they get
    elif type(cotangent) is np.ndarray and cotangent.ndim == 0 and isinstance(value, float | int):
        return cotangent[()]
    return cotangent


def distinct(cotangents: Any, *others: Any) -> Any:
    """Cotangents of which no two are one array, nor one of some other arrays: the user may change what they get."""
    return _distinct(cotangents, {id(other) for other in others})


def _distinct(value: Any, seen: set[int]) -> Any:
    if type(value) in (tuple, list):
        return type(value)([_distinct(item, seen) for item in value])
    if type(value) is dict:
        return {key: _distinct(item, seen) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        if id(value) in seen:
            return value.copy()
        seen.add(id(value))
    return value


def sum_to(cotangent: Any, like: Any) -> Any:
    """Undo broadcasting: sum a cotangent over the axes along which `like` was stretched."""
    if cotangent is None:
        return None
    shape, given = np.shape(like), np.shape(cotangent)
    if given == shape:
        return cotangent
    if len(given) > len(shape):
        cotangent = np.sum(cotangent, axis=tuple(range(len(given) - len(shape))))
        given = np.shape(cotangent)
    axes = tuple(i for i, (n, m) in enumerate(zip(given, shape, strict=False)) if m == 1 and n != 1)
    if axes:
        cotangent = np.sum(cotangent, axis=axes, keepdims=True)
    if np.shape(cotangent) != shape:
        cotangent = broadcast_like(cotangent, like)
    return cotangent


def broadcast_like(cotangent: Any, like: Any) -> Any:
    """A cotangent stretched to the shape of `like`: what undoes a sum."""
    shape = np.shape(like)
    return cotangent if np.shape(cotangent) == shape else np.broadcast_to(cotangent, shape)


def real_part(cotangent: Any) -> Any:
    """The cotangent of a real value, where the computation after it was complex."""
    return None if cotangent is None else np.real(cotangent)


def scatter(buffer: Any, container: Any, index: Any, cotangent: Any) -> Any:
    """Add the cotangent of `container[index]` into a buffer of the container's shape.

    The buffer belongs to the caller, is made at the first call and is changed in place after that: a loop over n items
    costs n and not n². Used linearly, this is the function buffer + e_index * cotangent.
    """
    if cotangent is None:
        return buffer
    if isinstance(container, np.generic | float | int):  # indexed with (): the whole number
        return cotangent if buffer is None else buffer + cotangent
    if isinstance(container, np.ndarray):
        if buffer is None:
            buffer = np.zeros(container.shape, cotangent_dtype(container, cotangent))
        if _repeats(index):
            np.add.at(buffer, index, cotangent)
        else:
            buffer[index] += cotangent
        return buffer
    if isinstance(container, dict):
        buffer = {} if buffer is None else buffer
        buffer[index] = add(buffer.get(index), cotangent)
        return buffer
    if buffer is None:
        buffer = [None] * len(container)
    if isinstance(index, slice):
        for position, part in zip(range(*index.indices(len(container))), cotangent, strict=True):
            buffer[position] = add(buffer[position], part)
    else:
        buffer[index] = add(buffer[index], cotangent)
    return buffer


def gathered(container: Any, buffer: Any) -> Any:
    """What `scatter` has collected, in the container's own kind."""
    return tuple(buffer) if type(container) is tuple and buffer is not None else buffer


def only_item(count: int, index: int, cotangent: Any) -> Any:
    """The cotangent of a tuple of which only one item has been used."""
    return tuple(cotangent if position == index else None for position in range(count))


def picked(buffer: Any, index: Any) -> Any:
    """The part of a cotangent that belongs to `container[index]`."""
    if buffer is None or isinstance(buffer, float | int):
        return buffer
    return buffer[index]


def cotangent_dtype(container: np.ndarray, cotangent: Any) -> Any:
    """The dtype of an array's cotangent: its own if it is inexact, else what arrives."""
    return container.dtype if container.dtype.kind in "fc" else np.result_type(np.float64, np.asarray(cotangent).dtype)


def _repeats(index: Any) -> bool:
    """Whether an index may name one element twice."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, list) or (isinstance(part, np.ndarray) and part.dtype != bool) for part in parts)


def add_to_log(log: list[Any], cotangents: Any) -> None:
    """Add a list of cotangents, item by item, to a list of cotangents that is ours."""
    if cotangents is not None:
        for position, part in enumerate(cotangents):
            log[position] = add(log[position], part)


def add_at(log: list[Any], index: Any, cotangent: Any) -> None:
    """Add the cotangent of one item (or of a slice) to a list of cotangents that is ours."""
    if cotangent is None:
        return
    if isinstance(index, slice):
        for position, part in zip(range(*index.indices(len(log))), cotangent, strict=True):
            log[position] = add(log[position], part)
    else:
        log[index] = add(log[index], cotangent)


def copied_log(log: list[Any]) -> list[Any]:
    """The cotangents as they are now."""
    return list(log)


def own_log(cotangent: Any, log: Any) -> Any:
    """The cotangents of a log's records as a list of our own, from which `Pop` may take."""
    return [None] * len(log) if cotangent is None else list(cotangent)


def seed_like(value: Any) -> Any:
    """The cotangent 1 of a scalar result."""
    if isinstance(value, np.ndarray):
        return np.ones_like(value) if value.dtype.kind in "fc" else np.ones(value.shape)
    return type(value)(1) if isinstance(value, np.inexact) else 1.0
