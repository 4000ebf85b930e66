"""NumPy's derivatives at many shapes: broadcasting, no dimensions, negative axes, keepdims; first and second order."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.compiler.differences import check
from zad_jupyter import gradient

SHAPES = [(), (1,), (3,), (2, 3), (1, 3), (2, 1)]


def array(shape: tuple[int, ...], low: float = 0.2, high: float = 0.9) -> np.ndarray:
    """Numbers that all lie apart, so that maxima stay maxima when they are moved a little."""
    n = int(np.prod(shape))
    apart = np.linspace(low, high, n) if n > 1 else np.full(n, (low + high) / 2)
    return np.random.default_rng(n).permutation(apart).reshape(shape)


def weighted(y: Any) -> Any:
    """A number in which every element of y counts differently, and not linearly."""
    y = np.sum(y * np.cos(np.arange(float(np.size(y)))).reshape(np.shape(y)) + y * y * 0.3)
    return y


# --------------------------------------------------------------------------------------------- one element at a time

UNARY = [
    np.square, np.fabs, np.exp, np.expm1, np.exp2, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.reciprocal,
    np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arctanh,
    np.negative, np.abs,
]  # fmt: skip


@pytest.mark.parametrize("f", UNARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(), (3,), (2, 1)])
def test_functions_of_one_array(f: Any, shape: tuple[int, ...]) -> None:
    check(lambda a: weighted(f(a)), array(shape))


def test_arccosh_beyond_one() -> None:
    check(lambda a: weighted(np.arccosh(a)), array((3,), 1.3, 2.0))


@pytest.mark.parametrize("f", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_float(f: Any) -> None:
    check(lambda x: f(x) * x, 0.4)


BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "%": lambda a, b: (a + 3.0) % (b + 1.37),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "arctan2": np.arctan2,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "where": lambda a, b: np.where(a > 0.5, a * b, a + b),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(("one", "other"), [
    ((), ()), ((3,), ()), ((), (2, 3)), ((3,), (3,)), ((2, 3), (3,)), ((1, 3), (2, 1)), ((2, 1), (2, 3)),
    ((1,), (2, 2)),
])  # fmt: skip
def test_broadcasting(name: str, one: tuple[int, ...], other: tuple[int, ...]) -> None:
    f = BINARY[name]
    check(lambda a, b: weighted(f(a, b)), array(one), array(other) + 0.037, order=2 if len(one + other) < 4 else 1)


@pytest.mark.parametrize("name", [name for name in BINARY if name != "where"])
def test_arrays_with_floats(name: str) -> None:
    f = BINARY[name]
    check(lambda a, x: weighted(f(a, x)), array((3,)), 0.41)
    check(lambda x, a: weighted(f(x, a)), 0.41, array((3,)))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 2.0])
def test_powers_of_arrays(exponent: float) -> None:
    check(lambda a: weighted(a**exponent), array((3,)))


@pytest.mark.parametrize("exponent", [1, 2, 3, 2.0])
def test_powers_at_zero(exponent: float) -> None:
    (g,) = gradient(lambda a: np.sum(a**exponent), np.zeros(2))
    np.testing.assert_array_equal(g, np.full(2, 1.0 if exponent == 1 else 0.0))


# -------------------------------------------------------------------------------------------------------- along axes

REDUCTIONS = {
    "sum": (np.sum, lambda a, axis, keep: a.sum(axis=axis, keepdims=keep)),
    "mean": (np.mean, lambda a, axis, keep: a.mean(axis=axis, keepdims=keep)),
    "max": (np.max, lambda a, axis, keep: a.max(axis=axis, keepdims=keep)),
    "min": (np.min, lambda a, axis, keep: a.min(axis=axis, keepdims=keep)),
    "var": (np.var, lambda a, axis, keep: a.var(axis=axis, keepdims=keep)),
    "std": (np.std, lambda a, axis, keep: a.std(axis=axis, keepdims=keep)),
}


def axes(shape: tuple[int, ...]) -> list[Any]:
    found: list[Any] = [None, *range(-len(shape), len(shape))]
    return [*found, (0, -1), (1, 0)] if len(shape) == 2 else found


def few(name: str, shape: tuple[int, ...], axis: Any) -> bool:
    """The deviation of one number is 0, where it has no slope."""
    lengths = shape if axis is None else [shape[i] for i in np.atleast_1d(axis)]
    return name == "std" and int(np.prod(lengths)) < 2


REDUCED = [
    pytest.param(name, shape, axis, keepdims, id=f"{name}-{shape}-axis={axis}-{'keep' if keepdims else 'drop'}")
    for name in REDUCTIONS
    for shape in [(), (3,), (2, 3)]
    for axis in axes(shape)
    for keepdims in (False, True)
    if not few(name, shape, axis)
]


@pytest.mark.parametrize(("name", "shape", "axis", "keepdims"), REDUCED)
def test_reductions(name: str, shape: tuple[int, ...], axis: Any, keepdims: bool) -> None:
    f, method = REDUCTIONS[name]
    x = array(shape)
    check(lambda a: weighted(f(a, axis=axis, keepdims=keepdims)), x, order=2 if keepdims else 1)
    check(lambda a: weighted(method(a, axis, keepdims)), x, order=1)
    if not keepdims:
        check(lambda a: weighted(f(a, axis)), x, order=1)


@pytest.mark.parametrize("f", [np.var, np.std])
def test_degrees_of_freedom(f: Any) -> None:
    check(lambda a: weighted(f(a, axis=1, ddof=1)), array((2, 3)))
    check(lambda a: f(a, ddof=1), array((3,)))


@pytest.mark.parametrize("f", [np.max, np.min])
def test_a_tie_is_shared_so_that_the_gradient_sums_to_one(f: Any) -> None:
    (g,) = gradient(lambda a: f(a), np.array([1.0, 1.0, 1.0]))
    assert np.sum(g) == pytest.approx(1.0)


ACCUMULATED = list(itertools.product([(3,)], [None, 0, -1])) + list(itertools.product([(2, 3)], [None, 0, -1]))


@pytest.mark.parametrize(("shape", "axis"), ACCUMULATED)
def test_accumulations(shape: tuple[int, ...], axis: Any) -> None:
    check(lambda a: weighted(np.cumsum(a, axis=axis)), array(shape), order=1)
    check(lambda a: weighted(np.cumprod(a, axis=axis)), array(shape), order=1)
    check(lambda a: weighted(a.cumsum(axis) * a.cumprod(axis)), array(shape), order=1)


@pytest.mark.parametrize("f", [np.cumsum, np.cumprod])
def test_second_derivatives_of_accumulations(f: Any) -> None:
    check(lambda a: weighted(f(a, axis=0)), array((3,)))


def test_a_cumulated_product_with_a_zero_in_it() -> None:
    check(lambda a: weighted(np.cumprod(a)), np.array([0.5, 0.0, 2.0, 3.0]), order=1)


# --------------------------------------------------------------------------------------------------------- products

@pytest.mark.parametrize(("one", "other"), [
    ((3,), (3,)), ((2, 3), (3,)), ((2,), (2, 3)), ((2, 3), (3, 2)), ((2, 2, 3), (3, 2)), ((2, 3), (2, 3, 1)),
    ((2, 1, 2, 3), (2, 3, 2)), ((2, 2, 3), (3,)), ((3,), (2, 3, 2)),
])  # fmt: skip
def test_matrix_products(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    order = 2 if len(one) + len(other) < 5 else 1
    check(lambda a, b: weighted(a @ b), array(one), array(other), order=order)
    check(lambda a, b: weighted(np.matmul(a, b)), array(one), array(other), order=1)


@pytest.mark.parametrize(("one", "other"), [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 2, 3), (3, 2)),
    ((), (3,)),
    ((2,), ()),
    ((2, 3), (2, 3, 2)),
])  # fmt: skip
def test_dot(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    check(lambda a, b: weighted(np.dot(a, b)), array(one), array(other), order=1)
    check(lambda a, b: weighted(a.dot(b)), array(one), array(other), order=1)


def test_outer() -> None:
    check(lambda a, b: weighted(np.outer(a, b)), array((2,)), array((3,)))


def test_outer_of_matrices() -> None:
    check(lambda a, b: weighted(np.outer(a, b)), array((2, 2)), array((3,)), order=1)


# ----------------------------------------------------------------------------------------------------------- shapes

SHAPED = {
    "reshape": lambda a: np.reshape(a, (3, 2)),
    "reshape -1": lambda a: a.reshape(-1),
    "reshape of two numbers": lambda a: a.reshape(3, 2),
    "ravel": lambda a: a.ravel(),
    "flatten": lambda a: a.flatten(),
    "T": lambda a: a.T,
    "transpose": lambda a: np.transpose(a),
    "transpose axes": lambda a: np.transpose(a, (1, 0)),
    "transpose method": lambda a: a.transpose(1, 0),
    "squeeze": lambda a: np.squeeze(a[None]),
    "squeeze axis": lambda a: np.squeeze(a[None], axis=0),
    "expand_dims": lambda a: np.expand_dims(a, 1),
    "expand_dims negative": lambda a: np.expand_dims(a, -1),
    "broadcast_to": lambda a: np.broadcast_to(a, (2, 2, 3)),
    "concatenate": lambda a: np.concatenate([a, a * 2]),
    "concatenate axis": lambda a: np.concatenate((a, a * 2, a), axis=1),
    "concatenate negative axis": lambda a: np.concatenate([a, a], axis=-1),
    "concatenate flat": lambda a: np.concatenate([a, a], axis=None),
    "stack": lambda a: np.stack([a, a * 2]),
    "stack axis": lambda a: np.stack([a, a * a], axis=1),
    "stack negative axis": lambda a: np.stack([a, a * a], axis=-1),
    "array of numbers": lambda a: np.array([a[0, 0], a[1, 1] * 2.0]),
    "array of rows": lambda a: np.array([a[0], a[1] * a[0]]),
    "copy": lambda a: a.copy(),
    "clip": lambda a: np.clip(a, 0.3, 0.71),
    "astype": lambda a: a.astype(np.float64),
    "item": lambda a: a[:1, :1].item() * a,
    "hstack": lambda a: np.hstack([a, a]),
    "vstack": lambda a: np.vstack([a, a[0]]),
    "roll": lambda a: np.roll(a, 1, axis=1),
    "repeat": lambda a: np.repeat(a, 2, axis=0),
    "tile": lambda a: np.tile(a, (2, 1)),
    "swapaxes": lambda a: np.swapaxes(a, 0, 1),
    "moveaxis": lambda a: np.moveaxis(a, 0, -1),
    "diag": lambda a: np.diag(a @ a.T),
    "trace": lambda a: np.trace(a @ a.T),
    "triu": lambda a: np.triu(a),
    "sort": lambda a: np.sort(a, axis=1),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
    "tensordot": lambda a: np.tensordot(a, a.T, 1),
    "prod": lambda a: np.prod(a, axis=1),
    "norm": lambda a: np.linalg.norm(a),
    "inv": lambda a: np.linalg.inv(a @ a.T + np.eye(2)),
    "det": lambda a: np.linalg.det(a @ a.T + np.eye(2)),
    "solve": lambda a: np.linalg.solve(a @ a.T + np.eye(2), a),
    "cholesky": lambda a: np.linalg.cholesky(a @ a.T + np.eye(2)),
    "linspace-like": lambda a: a[0, 0] * np.linspace(0.0, 1.0, 3),
    "full": lambda a: np.ones((2, 2)) * a[0, 1],
}
FAILS = {
    "hstack": "np.hstack of a list: NoRuleError",
    "vstack": "np.vstack of arrays of different dimensions: ValueError of np.array",
    "sort": "np.sort along another axis than the last of one: NotImplemented",
}


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.xfail(strict=True, reason=FAILS[name])] if name in FAILS else [])
    for name in SHAPED
])  # fmt: skip
def test_shapes_and_linear_algebra(name: str) -> None:
    f = SHAPED[name]
    check(lambda a: weighted(f(a)), array((2, 3)), tolerance=1e-5)


INDICES: list[Any] = [
    0, -1, (0, 1), slice(1, None), slice(None, None, -1), (slice(None), 1), (..., 0), None, (None, slice(None), 0),
    [0, 0, 1], ([0, 1, 1], [2, 0, 0]), np.array([1, 0, 1]), np.array([[0, 1], [1, 1]]), np.array([True, False]),
    (slice(None), [0, 0]), (1, slice(0, 3, 2)), (np.array([0, 1]), slice(1, None)), slice(0, 0),
    np.array([[True, False, True], [False, True, True]]),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_indexing(index: Any) -> None:
    check(lambda a: weighted(a[index] * 2.0), array((2, 3)))


def test_indices_that_are_computed() -> None:
    check(lambda a: a[np.argmax(a)] * a[int(np.sum(a > 0.4))], array((4,)))
    check(lambda a: sum([a[i] * a[i - 1] for i in range(4)]), array((4,)))
    check(lambda a: sum([row[0] * row[1] for row in a]), array((3, 2)))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_empty_arrays_have_empty_gradients(shape: tuple[int, ...]) -> None:
    for f in (lambda a: np.sum(a * a), lambda a: np.sum(np.exp(a)), lambda a: np.sum(a.T @ a), lambda a: np.sum(a[:0])):
        (g,) = gradient(f, np.zeros(shape))
        assert g.shape == shape


def test_a_program_of_many_operations() -> None:
    def net(w, b, x):
        h = np.tanh(x @ w + b)
        p = np.exp(h - np.max(h, axis=1, keepdims=True))
        p = p / np.sum(p, axis=-1, keepdims=True)
        return -np.mean(np.log(p[:, 0])) + 0.1 * np.sum(w**2)

    check(net, array((3, 2)), array((2,)), array((4, 3)))


@pytest.mark.parametrize(("n", "m"), itertools.product([1, 3], repeat=2))
def test_log_sum_exp_has_a_softmax_for_its_gradient(n: int, m: int) -> None:
    a = array((n, m), -2.0, 2.0)
    (g,) = gradient(lambda v: np.sum(np.log(np.sum(np.exp(v), axis=1))), a)
    np.testing.assert_allclose(g, np.exp(a) / np.sum(np.exp(a), axis=1, keepdims=True), rtol=1e-12)
