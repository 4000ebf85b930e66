"""The doors: what a person calls.

gradient(f, *args)      a tuple of gradients, one for each argument
grad(f)(x)              the gradient of one argument, as a function
value_and_grad(f)(x)    both
pullback(f, *args)      the value, and the function from its cotangent to the arguments'
jacobian(f)(x), hessian(f)(x)
"""

from __future__ import annotations

from abc import get_cache_token
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .compiler import doors, transform
from .compiler.cache import MISS
from .rules import non_differentiable

fast, base_key, misfit, state = doors.fast, doors.base_key, doors.misfit, doors.state


def gradient(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """The gradients of a scalar function with respect to its positional arguments.

    Args:
        f: the function; its value must be one number.
        args: its arguments: numbers, arrays, and tuples, lists or dicts of them.
        kwargs: passed on, not differentiated.

    Returns:
        One gradient for each positional argument, each of its argument's structure and shape; None where there is
        nothing to differentiate (a str, a bool).

    Raises:
        TypeError: the value of f is not a scalar.
        NoRuleError: a call in f has no rule and no source.
        UnsupportedError: f uses something that cannot be differentiated yet.

    >>> gradient(lambda x, y: x * x * y, 3.0, 2.0)
    (12.0, 9.0)
    """
    if get_cache_token() != state.token:
        doors.attend()
    run = fast.get(
        id(f.__code__) if type(f) is FunctionType else f.key() if type(f) is Derivative else id(f)
    )
    if run is not None and not kwargs:
        state.last = run
        try:
            result = run(f, *args)
            if result is not MISS:
                return result
        except BaseException as error:
            __tracebackhide__ = True  # IPython shows the user's own lines only
            if not misfit(error):
                doors.for_user(error)
                raise
    __tracebackhide__ = True
    return doors.run(f, args, kwargs, (True,) * len(args), False, fast)


class Derivative:
    """A function that gives a gradient: what `grad` and `value_and_grad` return."""

    def __init__(
        self, f: Callable[..., Any], argnums: int | tuple[int, ...], with_value: bool, has_aux: bool = False
    ) -> None:
        self.f = f
        self.argnums = argnums
        self.with_value = with_value
        self.mode = (argnums, with_value, has_aux)
        self.has_aux = has_aux
        self.runs = doors.runs_of(self.mode)
        inner = f if type(f) is Derivative else None
        self.base: Any = f if inner is None else inner.base  # the innermost function
        self.modes: tuple[Any, ...] = (self.mode,) if inner is None else (*inner.modes, self.mode)
        self._known: tuple[Any, Any] = (None, None)  # the last answer of `key`, and what it holds for
        self.__name__ = getattr(f, "__name__", type(f).__name__) + "'"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if get_cache_token() != state.token:
            doors.attend()
        f, argnums = self.f, self.argnums
        run = self.runs.get(
            id(f.__code__) if type(f) is FunctionType else f.key() if type(f) is Derivative else id(f)
        )
        result: Any = MISS
        if run is not None and not kwargs and not self.has_aux:
            state.last = run
            try:
                result = run(f, *args)
            except BaseException as error:
                __tracebackhide__ = True
                if not misfit(error):
                    doors.for_user(error)
                    raise
        if result is MISS:
            __tracebackhide__ = True
            if self.has_aux:
                return self._with_aux(args, kwargs)
            wanted = transform.positions(argnums, len(args))
            result = doors.run(f, args, kwargs, wanted, self.with_value, self.runs)
        if self.with_value:
            return (result[0], _chosen(result[1], argnums))
        return result[argnums] if type(argnums) is int else _chosen(result, argnums)

    def key(self) -> Any:
        """What a derivative is found by, as long as its innermost function keeps its code."""
        base = self.base
        inner = base.__code__ if type(base) is FunctionType else base
        known = self._known
        if inner is not known[0]:
            known = self._known = (inner, doors.modes_of(base_key(base), self.modes))
        return known[1]

    def _with_aux(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        (value, aux), back = pullback(self.f, *args, **kwargs)
        chosen = _chosen(back((doors.seed(value), None)), self.argnums)
        return ((value, aux), chosen) if self.with_value else (chosen, aux)

    def __repr__(self) -> str:
        return f"<{'value and ' if self.with_value else ''}gradient of {getattr(self.f, '__name__', self.f)}>"


def _chosen(grads: tuple[Any, ...], argnums: int | tuple[int, ...]) -> Any:
    return grads[argnums] if isinstance(argnums, int) else tuple(grads[i] for i in argnums)


def grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Derivative:
    """The function that gives the gradient of f.

    Args:
        f: a function with a scalar value.
        argnums: which positional argument, or which ones (then the result is a tuple).
        has_aux: f returns (value, something else), which is handed on: the result is (gradient, something else).

    Returns:
        A function of f's arguments.

    >>> grad(grad(lambda x: x ** 3))(2.0)
    12.0
    """
    return Derivative(f, argnums, False, has_aux)


def value_and_grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Derivative:
    """The function that gives (value, gradient) of f; arguments as for `grad`.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    return Derivative(f, argnums, True, has_aux)


def pullback(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of f, and its pullback there.

    Args:
        f: any function, of any value.
        args: its arguments.
        kwargs: passed on, not differentiated.

    Returns:
        (y, back): `back(ybar)` gives, for a cotangent of y, the tuple of cotangents of args; it may be called again.

    >>> y, back = pullback(lambda x, y: x * y, 3.0, 2.0)
    >>> y, back(1.0), back(10.0)
    (6.0, (2.0, 3.0), (20.0, 30.0))
    """
    __tracebackhide__ = True
    return doors.pullback(f, args, kwargs)


def jacobian(f: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """The function that gives all first derivatives of f with respect to one argument.

    Args:
        f: a function from arrays or numbers to an array or a number.
        argnum: which argument.

    Returns:
        A function; its value has the shape of f's value followed by that of the argument.

    >>> jacobian(lambda x: np.array([x[0] * x[1], x[0]]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [1., 0.]])
    """

    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        y, back = pullback(f, *args, **kwargs)
        shape = np.shape(y)
        if not isinstance(y, float | int | np.ndarray | np.generic):
            raise TypeError(
                f"jacobian needs a function whose value is a number or an array; this one gave a {type(y).__name__}"
            )
        rows = [back(_basis(y, index))[argnum] for index in np.ndindex(*shape)]
        if not shape:
            return rows[0]
        return np.stack([np.asarray(row) for row in rows]).reshape(shape + np.shape(args[argnum]))

    jacobian_of.__name__ = f"jacobian of {getattr(f, '__name__', 'f')}"
    return jacobian_of


def _basis(y: Any, index: tuple[int, ...]) -> Any:
    if not isinstance(y, np.ndarray):
        return doors.seed(y)
    place = np.ravel_multi_index(index, y.shape) if index else 0
    one = np.reshape(np.arange(y.size) == place, y.shape)
    return one.astype(y.dtype if y.dtype.kind in "fc" else float)


def hessian(f: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """The function that gives all second derivatives of a scalar function with respect to one argument.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))
    array([[6., 4.],
           [4., 0.]])
    """
    return jacobian(grad(f, argnum), argnum)


def stop_gradient(x: Any) -> Any:
    """The value x, through which no derivative flows.

    >>> gradient(lambda x: x * stop_gradient(x), 3.0)
    (3.0,)
    """
    return x


def adjoint_source(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> doors.Source:
    """The code that the compiler has written for gradient(f, *args): a string that displays as itself.

    >>> print(adjoint_source(lambda x: x * x, 3.0))
    def gradient__lambda(f, x):
        return (x + x,)
    <BLANKLINE>
    """
    return doors.source(f, args, kwargs)


def traced(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Behind `trace`: (value, gradient, call tree, error) of a gradient in which every call is counted."""
    return doors.traced(f, args, kwargs)


def last_call_tree() -> Any:
    """The static call tree of the gradient that ran last, or None."""
    return doors.last_call_tree()


non_differentiable(stop_gradient, layer="shipped")
transform.register(
    gradient,
    pullback,
    [(grad, False), (value_and_grad, True)],
    lambda f: (f.f, f.argnums, f.with_value) if type(f) is Derivative and not f.has_aux else None,
)
