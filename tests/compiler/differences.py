"""Derivatives without any of our code: five-point differences, and the comparison with gradients of every order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zad_jupyter import gradient, value_and_grad


def slope(f: Callable[[float], float], x: float, h: float = 1e-3) -> float:
    """f'(x), with an error of order h**4."""
    return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h)


def slopes(f: Callable[..., float], args: tuple[Any, ...], i: int, h: float = 1e-3) -> Any:
    """All first derivatives of f with respect to argument i, which is a number or an array."""

    def moved(index: tuple[int, ...], t: float) -> float:
        x = args[i]
        if isinstance(x, np.ndarray):
            x = x.copy()
            x[index] += t
        else:
            x = x + t
        return f(*args[:i], x, *args[i + 1 :])

    found = np.zeros(np.shape(args[i]))
    for index in np.ndindex(*found.shape):
        found[index] = slope(lambda t: moved(index, t), 0.0, h)  # noqa: B023  (used at once)
    return found if found.shape else float(found)


def check(f: Callable[..., Any], *args: Any, order: int = 2, tolerance: float = 1e-6) -> None:
    """Compare the gradients of f with differences, up to an order; its value with that of the plain call."""
    value, grads = value_and_grad(f, tuple(range(len(args))))(*args)
    np.testing.assert_allclose(value, f(*args), rtol=1e-13, atol=1e-13)
    for i, (arg, given) in enumerate(zip(args, grads, strict=True)):
        assert np.shape(given) == np.shape(arg), f"argument {i}: shape {np.shape(given)} for {np.shape(arg)}"
    compare(f, args, gradient(f, *args), tolerance)
    if order > 1:
        check(along(f, args), *args, order=order - 1, tolerance=max(tolerance, 1e-6))


def compare(f: Callable[..., Any], args: tuple[Any, ...], grads: tuple[Any, ...], tolerance: float = 1e-6) -> None:
    for i, given in enumerate(grads):
        want = slopes(f, args, i)
        np.testing.assert_allclose(given, want, rtol=tolerance, atol=tolerance, err_msg=f"argument {i} of {f.__name__}")


def along(f: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    """The derivative of f in a fixed direction: its gradient is the second derivative in that direction."""
    rng = np.random.default_rng(len(args))
    directions = tuple(rng.uniform(0.5, 1.5, np.shape(arg)) if np.shape(arg) else rng.uniform(0.5, 1.5) for arg in args)

    def derivative(*xs: Any) -> Any:
        total = 0.0
        for part, direction in zip(gradient(f, *xs), directions):  # noqa: B905
            total = total + np.sum(part * direction)
        return total

    derivative.__name__ = f.__name__ + "'"
    return derivative
